// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs of the rig and questions, one by one: what a run leaves is right by
 * itself, each field that differs is told, and cards that do something else are
 * told from those that do not.
 */
#include <stdlib.h>
#include "sides.h"
#include <hwcheck/probes.h>
#include <hwcheck/raw.h>
#include <hwcheck/rig.h>
#include "snic/engine/engine.h"

/* ---- what a run leaves ------------------------------------------------------------- */

static struct rig_result *run_soft(enum odrp_wire_chain chain,
				   enum wrc_variant variant,
				   const struct rig_config *cfg)
{
	const struct rig_prog prog = { chain, variant, true };
	struct rig_result *res = calloc(1, sizeof(*res));
	char why[WRC_WHY_MAX];
	struct rig_node node;

	assert_non_null(res);
	assert_int_equal(rig_open(&soft, &prog, &node), 0);
	assert_int_equal(rig_run(&node, cfg, res, why), 0);
	rig_close(&node);
	return res;
}

static void count_page(unsigned int seen[RIG_PAGES], uint64_t addr)
{
	uint64_t page = 0;

	if (!addr)
		return;
	assert_true(page_index(addr, RIG_PAGES, &page));
	seen[page]++;
}

/* Each page is in one place, and in the table are those of the last requests. */
static void expect_pages(const struct rig_result *res,
			 const struct rig_books *b, uint32_t count)
{
	unsigned int seen[RIG_PAGES] = { 0 };
	uint8_t page[ODRP_WIRE_PAGE_SIZE];
	uint64_t at = 0;

	for (int i = 0; i < RIG_RING_SLOTS; i++)
		count_page(seen, be64toh(b->ring[i]));
	for (int i = 0; i < b->nr_held; i++)
		count_page(seen, b->held[i].page);
	for (int i = 0; i < RIG_SLOTS; i++)
		count_page(seen, be64toh(b->tt[i]));
	for (int i = 0; i < RIG_PAGES; i++)
		assert_int_equal(seen[i], 1);
	for (uint32_t r = count - RIG_SLOTS; r < count; r++) {
		rig_fill(page, r);
		assert_true(page_index(be64toh(b->tt[r % RIG_SLOTS]),
				       RIG_PAGES, &at));
		assert_memory_equal(res->pool + at * sizeof(page), page,
				    sizeof(page));
	}
}

static void registers(void **state)
{
	const struct rig_config cfg = { 8, 7, 300 };
	struct rig_result *res;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		res = run_soft(i ? ODRP_WIRE_UNMAPPED_STORE :
				   ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE,
			       &cfg);
		assert_int_equal(res->err, 0);
		assert_int_equal(res->nr_answers, cfg.count);
		assert_int_equal(res->end.nr_held, 8);
		expect_pages(res, &res->end, cfg.count);
		expect_pages(res, &res->cut, cfg.count);
		free(res);
	}
}

/* The first one, of each seven the last one, and the last one of all. */
static void quiet(void **state)
{
	const struct rig_config cfg = { 8, 7, 60, .quiet = true };
	struct rig_result *res;

	res = run_soft(ODRP_WIRE_LOAD, WRC_V_OURS, &cfg);
	assert_int_equal(res->nr_answers, 10);
	assert_int_equal(res->answers[0].imm, 0);
	assert_int_equal(res->answers[1].imm, 6);
	assert_int_equal(res->answers[8].imm, 55);
	assert_int_equal(res->answers[9].imm, 59);
	assert_int_equal(res->answer_cqes, 60);
	for (uint32_t r = 0; r < 60; r++)
		assert_int_not_equal(res->mem[r * 4096ul], 0);
	free(res);
}

/* A load's page is under way until its answer has been taken; an exchanging store
 * has none but its own. */
static void not_taken(void **state)
{
	const struct rig_config cfg = { 8, 3, 3, .deaf = true };
	struct rig_result *res = run_soft(ODRP_WIRE_LOAD, WRC_V_OURS, &cfg);

	assert_int_equal(res->nr_answers, 3);
	assert_false(res->passed_early);
	assert_true(res->passed);
	free(res);
	res = run_soft(ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE, &cfg);
	assert_int_equal(res->nr_answers, 3);
	assert_true(res->passed_early);
	assert_true(res->passed);
	free(res);
}

/* With translation in the NIC a peer reaches what the table says, and nothing else
 * of the node's. */
static void expect_reached(const struct rig_result *res)
{
	uint64_t at, begins;

	for (unsigned int i = 0; i < RIG_SLOTS; i++) {
		begins = at = 0;
		if (res->end.tt[i]) {
			assert_true(page_index(be64toh(res->end.tt[i]),
					       RIG_PAGES, &at));
			memcpy(&begins, res->pool + at * 4096, 8);
			assert_int_not_equal(begins, 0);
		}
		assert_int_equal(res->reached[i], begins);
	}
}

static void keyed(void **state)
{
	struct rig_config cfg = { 8, 7, 40 };
	struct rig_result *res;

	res = run_soft(ODRP_WIRE_UNMAPPED_STORE, WRC_V_KEYED, &cfg);
	assert_int_equal(res->err, 0);
	assert_true(res->reached[39] && !res->reached[40]);
	expect_reached(res);
	free(res);
	res = run_soft(ODRP_WIRE_INVALIDATE, WRC_V_KEYED, &cfg);
	assert_int_equal(res->err, 0);
	assert_true(!res->reached[39] && res->reached[40]);
	expect_reached(res);
	free(res);
	cfg.count = 300;
	res = run_soft(ODRP_WIRE_UNMAPPED_STORE, WRC_V_KEYED, &cfg);
	assert_int_equal(res->err, 0);
	expect_reached(res);
	expect_pages(res, &res->end, cfg.count);
	expect_pages(res, &res->cut, cfg.count);
	free(res);
}

/* ---- each difference is found ------------------------------------------------------ */

static void differs(struct rig_result *a, struct rig_result *b,
		    const char *what)
{
	char said[RIG_DIFF_MAX] = "";

	assert_true(rig_differ(a, b, said));
	if (!strstr(said, what))
		fail_msg("expected '%s' in '%s'", what, said);
	*b = *a;
}

static void in_book(struct rig_result *a, struct rig_result *b,
		    const char *when, const char *what)
{
	char expected[RIG_DIFF_MAX];

	snprintf(expected, sizeof(expected), "%s%s", when, what);
	differs(a, b, expected);
}

static void every_book(struct rig_result *a, struct rig_result *b,
		       struct rig_books *book, const char *when)
{
	book->tt[5] = htobe64(0x1234);
	in_book(a, b, when, "table entry 5: 0x0 and 0x1234");
	book->ring[RIG_RING_SLOTS - 1] = 1;
	in_book(a, b, when, "ring slot 511");
	book->head = 1;
	in_book(a, b, when, "ring's head");
	book->tail = 1;
	in_book(a, b, when, "ring's tail");
	book->nr_held = 2;
	in_book(a, b, when, "holders");
	book->held[7].page = 3;
	in_book(a, b, when, "page held by 7: 0x0 and 0x3");
	book->held[7].slot = 1;
	in_book(a, b, when, "slot held by 7");
}

static void every_difference(void **state)
{
	struct rig_result *a = calloc(1, sizeof(*a)), *b;
	char said[RIG_DIFF_MAX];

	b = malloc(sizeof(*b));
	a->nr_answers = 3;
	a->end.nr_held = a->cut.nr_held = RIG_MAX_DEPTH;
	*b = *a;
	assert_false(rig_differ(a, b, said));
	b->err = -EIO;
	differs(a, b, "error: 0x0 and 0x5");
	b->nr_answers = 2;
	differs(a, b, "answers");
	b->answers[1].imm = 7;
	differs(a, b, "immediate of answer 1: 0x0 and 0x7");
	b->answers[2].opcode = 1;
	differs(a, b, "opcode of answer 2");
	b->answers[0].byte_cnt = 1;
	differs(a, b, "length of answer 0");
	b->answers[0].wqe_counter = 1;
	differs(a, b, "wqe_counter of answer 0");
	b->pool[2 * 4096 + 17] = 9;
	differs(a, b, "pool page 2, byte 0x11: 0x0 and 0x9");
	b->mem[4096] = 1;
	differs(a, b, "client's page 1, byte 0x0");
	b->reached[63] = 9;
	differs(a, b, "page that a peer reaches by slot 63: 0x0 and 0x9");
	b->loop_cqes = 1;
	differs(a, b, "loop queue's CQEs");
	b->client_cqes = 1;
	differs(a, b, "client queue's CQEs");
	b->loop_bbs = 1;
	differs(a, b, "loop queue's BBs");
	b->client_bbs = 1;
	differs(a, b, "client queue's BBs");
	b->answer_cqes = 1;
	differs(a, b, "CQEs of answers");
	b->passed_early = true;
	differs(a, b, "completed before the client took the answer");
	b->passed = true;
	differs(a, b, "all completed");
	every_book(a, b, &b->end, "");
	every_book(a, b, &b->cut, "after the connection was cut, ");
	b->syndrome = 2;
	differs(a, b, "syndrome: 0x0 and 0x2");
	free(a);
	free(b);
}

/* ---- cards that do something else -------------------------------------------------- */

/* A card whose CQ counter is always one too far. */
static int query_too_far(void *obj, const void *in, size_t in_len, void *out,
			 size_t out_len)
{
	int r = fake_devx.query(obj, in, in_len, out, out_len);

	if (!r && fake_bits(in, 0, 16) == 0x402)
		((uint8_t *)out)[16 + 0x2f]++;
	return r;
}

/* One that has not counted the last entry yet. */
static int query_behind(void *obj, const void *in, size_t in_len, void *out,
			size_t out_len)
{
	int r = fake_devx.query(obj, in, in_len, out, out_len);

	if (!r && fake_bits(in, 0, 16) == 0x402 &&
	    ((uint8_t *)out)[16 + 0x2f])
		((uint8_t *)out)[16 + 0x2f]--;
	return r;
}

/* The first difference in a program's run, or "". */
static void run_both(enum odrp_wire_chain chain, enum wrc_variant variant,
		     const struct rig_config *cfg, char what[RIG_DIFF_MAX])
{
	const struct rig_prog prog = { chain, variant, true };
	struct rig_result *two = calloc(2, sizeof(*two));
	char why[WRC_WHY_MAX];
	struct rig_node a, b;

	assert_non_null(two);
	assert_int_equal(rig_open(&soft, &prog, &a), 0);
	assert_int_equal(rig_open(&card, &prog, &b), 0);
	assert_int_equal(rig_run(&a, cfg, &two[0], why), 0);
	assert_int_equal(rig_run(&b, cfg, &two[1], why), 0);
	if (!rig_differ(&two[0], &two[1], what))
		*what = 0;
	rig_close(&b);
	rig_close(&a);
	free(two);
}

static void expect_difference(enum odrp_wire_chain chain,
			      enum wrc_variant variant,
			      const struct rig_config *cfg, const char *text)
{
	char what[RIG_DIFF_MAX];

	run_both(chain, variant, cfg, what);
	if (*text ? !strstr(what, text) : *what)
		fail_msg("expected '%s' in '%s'", text, what);
}

/* What the card answers to a question. */
static void expect_answer(const char *id, const char *expected)
{
	char said[PROBE_ANSWER_MAX] = "";

	for (unsigned int i = 0; i < nr_probes; i++) {
		if (!strcmp(probes[i].id, id))
			assert_int_equal(probe_ask(&probes[i], &card, said), 0);
	}
	assert_string_equal(said, expected);
}

static void counts_differ(void **state)
{
	const struct rig_config cfg = { 8, 1, 4 };

	sides_bend()->query = query_too_far;
	expect_difference(ODRP_WIRE_LOAD, WRC_V_OURS, &cfg,
			  "loop queue's CQEs: 0x");
	expect_answer("cq-counter", "it is 6 when 5 entries can be polled");
	expect_answer("cq-acknowledged", "1 are counted before its peer takes "
		      "it, and 2 then");
	sides_bend()->query = query_behind;
	expect_answer("cq-received", "0 of 8 messages are counted when what "
		      "waits for them has run");
	sides_unbend();
}

/* A card that has read receive entries before they were written. */
static void stale_entries(void **state)
{
	const struct rig_config first_lap = { 8, 1, 8 }, laps = { 8, 1, 9 };

	fake.stale_entries = true;
	expect_answer("entry-renewed", "of 7 messages 0 go to the new "
		      "addresses and 7 to the old ones");
	expect_answer("entry-rewritten", "of 7 messages 0 go to the new "
		      "addresses and 7 to the old ones");
	expect_difference(ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE, &first_lap,
			  "");
	expect_difference(ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE, &laps,
			  "pool page");
}

/* A card whose WAIT is over one entry too early. */
static void early_waits(void **state)
{
	fake.early_waits = true;
	expect_answer("page-received", "7 of 8 pages are whole when the WAIT "
		      "is over");
	expect_answer("page-sent", "7 of 8 pages are whole when the WAIT is "
		      "over");
}

/* What the first work request of a queue aims at. */
static uint8_t *first_wqe(const __u8 ctrl[8])
{
	return sides_rung(ctrl)->attr.sq;
}

/* A card that does not see the low bits of an atomic's address. */
static void ring_aligning(void *uar, const __u8 ctrl[8])
{
	uint8_t *wqe = first_wqe(ctrl);

	if (wqe[3] == WRC_WQE_MASKED_CS)
		wqe[sizeof(struct wrc_wqe_ctrl) + 7] &= ~7;
	fake_devx.ring(uar, ctrl);
}

/* A card whose second queue has not seen what the first one has added. */
static void ring_forgetting(void *uar, const __u8 ctrl[8])
{
	uint8_t *wqe = first_wqe(ctrl);
	uint64_t *word, before;
	__be64 addr;

	memcpy(&addr, wqe + sizeof(struct wrc_wqe_ctrl), sizeof(addr));
	word = (uint64_t *)(uintptr_t)be64toh(addr);
	before = *word;
	fake_devx.ring(uar, ctrl);
	fake_run();
	*word = before;
}

static void odd_atomics(void **state)
{
	sides_bend()->ring = ring_aligning;
	expect_answer("masked-misaligned", "of 7, 0 are refused and 7 "
		      "change memory");
	sides_bend()->ring = ring_forgetting;
	expect_answer("masked-two-queues", "of 60 steps 30 are fetched once; "
		      "the sum is wrong");
	sides_unbend();
}

/* A card that does not complete the entries of a queue pair that is stopped. */
static int modify_silently(void *obj, const void *in, size_t in_len, void *out,
			   size_t out_len)
{
	struct fake_obj *o = obj;
	struct snic_qp_info info;

	if (fake_bits(in, 0, 16) == 0x507) {
		assert_int_equal(snic_qp_query(fake.snic, o->number, &info),
				 0);
		o->dbr->rcv = htobe32(info.rq_consumed & 0xffff);
	}
	return fake_devx.modify(obj, in, in_len, out, out_len);
}

static void no_flush(void **state)
{
	const struct rig_config cfg = { 8, 1, 4 };

	sides_bend()->modify = modify_silently;
	/* The chain fails before it has moved a page: nothing rests on it. */
	expect_difference(ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE, &cfg, "");
	expect_difference(ODRP_WIRE_UNMAPPED_STORE, WRC_V_EXCHANGE, &cfg, "");
	sides_unbend();
}

/* Where UMRs that are rung for do nothing. */
static void ring_without_umr(void *uar, const __u8 ctrl[8])
{
	struct snic_qp *qp = sides_rung(ctrl);
	unsigned int i;

	for (i = 0; i < 1u << qp->attr.log_sq; i++) {
		uint8_t *wqe = (uint8_t *)qp->attr.sq + i * WRC_WQE_BB;

		/* The UMRs of a group, not those that clear a key. */
		if (wqe[3] == WRC_WQE_UMR && wqe[7] == 12)
			wqe[3] = WRC_WQE_NOP;
	}
	fake_devx.ring(uar, ctrl);
}

static void odd_umrs(void **state)
{
	const struct rig_config cfg = { 8, 1, 4 };

	expect_difference(ODRP_WIRE_INVALIDATE, WRC_V_KEYED, &cfg, "");
	sides_bend()->ring = ring_without_umr;
	expect_answer("keys-entries", "a new key leads nowhere; with an entry, "
		      "nowhere; and by the next group, nowhere");
	expect_answer("keys-stranger", "its UMR is done, and the key is as it "
		      "was");
	expect_difference(ODRP_WIRE_INVALIDATE, WRC_V_KEYED, &cfg,
			  "page that a peer reaches by slot 4");
	sides_unbend();
}

/* A card that has no such keys: what needs them is skipped, or not asked. */
static void no_keys(void **state)
{
	static const char lacks[] = "its UMRs cannot change indirect keys "
				    "(capability umr_indirect_mkey_disabled)";
	const struct rig_prog prog = { ODRP_WIRE_INVALIDATE, WRC_V_KEYED,
				       true };
	char said[PROBE_ANSWER_MAX];
	unsigned int asked = 0;
	struct rig_node node;

	nic_mlx5_device(card.nic)->caps.umr_ksm = false;
	assert_int_equal(rig_open(&card, &prog, &node), 0);
	assert_string_equal(side_lacks_keys(node.side), lacks);
	rig_close(&node);
	assert_int_equal(rig_open(&soft, &prog, &node), 0);
	assert_null(side_lacks_keys(node.side));
	rig_close(&node);
	for (unsigned int i = 0; i < nr_probes; i++) {
		if (strncmp(probes[i].id, "keys-", 5))
			continue;
		assert_int_equal(probe_ask(&probes[i], &card, said), -EOPNOTSUPP);
		asked++;
	}
	assert_int_equal(asked, 5);
}

static void fences(void **state)
{
	expect_answer("fence-order", "holds: 100000 times the other queue "
		      "used what was READ");
	sides_bend()->ring = sides_ring_unfenced;
	expect_answer("fence-order", "does not hold: 100000 of 100000 times "
		      "the other queue used what was there before");
	sides_unbend();
}

/* Memory runs out at each call of each question: it cannot be asked, and leaves nothing
 * behind.  A counter that cannot be made is an answer. */
static void no_memory(void **state)
{
	unsigned int i, n, failed = 0, pds = fake.pds, mrs = fake.mrs;
	char said[PROBE_ANSWER_MAX];
	int r;

	for (i = 0; i < nr_probes; i++) {
		for (n = 1; ; n++) {
			fake.fail_in = n;
			r = probe_ask(&probes[i], &card, said);
			if (fake.fail_in)
				break;
			if (r != -ENOMEM && strcmp(probes[i].id, "counter-sets"))
				fail_msg("%s, call %u: %d", probes[i].id, n, r);
			if (fake.pds != pds || fake.mrs != mrs)
				fail_msg("%s, call %u: left behind", probes[i].id, n);
			failed++;
		}
		assert_int_equal(r, 0);
		fake.fail_in = 0;
	}
	assert_true(failed > 5 * nr_probes);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sides_setup, sides_teardown)
	const struct CMUnitTest tests[] = {
		T(registers),
		T(quiet),
		T(not_taken),
		T(keyed),
		cmocka_unit_test(every_difference),
		T(counts_differ),
		T(stale_entries),
		T(early_waits),
		T(odd_atomics),
		T(odd_umrs),
		T(no_keys),
		T(fences),
		T(no_flush),
		T(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
