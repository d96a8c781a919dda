// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking the tables of a space: chunk words, page words, maps, clients.
 */
#include "check.h"

#include <inttypes.h>

static const char *state_name(enum far_chunk_state state)
{
	static const char *const name[] = { "free", "pages", "span", "tail" };

	return state < FAR_CHUNK_NR_STATES ? name[state] : "unknown";
}

static void check_owner(struct check *check, unsigned node, uint32_t idx, uint64_t word)
{
	unsigned number = far_owner_number(word), inc = far_owner_incarnation(word);
	unsigned max = check->client->sb[check->client->arbiter].max_clients;

	if (!number)
		return;
	if (number > max)
		check_problem(check, "node %u, chunk %u: its owner is client %u of %u",
			      node, idx, number, max);
	else if (far_entry_is_dead(&check->entry[number], inc))
		check_problem(check, "node %u, chunk %u: its owner, incarnation %u of "
			      "client %u, is dead", node, idx, inc, number);
}

/* A span with all its tails; returns its chunks. */
static uint32_t check_span(struct check *check, unsigned node, uint32_t idx)
{
	const struct check_node *n = &check->node[node];
	uint32_t count = far_chunk_count(n->chunk[idx]);

	if (!count || count > n->sb->nr_chunks - idx) {
		check_problem(check, "node %u, chunk %u: a span of %u chunks", node, idx,
			      count);
		return 1;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint64_t tail = n->chunk[idx + i];

		if (far_chunk_state(tail) != FAR_CHUNK_TAIL || far_chunk_count(tail) != i)
			check_problem(check, "node %u, chunk %u: is not part %u of the "
				      "span at chunk %u", node, idx + i, i, idx);
	}
	return count;
}

static int is_zero(const uint64_t *word, uint64_t nr)
{
	while (nr && !*word) {
		word++;
		nr--;
	}
	return !nr;
}

/* Pages of a chunk that has none must be blank, but for the bit of a span's block. */
static void check_blank(struct check *check, unsigned node, uint32_t idx, uint64_t skip)
{
	const struct check_node *n = &check->node[node];
	uint32_t pages = far_chunk_pages(n->sb), first = idx * pages;
	uint32_t words = far_map_words(n->sb);

	if (!is_zero(&n->page[first], pages))
		check_problem(check, "node %u, chunk %u: it is not cut into pages, but "
			      "its page words say so", node, idx);
	if (!is_zero(&n->map[first * words + skip], pages * words - skip))
		check_problem(check, "node %u, chunk %u: bits are set in its maps", node,
			      idx);
}

static uint32_t check_run(struct check *check, unsigned node, uint32_t page,
			  uint32_t left)
{
	const struct check_node *n = &check->node[node];
	uint32_t len = far_page_count(n->page[page]);

	if (!len || len > left) {
		check_problem(check, "node %u, page %u: a run of %u pages", node, page,
			      len);
		return 1;
	}
	for (uint32_t i = 1; i < len; i++) {
		if (far_page_state(n->page[page + i]) != FAR_PAGE_TAIL)
			check_problem(check, "node %u, page %u: is not part of the run "
				      "at page %u", node, page + i, page);
	}
	return len;
}

/* One page, or run of them; returns how many. */
static uint32_t check_page(struct check *check, unsigned node, uint32_t page,
			   uint32_t left)
{
	const struct check_node *n = &check->node[node];
	const uint64_t *map = &n->map[page * far_map_words(n->sb)];
	uint64_t word = n->page[page];
	unsigned class = far_page_class(word), blocks = 0;
	uint32_t len = 1;

	if (far_page_state(word) == FAR_PAGE_RUN) {
		len = check_run(check, node, page, left);
		blocks = 1;
	} else if (far_page_state(word) == FAR_PAGE_SLAB && far_class_fits(n->sb, class)) {
		blocks = far_class_blocks(n->sb, class);
	} else if (word) {
		check_problem(check, "node %u, page %u: its word is %016" PRIx64, node,
			      page, word);
		return 1;
	}
	for (unsigned b = blocks; b < far_map_words(n->sb) * 64; b++) {
		if (map[b / 64] >> b % 64 & 1)
			check_problem(check, "node %u, page %u: bit %u of its map is "
				      "set: it has %u blocks", node, page, b, blocks);
	}
	return len;
}

/* One chunk, or span of them; returns how many. */
static uint32_t check_chunk(struct check *check, unsigned node, uint32_t idx)
{
	const struct check_node *n = &check->node[node];
	uint32_t pages = far_chunk_pages(n->sb), first = idx * pages, count = 1;
	uint64_t word = n->chunk[idx];

	check->sum.chunks++;
	switch (far_chunk_state(word)) {
	case FAR_CHUNK_FREE:
		if (word)
			check_problem(check, "node %u, chunk %u: it is free, and its "
				      "word is %016" PRIx64, node, idx, word);
		check_blank(check, node, idx, 0);
		break;
	case FAR_CHUNK_PAGES:
		check_owner(check, node, idx, word);
		for (uint32_t i = 0; i < pages;)
			i += check_page(check, node, first + i, pages - i);
		break;
	case FAR_CHUNK_SPAN:
		check_owner(check, node, idx, word);
		count = check_span(check, node, idx);
		check_blank(check, node, idx, 1);
		break;
	default:
		check_problem(check, "node %u, chunk %u: state %s (word %016" PRIx64
			      ") belongs to no span", node, idx,
			      state_name(far_chunk_state(word)), word);
	}
	return count;
}

static int is_another(const struct check *check, unsigned number)
{
	const struct far_client_entry *entry = &check->entry[number];

	return number != check->client->number && far_claim_taken(entry->claim) &&
	       !far_entry_is_dead(entry, far_owner_incarnation(entry->claim));
}

static void check_clients(struct check *check)
{
	unsigned max = check->client->sb[check->client->arbiter].max_clients;

	for (unsigned n = 1; n <= max; n++) {
		const struct far_client_entry *entry = &check->entry[n];
		uint64_t inc = far_owner_incarnation(entry->claim);

		if (entry->claim != far_claim(inc, far_claim_taken(entry->claim)))
			check_problem(check, "client %u: its claim is %016" PRIx64, n,
				      entry->claim);
		if (is_another(check, n) && entry->flushed != FAR_EPOCH_IDLE)
			check->others++;
		if (entry->fenced > inc)
			check_problem(check, "client %u: incarnation %" PRIu64
				      " is fenced, but it has got to %" PRIu64 " only",
				      n, entry->fenced, inc);
	}
}

void check_tables(struct check *check)
{
	check_clients(check);
	for (unsigned node = 0; node < check->client->set.nr_nodes; node++) {
		uint32_t nr = check->node[node].sb->nr_chunks;

		for (uint32_t i = 0; i < nr;)
			i += check_chunk(check, node, i);
	}
}
