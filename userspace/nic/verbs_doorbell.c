/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue set's doorbell. A thread domain promises to the provider that only one thread
 * at a time uses the objects under its parent domain. mlx5 then gives these objects a
 * doorbell register of their own, and takes no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <own/own.h>

#include "verbs_priv.h"

/* An error does not matter: without a thread domain the queue set shares a doorbell. */
static void td_open(struct verbs_nic *verbs, struct verbs_doorbell *db)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = verbs->pd };
	struct ibv_pd *pd;

	db->td = ibv_alloc_td(verbs->ctx, &none);
	if (!db->td)
		return;
	attr.td = db->td;
	pd = ibv_alloc_parent_domain(verbs->ctx, &attr);
	if (!pd) {
		ibv_dealloc_td(db->td);
		db->td = NULL;
		return;
	}
	db->pd = pd;
}

static void td_close(struct verbs_doorbell *db)
{
	if (!db->td)
		return;
	ibv_dealloc_pd(db->pd);
	ibv_dealloc_td(db->td);
}

static struct ibv_cq *cq_own(struct verbs_nic *verbs, struct verbs_doorbell *db, int nr_cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = nr_cqe,
		.channel = db->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
		.parent_domain = db->pd,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(verbs->ctx, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/* Makes the completion queue under the thread domain, or, if that fails, without it. */
int verbs_doorbell_cq(struct verbs_nic *verbs, uint64_t nr_cqe, struct verbs_doorbell *db)
{
	if (nr_cqe > (unsigned)verbs->attr.max_cqe)
		return -ENOMEM;
	if (db->td)
		db->cq = cq_own(verbs, db, nr_cqe);
	errno = 0;
	if (!db->cq)
		db->cq = ibv_create_cq(verbs->ctx, nr_cqe, NULL, db->channel, 0);
	return verbs_errno(!db->cq);
}

static int channel_open(struct verbs_nic *verbs, struct verbs_doorbell *db)
{
	unsigned held = own_stdio_hold();
	int flags, err;

	errno = 0;
	db->channel = ibv_create_comp_channel(verbs->ctx);
	err = verbs_errno(!db->channel);
	own_stdio_let(held);
	if (err)
		return err;
	flags = fcntl(db->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(db->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		err = -errno;
	if (!err)
		err = own_fd_lend(db->channel->fd);
	if (err)
		ibv_destroy_comp_channel(db->channel);
	return err;
}

static void channel_close(struct verbs_doorbell *db)
{
	own_fd_forget(db->channel->fd);
	ibv_destroy_comp_channel(db->channel);
}

int verbs_doorbell_open(struct verbs_nic *verbs, enum far_doorbell doorbell,
			struct verbs_doorbell *db)
{
	int err;

	*db = (struct verbs_doorbell) { .pd = verbs->pd };
	err = channel_open(verbs, db);
	if (err)
		return err;
	if (doorbell == FAR_DOORBELL_THREAD)
		td_open(verbs, db);
	return 0;
}

void verbs_doorbell_close(struct verbs_doorbell *db)
{
	if (db->cq)
		ibv_destroy_cq(db->cq);
	td_close(db);
	channel_close(db);
}
