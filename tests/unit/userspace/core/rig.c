// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces of plain memory for the tests of core. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const node_names[RIG_NODES] = { "0", "1", "2" };

void rig_open(struct rig *rig)
{
	char spec[64], why[200];
	unsigned i;

	snprintf(rig->dir, sizeof(rig->dir), "/tmp/far-core-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(spec, sizeof(spec), "mem:dir=%s", rig->dir);
	if (far_nic_open(spec, why, sizeof(why), &rig->nic))
		fail_msg("%s", why);
	for (i = 0; i < RIG_NODES; i++) {
		const struct far_nic_host_ops *host = rig->nic->ops->host;

		assert_int_equal(host->create(rig->nic, node_names[i], "s", RIG_SIZE,
					      0600, &rig->map[i]), 0);
		assert_int_equal(host->publish(rig->nic, &rig->map[i]), 0);
	}
}

void rig_close(struct rig *rig)
{
	const struct far_nic_host_ops *host = rig->nic->ops->host;
	unsigned i;

	for (i = 0; i < RIG_NODES; i++) {
		host->unmap(rig->nic, &rig->map[i]);
		host->remove(rig->nic, node_names[i], "s");
	}
	rig->nic->ops->close(rig->nic);
	rmdir(rig->dir);
}

struct far *rig_client(struct far_nic *nic, unsigned without)
{
	struct far_conf conf = {
		.space = "s",
		.nodes = node_names,
		.nr_nodes = RIG_NODES,
		.without = without,
		.seed = 1,
	};
	struct far *far;
	char why[200];

	if (far_open_bare(nic, &conf, why, sizeof(why), &far))
		fail_msg("%s", why);
	return far;
}

void *rig_at(struct rig *rig, unsigned node, uint64_t off)
{
	return (char *)rig->map[node].addr + off;
}
