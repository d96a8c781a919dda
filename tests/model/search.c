// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Scenes, searched; see search.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "search.h"

#define MAX_STATES 20000000

static void tell(struct scene *s)
{
	struct explore *e = &s->explore;
	unsigned int i;
	char text[80];

	for (i = 0; i < e->path_len; i++) {
		e->say(e->arg, e->path[i], text, sizeof(text));
		print_message("%4u %s\n", i, text);
	}
}

static int search(struct scene *s, const char *name)
{
	struct explore *e = &s->explore;
	int r;

	e->max_states = MAX_STATES;
	r = explore_run(e);
	print_message("%s: %lu states, %lu moves, %u deep%s%s\n", name,
		      (unsigned long)e->states, (unsigned long)e->edges,
		      e->depth, r > 0 ? ": " : "", r > 0 ? e->why : "");
	return r;
}

void holds(const struct scene_config *cfg, const char *name)
{
	struct scene *s = malloc(sizeof(*s));
	int r;

	assert_non_null(s);
	scene_open(s, cfg);
	r = search(s, name);
	if (r > 0) {
		tell(s);
		fail_msg("%s: %s", name, s->explore.why);
	}
	assert_int_equal(r, 0);
	scene_close(s);
	free(s);
}

void fails(const struct scene_config *cfg, const char *name,
	   void (*break_it)(struct scene *s), const char *why)
{
	struct scene *s = malloc(sizeof(*s));
	int r;

	assert_non_null(s);
	scene_open(s, cfg);
	if (break_it)
		break_it(s);
	r = search(s, name);
	if (r != 1)
		fail_msg("%s: nothing was found (%d)", name, r);
	assert_string_equal(s->explore.why, why);
	scene_close(s);
	free(s);
}

void holds_both(struct scene_config *cfg, const char *name)
{
	cfg->strict = true;
	cfg->fetch = SNIC_FETCH_LATE;
	holds(cfg, name);
	cfg->fetch = SNIC_FETCH_EARLY;
	holds(cfg, name);
}

/* ---- scenes ------------------------------------------------------------------- */

const struct scene_config one_slot_scene = {
	.free = { 2 }, .log_ring = 2, .nr_chains = 4, .nr_reqs = 6,
	.chain = { { UNMAPPED, 0 }, { MAPPED, 0 }, { LOAD, 0 }, { FREE, 0 } },
	.req = { { 0, 0, 1 }, { 2, 0 }, { 1, 0, 2 }, { 2, 0 }, { 3, 0 },
		 { 0, 0, 3 } },
};

const struct scene_config second_lap_scene = {
	.log_ring = 2, .mapped = { 2 },
	.nr_chains = 2, .nr_reqs = 10,
	.chain = { { LOAD, 0 }, { MAPPED, 0 } },
	.req = { { 0, 0 }, { 1, 1, 1 }, { 0, 0 }, { 1, 1, 2 },
		 { 0, 0 }, { 1, 1, 3 }, { 0, 0 }, { 1, 1, 4 },
		 { 0, 0 }, { 1, 1, 5 } },
};

const struct scene_config breaks_scene = {
	.free = { 2 }, .log_ring = 2, .mapped = { 1 }, .breaks = 1,
	.nr_chains = 2, .nr_reqs = 3,
	.chain = { { UNMAPPED, 0 }, { FREE, 0 } },
	.req = { { 0, 1, 1 }, { 1, 0 }, { 0, 2, 2 } },
};

struct scene_config alone_scene(enum odrp_wire_chain kind)
{
	struct scene_config cfg = {
		.mapped = { SCENE_SLOTS }, .log_ring = 3,
		.nr_chains = 1, .nr_reqs = SCENE_DEPTH + 1,
		.chain = { { kind, 0 } },
		.req = { { 0, 0, 1 }, { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 4 },
			 { 0, 4, 5 }, { 0, 0, 6 } },
	};

	if (kind == UNMAPPED) {
		cfg.mapped[0] = 0;
		cfg.free[0] = 7;
	} else if (kind != FREE) {
		cfg.nr_reqs++;
	}
	return cfg;
}

struct scene_config one_breaks(enum odrp_wire_chain kind)
{
	struct scene_config cfg = {
		.free = { 2 }, .log_ring = 2, .mapped = { 2 },
		.breaks = 1, .nr_chains = 1, .nr_reqs = 3,
		.chain = { { kind, 0 } },
		.req = { { 0, 0, 1 }, { 0, 1, 2 }, { 0, 0, 3 } },
	};

	if (kind == UNMAPPED) {
		cfg.mapped[0] = 0;
		cfg.free[0] = 4;
		cfg.req[2].slot = 2;
	}
	return cfg;
}

struct scene_config exchanged(struct scene_config cfg)
{
	cfg.exchange = true;
	return cfg;
}

/* ---- faults ------------------------------------------------------------------- */

unsigned int find(const struct wrc_prog *prog, __u8 op)
{
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++)
		if (prog->insn[i].op == op)
			return i;
	fail_msg("%s has no %#x", prog->name, op);
	return 0;
}

void plain_take(struct scene *s)
{
	unsigned int i, take = find(&s->chain[0].prog, WRC_WQE_MASKED_CS);

	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_masked_cs *cs = (void *)
			((uint8_t *)scene_insn(s, 0, take, i) +
			 sizeof(struct wrc_wqe_ctrl) +
			 sizeof(struct wrc_wqe_raddr));

		cs->swap_mask = 0;
	}
}

void not_renewed(struct scene *s)
{
	struct scene_chain *ch = &s->chain[0];
	unsigned int entry = 0, i;

	while (ch->prog.insn[entry].sge[0].at.space != WRC_SP_RECV)
		entry++;
	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_data *data = (void *)
			((uint8_t *)scene_insn(s, 0, entry, i) +
			 sizeof(struct wrc_wqe_ctrl) +
			 sizeof(struct wrc_wqe_raddr));

		data->addr = htobe64(ch->bind.arena_iova + ch->geom.scratch +
				     WRC_REG_TRASH);
	}
}

/* ---- what orders ------------------------------------------------------------------ */

static bool is_wait(const struct wrc_prog *prog, const struct wrc_insn *insn)
{
	const struct wrc_insn *target;

	if (insn->op != WRC_WQE_WAIT || insn->target >= prog->nr_insn)
		return false;
	target = &prog->insn[insn->target];
	return target->queue == WRC_LOOP &&
	       (wrc_opdef(target->op)->flags & WRC_OP_SCATTER ||
		target->op == WRC_WQE_UMR);
}

/* Number n, of a WAIT with a fence first the WAIT; false: there are not so many. */
static bool order(const struct wrc_prog *prog, unsigned int n,
		  unsigned int *ret_at, bool *ret_wait)
{
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		*ret_at = i;
		*ret_wait = is_wait(prog, &prog->insn[i]);
		if (*ret_wait && !n--)
			return true;
		*ret_wait = false;
		if (prog->insn[i].flags & WRC_I_FENCE && !n--)
			return true;
	}
	return false;
}

unsigned int nr_orders(const struct scene_config *cfg)
{
	struct scene *s = malloc(sizeof(*s));
	unsigned int n = 0, at;
	bool wait;

	assert_non_null(s);
	scene_open(s, cfg);
	while (order(&s->chain[0].prog, n, &at, &wait))
		n++;
	scene_close(s);
	free(s);
	return n;
}

unsigned int taken_out;

void take_out(struct scene *s)
{
	unsigned int at, i;
	bool wait;

	assert_true(order(&s->chain[0].prog, taken_out, &at, &wait));
	for (i = 0; i < SCENE_DEPTH; i++) {
		struct wrc_wqe_ctrl *ctrl = scene_insn(s, 0, at, i);

		if (wait)
			ctrl->opcode = WRC_WQE_NOP;
		else
			ctrl->fm_ce_se &= (__u8)~WRC_WQE_FM_MASK;
	}
}
