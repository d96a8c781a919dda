/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attachments; see attach.h. */
#include "attach.h"

#include <core/wqe.h>
#include <errno.h>
#include <stdlib.h>

#include "../base/rng.h"
#include "node.h"

static const struct far_attach_ops *links_of(struct far_nic *nic)
{
	return ((struct far_nodes *)nic)->links;
}

/* Makes an attachment that is not connected, with the memory node's address. */
static int attach_new(struct far_nic *nic, const char *node, struct far_attach **ret_attach)
{
	struct far_attach *attach = calloc(1, links_of(nic)->size);
	int err;

	if (!attach)
		return -ENOMEM;
	attach->local = far_nodes_find((struct far_nodes *)nic, node);
	attach->id = far_rng_any_seed() | 1;
	err = links_of(nic)->resolve(nic, node, attach);
	if (err) {
		free(attach);
		return err;
	}
	*ret_attach = attach;
	return 0;
}

static int attach_connect(struct far_nic *nic, struct far_attach *attach,
			  const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_ATTACH, attach->id);
	const uint8_t *priv;
	unsigned len;
	int err = far_hello_name(&hello, space);

	if (err)
		return err;
	hello.rights = attach->regions.rights;
	err = links_of(nic)->connect(nic, attach, &hello, &priv, &len);
	if (err)
		return err;
	err = far_regions_parse(&attach->regions, priv, len);
	if (err)
		links_of(nic)->end(nic, attach);
	return err;
}

int far_attach(struct far_nic *nic, const char *node, const char *space, unsigned rights,
	       struct far_peer *ret_peer)
{
	struct far_attach *attach;
	unsigned tries = 0;
	int err = attach_new(nic, node, &attach);

	if (err)
		return err;
	attach->regions.rights = rights;
	do
		err = attach_connect(nic, attach, space);
	while (far_hello_again(err, &tries));
	if (err) {
		free(attach);
		return err;
	}
	far_regions_copy(&attach->regions, ret_peer);
	ret_peer->priv = attach;
	return 0;
}

/* Asks the memory node a question about this attachment or a client: 0 or -errno. */
static int attach_ask(struct far_nic *nic, struct far_attach *attach,
		      enum odrp_far_role role, unsigned client)
{
	struct odrp_far_hello hello = far_hello(role, attach->id);

	if (attach->local)
		return far_hello_status(far_node_ask(attach->local, role, attach->id,
						     client));
	hello.number = cpu_to_be32(client);
	return links_of(nic)->ask(nic, attach, &hello, NULL);
}

void far_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct far_attach *attach = peer->priv;

	/* This ends the claims, too. If the connection is over, there is none to end. */
	if (links_of(nic)->is_up(nic, attach))
		attach_ask(nic, attach, ODRP_FAR_DETACH, 0);
	links_of(nic)->end(nic, attach);
	free(attach);
}

static int claim_ask(struct far_nic *nic, struct far_peer *peer, enum odrp_far_role role,
		     unsigned client)
{
	if (client >= ODRP_FAR_MAX_CLIENTS)
		return -EINVAL;
	return attach_ask(nic, peer->priv, role, client);
}

int far_attach_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_CLAIM, client);
}

void far_attach_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	claim_ask(nic, peer, ODRP_FAR_UNCLAIM, client);
}

int far_attach_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	return claim_ask(nic, peer, ODRP_FAR_FENCE, client);
}

void far_attach_cut(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	const struct far_attach *attach = peer->priv;

	if (attach->local)
		far_node_cut(attach->local, attach->id, client);
}

/* ---- questions without an attachment ---- */

static int node_ask(struct far_nic *nic, const char *node, const char *space,
		    struct odrp_far_hello *hello, struct far_nic_space *ret_space)
{
	struct far_attach *attach;
	int err = attach_new(nic, node, &attach);

	if (err)
		return err;
	if (space)
		err = far_hello_name(hello, space);
	if (!err)
		err = links_of(nic)->ask(nic, attach, hello, ret_space);
	free(attach);
	return err;
}

int far_attach_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
		    struct far_nic_space *ret_space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_LOOK, 1);

	hello.number = cpu_to_be32(idx);
	return node_ask(nic, node, space, &hello, ret_space);
}

int far_attach_erase(struct far_nic *nic, const char *node, const char *space)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_DELETE, 1);

	return node_ask(nic, node, space, &hello, NULL);
}
