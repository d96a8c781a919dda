/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of soft:
 *
 *	soft.c		configuration, registrations, the table
 *	soft_peer.c	attachments, claims, fences
 *	soft_auth.c	handshakes with memory nodes
 *	soft_call.c	outgoing connections: requests and their answers
 *	soft_qset.c	queue sets: posting, polling, waiting
 *	soft_queue.c	one queue of a set: connecting, encoding, completions
 *	soft_node.c	the NIC of a memory node of this process; node.h has the rest
 *
 * Order of locks: soft_nic.lock, far_node.lock, then the software NIC's own.
 */
#ifndef FAR_NIC_SOFT_PRIV_H
#define FAR_NIC_SOFT_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <nic/nic.h>
#include <nic/soft.h>
#include <odrp/far.h>

#include "bell.h"
#include "hello.h"
#include "key.h"
#include "node.h"
#include "ring.h"
#include "soft.h"

/* ---- outgoing connections (soft_call.c) ---- */

enum soft_conn_state { SOFT_CONN_NONE, SOFT_CONN_PENDING, SOFT_CONN_UP, SOFT_CONN_OVER };

/* A connection; all zeros: it does not exist. */
struct soft_conn {
	struct soft_conn *next;
	uint32_t id;
	enum soft_conn_state state;	/* under soft_nic.lock */
	enum nic_reason reason;
	__be32 ip, local_ip;
	uint32_t peer_qpn;
	uint8_t priv_len;
	uint8_t priv[NIC_PRIV_MAX];	/* private data of the accept or reject */
};

struct soft_nic {
	struct far_nodes nodes;
	struct nic *dev;
	uint32_t pdn;
	uint32_t cqn;		/* for queue pairs on which nothing is posted */
	uint32_t queues;	/* next number of a queue; atomic */
	__be32 ip;
	uint64_t connect_ns;	/* how long to wait for an answer */
	struct far_key key;	/* our name and secret, if set */
	pthread_mutex_t lock;	/* protects conns, and the taking of events */
	struct soft_conn *conns;
	struct far_passes passes;
};

static inline struct soft_nic *soft_nic_of(struct far_nic *nic)
{
	return (struct soft_nic *)nic;
}

/* Address of a memory node. */
struct soft_addr {
	__be32 ip;
	struct far_node *local;	/* NULL: it is not in this process */
};

/*
 * Finds the address for the name of a memory node. -EHOSTUNREACH: no such number, or ""
 * although there is not exactly one node; -EINVAL: not an address or number.
 */
int soft_addr_of(const struct soft_nic *soft, const char *node,
		 struct soft_addr *ret_addr);

/* Arguments of far_qp_new() for a queue pair that is to be connected. */
struct soft_qp_conf {
	uint32_t cqn;
	uint8_t log_sq;
	unsigned access;
};

/*
 * Connects a new queue pair, and waits for the answer. 0: accepted; ret_conn->priv has the
 * private data of the accept. The caller ends it by far_qp_free(), then soft_conn_end().
 * -EHOSTUNREACH: no answer; -ECONNREFUSED: rejected, but not by a memory node that serves
 * spaces, or the signature of the answer is wrong; -EPROTO: the answer is malformed;
 * -ENOENT, -ESTALE, -EBUSY, ...: rejected with this status.
 */
int soft_call(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	      const struct soft_qp_conf *conf, struct far_qp *ret_qp,
	      struct soft_conn *ret_conn);
/*
 * Asks a question: 0, or the answer as -errno, as above. ret_space gets the answer to
 * ODRP_FAR_LOOK; NULL for other questions.
 */
int soft_ask(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	     struct far_nic_space *ret_space);
/*
 * The two steps of a connection. soft_conn_open() sends a request for queue pair qpn with
 * len bytes of private data. soft_conn_wait() waits for the answer: 0 and *ret_up, whether
 * the request was accepted or rejected; -EHOSTUNREACH: no answer within connect_ns.
 */
int soft_conn_open(struct soft_nic *soft, __be32 ip, const void *priv, size_t len,
		   uint32_t qpn, struct soft_conn *conn);
int soft_conn_wait(struct soft_nic *soft, struct soft_conn *conn, bool *ret_up);

/*
 * soft_auth.c: copies the pass for this memory node, with a new counter. Without such a
 * pass, makes a handshake. 0 with ret_pass->handle 0: no pass is needed, because we have
 * no key, or because the memory node is in this process.
 */
int soft_pass_get(struct soft_nic *soft, __be32 ip, struct far_pass *ret_pass);

/* Forgets the connection. The caller has freed the queue pair before: that informs the peer. */
void soft_conn_end(struct soft_nic *soft, struct soft_conn *conn);
/* Whether the connection has ended or failed. Takes events. */
bool soft_conn_over(struct soft_nic *soft, struct soft_conn *conn);

/* ---- attachments (soft_peer.c) ---- */

/* An attachment: far_peer.priv. */
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
void soft_cut(struct far_nic *nic, struct far_peer *peer, unsigned client);

/* ---- queues (soft_queue.c) ---- */

struct soft_queue {
	struct soft_peer *peer;		/* NULL: never connected */
	struct far_qp qp;
	struct soft_conn conn;
	struct far_ring ring;
	uint8_t *inlined;		/* inline data: FAR_NIC_MAX_INLINE bytes per place */
	uint32_t inline_key;		/* lkey of inlined */
	uint32_t number;		/* of the queue, for the memory node */
	uint32_t begin;			/* place of the queue pair's first operation */
	bool connected;
};

/* Makes the ring and the memory for inline data. Called before the first connect. */
int soft_queue_init(struct soft_nic *soft, struct soft_queue *queue, unsigned depth);
void soft_queue_fini(struct soft_nic *soft, struct soft_queue *queue);
/* Destroys the queue pair and cancels operations that are not done. */
void soft_queue_reset(struct soft_nic *soft, struct soft_queue *queue);
/* Connects a queue that was reset. -EHOSTDOWN, -ESTALE, ... */
int soft_queue_connect(struct soft_nic *soft, struct soft_queue *queue,
		       uint32_t cqn, struct soft_peer *peer);
/* Posts all operations or none. The queue is connected and has room for them. */
int soft_queue_post(struct soft_queue *queue, const struct far_wr *wr, unsigned nr);
/* Records an entry of the completion queue in the ring. */
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
int soft_qset_fd_arm(struct far_qset *qset);
void soft_qset_fd_disarm(struct far_qset *qset);
void soft_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/* Makes a memory node with address ip, whose NIC has the given port. Takes ownership of
 * port, also on an error (-errno, with a sentence in why). The NIC's other settings are
 * those of `like`. */
int soft_node_new(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		  char *why, size_t why_len, struct far_node **ret_node);

#endif
