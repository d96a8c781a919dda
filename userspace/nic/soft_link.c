/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections between programs over soft, and windows. Each window has a protection domain of
 * its own, and so has the queue pair of its connection: a peer reaches this window only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "soft_priv.h"
#include "window.h"


/* ---- windows ---- */

struct soft_window {
	uint32_t pdn, key;
};

static const struct soft_window *window_of(const struct far_window *window)
{
	return window->priv;
}

uint32_t soft_window_key(const struct far_window *window)
{
	return window_of(window)->key;
}

/* The window begins at address 0 of its key. */
static int window_register(struct soft_nic *soft, struct far_window *window)
{
	struct soft_window *mine = window->priv;
	int err = soft->dev->ops->pd_alloc(soft->dev, &mine->pdn);

	if (err)
		return err;
	err = soft->dev->ops->mr_reg(soft->dev, mine->pdn, window->addr, window->span,
				      0, NIC_ALL, &mine->key);
	if (err)
		soft->dev->ops->pd_free(soft->dev, mine->pdn);
	return err;
}

static int window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
		      struct far_window *ret_window)
{
	int err = far_window_map(size, common, sizeof(struct soft_window), ret_window);

	if (err)
		return err;
	err = window_register(soft_nic_of(nic), ret_window);
	if (err)
		far_window_unmap(ret_window);
	return err;
}

static void window_free(struct far_nic *nic, struct far_window *window)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct soft_window *mine = window->priv;

	soft->dev->ops->mr_dereg(soft->dev, mine->key);
	soft->dev->ops->pd_free(soft->dev, mine->pdn);
	far_window_unmap(window);
}

static int window_reg(struct far_nic *nic, const struct far_window *window, void *addr,
		      size_t len, uint32_t *ret_lkey)
{
	struct soft_nic *soft = soft_nic_of(nic);

	return soft->dev->ops->mr_reg(soft->dev, window_of(window)->pdn, addr, len,
				      (uintptr_t)addr, NIC_LOCAL_WRITE, ret_lkey);
}

/* ---- wires ---- */

static uint8_t log2_up(uint32_t n)
{
	uint8_t log = 0;

	while (UINT32_C(1) << log < n)
		log++;
	return log;
}

int soft_wire_conf(const struct far_end *end, const struct far_window *window,
		   struct soft_qp_conf *ret_conf)
{
	/* The NIC has no receive queue below one basic block. */
	const uint8_t log_rq = log2_up(soft_qset_depth(end->recv));

	*ret_conf = (struct soft_qp_conf) {
		.pdn = window_of(window)->pdn,
		.cqn = soft_qset_cqn(end->send),
		.log_sq = log2_up(soft_qset_depth(end->send)),
		.access = NIC_REMOTE_READ | NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC,
		.rq.log_rq = log_rq < 2 ? 2 : log_rq,
	};
	return soft_qset_recv_cqn(end->recv, &ret_conf->rq.cqn);
}

int soft_wire_new(struct soft_nic *soft, const struct far_end *end,
		  const struct far_window *window, struct soft_wire **ret_wire)
{
	struct soft_wire *wire = calloc(1, sizeof(*wire));

	if (!wire)
		return -ENOMEM;
	wire->soft = soft;
	wire->end = *end;
	wire->pdn = window_of(window)->pdn;
	if (far_ring_init(&wire->ring, soft_qset_depth(end->recv), WRC_SYND_WR_FLUSH)) {
		free(wire);
		return -ENOMEM;
	}
	*ret_wire = wire;
	return 0;
}

int soft_wire_bind(struct soft_wire *wire)
{
	int err = soft_qset_link(wire->end.send, wire->end.idx, wire);

	if (err)
		return err;
	err = soft_qset_hear(wire->end.recv, wire->end.recv_idx, wire);
	if (err)
		soft_qset_unlink(wire->end.send, wire->end.idx);
	return err;
}

void soft_wire_free(struct soft_wire *wire)
{
	far_qp_free(&wire->qp);
	soft_conn_end(wire->soft, &wire->conn);
	far_ring_fini(&wire->ring);
	free(wire);
}

void soft_wire_hangup(struct far_nic *nic, struct far_link *link)
{
	struct soft_wire *wire = (struct soft_wire *)link;

	/* No completion comes behind that. */
	far_qp_free(&wire->qp);
	soft_qset_unhear(wire->end.recv, wire->end.recv_idx);
	soft_qset_unlink(wire->end.send, wire->end.idx);
	soft_wire_free(wire);
}

/* ---- calls ---- */

/* Makes the connection of a wire. */
static int wire_call(struct soft_wire *wire, __be32 ip, const struct odrp_far_hello *request,
		     const struct far_window *window, uint64_t until,
		     struct far_hello *ret_answer)
{
	uint64_t now = far_real_now(NULL);
	struct soft_qp_conf conf;
	int err = soft_wire_conf(&wire->end, window, &conf);

	if (err)
		return err;
	conf.connect_ns = until > now ? until - now : 0;
	err = soft_call(wire->soft, ip, request, &conf, &wire->qp, &wire->conn);
	if (err)
		return err == -EHOSTUNREACH && far_real_now(NULL) >= until ? -ETIMEDOUT : err;
	return far_hello_answer(&wire->regions, wire->conn.answer.bytes, wire->conn.answer.len,
				ret_answer);
}

static int soft_call_service(struct far_nic *nic, const char *node, const char *service,
			     const struct far_end *end, const struct far_window *window,
			     const struct far_hello *hello, uint64_t until,
			     struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct odrp_far_hello request;
	struct soft_wire *wire;
	__be32 ip;
	int err = soft_resolve(node, &ip);

	if (!err)
		err = far_hello_call(service, soft_window_key(window), hello, &request);
	if (!err)
		err = soft_wire_new(soft_nic_of(nic), end, window, &wire);
	if (err)
		return err;
	err = wire_call(wire, ip, &request, window, until, ret_answer);
	if (!err) {
		if (end->enter)
			end->enter(end->arg);
		err = soft_wire_bind(wire);
	}
	if (err)
		soft_wire_free(wire);
	else
		*ret_link = (struct far_link *)wire;
	return err;
}

const struct far_nic_call_ops soft_call_ops = {
	.common_new = far_common_new,
	.common_free = far_common_free,
	.window_new = window_new,
	.window_free = window_free,
	.window_reg = window_reg,
	.listen = soft_service_listen,
	.unlisten = soft_service_unlisten,
	.take = soft_service_take,
	.accept = soft_service_accept,
	.reject = soft_service_reject,
	.call = soft_call_service,
	.hangup = soft_wire_hangup,
};
