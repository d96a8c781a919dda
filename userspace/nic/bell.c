/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bell on a futex.
 *
 *	QUIET --ring--> RUNG --wait--> QUIET
 *	QUIET --wait--> SLEEPING --ring (wakes)--> RUNG --sleeper--> QUIET
 *	                SLEEPING --time is up--> QUIET
 *
 * far_bell_ring() makes a system call only if the state was SLEEPING.
 */
#include "bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BELL_QUIET, BELL_RUNG, BELL_SLEEPING };

static int bell_sleep(struct far_bell *bell, uint64_t until)
{
	struct timespec ts = {
		.tv_sec = until / 1000000000,
		.tv_nsec = until % 1000000000,
	};

	if (syscall(SYS_futex, &bell->state,
		    FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, BELL_SLEEPING,
		    until == UINT64_MAX ? NULL : &ts, NULL,
		    FUTEX_BITSET_MATCH_ANY) < 0)
		return -errno;
	return 0;
}

int far_bell_wait(struct far_bell *bell, uint64_t until)
{
	uint32_t state = BELL_QUIET;
	int err;

	/* Acquire pairs with the release of far_bell_ring(). */
	if (!__atomic_compare_exchange_n(&bell->state, &state, BELL_SLEEPING, 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		__atomic_exchange_n(&bell->state, BELL_QUIET, __ATOMIC_ACQ_REL);
		return 0;
	}
	err = bell_sleep(bell, until);
	state = __atomic_exchange_n(&bell->state, BELL_QUIET, __ATOMIC_ACQ_REL);
	return state == BELL_SLEEPING && err == -ETIMEDOUT ? -ETIME : 0;
}

void far_bell_ring(struct far_bell *bell)
{
	uint32_t old = __atomic_exchange_n(&bell->state, BELL_RUNG, __ATOMIC_ACQ_REL);

	if (old == BELL_SLEEPING)
		syscall(SYS_futex, &bell->state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}
