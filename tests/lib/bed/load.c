// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See load.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "load.h"

static uint32_t rnd(struct load *l)
{
	l->rnd = l->rnd * 6364136223846793005ull + 1442695040888963407ull;
	return l->rnd >> 32;
}

void load_init_on(struct load *l, struct cnode *cnode,
		  bool (*pump)(void *arg), void *arg, uint64_t nr_slots,
		  uint64_t seed)
{
	struct cnode_info info;

	*l = (struct load){
		.cnode = cnode, .pump = pump, .arg = arg,
		.nr_slots = nr_slots, .rnd = seed * 2654435761u + 1,
		.free_chance = 40, .load_chance = 110,
	};
	cnode_info(cnode, &info);
	l->queues = info.queues;
	l->slots = calloc(nr_slots, sizeof(*l->slots));
	assert_non_null(l->slots);
}

void load_init(struct load *l, struct bed *b, unsigned int node,
	       uint64_t nr_slots, uint64_t seed)
{
	load_init_on(l, b->nodes[node].cnode, bed_pump, b, nr_slots,
		     seed * BED_NODES + node);
	l->node = node;
}

struct cnode *load_open(struct load *l, struct bed *b, uint64_t pool, unsigned int queues,
			uint64_t nr_slots)
{
	bed_connect(b, 0, pool / ODRP_WIRE_PAGE_SIZE, queues, 7);
	load_init(l, b, 0, nr_slots, 1);
	load_run(l, 300);
	return b->nodes[0].cnode;
}

void load_close(struct load *l, struct bed *b)
{
	load_fini(l);
	bed_close(b);
}

void load_fini(struct load *l)
{
	free(l->slots);
}

static enum odrp_wire_chain choose(struct load *l, const struct load_slot *s)
{
	unsigned int dice = rnd(l) & 255;

	if (!s->version)
		return ODRP_WIRE_UNMAPPED_STORE;
	if (dice < l->free_chance)
		return ODRP_WIRE_INVALIDATE;
	if (dice < l->free_chance + l->load_chance)
		return ODRP_WIRE_LOAD;
	return ODRP_WIRE_MAPPED_STORE;
}

static int start(struct load *l, uint64_t slot, enum odrp_wire_chain chain)
{
	static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));
	struct load_slot *s = &l->slots[slot];
	int r;

	if (chain == ODRP_WIRE_UNMAPPED_STORE ||
	    chain == ODRP_WIRE_MAPPED_STORE)
		bed_fill(page, l->node, slot, s->version + 1);
	r = cnode_submit(l->cnode, rnd(l) % l->queues, chain, slot, page,
			 chain);
	if (r)
		return r;
	s->busy = true;
	l->under_way++;
	return 0;
}

void load_submit(struct load *l, unsigned int max)
{
	unsigned int tries = 4 * max;
	int r;

	while (max && tries--) {
		uint64_t slot = rnd(l) % l->nr_slots;
		struct load_slot *s = &l->slots[slot];

		if (s->busy)
			continue;
		r = start(l, slot, choose(l, s));
		if (r == -EDQUOT)
			l->refused++;
		else if (!r)
			max--;
		else
			assert_int_equal(r, -EAGAIN);
	}
}

void load_free(struct load *l, unsigned int max)
{
	uint64_t slot;
	int r;

	for (slot = 0; slot < l->nr_slots && max; slot++) {
		if (l->slots[slot].busy || !l->slots[slot].version)
			continue;
		r = start(l, slot, ODRP_WIRE_INVALIDATE);
		if (!r)
			max--;
		else
			assert_int_equal(r, -EAGAIN);
	}
}

static void finish(struct load *l, const struct cnode_done *d)
{
	struct load_slot *s = &l->slots[d->slot];

	assert_true(s->busy);
	assert_int_equal(d->cookie, d->chain);
	s->busy = false;
	l->under_way--;
	l->done[d->chain]++;
	switch (d->chain) {
	case ODRP_WIRE_LOAD:
		assert_true(bed_is(d->page, l->node, d->slot, s->version));
		break;
	case ODRP_WIRE_INVALIDATE:
		s->version = 0;
		l->mapped--;
		break;
	case ODRP_WIRE_UNMAPPED_STORE:
		l->mapped++;
		/* fall through */
	default:
		s->version++;
	}
}

void load_poll(struct load *l)
{
	struct cnode_done d;
	int r;

	while (!(r = cnode_poll(l->cnode, &d)))
		finish(l, &d);
	assert_int_equal(r, -EAGAIN);
}

void load_run(struct load *l, uint64_t requests)
{
	uint64_t end = requests, i;

	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++)
		end += l->done[i];
	for (;;) {
		uint64_t done = l->under_way;

		for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++)
			done += l->done[i];
		if (done < end)
			load_submit(l, end - done < 16 ? end - done : 16);
		else if (!l->under_way)
			break;
		cnode_flush(l->cnode);
		if (!l->pump(l->arg))
			fail_msg("%u requests are never answered",
				 l->under_way);
		load_poll(l);
	}
}

void load_verify(struct load *l)
{
	uint64_t slot;

	for (slot = 0; slot < l->nr_slots; slot++) {
		if (!l->slots[slot].version)
			continue;
		while (start(l, slot, ODRP_WIRE_LOAD)) {
			cnode_flush(l->cnode);
			assert_true(l->pump(l->arg));
			load_poll(l);
		}
	}
	while (l->under_way) {
		cnode_flush(l->cnode);
		assert_true(l->pump(l->arg));
		load_poll(l);
	}
}

void load_goes_on(struct load *l, struct bed *b)
{
	bed_settle(b);
	bed_check(b, l->mapped);
	load_verify(l);
	load_run(l, 300);
	load_verify(l);
}
