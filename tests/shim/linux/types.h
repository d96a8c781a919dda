/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's short names; the rest comes from the system's header. */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include_next <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
/* As in the kernel, %llu prints it everywhere. */
typedef unsigned long long u64;
typedef long long s64;

#endif /* _SHIM_LINUX_TYPES_H */
