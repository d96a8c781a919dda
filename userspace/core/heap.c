// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chunks, pages and free blocks in the hands of one process.
 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int far_heap_init(struct far_heap *heap, const struct far_sb *sb, unsigned nr_nodes)
{
	heap->nr_nodes = 0;
	heap->node = calloc(nr_nodes, sizeof(*heap->node));
	if (!heap->node)
		return -ENOMEM;
	for (unsigned n = 0; n < nr_nodes; n++) {
		heap->node[n].sb = &sb[n];
		heap->node[n].chunk = calloc(sb[n].nr_chunks,
					     sizeof(*heap->node[n].chunk));
		heap->nr_nodes = n + 1;
		if (!heap->node[n].chunk) {
			far_heap_fini(heap);
			return -ENOMEM;
		}
	}
	return 0;
}

void far_heap_fini(struct far_heap *heap)
{
	struct far_chunk *chunk;

	for (unsigned n = 0; n < heap->nr_nodes; n++) {
		while ((chunk = heap->node[n].chunks)) {
			far_heap_del(heap, chunk);
			far_chunk_free(heap, chunk);
		}
		free(heap->node[n].chunk);
	}
	free(heap->node);
}

struct far_chunk *far_heap_chunk(const struct far_heap *heap, uint64_t addr)
{
	unsigned n = far_addr_node(addr);
	uint64_t off = far_addr_off(addr);

	if (n >= heap->nr_nodes || !far_off_in_chunks(heap->node[n].sb, off))
		return NULL;
	return atomic_load(&heap->node[n].chunk[far_chunk_at(heap->node[n].sb, off)]);
}

static uint32_t chunk_pages(const struct far_heap *heap, const struct far_chunk *chunk)
{
	return chunk->span ? 0 : far_chunk_pages(heap->node[chunk->node].sb);
}

struct far_chunk *far_chunk_new(const struct far_heap *heap, unsigned node,
				uint32_t idx, uint32_t span, uint64_t word)
{
	uint32_t pages = span ? 0 : far_chunk_pages(heap->node[node].sb);
	struct far_chunk *chunk = calloc(1, sizeof(*chunk) +
					 pages * sizeof(chunk->page[0]));

	if (!chunk)
		return NULL;
	chunk->node = node;
	chunk->idx = idx;
	chunk->span = span;
	chunk->word = word;
	chunk->nr_free_pages = pages;
	for (uint32_t i = 0; i < pages; i++)
		chunk->page[i].idx = idx * pages + i;
	return chunk;
}

void far_chunk_free(const struct far_heap *heap, struct far_chunk *chunk)
{
	uint32_t pages = chunk_pages(heap, chunk);

	for (uint32_t i = 0; i < pages; i++) {
		free(chunk->page[i].free);
		free(chunk->page[i].suspect);
	}
	free(chunk);
}

static void page_link(struct far_heap_node *node, struct far_page *page)
{
	struct far_page **head = &node->partial[page->class];

	page->prev = NULL;
	page->next = *head;
	if (*head)
		(*head)->prev = page;
	*head = page;
}

static void page_unlink(struct far_heap_node *node, struct far_page *page)
{
	if (page->prev)
		page->prev->next = page->next;
	else
		node->partial[page->class] = page->next;
	if (page->next)
		page->next->prev = page->prev;
	page->prev = NULL;
	page->next = NULL;
}

void far_heap_add(struct far_heap *heap, struct far_chunk *chunk)
{
	struct far_heap_node *node = &heap->node[chunk->node];

	chunk->next = node->chunks;
	node->chunks = chunk;
	node->nr_chunks++;
	atomic_store(&node->chunk[chunk->idx], chunk);
}

void far_heap_del(struct far_heap *heap, struct far_chunk *chunk)
{
	struct far_heap_node *node = &heap->node[chunk->node];
	struct far_chunk **at = &node->chunks;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	for (uint32_t i = 0; i < chunk_pages(heap, chunk); i++) {
		if (chunk->page[i].nr_free && !chunk->page[i].busy)
			page_unlink(node, &chunk->page[i]);
	}
	node->nr_chunks--;
	atomic_store(&node->chunk[chunk->idx], NULL);
}

struct far_page *far_chunk_page(const struct far_heap *heap, struct far_chunk *chunk,
				uint64_t addr)
{
	const struct far_sb *sb = heap->node[chunk->node].sb;

	return &chunk->page[far_page_at(sb, far_addr_off(addr)) % far_chunk_pages(sb)];
}

unsigned far_page_block(const struct far_heap *heap, const struct far_page *page,
			unsigned node, uint64_t addr)
{
	uint64_t off = far_page_off(heap->node[node].sb, page->idx);

	return (far_addr_off(addr) - off) / far_class_size(page->class);
}

/* Takes up to max free blocks of one page. */
static unsigned page_take(struct far_page *page, uint64_t base, uint64_t *addr,
			  unsigned max)
{
	unsigned nr = 0, words = far_page_words(page);

	for (unsigned w = 0; w < words && nr < max; w++) {
		while (page->free[w] && nr < max) {
			unsigned bit = __builtin_ctzll(page->free[w]);

			page->free[w] &= page->free[w] - 1;
			addr[nr++] = base + (w * 64 + bit) *
				     (uint64_t)far_class_size(page->class);
		}
	}
	page->nr_free -= nr;
	return nr;
}

unsigned far_heap_take(struct far_heap *heap, unsigned node, unsigned class,
		       uint64_t *addr, unsigned max)
{
	struct far_heap_node *n = &heap->node[node];
	struct far_page *page;
	unsigned nr = 0;

	while (nr < max && (page = n->partial[class])) {
		nr += page_take(page, far_addr(node, far_page_off(n->sb, page->idx)),
				addr + nr, max - nr);
		if (!page->nr_free)
			page_unlink(n, page);
	}
	return nr;
}

void far_page_unsuspect(struct far_page *page, unsigned block)
{
	if (page->suspect)
		atomic_fetch_and(&page->suspect[block / 64],
				 ~(UINT64_C(1) << block % 64));
}

static void page_free_block(struct far_heap_node *node, struct far_page *page,
			    unsigned block)
{
	page->free[block / 64] |= UINT64_C(1) << block % 64;
	if (!page->nr_free++ && !page->busy)
		page_link(node, page);
	far_page_unsuspect(page, block);
}

int far_heap_put(struct far_heap *heap, uint64_t addr, unsigned class)
{
	struct far_chunk *chunk = far_heap_chunk(heap, addr);
	struct far_heap_node *node = &heap->node[far_addr_node(addr)];
	struct far_page *page;
	unsigned block;

	if (!chunk || chunk->span)
		return -EINVAL;
	page = far_chunk_page(heap, chunk, addr);
	if (page->state != FAR_PAGE_SLAB || page->class != class)
		return -EINVAL;
	block = far_page_block(heap, page, chunk->node, addr);
	if (block >= page->nr_blocks ||
	    far_addr_off(addr) != far_page_off(node->sb, page->idx) +
				  block * (uint64_t)far_class_size(class) ||
	    page->free[block / 64] >> block % 64 & 1)
		return -EINVAL;
	page_free_block(node, page, block);
	return 0;
}

static bool pages_are_free(const struct far_page *page, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (page[i].state != FAR_PAGE_FREE || page[i].busy)
			return false;
	}
	return true;
}

/* The first len free pages in a row of a chunk, or NULL. */
static struct far_page *chunk_find(const struct far_heap *heap, struct far_chunk *chunk,
				   uint32_t len)
{
	uint32_t pages = chunk_pages(heap, chunk);

	if (chunk->nr_free_pages < len)
		return NULL;
	for (uint32_t i = 0; i + len <= pages; i++) {
		if (pages_are_free(&chunk->page[i], len))
			return &chunk->page[i];
	}
	return NULL;
}

int far_heap_pages(struct far_heap *heap, unsigned node, uint32_t len,
		   struct far_chunk **ret_chunk, struct far_page **ret_page)
{
	struct far_chunk *chunk = heap->node[node].chunks;
	struct far_page *page = NULL;

	for (; chunk; chunk = chunk->next) {
		page = chunk_find(heap, chunk, len);
		if (page)
			break;
	}
	if (!page)
		return -ENOSPC;
	for (uint32_t i = 0; i < len; i++)
		page[i].busy = true;
	chunk->nr_free_pages -= len;
	*ret_chunk = chunk;
	*ret_page = page;
	return 0;
}

int far_page_slab(const struct far_sb *sb, struct far_page *page, unsigned class)
{
	page->class = class;
	page->nr_blocks = far_class_blocks(sb, class);
	page->free = calloc(far_page_words(page), sizeof(*page->free));
	if (!page->free)
		return -ENOMEM;
	page->state = FAR_PAGE_SLAB;
	page->len = 1;
	page->nr_free = 0;
	page->busy = false;
	return 0;
}

void far_page_run(struct far_page *page, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		page[i].state = i ? FAR_PAGE_TAIL : FAR_PAGE_RUN;
		page[i].busy = false;
	}
	page->len = len;
}

unsigned far_page_fill(struct far_heap *heap, struct far_chunk *chunk,
		       struct far_page *page, const uint64_t *bits)
{
	unsigned nr = 0, blocks = page->nr_blocks;

	for (unsigned b = 0; b < blocks; b++) {
		if (!(bits[b / 64] >> b % 64 & 1) ||
		    page->free[b / 64] >> b % 64 & 1)
			continue;
		page_free_block(&heap->node[chunk->node], page, b);
		nr++;
	}
	return nr;
}

void far_page_clear(struct far_chunk *chunk, struct far_page *page, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		free(page[i].free);
		free(page[i].suspect);
		page[i].free = NULL;
		page[i].suspect = NULL;
		page[i].state = FAR_PAGE_FREE;
		page[i].class = 0;
		page[i].len = 0;
		page[i].nr_free = 0;
		page[i].nr_blocks = 0;
		page[i].busy = false;
	}
	chunk->nr_free_pages += len;
}

void far_page_hide(struct far_heap *heap, struct far_chunk *chunk,
		   struct far_page *page)
{
	if (page->nr_free)
		page_unlink(&heap->node[chunk->node], page);
	page->busy = true;
}
