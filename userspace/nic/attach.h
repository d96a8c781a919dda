/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attachments of back ends whose memory nodes are elsewhere, or in this process (node.h):
 * a connection by which the memory node sees that this process lives, and the regions of
 * the space, from the accept. A back end supplies the operations of its connections.
 */
#ifndef FAR_NIC_ATTACH_H
#define FAR_NIC_ATTACH_H

#include "hello.h"

struct far_node;

/**
 * struct far_attach - an attachment, far_peer.priv; the first member of a back end's own
 * struct, which has the address and the connection
 * @local:	the memory node, if it is in this process
 * @id:		random number by which requests name the attachment
 */
struct far_attach {
	struct far_node *local;
	uint64_t id;
	struct far_regions regions;
};

/**
 * struct far_attach_ops - a back end's connections
 * @size:	of its struct, which begins as all zeros
 * @resolve:	sets the address; @local is set. -EADDRNOTAVAIL: this client has that
 *		address. -EHOSTUNREACH: no such host, or "" although
 *		this process has not exactly one memory node; -EINVAL: node is no address
 * @connect:	connects with this request; *ret_priv points to the private data of the
 *		accept, until @end
 * @end:	ends and frees the connection
 * @is_up:	whether the connection has not ended
 * @ask:	asks a question: 0, or the answer as -errno. ret_space gets the answer to
 *		ODRP_FAR_LOOK; NULL for other questions
 */
struct far_attach_ops {
	size_t size;
	int (*resolve)(struct far_nic *nic, const char *node, struct far_attach *attach);
	int (*connect)(struct far_nic *nic, struct far_attach *attach,
		       const struct odrp_far_hello *hello, const uint8_t **ret_priv,
		       unsigned *ret_len);
	void (*end)(struct far_nic *nic, struct far_attach *attach);
	bool (*is_up)(struct far_nic *nic, struct far_attach *attach);
	int (*ask)(struct far_nic *nic, struct far_attach *attach,
		   const struct odrp_far_hello *hello, struct far_nic_space *ret_space);
};

/* Functions of far_nic_ops, if a back end begins with struct far_nodes and sets its links. */
int far_attach(struct far_nic *nic, const char *node, const char *space, unsigned rights,
	       struct far_peer *ret_peer);
void far_detach(struct far_nic *nic, struct far_peer *peer);
int far_attach_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
		    struct far_nic_space *ret_space);
int far_attach_erase(struct far_nic *nic, const char *node, const char *space);
int far_attach_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void far_attach_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int far_attach_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);
void far_attach_cut(struct far_nic *nic, struct far_peer *peer, unsigned client);

#endif
