/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of verbs:
 *
 *	verbs.c		configuration, the device, a memory node, registrations, the table
 *	verbs_cm.c	connections: the thread that takes events and ends connections
 *	verbs_auth.c	handshakes with memory nodes
 *	verbs_call.c	outgoing connections: requests and their answers
 *	verbs_peer.c	attachments, claims, fences
 *	verbs_doorbell.c	a queue set's doorbell and completion queue
 *	verbs_queue.c	one queue of a set: connecting, posting, completions
 *	verbs_qset.c	queue sets: posting, polling, waiting
 */
#ifndef FAR_NIC_VERBS_PRIV_H
#define FAR_NIC_VERBS_PRIV_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "hello.h"
#include "key.h"
#include "node.h"
#include "ring.h"
#include "verbs.h"

/* Converts a library's result, 0 or other than 0 with errno, to 0 or -errno. */
int verbs_errno(int r);

/* ---- connections (verbs_cm.c) ---- */

enum verbs_conn_state {
	VERBS_CONN_IDLE,
	VERBS_CONN_PENDING,	/* a step is under way; an event will end it */
	VERBS_CONN_READY,	/* the last step has succeeded */
	VERBS_CONN_REFUSED,	/* the peer has rejected the request; see priv */
	VERBS_CONN_FAILED,	/* no route, or no answer */
	VERBS_CONN_OVER,	/* an established connection has ended */
	VERBS_CONN_GONE,	/* id and queue pair are destroyed */
};

/*
 * Only the back end's thread destroys ids and their queue pairs, because this thread
 * handles events: no event of an id that is destroyed can be in work.
 */
struct verbs_conn {
	struct verbs_conn *next;	/* in verbs_nic.ending */
	struct rdma_cm_id *id;
	enum verbs_conn_state state;	/* under verbs_nic.lock */
	int reason;			/* if REFUSED: status of the connection manager */
	uint32_t peer_qpn;		/* from the accept */
	uint8_t priv_len;
	uint8_t priv[UINT8_MAX];	/* private data of the accept or reject */
};

struct verbs_mr {
	struct verbs_mr *next;
	struct ibv_mr *mr;
};

struct verbs_nic {
	struct far_nodes nodes;
	struct far_nic_ops ops;		/* far_verbs_ops, and what a memory node adds */
	struct ibv_context *ctx;	/* librdmacm owns it */
	struct ibv_device_attr attr;
	uint32_t max_msg;		/* most bytes of a message, for all ports that are up */
	struct ibv_pd *pd;
	struct ibv_cq *cq;		/* for queue pairs on which nothing is posted */
	struct rdma_event_channel *channel;
	int kick;			/* eventfd: ending is not empty, or stop is set */
	pthread_t thread;
	bool stop;			/* atomic */
	pthread_mutex_t lock;		/* protects states of connections, ending, mrs */
	pthread_cond_t told;		/* the state of a connection has changed */
	struct verbs_conn *ending;	/* connections for the thread to end */
	struct verbs_mr *mrs;
	uint32_t queues;		/* next number of a queue; atomic */
	struct far_key key;		/* our name and secret, if set */
	struct far_passes passes;
	struct sockaddr_storage from;	/* our address; family 0: the route decides */
	uint32_t spin_us;
	uint8_t timeout;
	bool serves;			/* a memory node in this process, on the same device */
};

static inline struct verbs_nic *verbs_nic_of(struct far_nic *nic)
{
	return (struct verbs_nic *)nic;
}

static inline const char *verbs_name(const struct verbs_nic *verbs)
{
	return ibv_get_device_name(verbs->ctx->device);
}

int verbs_cm_start(struct verbs_nic *verbs);
/* Stops the thread. The caller has ended all connections before. */
void verbs_cm_stop(struct verbs_nic *verbs);
int verbs_conn_new(struct verbs_nic *verbs, struct verbs_conn **ret_conn);
/*
 * verbs_conn_expect() is called before a step that an event ends; verbs_conn_wait() waits
 * for that event. 0; -EHOSTUNREACH: the step failed, or took too long; if the peer has
 * rejected the request, the result of far_hello_refusal().
 */
void verbs_conn_expect(struct verbs_nic *verbs, struct verbs_conn *conn);
int verbs_conn_wait(struct verbs_nic *verbs, struct verbs_conn *conn);
enum verbs_conn_state verbs_conn_state(struct verbs_nic *verbs, struct verbs_conn *conn);
/* Ends and frees a connection and its queue pair, and informs the peer. conn may be NULL. */
void verbs_conn_end(struct verbs_nic *verbs, struct verbs_conn *conn);

/* ---- outgoing connections (verbs_call.c) ---- */

/* Attributes of a connection's queue pair. */
struct verbs_qp_conf {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	unsigned depth;
	uint32_t *ret_inline;	/* gets the most bytes of inline data; may be NULL */
};

struct verbs_addr {
	struct sockaddr_storage sa;
};

/* Finds an address. -EHOSTUNREACH: no such host, or "" although this process has no memory
 * node; -EINVAL: node has another form. */
int verbs_addr_of(const struct verbs_nic *verbs, const char *node,
		  struct verbs_addr *ret_addr);
/*
 * Connects, and waits for the answer. 0: accepted; (*ret_conn)->priv has the private data.
 * -EHOSTUNREACH: no answer, or the route goes by another device; -ECONNREFUSED: rejected,
 * but not by a memory node that serves spaces, or the signature of the answer is wrong;
 * -EPROTO: the answer is malformed; -ENOENT, -ESTALE, ...: rejected with this status.
 */
int verbs_call(struct verbs_nic *verbs, const struct verbs_addr *addr,
	       const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
	       struct verbs_conn **ret_conn);
/*
 * Asks a question: 0, or the answer as -errno. ret_space gets the answer to ODRP_FAR_LOOK;
 * NULL for other questions.
 */
int verbs_ask(struct verbs_nic *verbs, const struct verbs_addr *addr,
	      const struct odrp_far_hello *hello, struct far_nic_space *ret_space);

/*
 * The two steps of a connection: find address and route, and connect. The caller makes the
 * queue pair in between.
 */
int verbs_resolve(struct verbs_nic *verbs, struct verbs_conn *conn,
		  const struct verbs_addr *addr);
int verbs_connect(struct verbs_nic *verbs, struct verbs_conn *conn, const void *priv,
		  size_t len);

/*
 * verbs_auth.c: copies the pass for this memory node, with a new counter. Without such a
 * pass, makes a handshake. 0 with ret_pass->handle 0: no pass is needed, because we have
 * no key.
 */
int verbs_pass_get(struct verbs_nic *verbs, const struct verbs_addr *addr,
		   struct far_pass *ret_pass);

/* ---- attachments (verbs_peer.c) ---- */

/* An attachment: far_peer.priv. */
struct verbs_peer {
	struct far_node *local;		/* NULL: it is not in this process */
	struct verbs_addr addr;
	uint64_t id;
	struct verbs_conn *conn;
	struct far_regions regions;
};

int verbs_attach(struct far_nic *nic, const char *node, const char *space,
		 unsigned rights, struct far_peer *ret_peer);
void verbs_detach(struct far_nic *nic, struct far_peer *peer);
int verbs_look(struct far_nic *nic, const char *node, const char *space, unsigned idx,
	       struct far_nic_space *ret_space);
int verbs_erase(struct far_nic *nic, const char *node, const char *space);
int verbs_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void verbs_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int verbs_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);
void verbs_cut(struct far_nic *nic, struct far_peer *peer, unsigned client);

/* ---- doorbells (verbs_doorbell.c) ---- */

/* A thread domain, its parent domain, and a completion queue under it. */
struct verbs_doorbell {
	struct ibv_td *td;		/* NULL: the doorbell is shared */
	struct ibv_pd *pd;		/* the parent domain; without td: verbs_nic.pd */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
};

int verbs_doorbell_open(struct verbs_nic *verbs, enum far_doorbell doorbell, int nr_cqe,
			struct verbs_doorbell *db);
void verbs_doorbell_close(struct verbs_doorbell *db);

/* ---- queues (verbs_queue.c) ---- */

struct verbs_queue {
	struct verbs_peer *peer;	/* NULL: never connected */
	struct verbs_conn *conn;	/* NULL: none */
	struct ibv_qp *qp;
	struct far_ring ring;
	uint8_t *copies;		/* copies of inline data longer than max_inline: */
	struct ibv_mr *copies_mr;	/* FAR_NIC_MAX_INLINE bytes per place; NULL: none */
	uint32_t max_inline;		/* most inline data that the device takes */
	uint32_t number;		/* of the queue, for the memory node */
	uint32_t qpn;			/* of the last queue pair, for messages */
	uint16_t serial;		/* serial number of the queue pair in the queue set */
	bool connected;
};

/*
 * wr_id of a work request: serial number of the queue pair (16 bits), index of the queue
 * (16 bits), place in the ring (32 bits). The serial number tells entries of destroyed
 * queue pairs from those of the present one.
 */
static inline uint64_t verbs_wr_id(uint16_t serial, uint16_t idx, uint32_t at)
{
	return (uint64_t)serial << 48 | (uint64_t)idx << 32 | at;
}

int verbs_queue_init(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth);
void verbs_queue_fini(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Destroys the queue pair and cancels operations that are not done. */
void verbs_queue_reset(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Connects a queue that was reset. -EHOSTDOWN, -ESTALE, ... */
int verbs_queue_connect(struct verbs_nic *verbs, struct verbs_queue *queue,
			const struct verbs_doorbell *db, unsigned depth,
			struct verbs_peer *peer, uint16_t serial);
/*
 * Posts nr operations by one call of the provider. The queue is connected and has room for
 * them. wr and sge are scratch memory for nr elements. If the provider refuses, the
 * connection breaks, and all outstanding operations fail.
 */
void verbs_queue_post(struct verbs_queue *queue, uint16_t idx, const struct far_wr *from,
		      unsigned nr, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Records an entry of the completion queue in the ring. */
void verbs_queue_note(struct verbs_nic *verbs, struct verbs_queue *queue,
		      const struct ibv_wc *wc);

/* ---- queue sets (verbs_qset.c) ---- */

int verbs_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct far_qset **ret_qset);
void verbs_qset_free(struct far_qset *qset);
int verbs_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
int verbs_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int verbs_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int verbs_qset_wait(struct far_qset *qset, uint64_t until);
void verbs_qset_wake(struct far_qset *qset);
int verbs_qset_fd_arm(struct far_qset *qset);
void verbs_qset_fd_disarm(struct far_qset *qset);
void verbs_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);
void verbs_qset_explain(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len);

#endif
