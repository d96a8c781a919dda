// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The common part of the indexes of "far bench index": see indexes.h.
 */
#include "indexes.h"

#include <string.h>

/* The arguments of an image are the struct ycsb_data. */
static void image_key(void *arg, uint64_t number, void *key)
{
	ycsb_key(arg, number, key);
}

static void image_value(void *arg, uint64_t number, void *value)
{
	ycsb_value(arg, number, value);
}

int index_create(const struct index_kind *kind, struct far_task *task, const char *name,
		 uint64_t keys, const struct ycsb_data *data, void *const *base)
{
	const struct index_shape shape = {
		.keys = keys, .key_size = data->key_size, .value_size = data->value_size,
		.span = data->span,
	};
	const struct form_image image = {
		.nr_keys = keys, .key_len = data->key_size, .value_len = data->value_size,
		.base = base, .key = image_key, .value = image_value, .arg = (void *)data,
	};
	void *index;
	int err = kind->ops->create(task, name, &shape, &index);

	if (err)
		return err;
	if (base)
		err = kind->image(task, index, &image);
	kind->ops->close(index);
	return err || !kind->beside ? err : kind->beside(task);
}

const struct index_kind *index_find(const char *name)
{
	static const struct index_kind *const kinds[] = { &index_hash, &index_btree, &index_art };
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i]->ops->name, name))
			return kinds[i];
	return NULL;
}
