/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node at the other end of UDP, whose wire loses, repeats and reorders frames:
 * that costs time. The histories of two clients, and the space afterwards, are right.
 */
#include "../../../lib/nightly.h"
#include "node.h"
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "../../../../userspace/nic/soft_priv.h"

#define CLIENTS	2u

static int add_fault(void *arg, const char *name, uint64_t value)
{
	uint64_t *sum = arg;

	if (!strcmp(name, "fault_lost"))
		sum[0] += value;
	if (!strcmp(name, "fault_reordered"))
		sum[1] += value;
	return 0;
}

/* Frames that were lost, and that were reordered. */
static void node_faults(const struct node *node, uint64_t sum[2])
{
	const struct nic_reporter reporter = { .number = add_fault, .arg = sum };
	struct nic *dev = soft_nic_of(node->nic)->dev;

	memset(sum, 0, 2 * sizeof(*sum));
	assert_int_equal(dev->ops->report(dev, &reporter), 0);
}

static void over(const char *faults, unsigned ops)
{
	char spec[CLIENTS][96];
	struct program_conf conf = {
		.rig = {
			.clients = CLIENTS, .seed = 1, .specs = { spec[0], spec[1] },
			.node = NODE_NAME, .space = "s",
		},
		.tasks = 4, .ops = ops, .keys = 4, .fill = 20, .longest = 2000,
	};
	struct program_result result;
	struct node node;
	uint64_t sum[2];
	unsigned i;

	node_open(&node, faults, 32 << 20);
	for (i = 0; i < CLIENTS; i++)
		snprintf(spec[i], sizeof(spec[i]),
			 "soft:ip=10.77.0.%u/24,udp=127.0.0.1:0:127.0.0.1:%u", 11 + i,
			 node.port);
	program_expect_right(&conf, &result);
	node_faults(&node, sum);
	print_message("%s %llu operations, %llu frames lost, %llu reordered\n", faults,
		      (unsigned long long)result.ops, (unsigned long long)sum[0],
		      (unsigned long long)sum[1]);
	assert_true(sum[0] > 20);
	node_close(&node);
}

static void loses_1(void **state)
{
	(void)state;
	over("loss=0.01,", nightly() ? 3000 : 200);
}

static void loses_5(void **state)
{
	(void)state;
	over("loss=0.05,reorder=0.05,duplicate=0.02,", nightly() ? 3000 : 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loses_1),
		cmocka_unit_test(loses_5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
