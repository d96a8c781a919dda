/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What wrchain/core needs from its surroundings, in the kernel and in user
 * space: the only file of core/ that knows which of the two it is.
 */
#ifndef WRC_PORT_H
#define WRC_PORT_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>		/* brings va_list and vsnprintf */
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#define WRC_ASSERT(c) static_assert(c)
#else
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>		/* snprintf and vsnprintf, nothing else */
#include <string.h>
#include <linux/types.h>
#define WRC_ASSERT(c) _Static_assert(c, #c)
#define cpu_to_be16(x) ((__be16)htobe16(x))
#define cpu_to_be32(x) ((__be32)htobe32(x))
#define cpu_to_be64(x) ((__be64)htobe64(x))
#define be16_to_cpu(x) be16toh((__u16)(x))
#define be32_to_cpu(x) be32toh((__u32)(x))
#define be64_to_cpu(x) be64toh((__u64)(x))
#endif

/* Anywhere, in bytes of any kind. */
typedef __be16 wrc_any_be16 __attribute__((aligned(1), may_alias));
typedef __be32 wrc_any_be32 __attribute__((aligned(1), may_alias));
typedef __be64 wrc_any_be64 __attribute__((aligned(1), may_alias));

#define WRC_AT(t, f, o) WRC_ASSERT(__builtin_offsetof(struct t, f) == (o))

#endif /* WRC_PORT_H */
