// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls that are submitted and polled: each has one result, whoever submits; the queue is
 * bounded; one that ends cancels what has not begun; and who does not poll holds up nobody.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <far/art.h>
#include <far/async.h>
#include <far/btree.h>

#include "../../../lib/child.h"
#include "../../../../userspace/core/epoch.h"
#include "../hash/rig.h"

#define NR_THREADS	4u	/* that submit */
#define NR_POLLERS	2u
#define NR_KEYS		300u	/* of each */
#define NR_ALL		(NR_THREADS * NR_KEYS)
#define DEPTH		64u

struct bed {
	struct rig rig;
	struct far_hash *hash;
	struct far_btree *btree;
	struct far_art *art;
	struct far_async *async;
	sem_t begun, go;	/* of modify functions that wait */
};

static void bed_open(struct bed *bed, const void *conf, unsigned tasks, unsigned depth)
{
	const struct far_async_attr attr = { .tasks = tasks, .depth = depth };
	struct far_task *task;

	memset(bed, 0, sizeof(*bed));
	rig_open(&bed->rig, conf);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_hash_create(task, "h", NULL, &bed->hash), 0);
	assert_int_equal(far_btree_create(task, "b", NULL, &bed->btree), 0);
	assert_int_equal(far_art_create(task, "a", &bed->art), 0);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(far_async_open(bed->rig.far[0], &attr, &bed->async), 0);
	sem_init(&bed->begun, 0, 0);
	sem_init(&bed->go, 0, 0);
}

static void bed_close(struct bed *bed)
{
	assert_int_equal(far_close(bed->rig.far[0]), -EBUSY);
	assert_int_equal(far_async_close(bed->async), 0);
	far_hash_close(bed->hash);
	far_btree_close(bed->btree);
	far_art_close(bed->art);
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
	rig_close(&bed->rig);
}

static struct far_call call_of(struct bed *bed, unsigned on, unsigned op, uint64_t *key,
			       uint64_t *value)
{
	void *const handle[] = { NULL, bed->hash, bed->btree, bed->art };

	return (struct far_call){
		.tag = *key, .on = on, .op = op, .handle = handle[on],
		.key = key, .key_len = sizeof(*key), .value = value, .value_len = sizeof(*value),
	};
}

static int readable(struct bed *bed, int ms)
{
	struct pollfd fd = { .fd = far_async_fd(bed->async), .events = POLLIN };

	return poll(&fd, 1, ms);
}

static void ms_pass(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* The next result, as an event loop takes it. */
static struct far_result result_take(struct bed *bed)
{
	struct far_result result;

	while (far_async_poll(bed->async, &result, 1) != 1)
		assert_int_equal(readable(bed, 30000), 1);
	return result;
}

/* ---- many ---- */

struct crowd {
	struct bed bed;
	uint64_t key[NR_ALL], value[NR_ALL], found[NR_ALL];
	atomic_uint results[NR_ALL];
	atomic_uint nr, full;
	unsigned op;
};

struct member {
	struct crowd *crowd;
	unsigned index;
};

static void *submit_run(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;

	for (unsigned i = 0; i < NR_KEYS; i++) {
		unsigned at = member->index * NR_KEYS + i;
		struct far_call call = call_of(&crowd->bed, 1 + at % 3, crowd->op,
					       &crowd->key[at],
					       crowd->op == FAR_ASYNC_GET ? &crowd->found[at] :
									    &crowd->value[at]);
		int err;

		while ((err = far_async_submit(crowd->bed.async, &call)) == -EAGAIN) {
			atomic_fetch_add(&crowd->full, 1);
			ms_pass(1);
		}
		assert_int_equal(err, 0);
	}
	return NULL;
}

static void *poll_run(void *arg)
{
	struct crowd *crowd = arg;
	struct far_result result[5];

	while (atomic_load(&crowd->nr) < NR_ALL) {
		int nr;

		/* who of several comes late finds nothing; and is not left alone */
		readable(&crowd->bed, 20);
		nr = far_async_poll(crowd->bed.async, result, 5);
		assert_in_range(nr, 0, 5);
		for (int i = 0; i < nr; i++) {
			assert_int_equal(result[i].status, 0);
			assert_int_equal(result[i].len, crowd->op == FAR_ASYNC_GET ? 8 : 0);
			assert_in_range(result[i].tag, 0, NR_ALL - 1);
			atomic_fetch_add(&crowd->results[result[i].tag], 1);
		}
		atomic_fetch_add(&crowd->nr, nr);
	}
	return NULL;
}

/* All of one kind, by several threads at the same time. */
static void crowd_run(struct crowd *crowd, unsigned op)
{
	pthread_t thread[NR_THREADS], poller[NR_POLLERS];
	struct member member[NR_THREADS];

	crowd->op = op;
	atomic_store(&crowd->nr, 0);
	memset(crowd->results, 0, sizeof(crowd->results));
	for (unsigned i = 0; i < NR_THREADS; i++) {
		member[i] = (struct member){ crowd, i };
		assert_int_equal(pthread_create(&thread[i], NULL, submit_run, &member[i]), 0);
	}
	for (unsigned i = 0; i < NR_POLLERS; i++)
		assert_int_equal(pthread_create(&poller[i], NULL, poll_run, crowd), 0);
	for (unsigned i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	for (unsigned i = 0; i < NR_POLLERS; i++)
		assert_int_equal(pthread_join(poller[i], NULL), 0);
	for (unsigned i = 0; i < NR_ALL; i++)
		assert_int_equal(crowd->results[i], 1);
	assert_int_equal(far_async_pending(crowd->bed.async), 0);
}

static void test_crowd(void **state)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	assert_non_null(crowd);
	bed_open(&crowd->bed, *state, 8, DEPTH);
	for (unsigned i = 0; i < NR_ALL; i++) {
		crowd->key[i] = i;
		crowd->value[i] = ~(uint64_t)i;
	}
	crowd_run(crowd, FAR_ASYNC_INSERT);
	crowd_run(crowd, FAR_ASYNC_PUT);
	crowd_run(crowd, FAR_ASYNC_UPDATE);
	crowd_run(crowd, FAR_ASYNC_GET);
	for (unsigned i = 0; i < NR_ALL; i++)
		assert_int_equal(crowd->found[i], ~(uint64_t)i);
	crowd_run(crowd, FAR_ASYNC_DELETE);
	bed_close(&crowd->bed);
	free(crowd);
}

/* ---- one after the other ---- */

static enum far_modified modify_wait(void *arg, struct far_value *value)
{
	struct bed *bed = arg;

	sem_post(&bed->begun);
	while (sem_wait(&bed->go))
		;
	/* it would wait for itself, also where others stop the queue */
	assert_int_equal(far_async_stop(bed->async), -EDEADLK);
	*value = (struct far_value){ "12345678", 8 };
	return FAR_STORE;
}

/* A call that is under way until bed.go: it has key 0, and tag 0. */
static void submit_waiting(struct bed *bed, uint64_t *key)
{
	struct far_call call = call_of(bed, FAR_ASYNC_HASH, FAR_ASYNC_MODIFY, key, NULL);

	call.modify = modify_wait;
	call.value = bed;
	assert_int_equal(far_async_submit(bed->async, &call), 0);
	while (sem_wait(&bed->begun))
		;
}

static enum far_modified modify_add(void *arg, struct far_value *value)
{
	uint64_t *sum = arg;

	*sum = 0;
	if (value->data)
		memcpy(sum, value->data, sizeof(*sum));
	++*sum;
	*value = (struct far_value){ sum, sizeof(*sum) };
	return FAR_STORE;
}

/* Each structure is changed by functions. */
static void test_modify(void **state)
{
	uint64_t key = 1, sum, value;
	struct far_result result;
	struct far_call call;
	struct bed bed;

	bed_open(&bed, *state, 1, 4);
	for (unsigned on = FAR_ASYNC_HASH; on <= FAR_ASYNC_ART; on++) {
		value = 5;
		call = call_of(&bed, on, FAR_ASYNC_PUT, &key, &value);
		assert_int_equal(far_async_submit(bed.async, &call), 0);
		assert_int_equal(result_take(&bed).status, 0);
		call = call_of(&bed, on, FAR_ASYNC_MODIFY, &key, &sum);
		call.modify = modify_add;
		assert_int_equal(far_async_submit(bed.async, &call), 0);
		assert_int_equal(result_take(&bed).status, 0);
		assert_int_equal(sum, 6);
		call = call_of(&bed, on, FAR_ASYNC_GET, &key, &value);
		assert_int_equal(far_async_submit(bed.async, &call), 0);
		result = result_take(&bed);
		assert_int_equal(result.status, 0);
		assert_int_equal(value, 6);
	}
	bed_close(&bed);
}

static void test_results(void **state)
{
	uint64_t key = 1, value = 2, small;
	struct far_result result;
	struct far_call call;
	struct bed bed;

	bed_open(&bed, *state, 1, 4);
	assert_int_equal(far_async_poll(bed.async, &result, 1), 0);
	assert_int_equal(readable(&bed, 0), 0);
	for (unsigned on = FAR_ASYNC_HASH; on <= FAR_ASYNC_ART; on++) {
		call = call_of(&bed, on, FAR_ASYNC_GET, &key, &value);
		assert_int_equal(far_async_submit(bed.async, &call), 0);
		result = result_take(&bed);
		assert_int_equal(result.tag, 1);
		assert_int_equal(result.status, -ENOENT);
		assert_int_equal(result.len, 0);
	}
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key, &value);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(result_take(&bed).status, 0);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_GET, &key, &small);
	call.value_len = 3;
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(readable(&bed, 30000), 1);
	result = result_take(&bed);
	assert_int_equal(result.status, -EMSGSIZE);
	assert_int_equal(result.len, 8);
	/* nothing is left, and the descriptor says so after the next look */
	assert_int_equal(far_async_poll(bed.async, &result, 1), 0);
	assert_int_equal(readable(&bed, 0), 0);
	bed_close(&bed);
}

static void test_refused(void **state)
{
	uint64_t key = 0, value = 2;
	struct far_async_attr attr = { .tasks = FAR_ASYNC_MAX_TASKS + 1 };
	struct far_async *other;
	struct far_call call;
	struct bed bed;

	bed_open(&bed, *state, 1, 2);
	assert_int_equal(far_async_open(bed.rig.far[0], &attr, &other), -EINVAL);
	attr = (struct far_async_attr){ .depth = FAR_ASYNC_MAX_DEPTH + 1 };
	assert_int_equal(far_async_open(bed.rig.far[0], &attr, &other), -EINVAL);
	call = call_of(&bed, FAR_ASYNC_HASH, 7, &key, &value);
	assert_int_equal(far_async_submit(bed.async, &call), -EINVAL);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key, &value);
	call.on = 4;
	assert_int_equal(far_async_submit(bed.async, &call), -EINVAL);
	call.on = FAR_ASYNC_HASH;
	call.reserved = 1;
	assert_int_equal(far_async_submit(bed.async, &call), -EINVAL);
	call.reserved = 0;
	call.handle = NULL;
	assert_int_equal(far_async_submit(bed.async, &call), -EINVAL);
	call.handle = bed.hash;
	call.op = FAR_ASYNC_MODIFY;
	assert_int_equal(far_async_submit(bed.async, &call), -EINVAL);
	/* full: one under way, one that waits for it */
	call.op = FAR_ASYNC_PUT;
	submit_waiting(&bed, &key);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(far_async_pending(bed.async), 2);
	assert_int_equal(far_async_submit(bed.async, &call), -EAGAIN);
	sem_post(&bed.go);
	assert_int_equal(result_take(&bed).status, 0);
	/* a place that is polled is free again */
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(result_take(&bed).status, 0);
	assert_int_equal(result_take(&bed).status, 0);
	bed_close(&bed);
}

static void test_late(void **state)
{
	uint64_t key[2] = { 0, 1 }, value = 2;
	struct far_result result;
	struct far_call call;
	struct bed bed;

	bed_open(&bed, *state, 1, 4);
	submit_waiting(&bed, &key[0]);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key[1], &value);
	call.ms = 1;
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	ms_pass(3);
	sem_post(&bed.go);
	assert_int_equal(result_take(&bed).tag, 0);
	result = result_take(&bed);
	assert_int_equal(result.tag, 1);
	assert_int_equal(result.status, -ETIME);
	/* nothing has happened; and the next one of the task has another time */
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_GET, &key[1], &value);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(result_take(&bed).status, -ENOENT);
	bed_close(&bed);
}

/* ---- the end ---- */

static void *stop_run(void *arg)
{
	assert_int_equal(far_async_stop(((struct bed *)arg)->async), 0);
	return NULL;
}

static void test_stop(void **state)
{
	uint64_t key[2] = { 0, 1 }, value = 2;
	struct far_call call;
	pthread_t thread[2];
	struct bed bed;
	int err;

	bed_open(&bed, *state, 1, 16);
	submit_waiting(&bed, &key[0]);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key[1], &value);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, stop_run, &bed), 0);
	/* until it ends, but before the call that is under way has: else these would be made */
	while ((err = far_async_submit(bed.async, &call)) != -ESHUTDOWN) {
		assert_true(!err || err == -EAGAIN);
		ms_pass(1);
	}
	sem_post(&bed.go);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(result_take(&bed).status, 0);
	while (far_async_pending(bed.async)) {
		struct far_result one = result_take(&bed);

		assert_int_equal(one.tag, 1);
		assert_int_equal(one.status, -ECANCELED);
	}
	assert_int_equal(far_async_submit(bed.async, &call), -ESHUTDOWN);
	assert_int_equal(far_async_stop(bed.async), 0);
	assert_int_equal(far_async_close(bed.async), 0);
	assert_int_equal(far_async_open(bed.rig.far[0], NULL, &bed.async), 0);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_GET, &key[1], &value);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	assert_int_equal(result_take(&bed).status, -ENOENT);
	/* closed with results that nobody has polled, and calls under way */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(far_async_submit(bed.async, &call), 0);
	bed_close(&bed);
}

/* Results that nobody polls keep no memory from being used again. */
static void test_unpolled(void **state)
{
	uint64_t key[16], value[16];
	struct far_task *task;
	struct bed bed;

	bed_open(&bed, *state, 4, 16);
	for (unsigned i = 0; i < 16; i++) {
		struct far_call call;

		key[i] = i;
		call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key[i], &value[i]);
		assert_int_equal(far_async_submit(bed.async, &call), 0);
	}
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_reclaim(task), 0);
	assert_int_equal(far_hash_clear(task, bed.hash), 0);
	assert_int_equal(far_reclaim(task), 0);
	assert_int_equal(far_leave(task), 0);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(result_take(&bed).status, 0);
	bed_close(&bed);
}

static int child_run(struct bed *bed)
{
	uint64_t key = 1, value = 2;
	struct far_call call = call_of(bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key, &value);
	struct far_result result;

	if (far_async_submit(bed->async, &call) != -ESTALE)
		return 1;
	if (far_async_poll(bed->async, &result, 1) != -ESTALE)
		return 2;
	if (far_async_stop(bed->async) != -ESTALE)
		return 3;
	return far_async_close(bed->async) == -ESTALE ? 0 : 4;
}

static void test_fork(void **state)
{
	uint64_t key = 1, value = 2;
	struct far_call call;
	struct bed bed;
	int status;
	pid_t pid;

	bed_open(&bed, *state, 4, 16);
	call = call_of(&bed, FAR_ASYNC_HASH, FAR_ASYNC_PUT, &key, &value);
	assert_int_equal(far_async_submit(bed.async, &call), 0);
	pid = child_fork();
	if (!pid) {
		alarm(20);
		_exit(child_run(&bed));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(result_take(&bed).status, 0);
	bed_close(&bed);
}

int main(int argc, char **argv)
{
	struct rig_conf conf = { .soft = argc > 1 && !strcmp(argv[1], "soft") };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_crowd, &conf),
		cmocka_unit_test_prestate(test_results, &conf),
		cmocka_unit_test_prestate(test_modify, &conf),
		cmocka_unit_test_prestate(test_refused, &conf),
		cmocka_unit_test_prestate(test_late, &conf),
		cmocka_unit_test_prestate(test_stop, &conf),
		cmocka_unit_test_prestate(test_unpolled, &conf),
		cmocka_unit_test_prestate(test_fork, &conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
