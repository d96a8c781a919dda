// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rule keyed: programs of a node whose NIC translates, each with one thing wrong
 * that would leave a client the page of another.
 */
#include "bench.h"
#include "core/keymap.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

enum bug {
	NO_BUG,
	TWO_UMRS,		/* both chains */
	NO_UMR,
	KEY_ELSEWHERE,
	OFFSET_ELSEWHERE,
	OFFSET_OF_OTHERS,
	MAP_TWICE,
	OTHER_SLOT,
	SLOT_IN_PIECES,
	REQUEST_SAYS_WHERE,
	TABLE_READ,
	TAKES_TWICE,
	MAPS_NOTHING,		/* stores */
	MAPS_LATE,
	RENEWS_NOT,
	RENEWS_FROM_ELSEWHERE,
	KEEPS,			/* invalidates */
	ENDS_EARLY,
	FREES_EARLY,
};

static const struct wrc_ref nowhere;

static void begin(struct wrc_build *b, struct wrc_prog *prog,
		  enum odrp_wire_chain chain)
{
	struct wrc_opts opts = { .recycle = WRC_RECYCLE_NODE };

	wrc_begin(b, prog, chain, "broken", &opts);
}

/* What comes next runs behind one more copy of an address. */
static int copy_more(struct wrc_build *b, struct wrc_ref from, int *body)
{
	int copy = wrc_read(b, from, nowhere, 8), en;

	wrc_wait(b, copy);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, *body, en);
	*body = en;
	return copy;
}

/* Where the UMR's key and offset go, and the table's address comes from. */
static int ask(struct wrc_build *b, enum bug bug, int *body)
{
	struct wrc_ref reg = wrc_reg(WRC_REG_TT, 0);
	int copy = wrc_prog_ask(b, body);

	if (bug == MAP_TWICE) {
		wrc_set_local(b, copy, 0, wrc_field(
			wrc_read(b, wrc_at(WRC_SP_KEYMAP),
				 wrc_reg(WRC_REG_TT, 0), 8), WRC_F_RADDR, 0));
		copy = copy_more(b, wrc_field(b->prog->map, WRC_F_RADDR, 0),
				 body);
	}
	/* By a register, of which rule keyed knows nothing. */
	if (bug == OTHER_SLOT) {
		wrc_set_local(b, copy, 0, reg);
		copy = copy_more(b, reg, body);
	}
	return copy;
}

/* The copy of the request's address to where the table is changed. */
static void copy_to(struct wrc_build *b, enum bug bug, int copy, int move)
{
	struct wrc_insn *i = &b->prog->insn[copy];

	wrc_set_local(b, copy, 0, wrc_field(move, WRC_F_RADDR, 0));
	if (bug != SLOT_IN_PIECES)
		return;
	/* The right ones, as it happens; the rule knows only a whole copy. */
	i->nr_sge = 2;
	i->sge[1] = i->sge[0];
	i->sge[0].len = i->sge[1].len = 4;
	wrc_set_local(b, copy, 1, wrc_field(move, WRC_F_RADDR, 4));
}

static int umr(struct wrc_build *b, enum bug bug, bool own)
{
	int i = bug == NO_UMR ? 0 : wrc_umr(b, own);

	if (bug == TWO_UMRS)
		wrc_umr(b, own);
	if (bug == KEY_ELSEWHERE)
		wrc_set_local(b, b->prog->map, 0, wrc_reg(WRC_REG_TT, 0));
	if (bug == OFFSET_ELSEWHERE)
		wrc_set_local(b, b->prog->map, 2, wrc_reg(WRC_REG_TT, 0));
	if (bug == OFFSET_OF_OTHERS)
		b->prog->insn[b->prog->map].sge[1].len = 1;
	if (bug == NO_UMR) {
		wrc_set_local(b, b->prog->map, 0, wrc_reg(WRC_REG_TT, 0));
		wrc_set_local(b, b->prog->map, 2, wrc_reg(WRC_REG_TT, 0));
	}
	return i;
}

/* ---- a store ----------------------------------------------------------------- */

static void renew(struct wrc_build *b, enum bug bug, int own, int swap,
		  struct wrc_ref page)
{
	int operand = wrc_endian_swap(b, page);

	wrc_set_swapped(b, operand, wrc_field(swap, WRC_F_MSWAP, 0));
	if (bug != RENEWS_NOT && bug != NO_UMR && bug != MAPS_NOTHING)
		wrc_read(b, bug == RENEWS_FROM_ELSEWHERE ?
			    wrc_reg(WRC_REG_TT, 0) : page,
			 wrc_field(own, WRC_F_PAGE, 0), 8);
	wrc_read(b, page, wrc_at(WRC_SP_RECV), 8);
}

static void build_store(struct wrc_build *b, struct wrc_prog *prog,
			enum bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), old, page;
	int body, copy, own, swap, go, last, empty, pop, reverse, en, take;
	int touch;

	begin(b, prog, ODRP_WIRE_UNMAPPED_STORE);
	wrc_own(b);
	wrc_page(b);
	body = wrc_prog_head(b);
	copy = ask(b, bug, &body);
	own = umr(b, bug, bug != MAPS_NOTHING);
	if (bug != MAPS_LATE && bug != NO_UMR)
		wrc_wait(b, own);
	swap = wrc_exchange(b, wrc_at(WRC_SP_TT), nowhere);
	copy_to(b, bug, copy, swap);
	wrc_wait(b, swap);
	go = wrc_send_en(b, 0);
	last = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, last);
	empty = wrc_read(b, wrc_at(WRC_SP_EMPTY), wrc_reg(WRC_REG_TRASH, 0), 8);
	old = wrc_field(empty, WRC_F_RADDR, 0);
	wrc_set_local(b, swap, 0, old);
	pop = wrc_advance(b, wrc_at(WRC_SP_HEAD), slot, 0);
	wrc_wait(b, pop);
	reverse = wrc_endian_swap(b, slot);
	wrc_wait(b, reverse);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, last, en);
	take = wrc_take(b, wrc_at(WRC_SP_SLOT), nowhere);
	wrc_set_swapped(b, reverse, wrc_field(take, WRC_F_RADDR, 0));
	wrc_wait(b, take);
	wrc_enable_upto(b, en, wrc_send_en(b, WRC_NEXT_HEAD));
	touch = wrc_write(b, wrc_reg(WRC_REG_TRASH, 0), wrc_at(WRC_SP_POOL), 8,
			  0);
	page = wrc_field(touch, WRC_F_ADDR, 0);
	wrc_set_local(b, take, 0, page);
	renew(b, bug, own, swap, page);
	wrc_holds_old(b, swap, old);
	wrc_holds(b, false, pop, slot, take, page, WRC_NONE);
	wrc_prog_args(b, b->prog->map, wrc_prog_answer(b, go, 0, 0));
	for (unsigned int i = 0; bug == REQUEST_SAYS_WHERE &&
				 i < prog->nr_args; i++)
		if (prog->arg[i].off ==
		    __builtin_offsetof(struct odrp_wire_req, id))
			prog->arg[i].to = wrc_field(own, WRC_F_IMM, 0);
}

/* ---- an invalidate ------------------------------------------------------------ */

static void build_free(struct wrc_build *b, struct wrc_prog *prog,
		       enum bug bug)
{
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0);
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	int body, copy, more = 0, take, sel, en, push, swap, rest, put, go;
	int keep = 0, own = 0;

	begin(b, prog, ODRP_WIRE_INVALIDATE);
	body = wrc_prog_head(b);
	copy = ask(b, bug, &body);
	if (bug == TABLE_READ || bug == TAKES_TWICE)
		more = copy_more(b, wrc_field(b->prog->map, WRC_F_RADDR, 0),
				 &body);
	if (bug == ENDS_EARLY)
		umr(b, bug, false);
	take = wrc_take(b, wrc_at(WRC_SP_TT), page);
	copy_to(b, bug, copy, take);
	if (bug == TABLE_READ)
		wrc_set_local(b, more, 0, wrc_field(
			wrc_read(b, wrc_at(WRC_SP_TT),
				 wrc_reg(WRC_REG_TT, 0), 8), WRC_F_RADDR, 0));
	if (bug == TAKES_TWICE)
		wrc_set_local(b, more, 0, wrc_field(
			wrc_take(b, wrc_at(WRC_SP_TT),
				 wrc_reg(WRC_REG_TT, 0)), WRC_F_RADDR, 0));
	wrc_wait(b, take);
	sel = wrc_prog_decide(b, page);
	if (bug == KEEPS)
		keep = wrc_read(b, page, nowhere, 8);
	wrc_wait(b, bug == KEEPS ? keep : sel);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);
	if (bug != FREES_EARLY && bug != ENDS_EARLY)
		own = umr(b, bug, false);
	if (bug == KEEPS)
		wrc_set_local(b, keep, 0, wrc_field(own, WRC_F_PAGE, 0));
	push = wrc_advance(b, wrc_at(WRC_SP_TAIL), slot, WRC_I_MAYBE);
	wrc_set_local(b, sel, 1, wrc_field(push, WRC_F_OPCODE, 0));
	wrc_wait(b, push);
	swap = wrc_endian_swap(b, slot);
	wrc_wait(b, swap);
	if (bug == FREES_EARLY)
		umr(b, bug, false);
	rest = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, en, rest);
	put = wrc_write(b, wrc_at(WRC_SP_SLOT), page, 8,
			WRC_I_SIGNALED | WRC_I_MAYBE);
	wrc_set_local(b, sel, 2, wrc_field(put, WRC_F_OPCODE, 0));
	wrc_set_swapped(b, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(b, put);
	go = wrc_send_en(b, 0);
	wrc_prog_args(b, b->prog->map, wrc_prog_answer(b, go, 0, 0));
	wrc_holds(b, true, push, slot, take, page, put);
}

/* ---- one by one ---------------------------------------------------------------- */

static void build(struct bench *b, enum bug bug, bool store)
{
	struct wrc_build w;

	if (store)
		build_store(&w, &b->prog, bug);
	else
		build_free(&w, &b->prog, bug);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

static const struct {
	enum bug bug;
	enum wrc_rule rule;
	const char *words;
} bugs[] = {
	{ TWO_UMRS, WRC_RULE_KEYED, "2 UMRs and 1 READs of the key map" },
	{ NO_UMR, WRC_RULE_KEYED, "0 UMRs and 1 READs of the key map" },
	{ KEY_ELSEWHERE, WRC_RULE_KEYED, "does not bring the UMR its key" },
	{ OFFSET_ELSEWHERE, WRC_RULE_KEYED, "does not bring the UMR its key" },
	{ OFFSET_OF_OTHERS, WRC_RULE_KEYED, "does not bring the UMR its key" },
	{ MAP_TWICE, WRC_RULE_KEYED, "1 UMRs and 2 READs of the key map" },
	{ OTHER_SLOT, WRC_RULE_KEYED, "may be at another slot than the UMR" },
	{ SLOT_IN_PIECES, WRC_RULE_KEYED, "may be at another slot than the UMR" },
	{ MAPS_NOTHING, WRC_RULE_KEYED, "give the slot the page that the table" },
	{ MAPS_LATE, WRC_RULE_KEYED, "in the table before its translation" },
	{ RENEWS_NOT, WRC_RULE_KEYED, "get the page that the receive entry" },
	{ RENEWS_FROM_ELSEWHERE, WRC_RULE_KEYED,
	  "get the page that the receive entry" },
	{ TABLE_READ, WRC_RULE_KEYED, "is not the one that moves a page" },
	{ KEEPS, WRC_RULE_KEYED, "leaves a page that is freed a translation" },
	{ ENDS_EARLY, WRC_RULE_KEYED, "may be over before its page is taken" },
	{ FREES_EARLY, WRC_RULE_KEYED, "a page away that may have a translation" },
	{ REQUEST_SAYS_WHERE, WRC_RULE_PATCH, "this source may not write" },
};

static bool of_store(enum bug bug)
{
	return bug < KEEPS && bug != TABLE_READ && bug != TAKES_TWICE;
}

static bool of_free(enum bug bug)
{
	return (bug < MAPS_NOTHING || bug >= KEEPS) &&
	       bug != REQUEST_SAYS_WHERE;
}

static void broken_programs(void **state)
{
	struct bench b;

	for (int store = 0; store < 2; store++) {
		build(&b, NO_BUG, store);
		expect_accepted(&b);
		bench_close(&b);
	}
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		for (int store = 0; store < 2; store++) {
			if (!(store ? of_store : of_free)(bugs[i].bug))
				continue;
			build(&b, bugs[i].bug, store);
			expect_refusal(&b, bugs[i].rule, bugs[i].words);
			bench_close(&b);
		}
}

static void armed_programs(void **state)
{
	struct bench b;

	for (int strict = 0; strict < 2; strict++)
		for (int store = 0; store < 2; store++) {
			bench_open_keyed(&b, store ? ODRP_WIRE_UNMAPPED_STORE :
						     ODRP_WIRE_INVALIDATE,
					 strict, K);
			expect_accepted(&b);
			bench_close(&b);
		}
}

/* And has two pages, of which it puts one. */
static void takes_twice(void **state)
{
	char why[WRC_WHY_MAX];
	struct bench b;

	build(&b, TAKES_TWICE, false);
	assert_int_equal(refused_by(&b, why),
			 1u << WRC_RULE_KEYED | 1u << WRC_RULE_MOVE);
	bench_close(&b);
}

/* A client without it would free pages that others still have a way to. */
static void foreign_programs(void **state)
{
	struct bench b;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		bench_open_node(&b, chain, true, K);
		expect_accepted(&b);
		b.bind.keymap_key = 0x1000;
		expect_refusal(&b, WRC_RULE_KEYED,
			       "that the NIC has a translation of");
		bench_close(&b);
	}
}

/* A load that changes a key, too. */
static void no_map(void **state)
{
	struct wrc_insn umr = { .op = WRC_WQE_UMR, .flags = WRC_I_SIGNALED };
	int body, look, go, answer, i;
	struct wrc_build w;
	struct bench b;

	begin(&w, &b.prog, ODRP_WIRE_LOAD);
	body = wrc_prog_head(&w);
	wrc_enable_upto(&w, body, WRC_NEXT_HEAD);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), nowhere, 8);
	i = wrc_emit(&w, &umr);
	wrc_wait(&w, i);
	go = wrc_send_en(&w, 0);
	answer = wrc_prog_answer(&w, go, 4096, WRC_I_SIGNALED);
	wrc_set_local(&w, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	wrc_prog_args(&w, look, answer);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_KEYED, "no key map says where");
	bench_close(&b);
}

/* One that takes a translation away, and nothing else. */
static void no_table(void **state)
{
	int body, copy, i, go;
	struct wrc_build w;
	struct bench b;

	begin(&w, &b.prog, ODRP_WIRE_INVALIDATE);
	body = wrc_prog_head(&w);
	copy = wrc_prog_ask(&w, &body);
	wrc_set_local(&w, copy, 0, wrc_reg(WRC_REG_TT, 0));
	wrc_enable_upto(&w, body, WRC_NEXT_HEAD);
	i = wrc_umr(&w, false);
	wrc_wait(&w, i);
	go = wrc_send_en(&w, 0);
	wrc_prog_args(&w, w.prog->map, wrc_prog_answer(&w, go, 0, 0));
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_KEYED, "changes a key and not the table");
	bench_close(&b);
}

/* The agent would not see how far it came. */
static void stops_unseen(void **state)
{
	struct bench b;

	for (int store = 0; store < 2; store++) {
		bench_open_keyed(&b, store ? ODRP_WIRE_UNMAPPED_STORE :
					     ODRP_WIRE_INVALIDATE, true, K);
		b.prog.hold.umr++;
		expect_refusal(&b, WRC_RULE_KEYED, "that nobody knows of");
		bench_close(&b);
	}
}

/* ---- images ---------------------------------------------------------------------- */

static void put_be(uint8_t *to, uint64_t value, unsigned int len)
{
	while (len--) {
		to[len] = value;
		value >>= 8;
	}
}

static void broken_images(void **state)
{
	struct bench b;
	unsigned int i;
	uint64_t page;

	for (int store = 0; store < 2; store++) {
		bench_open_keyed(&b, store ? ODRP_WIRE_UNMAPPED_STORE :
					     ODRP_WIRE_INVALIDATE, false, K);
		i = bench_find(&b, WRC_WQE_UMR, 0);
		page = store ? b.bind.pages[2] : 0;
		put_be(bench_field(&b, i, WRC_F_PAGE, 0, 2), page + 4096, 8);
		expect_refusal(&b, WRC_RULE_KEYED, "and not its own page");
		put_be(bench_field(&b, i, WRC_F_PAGE, 0, 2), page, 8);
		put_be(bench_field(&b, i, WRC_F_PAGE_KEY, 0, 2), 0xc00, 4);
		expect_refusal(&b, WRC_RULE_KEYED, "and not its own page");
		put_be(bench_field(&b, i, WRC_F_PAGE_KEY, 0, 2),
		       store ? b.bind.pool_key : 0, 4);
		expect_accepted(&b);
		put_be(bench_field(&b, i, WRC_F_IMM, 0, 1), 0x2a5, 4);
		expect_refusal(&b, WRC_RULE_KEYED, "before its first request");
		put_be(bench_field(&b, i, WRC_F_IMM, 0, 1), 0, 4);
		put_be(bench_field(&b, i, WRC_F_OFFSET, 0, 1), 4, 2);
		expect_refusal(&b, WRC_RULE_KEYED, "before its first request");
		bench_close(&b);
	}
}

/* More than the one group, or anything else of the key. */
static void broken_umrs(void **state)
{
	static const struct { unsigned int at; const char *words; } more[] = {
		{ 16, "more than a group" },	/* flags */
		{ 21, "more than a group" },	/* octowords */
		{ 31, "more than a group" },	/* mkey_mask */
		{ 35, "more than a group" },	/* offset, high */
		{ 64, "a reserved byte is not 0" },	/* context */
		{ 128 + 3, "more than one page" },
		{ 128 + 23, "more than one page" },
		{ 128 + 63, "more than one page" },
	};
	struct bench b;
	uint8_t *umr;

	bench_open_keyed(&b, ODRP_WIRE_UNMAPPED_STORE, true, K);
	umr = bench_field(&b, bench_find(&b, WRC_WQE_UMR, 0), WRC_F_OPMOD, 0,
			  3);
	for (unsigned int i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		umr[more[i].at] ^= 8;
		expect_refusal(&b, WRC_RULE_FORM, more[i].words);
		umr[more[i].at] ^= 8;
	}
	expect_accepted(&b);
	bench_close(&b);
}

/* ---- the key map ------------------------------------------------------------------- */

/* What a READ between two entries takes for a key is none of ours. */
static void between_entries(void **state)
{
	struct wrc_keymap map[2];
	uint8_t *bytes = (uint8_t *)map;
	uint32_t seed = 1, key[2], n = 0;

	while (n < 200000) {
		uint32_t slot = bench_random(&seed) % (3 * WRC_KEY_SLOTS);

		for (int i = 0; i < 2; i++)
			key[i] = bench_random(&seed) << 8 | WRC_KEY_VARIANT;
		if (wrc_keymap_set(&map[0], key[0], slot) ||
		    wrc_keymap_set(&map[1], key[n & 1], slot + 1))
			continue;
		n++;
		assert_int_equal(bytes[3], WRC_KEY_VARIANT);
		for (int at = 1; at < 8; at++)
			assert_int_not_equal(bytes[at + 3], WRC_KEY_VARIANT);
	}
}

static void keys_that_will_not_do(void **state)
{
	struct wrc_keymap entry;

	assert_int_equal(wrc_keymap_set(&entry, 0x123400 | WRC_KEY_VARIANT, 3),
			 0);
	assert_int_equal(be32toh(entry.key), 0x123400 | WRC_KEY_VARIANT);
	assert_int_equal(be16toh(entry.offset), 12);
	assert_int_equal(entry.resv, 0);
	assert_int_equal(wrc_keymap_set(&entry, 0x123400, 3), -EINVAL);
	for (int i = 8; i < 32; i += 8)
		assert_int_equal(wrc_keymap_set(&entry, WRC_KEY_VARIANT << i |
						WRC_KEY_VARIANT, 3), -EINVAL);
	assert_int_equal(wrc_key_addr(WRC_KEY_SLOTS + 2), 2 * 16384);
}

/* ---- what there is to be had -------------------------------------------------------- */

static void programs(void **state)
{
	struct wrc_opts opts = {
		.variant = WRC_V_KEYED, .recycle = WRC_RECYCLE_NODE,
	};
	struct wrc_prog prog;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		bool has = chain == ODRP_WIRE_UNMAPPED_STORE ||
			   chain == ODRP_WIRE_INVALIDATE;

		opts.recycle = WRC_RECYCLE_NODE;
		assert_int_equal(wrc_any_build(chain, &opts, &prog),
				 has ? 0 : -EINVAL);
		opts.recycle = WRC_RECYCLE_CLIENT;
		assert_int_equal(wrc_any_build(chain, &opts, &prog), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(armed_programs),
		cmocka_unit_test(broken_programs),
		cmocka_unit_test(takes_twice),
		cmocka_unit_test(foreign_programs),
		cmocka_unit_test(no_map),
		cmocka_unit_test(no_table),
		cmocka_unit_test(stops_unseen),
		cmocka_unit_test(broken_images),
		cmocka_unit_test(broken_umrs),
		cmocka_unit_test(between_entries),
		cmocka_unit_test(keys_that_will_not_do),
		cmocka_unit_test(programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
