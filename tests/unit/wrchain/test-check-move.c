// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rule move: programs that take a page and lose it, or put it twice, or into a
 * slot that is not there for it; and holds that look elsewhere.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

enum bug {
	NO_BUG,
	/* a page is freed */
	ALWAYS,			/* no bug: an empty entry frees a slot of nothing */
	DROPS,
	TWO_SLOTS,
	PUTS_ALWAYS,
	STEPS_ALWAYS,
	BY_OTHER,		/* another page says whether */
	STEPS_BY_OTHER,
	PUTS_AT_HEAD,
	/* a page is allocated */
	LOSES,
	MAPS_TWICE,
	MAPS_COPIES,		/* the second time what two READs have brought */
	TAKES_TWICE,
	TAKES_AT_TAIL,
	NEVER_TAKES,
	FILLS_BOTH,		/* two slots' addresses to one take */
	MOVES_TWO,
};

static const struct wrc_ref nowhere = { .space = WRC_SP_NONE };

static struct wrc_ref page(void)
{
	return wrc_reg(WRC_REG_PAGE, 0);
}

/* ---- freeing -------------------------------------------------------------------- */

/* A page that is seen meanwhile, at the same entry; to WRC_REG_TT. */
static int look(struct wrc_build *b, int *body)
{
	int copy = wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), nowhere, 8), en, seen;

	wrc_wait(b, copy);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, *body, en);
	*body = en;
	seen = wrc_read(b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_TT, 0), 8);
	wrc_set_local(b, copy, 0, wrc_field(seen, WRC_F_RADDR, 0));
	return copy;
}

/* Both bytes from one page, or of the first from another. */
static void decide(struct wrc_build *b, enum bug bug, int sel[2])
{
	struct wrc_ref other = wrc_reg(WRC_REG_TT, 0);

	sel[1] = sel[0] = wrc_prog_decide(b, bug == BY_OTHER ? other : page());
	if (bug == STEPS_BY_OTHER || bug == TWO_SLOTS)
		sel[1] = wrc_prog_decide(b, bug == TWO_SLOTS ? page() : other);
	wrc_wait(b, sel[1]);
}

static void say(struct wrc_build *b, int sel, unsigned int sge, int insn)
{
	if (b->prog->insn[insn].flags & WRC_I_MAYBE)
		wrc_set_local(b, sel, sge, wrc_field(insn, WRC_F_OPCODE, 0));
	else
		wrc_set_local(b, sel, sge, wrc_reg(WRC_REG_POST, 0));
}

/* Advances to a slot and puts the page there. */
static int fill(struct wrc_build *b, enum bug bug, struct wrc_ref slot, int sel[2],
		int *en, int *ret_push)
{
	bool push_always = bug == ALWAYS || bug == STEPS_ALWAYS;
	bool put_always = bug == ALWAYS || bug == PUTS_ALWAYS;
	int push, swap, put, next;

	push = wrc_advance(b, wrc_at(bug == PUTS_AT_HEAD ? WRC_SP_HEAD :
							   WRC_SP_TAIL), slot,
			   push_always ? 0 : WRC_I_MAYBE);
	wrc_wait(b, push);
	swap = wrc_endian_swap(b, slot);
	wrc_wait(b, swap);
	next = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, *en, next);
	*en = next;
	put = wrc_write(b, wrc_at(WRC_SP_SLOT), page(), 8, WRC_I_SIGNALED |
			(put_always ? 0 : WRC_I_MAYBE));
	wrc_set_swapped(b, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(b, put);
	say(b, bug == STEPS_BY_OTHER ? sel[1] : sel[0], 1, push);
	say(b, sel[0], 2, put);
	*ret_push = push;
	return put;
}

static void build_free(struct wrc_build *b, struct wrc_prog *prog, enum bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	struct wrc_ref more = wrc_reg(WRC_REG_TT, 0);
	bool looks = bug == BY_OTHER || bug == STEPS_BY_OTHER;
	int body, copy = 0, take, sel[2], en, push, put, go, answer, i;

	wrc_begin(b, prog, ODRP_WIRE_INVALIDATE, "broken", NULL);
	body = wrc_prog_head(b);
	if (looks)
		copy = look(b, &body);
	take = wrc_take(b, wrc_at(WRC_SP_TT), page());
	if (looks)
		wrc_set_remote(b, copy, wrc_field(take, WRC_F_RADDR, 0));
	wrc_wait(b, take);
	if (bug == DROPS) {
		wrc_enable_upto(b, body, WRC_NEXT_HEAD);
	} else {
		decide(b, bug, sel);
		en = wrc_send_en(b, 0);
		wrc_enable_upto(b, body, en);
		put = fill(b, bug, slot, sel, &en, &push);
		if (bug == STEPS_BY_OTHER)
			wrc_set_local(b, sel[1], 2, wrc_reg(WRC_REG_POST, 0));
		if (bug == STEPS_BY_OTHER)
			wrc_set_local(b, sel[0], 1, wrc_reg(WRC_REG_POST, 0));
		wrc_holds(b, true, push, slot, take, page(), put);
	}
	if (bug == TWO_SLOTS) {
		sel[0] = sel[1];
		fill(b, bug, more, sel, &en, &push);
	}
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 0, WRC_I_SIGNALED);
	wrc_prog_args(b, take, answer);
	for (i = 0; i < prog->nr_insn; i++)	/* one goes as far as the next */
		if (prog->insn[i].op == WRC_WQE_SEND_EN &&
		    prog->insn[i].target == WRC_NEXT_HEAD && i < en &&
		    bug == TWO_SLOTS)
			wrc_enable_upto(b, i, en);
}

/* ---- allocating ------------------------------------------------------------------- */

/* The head's next slot, or the tail's; its address is to go to a take. */
static int advance(struct wrc_build *b, enum wrc_space counter,
		   struct wrc_ref slot, int *ret_swap)
{
	int pop = wrc_advance(b, wrc_at(counter), slot, 0);

	wrc_wait(b, pop);
	*ret_swap = wrc_endian_swap(b, slot);
	wrc_wait(b, *ret_swap);
	return pop;
}

/* The same address to another take. */
static int copy_slot(struct wrc_build *b, int *en)
{
	int copy = wrc_endian_swap(b, wrc_reg(WRC_REG_SLOT, 0)), next;

	wrc_wait(b, copy);
	next = wrc_send_en(b, 0);
	wrc_enable_upto(b, *en, next);
	*en = next;
	return copy;
}

/* Another WRITE to the table; that has the same address. */
static int map_again(struct wrc_build *b, enum bug bug, int en)
{
	struct wrc_ref from = page();
	int read[2];

	if (bug == TAKES_TWICE || bug == MOVES_TWO)
		from = wrc_reg(WRC_REG_POST, 0);
	if (bug == MAPS_COPIES) {
		for (int i = 0; i < 2; i++)
			read[i] = wrc_read(b, page(), nowhere, 8);
		wrc_wait(b, read[1]);
		wrc_enable_upto(b, en, wrc_send_en(b, WRC_NEXT_HEAD));
		from = wrc_field(wrc_write(b, wrc_reg(WRC_REG_TRASH, 0),
					   wrc_at(WRC_SP_POOL), 8, 0),
				 WRC_F_ADDR, 0);
		for (int i = 0; i < 2; i++)
			wrc_set_local(b, read[i], 0, from);
	}
	return wrc_write(b, wrc_at(WRC_SP_TT), from, 8, WRC_I_SIGNALED);
}

static void build_alloc(struct wrc_build *b, struct wrc_prog *prog, enum bug bug)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0), at;
	int body, pop, swap, more = 0, en, take, next, map, tt = 0, go, answer;
	bool twice = bug == MAPS_TWICE || bug == TAKES_TWICE ||
		     bug == MAPS_COPIES || bug == MOVES_TWO;
	int second = 0, last = 0;

	wrc_begin(b, prog, ODRP_WIRE_UNMAPPED_STORE, "broken", NULL);
	body = wrc_prog_head(b);
	tt = wrc_read(b, wrc_reg(WRC_REG_TRASH, 0), wrc_reg(WRC_REG_TRASH, 0),
		      8);
	pop = advance(b, bug == TAKES_AT_TAIL ? WRC_SP_TAIL : WRC_SP_HEAD, slot,
		      &swap);
	if (bug == FILLS_BOTH || bug == NEVER_TAKES || bug == MOVES_TWO)
		last = advance(b, WRC_SP_HEAD, wrc_reg(WRC_REG_TT, 0), &more);
	en = wrc_send_en(b, 0);
	wrc_enable_upto(b, body, en);
	if (bug == TAKES_TWICE)
		more = copy_slot(b, &en);
	take = wrc_take(b, wrc_at(WRC_SP_SLOT), page());
	at = wrc_field(take, WRC_F_RADDR, 0);
	wrc_set_swapped(b, swap, at);
	if (bug == FILLS_BOTH)
		wrc_set_swapped(b, more, at);
	if (bug == NEVER_TAKES)
		wrc_set_swapped(b, more, wrc_reg(WRC_REG_POST, 0));
	if (bug == TAKES_TWICE || bug == MOVES_TWO) {
		second = wrc_take(b, wrc_at(WRC_SP_SLOT),
				  wrc_reg(WRC_REG_POST, 0));
		wrc_set_swapped(b, more, wrc_field(second, WRC_F_RADDR, 0));
	}
	wrc_wait(b, second ? second : take);
	next = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_enable_upto(b, en, next);
	map = wrc_write(b, bug == LOSES ? wrc_reg(WRC_REG_TT, 0) :
					  wrc_at(WRC_SP_TT), page(), 8,
			WRC_I_SIGNALED);
	if (twice)
		more = map_again(b, bug, next);
	wrc_wait(b, twice ? more : map);
	go = wrc_send_en(b, 0);
	answer = wrc_prog_answer(b, go, 0, WRC_I_SIGNALED);
	if (twice) {
		wrc_set_remote(b, tt, wrc_field(map, WRC_F_RADDR, 0));
		wrc_set_local(b, tt, 0, wrc_field(more, WRC_F_RADDR, 0));
	}
	if (bug == LOSES)
		wrc_arg(b, 0, 8, wrc_reg(WRC_REG_TRASH, 0));
	else
		wrc_arg(b, 0, 8, wrc_field(map, WRC_F_RADDR, 0));
	wrc_arg(b, 8, 4, wrc_field(answer, WRC_F_IMM, 0));
	wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
	wrc_holds(b, false, pop, slot, take, page(), map);
	if (bug == MOVES_TWO)
		wrc_holds(b, false, last, wrc_reg(WRC_REG_TT, 0), second,
			  wrc_reg(WRC_REG_POST, 0), more);
}

/* ---- one by one ---------------------------------------------------------------- */

static const struct {
	enum bug bug;
	const char *words;	/* NULL: accepted */
} bugs[] = {
	{ NO_BUG, NULL },
	{ ALWAYS, NULL },
	{ DROPS, "takes a page that goes to 0 places" },
	{ TWO_SLOTS, "takes a page that goes to 2 places" },
	{ PUTS_ALWAYS, "what its slot's advance depends on" },
	{ STEPS_ALWAYS, "what its slot's advance depends on" },
	{ BY_OTHER, "depends on what is not the page that it moves" },
	{ STEPS_BY_OTHER, "depends on what is not the page that it moves" },
	{ PUTS_AT_HEAD, "is at the wrong end of the ring" },
	{ LOSES, "takes a page that goes to 0 places" },
	{ MAPS_TWICE, "takes a page that goes to 2 places" },
	{ MAPS_COPIES, "puts a page that more than one brings" },
	{ TAKES_TWICE, "advances to a slot that 2 use" },
	{ TAKES_AT_TAIL, "is at the wrong end of the ring" },
	{ NEVER_TAKES, "advances to a slot that 0 use" },
	{ FILLS_BOTH, "advances to a slot that 0 use" },
	{ MOVES_TWO, "that nobody knows of" },	/* of one of them */
};

static void build(struct bench *b, enum bug bug, bool alloc)
{
	struct wrc_build w;

	if (alloc)
		build_alloc(&w, &b->prog, bug);
	else
		build_free(&w, &b->prog, bug);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

static void broken_programs(void **state)
{
	struct bench b;

	build(&b, NO_BUG, true);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		build(&b, bugs[i].bug, bugs[i].bug >= LOSES);
		if (bugs[i].words)
			expect_refusal(&b, WRC_RULE_MOVE, bugs[i].words);
		else
			expect_accepted(&b);
		bench_close(&b);
	}
}

/* ---- after a stop ----------------------------------------------------------------- */

static void nothing(struct wrc_hold *h)
{
	h->slot_taken = h->page_taken = h->page_put = WRC_NONE;
	h->freeing = h->lent = false;
}

static void no_slot(struct wrc_hold *h)
{
	h->slot_taken = WRC_NONE;
}

static void slot_late(struct wrc_hold *h)
{
	h->slot_taken++;
}

static void slot_elsewhere(struct wrc_hold *h)
{
	h->slot = wrc_reg(WRC_REG_TRASH, 0);
}

static void page_late(struct wrc_hold *h)
{
	h->page_taken++;
}

static void page_elsewhere(struct wrc_hold *h)
{
	h->page = wrc_reg(WRC_REG_TRASH, 0);
}

static void put_early(struct wrc_hold *h)
{
	h->page_put--;
}

static void put_never(struct wrc_hold *h)
{
	h->page_put = WRC_NONE;
}

static void other_way(struct wrc_hold *h)
{
	h->freeing = !h->freeing;
}

static void other_home(struct wrc_hold *h)
{
	h->lent = !h->lent;
}

static void home_elsewhere(struct wrc_hold *h)
{
	h->tt = wrc_reg(WRC_REG_TRASH, 0);
}

#define SLOT	1	/* it has a slot */
#define MOVES	2	/* a page that does not become its own */
#define LENDS	4

static const struct {
	void (*edit)(struct wrc_hold *h);
	int needs;
} holds[] = {
	{ nothing, SLOT }, { nothing, MOVES }, { no_slot, SLOT },
	{ slot_late, SLOT }, { slot_elsewhere, SLOT }, { page_late, MOVES },
	{ page_elsewhere, MOVES }, { put_early, MOVES }, { put_never, MOVES },
	{ other_way, MOVES }, { other_home, MOVES }, { home_elsewhere, LENDS },
};

static int has(const struct bench *b)
{
	const struct wrc_hold *h = &b->prog.hold;

	return (h->slot_taken != WRC_NONE ? SLOT : 0) |
	       (h->page_put != WRC_NONE ? MOVES : 0) | (h->lent ? LENDS : 0);
}

/* Rules own and table rely on it, too. */
static void expect_unknown(struct bench *b)
{
	char why[WRC_WHY_MAX];

	if (!wrc_owns(&b->prog) && !b->prog.node)
		expect_refusal(b, WRC_RULE_MOVE, "that nobody knows of");
	else
		assert_true(refused_by(b, why) & 1u << WRC_RULE_MOVE);
}

/* What is armed, and the load that lends: each with its hold wrong. */
static void broken_holds(void **state)
{
	static const enum wrc_variant variants[] = {
		WRC_V_OURS, WRC_V_EXCHANGE, WRC_V_KEYED,
	};
	int seen = 0;

	for (int n = 0; n < 3 * ODRP_WIRE_NR_CHAINS; n++) {
		struct wrc_opts opts = {
			.variant = variants[n % 3],
			.recycle = n % 3 ? WRC_RECYCLE_NODE :
					   WRC_RECYCLE_CLIENT,
		};
		struct bench b;

		if (wrc_any_build(n / 3, &opts, &b.prog))
			continue;	/* keyed: the client does it alone */
		bench_image(&b, K);
		expect_accepted(&b);
		for (unsigned int i = 0; i < sizeof(holds) / sizeof(holds[0]);
		     i++) {
			struct wrc_hold was = b.prog.hold;

			if (!(has(&b) & holds[i].needs))
				continue;
			holds[i].edit(&b.prog.hold);
			expect_unknown(&b);
			b.prog.hold = was;
			seen |= 1 << i;
		}
		bench_close(&b);
	}
	assert_int_equal(seen, (1 << sizeof(holds) / sizeof(holds[0])) - 1);
}

/* An invalidate that has the slot before it knows of a page. */
static void slot_first(void **state)
{
	struct wrc_ref slot = wrc_reg(WRC_REG_SLOT, 0);
	int body, push, swap, take, rest, put, go;
	struct wrc_build w;
	struct bench b;

	wrc_begin(&w, &b.prog, ODRP_WIRE_INVALIDATE, "broken", NULL);
	body = wrc_prog_head(&w);
	push = advance(&w, WRC_SP_TAIL, slot, &swap);
	take = wrc_take(&w, wrc_at(WRC_SP_TT), page());
	wrc_wait(&w, take);
	rest = wrc_send_en(&w, WRC_NEXT_HEAD);
	wrc_enable_upto(&w, body, rest);
	put = wrc_write(&w, wrc_at(WRC_SP_SLOT), page(), 8, WRC_I_SIGNALED);
	wrc_set_swapped(&w, swap, wrc_field(put, WRC_F_RADDR, 0));
	wrc_wait(&w, put);
	go = wrc_send_en(&w, 0);
	wrc_prog_args(&w, take, wrc_prog_answer(&w, go, 0, 0));
	wrc_holds(&w, true, push, slot, take, page(), put);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(&b, K);
	expect_refusal(&b, WRC_RULE_MOVE, "that nobody knows of");
	bench_close(&b);
}

/* What holds nothing must not be said to. */
static void holds_nothing(void **state)
{
	for (int chain = ODRP_WIRE_LOAD; chain <= ODRP_WIRE_MAPPED_STORE;
	     chain++) {
		struct bench b;

		bench_open(&b, chain, true, K);
		b.prog.hold.page_put = b.prog.nr_head;
		expect_refusal(&b, WRC_RULE_MOVE, "that nobody knows of");
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_programs),
		cmocka_unit_test(broken_holds),
		cmocka_unit_test(slot_first),
		cmocka_unit_test(holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
