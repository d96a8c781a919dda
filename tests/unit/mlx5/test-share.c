// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * However many domains have keys to the pool, its memory is pinned twice: for the pool's
 * own key, and for all of theirs.
 */
#include <errno.h>
#include <nic/mlx5.h>
#include <session/keys.h>
#include "fake.h"

#define POOL	(4u << 20)

static void pinned_once(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	struct keys keys[3];
	struct pool pool;
	uint64_t before;
	struct nic *nic;
	int i;

	fake_init();
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, NULL, &nic, why), 0);
	assert_int_equal(pool_init(&pool, nic, POOL, false), 0);
	assert_int_equal(fake.pinned, POOL);
	fake.fail_in = 1;
	assert_int_equal(pool_share(&pool), -ENOMEM);
	assert_int_equal(pool_share(&pool), 0);
	assert_int_equal(pool_share(&pool), 0);
	assert_int_equal(fake.pinned, 2 * POOL);
	before = fake.pinned;
	for (i = 0; i < 3; i++)
		assert_int_equal(keys_init(&keys[i], &pool, pool.pdn, 16), 0);
	assert_true(fake.pinned - before < POOL);
	while (i--)
		keys_fini(&keys[i]);
	pool_fini(&pool);
	assert_null(fake.umems);
	nic->ops->close(nic);
	fake_fini();
}

/* A card that refuses the umem, or a key to it, costs a registration for each domain. */
static void refused(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	struct keys keys[2];
	struct pool pool;
	struct nic *nic;
	uint64_t before;

	fake_init();
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, NULL, &nic, why), 0);
	assert_int_equal(pool_init(&pool, nic, POOL, false), 0);
	before = fake.pinned;
	fake.fail_in = 2;			/* after the domain */
	assert_int_equal(keys_init(&keys[0], &pool, pool.pdn, 16), 0);
	assert_in_range(fake.pinned - before, POOL, 2 * POOL - 1);
	assert_int_equal(pool_share(&pool), 0);
	before = fake.pinned;
	fake.refuse = 0x200;
	fake.status = 3;
	assert_int_equal(keys_init(&keys[1], &pool, pool.pdn, 16), 0);
	assert_in_range(fake.pinned - before, POOL, 2 * POOL - 1);
	keys_fini(&keys[1]);
	keys_fini(&keys[0]);
	pool_fini(&pool);
	assert_null(fake.umems);
	nic->ops->close(nic);
	fake_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_once),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
