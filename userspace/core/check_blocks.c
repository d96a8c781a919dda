// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking blocks: reachable, free for everybody, free in somebody's hands, or lost.
 *
 * A run's block and a span's are block 0 of their first page.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "dir.h"
#include "type.h"

struct check_walk {
	struct far_walk walk;
	struct check *check;
	const char *name;	/* of the structure */
};

/* Where a block of that size must be: page and number, or a reason why it cannot be. */
static const char *block_place(const struct check_node *n, uint64_t off, uint64_t size,
			       uint32_t *ret_page, unsigned *ret_block)
{
	unsigned class = far_class_of(n->sb, size);
	uint64_t word, chunk, in;
	uint32_t page;

	if (!size || !far_off_in_chunks(n->sb, off))
		return "it lies in no chunk";
	chunk = n->chunk[far_chunk_at(n->sb, off)];
	page = far_page_at(n->sb, off);
	word = n->page[page];
	in = off - far_page_off(n->sb, page);
	*ret_page = page;
	*ret_block = 0;
	if (size > n->sb->chunk_size)
		return far_chunk_state(chunk) == FAR_CHUNK_SPAN && !in &&
		       !(page % far_chunk_pages(n->sb)) &&
		       far_chunk_count(chunk) == (size + n->sb->chunk_size - 1) /
						 n->sb->chunk_size ?
		       NULL : "no span of that size begins there";
	if (far_chunk_state(chunk) != FAR_CHUNK_PAGES)
		return "its chunk is not cut into pages";
	if (!class)
		return far_page_state(word) == FAR_PAGE_RUN && !in &&
		       far_page_count(word) == far_pages_of(n->sb, size) ?
		       NULL : "no run of that size begins there";
	if (far_page_state(word) != FAR_PAGE_SLAB || far_page_class(word) != class)
		return "its page is of another class";
	*ret_block = in / far_class_size(class);
	return in % far_class_size(class) || *ret_block >= far_class_blocks(n->sb, class) ?
	       "no block begins there" : NULL;
}

/* A block that a walk has reached. */
static int walk_block(struct far_walk *walk, uint64_t addr, uint64_t size)
{
	struct check_walk *w = (struct check_walk *)walk;
	struct check *check = w->check;
	unsigned node = far_addr_node(addr), block;
	struct check_node *n = &check->node[node];
	const char *wrong;
	uint32_t page;

	if (node >= check->client->set.nr_nodes)
		wrong = "there is no such node";
	else
		wrong = block_place(n, far_addr_off(addr), size, &page, &block);
	if (!wrong && check_bit(n, n->seen, page, block))
		wrong = "it is reachable twice";
	else if (!wrong && check_bit(n, n->map, page, block))
		wrong = "it is reachable, and free";
	else if (!wrong && check_bit(n, n->held, page, block))
		wrong = "it is reachable, and free in a client's hands";
	if (wrong) {
		check_problem(check, "\"%s\": block 0x%" PRIx64 " of %" PRIu64
			      " bytes: %s", w->name, addr, size, wrong);
		return 0;
	}
	check_set(n, n->seen, page, block);
	return 0;
}

static void walk_problem(struct far_walk *walk, const char *text)
{
	struct check_walk *w = (struct check_walk *)walk;

	check_problem(w->check, "\"%s\": %s", w->name, text);
}

/* A structure that cannot be walked is a problem; its blocks seem lost then. */
static int walk_one(struct check *check, const struct far_dir_entry *entry)
{
	const struct far_type *type = far_type_find(entry->type);
	struct check_walk walk = { { walk_block, walk_problem }, check, entry->name };
	int err;

	if (!type || type->version != entry->version) {
		check_problem(check, "\"%s\": type %u, version %u is not known",
			      entry->name, entry->type, entry->version);
		return 0;
	}
	err = type->walk(check->task, entry, &walk.walk);
	if (err == -EBADMSG) {
		check_problem(check, "\"%s\": the %s is damaged", entry->name,
			      type->name);
		err = 0;
	}
	return err;
}

static int walk_all(struct check *check)
{
	struct check_walk walk = { { walk_block, walk_problem }, check, "(directory)" };
	struct far_dir_view dir;
	int err = far_dir_read(check->task, &dir);

	if (err == -EBADMSG) {
		check_problem(check, "directory: %s", far_strerror_last(check->task));
		return 0;
	}
	if (err)
		return err;
	for (unsigned i = 0; i < dir.nr_blocks; i++)
		walk_block(&walk.walk, dir.block[i], sizeof(struct far_dir_block));
	for (unsigned i = 0; i < dir.nr && !err; i++) {
		if (far_dir_is_good(&dir.entry[i]))
			err = walk_one(check, &dir.entry[i]);
		else if ((uint32_t)dir.entry[i].state)
			check_problem(check, "directory, entry %u: it is damaged", i);
	}
	far_dir_free(&dir);
	return err;
}

/* Counts a block that no walk has reached. */
static void block_judge(struct check *check, unsigned node, uint32_t page,
			unsigned block, uint64_t owner)
{
	const struct check_node *n = &check->node[node];

	check->sum.blocks++;
	if (check_bit(n, n->seen, page, block)) {
		check->sum.used++;
	} else if (check_bit(n, n->map, page, block)) {
		check->sum.free++;
		if (check_bit(n, n->held, page, block))
			check_problem(check, "node %u, page %u, block %u: it is free twice",
				      node, page, block);
	} else if (check_bit(n, n->held, page, block)) {
		check->sum.free++;
	} else if (check->others || (far_owner_number(owner) &&
				     (owner & FAR_OWNER_MASK) != check->client->owner)) {
		check->sum.retired++;	/* in the hands of a client that lives */
	} else {
		check->sum.leaked++;
		check_problem(check, "node %u, page %u, block %u: it is in no place: "
			      "neither reachable nor free", node, page, block);
	}
}

static void page_judge(struct check *check, unsigned node, uint32_t page,
		       uint64_t owner)
{
	const struct check_node *n = &check->node[node];
	uint64_t word = n->page[page];
	unsigned class = far_page_class(word), blocks = 0;

	if (far_page_state(word) == FAR_PAGE_RUN)
		blocks = 1;
	else if (far_page_state(word) == FAR_PAGE_SLAB && far_class_fits(n->sb, class))
		blocks = far_class_blocks(n->sb, class);
	for (unsigned b = 0; b < blocks; b++)
		block_judge(check, node, page, b, owner);
}

static void node_judge(struct check *check, unsigned node)
{
	const struct check_node *n = &check->node[node];
	uint32_t pages = far_chunk_pages(n->sb);

	for (uint32_t i = 0; i < n->sb->nr_chunks; i++) {
		uint64_t word = n->chunk[i];

		if (far_chunk_state(word) == FAR_CHUNK_SPAN)
			block_judge(check, node, i * pages, 0, word);
		for (uint32_t p = 0; far_chunk_state(word) == FAR_CHUNK_PAGES &&
		     p < pages; p++)
			page_judge(check, node, i * pages + p, word);
	}
}

int check_blocks(struct check *check)
{
	int err = walk_all(check);

	for (unsigned n = 0; n < check->client->set.nr_nodes && !err; n++)
		node_judge(check, n);
	return err;
}
