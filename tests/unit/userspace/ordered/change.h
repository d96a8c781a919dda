/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of a history by functions of <far/modify.h>. */
#ifndef TEST_FAR_ORDERED_CHANGE_H
#define TEST_FAR_ORDERED_CHANGE_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <far/modify.h>

#include "../../../lib/history.h"

/* What a function is for, and what it was shown last. */
struct change {
	enum history_f f;
	const uint64_t *value;		/* to store, len bytes */
	size_t len;
	uint64_t was;
	bool refused;
};

static inline enum far_modified change_key(void *arg, struct far_value *value)
{
	struct change *change = arg;
	bool there = value->data;

	change->was = HISTORY_ABSENT;
	if (there)
		memcpy(&change->was, value->data, sizeof(change->was));
	change->refused = change->f == HISTORY_INSERT ? there :
			  change->f == HISTORY_PUT || change->f == HISTORY_RMW ? false : !there;
	if (change->f == HISTORY_GET || change->refused)
		return FAR_LEAVE;
	if (change->f == HISTORY_DELETE)
		return FAR_DELETE;
	*value = (struct far_value) { change->value, change->len };
	return FAR_STORE;
}

/* What the operation answers, and what it has read, if it reads. */
static inline int change_done(const struct change *change, uint64_t *ret_read, int err)
{
	if (change->f == HISTORY_GET || change->f == HISTORY_RMW)
		*ret_read = change->was;
	if (err || !change->refused)
		return err;
	return change->f == HISTORY_INSERT ? -EEXIST : -ENOENT;
}

#endif
