// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The compute node's direct slabs: slot s is in slab s / ODRP_WIRE_SLAB_PAGES. It takes slabs,
 * and gives them back, when the test says so.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "cnode-priv.h"

static bool held(const struct cnode *c, unsigned int nr)
{
	return c->mem->held[nr / 8] >> nr % 8 & 1;
}

unsigned int cnode_slabs(const struct cnode *c)
{
	unsigned int nr, n = 0;

	for (nr = 0; nr < CNODE_SLABS; nr++)
		n += held(c, nr);
	return n;
}

const struct odrp_wire_slab *cnode_slab(const struct cnode *c, unsigned int nr)
{
	return &c->slab[nr];
}

int cnode_take_slabs(struct cnode *c)
{
	unsigned int nr, max = odrp_wire_max_slabs(c->info.nr_slots);
	uint64_t most = c->info.lease / ODRP_WIRE_SLAB_PAGES;
	struct odrp_wire_slab w;
	const uint8_t *bytes;
	int r;

	for (nr = 0; nr < max; nr++) {
		r = cnode_read_admin(c, nr * sizeof(w), c->keys_rkey, sizeof(w), &bytes);
		if (r)
			return r;
		memcpy(&w, bytes, sizeof(w));
		if (held(c, nr) && (w.kind != ODRP_WIRE_SLAB_DIRECT ||
				    w.generation != c->slab[nr].generation))
			return -EPROTO;
		if (w.kind != ODRP_WIRE_SLAB_DIRECT ||
		    (!held(c, nr) && cnode_slabs(c) >= most))
			continue;
		c->slab[nr] = w;
		c->mem->held[nr / 8] |= 1u << nr % 8;
	}
	return 0;
}

void cnode_leave_slab(struct cnode *c, unsigned int nr)
{
	c->mem->held[nr / 8] &= ~(1u << nr % 8);
	c->nr_idle -= !!c->nr_idle;
}

void cnode_idle_slabs(struct cnode *c, unsigned int nr)
{
	c->nr_idle = nr;
}

void cnode_slab_page(const struct cnode *c, uint64_t slot, uint64_t *ret_raddr,
		     uint32_t *ret_rkey)
{
	const struct odrp_wire_slab *w = &c->slab[slot / ODRP_WIRE_SLAB_PAGES];

	*ret_raddr = be64toh(w->addr) + slot % ODRP_WIRE_SLAB_PAGES * PAGE;
	*ret_rkey = be32toh(w->rkey);
}

void cnode_slabs_beat(struct cnode *c, struct odrp_wire_beat *b)
{
	uint64_t pages = cnode_slabs(c) * (uint64_t)ODRP_WIRE_SLAB_PAGES;

	b->used = htobe64(pages - c->nr_idle * (uint64_t)ODRP_WIRE_SLAB_PAGES);
	if (be64toh(b->want) < be64toh(b->used))
		b->want = b->used;
	b->lease_held = htobe64(c->info.lease > pages ? c->info.lease : pages);
	auth_hash(c->mem->held, odrp_wire_held_len(c->info.nr_slots), b->slabs);
	b->slabs[0] ^= c->cfg.wrong_hash;
}
