/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * k-means of more points than memory holds: the working set is read in order, once for each
 * step.  Coordinates are whole numbers around centres that are far apart, so the result is
 * known, and arithmetic is exact: verifies that each point is where it belongs, and that the
 * points are what they were at the start.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "kmeans-far 1";

#define DIM		8
#define CENTRES		4
/* A point is at most so far from its centre, in each coordinate; centres are SPREAD apart. */
#define NEAR		1000
#define SPREAD		100000

struct point {
	int32_t x[DIM];
};

struct options {
	uint64_t bytes, steps, seed;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "memory of the points (32M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 4 * PAGE_BYTES, 1ull << 40 },
	{ "steps", 'n', "N", "how many, also when no centre moves any more (3)",
	  OPTION_NUMBER, offsetof(struct options, steps), 2, 1000 },
	{ "seed", 'r', "N", "which points (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Find the centres of seeded points by k-means, and verify the result."
	"\vPrints: kmeans-far points=N steps=N total_s=T verified=yes|no. Exit status 1 if the "
	"result is wrong.";

/* The centre of a point comes from its number, so that none has to be kept. */
static unsigned int home_of(uint64_t seed, uint64_t nr)
{
	return mix64(seed ^ mix64(nr)) % CENTRES;
}

/* Centre c is at c * SPREAD in each coordinate, and the other way round in odd ones. */
static int32_t centre_at(unsigned int c, unsigned int d)
{
	return (int32_t)(d % 2 ? CENTRES - 1 - c : c) * SPREAD;
}

static uint64_t point_hash(const struct point *p, uint64_t nr)
{
	uint64_t h = nr;

	for (unsigned int d = 0; d < DIM; d++)
		h = mix64(h ^ (uint32_t)p->x[d]);
	return h;
}

/* Return: the sum of all hashes. */
static uint64_t fill(struct point *points, uint64_t nr, uint64_t seed)
{
	uint64_t random = seed, sum = 0;

	for (uint64_t i = 0; i < nr; i++) {
		for (unsigned int d = 0; d < DIM; d++)
			points[i].x[d] = centre_at(home_of(seed, i), d) - NEAR +
					 (int32_t)next_below(&random, 2 * NEAR + 1);
		sum += point_hash(&points[i], i);
	}
	return sum;
}

static unsigned int nearest(const struct point *p, const struct point *centres)
{
	int64_t best = INT64_MAX, sum, diff;
	unsigned int c, d, found = 0;

	for (c = 0; c < CENTRES; c++) {
		for (d = 0, sum = 0; d < DIM; d++) {
			diff = (int64_t)p->x[d] - centres[c].x[d];
			sum += diff * diff;
		}
		if (sum < best) {
			best = sum;
			found = c;
		}
	}
	return found;
}

/* Moves each centre to the middle of the points that are nearest to it. */
static void step(const struct point *points, uint64_t nr, struct point *centres)
{
	int64_t sum[CENTRES][DIM] = { 0 }, count[CENTRES] = { 0 };
	unsigned int c, d;

	for (uint64_t i = 0; i < nr; i++) {
		c = nearest(&points[i], centres);
		count[c]++;
		for (d = 0; d < DIM; d++)
			sum[c][d] += points[i].x[d];
	}
	for (c = 0; c < CENTRES; c++) {
		for (d = 0; d < DIM && count[c]; d++)
			centres[c].x[d] = (int32_t)(sum[c][d] / count[c]);
	}
}

/* Each starts between its place and its neighbour's, nearer to its own. */
static void centres_begin(struct point *centres)
{
	for (unsigned int c = 0; c < CENTRES; c++)
		for (unsigned int d = 0; d < DIM; d++)
			centres[c].x[d] = centre_at(c, d) + SPREAD / 4;
}

static bool verify(const struct point *points, uint64_t nr, const struct point *centres,
		   const struct options *o, uint64_t want)
{
	uint64_t sum = 0;

	for (unsigned int c = 0; c < CENTRES; c++)
		for (unsigned int d = 0; d < DIM; d++)
			if (abs(centres[c].x[d] - centre_at(c, d)) > NEAR)
				return false;
	for (uint64_t i = 0; i < nr; i++) {
		if (nearest(&points[i], centres) != home_of(o->seed, i))
			return false;
		sum += point_hash(&points[i], i);
	}
	return sum == want;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 32 << 20, .steps = 3, .seed = 1 };
	struct point centres[CENTRES], *points;
	uint64_t nr, sum, i;
	double start;
	bool ok;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	nr = o.bytes / sizeof(*points);
	points = map_pages((o.bytes + PAGE_BYTES - 1) / PAGE_BYTES);
	if (!points) {
		perror("kmeans-far: memory");
		return EXIT_FAILURE;
	}
	start = now_s();
	sum = fill(points, nr, o.seed);
	centres_begin(centres);
	for (i = 0; i < o.steps; i++)
		step(points, nr, centres);
	ok = verify(points, nr, centres, &o, sum);
	printf("kmeans-far points=%" PRIu64 " steps=%" PRIu64 " total_s=%.2f verified=%s\n", nr, i,
	       now_s() - start, ok ? "yes" : "no");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
