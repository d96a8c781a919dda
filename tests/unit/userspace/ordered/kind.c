// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A kind of structure: see program.h. */
#include "program.h"

int ordered_create(const struct ordered_kind *kind, struct far_task *task, const char *name,
		   size_t key_size, size_t value_size, void **ret_index)
{
	const struct index_shape shape = {
		.keys = 1, .key_size = key_size, .value_size = value_size, .span = kind->span,
	};
	int err = kind->beside ? kind->beside(task) : 0;

	return err ? err : kind->ops->create(task, name, &shape, ret_index);
}

int ordered_store(const struct ordered_kind *kind, enum history_f f, struct far_task *task,
		  void *index, const void *key, size_t key_len,
		  const void *value, size_t value_len)
{
	return (f == HISTORY_PUT ? kind->ops->put :
		f == HISTORY_INSERT ? kind->ops->insert : kind->ops->update)
		(task, index, key, key_len, value, value_len);
}
