// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two processes that count to 20,000 count to 20,000: each adds 10,000 to one key of a table,
 * and of both trees, by functions of far_hash_modify() and its like.
 *
 * usage: test-far-count mem|soft
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <far/art.h>
#include <far/btree.h>

#include "../../../lib/child.h"
#include "bed.h"

#define PROCESSES	2u
#define TASKS		8u
#define EACH		(10000u / TASKS)
#define SIZE		(UINT64_C(16) << 20)

static bool soft;

/* Memory of all processes. */
struct shared {
	atomic_uint ready;
};

struct count {
	struct far_hash *hash;
	struct far_btree *btree;
	struct far_art *art;
	struct shared *shared;
	atomic_int err;
};

static enum far_modified add_one(void *arg, struct far_value *value)
{
	uint64_t *sum = arg;

	*sum = 0;
	if (value->data)
		memcpy(sum, value->data, sizeof(*sum));
	++*sum;
	*value = (struct far_value) { sum, sizeof(*sum) };
	return FAR_STORE;
}

static void count_run(struct far_task *task, void *arg)
{
	struct count *count = arg;
	uint64_t key = 1, sum;
	int err = 0;

	/* so that they count at the same time */
	while (atomic_load(&count->shared->ready) < PROCESSES)
		far_sleep(task, 100000);
	for (unsigned i = 0; i < EACH && !err; i++) {
		err = far_hash_modify(task, count->hash, &key, sizeof(key), add_one, &sum);
		if (!err)
			err = far_btree_modify(task, count->btree, &key, sizeof(key), add_one,
					       &sum);
		if (!err)
			err = far_art_modify(task, count->art, &key, sizeof(key), add_one, &sum);
	}
	if (err)
		atomic_store(&count->err, err);
}

static int tables_open(struct far_task *task, struct count *count)
{
	int err = far_hash_open(task, "h", &count->hash);

	if (!err)
		err = far_btree_open(task, "b", &count->btree);
	return err ? err : far_art_open(task, "a", &count->art);
}

static void tables_close(const struct count *count)
{
	far_hash_close(count->hash);
	far_btree_close(count->btree);
	far_art_close(count->art);
}

static void process_run(const struct bed *bed, struct shared *shared)
{
	const char *const node[] = { bed->node };
	struct far_conf conf = {
		.nic = bed->spec, .space = "s", .nodes = node, .nr_nodes = 1,
	};
	struct count count = { .shared = shared };
	struct far_thread *thread;
	struct far_task *task;
	struct far *far;
	char why[200];

	if (far_open(&conf, why, sizeof(why), &far)) {
		print_error("%s\n", why);
		_exit(2);
	}
	if (far_enter(far, &task) || tables_open(task, &count) || far_leave(task) ||
	    far_thread_start(far, TASKS, count_run, &count, &thread))
		_exit(3);
	atomic_fetch_add(&shared->ready, 1);
	far_thread_join(thread);
	if (count.err) {
		print_error("%s\n", far_strerror(count.err));
		_exit(4);
	}
	tables_close(&count);
	_exit(far_close(far) ? 5 : 0);
}

static void tables_new(struct bed *bed)
{
	const struct far_btree_attr attr = { .key_size = 8, .value_size = 8 };
	struct far_task *task = bed_enter(bed);
	uint64_t key = 1, zero = 0;
	struct count count;

	assert_int_equal(far_hash_create(task, "h", NULL, &count.hash), 0);
	assert_int_equal(far_btree_create(task, "b", &attr, &count.btree), 0);
	assert_int_equal(far_art_create(task, "a", &count.art), 0);
	/* written in place, until somebody counts */
	assert_int_equal(far_art_put(task, count.art, &key, sizeof(key), &zero, sizeof(zero)), 0);
	tables_close(&count);
	assert_int_equal(far_leave(task), 0);
}

static void sums_check(struct bed *bed)
{
	struct far_task *task = bed_enter(bed);
	uint64_t key = 1, sum = 0;
	struct count count;

	assert_int_equal(tables_open(task, &count), 0);
	assert_int_equal(far_hash_get(task, count.hash, &key, sizeof(key), &sum, sizeof(sum),
				      NULL), 0);
	assert_int_equal(sum, PROCESSES * TASKS * EACH);
	assert_int_equal(far_btree_get(task, count.btree, &key, sizeof(key), &sum,
				       sizeof(sum), NULL), 0);
	assert_int_equal(sum, PROCESSES * TASKS * EACH);
	assert_int_equal(far_art_get(task, count.art, &key, sizeof(key), &sum, sizeof(sum),
				     NULL), 0);
	assert_int_equal(sum, PROCESSES * TASKS * EACH);
	tables_close(&count);
	assert_int_equal(far_leave(task), 0);
}

static void two_processes(void **state)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[PROCESSES];
	struct bed bed;
	int status;

	(void)state;
	assert_true(shared != MAP_FAILED);
	bed_open(&bed, soft, SIZE);
	tables_new(&bed);
	for (unsigned i = 0; i < PROCESSES; i++) {
		pid[i] = child_fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			process_run(&bed, shared);
	}
	for (unsigned i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	sums_check(&bed);
	bed_close(&bed);
	munmap(shared, sizeof(*shared));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(two_processes) };

	if (argc != 2)
		return 2;
	soft = !strcmp(argv[1], "soft");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
