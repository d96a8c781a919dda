// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The honest compute nodes: a random load, one request at a time on a slot,
 * every byte that comes back compared.  What is wrong is noted, not asserted:
 * there are lives in which something has to be.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "client.h"

#define MAX_WAIT_NS	60000000000ull

static struct cnode *cnode_of(const struct honest *h)
{
	return h->life->bed.nodes[h->node].cnode;
}

static __be64 word(const struct honest *h, unsigned int slot,
		   unsigned int version, unsigned int i)
{
	return htobe64((uint64_t)HONEST_MAGIC << 32 | h->node << 30 | slot << 22 |
		       (version & 0x1fff) << 9 | i);
}

static void fill(const struct honest *h, unsigned int slot,
		 unsigned int version, __be64 *page)
{
	unsigned int i;

	for (i = 0; i < ODRP_WIRE_PAGE_SIZE / 8; i++)
		page[i] = word(h, slot, version, i);
}

bool honest_seen(const void *mem, size_t len)
{
	const __be32 honest = htobe32(HONEST_MAGIC);
	const __be32 nobodys = htobe32(NOBODYS_MAGIC);

	return memmem(mem, len, &honest, sizeof(honest)) ||
	       memmem(mem, len, &nobodys, sizeof(nobodys));
}

void honest_open(struct honest *h, struct life *l, unsigned int node)
{
	*h = (struct honest){ .life = l, .node = node };
	bed_connect(&l->bed, node, HONEST_SLOTS, LIFE_QUEUES, LIFE_DEPTH);
}

static enum odrp_wire_chain choose(struct honest *h, unsigned int slot)
{
	unsigned int dice = life_below(h->life, 8);

	if (!h->version[slot])
		return ODRP_WIRE_UNMAPPED_STORE;
	return dice < 3 ? ODRP_WIRE_INVALIDATE :
	       dice < 6 ? ODRP_WIRE_LOAD : ODRP_WIRE_MAPPED_STORE;
}

static int start(struct honest *h, unsigned int slot,
		 enum odrp_wire_chain chain)
{
	__be64 page[ODRP_WIRE_PAGE_SIZE / 8];
	int r;

	if (chain == ODRP_WIRE_UNMAPPED_STORE ||
	    chain == ODRP_WIRE_MAPPED_STORE)
		fill(h, slot, h->version[slot] + 1, page);
	r = cnode_submit(cnode_of(h), life_below(h->life, LIFE_QUEUES), chain,
			 slot, page, chain);
	if (r)
		return r;
	h->busy[slot] = true;
	h->under_way++;
	return 0;
}

void honest_submit(struct honest *h, unsigned int max)
{
	unsigned int slot;
	int r;

	while (max--) {
		slot = life_below(h->life, HONEST_SLOTS);
		if (h->busy[slot])
			continue;
		r = start(h, slot, choose(h, slot));
		if (r == -EDQUOT)
			h->refused++;
		else if (r && r != -EAGAIN)
			life_wrong(h->life, WRONG_BROKEN,
				   "honest node %u cannot ask: %d", h->node, r);
	}
}

static void compare(struct honest *h, const struct cnode_done *d)
{
	const __be64 *p = d->page;
	unsigned int i;

	for (i = 0; i < ODRP_WIRE_PAGE_SIZE / 8; i++) {
		__be64 want = word(h, d->slot, h->version[d->slot], i);

		if (p[i] == want)
			continue;
		life_wrong(h->life, WRONG_PAGE,
			   "slot %u of honest node %u: word %u is %#lx, not %#lx",
			   (unsigned int)d->slot, h->node, i,
			   (unsigned long)be64toh(p[i]),
			   (unsigned long)be64toh(want));
		return;
	}
}

static void finish(struct honest *h, const struct cnode_done *d)
{
	if (d->slot >= HONEST_SLOTS || !h->busy[d->slot] ||
	    d->cookie != d->chain) {
		life_wrong(h->life, WRONG_SILENT,
			   "honest node %u got an answer that it did not ask for",
			   h->node);
		return;
	}
	h->busy[d->slot] = false;
	h->under_way--;
	h->answers++;
	h->life->count->honest++;
	if (d->chain == ODRP_WIRE_LOAD)
		compare(h, d);
	else if (d->chain == ODRP_WIRE_INVALIDATE)
		h->version[d->slot] = 0;
	else
		h->version[d->slot]++;
}

void honest_poll(struct honest *h)
{
	struct cnode_done d;
	int r;

	while (!(r = cnode_poll(cnode_of(h), &d)))
		finish(h, &d);
	if (r != -EAGAIN)
		life_wrong(h->life, WRONG_SILENT,
			   "honest node %u got an answer to nothing", h->node);
}

void honest_wait(struct honest *h)
{
	struct life *l = h->life;
	uint64_t until = l->bed.now + MAX_WAIT_NS;

	honest_poll(h);
	while (h->under_way && !l->wrong) {
		if (l->bed.now > until || !bed_pump(&l->bed)) {
			life_wrong(l, WRONG_SILENT, "%u requests of honest "
				   "node %u are never answered", h->under_way,
				   h->node);
			return;
		}
		honest_poll(h);
		honest_check(h);
	}
}

void honest_check(struct honest *h)
{
	struct cnode *c = cnode_of(h);
	unsigned int i;

	for (i = 0; i < NR_CONNS; i++) {
		if (cnode_broken(c, i / ODRP_WIRE_NR_CHAINS,
				 i % ODRP_WIRE_NR_CHAINS))
			life_wrong(h->life, WRONG_BROKEN,
				   "chain %u of honest node %u broke",
				   i % ODRP_WIRE_NR_CHAINS, h->node);
	}
	if (cnode_admin_broken(c))
		life_wrong(h->life, WRONG_BROKEN,
			   "honest node %u lost its session", h->node);
}

void honest_verify(struct honest *h)
{
	unsigned int slot;
	int r;

	for (slot = 0; slot < HONEST_SLOTS && !h->life->wrong; slot++) {
		if (!h->version[slot])
			continue;
		/* -EAGAIN: answered, but the request's ACK was lost. */
		while ((r = start(h, slot, ODRP_WIRE_LOAD)) == -EAGAIN &&
		       bed_pump(&h->life->bed))
			honest_poll(h);
		if (r)
			life_wrong(h->life, WRONG_BROKEN,
				   "honest node %u cannot load: %d", h->node,
				   r);
		if (slot % 4 == 3)
			honest_wait(h);
	}
	honest_wait(h);
}

unsigned int honest_mapped(const struct honest *h)
{
	unsigned int slot, n = 0;

	for (slot = 0; slot < HONEST_SLOTS; slot++)
		n += h->version[slot] != 0;
	return n;
}
