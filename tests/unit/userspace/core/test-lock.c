// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Locks in far memory, in virtual time: several clients and threads count in records
 * whose words must all be the same, while words land in any order, connections break
 * and clients die. Each increment that was acknowledged is there, once; nobody sees
 * another one in a record that it holds; a lock is handed over 8 times in a row, and
 * not more often.
 *
 * A record is a word and 15 numbers. What a task makes of one is in its log slot before
 * it writes it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <far/space.h>
#include <far/stats.h>

#include "../../../lib/nightly.h"

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/lock.h"
#include "../../../../userspace/core/owner.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/core/task.h"
#include "../../../lib/nic/fault.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../../userspace/space/geometry.h"

struct far_type;
extern const struct far_type *const far_type_all[];
const struct far_type *const far_type_all[] = { NULL };

/* What a process that was killed had allocated is never freed. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define CNS		3u
#define SPACE		(UINT64_C(8) << 20)
#define RECORDS_AT	(UINT64_C(7) << 20)	/* in a chunk that nobody claims */
#define LOGS_AT		(RECORDS_AT + 65536)
#define NUMBERS		15u
#define MS		UINT64_C(1000000)

struct record {
	uint64_t word;
	uint64_t number[NUMBERS];
};

struct log {
	uint64_t addr;			/* of the record; 0: none */
	uint64_t number[NUMBERS];
};

static struct far_sim *sim;

static uint64_t record_addr(unsigned idx)
{
	return far_addr(0, RECORDS_AT + idx * sizeof(struct record));
}

static struct record *record_at(unsigned idx)
{
	uint64_t size;

	return (void *)((char *)far_sim_memory(sim, 0, &size) +
			far_addr_off(record_addr(idx)));
}

static uint64_t log_addr(uint64_t word)
{
	return far_addr(0, LOGS_AT + far_owner_number(word) * FAR_LOCK_SLOTS *
			sizeof(struct log) + far_lock_slot(word) * sizeof(struct log));
}

static uint64_t log_mine(const struct far_lock *lock)
{
	return log_addr(far_lock_word(far_owner_self(lock->task), lock->slot, 0, 0));
}

static int log_inherit(struct far_task *task, struct far_lock *lock, uint64_t word)
{
	size_t mark = far_buf_mark(task);
	struct log *log = far_buf(task, sizeof(*log));
	int err;

	far_read(task, log_addr(word), log, sizeof(*log));
	err = far_sync(task);
	if (!err) {
		far_write(task, log_mine(lock), log, sizeof(*log));
		err = far_sync(task);
	}
	far_buf_release(task, mark);
	return err;
}

static int log_repair(struct far_task *task, struct far_lock *lock)
{
	size_t mark = far_buf_mark(task);
	struct log *log = far_buf(task, sizeof(*log));
	int err;

	far_read(task, log_mine(lock), log, sizeof(*log));
	err = far_sync(task);
	if (!err && log->addr != lock->addr)
		err = -EBADMSG;
	if (!err)
		memcpy(lock->image, log->number, sizeof(log->number));
	far_buf_release(task, mark);
	return err;
}

static const struct far_lock_ops log_ops = { log_inherit, log_repair };

/* A node of the cluster, its client and what its tasks have done. */
struct node {
	struct far *far;
	struct far_thread *thread[2];
	unsigned idx, times, records;
	bool logs;
	unsigned done, unknown, ended, handed, row_max;
	int err;
};

static struct node node[CNS];
/* The node whose task is between take and release of a record, and how often it was handed over. */
static struct node *inside[4];
static unsigned rows[4];

static void lock_init(struct far_lock *lock, struct far_task *task, unsigned idx)
{
	*lock = (struct far_lock) {
		.addr = record_addr(idx),
		.data = record_addr(idx) + offsetof(struct record, number),
		.len = sizeof(uint64_t) * NUMBERS,
		.image = far_buf(task, sizeof(uint64_t) * NUMBERS),
		.kind = FAR_LOCK_SUMMED,
		.seen = record_at(idx)->word,
		.slot = far_task_thread(task) % 16 * 16 + far_task_index(task),
		.ops = &log_ops,
	};
}

/* The numbers go up by one. */
static int image_add(struct far_task *task, struct far_lock *lock, bool logs)
{
	struct log *log = far_buf(task, sizeof(*log));
	uint64_t *number = lock->image;
	unsigned i;

	for (i = 1; i < NUMBERS; i++)
		assert_int_equal(number[i], number[0]);
	for (i = 0; i < NUMBERS; i++)
		number[i]++;
	lock->to = lock->len;
	if (!logs)
		return 0;
	log->addr = lock->addr;
	memcpy(log->number, number, sizeof(log->number));
	do
		far_write(task, log_mine(lock), log, sizeof(*log));
	while ((i = -far_sync(task)) == EIO || i == ETIMEDOUT);
	return -(int)i;
}

/* One increment. Its error says whether it has happened: -EIO: nobody knows. */
static int record_add(struct far_task *task, struct node *n, unsigned idx)
{
	size_t mark = far_buf_mark(task);
	struct far_lock lock;
	int err, unknown;

	lock_init(&lock, task, idx);
	do
		err = far_lock_take(task, &lock);
	while (err == -EIO || err == -ETIMEDOUT);
	if (err)
		goto release;
	assert_true(!inside[idx] || far_sim_cn_dead(sim, inside[idx]->idx));
	inside[idx] = n;
	assert_true(!lock.row || lock.row == rows[idx] + 1);
	assert_true(lock.row <= FAR_LOCK_ROW);
	rows[idx] = lock.row;
	n->handed += lock.row > 0;
	n->row_max = lock.row > n->row_max ? lock.row : n->row_max;
	err = image_add(task, &lock, n->logs);
	if (err)
		lock.to = 0;
	inside[idx] = NULL;
	unknown = far_lock_release(task, &lock);
	err = err ? err : unknown;
release:
	far_buf_release(task, mark);
	return err;
}

static void adder(struct far_task *task, void *arg)
{
	struct node *n = arg;
	unsigned i;
	int err = 0;

	for (i = 0; i < n->times && !err; i++) {
		assert_int_equal(far_op_begin(task), 0);
		err = record_add(task, n, (i + far_task_index(task)) % n->records);
		far_op_end(task);
		n->done += !err;
		n->unknown += err == -EIO || err == -ETIMEDOUT;
		if (err == -EIO || err == -ETIMEDOUT)
			err = 0;
	}
	n->err = err ? err : n->err;
	n->ended++;
}

static void sim_begin(unsigned adversary, uint64_t seed)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = CNS, .mns = 1, .seed = seed,
		.max_space = UINT64_C(16) << 20, .adversary = adversary, .scale = 1,
	};
	const struct far_space_attr space = { .size = SPACE, .max_clients = 8 };
	char why[200];

	if (far_sim_new(&attr, why, sizeof(why), &sim) ||
	    far_space_create_on(far_sim_nic(sim, 0), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	memset(inside, 0, sizeof(inside));
	memset(rows, 0, sizeof(rows));
	for (unsigned i = 0; i < 4; i++) {
		struct record *r = record_at(i);

		memset(r, 0, sizeof(*r));
		r->word = far_lock_word(0, 0, 0,
					far_lock_checksum(r->number, sizeof(r->number)));
	}
}

static void node_open_on(unsigned i, struct far_nic *nic, unsigned times,
			 unsigned records)
{
	const struct far_conf conf = { .space = "s", .seed = 1 + i };
	char why[200];

	node[i] = (struct node) { .idx = i, .times = times, .records = records,
				  .logs = true };
	if (far_open_nic(nic, &conf, why, sizeof(why), &node[i].far))
		fail_msg("%s", why);
}

static void node_open(unsigned i, unsigned times, unsigned records)
{
	node_open_on(i, far_sim_nic(sim, i), times, records);
}

static void node_start(unsigned i, unsigned threads, unsigned tasks)
{
	for (unsigned t = 0; t < threads; t++)
		assert_int_equal(far_thread_start(node[i].far, tasks, adder, &node[i],
						  &node[i].thread[t]), 0);
}

static void node_join(unsigned i)
{
	for (unsigned t = 0; t < 2 && node[i].thread[t]; t++)
		far_thread_join(node[i].thread[t]);
}

/* The sum of all records, which are free and match. */
static uint64_t records_sum(unsigned records)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < records; i++) {
		struct record *r = record_at(i);

		assert_true(far_lock_is_free(r->word));
		assert_int_equal(far_lock_sum(r->word),
				 far_lock_checksum(r->number, sizeof(r->number)));
		for (unsigned k = 1; k < NUMBERS; k++)
			assert_int_equal(r->number[k], r->number[0]);
		sum += r->number[0];
	}
	return sum;
}

/* All clients with two threads of four tasks. */
static void count_all(unsigned adversary, uint64_t seed, unsigned records)
{
	unsigned i, done = 0, unknown = 0;
	char text[300];

	sim_begin(adversary, seed);
	for (i = 0; i < CNS; i++)
		node_open(i, 12, records);
	for (i = 0; i < CNS; i++)
		node_start(i, 2, 4);
	for (i = 0; i < CNS; i++) {
		node_join(i);
		done += node[i].done;
		unknown += node[i].unknown;
		if (node[i].err || node[i].row_max > FAR_LOCK_ROW) {
			far_sim_describe(sim, text, sizeof(text));
			fail_msg("error %d, row %u: %s", node[i].err, node[i].row_max,
				 text);
		}
	}
	for (i = 0; i < CNS; i++)
		far_close(node[i].far);
	assert_int_equal(done + unknown, CNS * 2 * 4 * 12);
	assert_int_equal(unknown, 0);
	assert_int_equal(records_sum(records), done);
	far_sim_free(sim);
}

static void test_count(void **state)
{
	(void)state;
	count_all(0, 1, 1);
	/* on one record all rows are used to their end */
	assert_int_equal(node[0].row_max, FAR_LOCK_ROW);
	count_all(0, 2, 4);
}

static void test_count_adversary(void **state)
{
	unsigned seeds = nightly() ? 1000 : 12;

	(void)state;
	for (unsigned seed = 1; seed <= seeds; seed++) {
		count_all(FAR_SIM_TEAR | FAR_SIM_DELAY, seed, 1 + seed % 4);
		count_all(FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK, seed,
			  1 + seed % 4);
	}
}

/* What `tasks` tasks of one thread, once each, cost. */
static struct far_stats cost(unsigned tasks)
{
	struct far_stats stats;

	node_open(0, 1, 1);
	node[0].logs = false;
	node_start(0, 1, tasks);
	node_join(0);
	far_stats_get(node[0].far, &stats);
	assert_int_equal(node[0].done, tasks);
	far_close(node[0].far);
	records_sum(1);
	return stats;
}

static void test_verbs(void **state)
{
	const unsigned most = 1 + FAR_LOCK_ROW;
	struct far_stats stats;

	(void)state;
	sim_begin(0, 1);
	stats = cost(1);
	assert_int_equal(stats.cas, 1);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.writes, 2);
	assert_int_equal(stats.doorbells, 2);
	assert_int_equal(stats.round_trips, 2);

	/* as many as one CAS does for */
	stats = cost(most);
	assert_int_equal(stats.cas, 1);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.writes, 2 * most);
	assert_int_equal(stats.round_trips, 1 + most);
	assert_int_equal(node[0].handed, FAR_LOCK_ROW);

	/* one more: released in between, and its guess is wrong by then */
	stats = cost(most + 1);
	assert_int_equal(stats.cas, 3);
	assert_int_equal(node[0].handed, FAR_LOCK_ROW);
	far_sim_free(sim);
}

/* What the arbiter does once all nodes have confirmed. */
static void fence(uint64_t owner)
{
	uint64_t size;
	char *memory = far_sim_memory(sim, 0, &size);
	const struct far_sb *sb = (void *)memory;
	struct far_client_entry *entry =
		(void *)(memory + far_client_entry_off(sb, far_owner_number(owner)));
	struct far_epoch_line *line = (void *)(memory + FAR_SB_EPOCH);

	entry->fenced = far_owner_incarnation(owner);
	line->deaths++;
}

/* Plays the arbiter, a millisecond after the death instead of a second. */
static void undertaker(struct far_task *task, void *arg)
{
	const uint64_t *owner = arg;

	while (node[1].ended < 2 && !far_sim_cn_dead(sim, 0))
		far_sleep(task, 20000);
	far_sleep(task, MS);
	if (far_sim_cn_dead(sim, 0))
		fence(*owner);
}

static uint64_t node_owner(unsigned i)
{
	struct far_task *task;
	uint64_t owner;

	assert_int_equal(far_enter(node[i].far, &task), 0);
	owner = far_owner_self(task);
	far_leave(task);
	return owner;
}

/*
 * A client dies at its n-th verb, with two tasks at work. 1: it came to its end before.
 */
static int die_at(uint64_t n, unsigned adversary, uint64_t seed, bool quick)
{
	unsigned sum, victim;
	uint64_t owner;
	int dead;

	sim_begin(adversary, seed + n);
	node_open(0, 3, 2);
	node_open(1, 10, 2);
	node_open(2, 0, 1);
	owner = node_owner(0);
	far_sim_kill_cn_at(sim, 0, n);
	node_start(0, 1, 2);
	node_start(1, 1, 2);
	if (quick)
		assert_int_equal(far_thread_start(node[2].far, 1, undertaker, &owner,
						  &node[2].thread[0]), 0);
	node_join(1);
	node_join(2);
	node_join(0);
	assert_int_equal(node[1].err, 0);
	assert_int_equal(node[1].done, 20);
	far_sim_kill_cn_at(sim, 0, 0);
	dead = far_sim_cn_dead(sim, 0);
	victim = node[0].done;
	/* one more each, after its death: whatever it has left is put in order */
	node[1].times = 2;
	node[1].done = 0;
	node_start(1, 1, 1);
	node_join(1);
	assert_int_equal(node[1].done, 2);
	sum = records_sum(2);
	assert_in_range(sum, 22 + victim, 22 + victim + (dead ? 2 : 0));
	if (!dead)
		far_close(node[0].far);
	far_close(node[1].far);
	far_close(node[2].far);
	far_sim_free(sim);
	return !dead;
}

/* Fenced as it is in earnest, for some verbs; and for all of them, quickly. */
static void test_death(void **state)
{
	unsigned seeds = nightly() ? 200 : 2;
	uint64_t n;

	(void)state;
	for (n = 1; !die_at(n, 0, 0, false); n += nightly() ? 1 : 7)
		;
	for (n = 1; !die_at(n, 0, 0, true); n++)
		;
	assert_true(n > 20);
	for (unsigned seed = 1; seed <= seeds; seed++)
		for (n = 1; !die_at(n, FAR_SIM_TEAR | FAR_SIM_DELAY, seed * 1000, true);
		     n++)
			;
}

static int repair_not(struct far_task *task, struct far_lock *lock)
{
	(void)task;
	(void)lock;
	return -ENOMEM;
}

/*
 * A client that was only slow is told; what it holds is another's by then. Who cannot
 * repair that leaves it held, so that the next one repairs.
 */
static void test_fenced(void **state)
{
	static const struct far_lock_ops not = { log_inherit, repair_not };
	struct far_task *task, *task2;
	struct far_lock lock, lock2;
	struct far_stats stats;

	(void)state;
	sim_begin(0, 1);
	node_open(0, 1, 1);
	node_open(1, 1, 1);
	assert_int_equal(far_enter(node[0].far, &task), 0);
	assert_int_equal(far_enter(node[1].far, &task2), 0);
	lock_init(&lock, task, 0);
	assert_int_equal(far_lock_take(task, &lock), 0);
	assert_int_equal(image_add(task, &lock, true), 0);
	fence(far_owner_self(task));
	lock_init(&lock2, task2, 0);
	lock2.ops = &not;
	record_at(0)->number[3]++;
	assert_int_equal(far_lock_take(task2, &lock2), -ENOMEM);
	assert_true(record_at(0)->word == lock.word);
	record_at(0)->number[3]--;
	lock2.ops = &log_ops;
	assert_int_equal(far_lock_take(task2, &lock2), 0);
	far_stats_get(node[1].far, &stats);
	assert_int_equal(stats.repaired, 1);
	assert_int_equal(*(uint64_t *)lock2.image, 0);
	far_sleep(task, 3 * MS);
	assert_int_equal(far_lock_release(task, &lock), -ESTALE);
	assert_int_equal(far_lock_take(task, &lock), -ESTALE);
	assert_int_equal(image_add(task2, &lock2, true), 0);
	assert_int_equal(far_lock_release(task2, &lock2), 0);
	assert_int_equal(records_sum(1), 1);
	far_leave(task);
	far_leave(task2);
	far_close(node[0].far);
	far_close(node[1].far);
	far_sim_free(sim);
}

/*
 * Nor is it told that all went well when the connection broke under its release, and the
 * word is free, since somebody has repaired it.
 */
static void test_fenced_unknown(void **state)
{
	struct far_task *task;
	struct far_lock lock;
	struct far_nic *nic;

	(void)state;
	sim_begin(0, 1);
	assert_int_equal(far_fault_new(far_sim_nic(sim, 0), 1, 0, &nic), 0);
	node_open_on(0, nic, 1, 1);
	assert_int_equal(far_enter(node[0].far, &task), 0);
	far_sleep(task, 3 * MS + MS / 2);	/* between two rounds of its service */
	lock_init(&lock, task, 0);
	assert_int_equal(far_lock_take(task, &lock), 0);
	assert_int_equal(image_add(task, &lock, true), 0);
	/* before its service can notice: fenced, and the word as a repair leaves it */
	fence(far_owner_self(task));
	record_at(0)->word = far_lock_freed(record_at(0)->word);
	far_fault_fail_at(nic, 1, -EIO);
	assert_int_equal(far_lock_release(task, &lock), -ESTALE);
	far_leave(task);
	far_close(node[0].far);
	nic->ops->close(nic);
	far_sim_free(sim);
}

static void late_data(struct far_task *task, void *arg)
{
	(void)arg;
	far_sleep(task, 50000);
	for (unsigned i = 0; i < NUMBERS; i++)
		record_at(0)->number[i] = 7;
}

/* A release that lands before its data: the lock is had when the data is there. */
static void test_unlock_first(void **state)
{
	uint64_t number[NUMBERS];
	struct far_thread *thread;
	struct far_task *task;
	struct far_lock lock;
	unsigned i;

	(void)state;
	sim_begin(0, 1);
	node_open(0, 1, 1);
	assert_int_equal(far_enter(node[0].far, &task), 0);
	for (i = 0; i < NUMBERS; i++)
		number[i] = 7;
	record_at(0)->word = far_lock_word(0, 0, 0,
					   far_lock_checksum(number, sizeof(number)));
	assert_int_equal(far_thread_start(node[0].far, 1, late_data, NULL, &thread), 0);
	lock_init(&lock, task, 0);
	assert_int_equal(far_lock_take(task, &lock), 0);
	assert_memory_equal(lock.image, number, sizeof(number));
	assert_int_equal(image_add(task, &lock, true), 0);
	assert_int_equal(far_lock_release(task, &lock), 0);
	far_thread_join(thread);
	assert_int_equal(records_sum(1), 8);

	/* data that never comes */
	record_at(0)->number[3] = 1;
	assert_int_equal(far_lock_take(task, &lock), -EBADMSG);
	assert_true(far_lock_is_free(record_at(0)->word));
	far_leave(task);
	far_close(node[0].far);
	far_sim_free(sim);
}

/* The n-th operation of a client fails, for all n; nothing is lost or done twice. */
static void test_faults(void **state)
{
	static const int status[] = { -ETIMEDOUT, -EIO };
	uint64_t n, total = 1;

	(void)state;
	for (n = 0; n <= total; n++) {
		struct far_nic *nic;

		sim_begin(0, 1);
		assert_int_equal(far_fault_new(far_sim_nic(sim, 0), n, 0, &nic), 0);
		node_open_on(0, nic, 3, 1);
		if (n)
			far_fault_fail_at(nic, n, status[n % 2]);
		node_start(0, 1, 3);
		node_join(0);
		assert_int_equal(node[0].err, 0);
		assert_int_equal(node[0].unknown, 0);
		assert_int_equal(node[0].done, 9);
		if (!n)
			total = far_fault_count(nic);
		far_close(node[0].far);
		nic->ops->close(nic);
		assert_int_equal(records_sum(1), 9);
		far_sim_free(sim);
	}
	assert_true(total > 30);
}

/* A word of 8 bytes under a plain lock. */
static void plain_add(struct far_task *task, void *arg)
{
	struct node *n = arg;
	uint64_t *image = far_buf(task, sizeof(*image));
	struct far_lock lock = {
		.addr = record_addr(1), .data = record_addr(1) + 8, .len = 8,
		.image = image, .kind = FAR_LOCK_PLAIN,
	};

	for (unsigned i = 0; i < n->times; i++) {
		assert_int_equal(far_lock_take(task, &lock), 0);
		++*image;
		far_write(task, lock.data, image, 8);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(far_lock_release(task, &lock), 0);
		n->done++;
	}
}

static void test_plain(void **state)
{
	unsigned i, t;

	(void)state;
	sim_begin(FAR_SIM_TEAR | FAR_SIM_DELAY, 5);
	record_at(1)->word = 0;
	for (i = 0; i < CNS; i++)
		node_open(i, 10, 1);
	for (i = 0; i < CNS; i++)
		for (t = 0; t < 2; t++)
			assert_int_equal(far_thread_start(node[i].far, 4, plain_add,
							  &node[i], &node[i].thread[t]),
					 0);
	for (i = 0; i < CNS; i++)
		node_join(i);
	for (i = 0; i < CNS; i++)
		far_close(node[i].far);
	assert_int_equal(record_at(1)->number[0], CNS * 2 * 4 * 10);
	assert_int_equal(record_at(1)->word, 0);
	far_sim_free(sim);
}

/* Two clients on plain memory, with threads of the system. */
struct real {
	struct far *far;
	struct far_thread *thread[2];
};

#define REAL_TIMES	200u

static void real_add(struct far_task *task, void *arg)
{
	uint64_t *image = far_buf(task, sizeof(*image) * NUMBERS);
	struct far_lock lock = {
		.addr = record_addr(0),
		.data = record_addr(0) + offsetof(struct record, number),
		.len = sizeof(*image) * NUMBERS,
		.image = image,
		.kind = FAR_LOCK_SUMMED,
	};

	(void)arg;
	for (unsigned i = 0; i < REAL_TIMES; i++) {
		assert_int_equal(far_lock_take(task, &lock), 0);
		for (unsigned k = 0; k < NUMBERS; k++)
			image[k]++;
		lock.to = lock.len;
		assert_int_equal(far_lock_release(task, &lock), 0);
		lock.seen = lock.word;
	}
}

/* Reads the record, or makes it. */
static void real_record(struct far *far, bool make, struct record *record)
{
	struct far_task *task;
	struct record *buf;

	assert_int_equal(far_enter(far, &task), 0);
	buf = far_buf(task, sizeof(*buf));
	*buf = *record;
	if (make)
		far_write(task, record_addr(0), buf, sizeof(*buf));
	else
		far_read(task, record_addr(0), buf, sizeof(*buf));
	assert_int_equal(far_sync(task), 0);
	*record = *buf;
	far_leave(task);
}

static void test_threads(void **state)
{
	const struct far_space_attr space = { .size = SPACE, .max_clients = 8 };
	struct far_conf conf = { .space = "s", .seed = 1 };
	char dir[] = "/tmp/far-lock-XXXXXX", spec[64], why[200];
	struct record record = { 0 };
	struct real real[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(spec, sizeof(spec), "mem:dir=%s", dir);
	conf.nic = spec;
	if (far_space_create(spec, "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned c = 0; c < 2; c++)
		assert_int_equal(far_open(&conf, why, sizeof(why), &real[c].far), 0);
	record.word = far_lock_checksum(record.number, sizeof(record.number));
	real_record(real[0].far, true, &record);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(far_thread_start(real[i / 2].far, 4, real_add, NULL,
						  &real[i / 2].thread[i % 2]), 0);
	for (unsigned i = 0; i < 4; i++)
		far_thread_join(real[i / 2].thread[i % 2]);
	real_record(real[0].far, false, &record);
	for (unsigned c = 0; c < 2; c++)
		far_close(real[c].far);
	assert_true(far_lock_is_free(record.word));
	for (unsigned k = 0; k < NUMBERS; k++)
		assert_int_equal(record.number[k], 4 * 4 * REAL_TIMES);
	assert_int_equal(far_space_delete(spec, "s", why, sizeof(why)), 0);
	rmdir(dir);
}

/* Memory of the local table. */
static void test_table(void **state)
{
	struct far_locks *locks;

	(void)state;
	assert_in_range(far_locks_bytes(FAR_LOCKS_MAX), 1, 16u << 20);
	assert_int_equal(far_locks_new(FAR_LOCKS_MAX, &locks), 0);
	far_locks_free(locks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_count_adversary),
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_fenced),
		cmocka_unit_test(test_fenced_unknown),
		cmocka_unit_test(test_unlock_first),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
