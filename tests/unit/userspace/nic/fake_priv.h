/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of the device that is none: fake_verbs.c has its objects, fake_cm.c
 * its connections, and the memory nodes behind them.
 */
#ifndef TEST_FAR_FAKE_PRIV_H
#define TEST_FAR_FAKE_PRIV_H

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

#endif
