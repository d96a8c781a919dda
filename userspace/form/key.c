// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An operation of one key in a batch with others of the same key.
 */
#include "key.h"

/* *ret_shared: it was one with others. */
static int key_combined(struct form_key *key, struct far_combine_op *op, bool *ret_shared)
{
	struct far_combine_batch batch;
	enum far_combine_how how;

	how = far_combine_begin(key->run.task, key->table, op, &batch);
	*ret_shared = how == FAR_COMBINE_DONE;
	while (how == FAR_COMBINE_LEAD) {
		how = key->lead(key, &batch);
		*ret_shared |= batch.carried > 0;
	}
	if (how == FAR_COMBINE_ALONE)
		return form_run(&key->run);
	if (key->ret_len && (!op->status || op->status == -EMSGSIZE))
		*key->ret_len = op->len;
	return op->status;
}

int form_key_combined(struct form_key *key)
{
	struct far_combine_op op = { .hash = key->hash };
	bool shared;
	int err;

	key->describe(key, &op);
	err = key_combined(key, &op, &shared);
	if (!key->always)
		far_combine_gone(key->table, key->hash, shared);
	return err;
}
