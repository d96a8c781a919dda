/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_nic_host_ops, for memory nodes of this process. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "soft_priv.h"

/* Finds a memory node and takes its lock. -EHOSTUNREACH: it is not in this process. */
static int node_enter(struct far_nic *nic, const char *name, struct soft_node **ret_node)
{
	struct soft_addr addr;
	int err = soft_addr_of(soft_nic_of(nic), name, &addr);

	if (err || !addr.local)
		return -EHOSTUNREACH;
	pthread_mutex_lock(&addr.local->lock);
	*ret_node = addr.local;
	return 0;
}

static int node_leave(struct soft_node *node, int err)
{
	pthread_mutex_unlock(&node->lock);
	return err;
}

static void map_fill(struct soft_space *space, struct far_host_map *ret_map)
{
	space->maps++;
	ret_map->addr = space->host.base;
	ret_map->size = space->host.size;
	ret_map->priv = space;
}

static int host_create(struct far_nic *nic, const char *node_name, const char *name,
		       uint64_t size, unsigned mode, struct far_host_map *ret_map)
{
	struct soft_space *space;
	struct soft_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	if (!far_host_name_ok(name) || !size || size % 4096 || size >> 40)
		err = -EINVAL;
	else if (soft_space_find(node, name))
		err = -EEXIST;
	else
		err = soft_space_new(node, name, size, &space);
	if (!err)
		map_fill(space, ret_map);
	return node_leave(node, err);
}

static int host_publish(struct far_nic *nic, struct far_host_map *map)
{
	struct soft_space *space = map->priv;
	struct soft_node *node = space->node;

	pthread_mutex_lock(&node->lock);
	return node_leave(node, soft_space_publish(space));
}

static int host_map(struct far_nic *nic, const char *node_name, const char *name,
		    struct far_host_map *ret_map)
{
	struct soft_space *space;
	struct soft_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	space = soft_space_find(node, name);
	if (space)
		map_fill(space, ret_map);
	return node_leave(node, space ? 0 : -ENOENT);
}

static void host_unmap(struct far_nic *nic, struct far_host_map *map)
{
	struct soft_space *space = map->priv;
	struct soft_node *node = space->node;

	pthread_mutex_lock(&node->lock);
	space->maps--;
	soft_space_put(space);
	pthread_mutex_unlock(&node->lock);
}

static int host_remove(struct far_nic *nic, const char *node_name, const char *name)
{
	struct soft_space *space;
	struct soft_node *node;
	int err = node_enter(nic, node_name, &node);

	if (err)
		return err;
	space = soft_space_find(node, name);
	if (space)
		soft_space_remove(space);
	return node_leave(node, space ? 0 : -ENOENT);
}

/* Copies the name of space number i of a node. 0: there is no such space. */
static int name_of(struct soft_node *node, unsigned i,
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
	struct soft_nic *soft = soft_nic_of(nic);
	char node[12], space[ODRP_FAR_NAME_MAX + 1];
	unsigned n, i;
	int err = 0;

	for (n = 0; n < soft->nr_nodes && !err; n++) {
		snprintf(node, sizeof(node), "%u", n);
		for (i = 0; !err && name_of(soft->node[n], i, space); i++)
			err = each(arg, node, space);
	}
	return err;
}

const struct far_nic_host_ops soft_host_ops = {
	.create = host_create,
	.publish = host_publish,
	.map = host_map,
	.unmap = host_unmap,
	.remove = host_remove,
	.list = host_list,
};
