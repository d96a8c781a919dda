/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RPC over the back end verbs on a device that is none: threads that share a queue pair, who
 * may call, and what is left when a call of the device fails.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <far/rpc.h>

#include "../../../../userspace/auth/secret.h"
#include "../../../../userspace/bench/rpc_datagram.h"
#include "../../../../userspace/rpc/server.h"
#include "../../../lib/verbs/fake_verbs.h"

#define PLAIN		"verbs:" FAKE_DEVICE ",spin_us=0"
#define LONG_NS		UINT64_C(100000000000)
#define NR_THREADS	4u
#define NR_CALLS	200u
#define MEMORY		8192u

static void *memory;		/* what the server offers: MEMORY bytes */
static char dir[] = "/tmp/far-verbs-rpc-XXXXXX";

static int setup(void **state)
{
	(void)state;
	fake = (struct fake_verbs) { .max_inline = 64, .gids = 4 };
	return 0;
}

/* Nothing is left, and nothing that the device was given was wrong. */
static int teardown(void **state)
{
	(void)state;
	if (fake.wrong)
		fail_msg("the device was given what cannot be: %s", fake.wrong);
	assert_int_equal(fake.objects, 0);
	return 0;
}

static int echo(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	(void)arg;
	memcpy(response, request, len);
	*ret_len = len;
	return 0;
}

static int serve(const char *nic, struct far_rpc_server **ret_server)
{
	static far_rpc_fn *const handlers[] = { echo };
	const struct far_rpc_server_attr attr = {
		.nic = nic, .service = "echo", .handlers = handlers, .nr_handlers = 1,
		.memory = MEMORY, .ret_memory = &memory,
	};
	char why[256] = "";
	int err = far_rpc_serve(&attr, why, sizeof(why), ret_server);

	if (err)
		assert_true(why[0]);
	return err;
}

static int connect_to(const char *nic, struct far_rpc **ret_rpc)
{
	const struct far_rpc_attr attr = {
		.nic = nic, .node = "127.0.0.1", .service = "echo", .qps = NR_THREADS,
	};
	char why[256] = "";

	return far_rpc_connect(&attr, why, sizeof(why), ret_rpc);
}

static int call(struct far_rpc *rpc, unsigned nr, uint64_t timeout_ns)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	uint64_t word = 0, i;
	int err = far_rpc_join(rpc, &thread);

	if (err)
		return err;
	for (i = 1; i <= nr && !err; i++) {
		err = far_rpc_call(thread, 0, &i, sizeof(i), timeout_ns, &word, sizeof(word),
				   &reply);
		if (!err && word != i)
			err = -EBADMSG;
		if (!err)
			err = far_rpc_faa(thread, MEMORY - 8, i, timeout_ns, NULL);
	}
	far_rpc_leave(thread);
	return err;
}

static void *caller(void *rpc)
{
	return (void *)(intptr_t)call(rpc, NR_CALLS, LONG_NS);
}

static void test_threads(void **state)
{
	struct far_rpc_server *server;
	pthread_t thread[NR_THREADS];
	struct far_rpc *rpc;
	void *err;
	unsigned i;

	(void)state;
	assert_int_equal(serve(PLAIN, &server), 0);
	assert_int_equal(connect_to(PLAIN, &rpc), 0);
	for (i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, caller, rpc), 0);
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(thread[i], &err);
		assert_null(err);
	}
	assert_int_equal(((uint64_t *)memory)[MEMORY / 8 - 1],
			 NR_THREADS * NR_CALLS * (NR_CALLS + 1) / 2);
	far_rpc_close(rpc);
	far_rpc_stop(server);
}

/* Operations on the server's memory, through a device's keys. */
static void test_memory(void **state)
{
	char out[100] = "far", back[100] = "";
	struct far_rpc_thread *thread;
	struct far_rpc_server *server;
	struct far_rpc *rpc;
	uint64_t word = 0;

	(void)state;
	assert_int_equal(serve(PLAIN, &server), 0);
	assert_int_equal(connect_to(PLAIN, &rpc), 0);
	assert_int_equal(far_rpc_join(rpc, &thread), 0);
	assert_int_equal(far_rpc_memory(rpc), MEMORY);
	assert_int_equal(far_rpc_write(thread, 5, out, sizeof(out), LONG_NS), 0);
	assert_memory_equal((char *)memory + 5, out, sizeof(out));
	assert_int_equal(far_rpc_read(thread, 5, back, sizeof(back), LONG_NS), 0);
	assert_memory_equal(back, out, sizeof(out));
	assert_int_equal(far_rpc_cas(thread, 4096, 0, 7, LONG_NS, &word), 0);
	assert_int_equal(word, 0);
	assert_int_equal(far_rpc_faa(thread, 4096, 7, LONG_NS, &word), 0);
	assert_int_equal(word, 7);
	assert_int_equal(((uint64_t *)memory)[512], 14);
	assert_int_equal(far_rpc_read(thread, MEMORY - 1, back, 2, LONG_NS), -EFAULT);
	far_rpc_leave(thread);
	far_rpc_close(rpc);
	far_rpc_stop(server);
}

/* Requests to a server that has stopped end. */
static void test_stopped(void **state)
{
	struct far_rpc_server *server;
	struct far_rpc *rpc;

	(void)state;
	assert_int_equal(serve(PLAIN, &server), 0);
	assert_int_equal(connect_to(PLAIN, &rpc), 0);
	assert_int_equal(call(rpc, 1, LONG_NS), 0);
	far_rpc_stop(server);
	assert_int_not_equal(call(rpc, 1, 1000000000), 0);
	far_rpc_close(rpc);
}

/* Services let in whom memory nodes do. */
static void test_keys(void **state)
{
	static const struct {
		const char *name;
		int err;
	} who[] = { { "client", 0 }, { "", -ENOKEY }, { "out/client", -EKEYREJECTED } };
	char spec[128], out[64], why[SECRET_WHY_MAX];
	struct far_rpc_server *server;
	struct far_rpc *rpc;
	unsigned i;

	(void)state;
	snprintf(out, sizeof(out), "%s/in", dir);
	assert_int_equal(secret_new(out, "client", why), 0);
	snprintf(spec, sizeof(spec), PLAIN ",keys=%s", out);
	assert_int_equal(serve(spec, &server), 0);
	snprintf(out, sizeof(out), "%s/in/out", dir);
	assert_int_equal(secret_new(out, "client", why), 0);
	for (i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		snprintf(spec, sizeof(spec), PLAIN "%s%s%s%s", *who[i].name ? ",key=" : "",
			 *who[i].name ? dir : "", *who[i].name ? "/in/" : "", who[i].name);
		assert_int_equal(connect_to(spec, &rpc), who[i].err);
		if (who[i].err)
			continue;
		assert_int_equal(call(rpc, 3, LONG_NS), 0);
		far_rpc_close(rpc);
	}
	far_rpc_stop(server);
}

static size_t echo_datagram(const void *arg, const void *request, size_t len, void *response)
{
	memcpy(response, request, len);
	return len;
}

static int addresses(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	*ret_len = rpc_datagram_publish(arg, response);
	return 0;
}

/* Datagrams go to the addresses that a service tells. */
static void test_datagrams(void **state)
{
	static far_rpc_fn *const handlers[] = { echo, [RPC_DATAGRAM_ADDRESSES] = addresses };
	static struct rpc_datagram_server there;
	struct far_rpc_server_attr attr = {
		.service = "echo", .handlers = handlers, .nr_handlers = 2,
	};
	struct datagram_client *client;
	struct datagram_server *datagrams;
	struct far_rpc_server *server;
	struct far_nic *nic[2];
	uint64_t word;
	char why[256];
	size_t len;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++)
		assert_int_equal(far_nic_open(PLAIN, why, sizeof(why), &nic[i]), 0);
	assert_int_equal(datagram_serve(nic[0], 3, 16, echo_datagram, NULL, &datagrams), 0);
	attr.arg = datagrams;
	assert_int_equal(rpc_serve_nic(nic[0], &attr, &server), 0);
	assert_int_equal(rpc_datagram_ask(nic[1], "127.0.0.1", "echo", &there), 0);
	assert_int_equal(there.nr, 3);
	for (i = 0; i < there.nr; i++) {
		assert_int_equal(datagram_join(nic[1], there.address[i], &client), 0);
		word = 7 + i;
		assert_int_equal(datagram_send(client, &word, sizeof(word)), 0);
		word = 0;
		assert_int_equal(datagram_recv(client, &word, sizeof(word), &len), 0);
		assert_int_equal(word, 7 + i);
		datagram_leave(client);
	}
	far_rpc_stop(server);
	datagram_stop(datagrams);
	/* A service that has none. */
	attr.nr_handlers = 1;
	assert_int_equal(rpc_serve_nic(nic[0], &attr, &server), 0);
	assert_int_equal(rpc_datagram_ask(nic[1], "127.0.0.1", "echo", &there), -ENOSYS);
	far_rpc_stop(server);
	for (i = 0; i < 2; i++)
		nic[i]->ops->close(nic[i]);
}

/* The N-th call of the device fails, for all N: nothing hangs, and nothing is left. */
static void test_each_call_fails(void **state)
{
	struct far_rpc_server *server;
	struct far_rpc *rpc;
	unsigned n, failed = 0;
	int err;

	(void)state;
	for (n = 1; ; n++) {
		fake.calls = 0;
		fake.fail_at = n;
		err = serve(PLAIN, &server);
		if (!err) {
			err = connect_to(PLAIN, &rpc);
			if (!err) {
				err = call(rpc, 1, 1000000000);
				far_rpc_close(rpc);
			}
			far_rpc_stop(server);
		}
		failed += err != 0;
		if (fake.objects)
			fail_msg("call %u: %u objects are left", n, fake.objects);
		if (fake.calls < n)
			break;
	}
	assert_int_equal(err, 0);
	print_message("%u calls, %u of them needed\n", n - 1, failed);
	assert_true(failed > 20);
}

static int keys_make(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int keys_drop(void **state)
{
	static const char *const files[] = { "/in/out/client", "/in/out", "/in/client", "/in", "" };
	char path[64];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, files[i]);
		remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_datagrams, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each_call_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, keys_make, keys_drop);
}
