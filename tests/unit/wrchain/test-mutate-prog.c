// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier against programs that are wrong.  Each flag and operand of each
 * instruction of what an agent arms is changed or dropped, neighbours change
 * places, and the result is linked as if somebody had written it so; and each
 * patch, word, row and number of the linked program is changed.  Its image is
 * made of the mutant: test-mutate.c has those that are not.
 *
 * A mutant cannot be linked, or is refused in a sentence that names a rule, or
 * its image is that of the good program; or it is one of those that
 * reason_of() lists, and running it shows that: the same tables, pages, ring and
 * answers as with the good program, and every page in one place after a stop.
 *
 * By day a share of the mutants; ODRP_NIGHTLY=1: all of them.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "../../lib/nightly.h"
#include "core/link.h"
#include "core/turn.h"
#include "stage.h"
#include "unlink.h"

#define BY_DAY 37		/* every so many mutants */
#define RUN_EVERY 4		/* of those that are accepted for a reason */

/* Why a mutant may be accepted. */
enum reason {
	MORE_ORDER,	/* a fence or a completion more, or one that a later one replaces */
	NO_ORDER,	/* neighbours that do not depend on each other */
	UNREAD,		/* a register that nobody reads, or more or less of it */
	UNUSED_HOLD,	/* a place in a hold that this program does not have */
	CLIENTS_OWN,	/* what its answer says, or how much of its page it gets */
	SAME_RULES,	/* another name of a kind, or a number of another kind */
	NO_REASON,
	NR_REASONS,
};

static const char *const reason_names[] = {
	[MORE_ORDER] = "more order", [NO_ORDER] = "no order",
	[UNREAD] = "unread register", [UNUSED_HOLD] = "unused hold",
	[CLIENTS_OWN] = "the client's own", [SAME_RULES] = "the same rules",
};

/* What a number of a program is, and so what else it could be. */
enum sort {
	AN_OPCODE, FLAGS,
	AN_INSN,		/* or none */
	ONE_INSN,		/* and never none */
	A_TARGET,		/* or the next head */
	A_SPACE, A_FIELD, A_KIND, A_DELTA, A_BYTE, A_LENGTH, WIDE, YES_NO,
};

/**
 * struct spot - one number of a program
 * @off, @size:	where it is in struct wrc_prog
 * @what:	its name
 * @of:	which instruction, patch, ... it belongs to
 */
struct spot {
	uint16_t off;
	uint8_t size, sort;
	const char *what, *part;
	uint8_t of;
};

#define MAX_SPOTS 4096
#define MAX_VALUES 128

struct trial {
	struct stage st;
	struct wrc_prog good, source;	/* source: unlinked */
	enum odrp_wire_chain chain;
	struct wrc_opts opts;
	uint8_t *image, *table;		/* of a mutant */
	struct stage_end end[STAGE_WRAP][2];	/* of the good one */
	uint64_t seen[STAGE_WRAP][2];
	struct spot spot[MAX_SPOTS];
	unsigned int nr_spots;
	unsigned long made, unlinked, same, refused[WRC_NR_RULES], ran;
	unsigned long harmless[NR_REASONS];
	uint32_t turn;			/* of the day's share */
	char what[160];
};

/* ---- numbers of a program ------------------------------------------------------- */

static uint64_t get(const struct wrc_prog *prog, const struct spot *s)
{
	uint64_t v = 0;

	memcpy(&v, (const uint8_t *)prog + s->off, s->size);
	return v;
}

static void put(struct wrc_prog *prog, const struct spot *s, uint64_t v)
{
	memcpy((uint8_t *)prog + s->off, &v, s->size);
}

static unsigned int add(uint64_t *to, unsigned int n, uint64_t v)
{
	if (n < MAX_VALUES)
		to[n++] = v;
	return n;
}

/* What else it could be; with what it is among it. */
static unsigned int values(const struct wrc_prog *prog, const struct spot *s,
			   uint64_t to[MAX_VALUES])
{
	static const __u16 lengths[] = {
		0, 1, 2, 3, 4, 6, 7, 8, 9, 12, 16, 64, 4088, 4095, 4096, 4097,
	};
	uint64_t v = get(prog, s);
	unsigned int i, n = 0;

	switch (s->sort) {
	case AN_OPCODE:
		for (i = 0; i < 0x40; i++)
			if (wrc_opdef(i))
				n = add(to, n, i);
		break;
	case FLAGS:
		for (i = 0; i < 8; i++)
			n = add(to, n, v ^ 1u << i);
		break;
	case A_TARGET:
		n = add(to, n, WRC_NEXT_HEAD);
		/* fallthrough */
	case AN_INSN:
		n = add(to, n, WRC_NONE);	/* or the request */
		/* fallthrough */
	case ONE_INSN:
		for (i = 0; i < prog->nr_insn; i++)
			n = add(to, n, i);
		break;
	case A_KIND:
		for (i = 0; i < 5; i++)
			n = add(to, n, i);
		break;
	case A_DELTA:
		n = add(to, n, 0);
		n = add(to, n, 1);
		n = add(to, n, 0xff);
		break;
	case A_SPACE:
		for (i = 0; i < WRC_NR_SPACES; i++)
			n = add(to, n, i);
		break;
	case A_FIELD:
		for (i = 0; i < WRC_NR_FIELDS; i++)
			n = add(to, n, i);
		break;
	case A_LENGTH:
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			n = add(to, n, lengths[i]);
		n = add(to, n, v + 1);
		n = add(to, n, v - 1);
		break;
	case WIDE:
		n = add(to, n, 0);
		n = add(to, n, 1);
		n = add(to, n, 8);
		n = add(to, n, ~0ull);
		n = add(to, n, ~v);
		break;
	case YES_NO:
		n = add(to, n, !v);
		break;
	default:
		for (i = 0; i < 9; i++)
			n = add(to, n, i);
		n = add(to, n, 16);
		n = add(to, n, 24);
		n = add(to, n, 32);
		n = add(to, n, (v + 1) & 0xff);
		n = add(to, n, (v - 1) & 0xff);
		break;
	}
	return n;
}

static void spot(struct trial *t, size_t off, size_t size, enum sort sort,
		 const char *what, unsigned int of)
{
	assert_true(t->nr_spots < MAX_SPOTS);
	t->spot[t->nr_spots++] = (struct spot){ off, size, sort, what, "", of };
}

static void spot_part(struct trial *t, size_t off, enum sort sort,
		      const char *what, const char *part, unsigned int of)
{
	spot(t, off, 1, sort, what, of);
	t->spot[t->nr_spots - 1].part = part;
}

#define SPOT(t, sort, of, member)					\
	spot(t, offsetof(struct wrc_prog, member),			\
	     sizeof(((struct wrc_prog *)0)->member), sort, #member, of)

/* A place: its space, and what that needs. */
static void spot_ref(struct trial *t, size_t off, const struct wrc_ref *ref,
		     const char *what, unsigned int of)
{
	spot_part(t, off + offsetof(struct wrc_ref, space), A_SPACE, what,
		  ".space", of);
	spot_part(t, off + offsetof(struct wrc_ref, at),
		  ref->space == WRC_SP_FIELD ? AN_INSN : A_BYTE, what, ".at",
		  of);
	spot_part(t, off + offsetof(struct wrc_ref, off), A_BYTE, what, ".off",
		  of);
	spot_part(t, off + offsetof(struct wrc_ref, delta), A_DELTA, what,
		  ".delta", of);
	if (ref->space != WRC_SP_FIELD)
		return;
	spot_part(t, off + offsetof(struct wrc_ref, field), A_FIELD, what,
		  ".field", of);
	spot_part(t, off + offsetof(struct wrc_ref, sge), A_BYTE, what, ".sge",
		  of);
}

/* ---- what a writer of programs writes ------------------------------------------------ */

static void spots_of_insn(struct trial *t, unsigned int i)
{
	const struct wrc_insn *insn = &t->source.insn[i];
	unsigned int j;

	SPOT(t, AN_OPCODE, i, insn[i].op);
	SPOT(t, YES_NO, i, insn[i].queue);
	SPOT(t, FLAGS, i, insn[i].flags);
	if (insn->flags & WRC_I_ANSWER)
		SPOT(t, AN_OPCODE, i, insn[i].quiet);
	if (insn->op == WRC_WQE_WAIT || insn->op == WRC_WQE_SEND_EN) {
		SPOT(t, A_TARGET, i, insn[i].target);
		return;
	}
	spot_ref(t, offsetof(struct wrc_prog, insn[i].remote), &insn->remote,
		 "insn[i].remote", i);
	if (wrc_is_turn(&t->source, i))
		return;		/* the linker's */
	SPOT(t, A_LENGTH, i, insn[i].nr_sge);
	for (j = 0; j < insn->nr_sge; j++) {
		spot_ref(t, offsetof(struct wrc_prog, insn[i].sge[j].at),
			 &insn->sge[j].at, "insn[i].sge[j].at", i);
		SPOT(t, A_LENGTH, i, insn[i].sge[j].len);
	}
	if (insn->op != WRC_WQE_MASKED_CS && insn->op != WRC_WQE_MASKED_FA)
		return;
	SPOT(t, WIDE, i, insn[i].swap);
	SPOT(t, WIDE, i, insn[i].compare);
	SPOT(t, WIDE, i, insn[i].swap_mask);
	SPOT(t, WIDE, i, insn[i].compare_mask);
}

static void spots_of_hold(struct trial *t)
{
	const struct wrc_hold *h = &t->source.hold;

	SPOT(t, AN_INSN, 0, hold.slot_taken);
	SPOT(t, AN_INSN, 0, hold.page_taken);
	SPOT(t, AN_INSN, 0, hold.page_put);
	SPOT(t, AN_INSN, 0, hold.swapped);
	SPOT(t, AN_INSN, 0, hold.umr);
	SPOT(t, YES_NO, 0, hold.freeing);
	SPOT(t, YES_NO, 0, hold.lent);
	spot_ref(t, offsetof(struct wrc_prog, hold.slot), &h->slot, "hold.slot",
		 0);
	spot_ref(t, offsetof(struct wrc_prog, hold.page), &h->page, "hold.page",
		 0);
	spot_ref(t, offsetof(struct wrc_prog, hold.old), &h->old, "hold.old",
		 0);
}

static void spots_of_source(struct trial *t)
{
	unsigned int i;

	t->nr_spots = 0;
	for (i = 0; i < t->source.nr_insn; i++)
		spots_of_insn(t, i);
	for (i = 0; i < t->source.nr_args; i++) {
		SPOT(t, A_LENGTH, i, arg[i].off);
		SPOT(t, A_LENGTH, i, arg[i].len);
		spot_ref(t, offsetof(struct wrc_prog, arg[i].to),
			 &t->source.arg[i].to, "arg[i].to", i);
	}
	spots_of_hold(t);
	SPOT(t, A_KIND, 0, kind);
	SPOT(t, YES_NO, 0, page);
	SPOT(t, YES_NO, 0, strict);
	SPOT(t, YES_NO, 0, fences);
	SPOT(t, YES_NO, 0, node);
	SPOT(t, A_BYTE, 0, nr_head);
	SPOT(t, AN_INSN, 0, post);
	SPOT(t, AN_INSN, 0, choice);
	SPOT(t, AN_INSN, 0, map);
	SPOT(t, ONE_INSN, 0, turns);
}

/* ---- what the linker writes ------------------------------------------------------------ */

static void spots_of_linked(struct trial *t)
{
	const struct wrc_prog *p = &t->good;
	unsigned int i;

	t->nr_spots = 0;
	for (i = 0; i < p->nr_patches; i++) {
		SPOT(t, AN_INSN, i, patch[i].source);
		SPOT(t, A_BYTE, i, patch[i].width);
		SPOT(t, A_LENGTH, i, patch[i].off);
		SPOT(t, YES_NO, i, patch[i].queue);
		SPOT(t, A_DELTA, i, patch[i].delta);
		SPOT(t, ONE_INSN, i, patch[i].insn);
		SPOT(t, A_FIELD, i, patch[i].field);
		SPOT(t, A_BYTE, i, patch[i].sge);
		SPOT(t, A_BYTE, i, patch[i].field_off);
	}
	for (i = 0; i < p->nr_words; i++) {
		SPOT(t, A_BYTE, i, word[i].kind);
		SPOT(t, YES_NO, i, word[i].delta);
		SPOT(t, AN_INSN, i, word[i].insn);
		SPOT(t, A_BYTE, i, word[i].width);
		SPOT(t, A_LENGTH, i, word[i].off);
	}
	for (i = 0; i < p->nr_scatter; i++) {
		SPOT(t, A_LENGTH, i, scatter[i].off);
		SPOT(t, A_LENGTH, i, scatter[i].len);
		SPOT(t, YES_NO, i, scatter[i].delta);
		spot_ref(t, offsetof(struct wrc_prog, scatter[i].to),
			 &p->scatter[i].to, "scatter[i].to", i);
	}
	for (i = 0; i < p->nr_turns; i++) {
		if (p->turn[i].kind <= WRC_TURN_WAIT_HIGH)
			SPOT(t, ONE_INSN, i, turn[i].insn);
		if (p->turn[i].kind != WRC_TURN_POST)
			SPOT(t, A_DELTA, i, turn[i].delta);
	}
	for (i = p->turns; i < p->nr_insn; i++)
		for (unsigned int j = 0; wrc_is_turn(p, i) &&
				j < p->insn[i].nr_sge; j++) {
			spot_ref(t, offsetof(struct wrc_prog,
					     insn[i].sge[j].at),
				 &p->insn[i].sge[j].at, "row's sge[j].at", i);
			SPOT(t, A_LENGTH, i, insn[i].sge[j].len);
		}
	for (i = 0; i < p->nr_insn; i++)
		if (p->insn[i].flags & WRC_I_SIGNALED)
			SPOT(t, A_BYTE, i, insn[i].cqe);
	SPOT(t, A_BYTE, 0, cqes);
	SPOT(t, A_BYTE, 0, client_cqes);
	SPOT(t, A_BYTE, 0, page_sge);
	SPOT(t, A_LENGTH, 0, req_len);
	SPOT(t, A_LENGTH, 0, tail_len);
}

/* ---- judging ------------------------------------------------------------------------- */

#define MAX_ARENA (1u << 20)
#define MAX_TABLE (1u << 26)

/* Rules that look at no row: those that do wait until there is a table. */
#define WITHOUT_TABLE							\
	(WRC_ALL_RULES & ~(1u << WRC_RULE_INDEX | 1u << WRC_RULE_BALANCE | \
			   1u << WRC_RULE_ORDER | 1u << WRC_RULE_ANSWER | \
			   1u << WRC_RULE_RQ | 1u << WRC_RULE_TABLE))

static void count_refusal(struct trial *t, const char *why)
{
	for (int rule = 0; rule < WRC_NR_RULES; rule++) {
		const char *name = wrc_rule_name(rule);
		size_t len = strlen(name);

		if (strncmp(why, name, len) || why[len] != ':')
			continue;
		assert_true(strlen(why) > len + 10);
		assert_null(strchr(why, '\n'));
		t->refused[rule]++;
		return;
	}
	fail_msg("%s: refused without a reason: '%s'", t->what, why);
}

/* Does the table follow from the same numbers? */
static bool has_same_table(const struct trial *t, const struct wrc_prog *p,
			   const struct wrc_geom *g)
{
	const struct wrc_prog *good = &t->good;

	if (memcmp(g, &t->st.c[0].geom, sizeof(*g)) ||
	    memcmp(p->turn, good->turn, sizeof(p->turn)) ||
	    memcmp(p->bb, good->bb, sizeof(p->bb)) ||
	    p->nr_turns != good->nr_turns || p->turns != good->turns ||
	    p->nr_insn != good->nr_insn || p->cqes != good->cqes ||
	    p->client_cqes != good->client_cqes || p->choice != good->choice)
		return false;
	for (unsigned int i = 0; i < p->nr_insn; i++) {
		const struct wrc_insn *a = &p->insn[i], *b = &good->insn[i];

		if (a->op != b->op || a->queue != b->queue ||
		    a->target != b->target || a->bb != b->bb ||
		    a->nr_bb != b->nr_bb || a->cqe != b->cqe ||
		    a->quiet != b->quiet ||
		    (i == p->choice &&
		     memcmp(&a->sge[0], &b->sge[0], sizeof(a->sge[0]))))
			return false;
	}
	return true;
}

/* true: the verifier refuses it, or it is no image at all. */
static bool is_refused(struct trial *t, const struct wrc_prog *p)
{
	struct wrc_bind bind = t->st.c[0].bind;
	char why[WRC_WHY_MAX] = "";
	struct wrc_geom g;
	int err;

	if (wrc_geom_init(p, STAGE_DEPTH, &g) || g.arena_len > MAX_ARENA ||
	    g.table_len > MAX_TABLE ||
	    wrc_image_write(p, &g, &bind, t->image)) {
		t->unlinked++;
		return true;
	}
	err = wrc_check_rules(p, &g, &bind, t->image, WITHOUT_TABLE, why);
	if (!err && p->node && !has_same_table(t, p, &g)) {
		wrc_table_fill(p, &g, bind.table_iova, t->table);
		bind.table = t->table;
	}
	if (!err)
		err = wrc_image_check(p, &g, &bind, t->image, why);
	if (!err && p->node)
		err = wrc_table_check(p, &g, bind.table_iova, bind.table, why);
	if (!err)
		return false;
	assert_int_equal(err, -EPERM);
	count_refusal(t, why);
	return true;
}

/* All that an agent takes from a program is that of the good one. */
static bool is_same(struct trial *t, const struct wrc_prog *p)
{
	const struct wrc_prog *good = &t->good;
	struct odrp_wire_word words[ODRP_WIRE_MAX_WORDS];
	struct stage_cnode *c = &t->st.c[0];
	struct wrc_geom g;

	assert_int_equal(wrc_geom_init(p, STAGE_DEPTH, &g), 0);
	return !memcmp(&g, &c->geom, sizeof(g)) &&
	       !memcmp(t->image, stage_image(&t->st), g.arena_len) &&
	       (!p->node || has_same_table(t, p, &g)) &&
	       wrc_words(p, &g, words) == c->nr_words &&
	       !memcmp(words, c->words, c->nr_words * sizeof(words[0])) &&
	       !memcmp(&p->hold, &good->hold, sizeof(p->hold)) &&
	       p->kind == good->kind && p->page == good->page &&
	       p->post == good->post && p->page_sge == good->page_sge &&
	       p->map == good->map && p->client_cqes == good->client_cqes;
}

/* Does an instruction put or get something in a register? */
static bool has_register(const struct wrc_insn *i)
{
	for (unsigned int j = 0; j < i->nr_sge; j++)
		if (i->sge[j].at.space == WRC_SP_REG)
			return true;
	return i->remote.space == WRC_SP_REG;
}

static bool starts(const struct spot *s, const char *with)
{
	return !strncmp(s->what, with, strlen(with));
}

static enum reason reason_of(const struct spot *s, const struct wrc_prog *p,
			     const struct wrc_prog *good)
{
	if (!s)
		return NO_ORDER;
	if (starts(s, "insn[i].flags") || starts(s, "insn[i].target"))
		return MORE_ORDER;
	if (starts(s, "hold."))
		return UNUSED_HOLD;
	if (starts(s, "kind") || starts(s, "page_sge") || starts(s, "strict"))
		return SAME_RULES;
	if (starts(s, "arg[i]"))
		return s->of ? CLIENTS_OWN : UNREAD;
	if (starts(s, "scatter[i].to"))
		return UNREAD;
	if (!starts(s, "insn[i]"))
		return NO_REASON;
	if (p->insn[s->of].queue == WRC_CLIENT)
		return CLIENTS_OWN;
	return has_register(&p->insn[s->of]) ? UNREAD : NO_REASON;
}

/* A run ends as it should: each page in one place, and the neighbour's untouched. */
static void expect_harmless(struct trial *t, const struct wrc_prog *p,
			    enum reason reason)
{
	struct wrc_opts opts = t->opts;
	static struct stage st;

	if (reason == CLIENTS_OWN || t->harmless[reason] % RUN_EVERY)
		return;
	opts.strict_index = p->strict;
	stage_open_prog(&st, p, t->chain, &opts);
	for (int scene = STAGE_LAPS; scene < STAGE_WRAP; scene++)
		for (int fetch = 0; fetch < 2; fetch++) {
			struct stage_end end;

			stage_run(&st, stage_image(&st), scene, fetch, &end);
			stage_expect_well(&st, scene, &end);
			t->ran++;
			if (!t->end[scene][fetch].now) {
				struct stage_end *good = &t->end[scene][fetch];

				stage_run(&t->st, stage_image(&t->st), scene,
					  fetch, good);
				t->seen[scene][fetch] = stage_public(&t->st);
			}
			if (scene != STAGE_CUT &&
			    stage_public(&st) != t->seen[scene][fetch])
				fail_msg("%s: %s does harm in scene %d",
					 t->good.name, t->what, scene);
		}
	stage_close(&st);
}

static void judge(struct trial *t, const struct wrc_prog *p,
		  const struct spot *s)
{
	enum reason reason;

	t->made++;
	if (is_refused(t, p))
		return;
	if (is_same(t, p)) {
		t->same++;
		return;
	}
	reason = reason_of(s, p, &t->good);
	if (reason == NO_REASON)
		fail_msg("%s: %s was accepted", t->good.name, t->what);
	expect_harmless(t, p, reason);
	t->harmless[reason]++;
}

/* ---- mutants --------------------------------------------------------------------------- */

static bool is_due(struct trial *t)
{
	return nightly() || !(t->turn++ % BY_DAY);
}

static void link_and_judge(struct trial *t, struct wrc_prog *p,
			   const struct spot *s)
{
	if (wrc_link(p)) {
		t->made++;
		t->unlinked++;
	} else {
		judge(t, p, s);
	}
}

static void try_spots(struct trial *t, const struct wrc_prog *from, bool link)
{
	uint64_t v[MAX_VALUES];

	for (unsigned int i = 0; i < t->nr_spots; i++) {
		const struct spot *s = &t->spot[i];
		unsigned int n = values(from, s, v);
		uint64_t was = get(from, s);

		for (unsigned int k = 0; k < n; k++) {
			struct wrc_prog p = *from;

			put(&p, s, v[k]);
			if (get(&p, s) == was || !is_due(t))
				continue;
			snprintf(t->what, sizeof(t->what),
				 "%s%s%s of %u: 0x%llx, was 0x%llx",
				 link ? "" : "linked ", s->what, s->part, s->of,
				 (unsigned long long)get(&p, s),
				 (unsigned long long)was);
			if (link)
				link_and_judge(t, &p, s);
			else
				judge(t, &p, s);
		}
	}
}

/* Instruction i becomes a NOP, with a completion or without one. */
static void drop_insns(struct trial *t)
{
	for (unsigned int i = 0; i < t->source.nr_insn; i++)
		for (int flags = 0; flags <= WRC_I_SIGNALED; flags++) {
			struct wrc_prog p = t->source;

			if (!is_due(t))
				continue;
			snprintf(t->what, sizeof(t->what), "NOP %u in place of %u",
				 flags, i);
			p.insn[i] = (struct wrc_insn){
				.op = WRC_WQE_NOP, .flags = flags,
				.queue = p.insn[i].queue,
			};
			link_and_judge(t, &p, NULL);
		}
}

static void exchange_insns(struct trial *t)
{
	for (unsigned int i = 0; i + 1 < t->source.nr_insn; i++) {
		struct wrc_prog p = t->source;
		__u8 to[WRC_MAX_INSN];

		if (p.insn[i].queue != p.insn[i + 1].queue || !is_due(t))
			continue;
		for (unsigned int k = 0; k < p.nr_insn; k++)
			to[k] = k;
		to[i] = i + 1;
		to[i + 1] = i;
		p.insn[i] = t->source.insn[i + 1];
		p.insn[i + 1] = t->source.insn[i];
		unlink_renumber(&p, to, p.nr_insn);
		snprintf(t->what, sizeof(t->what), "%u and %u exchanged", i,
			 i + 1);
		link_and_judge(t, &p, NULL);
	}
}

/* One element less of an array in the linked program. */
static void drop_each(struct trial *t, const char *what, size_t array,
		      size_t size, size_t count)
{
	unsigned int n = ((const uint8_t *)&t->good)[count];

	for (unsigned int i = 0; i < n; i++) {
		struct wrc_prog p = t->good;
		uint8_t *at = (uint8_t *)&p + array + i * size;

		if (!is_due(t))
			continue;
		memmove(at, at + size, (n - i - 1) * size);
		((uint8_t *)&p)[count]--;
		snprintf(t->what, sizeof(t->what), "no %s %u", what, i);
		judge(t, &p, NULL);
	}
}

#define DROP_EACH(t, array, count)					\
	drop_each(t, #array, offsetof(struct wrc_prog, array),		\
		  sizeof(((struct wrc_prog *)0)->array[0]),		\
		  offsetof(struct wrc_prog, count))

/* ---- programs ------------------------------------------------------------------------------ */

static void report(const struct trial *t)
{
	printf("%s, %s, %s%s: %lu mutants, %lu no program, %lu the same, %lu runs\n  refused:",
	       t->good.name, wrc_variant_name(t->opts.variant),
	       t->opts.strict_index ? "strict" : "relaxed",
	       t->opts.order ? ", with fences" : "", t->made, t->unlinked,
	       t->same, t->ran);
	for (int rule = 0; rule < WRC_NR_RULES; rule++)
		printf(" %s %lu", wrc_rule_name(rule), t->refused[rule]);
	printf("\n  harmless:");
	for (int i = 0; i < NO_REASON; i++)
		printf("%s %s %lu", i ? "," : "", reason_names[i],
		       t->harmless[i]);
	printf("\n");
}

static void try_program(enum odrp_wire_chain chain, const struct wrc_opts *opts)
{
	struct trial *t = calloc(1, sizeof(*t));
	struct wrc_prog again;

	assert_non_null(t);
	t->chain = chain;
	t->opts = *opts;
	t->turn = chain * 7 + opts->strict_index * 3 + opts->order;
	stage_open(&t->st, chain, opts);
	t->good = t->source = t->st.c[0].prog;
	unlink_prog(&t->source);
	again = t->source;
	assert_int_equal(wrc_link(&again), 0);
	assert_memory_equal(&again, &t->good, sizeof(again));
	t->image = malloc(MAX_ARENA);
	t->table = malloc(MAX_TABLE);
	assert_non_null(t->image);
	assert_non_null(t->table);

	spots_of_source(t);
	try_spots(t, &t->source, true);
	drop_insns(t);
	exchange_insns(t);
	spots_of_linked(t);
	try_spots(t, &t->good, false);
	DROP_EACH(t, patch, nr_patches);
	DROP_EACH(t, word, nr_words);
	DROP_EACH(t, scatter, nr_scatter);
	DROP_EACH(t, turn, nr_turns);
	report(t);
	free(t->image);
	free(t->table);
	stage_close(&t->st);
	free(t);
}

/* All that wrc_prog_build() builds, and so all that is ever armed. */
static void every_program(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int v = 0; v < WRC_NR_VARIANTS; v++)
			for (int mode = 0; mode < 4; mode++) {
				struct wrc_opts opts = {
					.strict_index = mode & 1, .variant = v,
					.order = mode & 2 ? WRC_ORDER_FENCE :
							    WRC_ORDER_WAIT,
					.recycle = WRC_RECYCLE_NODE,
				};
				struct wrc_prog prog;

				if (!wrc_prog_build(chain, &opts, &prog))
					try_program(chain, &opts);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
