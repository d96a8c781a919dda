/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node of this process. Its NIC answers all operations; its thread answers
 * when connections begin and end, and asks each attachment once in a while for nothing,
 * which a client whose process has ended does not answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <mlx5/encode.h>

#include "../base/why.h"
#include "real.h"
#include "soft_priv.h"

#define PROBE_NS	UINT64_C(1000000000)
#define NODE_LOG_CQ	12	/* a probe of each attachment */

/* ---- attachments ---- */

struct soft_attach_entry *soft_attach_find(const struct soft_node *node, uint64_t id)
{
	struct soft_attach_entry *attach = node->attaches;

	while (attach && attach->id != id)
		attach = attach->next;
	return attach;
}

void soft_link_end(struct soft_node *node, struct soft_link *link)
{
	soft_qp_free(&link->qp);
	node->dev->ops->release(node->dev, link->conn);
}

void soft_attach_end(struct soft_node *node, struct soft_attach_entry *attach)
{
	struct soft_attach_entry **at = &node->attaches;
	struct soft_claim *claim;
	struct soft_link *link;

	while ((link = attach->queues)) {
		attach->queues = link->next;
		soft_link_end(node, link);
		free(link);
	}
	while ((claim = attach->claims)) {
		attach->claims = claim->next;
		free(claim);
	}
	soft_link_end(node, &attach->control);
	while (*at != attach)
		at = &(*at)->next;
	*at = attach->next;
	node->nr_attaches--;
	free(attach);
}

/* ---- claims ---- */

static struct soft_claim **claim_find(struct soft_attach_entry *attach, uint32_t client)
{
	struct soft_claim **at = &attach->claims;

	while (*at && (*at)->client != client)
		at = &(*at)->next;
	return at;
}

static struct soft_attach_entry *claim_holder(struct soft_node *node,
					      const struct soft_space *space,
					      uint32_t client)
{
	struct soft_attach_entry *other = node->attaches;

	while (other && (other->space != space || !*claim_find(other, client)))
		other = other->next;
	return other;
}

static unsigned claim_take(struct soft_node *node, struct soft_attach_entry *attach,
			   uint32_t client)
{
	struct soft_attach_entry *holder = claim_holder(node, attach->space, client);
	struct soft_claim *claim;

	if (holder)
		return holder == attach ? ODRP_FAR_OK : ODRP_FAR_E_BUSY;
	claim = malloc(sizeof(*claim));
	if (!claim)
		return ODRP_FAR_E_NOMEM;
	claim->client = client;
	claim->next = attach->claims;
	attach->claims = claim;
	return ODRP_FAR_OK;
}

static void claim_drop(struct soft_attach_entry *attach, uint32_t client)
{
	struct soft_claim **at = claim_find(attach, client), *claim = *at;

	if (!claim)
		return;
	*at = claim->next;
	free(claim);
}

unsigned soft_node_answer(struct soft_node *node, unsigned role,
			  struct soft_attach_entry *attach, uint32_t client)
{
	switch (role) {
	case ODRP_FAR_DETACH:
		soft_attach_end(node, attach);
		return ODRP_FAR_OK;
	case ODRP_FAR_CLAIM:
		return claim_take(node, attach, client);
	case ODRP_FAR_UNCLAIM:
		claim_drop(attach, client);
		return ODRP_FAR_OK;
	default:
		return claim_holder(node, attach->space, client) ? ODRP_FAR_E_BUSY :
		       ODRP_FAR_OK;
	}
}

unsigned soft_node_ask(struct soft_node *node, unsigned role, uint64_t id,
		       uint32_t client)
{
	struct soft_attach_entry *attach;
	unsigned status = ODRP_FAR_E_ATTACH;

	pthread_mutex_lock(&node->lock);
	attach = soft_attach_find(node, id);
	if (attach)
		status = soft_node_answer(node, role, attach, client);
	pthread_mutex_unlock(&node->lock);
	return status;
}

/* ---- whether clients live ---- */

/* A READ of length 0: no key is looked at, and nothing is moved. */
static void probe_post(struct soft_attach_entry *attach)
{
	struct soft_qp *qp = &attach->control.qp;
	struct wrc_wr wr = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .flags = WRC_WQE_CE_ALWAYS,
		.index = attach->probes, .qpn = qp->qpn,
	};

	if (attach->probing || wrc_encode(&wr, soft_qp_slot(qp, attach->probes),
					  WRC_WQE_BB) < 0)
		return;
	attach->probes++;
	attach->probing = !soft_qp_ring(qp, attach->probes);
}

static void probe_note(struct soft_node *node, const struct wrc_cqe *cqe)
{
	uint32_t qpn = be32_to_cpu(cqe->sop_qpn) & 0xffffff;
	struct soft_attach_entry *attach = node->attaches;

	while (attach && attach->control.qp.qpn != qpn)
		attach = attach->next;
	if (!attach)
		return;
	attach->probing = false;
	if (cqe->op_own >> 4 != WRC_CQE_REQ)
		soft_attach_end(node, attach);
}

static void probes_post(struct soft_node *node)
{
	struct soft_attach_entry *attach;

	for (attach = node->attaches; attach; attach = attach->next)
		probe_post(attach);
}

/* ---- events ---- */

/* A connection is over. That of an attachment takes all others with it. */
static void node_gone(struct soft_node *node, uint32_t conn)
{
	struct soft_attach_entry *attach;
	struct soft_link **at, *link;

	for (attach = node->attaches; attach; attach = attach->next) {
		if (attach->control.conn == conn) {
			soft_attach_end(node, attach);
			return;
		}
		for (at = &attach->queues; (link = *at); at = &link->next) {
			if (link->conn != conn)
				continue;
			*at = link->next;
			attach->nr_queues--;
			soft_link_end(node, link);
			free(link);
			return;
		}
	}
	node->dev->ops->release(node->dev, conn);
}

static void node_turn(struct soft_node *node)
{
	struct nic_event event;
	struct wrc_cqe cqe;

	while (!node->dev->ops->event(node->dev, &event)) {
		if (event.type == NIC_REQUEST)
			soft_serve(node, &event);
		else if (event.type == NIC_GONE)
			node_gone(node, event.id);
	}
	while (!node->dev->ops->cq_poll(node->dev, node->cqn, &cqe))
		probe_note(node, &cqe);
}

static void *node_main(void *arg)
{
	struct soft_node *node = arg;
	struct pollfd fd[2] = {
		{ .fd = node->dev->event_fd, .events = POLLIN },
		{ .fd = node->stop_fd, .events = POLLIN },
	};
	uint64_t next = far_real_now(NULL) + PROBE_NS, now;

	do {
		now = far_real_now(NULL);
		poll(fd, 2, now < next ? (next - now) / 1000000 + 1 : 0);
		pthread_mutex_lock(&node->lock);
		node_turn(node);
		if (far_real_now(NULL) >= next) {
			probes_post(node);
			next = far_real_now(NULL) + PROBE_NS;
		}
		pthread_mutex_unlock(&node->lock);
	} while (!fd[1].revents);
	return NULL;
}

/* ---- life ---- */

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

static int node_objects(struct soft_node *node)
{
	struct nic *dev = node->dev;
	int err = dev->ops->pd_alloc(dev, &node->pdn);

	if (!err)
		err = dev->ops->cq_create(dev, NODE_LOG_CQ, &node->cqn);
	return err ? err : dev->ops->listen(dev, ODRP_FAR_PORT);
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
	err = node_objects(node);
	if (err)
		goto close_dev;
	node->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (node->stop_fd < 0) {
		err = -errno;
		goto close_dev;
	}
	pthread_mutex_init(&node->lock, NULL);
	err = -pthread_create(&node->thread, NULL, node_main, node);
	if (err)
		goto close_stop;
	*ret_node = node;
	return 0;

close_stop:
	pthread_mutex_destroy(&node->lock);
	close(node->stop_fd);
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
	while (node->attaches)
		soft_attach_end(node, node->attaches);
	while (node->spaces)
		soft_space_remove(node->spaces);
	node->dev->ops->close(node->dev);
	close(node->stop_fd);
	pthread_mutex_destroy(&node->lock);
	free(node);
}
