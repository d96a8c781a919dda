/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wrapper that does what networks and clients do when they fail, all of it within
 * what nic.h promises. A seed determines everything but what threads do to each other.
 *
 * Operations are counted over all queue sets of the wrapper, when they are posted;
 * "the n-th" is counted from the call of the function on, the next one being the
 * first. n of 0 takes a rule back. Rules may be set by any thread at any time.
 */
#ifndef FAR_NIC_FAULT_H
#define FAR_NIC_FAULT_H

#include "nic.h"

/* What the wrapper does all the time; bits. */
enum {
	/*
	 * READs and WRITEs move one aligned word of 8 bytes at a time, in an order of
	 * their own, so that others see some words new and some old.
	 */
	FAR_FAULT_TEAR		= 1 << 0,
	/* peers take turns by chance; a WRITE may pass READs and atomics before it */
	FAR_FAULT_REORDER	= 1 << 1,
	/* now and then completions come some polls late */
	FAR_FAULT_LATE		= 1 << 2,
	/* now and then a queue pair breaks (one operation of FAR_FAULT_BREAK_ONE_IN) */
	FAR_FAULT_BREAK		= 1 << 3,
};

#define FAR_FAULT_BREAK_ONE_IN	256u
#define FAR_FAULT_LATE_ONE_IN	8u
#define FAR_FAULT_LATE_POLLS	16u	/* at most */

/* A back end over inner, which close() of it closes too. -ENOMEM leaves inner alone. */
int far_fault_new(struct far_nic *inner, uint64_t seed, unsigned always,
		  struct far_nic **ret_nic);
void far_fault_always(struct far_nic *nic, unsigned always);

/*
 * The n-th operation fails with status (-ETIMEDOUT, ...), and with it all that is
 * posted behind it: a broken queue pair; their local memory is undefined. Of those the
 * first few, as chance will have it, are executed all the same; of the WRITE after them
 * each word is or is not.
 */
void far_fault_fail_at(struct far_nic *nic, uint64_t n, int status);
/* The n-th operation's completion, and so those behind it, come `polls` polls late. */
void far_fault_delay_at(struct far_nic *nic, uint64_t n, unsigned polls);
/*
 * The client dies at its n-th operation. What this queue set has outstanding, the n-th
 * included, has the fate of what a broken queue pair has. Then die(arg) is called,
 * which may end the process. If it returns, or is NULL, the wrapper is dead: post()
 * answers -ENOTCONN, poll() -ESHUTDOWN, wait() 0, nothing is executed any more, and
 * its claims are given up as soon as no thread of it executes anything.
 */
void far_fault_kill_at(struct far_nic *nic, uint64_t n, void (*die)(void *arg),
		       void *arg);
int far_fault_dead(const struct far_nic *nic);
/* Operations posted since far_fault_new(). */
uint64_t far_fault_count(const struct far_nic *nic);

#endif
