// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The builder; see build.h. */
#include "build.h"
#include "link.h"

static void build_fail(struct wrc_build *b, int err)
{
	if (!b->err)
		b->err = err;
}

void wrc_begin(struct wrc_build *b, struct wrc_prog *prog,
	       enum odrp_wire_chain chain, const char *name,
	       const struct wrc_opts *opts)
{
	memset(b, 0, sizeof(*b));
	memset(prog, 0, sizeof(*prog));
	b->prog = prog;
	prog->name = name;
	prog->chain = chain;
	prog->strict = opts && opts->strict_index;
	prog->node = opts && opts->recycle == WRC_RECYCLE_NODE;
	prog->fences = opts && opts->order == WRC_ORDER_FENCE;
	prog->hold.slot_taken = WRC_NONE;
	prog->hold.page_taken = WRC_NONE;
	prog->hold.page_put = WRC_NONE;
	prog->hold.swapped = WRC_NONE;
	prog->hold.umr = WRC_NONE;
	prog->post = WRC_NONE;
	prog->choice = WRC_NONE;
	prog->map = WRC_NONE;
	prog->turns = WRC_NONE;
}

int wrc_end(struct wrc_build *b)
{
	if (!b->err)
		b->err = wrc_link(b->prog);
	return b->err;
}

static int emit_check(const struct wrc_build *b, const struct wrc_insn *insn)
{
	const struct wrc_opdef *def = wrc_opdef(insn->op);

	if (!def)
		return -EINVAL;
	if (insn->nr_sge > WRC_INSN_SGE)
		return -ENOSPC;
	if (insn->nr_sge < def->min_sge || insn->nr_sge > def->max_sge)
		return -EINVAL;
	if (!!(def->flags & WRC_OP_REMOTE) !=
	    (insn->remote.space != WRC_SP_NONE))
		return -EINVAL;
	if ((insn->flags & WRC_I_MAYBE) && !(insn->flags & WRC_I_SIGNALED))
		return -EINVAL;	/* else its CQE would come only sometimes */
	if ((insn->flags & WRC_I_ANSWER) &&
	    ((insn->op != WRC_WQE_WRITE_IMM && insn->op != WRC_WQE_WRITE) ||
	     !b->in_client ||
	     insn->flags & WRC_I_MAYBE))
		return -EINVAL;
	if (b->prog->nr_insn == WRC_MAX_INSN)
		return -ENOSPC;
	return 0;
}

int wrc_emit(struct wrc_build *b, const struct wrc_insn *insn)
{
	struct wrc_insn *new;

	if (!b->err)
		build_fail(b, emit_check(b, insn));
	if (b->err)
		return 0;
	new = &b->prog->insn[b->prog->nr_insn];
	*new = *insn;
	new->queue = b->in_client ? WRC_CLIENT : WRC_LOOP;
	if (b->fence)
		new->flags |= WRC_I_FENCE;
	b->fence = false;
	return b->prog->nr_insn++;
}

void wrc_head_end(struct wrc_build *b)
{
	if (b->in_client || b->prog->nr_head || !b->prog->nr_insn)
		build_fail(b, -EINVAL);
	if (!b->err)
		b->prog->nr_head = b->prog->nr_insn;
}

void wrc_client_queue(struct wrc_build *b)
{
	if (b->in_client || !b->prog->nr_head || b->fence)
		build_fail(b, -EINVAL);
	b->in_client = true;
}

int wrc_wait(struct wrc_build *b, int for_insn)
{
	struct wrc_insn insn = { .op = WRC_WQE_WAIT, .target = for_insn };

	return wrc_emit(b, &insn);
}

void wrc_after(struct wrc_build *b, int insn)
{
	if (b->err)
		return;
	if (!b->prog->fences) {
		wrc_wait(b, insn);
		return;
	}
	/* A fence is about these alone. */
	if (b->in_client || insn < 0 || insn >= b->prog->nr_insn ||
	    !(wrc_opdef(b->prog->insn[insn].op)->flags & WRC_OP_SCATTER))
		build_fail(b, -EINVAL);
	b->fence = true;
}

int wrc_send_en(struct wrc_build *b, int target)
{
	struct wrc_insn insn = { .op = WRC_WQE_SEND_EN, .target = target };

	return wrc_emit(b, &insn);
}

void wrc_enable_upto(struct wrc_build *b, int send_en, int target)
{
	if (b->err)
		return;
	if (send_en >= b->prog->nr_insn ||
	    b->prog->insn[send_en].op != WRC_WQE_SEND_EN) {
		build_fail(b, -EINVAL);
		return;
	}
	b->prog->insn[send_en].target = target;
}

void wrc_wait_for(struct wrc_build *b, int wait, int for_insn)
{
	if (b->err)
		return;
	if (wait >= b->prog->nr_insn ||
	    b->prog->insn[wait].op != WRC_WQE_WAIT) {
		build_fail(b, -EINVAL);
		return;
	}
	b->prog->insn[wait].target = for_insn;
}

/* One remote place and at most one local segment. */
static int emit_rdma(struct wrc_build *b, __u8 op, struct wrc_ref remote,
		     struct wrc_ref local, __u32 len, __u8 flags)
{
	struct wrc_insn insn = {
		.op = op,
		.flags = flags,
		.remote = remote,
		.nr_sge = len ? 1 : 0,
		.sge = { { local, len } },
	};

	return wrc_emit(b, &insn);
}

int wrc_read(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to,
	     __u32 len)
{
	return emit_rdma(b, WRC_WQE_READ, remote, to, len, WRC_I_SIGNALED);
}

int wrc_write(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
	      __u32 len, __u8 flags)
{
	return emit_rdma(b, WRC_WQE_WRITE, remote, from, len, flags);
}

int wrc_write_imm(struct wrc_build *b, struct wrc_ref remote,
		  struct wrc_ref from, __u32 len)
{
	return emit_rdma(b, WRC_WQE_WRITE_IMM, remote, from, len, 0);
}

int wrc_answer(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
	       __u32 len, __u8 flags)
{
	int answer = emit_rdma(b, WRC_WQE_WRITE_IMM, remote, from, len,
			       flags | WRC_I_ANSWER);
	struct wrc_ref opcode = wrc_field(answer, WRC_F_OPCODE, 0);

	if (b->err)
		return 0;
	b->prog->insn[answer].quiet = len ? WRC_WQE_WRITE : WRC_WQE_NOP;
	opcode.delta = 1;	/* the next instance's */
	if (b->prog->choice != WRC_NONE)
		wrc_set_local(b, b->prog->choice, 0, opcode);
	return answer;
}

int wrc_deliver(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
		__u32 len)
{
	int page = emit_rdma(b, WRC_WQE_WRITE, remote, from, len,
			     WRC_I_ANSWER | WRC_I_SIGNALED);

	if (!b->err)
		b->prog->insn[page].quiet = WRC_WQE_WRITE_IMM;
	return page;
}

int wrc_advance(struct wrc_build *b, struct wrc_ref counter, struct wrc_ref to,
		__u8 flags)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_MASKED_FA,
		.flags = flags | WRC_I_SIGNALED,
		.remote = counter,
		.nr_sge = 1,
		.sge = { { to, 8 } },
		.swap = 8,
	};

	return wrc_emit(b, &insn);
}

int wrc_take(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_MASKED_CS,
		.flags = WRC_I_SIGNALED,
		.remote = remote,
		.nr_sge = 1,
		.sge = { { to, 8 } },
		.swap_mask = ~0ull,
	};

	return wrc_emit(b, &insn);
}

int wrc_exchange(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to)
{
	int swap = wrc_take(b, remote, to);

	if (!b->err)
		b->prog->insn[swap].flags |= WRC_I_EXCHANGE;
	return swap;
}

int wrc_keymap(struct wrc_build *b)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_READ,
		.flags = WRC_I_SIGNALED,
		.remote = wrc_at(WRC_SP_KEYMAP),
		.nr_sge = 3,	/* struct wrc_keymap */
		.sge = {
			{ wrc_at(WRC_SP_NONE), sizeof(__be32) },
			{ wrc_reg(WRC_REG_TRASH, 0), sizeof(__be16) },
			{ wrc_at(WRC_SP_NONE), sizeof(__be16) },
		},
	};
	int map;

	if (!b->err && wrc_is_keyed(b->prog))
		build_fail(b, -EINVAL);
	map = wrc_emit(b, &insn);
	if (!b->err)
		b->prog->map = map;
	return map;
}

int wrc_umr(struct wrc_build *b, bool own_page)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_UMR,
		.flags = WRC_I_SIGNALED | (own_page ? WRC_I_EXCHANGE : 0),
	};
	int umr;

	if (!b->err && !wrc_is_keyed(b->prog))
		build_fail(b, -EINVAL);
	umr = wrc_emit(b, &insn);
	if (b->err)
		return 0;
	b->prog->hold.umr = umr;
	wrc_set_local(b, b->prog->map, 0, wrc_field(umr, WRC_F_IMM, 0));
	wrc_set_local(b, b->prog->map, 2, wrc_field(umr, WRC_F_OFFSET, 0));
	return umr;
}

int wrc_endian_swap(struct wrc_build *b, struct wrc_ref from)
{
	struct wrc_insn insn = {
		.op = WRC_WQE_READ,
		.flags = WRC_I_SIGNALED,
		.remote = from,
		.nr_sge = 8,
	};
	unsigned int i;

	for (i = 0; i < 8; i++)
		insn.sge[i].len = 1;
	return wrc_emit(b, &insn);
}

void wrc_set_local(struct wrc_build *b, int insn, unsigned int sge,
		   struct wrc_ref at)
{
	if (b->err)
		return;
	if (insn < 0 || insn >= b->prog->nr_insn ||
	    sge >= b->prog->insn[insn].nr_sge) {
		build_fail(b, -EINVAL);
		return;
	}
	b->prog->insn[insn].sge[sge].at = at;
}

void wrc_set_swapped(struct wrc_build *b, int insn, struct wrc_ref at)
{
	unsigned int i;
	__u8 off = at.off;

	for (i = 0; i < 8; i++) {
		at.off = off + 7 - i;
		wrc_set_local(b, insn, i, at);
	}
}

void wrc_set_remote(struct wrc_build *b, int insn, struct wrc_ref at)
{
	if (b->err)
		return;
	if (insn < 0 || insn >= b->prog->nr_insn ||
	    b->prog->insn[insn].op != WRC_WQE_READ) {
		build_fail(b, -EINVAL);
		return;
	}
	b->prog->insn[insn].remote = at;
}

void wrc_holds(struct wrc_build *b, bool freeing, int slot_taken,
	       struct wrc_ref slot, int page_taken, struct wrc_ref page,
	       int page_put)
{
	struct wrc_hold *h = &b->prog->hold;

	if (b->err)
		return;
	h->freeing = freeing;
	h->slot_taken = slot_taken;
	h->slot = slot;
	h->page_taken = page_taken;
	h->page = page;
	h->page_put = page_put;
}

void wrc_lends(struct wrc_build *b, struct wrc_ref tt, int page_taken,
	       struct wrc_ref page, int page_put)
{
	wrc_holds(b, false, WRC_NONE, wrc_at(WRC_SP_NONE), page_taken, page,
		  page_put);
	if (b->err)
		return;
	b->prog->hold.lent = true;
	b->prog->hold.tt = tt;
}

void wrc_holds_old(struct wrc_build *b, int swapped, struct wrc_ref old)
{
	if (b->err)
		return;
	b->prog->hold.swapped = swapped;
	b->prog->hold.old = old;
}

void wrc_arg(struct wrc_build *b, __u16 off, __u16 len, struct wrc_ref to)
{
	struct wrc_prog *prog = b->prog;

	if (b->err)
		return;
	if (!len || off + len > sizeof(struct odrp_wire_req)) {
		build_fail(b, -ERANGE);
		return;
	}
	if (prog->nr_args == WRC_MAX_ARGS) {
		build_fail(b, -ENOSPC);
		return;
	}
	prog->arg[prog->nr_args].off = off;
	prog->arg[prog->nr_args].len = len;
	prog->arg[prog->nr_args].to = to;
	prog->nr_args++;
}

void wrc_page(struct wrc_build *b)
{
	if (!b->err)
		b->prog->page = true;
}

void wrc_own(struct wrc_build *b)
{
	if (!b->err)
		b->prog->kind = WRC_KIND_OWN;
}

void wrc_posts(struct wrc_build *b, int post)
{
	if (!b->err)
		b->prog->post = post;
}

/* A READ for what fits into the segments of one, and one for the high bytes. */
static unsigned int nr_reads(const struct wrc_prog *prog)
{
	unsigned int i, words = 8;	/* addresses, post, argument, padding */

	for (i = 0; i < prog->nr_insn; i++)
		words += prog->insn[i].op == WRC_WQE_WAIT ||
			 prog->insn[i].op == WRC_WQE_SEND_EN;
	if (prog->strict)		/* and the tail, two NOPs, the answer */
		words += prog->nr_insn + 7;
	return words > WRC_INSN_SGE ? 3 : 2;
}

void wrc_recycle(struct wrc_build *b)
{
	struct wrc_insn row = {
		.op = WRC_WQE_READ,
		.remote = wrc_at(WRC_SP_TURN),
	};
	unsigned int i, n;
	int post;

	if (b->err || !b->prog->node)
		return;
	/* The last READ's completion says that all of them are there. */
	b->prog->choice = emit_rdma(b, WRC_WQE_READ, wrc_at(WRC_SP_CHOICE),
				    wrc_at(WRC_SP_NONE), 1, 0);
	n = nr_reads(b->prog);
	b->prog->turns = b->prog->nr_insn;
	b->prog->nr_reads = n;
	for (i = 0; i < n; i++) {
		row.remote.at = i;
		if (i == n - 1)
			row.flags = WRC_I_SIGNALED;
		wrc_emit(b, &row);
	}
	wrc_wait(b, b->prog->turns + n - 1);
	post = wrc_write(b, wrc_at(WRC_SP_DBR), wrc_reg(WRC_REG_POST, 0),
			 sizeof(__be32), 0);
	wrc_posts(b, post);
}
