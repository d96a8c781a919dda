// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attachments of compute nodes to spaces, their claims of client numbers, and the fence.
 * The fence of sim knows which compute nodes are dead, and cancels their requests that
 * are still under way.
 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>

struct sim_attach *sim_attach_new(struct sim_cn *cn, struct sim_space *space,
				  unsigned rights)
{
	struct sim_attach *attach = calloc(1, sizeof(*attach));

	if (!attach)
		return NULL;
	attach->cn = cn;
	attach->space = space;
	space->refs++;
	attach->mn = space->mn;
	attach->rights = rights;
	attach->refs = 1;
	attach->next = cn->sim->attaches;
	cn->sim->attaches = attach;
	return attach;
}

int sim_attach(struct far_nic *nic, const char *node, const char *space,
	       unsigned rights, struct far_peer *ret_peer)
{
	struct sim_cn *cn = sim_cn_of(nic);
	struct sim_attach *attach;
	struct far_host_map map;
	int err;

	err = sim_host_ops.map(nic, node, space, &map);
	if (err)
		return err;
	attach = sim_attach_new(cn, map.priv, rights);
	sim_host_ops.unmap(nic, &map);
	if (!attach)
		return -ENOMEM;
	ret_peer->nr_regions = 1;
	ret_peer->region[0] = (struct far_region) {
		.size = map.size,
		.place = FAR_PLACE_HOST,
	};
	ret_peer->priv = attach;
	return 0;
}

static void claims_free(struct sim_attach *attach)
{
	while (attach->claims) {
		struct sim_claim *next = attach->claims->next;

		free(attach->claims);
		attach->claims = next;
	}
}

void sim_attach_put(struct sim_attach *attach)
{
	struct sim_attach **at;

	if (--attach->refs)
		return;
	for (at = &attach->cn->sim->attaches; *at != attach; at = &(*at)->next)
		;
	*at = attach->next;
	sim_space_put(attach->space);
	free(attach);
}

void sim_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct sim_attach *attach = peer->priv;

	claims_free(attach);
	sim_attach_put(attach);
}

void sim_attaches_free(struct far_sim *sim)
{
	while (sim->attaches) {
		struct sim_attach *next = sim->attaches->next;

		claims_free(sim->attaches);
		free(sim->attaches);
		sim->attaches = next;
	}
}

static struct sim_claim **claim_find(struct sim_attach *attach, unsigned client)
{
	struct sim_claim **at = &attach->claims;

	while (*at && (*at)->client != client)
		at = &(*at)->next;
	return at;
}

/* The attachment of a live compute node that has claimed this client number, or NULL. */
static struct sim_attach *claim_holder(const struct sim_attach *attach, unsigned client)
{
	struct sim_attach *other;

	for (other = attach->cn->sim->attaches; other; other = other->next)
		if (other->space == attach->space && !other->cn->dead &&
		    *claim_find(other, client))
			return other;
	return NULL;
}

int sim_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct sim_attach *attach = peer->priv, *holder;
	struct sim_claim *claim;

	if (client >= SIM_CLIENTS)
		return -EINVAL;
	holder = claim_holder(attach, client);
	if (holder)
		return holder == attach ? 0 : -EBUSY;
	claim = calloc(1, sizeof(*claim));
	if (!claim)
		return -ENOMEM;
	claim->client = client;
	claim->next = attach->claims;
	attach->claims = claim;
	return 0;
}

void sim_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct sim_attach *attach = peer->priv;
	struct sim_claim **at = claim_find(attach, client), *claim = *at;

	if (!claim)
		return;
	*at = claim->next;
	free(claim);
}

/* Flushes the queue pairs of all dead compute nodes to the space. */
static void dead_cut(const struct sim_attach *attach)
{
	struct far_sim *sim = attach->cn->sim;
	struct sim_qp *qp;
	unsigned i;

	for (i = 0; i < sim->attr.cns; i++)
		for (qp = sim->cns[i].dead ? sim->cns[i].qps : NULL; qp; qp = qp->next)
			if (qp->attach && qp->attach->space == attach->space)
				sim_qp_flush(qp, 0);
}

int sim_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	const struct sim_attach *attach = peer->priv;

	if (client >= SIM_CLIENTS)
		return -EINVAL;
	if (attach->mn->dead)
		return -EHOSTDOWN;
	if (claim_holder(attach, client))
		return -EBUSY;
	dead_cut(attach);
	return 0;
}
