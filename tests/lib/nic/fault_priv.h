/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the fault wrapper. */
#ifndef TESTS_LIB_NIC_FAULT_PRIV_H
#define TESTS_LIB_NIC_FAULT_PRIV_H

#include <pthread.h>

#include "../../../userspace/base/rng.h"
#include "fault.h"
#include "wrap.h"

#define FAULT_CLAIMS	16

struct fault_claim {
	struct far_peer *peer;	/* NULL: none */
	unsigned client;
};

struct fault_nic {
	struct far_wrap wrap;
	struct far_nic_call_ops call;
	uint64_t seed;
	unsigned always;		/* FAR_FAULT_*; atomic */
	uint64_t count;			/* atomic */
	/* Values of count at which the rules apply; 0: never. Atomic. */
	uint64_t fail_at, delay_at, kill_at;
	int fail_status;
	unsigned delay_polls;
	void (*die)(void *arg);
	void *die_arg;
	int dead;			/* atomic */
	unsigned inside;		/* threads between fault_enter() and _leave(); atomic */
	uint32_t nr_qsets;		/* queue sets made in all; atomic */
	pthread_mutex_t lock;		/* protects claim */
	struct fault_claim claim[FAULT_CLAIMS];
};

static inline struct fault_nic *fault_nic_of(struct far_nic *nic)
{
	return (struct fault_nic *)nic;
}

/*
 * Enclose all code that may execute operations. -ESHUTDOWN: the client is dead; do not
 * call fault_leave() then.
 */
int fault_enter(struct fault_nic *fault);
void fault_leave(struct fault_nic *fault);

enum fault_state {
	FAULT_QUEUED,	/* not all pieces have been given to inner */
	FAULT_GIVEN,	/* all pieces have been given */
	FAULT_DONE,	/* and inner has completed all of them */
};

/* The fate of an operation. */
enum fault_fate {
	FAULT_WHOLE,	/* executed */
	FAULT_PART,	/* a WRITE: each word written or not; an atomic: executed or not */
	FAULT_NONE,	/* not executed */
};

struct fault_wqe {
	struct far_wr wr;
	uint8_t data[FAR_NIC_MAX_INLINE];
	uint8_t state;		/* enum fault_state */
	uint8_t fate;		/* enum fault_fate */
	int32_t status;		/* of the completion */
	uint32_t late;		/* polls until its completion may be taken */
	uint32_t words;		/* number of pieces; 0 until the first is given */
	uint32_t given;		/* pieces given to inner, or lost */
	uint32_t back;		/* pieces that inner has completed, or that are lost */
	uint32_t first, stride;	/* piece i is word (first + i * stride) % words */
};

struct fault_queue {
	struct fault_wqe *wqe;	/* mask + 1; NULL until connect() */
	uint32_t mask;
	/* Counters that only go up: freed <= taken <= posted. */
	uint32_t freed, taken, posted;
	uint8_t connected;
	uint8_t linked;		/* to another program */
};

#define FAULT_RECVS	64u

struct fault_qset {
	struct far_wrap_qset wrap;
	/* Completions of RECVs, which no fault changes, until poll() takes them. */
	struct far_wc recv[FAULT_RECVS];
	unsigned nr_recvs;
	struct far_rng rng;
	struct far_qset_stats stats;
	unsigned depth, nr_peers;
	struct fault_queue queue[];
};

static inline struct fault_nic *fault_of_qset(const struct fault_qset *mine)
{
	return fault_nic_of(mine->wrap.qset.nic);
}

static inline struct fault_wqe *queue_at(const struct fault_queue *queue, uint32_t nr)
{
	return &queue->wqe[nr & queue->mask];
}

/* fault_qset.c */
int fault_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct far_qset **ret_qset);
void fault_qset_free(struct far_qset *qset);
int fault_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
/* Begins anew with number idx, as connect() does; -ENOMEM, -EINVAL. */
int fault_queue_start(struct far_qset *qset, unsigned idx);
/* The connection has been hung up: forgets its operations. */
void fault_queue_stop(struct far_qset *qset, unsigned idx);
int fault_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
	       unsigned nr);
int fault_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int fault_wait(struct far_qset *qset, uint64_t until);
int fault_fd_arm(struct far_qset *qset);
void fault_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/* fault_call.c */
void fault_call_init(struct far_nic_call_ops *ops);

/* fault_give.c: gives queued operations to inner, some of them or as many as it takes. */
void fault_give(struct fault_qset *mine);
/* Takes the completions of inner. 0, or the error of inner's queue set. */
int fault_collect(struct fault_qset *mine);
/*
 * Lets operation nr of the queue fail with status: sets fate and status of this operation
 * and of all behind it.
 */
void fault_break(struct fault_qset *mine, struct fault_queue *queue, uint32_t nr,
		 int status);
/* Cancels all operations of the queue, whose queue pair is reset. */
void fault_cancel(struct fault_queue *queue);

#endif
