/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conformance: what each operation does. */
#include <errno.h>
#include <string.h>

#include "bed.h"

static const uint32_t lengths[] = {
	0, 1, 2, 7, 8, 9, 15, 16, 63, 64, 65, 255, 256, 1023, 1024, 1025, 4096, 4097,
	65536 - 3,
};
#define NR_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static void check_bytes(const uint8_t *at, uint32_t len, unsigned seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (at[i] != bed_byte(i, seed))
			fail_msg("byte %u of %u is %u, not %u", i, len, at[i],
				 bed_byte(i, seed));
}

/* A WRITE and a READ back, with what lies around it. */
static void round_trip(struct bed *bed, uint64_t remote, uint32_t local, uint32_t len)
{
	uint8_t *far = bed_memory(bed, 0);
	uint32_t back = BED_LOCAL / 2 + local;

	memset(far + remote - 16, 0xee, len + 32);
	memset(bed->local + back - 16, 0xdd, len + 32);
	bed_pattern(bed, local, len, 3);
	assert_int_equal(bed_one(bed, 0, bed_write(bed, remote, local, len)), 0);
	check_bytes(far + remote, len, 3);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, remote, back, len)), 0);
	check_bytes(bed->local + back, len, 3);
	assert_int_equal(far[remote - 1], 0xee);
	assert_int_equal(far[remote + len], 0xee);
	assert_int_equal(bed->local[back - 1], 0xdd);
	assert_int_equal(bed->local[back + len], 0xdd);
}

static void test_lengths(void **state)
{
	unsigned i, remote, local;

	for (i = 0; i < NR_LENGTHS; i++)
		for (remote = 0; remote < 8; remote += lengths[i] > 256 ? 3 : 1)
			for (local = 0; local < 8; local += 3)
				round_trip(*state, 4096 + remote, 64 + local, lengths[i]);
}

static void test_long(void **state)
{
	round_trip(*state, 1024 * 1024 + 5, 1024, (1 << 20) - 4096);
}

static void test_inline(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	uint8_t data[FAR_NIC_MAX_INLINE + 1];
	struct far_wr wr = bed_write(bed, 512, 0, 0);
	struct far_wc wc;
	uint32_t len;

	wr.flags |= FAR_WR_INLINE;
	wr.local = data;
	wr.lkey = 0;
	for (len = 0; len <= FAR_NIC_MAX_INLINE; len++) {
		memset(bed_memory(bed, 0) + 512, 0, len + 8);
		memset(data, 0x40 + len, sizeof(data));
		wr.len = len;
		assert_int_equal(ops->post(bed->qset, 0, &wr, 1), 0);
		memset(data, 0xff, sizeof(data));
		bed_collect(bed->qset, &wc, 1);
		assert_int_equal(wc.status, 0);
		memset(data, 0x40 + len, sizeof(data));
		assert_memory_equal(bed_memory(bed, 0) + 512, data, len);
		assert_int_equal(bed_memory(bed, 0)[512 + len], 0);
	}
	wr.len = FAR_NIC_MAX_INLINE + 1;
	assert_int_equal(ops->post(bed->qset, 0, &wr, 1), -EINVAL);
}

static void test_cas(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(bed_one(bed, 0, bed_cas(bed, 64, 0, 0, 7)), 0);
	assert_int_equal(*bed_word(bed, 0), 0);
	assert_int_equal(bed_far_word(bed, 0, 64), 7);
	assert_int_equal(bed_one(bed, 0, bed_cas(bed, 64, 0, 6, 9)), 0);
	assert_int_equal(*bed_word(bed, 0), 7);
	assert_int_equal(bed_far_word(bed, 0, 64), 7);
	assert_int_equal(bed_one(bed, 0, bed_cas(bed, 64, 0, 7, UINT64_MAX)), 0);
	assert_int_equal(*bed_word(bed, 0), 7);
	assert_int_equal(bed_far_word(bed, 0, 64), UINT64_MAX);
	assert_int_equal(bed_far_word(bed, 0, 56), 0);
	assert_int_equal(bed_far_word(bed, 0, 72), 0);
}

static void test_faa(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(bed_one(bed, 1, bed_faa(bed, 64, 0, 5)), 0);
	assert_int_equal(*bed_word(bed, 0), 0);
	assert_int_equal(bed_one(bed, 1, bed_faa(bed, 64, 0, UINT64_MAX)), 0);
	assert_int_equal(*bed_word(bed, 0), 5);
	assert_int_equal(bed_far_word(bed, 1, 64), 4);
	assert_int_equal(bed_far_word(bed, 0, 64), 0);
}

static void test_completion(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr = bed_read(bed, 64, 0, 24);
	struct far_wc wc;

	wr.id = UINT64_C(0x123456789abcdef0);
	assert_int_equal(bed->nic->ops->post(bed->qset, 1, &wr, 1), 0);
	bed_collect(bed->qset, &wc, 1);
	assert_int_equal(wc.id, UINT64_C(0x123456789abcdef0));
	assert_int_equal(wc.status, 0);
	assert_int_equal(wc.syndrome, 0);
	assert_int_equal(wc.len, 24);
	assert_int_equal(wc.peer, 1);
	assert_int_equal(wc.op, FAR_NIC_READ);
	bed_nothing(bed->qset);
}

static void refused(struct bed *bed, struct far_wr wr, int err)
{
	struct far_wr pair[2] = { bed_write(bed, 8, 0, 8), wr };

	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 1), err);
	*bed_word(bed, 0) = 1;
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, pair, 2), err);
	bed_nothing(bed->qset);
	assert_int_equal(bed_far_word(bed, 0, 8), 0);
}

/* All or none, and the connection is as good as before. */
static void test_cannot_be(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr = bed_cas(bed, 64, 0, 0, 1);

	wr.len = 4;
	refused(bed, wr, -EINVAL);
	refused(bed, bed_faa(bed, 68, 0, 1), -EINVAL);
	refused(bed, bed_read(bed, 0, 0, FAR_NIC_MAX_LEN + 1), -EINVAL);
	refused(bed, bed_write(bed, 0, 0, FAR_NIC_MAX_LEN + 1), -EINVAL);
	wr = bed_read(bed, 0, 0, 8);
	wr.flags |= FAR_WR_INLINE;
	refused(bed, wr, -EINVAL);
	wr = bed_read(bed, 0, 0, 8);
	wr.op = FAR_NIC_NR_OPS;
	refused(bed, wr, -EINVAL);
	if (!(bed->nic->ops->caps & FAR_NIC_CAP_MSG)) {
		wr.op = FAR_NIC_SEND;
		refused(bed, wr, -EOPNOTSUPP);
	}
	assert_int_equal(bed->nic->ops->post(bed->qset, BED_NODES, &wr, 1), -EINVAL);
	assert_int_equal(bed->nic->ops->post(bed->qset, 0, &wr, 0), 0);
	assert_int_equal(bed_one(bed, 0, bed_read(bed, 0, 0, 8)), 0);
}

static void test_stats(void **state)
{
	struct bed *bed = *state;
	struct far_qset_stats stats;
	struct far_wr wr[4] = {
		bed_write(bed, 0, 0, 100), bed_read(bed, 0, 0, 7),
		bed_cas(bed, 0, 0, 0, 0), bed_faa(bed, 0, 0, 0),
	};

	assert_int_equal(bed_run(bed->qset, 0, wr, 4), 0);
	assert_int_equal(bed_run(bed->qset, 1, wr, 1), 0);
	bed->nic->ops->stats(bed->qset, &stats);
	assert_int_equal(stats.doorbells, 2);
	assert_int_equal(stats.ops[FAR_NIC_WRITE], 2);
	assert_int_equal(stats.ops[FAR_NIC_READ], 1);
	assert_int_equal(stats.ops[FAR_NIC_CAS], 1);
	assert_int_equal(stats.ops[FAR_NIC_FAA], 1);
	assert_int_equal(stats.payload, 100 + 100 + 7 + 24 + 16);
}

int suite_ops(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lengths, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_long, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_inline, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_cas, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_faa, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_completion, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_cannot_be, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_stats, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}
