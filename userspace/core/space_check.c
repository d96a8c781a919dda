// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * far_space_check(): waits until this client has swept after the dead, reads all
 * tables, walks all structures, and compares.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core.h"
#include "task.h"

#define SETTLE_ROUNDS	4u			/* to notice who has died */
#define SETTLE_NS	UINT64_C(5000000000)	/* at most, to sweep */
#define PIECE		65536u

void check_problem(struct check *check, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	check->sum.problems++;
	if (!check->report)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	check->report(check->arg, text);
}

/*
 * Lets the service do what it has to do, and others free what they have retired; they
 * may never come to an end with that, so that there is a limit.
 */
static int writers_settle(struct check *check)
{
	struct far_client *client = check->client;
	uint64_t until = far_now(check->task) + SETTLE_NS;
	uint64_t now = atomic_load(&client->round), round = now + SETTLE_ROUNDS;
	uint64_t epoch = atomic_load(&client->epoch);

	while (atomic_load(&client->round) < round || !far_is_swept(client) ||
	       !atomic_load(&client->service_idle) ||
	       atomic_load(&client->drained) <= now ||
	       atomic_load(&client->flushed) < epoch) {
		if (far_client_stale(client))
			return -ESTALE;
		if (far_now(check->task) >= until)
			break;
		far_sleep(check->task, FAR_ROUND_NS);
	}
	return 0;
}

/* nr words from an offset of a node, into memory that the caller frees. */
static int words_read(struct check *check, unsigned node, uint64_t off, uint64_t nr,
		      uint64_t **ret_words)
{
	size_t mark = far_buf_mark(check->task);
	void *buf = far_buf(check->task, PIECE);
	uint64_t *words = calloc(nr ? nr : 1, 8);
	uint64_t len = nr * 8, piece;
	int err = buf && words ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < len && !err; at += piece) {
		piece = len - at < PIECE ? len - at : PIECE;
		err = far_fetch(check->task, far_addr(node, off + at), buf, piece);
		if (!err)
			memcpy((char *)words + at, buf, piece);
	}
	far_buf_release(check->task, mark);
	if (err) {
		free(words);
		return err;
	}
	*ret_words = words;
	return 0;
}

static int node_read(struct check *check, unsigned node)
{
	struct check_node *n = &check->node[node];
	const struct far_sb *sb = &check->client->sb[node];
	uint64_t words = far_nr_pages(sb) * (uint64_t)far_map_words(sb);
	int err;

	n->sb = sb;
	n->seen = calloc(words, 8);
	n->held = calloc(words, 8);
	err = n->seen && n->held ? 0 : -ENOMEM;
	if (!err)
		err = words_read(check, node, sb->chunk_off, sb->nr_chunks, &n->chunk);
	if (!err)
		err = words_read(check, node, sb->page_off, far_nr_pages(sb), &n->page);
	if (!err)
		err = words_read(check, node, sb->map_off, words, &n->map);
	return err;
}

static int tables_read(struct check *check)
{
	const struct far_client *client = check->client;
	const struct far_sb *sb = &client->sb[client->arbiter];
	uint64_t *entry;
	int err = words_read(check, client->arbiter, sb->client_off,
			     (sb->max_clients + 1) * sizeof(*check->entry) / 8, &entry);

	if (err)
		return err;
	check->entry = (struct far_client_entry *)entry;
	for (unsigned n = 0; n < client->set.nr_nodes && !err; n++)
		err = node_read(check, n);
	return err;
}

static void held_block(void *arg, uint64_t addr)
{
	struct check *check = arg;
	unsigned node = far_addr_node(addr);
	struct far_chunk *chunk = far_heap_chunk(&check->client->heap, addr);
	struct far_page *page = far_chunk_page(&check->client->heap, chunk, addr);

	check_set(&check->node[node], check->node[node].held, page->idx,
		  far_page_block(&check->client->heap, page, node, addr));
}

/* What is free in the hands of this process: in its heap and its magazines. */
static void held_mark(struct check *check)
{
	struct far_client *client = check->client;

	far_heap_lock(check->task, client);
	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		struct far_chunk *chunk = client->heap.node[n].chunks;
		uint64_t *held = check->node[n].held;

		for (; chunk; chunk = chunk->next) {
			uint32_t pages = chunk->span ? 0 : far_chunk_pages(&client->sb[n]);

			for (uint32_t i = 0; i < pages; i++) {
				const struct far_page *page = &chunk->page[i];
				unsigned words = page->free ? far_page_words(page) : 0;
				uint64_t *at = &held[page->idx *
						     far_map_words(&client->sb[n])];

				for (unsigned w = 0; w < words; w++)
					at[w] |= page->free[w];
			}
		}
	}
	far_magazines_each(client, held_block, check);
	far_heap_unlock(client);
}

static void check_free(struct check *check)
{
	for (unsigned n = 0; n < check->client->set.nr_nodes; n++) {
		free(check->node[n].chunk);
		free(check->node[n].page);
		free(check->node[n].map);
		free(check->node[n].seen);
		free(check->node[n].held);
	}
	free(check->node);
	free(check->entry);
}

/* With grow_lock, so that our own service changes no table meanwhile. */
static int check_locked(struct check *check)
{
	int err = tables_read(check);

	if (err)
		return err;
	held_mark(check);
	check_tables(check);
	return check_blocks(check);
}

static int check_run(struct check *check)
{
	struct far_client *client = check->client;
	int err = writers_settle(check);

	if (err)
		return err;
	check->node = calloc(client->set.nr_nodes, sizeof(*check->node));
	if (!check->node)
		return -ENOMEM;
	far_gate_lock(check->task, &client->grow_lock, FAR_GROW_NS);
	err = check_locked(check);
	far_gate_unlock(&client->grow_lock);
	check_free(check);
	return err;
}

int far_space_check(struct far *far,
		    void (*report)(void *arg, const char *problem), void *arg,
		    struct far_space_check *ret_check)
{
	struct check check = { .client = far->client, .report = report, .arg = arg };
	int err = far->client ? far_enter(far, &check.task) : -EINVAL;

	if (err)
		return err;
	err = check_run(&check);
	far_leave(check.task);
	if (!err)
		*ret_check = check.sum;
	return err;
}
