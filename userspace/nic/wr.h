/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions for lists of operations that all back ends share. */
#ifndef FAR_NIC_WR_H
#define FAR_NIC_WR_H

#include "nic.h"

/*
 * Checks nr operations, as far as neither peer nor registrations matter: 0; -EINVAL: an
 * invalid operation; -EOPNOTSUPP: an operation needs a capability that is not in caps.
 */
int far_wr_check(const struct far_wr *wr, unsigned nr, unsigned caps);

/**
 * struct far_wr_queue - what a list is to be posted to
 * @exists:	false: no peer has the number, and the rest means nothing
 * @connected:	takes operations
 * @calls:	the peer is a program, which takes WRITE_IMM
 * @packet:	of datagrams: bytes of the longest; 0: of a connection
 * @used:	operations that keep their places
 * @depth:	places
 */
struct far_wr_queue {
	bool exists, connected, calls;
	uint32_t packet;
	uint32_t used, depth;
};

/* Where a list goes. RECVs have a queue of their own. */
enum { FAR_WR_NOWHERE, FAR_WR_TO_QUEUE, FAR_WR_TO_RECVS };

/*
 * Does what far_wr_check() does, for datagrams of at most `packet` bytes: -EINVAL: neither
 * SENDs alone nor RECVs alone; -EMSGSIZE: a SEND is longer.
 */
int far_wr_check_datagrams(const struct far_wr *wr, unsigned nr, uint32_t packet);

/*
 * Makes the checks of far_nic_ops.post(), in the order in which
 * post() promises them: the number, the length of the list, the operations (far_wr_check()),
 * and, unless they are RECVs, connection and room. Returns where the list goes
 * (FAR_WR_NOWHERE: it is empty), or the errno of post(). The caller checks what its RECVs
 * need.
 */
int far_wr_check_post(const struct far_wr_queue *queue, const struct far_wr *wr, unsigned nr,
		      unsigned caps);

/*
 * Overwrites the local memory of an operation that has failed with status, since its
 * contents are undefined then. Back ends that inject faults call this before they return
 * such a completion, so that callers cannot rely on the former contents. A READ leaves
 * words that nobody has written; an atomic leaves a value that looks like success, or
 * another one, by dice. No effect if status is 0, -EFAULT or -EINVAL.
 */
void far_wr_lose(const struct far_wr *wr, int status, uint64_t dice);

/* Adds a posted list of nr operations to the counters. */
void far_wr_count(struct far_qset_stats *stats, const struct far_wr *wr, unsigned nr);

#endif
