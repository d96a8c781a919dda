// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Functions of far/modify.h. */
#include "modify.h"

int form_modify(struct far_combine_batch *batch, const struct far_modify *modify,
		struct far_state *state)
{
	if (!batch)
		return far_modify_apply(modify, state);
	far_combine_modify(batch, state);
	return 0;
}
