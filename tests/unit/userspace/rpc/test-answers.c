/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What handlers answer reaches the caller, or an error that is true: any status, and lengths that
 * no response can have.
 */
#include "bed.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SECOND	UINT64_C(1000000000)

/* Answers with the status and the length that it is asked for. */
static int as_asked(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	int64_t word[2];

	memcpy(word, request, len);
	*ret_len = word[1];
	return word[0];
}

static int ask(struct far_rpc_thread *thread, unsigned handler, int64_t status, size_t len,
	       struct far_rpc_reply *ret_reply)
{
	static uint8_t data[FAR_RPC_DATA_MAX];
	int64_t word[2] = { status, len };

	return far_rpc_call(thread, handler, word, sizeof(word), 10 * SECOND, data, sizeof(data),
			    ret_reply);
}

static void serve(struct bed *bed, struct far_rpc_thread **ret_thread)
{
	static far_rpc_fn *const handlers[] = { as_asked };
	struct far_rpc_server_attr attr = { .service = "test", .handlers = handlers,
					    .nr_handlers = 1 };

	bed_open(bed, BED_MEM, 1, 0, 1);
	far_rpc_stop(bed->server);
	assert_int_equal(rpc_serve_nic(bed->nic[1], &attr, &bed->server), 0);
	bed_connect(bed, 1, 16);
	assert_int_equal(far_rpc_join(bed->rpc, ret_thread), 0);
}

static void leave(struct bed *bed, struct far_rpc_thread *thread)
{
	far_rpc_leave(thread);
	bed_close(bed);
}

static void a_handler_may_return_any_number(void **state)
{
	static const int status[] = { 0, -1, INT_MAX, INT_MIN };
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	unsigned i;

	serve(&bed, &thread);
	for (i = 0; i < 4; i++) {
		assert_int_equal(ask(thread, 0, status[i], 8, &reply), 0);
		assert_int_equal(reply.status, status[i]);
		assert_int_equal(reply.len, 8);
	}
	leave(&bed, thread);
}

/* The server has none of these bytes, and the request has run. */
static void a_response_that_is_too_long_is_an_error(void **state)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;

	serve(&bed, &thread);
	assert_int_equal(ask(thread, 0, 0, FAR_RPC_DATA_MAX, &reply), 0);
	assert_int_equal(reply.len, FAR_RPC_DATA_MAX);
	assert_int_equal(ask(thread, 0, 0, FAR_RPC_DATA_MAX + 1, &reply), -ENOBUFS);
	assert_int_equal(ask(thread, 0, 0, SIZE_MAX, &reply), -ENOBUFS);
	assert_int_equal(ask(thread, 0, 0, 8, &reply), 0);
	leave(&bed, thread);
}

static void no_server_has_so_many_handlers(void **state)
{
	static const unsigned handler[] = { 1, FAR_RPC_HANDLERS_MAX - 1, FAR_RPC_HANDLERS_MAX,
					    UINT_MAX };
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	unsigned i;

	serve(&bed, &thread);
	for (i = 0; i < 4; i++)
		assert_int_equal(ask(thread, handler[i], 0, 8, &reply), -ENOSYS);
	leave(&bed, thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_may_return_any_number),
		cmocka_unit_test(a_response_that_is_too_long_is_an_error),
		cmocka_unit_test(no_server_has_so_many_handlers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
