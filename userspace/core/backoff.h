/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conflict avoidance (smart-framework section 4.3). After the i-th try that lost,
 * i from 0, a task waits
 *
 *	min(t_0 * 2^i, t_max) + Rand(t_0)				(equation 1)
 *
 * Each millisecond the thread looks at its retry rate, retries per operation: above
 * HIGH it halves c_max, the number of operations that it runs at a time, and below LOW
 * it doubles it. Only when c_max is at its bound (1, or all tasks), t_max moves instead:
 * twice as much, or half, within t_0 to 2^10 t_0.
 *
 *	rate > HIGH: c_max -> c_max / 2 -> ... -> 1, then t_max -> 2 t_max -> ... -> t_M
 *	rate < LOW:  c_max -> 2 c_max -> ... -> all, then t_max -> t_max / 2 -> ... -> t_0
 *
 * Knows no task and no NIC. One thread.
 */
#ifndef FAR_CORE_BACKOFF_H
#define FAR_CORE_BACKOFF_H

#include <stdint.h>

#include "../base/rng.h"

#define FAR_BACKOFF_T0_NS	UINT64_C(1707)	/* the paper's 4,096 cycles at 2.4 GHz */
#define FAR_BACKOFF_TM_NS	(FAR_BACKOFF_T0_NS << 10)
#define FAR_BACKOFF_EPOCH_NS	UINT64_C(1000000)
#define FAR_BACKOFF_HIGH	0.5
#define FAR_BACKOFF_LOW		0.1

struct far_backoff {
	unsigned without;		/* FAR_WITHOUT_BACKOFF, _LIMIT, _TASKS */
	unsigned nr_tasks;
	uint64_t t_max;			/* ns */
	unsigned c_max;
	int64_t credit;			/* operations that may begin now; < 0 after c_max fell */
	uint64_t since;			/* when the epoch began */
	uint64_t ops, retries;		/* in it */
};

/* Without the dynamic limit t_max is t_M. */
void far_backoff_init(struct far_backoff *backoff, unsigned without, unsigned nr_tasks,
		      uint64_t now);

/* How long to wait after the try number `attempt`, from 0, has lost; ns. */
uint64_t far_backoff_delay(const struct far_backoff *backoff, unsigned attempt,
			   struct far_rng *rng);

/* An operation may begin: 1, and it has a credit; or 0: when others have ended. */
static inline int far_backoff_enter(struct far_backoff *backoff)
{
	if (backoff->credit <= 0)
		return 0;
	backoff->credit--;
	return 1;
}

/* It has ended, and gives its credit back. */
static inline void far_backoff_leave(struct far_backoff *backoff)
{
	backoff->credit++;
	backoff->ops++;
}

/* A try of it has lost. */
static inline void far_backoff_lost(struct far_backoff *backoff)
{
	backoff->retries++;
}

/* Ends the epoch when it is time. After each operation's end and each lost try. */
void far_backoff_tick(struct far_backoff *backoff, uint64_t now);

#endif
