/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An operation of one key: alone, or in a batch with others of the same key. */
#ifndef FAR_FORM_KEY_H
#define FAR_FORM_KEY_H

#include "../core/combine.h"
#include "run.h"

/* At the head of its structure's arguments. */
struct form_key {
	struct form_run run;			/* tries of the operation alone */
	struct far_combine_table *table;	/* NULL: nothing combines */
	uint64_t hash;				/* as in struct far_combine_op */
	bool always;				/* it combines also if the key is not hot */
	size_t *ret_len;			/* of a get's value, or NULL */
	/* Says the rest of what far_combine_begin() asks for. */
	void (*describe)(const struct form_key *key, struct far_combine_op *ret_op);
	/* Runs one batch, from its plan to its end. */
	enum far_combine_how (*lead)(struct form_key *key, struct far_combine_batch *batch);
};

/* Runs it combined; the table is not NULL. */
int form_key_combined(struct form_key *key);

static inline int form_key_do(struct form_key *key)
{
	int err;

	if (!key->table)
		return form_run(&key->run);
	if (key->always || far_combine_hot(key->table, key->hash))
		return form_key_combined(key);
	err = form_run(&key->run);
	far_combine_gone(key->table, key->hash, false);
	return err;
}

#endif
