// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an offset in the arena belongs to: the inverse of wrc_arena_off(). */
#include "dis.h"

static void place_in_queue(const struct wrc_prog *prog, enum wrc_queue queue,
			   __u64 off, struct wrc_place *p)
{
	__u32 len = prog->bb[queue] * WRC_WQE_BB;
	__u32 in = off % len;
	unsigned int i;

	p->instance = off / len;
	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		if (insn->queue != queue || in < insn->bb * WRC_WQE_BB ||
		    in >= (insn->bb + insn->nr_bb) * WRC_WQE_BB)
			continue;
		p->space = WRC_SP_FIELD;
		p->insn = i;
		p->byte = wrc_byte_at(insn->op, in - insn->bb * WRC_WQE_BB);
		return;
	}
}

/* Only the page's address is written of a receive entry. */
static void place_in_entry(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 off,
			   struct wrc_place *p)
{
	__u32 stride = 1u << geom->log_rq_stride;
	__u32 at = prog->page_sge * sizeof(struct wrc_wqe_data) +
		   __builtin_offsetof(struct wrc_wqe_data, addr);

	p->instance = off / stride;
	if (off % stride < at || off % stride - at >= sizeof(__be64))
		return;
	p->space = WRC_SP_RECV;
	p->off = off % stride - at;
}

static bool off_is_in(__u64 off, __u32 from, __u64 len)
{
	return off >= from && off - from < len;
}

struct wrc_place wrc_place_of(const struct wrc_prog *prog,
			      const struct wrc_geom *geom, __u64 arena_off)
{
	__u32 rcv = geom->client_dbr + __builtin_offsetof(struct wrc_dbr, rcv);
	struct wrc_place p;

	memset(&p, 0, sizeof(p));
	p.byte.field = WRC_NR_FIELDS;
	if (off_is_in(arena_off, geom->loop_sq, WRC_WQE_BB << geom->log_loop_sq)) {
		place_in_queue(prog, WRC_LOOP, arena_off - geom->loop_sq, &p);
	} else if (off_is_in(arena_off, geom->client_sq,
			     WRC_WQE_BB << geom->log_client_sq)) {
		place_in_queue(prog, WRC_CLIENT, arena_off - geom->client_sq,
			       &p);
	} else if (wrc_has_register(prog) &&
		   off_is_in(arena_off, geom->client_rq,
			     (__u64)geom->depth << geom->log_rq_stride)) {
		place_in_entry(prog, geom, arena_off - geom->client_rq, &p);
	} else if (off_is_in(arena_off, geom->scratch,
			     geom->depth * WRC_SCRATCH)) {
		p.space = WRC_SP_REG;
		p.instance = (arena_off - geom->scratch) / WRC_SCRATCH;
		p.off = (arena_off - geom->scratch) % WRC_SCRATCH;
	} else if (off_is_in(arena_off, rcv, sizeof(__be32))) {
		p.space = WRC_SP_DBR;
		p.off = arena_off - rcv;
	}
	return p;
}

unsigned int wrc_insn_number(const struct wrc_prog *prog, unsigned int insn)
{
	unsigned int i, n = 0;

	for (i = 0; i < insn; i++)
		n += prog->insn[i].queue == prog->insn[insn].queue;
	return n;
}
