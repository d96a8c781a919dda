/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wrappers: what is traced, and what the fault wrapper makes happen. */
#include <errno.h>
#include <string.h>

#include "../../../lib/nic/fault.h"
#include "../../../lib/nic/trace.h"
#include "bed.h"

static const struct bed_kind *kind_of(const char *name)
{
	const struct bed_kind *kind = bed_kinds;

	while (strcmp(kind->name, name))
		kind++;
	return kind;
}

static int setup(void **state)
{
	bed_choose(kind_of("fault"));
	return bed_setup(state);
}

static void test_fail_at(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr[5];
	struct far_wc wc[5];
	unsigned n, i;

	for (n = 1; n <= 5; n++) {
		uint64_t before = bed_far_word(bed, 0, 64);
		uint64_t done;

		for (i = 0; i < 5; i++)
			wr[i] = bed_faa(bed, 64, 8 * i, 1);
		far_fault_fail_at(bed->nic, n, -ETIMEDOUT);
		assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 5), 0);
		bed_collect(bed->qset, wc, 5);
		for (i = 0; i < 5; i++)
			assert_int_equal(wc[i].status, i + 1 < n ? 0 : i + 1 == n ?
					 -ETIMEDOUT : -ECANCELED);
		done = bed_far_word(bed, 0, 64) - before;
		assert_in_range(done, n - 1, 5);
		assert_int_equal(bed->nic->ops->post(bed->qset, 0, wr, 1), -ENOTCONN);
		assert_int_equal(bed->nic->ops->connect(bed->qset, 0, &bed->peer[0]), 0);
	}
}

/* Each word of a WRITE that fails is written or not: over many, all that can be. */
static void test_fail_tears(void **state)
{
	struct bed *bed = *state;
	unsigned seen = 0;
	unsigned i, k;

	for (i = 0; i < 400 && seen != 0xff; i++) {
		unsigned set = 0;

		memset(bed_memory(bed, 0) + 64, 0, 24);
		memset(bed->local, 0xff, 24);
		far_fault_fail_at(bed->nic, 1, -EIO);
		assert_int_equal(bed_one(bed, 0, bed_write(bed, 64, 0, 24)), -EIO);
		for (k = 0; k < 3; k++) {
			uint64_t word = bed_far_word(bed, 0, 64 + 8 * k);

			assert_true(word == 0 || word == UINT64_MAX);
			set |= (word != 0) << k;
		}
		seen |= 1 << set;
		assert_int_equal(bed->nic->ops->connect(bed->qset, 0, &bed->peer[0]), 0);
	}
	assert_int_equal(seen, 0xff);
}

static void test_delay_at(void **state)
{
	struct bed *bed = *state;
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr[2] = { bed_faa(bed, 64, 0, 1), bed_faa(bed, 64, 8, 1) };
	struct far_wc wc[2];
	unsigned i;

	far_fault_delay_at(bed->nic, 2, 10);
	assert_int_equal(ops->post(bed->qset, 0, wr, 2), 0);
	assert_int_equal(ops->poll(bed->qset, wc, 2), 1);
	assert_int_equal(bed_far_word(bed, 0, 64), 2);
	assert_int_equal(bed_one(bed, 1, bed_read(bed, 0, 0, 8)), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(ops->poll(bed->qset, wc, 1), 0);
	bed_collect(bed->qset, wc, 1);
	assert_int_equal(wc[0].status, 0);
}

static void count(void *arg)
{
	(*(unsigned *)arg)++;
}

/* Dies at each of its operations in turn: what came before it was done is done. */
static void kill_at(struct bed *bed, unsigned n)
{
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr = bed_faa(bed, 64, 0, 1);
	unsigned died = 0;
	struct far_wc wc;
	unsigned i;

	assert_int_equal(ops->claim(bed->nic, &bed->peer[0], 3), 0);
	far_fault_kill_at(bed->nic, n, count, &died);
	for (i = 1; i < n; i++)
		assert_int_equal(bed_one(bed, 0, wr), 0);
	assert_int_equal(died, 0);
	assert_int_equal(ops->post(bed->qset, 0, &wr, 1), 0);
	assert_int_equal(died, 1);
	assert_true(far_fault_dead(bed->nic));
	assert_in_range(bed_far_word(bed, 0, 64), n - 1, n);
	assert_int_equal(ops->poll(bed->qset, &wc, 1), -ESHUTDOWN);
	assert_int_equal(ops->post(bed->qset, 0, &wr, 1), -ENOTCONN);
	assert_int_equal(ops->wait(bed->qset, UINT64_MAX), 0);
	assert_int_equal(ops->fence(bed->nic, &bed->peer[0], 3), 0);
	assert_int_equal(ops->claim(bed->nic, &bed->peer[0], 4), -ESHUTDOWN);
	assert_in_range(bed_far_word(bed, 0, 64), n - 1, n);
}

static void test_kill_at(void **state)
{
	void *more;
	unsigned n;

	kill_at(*state, 1);
	for (n = 2; n <= 6; n++) {
		setup(&more);
		kill_at(more, n);
		bed_teardown(&more);
	}
}

/* With tearing and reordering on, what is not promised does happen. */
struct saw {
	unsigned torn;		/* a later word of a WRITE before an earlier one */
	unsigned peers;		/* the second peer's WRITE before the first one's */
	unsigned passed;	/* a READ saw what a WRITE behind it wrote */
};

static void watch(struct bed *bed, struct saw *saw, uint64_t mark)
{
	uint64_t low = bed_far_word(bed, 0, 64);
	uint64_t high = bed_far_word(bed, 0, 120);

	saw->torn += high == mark && low != mark;
	saw->peers += bed_far_word(bed, 1, 64) == mark && low != mark && high != mark;
}

static void no_order(struct bed *bed, struct saw *saw)
{
	const struct far_nic_ops *ops = bed->nic->ops;
	struct far_wr wr[3] = {
		bed_write(bed, 64, 0, 64), bed_read(bed, 256, 128, 8),
		bed_write(bed, 256, 0, 8),
	};
	struct far_wc wc[4];
	uint64_t mark;
	unsigned k;

	for (mark = 1; mark <= 300; mark++) {
		int have = 0;

		for (k = 0; k < 8; k++)
			bed_word(bed, 0)[k] = mark;
		assert_int_equal(ops->post(bed->qset, 0, wr, 3), 0);
		assert_int_equal(ops->post(bed->qset, 1, wr, 1), 0);
		while (have < 4) {
			have += ops->poll(bed->qset, wc, 4);
			watch(bed, saw, mark);
		}
		saw->passed += *bed_word(bed, 128) == mark;
	}
}

static void test_no_order(void **state)
{
	struct bed *bed = *state;
	struct saw saw = { 0 };

	no_order(bed, &saw);
	assert_int_equal(saw.torn + saw.peers + saw.passed, 0);
	far_fault_always(bed->nic, FAR_FAULT_TEAR | FAR_FAULT_REORDER | FAR_FAULT_LATE);
	no_order(bed, &saw);
	assert_true(saw.torn > 0);
	assert_true(saw.peers > 0);
	assert_true(saw.passed > 0);
}

static void test_breaks(void **state)
{
	struct bed *bed = *state;
	struct far_wr wr = bed_faa(bed, 64, 0, 1);
	unsigned broken = 0;
	unsigned i;

	far_fault_always(bed->nic, FAR_FAULT_BREAK);
	for (i = 0; i < 2000; i++) {
		if (!bed_run(bed->qset, 0, &wr, 1))
			continue;
		broken++;
		assert_int_equal(bed->nic->ops->connect(bed->qset, 0, &bed->peer[0]), 0);
	}
	assert_in_range(broken, 1, 100);
	assert_in_range(bed_far_word(bed, 0, 64), 2000 - broken, 2000);
	assert_int_equal(far_fault_count(bed->nic), 2000);
}

static int setup_mem(void **state)
{
	bed_choose(kind_of("mem"));
	return bed_setup(state);
}

static struct far_trace_ring *ring;

static int teardown_traced(void **state)
{
	bed_teardown(state);
	far_trace_ring_free(ring);
	return 0;
}

static void test_trace(void **state)
{
	struct bed *bed = *state;
	struct far_nic *mem = bed->nic, *nic;
	struct far_qset *own = bed->qset;
	const struct far_trace_event *event;
	struct far_wr wr = bed_cas(bed, 64, 0, 1, 2);
	char text[128];

	assert_int_equal(far_trace_ring_new(3, &ring), -EINVAL);
	assert_int_equal(far_trace_ring_new(4, &ring), 0);
	assert_int_equal(far_trace_new(mem, far_trace_ring_note, ring, &nic), 0);
	bed->nic = bed->host = nic;
	bed->qset = bed_qset(bed, 4);
	assert_int_equal(far_trace_ring_count(ring), 2);
	wr.id = 5;
	assert_int_equal(bed_one(bed, 1, wr), 0);
	wr.len = 3;
	assert_int_equal(nic->ops->post(bed->qset, 1, &wr, 1), -EINVAL);
	assert_int_equal(far_trace_ring_count(ring), 5);
	assert_null(far_trace_ring_get(ring, 0));
	assert_null(far_trace_ring_get(ring, 5));
	event = far_trace_ring_get(ring, 2);
	assert_int_equal(event->arg[1], 2);
	far_trace_format(event, text, sizeof(text));
	assert_string_equal(text, "q0 p1 CAS 0x40+8 id 5 posted (0)");
	far_trace_format(far_trace_ring_get(ring, 3), text, sizeof(text));
	assert_string_equal(text, "q0 p1 CAS id 5 done (0)");
	far_trace_format(far_trace_ring_get(ring, 4), text, sizeof(text));
	assert_string_equal(text, "q0 p1 CAS 0x40+3 id 5 refused (-22)");
	far_trace_format(far_trace_ring_get(ring, 1), text, sizeof(text));
	assert_string_equal(text, "q0 p1 connect (0)");
	nic->ops->qset_free(bed->qset);
	/* The bed goes on through the wrapper, and closes mem with it. */
	mem->ops->qset_free(own);
	bed->qset = bed_qset(bed, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fail_at, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_fail_tears, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_delay_at, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_kill_at, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_order, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_breaks, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_trace, setup_mem,
						teardown_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
