/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node at the other end of UDP, whose wire loses, repeats and reorders frames:
 * that costs time. The histories of two clients, and the space afterwards, are right.
 */
#include "../../../lib/nightly.h"
#include "program.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../../userspace/core/space.h"
#include "../../../../userspace/nic/soft_priv.h"

#define CLIENTS	2u

/* The memory node, and who is within reach of its memory: a client of its own. */
struct node {
	struct far_nic *nic;
	struct far *far;
	struct far_task *task;
	uint16_t port;
};

static uint16_t free_port(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	close(fd);
	return ntohs(addr.sin_port);
}

/* faults: words of the software NIC. All frames to and from the node meet them. */
static void node_open(struct node *node, const char *faults)
{
	const char *const names[] = { "" };
	const struct far_space_attr attr = {
		.size = 32 << 20, .chunk_size = 1 << 20, .nodes = names, .nr_nodes = 1,
	};
	const struct far_conf conf = { .space = "s" };
	char spec[256], why[200];

	node->port = free_port();
	snprintf(spec, sizeof(spec), "soft:nodes=1,%s,udp=127.0.0.1:%u", faults,
		 node->port);
	if (far_nic_open(spec, why, sizeof(why), &node->nic) ||
	    far_space_create_on(node->nic, "s", &attr, why, sizeof(why)) ||
	    far_open_nic(node->nic, &conf, why, sizeof(why), &node->far))
		fail_msg("%s", why);
	assert_int_equal(far_enter(node->far, &node->task), 0);
}

static void node_close(struct node *node)
{
	char why[200];

	far_leave(node->task);
	far_close(node->far);
	assert_int_equal(far_space_delete_on(node->nic, "s", why, sizeof(why)), 0);
	node->nic->ops->close(node->nic);
}

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
			.node = "10.77.0.2", .space = "s",
		},
		.tasks = 4, .ops = ops, .keys = 4, .fill = 20, .longest = 2000,
	};
	struct program_result result;
	struct node node;
	uint64_t sum[2];
	unsigned i;

	node_open(&node, faults);
	for (i = 0; i < CLIENTS; i++)
		snprintf(spec[i], sizeof(spec[i]),
			 "soft:ip=10.77.0.%u/24,udp=127.0.0.1:0:127.0.0.1:%u", 11 + i,
			 node.port);
	program_expect_right(&conf, &result);
	node_faults(&node, sum);
	print_message("%s: %llu operations, %llu frames lost, %llu reordered\n", faults,
		      (unsigned long long)result.ops, (unsigned long long)sum[0],
		      (unsigned long long)sum[1]);
	assert_true(sum[0] > 20);
	node_close(&node);
}

static void loses_1(void **state)
{
	(void)state;
	over("loss=0.01", nightly() ? 3000 : 200);
}

static void loses_5(void **state)
{
	(void)state;
	over("loss=0.05,reorder=0.05,duplicate=0.02", nightly() ? 3000 : 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loses_1),
		cmocka_unit_test(loses_5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
