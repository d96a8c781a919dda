// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sweep: blocks of our chunks that are in no place are found and freed.
 *
 * Blocks get lost when a client dies (those in its magazines, those that it had
 * allocated and not published, those that it had unlinked and not freed yet), or when
 * nobody knows whether a verb was executed. Each owner sweeps its own chunks, while all
 * others, and its own threads, go on:
 *
 *  1. Chunks of the dead, and those without an owner, become ours (scavenge.c).
 *  2. Suspects are all blocks of ours that are neither in the heap, nor in a magazine,
 *     nor set in a map. Whatever is freed from now on is no suspect any more.
 *  3. All operations of ours that began before are waited for: what they had allocated
 *     is reachable, retired or freed then; or published later by a verb whose connection
 *     broke, for which the sweep waits, too (loose.h).
 *  4. All structures are walked, each in many epochs. What is reachable is no suspect: a
 *     block that stays reachable is met, wherever it is moved to meanwhile (form/walk.h).
 *  5. Let T2 be E after the walk. When all living entries exceed T2, whoever had
 *     unlinked a suspect before the walk reached it has retired it.
 *  6. Let T3 be E then. When each living client's `flushed` is at least T3, they have
 *     freed what they had retired: it is set in our maps, or in our heap.
 *  7. The maps are read once more. What is still a suspect is lost, and freed.
 */
#include <stdlib.h>

#include "../space/format.h"
#include "client_priv.h"
#include "dir.h"
#include "epoch.h"
#include "loose.h"
#include "task.h"
#include "type.h"

#define RETRY_NS	UINT64_C(50000000)

struct sweep_walk {
	struct far_walk walk;
	struct far_task *task;
	struct far_client *client;
};

/* Calls each() for all pages of ours that blocks can be in, with the heap locked. */
static int pages_each(struct far_client *client,
		      int (*each)(struct far_client *client, struct far_chunk *chunk,
				  struct far_page *page))
{
	int err = 0;

	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		uint32_t pages = far_chunk_pages(&client->sb[n]);
		struct far_chunk *chunk = client->heap.node[n].chunks;

		for (; chunk && !err; chunk = chunk->next) {
			for (uint32_t i = 0; i < pages && !chunk->span && !err; i++)
				err = each(client, chunk, &chunk->page[i]);
		}
	}
	return err;
}

static int page_suspect(struct far_client *client, struct far_chunk *chunk,
			struct far_page *page)
{
	unsigned blocks;

	(void)client;
	(void)chunk;
	if (page->busy || (page->state != FAR_PAGE_SLAB && page->state != FAR_PAGE_RUN))
		return 0;
	blocks = page->state == FAR_PAGE_SLAB ? page->nr_blocks : 1;
	page->suspect = calloc((blocks + 63) / 64, sizeof(*page->suspect));
	if (!page->suspect)
		return -ENOMEM;
	for (unsigned b = 0; b < blocks; b++) {
		if (!page->free || !(page->free[b / 64] >> b % 64 & 1))
			atomic_fetch_or(&page->suspect[b / 64], UINT64_C(1) << b % 64);
	}
	return 0;
}

static int page_unsuspect_all(struct far_client *client, struct far_chunk *chunk,
			      struct far_page *page)
{
	(void)client;
	(void)chunk;
	free(page->suspect);
	page->suspect = NULL;
	return 0;
}

static void spans_suspect(struct far_client *client, uint64_t value)
{
	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		struct far_chunk *chunk = client->heap.node[n].chunks;

		for (; chunk; chunk = chunk->next)
			atomic_store(&chunk->span_suspect, chunk->span ? value : 0);
	}
}

/* A block is in its place. With the heap locked. */
static void block_unsuspect(void *arg, uint64_t addr)
{
	struct far_client *client = arg;
	struct far_chunk *chunk = far_heap_chunk(&client->heap, addr);
	struct far_page *page;

	if (!chunk)
		return;
	if (chunk->span) {
		atomic_store(&chunk->span_suspect, 0);
		return;
	}
	page = far_chunk_page(&client->heap, chunk, addr);
	if (page->suspect)
		far_page_unsuspect(page, page->state == FAR_PAGE_RUN ? 0 :
				   far_page_block(&client->heap, page, chunk->node, addr));
}

/* Step 2, after maps were emptied into the heap. */
static int suspects_make(struct far_task *task, struct far_client *client)
{
	int err;

	far_heap_lock(task, client);
	err = pages_each(client, page_suspect);
	spans_suspect(client, 1);
	far_magazines_each(client, block_unsuspect, client);
	far_heap_unlock(client);
	return err;
}

static void suspects_drop(struct far_task *task, struct far_client *client)
{
	far_heap_lock(task, client);
	pages_each(client, page_unsuspect_all);
	spans_suspect(client, 0);
	far_heap_unlock(client);
}

static int walk_block(struct far_walk *walk, uint64_t addr, uint64_t size)
{
	struct sweep_walk *sweep = (struct sweep_walk *)walk;

	(void)size;
	far_heap_lock(sweep->task, sweep->client);
	block_unsuspect(sweep->client, addr);
	far_heap_unlock(sweep->client);
	return 0;
}

/*
 * Step 4. -EOPNOTSUPP: a structure is of a type that is not known here. -EBADMSG: an
 * entry of the directory is damaged, and nobody knows what hangs from it.
 */
static int walk_all(struct far_task *task, struct far_client *client)
{
	struct sweep_walk sweep = { { walk_block, NULL }, task, client };
	struct far_dir_view dir;
	int err = far_dir_read(task, &dir);

	if (err)
		return err;
	if (dir.torn)
		err = -EBADMSG;
	for (unsigned i = 0; i < dir.nr_blocks; i++)
		walk_block(&sweep.walk, dir.block[i], sizeof(struct far_dir_block));
	client->sweeper = task;
	for (unsigned i = 0; i < dir.nr && !err; i++) {
		const struct far_type *type = far_type_find(dir.entry[i].type);

		if (!far_dir_is_good(&dir.entry[i]))
			continue;
		err = type && type->version == dir.entry[i].version ?
		      type->walk(task, &dir.entry[i], &sweep.walk) : -EOPNOTSUPP;
	}
	client->sweeper = NULL;
	far_dir_free(&dir);
	return err;
}

void far_sweep_pause(struct far_task *task)
{
	struct far_client *client = far_task_client(task);
	bool idle;

	if (!client || client->sweeper != task || far_now(task) < client->collect_at)
		return;
	client->collect_at = far_now(task) + FAR_ROUND_NS;
	/* what fails here is tried again when the walk is over */
	(void)far_collect(task, client, &idle);
}

/* One round's time passes, and the collector goes on with its other work. */
static int pass_round(struct far_task *task, struct far_client *client)
{
	bool idle;
	int err = far_collect(task, client, &idle);

	if (far_client_stale(client))
		return -ESTALE;
	if (atomic_load(&client->service_end))
		return -ECANCELED;
	far_sleep(task, FAR_ROUND_NS);
	return err;
}

/* Waits until *word, which rounds update, is at least value. */
static int wait_for(struct far_task *task, struct far_client *client,
		    _Atomic uint64_t *word, uint64_t value)
{
	int err = 0;

	while (!err && atomic_load(word) < value)
		err = pass_round(task, client);
	return err;
}

/* E, read now. */
static int epoch_read(struct far_task *task, struct far_client *client,
		      uint64_t *ret_epoch)
{
	size_t mark = far_buf_mark(task);
	struct far_epoch_line *line = far_buf(task, sizeof(*line));
	int err = line ? far_fetch(task, far_addr(client->arbiter, FAR_SB_EPOCH), line,
				   sizeof(*line)) : -ENOMEM;

	if (!err)
		*ret_epoch = line->epoch;
	far_buf_release(task, mark);
	return err;
}

/* Steps 5 and 6. */
static int wait_for_others(struct far_task *task, struct far_client *client)
{
	uint64_t epoch;
	int err = epoch_read(task, client, &epoch);

	if (!err)
		err = wait_for(task, client, &client->safe, epoch + 1);
	if (!err)
		err = epoch_read(task, client, &epoch);
	if (!err)
		err = wait_for(task, client, &client->flushed, epoch);
	return err;
}

/* Empties the maps of all our chunks. */
static int maps_empty(struct far_task *task, struct far_client *client)
{
	bool raced;
	int err;

	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	do
		err = far_collect_maps(task, client, true, &raced);
	while (!err && raced);
	far_gate_unlock(&client->grow_lock);
	return err;
}

/* Step 7: what is lost of a slab goes to the heap. */
static int page_free_lost(struct far_client *client, struct far_chunk *chunk,
			  struct far_page *page)
{
	uint64_t bits[FAR_MAX_MAP_WORDS];
	unsigned words;

	if (!page->suspect || page->busy || page->state != FAR_PAGE_SLAB)
		return 0;
	words = far_page_words(page);
	for (unsigned w = 0; w < words; w++)
		bits[w] = atomic_load(&page->suspect[w]);
	far_page_fill(&client->heap, chunk, page, bits);
	return 0;
}

/* And runs and spans, one at a time: *ret_addr of one that is lost. */
static bool next_large(struct far_task *task, struct far_client *client,
		       uint64_t *ret_addr, uint64_t *ret_size)
{
	bool found = false;

	far_heap_lock(task, client);
	for (unsigned n = 0; n < client->set.nr_nodes && !found; n++) {
		const struct far_sb *sb = &client->sb[n];
		struct far_chunk *chunk = client->heap.node[n].chunks;

		for (; chunk && !found; chunk = chunk->next) {
			if (chunk->span && atomic_exchange(&chunk->span_suspect, 0)) {
				*ret_addr = far_addr(n, far_chunk_off(sb, chunk->idx));
				*ret_size = chunk->span * sb->chunk_size;
				found = true;
			}
			for (uint32_t i = 0; !chunk->span && !found &&
			     i < far_chunk_pages(sb); i++) {
				struct far_page *page = &chunk->page[i];

				if (!page->suspect || page->state != FAR_PAGE_RUN ||
				    !atomic_exchange(&page->suspect[0], 0))
					continue;
				*ret_addr = far_addr(n, far_page_off(sb, page->idx));
				*ret_size = (uint64_t)page->len << sb->page_shift;
				found = true;
			}
		}
	}
	far_heap_unlock(client);
	return found;
}

/* Pages whose words nobody knew. With grow_lock. */
static int pages_regain(struct far_task *task, struct far_client *client)
{
	int err = 0;

	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		struct far_chunk *chunk = client->heap.node[n].chunks;

		if (far_client_lost(client, n))
			continue;
		for (; chunk && !err; chunk = chunk->next)
			err = far_pages_regain(task, client, chunk);
	}
	return err;
}

static int lost_free(struct far_task *task, struct far_client *client)
{
	uint64_t addr, size;
	int err;

	far_heap_lock(task, client);
	pages_each(client, page_free_lost);
	far_heap_unlock(client);
	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	err = pages_regain(task, client);
	while (!err && next_large(task, client, &addr, &size))
		err = far_give_back(task, client, addr, size);
	far_gate_unlock(&client->grow_lock);
	return err;
}

/* Steps 2 to 7. */
static int sweep_ours(struct far_task *task, struct far_client *client)
{
	uint64_t turns;
	int err = maps_empty(task, client);

	if (err)
		return err;
	/* pairs with free_class(): see there */
	atomic_store(&client->sweeping, true);
	err = suspects_make(task, client);
	/* The turn that is under way may have begun before; the one behind it has not. */
	turns = atomic_load(&client->turns) + 2;
	if (!err)
		err = wait_for(task, client, &client->turns, turns);
	/* what a loose verb may still publish is not lost yet */
	if (!err && far_is_any_loose(task))
		err = -EAGAIN;
	if (!err)
		err = walk_all(task, client);
	if (!err)
		err = wait_for_others(task, client);
	if (!err)
		err = maps_empty(task, client);
	if (!err)
		err = lost_free(task, client);
	suspects_drop(task, client);
	atomic_store(&client->sweeping, false);
	return err;
}

static bool owns_any(const struct far_client *client)
{
	for (unsigned n = 0; n < client->set.nr_nodes; n++) {
		if (client->heap.node[n].chunks)
			return true;
	}
	return false;
}

/* If this client has lost track of a block since the last call: tells all owners. */
static int lost_publish(struct far_task *task, struct far_client *client)
{
	int err;

	if (!atomic_exchange(&client->lost, false))
		return 0;
	err = far_add(task, far_addr(client->arbiter, FAR_SB_SHARED +
				     offsetof(struct far_shared, lost)), 1);
	/* Until a round has read what was added, nothing else says that a sweep is due. */
	atomic_store(err ? &client->lost : &client->resweep, true);
	return err;
}

int far_left_publish(struct far_task *task, struct far_client *client)
{
	int err = far_round_look(task, client);

	if (err)
		return err;
	if (client->left && !far_is_swept(client))
		atomic_store(&client->lost, true);
	client->left = false;
	return lost_publish(task, client);
}

bool far_is_swept(const struct far_client *client)
{
	return atomic_load(&client->swept) == atomic_load(&client->wanted) &&
	       !atomic_load(&client->lost) && !atomic_load(&client->resweep) &&
	       !atomic_load(&client->sweeping);
}

/* All steps, for what was wanted when it began. */
static int sweep_all(struct far_task *task, struct far_client *client, uint64_t wanted)
{
	bool again, got;
	int err;

	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	again = atomic_exchange(&client->resweep, false);
	err = far_scavenge(task, client, wanted, false, &got);
	far_gate_unlock(&client->grow_lock);
	if (!err && (wanted || again) && owns_any(client))
		err = sweep_ours(task, client);
	if (err) {
		atomic_store(&client->resweep, true);
	} else {
		atomic_store(&client->swept, wanted);
		atomic_fetch_add(&client->sweeps, 1);
	}
	return err;
}

int far_sweep(struct far_task *task, struct far_client *client)
{
	int err;

	/* Other clients that sweep before a loose verb has come would not find what it unlinks. */
	if (far_now(task) < client->sweep_at || far_is_any_loose(task))
		return 0;
	err = lost_publish(task, client);
	if (!err && !far_is_swept(client))
		err = sweep_all(task, client, atomic_load(&client->wanted));
	if (err)
		client->sweep_at = far_now(task) + RETRY_NS;
	return err;
}
