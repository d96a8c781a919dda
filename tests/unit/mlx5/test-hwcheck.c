// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-hwcheck with a fake card: all must be the same, and when the card does
 * something else, the report must say so.  Which differences are found:
 * test-rig.c.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include "sides.h"
#include <nic/verdict.h>
#include <hwcheck/check.h>
#include <hwcheck/rig.h>

static const struct nic_mlx5_opts ways = { .port = 1, .strict = true };

static struct json_object *get(struct json_object *obj, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(obj, key, &v) ? v : NULL;
}

static const char *text(struct json_object *obj, const char *key)
{
	return json_object_get_string(get(obj, key));
}

static struct json_object *describe(void)
{
	struct json_object *report;

	assert_int_equal(check_describe(nic_mlx5_device(card.nic), &ways,
					VERDICT_PER_MKEY, &report), 0);
	return report;
}

static struct json_object *compare(struct check *check)
{
	struct json_object *report = describe();

	assert_int_equal(check_programs(&card, &soft, report, check), 0);
	return report;
}

static struct json_object *questions(struct check *check)
{
	struct json_object *report = describe();

	assert_int_equal(check_questions(&card, &soft, report, check), 0);
	return report;
}

/* A machine with huge pages or without, whatever this one has. */
static bool huge_pages;
static unsigned int huge_arenas;

int __real_mem_map(size_t len, unsigned int flags, struct mem *ret_mem);
int __wrap_mem_map(size_t len, unsigned int flags, struct mem *ret_mem);

int __wrap_mem_map(size_t len, unsigned int flags, struct mem *ret_mem)
{
	int r = __real_mem_map(len, flags & ~MEM_HUGE, ret_mem);

	ret_mem->huge = !r && huge_pages && flags & MEM_HUGE;
	/* A pool is of a fixed size, a chain's memory of another one. */
	huge_arenas += !r && flags == (MEM_HUGE | MEM_POPULATE) &&
		       len != RIG_PAGES * ODRP_WIRE_PAGE_SIZE;
	return r;
}

/* The whole report as a person sees it. */
static void expect_printed(struct json_object *report, const char *what)
{
	char *buf = NULL;
	size_t len;
	FILE *f = open_memstream(&buf, &len);

	assert_non_null(f);
	json_object_object_add(report, "result",
			       json_object_new_string("The end."));
	check_print(report, f);
	fclose(f);
	if (getenv("SHOW"))
		fputs(buf, stdout);
	if (!strstr(buf, what) || !strstr(buf, "The end."))
		fail_msg("'%s' is not in: %s", what, buf);
	free(buf);
}

/* ---- the same --------------------------------------------------------------- */

/* Which runs have to end early: of programs that begin so, runs that begin so. */
static const struct {
	const char *program, *run;
} stopped[] = {
	{ "load", ": of what is not mapped" },
	{ "mapped store", ": to what is not mapped" },
	{ "unmapped store", ": to what is mapped" },
	{ "unmapped store", ": until the ring is empty" },
	{ "", ": behind the table" },
};

static const char *end_of(const char *name)
{
	for (size_t i = 0; i < sizeof(stopped) / sizeof(stopped[0]); i++)
		if (!strncmp(name, stopped[i].program,
			     strlen(stopped[i].program)) &&
		    strstr(name, stopped[i].run))
			return "the chain stopped";
	return "all answered";
}

/* Returns how many were skipped. */
static unsigned int expect_same(struct json_object *list)
{
	unsigned int skipped = 0;
	struct json_object *o;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (get(o, "difference"))
			fail_msg("%s: %s", text(o, "program"),
				 text(o, "difference"));
		if (get(o, "skipped")) {
			assert_null(get(o, "same"));
			skipped++;
			continue;
		}
		assert_true(json_object_get_boolean(get(o, "same")));
		assert_string_equal(text(o, "software"), text(o, "card"));
		if (strcmp(text(o, "card"), end_of(text(o, "program"))))
			fail_msg("%s: %s", text(o, "program"),
				 text(o, "card"));
	}
	return skipped;
}

#define NR_RUNS	118	/* of all programs */
#define NR_PROGS	12

static void all_the_same(void **state)
{
	struct check check = { .programs = false };
	struct json_object *report;

	huge_pages = true;
	report = compare(&check);
	huge_pages = false;
	assert_int_equal(huge_arenas, 2 * NR_PROGS);
	assert_true(check.programs);
	assert_true(check.fenced);
	assert_true(check.keyed);
	assert_true(check.keyed_fenced);
	assert_null(check.lacks);
	assert_int_equal(json_object_array_length(get(report, "programs")),
			 NR_RUNS);
	assert_int_equal(expect_same(get(report, "programs")), 0);
	expect_printed(report, "same      unmapped store, exchange: seven at a "
		       "time; 60 requests; all answered");
	expect_printed(report, "same      load, order=fence: beyond 16 bits; "
		       "70000 requests; all answered");
	json_object_put(report);
}

/* A card that says that it ignores the index, and does or does not. */
static struct json_object *compare_ignoring(bool ignores, bool strict,
					    struct check *check)
{
	const struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, 1 }, .ip = htonl(0x0a000001),
		.prefix_len = 24, .mtu = 4500, .seed = 1,
		.fetch = SNIC_FETCH_EARLY, .relaxed_index = ignores,
	};
	struct json_object *report;
	struct snic *snic;

	assert_int_equal(snic_new(&cfg, &snic), 0);
	fake_adopt(snic);
	fake_cap(0, 0x99, 1, 1);
	sides_open(strict);
	report = compare(check);
	sides_teardown(NULL);
	snic_free(snic);
	return report;
}

/* Both kinds of programs. */
static void relaxed(void **state)
{
	unsigned int i, nr_relaxed = 0;
	struct check check = { .programs = false };
	struct json_object *report, *list;

	report = compare_ignoring(true, true, &check);
	list = get(report, "programs");
	assert_int_equal(json_object_array_length(list), 2 * NR_RUNS);
	assert_int_equal(expect_same(list), 2 * NR_PROGS);
	expect_printed(report, "no huge page is free");
	assert_true(check.programs);
	assert_true(check.fenced);
	for (i = 0; i < 2 * NR_RUNS; i++)
		nr_relaxed += strstr(text(json_object_array_get_idx(list, i),
					  "program"), ", relaxed") != NULL;
	assert_int_equal(nr_relaxed, NR_RUNS);
	json_object_put(report);
}

static void not_relaxed(void **state)
{
	struct json_object *report, *list, *o;
	struct check check = { .programs = true };

	report = compare_ignoring(false, false, &check);
	assert_false(check.programs);
	list = get(report, "programs");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (strstr(text(o, "program"), ": long"))
			assert_string_equal(text(o, "card"),
					    "the chain stopped");
	}
	expect_printed(report, "all answered (card: the chain stopped)");
	json_object_put(report);
}

static const char *answer(struct json_object *report, const char *id,
			  const char *who)
{
	struct json_object *list = get(report, "probes"), *o;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (!strcmp(text(o, "id"), id))
			return text(o, who);
	}
	fail_msg("no probe %s", id);
	return NULL;
}

/* What we know of the software NIC, in the words of the report. */
static const struct {
	const char *id, *software;
} known[] = {
	{ "wqe-index", "stops the queue after 1 of 3 work requests, "
	  "syndrome 0x02, vendor's 0x00" },
	{ "wqe-index-enabled", "stops the queue after 1 of 3 work requests, "
	  "syndrome 0x02, vendor's 0x00" },
	{ "wqe-qpn", "stops the queue after 1 of 3 work requests, "
	  "syndrome 0x02, vendor's 0x00" },
	{ "enable-backwards", "after SEND_EN 4 and 2, 4 work requests have "
	  "run; after SEND_EN 6, 6" },
	{ "enable-two-masters", "SEND_EN 7 and 3 from two queues: 7 work "
	  "requests have run" },
	{ "enable-after-doorbell", "after the doorbell for 2, 2 work requests "
	  "have run; after SEND_EN 4, 4" },
	{ "enable-stranger", "no: the queue stops with syndrome 0x02" },
	{ "wait-reread", "its new index is not seen" },
	{ "wait-width", "WAIT for entry 2^24 passes when there is entry 0: "
	  "24 bits or less are compared" },
	{ "wait-cyclic", "with 3 entries, WAIT for entry 0xff0000 passes and "
	  "for entry 3 blocks" },
	{ "fence-order", "holds: 100000 times the other queue used what was "
	  "READ" },
	{ "record-lowered", "yes: lowered to what was consumed, it holds the "
	  "next message back" },
	{ "record-raised", "with 1 entry 1 of 2 messages are received; when "
	  "the record is raised, 2" },
	{ "masked-fetch-add", "0x1122334455669abc becomes 0x1123334455661abf, "
	  "and 0x1122334455669abc is fetched" },
	{ "masked-compare-swap", "0x0123456789abcdef becomes "
	  "0xfedcba98895432ef, and 0x0123456789abcdef is fetched" },
	{ "entry-renewed", "of 7 messages 7 go to the new addresses and 0 to "
	  "the old ones" },
	{ "entry-rewritten", "of 7 messages 7 go to the new addresses and 0 "
	  "to the old ones" },
	{ "page-received", "8 of 8 pages are whole when the WAIT is over" },
	{ "page-sent", "8 of 8 pages are whole when the WAIT is over" },
	{ "masked-two-queues", "of 60 steps 60 are fetched once; the sum is "
	  "right" },
	{ "masked-misaligned", "of 7, 7 are refused and 0 change memory" },
	{ "cq-acknowledged", "0 are counted before its peer takes it, and 1 "
	  "then" },
	{ "cq-received", "8 of 8 messages are counted when what waits for "
	  "them has run" },
	{ "sq-counter", "it is 2 when the third work request waits" },
	{ "sq-counter-error", "it is 1, and the error entry says 1, when the "
	  "second work request failed (syndrome 0x13)" },
	{ "cq-counter", "it is 5 when 5 entries can be polled" },
	{ "keys-entries", "a new key leads nowhere; with an entry, to its page; "
	  "and by the next group, nowhere" },
	{ "keys-chain", "yes: its entry leads to the page" },
	{ "keys-taken", "of 1000 READs behind a UMR's completion 0 find the old "
	  "page, and 10 are refused where there is none" },
	{ "keys-stranger", "no: the queue stops with syndrome 0x06" },
	{ "keys-behind", "1000 of 1000 use its entry, and 1000 with a fence" },
};

/* What is left out is said to be. */
static const char *const unasked[] = {
	"wqe-check-off", "counter-twice", "masked-wire",
};

static void probes_answer(void **state)
{
	struct check check = { .answers = false };
	struct json_object *report = questions(&check);

	assert_true(check.answers);
	assert_true(check.fences);
	assert_true(check.keys);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_string_equal(answer(report, known[i].id, "software"),
				    known[i].software);
		assert_string_equal(answer(report, known[i].id, "card"),
				    known[i].software);
	}
	assert_string_equal(answer(report, "uar-target", "card"), "yes");
	assert_string_equal(answer(report, "uar-cq", "card"), "yes");
	assert_non_null(strstr(answer(report, "counter-sets", "card"),
			       "5 (it says 0 in max_qp_cnt)"));
	for (size_t i = 0; i < sizeof(unasked) / sizeof(unasked[0]); i++) {
		assert_non_null(strstr(answer(report, unasked[i], "card"),
				       "not asked: "));
		assert_null(answer(report, unasked[i], "software"));
	}
	assert_null(answer(report, "uar-cq", "software"));
	json_object_put(report);
}

/* ---- not the same --------------------------------------------------------------- */

/* A question whose answer chains rely on counts; any other does not. */
static void relied_on(void **state)
{
	struct check check = { .answers = true };
	struct json_object *report;

	fake.stale_entries = true;
	report = questions(&check);
	assert_false(check.answers);
	expect_printed(report, "DIFFERENT entry-renewed: ");
	json_object_put(report);
	fake.stale_entries = false;
	fake.bbs_too_far = 1;
	report = questions(&check);
	assert_true(check.answers);
	assert_string_not_equal(answer(report, "sq-counter-error", "card"),
				answer(report, "sq-counter-error",
				       "software"));
	json_object_put(report);
}

/* A card that refuses what comes next. */
static void refuses(void **state)
{
	struct json_object *report = json_object_new_object(), *o;
	struct check check = { .programs = true };

	fake.refuse = 0x504;
	fake.status = 3;
	assert_int_equal(check_programs(&card, &soft, report, &check), 0);
	assert_false(check.programs);
	o = json_object_array_get_idx(get(report, "programs"), 0);
	assert_non_null(strstr(text(o, "difference"), "cannot be run: "
			       "Invalid argument"));
	assert_false(json_object_get_boolean(get(o, "same")));
	json_object_object_add(report, "capabilities",
			       json_object_new_object());
	json_object_object_add(report, "lacks", json_object_new_array());
	expect_printed(report, "DIFFERENT load: one by one");
	json_object_put(report);
}

/* ---- fences --------------------------------------------------------------------------- */

/* Programs with fences differ: all of them that use what comes late. */
static void expect_fences_differ(struct json_object *list)
{
	struct json_object *o;
	bool fenced;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		fenced = strstr(text(o, "program"), "order=fence");
		assert_string_equal(text(o, "order"), fenced ? "fence" : "wait");
		if (!fenced && get(o, "difference"))
			fail_msg("%s: %s", text(o, "program"),
				 text(o, "difference"));
		if (fenced && strstr(text(o, "program"), ": one by one"))
			assert_non_null(get(o, "difference"));
	}
}

/* Where fences do not order, programs that rely on them say nothing of the card;
 * where they should, they do. */
static void unfenced(void **state)
{
	struct json_object *report = describe();
	struct check check = { .fenced = true, .ordered = true };

	sides_bend()->ring = sides_ring_unfenced;
	assert_int_equal(check_programs(&card, &soft, report, &check), 0);
	expect_fences_differ(get(report, "programs"));
	assert_true(check.programs);
	assert_true(check.keyed);
	assert_false(check.fenced);
	assert_false(check.keyed_fenced);
	assert_int_equal(check_questions(&card, &soft, report, &check), 0);
	sides_unbend();
	assert_true(check.answers);
	assert_false(check.fences);
	assert_true(check_judge(&check, report));
	expect_printed(report, "differs   load, order=fence: one by one; 40 "
		       "requests");
	expect_printed(report, "order=fence may not be set: fence-order does "
		       "not hold.");
	check.fences = true;
	assert_false(check_judge(&check, report));
	expect_printed(report, "DIFFERENT load, order=fence: one by one; 40 "
		       "requests");
	expect_printed(report, "order=fence may not be set: programs differ");
	json_object_put(report);
}

static void expect_said(struct json_object *report, const char *key,
			const char *words, bool may)
{
	struct json_object *value = get(report, key);

	assert_true(json_object_is_type(value, json_type_boolean));
	assert_int_equal(json_object_get_boolean(value), may);
	assert_int_equal(strstr(text(report, words), " may be set") != NULL,
			 may);
}

/* Whatever is found: what programs read and what people read is the same, and
 * nothing may be set on a card that is not as it should be. */
static void judged(void **state)
{
	struct json_object *report = json_object_new_object();
	bool whole, fence, keys;
	struct check check;

	for (unsigned int i = 0; i < 256; i++) {
		check = (struct check){
			i & 1, i & 2, i & 4, i & 8, i & 16, i & 32, i & 64,
			i & 128,
		};
		whole = (i & 5) == 5 && (i & 10) != 8;
		fence = whole && (i & 10) == 10 && i & 128;
		keys = whole && (i & 48) == 48 && (!fence || i & 64) &&
		       i & 128;
		assert_int_equal(check_judge(&check, report), whole);
		expect_said(report, "order_fence", "fence_verdict", fence);
		expect_said(report, "translate_nic", "translate_verdict",
			    keys);
	}
	json_object_put(report);
}

static void expect_verdict(const struct check *check, const char *expected)
{
	struct json_object *report = describe();

	check_judge(check, report);
	assert_string_equal(text(report, *expected == 't' ?
				 "translate_verdict" : "fence_verdict"),
			    expected);
	expect_printed(report, expected);
	json_object_put(report);
}

/* Translation in the NIC is told apart, and nothing else depends on it. */
static void translation(void **state)
{
	struct check check = {
		true, true, true, true, true, true, true, true, NULL,
	};
	struct json_object *report = json_object_new_object();

	assert_true(check_judge(&check, report));
	expect_verdict(&check, "translate=nic may be set.");
	expect_verdict(&check, "order=fence may be set.");
	check.answers = false;
	expect_verdict(&check, "translate=nic may not be set: this card is not "
		       "as it should be.");
	expect_verdict(&check, "order=fence may not be set: this card is not as "
		       "it should be.");
	check.answers = true;
	check.ordered = false;
	expect_verdict(&check, "translate=nic may not be set: nobody has said "
		       "what PCI_WR_ORDERING is (--wr-ordering).");
	expect_verdict(&check, "order=fence may not be set: nobody has said "
		       "what PCI_WR_ORDERING is (--wr-ordering).");
	check.ordered = true;
	check.keyed_fenced = false;
	expect_verdict(&check, "translate=nic may not be set: programs differ "
		       "with it and order=fence.");
	check.keys = false;
	expect_verdict(&check, "translate=nic may not be set: an answer that it "
		       "rests on differs.");
	check.keyed = false;
	expect_verdict(&check, "translate=nic may not be set: programs differ "
		       "with it.");
	check.lacks = "it has no such keys (capability x)";
	expect_verdict(&check, "translate=nic may not be set: it has no such "
		       "keys (capability x).");
	assert_true(check_judge(&check, report));
	json_object_put(report);
}

/* What a card is enough for: each needs what stands before it, but for slabs and spaces, which
 * need no chains. */
static void enough(void **state)
{
	struct check check = {
		true, true, true, true, true, true, true, true, NULL,
	};
	struct json_object *report = describe();
	struct json_object *caps = get(report, "capabilities");

	assert_true(check_judge(&check, report));
	check_enough(report, true);
	expect_printed(report, "yes  chains ");
	expect_printed(report, "yes  keys ");
	expect_printed(report, "yes  direct slabs ");
	expect_printed(report, "yes  spaces ");
	check.keys = false;
	assert_true(check_judge(&check, report));
	check_enough(report, true);
	expect_printed(report, "yes  chains ");
	expect_printed(report, "no   keys ");
	check_enough(report, false);
	expect_printed(report, "no   chains ");
	expect_printed(report, "no   keys ");
	expect_printed(report, "yes  direct slabs ");
	json_object_object_add(caps, "atomic", json_object_new_boolean(false));
	check_enough(report, false);
	expect_printed(report, "yes  direct slabs ");
	expect_printed(report, "no   spaces ");
	json_object_put(report);
}

static void lacking(void **state)
{
	struct wrc_mlx5 *dev = nic_mlx5_device(card.nic);
	struct json_object *report;

	dev->caps.cd = dev->caps.rc = false;
	assert_int_equal(check_describe(dev, &ways, VERDICT_PER_MKEY, &report), 0);
	assert_int_equal(json_object_array_length(get(report, "lacks")), 2);
	expect_printed(report, "* it has no cross-channel queues");
	json_object_put(report);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sides_setup, sides_teardown)
	const struct CMUnitTest tests[] = {
		T(all_the_same),
		cmocka_unit_test(relaxed),
		cmocka_unit_test(not_relaxed),
		T(probes_answer),
		T(relied_on),
		T(refuses),
		T(unfenced),
		cmocka_unit_test(judged),
		T(translation),
		T(enough),
		T(lacking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
