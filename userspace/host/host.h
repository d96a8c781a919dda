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

#include "../space/summary.h"
#include "fence.h"

/* Period in which the caller calls far_host_probe(). */
#define FAR_HOST_PROBE_NS	UINT64_C(1000000000)

/* Most attachments, and queues of all of them. */
#define FAR_HOST_ATTACHES	1024u
#define FAR_HOST_QUEUES		16384u

/* Most connections that are ended between two calls of far_host_poll(). */
#define FAR_HOST_ENDS	128

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
	bool published;
	uint32_t pdn, key;	/* valid while the space is published */
	struct far_sb sb;	/* copy made by publish or open; magic 0: not valid */
	struct far_tally tally;
	uint64_t ended;		/* far_fence_end() of its last connection */
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
 * @owner:	number of its name, or of its address if it has proved none; the caller's
 * @sign:	appends a MAC to an answer of len bytes and returns the new length; the
 *		answer has room for FAR_HOST_MAC bytes more. accepted: the answer is an
 *		accept by queue pair qpn, else a reject. Not called if @pass is 0
 */
struct far_host_asker {
	uint64_t pass, owner;
	size_t (*sign)(const struct far_host_asker *asker, bool accepted, uint32_t qpn,
		       void *answer, size_t len);
};

/* Bytes of a MAC. */
#define FAR_HOST_MAC	16

struct far_host_attach {
	struct far_host_attach *next;
	struct far_host_space *space;
	uint64_t id;
	uint64_t pass;		/* of the peer that attached; later requests must have it */
	uint64_t owner;		/* from struct far_host_asker */
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
 * @join:	answers a JOIN of the space's arbiter, to its life: returns enum
 *		odrp_far_status, and sets *ret_member if that is OK. NULL: no space has an
 *		arbiter
 * @refused:	NULL, or is told of each hello that is refused, and why
 * @call:	answers a call of a service, later: ODRP_FAR_OK, or the status with which to
 *		reject it. NULL: no service is offered here
 * @service:	finds the name of the service with this digest (odrp/auth.h); needed with
 *		@call
 * @arg:	first argument of these functions
 * @leaving:	attachments that were cut and still have connections, in order; they keep
 *		their claims
 * @nr_attaches, @nr_queues: also of those that leave
 * @room:	connections that may still be ended before the next far_host_poll()
 * @fence:	for what connections of clients have written
 */
struct far_host {
	struct nic *dev;
	uint32_t cqn;
	uint32_t pdn;		/* of control connections: has no key of a space */
	struct far_host_space *spaces;
	struct far_host_attach *attaches, *leaving;
	unsigned nr_attaches, nr_queues, room;
	void (*delete)(void *arg, struct far_host_space *space);
	unsigned (*join)(void *arg, struct far_host_space *space,
			 const struct odrp_far_hello *hello,
			 struct odrp_far_member *ret_member);
	void (*refused)(void *arg, const struct nic_event *event,
			const struct far_host_asker *asker, const char *why);
	unsigned (*call)(void *arg, const struct nic_event *event,
			 const struct far_host_asker *asker,
			 const struct odrp_far_hello *hello);
	bool (*service)(void *arg, const uint8_t *digest, uint8_t ret_name[ODRP_FAR_NAME_MAX]);
	void *arg;
	struct far_fence fence;
};

/* Listens at ODRP_FAR_PORT. 0 or -errno. The caller closes dev, after far_host_fini(). */
int far_host_init(struct far_host *host, struct nic *dev);
/* Ends all attachments. The caller has removed all spaces before. */
void far_host_fini(struct far_host *host);

/* attach.c */

/*
 * Ends all connections and claims of an attachment, and frees it: at once, or, if it has
 * many connections, in the next calls of far_host_poll(). Nothing finds it any more, but
 * its claims stand until all connections have ended.
 */
void far_host_cut(struct far_host *host, struct far_host_attach *attach);
/* Do attachments of the space (NULL: any) that were cut still have connections? If so, the
 * caller calls far_host_poll() soon. */
bool far_host_leaving(const struct far_host *host, const struct far_host_space *space);
/* Has an attachment been made with that pass? */
bool far_host_uses_pass(const struct far_host *host, uint64_t pass);
/* NULL: there is no such attachment. */
struct far_host_attach *far_host_find(const struct far_host *host, uint64_t id);
/*
 * Answers a question of an attachment with role `role`, about a client number: enum
 * odrp_far_status. ODRP_FAR_DETACH cuts attach.
 */
unsigned far_host_answer(struct far_host *host, enum odrp_far_role role,
			 struct far_host_attach *attach, uint32_t client);
/* Has an attachment claimed this client number of the space? */
bool far_host_claimed(const struct far_host *host, const struct far_host_space *space,
		      uint32_t client);
/*
 * Sends a probe on each control connection. A probe fails when the client's process has
 * ended; far_host_poll() then ends the attachment.
 */
void far_host_probe(struct far_host *host);
/* Takes completions of probes and of the READs of fences, and ends at most FAR_HOST_ENDS
 * connections of attachments that were cut. */
void far_host_poll(struct far_host *host);
/* Handles NIC_GONE of a connection. False: not known here; the caller releases it. */
bool far_host_gone(struct far_host *host, uint32_t conn);

/*
 * Makes sure that no operation of this client can reach the space any more. It ends the
 * attachment that has claimed the number, and then waits for a fence. 0: done. -EBUSY: not
 * yet; call again after far_host_poll().
 */
int far_host_fence(struct far_host *host, const struct far_host_space *space,
		   uint32_t client);
/* The same for all attachments of the space that were cut so far. */
int far_host_settle(struct far_host *host, const struct far_host_space *space);

/* serve.c: checks and answers a hello. Its contents are not trusted. */
void far_host_serve(struct far_host *host, const struct nic_event *event,
		    const struct far_host_asker *asker);
/* Rejects a hello with status (enum odrp_far_status). */
void far_host_refuse(struct far_host *host, const struct nic_event *event,
		     const struct far_host_asker *asker, unsigned status);
/* Ends all attachments of this owner that were made with a pass, whatever has become of
 * the pass. */
void far_host_cut_owner(struct far_host *host, uint64_t owner);
/* Ends the attachment that has claimed this client number of the space. */
void far_host_cut_client(struct far_host *host, const struct far_host_space *space,
			 uint32_t client);
/* True if the private data begin with ODRP_FAR_MAGIC. */
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
/*
 * Ends all attachments of the space, and its registration. Nothing finds it any more. 0: no
 * operation of its clients can reach the memory, which others may have now. -EBUSY: not
 * yet, as for far_host_fence(). When nothing leaves the space any more
 * (far_host_leaving()), only data that the NIC has written may still arrive: a caller
 * whose memory nobody gets need not wait for them.
 */
int far_host_remove(struct far_host *host, struct far_host_space *space);

#endif
