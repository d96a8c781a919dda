/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Marked accesses. */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include "../shim.h"

#define READ_ONCE(x)	(shim_step(), *(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) \
	(shim_step(), (void)(*(volatile __typeof__(x) *)&(x) = (v)))

#endif /* _SHIM_LINUX_COMPILER_H */
