// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Exhaustive search over states in memory; see explore.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "explore.h"

/* ---- states that have been seen ------------------------------------------- */

/* Hashes, open addressing; 0 is an empty place. */
struct seen {
	uint64_t *at;
	uint64_t mask, nr;
};

static bool put(struct seen *s, uint64_t hash)
{
	uint64_t i = hash & s->mask;

	while (s->at[i]) {
		if (s->at[i] == hash)
			return false;
		i = (i + 1) & s->mask;
	}
	s->at[i] = hash;
	s->nr++;
	return true;
}

static int grow(struct seen *s)
{
	struct seen bigger = { .mask = 2 * s->mask + 1 };
	uint64_t i;

	bigger.at = calloc(bigger.mask + 1, sizeof(*bigger.at));
	if (!bigger.at)
		return -ENOMEM;
	for (i = 0; i <= s->mask; i++)
		if (s->at[i])
			put(&bigger, s->at[i]);
	free(s->at);
	*s = bigger;
	return 0;
}

/* 1: new, 0: known, -ENOMEM. */
static int see(struct seen *s, uint64_t hash)
{
	if (2 * s->nr > s->mask && grow(s))
		return -ENOMEM;
	return put(s, hash ? hash : 1);
}

static uint64_t mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* In four lanes, since a product is waited for. */
uint64_t explore_mix(uint64_t hash, const void *bytes, size_t len)
{
	uint64_t v[4], lane[4] = { hash, 1, 2, 3 };
	const uint8_t *p = bytes;
	unsigned int i;

	for (; len >= sizeof(v); len -= sizeof(v), p += sizeof(v)) {
		memcpy(v, p, sizeof(v));
		for (i = 0; i < 4; i++)
			lane[i] = mix(lane[i], v[i]);
	}
	for (i = 1; i < 4; i++)
		lane[0] = mix(lane[0], lane[i]);
	for (; len >= sizeof(v[0]); len -= sizeof(v[0]), p += sizeof(v[0])) {
		memcpy(v, p, sizeof(v[0]));
		lane[0] = mix(lane[0], v[0]);
	}
	return lane[0];
}

/* ---- saving --------------------------------------------------------------- */

struct search {
	struct explore *e;
	struct seen seen;
	size_t size;			/* of all regions */
	uint8_t *saved[EXPLORE_MAX_DEPTH];
};

int explore_add(struct explore *e, void *at, size_t len)
{
	if (e->nr_regions == EXPLORE_MAX_REGIONS)
		return -ENOSPC;
	e->region[e->nr_regions].at = at;
	e->region[e->nr_regions++].len = len;
	return 0;
}

static int save(struct search *s, unsigned int depth)
{
	struct explore *e = s->e;
	uint8_t *to = s->saved[depth];
	unsigned int i;

	if (!to)
		to = s->saved[depth] = malloc(s->size);
	if (!to)
		return -ENOMEM;
	for (i = 0; i < e->nr_regions; i++) {
		memcpy(to, e->region[i].at, e->region[i].len);
		to += e->region[i].len;
	}
	return 0;
}

static void put_back(struct search *s, unsigned int depth)
{
	struct explore *e = s->e;
	const uint8_t *from = s->saved[depth];
	unsigned int i;

	for (i = 0; i < e->nr_regions; i++) {
		memcpy(e->region[i].at, from, e->region[i].len);
		from += e->region[i].len;
	}
}

/* ---- searching ------------------------------------------------------------- */

static int visit(struct search *s, unsigned int depth);

static int try_moves(struct search *s, unsigned int depth,
		     const uint16_t *moves, unsigned int n)
{
	struct explore *e = s->e;
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < n; i++) {
		e->path[depth] = moves[i];
		e->edges++;
		e->apply(e->arg, moves[i]);
		r = visit(s, depth + 1);
		put_back(s, depth);
	}
	return r;
}

static int visit(struct search *s, unsigned int depth)
{
	uint16_t moves[EXPLORE_MAX_MOVES];
	struct explore *e = s->e;
	unsigned int n;
	int r;

	r = see(&s->seen, e->hash(e->arg));
	if (r <= 0)
		return r;
	n = e->moves(e->arg, moves);
	e->why = e->wrong(e->arg, !n);
	if (e->why) {
		e->path_len = depth;
		return 1;
	}
	if (depth > e->depth)
		e->depth = depth;
	if (++e->states > e->max_states || depth + 1 == EXPLORE_MAX_DEPTH)
		return -E2BIG;
	if (!n)
		return 0;
	r = save(s, depth);
	return r ? r : try_moves(s, depth, moves, n);
}

int explore_run(struct explore *e)
{
	struct search *s = calloc(1, sizeof(*s));
	unsigned int i;
	int r = -ENOMEM;

	if (!s)
		return r;
	s->e = e;
	s->seen.mask = (1u << 16) - 1;
	s->seen.at = calloc(s->seen.mask + 1, sizeof(*s->seen.at));
	for (i = 0; i < e->nr_regions; i++)
		s->size += e->region[i].len;
	if (s->seen.at)
		r = visit(s, 0);
	for (i = 0; i < EXPLORE_MAX_DEPTH; i++)
		free(s->saved[i]);
	free(s->seen.at);
	free(s);
	return r;
}
