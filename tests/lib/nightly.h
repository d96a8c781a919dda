/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether tests run in their long form: with ODRP_NIGHTLY=1 in the environment. */
#ifndef TESTS_LIB_NIGHTLY_H
#define TESTS_LIB_NIGHTLY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool nightly(void)
{
	const char *value = getenv("ODRP_NIGHTLY");

	return value && !strcmp(value, "1");
}

#endif
