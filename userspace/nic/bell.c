/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bell on a futex.
 *
 *	QUIET --ring--> RUNG --wait--> QUIET
 *	QUIET --wait--> SLEEPING --ring (wakes)--> RUNG --sleeper--> QUIET
 *	                SLEEPING --time is up--> QUIET
 *	QUIET --arm--> ARMED --ring (writes the eventfd)--> RUNG --disarm--> QUIET
 *	               ARMED --disarm--> QUIET
 *
 * far_bell_ring() makes a system call only if the state was SLEEPING or ARMED.
 */
#include "bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <own/own.h>

enum { BELL_QUIET, BELL_RUNG, BELL_SLEEPING, BELL_ARMED };

void far_bell_fini(struct far_bell *bell)
{
	if (bell->fd)
		own_fd_close(bell->fd);
}

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

bool far_bell_take(struct far_bell *bell)
{
	return __atomic_exchange_n(&bell->state, BELL_QUIET, __ATOMIC_ACQ_REL) == BELL_RUNG;
}

int far_bell_fd(struct far_bell *bell)
{
	int fd;

	if (!bell->fd) {
		fd = own_fd(eventfd(0, EFD_NONBLOCK));
		if (fd < 0)
			return fd;
		bell->fd = fd;
	}
	return bell->fd;
}

int far_bell_arm(struct far_bell *bell)
{
	uint32_t state = BELL_QUIET;
	int fd = far_bell_fd(bell);

	if (fd < 0)
		return fd;
	/* Release: who finds ARMED sees fd. Acquire pairs with far_bell_ring(). */
	if (!__atomic_compare_exchange_n(&bell->state, &state, BELL_ARMED, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		far_bell_take(bell);
		return -EAGAIN;
	}
	return fd;
}

/*
 * A thread that has found ARMED may write the eventfd later than this function reads it.
 * The next arm's descriptor is readable without a reason then.
 */
void far_bell_disarm(struct far_bell *bell)
{
	eventfd_t count;

	far_bell_take(bell);
	eventfd_read(bell->fd, &count);
}

void far_bell_ring(struct far_bell *bell)
{
	uint32_t old = __atomic_exchange_n(&bell->state, BELL_RUNG, __ATOMIC_ACQ_REL);

	if (old == BELL_SLEEPING)
		syscall(SYS_futex, &bell->state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
	else if (old == BELL_ARMED)
		eventfd_write(bell->fd, 1);
}
