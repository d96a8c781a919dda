/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where things are in a space, from its superblock: offsets in the node's memory.
 */
#ifndef FAR_SPACE_GEOMETRY_H
#define FAR_SPACE_GEOMETRY_H

#include "layout.h"

static inline uint64_t far_page_size(const struct far_sb *sb)
{
	return UINT64_C(1) << sb->page_shift;
}

/* Words of a page's map. */
static inline uint32_t far_map_words(const struct far_sb *sb)
{
	return 1u << (sb->page_shift - FAR_MAP_SHIFT);
}

static inline uint32_t far_chunk_pages(const struct far_sb *sb)
{
	return sb->chunk_size >> sb->page_shift;
}

static inline uint32_t far_nr_pages(const struct far_sb *sb)
{
	return sb->nr_chunks * far_chunk_pages(sb);
}

/* True if off lies in a chunk. */
static inline int far_off_in_chunks(const struct far_sb *sb, uint64_t off)
{
	return off >= sb->data_off &&
	       off - sb->data_off < sb->nr_chunks * sb->chunk_size;
}

/* The chunk, and the page of the node, in which an offset lies. */
static inline uint32_t far_chunk_at(const struct far_sb *sb, uint64_t off)
{
	return (off - sb->data_off) / sb->chunk_size;
}

static inline uint32_t far_page_at(const struct far_sb *sb, uint64_t off)
{
	return (off - sb->data_off) >> sb->page_shift;
}

static inline uint64_t far_chunk_off(const struct far_sb *sb, uint32_t chunk)
{
	return sb->data_off + chunk * sb->chunk_size;
}

static inline uint64_t far_page_off(const struct far_sb *sb, uint32_t page)
{
	return sb->data_off + ((uint64_t)page << sb->page_shift);
}

/* Offsets of the words that describe chunk and page. */
static inline uint64_t far_chunk_word_off(const struct far_sb *sb, uint32_t chunk)
{
	return sb->chunk_off + chunk * UINT64_C(8);
}

static inline uint64_t far_page_word_off(const struct far_sb *sb, uint32_t page)
{
	return sb->page_off + page * UINT64_C(8);
}

static inline uint64_t far_map_off(const struct far_sb *sb, uint32_t page)
{
	return sb->map_off + (uint64_t)page * far_map_words(sb) * 8;
}

static inline uint64_t far_client_entry_off(const struct far_sb *sb, unsigned number)
{
	return sb->client_off + number * sizeof(struct far_client_entry);
}

static inline uint64_t far_dir_entry_off(const struct far_sb *sb, unsigned idx)
{
	return sb->dir_off + idx * sizeof(struct far_dir_entry);
}

/* True if a block of the directory can be at that far address. */
static inline int far_dir_block_fits(const struct far_sb *sb, uint64_t addr)
{
	uint64_t off = far_addr_off(addr);

	return far_addr_node(addr) == sb->arbiter && !(off % 64) && far_off_in_chunks(sb, off) &&
	       far_off_in_chunks(sb, off + sizeof(struct far_dir_block) - 1);
}

#endif
