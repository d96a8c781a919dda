// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the mlx5 NIC reports of itself, and that it stops when nobody listens.
 */
#include <errno.h>
#include <nic/mlx5.h>
#include <string.h>
#include "fake.h"

struct heard {
	char device[16];
	bool refusal;
	uint64_t cqs, keys;
	unsigned int nr, most;
};

/* 0, or enough was heard. */
static int count(struct heard *h)
{
	return h->nr++ < h->most ? 0 : -ENOBUFS;
}

static int hear_number(void *arg, const char *name, uint64_t value)
{
	struct heard *h = arg;

	if (!strcmp(name, "cqs"))
		h->cqs = value;
	else if (!strcmp(name, "keys"))
		h->keys = value;
	return count(h);
}

static int hear_text(void *arg, const char *name, const char *value)
{
	struct heard *h = arg;

	if (!strcmp(name, "device"))
		snprintf(h->device, sizeof(h->device), "%s", value);
	h->refusal |= !strcmp(name, "refusal");
	return count(h);
}

static uint8_t memory[4096] __attribute__((aligned(4096)));

static void reports(void **state)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	struct heard h = { .most = 100 };
	const struct nic_reporter to = {
		.number = hear_number, .text = hear_text, .arg = &h,
	};
	char why[NIC_MLX5_WHY_MAX];
	uint32_t pdn, key, cqn;
	struct nic *nic;
	unsigned int nr;

	fake_init();
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, NULL, &nic, why), 0);
	assert_int_equal(nic->ops->pd_alloc(nic, &pdn), 0);
	assert_int_equal(nic->ops->mr_reg(nic, pdn, memory, sizeof(memory), 0,
					  0, &key), 0);
	assert_int_equal(nic->ops->cq_create(nic, 4, &cqn), 0);
	assert_int_equal(nic->ops->report(nic, &to), 0);
	assert_string_equal(h.device, "fake0");
	assert_false(h.refusal);
	assert_int_equal(h.cqs, 1);
	assert_int_equal(h.keys, 1);
	for (nr = h.nr, h.most = 0; h.most < nr; h.most++) {
		h.nr = 0;
		assert_int_equal(nic->ops->report(nic, &to), -ENOBUFS);
		assert_int_equal(h.nr, h.most + 1);
	}
	nic->ops->close(nic);
	fake_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
