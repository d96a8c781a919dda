// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Formatting: superblock and empty tables.
 */
#include "format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <odrp/far.h>
#include <xxhash.h>

#include "../base/why.h"
#include "geometry.h"

static uint64_t align_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static uint64_t sb_sum(const struct far_sb *sb)
{
	return XXH3_64bits(sb, offsetof(struct far_sb, checksum));
}

/*
 * A client has whole chunks, and of each size class that it uses a page at least: there are
 * so many of both that all clients can have blocks of several sizes before half of the bytes
 * are used.
 */
#define CHUNKS_PER_CLIENT	4u
#define PAGES_PER_CLIENT	16u

/* The largest power of two from least to most of which size has nr; or least. */
static uint64_t largest_of(uint64_t size, uint64_t nr, uint64_t least, uint64_t most)
{
	uint64_t part = least;

	while (part < most && part * 2 * nr <= size)
		part *= 2;
	return part;
}

static uint64_t default_chunk(uint64_t size, unsigned max_clients)
{
	return largest_of(size, (uint64_t)max_clients * CHUNKS_PER_CLIENT, FAR_MIN_CHUNK,
			  FAR_MAX_CHUNK);
}

static uint32_t page_shift_for(uint64_t size, unsigned max_clients)
{
	return __builtin_ctzll(largest_of(size, (uint64_t)max_clients * PAGES_PER_CLIENT,
					  1u << FAR_MIN_PAGE_SHIFT,
					  1u << FAR_MAX_PAGE_SHIFT));
}

static int check_wish(const struct far_format *f, char *why, size_t len)
{
	size_t name = f->name ? strlen(f->name) : 0;

	if (!name || name > ODRP_FAR_NAME_MAX)
		return far_why(why, len, -EINVAL,
			       "name of %zu bytes: expected 1 to %d", name,
			       ODRP_FAR_NAME_MAX);
	if (f->size < FAR_MIN_SIZE || f->size > FAR_MAX_SIZE)
		return far_why(why, len, -EINVAL, "size %" PRIu64
			       ": expected 4 MiB to 1 TiB on each node", f->size);
	if (f->chunk_size &&
	    (f->chunk_size < FAR_MIN_CHUNK || f->chunk_size > FAR_MAX_CHUNK ||
	     f->chunk_size & (f->chunk_size - 1)))
		return far_why(why, len, -EINVAL, "chunk size %" PRIu64
			       ": expected a power of two, 64 KiB to 32 MiB",
			       f->chunk_size);
	if (f->max_clients > FAR_MAX_CLIENTS)
		return far_why(why, len, -EINVAL, "%u clients: expected 1 to %u",
			       f->max_clients, FAR_MAX_CLIENTS);
	if (!f->nr_nodes || f->nr_nodes > FAR_MAX_NODES)
		return far_why(why, len, -EINVAL, "%u nodes: expected 1 to %u",
			       f->nr_nodes, FAR_MAX_NODES);
	if (f->node >= f->nr_nodes || f->arbiter >= f->nr_nodes)
		return far_why(why, len, -EINVAL,
			       "node %u, arbiter %u: expected less than %u",
			       f->node, f->arbiter, f->nr_nodes);
	return 0;
}

/* The tables of nr_chunks chunks behind `off`; returns where the chunks begin. */
static uint64_t place_tables(struct far_sb *sb, uint64_t off, uint32_t nr_chunks)
{
	sb->nr_chunks = nr_chunks;
	sb->chunk_off = off;
	sb->page_off = align_up(sb->chunk_off + nr_chunks * UINT64_C(8), 64);
	sb->map_off = align_up(sb->page_off + far_nr_pages(sb) * UINT64_C(8), 64);
	sb->data_off = align_up(far_map_off(sb, far_nr_pages(sb)), 1u << FAR_MAX_PAGE_SHIFT);
	return sb->data_off;
}

static uint64_t place_arbiter(struct far_sb *sb)
{
	if (sb->node != sb->arbiter)
		return FAR_SB_LEN;
	sb->dir_off = FAR_SB_LEN;
	sb->client_off = far_dir_entry_off(sb, sb->nr_names);
	return far_client_entry_off(sb, sb->max_clients + 1);
}

int far_format_plan(const struct far_format *f, char *why, size_t why_len,
		    struct far_sb *ret_sb)
{
	struct far_sb sb = {
		.magic = FAR_SPACE_MAGIC, .version = FAR_SPACE_VERSION,
		.nr_names = FAR_NR_NAMES, .created = f->created,
	};
	int err = check_wish(f, why, why_len);
	uint32_t chunks;
	uint64_t off;

	if (err)
		return err;
	memcpy(sb.set, f->set, sizeof(sb.set));
	snprintf(sb.name, sizeof(sb.name), "%s", f->name);
	sb.size = f->size;
	sb.max_clients = f->max_clients ? f->max_clients : FAR_DEF_CLIENTS;
	sb.chunk_size = f->chunk_size ? f->chunk_size :
					default_chunk(f->size, sb.max_clients);
	sb.page_shift = page_shift_for(f->size, sb.max_clients);
	sb.nr_nodes = f->nr_nodes;
	sb.node = f->node;
	sb.arbiter = f->arbiter;
	off = place_arbiter(&sb);
	chunks = sb.size / sb.chunk_size;
	while (chunks && place_tables(&sb, off, chunks) +
	       chunks * sb.chunk_size > sb.size)
		chunks--;
	if (!chunks)
		return far_why(why, why_len, -ENOSPC, "size %" PRIu64
			       ": no chunk of %" PRIu64 " bytes fits behind the tables",
			       sb.size, sb.chunk_size);
	sb.checksum = sb_sum(&sb);
	*ret_sb = sb;
	return 0;
}

void far_format_write(void *memory, const struct far_sb *sb, bool zeroed)
{
	struct far_sb head = *sb;
	struct far_epoch_line *line;

	if (!zeroed)
		memset(memory, 0, sb->data_off);
	head.magic = 0;
	memcpy(memory, &head, sizeof(head));
	if (sb->node == sb->arbiter) {
		line = (void *)((char *)memory + FAR_SB_EPOCH);
		line->epoch = 1;
		line->safe = 1;
		line->flushed = FAR_EPOCH_IDLE;
	}
	__atomic_store_n(&((struct far_sb *)memory)->magic, sb->magic,
			 __ATOMIC_RELEASE);
}

/* Whether the offsets are those that a format gives. */
static bool sb_places_right(const struct far_sb *sb)
{
	struct far_sb want = *sb;

	want.dir_off = 0;
	want.client_off = 0;
	place_tables(&want, place_arbiter(&want), sb->nr_chunks);
	return !memcmp(&want, sb, sizeof(want));
}

static int sb_check_values(const struct far_sb *sb, uint64_t size, char *why,
			   size_t len)
{
	struct far_format f = {
		.name = sb->name, .size = sb->size, .chunk_size = sb->chunk_size,
		.max_clients = sb->max_clients, .nr_nodes = sb->nr_nodes,
		.node = sb->node, .arbiter = sb->arbiter,
	};

	if (sb->size > size)
		return far_why(why, len, -EPROTO, "the superblock says %" PRIu64
			       " bytes, the node has %" PRIu64, sb->size, size);
	if (!memchr(sb->name, 0, sizeof(sb->name)))
		return far_why(why, len, -EPROTO, "the name in the superblock has no end");
	if (!sb->chunk_size || !sb->max_clients || sb->nr_names != FAR_NR_NAMES ||
	    !sb->nr_chunks || sb->page_shift < FAR_MIN_PAGE_SHIFT ||
	    sb->page_shift > FAR_MAX_PAGE_SHIFT)
		return far_why(why, len, -EPROTO, "the superblock has a 0 or a number "
			       "that no format gives");
	if (check_wish(&f, why, len))
		return -EPROTO;
	if (sb->nr_chunks > sb->size / sb->chunk_size || !sb_places_right(sb) ||
	    sb->data_off + sb->nr_chunks * sb->chunk_size > sb->size)
		return far_why(why, len, -EPROTO,
			       "the superblock's tables are not where they belong");
	return 0;
}

int far_sb_check(const struct far_sb *sb, uint64_t size, char *why, size_t why_len)
{
	if (sb->magic != FAR_SPACE_MAGIC)
		return far_why(why, why_len, -EPROTO, "magic number %016" PRIx64
			       ": expected %016" PRIx64 ": this is no space",
			       sb->magic, FAR_SPACE_MAGIC);
	if (sb->version != FAR_SPACE_VERSION)
		return far_why(why, why_len, -EPROTO,
			       "layout version %u: expected %u: delete the space and create it "
			       "anew, or use it with the libfar that has made it",
			       sb->version, FAR_SPACE_VERSION);
	if (sb->checksum != sb_sum(sb))
		return far_why(why, why_len, -EPROTO, "the superblock's checksum is %016"
			       PRIx64 ": expected %016" PRIx64, sb->checksum,
			       sb_sum(sb));
	return sb_check_values(sb, size, why, why_len);
}

int far_sb_same_set(const struct far_sb *a, const struct far_sb *b, unsigned node,
		    char *why, size_t why_len)
{
	if (memcmp(a->set, b->set, sizeof(a->set)))
		return far_why(why, why_len, -EPROTO,
			       "node %u belongs to another set", node);
	if (b->node != node)
		return far_why(why, why_len, -EPROTO,
			       "node %u of the list is node %u of the set", node,
			       b->node);
	if (a->nr_nodes != b->nr_nodes || a->arbiter != b->arbiter)
		return far_why(why, why_len, -EPROTO,
			       "node %u says %u nodes and arbiter %u: expected %u and %u",
			       node, b->nr_nodes, b->arbiter, a->nr_nodes, a->arbiter);
	return 0;
}
