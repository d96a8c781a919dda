// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spaces at memory nodes. A memory node's name is its number; "" is number 0. The memory
 * of a removed space is used again when no map and no attachment refers to it.
 */
#include "cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACE_ALIGN	4096u

static struct sim_mn *mn_find(struct far_sim *sim, const char *node)
{
	char *end;
	unsigned long idx = strtoul(node, &end, 10);

	if (*end || (*node && (*node < '0' || *node > '9')) || idx >= sim->attr.mns ||
	    sim->mns[idx].dead)
		return NULL;
	return &sim->mns[idx];
}

static struct sim_space *space_find(struct sim_mn *mn, const char *name)
{
	struct sim_space *space;

	for (space = mn->spaces; space; space = space->next)
		if (space->published && !space->removed && !strcmp(space->name, name))
			return space;
	return NULL;
}

static void space_free(struct sim_mn *mn, struct sim_space *space)
{
	struct sim_space **at;

	for (at = &mn->spaces; *at != space; at = &(*at)->next)
		;
	*at = space->next;
	/* The next space at this place must find zeros. */
	madvise(mn->base + space->off, space->size, MADV_DONTNEED);
	free(space);
}

void sim_space_put(struct sim_space *space)
{
	struct sim_space *common = space->common;

	if (--space->refs || (!space->removed && space->published))
		return;
	space_free(space->mn, space);
	if (common)
		sim_space_put(common);
}

/*
 * Finds a hole of size bytes. Returns the place in the list for a space there, and the
 * hole's offset. NULL: there is none.
 */
static struct sim_space **hole_find(struct sim_mn *mn, uint64_t size, uint64_t *ret_off)
{
	struct sim_space **at;
	uint64_t off = 0;

	for (at = &mn->spaces; *at; at = &(*at)->next) {
		if ((*at)->off - off >= size)
			break;
		off = (*at)->off + (*at)->size;
	}
	if (!*at && mn->size - off < size)
		return NULL;
	*ret_off = off;
	return at;
}

int sim_space_new(struct sim_mn *mn, const char *name, uint64_t size,
		  struct sim_space **ret_space)
{
	struct sim_space *space, **at;
	uint64_t off;

	at = hole_find(mn, size, &off);
	if (!at)
		return -ENOSPC;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	snprintf(space->name, sizeof(space->name), "%s", name);
	space->mn = mn;
	space->off = off;
	space->size = size;
	space->refs = 1;
	space->next = *at;
	*at = space;
	*ret_space = space;
	return 0;
}

static void map_fill(struct sim_space *space, struct far_host_map *ret_map)
{
	ret_map->addr = space->mn->base + space->off;
	ret_map->size = space->size;
	ret_map->priv = space;
}

static int host_create(struct far_nic *nic, const char *node, const char *name,
		       uint64_t size, unsigned mode, struct far_host_map *ret_map)
{
	struct far_sim *sim = sim_cn_of(nic)->sim;
	struct sim_mn *mn = mn_find(sim, node);
	struct sim_space *space;
	int err;

	if (!mn)
		return -EHOSTUNREACH;
	if (!*name || strlen(name) > ODRP_FAR_NAME_MAX || !size || size % SPACE_ALIGN)
		return -EINVAL;
	if (space_find(mn, name))
		return -EEXIST;
	err = sim_space_new(mn, name, size, &space);
	if (err)
		return err;
	map_fill(space, ret_map);
	return 0;
}

static int host_publish(struct far_nic *nic, struct far_host_map *map)
{
	struct sim_space *space = map->priv;

	if (space_find(space->mn, space->name))
		return -EEXIST;
	space->published = 1;
	return 0;
}

static int host_map(struct far_nic *nic, const char *node, const char *name,
		    struct far_host_map *ret_map)
{
	struct far_sim *sim = sim_cn_of(nic)->sim;
	struct sim_mn *mn = mn_find(sim, node);
	struct sim_space *space;

	if (!mn)
		return -EHOSTUNREACH;
	space = space_find(mn, name);
	if (!space)
		return -ENOENT;
	space->refs++;
	map_fill(space, ret_map);
	return 0;
}

static void host_unmap(struct far_nic *nic, struct far_host_map *map)
{
	sim_space_put(map->priv);
}

static int host_remove(struct far_nic *nic, const char *node, const char *name)
{
	struct far_sim *sim = sim_cn_of(nic)->sim;
	struct sim_mn *mn = mn_find(sim, node);
	struct sim_space *space;

	if (!mn)
		return -EHOSTUNREACH;
	space = space_find(mn, name);
	if (!space)
		return -ENOENT;
	space->removed = 1;
	if (!space->refs)
		space_free(mn, space);
	return 0;
}

static int host_list(struct far_nic *nic,
		     int (*each)(void *arg, const char *node, const char *space),
		     void *arg)
{
	struct far_sim *sim = sim_cn_of(nic)->sim;
	struct sim_space *space, *next;
	char node[16];
	unsigned i;
	int err = 0;

	for (i = 0; i < sim->attr.mns && !err; i++) {
		snprintf(node, sizeof(node), "%u", i);
		for (space = sim->mns[i].spaces; space && !err; space = next) {
			next = space->next;
			if (space->published && !space->removed)
				err = each(arg, node, space->name);
		}
	}
	return err;
}

const struct far_nic_host_ops sim_host_ops = {
	.create = host_create,
	.publish = host_publish,
	.map = host_map,
	.unmap = host_unmap,
	.remove = host_remove,
	.list = host_list,
};

void sim_spaces_free(struct sim_mn *mn)
{
	while (mn->spaces) {
		struct sim_space *next = mn->spaces->next;

		free(mn->spaces);
		mn->spaces = next;
	}
}
