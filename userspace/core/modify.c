// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Functions that say what becomes of a key. */
#include "modify.h"

#include <errno.h>

static int modify_store(const struct far_modify *modify, struct far_state *state,
			const struct far_value *value)
{
	if (value->len > modify->most && modify->least < modify->most)
		return -E2BIG;
	if (value->len < modify->least || value->len > modify->most || (value->len && !value->data))
		return -EINVAL;
	far_state_store(state, value->data, value->len);
	return 0;
}

int far_modify_apply(const struct far_modify *modify, struct far_state *state)
{
	struct far_value value = { NULL, 0 };

	/* a value of no bytes is one, too */
	if (state->present)
		value = (struct far_value) {
			state->value ? state->value : "", state->len,
		};
	switch (modify->function(modify->arg, &value)) {
	case FAR_LEAVE:
		return 0;
	case FAR_STORE:
		return modify_store(modify, state, &value);
	case FAR_DELETE:
		far_state_delete(state);
		return 0;
	default:
		return -EINVAL;
	}
}
