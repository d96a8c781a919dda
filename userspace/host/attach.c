// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attachments: their connections, claims of client numbers, and probes of clients. */
#include <errno.h>
#include <stdlib.h>

#include <mlx5/encode.h>

#include "host_priv.h"

#define HOST_LOG_CQ	12	/* room for one probe of each attachment */
#define MAX_CLAIMS	16u	/* claims of an attachment */

/* ---- attachments ---- */

struct far_host_attach *far_host_find(const struct far_host *host, uint64_t id)
{
	struct far_host_attach *attach = host->attaches;

	while (attach && attach->id != id)
		attach = attach->next;
	return attach;
}

bool far_host_uses_pass(const struct far_host *host, uint64_t pass)
{
	const struct far_host_attach *attach = host->attaches;

	while (attach && attach->pass != pass)
		attach = attach->next;
	return attach;
}

static void link_end(struct far_host *host, struct far_host_space *space,
		     struct far_host_link *link)
{
	far_qp_free(&link->qp);
	host->dev->ops->release(host->dev, link->conn);
	space->ended = far_fence_end(&host->fence);
}

void far_host_queue_end(struct far_host *host, struct far_host_attach *attach,
			struct far_host_link *link)
{
	link_end(host, attach->space, link);
	attach->nr_queues--;
	host->nr_queues--;
	free(link);
}

static bool control_is_open(const struct far_host_attach *attach)
{
	return attach->control.qp.dev;
}

/* Ends connections of an attachment that leaves, as far as this turn has room for them.
 * True: it has none any more. */
static bool attach_end(struct far_host *host, struct far_host_attach *attach)
{
	struct far_host_link *link;

	for (; (link = attach->queues) && host->room; host->room--) {
		attach->queues = link->next;
		far_host_queue_end(host, attach, link);
	}
	if (control_is_open(attach) && host->room) {
		link_end(host, attach->space, &attach->control);
		host->room--;
	}
	return !attach->queues && !control_is_open(attach);
}

static void attach_free(struct far_host *host, struct far_host_attach *attach)
{
	struct far_host_claim *claim;

	while ((claim = attach->claims)) {
		attach->claims = claim->next;
		free(claim);
	}
	host->nr_attaches--;
	free(attach);
}

static void leaving_end(struct far_host *host)
{
	struct far_host_attach *attach;

	while ((attach = host->leaving) && attach_end(host, attach)) {
		host->leaving = attach->next;
		attach_free(host, attach);
	}
}

void far_host_cut(struct far_host *host, struct far_host_attach *attach)
{
	struct far_host_attach **at = &host->attaches;

	while (*at != attach)
		at = &(*at)->next;
	*at = attach->next;
	attach->next = NULL;
	for (at = &host->leaving; *at; at = &(*at)->next)
		;
	*at = attach;
	leaving_end(host);
}

bool far_host_leaving(const struct far_host *host, const struct far_host_space *space)
{
	const struct far_host_attach *attach = host->leaving;

	while (attach && space && attach->space != space)
		attach = attach->next;
	return attach;
}

void far_host_cut_owner(struct far_host *host, uint64_t owner)
{
	struct far_host_attach *attach = host->attaches, *next;

	for (; attach; attach = next) {
		next = attach->next;
		if (attach->pass && attach->owner == owner)
			far_host_cut(host, attach);
	}
}

/* ---- claims ---- */

static struct far_host_claim **claim_find(struct far_host_attach *attach, uint32_t client)
{
	struct far_host_claim **at = &attach->claims;

	while (*at && (*at)->client != client)
		at = &(*at)->next;
	return at;
}

static struct far_host_attach *list_holder(struct far_host_attach *list,
					   const struct far_host_space *space,
					   uint32_t client)
{
	while (list && (list->space != space || !*claim_find(list, client)))
		list = list->next;
	return list;
}

bool far_host_claimed(const struct far_host *host, const struct far_host_space *space,
		      uint32_t client)
{
	return list_holder(host->attaches, space, client) ||
	       list_holder(host->leaving, space, client);
}

void far_host_cut_client(struct far_host *host, const struct far_host_space *space,
			 uint32_t client)
{
	struct far_host_attach *holder = list_holder(host->attaches, space, client);

	if (holder)
		far_host_cut(host, holder);
}

static unsigned claim_take(struct far_host *host, struct far_host_attach *attach,
			   uint32_t client)
{
	struct far_host_claim *claim;

	/* An attachment that may only read is no client, and so it needs no number. */
	if (!(attach->rights & ODRP_FAR_WRITE))
		return ODRP_FAR_E_RIGHTS;
	if (*claim_find(attach, client))
		return ODRP_FAR_OK;
	if (far_host_claimed(host, attach->space, client))
		return ODRP_FAR_E_BUSY;
	if (attach->nr_claims == MAX_CLAIMS)
		return ODRP_FAR_E_LIMIT;
	claim = malloc(sizeof(*claim));
	if (!claim)
		return ODRP_FAR_E_NOMEM;
	claim->client = client;
	claim->next = attach->claims;
	attach->claims = claim;
	attach->nr_claims++;
	return ODRP_FAR_OK;
}

static void claim_drop(struct far_host_attach *attach, uint32_t client)
{
	struct far_host_claim **at = claim_find(attach, client), *claim = *at;

	if (!claim)
		return;
	*at = claim->next;
	attach->nr_claims--;
	free(claim);
}

unsigned far_host_answer(struct far_host *host, enum odrp_far_role role,
			 struct far_host_attach *attach, uint32_t client)
{
	switch (role) {
	case ODRP_FAR_DETACH:
		far_host_cut(host, attach);
		return ODRP_FAR_OK;
	case ODRP_FAR_CLAIM:
		return claim_take(host, attach, client);
	case ODRP_FAR_UNCLAIM:
		claim_drop(attach, client);
		return ODRP_FAR_OK;
	default:
		return far_host_claimed(host, attach->space, client) ? ODRP_FAR_E_BUSY :
		       ODRP_FAR_OK;
	}
}

/* ---- probes of clients ---- */

/*
 * Posts a WRITE of length 0, which checks no key and moves no data. (A READ of length 0
 * would do, too. But rdma_rxe before 6.3 refuses a READ that is repeated after it was
 * answered, because rdma_rxe then looks up the key.)
 */
static void probe_post(struct far_host_attach *attach)
{
	struct far_qp *qp = &attach->control.qp;
	struct wrc_wr wr = {
		.op = WRC_WQE_WRITE, .shape = WRC_WQE_WRITE, .flags = WRC_WQE_CE_ALWAYS,
		.index = attach->probes, .qpn = qp->qpn,
	};

	if (attach->probing || wrc_encode(&wr, far_qp_slot(qp, attach->probes),
					  WRC_WQE_BB) < 0)
		return;
	attach->probes++;
	attach->probing = !far_qp_ring(qp, attach->probes);
}

static void probe_note(struct far_host *host, const struct wrc_cqe *cqe)
{
	uint32_t qpn = be32_to_cpu(cqe->sop_qpn) & 0xffffff;
	struct far_host_attach *attach = host->attaches;

	while (attach && attach->control.qp.qpn != qpn)
		attach = attach->next;
	if (!attach)
		return;
	attach->probing = false;
	if (cqe->op_own >> 4 != WRC_CQE_REQ)
		far_host_cut(host, attach);
}

void far_host_probe(struct far_host *host)
{
	struct far_host_attach *attach;

	for (attach = host->attaches; attach; attach = attach->next)
		probe_post(attach);
}

void far_host_poll(struct far_host *host)
{
	struct wrc_cqe cqe;

	host->room = FAR_HOST_ENDS;
	while (!host->dev->ops->cq_poll(host->dev, host->cqn, &cqe))
		probe_note(host, &cqe);
	far_fence_poll(&host->fence);
	leaving_end(host);
}

/* Ends a queue of the attachment. False: the connection is none of its queues. */
static bool queue_gone(struct far_host *host, struct far_host_attach *attach,
		       uint32_t conn)
{
	struct far_host_link **at = &attach->queues, *link;

	while (*at && (*at)->conn != conn)
		at = &(*at)->next;
	link = *at;
	if (!link)
		return false;
	*at = link->next;
	far_host_queue_end(host, attach, link);
	return true;
}

static bool leaving_gone(struct far_host *host, uint32_t conn)
{
	struct far_host_attach *attach;

	for (attach = host->leaving; attach; attach = attach->next) {
		if (control_is_open(attach) && attach->control.conn == conn) {
			link_end(host, attach->space, &attach->control);
			return true;
		}
		if (queue_gone(host, attach, conn))
			return true;
	}
	return false;
}

bool far_host_gone(struct far_host *host, uint32_t conn)
{
	struct far_host_attach *attach;

	for (attach = host->attaches; attach; attach = attach->next) {
		/* The end of the control connection ends the attachment. */
		if (attach->control.conn == conn) {
			far_host_cut(host, attach);
			return true;
		}
		if (queue_gone(host, attach, conn))
			return true;
	}
	return leaving_gone(host, conn);
}

/* ---- fences ---- */

int far_host_settle(struct far_host *host, const struct far_host_space *space)
{
	return far_host_leaving(host, space) ? -EBUSY :
	       far_fence_settle(&host->fence, space->ended);
}

int far_host_fence(struct far_host *host, const struct far_host_space *space,
		   uint32_t client)
{
	far_host_cut_client(host, space, client);
	return far_host_claimed(host, space, client) ? -EBUSY :
	       far_fence_settle(&host->fence, space->ended);
}

/* ---- start and end ---- */

int far_host_init(struct far_host *host, struct nic *dev)
{
	int err;

	*host = (struct far_host){ .dev = dev, .room = FAR_HOST_ENDS };
	far_fence_init(&host->fence, dev);
	err = dev->ops->pd_alloc(dev, &host->pdn);
	if (err)
		return err;
	err = dev->ops->cq_create(dev, HOST_LOG_CQ, &host->cqn);
	if (err)
		goto free_pd;
	err = dev->ops->listen(dev, ODRP_FAR_PORT);
	if (err)
		goto destroy_cq;
	return 0;

destroy_cq:
	dev->ops->cq_destroy(dev, host->cqn);
free_pd:
	dev->ops->pd_free(dev, host->pdn);
	return err;
}

void far_host_fini(struct far_host *host)
{
	while (host->attaches)
		far_host_cut(host, host->attaches);
	while (host->leaving)
		far_host_poll(host);
	far_fence_fini(&host->fence);
	host->dev->ops->cq_destroy(host->dev, host->cqn);
	host->dev->ops->pd_free(host->dev, host->pdn);
}
