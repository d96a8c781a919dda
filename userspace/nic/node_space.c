/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spaces of a memory node of this process, in memory of this process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <own/memory.h>

#include "node.h"

struct far_node_space *far_node_space_find(const struct far_node *node, const char *name)
{
	struct far_host_space *space = far_host_space_find(&node->host, name);

	return space ? far_node_space_of(space) : NULL;
}

int far_node_space_new(struct far_node *node, const char *name, uint64_t size,
		   struct far_node_space **ret_space)
{
	struct far_node_space *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	/* The kernel would promise more than there is, and kill a process when it is used. */
	if (size > own_memory_available(NULL) || far_pages_map(size, &space->pages)) {
		free(space);
		return -ENOSPC;
	}
	space->host.base = space->pages.base;
	space->node = node;
	space->host.size = size;
	snprintf(space->host.name, sizeof(space->host.name), "%s", name);
	*ret_space = space;
	return 0;
}

int far_node_space_publish(struct far_node_space *space)
{
	int err = far_host_publish(&space->node->host, &space->host);

	space->known = !err;
	return err;
}

void far_node_space_remove(struct far_node_space *space)
{
	struct far_host *host = &space->node->host;

	/* The key ends with the space: the NIC can write nothing there any more. */
	while (far_host_remove(host, &space->host) &&
	       far_host_leaving(host, &space->host))
		far_host_poll(host);
	space->known = false;
	far_node_space_put(space);
}

void far_node_space_put(struct far_node_space *space)
{
	if (space->maps || space->known)
		return;
	far_pages_unmap(&space->pages);
	free(space);
}
