// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shorter chains that do not exist yet, as far as their cost goes: the right
 * WRs with the right dependencies.  They are not armed, verified or run by
 * anybody; what a field or register would hold is left open where it does not
 * change the cost.
 */
#include "../core/build.h"
#include "ideas.h"

struct idea {
	struct wrc_build b;
	bool fenced;
	bool gate;
	int last_en;		/* whose reach is still open */
};

static const struct wrc_ref spare = { .space = WRC_SP_REG, .at = WRC_REG_PAGE };

static void begin(struct idea *i, enum odrp_wire_chain chain, const char *name,
		  bool page, struct wrc_prog *prog)
{
	int go;

	wrc_begin(&i->b, prog, chain, name, NULL);
	if (page)
		wrc_page(&i->b);
	wrc_wait(&i->b, WRC_RECV);
	go = wrc_send_en(&i->b, 0);
	wrc_head_end(&i->b);
	i->last_en = go;
	if (i->gate) {
		i->last_en = wrc_send_en(&i->b, 0);
		wrc_enable_upto(&i->b, go, i->last_en);
	}
}

/* What comes next needs the result of insn, a READ or atomic. */
static void need(struct idea *i, int insn)
{
	if (!i->fenced)
		wrc_wait(&i->b, insn);
}

/* What comes next has been patched. */
static void patched(struct idea *i)
{
	int en = wrc_send_en(&i->b, 0);

	wrc_enable_upto(&i->b, i->last_en, en);
	i->last_en = en;
}

/* No patch comes any more, not even of the next head. */
static void free_run(struct idea *i)
{
	wrc_enable_upto(&i->b, i->last_en, WRC_NEXT_HEAD);
}

/* done: a WRITE that must have taken effect (I5); 0: none. */
static void answer(struct idea *i, int done)
{
	if (done)
		wrc_wait(&i->b, done);
	i->last_en = wrc_send_en(&i->b, 0);
}

static int finish(struct idea *i, int tt_user, __u32 page_len)
{
	int a, n = sizeof(__u64);

	wrc_client_queue(&i->b);
	a = wrc_write_imm(&i->b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			  page_len);
	wrc_enable_upto(&i->b, i->last_en, a);
	wrc_arg(&i->b, 0, n, wrc_field(tt_user, WRC_F_RADDR, 0));
	wrc_arg(&i->b, n, 4, wrc_field(a, WRC_F_IMM, 0));
	wrc_arg(&i->b, n + 4, 12, wrc_reg(WRC_REG_TRASH, 0));
	return wrc_end(&i->b);
}

/* ---- what there is, for comparison ------------------------------------------ */

static int load(struct idea *i, struct wrc_prog *prog)
{
	int look;

	begin(i, ODRP_WIRE_LOAD, "load", false, prog);
	free_run(i);
	look = wrc_read(&i->b, wrc_at(WRC_SP_TT), spare, 8);
	need(i, look);
	answer(i, 0);
	return finish(i, look, ODRP_WIRE_PAGE_SIZE);
}

static int copying_store(struct idea *i, struct wrc_prog *prog)
{
	int look, put;

	begin(i, ODRP_WIRE_MAPPED_STORE, "mapped_store", true, prog);
	look = wrc_read(&i->b, wrc_at(WRC_SP_TT), spare, 8);
	need(i, look);
	patched(i);
	free_run(i);
	put = wrc_write(&i->b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	answer(i, put);
	return finish(i, look, 0);
}

#define ODOMETER_WORDS 8

/*
 * Recycle words from a table instead of from the client: one READ behind the
 * answer fetches those of the next lap, the record, and its own next address.
 */
static int odometer_load(struct idea *i, struct wrc_prog *prog)
{
	struct wrc_insn words = {
		.op = WRC_WQE_READ,
		.remote = wrc_reg(WRC_REG_SLOT, 0),
		.nr_sge = ODOMETER_WORDS,
	};
	unsigned int n;
	int look;

	for (n = 0; n < ODOMETER_WORDS; n++) {
		words.sge[n].at = wrc_reg(WRC_REG_TRASH, 0);
		words.sge[n].len = sizeof(__be32);
	}
	begin(i, ODRP_WIRE_LOAD, "load", false, prog);
	prog->self = true;
	free_run(i);
	look = wrc_read(&i->b, wrc_at(WRC_SP_TT), spare, 8);
	need(i, look);
	answer(i, 0);
	wrc_emit(&i->b, &words);
	return finish(i, look, ODRP_WIRE_PAGE_SIZE);
}

/* ---- a ring in an order that needs no EndianSwap ------------------------------ */

static int ring_store(struct idea *i, struct wrc_prog *prog)
{
	int pop, take, map, put;

	begin(i, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", true, prog);
	pop = wrc_advance(&i->b, wrc_at(WRC_SP_HEAD),
			  wrc_reg(WRC_REG_SLOT, 0), 0);
	need(i, pop);
	patched(i);
	take = wrc_take(&i->b, wrc_at(WRC_SP_SLOT), spare);
	need(i, take);
	patched(i);
	free_run(i);
	map = wrc_write(&i->b, wrc_at(WRC_SP_TT), spare, 8, 0);
	put = wrc_write(&i->b, wrc_at(WRC_SP_POOL), wrc_at(WRC_SP_BUF),
			ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	answer(i, put);
	return finish(i, map, 0);
}

static int ring_invalidate(struct idea *i, struct wrc_prog *prog)
{
	int take, sel, push, put;

	begin(i, ODRP_WIRE_INVALIDATE, "invalidate", false, prog);
	take = wrc_take(&i->b, wrc_at(WRC_SP_TT), spare);
	need(i, take);
	sel = wrc_read(&i->b, spare, wrc_reg(WRC_REG_TRASH, 0), 8);
	need(i, sel);
	patched(i);
	push = wrc_advance(&i->b, wrc_at(WRC_SP_TAIL),
			   wrc_reg(WRC_REG_SLOT, 0), WRC_I_MAYBE);
	need(i, push);
	patched(i);
	free_run(i);
	put = wrc_write(&i->b, wrc_at(WRC_SP_SLOT), spare, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	answer(i, put);
	return finish(i, take, 0);
}

/* ---- page exchange: receive into a page that has been taken already ------------ */

/* Off the path: the next page, to the receive entry and the register. */
static void refill(struct idea *i)
{
	int pop, take;

	pop = wrc_advance(&i->b, wrc_at(WRC_SP_HEAD),
			  wrc_reg(WRC_REG_SLOT, 0), 0);
	need(i, pop);
	i->last_en = wrc_send_en(&i->b, WRC_NEXT_HEAD);
	take = wrc_take(&i->b, wrc_at(WRC_SP_SLOT), spare);
	need(i, take);
	wrc_read(&i->b, spare, wrc_reg(WRC_REG_SLOT, 0), 8);
}

static int exchange_unmapped(struct idea *i, struct wrc_prog *prog)
{
	int map, en, go, open;

	begin(i, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", true, prog);
	open = i->last_en;
	map = wrc_write(&i->b, wrc_at(WRC_SP_TT), spare, 8, WRC_I_SIGNALED);
	answer(i, map);
	go = i->last_en;
	refill(i);
	en = i->last_en;
	wrc_enable_upto(&i->b, open, en);
	i->last_en = go;
	return finish(i, map, 0);
}

static int exchange_mapped(struct idea *i, struct wrc_prog *prog)
{
	int look, map;

	begin(i, ODRP_WIRE_MAPPED_STORE, "mapped_store", true, prog);
	free_run(i);
	look = wrc_read(&i->b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_TT, 0), 8);
	need(i, look);
	map = wrc_write(&i->b, wrc_at(WRC_SP_TT), spare, 8, WRC_I_SIGNALED);
	answer(i, map);
	/* Off the path: the old page becomes the register, and the entry's. */
	wrc_read(&i->b, wrc_reg(WRC_REG_TT, 0), spare, 8);
	wrc_read(&i->b, wrc_reg(WRC_REG_TT, 0), wrc_reg(WRC_REG_SLOT, 0), 8);
	return finish(i, map, 0);
}

/*
 * One atomic swaps the register with the entry.  Its operand stands reversed
 * in the WQE, so behind the answer the old page goes there by a reversing READ.
 */
static int exchange_atomic(struct idea *i, struct wrc_prog *prog)
{
	int swap, back;

	begin(i, ODRP_WIRE_MAPPED_STORE, "mapped_store", true, prog);
	free_run(i);
	swap = wrc_take(&i->b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_TT, 0));
	need(i, swap);
	answer(i, 0);
	back = wrc_endian_swap(&i->b, wrc_reg(WRC_REG_TT, 0));
	wrc_set_swapped(&i->b, back, spare);
	wrc_read(&i->b, wrc_reg(WRC_REG_TT, 0), wrc_reg(WRC_REG_SLOT, 0), 8);
	return finish(i, swap, 0);
}

/*
 * One program for mapped and unmapped slots, as prog/exchange.c has two: the
 * old entry decides.  An entry's bytes make opcodes for a mapped one only, so
 * they make WRITEs that turn the allocation into NOPs; a READ makes it whole
 * again for the next lap.  As it costs where a page is allocated: without one,
 * two atomics fewer.
 */
static int exchange_any(struct idea *i, struct wrc_prog *prog)
{
	struct wrc_ref trash = wrc_reg(WRC_REG_TRASH, 0);
	int swap, go, open, n;

	begin(i, ODRP_WIRE_UNMAPPED_STORE, "unmapped_store", true, prog);
	open = i->last_en;
	swap = wrc_exchange(&i->b, wrc_at(WRC_SP_TT), spare);
	need(i, swap);
	go = wrc_send_en(&i->b, 0);
	i->last_en = open;
	/* Opcodes of the allocation as they were; and whether to cancel it. */
	n = wrc_read(&i->b, trash, trash, 2);
	n = wrc_read(&i->b, spare, trash, 8);
	need(i, n);
	patched(i);
	wrc_write(&i->b, trash, trash, 1, 0);
	n = wrc_write(&i->b, trash, trash, 1, WRC_I_SIGNALED);
	wrc_wait(&i->b, n);
	patched(i);
	n = wrc_advance(&i->b, wrc_at(WRC_SP_HEAD), wrc_reg(WRC_REG_SLOT, 0),
			0);
	need(i, n);
	n = wrc_endian_swap(&i->b, wrc_reg(WRC_REG_SLOT, 0));
	wrc_set_swapped(&i->b, n, trash);
	need(i, n);
	patched(i);
	n = wrc_take(&i->b, wrc_at(WRC_SP_SLOT), spare);
	need(i, n);
	patched(i);
	free_run(i);
	wrc_write(&i->b, trash, spare, 8, 0);
	n = wrc_endian_swap(&i->b, spare);
	wrc_set_swapped(&i->b, n, trash);
	n = wrc_read(&i->b, spare, trash, 8);
	need(i, n);
	wrc_write(&i->b, wrc_at(WRC_SP_DBR), trash, sizeof(__be32), 0);
	i->last_en = go;
	return finish(i, swap, 0);
}

/* ---- pull store: the chain READs the page from the client ----------------------- */

static int pull_mapped(struct idea *i, struct wrc_prog *prog)
{
	int look, pull;

	begin(i, ODRP_WIRE_MAPPED_STORE, "mapped_store", false, prog);
	look = wrc_read(&i->b, wrc_at(WRC_SP_TT), spare, 8);
	need(i, look);
	patched(i);
	free_run(i);
	pull = wrc_read(&i->b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL),
			ODRP_WIRE_PAGE_SIZE);
	answer(i, pull);
	return finish(i, look, 0);
}

static const struct {
	struct wrc_idea idea;
	int (*build)(struct idea *i, struct wrc_prog *prog);
} ideas[] = {
	{ { "as it is", "READ, answer" }, load },
	{ { "odometer", "recycle words from a table, by one READ" },
	  odometer_load },
	{ { "as it is", "READ, WRITE 4 KB, answer" }, copying_store },
	{ { "page exchange", "no copy; two READs behind the answer" },
	  exchange_mapped },
	{ { "page exchange, atomic", "the same by one atomic on the entry" },
	  exchange_atomic },
	{ { "pull store", "the page comes once, by a READ" }, pull_mapped },
	{ { "ring without EndianSwap", "FAA straight into the take" },
	  ring_store },
	{ { "page exchange", "no copy; allocation behind the answer" },
	  exchange_unmapped },
	{ { "exchange, one for both", "the entry says whether to allocate" },
	  exchange_any },
	{ { "ring without EndianSwap", "FAA straight into the WRITE" },
	  ring_invalidate },
};

unsigned int wrc_nr_ideas(void)
{
	return sizeof(ideas) / sizeof(ideas[0]);
}

const struct wrc_idea *wrc_idea(unsigned int idea)
{
	return &ideas[idea].idea;
}

int wrc_idea_build(unsigned int idea, bool gate, bool fenced,
		   struct wrc_prog *ret_prog)
{
	struct idea i = { .gate = gate, .fenced = fenced };

	if (idea >= wrc_nr_ideas())
		return -EINVAL;
	return ideas[idea].build(&i, ret_prog);
}
