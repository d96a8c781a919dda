/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Division. */
#ifndef _SHIM_LINUX_MATH64_H
#define _SHIM_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

#endif /* _SHIM_LINUX_MATH64_H */
