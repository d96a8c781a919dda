/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A key that moves from leaf to leaf while another client is slow on its way to it: a walk
 * follows it as far as it has gone, and takes no way for a circle that is only a long one;
 * and a get goes on as long as its key does.
 */
#include "../../../lib/nap.h"
#include "kind.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

#define KEYS	2000u
#define LEAST	200u	/* times that the key has to move under a walk */
#define AHEAD	20000u	/* operations of a get that each come too late */
#define NAP_NS	1000u

struct bed {
	struct rig rig;
	struct far_art *art[2];
	unsigned moves;
	unsigned late;		/* operations before each of which the key moves */
	int over;
};

static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 5 };
	struct far_task *task;

	*bed = (struct bed){ .moves = 0 };
	rig_open(&bed->rig, &conf);
	task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(task, "t", &bed->art[0]), 0);
	far_leave(task);
	task = rig_enter(&bed->rig, 1);
	assert_int_equal(far_art_open(task, "t", &bed->art[1]), 0);
	far_leave(task);
}

static void bed_close(struct bed *bed)
{
	far_art_close(bed->art[0]);
	far_art_close(bed->art[1]);
	rig_close(&bed->rig);
}

static void fill(struct bed *bed, struct far_task *task)
{
	uint8_t key[3] = { 0xff };
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		key[1] = i >> 8;
		key[2] = i;
		assert_int_equal(far_art_insert(task, bed->art[0], key, 3, "value", 5), 0);
	}
	assert_int_equal(far_art_insert(task, bed->art[0], "\0", 1, "value", 5), 0);
}

static void move(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	while (!bed->over) {
		assert_int_equal(far_art_update(task, bed->art[1], "\0", 1, "value", 5), 0);
		bed->moves++;
	}
}

/* The slot of the key is READ at first, and what it leads to at last. */
static void under_a_walk(void **state)
{
	struct far_art_stats stats;
	struct far_thread *thread;
	struct far_task *task;
	struct bed bed;
	int err;

	(void)state;
	bed_open(&bed);
	task = rig_enter(&bed.rig, 0);
	fill(&bed, task);
	assert_int_equal(far_thread_start(bed.rig.far[1], 1, move, &bed, &thread), 0);
	err = far_art_stat(task, bed.art[0], &stats);
	bed.over = 1;
	far_thread_join(thread);
	assert_int_equal(err, 0);
	assert_int_equal(stats.keys, KEYS + 1);
	assert_true(bed.moves > LEAST);
	far_leave(task);
	bed_close(&bed);
}

/* The key moves once more before the client goes on. */
static void get_naps(void *arg)
{
	struct bed *bed = arg;
	unsigned moves = bed->moves;

	while (bed->moves == moves)
		nap_sleep(bed->rig.nic[0], NAP_NS);
	if (++bed->late == AHEAD)
		nap_always(bed->rig.nic[0], NULL, NULL);
}

static void slow_get(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	char value[8];
	size_t len;

	assert_int_equal(far_art_get(task, bed->art[0], "-", 1, value, 8, &len), -ENOENT);
	nap_always(bed->rig.nic[0], get_naps, bed);
	assert_int_equal(far_art_get(task, bed->art[0], "\0", 1, value, 8, &len), 0);
	assert_int_equal(len, 5);
	bed->over = 1;
}

/* A client for which each READ takes longer than the others need for a change. */
static void faster_than_a_get(void **state)
{
	struct far_thread *get, *moves;
	struct far_task *task;
	struct bed bed;

	(void)state;
	bed_open(&bed);
	far_art_close(bed.art[0]);
	rig_leave(&bed.rig, 0);
	bed.rig.nic[0] = nap_new(bed.rig.nic[0]);
	assert_non_null(bed.rig.nic[0]);
	rig_join(&bed.rig, 0);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(far_art_open(task, "t", &bed.art[0]), 0);
	assert_int_equal(far_art_insert(task, bed.art[0], "\0", 1, "value", 5), 0);
	far_leave(task);
	assert_int_equal(far_thread_start(bed.rig.far[1], 1, move, &bed, &moves), 0);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, slow_get, &bed, &get), 0);
	far_thread_join(get);
	far_thread_join(moves);
	assert_int_equal(bed.late, AHEAD);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_a_walk),
		cmocka_unit_test(faster_than_a_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
