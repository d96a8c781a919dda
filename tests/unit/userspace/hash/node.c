/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A memory node at the other end of UDP. */
#include "node.h"

#include <stdio.h>

#include "../../../../userspace/core/space.h"
#include "../../../lib/port.h"

void node_open(struct node *node, const char *words, uint64_t size)
{
	const char *const names[] = { "" };
	const struct far_space_attr attr = {
		.size = size, .chunk_size = 1 << 20, .nodes = names, .nr_nodes = 1,
	};
	const struct far_conf conf = { .space = "s" };
	char spec[256], why[200];

	node->port = free_port(SOCK_DGRAM);
	snprintf(spec, sizeof(spec), "soft:nodes=1,%sudp=127.0.0.1:%u", words, node->port);
	if (far_nic_open(spec, why, sizeof(why), &node->nic) ||
	    far_space_create_on(node->nic, "s", &attr, why, sizeof(why)) ||
	    far_open_nic(node->nic, &conf, why, sizeof(why), &node->far))
		fail_msg("%s", why);
	assert_int_equal(far_enter(node->far, &node->task), 0);
}

void node_close(struct node *node)
{
	char why[200];

	far_leave(node->task);
	far_close(node->far);
	assert_int_equal(far_space_delete_on(node->nic, "s", why, sizeof(why)), 0);
	node->nic->ops->close(node->nic);
}
