// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A card that is gone refuses to destroy what it had; the agent ends all the same.
 * It tried again for ever.
 */
#include <stdlib.h>
#include <nic/mlx5.h>
#include <nic/node.h>
#include "fake.h"

static uint8_t memory[4096] __attribute__((aligned(4096)));

static void make_qp(struct nic *nic)
{
	struct nic_qp_attr attr = {
		.mem = memory, .mem_len = sizeof(memory),
		.sq = memory, .log_sq = 4,
		.dbr = (struct wrc_dbr *)(memory + 2048),
	};
	uint32_t qpn;

	assert_int_equal(nic->ops->pd_alloc(nic, &attr.pdn), 0);
	assert_int_equal(nic->ops->cq_create(nic, 4, &attr.scqn), 0);
	attr.rcqn = attr.scqn;
	assert_int_equal(nic->ops->qp_create(nic, &attr, &qpn), 0);
}

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
	assert_int_equal(nic->node->ops->ksm_create(nic, pdn, 32768,
						    NIC_REMOTE_READ, 1, &key),
			 0);
	fake.gone = true;
	nic->ops->close(nic);
	fake_fini();
}

/* What the kernel does when the file is closed. */
static void let_go(void)
{
	struct fake_umem *u;

	fake.no_destroy = false;
	while (fake.objs)
		assert_int_equal(fake_devx.destroy(fake.objs), 0);
	while (fake.umems) {
		u = fake.umems;
		/* The memory of a completion queue is kept for a device that may write there. */
		if (u->va != memory)
			free(u->va);
		assert_int_equal(fake_devx.umem_dereg(u), 0);
	}
	fake.pds = 0;
}

static void closes_with_queue_pairs(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	fake_init();
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, NULL, &nic, why), 0);
	make_qp(nic);
	make_qp(nic);
	fake.no_stop = fake.no_destroy = true;
	nic->ops->close(nic);
	let_go();
	fake_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closes),
		cmocka_unit_test(closes_with_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
