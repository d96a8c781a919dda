/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every back end asks of a list of operations before it takes them. */
#ifndef FAR_NIC_WR_H
#define FAR_NIC_WR_H

#include "nic.h"

/*
 * Whether all nr operations can be, whatever peer and registrations are: 0, -EINVAL,
 * or -EOPNOTSUPP for one that needs a capability that caps has not.
 */
int far_wr_check(const struct far_wr *wr, unsigned nr, unsigned caps);

/*
 * What a NIC leaves of an operation whose answer is lost (status of its completion): its
 * local memory is undefined. Back ends that make faults call it before they hand such a
 * completion out, so that nobody lives by what was there before: a READ leaves words that
 * nobody has written; an atomic the value that says that it has succeeded, or another one.
 */
void far_wr_lose(const struct far_wr *wr, int status, uint64_t dice);

/* Counts a list that was posted. */
void far_wr_count(struct far_qset_stats *stats, const struct far_wr *wr, unsigned nr);

#endif
