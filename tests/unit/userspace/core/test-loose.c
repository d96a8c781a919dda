// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verbs that are executed after their connection broke, and before it was made anew: nobody
 * takes the answer of another connection for the end of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "../hash/rig.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/lock.h"
#include "../../../../userspace/core/loose.h"
#include "../../../../userspace/core/owed.h"
#include "../../../../userspace/core/owner.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"
#include "../../../lib/nic/wrap.h"

#define MS		UINT64_C(1000000)
#define SETTLE_NS	(20 * MS)	/* the service has done what it can by then */
#define DOWN_NS		(1100 * MS)	/* so long nobody asks a node that is down */
#define MINE		UINT64_C(0x1234)
#define BREAK_NS	(20000 * MS)
#define SIZE		4096u		/* of blocks, */
#define BLOCKS		16u		/* of which a magazine holds fewer, */
#define ALLOCS		256u		/* and a client finds one that is free among so many */

/*
 * A back end that holds back one CAS: it completes with an error, and stays on its way as
 * long as its queue is not connected anew.
 */
struct late_nic {
	struct far_wrap wrap;
	uint64_t at;			/* far address of the next CAS that is held back; 0: none */
	int cut;			/* its queue cannot be connected then */
	struct late_qset *from;		/* that queue, */
	int has_wr;			/* and the CAS is on its way */
	struct far_wr wr;
};

struct late_qset {
	struct far_wrap_qset wrap;
	int broken, cut;
	int has_wc;
	struct far_wc wc;
};

static struct late_nic *late_of(struct far_nic *nic)
{
	return (struct late_nic *)nic;
}

static struct late_qset *late_qset_of(struct far_qset *qset)
{
	return (struct late_qset *)qset;
}

static int late_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
			 struct far_qset **ret_qset)
{
	struct far_nic *inner = far_wrap_inner(nic);
	struct late_qset *qset = calloc(1, sizeof(*qset));
	int err;

	assert_non_null(qset);
	err = inner->ops->qset_new(inner, attr, &qset->wrap.inner);
	assert_int_equal(err, 0);
	qset->wrap.qset.nic = nic;
	*ret_qset = &qset->wrap.qset;
	return 0;
}

static void late_qset_free(struct far_qset *qset)
{
	struct late_nic *late = late_of(qset->nic);
	struct far_qset *inner = far_wrap_inner_qset(qset);

	if (late->from == late_qset_of(qset))
		late->from = NULL;
	inner->nic->ops->qset_free(inner);
	free(qset);
}

static int late_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct late_nic *late = late_of(qset->nic);
	struct late_qset *mine = late_qset_of(qset);
	struct far_qset *inner = far_wrap_inner_qset(qset);

	if (mine->broken && mine->cut)
		return -EHOSTDOWN;
	if (mine->broken && late->from == mine)
		late->has_wr = 0;
	mine->broken = 0;
	return inner->nic->ops->connect(inner, idx, peer);
}

static int late_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct late_nic *late = late_of(qset->nic);
	struct late_qset *mine = late_qset_of(qset);
	struct far_qset *inner = far_wrap_inner_qset(qset);

	if (mine->broken)
		return -ENOTCONN;
	if (!late->at || nr != 1 || wr->op != FAR_NIC_CAS || wr->remote != late->at)
		return inner->nic->ops->post(inner, idx, wr, nr);
	late->at = 0;
	late->from = mine;
	late->has_wr = 1;
	late->wr = *wr;
	mine->cut = late->cut;
	mine->broken = mine->has_wc = 1;
	mine->wc = (struct far_wc) {
		.id = wr->id, .status = -ETIMEDOUT, .peer = idx, .op = wr->op,
	};
	return 0;
}

static int late_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct late_qset *mine = late_qset_of(qset);
	struct far_qset *inner = far_wrap_inner_qset(qset);

	if (!mine->has_wc)
		return inner->nic->ops->poll(inner, wc, max);
	mine->has_wc = 0;
	*wc = mine->wc;
	return 1;
}

static int late_wait(struct far_qset *qset, uint64_t until)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return late_qset_of(qset)->has_wc ? 0 : inner->nic->ops->wait(inner, until);
}

static void late_close(struct far_nic *nic)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->close(inner);
	free(nic);
}

static struct far_nic *late_new(struct far_nic *inner)
{
	struct late_nic *late = calloc(1, sizeof(*late));

	assert_non_null(late);
	far_wrap_init(&late->wrap, inner, "late", "executes a verb late");
	late->wrap.ops.close = late_close;
	late->wrap.ops.qset_new = late_qset_new;
	late->wrap.ops.qset_free = late_qset_free;
	late->wrap.ops.connect = late_connect;
	late->wrap.ops.post = late_post;
	late->wrap.ops.poll = late_poll;
	late->wrap.ops.wait = late_wait;
	return &late->wrap.nic;
}

struct bed {
	struct rig rig;
	struct late_nic *late;
	uint64_t word;		/* in far memory: 0 */
	uint64_t block[BLOCKS];	/* that are given back */
	bool retires;
	int broke, done;
};

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .clients = 2, .seed = 3 };
	uint64_t zero = 0;
	struct far_task *task;

	rig_open(&bed->rig, &conf);
	rig_leave(&bed->rig, 0);
	bed->rig.nic[0] = late_new(bed->rig.nic[0]);
	bed->late = late_of(bed->rig.nic[0]);
	rig_join(&bed->rig, 0);
	bed->broke = bed->done = 0;
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_block_alloc(task, 0, 64, &bed->word), 0);
	far_write(task, bed->word, &zero, sizeof(zero));
	assert_int_equal(far_sync(task), 0);
	far_leave(task);
}

static uint64_t *word_of(struct bed *bed)
{
	return (uint64_t *)((char *)bed->rig.map[0].addr + far_addr_off(bed->word));
}

/* The CAS that was held back arrives, unless its queue pair is gone. */
static void late_arrives(struct bed *bed)
{
	if (bed->late->has_wr && *word_of(bed) == bed->late->wr.arg[0])
		*word_of(bed) = bed->late->wr.arg[1];
	bed->late->has_wr = 0;
}

static int word_cas(struct bed *bed, struct far_task *task, uint64_t from, uint64_t to)
{
	far_cas(task, bed->word, from, to, NULL);
	return far_sync(task);
}

/* The task's connection breaks under its CAS. cut: it cannot be made anew. */
static void cas_breaks(struct bed *bed, struct far_task *task, uint64_t from, uint64_t to,
		       int cut)
{
	bed->late->at = far_addr_off(bed->word);
	bed->late->cut = cut;
	assert_int_equal(word_cas(bed, task, from, to), -ETIMEDOUT);
	assert_int_equal(bed->late->has_wr, cut);
}

/* It makes its connection anew. */
static void reconnect(struct bed *bed, struct far_task *task)
{
	uint64_t *word = far_buf(task, sizeof(*word));

	late_qset_of(task->thread->qset)->cut = 0;
	far_sleep(task, DOWN_NS);
	far_read(task, bed->word, word, sizeof(*word));
	assert_int_equal(far_sync(task), 0);
}

/* A task that gets the error knows that nothing of the connection is executed any more. */
static void sync_is_final(void **state)
{
	struct far_task *task;
	struct bed bed;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	cas_breaks(&bed, task, 0, MINE, 0);
	late_arrives(&bed);
	assert_int_equal(*word_of(&bed), 0);
	assert_false(far_is_any_loose(task));
	far_leave(task);
	rig_close(&bed.rig);
}

/* The service pays what is owed when the verb that makes it due has come, or never will. */
static void owed_is_paid_behind_it(void **state)
{
	struct far_task *task;
	struct bed bed;

	(void)state;
	for (int arrives = 0; arrives < 2; arrives++) {
		bed_open(&bed);
		task = rig_enter(&bed.rig, 0);
		cas_breaks(&bed, task, 0, MINE, 1);
		far_owe(task, bed.word, MINE, 0);
		far_sleep(task, SETTLE_NS);
		if (arrives)
			late_arrives(&bed);
		reconnect(&bed, task);
		far_sleep(task, SETTLE_NS);
		assert_int_equal(*word_of(&bed), 0);
		assert_int_equal(atomic_load(&bed.rig.far[0]->client->nr_owed), 0);
		far_leave(task);
		rig_close(&bed.rig);
	}
}

/* And when its thread never makes the connection anew, after a time. */
static void nothing_waits_for_ever(void **state)
{
	struct far_task *task;
	struct bed bed;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	cas_breaks(&bed, task, 0, MINE, 1);
	late_arrives(&bed);
	far_owe(task, bed.word, MINE, 0);
	far_sleep(task, FAR_LOOSE_NS + SETTLE_NS);
	assert_int_equal(*word_of(&bed), 0);
	far_leave(task);
	rig_close(&bed.rig);
}

static void sleep_until(struct far_task *task, uint64_t until)
{
	far_sleep(task, until - far_now(task));
}

/* A task whose connection breaks and is made anew at once, all the time. */
static void other_breaks(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	while (!bed->done) {
		cas_breaks(bed, task, 0, MINE, 0);
		bed->broke++;
		far_sleep(task, BREAK_NS);
	}
}

/* Grace periods go on: a block that was retired is a new one soon. */
static bool epochs_go_on(struct bed *bed, struct far_task *task)
{
	uint64_t turns = atomic_load(&bed->rig.far[0]->client->turns);

	far_sleep(task, SETTLE_NS);
	return atomic_load(&bed->rig.far[0]->client->turns) > turns + 2;
}

/*
 * A connection that is never made anew holds up the client for its own time, whatever breaks
 * meanwhile, before and behind that.
 */
static void each_link_has_its_time(void **state)
{
	struct far_thread *thread;
	struct far_task *task, *other;
	struct bed bed;
	uint64_t until;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, other_breaks, &bed, &thread), 0);
	far_sleep(task, BREAK_NS / 2);
	assert_int_equal(bed.broke, 1);
	assert_true(epochs_go_on(&bed, task));
	cas_breaks(&bed, task, 0, MINE, 1);
	until = far_now(task) + FAR_LOOSE_NS;
	sleep_until(task, until - 2 * SETTLE_NS);
	assert_true(bed.broke > 1);
	assert_true(far_is_any_loose(task));
	assert_false(epochs_go_on(&bed, task));
	sleep_until(task, until + SETTLE_NS);
	assert_false(far_is_any_loose(task));
	assert_true(epochs_go_on(&bed, task));
	/* one that breaks now has a time of its own, also in the eyes of the first one */
	other = rig_enter(&bed.rig, 0);
	cas_breaks(&bed, other, 0, MINE, 1);
	far_sleep(task, FAR_LOOSE_NS / 2);
	assert_true(far_is_any_loose(task));
	reconnect(&bed, other);
	assert_false(far_is_any_loose(task));
	far_leave(other);
	bed.done = 1;
	far_thread_join(thread);
	far_leave(task);
	rig_close(&bed.rig);
}

/*
 * The verbs of a thread that ended are loose for as long as if it had not, also if another
 * thread gets its structs, and that one's connection breaks and is made anew.
 */
static void thread_ends_broken(void **state)
{
	struct far_task *task, *next;
	struct far_thread *thread;
	struct bed bed;
	uint64_t until;

	(void)state;
	bed_open(&bed);
	next = rig_enter(&bed.rig, 0);
	task = rig_enter(&bed.rig, 0);
	thread = task->thread;
	cas_breaks(&bed, task, 0, MINE, 1);
	until = far_now(next) + FAR_LOOSE_NS;
	far_leave(task);
	assert_true(far_is_any_loose(next));
	far_sleep(next, DOWN_NS);
	task = rig_enter(&bed.rig, 0);
	assert_ptr_equal(task->thread, thread);
	assert_true(far_is_any_loose(next));
	sleep_until(task, until - BREAK_NS);
	assert_true(far_is_any_loose(next));
	cas_breaks(&bed, task, 0, MINE, 0);
	assert_true(far_is_any_loose(next));
	sleep_until(task, until - SETTLE_NS);
	assert_true(far_is_any_loose(next));
	sleep_until(task, until + SETTLE_NS);
	assert_false(far_is_any_loose(next));
	/* and so does the next one that ends: neither time is the other's */
	cas_breaks(&bed, task, 0, MINE, 1);
	until = far_now(next) + FAR_LOOSE_NS;
	far_leave(task);
	far_sleep(next, DOWN_NS);
	task = rig_enter(&bed.rig, 0);
	sleep_until(task, until - SETTLE_NS);
	assert_true(far_is_any_loose(next));
	far_sleep(task, 2 * SETTLE_NS);
	assert_false(far_is_any_loose(next));
	far_leave(task);
	far_leave(next);
	rig_close(&bed.rig);
}

/* Another task of the client wants the lock that this one has not given back. */
static void other_locks(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	struct far_lock lock = { .addr = bed->word, .kind = FAR_LOCK_PLAIN };

	while (!bed->broke)
		far_sleep(task, MS);
	assert_int_equal(far_lock_take(task, &lock), 0);
	bed->done = 1;
	far_sleep(task, SETTLE_NS);
	/* the late release has not taken it away */
	assert_false(far_lock_is_free(*word_of(bed)));
	assert_int_equal(far_lock_release(task, &lock), 0);
	bed->done = 2;
}

static void lock_is_taken_behind_it(void **state)
{
	struct far_thread *thread;
	struct far_task *task;
	struct bed bed;
	uint64_t held;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	held = far_lock_word(far_owner_self(task), 0, 0, 0);
	assert_int_equal(word_cas(&bed, task, 0, held), 0);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, other_locks, &bed, &thread), 0);
	far_sleep(task, MS);
	cas_breaks(&bed, task, held, 0, 1);
	bed.broke = 1;
	far_sleep(task, SETTLE_NS);
	late_arrives(&bed);
	reconnect(&bed, task);
	while (bed.done < 2)
		far_sleep(task, MS);
	far_thread_join(thread);
	far_leave(task);
	rig_close(&bed.rig);
}

/* Another client wants it, and gets it. */
static void rival_locks(struct bed *bed)
{
	struct far_lock lock = { .addr = bed->word, .kind = FAR_LOCK_PLAIN };
	struct far_task *task = rig_enter(&bed->rig, 1);

	assert_int_equal(far_op_begin(task), 0);
	assert_int_equal(far_lock_take(task, &lock), 0);
	assert_int_equal(far_lock_release(task, &lock), 0);
	far_op_end(task);
	far_leave(task);
}

/* A lock that was taken by a verb of unknown fate is not this client's for ever. */
static void lock_is_not_left(void **state)
{
	struct far_lock lock = { .kind = FAR_LOCK_PLAIN };
	struct far_task *task;
	struct bed bed;

	(void)state;
	for (int arrives = 0; arrives < 2; arrives++) {
		bed_open(&bed);
		task = rig_enter(&bed.rig, 0);
		lock.addr = bed.word;
		bed.late->at = far_addr_off(bed.word);
		bed.late->cut = 1;
		assert_int_equal(far_lock_take(task, &lock), -EHOSTDOWN);
		if (arrives)
			late_arrives(&bed);
		reconnect(&bed, task);
		far_sleep(task, SETTLE_NS);
		rival_locks(&bed);
		assert_int_equal(atomic_load(&bed.rig.far[0]->client->nr_owed), 0);
		far_leave(task);
		rig_close(&bed.rig);
	}
}

/* Its time is over before it knows whether the word is its own. */
static void late_locks(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	struct far_lock lock = { .addr = bed->word, .kind = FAR_LOCK_PLAIN };

	while (!bed->broke)
		far_sleep(task, MS);
	assert_int_equal(far_deadline_set(task, 1), 0);
	assert_int_equal(far_op_begin(task), 0);
	assert_int_equal(far_lock_take(task, &lock), -ETIME);
	far_op_end(task);
	bed->done = 1;
}

static void lock_is_not_left_late(void **state)
{
	struct far_thread *thread;
	struct far_task *task;
	struct bed bed;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, late_locks, &bed, &thread), 0);
	far_sleep(task, MS);
	cas_breaks(&bed, task, 0, far_lock_word(far_owner_self(task), 0, 0, 0), 1);
	late_arrives(&bed);
	bed.broke = 1;
	while (!bed.done)
		far_sleep(task, MS);
	reconnect(&bed, task);
	far_sleep(task, SETTLE_NS);
	rival_locks(&bed);
	far_thread_join(thread);
	far_leave(task);
	rig_close(&bed.rig);
}

/* True if a thread that allocates gets one of the blocks. */
static bool block_is_given(struct bed *bed, struct far_task *task, unsigned allocs)
{
	uint64_t addr[2 * ALLOCS];
	bool given = false;
	unsigned nr, i;

	for (nr = 0; nr < allocs && !given; nr++) {
		assert_int_equal(far_block_alloc(task, 0, SIZE, &addr[nr]), 0);
		for (i = 0; i < BLOCKS; i++)
			given |= addr[nr] == bed->block[i];
	}
	while (nr--)
		far_block_free(task, addr[nr], SIZE);
	return given;
}

static void other_allocs(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	while (!bed->broke)
		far_sleep(task, MS);
	assert_int_equal(far_epoch_enter(task), 0);
	for (unsigned i = 0; i < BLOCKS && bed->retires; i++)
		assert_int_equal(far_retire(task, bed->block[i], SIZE), 0);
	far_epoch_exit(task);
	far_sleep(task, SETTLE_NS);
	assert_false(block_is_given(bed, task, ALLOCS));
	bed->done = 1;
	while (bed->done < 2)
		far_sleep(task, MS);
	far_sleep(task, SETTLE_NS);
	/* those of the first time are free, too */
	assert_true(block_is_given(bed, task, 2 * ALLOCS));
}

/* A block is no new one while a verb to it may come, whoever gives it back. */
static void block_waits(bool retires)
{
	struct far_thread *thread;
	struct far_task *task;
	struct bed bed;

	bed_open(&bed);
	bed.retires = retires;
	task = rig_enter(&bed.rig, 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_int_equal(far_block_alloc(task, 0, SIZE, &bed.block[i]), 0);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, other_allocs, &bed, &thread), 0);
	far_sleep(task, MS);
	cas_breaks(&bed, task, 0, MINE, 1);
	for (unsigned i = 0; i < BLOCKS && !retires; i++)
		assert_int_equal(far_block_free(task, bed.block[i], SIZE), 0);
	bed.broke = 1;
	while (!bed.done)
		far_sleep(task, MS);
	reconnect(&bed, task);
	bed.done = 2;
	far_thread_join(thread);
	far_leave(task);
	rig_close(&bed.rig);
}

static void retired_waits(void **state)
{
	(void)state;
	block_waits(true);
}

static void freed_waits(void **state)
{
	(void)state;
	block_waits(false);
}

/* No sweep frees for lost what a late verb publishes. */
static void no_sweep_meanwhile(void **state)
{
	struct far_client *client;
	struct far_task *task;
	struct bed bed;
	uint64_t sweeps;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	client = far_task_client(task);
	far_sleep(task, 10 * SETTLE_NS);
	cas_breaks(&bed, task, 0, MINE, 1);
	far_alloc_lost(task);
	sweeps = atomic_load(&client->sweeps);
	far_sleep(task, 10 * SETTLE_NS);
	assert_int_equal(atomic_load(&client->sweeps), sweeps);
	reconnect(&bed, task);
	far_sleep(task, 10 * SETTLE_NS);
	assert_true(atomic_load(&client->sweeps) > sweeps);
	far_leave(task);
	rig_close(&bed.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sync_is_final),
		cmocka_unit_test(owed_is_paid_behind_it),
		cmocka_unit_test(nothing_waits_for_ever),
		cmocka_unit_test(each_link_has_its_time),
		cmocka_unit_test(thread_ends_broken),
		cmocka_unit_test(lock_is_taken_behind_it),
		cmocka_unit_test(lock_is_not_left),
		cmocka_unit_test(lock_is_not_left_late),
		cmocka_unit_test(retired_waits),
		cmocka_unit_test(freed_waits),
		cmocka_unit_test(no_sweep_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
