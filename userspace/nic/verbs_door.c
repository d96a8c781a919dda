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
static void td_open(struct verbs_nic *verbs, struct verbs_door *door)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = verbs->pd };
	struct ibv_pd *pd;

	door->td = ibv_alloc_td(verbs->ctx, &none);
	if (!door->td)
		return;
	attr.td = door->td;
	pd = ibv_alloc_parent_domain(verbs->ctx, &attr);
	if (!pd) {
		ibv_dealloc_td(door->td);
		door->td = NULL;
		return;
	}
	door->pd = pd;
}

static void td_close(struct verbs_door *door)
{
	if (!door->td)
		return;
	ibv_dealloc_pd(door->pd);
	ibv_dealloc_td(door->td);
}

static struct ibv_cq *cq_own(struct verbs_nic *verbs, struct verbs_door *door, int nr_cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = nr_cqe,
		.channel = door->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
		.parent_domain = door->pd,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(verbs->ctx, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/* Makes the completion queue under the thread domain, or, if that fails, without it. */
static int cq_open(struct verbs_nic *verbs, struct verbs_door *door, int nr_cqe)
{
	if (door->td)
		door->cq = cq_own(verbs, door, nr_cqe);
	errno = 0;
	if (!door->cq)
		door->cq = ibv_create_cq(verbs->ctx, nr_cqe, NULL, door->channel, 0);
	return verbs_errno(!door->cq);
}

static int channel_open(struct verbs_nic *verbs, struct verbs_door *door)
{
	unsigned held = own_stdio_hold();
	int flags, err;

	errno = 0;
	door->channel = ibv_create_comp_channel(verbs->ctx);
	err = verbs_errno(!door->channel);
	own_stdio_let(held);
	if (err)
		return err;
	flags = fcntl(door->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(door->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		err = -errno;
	if (!err)
		err = own_fd_lend(door->channel->fd);
	if (err)
		ibv_destroy_comp_channel(door->channel);
	return err;
}

static void channel_close(struct verbs_door *door)
{
	own_fd_forget(door->channel->fd);
	ibv_destroy_comp_channel(door->channel);
}

int verbs_door_open(struct verbs_nic *verbs, enum far_doorbell doorbell, int nr_cqe,
		    struct verbs_door *door)
{
	int err;

	*door = (struct verbs_door) { .pd = verbs->pd };
	err = channel_open(verbs, door);
	if (err)
		return err;
	if (doorbell == FAR_DOORBELL_THREAD)
		td_open(verbs, door);
	err = cq_open(verbs, door, nr_cqe);
	if (err)
		goto close_td;
	return 0;

close_td:
	td_close(door);
	channel_close(door);
	return err;
}

void verbs_door_close(struct verbs_door *door)
{
	ibv_destroy_cq(door->cq);
	td_close(door);
	channel_close(door);
}
