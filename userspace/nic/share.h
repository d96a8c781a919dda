/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets that threads share: all queue sets of a NIC post over N of its own, by combining.
 * A thread puts its operations into a queue of its own and, if nobody leads, leads: it posts
 * those of all threads, takes completions, and gives each its own. So the number of queue pairs
 * per memory node does not grow with the number of threads.
 */
#ifndef FAR_NIC_SHARE_H
#define FAR_NIC_SHARE_H

#include "nic.h"

#define FAR_SHARE_MAX	256u

/*
 * From now on queue sets of the NIC share `nr`, at most FAR_SHARE_MAX; until close(), which
 * undoes it. The NIC has no queue set yet. -ENOMEM; -EALREADY: they are shared.
 */
int far_nic_share(struct far_nic *nic, unsigned nr);
/* The same, for a NIC that nobody closes. No effect if queue sets are not shared. */
void far_nic_unshare(struct far_nic *nic);

#endif
