/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of the device that is none: fake_verbs.c has its objects, fake_cm.c
 * its connections, and the memory nodes behind them, fake_auth.c what they ask of who
 * has a secret.
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
	struct fake_mr *next;
};

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc *wc;
	unsigned size, first, nr;
	unsigned users, told, unacked;
	bool armed;
};

struct fake_qp {
	struct ibv_qp qp;
	struct fake_cq *cq;
	struct fake_pd *pd;
	struct rdma_cm_id *id;
	struct ibv_sge recv[2];		/* that wait */
	unsigned nr_recv, nr_taken;
	unsigned depth;
	bool error;
	uint64_t *flush;		/* wr_id of what waits for an answer */
	unsigned nr_flush;
};

extern pthread_mutex_t fake_lock;

/* Counts a call; true: it is to fail, with this errno. */
bool fake_fails(int err);
void fake_wrong(const char *what);
void fake_made(int by);
struct ibv_context *fake_context(void);
void fake_qp_error(struct fake_qp *qp);

/* fake_cm.c */
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
size_t fake_auth_seal(unsigned node, bool accepted, void *answer, size_t len);

#endif
