// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The software NIC with a thread of its own, called from several: a client waits
 * for its connection at event_fd, and threads post and poll on queue pairs of
 * their own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <nic/soft.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define NR_THREADS	4
#define NR_POSTS	200

static struct nic *open_nic(const char *words)
{
	struct nic_soft_opts opts;
	char why[NIC_SOFT_WHY_MAX];
	struct nic *nic;

	if (nic_soft_parse(words, &opts, why) ||
	    nic_soft_open(&opts, &nic, why))
		fail_msg("%s: %s", words, why);
	return nic;
}

/* Waits for the next event, which is of this type. */
static uint32_t await(struct nic *nic, enum nic_event_type type)
{
	struct pollfd fd = { .fd = nic->event_fd, .events = POLLIN };
	struct nic_event ev;
	int r;

	while ((r = nic->ops->event(nic, &ev)) == -EAGAIN)
		assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(r, 0);
	assert_int_equal(ev.type, type);
	return ev.id;
}

struct worker {
	pthread_t thread;
	struct side client, server;
	bool ok;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct nic *nic = w->client.nic;
	struct wrc_cqe cqe;
	unsigned int i;
	uint32_t cqn;
	int r;

	for (i = 0; i < NR_POSTS; i++) {
		/* Somebody else's list of completion queues changes meanwhile. */
		if (nic->ops->cq_create(nic, 4, &cqn))
			return NULL;
		side_post(&w->client, WRC_WQE_READ, &w->server, w->server.key,
			  64);
		while ((r = nic->ops->cq_poll(nic, w->client.cqn, &cqe)) ==
		       -EAGAIN)
			sched_yield();
		nic->ops->cq_destroy(nic, cqn);
		if (r || cqe.op_own >> 4 != WRC_CQE_REQ)
			return NULL;
	}
	w->ok = true;
	return NULL;
}

static void join(struct worker *w, struct nic *server, struct nic *client)
{
	uint32_t id;

	side_open(&w->server, server);
	side_open(&w->client, client);
	assert_int_equal(client->ops->connect(client, inet_addr("10.0.0.1"),
					      SIDE_PORT, w->client.qpn, NULL,
					      0, &id), 0);
	assert_int_equal(server->ops->accept(server, await(server, NIC_REQUEST),
					     w->server.qpn, NULL, 0), 0);
	assert_int_equal(await(client, NIC_ESTABLISHED), id);
	await(server, NIC_ESTABLISHED);
}

static void threads(void **state)
{
	struct worker w[NR_THREADS] = { 0 };
	struct nic *server, *client;
	char dir[] = "nic-XXXXXX", words[256];
	unsigned int i;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "ip=10.0.0.1/24,dgram=%s/a:%s/b", dir,
		 dir);
	server = open_nic(words);
	snprintf(words, sizeof(words), "ip=10.0.0.2/24,dgram=%s/b:%s/a", dir,
		 dir);
	client = open_nic(words);
	assert_int_equal(server->ops->listen(server, SIDE_PORT), 0);
	for (i = 0; i < NR_THREADS; i++)
		join(&w[i], server, client);
	for (i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&w[i].thread, NULL, work,
						&w[i]), 0);
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_true(w[i].ok);
	}
	client->ops->close(client);
	server->ops->close(server);
	for (i = 0; i < NR_THREADS; i++) {
		free(w[i].client.mem);
		free(w[i].server.mem);
	}
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
