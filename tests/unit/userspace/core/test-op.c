// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations on mem: what they move, from tasks and from a thread that has entered, in
 * lists of any length; what they cost in counters; what is refused; how many tasks
 * there may be.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

#include "../../../lib/nic/fault.h"

static void test_entered(void **state)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	uint64_t *buf, found;
	unsigned node;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	buf = far_buf(task, 64);
	for (node = 0; node < RIG_NODES; node++) {
		uint64_t addr = far_addr(node, 4096), value = 100 + node;

		far_write(task, addr, &value, 8);
		value = 0;
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(*(uint64_t *)rig_at(&rig, node, 4096), 100 + node);
		far_read(task, addr, &buf[0], 8);
		far_faa(task, addr, 5, &buf[1]);
		far_cas(task, addr, 105 + node, 7, &buf[2]);
		far_cas(task, addr, 105 + node, 8, &buf[3]);
		far_faa(task, addr, 1, NULL);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(buf[0], 100 + node);
		assert_int_equal(buf[1], 100 + node);
		assert_int_equal(buf[2], 105 + node);
		assert_int_equal(buf[3], 7);
		assert_int_equal(far_backoff_cas(task, addr, 8, 9, &found), 0);
		assert_int_equal(found, 8);
		assert_int_equal(far_backoff_cas(task, addr, 8, 9, &found), 0);
		assert_int_equal(found, 9);
	}
	far_leave(task);
	far_close(far);
	rig_close(&rig);
}

/* A clock that stands: C_max stays FAR_CREDIT_FIRST, for no candidate's time is over. */
static uint64_t still_now(struct far_nic *nic)
{
	return 1;
}

/*
 * A list that is longer than C_max, and than the queue: all of it is executed, in order,
 * and no more is outstanding than may be.
 */
static void long_list(unsigned without, unsigned nr)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	struct far_stats stats;
	struct far_nic_ops cached;
	uint64_t (*now)(struct far_nic *nic);
	uint64_t *word;
	unsigned i;

	rig_open(&rig);
	/* as a NIC that many outstanding operations make slower */
	cached = *rig.nic->ops;
	cached.caps &= ~FAR_NIC_CAP_UNCACHED;
	rig.nic->ops = &cached;
	far = rig_client(rig.nic, without);
	assert_int_equal(far_enter(far, &task), 0);
	word = far_buf(task, nr * 8);
	now = cached.now;
	cached.now = still_now;
	for (i = 0; i < nr; i++)
		far_faa(task, far_addr(2, 128), 1, &word[i]);
	assert_int_equal(far_sync(task), 0);
	cached.now = now;
	for (i = 0; i < nr; i++)
		assert_int_equal(word[i], i);
	far_stats_get(far, &stats);
	assert_int_equal(stats.faa, nr);
	assert_int_equal(stats.round_trips, 1);
	if (without)
		assert_int_equal(stats.doorbells, (nr + 255) / 256);
	else
		assert_true(stats.doorbells >= nr / FAR_CREDIT_FIRST);
	assert_true(stats.credit_waits >= stats.doorbells - 1);
	far_leave(task);
	far_close(far);
	rig_close(&rig);
}

static void test_long(void **state)
{
	long_list(0, 1);
	long_list(0, 1000);
	long_list(FAR_WITHOUT_CREDIT, 256);
	long_list(FAR_WITHOUT_CREDIT, 257);
	long_list(FAR_WITHOUT_CREDIT, 1000);
}

/* A short WRITE's source is the caller's again at once; one list may grow far. */
static void test_copied(void **state)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	unsigned char src[64], *big;
	unsigned i, len;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	for (i = 0; i < 200; i++) {
		memset(src, i, sizeof(src));
		far_write(task, far_addr(i % 3, 64 * i), src, i % 65);
	}
	assert_int_equal(far_sync(task), 0);
	for (i = 0; i < 200; i++)
		for (len = 0; len < 64; len++)
			assert_int_equal(*(uint8_t *)rig_at(&rig, i % 3, 64 * i + len),
					 len < i % 65 ? i : 0);
	big = far_buf(task, 500000);
	for (i = 0; i < 500000; i++)
		big[i] = i * 7;
	far_write(task, far_addr(0, 1000), big, 500000);
	assert_int_equal(far_sync(task), 0);
	assert_memory_equal(rig_at(&rig, 0, 1000), big, 500000);
	far_leave(task);
	far_close(far);
	rig_close(&rig);
}

/* The counters of each kind of operation, and the doorbells: one per node and post. */
static void test_counters(void **state)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	struct far_stats stats;
	uint64_t *buf, found;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	buf = far_buf(task, 4096);
	/* a get of the paper's table, by the numbers: 3 READs, 2 round trips, 752 bytes */
	far_read(task, far_addr(0, 64), buf, 128);
	far_read(task, far_addr(0, 640), buf, 128);
	assert_int_equal(far_sync(task), 0);
	far_read(task, far_addr(1, 64), buf, 64);
	assert_int_equal(far_sync(task), 0);
	far_stats_get(far, &stats);
	assert_int_equal(stats.reads, 3);
	assert_int_equal(stats.doorbells, 2);
	assert_int_equal(stats.round_trips, 2);
	assert_int_equal(stats.payload_bytes, 320);
	assert_int_equal(stats.wire_bytes, 752);
	/* nothing to wait for is no round trip */
	assert_int_equal(far_sync(task), 0);
	/* an update: WRITE and CAS more, 1,124 bytes in all */
	far_write(task, far_addr(0, 64), buf, 64);
	assert_int_equal(far_post(task), 0);
	assert_int_equal(far_backoff_cas(task, far_addr(0, 8), 0, 1, &found), 0);
	far_stats_get(far, &stats);
	assert_int_equal(stats.writes, 1);
	assert_int_equal(stats.cas, 1);
	assert_int_equal(stats.round_trips, 3);
	assert_int_equal(stats.doorbells, 4);
	assert_int_equal(stats.payload_bytes, 392);
	assert_int_equal(stats.wire_bytes, 1124);
	assert_int_equal(stats.retries, 0);
	/* three nodes, one post */
	far_faa(task, far_addr(0, 8), 1, NULL);
	far_faa(task, far_addr(1, 8), 1, NULL);
	far_faa(task, far_addr(2, 8), 1, NULL);
	far_faa(task, far_addr(0, 8), 1, NULL);
	assert_int_equal(far_sync(task), 0);
	far_stats_get(far, &stats);
	assert_int_equal(stats.faa, 4);
	assert_int_equal(stats.doorbells, 7);
	assert_int_equal(stats.wire_bytes, 1124 + 4 * 164);
	/* libfar's own are counted apart, and nowhere else */
	far_service_begin(task);
	far_faa(task, far_addr(0, 8), 1, NULL);
	assert_int_equal(far_sync(task), 0);
	far_service_end(task);
	far_leave(task);
	far_stats_get(far, &stats);
	assert_int_equal(stats.service, 1);
	assert_int_equal(stats.faa, 4);
	assert_int_equal(stats.doorbells, 7);
	assert_int_equal(stats.round_trips, 4);
	assert_int_equal(stats.wire_bytes, 1124 + 4 * 164);
	far_close(far);
	rig_close(&rig);
}

/* Bytes on the wire beyond one packet: MTU 1,024, one acknowledgement per WRITE. */
static void test_wire(void **state)
{
	static const struct {
		uint32_t len;
		uint64_t read, write;
	} wire[] = {
		{ 0, 78 + 66, 78 + 66 },
		{ 1, 78 + 67, 79 + 66 },
		{ 1024, 78 + 66 + 1024, 78 + 1024 + 66 },
		{ 1025, 78 + 66 + 66 + 1025, 78 + 62 + 1025 + 66 },
		{ 4096, 78 + 66 + 62 + 62 + 66 + 4096, 78 + 3 * 62 + 4096 + 66 },
	};
	unsigned i;

	for (i = 0; i < sizeof(wire) / sizeof(wire[0]); i++) {
		assert_int_equal(far_wire_read(wire[i].len), wire[i].read);
		assert_int_equal(far_wire_write(wire[i].len), wire[i].write);
	}
}

/* What cannot be is an error of that task alone, in words, and breaks nothing. */
static void refused(struct far_task *task, int err, const char *words)
{
	assert_int_equal(far_post(task), err);
	far_faa(task, far_addr(0, 8), 1, NULL);
	assert_int_equal(far_sync(task), err);
	assert_non_null(strstr(far_strerror_last(task), words));
	assert_int_equal(far_sync(task), 0);
}

static void test_refused(void **state)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	struct far_stats stats;
	uint64_t *buf, local[128];

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	buf = far_buf(task, 128);
	far_read(task, far_addr(3, 0), buf, 8);
	refused(task, -EFAULT, "3 nodes");
	far_read(task, far_addr(0, RIG_SIZE), buf, 8);
	refused(task, -EFAULT, "not within");
	far_read(task, far_addr(0, RIG_SIZE - 7), buf, 8);
	refused(task, -EFAULT, "not within");
	far_read(task, far_addr(0, 64), buf, FAR_NIC_MAX_LEN + 1);
	refused(task, -EINVAL, "at most");
	far_read(task, far_addr(0, 64), local, 8);
	refused(task, -EFAULT, "far_buf");
	far_write(task, far_addr(0, 64), local, 65);
	refused(task, -EFAULT, "far_buf");
	far_cas(task, far_addr(0, 4), 0, 1, buf);
	refused(task, -EINVAL, "aligned");
	far_faa(task, far_addr(0, 1), 1, buf);
	refused(task, -EINVAL, "aligned");
	/* what was appended before is dropped, too */
	far_faa(task, far_addr(0, 8), 1, NULL);
	far_read(task, far_addr(3, 0), buf, 8);
	refused(task, -EFAULT, "3 nodes");
	assert_int_equal(*(uint64_t *)rig_at(&rig, 0, 8), 0);
	far_read(task, far_addr(0, RIG_SIZE - 8), buf, 8);
	assert_int_equal(far_sync(task), 0);
	far_leave(task);
	far_stats_get(far, &stats);
	assert_int_equal(stats.reconnects, 0);
	assert_int_equal(stats.faa, 0);
	far_close(far);
	rig_close(&rig);
}

/* What an inner list posts and is told is none of its caller's. */
static void test_inner(void **state)
{
	uint64_t *own, *theirs;
	struct far_ops inner, innermost;
	struct far_task *task;
	struct far_nic *nic;
	struct rig rig;
	struct far *far;

	(void)state;
	rig_open(&rig);
	assert_int_equal(far_fault_new(rig.nic, 1, 0, &nic), 0);
	rig.nic = nic;
	far = rig_client(nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	own = far_buf(task, 64);
	theirs = far_buf(task, 64);

	/* it does not post what its caller has appended, and its error is its own */
	far_faa(task, far_addr(0, 128), 1, own);
	far_inner_begin(task, &inner);
	far_read(task, far_addr(0, 256), theirs, 8);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 0, 128), 0);
	far_fault_fail_at(nic, 1, -ETIMEDOUT);
	far_read(task, far_addr(0, 256), theirs, 8);
	assert_int_equal(far_sync(task), -ETIMEDOUT);
	far_inner_end(task, &inner);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 0, 128), 1);

	/* nor does it take the error of what its caller has posted */
	far_fault_fail_at(nic, 1, -ETIMEDOUT);
	far_faa(task, far_addr(1, 128), 1, own);
	far_post(task);
	far_inner_begin(task, &inner);
	far_read(task, far_addr(0, 256), theirs, 8);
	far_inner_begin(task, &innermost);
	far_read(task, far_addr(2, 256), theirs, 8);
	assert_int_equal(far_sync(task), 0);
	far_inner_end(task, &innermost);
	assert_int_equal(far_sync(task), 0);
	far_inner_end(task, &inner);
	assert_int_equal(far_sync(task), -ETIMEDOUT);

	/* what it leaves appended goes with its caller's, in order */
	far_write(task, far_addr(1, 256), &(uint64_t) { 1 }, 8);
	far_inner_begin(task, &inner);
	far_write(task, far_addr(1, 256), &(uint64_t) { 2 }, 8);
	far_read(task, far_addr(3, 0), theirs, 8);
	far_inner_end(task, &inner);
	assert_int_equal(far_sync(task), -EFAULT);
	far_write(task, far_addr(1, 256), &(uint64_t) { 1 }, 8);
	far_inner_begin(task, &inner);
	far_write(task, far_addr(1, 256), &(uint64_t) { 2 }, 8);
	far_inner_end(task, &inner);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 1, 256), 2);

	/* nor do an operation's brackets mix the two */
	far_faa(task, far_addr(2, 128), 1, own);
	assert_int_equal(far_op_begin(task), 0);
	assert_int_equal(far_sync(task), 0);
	far_op_end(task);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 2, 128), 0);
	assert_int_equal(far_sync(task), 0);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 2, 128), 1);
	far_leave(task);
	far_close(far);
	rig_close(&rig);
}

/* Each task adds to its own word and to one that all share. */
struct adder {
	unsigned rounds;
	unsigned nr_ended;
};

static void add(struct far_task *task, void *arg)
{
	struct adder *adder = arg;
	uint64_t own = far_addr(1, 64 + 8 * far_task_index(task));
	uint64_t *old = far_buf(task, 8);
	unsigned i;

	for (i = 0; i < adder->rounds; i++) {
		far_faa(task, own, 1, old);
		far_faa(task, far_addr(0, 64), 1, NULL);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(*old, i);
	}
	adder->nr_ended++;
}

static void run_tasks(unsigned nr)
{
	struct adder adder = { .rounds = 10 };
	struct far_thread *thread;
	struct rig rig;
	struct far *far;
	unsigned i;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_thread_start(far, nr, add, &adder, &thread), 0);
	far_thread_join(thread);
	assert_int_equal(adder.nr_ended, nr);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 0, 64), 10 * nr);
	for (i = 0; i < nr; i++)
		assert_int_equal(*(uint64_t *)rig_at(&rig, 1, 64 + 8 * i), 10);
	far_close(far);
	rig_close(&rig);
}

static void test_tasks(void **state)
{
	static const unsigned nr[] = { 1, 2, 7, 64, 1024 };
	struct far_thread *thread;
	struct rig rig;
	struct far *far;
	unsigned i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		run_tasks(nr[i]);
	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_thread_start(far, 0, add, NULL, &thread), -EINVAL);
	assert_int_equal(far_thread_start(far, 1025, add, NULL, &thread), -EINVAL);
	far_close(far);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_inner),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
