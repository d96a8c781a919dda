/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of an agent in a set of memory nodes: a space that lies on several of them.
 * include/uapi/odrp/far.h says what the arbiter asks of the others, and what a life is.
 *
 * The arbiter is on node 0. It asks each other one once a second to join, so it finds
 * out which of them are there, and whether one has begun anew and has lost what it had.
 */
#ifndef MNODE_SPACE_SET_H
#define MNODE_SPACE_SET_H

#include "../userspace/host/host.h"
#include "conf.h"
#include "knock.h"
#include "who.h"

#define SPACE_SET_ASK_NS	UINT64_C(1000000000)
/* How often it looks whether a message of a handshake has come. */
#define SPACE_SET_KNOCK_NS	UINT64_C(1000000)

/**
 * struct space_member - another memory node, as the arbiter knows it
 * @key:	name by which the two prove to each other who they are; "": they do not
 * @knock:	by which they do
 * @joined:	in this life
 * @generation: of the agent that has joined; 0: none has in this life
 * @conn:	of the question that is under way; 0: none is
 * @role, @number: that question
 * @qp:		what it is asked by
 * @cut:	per client number the incarnation that is fenced there; 0: none
 * @trouble:	why it has not joined, for people; NULL: nothing is known
 */
struct space_member {
	__be32 ip;
	char key[CONF_CLIENT_MAX];
	struct knock knock;
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
 * struct space_set - of one space; node 0 is the arbiter, and has members
 * @who:	secrets
 * @now:	of the last step
 * @ask_at:	when the members are asked again
 * @lost:	a member has lost what it had: a new life is to begin
 */
struct space_set {
	struct far_host *host;
	const struct far_host_space *space;
	const struct conf_space *conf;
	const struct who *who;
	uint64_t life;
	uint64_t now, ask_at;
	bool lost;
	unsigned int nr_members;
	struct space_member *members;
};

/* Of the settings of a set, as node `node` is to have them. */
uint32_t space_set_digest(const struct conf_space *conf, unsigned int node);

/* The name of node `node`'s secret, which the arbiter has as well; false: none is set. */
bool space_set_key(const struct conf_space *conf, unsigned int node,
		   char ret_name[CONF_CLIENT_MAX]);

/* For the arbiter; space, conf and who stay the caller's.  0 or -errno. */
int space_set_init(struct space_set *set, struct far_host *host,
		   const struct far_host_space *space, const struct conf_space *conf,
		   const struct who *who);
void space_set_fini(struct space_set *set);

/* Nobody has joined this life yet. */
void space_set_begin(struct space_set *set, uint64_t life);
/* Asks who is to be asked at time now; returns when there is something to do again. */
uint64_t space_set_step(struct space_set *set, uint64_t now);
/* The members that have joined. */
unsigned int space_set_joined(const struct space_set *set);
/* 0: the client is fenced at node `node`, which is another one; -EBUSY: ask again. */
int space_set_cut(struct space_set *set, unsigned int node, unsigned int number,
		  unsigned int incarnation);
/* An event of a connection.  False: it is none of this set's. */
bool space_set_event(struct space_set *set, const struct nic_event *event);

#endif /* MNODE_SPACE_SET_H */
