/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of soft:
 *
 *	soft.c		configuration, registrations, the table
 *	soft_call.c	outgoing connections: requests and their answers, for attach.c
 *	soft_qset.c	queue sets: posting, polling, waiting
 *	soft_queue.c	one queue of a set: connecting, encoding, completions
 *	soft_link.c	connections between programs, and their windows
 *	soft_listen.c	services, and calls of them
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

#include "../peer/link.h"
#include "../peer/pass.h"
#include "attach.h"
#include "bell.h"
#include "hello.h"
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
	struct far_news answer;		/* to the connection request */
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
	struct far_server *server;	/* NULL: no service has been offered yet */
};

static inline struct soft_nic *soft_nic_of(struct far_nic *nic)
{
	return (struct soft_nic *)nic;
}

/* Arguments of far_qp_new() for a queue pair that is to be connected. */
struct soft_qp_conf {
	uint32_t pdn, cqn;
	uint8_t log_sq;
	unsigned access;
	struct far_rq rq;	/* all zeros: none */
	uint64_t connect_ns;	/* how long to wait for an answer */
};

/*
 * Connects a new queue pair, and waits for the answer. 0: accepted; ret_conn->answer has
 * the private data of the accept. The caller ends it by far_qp_free(), then soft_conn_end().
 * -EHOSTUNREACH: no answer; -ECONNREFUSED: rejected, but not by a memory node that serves
 * spaces, or the signature of the answer is wrong; -EPROTO: the answer is malformed;
 * -ENOENT, -ESTALE, -EBUSY, ...: rejected with this status.
 */
int soft_call(struct soft_nic *soft, __be32 ip, const struct odrp_far_hello *hello,
	      const struct soft_qp_conf *conf, struct far_qp *ret_qp,
	      struct soft_conn *ret_conn);
/* Records events of this connection from now on. The caller holds the lock. */
void soft_conn_add(struct soft_nic *soft, struct soft_conn *conn, uint32_t id,
		   enum soft_conn_state state);
/* Takes the NIC's events. The caller holds the lock. */
void soft_events_take(struct soft_nic *soft);
/* Sets the address of a node elsewhere. -EHOSTUNREACH, -EINVAL: as for far_attach_ops. */
int soft_resolve(const char *node, __be32 *ret_ip);
/* Forgets the connection. The caller has freed the queue pair before: that informs the peer. */
void soft_conn_end(struct soft_nic *soft, struct soft_conn *conn);
/* True if the connection has ended or failed. Takes events. */
bool soft_conn_over(struct soft_nic *soft, struct soft_conn *conn);

/* An attachment: far_peer.priv. */
struct soft_peer {
	struct far_attach attach;
	__be32 ip;
	struct far_qp qp;
	struct soft_conn conn;
};

extern const struct far_attach_ops soft_links;

/* ---- queues (soft_queue.c) ---- */

struct soft_queue {
	const struct far_regions *regions;	/* of the peer */
	struct soft_wire *wire;		/* NULL: the peer is a memory node */
	struct soft_wire *recv;		/* whose RECVs have this number; NULL: none */
	struct far_qp qp;		/* of a wire, too, which owns it */
	struct soft_conn conn;
	struct far_ring ring;
	uint8_t *inlined;		/* inline data: FAR_NIC_MAX_INLINE bytes per place */
	uint32_t inline_pdn, inline_key;	/* domain and lkey of inlined */
	uint32_t number;		/* of the queue, for the memory node */
	uint32_t begin;			/* place of the queue pair's first operation */
	bool connected;
};

/* Makes the ring and the memory for inline data. Called before the first connect. */
int soft_queue_init(struct soft_nic *soft, struct soft_queue *queue, unsigned depth);
void soft_queue_fini(struct soft_nic *soft, struct soft_queue *queue);
/* Has inline data be of this domain. */
int soft_queue_inline(struct soft_nic *soft, struct soft_queue *queue, uint32_t pdn);
/* Destroys the queue pair and cancels operations that are not done. */
void soft_queue_reset(struct soft_nic *soft, struct soft_queue *queue);
/* Connects a queue that was reset. -EHOSTDOWN, -ESTALE, ... */
int soft_queue_connect(struct soft_nic *soft, struct soft_queue *queue,
		       uint32_t cqn, struct soft_peer *peer);
/*
 * Posts all operations or none. The queue is connected and has room for them. put_off: set
 * if the caller has to call nic_soft_push(); NULL: it does not.
 */
int soft_queue_post(struct soft_queue *queue, const struct far_wr *wr, unsigned nr,
		    bool *put_off);
/* Has the queue post over the wire, until unlink(). Nothing is under way. */
void soft_queue_link(struct soft_queue *queue, struct soft_wire *wire);
void soft_queue_unlink(struct soft_queue *queue);
/* Records an entry of the completion queue in the ring. */
void soft_queue_note(struct soft_nic *soft, struct soft_queue *queue,
		     const struct wrc_cqe *cqe);

/* ---- connections between programs (soft_link.c, soft_listen.c) ---- */

/**
 * struct soft_wire - one end of a connection between programs: the table's struct far_link
 * @pdn:	of the own window
 * @regions:	the other end's window
 * @ring:	RECVs; of the thread that uses end.recv
 * @deaf:	RECVs have failed
 */
struct soft_wire {
	struct soft_nic *soft;
	struct far_end end;
	uint32_t pdn;
	struct far_qp qp;
	struct soft_conn conn;
	struct far_regions regions;
	struct far_ring ring;
	bool deaf;
};

/* Posts RECVs. -EAGAIN, -ENOTCONN. */
int soft_wire_recv(struct soft_wire *wire, const struct far_wr *wr, unsigned nr);
/* Records an entry of the completion queue of RECVs. */
void soft_wire_note(struct soft_wire *wire, const struct wrc_cqe *cqe);

extern const struct far_nic_call_ops soft_call_ops;

/* Arguments of far_qp_new() for a wire with these queue sets and this window. */
int soft_wire_conf(const struct far_end *end, const struct far_window *window,
		   struct soft_qp_conf *ret_conf);
/* Makes a wire without queue pair and connection. -ENOMEM. */
int soft_wire_new(struct soft_nic *soft, const struct far_end *end,
		  const struct far_window *window, struct soft_wire **ret_wire);
/* Gives the wire its numbers in the queue sets, which the calling thread uses. -EISCONN. */
int soft_wire_bind(struct soft_wire *wire);
/* Ends and frees a wire that has no numbers. */
void soft_wire_free(struct soft_wire *wire);
uint32_t soft_window_key(const struct far_window *window);
/* Ends a wire, and frees its numbers. */
void soft_wire_hangup(struct far_nic *nic, struct far_link *link);

int soft_service_listen(struct far_qset *qset, const char *service,
			struct far_listener **ret_listener);
void soft_service_unlisten(struct far_nic *nic, struct far_listener *listener);
int soft_service_take(struct far_nic *nic, struct far_listener *listener,
	      struct far_caller *ret_caller);
int soft_service_accept(struct far_nic *nic, struct far_caller *caller, const struct far_end *end,
		const struct far_window *window, const struct far_hello *answer,
		struct far_link **ret_link);
void soft_service_reject(struct far_nic *nic, struct far_caller *caller, int status);

/*
 * Makes what answers calls. keys: callers must prove a name of this directory of secrets; "":
 * nobody needs to. -errno, with a sentence in why.
 */
int soft_server_new(struct soft_nic *soft, const char *keys, char *why, size_t len);
void soft_server_free(struct far_server *server);

/* ---- queue sets (soft_qset.c) ---- */

int soft_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		  struct far_qset **ret_qset);
void soft_qset_free(struct far_qset *qset);
/* The completion queue of operations, and that of RECVs, which it makes if there is none. Any
 * thread may call both. */
uint32_t soft_qset_cqn(const struct far_qset *qset);
int soft_qset_recv_cqn(struct far_qset *qset, uint32_t *ret_cqn);
unsigned soft_qset_depth(const struct far_qset *qset);
/* Gives a wire its number idx, for operations or for RECVs. -EISCONN, -EINVAL, -ENOMEM. */
int soft_qset_link(struct far_qset *qset, unsigned idx, struct soft_wire *wire);
int soft_qset_hear(struct far_qset *qset, unsigned idx, struct soft_wire *wire);
/* Frees the numbers of a wire whose queue pair is gone. */
void soft_qset_unlink(struct far_qset *qset, unsigned idx);
void soft_qset_unhear(struct far_qset *qset, unsigned idx);
int soft_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
int soft_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
void soft_qset_push(struct far_qset *qset);
int soft_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int soft_qset_wait(struct far_qset *qset, uint64_t until);
void soft_qset_wake(struct far_qset *qset);
int soft_qset_fd_arm(struct far_qset *qset);
void soft_qset_fd_disarm(struct far_qset *qset);
void soft_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/* Makes a memory node with address ip, whose NIC has the given port. Takes ownership of
 * port, also on an error (-errno, with a sentence in why). The NIC's other settings are
 * those of `like`; keys as for far_node_new(). */
int soft_node_new(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		  const char *keys, char *why, size_t why_len, struct far_node **ret_node);

#endif
