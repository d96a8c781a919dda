/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * core/combine.c with a step of the weaver before each atomic access that threads
 * meet at: bucket words and the states of operations.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "../../kmod/weave.h"

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit

#define stepped(access)		(weave_step(), access)
#define atomic_load(at)		stepped(__atomic_load_n(at, __ATOMIC_SEQ_CST))
#define atomic_load_explicit(at, order)						\
	__atomic_load_n(at, __ATOMIC_SEQ_CST)
#define atomic_exchange(at, to)							\
	stepped(__atomic_exchange_n(at, to, __ATOMIC_SEQ_CST))
#define atomic_exchange_explicit(at, to, order)	atomic_exchange(at, to)
#define atomic_compare_exchange_strong(at, was, to)				\
	stepped(__atomic_compare_exchange_n(at, was, to, 0, __ATOMIC_SEQ_CST,	\
					    __ATOMIC_SEQ_CST))
#define atomic_compare_exchange_strong_explicit(at, was, to, good, bad)		\
	atomic_compare_exchange_strong(at, was, to)
#define atomic_compare_exchange_weak_explicit(at, was, to, good, bad)		\
	atomic_compare_exchange_strong(at, was, to)

#include "../../../../userspace/core/combine.c"
