// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An operation of one key in a batch with others of the same key.
 */
#include "key.h"

#include "../core/core.h"

#define COMBINE_KEYS	65536u	/* words of 8 bytes; many times as many as are under way */

int form_combine_new(const struct far *far, struct far_combine_table **ret_table)
{
	return far->without & FAR_WITHOUT_COMBINE ? 0 : far_combine_new(COMBINE_KEYS, ret_table);
}

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
	if (key->args->ret_len && (!op->status || op->status == -EMSGSIZE))
		*key->args->ret_len = op->len;
	return op->status;
}

int form_key_combined(struct form_key *key)
{
	const struct form_args *args = key->args;
	struct far_combine_op op = {
		.hash = key->hash, .key = key->key, .key_len = key->key_len,
		.value = args->value, .value_len = args->value_len,
		.room = args->room, .room_len = args->room_len,
		.modify = args->modify, .kind = args->kind,
	};
	bool shared;
	int err;

	err = key_combined(key, &op, &shared);
	if (!key->always)
		far_combine_gone(key->table, key->hash, shared);
	return err;
}

int form_modify(struct far_combine_batch *batch, const struct far_modify *modify,
		struct far_state *state)
{
	if (!batch)
		return far_modify_apply(modify, state);
	far_combine_modify(batch, state);
	return 0;
}
