// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The collector: blocks whose grace period is over go to their chunk's owner. If that
 * is this process, to its heap; else a bit is set in the chunk's map, by one FAA per
 * word of a map. And in the maps of our own chunks, it finds what others have set free.
 */
#include <stdlib.h>

#include "client_priv.h"
#include "task.h"

#define FOREIGN_BATCH	32u	/* FAA under way at once */
#define MAP_WORDS	1024u	/* of maps that are read at once */
#define MAP_SOME	(16u * MAP_WORDS)

/* The word and bit of a map for a block of somebody else's. */
static struct far_foreign foreign_of(const struct far_client *client, uint64_t addr,
				     uint64_t size)
{
	unsigned node = far_addr_node(addr);
	const struct far_sb *sb = &client->sb[node];
	unsigned class = far_class_of(sb, size);
	uint64_t off = far_addr_off(addr);
	uint32_t page = far_page_at(sb, off);
	unsigned block = class ? (off - far_page_off(sb, page)) / far_class_size(class) : 0;

	return (struct far_foreign){
		.word = far_addr(node, far_map_off(sb, page) + block / 64 * 8),
		.bit = UINT64_C(1) << block % 64,
	};
}

static int foreign_add(struct far_client *client, const struct far_foreign *item)
{
	if (client->nr_foreign == client->max_foreign) {
		size_t max = client->max_foreign ? client->max_foreign * 2 : 256;
		struct far_foreign *more = realloc(client->foreign, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		client->foreign = more;
		client->max_foreign = max;
	}
	client->foreign[client->nr_foreign++] = *item;
	return 0;
}

static int foreign_order(const void *a, const void *b)
{
	const struct far_foreign *x = a, *y = b;

	return x->word < y->word ? -1 : x->word > y->word;
}

/* Items of the same word become one. */
static void foreign_merge(struct far_client *client)
{
	size_t to = 0;

	qsort(client->foreign, client->nr_foreign, sizeof(*client->foreign),
	      foreign_order);
	for (size_t i = 1; i < client->nr_foreign; i++) {
		if (client->foreign[i].word == client->foreign[to].word)
			client->foreign[to].bit |= client->foreign[i].bit;
		else
			client->foreign[++to] = client->foreign[i];
	}
	client->nr_foreign = to + 1;
}

/* Sets the bits of nr words. */
static int foreign_set(struct far_task *task, const struct far_foreign *item, size_t nr)
{
	struct far_ops inner;

	far_verbs_begin(task, &inner);
	for (size_t i = 0; i < nr; i++)
		if (!far_client_lost(far_task_client(task), far_addr_node(item[i].word)))
			far_faa(task, item[i].word, item[i].bit, NULL);
	return far_verbs_end(task, &inner);
}

/* Sets all bits. When a verb fails, nobody knows which are set: the owners sweep. */
static int foreign_flush(struct far_task *task, struct far_client *client)
{
	size_t at, nr;
	int err = 0;

	if (!client->nr_foreign)
		return 0;
	foreign_merge(client);
	for (at = 0; at < client->nr_foreign && !err; at += nr) {
		nr = client->nr_foreign - at;
		if (nr > FOREIGN_BATCH)
			nr = FOREIGN_BATCH;
		err = foreign_set(task, &client->foreign[at], nr);
	}
	if (err)
		atomic_store(&client->lost, true);
	client->nr_foreign = 0;
	return err;
}

/* One block whose grace period is over. */
static int block_free(struct far_task *task, struct far_client *client,
		      const struct far_retired *item)
{
	struct far_foreign foreign;
	int err;

	if (far_client_lost(client, far_addr_node(item->addr)))
		return 0;
	if (!far_heap_chunk(&client->heap, item->addr)) {
		foreign = foreign_of(client, item->addr, item->size);
		return foreign_add(client, &foreign);
	}
	if (far_class_of(&client->sb[far_addr_node(item->addr)], item->size))
		return far_give_back(task, client, item->addr, item->size);
	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	err = far_give_back(task, client, item->addr, item->size);
	far_gate_unlock(&client->grow_lock);
	return err;
}

/* All of one thread's that is over. *ret_idle: and nothing is left. */
static int limbo_drain(struct far_task *task, struct far_client *client,
		       struct far_limbo *limbo, uint64_t reusable, bool *ret_idle)
{
	const struct far_retired *item;
	struct far_retired copy;
	int err;

	while ((item = far_limbo_peek(limbo)) && item->round < reusable) {
		copy = *item;
		err = block_free(task, client, &copy);
		if (err == -ENOMEM)
			return err;
		/* -EINVAL: it was retired twice, or never allocated; "check" says so */
		far_limbo_drop(limbo);
		if (err && err != -EINVAL)
			return err;
	}
	*ret_idle = !item;
	return 0;
}

int far_collect(struct far_task *task, struct far_client *client, bool *ret_idle)
{
	uint64_t reusable = atomic_load_explicit(&client->reusable, memory_order_acquire);
	struct far_client_thread *thread = atomic_load(&client->threads);
	bool idle = true, one;
	int err = 0, flush;

	for (; thread && !err; thread = thread->next) {
		err = limbo_drain(task, client, &thread->limbo, reusable, &one);
		idle &= !err && one;
	}
	flush = foreign_flush(task, client);
	if (err || flush)
		return err ? err : flush;
	atomic_store(&client->drained, reusable);
	*ret_idle = idle;
	return 0;
}

bool far_is_drained(const struct far_client *client)
{
	struct far_client_thread *thread = atomic_load(&client->threads);

	for (; thread; thread = thread->next) {
		if (far_limbo_peek(&thread->limbo))
			return false;
	}
	return !client->nr_foreign;
}

/* Bits of one page's map that were taken, into our hands. */
static int page_collect(struct far_task *task, struct far_client *client,
			struct far_chunk *chunk, struct far_page *page,
			const uint64_t *bits)
{
	const struct far_sb *sb = &client->sb[chunk->node];
	uint64_t addr = far_addr(chunk->node, far_page_off(sb, page->idx));

	if (chunk->span)
		return far_give_back(task, client, addr, chunk->span * sb->chunk_size);
	if (page->state == FAR_PAGE_RUN)
		return far_give_back(task, client, addr,
				     (uint64_t)page->len << sb->page_shift);
	far_heap_lock(task, client);
	if (page->state == FAR_PAGE_SLAB)
		far_page_fill(&client->heap, chunk, page, bits);
	far_heap_unlock(client);
	return 0;
}

/* Takes what is set in maps[] of nr pages: by CAS to 0, all at once. */
static int maps_take(struct far_task *task, uint64_t addr, uint64_t *maps, unsigned nr,
		     bool *ret_raced)
{
	size_t mark = far_buf_mark(task);
	uint64_t *found = far_buf(task, nr * sizeof(*found));
	struct far_ops inner;
	int err = -ENOMEM;

	if (!found)
		goto release;
	far_verbs_begin(task, &inner);
	for (unsigned i = 0; i < nr; i++) {
		if (maps[i])
			far_cas(task, addr + i * 8, maps[i], 0, &found[i]);
	}
	err = far_verbs_end(task, &inner);
	for (unsigned i = 0; i < nr && !err; i++) {
		if (!maps[i] || found[i] == maps[i])
			continue;
		*ret_raced = true;	/* more was set free meanwhile */
		maps[i] = 0;
	}
release:
	far_buf_release(task, mark);
	return err;
}

static bool any_set(const uint64_t *maps, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (maps[i])
			return true;
	}
	return false;
}

/* The maps of nr pages of a chunk from page `from` on; 1 page of a span. */
static int pages_collect(struct far_task *task, struct far_client *client,
			 struct far_chunk *chunk, uint32_t from, uint32_t nr,
			 bool *ret_raced)
{
	const struct far_sb *sb = &client->sb[chunk->node];
	struct far_page head = { .idx = chunk->idx * far_chunk_pages(sb) };
	uint64_t addr = far_addr(chunk->node, far_map_off(sb, head.idx + from));
	size_t mark = far_buf_mark(task);
	uint32_t words = far_map_words(sb);
	uint64_t *maps = far_buf(task, nr * words * 8);
	int err = maps ? far_fetch(task, addr, maps, nr * words * 8) : -ENOMEM;

	if (!err && any_set(maps, nr * words)) {
		err = maps_take(task, addr, maps, nr * words, ret_raced);
		if (err)	/* what was taken is in nobody's hands: sweep */
			atomic_store(&client->lost, true);
	}
	for (uint32_t i = 0; i < nr && !err; i++) {
		const uint64_t *bits = &maps[i * words];

		if (any_set(bits, words))
			err = page_collect(task, client, chunk, chunk->span ? &head :
					   &chunk->page[from + i], bits);
	}
	far_buf_release(task, mark);
	return err;
}

static int chunk_collect(struct far_task *task, struct far_client *client,
			 struct far_chunk *chunk, bool *ret_raced)
{
	const struct far_sb *sb = &client->sb[chunk->node];
	uint32_t pages = far_chunk_pages(sb), most = MAP_WORDS / far_map_words(sb), nr;
	int err = 0;

	if (chunk->span)
		return pages_collect(task, client, chunk, 0, 1, ret_raced);
	for (uint32_t at = 0; at < pages && !err; at += nr) {
		nr = pages - at < most ? pages - at : most;
		err = pages_collect(task, client, chunk, at, nr, ret_raced);
	}
	return err;
}

int far_collect_maps(struct far_task *task, struct far_client *client, bool all,
		     bool *ret_raced)
{
	uint32_t words = 0;
	struct far_chunk *chunk, *next;
	int err = 0;

	*ret_raced = false;
	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		chunk = far_client_lost(client, n) ? NULL : client->heap.node[n].chunks;
		for (; chunk; chunk = next) {
			next = chunk->next;
			if (!all && chunk->lap == client->map_lap)
				continue;
			if (!all && words >= MAP_SOME)
				return 0;
			chunk->lap = client->map_lap;
			words += far_chunk_pages(&client->sb[n]) *
				 far_map_words(&client->sb[n]);
			err = chunk_collect(task, client, chunk, ret_raced);
			if (err)
				return err;
		}
	}
	client->map_lap++;	/* each had its turn */
	return 0;
}
