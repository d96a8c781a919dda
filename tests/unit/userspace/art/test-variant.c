/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The variants are right, too: without deaths, and where WRITEs land in order. */
#include "../../../../userspace/paper/art.h"

#include "../../../lib/nightly.h"
#include "kind.h"

static struct ordered_kind kind;
static uint64_t locks[FAR_MAX_NODES];

static void set_variant(void *index, unsigned variant)
{
	art_set_variant(index, variant);
	art_set_locks(index, locks);
}

static int make_locks(struct far_task *task)
{
	return art_make_locks(task, "locks", locks);
}

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

static void seeds(struct program_conf conf, unsigned by_day)
{
	struct program_result result;

	for (conf.rig.seed = 1; conf.rig.seed <= (nightly() ? 1000 : by_day); conf.rig.seed++)
		program_expect_right(&conf, &result);
}

static void lock_free(void **state)
{
	(void)state;
	seeds(conf_of(ART_LOCK_FREE), 40);
}

/* The lock is released by the WRITE of the value, which needs an order of its words. */
static void e_hocl(void **state)
{
	struct program_conf conf = conf_of(ART_SMART);

	(void)state;
	conf.rig.adversary = FAR_SIM_DELAY;
	seeds(conf, 5);
	conf.rig.without = FAR_WITHOUT_COMBINE;
	seeds(conf, 5);
}

static void hocl(void **state)
{
	struct program_conf conf = conf_of(ART_SMART_HOCL);

	(void)state;
	kind.beside = make_locks;
	seeds(conf, 3);
	conf.rig.without = FAR_WITHOUT_COMBINE;
	seeds(conf, 3);
}

static void rowex(void **state)
{
	struct program_conf conf = conf_of(ART_ROWEX);

	(void)state;
	kind.beside = make_locks;
	conf.fill = conf.drain = 20;
	conf.rig.without = FAR_WITHOUT_COMBINE;
	seeds(conf, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_free),
		cmocka_unit_test(e_hocl),
		cmocka_unit_test(hocl),
		cmocka_unit_test(rowex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
