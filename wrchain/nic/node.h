/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of a NIC that a memory node's agent needs beside nic.h: keys whose entries chains
 * write, queue pairs connected to this NIC itself, rate limits, and means to inspect
 * chains while they run.
 */
#ifndef NIC_NODE_H
#define NIC_NODE_H

#include "nic.h"

/**
 * struct nic_cq_info - state of a completion queue
 * @written:	how many entries were written in all, modulo 2^24
 * @errors:	how many of the newest entries in a row report an error or a flush
 */
struct nic_cq_info {
	uint32_t written;
	uint32_t errors;
};

/*
 * Counts the errors of a completion queue from the newest entry back: after the first error
 * all entries are errors.
 */
static inline uint32_t nic_cq_errors(const struct wrc_cqe *buf, uint8_t log_size,
				     uint32_t written)
{
	uint32_t size = 1u << log_size, n = 0;
	unsigned int op;

	for (; n < size && n < written; n++) {
		op = buf[(written - 1 - n) & (size - 1)].op_own >> 4;
		if (op != WRC_CQE_REQ_ERR && op != WRC_CQE_RESP_ERR)
			break;
	}
	return n;
}

/* A peer that the NIC has refused, or that has refused the NIC (heard): its address, and
 * why, as part of a sentence. */
struct nic_refusal {
	__be32 ip;
	const char *why;
	bool heard;
};

/**
 * struct nic_look - a question about the state of queue pairs and a completion queue
 * @qpn, @cqn:	their numbers; 0: none
 */
struct nic_look {
	uint32_t qpn[2], cqn;
};

/* struct nic_seen - the answer; err: 0, or -errno of the first object that failed */
struct nic_seen {
	int err;
	struct nic_qp_info qp[2];
	struct nic_cq_info cq;
};

struct nic_node_ops {
	/*
	 * Makes an indirect key with the given number of 4 KB entries, all empty.  UMRs
	 * of the domain's queue pairs fill them.  The low byte of the key is variant.
	 * mr_dereg() destroys the key.  -EOPNOTSUPP: this NIC has no such keys; last_error()
	 * has the reason.
	 */
	int (*ksm_create)(struct nic *nic, uint32_t pdn, uint32_t entries,
			  unsigned int access, uint8_t variant,
			  uint32_t *ret_key);
	/*
	 * Keys of several domains for the same memory, without registering it for each:
	 * mr_share() prepares the memory of a key, for as long as that exists, and takes
	 * as long as mr_reg(); mr_again() then makes a key that gives its domain's queue
	 * pairs local access and peers no rights.  Its addresses are those of the first
	 * one, and mr_dereg() destroys it, before the first one.  Both NULL: mr_reg() is
	 * as good.
	 */
	int (*mr_share)(struct nic *nic, uint32_t key);
	int (*mr_again)(struct nic *nic, uint32_t key, uint32_t pdn, uint32_t *ret_key);
	int (*cq_info)(struct nic *nic, uint32_t cqn,
		       struct nic_cq_info *ret_info);
	/*
	 * The same as qp_query() and cq_info(), without waiting for the NIC.  look()
	 * begins; seen() takes the answer: -EAGAIN if it is not there yet, -ENODATA if
	 * nothing was asked.  One question at a time (-EBUSY).  The NIC's look_fd is
	 * readable when an answer has come; seen() empties it.
	 *
	 * An object may be destroyed while it is asked about: the call waits until the
	 * NIC has answered, some milliseconds at most.  If it has not, the object stays,
	 * with -EBUSY: a card that does not answer would not destroy it, either.
	 * All other calls that send a command to a card still wait for the card: those
	 * that make, destroy, stop or connect objects and keys.
	 */
	int (*look)(struct nic *nic, const struct nic_look *look);
	int (*seen)(struct nic *nic, struct nic_seen *ret_seen);
	/* Connects a queue pair to queue pair `to` of this NIC, which may be itself.
	 * Of two queue pairs, each needs a call. */
	int (*qp_loop)(struct nic *nic, uint32_t qpn, uint32_t to);
	/*
	 * The NIC executes nothing between freeze() and thaw(); queries work meanwhile.
	 * freeze() returns -EOPNOTSUPP if the NIC cannot be stopped.
	 */
	int (*freeze)(struct nic *nic);
	void (*thaw)(struct nic *nic);
	/*
	 * Limits: all queue pairs of a limit together send and receive at most so many
	 * bytes of payload per second; 0: without bound.  rate_set() changes limit *rate,
	 * or makes one if *rate is 0.  All three are NULL if this NIC has no limits.
	 */
	int (*rate_set)(struct nic *nic, uint64_t bytes_per_s, uint32_t *rate);
	/* Its queue pairs have no limit then. */
	void (*rate_free)(struct nic *nic, uint32_t rate);
	int (*qp_limit)(struct nic *nic, uint32_t qpn, uint32_t rate);
	/* Takes one of the last refusals.  False: there is none.  NULL: there never is. */
	bool (*refusal)(struct nic *nic, struct nic_refusal *ret_refusal);
};

/**
 * struct nic_node - a NIC of a memory node
 * @no_chains:	the NIC arms no chains: it serves spaces and direct slabs only
 * @strict_index: the NIC checks the index of each WQE, so chains must renew it
 * @fence_orders: after a fence, data of earlier READs are visible to all queues; the
 *		agent sets this from the operator's setting or @keeps_fences
 * @keeps_fences: @fence_orders is known to hold: for the software NIC, or for a card by
 *		the report of odrp-hwcheck
 * @keeps_keys:	the same for what translation in the NIC needs
 * @unfit:	by that report, the card is not enough for chains
 * @look_fd:	see look(); -1: answers come at once
 * @known:	all three in words, or why nothing is known; NULL or "": no words
 * @max_recv_len: most bytes of a receive entry, 16 per data segment; 0: no bound
 */
struct nic_node {
	const struct nic_node_ops *ops;
	bool no_chains;
	bool strict_index, fence_orders;
	bool keeps_fences, keeps_keys, unfit;
	int look_fd;
	const char *known;
	unsigned int max_recv_len;
};

#endif /* NIC_NODE_H */
