/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An agent's part in a set of memory nodes: a space that lies on several of them.
 * include/uapi/odrp/far.h has the messages of the arbiter and says what a life is.
 *
 * The arbiter is on node 0.  The arbiter asks each other node once a second to join,
 * and so learns which nodes are there, and whether a node has lost its part.
 *
 * A node may be declared lost, by the operator or for its silence (silence.h).  That counts
 * once no client that lives can use the node's part: each has published an epoch that it read
 * behind the declaration (userspace/core/round.c).  Then clients are fenced without that node.
 * When it answers again it begins its part anew.
 */
#ifndef MNODE_SPACE_SET_H
#define MNODE_SPACE_SET_H

#include "../../userspace/host/host.h"
#include "../../userspace/host/nic_link.h"
#include "../../userspace/peer/call.h"
#include "../../userspace/host/idents.h"
#include "../conf.h"

#define SPACE_SET_ASK_NS	UINT64_C(1000000000)
/* how often the arbiter looks for a message of a handshake */
#define SPACE_SET_HANDSHAKE_NS	UINT64_C(1000000)

/* Numbers are kept (page/keep.h). */
enum space_member_state {
	SPACE_MEMBER_ABSENT,	/* has not joined this life */
	SPACE_MEMBER_JOINED,	/* has its part, as far as the arbiter knows */
	SPACE_MEMBER_EMPTY,	/* is there, and has lost its part */
	SPACE_MEMBER_DECLARED,	/* declared lost; clients that live may still use its part */
	SPACE_MEMBER_LOST,	/* nobody uses its part any more */
	SPACE_MEMBER_NR_STATES,
};

enum space_member_event {
	SPACE_MEMBER_SAME,	/* it answers, and its part is the one that the arbiter knows */
	SPACE_MEMBER_OTHER,	/* it answers, and has another part, or none */
	SPACE_MEMBER_DECLARE,	/* it is declared lost */
	SPACE_MEMBER_COUNT,	/* the declaration counts */
	SPACE_MEMBER_NR_EVENTS,
};

/* The state after an event; the same one if the event changes nothing. */
enum space_member_state space_member_next(enum space_member_state state,
					  enum space_member_event event);

/**
 * struct space_member - another memory node, as the arbiter knows it
 * @l:		the link of its calls, with its address
 * @key:	name of the secret that both nodes have; "": there is no handshake
 * @proof:	that name and secret, while there is a question
 * @asking:	there is a question: @call
 * @conn:	the link's connection; 0: there is none
 * @event:	of the connection; @call has not taken it yet
 * @generation:	of its part, in the present life; 0: it had none yet
 * @losses:	as in struct far_losses
 * @declared:	the epoch at the declaration; 0: not known yet
 * @incarnation: of the client that the question asks to cut off
 * @cut:	by client number: the incarnation that is fenced there; 0: none
 * @turn:	of its last answer with its part (far.h)
 * @known:	its last answer had the settings of this agent
 * @answers, @has_part: it has answered since the last step, and had its part
 * @answered:	the last step that found an answer; 0: none has
 * @silent:	for how long its part has not answered, ns
 * @trouble:	why the node has not joined, for people; NULL: nothing is known
 */
struct space_member {
	struct far_nic_link l;
	struct space_set *set;
	char key[CONF_CLIENT_MAX];
	struct far_key proof;
	struct far_passes passes;
	bool asking;
	struct far_call call;
	uint32_t conn;
	struct far_news event;
	enum space_member_state state;
	uint32_t generation;
	uint8_t losses;
	uint64_t declared;
	unsigned int incarnation;
	uint16_t *cut;
	uint8_t turn;
	bool known, answers, has_part;
	uint64_t answered, silent;
	const char *trouble;
};

/**
 * struct space_set - set of a space; only on node 0, the arbiter, it has members
 * @idents:	secrets
 * @now:	time of the last step
 * @ask_at:	when the members are asked again
 * @counted_at:	up to when silence is counted
 * @changed:	what is kept of a member has changed
 */
struct space_set {
	struct far_host *host;
	const struct far_host_space *space;
	const struct conf_space *conf;
	const struct idents *idents;
	uint64_t life;
	uint64_t now, ask_at, counted_at;
	bool changed;
	unsigned int nr_members;
	struct space_member *members;
};

/* Digest of a set's settings, as node `node` must have them. */
uint32_t space_set_digest(const struct conf_space *conf, unsigned int node);

/* The name of node `node`'s secret, which the arbiter also has.  False: none is set. */
bool space_set_key(const struct conf_space *conf, unsigned int node,
		   char ret_name[CONF_CLIENT_MAX]);

/* Makes the set of an arbiter.  The caller keeps space, conf and idents.  -ENOMEM. */
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
/* Declares node `node` lost, which is not this one.  why: for the log.  -EALREADY; -EAGAIN: it
 * has never joined this life. */
int space_set_declare(struct space_set *set, unsigned int node, const char *why);
/*
 * The clients that live have published an epoch of `behind` or later; epoch: the present one.
 * Declarations of before count then. True: one waits for the epoch behind this one.
 */
bool space_set_count(struct space_set *set, uint64_t epoch, uint64_t behind);
/* Handles an event of a connection.  False: the connection is not of this set. */
bool space_set_event(struct space_set *set, const struct nic_event *event);

#endif /* MNODE_SPACE_SET_H */
