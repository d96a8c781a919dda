// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Calls by numbers: which function of which structure. */
#include "call.h"

#include <errno.h>

#include <far/art.h>
#include <far/btree.h>
#include <far/hash.h>

int async_call_check(const struct far_call *call)
{
	if (call->on < FAR_ASYNC_HASH || call->on > FAR_ASYNC_ART ||
	    call->op < FAR_ASYNC_GET || call->op > FAR_ASYNC_MODIFY || call->reserved ||
	    !call->handle || (call->key_len && !call->key) ||
	    (call->op == FAR_ASYNC_MODIFY && !call->modify))
		return -EINVAL;
	return 0;
}

static int hash_make(struct far_task *task, const struct far_call *call, size_t *ret_len)
{
	struct far_hash *hash = call->handle;

	switch (call->op) {
	case FAR_ASYNC_GET:
		return far_hash_get(task, hash, call->key, call->key_len, call->value,
				    call->value_len, ret_len);
	case FAR_ASYNC_PUT:
		return far_hash_put(task, hash, call->key, call->key_len, call->value,
				    call->value_len);
	case FAR_ASYNC_INSERT:
		return far_hash_insert(task, hash, call->key, call->key_len, call->value,
				       call->value_len);
	case FAR_ASYNC_UPDATE:
		return far_hash_update(task, hash, call->key, call->key_len, call->value,
				       call->value_len);
	case FAR_ASYNC_DELETE:
		return far_hash_delete(task, hash, call->key, call->key_len);
	default:
		return far_hash_modify(task, hash, call->key, call->key_len, call->modify,
				       call->value);
	}
}

static int btree_make(struct far_task *task, const struct far_call *call, size_t *ret_len)
{
	struct far_btree *tree = call->handle;

	switch (call->op) {
	case FAR_ASYNC_GET:
		return far_btree_get(task, tree, call->key, call->key_len, call->value,
				     call->value_len, ret_len);
	case FAR_ASYNC_PUT:
		return far_btree_put(task, tree, call->key, call->key_len, call->value,
				     call->value_len);
	case FAR_ASYNC_INSERT:
		return far_btree_insert(task, tree, call->key, call->key_len, call->value,
					call->value_len);
	case FAR_ASYNC_UPDATE:
		return far_btree_update(task, tree, call->key, call->key_len, call->value,
					call->value_len);
	case FAR_ASYNC_DELETE:
		return far_btree_delete(task, tree, call->key, call->key_len);
	default:
		return far_btree_modify(task, tree, call->key, call->key_len, call->modify,
					call->value);
	}
}

static int art_make(struct far_task *task, const struct far_call *call, size_t *ret_len)
{
	struct far_art *art = call->handle;

	switch (call->op) {
	case FAR_ASYNC_GET:
		return far_art_get(task, art, call->key, call->key_len, call->value,
				   call->value_len, ret_len);
	case FAR_ASYNC_PUT:
		return far_art_put(task, art, call->key, call->key_len, call->value,
				   call->value_len);
	case FAR_ASYNC_INSERT:
		return far_art_insert(task, art, call->key, call->key_len, call->value,
				      call->value_len);
	case FAR_ASYNC_UPDATE:
		return far_art_update(task, art, call->key, call->key_len, call->value,
				      call->value_len);
	case FAR_ASYNC_DELETE:
		return far_art_delete(task, art, call->key, call->key_len);
	default:
		return far_art_modify(task, art, call->key, call->key_len, call->modify,
				      call->value);
	}
}

int async_call_make(struct far_task *task, const struct far_call *call, uint64_t *ret_len)
{
	size_t len = 0;
	int err;

	switch (call->on) {
	case FAR_ASYNC_HASH:
		err = hash_make(task, call, &len);
		break;
	case FAR_ASYNC_BTREE:
		err = btree_make(task, call, &len);
		break;
	default:
		err = art_make(task, call, &len);
	}
	*ret_len = err && err != -EMSGSIZE ? 0 : len;
	return err;
}
