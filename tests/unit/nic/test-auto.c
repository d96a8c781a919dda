// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which device nic = auto takes, and what it says: on devices that are none. The mlx5 NIC is
 * scripted; plain verbs are the real ones.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <nic/auto.h>
#include <nic/node.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/verbs/fake_verbs.h"

struct ibv_device **__wrap_ibv_get_device_list(int *nr);
int __wrap_nic_mlx5_open(const struct nic_mlx5_opts *opts, const struct wrc_mlx5_devx *devx,
			 const struct nic_cm *cm, struct nic **ret_nic, char *why);

static struct ibv_device devices[] = {
	{ .name = FAKE_DEVICE }, { .name = "fake1" }, { .name = "fake2" },
};

/*
 * @nr: how many of the devices there are
 * @no_rdma: the kernel has none, and the list cannot be had
 * @chains: the device that is a card which runs chains
 * @fails: but the report of odrp-hwcheck does not say so
 */
static struct {
	unsigned int nr, opened, closed;
	bool no_rdma, fails;
	const char *chains;
	uint8_t port;
} machine;

static const struct wrc_mlx5_devx devx;
static char why[NIC_AUTO_WHY_MAX];

struct ibv_device **__wrap_ibv_get_device_list(int *nr)
{
	struct ibv_device **list = calloc(4, sizeof(*list));
	unsigned int i;

	assert_non_null(list);
	for (i = 0; i < machine.nr; i++)
		list[i] = &devices[i];
	if (!machine.no_rdma)
		return list;
	free(list);
	errno = ENOSYS;
	return NULL;
}

static void card_close(struct nic *nic)
{
	machine.closed++;
}

static const struct nic_ops card_ops = { .name = "mlx5", .close = card_close };
static struct nic_node card_node;
static struct nic card = { .ops = &card_ops, .node = &card_node };

int __wrap_nic_mlx5_open(const struct nic_mlx5_opts *opts, const struct wrc_mlx5_devx *table,
			 const struct nic_cm *cm, struct nic **ret_nic, char *reason)
{
	assert_ptr_equal(table, &devx);
	assert_ptr_equal(cm, &nic_cm);
	assert_true(opts->strict);
	assert_string_not_equal(opts->report, "");
	if (!machine.chains || strcmp(machine.chains, opts->device)) {
		snprintf(reason, NIC_MLX5_WHY_MAX, "%s is not an mlx5 device", opts->device);
		return -EOPNOTSUPP;
	}
	machine.opened++;
	machine.port = opts->port;
	card_node.unfit = machine.fails;
	*ret_nic = &card;
	return 0;
}

static int setup(void **state)
{
	fake = (struct fake_verbs) { .gids = 4, .split_keys = true };
	memset(&machine, 0, sizeof(machine));
	machine.nr = 1;
	return 0;
}

/* Nothing stays open but what the caller has. */
static int teardown(void **state)
{
	assert_int_equal(machine.opened, machine.closed);
	assert_int_equal(fake.objects, 0);
	assert_null(fake.wrong);
	return 0;
}

static int choose_on(const char *device, uint8_t port, const struct wrc_mlx5_devx *table)
{
	struct nic_verbs_opts opts = { .port = port };
	struct nic *nic = NULL;
	int r;

	snprintf(opts.device, sizeof(opts.device), "%s", device);
	r = nic_auto_open(&opts, table, &nic, why);
	if (nic)
		nic->ops->close(nic);
	assert_int_equal(!r, !!nic);
	return r;
}

static int choose(const char *device)
{
	return choose_on(device, 1, &devx);
}

static void card_first(void **state)
{
	machine.nr = 3;
	machine.chains = "fake1";
	assert_int_equal(choose(""), 0);
	assert_string_equal(why, "auto: mlx5:fake1, the first device that runs chains; not "
			    "mlx5:fake0 (fake0 is not an mlx5 device); not tried: fake2");
	machine.chains = FAKE_DEVICE;
	assert_int_equal(choose(""), 0);
	assert_string_equal(why, "auto: mlx5:fake0, the first device that runs chains; not "
			    "tried: fake1, fake2");
	assert_int_equal(machine.opened, 2);
}

static void named_device(void **state)
{
	machine.nr = 2;
	machine.chains = "fake1";
	assert_int_equal(choose(FAKE_DEVICE), 0);
	assert_string_equal(why, "auto: verbs:fake0, without chains; not mlx5:fake0 (fake0 is "
			    "not an mlx5 device)");
	assert_int_equal(choose_on("fake1", 2, &devx), 0);
	assert_int_equal(machine.port, 2);
	assert_string_equal(why, "auto: mlx5:fake1, the first device that runs chains");
	assert_int_equal(choose("fake2"), -ENODEV);
	assert_string_equal(why, "auto: fake2: no such RDMA device; ibv_devices lists them");
}

static void verbs_else(void **state)
{
	assert_int_equal(choose(""), 0);
	assert_string_equal(why, "auto: verbs:fake0, without chains; not mlx5:fake0 (fake0 is "
			    "not an mlx5 device)");
	assert_int_equal(choose_on("", 1, NULL), 0);
	assert_string_equal(why, "auto: verbs:fake0, without chains; not mlx5:fake0 (built "
			    "without libmlx5)");
}

static void card_that_fails(void **state)
{
	machine.chains = FAKE_DEVICE;
	machine.fails = true;
	assert_int_equal(choose(""), 0);
	assert_string_equal(why, "auto: verbs:fake0, without chains; not mlx5:fake0 "
			    "(by the report of odrp-hwcheck it is not enough for chains)");
	assert_int_equal(machine.closed, 1);
}

static void none_fits(void **state)
{
	fake.no_atomics = true;
	assert_int_equal(choose(""), -EOPNOTSUPP);
	assert_string_equal(why, "auto: expected an mlx5 card that runs chains, or a device "
			    "with atomics and an active port; not mlx5:fake0 (fake0 is not an "
			    "mlx5 device), verbs:fake0 (verbs: fake0 has no atomic "
			    "operations)");
}

/* Each call that fails is said, and leaves nothing. */
static void calls_fail(void **state)
{
	unsigned int i;
	int r = -1;

	for (i = 1; r; i++) {
		fake.calls = 0;
		fake.fail_at = i;
		r = choose("");
		if (r)
			assert_non_null(strstr(why, "verbs:fake0 ("));
		assert_int_equal(fake.objects, 0);
	}
	assert_true(i > 3);
}

static void no_device(void **state)
{
	machine.nr = 0;
	assert_int_equal(choose(""), -ENODEV);
	assert_non_null(strstr(why, "no RDMA device in this machine: expected an mlx5 card"));
	machine.no_rdma = true;
	assert_int_equal(choose(""), -ENODEV);
	assert_non_null(strstr(why, "no RDMA device in this machine: expected an mlx5 card"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(card_first, setup, teardown),
		cmocka_unit_test_setup_teardown(named_device, setup, teardown),
		cmocka_unit_test_setup_teardown(verbs_else, setup, teardown),
		cmocka_unit_test_setup_teardown(card_that_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(none_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(no_device, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
