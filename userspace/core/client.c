// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Joining and leaving a space set, and the threads that take part.
 *
 * A client claims its number at the nodes first, so that each of them can tell when it
 * has ended, and by a CAS in the client table then.
 */
#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "../base/why.h"
#include "../space/format.h"
#include "client_priv.h"
#include "loose.h"
#include "owed.h"
#include "task.h"

#define LEAVE_ROUNDS	200u	/* to wait for what is retired to be free */

static int read_superblock(struct far_task *task, const struct far_client_set *set,
			   unsigned node, struct far_sb *sb, char *why, size_t len)
{
	const struct far_peer *peer = set->peer[node];
	uint64_t size = 0;
	size_t mark = far_buf_mark(task);
	void *buf = far_buf(task, sizeof(*sb));
	int err = buf ? far_fetch(task, far_addr(node, 0), buf, sizeof(*sb)) : -ENOMEM;

	for (unsigned r = 0; r < peer->nr_regions; r++) {
		const struct far_region *region = &peer->region[r];

		if (region->start + region->size > size)
			size = region->start + region->size;
	}
	if (!err)
		memcpy(sb, buf, sizeof(*sb));
	far_buf_release(task, mark);
	if (err)
		return far_why(why, len, err, "node %u: the superblock cannot be read: %s",
			       node, far_strerror(err));
	return far_sb_check(sb, size, why, len);
}

/* Learns which nodes are lost, before it looks at the others. */
static int read_losses(struct far_task *task, struct far_client *client, char *why, size_t len)
{
	struct far_losses *losses;
	size_t mark = far_buf_mark(task);
	int err = -ENOMEM;

	if (client->set.nr_nodes == 1)
		return 0;
	losses = far_buf(task, sizeof(*losses));
	if (losses)
		err = far_fetch(task, far_addr(0, FAR_SB_LOSSES), losses, sizeof(*losses));
	if (!err)
		client->losses = *losses;
	far_buf_release(task, mark);
	if (err)
		return far_why(why, len, err, "node 0: it cannot be read which nodes are lost: "
			       "%s", far_strerror(err));
	for (unsigned n = 1; n < client->set.nr_nodes; n++) {
		atomic_store(&client->head.lost[n], client->losses.nr[n] & 1);
		if (!client->set.peer[n] && !far_client_lost(client, n))
			return far_why(why, len, -EHOSTUNREACH, "node %u (\"%s\") of the set "
				       "cannot be attached, and was not declared lost", n,
				       client->set.node[n]);
	}
	return 0;
}

/* What a node's superblock would be: its part is not used. */
static int plan_superblock(const struct far_sb *arbiter, unsigned node, struct far_sb *sb,
			   char *why, size_t len)
{
	struct far_format format = {
		.name = arbiter->name, .size = arbiter->size,
		.chunk_size = arbiter->chunk_size, .max_clients = arbiter->max_clients,
		.nr_nodes = arbiter->nr_nodes, .node = node, .arbiter = arbiter->arbiter,
	};

	memcpy(format.set, arbiter->set, sizeof(format.set));
	return far_format_plan(&format, why, len, sb);
}

static int read_superblocks(struct far_task *task, struct far_client *client, char *why,
			    size_t len)
{
	unsigned nr = client->set.nr_nodes;
	int err = 0;

	for (unsigned n = 0; n < nr && !err; n++) {
		if (far_client_lost(client, n)) {
			err = plan_superblock(&client->sb[0], n, &client->sb[n], why, len);
			continue;
		}
		err = read_superblock(task, &client->set, n, &client->sb[n], why, len);
		if (!err)
			err = far_sb_same_set(&client->sb[0], &client->sb[n], n, why, len);
	}
	if (!err && client->sb[0].nr_nodes != nr)
		err = far_why(why, len, -EPROTO, "nodes of the space: %u, named: %u",
			      client->sb[0].nr_nodes, nr);
	if (!err)
		client->arbiter = client->sb[0].arbiter;
	return err;
}

/* Tells all nodes who we are; -EBUSY: somebody who lives is that one. */
static int claim_at_nodes(const struct far_client_set *set, unsigned number)
{
	const struct far_nic_ops *ops = set->nic->ops;
	int err = 0;

	for (unsigned n = 0; n < set->nr_nodes && ops->claim; n++) {
		if (!set->peer[n])
			continue;
		err = ops->claim(set->nic, set->peer[n], number);
		if (err) {
			while (n--)
				if (set->peer[n])
					ops->unclaim(set->nic, set->peer[n], number);
			break;
		}
	}
	return err;
}

static void unclaim_at_nodes(const struct far_client_set *set, unsigned number)
{
	for (unsigned n = 0; n < set->nr_nodes && set->nic->ops->unclaim; n++)
		if (set->peer[n])
			set->nic->ops->unclaim(set->nic, set->peer[n], number);
}

static bool entry_is_open(const struct far_client_entry *entry)
{
	unsigned incarnation = far_owner_incarnation(entry->claim);

	return incarnation < FAR_MAX_INCARNATION &&
	       (!far_claim_taken(entry->claim) || entry->fenced >= incarnation);
}

/*
 * The open entry with the least incarnation from `from` on, so that numbers wear
 * evenly; 0: none is open.
 */
static unsigned pick_number(const struct far_client_entry *entry, unsigned max)
{
	unsigned best = 0;

	for (unsigned n = 1; n <= max; n++) {
		if (entry_is_open(&entry[n]) &&
		    (!best || far_owner_incarnation(entry[n].claim) <
			      far_owner_incarnation(entry[best].claim)))
			best = n;
	}
	return best;
}

static uint64_t entry_at(const struct far_client *client, unsigned number)
{
	return far_addr(client->arbiter,
			far_client_entry_off(&client->sb[client->arbiter], number));
}

/* Tries to become number, whose entry was read: 1 done, 0 another was faster. */
static int take_number(struct far_task *task, struct far_client *client,
		       unsigned number, const struct far_client_entry *entry)
{
	unsigned incarnation = far_owner_incarnation(entry->claim) + 1;
	uint64_t found;
	int err = claim_at_nodes(&client->set, number);

	if (err)
		return err == -EBUSY ? 0 : err;
	err = far_swap(task, entry_at(client, number), entry->claim,
		       far_claim(incarnation, 1), &found);
	if (err || found != entry->claim) {
		unclaim_at_nodes(&client->set, number);
		return err;
	}
	client->number = number;
	client->incarnation = incarnation;
	client->owner = far_owner(number, incarnation);
	return 1;
}

/* One look at the table, and one try at each number that is open. */
static int try_numbers(struct far_task *task, struct far_client *client,
		       struct far_client_entry *entry, unsigned max)
{
	unsigned n;
	int err = far_fetch(task, entry_at(client, 0), entry, (max + 1) * sizeof(*entry));

	while (!err && (n = pick_number(entry, max))) {
		err = take_number(task, client, n, &entry[n]);
		entry[n].claim = far_claim(FAR_MAX_INCARNATION, 1);
	}
	return err;
}

static int claim_number(struct far_task *task, struct far_client *client, char *why,
			size_t len)
{
	unsigned max = client->sb[client->arbiter].max_clients;
	size_t mark = far_buf_mark(task);
	struct far_client_entry *entry = far_buf(task, (max + 1) * sizeof(*entry));
	int err = entry ? try_numbers(task, client, entry, max) : -ENOMEM;

	far_buf_release(task, mark);
	if (err > 0)
		return 0;
	if (err)
		return far_why(why, len, err, "no client number could be claimed: %s",
			       far_strerror(err));
	return far_why(why, len, -EUSERS, "no client number is free; there are: %u", max);
}

static void client_free(struct far_client *client)
{
	struct far_client_thread *thread, *next;

	for (thread = atomic_load(&client->threads); thread; thread = next) {
		unsigned nr = client->set.nr_nodes * FAR_NR_CLASSES;

		next = thread->next;
		for (unsigned i = 0; i < nr; i++)
			free(atomic_load(&thread->magazine[i]));
		free(thread->magazine);
		free(thread->task);
		far_limbo_fini(&thread->limbo);
		free(thread);
	}
	far_owed_forget(client);
	free(client->head.lost);
	free(client->foreign);
	free(client->full);
	free(client->hint);
	free(client->sb);
	free(client);
}

static struct far_client *client_new(const struct far_client_set *set)
{
	struct far_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->head.forks = far_forks;
	client->set = *set;
	client->sb = calloc(set->nr_nodes, sizeof(*client->sb));
	client->hint = calloc(set->nr_nodes, sizeof(*client->hint));
	client->full = calloc(set->nr_nodes, sizeof(*client->full));
	client->head.lost = calloc(set->nr_nodes, sizeof(*client->head.lost));
	if (!client->head.lost || !client->sb || !client->hint || !client->full) {
		client_free(client);
		return NULL;
	}
	/* so that the first look at deaths, whatever they are, lets it sweep */
	atomic_store(&client->swept, UINT64_MAX);
	return client;
}

/* Handles and addresses of before mean nothing in a space that was made anew. */
static int check_same(const struct far_client *client, const struct far_client *before,
		      char *why, size_t len)
{
	bool same = true;

	for (unsigned n = 0; before && n < client->set.nr_nodes; n++)
		same &= far_client_lost(client, n) || far_client_lost(before, n) ||
			!memcmp(&client->sb[n], &before->sb[n], sizeof(*client->sb));
	if (same)
		return 0;
	return far_why(why, len, -ESTALE, "space \"%s\" was made anew since it was opened: "
		       "what was in it is gone; close this client and open another one",
		       client->set.space);
}

int far_client_join(struct far_task *task, const struct far_client_set *set,
		    const struct far_client *before, char *why, size_t why_len,
		    struct far_client **ret_client)
{
	struct far_client *client = client_new(set);
	int err;

	if (!client)
		return far_why(why, why_len, -ENOMEM, "no memory for a client");
	err = read_losses(task, client, why, why_len);
	if (!err)
		err = read_superblocks(task, client, why, why_len);
	if (!err)
		err = check_same(client, before, why, why_len);
	if (err)
		goto free_client;
	err = far_heap_init(&client->heap, client->sb, set->nr_nodes);
	if (err) {
		far_why(why, why_len, err, "no memory for the tables of chunks");
		goto free_client;
	}
	far_tend_init(client);
	/* Clients that died while nobody lived to fence them. */
	far_tend(client);
	err = claim_number(task, client, why, why_len);
	if (err)
		goto fini_tend;
	err = far_round_park(task, client);
	if (err) {
		far_why(why, why_len, err, "the client's entry cannot be written: %s",
			far_strerror(err));
		goto unclaim;
	}
	*ret_client = client;
	return 0;
unclaim:
	unclaim_at_nodes(&client->set, client->number);
fini_tend:
	far_tend_fini(client);
	far_heap_fini(&client->heap);
free_client:
	client_free(client);
	return err;
}

/* Rounds until nothing is in limbo. */
static int leave_drain(struct far_task *task, struct far_client *client)
{
	bool idle = false;
	int err = far_round_begin(task, client);

	for (unsigned i = 0; !err && !idle && i < LEAVE_ROUNDS; i++) {
		far_tend(client);
		err = far_round(task, client);
		if (!err)
			err = far_collect(task, client, &idle);
		if (!err && !idle)
			far_sleep(task, FAR_ROUND_NS);
	}
	return err ? err : idle ? 0 : -EAGAIN;
}

void far_client_leave(struct far_task *task, struct far_client *client)
{
	uint64_t claim = far_claim(client->incarnation, 1), found;
	int err;

	far_service_join(task, client);
	err = far_client_stale(client) ? -ESTALE : 0;
	/* what is loose ends with the fence of this client, for which its entry waits */
	if (!err && far_is_any_loose(task))
		err = -EBUSY;
	if (!err)
		err = leave_drain(task, client);
	if (!err) {
		far_magazines_return(task, client);
		err = far_trim(task, client, FAR_TRIM_ALL);
	}
	if (!err)
		err = far_left_publish(task, client);
	if (!err)
		err = far_round_park(task, client);
	if (!err)
		far_swap(task, entry_at(client, client->number), claim,
			 far_claim(client->incarnation, 0), &found);
	far_client_forsake(client);
}

void far_client_forsake(struct far_client *client)
{
	/* It ends by itself, since no thread runs. */
	atomic_store(&client->closes, true);
	if (atomic_load(&client->service) != FAR_SERVICE_NONE)
		far_thread_join(client->service_thread);
	far_client_unclaim(client);
	far_client_bury(client);
}

bool far_client_lacks(const struct far_client *client)
{
	return atomic_load(&client->lacks);
}

void far_client_resign(struct far_task *task, struct far_client *client)
{
	uint64_t found;

	far_swap(task, entry_at(client, client->number), far_claim(client->incarnation, 1),
		 far_claim(client->incarnation, 0), &found);
	far_client_cut(client);
}

void far_client_unclaim(struct far_client *client)
{
	unclaim_at_nodes(&client->set, client->number);
}

void far_client_bury(struct far_client *client)
{
	far_tend_fini(client);
	far_heap_fini(&client->heap);
	client_free(client);
}

/* A thread's object that nobody uses any more, or a new one. */
static struct far_client_thread *thread_get(struct far_client *client)
{
	struct far_client_thread *thread = atomic_load(&client->threads);
	bool unused = false;

	for (; thread; thread = thread->next) {
		unused = false;
		if (atomic_compare_exchange_strong(&thread->in_use, &unused, true))
			return thread;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->magazine = calloc(client->set.nr_nodes * FAR_NR_CLASSES,
				  sizeof(*thread->magazine));
	if (!thread->magazine || far_limbo_init(&thread->limbo)) {
		free(thread->magazine);
		free(thread);
		return NULL;
	}
	thread->of = client;
	atomic_store(&thread->in_use, true);
	thread->next = atomic_load(&client->threads);
	while (!atomic_compare_exchange_weak(&client->threads, &thread->next, thread))
		;
	return thread;
}

static void thread_put(struct far_client_thread *thread)
{
	atomic_store(&thread->in_use, false);
}

struct far_client_thread *far_client_thread_get(struct far_client *client,
						unsigned nr_tasks)
{
	struct far_client_thread *thread = thread_get(client);
	struct far_epoch_task *tasks;

	if (!thread)
		return NULL;
	tasks = realloc(thread->task, nr_tasks * sizeof(*tasks));
	if (!tasks) {
		thread_put(thread);
		return NULL;
	}
	memset(tasks, 0, nr_tasks * sizeof(*tasks));
	thread->task = tasks;
	return thread;
}

int far_client_thread_start(struct far *far, struct far_client *client,
			    unsigned nr_tasks, struct far_client_thread **ret_thread)
{
	struct far_client_thread *thread = far_client_thread_get(client, nr_tasks);
	int err;

	if (!thread)
		return -ENOMEM;
	atomic_fetch_add(&client->nr_threads, 1);
	err = far_service_start(far, client);
	if (err) {
		atomic_fetch_sub(&client->nr_threads, 1);
		thread_put(thread);
		return err;
	}
	*ret_thread = thread;
	return 0;
}

void far_client_thread_stop(struct far_client_thread *thread)
{
	struct far_client *client = thread->of;

	thread_put(thread);
	atomic_fetch_sub(&client->nr_threads, 1);
}
