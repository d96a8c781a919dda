// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A card that is gone refuses to destroy what it had; the agent ends all the same.
 * It tried again for ever.
 */
#include "fake.h"
#include <nic-mlx5.h>

static uint8_t memory[4096] __attribute__((aligned(4096)));

static void closes(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	uint32_t pdn, key;
	struct nic *nic;

	fake_init();
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, NULL, &nic, why), 0);
	assert_int_equal(nic->ops->pd_alloc(nic, &pdn), 0);
	assert_int_equal(nic->ops->mr_reg(nic, pdn, memory, sizeof(memory), 0, 0,
					  &key), 0);
	assert_int_equal(nic->ops->ksm_create(nic, pdn, 32768, NIC_REMOTE_READ, 1,
					      &key), 0);
	fake.gone = true;
	nic->ops->close(nic);
	fake_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(closes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
