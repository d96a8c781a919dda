/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs of ibv_create_qp(), and work requests between two queue pairs of this
 * process: the memory node is a NIC on plain verbs here, not mem.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_priv.h"

static struct fake_qp *qps;	/* all, under fake_lock */
static uint32_t next_qpn = 0x100;
pthread_mutex_t fake_post_lock = PTHREAD_MUTEX_INITIALIZER;

/* A work request that waits for a receive, and all that were posted behind it. */
struct fake_held {
	struct fake_held *next;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint8_t data[64];	/* inline */
};

static void held_run(uint32_t dest);

static struct fake_qp *qp_of(struct ibv_qp *qp)
{
	return (struct fake_qp *)qp;
}

static void held_free(struct fake_qp *qp)
{
	struct fake_held *held;

	while ((held = qp->held)) {
		qp->held = held->next;
		free(held);
	}
}

struct fake_qp *fake_qp_new(struct ibv_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp = calloc(1, sizeof(*qp));

	qp->qp.context = ctx;
	qp->cq = (struct fake_cq *)attr->send_cq;
	qp->rcq = (struct fake_cq *)attr->recv_cq;
	qp->pd = (struct fake_pd *)pd;
	qp->depth = attr->cap.max_send_wr;
	/* Two for a handshake. */
	qp->most_recv = attr->cap.max_recv_wr > 2 ? attr->cap.max_recv_wr : 2;
	qp->recv = calloc(qp->most_recv, sizeof(*qp->recv));
	qp->datagrams = attr->qp_type == IBV_QPT_UD;
	fake_count(&qp->cq->users, 1);
	fake_count(&qp->rcq->users, 1);
	fake_count(&qp->pd->users, 1);
	pthread_mutex_lock(&fake_lock);
	qp->qp.qp_num = fake.same_qpn ? fake.same_qpn : next_qpn++;
	qp->next = qps;
	qps = qp;
	pthread_mutex_unlock(&fake_lock);
	fake_made(1);
	return qp;
}

void fake_qp_free(struct fake_qp *qp)
{
	struct fake_qp **at = &qps;

	pthread_mutex_lock(&fake_post_lock);
	pthread_mutex_lock(&fake_lock);
	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	pthread_mutex_unlock(&fake_lock);
	held_free(qp);
	pthread_mutex_unlock(&fake_post_lock);
	fake_count(&qp->cq->users, -1);
	fake_count(&qp->rcq->users, -1);
	fake_count(&qp->pd->users, -1);
	free(qp->flush);
	free(qp->recv);
	free(qp);
	fake_made(-1);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	bool datagrams = attr->qp_type == IBV_QPT_UD;

	if ((attr->qp_type != IBV_QPT_RC && !datagrams) || attr->sq_sig_all ||
	    !attr->cap.max_send_wr || !attr->cap.max_send_sge ||
	    (datagrams && attr->cap.max_recv_sge != 2))
		fake_wrong("attributes of ibv_create_qp()");
	if (fake_fails(ENOMEM))
		return NULL;
	if (datagrams && attr->cap.max_inline_data > fake.max_inline) {
		errno = EINVAL;
		return NULL;
	}
	return &fake_qp_new(pd->context, pd, attr)->qp;
}

int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	if (fake.qp_stays)
		return EBUSY;
	fake_qp_free(qp_of(ibqp));
	return 0;
}

/* ---- states ---- */

/* With fake_post_lock. */
static void receives_flush(struct fake_qp *qp)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp->qp.qp_num };

	for (; qp->nr_taken < qp->nr_recv; qp->nr_taken++) {
		wc.wr_id = qp->recv[qp->nr_taken % qp->most_recv].id;
		fake_cq_add(qp->rcq, &wc);
	}
}

void fake_receives_flush(struct fake_qp *qp)
{
	pthread_mutex_lock(&fake_post_lock);
	receives_flush(qp);
	pthread_mutex_unlock(&fake_post_lock);
}

static const int needs[] = {
	[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	[IBV_QPS_ERR] = 0,
};

int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = qp_of(ibqp);

	if (qp->datagrams)
		return fake_datagram_modify(qp, attr, mask);
	/* Once it is connected. */
	if (mask == IBV_QP_MIN_RNR_TIMER) {
		if (!qp->dest)
			fake_wrong("order of states");
		return fake_fails(EINVAL) ? EINVAL : 0;
	}
	if (mask != (needs[attr->qp_state] | IBV_QP_STATE))
		fake_wrong("mask of ibv_modify_qp()");
	if (attr->qp_state != IBV_QPS_ERR && attr->qp_state != qp->state + 1)
		fake_wrong("order of states");
	if (fake_fails(EINVAL))
		return EINVAL;
	pthread_mutex_lock(&fake_lock);
	qp->state = attr->qp_state;
	pthread_mutex_unlock(&fake_lock);
	if (attr->qp_state == IBV_QPS_INIT)
		qp->access = attr->qp_access_flags;
	if (attr->qp_state == IBV_QPS_RTR) {
		if (!attr->min_rnr_timer || attr->max_dest_rd_atomic > FAKE_READS)
			fake_wrong("attributes of RTR");
		qp->dest = attr->dest_qp_num;
	}
	if (attr->qp_state == IBV_QPS_RTS && attr->max_rd_atomic > FAKE_READS)
		fake_wrong("attributes of RTS");
	if (attr->qp_state == IBV_QPS_ERR) {
		fake_qp_error(qp);
		fake_receives_flush(qp);
	}
	return 0;
}

int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	if (fake_fails(EIO))
		return EIO;
	attr->qp_state = qp_of(ibqp)->error ? IBV_QPS_ERR : qp_of(ibqp)->state;
	return 0;
}

/* ---- receives ---- */

static bool qp_failed(const struct fake_qp *qp)
{
	bool failed;

	pthread_mutex_lock(&fake_lock);
	failed = qp->error;
	pthread_mutex_unlock(&fake_lock);
	return failed;
}

static bool recv_local(const struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	bool ok;

	pthread_mutex_lock(&fake_lock);
	ok = !wr->num_sge || fake_local(qp, wr->sg_list);
	pthread_mutex_unlock(&fake_lock);
	return ok;
}

/* With fake_post_lock. */
static int receive(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	struct fake_recv *recv = &qp->recv[qp->nr_recv % qp->most_recv];
	int i;

	if (qp->nr_recv - qp->nr_taken == qp->most_recv || wr->num_sge > 1 + qp->datagrams ||
	    (wr->next && !qp->datagrams) || !recv_local(qp, wr)) {
		fake_wrong("a receive");
		return EINVAL;
	}
	*recv = (struct fake_recv) { .id = wr->wr_id };
	for (i = 0; i < wr->num_sge; i++)
		recv->sge[i] = wr->sg_list[i];
	qp->nr_recv++;
	if (qp_failed(qp))
		receives_flush(qp);
	else
		held_run(qp->qp.qp_num);
	return 0;
}

int fake_receive(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	bool reset;
	int err;

	pthread_mutex_lock(&fake_lock);
	/* The queue pair of an id is connected. */
	reset = !qp->id && qp->state == IBV_QPS_RESET;
	pthread_mutex_unlock(&fake_lock);
	if (reset)
		return EINVAL;
	pthread_mutex_lock(&fake_post_lock);
	err = receive(qp, wr);
	pthread_mutex_unlock(&fake_post_lock);
	return err;
}

/* ---- work requests ---- */

/* With fake_lock. NULL: there is no such queue pair, or it executes nothing. */
static struct fake_qp *peer_find(const struct fake_qp *qp)
{
	struct fake_qp *peer = qps;

	while (peer && (peer->qp.qp_num != qp->dest || peer == qp))
		peer = peer->next;
	if (!peer && qp->dest == qp->qp.qp_num)
		peer = (struct fake_qp *)qp;
	return peer && !peer->error && (peer->id || peer->state >= IBV_QPS_RTR) ? peer : NULL;
}

struct fake_qp *fake_datagram_find(uint32_t qpn, uint32_t qkey)
{
	struct fake_qp *qp = qps;

	while (qp && (!qp->datagrams || qp->qp.qp_num != qpn))
		qp = qp->next;
	return qp && !qp->error && qp->state >= IBV_QPS_RTR && qp->qkey == qkey ? qp : NULL;
}

static uint32_t wr_len(const struct ibv_send_wr *wr)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

static bool wr_local(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	int i;

	for (i = 0; i < wr->num_sge && !(wr->send_flags & IBV_SEND_INLINE); i++)
		if (!fake_local(qp, &wr->sg_list[i]))
			return false;
	return true;
}

/* Programs look at memory that the device changes: by words of 8 bytes, as it does. */
static void device_copy(uint8_t *local, uint8_t *far, uint32_t len, bool read)
{
	uint32_t i, step;
	uint64_t word;

	for (i = 0; i < len; i += step) {
		step = (uintptr_t)(far + i) % 8 || len - i < 8 ? 1 : 8;
		if (step == 1 && read) {
			local[i] = __atomic_load_n(far + i, __ATOMIC_RELAXED);
		} else if (step == 1) {
			__atomic_store_n(far + i, local[i], __ATOMIC_RELAXED);
		} else if (read) {
			word = __atomic_load_n((uint64_t *)(far + i), __ATOMIC_RELAXED);
			memcpy(local + i, &word, 8);
		} else {
			memcpy(&word, local + i, 8);
			__atomic_store_n((uint64_t *)(far + i), word, __ATOMIC_RELAXED);
		}
	}
}

/* Between the local list and len bytes elsewhere. */
static void wr_copy(const struct ibv_send_wr *wr, uint8_t *far, bool read)
{
	int i;

	for (i = 0; i < wr->num_sge; far += wr->sg_list[i++].length) {
		void *local = (void *)(uintptr_t)wr->sg_list[i].addr;

		device_copy(local, far, wr->sg_list[i].length, read);
	}
}

static enum ibv_wc_status message(struct fake_qp *peer, const struct ibv_send_wr *wr,
				  struct ibv_wc *told)
{
	const struct fake_recv *recv = &peer->recv[peer->nr_taken % peer->most_recv];

	if (peer->nr_taken == peer->nr_recv)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	*told = (struct ibv_wc) {
		.wr_id = recv->id, .qp_num = peer->qp.qp_num,
		.opcode = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ?
			  IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.wc_flags = wr->opcode == IBV_WR_SEND ? 0 : IBV_WC_WITH_IMM,
		.imm_data = wr->imm_data, .byte_len = wr_len(wr),
	};
	if (told->opcode == IBV_WC_RECV && recv->sge[0].length < told->byte_len)
		return IBV_WC_REM_INV_REQ_ERR;
	if (told->opcode == IBV_WC_RECV)
		wr_copy(wr, (void *)(uintptr_t)recv->sge[0].addr, false);
	peer->nr_taken++;
	return IBV_WC_SUCCESS;
}

static void atomic(const struct ibv_send_wr *wr, uint64_t *word)
{
	uint64_t old = wr->wr.atomic.compare_add;

	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		old = __atomic_fetch_add(word, old, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(word, &old, wr->wr.atomic.swap, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	memcpy((void *)(uintptr_t)wr->sg_list->addr, &old, 8);
}

static enum ibv_wc_status one_sided(struct fake_qp *peer, const struct ibv_send_wr *wr)
{
	bool read = wr->opcode == IBV_WR_RDMA_READ;
	bool atomics = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		       wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	unsigned access = atomics ? IBV_ACCESS_REMOTE_ATOMIC :
			  read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	uint64_t addr = atomics ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
	uint32_t key = atomics ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
	uint8_t *far;

	if (!(peer->access & access))
		return IBV_WC_REM_ACCESS_ERR;
	if (!wr_len(wr))	/* checks no key */
		return IBV_WC_SUCCESS;
	far = fake_remote(peer, key, addr, wr_len(wr), access);
	if (!far)
		return IBV_WC_REM_ACCESS_ERR;
	if (atomics)
		atomic(wr, (uint64_t *)far);
	else
		wr_copy(wr, far, read);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status pair_execute(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_wc told = { .qp_num = 0 };
	enum ibv_wc_status status = IBV_WC_RETRY_EXC_ERR;
	struct fake_qp *peer;
	struct fake_cq *rcq = NULL;

	pthread_mutex_lock(&fake_lock);
	peer = peer_find(qp);
	if (!wr_local(qp, wr)) {
		status = IBV_WC_LOC_PROT_ERR;
	} else if (peer) {
		rcq = peer->rcq;
		status = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ?
			 IBV_WC_SUCCESS : one_sided(peer, wr);
		if (!status && (wr->opcode == IBV_WR_SEND ||
				wr->opcode == IBV_WR_SEND_WITH_IMM ||
				wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM))
			status = message(peer, wr, &told);
	}
	pthread_mutex_unlock(&fake_lock);
	if (told.qp_num)
		fake_cq_add(rcq, &told);
	return status;
}

/* ---- what waits for a receive ---- */

static void held_add(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct fake_held *held = calloc(1, sizeof(*held)), **at = &qp->held;

	held->wr = *wr;
	if (wr->num_sge) {
		held->sge = *wr->sg_list;
		held->wr.sg_list = &held->sge;
	}
	if (wr->send_flags & IBV_SEND_INLINE) {
		memcpy(held->data, (void *)(uintptr_t)held->sge.addr, held->sge.length);
		held->sge.addr = (uintptr_t)held->data;
	}
	while (*at)
		at = &(*at)->next;
	*at = held;
}

/* With fake_post_lock. False: it has to wait for a receive. */
static bool pair_try(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	enum ibv_wc_status status = qp_failed(qp) ? IBV_WC_WR_FLUSH_ERR : pair_execute(qp, wr);

	/* Queue pairs of rdma_create_qp() try for ever. */
	if (status == IBV_WC_RNR_RETRY_EXC_ERR && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return false;
	if (status) {
		pthread_mutex_lock(&fake_lock);
		qp->error = true;
		pthread_mutex_unlock(&fake_lock);
	}
	fake_complete(qp, wr->wr_id, status, wr->send_flags & IBV_SEND_SIGNALED);
	return true;
}

void fake_pair_post(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	pthread_mutex_lock(&fake_post_lock);
	if (qp->held || !pair_try(qp, wr))
		held_add(qp, wr);
	pthread_mutex_unlock(&fake_post_lock);
}

/* With fake_post_lock. */
static void held_run(uint32_t dest)
{
	struct fake_held *held;
	struct fake_qp *qp;

	pthread_mutex_lock(&fake_lock);
	for (qp = qps; qp && (qp->dest != dest || !qp->held); qp = qp->next)
		;
	pthread_mutex_unlock(&fake_lock);
	while (qp && (held = qp->held) && pair_try(qp, &held->wr)) {
		qp->held = held->next;
		free(held);
	}
}
