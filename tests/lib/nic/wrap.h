/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Base of wrappers: a back end that contains another one and passes calls on to it.
 * A wrapper sets up its table with far_wrap_init(), then replaces functions in it.
 * Capabilities and far_nic_host_ops are those of the inner back end.
 */
#ifndef TESTS_LIB_NIC_WRAP_H
#define TESTS_LIB_NIC_WRAP_H

#include "../../../userspace/nic/nic.h"

/* The first member of a wrapper's struct. */
struct far_wrap {
	struct far_nic nic;
	struct far_nic *inner;
	struct far_nic_ops ops;			/* nic.ops points here */
};

/* The first member of the structs of a wrapper's queue sets. */
struct far_wrap_qset {
	struct far_qset qset;
	struct far_qset *inner;
};

/* Passes calls on; a wrapper that keeps queues of its own replaces accept() and call(). */
extern const struct far_nic_call_ops far_wrap_call_ops;

void far_wrap_init(struct far_wrap *wrap, struct far_nic *inner, const char *name,
		   const char *summary);

static inline struct far_nic *far_wrap_inner(struct far_nic *nic)
{
	return ((struct far_wrap *)nic)->inner;
}

static inline struct far_qset *far_wrap_inner_qset(struct far_qset *qset)
{
	return ((struct far_wrap_qset *)qset)->inner;
}

#endif
