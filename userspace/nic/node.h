/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory nodes of this process, on any NIC of wrchain's table: a thread for each, and its
 * spaces, which are memory of the process. host/ has the protocol.
 *
 *	node.c		memory nodes, and how they are found
 *	node_host.c	their spaces: far_nic_host_ops
 *	node_space.c	one space
 *	node_auth.c	names that its clients must prove
 *
 * Without names, every client that can reach such a memory node may attach to its spaces.
 */
#ifndef FAR_NIC_NODE_H
#define FAR_NIC_NODE_H

#include <pthread.h>
#include <stdbool.h>

#include "../base/pages.h"
#include "../host/host.h"
#include "attach.h"
#include "nic.h"
#include "node_auth.h"

#define FAR_NODES_MAX	32u

struct far_node_space {
	struct far_host_space host;
	struct far_pages pages;
	struct far_node *node;
	unsigned maps;		/* number of far_host_map that refer to it */
	bool known;		/* published and not removed */
};

static inline struct far_node_space *far_node_space_of(struct far_host_space *space)
{
	return (struct far_node_space *)space;
}

struct far_node {
	struct nic *dev;
	__be32 ip;
	pthread_t thread;
	int stop_fd;
	pthread_mutex_t lock;	/* protects host, auth and all spaces */
	struct far_host host;
	struct far_node_auth *auth;	/* NULL: it lets in everybody */
	bool shaking;		/* handshakes are under way */
};

/*
 * A back end that has memory nodes in this process. The first member of its own struct.
 * links: its connections, also to memory nodes elsewhere
 */
struct far_nodes {
	struct far_nic nic;
	const struct far_attach_ops *links;
	unsigned nr;
	struct far_node *node[FAR_NODES_MAX];
};

/* node.c */

/*
 * Makes a memory node with address ip. Takes ownership of dev, also on an error (-errno,
 * with a sentence in why). keys: its clients must prove a name of this directory of
 * secrets; "": nobody needs to.
 */
int far_node_new(struct nic *dev, __be32 ip, const char *keys, char *why, size_t len,
		 struct far_node **ret_node);
/* The key by which clients in this process prove themselves to that memory node; NULL:
 * they need none. */
const struct far_key *far_node_key(const struct far_node *node);
void far_node_free(struct far_node *node);
/*
 * Finds the memory node with this name: its number, its address, or "" for the only one.
 * NULL: no memory node of this process has it.
 */
struct far_node *far_nodes_find(const struct far_nodes *nodes, const char *name);
/*
 * Answers a question of attachment id, of a client in this process: enum odrp_far_status.
 * Takes the lock.
 */
unsigned far_node_ask(struct far_node *node, unsigned role, uint64_t id, uint32_t client);
/* Ends the attachment of the same space as attachment id that has claimed a number. */
void far_node_cut(struct far_node *node, uint64_t id, uint32_t client);

/* node_space.c. The caller holds the memory node's lock. */

/* NULL: no published space has the name. */
struct far_node_space *far_node_space_find(const struct far_node *node, const char *name);
int far_node_space_new(struct far_node *node, const char *name, uint64_t size,
		       struct far_node_space **ret_space);
int far_node_space_publish(struct far_node_space *space);
/* Ends all attachments of the space. Its memory stays while it is mapped. */
void far_node_space_remove(struct far_node_space *space);
/* Frees the space if it is neither published nor mapped. */
void far_node_space_put(struct far_node_space *space);

/* node_host.c: for back ends whose struct begins with struct far_nodes. */
extern const struct far_nic_host_ops far_node_host_ops;

#endif
