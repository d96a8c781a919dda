// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocation, the tasks' side: a thread's magazines, and what to do when one is empty.
 *
 * Only its own thread changes a magazine. The sweep looks at it from outside, to know
 * which blocks are in nobody's hands, so that its words are atomic.
 */
#include "alloc.h"

#include <stdlib.h>

#include "client_priv.h"
#include "deadline.h"
#include "epoch.h"
#include "loose.h"
#include "task.h"

#define MAGAZINE_BYTES	16384u

static struct far_magazine *magazine_get(struct far_client_thread *thread,
					 unsigned node, unsigned class)
{
	_Atomic(struct far_magazine *) *at =
		&thread->magazine[node * FAR_NR_CLASSES + class];
	struct far_magazine *magazine = atomic_load_explicit(at, memory_order_relaxed);
	uint32_t cap = MAGAZINE_BYTES / far_class_size(class);

	if (magazine)
		return magazine;
	magazine = calloc(1, sizeof(*magazine));
	if (!magazine)
		return NULL;
	magazine->cap = cap > FAR_MAX_MAGAZINE ? FAR_MAX_MAGAZINE : cap < 2 ? 2 : cap;
	atomic_store_explicit(at, magazine, memory_order_release);
	return magazine;
}

static uint32_t magazine_nr(const struct far_magazine *magazine)
{
	return atomic_load_explicit(&magazine->nr, memory_order_relaxed);
}

static uint64_t magazine_pop(struct far_magazine *magazine)
{
	uint32_t nr = magazine_nr(magazine) - 1;
	uint64_t addr = atomic_load_explicit(&magazine->addr[nr], memory_order_relaxed);

	atomic_store_explicit(&magazine->nr, nr, memory_order_release);
	return addr;
}

/* nr blocks, of which the first is popped first. */
static void magazine_push(struct far_magazine *magazine, const uint64_t *addr,
			  uint32_t nr)
{
	uint32_t have = magazine_nr(magazine);

	for (uint32_t i = 0; i < nr; i++)
		atomic_store_explicit(&magazine->addr[have + i], addr[nr - 1 - i],
				      memory_order_relaxed);
	/* pairs with the load in far_magazines_each(), and see free_class() */
	atomic_store(&magazine->nr, have + nr);
}

/* All but `keep` blocks of a magazine go to the heap. */
static void magazine_return(struct far_task *task, struct far_client *client,
			    struct far_magazine *magazine, unsigned class,
			    uint32_t keep)
{
	far_heap_lock(task, client);
	while (magazine_nr(magazine) > keep)
		far_heap_put(&client->heap, magazine_pop(magazine), class);
	far_heap_unlock(client);
}

void far_magazines_return(struct far_task *task, struct far_client *client)
{
	struct far_client_thread *thread = atomic_load(&client->threads);
	unsigned nr = client->set.nr_nodes * FAR_NR_CLASSES;

	for (; thread; thread = thread->next) {
		for (unsigned i = 0; i < nr; i++) {
			struct far_magazine *magazine = atomic_load(&thread->magazine[i]);

			if (magazine)
				magazine_return(task, client, magazine,
						i % FAR_NR_CLASSES, 0);
		}
	}
}

void far_magazines_each(struct far_client *client,
			void (*each)(void *arg, uint64_t addr), void *arg)
{
	struct far_client_thread *thread = atomic_load(&client->threads);
	unsigned nr = client->set.nr_nodes * FAR_NR_CLASSES;

	for (; thread; thread = thread->next) {
		for (unsigned i = 0; i < nr; i++) {
			struct far_magazine *magazine = atomic_load(&thread->magazine[i]);
			uint32_t have = magazine ? atomic_load(&magazine->nr) : 0;

			for (uint32_t k = 0; k < have; k++)
				each(arg, atomic_load(&magazine->addr[k]));
		}
	}
}

/* Fills a magazine to its half from the heap; the number of blocks in it. */
static unsigned magazine_fill(struct far_task *task, struct far_client *client,
			      struct far_magazine *magazine, unsigned node,
			      unsigned class)
{
	uint64_t addr[FAR_MAX_MAGAZINE];
	uint32_t half = (magazine->cap + 1) / 2, have;
	unsigned nr = 0;

	far_heap_lock(task, client);
	/* Other tasks of the thread may have filled it while this one waited. */
	have = magazine_nr(magazine);
	if (have < half)
		nr = far_heap_take(&client->heap, node, class, addr, half - have);
	magazine_push(magazine, addr, nr);
	far_heap_unlock(client);
	return have + nr;
}

/* Something to grow on one node; again when the maps had something. With grow_lock. */
static int grow_locked(struct far_task *task, struct far_client *client, unsigned node,
		       uint64_t size, uint64_t *ret_addr)
{
	const struct far_sb *sb = &client->sb[node];
	uint64_t chunk = sb->chunk_size;
	unsigned class = far_class_of(sb, size);

	if (class)
		return far_grow_slab(task, client, node, class);
	if (size <= chunk)
		return far_grow_run(task, client, node, far_pages_of(sb, size),
				    ret_addr);
	return far_grow_span(task, client, node, (size + chunk - 1) / chunk, ret_addr);
}

/* What others have set free in our chunks, and pages that hold nothing. With grow_lock. */
static int maps_reclaim(struct far_task *task, struct far_client *client)
{
	bool raced;
	int err = far_collect_maps(task, client, true, &raced);

	return err ? err : far_trim(task, client, FAR_TRIM_EMPTY);
}

/*
 * Chunks of clients that have died, before the sweep comes to them: it looks again for
 * what is lost there. And spans without an owner. -ENOSPC: there are none.
 */
static int dead_reclaim(struct far_task *task, struct far_client *client)
{
	bool got;
	int err = far_scavenge(task, client, atomic_load(&client->wanted), true, &got);

	if (err)
		return err;
	if (!got)
		return -ENOSPC;
	atomic_store(&client->resweep, true);
	return maps_reclaim(task, client);
}

/* Another task may hold it for long: it waits for a memory node, or checks the space. */
static int grow_gate(struct far_task *task, struct far_client *client)
{
	while (atomic_exchange_explicit(&client->grow_lock, true, memory_order_acquire)) {
		if (far_op_may_stop(task))
			return -ETIME;
		far_sleep(task, FAR_GROW_NS);
	}
	return 0;
}

/*
 * A block that no magazine has. Of a class: fills the magazine and returns 0 without a
 * block.
 */
static int alloc_grow(struct far_task *task, struct far_client *client, unsigned node,
		      uint64_t size, struct far_magazine *magazine, uint64_t *ret_addr)
{
	static int (*const reclaim[])(struct far_task *, struct far_client *) = {
		maps_reclaim, dead_reclaim,
	};
	unsigned class = far_class_of(&client->sb[node], size);
	int err = grow_gate(task, client);

	if (err)
		return err;
	/* Somebody may have grown it while this task waited. */
	if (magazine && magazine_fill(task, client, magazine, node, class))
		goto unlock;
	err = grow_locked(task, client, node, size, ret_addr);
	for (unsigned i = 0; i < 2 && err == -ENOSPC; i++) {
		err = reclaim[i](task, client);
		if (!err && magazine &&
		    magazine_fill(task, client, magazine, node, class))
			goto unlock;
		if (!err)
			err = grow_locked(task, client, node, size, ret_addr);
	}
	if (!err && magazine)
		magazine_fill(task, client, magazine, node, class);
	if (err == -ENOSPC)
		far_full_explain(task, client, node, size);
unlock:
	far_gate_unlock(&client->grow_lock);
	return err;
}

static int alloc_class(struct far_task *task, struct far_client *client, unsigned node,
		       unsigned class, uint64_t size, uint64_t *ret_addr)
{
	struct far_magazine *magazine =
		magazine_get(far_task_client_thread(task), node, class);
	int err;

	if (!magazine)
		return -ENOMEM;
	while (!magazine_nr(magazine)) {
		if (magazine_fill(task, client, magazine, node, class))
			break;
		err = alloc_grow(task, client, node, size, magazine, ret_addr);
		if (err)
			return err;
	}
	*ret_addr = magazine_pop(magazine);
	return 0;
}

static int alloc_on(struct far_task *task, struct far_client *client, unsigned node,
		    uint64_t size, uint64_t *ret_addr)
{
	unsigned class = far_class_of(&client->sb[node], size);

	if (class)
		return alloc_class(task, client, node, class, size, ret_addr);
	return alloc_grow(task, client, node, size, NULL, ret_addr);
}

int far_block_alloc(struct far_task *task, unsigned node, uint64_t size, uint64_t *ret_addr)
{
	struct far_client *client = far_task_client(task);
	struct far_client_thread *thread = far_task_client_thread(task);
	unsigned nr = client->set.nr_nodes;
	uint64_t addr = FAR_NIL;
	int err = -ENOSPC;

	if (!size || (node != FAR_ANY_NODE && node >= nr))
		return -EINVAL;
	if (node != FAR_ANY_NODE) {
		err = alloc_on(task, client, node, size, &addr);
	} else {
		/* not on a node that is away, as long as another one has room */
		for (unsigned i = 0; i < nr && (err == -ENOSPC || err == -EHOSTDOWN); i++) {
			node = thread->turn++ % nr;
			if (!far_client_lost(client, node))
				err = alloc_on(task, client, node, size, &addr);
		}
	}
	if (!err)
		*ret_addr = addr;
	return err;
}

uint64_t far_alloc_room(struct far_task *task, unsigned node, uint64_t size)
{
	const struct far_sb *sb = &far_task_client(task)->sb[node];
	uint64_t chunk = sb->chunk_size;
	unsigned class = far_class_of(sb, size);

	if (class)
		return far_class_size(class);
	return size <= chunk ? far_pages_of(sb, size) << sb->page_shift :
			       (size + chunk - 1) / chunk * chunk;
}

static int free_class(struct far_task *task, struct far_client *client, uint64_t addr,
		      unsigned class)
{
	struct far_magazine *magazine = magazine_get(far_task_client_thread(task),
						     far_addr_node(addr), class);

	/*
	 * While a sweep is on, the heap tells it. Else into the magazine; then looked
	 * again, so that either the sweep sees it there or this task sees the sweep:
	 * both are seq_cst.
	 */
	if (!magazine || atomic_load(&client->sweeping))
		return far_give_back(task, client, addr, far_class_size(class));
	while (magazine_nr(magazine) == magazine->cap)
		magazine_return(task, client, magazine, class, magazine->cap / 2);
	magazine_push(magazine, &addr, 1);
	if (!atomic_load(&client->sweeping))
		return 0;
	return far_give_back(task, client, magazine_pop(magazine), far_class_size(class));
}

int far_block_free(struct far_task *task, uint64_t addr, uint64_t size)
{
	struct far_client *client = far_task_client(task);
	unsigned class;
	int err;

	addr = far_addr_bare(addr);
	if (!size || !far_heap_chunk(&client->heap, addr))
		return -EINVAL;
	/* a WRITE of it may come still, and the next one who has it would find that there */
	if (far_is_loose(task, far_addr_node(addr)))
		return far_retire(task, addr, size);
	class = far_class_of(&client->sb[far_addr_node(addr)], size);
	if (class)
		return free_class(task, client, addr, class);
	far_gate_lock(task, &client->grow_lock, FAR_GROW_NS);
	err = far_give_back(task, client, addr, size);
	far_gate_unlock(&client->grow_lock);
	return err;
}

void far_alloc_lost(struct far_task *task)
{
	atomic_store(&far_task_client(task)->lost, true);
}
