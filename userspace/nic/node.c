/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node of this process. Its NIC executes all operations; its thread calls host/
 * when connections begin and end, and for probes.
 */
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
#include "soft_priv.h"

/* ---- calls by clients in this process ---- */

unsigned soft_node_ask(struct soft_node *node, unsigned role, uint64_t id,
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

void soft_node_cut(struct soft_node *node, uint64_t id, uint32_t client)
{
	struct far_host_attach *attach;

	pthread_mutex_lock(&node->lock);
	attach = far_host_find(&node->host, id);
	if (attach)
		far_host_cut_client(&node->host, attach->space, client);
	pthread_mutex_unlock(&node->lock);
}

/* ---- events ---- */

/* Handles all events and completions. No client needs to prove its name. */
static void node_turn(struct soft_node *node)
{
	const struct far_host_asker anybody = { .pass = 0 };
	struct nic_event event;

	while (!node->dev->ops->event(node->dev, &event)) {
		if (event.type == NIC_REQUEST)
			far_host_serve(&node->host, &event, &anybody);
		else if (event.type == NIC_GONE && !far_host_gone(&node->host, event.id))
			node->dev->ops->release(node->dev, event.id);
	}
	far_host_poll(&node->host);
}

/* How long to sleep if nothing happens. */
static int node_sleep_ms(struct soft_node *node, uint64_t next)
{
	uint64_t now = far_real_now(NULL);
	bool leaving;

	pthread_mutex_lock(&node->lock);
	leaving = far_host_leaving(&node->host, NULL);
	pthread_mutex_unlock(&node->lock);
	return !leaving && now < next ? (next - now) / 1000000 + 1 : 0;
}

static void *node_main(void *arg)
{
	struct soft_node *node = arg;
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

static int dev_open(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		    char *why, size_t why_len, struct nic **ret_dev)
{
	struct nic_soft_opts opts;
	char words[64], said[NIC_SOFT_WHY_MAX], addr[INET_ADDRSTRLEN];
	int err;

	inet_ntop(AF_INET, &ip, addr, sizeof(addr));
	snprintf(words, sizeof(words), "ip=%s/%u,mtu=%u,spin_us=%u", addr,
		 like->nic.prefix_len, like->nic.mtu, like->spin_us);
	err = nic_soft_parse_joined(words, &opts, said);
	if (err) {
		port->ops->close(port);
		return far_why(why, why_len, err, "soft: memory node %s: %s", addr, said);
	}
	opts.nic.seed = like->nic.seed + be32_to_cpu(ip);
	opts.nr_ports = 1;
	opts.ports[0] = (struct nic_soft_port) {
		.kind = NIC_SOFT_JOINED, .joined = port,
	};
	err = nic_soft_open(&opts, ret_dev, said);
	return err ? far_why(why, why_len, err, "soft: memory node %s: %s", addr, said) : 0;
}

int soft_node_new(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		  char *why, size_t why_len, struct soft_node **ret_node)
{
	struct soft_node *node = calloc(1, sizeof(*node));
	int err;

	if (!node) {
		port->ops->close(port);
		return -ENOMEM;
	}
	node->ip = ip;
	err = dev_open(like, ip, port, why, why_len, &node->dev);
	if (err)
		goto free_node;
	err = far_host_init(&node->host, node->dev);
	if (err)
		goto close_dev;
	node->stop_fd = own_fd(eventfd(0, 0));
	if (node->stop_fd < 0) {
		err = node->stop_fd;
		goto fini_host;
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
fini_host:
	far_host_fini(&node->host);
close_dev:
	node->dev->ops->close(node->dev);
free_node:
	free(node);
	return err;
}

void soft_node_free(struct soft_node *node)
{
	eventfd_write(node->stop_fd, 1);
	pthread_join(node->thread, NULL);
	while (node->host.spaces)
		soft_space_remove(soft_space_of(node->host.spaces));
	far_host_fini(&node->host);
	node->dev->ops->close(node->dev);
	own_fd_close(node->stop_fd);
	pthread_mutex_destroy(&node->lock);
	free(node);
}
