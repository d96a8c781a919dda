/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a key has while functions of far/modify.h, and other changes, are applied to it one
 * after the other. Knows neither threads nor far memory.
 */
#ifndef FAR_CORE_MODIFY_H
#define FAR_CORE_MODIFY_H

#include <stdbool.h>
#include <stddef.h>

#include <far/modify.h>

struct far_modify {
	far_modify_fn *function;
	void *arg;
	size_t least, most;	/* bytes of values that can be stored */
};

struct far_state {
	bool was;		/* the key was there when it was read */
	bool present;		/* and after what was applied so far */
	bool changed;
	const void *value;	/* if it is present */
	size_t len;
};

/* What was read; NULL: there is no such key. */
static inline struct far_state far_state_read(const void *value, size_t len)
{
	return (struct far_state) {
		.was = value, .present = value, .value = value, .len = len,
	};
}

static inline void far_state_store(struct far_state *state, const void *value, size_t len)
{
	state->present = state->changed = true;
	state->value = value;
	state->len = len;
}

static inline void far_state_delete(struct far_state *state)
{
	state->changed |= state->present;
	state->present = false;
}

/* Whether far memory has to change. */
static inline bool far_state_publishes(const struct far_state *state)
{
	return state->was ? state->changed : state->present;
}

/*
 * Asks the function. 0; -E2BIG: it wants to store a value that is too long; -EINVAL: one of
 * another size, where all have the same, or it says nothing that there is. Then nothing has
 * changed.
 */
int far_modify_apply(const struct far_modify *modify, struct far_state *state);

#endif
