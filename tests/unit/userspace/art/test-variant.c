/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The variant in which each update makes a new leaf is right, too. */
#include "../../../../userspace/art/variant.h"

#include "../../../lib/nightly.h"
#include "kind.h"

static void set_variant(void *index, unsigned variant)
{
	art_set_variant(index, variant);
}

static struct ordered_kind kind;

static struct program_conf conf_of(enum art_variant variant)
{
	const struct program_conf conf = {
		.kind = &kind,
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 3, .key_size = 9, .value_size = 8,
		.variant = variant,
	};

	kind = art_kind;
	kind.variant = set_variant;
	return conf;
}

static void lock_free(void **state)
{
	struct program_conf conf = conf_of(ART_LOCK_FREE);
	struct program_result result;

	(void)state;
	for (conf.rig.seed = 1; conf.rig.seed <= (nightly() ? 1000 : 40); conf.rig.seed++)
		program_expect_right(&conf, &result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
