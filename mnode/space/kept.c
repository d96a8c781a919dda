// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adopts spaces of an earlier agent; see kept.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../userspace/space/format.h"
#include "../log.h"
#include "kept.h"
#include "part.h"

_Static_assert(sizeof(struct far_sb) == KEEP_SB, "superblock");
_Static_assert(CONF_MAX_SPACES <= KEEP_SPACES, "a record for each space");

static void record_read(const struct keep *k, unsigned int i, struct keep_space *ret_rec,
			struct far_sb *ret_sb)
{
	memcpy(ret_rec, (const void *)&k->space[i], sizeof(*ret_rec));
	memcpy(ret_sb, ret_rec->sb, sizeof(*ret_sb));
}

static bool pages_are_spaces(const struct keep *k, const struct keep_space *rec)
{
	uint64_t i;

	if (rec->page > k->head->nr_pages || rec->nr_pages > k->head->nr_pages - rec->page)
		return false;
	for (i = 0; i < rec->nr_pages; i++)
		if (k->owner[rec->page + i] != POOL_SPACES)
			return false;
	return true;
}

static bool records_overlap(const struct keep_space *a, const struct keep_space *b)
{
	return a->page < b->page + b->nr_pages && b->page < a->page + a->nr_pages;
}

/* Another agent's layout is no damage: all_settings_check() names it, and nothing is dropped. */
static bool version_differs(const struct far_sb *sb)
{
	return sb->magic == FAR_SPACE_MAGIC && sb->version != FAR_SPACE_VERSION;
}

bool kept_is_whole(const struct keep *k, unsigned int i)
{
	struct keep_space rec, other;
	struct far_sb sb, other_sb;

	record_read(k, i, &rec, &sb);
	if (!pages_are_spaces(k, &rec))
		return false;
	if (version_differs(&sb))
		return true;
	if (far_sb_check(&sb, rec.nr_pages * ODRP_WIRE_PAGE_SIZE, NULL, 0))
		return false;
	while (i--) {
		if (!keep_space(k, i))
			continue;
		record_read(k, i, &other, &other_sb);
		if (records_overlap(&rec, &other) || !strcmp(sb.name, other_sb.name))
			return false;
	}
	return true;
}

static void members_write(const struct space *space, struct keep *k, unsigned int i)
{
	volatile struct keep_member *to;
	unsigned int n;

	for (n = 0; n < space->set.nr_members; n++) {
		const struct space_member *member = &space->set.members[n];

		to = keep_member(k, i, n + 1);
		to->generation = member->generation;
		to->losses = member->losses;
		to->state = member->state;
	}
}

void kept_write_members(const struct space *space, struct keep *k)
{
	members_write(space, k, space->kept);
}

int kept_write(struct space *space, struct keep *k)
{
	struct keep_space rec = {
		.page = space->page, .nr_pages = space->nr_pages,
		.generation = space->generation,
	};
	int r = keep_space_next(k);

	/* An arbiter that does not know its members would take their parts for lost. */
	if (space->set.nr_members && !k->member)
		return 0;
	if (r < 0)
		return r;
	members_write(space, k, r);
	memcpy(rec.sb, &space->sb, sizeof(rec.sb));
	space->kept = keep_space_put(k, &rec);
	return 0;
}

/* ---- settings -------------------------------------------------------------------- */

static const struct conf_space *conf_find(const struct conf *conf, const char *name)
{
	unsigned int i;

	for (i = 0; i < conf->nr_spaces; i++)
		if (!strcmp(conf->spaces[i].name, name))
			return &conf->spaces[i];
	return NULL;
}

/* A setting that cannot change, and what the space was made with. 0: it is the same. */
static int setting_differs(const char *name, const char *key, uint64_t kept, uint64_t set,
			   char *why)
{
	if (kept == set)
		return 0;
	snprintf(why, CONF_WHY_MAX, "space %s is kept with %s = %" PRIu64 ", and the settings "
		 "say %" PRIu64 ": start with the settings of before; \"odrpctl mnode "
		 "delete-space %s\" then drops it", name, key, kept, set, name);
	return -EINVAL;
}

static int settings_check(const struct conf_space *conf, const struct keep_space *rec,
			  const struct far_sb *sb, char *why)
{
	int r;

	if (version_differs(sb)) {
		snprintf(why, CONF_WHY_MAX, "space %.*s is kept in layout version %u, and this "
			 "agent has %u: start the agent of before", ODRP_FAR_NAME_MAX, sb->name,
			 sb->version, FAR_SPACE_VERSION);
		return -EINVAL;
	}
	if (!conf) {
		snprintf(why, CONF_WHY_MAX, "space %s is kept, and the settings have no section "
			 "for it: start with the settings of before; \"odrpctl mnode "
			 "delete-space %s\" then drops it", sb->name, sb->name);
		return -EINVAL;
	}
	r = setting_differs(sb->name, "size", rec->nr_pages * ODRP_WIRE_PAGE_SIZE,
			    conf->size, why);
	if (!r)
		r = setting_differs(sb->name, "clients", sb->max_clients, conf->clients, why);
	/* 0: the chunk was chosen by the size, by the rule of that agent. */
	if (!r && conf->chunk)
		r = setting_differs(sb->name, "chunk", sb->chunk_size, conf->chunk, why);
	if (!r)
		r = setting_differs(sb->name, "nodes", sb->nr_nodes == 1 ? 0 : sb->nr_nodes,
				    conf->nr_nodes, why);
	if (!r && conf->nr_nodes)
		r = setting_differs(sb->name, "node", sb->node, conf->node, why);
	return r;
}

static int all_settings_check(const struct keep *k, const struct conf *conf, char *why)
{
	struct keep_space rec;
	struct far_sb sb;
	unsigned int i;
	int r = 0;

	for (i = 0; i < KEEP_SPACES && !r; i++) {
		if (!keep_space(k, i))
			continue;
		record_read(k, i, &rec, &sb);
		r = settings_check(conf_find(conf, sb.name), &rec, &sb, why);
	}
	return r;
}

/* ---- opening --------------------------------------------------------------------- */

/*
 * The clients of before have no claim here, so the arbiter fences each, and that awaits a
 * READ behind what their queue pairs have written: they have ended with the agent's process.
 */
static void clients_end(struct spaces *sp, struct space *space)
{
	struct far_tally tally = { .at = 0 };
	struct far_summary sum;

	far_summary_of(space->host.base, &space->sb, &tally, &sum);
	space->living = sum.clients;
	space->host.ended = far_fence_end(&sp->host.fence);
}

/* The clients of before are fenced at the members, too, as the arbiter asks them. */
static int members_adopt(struct spaces *sp, struct space *space)
{
	unsigned int n;
	int r = space_set_init(&space->set, &sp->host, &space->host, space->conf, sp->idents);

	if (r)
		return r;
	space_set_begin(&space->set, space->host.life);
	for (n = 0; n < space->set.nr_members; n++) {
		const volatile struct keep_member *kept =
			keep_member(sp->pool->keep, space->kept, n + 1);

		space->set.members[n].state = kept->state < SPACE_MEMBER_NR_STATES ?
					      kept->state : SPACE_MEMBER_ABSENT;
		space->set.members[n].generation = kept->generation;
		space->set.members[n].losses = kept->losses;
	}
	/* Clients may have written anything over the losses in the space's memory. */
	space->set.changed = true;
	return 0;
}

static int space_adopt(struct spaces *sp, const struct conf_space *conf, unsigned int i)
{
	struct space *space = calloc(1, sizeof(*space)), **last = &sp->list;
	struct keep_space rec;
	int r;

	if (!space)
		return -ENOMEM;
	record_read(sp->pool->keep, i, &rec, &space->sb);
	space->conf = conf;
	space->all = sp;
	space->kept = i;
	space->page = rec.page;
	space->nr_pages = rec.nr_pages;
	memcpy(space->host.name, conf->name, sizeof(conf->name));
	space->host.base = pool_va(sp->pool, space->page);
	space->host.size = conf->size;
	space->host.deletable = conf->deletable;
	memcpy(&space->host.life, space->sb.set, sizeof(space->host.life));
	memcpy(space->host.base, &space->sb, sizeof(space->sb));
	space->generation = rec.generation;
	if (space_is_set_arbiter(space)) {
		r = members_adopt(sp, space);
		if (r)
			goto free_space;
	} else if (space_is_set(space)) {
		/* It opens when the arbiter has found that it is the part that it knows. */
		space->host.closed = true;
		space->used = true;
		space->host.arbiter = conf->nodes[0];
	}
	r = far_host_publish(&sp->host, &space->host);
	if (r)
		goto fini_set;
	clients_end(sp, space);
	while (*last)
		last = &(*last)->next;
	*last = space;
	sp->nr_pages += space->nr_pages;
	log_info("space %s of the agent before this one: %" PRIu64 " pages; clients to be "
		 "fenced: %u", conf->name, space->nr_pages, space->living);
	return 0;

fini_set:
	space_set_fini(&space->set);
free_space:
	free(space);
	return r;
}

int spaces_adopt(struct spaces *sp, struct pool *pool, const struct conf *conf,
		 char why[CONF_WHY_MAX])
{
	const struct conf_space *its;
	struct keep_space rec;
	struct far_sb sb;
	unsigned int i;
	int r = all_settings_check(pool->keep, conf, why);

	if (r)
		return r;
	sp->pool = pool;
	for (i = 0; i < KEEP_SPACES; i++) {
		if (!keep_space(pool->keep, i))
			continue;
		record_read(pool->keep, i, &rec, &sb);
		its = conf_find(conf, sb.name);
		r = space_adopt(sp, its, i);
		if (!r)
			continue;
		snprintf(why, CONF_WHY_MAX, "cannot open space %s of the agent before this one: "
			 "%s", its->name, strerror(-r));
		spaces_unmake(sp);
		return r;
	}
	return 0;
}
