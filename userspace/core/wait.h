/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * far_fd_wait(), far_park(), far_unpark(): the scheduler's side.
 */
#ifndef FAR_CORE_WAIT_H
#define FAR_CORE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct far_fds;
struct far_thread;

/* How many descriptors tasks wait for. fds may be NULL. */
unsigned far_fds_nr(const struct far_fds *fds);
void far_fds_free(struct far_fds *fds);

/*
 * For a thread whose tasks wait for descriptors. far_fds_look() wakes the tasks whose
 * descriptors are ready, if the last look is some time ago. far_fds_wait() sleeps until a
 * descriptor is ready, the NIC's wait() would return 0, or the clock says `until`
 * (UINT64_MAX: never), and wakes such tasks. It may return without a reason.
 */
void far_fds_look(struct far_thread *thread);
void far_fds_wait(struct far_thread *thread, uint64_t until);

/*
 * In the child of a fork(): wakes the tasks of the thread that wait for descriptors or
 * for far_unpark(), which answer -ESTALE. Whether there are any.
 */
bool far_wait_forsake(struct far_thread *thread);

#endif
