// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Free pages by blocks; see free-map.h. */
#include <string.h>
#include "free-map.h"

#define WORDS		(FREE_BLOCK / 64)	/* of a block */
#define LIST_PAGES	(FREE_BLOCK / (FREE_LISTS - 1))

void free_map_init(struct free_map *m, uint64_t nr_pages, uint64_t *bit,
		   struct free_block *block)
{
	*m = (struct free_map){ .nr_pages = nr_pages, .bit = bit, .block = block };
}

/* ---- lists ----------------------------------------------------------------------- */

static void list_add(struct free_map *m, uint32_t nr)
{
	struct free_block *b = &m->block[nr];
	uint32_t list = b->nr / LIST_PAGES, first = m->first[list];

	if (m->lists >> list & 1) {
		b->next = first;
		b->prev = m->block[first].prev;
		m->block[b->prev].next = nr;
		m->block[first].prev = nr;
	} else {
		b->next = b->prev = nr;
		m->lists |= 1u << list;
	}
	m->first[list] = nr;
}

static void list_remove(struct free_map *m, uint32_t nr)
{
	struct free_block *b = &m->block[nr];
	uint32_t list = b->nr / LIST_PAGES;

	if (b->next == nr) {
		m->lists &= ~(1u << list);
		return;
	}
	m->block[b->next].prev = b->prev;
	m->block[b->prev].next = b->next;
	if (m->first[list] == nr)
		m->first[list] = b->next;
}

/* Sets the number of free pages of a block. */
static void block_count(struct free_map *m, uint32_t nr, uint32_t pages)
{
	struct free_block *b = &m->block[nr];
	uint32_t before = b->nr;

	if (before && pages && before / LIST_PAGES == pages / LIST_PAGES) {
		b->nr = pages;
		return;
	}
	if (before)
		list_remove(m, nr);
	m->nr_whole += (pages == FREE_BLOCK) - (before == FREE_BLOCK);
	b->nr = pages;
	if (pages)
		list_add(m, nr);
}

/* ---- pages ----------------------------------------------------------------------- */

void free_map_put(struct free_map *m, uint64_t page)
{
	uint32_t nr = page / FREE_BLOCK;

	m->bit[page / 64] |= 1ull << page % 64;
	block_count(m, nr, m->block[nr].nr + 1);
}

void free_map_take(struct free_map *m, uint64_t page)
{
	uint32_t nr = page / FREE_BLOCK;

	m->bit[page / 64] &= ~(1ull << page % 64);
	block_count(m, nr, m->block[nr].nr - 1);
}

/* The first free page of a block that has one. */
static uint64_t block_page(struct free_map *m, uint32_t nr)
{
	uint64_t word = (uint64_t)nr * WORDS;

	for (m->nr_looks++; !m->bit[word]; word++)
		m->nr_looks++;
	return word * 64 + __builtin_ctzll(m->bit[word]);
}

uint64_t free_map_take_any(struct free_map *m)
{
	uint64_t page;

	if (!m->lists)
		return FREE_NONE;
	page = block_page(m, m->first[__builtin_ctz(m->lists)]);
	free_map_take(m, page);
	return page;
}

uint64_t free_map_take_block(struct free_map *m)
{
	uint32_t list = FREE_LISTS - 1, nr;

	m->nr_looks++;
	if (!(m->lists >> list & 1))
		return FREE_NONE;
	/* The last of the ring. */
	nr = m->block[m->first[list]].prev;
	memset(m->bit + (uint64_t)nr * WORDS, 0, FREE_BLOCK / 8);
	block_count(m, nr, 0);
	return (uint64_t)nr * FREE_BLOCK;
}
