// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-hwcheck with a fake card, which is a software NIC behind commands: all
 * must be the same; and when the card does something else, that must show.
 */
#include <stdlib.h>
#include "fake.h"
#include <mlx5-check.h>
#include <mlx5-rig.h>

static struct side card, soft;

/* The fake's NIC is stepped as the software NIC is. */
static bool fake_wait(struct side *s)
{
	uint64_t next;

	assert_int_equal(snic_step(fake.snic, fake.now, &next), 0);
	if (next == SNIC_NEVER)
		return false;
	if (next > fake.now)
		fake.now = next;
	return true;
}

static uint64_t fake_clock_us(struct side *s)
{
	return fake.now / 1000;
}

static int setup(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];

	fake_init();
	if (side_mlx5_open(&opts, &fake_devx, &card, why))
		fail_msg("%s", why);
	card.wait = fake_wait;
	card.clock_us = fake_clock_us;
	assert_int_equal(side_soft_open(true, &soft), 0);
	return 0;
}

static int teardown(void **state)
{
	side_close(&soft);
	side_close(&card);
	fake_fini();
	return 0;
}

static struct json_object *get(struct json_object *obj, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(obj, key, &v) ? v : NULL;
}

static const char *text(struct json_object *obj, const char *key)
{
	return json_object_get_string(get(obj, key));
}

static struct json_object *compare(bool *same)
{
	struct json_object *report;

	assert_int_equal(check_describe(nic_mlx5_device(card.nic), &report),
			 0);
	assert_int_equal(check_compare(&card, &soft, report, same), 0);
	return report;
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

static void all_the_same(void **state)
{
	struct json_object *report, *list, *o;
	bool same = false;
	size_t i;

	report = compare(&same);
	list = get(report, "programs");
	assert_int_equal(json_object_array_length(list), 16);
	for (i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (get(o, "difference"))
			fail_msg("%s: %s", text(o, "program"),
				 text(o, "difference"));
		assert_string_equal(text(o, "software"), text(o, "card"));
		assert_string_equal(text(o, "card"), i < 13 ? "all answered" :
				    "the chain stopped");
	}
	assert_true(same);
	expect_printed(report, "same      unmapped store, seven at a time");
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
	{ "record-lowered", "yes: lowered to what was consumed, it holds the "
	  "next message back" },
	{ "record-raised", "with 1 entry 1 of 2 messages are received; when "
	  "the record is raised, 2" },
	{ "masked-fetch-add", "0x1122334455669abc becomes 0x1123334455661abf, "
	  "and 0x1122334455669abc is fetched" },
	{ "masked-compare-swap", "0x0123456789abcdef becomes "
	  "0xfedcba98895432ef, and 0x0123456789abcdef is fetched" },
	{ "sq-counter", "it is 2 when the third work request waits" },
	{ "sq-counter-error", "it is 1, and the error entry says 1, when the "
	  "second work request failed (syndrome 0x13)" },
	{ "cq-counter", "it is 5 when 5 entries can be polled" },
};

static void probes_answer(void **state)
{
	struct json_object *report;
	bool same;

	report = compare(&same);
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
	assert_non_null(strstr(answer(report, "masked-wire", "card"),
			       "not asked"));
	assert_null(answer(report, "uar-cq", "software"));
	json_object_put(report);
}

/* ---- not the same --------------------------------------------------------------- */

static struct wrc_mlx5_devx bent;
static int (*real_query)(void *obj, const void *in, size_t in_len, void *out,
			 size_t out_len);

/* A card whose CQ counter is always one too far. */
static int query_too_far(void *obj, const void *in, size_t in_len, void *out,
			 size_t out_len)
{
	int r = real_query(obj, in, in_len, out, out_len);

	if (!r && fake_bits(in, 0, 16) == 0x402)
		((uint8_t *)out)[16 + 0x2f]++;
	return r;
}

static void counts_differ(void **state)
{
	struct json_object *report, *o;
	bool same = true;

	bent = fake_devx;
	real_query = bent.query;
	bent.query = query_too_far;
	nic_mlx5_device(card.nic)->devx = &bent;
	report = compare(&same);
	nic_mlx5_device(card.nic)->devx = &fake_devx;
	assert_false(same);
	o = json_object_array_get_idx(get(report, "programs"), 0);
	assert_false(json_object_get_boolean(get(o, "same")));
	assert_non_null(strstr(text(o, "difference"), "loop queue's CQEs"));
	assert_non_null(strstr(answer(report, "cq-counter", "card"),
			       "it is 6 when 5"));
	expect_printed(report, "DIFFERENT load, one by one");
	json_object_put(report);
}

/* A card that refuses what comes next. */
static void refuses(void **state)
{
	struct json_object *report, *o;
	bool same = true;

	fake.refuse = 0x504;
	fake.status = 3;
	report = compare(&same);
	assert_false(same);
	o = json_object_array_get_idx(get(report, "programs"), 0);
	assert_non_null(strstr(text(o, "difference"), "cannot be run: "
			       "Invalid argument"));
	json_object_put(report);
}

static void lacking(void **state)
{
	struct wrc_mlx5 *dev = nic_mlx5_device(card.nic);
	struct json_object *report;

	dev->caps.cd = dev->caps.rc = false;
	assert_int_equal(check_describe(dev, &report), 0);
	assert_int_equal(json_object_array_length(get(report, "lacks")), 2);
	expect_printed(report, "* it has no cross-channel queues");
	json_object_put(report);
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

static void every_difference(void **state)
{
	struct rig_result *a = calloc(1, sizeof(*a)), *b;
	char said[RIG_DIFF_MAX];

	b = malloc(sizeof(*b));
	a->nr_answers = 3;
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
	b->syndrome = 2;
	differs(a, b, "syndrome");
	b->tt[5] = htobe64(0x1234);
	differs(a, b, "table entry 5: 0x0 and 0x1234");
	b->ring[6] = 1;
	differs(a, b, "ring slot 6");
	b->head = 1;
	differs(a, b, "head");
	b->tail = 1;
	differs(a, b, "tail");
	b->pool[2 * 4096 + 17] = 9;
	differs(a, b, "pool page 2, byte 0x11: 0x0 and 0x9");
	b->mem[4096] = 1;
	differs(a, b, "client's page 1, byte 0x0");
	b->loop_cqes = 1;
	differs(a, b, "loop queue's CQEs");
	b->client_cqes = 1;
	differs(a, b, "client queue's CQEs");
	b->loop_bbs = 1;
	differs(a, b, "loop queue's BBs");
	b->client_bbs = 1;
	differs(a, b, "client queue's BBs");
	free(a);
	free(b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(all_the_same),
		T(probes_answer),
		T(counts_differ),
		T(refuses),
		T(lacking),
		cmocka_unit_test(every_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
