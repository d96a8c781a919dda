// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and page exchange: a store and a load, faithfully built, each
 * time with one thing wrong, which one rule refuses.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

enum bug {
	NO_BUG,
	/* a load */
	LOOKS,
	GIVES_EARLY,
	WAITS_TOO_EARLY,
	/* a store */
	MAPS_NOTHING,
	SWAPS_TWICE,
	NOT_REVERSED,
	ENTRY_FORGOTTEN,
	ENTRY_FROM_ELSEWHERE,
	COPIES_NEW,
	UNTOUCHED,
	LOSES_OLD,
	OLD_UNKNOWN,
	POSTED_BY_REQUEST,
	POSTS_ANYTHING,
	POSTS_EARLY,
	STOPS_WITHOUT_TRACE,
	SENDS_OLD,
	GIVES_TOO,
	ADDRESS_FIRST,
	POSTS_UNRENEWED,
	/* programs that should not */
	POSTS_NO_PAGE,
};

static const struct wrc_ref nowhere = { .space = WRC_SP_NONE };

/* ---- load ------------------------------------------------------------------- */

static void build_load(struct wrc_build *b, struct wrc_prog *prog, enum bug bug)
{
	int body, take, go, tt, look = 0, seen = 0, en, put, done, page, answer;
	struct wrc_ref at;

	wrc_begin(b, prog, ODRP_WIRE_LOAD, "broken", NULL);
	wrc_own(b);
	body = wrc_prog_head(b);
	take = wrc_take(b, wrc_at(WRC_SP_TT), nowhere);
	at = wrc_field(take, WRC_F_RADDR, 0);
	wrc_wait(b, take);
	if (bug == WAITS_TOO_EARLY)
		seen = wrc_wait(b, 0);
	go = wrc_send_en(b, 0);
	tt = wrc_read(b, at, nowhere, 8);
	wrc_wait(b, tt);
	if (bug != GIVES_EARLY && bug != WAITS_TOO_EARLY)
		seen = wrc_wait(b, 0);
	en = wrc_send_en(b, bug == LOOKS ? 0 : WRC_NEXT_HEAD);
	wrc_enable_upto(b, body, en);
	if (bug == LOOKS) {
		/* Its own entry once more, whatever is there by now. */
		int copy = wrc_read(b, at, nowhere, 8), last;

		wrc_wait(b, copy);
		last = wrc_send_en(b, WRC_NEXT_HEAD);
		wrc_enable_upto(b, en, last);
		look = wrc_read(b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_TRASH, 0),
				8);
		wrc_set_local(b, copy, 0, wrc_field(look, WRC_F_RADDR, 0));
	}
	put = wrc_write(b, wrc_at(WRC_SP_TT), nowhere, 8, WRC_I_SIGNALED);
	wrc_set_local(b, tt, 0, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(b, put);
	done = wrc_send_en(b, 0);

	wrc_client_queue(b);
	page = wrc_deliver(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL), 4096);
	answer = wrc_answer(b, wrc_at(WRC_SP_PEER), nowhere, 0, 0);
	wrc_enable_upto(b, go, page);
	wrc_enable_upto(b, done, answer);
	if (bug != GIVES_EARLY)
		wrc_wait_for(b, seen, page);
	wrc_set_local(b, take, 0, wrc_field(page, WRC_F_ADDR, 0));
	wrc_set_local(b, put, 0, wrc_field(page, WRC_F_ADDR, 0));
	wrc_prog_args(b, take, page);
	wrc_lends(b, at, take, wrc_field(page, WRC_F_ADDR, 0), put);
}

/* ---- store ------------------------------------------------------------------ */

/* From the slot to the place of the new page, with one more stop. */
static struct wrc_ref new_page(struct wrc_build *b, enum bug bug, int take,
			       int *ret_touch)
{
	struct wrc_ref reg = wrc_reg(WRC_REG_PAGE, 0), at;
	int copy = 0;

	if (bug == COPIES_NEW) {
		copy = wrc_read(b, reg, nowhere, 8);
		wrc_wait(b, copy);
	}
	*ret_touch = wrc_send_en(b, WRC_NEXT_HEAD);
	if (bug == UNTOUCHED) {
		wrc_set_local(b, take, 0, reg);
		return reg;
	}
	at = wrc_field(wrc_write(b, wrc_reg(WRC_REG_TRASH, 0),
				 wrc_at(WRC_SP_POOL), 8, 0), WRC_F_ADDR, 0);
	wrc_set_local(b, take, 0, bug == COPIES_NEW ? reg : at);
	if (bug == COPIES_NEW)
		wrc_set_local(b, copy, 0, at);
	return at;
}

/* wrc_recycle(), which posts when the first of its READs is there. */
static void recycle_early(struct wrc_build *b)
{
	int first;

	wrc_recycle(b);
	first = b->prog->turns;
	b->prog->insn[first].flags |= WRC_I_SIGNALED;
	wrc_wait_for(b, b->prog->post - 1, first);
	wrc_wait(b, first + b->prog->nr_reads - 1);
}

static void renew(struct wrc_build *b, enum bug bug, int swap,
		  struct wrc_ref page)
{
	struct wrc_ref from = page;
	int operand, entry = 0, post;

	if (bug == NOT_REVERSED) {
		operand = wrc_read(b, page, wrc_field(swap, WRC_F_MSWAP, 0), 8);
	} else {
		operand = wrc_endian_swap(b, page);
		wrc_set_swapped(b, operand, bug == MAPS_NOTHING ?
				wrc_reg(WRC_REG_TRASH, 0) :
				wrc_field(swap, WRC_F_MSWAP, 0));
	}
	if (bug == ENTRY_FROM_ELSEWHERE) {
		from = wrc_reg(WRC_REG_TT, 0);
		wrc_wait(b, wrc_read(b, page, from, 8));
	}
	if (bug != ENTRY_FORGOTTEN)
		entry = wrc_read(b, from, wrc_at(WRC_SP_RECV), 8);
	if (b->prog->node)
		return;
	if (bug != POSTS_EARLY)
		wrc_wait(b, bug == ENTRY_FORGOTTEN ? operand : entry);
	if (bug != POSTED_BY_REQUEST) {
		post = wrc_write(b, wrc_at(WRC_SP_DBR),
				 wrc_reg(bug == POSTS_ANYTHING ? WRC_REG_TT :
						WRC_REG_POST, 0), 4, 0);
		wrc_posts(b, post);
	}
	if (bug == POSTS_EARLY)
		wrc_wait(b, entry);
}

/* The new page to the ring, too. */
static void gives_too(struct wrc_build *b, int rest, struct wrc_ref page)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_TT, 0);
	int swap;

	wrc_wait(b, wrc_advance(b, wrc_at(WRC_SP_TAIL), slot, 0));
	swap = wrc_endian_swap(b, slot);
	wrc_wait(b, swap);
	wrc_enable_upto(b, rest, wrc_send_en(b, WRC_NEXT_HEAD));
	wrc_set_swapped(b, swap, wrc_field(
		wrc_write(b, wrc_at(WRC_SP_SLOT), page, 8, WRC_I_SIGNALED),
		WRC_F_RADDR, 0));
}

/* Its table address in one piece, and its end besides. */
static void address_first(struct wrc_build *b, int swap)
{
	wrc_arg(b, 0, 4, wrc_field(swap, WRC_F_RADDR, 0));
	wrc_arg(b, 4, 4, wrc_field(swap, WRC_F_RADDR, 4));
	wrc_arg(b, 8, 4, wrc_field(b->prog->nr_insn - 1, WRC_F_IMM, 0));
	wrc_arg(b, 12, 8, wrc_field(b->prog->nr_insn - 1, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(b->prog->nr_insn - 1, WRC_F_RKEY, 0));
}

/* The end of both kinds of recycling. */
static void answer_and_args(struct wrc_build *b, enum bug bug, int swap, int go,
			    int sent)
{
	int answer;

	if (bug == POSTS_UNRENEWED) {
		recycle_early(b);
		wrc_client_queue(b);
		answer = wrc_answer(b, wrc_at(WRC_SP_PEER), nowhere, 0, 0);
		wrc_enable_upto(b, go, answer);
	} else {
		answer = wrc_prog_answer(b, go, sent ? 4096 : 0,
					 sent ? WRC_I_SIGNALED : 0);
	}
	if (sent)
		wrc_set_local(b, sent, 0, wrc_field(answer, WRC_F_ADDR, 0));
	if (bug == ADDRESS_FIRST)
		address_first(b, swap);
	else
		wrc_prog_args(b, swap, answer);
	if (bug == MAPS_NOTHING)	/* and so nobody asks for the address */
		b->prog->arg[0].to = wrc_reg(WRC_REG_TRASH, 0);
}

static void build_store(struct wrc_build *b, struct wrc_prog *prog,
			enum bug bug, bool node)
{
	struct wrc_opts opts = { .recycle = node ? WRC_RECYCLE_NODE :
						   WRC_RECYCLE_CLIENT };
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), old, page;
	int body, swap, go, last, empty = 0, pop, reverse, en, take, rest;
	int sent = 0;

	wrc_begin(b, prog, ODRP_WIRE_UNMAPPED_STORE, "broken", &opts);
	wrc_own(b);
	wrc_page(b);
	body = wrc_prog_head(b);
	swap = bug == MAPS_NOTHING ?
	       wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8) :
	       wrc_exchange(b, wrc_at(WRC_SP_TT), nowhere);
	wrc_wait(b, swap);
	if (bug == SENDS_OLD) {	/* the page that will be the register next */
		sent = wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8);
		wrc_wait(b, sent);
	}
	go = wrc_send_en(b, 0);
	last = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, last);
	if (bug != LOSES_OLD && bug != OLD_UNKNOWN && bug != MAPS_NOTHING)
		empty = wrc_read(b, wrc_at(WRC_SP_EMPTY),
				 wrc_reg(WRC_REG_TRASH, 0), 8);
	pop = wrc_advance(b, wrc_at(WRC_SP_HEAD), slot, 0);
	wrc_wait(b, pop);
	reverse = wrc_endian_swap(b, slot);
	wrc_wait(b, reverse);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, last, en);
	take = bug == SWAPS_TWICE ?
		wrc_exchange(b, wrc_at(WRC_SP_SLOT), nowhere) :
		wrc_take(b, wrc_at(WRC_SP_SLOT), nowhere);
	wrc_set_swapped(b, reverse, wrc_field(take, WRC_F_RADDR, 0));
	wrc_wait(b, take);
	if (bug == OLD_UNKNOWN)
		empty = wrc_read(b, wrc_at(WRC_SP_EMPTY),
				 wrc_reg(WRC_REG_TRASH, 0), 8);
	old = empty ? wrc_field(empty, WRC_F_RADDR, 0) :
		      wrc_reg(WRC_REG_TRASH, 0);
	wrc_set_local(b, swap, 0, old);
	page = new_page(b, bug, take, &rest);
	wrc_enable_upto(b, en, rest);
	renew(b, bug, swap, page);
	if (bug == GIVES_TOO)
		gives_too(b, rest, page);
	wrc_holds_old(b, swap, bug == STOPS_WITHOUT_TRACE ? page : old);
	wrc_holds(b, false, pop, slot, take, page, WRC_NONE);
	if (sent)
		wrc_set_remote(b, sent, old);
	answer_and_args(b, bug, swap, go, sent);
}

/* A load, as it is armed today, that posts its receive entry itself. */
static void build_poster(struct wrc_build *b, struct wrc_prog *prog)
{
	int body, look, go, answer;

	wrc_begin(b, prog, ODRP_WIRE_LOAD, "broken", NULL);
	body = wrc_prog_head(b);
	wrc_enable_upto(b, body, WRC_NEXT_HEAD);
	look = wrc_read(b, wrc_at(WRC_SP_TT), nowhere, 8);
	wrc_posts(b, wrc_write(b, wrc_at(WRC_SP_DBR), wrc_reg(WRC_REG_POST, 0),
			       4, WRC_I_SIGNALED));
	wrc_wait(b, b->prog->post);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 4096, WRC_I_SIGNALED);
	wrc_set_local(b, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	wrc_prog_args(b, look, answer);
}

/* ---- one by one ----------------------------------------------------------------- */

static void build(struct bench *b, enum bug bug, bool store)
{
	struct wrc_build build;

	if (bug == POSTS_NO_PAGE)
		build_poster(&build, &b->prog);
	else if (store)
		build_store(&build, &b->prog, bug, false);
	else
		build_load(&build, &b->prog, bug);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(b, K);
}

static const struct {
	enum bug bug;
	enum wrc_rule rule;
	const char *words;
} bugs[] = {
	{ LOOKS, WRC_RULE_OWN, "looks at a page" },
	{ GIVES_EARLY, WRC_RULE_OWN, "gives a page away that c0 may still touch" },
	{ WAITS_TOO_EARLY, WRC_RULE_BALANCE, "waits for message 0, request 0" },
	{ MAPS_NOTHING, WRC_RULE_OWN, "is never mapped" },
	{ SWAPS_TWICE, WRC_RULE_OWN, "is not the one swap" },
	{ NOT_REVERSED, WRC_RULE_OWN, "from one READ, reversed" },
	{ ENTRY_FORGOTTEN, WRC_RULE_OWN, "not one instruction renews" },
	{ ENTRY_FROM_ELSEWHERE, WRC_RULE_OWN, "the page that the swap gets" },
	{ COPIES_NEW, WRC_RULE_OWN, "a page that nobody has moved" },
	{ UNTOUCHED, WRC_RULE_OWN, "would make a register of no page" },
	{ LOSES_OLD, WRC_RULE_OWN, "may lose the page that was in the entry" },
	{ OLD_UNKNOWN, WRC_RULE_OWN, "may lose the page that was in the entry" },
	{ POSTED_BY_REQUEST, WRC_RULE_OWN, "is posted before it has its new" },
	{ POSTS_ANYTHING, WRC_RULE_OWN, "does not post what it is told" },
	{ POSTS_EARLY, WRC_RULE_OWN, "may post the receive entry before" },
	{ STOPS_WITHOUT_TRACE, WRC_RULE_OWN, "would not be found when" },
	{ SENDS_OLD, WRC_RULE_OWN, "sends a page that nobody would find" },
	{ GIVES_TOO, WRC_RULE_MOVE, "a page that goes to 2 places" },
	{ POSTS_NO_PAGE, WRC_RULE_OWN, "have no page of their own" },
};

static void broken_programs(void **state)
{
	struct bench b;

	for (int store = 0; store < 2; store++) {
		build(&b, NO_BUG, store);
		expect_accepted(&b);
		bench_close(&b);
	}
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		build(&b, bugs[i].bug, bugs[i].bug >= MAPS_NOTHING);
		expect_refusal(&b, bugs[i].rule, bugs[i].words);
		bench_close(&b);
	}
}

/* ---- recycle=node ------------------------------------------------------------------ */

static void build_node(struct bench *b, enum bug bug)
{
	struct wrc_build build;

	build_store(&build, &b->prog, bug, true);
	assert_int_equal(wrc_end(&build), 0);
	bench_image(b, K);
}

/* What is wrong with a store is wrong without a gate, too. */
static void node_programs(void **state)
{
	struct bench b;

	build_node(&b, NO_BUG);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		enum bug bug = bugs[i].bug;

		if (bug < MAPS_NOTHING || bug == POSTED_BY_REQUEST ||
		    bug == POSTS_ANYTHING || bug == POSTS_EARLY ||
		    bug == POSTS_NO_PAGE || bug == MAPS_NOTHING ||
		    bug == STOPS_WITHOUT_TRACE)
			continue;
		build_node(&b, bug);
		expect_refusal(&b, bugs[i].rule, bugs[i].words);
		bench_close(&b);
	}
	/* The address would be there before the page. */
	build_node(&b, ADDRESS_FIRST);
	expect_refusal(&b, WRC_RULE_OWN, "does not fill its page");
	bench_close(&b);
	/* Or that of a lap ago. */
	build_node(&b, POSTS_UNRENEWED);
	expect_refusal(&b, WRC_RULE_TABLE, "before its words are there");
	bench_close(&b);
}

/* The END word in front of the page, as the linker would have it. */
static void end_before_page(void **state)
{
	struct wrc_build build;
	struct wrc_scatter end;
	struct wrc_prog *prog;
	struct wrc_word *word;
	struct bench b;

	build_store(&build, &b.prog, NO_BUG, true);
	assert_int_equal(wrc_end(&build), 0);
	prog = &b.prog;
	assert_int_equal(prog->nr_words, 2);
	word = &prog->word[1];
	assert_int_equal(prog->page_sge, prog->nr_scatter - 2);
	for (unsigned int i = 0; i < prog->nr_patches; i++)
		if (prog->patch[i].off == word->off)
			prog->patch[i].off = prog->req_len;
	end = prog->scatter[prog->page_sge + 1];
	prog->scatter[prog->page_sge + 1] = prog->scatter[prog->page_sge];
	prog->scatter[prog->page_sge] = end;
	prog->scatter[prog->page_sge++].off = prog->req_len;
	word->off = prog->req_len;
	prog->req_len += prog->tail_len;
	prog->tail_len = 0;
	prog->scatter[prog->page_sge].off = prog->req_len;
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_OWN, "does not fill its page");
	bench_close(&b);
}

/* All that is not 0 in the upper half has to be beyond it. */
static void large_table(void **state)
{
	struct bench b;

	build_node(&b, NO_BUG);
	b.bind.tt_len = 1ull << 32;
	expect_accepted(&b);
	b.bind.tt_len += 8;
	expect_refusal(&b, WRC_RULE_OWN, "has addresses beyond 2^32");
	bench_close(&b);
	/* Otherwise the address comes in one piece. */
	build(&b, NO_BUG, true);
	b.bind.tt_len = 1ull << 35;
	expect_accepted(&b);
	bench_close(&b);
}

/* ---- images ------------------------------------------------------------------------ */

/* Both places of an instance's page. */
static void set_pages(struct bench *b, uint32_t k, uint64_t received,
		      uint64_t mapped)
{
	unsigned int swap = bench_find(b, WRC_WQE_MASKED_CS, 0);
	uint64_t be = htobe64(received), le = htole64(mapped);

	bench_recv(b, k, b->prog.page_sge)->addr = be;
	memcpy(bench_field(b, swap, WRC_F_MSWAP, 0, k), &le, 8);
}

static void broken_registers(void **state)
{
	uint64_t page = WRC_POOL_IOVA + 0x7000;
	struct bench b;

	build(&b, NO_BUG, true);
	set_pages(&b, 2, page, page);
	expect_accepted(&b);
	set_pages(&b, 2, page, page + 4096);
	expect_refusal(&b, WRC_RULE_OWN, "maps another page");
	set_pages(&b, 2, page + 8, page + 8);
	expect_refusal(&b, WRC_RULE_OWN, "which is no page");
	page = WRC_POOL_IOVA + b.bind.pool_len;
	set_pages(&b, 2, page, page);
	expect_refusal(&b, WRC_RULE_OWN, "which is no page");
	set_pages(&b, 2, 0, 0);
	expect_refusal(&b, WRC_RULE_OWN, "which is no page");
	set_pages(&b, 2, b.bind.pages[0], b.bind.pages[0]);
	expect_refusal(&b, WRC_RULE_OWN, "entries 0 and 2 take one page");
	bench_close(&b);
}

static unsigned int scatter_at(const struct wrc_prog *prog, uint32_t off)
{
	unsigned int i = 0;

	while (i < prog->nr_scatter && prog->scatter[i].off != off)
		i++;
	assert_true(i < prog->nr_scatter && prog->scatter[i].len == 4);
	return i;
}

/* Two words of a request change places. */
static void swap_words(struct bench *b, struct wrc_word *v, struct wrc_word *w)
{
	unsigned int i = scatter_at(&b->prog, v->off);
	unsigned int j = scatter_at(&b->prog, w->off);
	struct wrc_ref to = b->prog.scatter[i].to;
	uint16_t off = v->off;

	b->prog.scatter[i].to = b->prog.scatter[j].to;
	b->prog.scatter[j].to = to;
	for (uint32_t k = 0; k < K; k++) {
		__be64 addr = bench_recv(b, k, i)->addr;

		bench_recv(b, k, i)->addr = bench_recv(b, k, j)->addr;
		bench_recv(b, k, j)->addr = addr;
	}
	for (i = 0; i < b->prog.nr_patches; i++) {
		struct wrc_patch *p = &b->prog.patch[i];

		if (p->source == WRC_RECV && p->off == v->off)
			p->off = w->off;
		else if (p->source == WRC_RECV && p->off == w->off)
			p->off = v->off;
	}
	v->off = w->off;
	w->off = off;
}

/* A request could end before its page does. */
static void gate_before_page(void **state)
{
	struct bench b;

	build(&b, NO_BUG, true);
	/* The head's count, of the next instance, is the first ENABLE. */
	swap_words(&b, &b.prog.word[1], &b.prog.word[b.prog.nr_words - 1]);
	expect_refusal(&b, WRC_RULE_OWN, "does not fill its page");
	bench_close(&b);
}

/* An invalidate that leaves something in the entry it takes a page from. */
static void foreign_exchange(void **state)
{
	struct bench b;

	bench_open(&b, ODRP_WIRE_INVALIDATE, false, K);
	b.prog.insn[bench_find(&b, WRC_WQE_MASKED_CS, 0)].flags |=
		WRC_I_EXCHANGE;
	expect_refusal(&b, WRC_RULE_OWN, "exchanges a page");
	bench_close(&b);
}

static void broken_load(void **state)
{
	unsigned int answer, seen = 0;
	struct wrc_wqe_wait_en *wait;
	struct bench b;

	build(&b, NO_BUG, false);
	answer = b.prog.nr_insn - 1;
	while (b.prog.insn[seen].op != WRC_WQE_WAIT ||
	       b.prog.insn[seen].target != answer - 1)
		seen++;
	wait = (void *)(bench_field(&b, seen, WRC_F_COUNT, 0, 1) - 8);
	wait->obj = htobe32(b.bind.client_rcqn);
	expect_refusal(&b, WRC_RULE_BALANCE, "not on its messages'");
	wait->obj = htobe32(b.bind.client_scqn);
	expect_accepted(&b);
	bench_field(&b, answer, WRC_F_RADDR, 0, 1)[7] = 1;
	expect_refusal(&b, WRC_RULE_ADDRESS, "nothing to write there");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_programs),
		cmocka_unit_test(node_programs),
		cmocka_unit_test(end_before_page),
		cmocka_unit_test(large_table),
		cmocka_unit_test(broken_registers),
		cmocka_unit_test(gate_before_page),
		cmocka_unit_test(foreign_exchange),
		cmocka_unit_test(broken_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
