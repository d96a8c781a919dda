// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chunks and pages in far memory: claiming, cutting, giving back.
 *
 * At each verb a client may die, so the order is always the same: what says that
 * something is in use is acknowledged before it is used, and is cleared only when
 * nothing of it is used any more. What a dead client leaves half done is a page or a
 * chunk that says more than there is, and adopt.c puts it in order.
 */
#include <stdlib.h>
#include <string.h>

#include "client_priv.h"
#include "task.h"

#define TABLE_PIECE	512u	/* chunk words in one READ */

uint64_t far_chunk_word_addr(const struct far_client *client, unsigned node,
				uint32_t idx)
{
	return far_addr(node, far_chunk_word_off(&client->sb[node], idx));
}

uint64_t far_page_word_addr(const struct far_client *client, unsigned node,
			       uint32_t idx)
{
	return far_addr(node, far_page_word_off(&client->sb[node], idx));
}

int far_chunk_own(struct far_task *task, struct far_client *client, unsigned node,
		  uint32_t idx, uint32_t span, uint64_t word)
{
	struct far_chunk *chunk = far_chunk_new(&client->heap, node, idx, span, word);

	if (!chunk) {
		atomic_store(&client->lost, true);
		return -ENOMEM;
	}
	far_heap_lock(task, client);
	far_heap_add(&client->heap, chunk);
	far_heap_unlock(client);
	return 0;
}

/* Claims chunk idx: 1 done, 0 another was faster. */
static int chunk_claim(struct far_task *task, struct far_client *client, unsigned node,
		       uint32_t idx, uint64_t word)
{
	uint64_t found;
	int err = far_swap(task, far_chunk_word_addr(client, node, idx), 0, word, &found);

	if (err)	/* it may be ours, and nobody knows: the sweep looks */
		atomic_store(&client->lost, true);
	return err ? err : !found;
}

/* Claims the first chunk that is free among words[] of chunk first and up. */
static int claim_among(struct far_task *task, struct far_client *client, unsigned node,
		       uint32_t first, const uint64_t *words, uint32_t nr)
{
	uint64_t mine = far_chunk_word(client->owner, FAR_CHUNK_PAGES, 0);
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++) {
		if (words[i])
			continue;
		err = chunk_claim(task, client, node, first + i, mine);
		if (err == 1) {
			client->hint[node] = first + i + 1;
			err = far_chunk_own(task, client, node, first + i, 0, mine);
			return err ? err : 1;
		}
	}
	return err;
}

/* Adopts the first chunk that nobody owns among words[]. */
static int adopt_among(struct far_task *task, struct far_client *client, unsigned node,
		       uint32_t first, const uint64_t *words, uint32_t nr)
{
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++) {
		if (far_chunk_state(words[i]) != FAR_CHUNK_PAGES ||
		    far_owner_number(words[i]))
			continue;
		err = far_adopt(task, client, node, first + i, words[i]);
		if (err == 1 && far_chunk_count(words[i]) !=
				(atomic_load(&client->swept) & FAR_CHUNK_COUNT))
			atomic_store(&client->resweep, true);
	}
	return err;
}

/* One walk over a node's chunk table; pick() is one of the two above. */
static int table_walk(struct far_task *task, struct far_client *client, unsigned node,
		      int (*pick)(struct far_task *, struct far_client *, unsigned,
				  uint32_t, const uint64_t *, uint32_t))
{
	uint32_t nr = client->sb[node].nr_chunks, first, len;
	size_t mark = far_buf_mark(task);
	uint64_t *words = far_buf(task, TABLE_PIECE * sizeof(*words));
	int err = words ? 0 : -ENOMEM;

	for (uint32_t done = 0; done < nr && !err; done += len) {
		first = (client->hint[node] + done) % nr;
		len = nr - first < TABLE_PIECE ? nr - first : TABLE_PIECE;
		if (len > nr - done)
			len = nr - done;
		err = far_fetch(task, far_chunk_word_addr(client, node, first), words,
				len * sizeof(*words));
		if (!err)
			err = pick(task, client, node, first, words, len);
	}
	far_buf_release(task, mark);
	return err;
}

/* One more chunk of ours: a free one, or one that was left. -ENOSPC. */
static int chunk_get(struct far_task *task, struct far_client *client, unsigned node)
{
	int err = table_walk(task, client, node, claim_among);

	if (!err)
		err = table_walk(task, client, node, adopt_among);
	return err < 0 ? err : err ? 0 : -ENOSPC;
}

/* Busy pages, in a chunk that we have or get. */
static int pages_get(struct far_task *task, struct far_client *client, unsigned node,
		     uint32_t len, struct far_chunk **ret_chunk,
		     struct far_page **ret_page)
{
	int err;

	do {
		far_heap_lock(task, client);
		err = far_heap_pages(&client->heap, node, len, ret_chunk, ret_page);
		far_heap_unlock(client);
	} while (err == -ENOSPC && !(err = chunk_get(task, client, node)));
	return err;
}

/* Nobody knows what the words of busy pages say. They stay busy until the next sweep. */
static int pages_lost(struct far_client *client, int err)
{
	atomic_store(&client->lost, true);
	return err;
}

int far_grow_slab(struct far_task *task, struct far_client *client, unsigned node,
		  unsigned class)
{
	uint64_t all[FAR_MAX_MAP_WORDS], word = far_page_word(FAR_PAGE_SLAB, class, 1);
	struct far_chunk *chunk;
	struct far_page *page;
	int err = pages_get(task, client, node, 1, &chunk, &page);

	if (err)
		return err;
	err = far_store(task, far_page_word_addr(client, node, page->idx), &word, 8);
	if (err)
		return pages_lost(client, err);
	memset(all, 0xff, sizeof(all));
	far_heap_lock(task, client);
	err = far_page_slab(&client->sb[node], page, class);
	if (!err)
		far_page_fill(&client->heap, chunk, page, all);
	far_heap_unlock(client);
	return err ? pages_lost(client, err) : 0;
}

/* Writes the words of a run, or zeros. */
static int run_write(struct far_task *task, struct far_client *client, unsigned node,
		     uint32_t first, uint32_t len, bool run)
{
	size_t mark = far_buf_mark(task);
	uint64_t *words = far_buf(task, len * sizeof(*words));
	int err = -ENOMEM;

	if (!words)
		goto release;
	for (uint32_t i = 0; i < len; i++)
		words[i] = !run ? 0 : i ? far_page_word(FAR_PAGE_TAIL, 0, 0) :
			   far_page_word(FAR_PAGE_RUN, 0, len);
	err = far_store(task, far_page_word_addr(client, node, first), words,
			len * sizeof(*words));
release:
	far_buf_release(task, mark);
	return err;
}

int far_grow_run(struct far_task *task, struct far_client *client, unsigned node,
		 uint32_t pages, uint64_t *ret_addr)
{
	struct far_chunk *chunk;
	struct far_page *page;
	int err = pages_get(task, client, node, pages, &chunk, &page);

	if (err)
		return err;
	err = run_write(task, client, node, page->idx, pages, true);
	if (err)
		return pages_lost(client, err);
	far_heap_lock(task, client);
	far_page_run(page, pages);
	far_heap_unlock(client);
	*ret_addr = far_addr(node, far_page_off(&client->sb[node], page->idx));
	return 0;
}

/* CAS of the words of chunks first to first + nr of a span from ours back to free. */
static int span_undo(struct far_task *task, struct far_client *client, unsigned node,
		     uint32_t head, uint32_t from, uint32_t to)
{
	uint64_t found;
	int err = 0;

	for (uint32_t i = from; i < to && !err; i++)
		err = far_swap(task, far_chunk_word_addr(client, node, head + i),
			       far_chunk_word(client->owner, FAR_CHUNK_TAIL, i), 0,
			       &found);
	return err;
}

/* Claims nr chunks from head on, the first one last. 1 done, 0 another was faster. */
static int span_claim(struct far_task *task, struct far_client *client, unsigned node,
		      uint32_t head, uint32_t nr)
{
	uint32_t i;
	int err = 1;

	for (i = nr; i-- > 1 && err == 1;)
		err = chunk_claim(task, client, node, head + i,
				  far_chunk_word(client->owner, FAR_CHUNK_TAIL, i));
	if (err == 1) {
		err = chunk_claim(task, client, node, head,
				  far_chunk_word(client->owner, FAR_CHUNK_SPAN, nr));
		if (err == 1)
			return 1;
		i = 0;
	} else {
		i++;
	}
	if (!err)
		err = span_undo(task, client, node, head, i + 1, nr);
	return err;
}

/* The first of nr words in a row that are 0 from `from` on; or nr_words. */
static uint32_t zeros_at(const uint64_t *words, uint32_t nr_words, uint32_t from,
			 uint32_t nr)
{
	uint32_t row = 0;

	for (uint32_t i = from; i < nr_words; i++) {
		row = words[i] ? 0 : row + 1;
		if (row == nr)
			return i + 1 - nr;
	}
	return nr_words;
}

int far_grow_span(struct far_task *task, struct far_client *client, unsigned node,
		  uint32_t chunks, uint64_t *ret_addr)
{
	const struct far_sb *sb = &client->sb[node];
	size_t mark = far_buf_mark(task);
	uint64_t *words = far_buf(task, sb->nr_chunks * sizeof(*words));
	uint32_t at;
	int err = -ENOMEM;

	if (!words)
		goto release;
	err = far_fetch(task, far_chunk_word_addr(client, node, 0), words,
			sb->nr_chunks * sizeof(*words));
	at = err ? 0 : zeros_at(words, sb->nr_chunks, 0, chunks);
	while (!err && at < sb->nr_chunks) {
		err = span_claim(task, client, node, at, chunks);
		if (!err)
			at = zeros_at(words, sb->nr_chunks, at + 1, chunks);
	}
	if (!err)
		err = -ENOSPC;
	if (err == 1)
		err = far_chunk_own(task, client, node, at, chunks,
				far_chunk_word(client->owner, FAR_CHUNK_SPAN, chunks));
	if (!err)
		*ret_addr = far_addr(node, far_chunk_off(sb, at));
release:
	far_buf_release(task, mark);
	return err;
}

/* The first word is freed first: without it, the others belong to nobody. */
static int span_give_back(struct far_task *task, struct far_client *client,
			  struct far_chunk *chunk)
{
	unsigned node = chunk->node;
	uint64_t found;
	int err = far_swap(task, far_chunk_word_addr(client, node, chunk->idx), chunk->word, 0,
			   &found);

	for (uint32_t i = 1; i < chunk->span && !err; i++) {
		/* Tails may name an earlier owner, also one that had our number. */
		uint64_t addr = far_chunk_word_addr(client, node, chunk->idx + i);

		err = far_swap(task, addr,
			       far_chunk_word(client->owner, FAR_CHUNK_TAIL, i), 0, &found);
		if (!err && far_chunk_state(found) == FAR_CHUNK_TAIL &&
		    far_chunk_count(found) == i && (found & FAR_OWNER_MASK) != client->owner)
			err = far_swap(task, addr, found, 0, &found);
	}
	if (err)
		atomic_store(&client->lost, true);
	far_heap_lock(task, client);
	far_heap_del(&client->heap, chunk);
	far_heap_unlock(client);
	far_chunk_free(&client->heap, chunk);
	return err;
}

/* Pages of ours, which somebody has made busy, are free again. */
static int pages_give_back(struct far_task *task, struct far_client *client,
			   struct far_chunk *chunk, struct far_page *page, uint32_t len)
{
	int err = run_write(task, client, chunk->node, page->idx, len, false);

	if (err)
		return pages_lost(client, err);
	far_heap_lock(task, client);
	far_page_clear(chunk, page, len);
	far_heap_unlock(client);
	return 0;
}

int far_pages_regain(struct far_task *task, struct far_client *client,
		     struct far_chunk *chunk)
{
	uint32_t pages = chunk->span ? 0 : far_chunk_pages(&client->sb[chunk->node]), len;
	int err = 0;

	for (uint32_t i = 0; i < pages && !err; i += len) {
		struct far_page *page = &chunk->page[i];

		len = page->state == FAR_PAGE_RUN ? page->len : 1;
		if (page->busy)
			err = pages_give_back(task, client, chunk, page, len);
	}
	return err;
}

static int run_give_back(struct far_task *task, struct far_client *client,
			 struct far_chunk *chunk, uint64_t addr)
{
	struct far_page *page = far_chunk_page(&client->heap, chunk, addr);
	bool is_run;

	far_heap_lock(task, client);
	is_run = page->state == FAR_PAGE_RUN && !page->busy;
	if (is_run)
		page->busy = true;
	far_heap_unlock(client);
	if (!is_run)
		return -EINVAL;
	return pages_give_back(task, client, chunk, page, page->len);
}

int far_give_back(struct far_task *task, struct far_client *client, uint64_t addr,
		  uint64_t size)
{
	struct far_chunk *chunk = far_heap_chunk(&client->heap, addr);
	unsigned class;
	int err;

	if (!chunk || !chunk->span != (size <= client->sb[chunk->node].chunk_size))
		return -EINVAL;
	class = far_class_of(&client->sb[chunk->node], size);
	if (class) {
		far_heap_lock(task, client);
		err = far_heap_put(&client->heap, addr, class);
		far_heap_unlock(client);
		return err;
	}
	return chunk->span ? span_give_back(task, client, chunk) :
			     run_give_back(task, client, chunk, addr);
}

/* True if a slab has all its blocks in the heap; then it is hidden and busy. */
static bool slab_take_empty(struct far_task *task, struct far_client *client,
			    struct far_chunk *chunk, struct far_page *page,
			    enum far_trim how)
{
	bool take;

	far_heap_lock(task, client);
	take = page->state == FAR_PAGE_SLAB && !page->busy &&
	       page->nr_free == page->nr_blocks &&
	       (how != FAR_TRIM_SOME || page->next || page->prev);
	if (take)
		far_page_hide(&client->heap, chunk, page);
	far_heap_unlock(client);
	return take;
}

static int chunk_trim_pages(struct far_task *task, struct far_client *client,
			    struct far_chunk *chunk, enum far_trim how)
{
	uint32_t pages = far_chunk_pages(&client->sb[chunk->node]);
	int err = 0;

	for (uint32_t i = 0; i < pages && !err; i++) {
		if (slab_take_empty(task, client, chunk, &chunk->page[i], how))
			err = pages_give_back(task, client, chunk, &chunk->page[i], 1);
	}
	return err;
}

/* The blocks of a page that are in the heap's hands, into its map. */
static int page_leave(struct far_task *task, struct far_client *client, unsigned node,
		      const struct far_page *page)
{
	uint64_t map = far_addr(node, far_map_off(&client->sb[node], page->idx));
	struct far_ops inner;
	unsigned words;

	if (page->state != FAR_PAGE_SLAB)
		return 0;
	words = far_page_words(page);
	far_verbs_begin(task, &inner);
	for (unsigned w = 0; w < words; w++) {
		if (page->free[w])
			far_faa(task, map + w * 8, page->free[w], NULL);
	}
	return far_verbs_end(task, &inner);
}

/* A chunk that is not empty: nobody's, and everything that is free is in its maps. */
static int chunk_leave(struct far_task *task, struct far_client *client,
		       struct far_chunk *chunk)
{
	uint32_t pages = chunk->span ? 0 : far_chunk_pages(&client->sb[chunk->node]);
	uint64_t word = chunk->span ?
		far_chunk_word(0, FAR_CHUNK_SPAN, chunk->span) :
		far_chunk_word(0, FAR_CHUNK_PAGES,
			       atomic_load(&client->swept) & FAR_CHUNK_COUNT);
	uint64_t found;
	int err = 0;

	client->left = true;
	for (uint32_t i = 0; i < pages && !err; i++)
		err = page_leave(task, client, chunk->node, &chunk->page[i]);
	if (!err)
		err = far_swap(task, far_chunk_word_addr(client, chunk->node, chunk->idx),
			       chunk->word, word, &found);
	return err;
}

/* Gives a chunk back, free or left; the last use of it. */
static int chunk_give_back(struct far_task *task, struct far_client *client,
			   struct far_chunk *chunk, bool is_free)
{
	uint64_t found;
	int err;

	far_heap_lock(task, client);
	far_heap_del(&client->heap, chunk);
	far_heap_unlock(client);
	if (is_free)
		err = far_swap(task, far_chunk_word_addr(client, chunk->node, chunk->idx),
			       chunk->word, 0, &found);
	else
		err = chunk_leave(task, client, chunk);
	if (err)
		atomic_store(&client->lost, true);
	far_chunk_free(&client->heap, chunk);
	return err;
}

/* True if all pages are free. With grow_lock, nobody takes one then. */
static bool chunk_is_empty(struct far_task *task, struct far_client *client,
			   const struct far_chunk *chunk)
{
	bool empty;

	far_heap_lock(task, client);
	empty = !chunk->span &&
		chunk->nr_free_pages == far_chunk_pages(&client->sb[chunk->node]);
	far_heap_unlock(client);
	return empty;
}

static int trim_node(struct far_task *task, struct far_client *client, unsigned node,
		     enum far_trim how)
{
	struct far_chunk *chunk = client->heap.node[node].chunks, *next;
	bool spare = how == FAR_TRIM_SOME;	/* one empty chunk stays */
	int err = 0;

	for (; chunk && !err; chunk = next) {
		next = chunk->next;
		if (!chunk->span)
			err = chunk_trim_pages(task, client, chunk, how);
		if (err)
			break;
		if (!chunk_is_empty(task, client, chunk)) {
			if (how == FAR_TRIM_ALL)
				err = chunk_give_back(task, client, chunk, false);
		} else if (spare) {
			spare = false;
		} else {
			err = chunk_give_back(task, client, chunk, true);
		}
	}
	return err;
}

int far_trim(struct far_task *task, struct far_client *client, enum far_trim how)
{
	int err = 0;

	for (unsigned n = 0; n < client->set.nr_nodes && !err; n++)
		if (!far_client_lost(client, n))
			err = trim_node(task, client, n, how);
	return err;
}
