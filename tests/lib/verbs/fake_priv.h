/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of the device that is none: fake_verbs.c has its objects, fake_peer.c
 * queue pairs of this process that talk to each other, fake_datagram.c those that do so
 * without connection, fake_listen.c their connections,
 * fake_cm.c the other connections and the memory nodes of mem behind them, fake_auth.c what
 * those ask of who has a secret.
 */
#ifndef TEST_FAR_FAKE_PRIV_H
#define TEST_FAR_FAKE_PRIV_H

#include <odrp/far.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "fake_verbs.h"

#define FAKE_RKEY	0x5a17u

struct fake_pd {
	struct ibv_pd pd;
	struct ibv_td *td;		/* of a parent domain */
	struct fake_pd *parent;
	unsigned users;
};

struct fake_mr {
	struct ibv_mr mr;
	uint64_t iova;
	unsigned access;
	struct fake_mr *next;
};

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc *wc;
	unsigned size, first, nr;
	unsigned users, told, unacked;
	bool armed;
	struct fake_cq *next;
};

#define FAKE_READS	16	/* of the device: READs and atomics of a queue pair */

struct fake_recv {
	uint64_t id;
	struct ibv_sge sge[2];
};

struct fake_qp {
	struct ibv_qp qp;
	struct fake_qp *next;
	struct fake_cq *cq, *rcq;
	struct fake_pd *pd;
	struct rdma_cm_id *id;		/* of rdma_create_qp(); else NULL */
	enum ibv_qp_state state;	/* of ibv_create_qp() */
	unsigned access;
	uint32_t dest;			/* queue pair of this process; 0: none */
	struct fake_recv *recv;		/* those that wait, a ring */
	unsigned nr_recv, nr_taken, most_recv;
	bool datagrams;
	uint32_t qkey;			/* of datagrams */
	unsigned depth;
	bool error;
	uint64_t *flush;		/* wr_id of what waits for an answer */
	unsigned nr_flush;
	struct fake_held *held;		/* what waits for a receive of dest */
};

extern pthread_mutex_t fake_lock;
/* Protects receives and what waits for them; taken before fake_lock. */
extern pthread_mutex_t fake_post_lock;

/* Several threads count. */
static inline void fake_count(unsigned *number, int by)
{
	__atomic_fetch_add(number, by, __ATOMIC_RELAXED);
}

/* Counts a call; true: it is to fail, with this errno. */
bool fake_fails(int err);
void fake_wrong(const char *what);
void fake_made(int by);
struct ibv_context *fake_context(void);
void fake_qp_error(struct fake_qp *qp);
void fake_complete(struct fake_qp *qp, uint64_t wr_id, enum ibv_wc_status status,
		   bool signaled);
void fake_cq_add(struct fake_cq *cq, const struct ibv_wc *wc);
/* With fake_lock. Is this memory registered, in the queue pair's domain? */
bool fake_local(const struct fake_qp *qp, const struct ibv_sge *sge);
/* With fake_lock. What peers of the queue pair may touch; NULL: they may not. */
uint8_t *fake_remote(const struct fake_qp *qp, uint32_t key, uint64_t addr, uint32_t len,
		     unsigned access);

/* fake_peer.c */
struct fake_qp *fake_qp_new(struct ibv_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr);
void fake_qp_free(struct fake_qp *qp);
/* 0 or an errno. */
int fake_receive(struct fake_qp *qp, const struct ibv_recv_wr *wr);
/* Executes a work request of a queue pair with dest, or keeps it until there is a receive. */
void fake_pair_post(struct fake_qp *qp, const struct ibv_send_wr *wr);
/* Receives that wait are flushed. */
void fake_receives_flush(struct fake_qp *qp);
/* With fake_lock. NULL: no queue pair of datagrams has this number and key, or it is stopped. */
struct fake_qp *fake_datagram_find(uint32_t qpn, uint32_t qkey);

/* fake_datagram.c */
void fake_datagram_post(struct fake_qp *qp, const struct ibv_send_wr *wr);
/* What ibv_modify_qp() does. */
int fake_datagram_modify(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask);

/* fake_listen.c */
#define FAKE_REJECTED	28	/* status: by the peer's program */

struct fake_id {
	struct rdma_cm_id id;
	unsigned node;
	bool control, up;
	unsigned unacked;
	struct fake_attach *attach;
	/* An id that leads to a listener of this process has these. */
	struct fake_id *next, *peer, *listener;
	uint16_t port;
	uint32_t peer_qpn;
};

static inline struct fake_id *fake_id_of(struct rdma_cm_id *id)
{
	return (struct fake_id *)id;
}

bool fake_listened(uint16_t port);
/* What rdma_connect() does. */
int fake_call(struct fake_id *mine, const struct rdma_conn_param *param);
/* The id disconnects, or is destroyed. */
void fake_pair_left(struct fake_id *mine);
void fake_listener_drop(struct fake_id *mine);

/* fake_cm.c */
/* Adds an event of the id, and copies what it refers to. */
void fake_event(struct rdma_cm_id *id, const struct rdma_cm_event *event);
/* What that queue pair may touch; NULL: it may not. */
uint8_t *fake_far(struct fake_qp *qp, uint64_t addr, uint32_t len, bool read);
bool fake_gone(struct fake_qp *qp);
/* The peer has left: an event will say so. */
void fake_left(struct rdma_cm_id *id);

/* fake_auth.c: a memory node that knows one client, and lets in nobody else. */
#define FAKE_PEER_QPN	0x4242u

/* A message to it, and its answer of len bytes; 0: it says nothing more. */
size_t fake_auth_message(struct fake_qp *qp, const void *bytes, size_t len,
			 uint8_t ret_answer[192]);
/* Takes a signed request apart. False: it is not signed as it has to be. */
bool fake_auth_request(unsigned node, uint32_t qpn, const void *priv,
		       struct odrp_far_hello *ret_hello);
/* Puts the MAC behind the answer to it. */
size_t fake_auth_sign(unsigned node, bool accepted, void *answer, size_t len);

#endif
