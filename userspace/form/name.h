/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures as wholes, by the name that the space's directory has: made, opened, deleted. */
#ifndef FAR_FORM_NAME_H
#define FAR_FORM_NAME_H

#include "../core/type.h"
#include "run.h"
#include "walk.h"

/* A structure's own part of opening and deleting by name. */
struct form_name_ops {
	const struct far_type *type;
	/* Opens what has that root. -EBADMSG: it is none. */
	int (*open)(struct far_task *task, uint64_t root, void **ret_handle);
	void (*close)(void *handle);
	/* Retires all blocks by form_destroy_block(), in the caller's epoch. */
	int (*retire)(struct form_destroy *destroy, void *handle);
};

/* Finds the entry and opens what it says. */
int form_open(struct far_task *task, const char *name, const struct form_name_ops *ops,
	      struct far_dir_entry *ret_entry, void **ret_handle);

/* Removes the name, then retires what it led to. */
int form_destroy(struct far_task *task, const char *name, const struct form_name_ops *ops);

/* A structure that is being made, at the head of its caller's own. */
struct form_create {
	struct form_run run;
	struct far_dir_entry entry;	/* with type, version and parameters */
	/*
	 * In an epoch, perhaps once more after undo(): allocates and writes all that the name
	 * will lead to, and sets entry.root. Buffers are released afterwards.
	 */
	int (*build)(struct form_create *create);
	/* Frees what build() has allocated, also if that has failed. */
	void (*undo)(struct form_create *create);
};

/* -EEXIST: the name is there; errors of far_dir_find(), build() and far_dir_add(). */
int form_create(struct form_create *create, const char *name);

#endif
