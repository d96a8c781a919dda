/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of histories as tests. See histories.h. */
#include "histories.h"

#include <stdio.h>
#include <string.h>

#include "../../../lib/nightly.h"

#define MOST	16u	/* rows on a NIC */

static const struct ordered_kind *all_kind;

/* Adds what has happened to *sum. */
static void seeds(struct program_conf conf, unsigned nr, struct program_result *sum)
{
	struct program_result result;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
		sum->ops += result.ops;
		sum->combined += result.combined;
	}
}

static void run_row(void **state)
{
	const struct histories *row = *state;
	unsigned nr = nightly() ? row->at_night : row->by_day, i;
	struct program_result sum = { .ops = 0 };
	struct program_conf conf = row->conf;

	if (!conf.kind)
		conf.kind = all_kind;
	for (i = 0; i < row->nr_variants; i++) {
		conf.variant = row->variants[i];
		seeds(conf, nr, &sum);
	}
	if (!i)
		seeds(conf, nr, &sum);
	print_message("%zu operations, %llu combined at client 0\n", sum.ops,
		      (unsigned long long)sum.combined);
	assert_true(!row->combines || sum.combined > 0);
}

static void elsewhere(void **state)
{
	(void)state;
	program_elsewhere(all_kind);
}

static const char *nic_of(const struct histories *row)
{
	return row->conf.rig.sim ? "sim" : row->conf.rig.soft ? "soft" : "mem";
}

int histories_main(int argc, char **argv, const struct ordered_kind *kind,
		   const struct histories *rows, unsigned nr)
{
	struct CMUnitTest tests[MOST] = { { 0 } };
	const struct CMUnitTest there[] = {
		cmocka_unit_test(elsewhere),
	};
	unsigned i, n = 0;

	all_kind = kind;
	if (argc == 2 && !strcmp(argv[1], "elsewhere"))
		return cmocka_run_group_tests(there, NULL, NULL);
	for (i = 0; argc == 2 && i < nr && n < MOST; i++)
		if (!strcmp(argv[1], nic_of(&rows[i])))
			tests[n++] = (struct CMUnitTest){
				.name = rows[i].name, .test_func = run_row,
				.initial_state = (void *)&rows[i],
			};
	if (n)
		return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
	fprintf(stderr, "usage: %s mem|sim|soft|elsewhere\n", argv[0]);
	return 2;
}
