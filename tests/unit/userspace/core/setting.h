/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A space set over mem, formatted, in a directory of its own; and clients of it.
 */
#ifndef TEST_FAR_CORE_SETTING_H
#define TEST_FAR_CORE_SETTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <far/far.h>
#include <far/space.h>

#include "../../../../userspace/nic/nic.h"

#define SETTING_CLIENTS	16u	/* that a space takes */

struct setting {
	char dir[32];
	char spec[64];		/* for far_conf.nic */
	unsigned nr_nodes;
};

/* Makes a setting of nr_nodes nodes with size bytes each. */
void setting_new(struct setting *set, unsigned nr_nodes, uint64_t size);
void setting_free(struct setting *set);
struct far *setting_open(const struct setting *set);
int setting_try_open(const struct setting *set, struct far **ret_far);
/* As a client of its own: fails the test when there is a problem. */
void setting_check(const struct setting *set);

int setting_setup(void **state);
int setting_teardown(void **state);

#define SETTING_TEST(name) \
	cmocka_unit_test_setup_teardown(name, setting_setup, setting_teardown)

#endif
