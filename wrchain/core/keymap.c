// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The key map's entries; see keymap.h. */
#include "keymap.h"

int wrc_keymap_set(struct wrc_keymap *entry, __u32 key, __u64 slot)
{
	unsigned int i;

	if ((key & 0xff) != WRC_KEY_VARIANT)
		return -EINVAL;
	for (i = 8; i < 32; i += 8)
		if ((key >> i & 0xff) == WRC_KEY_VARIANT)
			return -EINVAL;
	entry->key = cpu_to_be32(key);
	entry->resv = 0;
	entry->offset = cpu_to_be16(slot % WRC_KEY_SLOTS * WRC_KSM_GROUP);
	return 0;
}
