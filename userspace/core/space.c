// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Creating, deleting and listing spaces, where memory nodes are within reach.
 */
#include "space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <own/memory.h>
#include <own/words.h>

#include "../base/rng.h"
#include "../base/why.h"
#include "../space/format.h"
#include "../space/geometry.h"
#include "../space/summary.h"
#include "type.h"

static const char *const only_node[] = { "" };

static int host_check(const struct far_nic *nic, char *why, size_t len)
{
	if (nic->ops->host)
		return 0;
	return far_why(why, len, -EOPNOTSUPP, "%s: the memory nodes are out of reach: "
		       "their agents create and delete spaces", nic->ops->name);
}

static int node_why(char *why, size_t len, int err, const char *name, const char *node,
		    const char *what)
{
	if (err == -EEXIST)
		return far_why(why, len, err, "space \"%s\" exists already: expected another "
			       "name, or \"far space delete %s\" first", name, name);
	return far_why(why, len, err, "space \"%s\"%s%s cannot be %s: %s", name,
		       *node ? " at node " : "", node, what,
		       err == -ENOSPC ? "there is not so much memory" : far_strerror(err));
}

/* Memory of one node, formatted, that nobody sees yet. */
static int node_prepare(struct far_nic *nic, const char *node,
			const struct far_format *format, unsigned mode, char *why,
			size_t len, struct far_host_map *ret_map)
{
	char words[300];
	struct far_sb sb;
	int err = far_format_plan(format, why, len, &sb);

	if (err)
		return err;
	err = nic->ops->host->create(nic, node, format->name, format->size, mode,
				     ret_map);
	if (err == -EPERM)
		return far_why(why, len, -EINVAL, "mode 0%o: only this user reaches the "
			       "spaces of %s, whatever their modes: expected mem:dir=PATH, "
			       "a directory that the others reach, too", mode,
			       nic->ops->name);
	if (err == -ENOSPC && format->size > own_memory_available(NULL)) {
		own_words(words, sizeof(words), OWN_TRIED_MEMORY, format->size, err);
		return far_why(why, len, err, "space \"%s\" cannot be created: %s",
			       format->name, words);
	}
	if (err)
		return node_why(why, len, err, format->name, node, "created");
	far_format_write(ret_map->addr, &sb, true);
	return 0;
}

/* What all nodes of a set have in common. */
static struct far_format format_of(const char *name, const struct far_space_attr *attr)
{
	uint64_t random[2] = { far_rng_any_seed(), far_rng_any_seed() };
	struct far_format format = {
		.name = name, .size = attr->size & ~UINT64_C(4095),
		.chunk_size = attr->chunk_size, .max_clients = attr->max_clients,
		.nr_nodes = attr->nr_nodes ? attr->nr_nodes : 1,
		.created = time(NULL),
	};

	static_assert(sizeof(random) == sizeof(format.set), "set");
	memcpy(format.set, random, sizeof(format.set));
	return format;
}

static int nodes_publish(struct far_nic *nic, const char *name,
			 const char *const *node, struct far_host_map *map, unsigned nr,
			 char *why, size_t len)
{
	for (unsigned n = 0; n < nr; n++) {
		int err = nic->ops->host->publish(nic, &map[n]);

		if (!err)
			continue;
		node_why(why, len, err, name, node[n], "created");
		while (n--)
			nic->ops->host->remove(nic, node[n], name);
		return err;
	}
	return 0;
}

int far_space_create_on(struct far_nic *nic, const char *name,
			const struct far_space_attr *attr, char *why, size_t why_len)
{
	const char *const *node = attr->nodes ? attr->nodes : only_node;
	struct far_host_map map[FAR_MAX_NODES];
	struct far_format format;
	unsigned n = 0;
	int err = host_check(nic, why, why_len);

	if (err)
		return err;
	if (attr->nr_nodes > FAR_MAX_NODES || (attr->nr_nodes && !attr->nodes))
		return far_why(why, why_len, -EINVAL, "%u nodes: expected 1 to %u, "
			       "and their addresses", attr->nr_nodes, FAR_MAX_NODES);
	format = format_of(name, attr);
	for (; n < format.nr_nodes && !err; n++) {
		format.node = n;
		err = node_prepare(nic, node[n], &format, attr->mode ? attr->mode : 0600,
				   why, why_len, &map[n]);
		if (err)
			break;
	}
	if (!err)
		err = nodes_publish(nic, name, node, map, n, why, why_len);
	while (n--)
		nic->ops->host->unmap(nic, &map[n]);
	return err;
}

/* Names of nodes and spaces, as list() gives them. */
struct place {
	char *node, *space;
};

struct places {
	struct place *place;
	size_t nr;
};

static int place_add(void *arg, const char *node, const char *space)
{
	struct places *places = arg;
	struct place *more = realloc(places->place, (places->nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	places->place = more;
	more[places->nr].node = strdup(node);
	more[places->nr].space = strdup(space);
	if (!more[places->nr].node || !more[places->nr].space) {
		free(more[places->nr].node);
		free(more[places->nr].space);
		return -ENOMEM;
	}
	places->nr++;
	return 0;
}

static void places_free(struct places *places)
{
	while (places->nr--) {
		free(places->place[places->nr].node);
		free(places->place[places->nr].space);
	}
	free(places->place);
}

/* By space, then node: "2" before "10". */
static int place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->space, y->space);

	return order ? order : strverscmp(x->node, y->node);
}

static int places_get(struct far_nic *nic, char *why, size_t len,
		      struct places *ret_places)
{
	struct places places = { NULL, 0 };
	int err = host_check(nic, why, len);

	if (err)
		return err;
	err = nic->ops->host->list(nic, place_add, &places);
	if (err) {
		places_free(&places);
		return far_why(why, len, err, "spaces cannot be listed: %s",
			       far_strerror(err));
	}
	if (places.nr)
		qsort(places.place, places.nr, sizeof(*places.place), place_order);
	*ret_places = places;
	return 0;
}

int far_space_delete_on(struct far_nic *nic, const char *name, char *why,
			size_t why_len)
{
	struct places places;
	unsigned found = 0;
	int err = places_get(nic, why, why_len, &places), one;

	if (err)
		return err;
	for (size_t i = 0; i < places.nr; i++) {
		if (strcmp(places.place[i].space, name))
			continue;
		found++;
		one = nic->ops->host->remove(nic, places.place[i].node, name);
		if (one && !err)
			err = node_why(why, why_len, one, name, places.place[i].node,
				       "deleted");
	}
	places_free(&places);
	return found || err ? err :
	       far_why(why, why_len, -ENOENT, "no space has the name \"%s\": \"far "
		       "space list\" shows those that are there", name);
}

/* Adds one node's part; what is damaged or of another version counts as nothing. */
static void place_sum(struct far_nic *nic, const struct place *place,
		      struct far_space_info *info)
{
	struct far_host_map map;
	struct far_summary sum;

	if (nic->ops->host->map(nic, place->node, place->space, &map))
		return;
	if (!far_summary(map.addr, map.size, &sum)) {
		info->size += sum.size;
		info->used += sum.used;
		info->clients += sum.clients;
		info->structures += sum.names;
		info->nr_nodes++;
	}
	nic->ops->host->unmap(nic, &map);
}

int far_space_list_on(struct far_nic *nic,
		      int (*each)(void *arg, const struct far_space_info *info),
		      void *arg, char *why, size_t why_len)
{
	struct places places;
	size_t i = 0;
	int err = places_get(nic, why, why_len, &places);

	if (err)
		return err;
	while (i < places.nr && !err) {
		const char *name = places.place[i].space;
		struct far_space_info info = { .nr_nodes = 0 };

		snprintf(info.name, sizeof(info.name), "%s", name);
		for (; i < places.nr && !strcmp(places.place[i].space, name); i++)
			place_sum(nic, &places.place[i], &info);
		err = each(arg, &info);
	}
	places_free(&places);
	return err;
}

static int look_check(const struct far_nic *nic, char *why, size_t len)
{
	if (nic->ops->look)
		return 0;
	return far_why(why, len, -EOPNOTSUPP, "%s: --node: soft expected: this back end "
		       "asks no memory node", nic->ops->name);
}

int far_space_list_at(struct far_nic *nic, const char *node, const char *name,
		      int (*each)(void *arg, const struct far_space_info *info),
		      void *arg, char *why, size_t why_len)
{
	int err = look_check(nic, why, why_len);

	for (unsigned i = 0; !err && (!i || !name); i++) {
		struct far_nic_space space;
		struct far_space_info info;

		err = nic->ops->look(nic, node, name, i, &space);
		if (err == -ENOENT && !name)
			return 0;
		if (err && name)
			return far_why(why, why_len, err, "space \"%s\" at node \"%s\": %s",
				       name, node, far_node_words(err));
		if (err)
			return far_why(why, why_len, err, "node \"%s\": %s", node,
				       far_node_words(err));
		info = (struct far_space_info) {
			.size = space.size, .used = space.used,
			.nr_nodes = space.nr_nodes, .clients = space.clients,
			.structures = space.structures,
		};
		snprintf(info.name, sizeof(info.name), "%s", space.name);
		err = each(arg, &info);
	}
	return err;
}

int far_space_delete_at(struct far_nic *nic, const char *node, const char *name,
			char *why, size_t why_len)
{
	int err = look_check(nic, why, why_len);

	if (err)
		return err;
	err = nic->ops->erase(nic, node, name);
	if (!err)
		return 0;
	return far_why(why, why_len, err, "space \"%s\" at node \"%s\" cannot be deleted: "
		       "%s", name, node, err == -EACCES ? "the memory node's settings do "
		       "not say deletable = yes" : far_node_words(err));
}

/* Calls look() for each node's memory of one space; what it returns but 0 ends it. */
static int nodes_look(struct far_nic *nic, const char *name,
		      int (*look)(void *arg, const char *node, const void *memory,
				  const struct far_summary *sum),
		      void *arg, char *why, size_t len)
{
	struct places places;
	unsigned found = 0, damaged = 0;
	int err = places_get(nic, why, len, &places);

	if (err)
		return err;
	for (size_t i = 0; i < places.nr && !err; i++) {
		const struct place *place = &places.place[i];
		struct far_host_map map;
		struct far_summary sum;

		if (strcmp(place->space, name))
			continue;
		damaged++;
		if (nic->ops->host->map(nic, place->node, name, &map))
			continue;
		if (!far_summary(map.addr, map.size, &sum)) {
			found++;
			err = look(arg, place->node, map.addr, &sum);
		}
		nic->ops->host->unmap(nic, &map);
	}
	places_free(&places);
	if (damaged && !found && !err)
		return far_why(why, len, -EPROTO, "space \"%s\" is damaged, another "
			       "version's or another user's: \"far space delete\" deletes "
			       "it", name);
	return found || err ? err :
	       far_why(why, len, -ENOENT, "no space has the name \"%s\": \"far "
		       "space list\" shows those that are there", name);
}

struct names_look {
	int (*each)(void *arg, const struct far_space_entry *entry);
	void *arg;
};

static int look_name(const struct names_look *look, const struct far_dir_entry *from)
{
	struct far_dir_entry entry = *from;
	const struct far_type *type;

	if (!(uint32_t)entry.state)
		return 0;
	entry.name[sizeof(entry.name) - 1] = 0;
	type = far_type_find(entry.type);
	return look->each(look->arg, &(struct far_space_entry){
		.name = entry.name, .type = type ? type->name : "unknown",
		.version = entry.version });
}

static int look_names(void *arg, const char *node, const void *memory,
		      const struct far_summary *sum)
{
	const struct far_dir_entry *entry;
	uint64_t next = FAR_NIL;
	unsigned blocks = 0;
	int err = 0;

	(void)node;
	if (!sum->sb.dir_off)
		return 0;
	do {
		unsigned nr = far_dir_part(memory, &sum->sb, next, &entry, &next);

		for (unsigned i = 0; i < nr && !err; i++)
			err = look_name(arg, &entry[i]);
	} while (!err && next != FAR_NIL && blocks++ < FAR_MAX_DIR_BLOCKS);
	return err;
}

int far_space_names_on(struct far_nic *nic, const char *name,
		       int (*each)(void *arg, const struct far_space_entry *entry),
		       void *arg, char *why, size_t why_len)
{
	struct names_look look = { each, arg };

	return nodes_look(nic, name, look_names, &look, why, why_len);
}

struct order_look {
	char **node;		/* FAR_MAX_NODES */
	unsigned nr;		/* of the set */
};

static int look_order(void *arg, const char *node, const void *memory,
		      const struct far_summary *sum)
{
	struct order_look *look = arg;

	(void)memory;
	look->nr = sum->sb.nr_nodes;
	free(look->node[sum->sb.node]);
	look->node[sum->sb.node] = strdup(node);
	return look->node[sum->sb.node] ? 0 : -ENOMEM;
}

int far_space_nodes_on(struct far_nic *nic, const char *name, char **ret_node,
		       unsigned *ret_nr, char *why, size_t why_len)
{
	char *node[FAR_MAX_NODES] = { NULL };
	struct order_look look = { node, 0 };
	int err = nodes_look(nic, name, look_order, &look, why, why_len);

	for (unsigned n = 0; n < look.nr && !err; n++) {
		if (!node[n])
			err = far_why(why, why_len, -EPROTO, "node %u of the %u of space "
				      "\"%s\" is not within reach", n, look.nr, name);
	}
	for (unsigned n = 0; n < FAR_MAX_NODES; n++) {
		if (err)
			free(node[n]);
		else if (n < look.nr)
			ret_node[n] = node[n];
	}
	if (!err)
		*ret_nr = look.nr;
	return err;
}

int far_space_create(const char *nic, const char *name,
		     const struct far_space_attr *attr, char *why, size_t why_len)
{
	struct far_nic *open;
	int err = far_nic_open(nic ? nic : "mem", why, why_len, &open);

	if (err)
		return err;
	if (open->ops->caps & FAR_NIC_CAP_LASTING)
		err = far_space_create_on(open, name, attr, why, why_len);
	else
		err = far_why(why, why_len, -EOPNOTSUPP, "%s: a space there lives as long "
			      "as the process of its memory node: expected mem, \"far space "
			      "serve\", or a section [space %s] in the agent's "
			      "mnoded.conf", nic, name);
	open->ops->close(open);
	return err;
}

int far_space_delete(const char *nic, const char *name, char *why, size_t why_len)
{
	struct far_nic *open;
	int err = far_nic_open(nic ? nic : "mem", why, why_len, &open);

	if (err)
		return err;
	err = far_space_delete_on(open, name, why, why_len);
	open->ops->close(open);
	return err;
}

int far_space_list(const char *nic,
		   int (*each)(void *arg, const struct far_space_info *info),
		   void *arg, char *why, size_t why_len)
{
	struct far_nic *open;
	int err = far_nic_open(nic ? nic : "mem", why, why_len, &open);

	if (err)
		return err;
	err = far_space_list_on(open, each, arg, why, why_len);
	open->ops->close(open);
	return err;
}
