/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Betweenness centrality (Brandes) from some vertices of a graph that does not fit into
 * memory.  Verifies that all that lies between a source and the others is as much as their
 * distances say, and that the graph is what it was.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "graph.h"
#include "options.h"

const char *argp_program_version = "betweenness-far 1";

#define FAR_AWAY	UINT32_MAX	/* not reached */

struct options {
	uint64_t bytes, sources, seed;
};

/*
 * The search from one source. farthest: the largest distance; paths: how many shortest paths
 * lead to a vertex; between: what depends on it.
 */
struct search {
	uint32_t *distance, farthest;
	double *paths, *between, *total;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "memory in all (32M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 16 * PAGE_BYTES, 1ull << 36 },
	{ "sources", 'n', "N", "from so many vertices (1)",
	  OPTION_NUMBER, offsetof(struct options, sources), 1, 1000 },
	{ "seed", 'r', "N", "which graph (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Find how many shortest paths from some vertices lead through each vertex of a seeded "
	"graph, and verify the result."
	"\vPrints: betweenness-far vertices=N edges=N farthest=N total_s=T verified=yes|no. Exit "
	"status 1 if the result is wrong.";

/* From a vertex to those that are farther.  Return: whether one was reached now. */
static bool reach_from(const struct graph *g, struct search *s, uint32_t v)
{
	bool reached = false;
	uint32_t u;

	for (uint64_t e = g->first[v]; e < g->first[v + 1]; e++) {
		u = g->to[e];
		if (s->distance[u] == FAR_AWAY) {
			s->distance[u] = s->distance[v] + 1;
			reached = true;
		}
		if (s->distance[u] == s->distance[v] + 1)
			s->paths[u] += s->paths[v];
	}
	return reached;
}

/* Distances and numbers of paths, distance by distance, edges in the order of memory. */
static void reach(const struct graph *g, struct search *s, uint32_t source)
{
	bool reached = true;
	uint32_t at, v;

	for (v = 0; v < g->nr; v++) {
		s->distance[v] = FAR_AWAY;
		s->paths[v] = s->between[v] = 0;
	}
	s->distance[source] = 0;
	s->paths[source] = 1;
	for (at = 0; reached; at++)
		for (v = 0, reached = false; v < g->nr; v++)
			if (s->distance[v] == at)
				reached |= reach_from(g, s, v);
	s->farthest = at - 1;
}

static void depend_on(const struct graph *g, struct search *s, uint32_t v)
{
	uint32_t u;

	for (uint64_t e = g->first[v]; e < g->first[v + 1]; e++) {
		u = g->to[e];
		if (s->distance[u] == s->distance[v] + 1)
			s->between[v] += s->paths[v] / s->paths[u] * (1 + s->between[u]);
	}
}

/* What depends on each vertex, the farthest first. */
static void depend(const struct graph *g, struct search *s)
{
	uint32_t at = s->farthest, v;

	while (at--)
		for (v = 0; v < g->nr; v++)
			if (s->distance[v] == at)
				depend_on(g, s, v);
}

/*
 * Adds what lies between.  On the way to a vertex at distance d are d - 1 others, however many
 * ways there are.
 */
static bool add(const struct graph *g, struct search *s, uint32_t source)
{
	double sum = 0, want = 0;

	for (uint32_t v = 0; v < g->nr; v++) {
		if (v == source || s->distance[v] == FAR_AWAY)
			continue;
		s->total[v] += s->between[v];
		sum += s->between[v];
		want += s->distance[v] - 1;
	}
	if (fabs(sum - want) <= 1e-6 * (1 + want))
		return true;
	fprintf(stderr, "between: expected %f, found %f\n", want, sum);
	return false;
}

static bool search_make(const struct graph *g, struct search *s)
{
	size_t pages = g->nr * sizeof(*s->paths) / PAGE_BYTES + 1;

	s->distance = map_pages(pages);
	s->paths = map_pages(pages);
	s->between = map_pages(pages);
	s->total = map_pages(pages);
	return s->distance && s->paths && s->between && s->total;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 32 << 20, .sources = 1, .seed = 1 };
	double start = now_s();
	struct search s = { 0 };
	struct graph g;
	uint32_t source;
	bool ok = true;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (!graph_make(&g, o.bytes, 3 * sizeof(*s.paths) + sizeof(*s.distance), o.seed) ||
	    !search_make(&g, &s)) {
		perror("betweenness-far: memory");
		return EXIT_FAILURE;
	}
	for (uint64_t i = 0; ok && i < o.sources; i++) {
		source = (uint32_t)next_below(&o.seed, g.nr);
		reach(&g, &s, source);
		depend(&g, &s);
		ok = add(&g, &s, source);
	}
	ok = ok && graph_is_whole(&g);
	printf("betweenness-far vertices=%" PRIu32 " edges=%" PRIu64 " farthest=%" PRIu32
	       " total_s=%.2f verified=%s\n", g.nr, g.nr_edges, s.farthest, now_s() - start,
	       ok ? "yes" : "no");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
