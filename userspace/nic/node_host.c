/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_nic_host_ops, for memory nodes of this process. */
#include "node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>


/* Finds a memory node and takes its lock. -EHOSTUNREACH: it is not in this process. */
static int node_enter(struct far_nic *nic, const char *name, struct far_node **ret_node)
{
	struct far_node *node = far_nodes_find((struct far_nodes *)nic, name);

	if (!node)
		return -EHOSTUNREACH;
	pthread_mutex_lock(&node->lock);
	*ret_node = node;
	return 0;
}

static int node_leave(struct far_node *node, int err)
{
	pthread_mutex_unlock(&node->lock);
	return err;
}

static void map_fill(struct far_node_space *space, struct far_host_map *ret_map)
{
	space->maps++;
	ret_map->addr = space->host.base;
	ret_map->size = space->host.size;
	ret_map->priv = space;
}

static int host_create(struct far_nic *nic, const char *node_name, const char *name,
		       uint64_t size, unsigned mode, struct far_host_map *ret_map)
{
	struct far_node_space *space;
	struct far_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	if (!far_host_name_ok(name) || !size || size % 4096 || size >> 40)
		err = -EINVAL;
	else if (far_node_space_find(node, name))
		err = -EEXIST;
	else
		err = far_node_space_new(node, name, size, &space);
	if (!err)
		map_fill(space, ret_map);
	return node_leave(node, err);
}

static int host_publish(struct far_nic *nic, struct far_host_map *map)
{
	struct far_node_space *space = map->priv;
	struct far_node *node = space->node;

	pthread_mutex_lock(&node->lock);
	return node_leave(node, far_node_space_publish(space));
}

static int host_map(struct far_nic *nic, const char *node_name, const char *name,
		    struct far_host_map *ret_map)
{
	struct far_node_space *space;
	struct far_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	space = far_node_space_find(node, name);
	if (space)
		map_fill(space, ret_map);
	return node_leave(node, space ? 0 : -ENOENT);
}

static void host_unmap(struct far_nic *nic, struct far_host_map *map)
{
	struct far_node_space *space = map->priv;
	struct far_node *node = space->node;

	pthread_mutex_lock(&node->lock);
	space->maps--;
	far_node_space_put(space);
	pthread_mutex_unlock(&node->lock);
}

static int host_remove(struct far_nic *nic, const char *node_name, const char *name)
{
	struct far_node_space *space;
	struct far_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	space = far_node_space_find(node, name);
	if (space)
		far_node_space_remove(space);
	return node_leave(node, space ? 0 : -ENOENT);
}

/* Copies the name of space number i of a node. 0: there is no such space. */
static int name_of(struct far_node *node, unsigned i,
		   char ret_name[ODRP_FAR_NAME_MAX + 1])
{
	const struct far_host_space *space;

	pthread_mutex_lock(&node->lock);
	for (space = node->host.spaces; space && i; i--)
		space = space->next;
	if (space)
		memcpy(ret_name, space->name, sizeof(space->name));
	pthread_mutex_unlock(&node->lock);
	return space != NULL;
}

static int host_list(struct far_nic *nic,
		     int (*each)(void *arg, const char *node, const char *space),
		     void *arg)
{
	const struct far_nodes *nodes = (struct far_nodes *)nic;
	char node[12], space[ODRP_FAR_NAME_MAX + 1];
	unsigned n, i;
	int err = 0;

	for (n = 0; n < nodes->nr && !err; n++) {
		snprintf(node, sizeof(node), "%u", n);
		for (i = 0; !err && name_of(nodes->node[n], i, space); i++)
			err = each(arg, node, space);
	}
	return err;
}

const struct far_nic_host_ops far_node_host_ops = {
	.create = host_create,
	.publish = host_publish,
	.map = host_map,
	.unmap = host_unmap,
	.remove = host_remove,
	.list = host_list,
};
