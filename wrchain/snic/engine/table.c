// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Object tables: find an object by its number in one array access.  A number is
 * a slot and a generation.  Slots are reused oldest first, and only when more
 * than KEEP_FREE are free or the table cannot grow, so that an old number stays
 * invalid for long.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define NO_SLOT UINT32_MAX
/* Free slots that are kept before one is reused. */
#define KEEP_FREE 16

void snic_table_init(struct snic_table *t, const struct snic_table_kind *kind)
{
	*t = (struct snic_table){
		.kind = kind, .free_head = NO_SLOT, .free_tail = NO_SLOT,
	};
}

void snic_table_fini(struct snic_table *t)
{
	free(t->slots);
	snic_table_init(t, t->kind);
}

static uint32_t max_slots(const struct snic_table_kind *k)
{
	return (1u << k->slot_bits) - k->first_slot;
}

static int table_grow(struct snic_table *t)
{
	uint32_t max = max_slots(t->kind);
	uint32_t cap = t->cap ? t->cap * 2 : 32;
	struct snic_table_slot *slots;

	if (t->cap == max)
		return -ENFILE;
	if (cap > max)
		cap = max;
	slots = realloc(t->slots, cap * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->cap = cap;
	return 0;
}

static uint32_t take_free(struct snic_table *t)
{
	uint32_t slot = t->free_head;

	t->free_head = t->slots[slot].next_free;
	if (t->free_head == NO_SLOT)
		t->free_tail = NO_SLOT;
	t->nr_free--;
	return slot;
}

static uint32_t gen_mask(const struct snic_table_kind *k)
{
	return (1u << k->gen_bits) - 1;
}

static uint32_t new_gen(struct snic *nic, const struct snic_table_kind *k,
			uint32_t last_gen)
{
	uint32_t gen;

	do {
		gen = (k->random_gen ? snic_secret(nic) : last_gen + 1) &
		      gen_mask(k);
	} while (gen == last_gen);
	return gen;
}

/* Takes a free slot; *ret_last_gen: the generation of its last object. */
static int take_slot(struct snic_table *t, uint32_t *ret_slot,
		     uint32_t *ret_last_gen)
{
	const struct snic_table_kind *k = t->kind;
	int r = 0;

	if (t->nr_free <= KEEP_FREE && t->nr_slots == t->cap)
		r = table_grow(t);
	if (r && !t->nr_free)
		return r;

	if (r || t->nr_free > KEEP_FREE) {
		*ret_slot = take_free(t);
		*ret_last_gen = (t->slots[*ret_slot].nr >> k->gen_shift) &
				gen_mask(k);
	} else {
		*ret_slot = t->nr_slots++;
		*ret_last_gen = gen_mask(k);
	}
	return 0;
}

static uint32_t table_put(struct snic_table *t, uint32_t slot, uint32_t gen, void *obj)
{
	const struct snic_table_kind *k = t->kind;

	t->slots[slot] = (struct snic_table_slot){
		.obj = obj,
		.nr = (slot + k->first_slot) << k->slot_shift |
		      gen << k->gen_shift,
		.next_free = NO_SLOT,
	};
	return t->slots[slot].nr;
}

int snic_table_add(struct snic *nic, struct snic_table *t, void *obj,
		   uint32_t *ret_nr)
{
	uint32_t slot, gen;
	int r = take_slot(t, &slot, &gen);

	if (!r)
		*ret_nr = table_put(t, slot, new_gen(nic, t->kind, gen), obj);
	return r;
}

void snic_table_del(struct snic_table *t, uint32_t nr)
{
	const struct snic_table_kind *k = t->kind;
	uint32_t slot = ((nr >> k->slot_shift) & ((1u << k->slot_bits) - 1)) -
			k->first_slot;

	t->slots[slot].obj = NULL;
	if (t->free_tail == NO_SLOT)
		t->free_head = slot;
	else
		t->slots[t->free_tail].next_free = slot;
	t->free_tail = slot;
	t->slots[slot].next_free = NO_SLOT;
	t->nr_free++;
}

void *snic_table_next(const struct snic_table *t, uint32_t *pos)
{
	while (*pos < t->nr_slots) {
		void *obj = t->slots[(*pos)++].obj;

		if (obj)
			return obj;
	}
	return NULL;
}
