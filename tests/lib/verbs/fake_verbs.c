/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device: protection domains, keys, completion queues, queue pairs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_priv.h"

struct fake_verbs fake;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static struct ibv_device device = { .name = FAKE_DEVICE };
static struct verbs_context vctx;
static uint32_t next_key = 1;
static struct fake_mr *mrs;
static struct fake_cq *cqs;

bool fake_fails(int err)
{
	bool fails = __atomic_add_fetch(&fake.calls, 1, __ATOMIC_RELAXED) == fake.fail_at;

	if (fails)
		errno = err;
	return fails;
}

void fake_wrong(const char *what)
{
	if (!fake.wrong)
		fake.wrong = what;
}

void fake_made(int by)
{
	__atomic_fetch_add(&fake.objects, by, __ATOMIC_RELAXED);
}

/* ---- the device ---- */

struct ibv_device **ibv_get_device_list(int *nr)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	list[0] = &device;
	if (nr)
		*nr = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	if (fake_fails(EIO))
		return EIO;
	*attr = (struct ibv_device_attr) {
		.max_qp_wr = 32768, .max_cqe = 1 << 22, .phys_port_cnt = 1,
		.atomic_cap = fake.no_atomics ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA,
		.max_qp_init_rd_atom = FAKE_READS, .max_qp_rd_atom = FAKE_READS,
		.max_sge = 8,
	};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t port,
		   struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

	if (port != 1)
		fake_wrong("port of ibv_query_port()");
	attr->state = IBV_PORT_ACTIVE;
	attr->max_msg_sz = 1 << 30;
	attr->active_mtu = IBV_MTU_4096;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->gid_tbl_len = fake.gids;
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	return fake_fails(EACCES) ? NULL : fake_context();
}

int ibv_close_device(struct ibv_context *ctx)
{
	return 0;
}

/* Answers as the kernel does: all GIDs, or an error if there is less room. */
ssize_t _ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entry,
			     size_t room, uint32_t flags, size_t entry_size)
{
	uint32_t i;

	if (room < fake.gids) {
		errno = EINVAL;
		return -EINVAL;
	}
	for (i = 0; i < fake.gids; i++)
		entry[i] = (struct ibv_gid_entry) {
			.gid_index = i, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2,
		};
	return fake.gids;
}

/* GIDs 0 and 1 are no IPv4 addresses of RoCE v2; the others are 127.0.0.1. */
int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	if (fake_fails(EIO))
		return EIO;
	*entry = (struct ibv_gid_entry) {
		.gid_index = index, .port_num = port,
		.gid_type = index ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1,
		.gid.raw = {
			[10] = 0xff, [11] = index < 2 ? 0 : 0xff, [12] = 127, [15] = 1,
		},
	};
	return 0;
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	if (fake_fails(EIO))
		return -1;
	memset(gid, 0, sizeof(*gid));
	return 0;
}

/* ---- protection domains ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct fake_pd *pd;

	if (fake_fails(ENOMEM))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	pd->pd.context = ctx;
	fake_made(1);
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct fake_pd *mine = (struct fake_pd *)pd;

	if (mine->users)
		fake_wrong("a protection domain that is in use");
	if (mine->td)
		fake_count(&fake.parents, -1);
	if (mine->parent)
		fake_count(&mine->parent->users, -1);
	fake_made(-1);
	free(mine);
	return 0;
}

static struct ibv_td *td_alloc(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td;

	if (attr->comp_mask)
		fake_wrong("comp_mask of ibv_alloc_td()");
	if (fake_fails(ENOMEM))
		return NULL;
	if (fake.max_tds && __atomic_load_n(&fake.tds, __ATOMIC_RELAXED) == fake.max_tds) {
		errno = ENOSPC;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	td->context = ctx;
	fake_count(&fake.tds, 1);
	fake_made(1);
	return td;
}

static int td_dealloc(struct ibv_td *td)
{
	fake_count(&fake.tds, -1);
	fake_made(-1);
	free(td);
	return 0;
}

static struct ibv_pd *parent_alloc(struct ibv_context *ctx,
				   struct ibv_parent_domain_init_attr *attr)
{
	struct fake_pd *pd;

	if (!attr->pd || !attr->td || attr->comp_mask || attr->td->context != ctx ||
	    ((struct fake_pd *)attr->pd)->td)
		fake_wrong("arguments of ibv_alloc_parent_domain()");
	if (fake_fails(ENOMEM))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	pd->pd.context = ctx;
	pd->td = attr->td;
	pd->parent = (struct fake_pd *)attr->pd;
	fake_count(&pd->parent->users, 1);
	fake_count(&fake.parents, 1);
	fake_count(&fake.td_pds, 1);
	fake_made(1);
	return &pd->pd;
}

/* ---- keys ---- */

static struct ibv_mr *mr_new(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
			     unsigned access)
{
	struct fake_mr *mr;

	if (fake_fails(ENOMEM))
		return NULL;
	mr = calloc(1, sizeof(*mr));
	mr->mr = (struct ibv_mr) { .pd = pd, .addr = addr, .length = len };
	mr->iova = iova;
	mr->access = access;
	pthread_mutex_lock(&fake_lock);
	mr->mr.lkey = next_key++ << 8;
	mr->mr.rkey = access & ~IBV_ACCESS_LOCAL_WRITE ?
		      mr->mr.lkey | fake.split_keys : 0;
	mr->next = mrs;
	mrs = mr;
	pthread_mutex_unlock(&fake_lock);
	fake_made(1);
	return &mr->mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	if (access & ~IBV_ACCESS_LOCAL_WRITE)
		fake_wrong("access of ibv_reg_mr()");
	return mr_new(pd, addr, len, (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned access)
{
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		fake_wrong("access of ibv_reg_mr_iova()");
	return mr_new(pd, addr, len, iova, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct fake_mr **at = &mrs;

	pthread_mutex_lock(&fake_lock);
	while (&(*at)->mr != mr)
		at = &(*at)->next;
	*at = (*at)->next;
	pthread_mutex_unlock(&fake_lock);
	fake_made(-1);
	free(mr);
	return 0;
}

static bool local_ok(const struct ibv_sge *sge)
{
	const struct fake_mr *mr = mrs;

	while (mr && mr->mr.lkey != sge->lkey)
		mr = mr->next;
	return mr && sge->addr >= (uintptr_t)mr->mr.addr &&
	       sge->addr + sge->length <= (uintptr_t)mr->mr.addr + mr->mr.length;
}

bool fake_local(const struct fake_qp *qp, const struct ibv_sge *sge)
{
	const struct fake_mr *mr = mrs;

	while (mr && mr->mr.lkey != sge->lkey)
		mr = mr->next;
	return mr && (qp->pd->parent ? qp->pd->parent : qp->pd) == (void *)mr->mr.pd &&
	       local_ok(sge);
}

uint8_t *fake_remote(const struct fake_qp *qp, uint32_t key, uint64_t addr, uint32_t len,
		     unsigned access)
{
	const struct fake_mr *mr = mrs;

	while (mr && (!mr->mr.rkey || mr->mr.rkey != key))
		mr = mr->next;
	if (!mr || (void *)mr->mr.pd != qp->pd || !(mr->access & access) ||
	    addr < mr->iova || addr - mr->iova > mr->mr.length ||
	    len > mr->mr.length - (addr - mr->iova))
		return NULL;
	return (uint8_t *)mr->mr.addr + (addr - mr->iova);
}

/* ---- completion queues ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *channel;

	if (fake_fails(EMFILE))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->context = ctx;
	channel->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	fake_made(1);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	fake_made(-1);
	return 0;
}

static struct fake_cq *cq_new(struct ibv_context *ctx, int cqe,
			      struct ibv_comp_channel *channel)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	cq->cq.context = ctx;
	cq->cq.channel = channel;
	cq->size = cqe;
	cq->wc = calloc(cqe, sizeof(*cq->wc));
	pthread_mutex_lock(&fake_lock);
	cq->next = cqs;
	cqs = cq;
	pthread_mutex_unlock(&fake_lock);
	fake_made(1);
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	return fake_fails(ENOMEM) ? NULL : &cq_new(ctx, cqe, channel)->cq;
}

static struct ibv_cq_ex *cq_create_ex(struct ibv_context *ctx,
				      struct ibv_cq_init_attr_ex *attr)
{
	const struct fake_pd *pd = (struct fake_pd *)attr->parent_domain;
	struct fake_cq *cq;

	if (attr->comp_mask != (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    attr->flags != IBV_CREATE_CQ_ATTR_SINGLE_THREADED || !pd->td)
		fake_wrong("arguments of ibv_create_cq_ex()");
	if (fake_fails(ENOMEM))
		return NULL;
	cq = cq_new(ctx, attr->cqe, attr->channel);
	fake_count(&fake.td_cqs, 1);
	return (struct ibv_cq_ex *)&cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct fake_cq *mine = (struct fake_cq *)cq, **at = &cqs;

	if (mine->users || mine->unacked)
		fake_wrong("a completion queue that is in use");
	pthread_mutex_lock(&fake_lock);
	while (*at != mine)
		at = &(*at)->next;
	*at = mine->next;
	pthread_mutex_unlock(&fake_lock);
	free(mine->wc);
	free(mine);
	fake_made(-1);
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct fake_cq *mine = (struct fake_cq *)cq;
	struct ibv_wc *wc;
	unsigned i;

	if (fake_fails(ENOMEM))
		return ENOMEM;
	wc = calloc(cqe, sizeof(*wc));
	pthread_mutex_lock(&fake_lock);
	for (i = 0; i < mine->nr; i++)
		wc[i] = mine->wc[(mine->first + i) % mine->size];
	free(mine->wc);
	mine->wc = wc;
	mine->size = cqe;
	mine->first = 0;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

void fake_cq_add(struct fake_cq *cq, const struct ibv_wc *wc)
{
	pthread_mutex_lock(&fake_lock);
	if (cq->nr == cq->size)
		fake_wrong("a completion queue has overrun");
	else
		cq->wc[(cq->first + cq->nr++) % cq->size] = *wc;
	if (cq->armed)
		eventfd_write(cq->cq.channel->fd, 1);
	cq->told += cq->armed;
	cq->armed = false;
	pthread_mutex_unlock(&fake_lock);
}

static int cq_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	struct fake_cq *mine = (struct fake_cq *)cq;
	int nr;

	pthread_mutex_lock(&fake_lock);
	for (nr = 0; nr < max && mine->nr; nr++, mine->nr--) {
		wc[nr] = mine->wc[mine->first];
		mine->first = (mine->first + 1) % mine->size;
	}
	pthread_mutex_unlock(&fake_lock);
	return nr;
}

static int cq_arm(struct ibv_cq *cq, int solicited)
{
	struct fake_cq *mine = (struct fake_cq *)cq;

	pthread_mutex_lock(&fake_lock);
	mine->armed = true;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	struct fake_cq *at;
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	pthread_mutex_lock(&fake_lock);
	for (at = cqs; at->cq.channel != channel || !at->told; at = at->next)
		;
	at->told--;
	at->unacked++;
	pthread_mutex_unlock(&fake_lock);
	*cq = &at->cq;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nr)
{
	struct fake_cq *mine = (struct fake_cq *)cq;

	if (mine->unacked != nr)
		fake_wrong("events that are not acknowledged");
	mine->unacked -= nr;
}

/* ---- queue pairs ---- */

static struct fake_qp *qp_of(struct ibv_qp *qp)
{
	return (struct fake_qp *)qp;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp;

	if (attr->qp_type != IBV_QPT_RC || attr->sq_sig_all || attr->cap.max_send_sge != 1 ||
	    !attr->cap.max_send_wr)
		fake_wrong("attributes of rdma_create_qp()");
	if (fake_fails(ENOMEM))
		return -1;
	if (attr->cap.max_inline_data > fake.max_inline) {
		errno = EINVAL;
		return -1;
	}
	qp = fake_qp_new(id->verbs, pd, attr);
	qp->id = id;
	/* WRITEs of length 0, as probes, need the right to write. */
	qp->access = IBV_ACCESS_REMOTE_WRITE;
	fake_count(&fake.td_qps, qp->pd->td != NULL);
	attr->cap.max_inline_data = fake.max_inline;
	id->qp = &qp->qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	fake_qp_free(qp_of(id->qp));
	id->qp = NULL;
}

static enum ibv_wc_status wr_execute(struct fake_qp *qp, struct ibv_send_wr *wr)
{
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	uint64_t addr = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
	uint32_t len = wr->num_sge ? wr->sg_list->length : 0;
	bool inlined = wr->send_flags & IBV_SEND_INLINE;
	void *local = wr->num_sge ? (void *)(uintptr_t)wr->sg_list->addr : NULL;
	uint64_t *word, old;
	uint8_t *far;

	if ((atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey) != FAKE_RKEY)
		fake_wrong("rkey of a work request");
	if (len && !inlined && !local_ok(wr->sg_list))
		return IBV_WC_LOC_PROT_ERR;
	far = fake_far(qp, addr, len, wr->opcode == IBV_WR_RDMA_READ);
	if (!far)
		return IBV_WC_REM_ACCESS_ERR;
	word = (uint64_t *)far;
	switch (wr->opcode) {
	case IBV_WR_RDMA_READ:
		if (len)
			memcpy(local, far, len);
		break;
	case IBV_WR_RDMA_WRITE:
		if (len)
			memcpy(far, local, len);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		old = wr->wr.atomic.compare_add;
		__atomic_compare_exchange_n(word, &old, wr->wr.atomic.swap, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		memcpy(local, &old, 8);
		break;
	default:
		old = __atomic_fetch_add(word, wr->wr.atomic.compare_add, __ATOMIC_SEQ_CST);
		memcpy(local, &old, 8);
	}
	return IBV_WC_SUCCESS;
}

void fake_complete(struct fake_qp *qp, uint64_t wr_id, enum ibv_wc_status status,
		   bool signaled)
{
	struct ibv_wc wc = {
		.wr_id = wr_id, .status = status, .qp_num = qp->qp.qp_num,
		.vendor_err = status ? 0x88 : 0,
	};

	if (status || signaled)
		fake_cq_add(qp->cq, &wc);
}

void fake_qp_error(struct fake_qp *qp)
{
	unsigned i, nr;

	pthread_mutex_lock(&fake_lock);
	qp->error = true;
	nr = qp->nr_flush;
	qp->nr_flush = 0;
	pthread_mutex_unlock(&fake_lock);
	for (i = 0; i < nr; i++)
		fake_complete(qp, qp->flush[i], IBV_WC_WR_FLUSH_ERR, true);
	if (qp->dest)
		fake_receives_flush(qp);
}

/* A memory node that is gone does not answer: until that is noticed, it waits. */
static bool wr_waits(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	bool waits;

	if (!fake_gone(qp))
		return false;
	pthread_mutex_lock(&fake_lock);
	waits = !qp->error;
	if (waits) {
		qp->flush = realloc(qp->flush, (qp->nr_flush + 1) * sizeof(*qp->flush));
		qp->flush[qp->nr_flush++] = wr->wr_id;
	}
	pthread_mutex_unlock(&fake_lock);
	return waits;
}

static void wr_look(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	if ((qp->id && wr->num_sge > 1) ||
	    wr->send_flags & ~(IBV_SEND_SIGNALED | IBV_SEND_INLINE | IBV_SEND_FENCE))
		fake_wrong("a work request's lists or flags");
	if (wr->send_flags & IBV_SEND_INLINE &&
	    ((wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM &&
	      !qp->datagrams) ||
	     wr->sg_list->length > fake.max_inline))
		fake_wrong("a work request's inline data");
	__atomic_fetch_add(&fake.inlined, !!(wr->send_flags & IBV_SEND_INLINE),
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&fake.fenced, !!(wr->send_flags & IBV_SEND_FENCE),
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&fake.signaled, !!(wr->send_flags & IBV_SEND_SIGNALED),
			   __ATOMIC_RELAXED);
}

/* A queue pair that has an id uses its receives for handshakes only. */
static int qp_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = qp_of(ibqp);
	int err;

	*bad = wr;
	if (fake_fails(ENOMEM))
		return ENOMEM;
	for (; qp->datagrams && wr; wr = wr->next) {
		*bad = wr;
		err = fake_receive(qp, wr);
		if (err || !wr->next)
			return err;
	}
	if (!qp->id || qp->dest)
		return fake_receive(qp, wr);
	if (qp->nr_recv == 2 || wr->num_sge != 1 || wr->next || !local_ok(wr->sg_list))
		fake_wrong("a receive");
	else
		qp->recv[qp->nr_recv++].sge[0] = *wr->sg_list;
	return 0;
}

static enum ibv_wc_status wr_send(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	uint8_t answer[192];
	size_t len = fake_auth_message(qp, (void *)(uintptr_t)wr->sg_list->addr,
				       wr->sg_list->length, answer);
	struct ibv_wc wc = { .wr_id = qp->nr_taken, .byte_len = len };

	if (!local_ok(wr->sg_list))
		return IBV_WC_LOC_PROT_ERR;
	if (!len) {
		fake_left(qp->id);
		return IBV_WC_SUCCESS;
	}
	if (qp->nr_taken == qp->nr_recv || qp->recv[qp->nr_taken].sge[0].length < len) {
		fake_wrong("a message without a receive");
		return IBV_WC_REM_INV_REQ_ERR;
	}
	memcpy((void *)(uintptr_t)qp->recv[qp->nr_taken++].sge[0].addr, answer, len);
	fake_cq_add(qp->cq, &wc);
	return IBV_WC_SUCCESS;
}

static int qp_post(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = qp_of(ibqp);
	enum ibv_wc_status status;
	bool told = false;

	__atomic_fetch_add(&fake.posts, 1, __ATOMIC_RELAXED);
	for (; wr; wr = wr->next) {
		*bad = wr;
		if (fake_fails(ENOMEM))
			return ENOMEM;
		wr_look(qp, wr);
		if (qp->datagrams || qp->dest) {
			qp->datagrams ? fake_datagram_post(qp, wr) : fake_pair_post(qp, wr);
			continue;
		}
		if (wr->opcode == IBV_WR_SEND) {
			fake_complete(qp, wr->wr_id, wr_send(qp, wr),
				    wr->send_flags & IBV_SEND_SIGNALED);
			continue;
		}
		if (wr_waits(qp, wr)) {
			if (!told)
				fake_left(qp->id);
			told = true;
			continue;
		}
		status = qp->error ? IBV_WC_WR_FLUSH_ERR : wr_execute(qp, wr);
		fake_complete(qp, wr->wr_id, status, wr->send_flags & IBV_SEND_SIGNALED);
		if (status)
			qp->error = true;
	}
	return 0;
}

static void context_make(void)
{
	vctx.sz = sizeof(vctx);
	vctx.dealloc_td = td_dealloc;
	vctx.alloc_parent_domain = parent_alloc;
	vctx.create_cq_ex = cq_create_ex;
	vctx.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx.context.device = &device;
	vctx.context.ops.poll_cq = cq_poll;
	vctx.context.ops.req_notify_cq = cq_arm;
	vctx.context.ops.post_send = qp_post;
	vctx.context.ops.post_recv = qp_post_recv;
}

/* Threads use the context while others ask for it. */
struct ibv_context *fake_context(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, context_make);
	if (fake.no_td != !vctx.alloc_td)
		vctx.alloc_td = fake.no_td ? NULL : td_alloc;
	return &vctx.context;
}
