// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adopting chunks that nobody owns: those that a client left when it closed, and those
 * of dead clients, in whatever state these died.
 */
#include <string.h>

#include "client_priv.h"
#include "task.h"

static bool is_whole_run(const uint64_t *word, uint32_t left)
{
	uint32_t len = far_page_count(word[0]);

	if (!len || len > left)
		return false;
	for (uint32_t i = 1; i < len; i++) {
		if (far_page_state(word[i]) != FAR_PAGE_TAIL)
			return false;
	}
	return true;
}

/*
 * Keeps of a dead owner's page words what can hold a block that somebody uses, and
 * zeroes the rest: runs without all their pages were being made or freed. Whether it
 * has changed anything.
 */
static bool page_words_repair(const struct far_sb *sb, uint64_t *word, uint32_t nr)
{
	bool changed = false;
	uint32_t len;

	for (uint32_t i = 0; i < nr; i += len) {
		len = 1;
		if (!word[i])
			continue;
		if (far_page_state(word[i]) == FAR_PAGE_SLAB &&
		    far_class_fits(sb, far_page_class(word[i])))
			continue;
		if (far_page_state(word[i]) == FAR_PAGE_RUN &&
		    is_whole_run(&word[i], nr - i)) {
			len = far_page_count(word[i]);
			continue;
		}
		word[i] = 0;
		changed = true;
	}
	return changed;
}

/* Makes the pages of a chunk what the words say. -ENOMEM. */
static int pages_set(const struct far_sb *sb, struct far_chunk *chunk, const uint64_t *word,
		     uint32_t nr)
{
	uint32_t len;

	for (uint32_t i = 0; i < nr; i += len) {
		len = 1;
		if (far_page_state(word[i]) == FAR_PAGE_SLAB) {
			int err = far_page_slab(sb, &chunk->page[i],
						far_page_class(word[i]));

			if (err)
				return err;
			chunk->nr_free_pages--;
		} else if (far_page_state(word[i]) == FAR_PAGE_RUN) {
			len = far_page_count(word[i]);
			far_page_run(&chunk->page[i], len);
			chunk->nr_free_pages -= len;
		}
	}
	return 0;
}

/* A chunk of pages that is ours in far memory by now. */
static int adopt_pages(struct far_task *task, struct far_client *client, unsigned node,
		       uint32_t idx, uint64_t word)
{
	const struct far_sb *sb = &client->sb[node];
	uint32_t nr = far_chunk_pages(sb);
	uint64_t addr = far_page_word_addr(client, node, idx * nr);
	size_t mark = far_buf_mark(task);
	uint64_t *words = far_buf(task, nr * sizeof(*words));
	struct far_chunk *chunk = far_chunk_new(&client->heap, node, idx, 0, word);
	int err = words && chunk ? far_fetch(task, addr, words, nr * 8) : -ENOMEM;

	if (!err && page_words_repair(sb, words, nr))
		err = far_store(task, addr, words, nr * 8);
	if (!err)
		err = pages_set(sb, chunk, words, nr);
	if (err) {
		atomic_store(&client->lost, true);
		if (chunk)
			far_chunk_free(&client->heap, chunk);
	} else {
		far_heap_lock(task, client);
		far_heap_add(&client->heap, chunk);
		far_heap_unlock(client);
	}
	far_buf_release(task, mark);
	return err;
}

/* A chunk of a span that was being claimed or given back goes back. */
static int free_tail(struct far_task *task, struct far_client *client, unsigned node,
		     uint32_t idx, uint64_t word)
{
	uint32_t back = far_chunk_count(word);
	size_t mark = far_buf_mark(task);
	uint64_t *head = far_buf(task, sizeof(*head));
	uint64_t found;
	int err = -ENOMEM;

	if (!head)
		goto release;
	*head = 0;
	err = back <= idx ? far_fetch(task, far_chunk_word_addr(client, node, idx - back),
				      head, sizeof(*head)) : 0;
	if (!err && !(far_chunk_state(*head) == FAR_CHUNK_SPAN &&
		      far_chunk_count(*head) > back))
		err = far_swap(task, far_chunk_word_addr(client, node, idx), word, 0,
			       &found);
release:
	far_buf_release(task, mark);
	return err;
}

int far_adopt(struct far_task *task, struct far_client *client, unsigned node,
	      uint32_t idx, uint64_t word)
{
	enum far_chunk_state state = far_chunk_state(word);
	uint32_t count = state == FAR_CHUNK_SPAN ? far_chunk_count(word) : 0;
	uint64_t mine = far_chunk_word(client->owner, state, count), found = word;
	int err = 0;

	if (state == FAR_CHUNK_TAIL)
		return free_tail(task, client, node, idx, word);
	if (mine != word)
		err = far_swap(task, far_chunk_word_addr(client, node, idx), word, mine,
			       &found);
	if (err)
		atomic_store(&client->lost, true);
	if (err || found != word)
		return err;
	if (state == FAR_CHUNK_SPAN)
		err = far_chunk_own(task, client, node, idx, count, mine);
	else
		err = adopt_pages(task, client, node, idx, mine);
	return err ? err : 1;
}
