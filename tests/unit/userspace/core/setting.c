// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A formatted space set over mem: see setting.h. */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../../userspace/core/space.h"

static const char *const nodes[] = { "0", "1", "2", "3" };

void setting_new(struct setting *set, unsigned nr_nodes, uint64_t size)
{
	const struct far_space_attr attr = {
		.size = size, .nodes = nodes, .nr_nodes = nr_nodes, .max_clients = SETTING_CLIENTS,
		.chunk_size = 1 << 20,
	};
	char why[200];

	snprintf(set->dir, sizeof(set->dir), "/tmp/far-core-XXXXXX");
	assert_non_null(mkdtemp(set->dir));
	snprintf(set->spec, sizeof(set->spec), "mem:dir=%s", set->dir);
	set->nr_nodes = nr_nodes;
	if (far_space_create(set->spec, "s", &attr, why, sizeof(why)))
		fail_msg("%s", why);
}

void setting_free(struct setting *set)
{
	char why[200];

	if (far_space_delete(set->spec, "s", why, sizeof(why)))
		fail_msg("%s", why);
	rmdir(set->dir);
}

int setting_try_open(const struct setting *set, struct far **ret_far)
{
	const struct far_conf conf = {
		.nic = set->spec, .space = "s", .nodes = nodes,
		.nr_nodes = set->nr_nodes, .seed = 1,
	};
	char why[200] = "";
	int err = far_open(&conf, why, sizeof(why), ret_far);

	if (err)
		print_message("%s\n", why);
	return err;
}

struct far *setting_open(const struct setting *set)
{
	struct far *far = NULL;

	assert_int_equal(setting_try_open(set, &far), 0);
	return far;
}

static void report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

void setting_check(const struct setting *set)
{
	struct far *far = setting_open(set);
	struct far_space_check check;

	assert_int_equal(far_space_check(far, report, NULL, &check), 0);
	assert_int_equal(check.problems, 0);
	assert_int_equal(check.leaked, 0);
	far_close(far);
}

int setting_setup(void **state)
{
	struct setting *set = calloc(1, sizeof(*set));

	assert_non_null(set);
	setting_new(set, 2, UINT64_C(8) << 20);
	*state = set;
	return 0;
}

int setting_teardown(void **state)
{
	setting_free(*state);
	free(*state);
	return 0;
}
