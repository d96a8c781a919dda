/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rkey and address of the page of a table entry, for a compute node that READs and WRITEs
 * pages itself (ODRP_WIRE_F_KEYED).  Pure.
 */
#ifndef _ODRP_KEYS_H
#define _ODRP_KEYS_H

#include <linux/types.h>
#include <odrp/wire.h>

/* How many rkeys cover nr entries. */
static inline u32 odrp_keys_of(u64 nr)
{
	return (nr + ODRP_WIRE_KEY_SLOTS - 1) / ODRP_WIRE_KEY_SLOTS;
}

/* The index of the rkey that covers an entry. */
static inline u32 odrp_key_nr(u64 entry)
{
	return entry / ODRP_WIRE_KEY_SLOTS;
}

/* The address of the page of an entry under that rkey. */
static inline u64 odrp_key_addr(u64 entry)
{
	return entry % ODRP_WIRE_KEY_SLOTS * ODRP_WIRE_KEY_STRIDE;
}

#endif /* _ODRP_KEYS_H */
