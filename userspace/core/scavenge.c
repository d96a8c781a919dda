// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Scavenging: a walk over all chunk tables that adopts what nobody uses any more.
 * Several clients may do it at the same time; each chunk goes to one of them.
 */
#include <string.h>

#include "client_priv.h"
#include "task.h"

#define TABLE_PIECE	512u	/* chunk words in one READ */

struct scavenger {
	struct far_task *task;
	struct far_client *client;
	uint32_t wanted;			/* as in a word's count */
	bool for_room;
	const struct far_client_entry *entry;	/* the client table */
	unsigned max_clients;
	uint32_t *held;				/* chunks of each of them on this node */
};

/* True if a word's owner is another client that is dead. */
static bool owner_is_dead(const struct scavenger *s, uint64_t word)
{
	unsigned number = far_owner_number(word);

	return number && number <= s->max_clients &&
	       (word & FAR_OWNER_MASK) != s->client->owner &&
	       far_entry_is_dead(&s->entry[number], far_owner_incarnation(word));
}

static bool is_for_us(const struct scavenger *s, unsigned node, uint32_t idx,
		      uint64_t word)
{
	enum far_chunk_state state = far_chunk_state(word);

	if (state == FAR_CHUNK_FREE || state >= FAR_CHUNK_NR_STATES)
		return false;
	/* Ours in far memory only, since a verb failed. */
	if ((word & FAR_OWNER_MASK) == s->client->owner)
		return state != FAR_CHUNK_TAIL &&
		       !atomic_load(&s->client->heap.node[node].chunk[idx]);
	if (far_owner_number(word))
		return owner_is_dead(s, word);
	return state == FAR_CHUNK_SPAN ? s->wanted || s->for_room :
	       state == FAR_CHUNK_PAGES && far_chunk_count(word) != s->wanted;
}

static int node_scavenge(const struct scavenger *s, unsigned node, bool *ret_got)
{
	uint32_t nr = s->client->sb[node].nr_chunks, len;
	size_t mark = far_buf_mark(s->task);
	uint64_t *words = far_buf(s->task, TABLE_PIECE * sizeof(*words));
	struct far_full full = { .free = 0 };
	int err = words ? 0 : -ENOMEM;

	memset(s->held, 0, (s->max_clients + 1) * sizeof(*s->held));
	for (uint32_t first = 0; first < nr && err >= 0; first += len) {
		len = nr - first < TABLE_PIECE ? nr - first : TABLE_PIECE;
		err = far_fetch(s->task, far_chunk_word_addr(s->client, node, first),
				words, len * sizeof(*words));
		for (uint32_t i = 0; i < len && err >= 0; i++) {
			far_full_count(s->client, words[i], s->held, &full);
			if (!is_for_us(s, node, first + i, words[i]))
				continue;
			err = far_adopt(s->task, s->client, node, first + i, words[i]);
			*ret_got |= err >= 0;
		}
	}
	far_buf_release(s->task, mark);
	if (err < 0)
		return err;
	s->client->full[node] = full;
	return 0;
}

int far_scavenge(struct far_task *task, struct far_client *client, uint64_t wanted,
		 bool for_room, bool *ret_got)
{
	const struct far_sb *sb = &client->sb[client->arbiter];
	size_t mark = far_buf_mark(task), len = (sb->max_clients + 1) *
					       sizeof(struct far_client_entry);
	struct far_client_entry *entry = far_buf(task, len);
	uint32_t *held = far_buf(task, (sb->max_clients + 1) * sizeof(*held));
	const struct scavenger s = {
		.task = task, .client = client, .wanted = wanted & FAR_CHUNK_COUNT,
		.for_room = for_room, .entry = entry, .max_clients = sb->max_clients,
		.held = held,
	};
	int err = entry && held ? far_fetch(task, far_addr(client->arbiter, sb->client_off),
				    entry, len) : -ENOMEM;

	*ret_got = false;
	for (unsigned n = 0; n < client->set.nr_nodes && !err; n++)
		if (!far_client_lost(client, n))
			err = node_scavenge(&s, n, ret_got);
	far_buf_release(task, mark);
	return err;
}
