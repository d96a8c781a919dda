// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The arbiter's duty where memory nodes have no agent: in back ends whose memory nodes
 * are within this process's reach, whichever client comes first does a step.
 *
 * Number 0, which no client has, is the arbiter's: who has claimed it does the step.
 */
#include <errno.h>

#include "../space/arbiter.h"
#include "client_priv.h"

/* A process that stood still may not have got what others have sent it meanwhile. */
#define GAP_NS	(FAR_BEAT_NS / 4)

static bool number_is_free(const struct far_client_set *set, unsigned node, unsigned number)
{
	return !set->nic->ops->fence(set->nic, set->peer[node], number);
}

static int tend_fence(void *arg, unsigned node, unsigned number, unsigned incarnation)
{
	const struct far_client *client = arg;
	const struct far_client_set *set = &client->set;

	(void)incarnation;	/* the back end knows processes, not incarnations */
	if (client->cuts && client->tended - client->awake > FAR_BEAT_NS)
		set->nic->ops->cut(set->nic, set->peer[node], number);
	return number_is_free(set, node, number) ? 0 : -EBUSY;
}

static int tend_gone(void *arg, unsigned number)
{
	const struct far_client *client = arg;

	return number_is_free(&client->set, client->arbiter, number);
}

/* A memory node of another process would never confirm the fence of a client that lives. */
static bool nodes_are_ours(const struct far_client_set *set)
{
	const struct far_nic_host_ops *host = set->nic->ops->host;
	struct far_host_map map;
	unsigned n;

	for (n = 0; n < set->nr_nodes; n++) {
		if (host->map(set->nic, set->node[n], set->space, &map))
			return false;
		host->unmap(set->nic, &map);
	}
	return true;
}

void far_tend_init(struct far_client *client)
{
	const struct far_nic_ops *ops = client->set.nic->ops;

	client->tends = ops->host && ops->fence && ops->claim &&
			!ops->host->map(client->set.nic,
					client->set.node[client->arbiter],
					client->set.space, &client->arbiter_map);
	client->cuts = client->tends && ops->cut && nodes_are_ours(&client->set);
}

void far_tend_fini(struct far_client *client)
{
	if (client->tends)
		client->set.nic->ops->host->unmap(client->set.nic,
						  &client->arbiter_map);
}

void far_tend(struct far_client *client)
{
	const struct far_arbiter arbiter = {
		.memory = client->arbiter_map.addr,
		.sb = &client->sb[client->arbiter],
		.beat_ns = FAR_BEAT_NS, .epoch_ns = FAR_EPOCH_NS,
		.arg = client, .gone = tend_gone, .fence = tend_fence,
	};
	struct far_nic *nic = client->set.nic;
	struct far_peer *peer = client->set.peer[client->arbiter];
	uint64_t now = nic->ops->now(nic);

	if (now - client->tended > GAP_NS)
		client->awake = now;
	client->tended = now;
	if (!client->tends || now < far_arbiter_due(&arbiter) ||
	    nic->ops->claim(nic, peer, 0))
		return;
	if (now >= far_arbiter_due(&arbiter))
		far_arbiter_step(&arbiter, now);
	nic->ops->unclaim(nic, peer, 0);
}
