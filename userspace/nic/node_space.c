/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spaces of a memory node of this process, in memory of this process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <own/memory.h>

#include "soft_priv.h"

struct soft_space *soft_space_find(const struct soft_node *node, const char *name)
{
	struct far_host_space *space = far_host_space_find(&node->host, name);

	return space ? soft_space_of(space) : NULL;
}

int soft_space_new(struct soft_node *node, const char *name, uint64_t size,
		   struct soft_space **ret_space)
{
	struct soft_space *space = calloc(1, sizeof(*space));

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

int soft_space_publish(struct soft_space *space)
{
	int err = far_host_publish(&space->node->host, &space->host);

	space->known = !err;
	return err;
}

void soft_space_remove(struct soft_space *space)
{
	struct far_host *host = &space->node->host;

	/* A software NIC has written all that it will when a queue pair is destroyed. */
	while (far_host_remove(host, &space->host) &&
	       far_host_leaving(host, &space->host))
		far_host_poll(host);
	space->known = false;
	soft_space_put(space);
}

void soft_space_put(struct soft_space *space)
{
	if (space->maps || space->known)
		return;
	far_pages_unmap(&space->pages);
	free(space);
}
