/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Acquire and release. */
#ifndef _SHIM_ASM_BARRIER_H
#define _SHIM_ASM_BARRIER_H

#include "../shim.h"

#define smp_load_acquire(p) \
	(shim_step(), __atomic_load_n(p, __ATOMIC_ACQUIRE))
#define smp_store_release(p, v) \
	(shim_step(), __atomic_store_n(p, v, __ATOMIC_RELEASE))

/* The shims are sequentially consistent. */
#ifndef smp_wmb
#define smp_wmb()			do { } while (0)
#endif
#ifndef smp_mb__before_atomic
#define smp_mb__before_atomic()		do { } while (0)
#define smp_mb__after_atomic()		do { } while (0)
#endif

#endif /* _SHIM_ASM_BARRIER_H */
