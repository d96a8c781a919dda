/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spaces of a memory node: memory of this process, under a domain and a key each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "soft_priv.h"

struct soft_space *soft_space_find(const struct soft_node *node, const char *name)
{
	struct soft_space *space = node->spaces;

	while (space && strcmp(space->name, name))
		space = space->next;
	return space;
}

int soft_space_new(struct soft_node *node, const char *name, uint64_t size,
		   struct soft_space **ret_space)
{
	struct soft_space *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	space->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (space->base == MAP_FAILED) {
		free(space);
		return -ENOSPC;
	}
	/* Huge pages where the host allows them; a wish. */
	madvise(space->base, size, MADV_HUGEPAGE);
	space->node = node;
	space->size = size;
	snprintf(space->name, sizeof(space->name), "%s", name);
	*ret_space = space;
	return 0;
}

int soft_space_publish(struct soft_space *space)
{
	struct soft_node *node = space->node;
	struct nic *dev = node->dev;
	int err;

	if (soft_space_find(node, space->name))
		return -EEXIST;
	err = dev->ops->pd_alloc(dev, &space->pdn);
	if (err)
		return err;
	err = dev->ops->mr_reg(dev, space->pdn, space->base, space->size,
			       (uintptr_t)space->base, NIC_ALL, &space->key);
	if (err) {
		dev->ops->pd_free(dev, space->pdn);
		return err;
	}
	space->known = true;
	space->next = node->spaces;
	node->spaces = space;
	return 0;
}

static void attaches_end(struct soft_space *space)
{
	struct soft_attach_entry **at = &space->node->attaches;

	while (*at)
		if ((*at)->space == space)
			soft_attach_end(space->node, *at);
		else
			at = &(*at)->next;
}

void soft_space_remove(struct soft_space *space)
{
	struct soft_space **at = &space->node->spaces;
	struct nic *dev = space->node->dev;

	attaches_end(space);
	while (*at != space)
		at = &(*at)->next;
	*at = space->next;
	space->known = false;
	dev->ops->mr_dereg(dev, space->key);
	dev->ops->pd_free(dev, space->pdn);
	soft_space_put(space);
}

void soft_space_put(struct soft_space *space)
{
	if (space->maps || space->known)
		return;
	munmap(space->base, space->size);
	free(space);
}
