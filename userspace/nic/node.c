/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node of this process. Its NIC executes all operations; its thread calls host/
 * when connections begin and end, and for probes.
 */
#include "node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <own/own.h>

#include "../base/why.h"
#include "real.h"

#define SHAKING_MS	1	/* between two looks for messages of handshakes */

/* ---- calls by clients in this process ---- */

unsigned far_node_ask(struct far_node *node, unsigned role, uint64_t id,
		       uint32_t client)
{
	struct far_host_attach *attach;
	unsigned status = ODRP_FAR_E_ATTACH;

	pthread_mutex_lock(&node->lock);
	attach = far_host_find(&node->host, id);
	if (attach)
		status = far_host_answer(&node->host, role, attach, client);
	pthread_mutex_unlock(&node->lock);
	return status;
}

void far_node_cut(struct far_node *node, uint64_t id, uint32_t client)
{
	struct far_host_attach *attach;

	pthread_mutex_lock(&node->lock);
	attach = far_host_find(&node->host, id);
	if (attach)
		far_host_cut_client(&node->host, attach->space, client);
	pthread_mutex_unlock(&node->lock);
}

/* ---- events ---- */

static void request_take(struct far_node *node, const struct nic_event *event)
{
	const struct far_host_asker anybody = { .pass = 0 };

	if (node->auth)
		far_node_auth_request(node->auth, event);
	else
		far_host_serve(&node->host, event, &anybody);
}

static void gone_take(struct far_node *node, uint32_t conn)
{
	if (node->auth && far_node_auth_gone(node->auth, conn))
		return;
	if (!far_host_gone(&node->host, conn))
		node->dev->ops->release(node->dev, conn);
}

/* Handles all events, messages and completions. */
static void node_turn(struct far_node *node)
{
	struct nic_event event;

	while (!node->dev->ops->event(node->dev, &event)) {
		if (event.type == NIC_REQUEST)
			request_take(node, &event);
		else if (event.type == NIC_GONE)
			gone_take(node, event.id);
	}
	node->shaking = node->auth && far_node_auth_work(node->auth, far_real_now(NULL));
	far_host_poll(&node->host);
}

/* How long to sleep if nothing happens. */
static int node_sleep_ms(struct far_node *node, uint64_t next)
{
	uint64_t now = far_real_now(NULL);
	bool leaving, shaking;

	pthread_mutex_lock(&node->lock);
	leaving = far_host_leaving(&node->host, NULL);
	shaking = node->shaking;
	pthread_mutex_unlock(&node->lock);
	if (shaking && !leaving)
		return SHAKING_MS;
	return !leaving && now < next ? (next - now) / 1000000 + 1 : 0;
}

static void *node_main(void *arg)
{
	struct far_node *node = arg;
	struct pollfd fd[2] = {
		{ .fd = node->dev->event_fd, .events = POLLIN },
		{ .fd = node->stop_fd, .events = POLLIN },
	};
	uint64_t next = far_real_now(NULL) + FAR_HOST_PROBE_NS;

	do {
		poll(fd, 2, node_sleep_ms(node, next));
		pthread_mutex_lock(&node->lock);
		node_turn(node);
		if (far_real_now(NULL) >= next) {
			far_host_probe(&node->host);
			next = far_real_now(NULL) + FAR_HOST_PROBE_NS;
		}
		pthread_mutex_unlock(&node->lock);
	} while (!fd[1].revents);
	return NULL;
}

/* ---- start and end ---- */

const struct far_key *far_node_key(const struct far_node *node)
{
	return node->auth ? &node->auth->self : NULL;
}

int far_node_new(struct nic *dev, __be32 ip, const char *keys, char *why, size_t len,
		 struct far_node **ret_node)
{
	struct far_node *node = calloc(1, sizeof(*node));
	int err = -ENOMEM;

	far_why(why, len, 0, "%s", "");
	if (!node)
		goto close_dev;
	node->ip = ip;
	node->dev = dev;
	err = far_host_init(&node->host, dev);
	if (err)
		goto free_node;
	if (*keys)
		err = far_node_auth_new(&node->host, keys, why, len, &node->auth);
	if (err)
		goto fini_host;
	node->stop_fd = own_fd(eventfd(0, 0));
	if (node->stop_fd < 0) {
		err = node->stop_fd;
		goto free_auth;
	}
	pthread_mutex_init(&node->lock, NULL);
	err = own_thread_start(&node->thread, node_main, node);
	if (err)
		goto close_stop;
	*ret_node = node;
	return 0;

close_stop:
	pthread_mutex_destroy(&node->lock);
	own_fd_close(node->stop_fd);
free_auth:
	if (node->auth)
		far_node_auth_free(node->auth);
fini_host:
	far_host_fini(&node->host);
free_node:
	free(node);
close_dev:
	dev->ops->close(dev);
	return len && !*why ? far_why(why, len, err, "%s", strerror(-err)) : err;
}

void far_node_free(struct far_node *node)
{
	eventfd_write(node->stop_fd, 1);
	pthread_join(node->thread, NULL);
	while (node->host.spaces)
		far_node_space_remove(far_node_space_of(node->host.spaces));
	far_host_fini(&node->host);
	if (node->auth)
		far_node_auth_free(node->auth);
	node->dev->ops->close(node->dev);
	own_fd_close(node->stop_fd);
	pthread_mutex_destroy(&node->lock);
	free(node);
}

struct far_node *far_nodes_find(const struct far_nodes *nodes, const char *name)
{
	struct in_addr in;
	unsigned long number;
	unsigned i;
	char *end;

	if (!*name)
		return nodes->nr == 1 ? nodes->node[0] : NULL;
	if (inet_pton(AF_INET, name, &in) == 1) {
		for (i = 0; i < nodes->nr; i++)
			if (nodes->node[i]->ip == in.s_addr)
				return nodes->node[i];
		return NULL;
	}
	number = strtoul(name, &end, 10);
	return *name >= '0' && *name <= '9' && !*end && number < nodes->nr ?
	       nodes->node[number] : NULL;
}
