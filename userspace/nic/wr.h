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

/* True if one of the operations is of that kind. */
bool far_wr_has(const struct far_wr *wr, unsigned nr, enum far_nic_op op);
/* RECVs go to a queue of their own. -EINVAL: the list has something else. */
int far_wr_check_recv(const struct far_wr *wr, unsigned nr);

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
