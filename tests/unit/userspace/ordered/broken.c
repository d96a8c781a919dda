/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections that break at each operation. See broken.h. */
#include "broken.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/nic/fault.h"
#include "keys.h"

#define CLIENTS	2u
#define HANGS	60u	/* seconds: then something waits for ever */
/* How much later client 1 begins: so many times, in steps. */
#define LATER		12u
#define LATER_NS	1000u

struct scene {
	const struct ordered_kind *kind;
	struct rig rig;
	void *index[CLIENTS];
	uint64_t key;
	size_t value_len;		/* at most BROKEN_VALUE_MAX */
	int deletes;
	uint64_t late_ns;		/* client 1 begins so much later */
	uint64_t value[CLIENTS][BROKEN_VALUE_MAX / 8];
};

struct hand {
	struct scene *scene;
	unsigned client;
	int err;
};

/* A value is its key's number, in all its words. */
static int store(struct scene *scene, struct far_task *task, unsigned client, uint64_t number)
{
	uint64_t key = __builtin_bswap64(number), *value = scene->value[client];

	for (size_t i = 0; i < scene->value_len / 8; i++)
		value[i] = number;
	return ordered_store(scene->kind, HISTORY_INSERT, task, scene->index[client], &key, 8,
			     value, scene->value_len);
}

static void hand_run(struct far_task *task, void *arg)
{
	struct hand *hand = arg;
	struct scene *scene = hand->scene;
	uint64_t key = __builtin_bswap64(scene->key);

	if (hand->client)
		far_sleep(task, scene->late_ns);
	hand->err = scene->deletes ?
		    scene->kind->ops->remove(task, scene->index[hand->client], &key, 8) :
		    store(scene, task, hand->client, scene->key);
}

/* Keys that differ in their last byte, so that a radix tree has them in one node. */
static void scene_open(struct scene *scene, unsigned prefill, uint64_t seed)
{
	const struct rig_conf conf = {
		.sim = 1, .clients = CLIENTS, .nodes = 1, .seed = seed,
	};
	struct far_task *task;
	struct far_nic *nic;
	unsigned i;

	scene->key = 5;
	rig_open(&scene->rig, &conf);
	rig_leave(&scene->rig, 0);
	assert_int_equal(far_fault_new(scene->rig.nic[0], seed, 0, &nic), 0);
	scene->rig.nic[0] = nic;
	rig_join(&scene->rig, 0);
	task = rig_enter(&scene->rig, 1);
	assert_int_equal(ordered_create(scene->kind, task, "t", 8, 8, &scene->index[1]), 0);
	for (i = 0; i < prefill; i++)
		assert_int_equal(store(scene, task, 1, 2 * (i + 1)), 0);
	if (scene->deletes)
		assert_int_equal(store(scene, task, 1, scene->key), 0);
	far_leave(task);
	task = rig_enter(&scene->rig, 0);
	assert_int_equal(scene->kind->ops->open(task, "t", &scene->index[0]), 0);
	far_leave(task);
}

/* Both, about at once; client 0 loses its connection at its n'th operation. */
static void scene_run(struct scene *scene, unsigned n, struct hand *hand)
{
	struct far_thread *thread[CLIENTS];
	unsigned c;

	for (c = 0; c < CLIENTS; c++)
		hand[c] = (struct hand) { scene, c, 0 };
	far_fault_fail_at(scene->rig.nic[0], n, -ETIMEDOUT);
	for (c = 0; c < CLIENTS; c++)
		assert_int_equal(far_thread_start(scene->rig.far[c], 1, hand_run, &hand[c],
						  &thread[c]), 0);
	for (c = 0; c < CLIENTS; c++)
		far_thread_join(thread[c]);
	far_fault_fail_at(scene->rig.nic[0], 0, 0);
}

/* The key is there, with its whole value, or it is not. */
static void expect(struct scene *scene, struct far_task *task, uint64_t number, int err)
{
	uint64_t key = __builtin_bswap64(number), *value = scene->value[1];

	assert_int_equal(scene->kind->ops->get(task, scene->index[1], &key, 8, value,
					       scene->value_len, NULL), err);
	for (size_t i = 0; !err && i < scene->value_len / 8; i++)
		assert_int_equal(value[i], number);
}

static void scene_close(struct scene *scene, unsigned prefill)
{
	struct far_task *task = rig_enter(&scene->rig, 1);
	unsigned i;

	expect(scene, task, scene->key, scene->deletes ? -ENOENT : 0);
	for (i = 0; i < prefill; i++)
		expect(scene, task, 2 * (i + 1), 0);
	assert_int_equal(rig_problems(&scene->rig, task), 0);
	far_leave(task);
	rig_leave(&scene->rig, 0);
	assert_int_equal(rig_space_problems(&scene->rig, 1), 0);
	for (i = 0; i < CLIENTS; i++)
		scene->kind->ops->close(scene->index[i]);
	rig_close(&scene->rig);
}

unsigned broken_everywhere(const struct ordered_kind *kind, unsigned prefill,
			   size_t value_len, int deletes, unsigned last)
{
	const int too_late = deletes ? -ENOENT : -EEXIST;
	unsigned n, unknown = 0;
	struct hand hand[CLIENTS];
	struct scene scene;

	for (n = 0; n < last * LATER; n++) {
		alarm(HANGS);
		scene = (struct scene) {
			.kind = kind, .value_len = value_len, .deletes = deletes,
			.late_ns = n % LATER * LATER_NS,
		};
		scene_open(&scene, prefill, n);
		scene_run(&scene, 1 + n / LATER, hand);
		assert_true(!hand[1].err || hand[1].err == too_late);
		/* one has done it, and knows that, unless it does not know what it did */
		if (!hand[0].err || hand[0].err == too_late)
			assert_true(!hand[0].err != !hand[1].err);
		else
			unknown++;
		scene_close(&scene, prefill);
	}
	alarm(0);
	return unknown;
}
