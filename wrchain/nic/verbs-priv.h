/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the NIC on plain verbs:
 *
 *	verbs.c		opening, closing, domains, keys, what a memory node needs besides
 *	verbs-opts.c	the words that configure it
 *	verbs-qp.c	queue pairs and their states, connections
 *	verbs-wr.c	WQEs to work requests, completions to entries
 */
#ifndef NIC_VERBS_PRIV_H
#define NIC_VERBS_PRIV_H

#include <infiniband/verbs.h>
#include "card.h"
#include "verbs.h"

/* Objects in search trees; each begins with its number. */

struct plain_pd {
	uint32_t pdn;
	struct ibv_pd *pd;
};

/* struct plain_mr - key: the rkey if peers have access, else the lkey */
struct plain_mr {
	uint32_t key;
	struct ibv_mr *mr;
};

/**
 * struct plain_cq - completion queue
 * @receivers:	queue pairs that have a receive queue and this completion queue for it
 */
struct plain_cq {
	uint32_t cqn;
	struct ibv_cq *cq;
	struct plain_qp *receivers;
};

enum plain_state {
	PLAIN_RESET,
	PLAIN_INIT,		/* receives can be posted */
	PLAIN_READY,
	PLAIN_STOPPED,		/* qp_error(), or it could not be connected */
};

/**
 * struct plain_qp - queue pair
 * @serial:	differs from those of queue pairs that had the same number before
 * @attr:	as it was made
 * @posted, @received: how many basic blocks of the send queue and entries of the receive
 *		queue were posted, modulo 2^16
 * @executed:	basic blocks of the send queue whose completions were taken
 * @reads_in, @reads_out: how many READs and atomics the peer, and we, may have outstanding
 * @failed:	a completion has reported an error
 * @syndrome:	of the first of them that is no flush
 */
struct plain_qp {
	uint32_t qpn;
	struct ibv_qp *qp;
	uint32_t serial;
	enum plain_state state;
	struct nic_qp_attr attr;
	uint16_t posted, received, executed;
	uint8_t reads_in, reads_out;
	bool failed;
	uint8_t syndrome;
	struct plain_cq *rcq;
	struct plain_qp *next;		/* in rcq->receivers */
};

/**
 * struct nic_verbs - an open NIC
 * @gid, @gid_index: the port's own address, for queue pairs connected to this NIC itself
 * @next_pdn, @next_cqn, @next_serial: the last number given; the kernel's are not known
 */
struct nic_verbs {
	struct nic_card card;
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr link;
	uint8_t port;
	union ibv_gid gid;
	uint8_t gid_index;
	uint32_t next_pdn, next_cqn, next_serial;
};

static inline struct nic_verbs *plain_of(struct nic *nic)
{
	return (struct nic_verbs *)nic;
}

/* Converts a library's result, 0 or other than 0 with errno, to 0 or -errno. */
static inline int plain_status(int r)
{
	return r ? (errno ? -errno : -EIO) : 0;
}

/* The same for functions that return an errno. */
static inline int plain_result(int r)
{
	return r > 0 ? -r : r ? -EIO : 0;
}

/* verbs-qp.c */
int plain_qp_create(struct nic *nic, const struct nic_qp_attr *attr, uint32_t *ret_qpn);
int plain_qp_destroy(struct nic *nic, uint32_t qpn);
int plain_qp_error(struct nic *nic, uint32_t qpn);
int plain_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info);
int plain_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to);
int plain_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		  const void *priv, uint8_t priv_len, uint32_t *ret_id);
/* See struct nic_card. */
int plain_qp_connect(struct nic_card *card, uint32_t qpn, void *conn,
		     struct nic_cm_accept *accept);

/* verbs-wr.c */
/* Posts the receive entries that the doorbell record names. */
int plain_receives_post(struct nic_verbs *v, struct plain_qp *q);
int plain_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi);
int plain_cq_poll(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);

#endif /* NIC_VERBS_PRIV_H */
