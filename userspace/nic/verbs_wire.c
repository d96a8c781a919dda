/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections between programs over verbs, and windows. Each window has a protection domain
 * of its own, and so has the queue pair of its connection: a peer reaches this window only.
 */
#include <core/wqe.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "verbs_priv.h"
#include "window.h"

#define MIN_RNR_TIMER	6	/* 0.08 ms; librdmacm's 0 means 0.66 s */

/* ---- windows ---- */

struct verbs_window {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static const struct verbs_window *window_of(const struct far_window *window)
{
	return window->priv;
}

uint32_t verbs_window_key(const struct far_window *window)
{
	return window_of(window)->mr->rkey;
}

/* The window begins at address 0 of its key. */
static int window_register(struct verbs_nic *verbs, struct far_window *window)
{
	struct verbs_window *mine = window->priv;
	int err;

	errno = 0;
	mine->pd = ibv_alloc_pd(verbs->ctx);
	if (!mine->pd)
		return verbs_errno(-1);
	errno = 0;
	mine->mr = ibv_reg_mr_iova(mine->pd, window->addr, window->span, 0,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	err = verbs_errno(!mine->mr);
	if (err)
		ibv_dealloc_pd(mine->pd);
	return err;
}

static int window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
		      struct far_window *ret_window)
{
	int err = far_window_map(size, common, sizeof(struct verbs_window), ret_window);

	if (err)
		return err;
	err = window_register(verbs_nic_of(nic), ret_window);
	if (err)
		far_window_unmap(ret_window);
	return err;
}

static void window_free(struct far_nic *nic, struct far_window *window)
{
	struct verbs_window *mine = window->priv;

	ibv_dereg_mr(mine->mr);
	ibv_dealloc_pd(mine->pd);
	far_window_unmap(window);
}

static int window_reg(struct far_nic *nic, const struct far_window *window, void *addr,
		      size_t len, uint32_t *ret_lkey)
{
	return verbs_mr_new(verbs_nic_of(nic), window_of(window)->pd, addr, len, ret_lkey);
}

/* ---- wires ---- */

int verbs_wire_conf(const struct far_end *end, const struct far_window *window,
		    struct verbs_wire *wire, struct verbs_qp_conf *ret_conf)
{
	int err;

	*ret_conf = (struct verbs_qp_conf) {
		.pd = window_of(window)->pd,
		.depth = verbs_qset_depth(end->send),
		.nr_recvs = verbs_qset_depth(end->recv),
		.ret_inline = &wire->max_inline,
	};
	err = verbs_qset_wire_cq(end->send, &ret_conf->cq);
	return err ? err : verbs_qset_wire_cq(end->recv, &ret_conf->recv_cq);
}

int verbs_wire_new(struct verbs_nic *verbs, const struct far_end *end,
		   struct verbs_wire **ret_wire)
{
	struct verbs_wire *wire = calloc(1, sizeof(*wire));

	if (!wire)
		return -ENOMEM;
	wire->verbs = verbs;
	wire->end = *end;
	if (far_ring_init(&wire->ring, verbs_qset_depth(end->recv), IBV_WC_WR_FLUSH_ERR)) {
		free(wire);
		return -ENOMEM;
	}
	*ret_wire = wire;
	return 0;
}

int verbs_wire_bind(struct verbs_wire *wire)
{
	int err = verbs_qset_link(wire->end.send, wire->end.idx, wire);

	if (err)
		return err;
	err = verbs_qset_hear(wire->end.recv, wire->end.recv_idx, wire);
	if (err)
		verbs_qset_unlink(wire->end.send, wire->end.idx);
	return err;
}

/* Ends the connection, and destroys the queue pair. */
static void wire_end(struct verbs_wire *wire)
{
	verbs_conn_end(wire->verbs, wire->conn);
	wire->conn = NULL;
	verbs_guest_end(wire->verbs, &wire->guest);
	wire->qp = NULL;
}

void verbs_wire_free(struct verbs_wire *wire)
{
	wire_end(wire);
	far_ring_fini(&wire->ring);
	free(wire);
}

void verbs_wire_hangup(struct far_nic *nic, struct far_link *link)
{
	struct verbs_wire *wire = (struct verbs_wire *)link;

	/* No completion comes behind that. */
	wire_end(wire);
	verbs_qset_unhear(wire->end.recv, wire->end.recv_idx);
	verbs_qset_unlink(wire->end.send, wire->end.idx);
	verbs_wire_free(wire);
}

bool verbs_wire_over(const struct verbs_wire *wire)
{
	if (wire->conn)
		return verbs_conn_state(wire->verbs, wire->conn) == VERBS_CONN_OVER;
	return __atomic_load_n(&wire->guest.g.over, __ATOMIC_ACQUIRE);
}

/* ---- RECVs ---- */

int verbs_wire_recv(struct verbs_wire *wire, const struct far_wr *wr, unsigned nr)
{
	struct far_ring *ring = &wire->ring;
	unsigned i;
	int err = 0;

	if (wire->deaf)
		return -ENOTCONN;
	if (!far_ring_has_room(ring, verbs_qset_depth(wire->end.recv), nr))
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		struct ibv_recv_wr to = {
			.wr_id = verbs_wr_id(wire->recv_serial, wire->end.recv_idx,
					     ring->posted) | VERBS_WR_RECV,
		}, *bad;

		far_ring_put(ring, &wr[i], ring->posted++);
		err |= ibv_post_recv(wire->qp, &to, &bad);
	}
	/* The provider has refused one: the others are of no use. */
	if (err) {
		wire->deaf = true;
		far_ring_fail(ring, ring->done, -EIO, IBV_WC_GENERAL_ERR);
	}
	return 0;
}

void verbs_wire_note(struct verbs_wire *wire, const struct ibv_wc *wc)
{
	struct far_ring *ring = &wire->ring;
	uint32_t at = (uint32_t)wc->wr_id;

	if (!far_ring_busy_at(ring, at))
		return;
	if (wc->status == IBV_WC_SUCCESS) {
		far_ring_at(ring, at)->imm = be32_to_cpu(wc->imm_data);
		ring->done = at + 1;
		return;
	}
	far_ring_fail(ring, at, verbs_wire_over(wire) ? -EHOSTDOWN : -EIO, wc->status);
	wire->deaf = true;
}

/* ---- calls ---- */

/* A WRITE_IMM of the other end that finds no RECV is tried again soon. */
static int qp_hasten(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = MIN_RNR_TIMER };

	return -ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER);
}

/* Makes the connection of a wire. */
static int wire_call(struct verbs_wire *wire, const struct verbs_addr *addr,
		     const struct odrp_far_hello *request, const struct far_window *window,
		     uint64_t until, struct far_hello *ret_answer)
{
	struct verbs_qp_conf conf;
	int err = verbs_wire_conf(&wire->end, window, wire, &conf);

	if (err)
		return err;
	conf.until = until;
	err = verbs_call(wire->verbs, addr, request, &conf, &wire->conn);
	if (err) {
		wire->conn = NULL;
		return err == -EHOSTUNREACH && far_real_now(NULL) >= until ? -ETIMEDOUT : err;
	}
	wire->qp = wire->conn->id->qp;
	err = qp_hasten(wire->qp);
	return err ? err : far_hello_answer(&wire->regions, wire->conn->priv,
					    wire->conn->priv_len, ret_answer);
}

static int call_service(struct far_nic *nic, const char *node, const char *service,
			const struct far_end *end, const struct far_window *window,
			const struct far_hello *hello, uint64_t until,
			struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct odrp_far_hello request;
	struct verbs_addr addr;
	struct verbs_wire *wire;
	int err = verbs_node_resolve(node, &addr);

	if (!err)
		err = far_hello_call(service, verbs_window_key(window), hello, &request);
	if (!err)
		err = verbs_wire_new(verbs_nic_of(nic), end, &wire);
	if (err)
		return err;
	err = wire_call(wire, &addr, &request, window, until, ret_answer);
	if (!err) {
		if (end->enter)
			end->enter(end->arg);
		err = verbs_wire_bind(wire);
	}
	if (err)
		verbs_wire_free(wire);
	else
		*ret_link = (struct far_link *)wire;
	return err;
}

const struct far_nic_call_ops verbs_call_ops = {
	.common_new = far_common_new,
	.common_free = far_common_free,
	.window_new = window_new,
	.window_free = window_free,
	.window_reg = window_reg,
	.listen = verbs_service_listen,
	.unlisten = verbs_service_unlisten,
	.take = verbs_service_take,
	.accept = verbs_service_accept,
	.reject = verbs_service_reject,
	.call = call_service,
	.hangup = verbs_wire_hangup,
};
