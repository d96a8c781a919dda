/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of tables while connections break: whoever gives up does not keep the
 * directory's lock, which others would wait for as long as that client lives.
 */
#include "program.h"

#include <errno.h>

/* One table made and dropped by a client; what breaks may be answered. */
static void name_use(struct far_task *task, const char *name)
{
	static const struct far_hash_attr attr = { .expected = 10 };
	struct far_hash *hash;
	int err = far_hash_create(task, name, &attr, &hash);

	if (!err)
		far_hash_close(hash);
	else
		assert_true(err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN ||
			    err == -EEXIST);
	err = far_hash_destroy(task, name);
	assert_true(!err || err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN ||
		    err == -ENOENT);
}

static void take_turns(uint64_t seed)
{
	const struct rig_conf conf = {
		.sim = 1, .clients = 2, .seed = seed, .adversary = FAR_SIM_BREAK,
	};
	struct far_task *task[2];
	struct rig rig;
	unsigned i;

	rig_open(&rig, &conf);
	for (i = 0; i < 2; i++)
		task[i] = rig_enter(&rig, i);
	for (i = 0; i < 40; i++)
		name_use(task[i % 2], i % 3 ? "a" : "b");
	for (i = 0; i < 2; i++)
		far_leave(task[i]);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
}

static void names(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++)
		take_turns(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
