/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attachments: a connection by which the memory node sees that this process lives, and
 * the regions of the space, from the accept. All else is asked by connection requests.
 */
#include <core/wqe.h>
#include <errno.h>
#include <stdlib.h>

#include "../base/rng.h"
#include "verbs_priv.h"

static int peer_connect(struct verbs_nic *verbs, struct verbs_peer *peer,
			const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_ATTACH, peer->id);
	const struct verbs_qp_conf conf = {
		.pd = verbs->pd, .cq = verbs->cq, .depth = 1,
	};
	int err = far_hello_name(&hello, space);

	if (err)
		return err;
	hello.rights = peer->regions.rights;
	err = verbs_call(verbs, &peer->addr, &hello, &conf, &peer->conn);
	if (err)
		return err;
	err = far_regions_parse(&peer->regions, peer->conn->priv, peer->conn->priv_len);
	if (err)
		verbs_conn_end(verbs, peer->conn);
	return err;
}

int verbs_attach(struct far_nic *nic, const char *node, const char *space,
		 unsigned rights, struct far_peer *ret_peer)
{
	struct verbs_peer *peer = calloc(1, sizeof(*peer));
	unsigned tries = 0;
	int err;

	if (!peer)
		return -ENOMEM;
	err = verbs_addr_of(verbs_nic_of(nic), node, &peer->addr);
	if (err)
		goto free_peer;
	peer->local = far_nodes_find(&verbs_nic_of(nic)->nodes, node);
	peer->regions.rights = rights;
	peer->id = far_rng_any_seed() | 1;
	do
		err = peer_connect(verbs_nic_of(nic), peer, space);
	while (far_hello_again(err, &tries));
	if (err)
		goto free_peer;
	far_regions_copy(&peer->regions, ret_peer);
	ret_peer->priv = peer;
	return 0;

free_peer:
	free(peer);
	return err;
}

/* Asks the memory node a question about this attachment or a client: 0 or -errno. */
static int peer_ask(struct verbs_nic *verbs, const struct verbs_peer *peer,
		    enum odrp_far_role role, unsigned client)
{
	struct odrp_far_hello hello = far_hello(role, peer->id);

	hello.number = cpu_to_be32(client);
	return verbs_ask(verbs, &peer->addr, &hello, NULL);
}

void verbs_detach(struct far_nic *nic, struct far_peer *far_peer)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);
	struct verbs_peer *peer = far_peer->priv;

	/* This ends the claims, too. If the connection is over, there is none to end. */
	if (verbs_conn_state(verbs, peer->conn) == VERBS_CONN_READY)
		peer_ask(verbs, peer, ODRP_FAR_DETACH, 0);
	verbs_conn_end(verbs, peer->conn);
	free(peer);
}

static int claim_ask(struct far_nic *nic, struct far_peer *peer,
		     enum odrp_far_role role, unsigned client)
{
	if (client >= ODRP_FAR_MAX_CLIENTS)
		return -EINVAL;
	return peer_ask(verbs_nic_of(nic), peer->priv, role, client);
}

int verbs_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_CLAIM, client);
}

void verbs_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	claim_ask(nic, peer, ODRP_FAR_UNCLAIM, client);
}

int verbs_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_FENCE, client);
}

void verbs_cut(struct far_nic *nic, struct far_peer *far_peer, unsigned client)
{
	struct verbs_peer *peer = far_peer->priv;

	if (peer->local)
		far_node_cut(peer->local, peer->id, client);
}

/* ---- questions without an attachment ---- */

static int node_ask(struct far_nic *nic, const char *node, const char *space,
		    struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	struct verbs_addr addr;
	int err = verbs_addr_of(verbs_nic_of(nic), node, &addr);

	if (!err && space)
		err = far_hello_name(hello, space);
	return err ? err : verbs_ask(verbs_nic_of(nic), &addr, hello, ret_space);
}

int verbs_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
	       struct far_nic_space *ret_space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_LOOK, 1);

	hello.number = cpu_to_be32(idx);
	return node_ask(nic, node, space, &hello, ret_space);
}

int verbs_erase(struct far_nic *nic, const char *node, const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_DELETE, 1);

	return node_ask(nic, node, space, &hello, NULL);
}
