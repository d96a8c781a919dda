// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and programs that no builder would write, and linked ones that
 * no linker would leave so: the sentences that test-check.c and
 * test-check-prog.c do not hear.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4

/* A load without its page, of which the parts can be had one by one. */
struct odd {
	struct wrc_build build;
	int body, first, second, go, answer;
};

enum oddity {
	PLAIN,
	COUNTS_IN_TABLE,	/* FAA on the table */
	PLAIN_FAA,		/* on the ring's counter */
	TWO_ANSWERS,		/* of which one is let go */
	NO_ANSWER,
	NO_PAGE_ADDRESS,
	MOVES_PAGE,		/* a swap with 0 in the page itself */
	NEVER_CHOSEN,		/* a WQE that may be one, and nobody makes it */
};

static int first_of(struct wrc_build *b, enum oddity oddity)
{
	struct wrc_insn faa = {
		.op = WRC_WQE_FA, .flags = WRC_I_SIGNALED, .swap = 8,
		.remote = wrc_at(WRC_SP_HEAD), .nr_sge = 1,
		.sge = { { wrc_reg(WRC_REG_TRASH, 0), 8 } },
	};

	if (oddity == COUNTS_IN_TABLE)
		return wrc_advance(b, wrc_at(WRC_SP_TT),
				   wrc_reg(WRC_REG_TRASH, 0), 0);
	if (oddity == PLAIN_FAA)
		wrc_emit(b, &faa);
	return wrc_read(b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_PAGE, 0), 8);
}

/* Another WQE behind the first one, which gives it its address. */
static void add_second(struct odd *o, enum oddity oddity)
{
	struct wrc_build *b = &o->build;

	wrc_enable_upto(b, o->body, wrc_send_en(b, WRC_NEXT_HEAD));
	if (oddity == MOVES_PAGE) {
		o->second = wrc_take(b, wrc_at(WRC_SP_POOL),
				     wrc_reg(WRC_REG_TRASH, 0));
		wrc_set_local(b, o->first, 0,
			      wrc_field(o->second, WRC_F_RADDR, 0));
	} else {
		o->second = wrc_write(b, wrc_reg(WRC_REG_TRASH, 0),
				      wrc_reg(WRC_REG_TT, 0), 8,
				      WRC_I_SIGNALED | WRC_I_MAYBE);
	}
	wrc_wait(b, o->second);
}

static void build_odd(struct odd *o, struct wrc_prog *prog, enum oddity oddity)
{
	struct wrc_insn nop = { .op = WRC_WQE_NOP };
	struct wrc_build *b = &o->build;

	memset(o, 0, sizeof(*o));
	wrc_begin(b, prog, ODRP_WIRE_LOAD, "odd", NULL);
	o->body = wrc_prog_head(b);
	wrc_enable_upto(b, o->body, WRC_NEXT_HEAD);
	o->first = first_of(b, oddity);
	wrc_wait(b, o->first);
	if (oddity == MOVES_PAGE || oddity == NEVER_CHOSEN)
		add_second(o, oddity);
	if (oddity != NO_ANSWER)
		o->go = wrc_send_en(b, 0);
	wrc_client_queue(b);
	if (oddity == NO_PAGE_ADDRESS)
		o->answer = wrc_write_imm(b, wrc_at(WRC_SP_PEER),
					  wrc_at(WRC_SP_POOL), 4096);
	else
		o->answer = wrc_write_imm(b, wrc_at(WRC_SP_PEER),
					  wrc_reg(WRC_REG_PAGE, 0), 0);
	if (oddity == MOVES_PAGE || oddity == NO_PAGE_ADDRESS)
		prog->insn[o->answer].flags |= WRC_I_SIGNALED;
	if (oddity != NO_ANSWER)
		wrc_enable_upto(b, o->go, o->answer);
	if (oddity == TWO_ANSWERS)
		wrc_emit(b, &nop);
	wrc_prog_args(b, o->first, o->answer);
	assert_int_equal(wrc_end(b), 0);
}

static const struct {
	enum oddity oddity;
	enum wrc_rule rule;
	const char *words;
} built[] = {
	{ COUNTS_IN_TABLE, WRC_RULE_FLOW, "computes with page addresses" },
	{ PLAIN_FAA, WRC_RULE_ATOMIC, "can neither move nor stay" },
	{ TWO_ANSWERS, WRC_RULE_BALANCE,
	  "enables the client queue up to 1 instead of 2" },
	{ NO_ANSWER, WRC_RULE_BALANCE, "is never answered" },
	{ MOVES_PAGE, WRC_RULE_FLOW, "is an atomic on class pool" },
	{ NEVER_CHOSEN, WRC_RULE_PATCH, "is never given its opcode" },
	{ NO_PAGE_ADDRESS, WRC_RULE_PATCH, "the address of segment 0" },
};

/* What the linker does for the ring's counters only. */
static void within_a_ring(struct bench *b, unsigned int insn)
{
	uint64_t boundary = htobe64(1ull << (b->bind.log_free_ring - 1));

	for (uint32_t k = 0; k < K; k++)
		memcpy(bench_field(b, insn, WRC_F_BOUNDARY, 0, k), &boundary,
		       sizeof(boundary));
}

static void odd_programs(void **state)
{
	struct bench b;
	struct odd o;

	build_odd(&o, &b.prog, PLAIN);
	bench_image(&b, K);
	expect_accepted(&b);
	bench_close(&b);
	for (unsigned int i = 0; i < sizeof(built) / sizeof(built[0]); i++) {
		build_odd(&o, &b.prog, built[i].oddity);
		bench_image(&b, K);
		if (built[i].oddity == COUNTS_IN_TABLE)
			within_a_ring(&b, o.first);
		expect_refusal(&b, built[i].rule, built[i].words);
		bench_close(&b);
	}
}

/* ---- edited after linking ------------------------------------------------------ */

static void arms_from_afar(struct wrc_prog *prog)
{
	unsigned int i;

	/* The count of l4, the WAIT for the table's entry, from the request
	 * before, as if it were a head. */
	for (i = 0; i < prog->nr_words; i++)
		if (prog->word[i].insn == 4)
			prog->word[i].delta = 1;
	for (i = 0; i < prog->nr_patches; i++)
		if (prog->patch[i].source == WRC_RECV &&
		    prog->patch[i].insn == 4)
			prog->patch[i].delta = 1;
	for (i = 0; i < prog->nr_scatter; i++)
		if (prog->scatter[i].to.space == WRC_SP_FIELD &&
		    prog->scatter[i].to.at == 4)
			prog->scatter[i].delta = 1;
}

static void ends_at_its_own_end(struct wrc_prog *prog)
{
	unsigned int i, last = 0;

	for (i = 0; i < prog->nr_insn; i++)
		if (prog->insn[i].queue == WRC_LOOP)
			last = i;
	for (i = 0; i < prog->nr_insn; i++)
		if (prog->insn[i].op == WRC_WQE_SEND_EN &&
		    prog->insn[i].target == WRC_NEXT_HEAD)
			prog->insn[i].target = last;
}

static void strict_after_all(struct wrc_prog *prog)
{
	prog->strict = true;
}

static void posts_nothing(struct wrc_prog *prog)
{
	prog->nr_words--;
	prog->nr_scatter--;
	prog->req_len -= 4;
}

static void record_in_between(struct wrc_prog *prog)
{
	struct wrc_word last = prog->word[prog->nr_words - 1];

	prog->word[prog->nr_words - 1] = prog->word[prog->nr_words - 2];
	prog->word[prog->nr_words - 2] = last;
}

static const struct {
	void (*edit)(struct wrc_prog *prog);
	enum wrc_rule rule;
	const char *words;
} edited[] = {
	{ arms_from_afar, WRC_RULE_PATCH, "is armed from another instance" },
	{ ends_at_its_own_end, WRC_RULE_BALANCE, "enables up to 8, not to 10" },
	{ strict_after_all, WRC_RULE_INDEX, "has its index re-armed by no word" },
	{ posts_nothing, WRC_RULE_RQ, "no word of the request re-posts" },
	{ record_in_between, WRC_RULE_RQ, "is not the last word" },
};

static void edited_programs(void **state)
{
	for (unsigned int i = 0; i < sizeof(edited) / sizeof(edited[0]); i++) {
		const struct wrc_opts opts = { .strict_index = false };
		struct bench b;

		assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, &opts,
						&b.prog), 0);
		edited[i].edit(&b.prog);
		bench_image(&b, K);
		expect_refusal(&b, edited[i].rule, edited[i].words);
		bench_close(&b);
	}
}

/* ---- and images ------------------------------------------------------------------ */

/* One more data segment, in blocks that it fits. */
static void one_segment_more(void **state)
{
	struct bench b;
	uint8_t *ds, *seg;

	bench_open(&b, ODRP_WIRE_MAPPED_STORE, false, K);
	ds = bench_field(&b, 6, WRC_F_DS, 0, 1);
	seg = bench_field(&b, 6, WRC_F_LEN, 0, 1);
	assert_int_equal(*ds, 3);
	*ds = 4;
	memcpy(seg + 16, seg, 16);
	expect_refusal(&b, WRC_RULE_FORM, "has 2 data segments instead of 1");
	bench_close(&b);
}

/* What more than one rule needs, more than one refuses. */
static void refused_by_many(void **state)
{
	char why[WRC_WHY_MAX];
	struct bench b;

	bench_open(&b, ODRP_WIRE_LOAD, false, K);
	bench_recv(&b, 1, 3)->byte_count = 0;
	assert_int_equal(refused_by(&b, why),
			 1u << WRC_RULE_PATCH | 1u << WRC_RULE_RQ);
	assert_non_null(strstr(why, "receive entry 1 is malformed"));
	bench_close(&b);

	bench_open(&b, ODRP_WIRE_LOAD, false, K);
	b.geom.depth = 5;
	assert_int_equal(refused_by(&b, why), WRC_ALL_RULES);
	assert_non_null(strstr(why, "no geometry of depth 5"));
	b.geom.depth = K;
	b.geom.start_bb++;
	assert_int_equal(refused_by(&b, why), WRC_ALL_RULES);
	assert_non_null(strstr(why, "the geometry is not that of load"));
	bench_close(&b);
}

/* ---- numbers of the linker's ------------------------------------------------------ */

/* A load, a store or an invalidate of the agent's, to be edited. */
static struct wrc_prog *agents(struct bench *b, enum odrp_wire_chain chain)
{
	if (chain == ODRP_WIRE_MAPPED_STORE)
		bench_open_node_exchange(b, chain, true, K);
	else
		bench_open_node(b, chain, true, K);
	return &b->prog;
}

/* The image is that of the edited program. */
static void expect_edited(struct bench *b, enum wrc_rule rule, const char *words)
{
	bench_close(b);
	bench_image(b, K);
	expect_refusal(b, rule, words);
	bench_close(b);
}

static void wrong_completions(void **state)
{
	struct wrc_prog *prog;
	struct bench b;

	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->insn[prog->nr_insn - 1].cqe = 1;
	expect_edited(&b, WRC_RULE_BALANCE, "c0@0 makes another completion");
	/* The agent would count one request as two. */
	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->client_cqes = 2;
	expect_edited(&b, WRC_RULE_BALANCE, "and 1 completions, not");
}

static void wrong_words(void **state)
{
	struct wrc_prog *prog;
	struct bench b;

	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->word[0].insn = 2;
	expect_edited(&b, WRC_RULE_TABLE, "does not get its");
	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->nr_words = 0;
	expect_edited(&b, WRC_RULE_RQ, "a client sends 24 bytes");
	/* Four bytes of the client's over the head of the ring. */
	prog = agents(&b, ODRP_WIRE_MAPPED_STORE);
	prog->scatter[0].to = wrc_at(WRC_SP_HEAD);
	expect_edited(&b, WRC_RULE_RQ, "receive entries goes to class free");
	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->turn[0].delta = -1;
	expect_edited(&b, WRC_RULE_TABLE, "of its row to another place");
	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->row_len[prog->nr_reads - 1] += 2;
	expect_edited(&b, WRC_RULE_TABLE, "bytes of a row of");
}

static void wrong_holds(void **state)
{
	struct wrc_prog *prog;
	struct bench b;

	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->hold.umr = 2;
	expect_edited(&b, WRC_RULE_KEYED, "look for a translation");
	prog = agents(&b, ODRP_WIRE_INVALIDATE);
	prog->hold.swapped = 2;
	expect_edited(&b, WRC_RULE_MOVE, "that nobody knows of");
	prog = agents(&b, ODRP_WIRE_MAPPED_STORE);
	prog->hold.page_put = 2;
	expect_edited(&b, WRC_RULE_OWN, "would not be found");
}

/* The receive entry gets the page of the instance before. */
static void page_of_another(void **state)
{
	struct wrc_prog *prog;
	struct bench b;
	unsigned int i;

	prog = agents(&b, ODRP_WIRE_MAPPED_STORE);
	for (i = 0; prog->insn[i].sge[0].at.space != WRC_SP_RECV; i++)
		;
	prog->insn[i].remote.delta = -1;
	expect_edited(&b, WRC_RULE_OWN, "the page that the swap gets");
}

/* The receive entry is posted by what the row says of the next instance. */
static void post_of_another(void **state)
{
	struct wrc_prog *prog;
	struct bench b;

	prog = agents(&b, ODRP_WIRE_LOAD);
	prog->insn[prog->post].sge[0].at.delta = 1;
	expect_edited(&b, WRC_RULE_TABLE, "does not post what the row says");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_programs),
		cmocka_unit_test(edited_programs),
		cmocka_unit_test(one_segment_more),
		cmocka_unit_test(refused_by_many),
		cmocka_unit_test(wrong_completions),
		cmocka_unit_test(wrong_words),
		cmocka_unit_test(wrong_holds),
		cmocka_unit_test(page_of_another),
		cmocka_unit_test(post_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
