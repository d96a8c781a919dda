/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums in far memory to which many operations add, as the number of a table's keys. An
 * operation adds to what its client has in hand, and posts nothing: the client's service adds
 * that to the word of far memory, in its rounds (round.c). It does so before it publishes an
 * epoch that is behind the operation. So the word is what it was when the operation began,
 * although the structure that has it may be deleted afterwards.
 *
 * A fence loses what the client had in hand; a connection that breaks may lose what was on its
 * way.
 */
#ifndef FAR_CORE_SUM_H
#define FAR_CORE_SUM_H

#include <stdint.h>

struct far;
struct far_sum;
struct far_task;

/* The sum whose word is at addr. -ENOMEM. */
int far_sum_new(uint64_t addr, struct far_sum **ret_sum);
/* Nobody adds any more; what was added stays. NULL is allowed. */
void far_sum_put(struct far_sum *sum);
/* Returns the far address of its word. */
uint64_t far_sum_addr(const struct far_sum *sum);
/* Adds. Within an epoch. */
void far_sum_add(struct far_task *task, struct far_sum *sum, int64_t by);
/* Returns what is in hand, and so not in far memory. */
int64_t far_sum_pending(const struct far_sum *sum);

/* The service calls this: it brings to far memory what was added before. */
void far_sums_pay(struct far_task *task);
/* The client has been fenced, or ends: nobody may do so any more. */
void far_sums_forget(struct far *far);

#endif
