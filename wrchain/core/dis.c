// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The disassembler of WQEs; see dis.h. */
#include "decode.h"
#include "dis.h"

const char *wrc_class_name(enum wrc_class class)
{
	static const char *const names[] = {
		[WRC_CL_NONE] = "none", [WRC_CL_ARENA] = "arena",
		[WRC_CL_BUF] = "buf",	[WRC_CL_TT] = "tt",
		[WRC_CL_FREE] = "free", [WRC_CL_POOL] = "pool",
		[WRC_CL_PEER] = "peer", [WRC_CL_TURN] = "table",
		[WRC_CL_KEYMAP] = "keymap",
	};

	return names[class];
}

void wrc_dis_label(struct wrc_text *t, const struct wrc_prog *prog,
		   unsigned int insn)
{
	if (insn == WRC_RECV)
		wrc_text_add(t, "request");
	else
		wrc_text_add(t, "%c%u",
			     prog->insn[insn].queue == WRC_LOOP ? 'l' : 'c',
			     wrc_insn_number(prog, insn));
}

/* Names an arena address, if it means something. */
static bool dis_place(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		      __u64 addr)
{
	struct wrc_place p;

	if (addr < ctx->bind->arena_iova)
		return false;
	p = wrc_place_of(ctx->prog, ctx->geom, addr - ctx->bind->arena_iova);
	switch (p.space) {
	case WRC_SP_FIELD:
		wrc_dis_label(t, ctx->prog, p.insn);
		wrc_text_add(t, "@%u", p.instance);
		if (p.byte.field == WRC_NR_FIELDS)
			return true;
		wrc_text_add(t, ".%s",
			     wrc_fielddef((enum wrc_field)p.byte.field)->name);
		if (p.byte.sge)
			wrc_text_add(t, "%u", p.byte.sge);
		if (p.byte.off)
			wrc_text_add(t, "+%u", p.byte.off);
		return true;
	case WRC_SP_REG:
		wrc_text_add(t, "reg%u@%u", p.off, p.instance);
		return true;
	case WRC_SP_DBR:
		wrc_text_add(t, "dbr.rcv");
		return true;
	case WRC_SP_RECV:
		wrc_text_add(t, "recv@%u.addr", p.instance);
		if (p.off)
			wrc_text_add(t, "+%u", p.off);
		return true;
	default:
		return false;
	}
}

static bool dis_free(struct wrc_text *t, const struct wrc_bind *bind,
		     __u64 addr)
{
	if (addr != bind->free_head && addr != bind->free_tail)
		return false;
	wrc_text_add(t, "%s", addr == bind->free_head ? "head" : "tail");
	return true;
}

/* A key is known by number; the first class that has it names it. */
static enum wrc_class class_of(const struct wrc_bind *bind, __u32 key)
{
	if (key == bind->arena_key ||
	    (bind->arena_rkey && key == bind->arena_rkey))
		return WRC_CL_ARENA;
	if (key == bind->buf_key)
		return WRC_CL_BUF;
	if (key == bind->tt_key)
		return WRC_CL_TT;
	if (key == bind->free_key)
		return WRC_CL_FREE;
	if (key == bind->pool_key)
		return WRC_CL_POOL;
	if (bind->keymap_key && key == bind->keymap_key)
		return WRC_CL_KEYMAP;
	if (bind->table && key == bind->table_key)
		return WRC_CL_TURN;
	return WRC_CL_NONE;
}

static void dis_mem(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		    __u32 key, __u64 addr)
{
	enum wrc_class class = WRC_CL_NONE;

	if (ctx)
		class = class_of(ctx->bind, key);
	if (class == WRC_CL_ARENA && dis_place(t, ctx, addr))
		return;
	if (class == WRC_CL_FREE && dis_free(t, ctx->bind, addr))
		return;
	if (class == WRC_CL_NONE)
		wrc_text_add(t, "0x%x:", key);
	else
		wrc_text_add(t, "%s:", wrc_class_name(class));
	wrc_text_add(t, "0x%llx", (unsigned long long)addr);
}

void wrc_dis_sge(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		 const struct wrc_sge *sge)
{
	dis_mem(t, ctx, sge->lkey, sge->addr);
	wrc_text_add(t, "[%u]", sge->len);
}

/* Eight bytes in one-byte segments downwards: an endian swap. */
static bool is_reversed(const struct wrc_wr *wr)
{
	unsigned int i;

	if (wr->nr_sge != 8)
		return false;
	for (i = 0; i < 8; i++)
		if (wr->sge[i].len != 1 || wr->sge[i].lkey != wr->sge[0].lkey ||
		    wr->sge[i].addr + i != wr->sge[0].addr)
			return false;
	return true;
}

static void dis_inline(struct wrc_text *t, const struct wrc_wr *wr)
{
	const __u8 *p = wr->inl;
	__u32 i;

	wrc_text_add(t, "inline[%u]", wr->inl_len);
	for (i = 0; i < wr->inl_len && i < 16; i++)
		wrc_text_add(t, "%s%02x", i ? "" : " ", p[i]);
	if (i < wr->inl_len)
		wrc_text_add(t, "...");
}

static void dis_locals(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		       const struct wrc_wr *wr)
{
	unsigned int i;

	if (wr->inl_len) {
		dis_inline(t, wr);
	} else if (is_reversed(wr)) {
		dis_mem(t, ctx, wr->sge[7].lkey, wr->sge[7].addr);
		wrc_text_add(t, "[8] reversed");
	} else {
		for (i = 0; i < wr->nr_sge; i++) {
			wrc_text_add(t, i ? ", " : "");
			wrc_dis_sge(t, ctx, &wr->sge[i]);
		}
		if (!wr->nr_sge)
			wrc_text_add(t, "nothing");
	}
}

static const char *object_name(const struct wrc_dis_ctx *ctx,
			       const struct wrc_wr *wr)
{
	const struct wrc_bind *bind = ctx ? ctx->bind : NULL;

	if (!bind)
		return "";
	if (wr->shape == WRC_WQE_WAIT)
		return wr->obj == bind->client_rcqn ? " requests" :
		       wr->obj == bind->loop_scqn   ? " loop" :
		       wr->obj == bind->client_scqn ? " answers" : "";
	return wr->obj == bind->loop_qpn   ? " loop" :
	       wr->obj == bind->client_qpn ? " client" : "";
}

static void dis_atomic(struct wrc_text *t, const struct wrc_wr *wr)
{
	unsigned long long swap = wr->swap, compare = wr->compare;

	switch (wr->shape) {
	case WRC_WQE_FA:
		wrc_text_add(t, " add 0x%llx", swap);
		break;
	case WRC_WQE_MASKED_FA:
		wrc_text_add(t, " add 0x%llx boundary 0x%llx", swap, compare);
		break;
	case WRC_WQE_CS:
		wrc_text_add(t, " if 0x%llx swap 0x%llx", compare, swap);
		break;
	default:
		wrc_text_add(t, " if 0x%llx/0x%llx swap 0x%llx/0x%llx",
			     compare, (unsigned long long)wr->compare_mask,
			     swap, (unsigned long long)wr->swap_mask);
		break;
	}
}

static void dis_umr(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		    const struct wrc_wr *wr)
{
	wrc_text_add(t, " key 0x%x entry %u to ", wr->imm, wr->offset);
	if (wr->page_key || wr->page)
		dis_mem(t, ctx, wr->page_key, wr->page);
	else
		wrc_text_add(t, "nothing");
}

static void dis_operands(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
			 const struct wrc_opdef *def, const struct wrc_wr *wr)
{
	bool atomic = (def->flags & WRC_OP_ATOMIC) == WRC_OP_ATOMIC;

	if (def->op == WRC_WQE_WAIT)
		wrc_text_add(t, " cq 0x%x%s cqe %u", wr->obj,
			     object_name(ctx, wr), wr->count);
	else if (def->op == WRC_WQE_SEND_EN || def->op == WRC_WQE_RECV_EN)
		wrc_text_add(t, " qp 0x%x%s up to %u", wr->obj,
			     object_name(ctx, wr), wr->count);
	if (def->flags & WRC_OP_IMM)
		wrc_text_add(t, " imm 0x%x", wr->imm);
	if (def->flags & WRC_OP_KEY)
		dis_umr(t, ctx, wr);
	if (def->flags & WRC_OP_REMOTE) {
		wrc_text_add(t, atomic			     ? " at " :
				def->flags & WRC_OP_RREAD ? " from " : " to ");
		dis_mem(t, ctx, wr->rkey, wr->raddr);
	}
	if (atomic)
		dis_atomic(t, wr);
	if (def->flags & (WRC_OP_GATHER | WRC_OP_SCATTER)) {
		wrc_text_add(t, atomic			       ? " old to " :
				def->flags & WRC_OP_GATHER ? " from " : " to ");
		dis_locals(t, ctx, wr);
	}
}

/* ctx may be NULL. */
static void dis_wr(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		   const struct wrc_wr *wr)
{
	const struct wrc_opdef *def = wrc_opdef(wr->shape);

	if (wr->op != wr->shape)
		wrc_text_add(t, "nop|");
	wrc_text_add(t, "%s", def->name);
	if ((wr->flags & WRC_WQE_CE_MASK) == WRC_WQE_CE_ALWAYS)
		wrc_text_add(t, " ce");
	else if (wr->flags & WRC_WQE_CE_MASK)
		wrc_text_add(t, " ce=%u", (wr->flags & WRC_WQE_CE_MASK) >> 2);
	if (wr->flags & WRC_WQE_SE)
		wrc_text_add(t, " se");
	if (wr->flags & WRC_WQE_FM_MASK)
		wrc_text_add(t, " fm=%u", wr->flags >> 5);
	if (def->op == WRC_WQE_NOP)
		wrc_text_add(t, " %u", wr->ds * WRC_WQE_DS);
	dis_operands(t, ctx, def, wr);
}

__u32 wrc_dis_bytes(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		    const void *wqe, size_t len, int shape)
{
	const __u8 *p = wqe;
	struct wrc_wr wr;
	int n;

	n = wrc_decode(wqe, len, shape, &wr);
	if (n > 0) {
		dis_wr(t, ctx, &wr);
		return (n + WRC_WQE_BB - 1) / WRC_WQE_BB * WRC_WQE_BB;
	}
	wrc_text_add(t, "(opcode 0x%02x: %s)", len > 3 ? p[3] : 0,
		     wrc_decode_why(wqe, len, shape));
	return WRC_WQE_BB;
}
