/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A directed graph of which few vertices have many edges, as social networks are; each edge
 * can be computed again from the seed.
 */
#ifndef WORKLOAD_GRAPH_H
#define WORKLOAD_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* Edges of a vertex, in the middle. */
#define GRAPH_DEGREE	12

/*
 * Edges of vertex v are to[first[v]] up to to[first[v + 1]] - 1. An edge may be there twice, or
 * lead to its own vertex.
 */
struct graph {
	uint32_t nr;
	uint64_t nr_edges, seed;
	uint64_t *first;
	uint32_t *to;
};

/* A walk over the edges of a vertex as the seed has them. */
struct graph_walk {
	uint64_t random;
	uint32_t left;
};

/*
 * Makes a graph that with more_bytes for each vertex takes about that many bytes in all.
 * false: errno.
 */
bool graph_make(struct graph *g, uint64_t bytes, uint64_t more_bytes, uint64_t seed);

void graph_walk_begin(const struct graph *g, uint32_t v, struct graph_walk *w);
/* The next edge's end; call it w->left times. */
uint32_t graph_walk_next(const struct graph *g, struct graph_walk *w);

/* True if all edges in memory are those of the seed. */
bool graph_is_whole(const struct graph *g);

#endif /* WORKLOAD_GRAPH_H */
