/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of far_nic_ops that all back ends in real time share: the clock, and
 * threads of the system.
 */
#ifndef FAR_NIC_REAL_H
#define FAR_NIC_REAL_H

#include "nic.h"

/* CLOCK_MONOTONIC in ns. */
uint64_t far_real_now(struct far_nic *nic);
void far_real_spend(struct far_nic *nic, uint64_t ns);
int far_real_thread_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
			  struct far_nic_thread **ret_thread);
void far_real_thread_join(struct far_nic *nic, struct far_nic_thread *thread);

#endif
