/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs may say in the attributes of a server and a client: wrong values are refused in
 * words that name the value and what was expected, and the largest ones mean what they say.
 */
#include "bed.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static int nothing(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	return 0;
}

static far_rpc_fn *const handlers[] = { nothing };

static void serve_refused(const struct far_rpc_server_attr *attr, const char *words)
{
	struct far_rpc_server *server;
	char why[200] = "";

	assert_int_equal(far_rpc_serve(attr, why, sizeof(why), &server), -EINVAL);
	assert_string_equal(why, words);
}

static void servers_are_refused_in_words(void **state)
{
	const struct far_rpc_server_attr good = { .nic = "mem", .service = "x",
						  .handlers = handlers, .nr_handlers = 1 };
	struct far_rpc_server_attr attr = good;

	attr.nic = NULL;
	serve_refused(&attr, "the name of a back end expected");
	attr = good;
	attr.service = NULL;
	serve_refused(&attr, "the name of a service expected");
	attr.service = "a/b";
	serve_refused(&attr, "service \"a/b\": 1 to 32 letters, digits, '-', '_' and '.' expected, "
			     "and no '.' at first");
	attr = good;
	attr.threads = 1025;
	serve_refused(&attr, "service \"x\": threads 1025: at most 1024 expected");
	attr = good;
	attr.connections = 65536;
	serve_refused(&attr, "service \"x\": connections 65536: at most 65535 expected");
	attr = good;
	attr.nr_handlers = 257;
	serve_refused(&attr, "service \"x\": nr_handlers 257: at most 256 expected");
	attr = good;
	attr.memory = FAR_RPC_MEMORY_MAX + 1;
	serve_refused(&attr, "service \"x\": memory 2147483649: at most 2147483648 expected");
	attr = good;
	attr.handlers = NULL;
	serve_refused(&attr, "service \"x\": handlers NULL: 1 handlers expected");
}

static void connect_refused(const struct far_rpc_attr *attr, const char *words)
{
	struct far_rpc *rpc;
	char why[200] = "";

	assert_int_equal(far_rpc_connect(attr, why, sizeof(why), &rpc), -EINVAL);
	assert_string_equal(why, words);
}

static void clients_are_refused_in_words(void **state)
{
	const struct far_rpc_attr good = { .nic = "mem", .service = "x" };
	struct far_rpc_attr attr = good;

	attr.nic = NULL;
	connect_refused(&attr, "the name of a back end expected");
	attr = good;
	attr.service = NULL;
	connect_refused(&attr, "the name of a service expected");
	attr.service = "";
	connect_refused(&attr, "service \"\": 1 to 32 letters, digits, '-', '_' and '.' expected, "
			       "and no '.' at first");
	attr = good;
	attr.qps = 257;
	connect_refused(&attr, "service \"x\": qps 257: at most 256 expected");
	attr = good;
	attr.batch = 65;
	connect_refused(&attr, "service \"x\": batch 65: at most 64 expected");
}

static void a_node_that_is_none_is_named(void **state)
{
	const struct far_rpc_attr attr = { .nic = "mem", .service = "x", .node = "there" };
	struct far_rpc *rpc;
	char why[200] = "";

	assert_int_equal(far_rpc_connect(&attr, why, sizeof(why), &rpc), -EHOSTUNREACH);
	assert_string_equal(why, "service \"x\" at \"there\": no such node, or it does not answer");
}

/* The time for connecting is added to the clock. */
static void a_client_may_connect_for_ever(void **state)
{
	struct far_rpc_attr attr = { .service = "test", .qps = 2, .timeout_ns = UINT64_MAX,
				     .spin_us = UINT_MAX };
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	assert_int_equal(rpc_connect_nic(bed.nic[0], &attr, &bed.rpc), 0);
	assert_int_equal(far_rpc_join(bed.rpc, &thread), 0);
	far_rpc_stop(bed.server);
	bed_serve(&bed, 1);
	/* The first request may find the old connection. */
	far_rpc_call(thread, BED_ECHO, NULL, 0, UINT64_MAX, NULL, 0, &reply);
	assert_int_equal(far_rpc_call(thread, BED_ECHO, NULL, 0, UINT64_MAX, NULL, 0, &reply), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_refused_in_words),
		cmocka_unit_test(clients_are_refused_in_words),
		cmocka_unit_test(a_node_that_is_none_is_named),
		cmocka_unit_test(a_client_may_connect_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
