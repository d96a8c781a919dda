// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fields of mailboxes; see ifc.h. */
#include "ifc.h"

static unsigned int bits_of(enum wrc_mlx5_fld fld)
{
	return fld & 0xff;
}

static unsigned int off_of(enum wrc_mlx5_fld fld)
{
	return fld >> 8;
}

/* The 32 bits a field lies in. */
static __u8 *word_of(const void *base, enum wrc_mlx5_fld fld)
{
	return (__u8 *)base + off_of(fld) / 32 * 4;
}

static unsigned int shift_of(enum wrc_mlx5_fld fld)
{
	return 32 - off_of(fld) % 32 - bits_of(fld);
}

static __u32 mask_of(enum wrc_mlx5_fld fld)
{
	return bits_of(fld) == 32 ? ~0u : (1u << bits_of(fld)) - 1;
}

static __u32 get32(const __u8 *at)
{
	__be32 be;

	memcpy(&be, at, sizeof(be));
	return be32_to_cpu(be);
}

static void set32(__u8 *at, __u32 value)
{
	__be32 be = cpu_to_be32(value);

	memcpy(at, &be, sizeof(be));
}

int wrc_mlx5_set(void *base, enum wrc_mlx5_fld fld, __u64 value)
{
	__u8 *at = word_of(base, fld);
	__u32 mask, word;

	if (bits_of(fld) == 64) {
		set32(at, value >> 32);
		set32(at + 4, (__u32)value);
		return 0;
	}
	mask = mask_of(fld);
	if (value > mask)
		return -ERANGE;
	word = get32(at) & ~(mask << shift_of(fld));
	set32(at, word | (__u32)value << shift_of(fld));
	return 0;
}

__u64 wrc_mlx5_get(const void *base, enum wrc_mlx5_fld fld)
{
	const __u8 *at = word_of(base, fld);

	if (bits_of(fld) == 64)
		return (__u64)get32(at) << 32 | get32(at + 4);
	return get32(at) >> shift_of(fld) & mask_of(fld);
}
