/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spaces on a NIC: what a memory node says to clients by include/uapi/odrp/far.h, who
 * is attached, and who has claimed which client number. The NIC answers all
 * operations; what is here runs when connections begin and end, and once in a while.
 *
 * It knows no clock, no thread and no event loop, and where the memory comes from is
 * its caller's business. One call at a time.
 */
#ifndef FAR_HOST_H
#define FAR_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <odrp/far.h>

#include "../space/layout.h"
#include "qp.h"

/* How often far_host_probe() is to be called. */
#define FAR_HOST_PROBE_NS	UINT64_C(1000000000)

/* The caller's memory, and in a struct of the caller's. */
struct far_host_space {
	struct far_host_space *next;
	char name[ODRP_FAR_NAME_MAX + 1];
	uint8_t *base;
	uint64_t size;
	bool deletable;		/* by anybody who asks */
	bool closed;		/* nobody can attach: its set is not complete */
	__be32 arbiter;		/* of its set, which asks to join and to cut; 0: nobody */
	uint64_t life;		/* of its set */
	uint32_t pdn, key;	/* of one that is published */
	struct far_sb sb;	/* as it was then; magic 0: it was none */
};

struct far_host_claim {
	struct far_host_claim *next;
	uint32_t client;
};

/* A connection. */
struct far_host_link {
	struct far_host_link *next;
	struct far_qp qp;
	uint32_t conn;		/* the NIC's id */
	uint32_t number;	/* as its hello said */
};

/**
 * struct far_host_asker - who says a hello, where that is proved
 * @pass:	by what; 0: nothing is
 * @seal:	puts a MAC behind the answer of len bytes, for which there is room, and
 *		returns the new length. accepted: by that queue pair; else it is refused
 */
struct far_host_asker {
	uint64_t pass;
	size_t (*seal)(const struct far_host_asker *asker, bool accepted, uint32_t qpn,
		       void *answer, size_t len);
};

/* Bytes of a MAC. */
#define FAR_HOST_MAC	16

struct far_host_attach {
	struct far_host_attach *next;
	struct far_host_space *space;
	uint64_t id;
	uint64_t pass;		/* of who has made it; all that is asked of it goes by that */
	__be32 ip;
	unsigned rights;	/* ODRP_FAR_READ, ODRP_FAR_WRITE */
	struct far_host_claim *claims;
	unsigned nr_claims;
	struct far_host_link control;
	struct far_host_link *queues;
	unsigned nr_queues;
	uint32_t probes;	/* posted over the control connection */
	bool probing;		/* the last of them has not come back */
};

/**
 * struct far_host - spaces on a NIC
 * @delete:	deletes a space that is deletable; NULL: none is
 * @join:	answers the space's arbiter: enum odrp_far_status, and for OK a member;
 *		NULL: no space has one
 * @arg:	of both
 * @cuts:	connections of clients that have ended
 * @loop:	a queue pair that leads back to this NIC; exists from the first fence on
 * @loop_key:	its memory, that READs go to and come from
 * @loop_posted: READs that were posted on it
 * @loop_covers: cuts that came before the READ that is under way; 0: none is
 * @settled:	cuts before a READ that has completed
 */
struct far_host {
	struct nic *dev;
	uint32_t cqn;
	uint32_t pdn;		/* of connections that reach no memory */
	struct far_host_space *spaces;
	struct far_host_attach *attaches;
	unsigned nr_attaches;
	unsigned nr_queues;	/* of all */
	void (*delete)(void *arg, struct far_host_space *space);
	unsigned (*join)(void *arg, struct far_host_space *space, uint64_t life,
			 uint32_t generation, struct odrp_far_member *ret_member);
	void *arg;
	uint64_t cuts, settled, loop_covers;
	struct far_qp loop;
	uint32_t loop_key, loop_posted;
};

/* Listens at ODRP_FAR_PORT. The NIC stays the caller's. */
int far_host_init(struct far_host *host, struct nic *dev);
/* Cuts everybody off. Spaces have been removed before. */
void far_host_fini(struct far_host *host);

/* attach.c */

/* Ends all of a client's connections, and its claims. */
void far_host_cut(struct far_host *host, struct far_host_attach *attach);
struct far_host_attach *far_host_find(const struct far_host *host, uint64_t id);
/* Answers a question of role `role` about a client: enum odrp_far_status. */
unsigned far_host_answer(struct far_host *host, enum odrp_far_role role,
			 struct far_host_attach *attach, uint32_t client);
/* Who has claimed that number of a space; or NULL. */
struct far_host_attach *far_host_holder(const struct far_host *host,
					const struct far_host_space *space,
					uint32_t client);
/*
 * Asks each attachment for nothing. A client whose process has ended does not answer,
 * and is cut off when far_host_poll() finds that out.
 */
void far_host_probe(struct far_host *host);
void far_host_poll(struct far_host *host);
/* A connection is over. False: it is none of ours, and stays the caller's to release. */
bool far_host_gone(struct far_host *host, uint32_t conn);

/*
 * fence.c: makes sure that no operation of that client can reach the space any more:
 * cuts off who has claimed the number, and waits until a READ of this NIC's memory by
 * itself has completed behind that. 0, or -EBUSY: not yet, ask again after
 * far_host_poll().
 */
int far_host_fence(struct far_host *host, const struct far_host_space *space,
		   uint32_t client);
/* The same of everybody who has been cut off so far. */
int far_host_settle(struct far_host *host);

/* serve.c: answers a hello, which may be anything. */
void far_host_serve(struct far_host *host, const struct nic_event *event,
		    const struct far_host_asker *asker);
/* Says no to it: enum odrp_far_status. */
void far_host_refuse(struct far_host *host, const struct nic_event *event,
		     const struct far_host_asker *asker, unsigned status);
/* Cuts off those that have come by that pass. */
void far_host_cut_pass(struct far_host *host, uint64_t pass);
/* Whether it is one of far.h, as far as the first word tells. */
bool far_host_is_hello(const struct nic_event *event);

/* space.c */

/* 1 to ODRP_FAR_NAME_MAX letters, digits, '-', '_' and '.', the first of them no '.'. */
bool far_host_name_ok(const char *name);
struct far_host_space *far_host_space_find(const struct far_host *host,
					   const char *name);
/* Name, base and size are there. -EEXIST: another one has the name. */
int far_host_publish(struct far_host *host, struct far_host_space *space);
/*
 * Cuts its clients off, and lets nobody attach. 0: nothing of them reaches its memory
 * any more; -EBUSY: not yet, as of far_host_fence().
 */
int far_host_close(struct far_host *host, struct far_host_space *space);
/* The other way round, with what is in its memory by now. */
void far_host_open(struct far_host_space *space);
/* Cuts its clients off: behind this no NIC touches its memory. */
void far_host_remove(struct far_host *host, struct far_host_space *space);

#endif
