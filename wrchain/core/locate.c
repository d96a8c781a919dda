// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The linker, second half: addresses, keys and counts; see link.h. */
#include "link.h"
#include "turn.h"

__u32 wrc_count(const struct wrc_prog *prog, unsigned int insn, __u32 r)
{
	const struct wrc_insn *i = &prog->insn[insn], *target;
	const struct wrc_insn *head = &prog->insn[prog->nr_head - 1];

	if (i->op == WRC_WQE_WAIT) {
		if (i->target == WRC_RECV)
			return r;
		target = &prog->insn[i->target];
		return r * (target->queue == WRC_LOOP ? prog->cqes :
							prog->client_cqes) +
		       target->cqe;
	}
	if (i->target == WRC_NEXT_HEAD)
		return (r + 1) * prog->bb[WRC_LOOP] + head->bb + head->nr_bb;
	target = &prog->insn[i->target];
	return r * prog->bb[target->queue] + target->bb + target->nr_bb;
}

__u32 wrc_cell_step(const struct wrc_prog *prog, unsigned int cell)
{
	const struct wrc_cell *c = &prog->cell[cell];

	if (c->insn == WRC_NONE)
		return 1;
	return wrc_count(prog, c->insn, 1) - wrc_count(prog, c->insn, 0);
}

static __u32 cell_mask(const struct wrc_prog *prog, unsigned int cell)
{
	return prog->cell[cell].kind == WRC_WORD_WAIT ?
		       WRC_WQE_WAIT_MASK : WRC_WQE_EN_MASK;
}

__u32 wrc_cell_value(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     unsigned int cell, __u32 r)
{
	const struct wrc_cell *c = &prog->cell[cell];
	__u32 value = geom->depth + r;	/* as in words.c */

	if (c->insn != WRC_NONE)
		value = wrc_count(prog, c->insn, r + geom->depth);
	return value & cell_mask(prog, cell);
}

static __u32 queue_off(const struct wrc_geom *geom, __u8 queue)
{
	return queue == WRC_LOOP ? geom->loop_sq : geom->client_sq;
}

__u32 wrc_insn_off(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   unsigned int insn, __u32 instance)
{
	const struct wrc_insn *i = &prog->insn[insn];

	instance &= geom->depth - 1;
	return queue_off(geom, i->queue) +
	       (instance * prog->bb[i->queue] + i->bb) * WRC_WQE_BB;
}

__u32 wrc_arena_off(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    struct wrc_ref ref, __u32 instance)
{
	instance = (instance + ref.delta) & (geom->depth - 1);
	switch (ref.space) {
	case WRC_SP_FIELD:
		return wrc_insn_off(prog, geom, ref.at, instance) +
		       wrc_field_off(prog, ref) -
		       prog->insn[ref.at].bb * WRC_WQE_BB;
	case WRC_SP_REG:
		return geom->scratch + instance * WRC_SCRATCH + ref.at +
		       ref.off;
	case WRC_SP_CELL:
		return geom->scratch + geom->depth * WRC_SCRATCH +
		       ref.at * sizeof(__u64) + ref.off;
	case WRC_SP_RECV:
		return geom->client_rq + (instance << geom->log_rq_stride) +
		       prog->page_sge * sizeof(struct wrc_wqe_data) +
		       __builtin_offsetof(struct wrc_wqe_data, addr) + ref.off;
	default:	/* WRC_SP_DBR */
		return geom->client_dbr +
		       __builtin_offsetof(struct wrc_dbr, rcv) + ref.off;
	}
}

__u32 wrc_class_key(const struct wrc_bind *bind, enum wrc_class class)
{
	switch (class) {
	case WRC_CL_ARENA:
		return bind->arena_key;
	case WRC_CL_BUF:
		return bind->buf_key;
	case WRC_CL_TT:
		return bind->tt_key;
	case WRC_CL_FREE:
		return bind->free_key;
	case WRC_CL_POOL:
		return bind->pool_key;
	case WRC_CL_TURN:
		return bind->table_key;
	case WRC_CL_KEYMAP:
		return bind->keymap_key;
	case WRC_CL_PEER:
	case WRC_CL_NONE:
		break;
	}
	return 0;
}

__u32 wrc_remote_key(const struct wrc_bind *bind, enum wrc_class class)
{
	if (class == WRC_CL_ARENA && bind->arena_rkey)
		return bind->arena_rkey;
	return wrc_class_key(bind, class);
}

__u64 wrc_ref_addr(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   const struct wrc_bind *bind, struct wrc_ref ref,
		   __u32 instance)
{
	switch (ref.space) {
	case WRC_SP_FIELD:
	case WRC_SP_REG:
	case WRC_SP_CELL:
	case WRC_SP_DBR:
	case WRC_SP_RECV:
		return bind->arena_iova +
		       wrc_arena_off(prog, geom, ref, instance);
	case WRC_SP_BUF:
		return bind->buf_iova + ref.off +
		       (__u64)(instance & (geom->depth - 1)) *
			       ODRP_WIRE_PAGE_SIZE;
	case WRC_SP_HEAD:
		return bind->free_head;
	case WRC_SP_TAIL:
		return bind->free_tail;
	case WRC_SP_TURN:
		return bind->table_iova +
		       wrc_turn_row(prog, geom, ref.at, instance);
	case WRC_SP_CHOICE:	/* of a request that says nothing */
		return bind->table_iova + geom->table_choice + ref.off;
	case WRC_SP_TT:
	case WRC_SP_KEYMAP:	/* until a request says which */
		return prog->node ? WRC_TURN_NO_TT : 0;
	default:
		return 0;
	}
}

void wrc_ring_step(const struct wrc_bind *bind, __u64 *ret_add,
		   __u64 *ret_boundary)
{
	*ret_add = sizeof(__be64);
	*ret_boundary = 1ull << (bind->log_free_ring - 1);
}

static void link_operands(const struct wrc_prog *prog,
			  const struct wrc_geom *geom,
			  const struct wrc_bind *bind,
			  const struct wrc_insn *insn, __u32 instance,
			  struct wrc_wr *wr)
{
	unsigned int i;

	if (insn->remote.space != WRC_SP_NONE) {
		wr->raddr = wrc_ref_addr(prog, geom, bind, insn->remote,
					 instance);
		wr->rkey = wrc_remote_key(bind, wrc_space_class(
				(enum wrc_space)insn->remote.space));
	}
	wr->nr_sge = insn->nr_sge;
	for (i = 0; i < insn->nr_sge; i++) {
		struct wrc_ref at = insn->sge[i].at;

		wr->sge[i].len = insn->sge[i].len;
		wr->sge[i].lkey = wrc_class_key(bind,
				wrc_space_class((enum wrc_space)at.space));
		wr->sge[i].addr = wrc_ref_addr(prog, geom, bind, at, instance);
	}
}

static void link_count(const struct wrc_prog *prog, const struct wrc_geom *geom,
		       const struct wrc_bind *bind, unsigned int insn,
		       __u32 instance, struct wrc_wr *wr)
{
	const struct wrc_insn *i = &prog->insn[insn];

	/* No request has opened the gate yet: that of the lap before. */
	if (wrc_is_gate(prog, insn))
		instance -= geom->depth;
	wr->count = wrc_count(prog, insn, instance);
	if (i->op == WRC_WQE_WAIT) {
		wr->count &= WRC_WQE_WAIT_MASK;
		wr->obj = bind->loop_scqn;
		if (i->target == WRC_RECV)
			wr->obj = bind->client_rcqn;
		else if (prog->insn[i->target].queue == WRC_CLIENT)
			wr->obj = bind->client_scqn;
		return;
	}
	wr->count &= WRC_WQE_EN_MASK;
	wr->obj = bind->loop_qpn;
	if (i->target != WRC_NEXT_HEAD &&
	    prog->insn[i->target].queue == WRC_CLIENT)
		wr->obj = bind->client_qpn;
}

__u64 wrc_first_page(const struct wrc_geom *geom, const struct wrc_bind *bind,
		     __u32 instance)
{
	return bind->pages ? bind->pages[instance & (geom->depth - 1)] : 0;
}

__u64 wrc_swapped(__u64 value)
{
	__u64 swapped = 0;
	unsigned int i;

	for (i = 0; i < 8; i++, value >>= 8)
		swapped = swapped << 8 | (value & 0xff);
	return swapped;
}

/* The instance's own page, to the table entry or to the key's. */
static void link_page(const struct wrc_geom *geom, const struct wrc_bind *bind,
		      const struct wrc_insn *insn, __u32 instance,
		      struct wrc_wr *wr)
{
	__u64 page = wrc_first_page(geom, bind, instance);

	if (insn->op == WRC_WQE_UMR) {
		wr->page_key = bind->pool_key;
		wr->page = page;
	} else {
		wr->swap = wrc_swapped(page);
	}
}

void wrc_link_wr(const struct wrc_prog *prog, const struct wrc_geom *geom,
		 const struct wrc_bind *bind, unsigned int insn,
		 __u32 instance, struct wrc_wr *ret_wr)
{
	const struct wrc_insn *i = &prog->insn[insn];

	memset(ret_wr, 0, sizeof(*ret_wr));
	ret_wr->shape = i->op;
	ret_wr->op = i->flags & WRC_I_MAYBE ? WRC_WQE_NOP : i->op;
	ret_wr->flags = i->flags & WRC_I_SIGNALED ? WRC_WQE_CE_ALWAYS :
						    WRC_WQE_CE_ERROR;
	if (i->flags & WRC_I_FENCE)
		ret_wr->flags |= WRC_WQE_FM_FENCE;
	ret_wr->index = instance * prog->bb[i->queue] + i->bb;
	ret_wr->qpn = i->queue == WRC_LOOP ? bind->loop_qpn : bind->client_qpn;
	if (i->op == WRC_WQE_NOP)
		ret_wr->ds = i->nr_bb * (WRC_WQE_BB / WRC_WQE_DS);
	ret_wr->swap = i->swap;
	ret_wr->compare = i->compare;
	ret_wr->swap_mask = i->swap_mask;
	ret_wr->compare_mask = i->compare_mask;
	if (i->op == WRC_WQE_MASKED_FA &&
	    wrc_space_class((enum wrc_space)i->remote.space) == WRC_CL_FREE)
		wrc_ring_step(bind, &ret_wr->swap, &ret_wr->compare);
	if (i->remote.space == WRC_SP_CELL && i->op == WRC_WQE_MASKED_FA) {
		ret_wr->swap = wrc_cell_step(prog, i->remote.at);
		ret_wr->compare = (cell_mask(prog, i->remote.at) >> 1) + 1;
	}
	if (i->flags & WRC_I_EXCHANGE)
		link_page(geom, bind, i, instance, ret_wr);
	if (i->op == WRC_WQE_WAIT || i->op == WRC_WQE_SEND_EN)
		link_count(prog, geom, bind, insn, instance, ret_wr);
	link_operands(prog, geom, bind, i, instance, ret_wr);
}

unsigned int wrc_link_recv(const struct wrc_prog *prog,
			   const struct wrc_geom *geom,
			   const struct wrc_bind *bind, __u32 instance,
			   struct wrc_sge sge[WRC_MAX_RECV_SGE])
{
	unsigned int i;

	for (i = 0; i < prog->nr_scatter; i++) {
		const struct wrc_scatter *s = &prog->scatter[i];

		sge[i].len = s->len;
		sge[i].addr = wrc_ref_addr(prog, geom, bind, s->to,
					   instance + s->delta);
		sge[i].lkey = wrc_class_key(bind,
				wrc_space_class((enum wrc_space)s->to.space));
		if (s->to.space == WRC_SP_POOL)
			sge[i].addr = wrc_first_page(geom, bind, instance);
	}
	return prog->nr_scatter;
}
