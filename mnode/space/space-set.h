/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An agent's part in a set of memory nodes: a space that lies on several of them.
 * include/uapi/odrp/far.h has the messages of the arbiter and says what a life is.
 *
 * The arbiter is on node 0.  The arbiter asks each other node once a second to join,
 * and so learns which nodes are there, and whether a node has restarted and lost its part.
 */
#ifndef MNODE_SPACE_SET_H
#define MNODE_SPACE_SET_H

#include "../../userspace/host/host.h"
#include "../conf.h"
#include "../peer/idents.h"
#include "../peer/initiator.h"

#define SPACE_SET_ASK_NS	UINT64_C(1000000000)
/* how often the arbiter looks for a message of a handshake */
#define SPACE_SET_HANDSHAKE_NS	UINT64_C(1000000)

/**
 * struct space_member - another memory node, as the arbiter knows it
 * @key:	name of the secret that both nodes have; "": there is no handshake
 * @initiator:	the handshake
 * @joined:	the node has joined the present life
 * @generation:	of the agent that has joined; 0: none has in this life
 * @conn:	connection of the present question; 0: there is none
 * @role, @number: the question
 * @incarnation: of the client that the question asks to cut off
 * @qp:		queue pair of the question
 * @cut:	by client number: the incarnation that is fenced there; 0: none
 * @trouble:	why the node has not joined, for people; NULL: nothing is known
 */
struct space_member {
	__be32 ip;
	char key[CONF_CLIENT_MAX];
	struct initiator initiator;
	bool joined;
	uint32_t generation;
	uint32_t conn;
	enum odrp_far_role role;
	uint32_t number;
	unsigned int incarnation;
	struct far_qp qp;
	uint16_t *cut;
	const char *trouble;
};

/**
 * struct space_set - set of a space; only on node 0, the arbiter, it has members
 * @idents:	secrets
 * @now:	time of the last step
 * @ask_at:	when the members are asked again
 * @lost:	a member has lost its part: a new life has to begin
 */
struct space_set {
	struct far_host *host;
	const struct far_host_space *space;
	const struct conf_space *conf;
	const struct idents *idents;
	uint64_t life;
	uint64_t now, ask_at;
	bool lost;
	unsigned int nr_members;
	struct space_member *members;
};

/* Digest of a set's settings, as node `node` must have them. */
uint32_t space_set_digest(const struct conf_space *conf, unsigned int node);

/* The name of node `node`'s secret, which the arbiter also has.  False: none is set. */
bool space_set_key(const struct conf_space *conf, unsigned int node,
		   char ret_name[CONF_CLIENT_MAX]);

/* Makes the set of an arbiter.  The caller keeps space, conf and who.  -ENOMEM. */
int space_set_init(struct space_set *set, struct far_host *host,
		   const struct far_host_space *space, const struct conf_space *conf,
		   const struct idents *idents);
void space_set_fini(struct space_set *set);

/* Begins a life, which no member has joined yet. */
void space_set_begin(struct space_set *set, uint64_t life);
/* Asks the members whose time has come.  now: ns; returns when to call again. */
uint64_t space_set_step(struct space_set *set, uint64_t now);
/* The number of members that have joined. */
unsigned int space_set_joined(const struct space_set *set);
/* Has node `node`, which is not this one, fence a client.  0: it is fenced there; -EBUSY:
 * call again. */
int space_set_cut(struct space_set *set, unsigned int node, unsigned int number,
		  unsigned int incarnation);
/* Handles an event of a connection.  False: the connection is not of this set. */
bool space_set_event(struct space_set *set, const struct nic_event *event);

#endif /* MNODE_SPACE_SET_H */
