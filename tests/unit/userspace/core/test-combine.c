/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Combining, in all interleavings of a few tasks, over a key that is one word of
 * memory: each history must be linearizable. The papers' window, and windows that
 * close too late, must be found wrong.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../lib/nightly.h"
#include "../../../../userspace/core/combine.h"
#include "../../../../userspace/core/deadline.h"
#include "../../../../userspace/core/stats.h"
#include "../../../../userspace/core/task.h"
#include "../../kmod/weave.h"

#define TASKS	3

struct far_task {
	bool resumed;
	unsigned sleeps;
};

void far_task_suspend(struct far_task *task)
{
	weave_wait(&task->resumed);
	task->resumed = false;
	task->sleeps++;
}

void far_task_resume(struct far_task *task)
{
	task->resumed = true;
}

struct far_thread *far_task_hold(struct far_task *task)
{
	return NULL;
}

void far_task_unhold(struct far_thread *thread)
{
}

void far_spend(struct far_task *task, uint64_t ns)
{
}

bool far_op_is_late(struct far_task *task)
{
	return false;
}

bool far_op_has_own(const struct far_task *task)
{
	return false;
}

static uint64_t combined;

void far_count(struct far_task *task, enum far_count what, uint64_t n)
{
	if (what == FAR_COUNT_COMBINED)
		combined += n;
}

/* What the leader does wrong. */
enum wrong {
	RIGHT,
	READ_FIRST,	/* the window of a READ closes when it is done */
	CAS_FIRST,	/* that of a CAS too */
};

enum how_it_goes { PLAIN, UNKNOWN_FATE, ERROR_FIRST };

struct call {
	enum far_combine_kind kind;
	bool alone;		/* another client's: without combining */
	unsigned key;		/* its number, and whether its hash is one of its own */
	bool own_hash;
	unsigned value;		/* that it stores; what a get got */
	unsigned saw;		/* a function, when it was asked last */
	int status;
	unsigned began, ended;
};

struct scene {
	struct call call[TASKS];
	unsigned nr;
	bool present;
	enum wrong wrong;
	enum how_it_goes goes;
};

static struct scene scene;
static struct far_task tasks[TASKS];
static struct far_combine_table *table;
static unsigned clock_now;
static bool failed_once;
static unsigned long nr_wrong;

/* A key in far memory: 0 if it is not there, else a value below a number of its own. */
static uint64_t slot[2];
static uint64_t nr_slots;

#define VALUE(word)	((unsigned)((word) & 0xff))

static uint64_t word_new(unsigned value)
{
	return ++nr_slots << 8 | value;
}

static uint64_t slot_read(unsigned key)
{
	uint64_t word;

	weave_step();
	word = slot[key];
	weave_step();
	return word;
}

/* What it found. */
static uint64_t slot_cas(unsigned key, uint64_t from, uint64_t to)
{
	uint64_t word;

	weave_step();
	word = slot[key];
	if (word == from)
		slot[key] = to;
	weave_step();
	return word;
}

/* Whether the net operation changes a key that is, or is not, there. */
static bool changes(enum far_combine_kind kind, bool present)
{
	switch (kind) {
	case FAR_COMBINE_GET:
		return false;
	case FAR_COMBINE_PUT:
		return true;
	case FAR_COMBINE_INSERT:
		return !present;
	default:
		return present;
	}
}

static uint64_t word_for(const struct far_combine_op *source)
{
	return source->kind == FAR_COMBINE_DELETE ? 0 :
	       word_new(*(const uint8_t *)source->value);
}

static void close_window(struct far_combine_batch *batch)
{
	if (scene.wrong != CAS_FIRST)
		far_combine_publish(batch);
}

/* Whether the leader's first change fails, and with which fate. */
static bool fate_is_unknown(unsigned key, uint64_t from, uint64_t to)
{
	if (scene.goes != UNKNOWN_FATE || failed_once)
		return false;
	failed_once = true;
	if (nr_slots & 1)
		slot_cas(key, from, to);
	return true;
}

/* Stores what is not there, and deletes what is. */
static enum far_modified toggle(void *arg, struct far_value *value)
{
	struct call *call = arg;
	static uint8_t mine[TASKS];
	uint8_t *room = &mine[call - scene.call];

	call->saw = value->data ? *(const uint8_t *)value->data : 0;
	if (call->saw)
		return FAR_DELETE;
	*room = 10 + (call - scene.call);
	*value = (struct far_value) { room, 1 };
	return FAR_STORE;
}

static uint64_t word_of_state(const struct far_state *state)
{
	return state->present ? word_new(*(const uint8_t *)state->value) : 0;
}

/* The same of a batch with functions, from what was read. */
static struct far_combine_result lead_modify(struct far_combine_batch *batch, unsigned key,
					     uint64_t word, uint8_t *room)
{
	struct far_combine_result result = { .value = room, .value_len = 1 };
	struct far_state state;
	uint64_t to;

	for (;;) {
		*room = VALUE(word);
		result.present = word != 0;
		state = far_state_read(word ? room : NULL, 1);
		far_combine_modify(batch, &state);
		if (!far_state_publishes(&state))
			return result;
		to = word_of_state(&state);
		close_window(batch);
		if (fate_is_unknown(key, word, to))
			return (struct far_combine_result) { .err = -EIO, .unknown = 1 };
		result.published = slot_cas(key, word, to) == word;
		if (result.published)
			return result;
		far_combine_lost(batch);
		far_combine_again(batch);
		word = slot_read(key);
	}
}

/* One attempt at the net operation. */
static struct far_combine_result lead(struct far_combine_batch *batch, unsigned key,
				      uint8_t *room)
{
	struct far_combine_result result = { 0 };
	uint64_t word, found, to;

	if (scene.wrong != READ_FIRST)
		far_combine_plan(batch);
	word = slot_read(key);
	if (scene.wrong == READ_FIRST)
		far_combine_plan(batch);
	if (scene.goes == ERROR_FIRST && !failed_once) {
		failed_once = true;
		result.err = -ENOSPC;
		return result;
	}
	if (batch->kind == FAR_COMBINE_MODIFY)
		return lead_modify(batch, key, word, room);
	while (changes(batch->kind, word)) {
		to = word_for(batch->source);
		close_window(batch);
		if (fate_is_unknown(key, word, to)) {
			result.err = -EIO;
			result.unknown = 1;
			return result;
		}
		found = slot_cas(key, word, to);
		if (scene.wrong == CAS_FIRST && found == word)
			far_combine_publish(batch);
		if (found == word) {
			result.published = 1;
			result.present = word != 0;
			return result;
		}
		far_combine_lost(batch);
		word = found;
	}
	*room = VALUE(word);
	result.present = word != 0;
	/* An insert that found the key has read no value. */
	result.value = batch->kind == FAR_COMBINE_GET ? room : NULL;
	result.value_len = 1;
	return result;
}

static int modify_alone(struct call *call, const struct far_modify *modify)
{
	struct far_state state;
	uint64_t word;
	uint8_t value;

	do {
		word = slot_read(call->key);
		value = VALUE(word);
		state = far_state_read(word ? &value : NULL, 1);
		assert_int_equal(far_modify_apply(modify, &state), 0);
	} while (slot_cas(call->key, word, word_of_state(&state)) != word);
	return 0;
}

/* Without combining. */
static int alone(struct call *call, const uint8_t *value, uint8_t *room)
{
	const struct far_modify modify = { .function = toggle, .arg = call, .most = 1 };
	uint64_t word, found;

	if (call->kind == FAR_COMBINE_MODIFY)
		return modify_alone(call, &modify);
	word = slot_read(call->key);
	while (changes(call->kind, word)) {
		found = slot_cas(call->key, word, call->kind == FAR_COMBINE_DELETE ? 0 :
				 word_new(*value));
		if (found == word)
			return 0;
		word = found;
	}
	*room = VALUE(word);
	if (call->kind == FAR_COMBINE_INSERT)
		return -EEXIST;
	return word ? 0 : -ENOENT;
}

static int combining(struct call *call, struct far_task *task, const uint8_t *value,
		     uint8_t *room)
{
	const struct far_modify modify = { .function = toggle, .arg = call, .most = 1 };
	struct far_combine_op op = {
		.hash = call->own_hash ? 6 : 5,
		.key = call->key ? "kez" : "key",
		.key_len = 3,
		.value = value,
		.value_len = 1,
		.room = room,
		.room_len = 1,
		.kind = call->kind,
		.modify = &modify,
	};
	struct far_combine_batch batch;
	enum far_combine_how how = far_combine_begin(task, table, &op, &batch);
	struct far_combine_result result;
	uint8_t read;

	while (how == FAR_COMBINE_LEAD) {
		result = lead(&batch, call->key, &read);
		how = far_combine_end(&batch, &result);
	}
	if (how == FAR_COMBINE_ALONE)
		return alone(call, value, room);
	assert_true(op.status || op.kind != FAR_COMBINE_GET || op.len == 1);
	return op.status;
}

static void run_task(unsigned i)
{
	struct call *call = &scene.call[i];
	uint8_t value = 10 + i, room = 0;

	weave_step();
	call->began = ++clock_now;
	call->status = call->alone ? alone(call, &value, &room) :
		       combining(call, &tasks[i], &value, &room);
	call->value = call->kind == FAR_COMBINE_GET ? room : value;
	call->ended = ++clock_now;
}

static void task_0(void) { run_task(0); }
static void task_1(void) { run_task(1); }
static void task_2(void) { run_task(2); }

static void scene_init(void)
{
	memset(tasks, 0, sizeof(tasks));
	nr_slots = 0;
	slot[0] = scene.present ? word_new(1) : 0;
	slot[1] = 0;
	clock_now = 0;
	failed_once = false;
}

/* The status and value that an operation has on that key; the key after it. */
static bool call_is(const struct call *call, unsigned *key)
{
	unsigned was = *key;
	bool there = *key;

	if (call->kind == FAR_COMBINE_MODIFY) {
		*key = there ? 0 : call->value;
		return !call->status && (there ? call->saw == was : !call->saw);
	}
	switch (call->kind) {
	case FAR_COMBINE_GET:
		return there ? !call->status && call->value == *key :
			       call->status == -ENOENT;
	case FAR_COMBINE_INSERT:
		if (there)
			return call->status == -EEXIST;
		break;
	case FAR_COMBINE_UPDATE:
	case FAR_COMBINE_DELETE:
		if (!there)
			return call->status == -ENOENT;
		break;
	default:
		break;
	}
	*key = call->kind == FAR_COMBINE_DELETE ? 0 : call->value;
	return !call->status;
}

/* Whether the calls that are not in done have an order in which they are right. */
static bool linearizable(unsigned done, unsigned key)
{
	unsigned i, k;

	if (done == (1u << scene.nr) - 1)
		return key == VALUE(slot[0]);
	for (i = 0; i < scene.nr; i++) {
		const struct call *call = &scene.call[i];
		struct call known = *call;
		unsigned after = key;

		if (done >> i & 1)
			continue;
		for (k = 0; k < scene.nr; k++)
			if (!(done >> k & 1) && scene.call[k].ended < call->began)
				break;
		if (k < scene.nr)
			continue;
		/* An operation of unknown fate happened, or not at all. */
		if (call->status == -EIO) {
			if (linearizable(done | 1u << i, key))
				return true;
			known.status = 0;
			known.saw = key;
		}
		if (call_is(&known, &after) && linearizable(done | 1u << i, after))
			return true;
	}
	return false;
}

/* The last one is of the other key, and goes its way. */
static bool other_key_is_right(void)
{
	const struct call *call = &scene.call[scene.nr - 1];

	if (!call->key)
		return true;
	scene.nr--;
	return !call->status && VALUE(slot[1]) == call->value;
}

static void scene_check(void)
{
	unsigned nr = scene.nr;
	bool right = other_key_is_right() && linearizable(0, scene.present ? 1 : 0);

	scene.nr = nr;
	if (right)
		return;
	if (!scene.wrong)
		fail_msg("%u %u %u of key that is %sthere: status %d %d %d, value %u %u %u, "
			 "left %u", scene.call[0].kind, scene.call[1].kind,
			 scene.call[2].kind, scene.present ? "" : "not ",
			 scene.call[0].status, scene.call[1].status,
			 scene.call[2].status, scene.call[0].value,
			 scene.call[1].value, scene.call[2].value, VALUE(slot[0]));
	nr_wrong++;
}

static void scene_weave(const struct scene *what, unsigned preemptions)
{
	struct weave weave = {
		.init = scene_init,
		.thread = { task_0, task_1, task_2 },
		.nr = what->nr,
		.check = scene_check,
		.preemptions = preemptions,
	};

	scene = *what;
	assert_int_equal(far_combine_new(1, &table), 0);
	assert_true(weave_all(&weave) > 1);
	far_combine_free(table);
}

/* Two tasks, each kind with each: every interleaving. */
static void test_pairs(void **state)
{
	unsigned a, b, present;

	combined = 0;
	for (a = FAR_COMBINE_GET; a <= FAR_COMBINE_MODIFY; a++)
		for (b = a; b <= FAR_COMBINE_MODIFY; b++)
			for (present = 0; present < 2; present++)
				scene_weave(&(struct scene) {
					.call = { { .kind = a }, { .kind = b } },
					.nr = 2,
					.present = present,
				}, 0);
	assert_true(combined > 0);
}

static unsigned preemptions(void)
{
	return nightly() ? 4 : 2;
}

/* Three of each kind. Tasks are alike, so that their order makes no difference. */
static void triples(enum how_it_goes goes, bool foreign)
{
	unsigned a, b, c, present;

	for (a = FAR_COMBINE_GET; a <= FAR_COMBINE_MODIFY; a++)
		for (b = a; b <= FAR_COMBINE_MODIFY; b++)
			for (c = foreign ? FAR_COMBINE_GET : b; c <= FAR_COMBINE_MODIFY; c++)
				for (present = 0; present < 2; present++)
					scene_weave(&(struct scene) {
						.call = {
							{ .kind = a }, { .kind = b },
							{ .kind = c, .alone = foreign },
						},
						.nr = 3,
						.present = present,
						.goes = goes,
					}, preemptions());
}

static void test_triples(void **state)
{
	triples(PLAIN, false);
}

/* The third one is another client's, so that CAS are lost. */
static void test_foreign(void **state)
{
	triples(PLAIN, true);
}

static void test_unknown_fate(void **state)
{
	triples(UNKNOWN_FATE, false);
}

static void test_error(void **state)
{
	triples(ERROR_FIRST, false);
}

/* Another key of the same hash, or of the same bucket, is never mixed up. */
static void test_conflicts(void **state)
{
	unsigned own;

	for (own = 0; own < 2; own++)
		scene_weave(&(struct scene) {
			.call = {
				{ .kind = FAR_COMBINE_GET }, { .kind = FAR_COMBINE_PUT },
				{ .kind = FAR_COMBINE_PUT, .key = 1, .own_hash = own },
			},
			.nr = 3,
		}, 3);
}

static unsigned long wrongs(enum wrong wrong, enum far_combine_kind a,
			    enum far_combine_kind b, enum far_combine_kind c)
{
	nr_wrong = 0;
	scene_weave(&(struct scene) {
		.call = { { .kind = a }, { .kind = b }, { .kind = c, .alone = true } },
		.nr = 3,
		/* functions that come to nothing publish nothing */
		.present = a != FAR_COMBINE_MODIFY,
		.wrong = wrong,
	}, 4);
	return nr_wrong;
}

/* The window of the papers: as long as the operation lasts. */
static void test_wrong_windows(void **state)
{
	assert_true(wrongs(READ_FIRST, FAR_COMBINE_GET, FAR_COMBINE_GET,
			   FAR_COMBINE_PUT) > 0);
	assert_true(wrongs(READ_FIRST, FAR_COMBINE_MODIFY, FAR_COMBINE_MODIFY,
			   FAR_COMBINE_PUT) > 0);
	assert_true(wrongs(CAS_FIRST, FAR_COMBINE_PUT, FAR_COMBINE_GET,
			   FAR_COMBINE_PUT) > 0);
	assert_true(wrongs(CAS_FIRST, FAR_COMBINE_PUT, FAR_COMBINE_PUT,
			   FAR_COMBINE_GET) > 0);
}

/* Ends what has begun, alone. */
static void once(uint64_t hash, bool hot)
{
	assert_int_equal(far_combine_hot(table, hash), hot);
	far_combine_gone(table, hash, false);
}

/*
 * A key is hot once two operations of it have met, and while they go on to; not one that
 * is asked for often, one at a time.
 */
static void test_heat(void **state)
{
	const uint64_t key = UINT64_C(5) << 48, other = UINT64_C(6) << 48;
	unsigned i;

	(void)state;
	assert_int_equal(far_combine_new(1, &table), 0);
	for (i = 0; i < 1000; i++)
		once(key, false);
	assert_false(far_combine_hot(table, key));
	once(key, true);
	once(key, true);
	far_combine_gone(table, key, false);
	/* what is combined keeps it hot, also beside another key of its cell */
	for (i = 0; i < 1000; i++) {
		assert_true(far_combine_hot(table, key));
		far_combine_gone(table, key, i % 4 == 0);
		if (i % 4 == 0)
			once(other, false);
	}
	/* and what is not makes it cold, after a while */
	for (i = 0; i < 1000; i++) {
		far_combine_hot(table, key);
		far_combine_gone(table, key, false);
	}
	once(key, false);
	/* then the other one may have the cell */
	assert_false(far_combine_hot(table, other));
	assert_true(far_combine_hot(table, other));
	far_combine_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_triples),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_unknown_fate),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_wrong_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
