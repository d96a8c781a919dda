/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attachments: a connection that shows the memory node that we live, and what the
 * accept has said of the space. Memory nodes of this process are asked by a call, all
 * others by a question over the wire.
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
	unsigned long number;
	unsigned i;
	char *end;

	if (!*node && soft->nr_nodes == 1)
		node = "0";
	memset(ret_addr, 0, sizeof(*ret_addr));
	if (inet_pton(AF_INET, node, &in) == 1) {
		ret_addr->ip = in.s_addr;
	} else {
		number = strtoul(node, &end, 10);
		if (*node < '0' || *node > '9' || *end)
			return *node ? -EINVAL : -EHOSTUNREACH;
		if (number >= soft->nr_nodes)
			return -EHOSTUNREACH;
		ret_addr->ip = soft->node[number]->ip;
	}
	for (i = 0; i < soft->nr_nodes; i++)
		if (soft->node[i]->ip == ret_addr->ip)
			ret_addr->local = soft->node[i];
	return 0;
}

/* What an accept says. -EPROTO: not as far.h has it. */
static int regions_parse(struct soft_peer *peer)
{
	struct odrp_far_region region[ODRP_FAR_MAX_REGIONS];
	struct odrp_far_accept accept;
	unsigned i;

	if (peer->conn.priv_len < sizeof(accept))
		return -EPROTO;
	memcpy(&accept, peer->conn.priv, sizeof(accept));
	peer->nr_regions = be16_to_cpu(accept.nr_regions);
	if (be32_to_cpu(accept.magic) != ODRP_FAR_MAGIC ||
	    be16_to_cpu(accept.version) != ODRP_FAR_VERSION || !peer->nr_regions ||
	    peer->nr_regions > ODRP_FAR_MAX_REGIONS ||
	    peer->conn.priv_len < sizeof(accept) + peer->nr_regions * sizeof(region[0]))
		return -EPROTO;
	memcpy(region, peer->conn.priv + sizeof(accept),
	       peer->nr_regions * sizeof(region[0]));
	for (i = 0; i < peer->nr_regions; i++) {
		struct far_region *to = &peer->region[i];

		to->start = be64_to_cpu(region[i].start);
		to->size = be64_to_cpu(region[i].size);
		to->addr = be64_to_cpu(region[i].addr);
		to->rkey = be32_to_cpu(region[i].rkey);
		to->place = be32_to_cpu(region[i].place);
		if (!to->size || to->size >> 40 || to->start >> 40 ||
		    to->place > FAR_PLACE_SOC)
			return -EPROTO;
	}
	return 0;
}

const struct far_region *soft_region_of(const struct soft_peer *peer, uint64_t off)
{
	unsigned i;

	for (i = 0; i < peer->nr_regions; i++)
		if (off >= peer->region[i].start &&
		    off - peer->region[i].start < peer->region[i].size)
			return &peer->region[i];
	return &peer->region[0];
}

bool soft_region_holds(const struct soft_peer *peer, uint64_t off, uint32_t len)
{
	const struct far_region *region = soft_region_of(peer, off);

	return off >= region->start && off - region->start <= region->size &&
	       len <= region->size - (off - region->start);
}

static int peer_connect(struct soft_nic *soft, struct soft_peer *peer,
			const char *space)
{
	struct odrp_far_hello hello = soft_hello(ODRP_FAR_ATTACH, peer->id);
	/* The memory node READs nothing over it, and sees whether we answer. */
	const struct soft_qp_conf conf = { .cqn = soft->cqn, .access = NIC_REMOTE_READ };
	int err;

	if (strlen(space) > sizeof(hello.name))
		return -ENOENT;
	memcpy(hello.name, space, strlen(space));
	hello.rights = peer->rights;
	err = soft_call(soft, peer->addr.ip, &hello, &conf, &peer->qp, &peer->conn);
	if (err)
		return err;
	err = regions_parse(peer);
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
	int err;

	_Static_assert(FAR_ATTACH_READ == ODRP_FAR_READ &&
		       FAR_ATTACH_WRITE == ODRP_FAR_WRITE, "rights");
	if (!peer)
		return -ENOMEM;
	err = soft_addr_of(soft, node, &peer->addr);
	if (err)
		goto free_peer;
	peer->rights = rights;
	peer->id = far_rng_any_seed() | 1;
	err = peer_connect(soft, peer, space);
	if (err)
		goto free_peer;
	ret_peer->nr_regions = peer->nr_regions;
	memcpy(ret_peer->region, peer->region, sizeof(peer->region));
	ret_peer->priv = peer;
	return 0;

free_peer:
	free(peer);
	return err;
}

/* A question about this attachment, or about a client. */
static int peer_ask(struct soft_nic *soft, struct soft_peer *peer,
		    enum odrp_far_role role, unsigned client)
{
	struct odrp_far_hello hello = soft_hello(role, peer->id);

	if (peer->addr.local)
		switch (soft_node_ask(peer->addr.local, role, peer->id, client)) {
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

	/* Behind this its claims are gone, too; unless the memory node is. */
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

/* ---- questions without an attachment ---- */

static int node_ask(struct far_nic *nic, const char *node, const char *space,
		    struct odrp_far_hello *hello, struct odrp_far_info *ret_info)
{
	struct soft_addr addr;
	int err = soft_addr_of(soft_nic_of(nic), node, &addr);

	if (err)
		return err;
	if (space && (!*space || strlen(space) > sizeof(hello->name)))
		return -ENOENT;
	if (space)
		memcpy(hello->name, space, strlen(space));
	return soft_ask(soft_nic_of(nic), addr.ip, hello, ret_info);
}

int soft_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
	      struct far_nic_space *ret_space)
{
	struct odrp_far_hello hello = soft_hello(ODRP_FAR_LOOK, 1);
	struct odrp_far_info info;
	int err;

	hello.number = cpu_to_be32(idx);
	err = node_ask(nic, node, space, &hello, &info);
	if (err)
		return err;
	*ret_space = (struct far_nic_space) {
		.size = be64_to_cpu(info.size), .used = be64_to_cpu(info.used),
		.clients = be32_to_cpu(info.clients),
		.structures = be32_to_cpu(info.names),
		.nr_nodes = be16_to_cpu(info.nr_nodes),
	};
	memcpy(ret_space->name, info.name, sizeof(info.name));
	return 0;
}

int soft_erase(struct far_nic *nic, const char *node, const char *space)
{
	struct odrp_far_hello hello = soft_hello(ODRP_FAR_DELETE, 1);

	return node_ask(nic, node, space, &hello, NULL);
}
