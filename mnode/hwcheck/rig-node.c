// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rig's memory node without a chain; see rig.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "rig.h"

#define PAGE	ODRP_WIRE_PAGE_SIZE

_Static_assert(1 << RING_MIN_LOG_LEN == RIG_RING_SLOTS * RING_SLOT &&
	       2 * RIG_RING_PAGES <= RIG_RING_SLOTS, "the smallest ring");

void rig_fill(uint8_t *page, uint32_t number)
{
	uint32_t i, w;

	for (i = 0; i < PAGE / sizeof(w); i++) {
		w = number * 2654435761u + i;
		memcpy(page + i * sizeof(w), &w, sizeof(w));
	}
}

static int open_table(struct rig_node *node)
{
	struct nic *nic = node->side->nic;
	size_t len = RIG_SLOTS * sizeof(__be64);
	int r;

	node->tt.nr_slots = RIG_SLOTS;
	r = mem_map(len, MEM_POPULATE, &node->tt.mem);
	if (r)
		return r;
	node->tt.entries = node->tt.mem.va;
	r = nic->ops->mr_reg(nic, node->pool.pdn, node->tt.mem.va, len, 0,
			     NIC_ALL, &node->tt.key);
	if (r)
		mem_unmap(&node->tt.mem);
	return r;
}

int rig_open(struct side *side, const struct rig_prog *what,
	     struct rig_node *ret_node)
{
	struct rig_node *node = ret_node;
	int r;

	*node = (struct rig_node){ .side = side, .what = *what };
	/* Claims this to the verifier; the comparison shows whether it is true. */
	side->nic->node->fence_orders = what->order == WRC_ORDER_FENCE;
	r = pool_init(&node->pool, side->nic, RIG_PAGES * PAGE, true);
	if (r)
		return r;
	r = ring_init(&node->ring, side->nic, node->pool.pdn, RIG_RING_PAGES);
	if (r)
		goto fini_pool;
	r = open_table(node);
	if (r)
		goto fini_ring;
	return 0;

fini_ring:
	ring_fini(&node->ring);
fini_pool:
	pool_fini(&node->pool);
	return r;
}

void rig_close(struct rig_node *node)
{
	struct nic *nic = node->side->nic;

	nic->ops->mr_dereg(nic, node->tt.key);
	mem_unmap(&node->tt.mem);
	ring_fini(&node->ring);
	pool_fini(&node->pool);
}

static bool begins_mapped(const struct rig_node *node,
			  const struct rig_config *cfg)
{
	if (cfg->table == RIG_AS_NEEDED)
		return node->what.chain != ODRP_WIRE_UNMAPPED_STORE;
	return cfg->table == RIG_FULL;
}

void rig_reset(struct rig_node *node, const struct rig_config *cfg)
{
	uint8_t *pages = node->pool.page_mem.va;
	uint32_t i;

	for (i = 0; i < RIG_PAGES; i++)
		rig_fill(pages + i * PAGE, ~i);
	memset(node->ring.mem.va, 0, RIG_RING_SLOTS * RING_SLOT);
	*node->ring.head = *node->ring.tail = RING_IOVA;
	for (i = 0; i < RIG_RING_PAGES; i++)
		ring_push(&node->ring, page_addr(i));
	for (i = 0; i < RIG_MAX_DEPTH; i++)
		node->registers[i] = page_addr(RIG_RING_PAGES + i);
	for (i = 0; i < RIG_SLOTS; i++)
		node->tt.entries[i] = begins_mapped(node, cfg) ?
			htobe64(ring_pop(&node->ring)) : 0;
	while (cfg->scarce && ring_pages(&node->ring) > RIG_SCARCE)
		ring_pop(&node->ring);
}

/* Uses the end of the ring that chains of this kind do not use. */
int rig_renew_slot(struct rig_node *node, uint32_t slot)
{
	volatile __be64 *entry = &node->tt.entries[slot];

	if (node->what.chain == ODRP_WIRE_INVALIDATE) {
		*entry = htobe64(ring_pop(&node->ring));
		return rig_translate(node, slot);
	}
	if (node->what.chain == ODRP_WIRE_UNMAPPED_STORE) {
		ring_push(&node->ring, be64toh(*entry));
		*entry = 0;
	}
	return 0;
}
