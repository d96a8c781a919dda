/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of soft:
 *
 *	soft.c		configuration, registrations, the table
 *	soft_host.c	spaces of memory nodes within reach: far_nic_host_ops
 *	soft_peer.c	attachments, claims, fences
 *	soft_auth.c	handshakes with memory nodes
 *	soft_call.c	what is said when a connection begins, as the one who asks
 *	soft_qset.c	queue sets: posting, polling, waiting
 *	soft_queue.c	one queue of a set: connecting, encoding, completions
 *	soft_node.c	a memory node: its NIC, its thread; the rest of it is host/
 *	soft_space.c	a memory node's spaces
 *
 * Locks: soft_nic.lock before soft_node.lock; the software NIC's own comes last.
 */
#ifndef FAR_NIC_SOFT_PRIV_H
#define FAR_NIC_SOFT_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <nic/nic.h>
#include <nic/soft.h>
#include <odrp/far.h>

#include "../base/pages.h"
#include "../host/host.h"
#include "bell.h"
#include "hello.h"
#include "key.h"
#include "ring.h"
#include "soft.h"

/* ---- connections, as the one who asks (soft_call.c) ---- */

enum soft_conn_state { SOFT_CONN_NONE, SOFT_CONN_PENDING, SOFT_CONN_UP, SOFT_CONN_OVER };

/* Zeroed is one that does not exist. */
struct soft_conn {
	struct soft_conn *next;
	uint32_t id;
	enum soft_conn_state state;	/* under soft_nic.lock */
	enum nic_reason reason;
	__be32 local_ip;
	uint32_t peer_qpn;
	uint8_t priv_len;
	uint8_t priv[NIC_PRIV_MAX];	/* of the accept, or of the reject */
};

struct soft_nic {
	struct far_nic nic;
	struct nic *dev;
	uint32_t pdn;
	uint32_t cqn;		/* of queue pairs on which nothing is posted */
	uint32_t queues;	/* numbers given to queues; atomic */
	__be32 ip;
	uint64_t connect_ns;	/* what the memory node has for an answer */
	struct far_key key;	/* who we are; or nobody */
	pthread_mutex_t lock;	/* conns, and who takes events */
	struct soft_conn *conns;
	struct far_passes passes;
	unsigned nr_nodes;
	struct soft_node *node[FAR_SOFT_MAX_NODES];
};

static inline struct soft_nic *soft_nic_of(struct far_nic *nic)
{
	return (struct soft_nic *)nic;
}

/* Where a memory node is. */
struct soft_addr {
	__be32 ip;
	struct soft_node *local;	/* in this process; else NULL */
};

/* -EHOSTUNREACH: no such number, or "" and not exactly one node. -EINVAL: another form. */
int soft_addr_of(const struct soft_nic *soft, const char *node,
		 struct soft_addr *ret_addr);

/* A queue pair that is to be connected; see far_qp_new(). */
struct soft_qp_conf {
	uint32_t cqn;
	uint8_t log_sq;
	unsigned access;
};

/*
 * Connects a new queue pair, and waits for the answer. 0: accepted, with what came in
 * ret_conn->priv; until far_qp_free() and soft_conn_end(), in this order.
 * -EHOSTUNREACH: no memory node answers; -ECONNREFUSED: nobody there serves spaces;
 * -EPROTO: not as far.h says; -ENOENT, -ESTALE,
 * -EBUSY, ...: refused.
 */
int soft_call(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	      const struct soft_qp_conf *conf, struct far_qp *ret_qp,
	      struct soft_conn *ret_conn);
/* Asks a question: 0, or the answer as -errno, as above. ret_space: of a look; or NULL. */
int soft_ask(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	     struct far_nic_space *ret_space);
/*
 * The steps: begins a connection of a queue pair with len bytes of private data, and waits
 * for the answer. -EHOSTUNREACH: none within connect_ns; else 0: *ret_up tells whether
 * it was accepted.
 */
int soft_conn_open(struct soft_nic *soft, __be32 ip, const void *priv, size_t len,
		   uint32_t qpn, struct soft_conn *conn);
int soft_conn_wait(struct soft_nic *soft, struct soft_conn *conn, bool *ret_up);

/*
 * soft_auth.c: a copy of the pass to that memory node, with a counter of its own; by a
 * handshake if there is none. 0 without pass->handle: none is needed.
 */
int soft_pass_get(struct soft_nic *soft, __be32 ip, struct far_pass *ret_pass);

/* The peer is told, unless it knows. Its queue pair is gone before. */
void soft_conn_end(struct soft_nic *soft, struct soft_conn *conn);
/* Whether it is over by now. */
bool soft_conn_over(struct soft_nic *soft, struct soft_conn *conn);

/* ---- attachments (soft_peer.c) ---- */

/* far_peer.priv */
struct soft_peer {
	struct soft_addr addr;
	uint64_t id;
	struct far_qp qp;
	struct soft_conn conn;
	struct far_regions regions;
};

int soft_attach(struct far_nic *nic, const char *node, const char *space,
		unsigned rights, struct far_peer *ret_peer);
void soft_detach(struct far_nic *nic, struct far_peer *peer);
int soft_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
	      struct far_nic_space *ret_space);
int soft_erase(struct far_nic *nic, const char *node, const char *space);
int soft_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void soft_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int soft_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);

/* ---- queues (soft_queue.c) ---- */

struct soft_queue {
	struct soft_peer *peer;		/* NULL: never connected */
	struct far_qp qp;
	struct soft_conn conn;
	struct far_ring ring;
	uint8_t *inlined;		/* FAR_NIC_MAX_INLINE bytes for each place */
	uint32_t inline_key;
	uint32_t number;		/* at the memory node */
	uint32_t begin;			/* what the queue pair counts as 0 */
	bool connected;
};

/* Makes its ring, at first. */
int soft_queue_init(struct soft_nic *soft, struct soft_queue *queue, unsigned depth);
void soft_queue_fini(struct soft_nic *soft, struct soft_queue *queue);
/* Cancels what is not done; its queue pair is gone behind this. */
void soft_queue_reset(struct soft_nic *soft, struct soft_queue *queue);
/* Of one that was reset. -EHOSTDOWN, -ESTALE. */
int soft_queue_connect(struct soft_nic *soft, struct soft_queue *queue,
		       uint32_t cqn, struct soft_peer *peer);
/* All or none. The queue is connected, and has room. */
int soft_queue_post(struct soft_queue *queue, const struct far_wr *wr, unsigned nr);
/* Notes what a completion queue's entry says. */
void soft_queue_note(struct soft_nic *soft, struct soft_queue *queue,
		     const struct wrc_cqe *cqe);

/* ---- queue sets (soft_qset.c) ---- */

int soft_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		  struct far_qset **ret_qset);
void soft_qset_free(struct far_qset *qset);
int soft_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
int soft_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int soft_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int soft_qset_wait(struct far_qset *qset, uint64_t until);
void soft_qset_wake(struct far_qset *qset);
void soft_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/* ---- the memory node ---- */

struct soft_space {
	struct far_host_space host;
	struct far_pages pages;
	struct soft_node *node;
	unsigned maps;		/* of far_host_map */
	bool known;		/* published, and not removed */
};

static inline struct soft_space *soft_space_of(struct far_host_space *space)
{
	return (struct soft_space *)space;
}

struct soft_node {
	struct nic *dev;
	__be32 ip;
	pthread_t thread;
	int stop_fd;
	pthread_mutex_t lock;	/* of host */
	struct far_host host;
};

/* soft_node.c: one at the other end of port, which it owns, also if that fails. */
int soft_node_new(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		  char *why, size_t why_len, struct soft_node **ret_node);
void soft_node_free(struct soft_node *node);
/* Answers a question of a client in this process: enum odrp_far_status. Takes the lock. */
unsigned soft_node_ask(struct soft_node *node, unsigned role, uint64_t id,
		       uint32_t client);

/* soft_space.c. With the lock. */
/* NULL: no known one has the name. */
struct soft_space *soft_space_find(const struct soft_node *node, const char *name);
int soft_space_new(struct soft_node *node, const char *name, uint64_t size,
		   struct soft_space **ret_space);
int soft_space_publish(struct soft_space *space);
/* Clients are cut off; its memory stays while it is mapped. */
void soft_space_remove(struct soft_space *space);
void soft_space_put(struct soft_space *space);

/* soft_host.c */
extern const struct far_nic_host_ops soft_host_ops;

#endif
