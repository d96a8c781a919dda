// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks of many epochs, in virtual time, by a walker that takes its time at each block:
 * others reclaim memory meanwhile; what stays reachable is met beside splits, merges and
 * everything else that moves blocks; a structure may be destroyed beside its walk; and a
 * walk or scan of a tree ends beside keys that ascend faster than it goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <far/art.h>
#include <far/btree.h>

#include "../../../lib/nightly.h"
#include "../hash/rig.h"

#include "../../../../userspace/art/type.h"
#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/btree/type.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/client_priv.h"
#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"
#include "../../../../userspace/form/walk.h"
#include "../../../../userspace/hash/type.h"

#define MS	UINT64_C(1000000)
#define KEYS	65536u		/* more than go in */
#define CHUNK	(UINT64_C(1) << 20)
#define FULL_SIZE	(4 * CHUNK)	/* of which KEYS do not go in, and many do */
#define VALUE	6u		/* words of a value */
#define GROUPS	64u		/* of keys */
#define SPARE	4u		/* groups that are taken away from a full space */
#define SPARE_BYTES	(CHUNK / 8)
#define BESIDE	1536u		/* keys of each client beside walks, some of these groups: */
#define BESIDE_GROUPS	24u
#define ROUNDS	2000u		/* of filling and emptying a group */
#define ASCENT_KEYS	2000u	/* that are there at a time */
#define ASCENT_END	40000u	/* keys in all, if the walk does not end before */
#define ASCENT_TASKS	32u	/* that put them */

/* How long a walk takes for each block; a random part of it. */
static struct {
	uint64_t ns;
	struct far_rng rng;
} slow;

struct slow_walk {
	struct far_walk walk;
	struct far_walk *inner;
	struct far_task *task;
};

static int slow_block(struct far_walk *walk, uint64_t addr, uint64_t size)
{
	struct slow_walk *mine = (struct slow_walk *)walk;

	if (slow.ns)
		far_sleep(mine->task, 1 + far_rng_below(&slow.rng, slow.ns));
	return mine->inner->block(mine->inner, addr, size);
}

static void slow_problem(struct far_walk *walk, const char *text)
{
	struct slow_walk *mine = (struct slow_walk *)walk;

	mine->inner->problem(mine->inner, text);
}

static int walk_slowly(struct far_task *task, const struct far_dir_entry *entry,
		       struct far_walk *walk)
{
	static const struct far_type *const type[] = {
		&far_hash_type, &far_btree_type, &far_art_type,
	};
	struct slow_walk mine = {
		{ slow_block, walk->problem ? slow_problem : NULL }, walk, task,
	};

	return type[entry->type - FAR_TYPE_HASH]->walk(task, entry, &mine.walk);
}

static struct far_type types[3];
const struct far_type *const far_type_all[] = { &types[0], &types[1], &types[2], NULL };

typedef int each_fn(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len);

/* A kind of structure; the keys have 8 bytes, and a value is the same word some times. */
struct kind {
	const char *name;
	int (*create)(struct far_task *task, void **ret_index);
	int (*open)(struct far_task *task, void **ret_index);
	void (*close)(void *index);
	int (*put)(struct far_task *task, void *index, const uint64_t *key,
		   const uint64_t *value);
	int (*get)(struct far_task *task, void *index, const uint64_t *key, uint64_t *value);
	int (*remove)(struct far_task *task, void *index, const uint64_t *key);
	int (*stat)(struct far_task *task, void *index, uint64_t *ret_keys);
	int (*destroy)(struct far_task *task, const char *name);
	int (*scan)(struct far_task *task, void *index, const struct far_range *range,
		    each_fn *each, void *arg);
};

static int t_hash_create(struct far_task *task, void **ret_index)
{
	const struct far_hash_attr attr = { .expected = 1 };

	return far_hash_create(task, "t", &attr, (struct far_hash **)ret_index);
}

static int t_btree_create(struct far_task *task, void **ret_index)
{
	const struct far_btree_attr attr = { .span = 4, .value_size = 8 * VALUE };

	return far_btree_create(task, "t", &attr, (struct far_btree **)ret_index);
}

static int t_art_create(struct far_task *task, void **ret_index)
{
	return far_art_create(task, "t", (struct far_art **)ret_index);
}

static int t_hash_open(struct far_task *task, void **ret_index)
{
	return far_hash_open(task, "t", (struct far_hash **)ret_index);
}

static void t_hash_close(void *index)
{
	far_hash_close(index);
}

static int t_hash_put(struct far_task *task, void *index, const uint64_t *key,
		 const uint64_t *value)
{
	return far_hash_put(task, index, key, 8, value, 8 * VALUE);
}

static int t_hash_get(struct far_task *task, void *index, const uint64_t *key, uint64_t *value)
{
	return far_hash_get(task, index, key, 8, value, 8 * VALUE,
				   NULL);
}

static int t_hash_remove(struct far_task *task, void *index, const uint64_t *key)
{
	return far_hash_delete(task, index, key, 8);
}

static int t_hash_stat(struct far_task *task, void *index, uint64_t *ret_keys)
{
	struct far_hash_stats stats;
	int err = far_hash_stat(task, index, &stats);

	*ret_keys = err ? 0 : stats.keys;
	return err;
}

static int t_btree_open(struct far_task *task, void **ret_index)
{
	return far_btree_open(task, "t", (struct far_btree **)ret_index);
}

static void t_btree_close(void *index)
{
	far_btree_close(index);
}

static int t_btree_put(struct far_task *task, void *index, const uint64_t *key,
		 const uint64_t *value)
{
	return far_btree_put(task, index, key, 8, value, 8 * VALUE);
}

static int t_btree_get(struct far_task *task, void *index, const uint64_t *key, uint64_t *value)
{
	return far_btree_get(task, index, key, 8, value, 8 * VALUE,
				   NULL);
}

static int t_btree_remove(struct far_task *task, void *index, const uint64_t *key)
{
	return far_btree_delete(task, index, key, 8);
}

static int t_btree_stat(struct far_task *task, void *index, uint64_t *ret_keys)
{
	struct far_btree_stats stats;
	int err = far_btree_stat(task, index, &stats);

	*ret_keys = err ? 0 : stats.keys;
	return err;
}

static int t_art_open(struct far_task *task, void **ret_index)
{
	return far_art_open(task, "t", (struct far_art **)ret_index);
}

static void t_art_close(void *index)
{
	far_art_close(index);
}

static int t_art_put(struct far_task *task, void *index, const uint64_t *key,
		 const uint64_t *value)
{
	return far_art_put(task, index, key, 8, value, 8 * VALUE);
}

static int t_art_get(struct far_task *task, void *index, const uint64_t *key, uint64_t *value)
{
	return far_art_get(task, index, key, 8, value, 8 * VALUE,
				   NULL);
}

static int t_art_remove(struct far_task *task, void *index, const uint64_t *key)
{
	return far_art_delete(task, index, key, 8);
}

static int t_art_stat(struct far_task *task, void *index, uint64_t *ret_keys)
{
	struct far_art_stats stats;
	int err = far_art_stat(task, index, &stats);

	*ret_keys = err ? 0 : stats.keys;
	return err;
}

static int t_btree_scan(struct far_task *task, void *index, const struct far_range *range,
			each_fn *each, void *arg)
{
	return far_btree_scan(task, index, range, each, arg);
}

static int t_art_scan(struct far_task *task, void *index, const struct far_range *range,
		      each_fn *each, void *arg)
{
	return far_art_scan(task, index, range, each, arg);
}

#define t_hash_scan NULL	/* it has no order */

#define KIND(type)							\
	{								\
		#type, t_##type##_create, t_##type##_open, t_##type##_close,	\
		t_##type##_put, t_##type##_get, t_##type##_remove,		\
		t_##type##_stat, far_##type##_destroy, t_##type##_scan,	\
	}

static const struct kind kinds[] = { KIND(hash), KIND(btree), KIND(art) };
#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

struct bed {
	const struct kind *kind;
	struct rig rig;
	void *index[RIG_CLIENTS];
	bool stored[RIG_CLIENTS][KEYS];
	unsigned working;		/* clients */
	unsigned problems, met, walks;
};

/*
 * Key i of a client. Those with the same i % GROUPS lie side by side, and have bytes in
 * common as many as the others have not.
 */
static uint64_t key_of(unsigned client, unsigned i)
{
	uint64_t number = client << 4;

	for (unsigned at = 0; at < 8; at++)
		number |= (uint64_t)(i >> 2 * at & 3) << 8 * (7 - at);
	return __builtin_bswap64(number);
}

static void bed_open(struct bed *bed, unsigned clients, uint64_t size, uint64_t seed)
{
	const struct rig_conf conf = {
		.sim = 1, .nodes = 1, .clients = clients, .size = size, .seed = seed,
	};
	struct far_task *task;

	memset(bed->stored, 0, sizeof(bed->stored));
	bed->problems = bed->met = bed->walks = 0;
	far_rng_init(&slow.rng, seed, 1);
	slow.ns = 0;
	rig_open(&bed->rig, &conf);
	for (unsigned i = 0; i < clients; i++) {
		task = rig_enter(&bed->rig, i);
		assert_int_equal(i ? bed->kind->open(task, &bed->index[i]) :
				 bed->kind->create(task, &bed->index[i]), 0);
		far_leave(task);
	}
}

/* The space is whole. */
static void bed_close(struct bed *bed)
{
	slow.ns = 0;
	for (unsigned i = 0; i < bed->rig.conf.clients; i++)
		bed->kind->close(bed->index[i]);
	for (unsigned i = 1; i < bed->rig.conf.clients; i++)
		rig_leave(&bed->rig, i);
	assert_int_equal(rig_space_problems(&bed->rig, 0), 0);
	rig_close(&bed->rig);
}

static int key_put(struct bed *bed, struct far_task *task, unsigned client, unsigned i)
{
	uint64_t key = key_of(client, i), value[VALUE];
	int err;

	for (unsigned at = 0; at < VALUE; at++)
		value[at] = ~key;
	err = bed->kind->put(task, bed->index[client], &key, value);
	bed->stored[client][i] |= !err;
	return err;
}

static int key_remove(struct bed *bed, struct far_task *task, unsigned client, unsigned i)
{
	uint64_t key = key_of(client, i);
	int err = bed->kind->remove(task, bed->index[client], &key);

	bed->stored[client][i] &= !!err;
	return err;
}

/* Each key is there as it was stored, or not. */
static void keys_check(struct bed *bed, struct far_task *task, unsigned client)
{
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t key = key_of(client, i), value[VALUE];
		int err;

		if (!bed->stored[client][i] && i > BESIDE)
			continue;
		err = bed->kind->get(task, bed->index[client], &key, value);
		if (err != (bed->stored[client][i] ? 0 : -ENOENT) ||
		    (!err && (value[0] != ~key || value[VALUE - 1] != ~key)))
			fail_msg("%s, client %u, key %u: %d", bed->kind->name, client, i, err);
	}
}

/* Takes the keys of a group away, or puts them back: those below nr. */
static void group_toggle(struct bed *bed, struct far_task *task, unsigned client,
			 unsigned group, unsigned nr, uint64_t ns)
{
	bool stored = bed->stored[client][group];
	int err;

	for (unsigned i = group; i < nr; i += GROUPS) {
		err = stored ? key_remove(bed, task, client, i) :
			       key_put(bed, task, client, i);
		if (err)
			fail_msg("%s, key %u, %s: %d", bed->kind->name, i,
				 stored ? "removed" : "put", err);
		if (ns)
			far_sleep(task, ns);
	}
}

struct walking {
	struct far_walk walk;
	struct bed *bed;
};

static int met_block(struct far_walk *walk, uint64_t addr, uint64_t size)
{
	(void)addr;
	(void)size;
	((struct walking *)walk)->bed->met++;
	return 0;
}

static void met_problem(struct far_walk *walk, const char *text)
{
	print_error("%s\n", text);
	((struct walking *)walk)->bed->problems++;
}

/* All of the structure, as a check walks it. */
static void walk_all(struct bed *bed, struct far_task *task)
{
	struct walking walking = { { met_block, met_problem }, bed };
	struct far_dir_entry entry;

	assert_int_equal(far_dir_find(task, "t", &entry), 0);
	assert_int_equal(walk_slowly(task, &entry, &walking.walk), 0);
}

static void walk_once(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	walk_all(bed, task);
	bed->working--;
}

/* A client fills the space but for some whole pages: then nodes and tables split. */
static unsigned fill(struct bed *bed, struct far_task *task, unsigned client)
{
	uint64_t spare;
	unsigned i;
	int err;

	assert_int_equal(far_block_alloc(task, 0, SPARE_BYTES, &spare), 0);
	for (err = i = 0; i < KEYS && !err; i++)
		err = key_put(bed, task, client, i);
	assert_int_equal(err, -ENOSPC);
	far_block_free(task, spare, SPARE_BYTES);
	return i - 1;
}

/* A client in a space that is nearly full, beside a walk that takes seconds. */
static void reclaim_run(const struct kind *kind)
{
	static struct bed bed;
	struct far_thread *thread;
	struct far_task *task;
	struct far_rng rng;
	unsigned nr, runs = 0;
	uint64_t from;

	bed.kind = kind;
	bed_open(&bed, 2, FULL_SIZE + CHUNK, 11);
	far_rng_init(&rng, 11, 2);
	task = rig_enter(&bed.rig, 1);
	nr = fill(&bed, task, 1);
	for (unsigned group = 0; group < SPARE; group++)
		group_toggle(&bed, task, 1, group, nr, 0);
	slow.ns = MS;
	bed.working = 1;
	from = far_now(task);
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, walk_once, &bed, &thread), 0);
	for (; bed.working; runs++)
		group_toggle(&bed, task, 1, far_rng_below(&rng, SPARE), nr, MS / 10);
	print_message("%s: %u keys, %u runs in %u ms\n", kind->name, nr, runs,
		      (unsigned)((far_now(task) - from) / MS));
	far_thread_join(thread);
	assert_int_equal(bed.problems, 0);
	assert_true(bed.met > FORM_WALK_TRIPS);
	keys_check(&bed, task, 1);
	far_leave(task);
	bed_close(&bed);
}

static void others_reclaim(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		reclaim_run(&kinds[i]);
}

/* Something may be lost: each client looks for it. */
static void sweep_once(struct far_task *task)
{
	struct far_client *client = far_task_client(task);
	uint64_t sweeps = atomic_load(&client->sweeps);

	far_alloc_lost(task);
	while (atomic_load(&client->sweeps) < sweeps + 1)
		far_sleep(task, MS);
}

static void first_works(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	uint64_t keys;

	for (; bed->working; bed->walks++) {
		sweep_once(task);
		walk_all(bed, task);
		assert_int_equal(bed->kind->stat(task, bed->index[0], &keys), 0);
	}
}

static void other_works(struct far_task *task, void *arg)
{
	struct bed *bed = arg;
	unsigned client = task->thread->far == bed->rig.far[1] ? 1 : 2;
	struct far_rng rng;

	far_rng_init(&rng, bed->rig.conf.seed, client);
	for (unsigned i = 0; i < ROUNDS; i++)
		group_toggle(bed, task, client, far_rng_below(&rng, BESIDE_GROUPS), BESIDE,
			     1 + far_rng_below(&rng, MS / 10));
	bed->working--;
}

static void beside_run(const struct kind *kind, uint64_t seed)
{
	static struct bed bed;
	struct far_thread *thread[3];
	struct far_task *task;

	bed.kind = kind;
	bed_open(&bed, 3, UINT64_C(8) << 20, seed);
	for (unsigned i = 0; i < 3; i++) {
		task = rig_enter(&bed.rig, i);
		for (unsigned group = 0; group < GROUPS; group += 3)
			group_toggle(&bed, task, i, group, BESIDE, 0);
		far_leave(task);
	}
	slow.ns = MS / 5;
	bed.working = 2;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(far_thread_start(bed.rig.far[i], 1, i ? other_works :
						  first_works, &bed, &thread[i]), 0);
	for (unsigned i = 0; i < 3; i++)
		far_thread_join(thread[i]);
	assert_int_equal(bed.problems, 0);
	assert_true(bed.walks > 1);
	slow.ns = 0;
	for (unsigned i = 0; i < 3; i++) {
		task = rig_enter(&bed.rig, i);
		keys_check(&bed, task, i);
		far_leave(task);
	}
	bed_close(&bed);
}

/* Sweeps, checks and statistics beside clients that insert and delete. */
static void beside_others(void **state)
{
	unsigned seeds = nightly() ? 200 : 3;

	(void)state;
	for (unsigned seed = 1; seed <= seeds; seed++) {
		for (unsigned i = 0; i < KINDS; i++)
			beside_run(&kinds[i], seed);
	}
}

/* What a destroy has not retired itself comes back, too. */
static void destroy_run(const struct kind *kind)
{
	static struct bed bed;
	struct far_task *task;
	unsigned nr;

	bed.kind = kind;
	bed_open(&bed, 1, FULL_SIZE, 3);
	task = rig_enter(&bed.rig, 0);
	nr = fill(&bed, task, 0);
	assert_true(nr > FORM_DESTROY_BLOCKS);
	kind->close(bed.index[0]);
	assert_int_equal(kind->destroy(task, "t"), 0);
	assert_int_equal(kind->create(task, &bed.index[0]), 0);
	memset(bed.stored[0], 0, sizeof(bed.stored[0]));
	for (unsigned i = 0; i < nr - nr / 16; i++)
		assert_int_equal(key_put(&bed, task, 0, i), 0);
	far_leave(task);
	bed_close(&bed);
}

static void destroy_large(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		destroy_run(&kinds[i]);
}

/* A structure ends, and its memory becomes another one's, while it is walked. */
static void gone_run(const struct kind *kind)
{
	static struct bed bed;
	struct far_thread *thread;
	struct far_task *task;
	unsigned met;

	bed.kind = kind;
	bed_open(&bed, 2, UINT64_C(5) << 20, 5);
	task = rig_enter(&bed.rig, 1);
	for (unsigned i = 0; i < BESIDE; i++)
		assert_int_equal(key_put(&bed, task, 1, i), 0);
	slow.ns = MS;
	bed.working = 1;
	bed.met = 0;
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, walk_once, &bed, &thread), 0);
	while (bed.met < 100)
		far_sleep(task, MS);
	kind->close(bed.index[1]);
	assert_int_equal(kind->destroy(task, "t"), 0);
	assert_int_equal(kind->create(task, &bed.index[1]), 0);
	memset(bed.stored[1], 0, sizeof(bed.stored[1]));
	for (unsigned i = 0; i < 2 * BESIDE && bed.working; i++) {
		assert_int_equal(key_put(&bed, task, 1, i), 0);
		far_sleep(task, MS / 4);
	}
	met = bed.met;
	far_thread_join(thread);
	assert_int_equal(bed.problems, 0);
	print_message("%s: it had met %u blocks\n", kind->name, met);
	keys_check(&bed, task, 1);
	far_leave(task);
	bed_close(&bed);
}

static void gone_meanwhile(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		gone_run(&kinds[i]);
}

/* Keys in order, of which the tree has the last ones, and of which more come all the time. */
static struct {
	uint64_t next;
	bool down;	/* in the other order */
	unsigned given;	/* by a scan */
} ascent;

static uint64_t ascent_key(uint64_t number)
{
	return __builtin_bswap64(ascent.down ? UINT32_MAX - number : number);
}

static int ascent_step(struct bed *bed, struct far_task *task, unsigned client)
{
	uint64_t number = ascent.next++, value[VALUE] = { number };
	uint64_t key = ascent_key(number), old = ascent_key(number - ASCENT_KEYS);
	int err = bed->kind->put(task, bed->index[client], &key, value);

	if (!err && number >= ASCENT_KEYS)
		err = bed->kind->remove(task, bed->index[client], &old);
	/* whoever was to put that one has not come to it */
	return err == -ENOENT ? 0 : err;
}

static void ascent_works(struct far_task *task, void *arg)
{
	struct bed *bed = arg;

	while (bed->working && ascent.next < ASCENT_END) {
		assert_int_equal(ascent_step(bed, task, 1), 0);
		far_sleep(task, 1);
	}
}

static void ascent_run(const struct kind *kind)
{
	static struct bed bed;
	struct far_thread *thread[2];
	struct far_task *task;

	bed.kind = kind;
	bed_open(&bed, 2, UINT64_C(16) << 20, 7);
	task = rig_enter(&bed.rig, 1);
	for (ascent.next = 0; ascent.next < ASCENT_KEYS;)
		assert_int_equal(ascent_step(&bed, task, 1), 0);
	slow.ns = MS / 2;
	bed.working = 1;
	assert_int_equal(far_thread_start(bed.rig.far[0], 1, walk_once, &bed, &thread[0]), 0);
	assert_int_equal(far_thread_start(bed.rig.far[1], ASCENT_TASKS, ascent_works, &bed,
					  &thread[1]), 0);
	far_leave(task);
	far_thread_join(thread[0]);
	print_message("%s: %u blocks, while %u keys came\n", kind->name, bed.met,
		      (unsigned)(ascent.next - ASCENT_KEYS));
	assert_true(ascent.next < ASCENT_END);
	assert_true(bed.met > FORM_WALK_TRIPS);
	far_thread_join(thread[1]);
	assert_int_equal(bed.problems, 0);
	bed_close(&bed);
}

static void ends_beside_ascent(void **state)
{
	(void)state;
	for (unsigned i = 1; i < KINDS; i++)
		ascent_run(&kinds[i]);
}

static int ascent_given(void *arg, const void *key, size_t key_len, const void *value,
			size_t value_len)
{
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	ascent.given++;
	far_sleep(arg, 1 + far_rng_below(&slow.rng, MS / 4));
	return 0;
}

static void scan_run(const struct kind *kind, bool down, bool ranged)
{
	static struct bed bed;
	const uint64_t from = 0, to = UINT64_MAX;
	const struct far_range range = {
		.flags = down ? FAR_RANGE_DOWN : 0,
		.from = ranged ? &from : NULL, .from_len = ranged ? sizeof(from) : 0,
		.to = ranged ? &to : NULL, .to_len = ranged ? sizeof(to) : 0,
	};
	struct far_thread *thread;
	struct far_task *task;

	bed.kind = kind;
	bed_open(&bed, 2, UINT64_C(16) << 20, 9);
	task = rig_enter(&bed.rig, 1);
	ascent.down = down;
	ascent.given = 0;
	for (ascent.next = 0; ascent.next < ASCENT_KEYS;)
		assert_int_equal(ascent_step(&bed, task, 1), 0);
	far_leave(task);
	bed.working = 1;
	assert_int_equal(far_thread_start(bed.rig.far[1], ASCENT_TASKS, ascent_works, &bed,
					  &thread), 0);
	task = rig_enter(&bed.rig, 0);
	assert_int_equal(kind->scan(task, bed.index[0], &range, ascent_given, task), 0);
	far_leave(task);
	print_message("%s: %u keys given, while %u came\n", kind->name, ascent.given,
		      (unsigned)(ascent.next - ASCENT_KEYS));
	assert_true(ascent.next < ASCENT_END);
	bed.working = 0;
	far_thread_join(thread);
	bed_close(&bed);
	ascent.down = false;
}

static void scan_ends_beside_ascent(void **state)
{
	(void)state;
	for (unsigned i = 1; i < KINDS; i++)
		for (unsigned way = 0; way < 4; way++)
			scan_run(&kinds[i], way & 1, way & 2);
}

int main(void)
{
	const struct far_type *const type[] = { &far_hash_type, &far_btree_type, &far_art_type };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_reclaim),
		cmocka_unit_test(beside_others),
		cmocka_unit_test(destroy_large),
		cmocka_unit_test(gone_meanwhile),
		cmocka_unit_test(ends_beside_ascent),
		cmocka_unit_test(scan_ends_beside_ascent),
	};

	for (unsigned i = 0; i < 3; i++) {
		types[i] = *type[i];
		types[i].walk = walk_slowly;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
