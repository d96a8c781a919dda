// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rig's keys of translation in the NIC; see rig.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "rig.h"

_Static_assert(RIG_SLOTS <= WRC_KEY_SLOTS, "one key for all");

int rig_translate(struct rig_node *node, uint32_t slot)
{
	uint64_t page = be64toh(node->tt.entries[slot]);

	if (!rig_keyed(node))
		return 0;
	reach_map(&node->reach, node->keys.key[0], slot * WRC_KSM_GROUP,
		  page ? node->keys.page_key : 0, page);
	return side_take_err(node->side);
}

int rig_open_keys(struct rig_node *node)
{
	uint32_t i;
	int r;

	if (!rig_keyed(node))
		return 0;
	r = keys_init(&node->keys, &node->pool, node->pool.pdn, RIG_SLOTS);
	if (r)
		return r;
	if (!reach_open(node->side, node->keys.pdn, &node->reach)) {
		keys_fini(&node->keys);
		return side_take_err(node->side);
	}
	for (i = 0; !r && i < RIG_SLOTS; i++)
		r = node->tt.entries[i] ? rig_translate(node, i) : 0;
	if (r)
		rig_close_keys(node);
	return r;
}

void rig_close_keys(struct rig_node *node)
{
	if (!rig_keyed(node))
		return;
	reach_close(&node->reach);
	keys_fini(&node->keys);
}

int rig_look_through(struct rig_node *node, uint64_t ret_reached[RIG_SLOTS])
{
	uint32_t i;

	for (i = 0; rig_keyed(node) && !node->side->err && i < RIG_SLOTS; i++)
		if (reach_read(&node->reach, node->keys.key[0], wrc_key_addr(i),
			       ODRP_WIRE_PAGE_SIZE))
			memcpy(&ret_reached[i], node->reach.far.data,
			       sizeof(ret_reached[i]));
	return side_take_err(node->side);
}
