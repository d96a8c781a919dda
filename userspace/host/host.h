/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spaces on a NIC: a memory node's side of include/uapi/odrp/far.h, with attachments and
 * claims of client numbers. The NIC executes all operations of clients; this code runs
 * when connections begin and end, and at each far_host_probe().
 *
 * This code has no clock, thread or event loop; the caller has, and provides the memory.
 * It takes no lock: only one call may run at a time.
 */
#ifndef FAR_HOST_H
#define FAR_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <odrp/far.h>

#include "../space/layout.h"
#include "qp.h"

/* Period in which the caller calls far_host_probe(). */
#define FAR_HOST_PROBE_NS	UINT64_C(1000000000)

/* A space. The caller owns the struct, which may be part of a larger one, and the memory. */
struct far_host_space {
	struct far_host_space *next;
	char name[ODRP_FAR_NAME_MAX + 1];
	uint8_t *base;
	uint64_t size;
	bool deletable;		/* every client may delete it */
	bool closed;		/* attaching is refused: the set is not complete */
	__be32 arbiter;		/* address of the set's arbiter, for join and cut; 0: none */
	uint64_t life;		/* the set's life (far.h) */
	uint32_t pdn, key;	/* valid while the space is published */
	struct far_sb sb;	/* copy made by publish or open; magic 0: not valid */
};

struct far_host_claim {
	struct far_host_claim *next;
	uint32_t client;
};

/* A connection. */
struct far_host_link {
	struct far_host_link *next;
	struct far_qp qp;
	uint32_t conn;		/* the NIC's id of the connection */
	uint32_t number;	/* of a queue: from its hello */
};

/**
 * struct far_host_asker - the peer that has sent a hello
 * @pass:	number of the pass by which the peer has proved its name; 0: not proved
 * @seal:	appends a MAC to an answer of len bytes and returns the new length; the
 *		answer has room for FAR_HOST_MAC bytes more. accepted: the answer is an
 *		accept by queue pair qpn, else a reject. Not called if @pass is 0
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
	uint64_t pass;		/* of the peer that attached; later requests must have it */
	__be32 ip;
	unsigned rights;	/* ODRP_FAR_READ, ODRP_FAR_WRITE */
	struct far_host_claim *claims;
	unsigned nr_claims;
	struct far_host_link control;
	struct far_host_link *queues;
	unsigned nr_queues;
	uint32_t probes;	/* probes posted on the control connection */
	bool probing;		/* the last probe has not completed */
};

/**
 * struct far_host - spaces on a NIC
 * @delete:	deletes a deletable space; NULL: no space can be deleted
 * @join:	answers a JOIN of the space's arbiter: returns enum odrp_far_status, and
 *		sets *ret_member if that is OK. NULL: no space has an arbiter
 * @arg:	first argument of @delete and @join
 * @cuts:	how many connections of clients have ended
 * @loop:	a queue pair connected to itself, for fences; made by the first fence
 * @loop_key:	key of @loop's memory, source and target of its READs
 * @loop_posted: READs posted on @loop
 * @loop_covers: value of @cuts when the READ under way was posted; 0: none is under way
 * @settled:	value of @cuts when the last completed READ was posted
 */
struct far_host {
	struct nic *dev;
	uint32_t cqn;
	uint32_t pdn;		/* of control connections and @loop: has no key of a space */
	struct far_host_space *spaces;
	struct far_host_attach *attaches;
	unsigned nr_attaches;
	unsigned nr_queues;	/* of all attachments */
	void (*delete)(void *arg, struct far_host_space *space);
	unsigned (*join)(void *arg, struct far_host_space *space, uint64_t life,
			 uint32_t generation, struct odrp_far_member *ret_member);
	void *arg;
	uint64_t cuts, settled, loop_covers;
	struct far_qp loop;
	uint32_t loop_key, loop_posted;
};

/* Listens at ODRP_FAR_PORT. 0 or -errno. The caller closes dev, after far_host_fini(). */
int far_host_init(struct far_host *host, struct nic *dev);
/* Ends all attachments. The caller has removed all spaces before. */
void far_host_fini(struct far_host *host);

/* attach.c */

/* Ends all connections and claims of an attachment, and frees it. */
void far_host_cut(struct far_host *host, struct far_host_attach *attach);
/* NULL: there is no such attachment. */
struct far_host_attach *far_host_find(const struct far_host *host, uint64_t id);
/*
 * Answers a question of an attachment with role `role`, about a client number: enum
 * odrp_far_status. ODRP_FAR_DETACH frees attach.
 */
unsigned far_host_answer(struct far_host *host, enum odrp_far_role role,
			 struct far_host_attach *attach, uint32_t client);
/* The attachment that has claimed this client number of the space, or NULL. */
struct far_host_attach *far_host_holder(const struct far_host *host,
					const struct far_host_space *space,
					uint32_t client);
/*
 * Sends a probe on each control connection. A probe fails when the client's process has
 * ended; far_host_poll() then ends the attachment.
 */
void far_host_probe(struct far_host *host);
/* Takes completions of probes and of the READs of fences. */
void far_host_poll(struct far_host *host);
/* Handles NIC_GONE of a connection. False: not known here; the caller releases it. */
bool far_host_gone(struct far_host *host, uint32_t conn);

/*
 * fence.c: makes sure that no operation of this client can reach the space any more. It
 * ends the attachment that has claimed the number, and then needs a READ of this NIC's
 * memory by itself to complete. 0: done. -EBUSY: not yet; call again after
 * far_host_poll().
 */
int far_host_fence(struct far_host *host, const struct far_host_space *space,
		   uint32_t client);
/* The same for all connections that have been ended so far. */
int far_host_settle(struct far_host *host);

/* serve.c: checks and answers a hello. Its contents are not trusted. */
void far_host_serve(struct far_host *host, const struct nic_event *event,
		    const struct far_host_asker *asker);
/* Rejects a hello with status (enum odrp_far_status). */
void far_host_refuse(struct far_host *host, const struct nic_event *event,
		     const struct far_host_asker *asker, unsigned status);
/* Ends all attachments made with this pass. */
void far_host_cut_pass(struct far_host *host, uint64_t pass);
/* Whether the private data begin with ODRP_FAR_MAGIC. */
bool far_host_is_hello(const struct nic_event *event);

/* space.c */

/* 1 to ODRP_FAR_NAME_MAX letters, digits, '-', '_' and '.'; the first is not '.'. */
bool far_host_name_ok(const char *name);
struct far_host_space *far_host_space_find(const struct far_host *host,
					   const char *name);
/*
 * Registers the memory and lists the space. The caller has set name, base and size.
 * -EEXIST: another space has the name; else -errno of the NIC.
 */
int far_host_publish(struct far_host *host, struct far_host_space *space);
/*
 * Ends all attachments of the space, and refuses new ones. 0: no operation of these
 * clients can reach the memory any more; -EBUSY: not yet, as for far_host_fence().
 */
int far_host_close(struct far_host *host, struct far_host_space *space);
/* Allows attaching again, and reads the superblock anew. */
void far_host_open(struct far_host_space *space);
/* Ends all attachments of the space and its registration: the memory may be freed then. */
void far_host_remove(struct far_host *host, struct far_host_space *space);

#endif
