/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of verbs:
 *
 *	verbs.c		configuration, the device, registrations, the table
 *	verbs_cm.c	connections: the thread that takes events, and their ends
 *	verbs_auth.c	handshakes with memory nodes
 *	verbs_call.c	what is said when a connection begins, as the one who asks
 *	verbs_peer.c	attachments, claims, fences
 *	verbs_door.c	a queue set's doorbell and completion queue
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
#include "ring.h"
#include "verbs.h"

/* What libraries say by -1 and errno. */
int verbs_errno(int r);

/* ---- connections (verbs_cm.c) ---- */

enum verbs_conn_state {
	VERBS_CONN_IDLE,
	VERBS_CONN_PENDING,	/* an event will tell */
	VERBS_CONN_READY,	/* the step has been taken */
	VERBS_CONN_REFUSED,	/* by the peer; priv has what it says */
	VERBS_CONN_FAILED,	/* nobody there, or no way to it */
	VERBS_CONN_OVER,	/* it was established, and has ended */
	VERBS_CONN_GONE,	/* its id and queue pair are destroyed */
};

/*
 * The back end's thread alone destroys ids and their queue pairs, since it alone knows
 * that no event of them is being worked at.
 */
struct verbs_conn {
	struct verbs_conn *next;	/* in verbs_nic.ending */
	struct rdma_cm_id *id;
	enum verbs_conn_state state;	/* under verbs_nic.lock */
	int reason;			/* of REFUSED: the connection manager's */
	uint32_t peer_qpn;		/* of an accept */
	uint8_t priv_len;
	uint8_t priv[UINT8_MAX];	/* of the accept, or of the reject */
};

struct verbs_mr {
	struct verbs_mr *next;
	struct ibv_mr *mr;
};

struct verbs_nic {
	struct far_nic nic;
	struct ibv_context *ctx;	/* librdmacm's */
	struct ibv_device_attr attr;
	uint32_t max_msg;		/* bytes, of all ports */
	struct ibv_pd *pd;
	struct ibv_cq *cq;		/* of queue pairs on which nothing is posted */
	struct rdma_event_channel *channel;
	int kick;			/* eventfd: ending is not empty, or stop is set */
	pthread_t thread;
	bool stop;			/* atomic */
	pthread_mutex_t lock;		/* states of connections, ending, mrs */
	pthread_cond_t told;		/* a state has changed */
	struct verbs_conn *ending;
	struct verbs_mr *mrs;
	uint32_t queues;		/* numbers given to queues; atomic */
	struct far_key key;		/* who we are; or nobody */
	struct far_passes passes;
	struct sockaddr_storage from;	/* family 0: as the route says */
	uint32_t spin_us;
	uint8_t timeout;
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
/* All connections are gone. */
void verbs_cm_stop(struct verbs_nic *verbs);
int verbs_conn_new(struct verbs_nic *verbs, struct verbs_conn **ret_conn);
/* Before a step whose end an event tells; and waits for that. 0, -EHOSTUNREACH. */
void verbs_conn_expect(struct verbs_nic *verbs, struct verbs_conn *conn);
int verbs_conn_wait(struct verbs_nic *verbs, struct verbs_conn *conn);
enum verbs_conn_state verbs_conn_state(struct verbs_nic *verbs, struct verbs_conn *conn);
/* The peer is told, unless it knows; its queue pair is gone behind this. NULL: nothing. */
void verbs_conn_end(struct verbs_nic *verbs, struct verbs_conn *conn);

/* ---- what is said (verbs_call.c) ---- */

/* What a connection needs of its queue pair. */
struct verbs_qp_conf {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	unsigned depth;
	uint32_t *ret_inline;	/* what can be posted inline; or NULL */
};

struct verbs_addr {
	struct sockaddr_storage sa;
};

/* -EHOSTUNREACH: no such host, or "". -EINVAL: an address has another form. */
int verbs_addr_of(const char *node, struct verbs_addr *ret_addr);
/*
 * Connects, and waits for the answer, which is in ret_conn->priv. 0: accepted.
 * -EHOSTUNREACH: no memory node answers, or by another device; -ECONNREFUSED: nobody
 * there serves spaces; -EPROTO: not as far.h says; -ENOENT, -ESTALE, ...: refused.
 */
int verbs_call(struct verbs_nic *verbs, const struct verbs_addr *addr,
	       const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
	       struct verbs_conn **ret_conn);
/* Asks a question: 0, or the answer as -errno. ret_space: of a look; or NULL. */
int verbs_ask(struct verbs_nic *verbs, const struct verbs_addr *addr,
	      const struct odrp_far_hello *hello, struct far_nic_space *ret_space);

/* The steps: to the memory node at addr, for a queue pair that is made in between. */
int verbs_resolve(struct verbs_nic *verbs, struct verbs_conn *conn,
		  const struct verbs_addr *addr);
int verbs_connect(struct verbs_nic *verbs, struct verbs_conn *conn, const void *priv,
		  size_t len);

/*
 * verbs_auth.c: a copy of the pass to that memory node, with a counter of its own; by a
 * handshake if there is none. 0 without pass->handle: we are nobody.
 */
int verbs_pass_get(struct verbs_nic *verbs, const struct verbs_addr *addr,
		   struct far_pass *ret_pass);

/* ---- attachments (verbs_peer.c) ---- */

/* far_peer.priv */
struct verbs_peer {
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

/* ---- doorbells (verbs_door.c) ---- */

/* A thread domain, its parent domain, and a completion queue under it. */
struct verbs_door {
	struct ibv_td *td;		/* NULL: the doorbell is shared */
	struct ibv_pd *pd;		/* the parent domain, or the device's */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
};

int verbs_door_open(struct verbs_nic *verbs, enum far_doorbell doorbell, int nr_cqe,
		    struct verbs_door *door);
void verbs_door_close(struct verbs_door *door);

/* ---- queues (verbs_queue.c) ---- */

struct verbs_queue {
	struct verbs_peer *peer;	/* NULL: never connected */
	struct verbs_conn *conn;	/* NULL: none */
	struct ibv_qp *qp;
	struct far_ring ring;
	uint8_t *copies;		/* FAR_NIC_MAX_INLINE bytes for each place: of what */
	struct ibv_mr *copies_mr;	/* is inline to us, and not to the device; or NULL */
	uint32_t max_inline;		/* the device's */
	uint32_t number;		/* at the memory node */
	uint32_t qpn;			/* the last one, for people */
	uint16_t serial;		/* of its queue pair, in the queue set */
	bool connected;
};

/*
 * wr_id of a work request: the serial number of its queue pair above, then the queue's
 * index, then its place in the ring. Entries of queue pairs that are gone are told by
 * the serial number.
 */
static inline uint64_t verbs_wr_id(uint16_t serial, uint16_t idx, uint32_t at)
{
	return (uint64_t)serial << 48 | (uint64_t)idx << 32 | at;
}

int verbs_queue_init(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth);
void verbs_queue_fini(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Cancels what is not done; its queue pair is gone behind this. */
void verbs_queue_reset(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Of one that was reset. -EHOSTDOWN, -ESTALE. */
int verbs_queue_connect(struct verbs_nic *verbs, struct verbs_queue *queue,
			const struct verbs_door *door, unsigned depth,
			struct verbs_peer *peer, uint16_t serial);
/*
 * Posts all, by one call. The queue is connected, and has room. wr and sge have room for
 * nr. When the provider refuses, the connection breaks, and the operations fail.
 */
void verbs_queue_post(struct verbs_queue *queue, uint16_t idx, const struct far_wr *from,
		      unsigned nr, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Notes what a completion queue's entry says. */
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
void verbs_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);
void verbs_qset_explain(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len);

#endif
