/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Atomics, all sequentially consistent, each one step. */
#ifndef _SHIM_LINUX_ATOMIC_H
#define _SHIM_LINUX_ATOMIC_H

#include <stdbool.h>

#include <linux/types.h>

#include "../shim.h"

#define cmpxchg(p, old, new) \
	(shim_step(), __sync_val_compare_and_swap(p, old, new))

struct shim_atomic64 {
	s64	v;
};

#define atomic64_t	struct shim_atomic64

static inline s64 atomic64_read(const atomic64_t *a)
{
	shim_step();
	return __atomic_load_n(&a->v, __ATOMIC_SEQ_CST);
}

static inline void atomic64_inc(atomic64_t *a)
{
	shim_step();
	__atomic_add_fetch(&a->v, 1, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_inc_return(atomic64_t *a)
{
	shim_step();
	return __atomic_add_fetch(&a->v, 1, __ATOMIC_SEQ_CST);
}

static inline void atomic64_dec(atomic64_t *a)
{
	shim_step();
	__atomic_sub_fetch(&a->v, 1, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_xchg(atomic64_t *a, s64 v)
{
	shim_step();
	return __atomic_exchange_n(&a->v, v, __ATOMIC_SEQ_CST);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *a, s64 *old, s64 new)
{
	shim_step();
	return __atomic_compare_exchange_n(&a->v, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#endif /* _SHIM_LINUX_ATOMIC_H */
