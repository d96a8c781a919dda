// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counting chunks, clients and names.
 */
#include "summary.h"

#include <errno.h>
#include <string.h>

#include "format.h"
#include "geometry.h"

static uint64_t word_at(const void *memory, uint64_t off)
{
	return __atomic_load_n((const uint64_t *)((const char *)memory + off),
			       __ATOMIC_ACQUIRE);
}

static int client_lives(const void *memory, uint64_t entry)
{
	uint64_t claim = word_at(memory, entry);
	uint64_t fenced = word_at(memory, entry +
				  offsetof(struct far_client_entry, fenced));

	return far_claim_taken(claim) && far_owner_incarnation(claim) > fenced;
}

void far_tally_some(const void *memory, const struct far_sb *sb, uint32_t most,
		    struct far_tally *tally)
{
	for (; most && tally->at < sb->nr_chunks; most--, tally->at++)
		tally->part += !!word_at(memory, far_chunk_word_off(sb, tally->at));
	if (tally->at < sb->nr_chunks)
		return;
	tally->whole = tally->part;
	tally->at = tally->part = 0;
}

unsigned far_dir_part(const void *memory, const struct far_sb *sb, uint64_t addr,
		      const struct far_dir_entry **ret_entry, uint64_t *ret_next)
{
	uint64_t at = addr == FAR_NIL ? FAR_SB_SHARED + offsetof(struct far_shared, dir_more) :
					far_addr_off(addr);
	uint64_t next = word_at(memory, at);

	*ret_next = far_dir_block_fits(sb, next) ? next : FAR_NIL;
	*ret_entry = (const void *)((const char *)memory + (addr == FAR_NIL ? sb->dir_off :
				    at + offsetof(struct far_dir_block, entry)));
	return addr == FAR_NIL ? FAR_NR_NAMES : FAR_DIR_ENTRIES;
}

/* Counts up to `most` more parts of the directory, and ends behind the last one. */
static void names_some(const void *memory, const struct far_sb *sb, uint32_t most,
		       struct far_names_tally *tally)
{
	do {
		const struct far_dir_entry *entry;
		unsigned nr = far_dir_part(memory, sb, tally->next, &entry, &tally->next);

		for (unsigned i = 0; i < nr; i++)
			tally->part += !!(uint32_t)word_at(&entry[i].state, 0);
	} while (tally->next != FAR_NIL && ++tally->blocks < FAR_MAX_DIR_BLOCKS && --most);
	if (tally->next == FAR_NIL || tally->blocks >= FAR_MAX_DIR_BLOCKS)
		*tally = (struct far_names_tally){ .whole = tally->part };
}

void far_summary_of(const void *memory, const struct far_sb *sb, struct far_tally *tally,
		    struct far_summary *ret_summary)
{
	struct far_summary sum = { .size = sb->size, .sb = *sb };

	far_tally_some(memory, sb, FAR_TALLY_STEP, tally);
	sum.used = (uint64_t)(tally->whole ? tally->whole : tally->part) * sb->chunk_size;
	for (unsigned n = 1; sb->client_off && n <= sb->max_clients; n++)
		sum.clients += client_lives(memory, far_client_entry_off(sb, n));
	if (sb->dir_off)
		names_some(memory, sb, FAR_TALLY_DIR_STEP, &tally->names);
	sum.names = tally->names.whole ? tally->names.whole : tally->names.part;
	*ret_summary = sum;
}

int far_summary(const void *memory, uint64_t size, struct far_summary *ret_summary)
{
	struct far_tally tally = { .at = 0 };
	struct far_sb sb;

	if (size < FAR_SB_LEN)
		return -EPROTO;
	memcpy(&sb, memory, sizeof(sb));
	if (far_sb_check(&sb, size, NULL, 0))
		return -EPROTO;
	far_tally_some(memory, &sb, UINT32_MAX, &tally);
	if (sb.dir_off)
		names_some(memory, &sb, UINT32_MAX, &tally.names);
	far_summary_of(memory, &sb, &tally, ret_summary);
	return 0;
}
