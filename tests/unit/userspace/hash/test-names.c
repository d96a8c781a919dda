/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of tables when a connection breaks at the N-th operation, for all N: whoever
 * gives up does not keep the directory's lock, for which others would wait as long as
 * that client lives. This test fails by not coming to an end.
 */
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <far/space.h>

#include "../../../../userspace/core/core.h"
#include "../../../lib/nic/fault.h"

#define SPACE	"names"

struct names {
	char dir[32], spec[64];
	struct far_nic *nic;	/* of client 0; it can fail */
	struct far *far[2];
	struct far_task *task[2];
};

static void names_open(struct names *names)
{
	const struct far_space_attr attr = { .size = 64 << 20 };
	/* a small cache, since one is made with each handle */
	struct far_conf conf = { .space = SPACE, .cache_bytes = 64 << 10 };
	struct far_nic *inner;
	char why[200];
	unsigned i;

	snprintf(names->dir, sizeof(names->dir), "/tmp/far-names-XXXXXX");
	assert_non_null(mkdtemp(names->dir));
	snprintf(names->spec, sizeof(names->spec), "mem:dir=%s", names->dir);
	conf.nic = names->spec;
	assert_int_equal(far_space_create(conf.nic, SPACE, &attr, why, sizeof(why)), 0);
	assert_int_equal(far_nic_open(conf.nic, why, sizeof(why), &inner), 0);
	assert_int_equal(far_fault_new(inner, 1, 0, &names->nic), 0);
	assert_int_equal(far_open_nic(names->nic, &conf, why, sizeof(why),
				      &names->far[0]), 0);
	assert_int_equal(far_open(&conf, why, sizeof(why), &names->far[1]), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(far_enter(names->far[i], &names->task[i]), 0);
}

static void names_close(struct names *names)
{
	char why[200];
	unsigned i;

	for (i = 0; i < 2; i++) {
		far_leave(names->task[i]);
		far_close(names->far[i]);
	}
	names->nic->ops->close(names->nic);
	assert_int_equal(far_space_delete(names->spec, SPACE, why, sizeof(why)), 0);
	rmdir(names->dir);
}

/* A table made and dropped. */
static int name_use(struct far_task *task, const char *name)
{
	static const struct far_hash_attr attr = { .expected = 10 };
	struct far_hash *hash;
	int err = far_hash_create(task, name, &attr, &hash);

	if (!err)
		far_hash_close(hash);
	return err ? err : far_hash_destroy(task, name);
}

static int is_broken(int err)
{
	return err == -EIO || err == -ETIMEDOUT || err == -EHOSTDOWN;
}

static void breaks_at_each(void **state)
{
	struct names names;
	uint64_t n;
	int err;

	(void)state;
	names_open(&names);
	for (n = 1; n <= 60; n++) {
		far_fault_fail_at(names.nic, n, -ETIMEDOUT);
		err = name_use(names.task[0], "a");
		assert_true(!err || is_broken(err));
		far_fault_fail_at(names.nic, 0, 0);
		assert_int_equal(name_use(names.task[1], "b"), 0);
		err = far_hash_destroy(names.task[0], "a");
		assert_true(!err || err == -ENOENT);
	}
	names_close(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks_at_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
