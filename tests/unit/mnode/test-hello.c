// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The hello: each field wrong in turn, and random bytes. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <peer/hello.h>

static const struct hello_limits limits = {
	.max_slots = 1000000, .max_queues = 8, .max_depth = 64,
};

static struct odrp_wire_hello good_admin(void)
{
	return (struct odrp_wire_hello){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.role = ODRP_WIRE_ADMIN, .queue = htobe16(4),
		.depth = htobe16(32), .nr_slots = htobe64(5000),
		.page_shift = 12,
	};
}

static struct odrp_wire_hello good_io(void)
{
	return (struct odrp_wire_hello){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.role = ODRP_WIRE_IO, .chain = ODRP_WIRE_INVALIDATE,
		.queue = htobe16(3), .depth = htobe16(32),
		.session = htobe64(7), .token = htobe64(0x123456789abcdefull),
		.page_shift = 12,
	};
}

static struct odrp_wire_hello good_resume(void)
{
	struct odrp_wire_hello w = good_admin();

	w.session = htobe64(7);
	w.token = htobe64(0x123456789abcdefull);
	return w;
}

static void test_good(void **state)
{
	struct odrp_wire_hello w = good_admin();
	struct hello_no no;
	struct hello h;

	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), 0);
	assert_int_equal(h.role, ODRP_WIRE_ADMIN);
	assert_int_equal(h.queue, 4);
	assert_int_equal(h.depth, 32);
	assert_int_equal(h.nr_slots, 5000);
	w = good_io();
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), 0);
	assert_int_equal(h.role, ODRP_WIRE_IO);
	assert_int_equal(h.chain, ODRP_WIRE_INVALIDATE);
	assert_int_equal(h.queue, 3);
	assert_int_equal(h.session, 7);
	assert_int_equal(h.token, 0x123456789abcdefull);
	/* features that we do not know are no reason to refuse */
	w.features = htobe32(0xffffffff);
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), 0);
}

static void test_clamped(void **state)
{
	struct odrp_wire_hello w = good_admin();
	struct hello_no no;
	struct hello h;

	w.queue = htobe16(1000);
	w.depth = htobe16(1000);
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), 0);
	assert_int_equal(h.queue, 8);
	assert_int_equal(h.depth, 63);
}

/* Both or neither, and as it was granted: nothing is clamped. */
static void test_resume(void **state)
{
	struct odrp_wire_hello w = good_resume();
	struct hello_no no;
	struct hello h;

	w.queue = htobe16(1000);
	w.depth = htobe16(1000);
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), 0);
	assert_int_equal(h.role, ODRP_WIRE_ADMIN);
	assert_int_equal(h.session, 7);
	assert_int_equal(h.token, 0x123456789abcdefull);
	assert_int_equal(h.queue, 1000);
	assert_int_equal(h.depth, 1000);
	assert_int_equal(h.nr_slots, 5000);
	w = good_resume();
	w.session = 0;
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), -EPERM);
	assert_int_equal(no.status, ODRP_WIRE_E_MALFORMED);
	w = good_resume();
	w.token = 0;
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), -EPERM);
	assert_int_equal(no.status, ODRP_WIRE_E_MALFORMED);
	w = good_resume();
	w.nr_slots = htobe64(limits.max_slots + 1);
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), -EPERM);
	assert_int_equal(no.status, ODRP_WIRE_E_RANGE);
}

/* Offset and value of one byte that makes a good hello bad. */
static const struct bad {
	const char *what;
	enum odrp_wire_role role;
	size_t off;
	uint8_t byte;
	enum odrp_wire_status status;
} bad[] = {
	{ "magic", ODRP_WIRE_ADMIN, 0, 0, ODRP_WIRE_E_MALFORMED },
	{ "magic end", ODRP_WIRE_IO, 3, 0, ODRP_WIRE_E_MALFORMED },
	{ "version 0", ODRP_WIRE_ADMIN, 5, 0, ODRP_WIRE_E_VERSION },
	{ "version 1", ODRP_WIRE_ADMIN, 5, 1, ODRP_WIRE_E_VERSION },
	{ "version 2", ODRP_WIRE_ADMIN, 5, 2, ODRP_WIRE_E_VERSION },
	{ "version 4", ODRP_WIRE_ADMIN, 5, 4, ODRP_WIRE_E_VERSION },
	{ "version high", ODRP_WIRE_IO, 4, 1, ODRP_WIRE_E_VERSION },
	{ "role 0", ODRP_WIRE_ADMIN, 6, 0, ODRP_WIRE_E_MALFORMED },
	{ "role 3", ODRP_WIRE_ADMIN, 6, 3, ODRP_WIRE_E_MALFORMED },
	{ "admin chain", ODRP_WIRE_ADMIN, 7, 1, ODRP_WIRE_E_MALFORMED },
	{ "io chain", ODRP_WIRE_IO, 7, 4, ODRP_WIRE_E_RANGE },
	{ "io chain 255", ODRP_WIRE_IO, 7, 255, ODRP_WIRE_E_RANGE },
	{ "admin no queue", ODRP_WIRE_ADMIN, 9, 0, ODRP_WIRE_E_RANGE },
	{ "io queue 8", ODRP_WIRE_IO, 9, 8, ODRP_WIRE_E_RANGE },
	{ "io queue 256", ODRP_WIRE_IO, 8, 1, ODRP_WIRE_E_RANGE },
	{ "admin no depth", ODRP_WIRE_ADMIN, 11, 0, ODRP_WIRE_E_RANGE },
	{ "io no depth", ODRP_WIRE_IO, 11, 0, ODRP_WIRE_E_RANGE },
	{ "admin session", ODRP_WIRE_ADMIN, 16, 1, ODRP_WIRE_E_MALFORMED },
	{ "admin token", ODRP_WIRE_ADMIN, 31, 1, ODRP_WIRE_E_MALFORMED },
	{ "admin slots", ODRP_WIRE_ADMIN, 32, 1, ODRP_WIRE_E_RANGE },
	{ "io slots", ODRP_WIRE_IO, 39, 1, ODRP_WIRE_E_MALFORMED },
	{ "page shift", ODRP_WIRE_ADMIN, 40, 16, ODRP_WIRE_E_RANGE },
	{ "io page shift", ODRP_WIRE_IO, 40, 0, ODRP_WIRE_E_RANGE },
	{ "reserved first", ODRP_WIRE_ADMIN, 41, 1, ODRP_WIRE_E_MALFORMED },
	{ "reserved last", ODRP_WIRE_IO, 55, 1, ODRP_WIRE_E_MALFORMED },
};

static void test_bad(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct odrp_wire_hello w = bad[i].role == ODRP_WIRE_ADMIN ?
					   good_admin() : good_io();
		struct hello_no no = { 0 };
		struct hello h;

		((uint8_t *)&w)[bad[i].off] = bad[i].byte;
		if (hello_check(&w, sizeof(w), &limits, &h, &no) != -EPERM ||
		    no.status != bad[i].status)
			fail_msg("%s: status %d", bad[i].what, no.status);
	}
}

static void test_range_names_limit(void **state)
{
	struct odrp_wire_hello w = good_admin();
	struct hello_no no;
	struct hello h;

	w.nr_slots = htobe64(1000001);
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), -EPERM);
	assert_int_equal(no.detail, 1000000);
	w = good_admin();
	w.nr_slots = 0;
	assert_int_equal(hello_check(&w, sizeof(w), &limits, &h, &no), -EPERM);
	assert_int_equal(no.status, ODRP_WIRE_E_RANGE);
}

static void test_length(void **state)
{
	uint8_t buf[64] = { 0 };
	struct odrp_wire_hello w = good_admin();
	struct hello_no no;
	struct hello h;
	size_t len;

	memcpy(buf, &w, sizeof(w));
	for (len = 0; len < sizeof(w); len++) {
		assert_int_equal(hello_check(buf, len, &limits, &h, &no),
				 -EPERM);
		assert_int_equal(no.status, ODRP_WIRE_E_MALFORMED);
	}
	/* The CM pads with zeros; anything else behind it is not ours. */
	assert_int_equal(hello_check(buf, 64, &limits, &h, &no), 0);
	buf[63] = 1;
	assert_int_equal(hello_check(buf, 64, &limits, &h, &no), -EPERM);
}

/* Whatever the bytes, what is let through is within the limits. */
static void test_fuzz(void **state)
{
	uint64_t x = 88172645463325252ull;
	unsigned int i, j, passed = 0;

	for (i = 0; i < 300000; i++) {
		struct odrp_wire_hello w = i % 3 == 2 ? good_resume() :
					   i % 3 ? good_admin() : good_io();
		struct hello_no no = { 0 };
		struct hello h;

		for (j = 0; j < 1 + i % 4; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			((uint8_t *)&w)[(x >> 8) % sizeof(w)] = x;
		}
		if (hello_check(&w, sizeof(w), &limits, &h, &no)) {
			assert_in_range(no.status, ODRP_WIRE_E_MALFORMED,
					ODRP_WIRE_E_INTERNAL);
			continue;
		}
		passed++;
		/* One that is taken up again is compared, not clamped. */
		if (h.role == ODRP_WIRE_ADMIN && h.session) {
			assert_true(h.token);
			assert_int_not_equal(h.depth, 0);
			assert_int_not_equal(h.queue, 0);
			assert_in_range(h.nr_slots, 1, limits.max_slots);
			continue;
		}
		assert_in_range(h.depth, 1, limits.max_depth - 1);
		if (h.role == ODRP_WIRE_ADMIN) {
			assert_int_equal(h.token, 0);
			assert_in_range(h.queue, 1, limits.max_queues);
			assert_in_range(h.nr_slots, 1, limits.max_slots);
		} else {
			assert_in_range(h.queue, 0, limits.max_queues - 1);
			assert_in_range(h.chain, 0, ODRP_WIRE_NR_CHAINS - 1);
		}
	}
	assert_true(passed > 100);
}

static void test_instances(void **state)
{
	assert_int_equal(hello_instances(1), 4);
	assert_int_equal(hello_instances(3), 4);
	assert_int_equal(hello_instances(4), 8);
	assert_int_equal(hello_instances(63), 64);
	assert_int_equal(hello_instances(1023), 1024);
}

static void test_reject(void **state)
{
	const struct hello_no no = { ODRP_WIRE_E_VERSION, 1 };
	struct odrp_wire_reject rej;

	hello_reject(&no, &rej);
	assert_int_equal(be32toh(rej.magic), ODRP_WIRE_MAGIC);
	assert_int_equal(be16toh(rej.version), ODRP_WIRE_VERSION);
	assert_int_equal(be16toh(rej.status), ODRP_WIRE_E_VERSION);
	assert_int_equal(be64toh(rej.detail), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_clamped),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_range_names_limit),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_fuzz),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_reject),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
