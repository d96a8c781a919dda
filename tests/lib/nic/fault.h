/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wrapper that injects faults of networks and clients, within what nic.h promises. The
 * seed determines all faults, but not the timing of threads.
 *
 * Operations are counted over all queue sets of the wrapper, when they are posted. Each
 * rule below applies to the n-th operation after the call that sets the rule; the next
 * one is the first. n of 0 removes the rule. Any thread may set rules at any time.
 */
#ifndef TESTS_LIB_NIC_FAULT_H
#define TESTS_LIB_NIC_FAULT_H

#include "../../../userspace/nic/nic.h"

/* Faults that the wrapper injects all the time; bits. */
enum {
	/*
	 * READs and WRITEs move one aligned word of 8 bytes at a time, in an order of
	 * their own, so that others see some words new and some old.
	 */
	FAR_FAULT_TEAR		= 1 << 0,
	/* peers are served in random order; a WRITE may pass earlier READs and atomics */
	FAR_FAULT_REORDER	= 1 << 1,
	/* one completion of FAR_FAULT_LATE_ONE_IN comes some polls late */
	FAR_FAULT_LATE		= 1 << 2,
	/* one operation of FAR_FAULT_BREAK_ONE_IN breaks its queue pair */
	FAR_FAULT_BREAK		= 1 << 3,
};

#define FAR_FAULT_BREAK_ONE_IN	256u
#define FAR_FAULT_LATE_ONE_IN	8u
#define FAR_FAULT_LATE_POLLS	16u	/* at most */

/* Wraps inner. close() of the wrapper closes inner, too. -ENOMEM: inner is unchanged. */
int far_fault_new(struct far_nic *inner, uint64_t seed, unsigned always,
		  struct far_nic **ret_nic);
/* Changes the set of permanent faults. Any thread. */
void far_fault_always(struct far_nic *nic, unsigned always);

/*
 * The n-th operation fails with status (-ETIMEDOUT, ...) and breaks its queue pair: all
 * operations posted behind it fail, too. Their local memory is undefined. A random number
 * of the failed operations, from the first on, is executed all the same; of the WRITE
 * that follows these, each word is written or not.
 */
void far_fault_fail_at(struct far_nic *nic, uint64_t n, int status);
/* The completion of the n-th operation, and so all behind it, come `polls` polls late. */
void far_fault_delay_at(struct far_nic *nic, uint64_t n, unsigned polls);
/*
 * The client dies at its n-th operation. The outstanding operations of this queue set,
 * the n-th included, meet the same fates as those of a broken queue pair. Then the
 * wrapper is dead, and die(arg) is called, unless it is NULL; die() may end the process.
 * A dead wrapper executes nothing: post() returns -ENOTCONN, poll() -ESHUTDOWN and
 * wait() 0. It gives up its claims as soon as no thread executes anything in it.
 */
void far_fault_kill_at(struct far_nic *nic, uint64_t n, void (*die)(void *arg),
		       void *arg);
int far_fault_dead(const struct far_nic *nic);
/* Operations posted since far_fault_new(). */
uint64_t far_fault_count(const struct far_nic *nic);

#endif
