/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exhaustive search: every order of moves from a state, depth first, each state
 * once.  A state is memory: regions that are saved before a move and put back
 * after it, and a hash that says whether it has been seen.
 */
#ifndef TEST_MODEL_EXPLORE_H
#define TEST_MODEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_MAX_REGIONS	160
#define EXPLORE_MAX_MOVES	64
#define EXPLORE_MAX_DEPTH	4096

/**
 * struct explore - what is searched
 * @moves:	those that are possible now; returns how many
 * @apply:	makes one
 * @wrong:	NULL, or what the state breaks; quiet: no move is possible
 * @hash:	equal for states that behave equally
 * @say:	a move in words
 * @region:	memory that apply() changes
 * @max_states:	give up beyond
 * @states, @edges, @depth: result: size of what was searched
 * @why:	result: what was broken
 * @path, @path_len: and by which moves
 */
struct explore {
	void *arg;
	unsigned int (*moves)(void *arg, uint16_t *ret_moves);
	void (*apply)(void *arg, uint16_t move);
	const char *(*wrong)(void *arg, bool quiet);
	uint64_t (*hash)(void *arg);
	void (*say)(void *arg, uint16_t move, char *ret_text, size_t len);

	struct {
		void *at;
		size_t len;
	} region[EXPLORE_MAX_REGIONS];
	unsigned int nr_regions;

	uint64_t max_states;
	uint64_t states, edges;
	unsigned int depth;
	const char *why;
	uint16_t path[EXPLORE_MAX_DEPTH];
	unsigned int path_len;
};

/* Regions may be added until explore_run().  -ENOSPC: too many. */
int explore_add(struct explore *e, void *at, size_t len);

/*
 * 0: all was searched and nothing is wrong; 1: something is, see why and path;
 * -E2BIG: more than max_states or EXPLORE_MAX_DEPTH; -ENOMEM.  Afterwards the
 * state is the one before.
 */
int explore_run(struct explore *e);

/* Adds bytes to a hash, a multiple of eight. */
uint64_t explore_mix(uint64_t hash, const void *bytes, size_t len);

#endif /* TEST_MODEL_EXPLORE_H */
