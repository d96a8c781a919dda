/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verifier with one of its checks taken out, in front of each of its files: with
 * CHECK_OFF=FILE:N in the environment the N-th place of that file, from 0 on, at
 * which it refuses, refuses nothing.
 */
#ifndef TEST_WRCHAIN_CHECK_OFF_H
#define TEST_WRCHAIN_CHECK_OFF_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/check.h"

static inline bool check_is_off(const char *path, int number)
{
	const char *off = getenv("CHECK_OFF"), *name = strrchr(path, '/');
	char here[64];

	snprintf(here, sizeof(here), "%s:%d", name ? name + 1 : path, number);
	return off && !strcmp(off, here);
}

#define wrc_refuse(...) \
	(check_is_off(__FILE__, __COUNTER__) ? 0 : (wrc_refuse)(__VA_ARGS__))
#define wrc_refuse_all(...) \
	(check_is_off(__FILE__, __COUNTER__) ? 0 : (wrc_refuse_all)(__VA_ARGS__))

#endif /* TEST_WRCHAIN_CHECK_OFF_H */
