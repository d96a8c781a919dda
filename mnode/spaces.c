// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spaces of the agent: memory, the arbiter's steps, and the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "../userspace/space/format.h"
#include "log.h"
#include "spaces.h"

/* ---- making ---------------------------------------------------------------------- */

/* A set of one node. */
static int plan(const struct conf_space *conf, struct far_sb *ret_sb,
		char why[CONF_WHY_MAX])
{
	struct far_format format = {
		.name = conf->name, .size = conf->size, .chunk_size = conf->chunk,
		.max_clients = conf->clients, .nr_nodes = 1, .created = time(NULL),
	};
	char said[200] = "";
	int r;

	if (getrandom(format.set, sizeof(format.set), 0) != sizeof(format.set))
		return -EIO;
	r = far_format_plan(&format, said, sizeof(said), ret_sb);
	if (r)
		snprintf(why, CONF_WHY_MAX, "space %s: %s", conf->name, said);
	return r;
}

static int space_new(struct spaces *sp, const struct conf_space *conf,
		     char why[CONF_WHY_MAX])
{
	struct space *space = calloc(1, sizeof(*space)), **last = &sp->list;
	int r = space ? plan(conf, &space->sb, why) : -ENOMEM;

	if (r)
		goto free_space;
	space->conf = conf;
	space->all = sp;
	space->nr_pages = conf->size / ODRP_WIRE_PAGE_SIZE;
	r = pool_take_run(sp->pool, POOL_SPACES, space->nr_pages, &space->page);
	if (r)
		goto free_space;
	memcpy(space->host.name, conf->name, sizeof(conf->name));
	space->host.base = pool_va(sp->pool, space->page);
	space->host.size = conf->size;
	space->host.deletable = conf->deletable;
	far_format_write(space->host.base, &space->sb, false);
	r = far_host_publish(&sp->host, &space->host);
	if (r)
		goto give_pages;
	while (*last)
		last = &(*last)->next;
	*last = space;
	sp->nr_pages += space->nr_pages;
	return 0;

give_pages:
	pool_give_run(sp->pool, space->page, space->nr_pages);
free_space:
	free(space);
	return r;
}

static void space_free(struct spaces *sp, struct space *space)
{
	far_host_remove(&sp->host, &space->host);
	pool_give_run(sp->pool, space->page, space->nr_pages);
	sp->nr_pages -= space->nr_pages;
	free(space);
}

/* A client asks for it. */
static void delete_asked(void *arg, struct far_host_space *host)
{
	spaces_delete(arg, (struct space *)host);
}

int spaces_init(struct spaces *sp, struct pool *pool, const struct conf *conf,
		char why[CONF_WHY_MAX])
{
	unsigned int i;
	int r;

	*sp = (struct spaces){ .pool = pool };
	if (!conf->nr_spaces)
		return 0;
	r = far_host_init(&sp->host, pool->nic);
	if (r) {
		snprintf(why, CONF_WHY_MAX, "cannot listen for clients of spaces: %s",
			 strerror(-r));
		return r;
	}
	sp->host.delete = delete_asked;
	sp->host.arg = sp;
	sp->open = true;
	for (i = 0; i < conf->nr_spaces; i++) {
		*why = 0;
		r = space_new(sp, &conf->spaces[i], why);
		if (!r)
			continue;
		if (!*why)
			snprintf(why, CONF_WHY_MAX, "cannot make space %s: %s",
				 conf->spaces[i].name, strerror(-r));
		spaces_fini(sp);
		return r;
	}
	return 0;
}

void spaces_fini(struct spaces *sp)
{
	struct space *space;

	if (!sp->open)
		return;
	while ((space = sp->list)) {
		sp->list = space->next;
		space_free(sp, space);
	}
	far_host_fini(&sp->host);
	sp->open = false;
}

/* ---- clients --------------------------------------------------------------------- */

bool spaces_request(struct spaces *sp, const struct nic_event *ev)
{
	if (!sp->open || !far_host_is_hello(ev))
		return false;
	far_host_serve(&sp->host, ev);
	return true;
}

bool spaces_gone(struct spaces *sp, uint32_t id)
{
	return sp->open && far_host_gone(&sp->host, id);
}

unsigned int spaces_attached(const struct spaces *sp, const struct space *space)
{
	const struct far_host_attach *attach;
	unsigned int nr = 0;

	for (attach = sp->host.attaches; attach; attach = attach->next)
		nr += attach->space == &space->host;
	return nr;
}

/* ---- the arbiter ----------------------------------------------------------------- */

static int is_gone(void *arg, unsigned number)
{
	const struct space *space = arg;

	return !far_host_holder(&space->all->host, &space->host, number);
}

static int fence(void *arg, unsigned node, unsigned number, unsigned incarnation)
{
	struct space *space = arg;

	(void)node;		/* a set of one */
	(void)incarnation;	/* nobody else can have claimed the number by now */
	return far_host_fence(&space->all->host, &space->host, number);
}

static void step(struct space *space, uint64_t now)
{
	const struct far_arbiter arbiter = {
		.memory = space->host.base, .sb = &space->sb,
		.beat_ns = space->conf->dead_ms * UINT64_C(1000000),
		.epoch_ns = FAR_EPOCH_NS,
		.arg = space, .gone = is_gone, .fence = fence,
	};
	const struct far_epoch_line *line =
		(const void *)(space->host.base + FAR_SB_EPOCH);
	unsigned int nr = far_arbiter_step(&arbiter, now);

	if (nr)
		log_info("space %s: %u clients fenced", space->host.name, nr);
	space->fenced += nr;
	space->living = __atomic_load_n(&line->clients, __ATOMIC_RELAXED);
}

uint64_t spaces_step(struct spaces *sp, uint64_t now)
{
	bool busy = false;
	struct space *space;

	if (!sp->open)
		return UINT64_MAX;
	far_host_poll(&sp->host);
	for (space = sp->list; space; space = space->next)
		busy |= space->living || spaces_attached(sp, space);
	if (!busy)
		return UINT64_MAX;
	if (now >= sp->probe_at) {
		far_host_probe(&sp->host);
		sp->probe_at = now + FAR_HOST_PROBE_NS;
	}
	if (now >= sp->step_at) {
		for (space = sp->list; space; space = space->next)
			step(space, now);
		sp->step_at = now + FAR_EPOCH_NS;
	}
	return sp->step_at < sp->probe_at ? sp->step_at : sp->probe_at;
}

/* ---- the operator ---------------------------------------------------------------- */

struct space *spaces_find(const struct spaces *sp, const char *name)
{
	struct space *space = sp->list;

	while (space && strcmp(space->host.name, name))
		space = space->next;
	return space;
}

void spaces_delete(struct spaces *sp, struct space *space)
{
	struct space **at = &sp->list;

	while (*at != space)
		at = &(*at)->next;
	*at = space->next;
	log_info("space %s: deleted", space->host.name);
	space_free(sp, space);
}
