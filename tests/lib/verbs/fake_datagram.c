/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs of datagrams, and address handles. A datagram that is longer than the receive
 * that it finds stops the queue pair, as the InfiniBand specification has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_priv.h"

#define GRH	40u	/* bytes in front of a datagram */

struct fake_ah {
	struct ibv_ah ah;
	struct fake_pd *pd;
};

/* ---- address handles ---- */

/* This host alone is there. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct fake_ah *mine;

	if (!attr->is_global || attr->port_num != 1 || attr->grh.sgid_index < 2 ||
	    attr->grh.sgid_index >= fake.gids || !attr->grh.hop_limit ||
	    memcmp(attr->grh.dgid.raw, mapped, sizeof(mapped)))
		fake_wrong("attributes of ibv_create_ah()");
	if (fake_fails(ENOMEM))
		return NULL;
	if (attr->grh.dgid.raw[12] != 127) {
		errno = EHOSTUNREACH;
		return NULL;
	}
	mine = calloc(1, sizeof(*mine));
	mine->ah.context = pd->context;
	mine->pd = (struct fake_pd *)pd;
	fake_count(&mine->pd->users, 1);
	fake_made(1);
	return &mine->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct fake_ah *mine = (struct fake_ah *)ah;

	fake_count(&mine->pd->users, -1);
	fake_made(-1);
	free(mine);
	return 0;
}

/* ---- states ---- */

static const int needs[] = {
	[IBV_QPS_RESET] = 0,
	[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	[IBV_QPS_RTR] = 0,
	[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
};

int fake_datagram_modify(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (attr->qp_state > IBV_QPS_RTS || mask != (needs[attr->qp_state] | IBV_QP_STATE))
		fake_wrong("mask of ibv_modify_qp()");
	if (attr->qp_state != IBV_QPS_RESET && attr->qp_state != qp->state + 1)
		fake_wrong("order of states");
	if (attr->qp_state == IBV_QPS_INIT && (attr->port_num != 1 || attr->qkey >> 31))
		fake_wrong("attributes of INIT");
	if (fake_fails(EINVAL))
		return EINVAL;
	pthread_mutex_lock(&fake_post_lock);
	pthread_mutex_lock(&fake_lock);
	qp->state = attr->qp_state;
	if (attr->qp_state == IBV_QPS_INIT)
		qp->qkey = attr->qkey;
	if (attr->qp_state == IBV_QPS_RESET) {
		qp->error = false;
		qp->nr_taken = qp->nr_recv;
	}
	pthread_mutex_unlock(&fake_lock);
	pthread_mutex_unlock(&fake_post_lock);
	return 0;
}

/* ---- datagrams ---- */

static void recv_fill(const struct fake_recv *recv, const uint8_t *from, uint32_t len)
{
	uint32_t i, n, part;

	for (i = 0; i < 2 && len; i++, from += part, len -= part) {
		part = len < recv->sge[i].length ? len : recv->sge[i].length;
		for (n = 0; n < part; n++)
			((uint8_t *)(uintptr_t)recv->sge[i].addr)[n] = from[n];
	}
}

/* With fake_lock. Moves a datagram into the next receive; told->qp_num is 0 if it is lost. */
static void deliver(struct fake_qp *peer, const struct ibv_send_wr *wr, struct ibv_wc *told)
{
	const struct fake_recv *recv = &peer->recv[peer->nr_taken % peer->most_recv];
	uint32_t len = wr->num_sge ? wr->sg_list->length : 0;
	uint8_t *bytes;

	if (peer->nr_taken == peer->nr_recv)
		return;
	peer->nr_taken++;
	*told = (struct ibv_wc) {
		.wr_id = recv->id, .qp_num = peer->qp.qp_num, .opcode = IBV_WC_RECV,
		.wc_flags = IBV_WC_GRH, .byte_len = GRH + len,
	};
	if (GRH + len > recv->sge[0].length + recv->sge[1].length) {
		told->status = IBV_WC_LOC_LEN_ERR;
		return;
	}
	bytes = malloc(GRH + len);
	memset(bytes, 0xee, GRH);
	if (len)
		memcpy(bytes + GRH, (void *)(uintptr_t)wr->sg_list->addr, len);
	recv_fill(recv, bytes, GRH + len);
	free(bytes);
}

/* With fake_post_lock. */
static void stop(struct fake_qp *qp)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp->qp.qp_num };

	pthread_mutex_lock(&fake_lock);
	qp->error = true;
	pthread_mutex_unlock(&fake_lock);
	for (; qp->nr_taken < qp->nr_recv; qp->nr_taken++) {
		wc.wr_id = qp->recv[qp->nr_taken % qp->most_recv].id;
		fake_cq_add(qp->rcq, &wc);
	}
}

static enum ibv_wc_status send_status(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	if (qp->error)
		return IBV_WC_WR_FLUSH_ERR;
	return wr->send_flags & IBV_SEND_INLINE || !wr->num_sge || fake_local(qp, wr->sg_list) ?
	       IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

void fake_datagram_post(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	enum ibv_wc_status status;
	struct ibv_wc told = { .qp_num = 0 };
	struct fake_qp *peer = NULL;

	if (wr->opcode != IBV_WR_SEND || !wr->wr.ud.ah || qp->state != IBV_QPS_RTS ||
	    wr->send_flags & IBV_SEND_FENCE)
		fake_wrong("a datagram");
	pthread_mutex_lock(&fake_post_lock);
	pthread_mutex_lock(&fake_lock);
	status = send_status(qp, wr);
	if (!status)
		peer = fake_datagram_find(wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (peer)
		deliver(peer, wr, &told);
	pthread_mutex_unlock(&fake_lock);
	if (told.qp_num)
		fake_cq_add(peer->rcq, &told);
	if (told.status)
		stop(peer);
	if (status)
		stop(qp);
	fake_complete(qp, wr->wr_id, status, wr->send_flags & IBV_SEND_SIGNALED);
	pthread_mutex_unlock(&fake_post_lock);
}
