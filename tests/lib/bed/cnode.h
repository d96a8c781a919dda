/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A compute node in user space, on a software NIC: what the kernel module is
 * to a memory node, without a kernel.  For tests and benchmarks.
 *
 * Nothing here waits by itself: the caller's pump lets the world run.
 */
#ifndef CNODE_H
#define CNODE_H

#include <stdbool.h>
#include <odrp/wire.h>
#include <snic/snic.h>
#include "../../../userspace/auth/shake.h"

struct cnode;

/* Events of a NIC that several compute nodes share, and that no one has taken yet. */
struct cnode_mail {
	struct snic_cm_event *ev;
	unsigned int nr, room;
};

/**
 * struct cnode_config - how to connect
 * @rt:		the NIC's thread, whose lock is taken around each call; or NULL
 * @mail:	of the NIC, if it has other compute nodes; else NULL
 * @pump:	lets the world run until something may have happened; false: it
 *		has waited long enough
 * @chains:	bit for each enum odrp_wire_chain to connect; 0: all
 * @keyed:	READs and WRITEs its pages by keys of its own, if the memory node lets it
 * @direct:	has direct slabs, if the memory node lets it
 * @wrong_hash:	heartbeats have another hash of the bitmap of held slabs
 * @name:	who it is, and @secret what it proves that by; NULL: it does not
 * @bare_beats:	with a secret, too: heartbeats have no MAC
 * @short_beats: heartbeats have no fields behind their MAC
 * @asks:	wants no more than it needs until it asks again
 * @dead_ms:	how long the memory node is asked to keep a silent session
 * @ignore_lease: take pages beyond the lease
 * @answer_every: requests of a connection that are submitted without a flush in
 *		between ask only for each such answer; 0: for every one
 */
struct cnode_config {
	struct snic *nic;
	struct snic_rt *rt;
	struct cnode_mail *mail;
	__be32 ip;
	uint16_t port;
	const char *name;
	const uint8_t *secret;
	uint16_t queues, depth;
	uint64_t nr_slots;
	unsigned int chains;
	bool keyed, direct, wrong_hash, bare_beats, short_beats, asks, ignore_lease;
	uint32_t dead_ms;
	unsigned int answer_every;
	bool (*pump)(void *arg);
	void *arg;
};

struct cnode_done {
	unsigned int queue;
	enum odrp_wire_chain chain;
	uint64_t slot;
	uint64_t cookie;
	const void *page;	/* load: until the next call */
};

/* What a memory node that refuses says; status 0: it said nothing.  proved: with its
 * MAC. */
struct cnode_refusal {
	uint16_t status;
	uint64_t detail;
	bool proved;
};

struct cnode_info {
	uint64_t session, token, nr_slots, lease, used;
	uint16_t queues, depth;
	uint32_t beat_ms, dead_ms, dead_ms_max;
	uint64_t grants;
	uint64_t answers;	/* ever */
	bool drain, keyed, direct, signs, long_beats;
	uint32_t back;			/* slabs that it is to give back */
};

/* Admin and I/O connections.  -ECONNREFUSED with the refusal, -ETIMEDOUT, ... */
int cnode_open(const struct cnode_config *cfg, struct cnode **ret_node,
	       struct cnode_refusal *ret_no);
/* Says goodbye and disconnects, if it can, and frees.  Pumps. */
void cnode_close(struct cnode *c);
/* Frees without a word to the memory node, as if the machine had died. */
void cnode_die(struct cnode *c);

/*
 * Starts a request; page: what is to be stored.  -EAGAIN: as many as may be
 * are outstanding; -EDQUOT: a page beyond the lease; -ENOTCONN: the connection
 * is broken.
 */
int cnode_submit(struct cnode *c, unsigned int queue,
		 enum odrp_wire_chain chain, uint64_t slot, const void *page,
		 uint64_t cookie);
/* Nothing follows for now: what was held back to see goes out. */
void cnode_flush(struct cnode *c);
/* The next answer.  -EAGAIN: none.  Flushes. */
int cnode_poll(struct cnode *c, struct cnode_done *ret_done);
/* Requests without an answer, on healthy and on broken connections. */
unsigned int cnode_outstanding(const struct cnode *c);
/* Submits and pumps until the answer is there.  Load: into page. */
int cnode_do(struct cnode *c, unsigned int queue, enum odrp_wire_chain chain,
	     uint64_t slot, void *page);

/* Heartbeat; also takes in a grant that has come.  want: 0 for what is used.
 * -EAGAIN: those before it are still on their way. */
int cnode_beat(struct cnode *c, uint64_t want);
void cnode_info(const struct cnode *c, struct cnode_info *ret_info);
/* Requests ever started on a connection. */
uint64_t cnode_requests(const struct cnode *c, unsigned int queue,
			enum odrp_wire_chain chain);
/* Connection broken: by the memory node or by an error here. */
bool cnode_broken(struct cnode *c, unsigned int queue,
		  enum odrp_wire_chain chain);
/* Connects that chain again after it broke. */
int cnode_reconnect(struct cnode *c, unsigned int queue,
		    enum odrp_wire_chain chain, struct cnode_refusal *ret_no);

/*
 * All connections are lost, by a disconnect or without a word, and requests
 * under way with them; the session is not.
 */
void cnode_lose(struct cnode *c, bool say);
/*
 * Takes the session up with new connections, lost or not, and counts its pages
 * anew.  After a refusal it may be called again.
 */
int cnode_resume(struct cnode *c, struct cnode_refusal *ret_no);
/* The same; 0, or the status that the memory node said. */
int cnode_resume_status(struct cnode *c);
/* Entries of the translation table as they are now; at most a page of them. */
int cnode_read_table(struct cnode *c, uint64_t slot, unsigned int nr,
		     uint64_t *ret_entries);

/* ---- direct slabs: cnode-slabs.c ---- */

#define CNODE_SLABS	64	/* most of them */

/* Reads the table, and takes what the lease lets it have.  -EPROTO: a slab that it holds is
 * another one now. */
int cnode_take_slabs(struct cnode *c);
/* Heartbeats say that so many of its slabs have no page that it uses; at first all have. */
/* The heartbeats call so many pages in use not kept. */
void cnode_set_freed(struct cnode *c, uint64_t nr);
void cnode_idle_slabs(struct cnode *c, unsigned int nr);
/* Heartbeats do not name the slab any more; of those without a used page if there are any. */
void cnode_leave_slab(struct cnode *c, unsigned int nr);
/* How many it holds; one of them, as it was in the table. */
unsigned int cnode_slabs(const struct cnode *c);
const struct odrp_wire_slab *cnode_slab(const struct cnode *c, unsigned int nr);

/* ---- for hostile tests ---- */

/* Where a slot's page is by the keys of this compute node. */
void cnode_where(const struct cnode *c, uint64_t slot, uint64_t *ret_raddr,
		 uint32_t *ret_rkey);

/* Any bytes as one SEND.  They count as no request. */
int cnode_send_raw(struct cnode *c, unsigned int queue,
		   enum odrp_wire_chain chain, const void *bytes, size_t len);
/*
 * An RDMA WRITE or READ of len bytes (at most a page) on an I/O connection, or
 * with queue -1 on the admin connection.
 */
int cnode_rdma_raw(struct cnode *c, int queue, enum odrp_wire_chain chain,
		   bool write, uint64_t raddr, uint32_t rkey, uint32_t len);
bool cnode_admin_broken(struct cnode *c);
/* A connection with that hello, and then silence; cnode_die() ends it. */
int cnode_request(const struct cnode_config *cfg, const void *priv, size_t len,
		  struct cnode **ret_node);
/* A hello as it is; the connection is given up whatever comes. */
int cnode_try_hello(const struct cnode_config *cfg, const void *priv,
		    size_t len, struct cnode_refusal *ret_no);
void cnode_hello(struct odrp_wire_hello *ret_hello, enum odrp_wire_role role);

#endif /* CNODE_H */
