// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Full spaces, in words: how many chunks a node has, and who has them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "client_priv.h"
#include "task.h"

void far_full_count(const struct far_client *client, uint64_t word, uint32_t *held,
		    struct far_full *full)
{
	unsigned number = far_owner_number(word);
	enum far_chunk_state state = far_chunk_state(word);
	uint32_t nr = state == FAR_CHUNK_SPAN ? far_chunk_count(word) : 1;

	if (state == FAR_CHUNK_TAIL)	/* counted with the first of its span */
		return;
	if (state == FAR_CHUNK_FREE) {
		full->free++;
	} else if (!number) {
		full->left += nr;
	} else if (number == client->number) {
		full->mine += nr;
	} else if (number <= client->sb[client->arbiter].max_clients) {
		full->others += nr;
		held[number] += nr;
		if (held[number] > full->most) {
			full->most = held[number];
			full->most_client = number;
		}
	}
}

int far_full_explain(struct far_task *task, const struct far_client *client, unsigned node,
		     uint64_t size)
{
	const struct far_sb *sb = &client->sb[node];
	const struct far_full *full = &client->full[node];
	char most[64] = "", row[64] = "";

	if (full->most)
		snprintf(most, sizeof(most), " (client %u has %u)", full->most_client,
			 full->most);
	if (full->free)
		snprintf(row, sizeof(row), ", and not %" PRIu64 " in a row",
			 (size + sb->chunk_size - 1) / sb->chunk_size);
	far_task_explain(task, "node %u has no room for %" PRIu64 " bytes: of its %u chunks of %"
			 PRIu64 " KiB this client has %u, others have %u%s, nobody has %u, and "
			 "%u are free%s", node, size, sb->nr_chunks, sb->chunk_size >> 10,
			 full->mine, full->others, most, full->left, full->free, row);
	return -ENOSPC;
}
