// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finding a type of structure.
 */
#include "type.h"

const struct far_type *far_type_find(uint32_t type)
{
	const struct far_type *const *at = far_type_all;

	while (*at && (*at)->type != type)
		at++;
	return *at;
}
