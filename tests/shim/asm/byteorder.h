/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Byte order. */
#ifndef _SHIM_ASM_BYTEORDER_H
#define _SHIM_ASM_BYTEORDER_H

#include <endian.h>
#include_next <asm/byteorder.h>

#define be16_to_cpu(x)	be16toh(x)
#define cpu_to_be16(x)	htobe16(x)
#define be32_to_cpu(x)	be32toh(x)
#define cpu_to_be32(x)	htobe32(x)
#define be64_to_cpu(x)	be64toh(x)
#define cpu_to_be64(x)	htobe64(x)
#define cpu_to_le64(x)	htole64(x)

#endif /* _SHIM_ASM_BYTEORDER_H */
