/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attachments: a connection by which the memory node sees that this process lives, and
 * the regions of the space, from the accept. Further questions go to memory nodes of this
 * process by a call, to all others by a connection request.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/rng.h"
#include "soft_priv.h"

int soft_addr_of(const struct soft_nic *soft, const char *node,
		 struct soft_addr *ret_addr)
{
	struct in_addr in;

	ret_addr->local = far_nodes_find(&soft->nodes, node);
	if (ret_addr->local)
		ret_addr->ip = ret_addr->local->ip;
	else if (inet_pton(AF_INET, node, &in) == 1)
		ret_addr->ip = in.s_addr;
	else	/* a number that no memory node has, or no number at all */
		return node[strspn(node, "0123456789")] ? -EINVAL : -EHOSTUNREACH;
	return 0;
}

static int peer_connect(struct soft_nic *soft, struct soft_peer *peer,
			const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_ATTACH, peer->id);
	/* The memory node sends WRITEs of length 0 as probes. */
	const struct soft_qp_conf conf = { .cqn = soft->cqn, .access = NIC_REMOTE_WRITE };
	int err = far_hello_name(&hello, space);

	if (err)
		return err;
	hello.rights = peer->regions.rights;
	err = soft_call(soft, peer->addr.ip, &hello, &conf, &peer->qp, &peer->conn);
	if (err)
		return err;
	err = far_regions_parse(&peer->regions, peer->conn.priv, peer->conn.priv_len);
	if (err)
		goto end_conn;
	return 0;

end_conn:
	far_qp_free(&peer->qp);
	soft_conn_end(soft, &peer->conn);
	return err;
}

int soft_attach(struct far_nic *nic, const char *node, const char *space,
		unsigned rights, struct far_peer *ret_peer)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct soft_peer *peer = calloc(1, sizeof(*peer));
	unsigned tries = 0;
	int err;

	if (!peer)
		return -ENOMEM;
	err = soft_addr_of(soft, node, &peer->addr);
	if (err)
		goto free_peer;
	peer->regions.rights = rights;
	peer->id = far_rng_any_seed() | 1;
	do
		err = peer_connect(soft, peer, space);
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
static int peer_ask(struct soft_nic *soft, struct soft_peer *peer,
		    enum odrp_far_role role, unsigned client)
{
	struct odrp_far_hello hello = far_hello(role, peer->id);

	if (peer->addr.local)
		switch (far_node_ask(peer->addr.local, role, peer->id, client)) {
		case ODRP_FAR_OK:
			return 0;
		case ODRP_FAR_E_BUSY:
			return -EBUSY;
		case ODRP_FAR_E_NOMEM:
			return -ENOMEM;
		default:
			return -EHOSTDOWN;
		}
	hello.number = cpu_to_be32(client);
	return soft_ask(soft, peer->addr.ip, &hello, NULL);
}

void soft_detach(struct far_nic *nic, struct far_peer *far_peer)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct soft_peer *peer = far_peer->priv;

	/* This ends the claims, too. If the connection is over, there is none to end. */
	if (!soft_conn_over(soft, &peer->conn))
		peer_ask(soft, peer, ODRP_FAR_DETACH, 0);
	far_qp_free(&peer->qp);
	soft_conn_end(soft, &peer->conn);
	free(peer);
}

static int claim_ask(struct far_nic *nic, struct far_peer *peer,
		     enum odrp_far_role role, unsigned client)
{
	if (client >= ODRP_FAR_MAX_CLIENTS)
		return -EINVAL;
	return peer_ask(soft_nic_of(nic), peer->priv, role, client);
}

int soft_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_CLAIM, client);
}

void soft_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	claim_ask(nic, peer, ODRP_FAR_UNCLAIM, client);
}

int soft_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_FENCE, client);
}

void soft_cut(struct far_nic *nic, struct far_peer *far_peer, unsigned client)
{
	struct soft_peer *peer = far_peer->priv;

	if (peer->addr.local)
		far_node_cut(peer->addr.local, peer->id, client);
}

/* ---- questions without an attachment ---- */

static int node_ask(struct far_nic *nic, const char *node, const char *space,
		    struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	struct soft_addr addr;
	int err = soft_addr_of(soft_nic_of(nic), node, &addr);

	if (!err && space)
		err = far_hello_name(hello, space);
	return err ? err : soft_ask(soft_nic_of(nic), addr.ip, hello, ret_space);
}

int soft_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
	      struct far_nic_space *ret_space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_LOOK, 1);

	hello.number = cpu_to_be32(idx);
	return node_ask(nic, node, space, &hello, ret_space);
}

int soft_erase(struct far_nic *nic, const char *node, const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_DELETE, 1);

	return node_ask(nic, node, space, &hello, NULL);
}
