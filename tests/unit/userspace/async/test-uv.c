// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libuv's event loop drives the calls: it watches the queue's descriptor beside a timer, and
 * each result that it takes submits the next call. Values are put, then all are got.
 */
#include <string.h>
#include <uv.h>

#include <far/async.h>

#include "../hash/rig.h"

#define NR_KEYS		2000u
#define NR_CALLS	32u	/* at the same time */

struct loop {
	struct far_async *async;
	struct far_hash *hash;
	uv_loop_t uv;
	uv_poll_t poll;
	uv_timer_t timer;
	uint64_t key[NR_CALLS], value[NR_CALLS];
	uint64_t next, done, ticks;	/* the next key; results; of the timer */
	unsigned op;
};

static uint64_t value_of(uint64_t key)
{
	return key * key + 1;
}

static void next_submit(struct loop *loop, uint64_t at)
{
	struct far_call call = {
		.tag = at, .on = FAR_ASYNC_HASH, .op = loop->op, .handle = loop->hash,
		.key = &loop->key[at], .key_len = sizeof(loop->key[at]),
		.value = &loop->value[at], .value_len = sizeof(loop->value[at]),
	};

	loop->key[at] = loop->next++;
	loop->value[at] = loop->op == FAR_ASYNC_PUT ? value_of(loop->key[at]) : 0;
	assert_int_equal(far_async_submit(loop->async, &call), 0);
}

static void result_note(struct loop *loop, const struct far_result *result)
{
	assert_int_equal(result->status, 0);
	assert_int_equal(loop->value[result->tag], value_of(loop->key[result->tag]));
	loop->done++;
	if (loop->next < NR_KEYS)
		next_submit(loop, result->tag);
}

static void on_results(uv_poll_t *poll, int status, int events)
{
	struct loop *loop = poll->data;
	struct far_result result[8];
	int nr;

	assert_int_equal(status, 0);
	assert_int_equal(events, UV_READABLE);
	nr = far_async_poll(loop->async, result, 8);
	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++)
		result_note(loop, &result[i]);
	if (loop->done == NR_KEYS)
		uv_stop(&loop->uv);
}

static void on_timer(uv_timer_t *timer)
{
	struct loop *loop = timer->data;

	loop->ticks++;
}

/* All keys once, by calls of one kind. */
static void keys_run(struct loop *loop, unsigned op)
{
	loop->op = op;
	loop->next = loop->done = 0;
	for (unsigned at = 0; at < NR_CALLS; at++)
		next_submit(loop, at);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	assert_int_equal(loop->done, NR_KEYS);
}

static void loop_open(struct loop *loop, struct rig *rig)
{
	const struct far_async_attr attr = { .depth = NR_CALLS };
	struct far_task *task = rig_enter(rig, 0);

	assert_int_equal(far_hash_create(task, "h", NULL, &loop->hash), 0);
	assert_int_equal(far_leave(task), 0);
	assert_int_equal(far_async_open(rig->far[0], &attr, &loop->async), 0);
	assert_int_equal(uv_loop_init(&loop->uv), 0);
	assert_int_equal(uv_poll_init(&loop->uv, &loop->poll, far_async_fd(loop->async)), 0);
	assert_int_equal(uv_timer_init(&loop->uv, &loop->timer), 0);
	loop->poll.data = loop->timer.data = loop;
	assert_int_equal(uv_poll_start(&loop->poll, UV_READABLE, on_results), 0);
	assert_int_equal(uv_timer_start(&loop->timer, on_timer, 1, 1), 0);
}

static void loop_close(struct loop *loop)
{
	uv_close((uv_handle_t *)&loop->poll, NULL);
	uv_close((uv_handle_t *)&loop->timer, NULL);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop->uv), 0);
	assert_int_equal(far_async_close(loop->async), 0);
	far_hash_close(loop->hash);
}

static void test_uv(void **state)
{
	static struct loop loop;
	struct rig rig;

	rig_open(&rig, *state);
	loop_open(&loop, &rig);
	keys_run(&loop, FAR_ASYNC_PUT);
	keys_run(&loop, FAR_ASYNC_GET);
	assert_true(loop.ticks > 0);
	loop_close(&loop);
	rig_close(&rig);
}

int main(int argc, char **argv)
{
	struct rig_conf conf = { .soft = argc > 1 && !strcmp(argv[1], "soft") };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_uv, &conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
