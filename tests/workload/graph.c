// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See graph.h. */
#include <stddef.h>

#include "common.h"
#include "graph.h"

#define LEAST_DEGREE	8
/* A vertex of 2^DOUBLINGS times as many is one in a million. */
#define DOUBLINGS	10

void graph_walk_begin(const struct graph *g, uint32_t v, struct graph_walk *w)
{
	unsigned int doublings;

	w->random = mix64(g->seed + mix64(v));
	/* Twice as many edges are a quarter as often; of all, GRAPH_DEGREE in the middle. */
	doublings = (unsigned int)__builtin_ctzll(mix64(w->random) | 1ull << 2 * DOUBLINGS) / 2;
	w->left = LEAST_DEGREE << doublings;
}

uint32_t graph_walk_next(const struct graph *g, struct graph_walk *w)
{
	w->left--;
	/* Low numbers are chosen most often. */
	return (uint32_t)next_below(&w->random, next_below(&w->random, g->nr) + 1);
}

static void *map_bytes(uint64_t bytes)
{
	return map_pages((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
}

static void edges_fill(struct graph *g)
{
	struct graph_walk w;
	uint64_t at = 0;

	for (uint32_t v = 0; v < g->nr; v++)
		for (graph_walk_begin(g, v, &w); w.left; at++)
			g->to[at] = graph_walk_next(g, &w);
}

bool graph_make(struct graph *g, uint64_t bytes, uint64_t more_bytes, uint64_t seed)
{
	uint64_t each = sizeof(*g->first) + GRAPH_DEGREE * sizeof(*g->to) + more_bytes;
	struct graph_walk w;

	*g = (struct graph){ .nr = (uint32_t)(bytes / each), .seed = seed };
	g->first = map_bytes((g->nr + 1ull) * sizeof(*g->first));
	if (!g->first)
		return false;
	for (uint32_t v = 0; v < g->nr; v++) {
		g->first[v] = g->nr_edges;
		graph_walk_begin(g, v, &w);
		g->nr_edges += w.left;
	}
	g->first[g->nr] = g->nr_edges;
	g->to = map_bytes(g->nr_edges * sizeof(*g->to));
	if (!g->to)
		return false;
	edges_fill(g);
	return true;
}

bool graph_is_whole(const struct graph *g)
{
	struct graph_walk w;
	uint64_t at = 0;

	for (uint32_t v = 0; v < g->nr; v++) {
		if (g->first[v] != at)
			return false;
		for (graph_walk_begin(g, v, &w); w.left; at++)
			if (g->to[at] != graph_walk_next(g, &w))
				return false;
	}
	return g->first[g->nr] == at;
}
