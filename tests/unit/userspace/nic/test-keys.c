/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node of a process (far space serve) that has a directory of secrets lets in
 * those who prove a name of it, the process itself, and nobody else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <far/rpc.h>

#include "../../../../userspace/auth/secret.h"
#include "../../../../userspace/nic/node.h"
#include "refused.h"

#define SIZE	65536u
#define NODE	"10.77.0.2"

static char dir[] = "far-keys-XXXXXX";
static struct far_nic *host;
static struct far_host_map map;

static struct far_nic *nic_open(const char *spec)
{
	struct far_nic *nic;
	char why[SECRET_WHY_MAX];

	if (far_nic_open(spec, why, sizeof(why), &nic))
		fail_msg("%s: %s", spec, why);
	return nic;
}

static void key_new(const char *where, const char *name)
{
	char path[64], why[SECRET_WHY_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, where);
	assert_int_equal(secret_new(path, name, why), 0);
}

static int setup(void **state)
{
	char spec[256];

	assert_non_null(mkdtemp(dir));
	key_new("in", "client");
	key_new("in", "other");
	key_new("out", "client");	/* the name is right, and the secret another one */
	key_new("out", "stranger");
	snprintf(spec, sizeof(spec), "soft:nodes=1,keys=%s/in,dgram=%s/a:%s/b", dir, dir, dir);
	host = nic_open(spec);
	assert_int_equal(host->ops->host->create(host, "", "s", SIZE, 0600, &map), 0);
	assert_int_equal(host->ops->host->publish(host, &map), 0);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	host->ops->host->unmap(host, &map);
	host->ops->close(host);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* A client elsewhere; key "": it has none. */
static struct far_nic *client_open(const char *key)
{
	char spec[256];

	snprintf(spec, sizeof(spec), "soft:ip=10.77.0.9/24,dgram=%s/b:%s/a%s%s%s%s", dir, dir,
		 *key ? ",key=" : "", *key ? dir : "", *key ? "/" : "", key);
	return nic_open(spec);
}

/* Attaches to the space, and asks for it: 0, or what both fail with. */
static int attach_try(struct far_nic *nic)
{
	struct far_nic_space space;
	struct far_peer peer;
	int err = nic->ops->attach(nic, NODE, "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE, &peer);

	assert_int_equal(nic->ops->look(nic, NODE, "s", 0, &space), err);
	if (err)
		return err;
	assert_int_equal(space.size, SIZE);
	assert_int_equal(nic->ops->claim(nic, &peer, 1), 0);
	nic->ops->unclaim(nic, &peer, 1);
	nic->ops->detach(nic, &peer);
	return 0;
}

static const struct {
	const char *key;
	int err;
} clients[] = {
	{ "in/client", 0 }, { "", -ENOKEY }, { "out/client", -EKEYREJECTED },
	{ "in/other", 0 }, { "out/stranger", -EKEYREJECTED },
};

static void test_clients(void **state)
{
	unsigned i;

	for (i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		struct far_nic *nic = client_open(clients[i].key);
		int err = attach_try(nic);

		nic->ops->close(nic);
		if (err != clients[i].err)
			fail_msg("'%s': %d and not %d", clients[i].key, err, clients[i].err);
	}
}

static int echo(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	memcpy(response, request, len);
	*ret_len = len;
	return 0;
}

/* Calls the service once: 0, or what connecting fails with. */
static int call_try(const char *key)
{
	struct far_rpc_attr attr = { .node = "10.77.2.1", .service = "echo" };
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	char spec[256], why[256], word[5] = "";
	struct far_rpc *rpc;
	int err;

	snprintf(spec, sizeof(spec), "soft:ip=10.77.2.2/24,dgram=%s/d:%s/c%s%s%s%s", dir, dir,
		 *key ? ",key=" : "", *key ? dir : "", *key ? "/" : "", key);
	attr.nic = spec;
	err = far_rpc_connect(&attr, why, sizeof(why), &rpc);
	if (err)
		return err;
	assert_int_equal(far_rpc_join(rpc, &thread), 0);
	assert_int_equal(far_rpc_call(thread, 0, "word", 5, UINT64_C(100000000000), word, 5,
				      &reply), 0);
	assert_string_equal(word, "word");
	far_rpc_leave(thread);
	far_rpc_close(rpc);
	return 0;
}

/* Services let in whom memory nodes do. */
static void test_services(void **state)
{
	static far_rpc_fn *const handlers[] = { echo };
	struct far_rpc_server_attr attr = { .service = "echo", .handlers = handlers,
					    .nr_handlers = 1 };
	struct far_rpc_server *server;
	char spec[256], why[256];
	unsigned i;

	snprintf(spec, sizeof(spec), "soft:ip=10.77.2.1/24,keys=%s/in,dgram=%s/c:%s/d", dir, dir,
		 dir);
	attr.nic = spec;
	assert_int_equal(far_rpc_serve(&attr, why, sizeof(why), &server), 0);
	for (i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		int err = call_try(clients[i].key);

		if (err != clients[i].err)
			fail_msg("'%s': %d and not %d", clients[i].key, err, clients[i].err);
	}
	far_rpc_stop(server);
}

/* It has no name in the directory. */
static void test_self(void **state)
{
	assert_int_equal(attach_try(host), 0);
}

static void test_conf(void **state)
{
	static const struct refused bad[] = {
		{ "soft:nodes=1,keys=", "expected a directory of secrets" },
		{ "soft:nodes=1,keys=no-such-dir", "expected a directory with a file of a secret" },
		{ "soft:nodes=1,keys=/dev/null", "keys=/dev/null: /dev/null: Not a directory" },
		{ "soft:ip=10.77.0.1/24,keys=no-such-dir,udp=127.0.0.1:0:127.0.0.1:9",
		  "expected a directory with a file of a secret" },
	};

	(void)state;
	expect_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_conf),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
