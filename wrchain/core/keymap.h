/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Translation in the NIC: where the entry of a slot is.
 *
 * A CNode has indirect keys with entries of one page each (struct wrc_ksm), by
 * which it READs and WRITEs the pages of its slots.  Chains change the entries,
 * by UMR.  A UMR names a key and an offset in it, and a client must not say
 * either: so there is a table as long as the translation table, which the NIC
 * only reads, and the chain READs it at the address at which it finds the slot's
 * entry in the translation table.  One address, one slot, one place.
 *
 * Nothing makes a READ's address a multiple of eight, as it does an atomic's,
 * and the UMR comes before the atomic.  So what lies between two entries must
 * not be a key that can be changed.  The low byte of a key's number is for
 * whoever makes the key to choose: ours have WRC_KEY_VARIANT there, and nowhere
 * else in an entry can that byte stand.
 */
#ifndef WRC_KEYMAP_H
#define WRC_KEYMAP_H

#include "../wrc.h"

/* A UMR writes a group of entries; a slot has the first of its group. */
#define WRC_KEY_SLOTS	ODRP_WIRE_KEY_SLOTS	/* of one key */
#define WRC_KEY_STRIDE	ODRP_WIRE_KEY_STRIDE
#define WRC_KEY_ENTRIES	(WRC_KEY_SLOTS * WRC_KSM_GROUP)
#define WRC_KEY_VARIANT	0xa5u

struct wrc_keymap {
	__be32 key;
	__be16 resv;
	__be16 offset;		/* in the key's table, in entries */
};

WRC_ASSERT(WRC_KEY_STRIDE == WRC_KSM_GROUP * ODRP_WIRE_PAGE_SIZE);
WRC_ASSERT(sizeof(struct wrc_keymap) == sizeof(__be64));
WRC_AT(wrc_keymap, offset, 6);
/* Bytes 4 and 5 are 0, 7 is even, and 6 is below the variant. */
WRC_ASSERT(WRC_KEY_VARIANT & 1);
WRC_ASSERT((WRC_KEY_ENTRIES - 1) >> 8 < WRC_KEY_VARIANT);

/*
 * Where slot number `slot` of a CNode is, in `key`, its key number slot /
 * WRC_KEY_SLOTS.  -EINVAL: the number has another low byte than WRC_KEY_VARIANT,
 * or that byte elsewhere, too: another key is to be made.
 */
int wrc_keymap_set(struct wrc_keymap *entry, __u32 key, __u64 slot);

/* The address of a slot's page under its key. */
static inline __u64 wrc_key_addr(__u64 slot)
{
	return (slot % WRC_KEY_SLOTS) * WRC_KEY_STRIDE;
}

#endif /* WRC_KEYMAP_H */
