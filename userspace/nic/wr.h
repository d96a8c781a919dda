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

/* Counts a list that was posted. */
void far_wr_count(struct far_qset_stats *stats, const struct far_wr *wr, unsigned nr);

#endif
