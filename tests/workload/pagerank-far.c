/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page rank on a graph that does not fit into memory.  Ranks are whole numbers, so a result
 * is the same in any order; verifies it by a last step over edges that are computed anew, which
 * no memory has had.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "graph.h"
#include "options.h"

const char *argp_program_version = "pagerank-far 1";

#define ONE	(1ull << 32)	/* the rank of a vertex in the middle */
#define DAMPING	85		/* per cent */

struct options {
	uint64_t bytes, steps, seed;
};

/*
 * Edges lead to whom a vertex gets rank from, as in a graph that is stored for pulling.
 * out: how many get rank from a vertex; part: what it gives each of them.
 */
struct ranks {
	uint64_t *rank, *part;
	uint32_t *out;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "memory in all (32M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 16 * PAGE_BYTES, 1ull << 36 },
	{ "steps", 'n', "N", "how many (3)",
	  OPTION_NUMBER, offsetof(struct options, steps), 1, 1000 },
	{ "seed", 'r', "N", "which graph (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Rank the vertices of a seeded graph, and verify the result."
	"\vPrints: pagerank-far vertices=N edges=N total_s=T verified=yes|no. Exit status 1 if "
	"the result is wrong.";

static uint64_t damped(uint64_t sum)
{
	return (ONE * (100 - DAMPING) + sum * DAMPING) / 100;
}

static void parts_find(const struct graph *g, struct ranks *r)
{
	for (uint32_t v = 0; v < g->nr; v++)
		r->part[v] = r->out[v] ? r->rank[v] / r->out[v] : 0;
}

static void step(const struct graph *g, struct ranks *r)
{
	uint64_t sum, at = 0;

	parts_find(g, r);
	for (uint32_t v = 0; v < g->nr; v++) {
		for (sum = 0; at < g->first[v + 1]; at++)
			sum += r->part[g->to[at]];
		r->rank[v] = damped(sum);
	}
}

/* parts are still those of the last step. */
static bool verify(const struct graph *g, const struct ranks *r)
{
	struct graph_walk w;
	uint64_t sum;

	for (uint32_t v = 0; v < g->nr; v++) {
		for (graph_walk_begin(g, v, &w), sum = 0; w.left; )
			sum += r->part[graph_walk_next(g, &w)];
		if (r->rank[v] != damped(sum)) {
			fprintf(stderr, "rank of %" PRIu32 ": expected %" PRIu64 ", found %" PRIu64
				"\n", v, damped(sum), r->rank[v]);
			return false;
		}
	}
	return graph_is_whole(g);
}

static bool ranks_make(const struct graph *g, struct ranks *r)
{
	size_t pages = g->nr * sizeof(*r->rank) / PAGE_BYTES + 1;

	r->rank = map_pages(pages);
	r->part = map_pages(pages);
	r->out = map_pages(pages);
	if (!r->rank || !r->part || !r->out)
		return false;
	for (uint32_t v = 0; v < g->nr; v++)
		r->rank[v] = ONE;
	for (uint64_t at = 0; at < g->nr_edges; at++)
		r->out[g->to[at]]++;
	return true;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 32 << 20, .steps = 3, .seed = 1 };
	double start = now_s();
	struct ranks r;
	struct graph g;
	bool ok;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (!graph_make(&g, o.bytes, sizeof(*r.rank) + sizeof(*r.part) + sizeof(*r.out),
			o.seed) || !ranks_make(&g, &r)) {
		perror("pagerank-far: memory");
		return EXIT_FAILURE;
	}
	while (o.steps--)
		step(&g, &r);
	ok = verify(&g, &r);
	printf("pagerank-far vertices=%" PRIu32 " edges=%" PRIu64 " total_s=%.2f verified=%s\n",
	       g.nr, g.nr_edges, now_s() - start, ok ? "yes" : "no");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
