// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces of the agent: their memory, the arbiter's steps, and their end. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../log.h"
#include "kept.h"
#include "part.h"

/* Chunk words that are counted in each epoch. */
#define TALLY_STEP	1024
/* Pages of a deleted space that go back to the pool at a time. */
#define PAGES_PIECE	65536

/* ---- making spaces --------------------------------------------------------------- */

static int space_publish(struct spaces *sp, struct space *space,
			 char why[CONF_WHY_MAX])
{
	const struct conf_space *conf = space->conf;
	uint64_t life;
	int r = space_number_draw(&life, sizeof(life));

	/* Format a space of a set, too, although it is still closed: nobody else has its
	 * memory. */
	if (!r)
		r = space_format(space, life, why);
	if (r)
		return r;
	space->host.closed = space_is_set(space);
	if (space_is_set(space) && !space_is_set_arbiter(space))
		space->host.arbiter = conf->nodes[0];
	if (space_is_set_arbiter(space)) {
		r = space_set_init(&space->set, &sp->host, &space->host, conf,
				   sp->idents);
		if (r)
			return r;
		r = part_begin(space);
		if (r)
			goto fini_set;
	}
	r = far_host_publish(&sp->host, &space->host);
	if (r)
		goto fini_set;
	return 0;

fini_set:
	space_set_fini(&space->set);
	return r;
}

static int space_new(struct spaces *sp, const struct conf_space *conf,
		     char why[CONF_WHY_MAX])
{
	struct space *space = calloc(1, sizeof(*space)), **last = &sp->list;
	int r;

	if (!space)
		return -ENOMEM;
	space->conf = conf;
	space->all = sp;
	space->kept = -1;
	space->nr_pages = conf->size / ODRP_WIRE_PAGE_SIZE;
	r = pool_take_run(sp->pool, POOL_SPACES, space->nr_pages, &space->page);
	if (r)
		goto free_space;
	memcpy(space->host.name, conf->name, sizeof(conf->name));
	space->host.base = pool_va(sp->pool, space->page);
	/* The pages may have had data of a compute node. */
	if (sp->pool->keep && sp->pool->keep->adopted)
		memset(space->host.base, 0, conf->size);
	space->host.size = conf->size;
	space->host.deletable = conf->deletable;
	r = space_publish(sp, space, why);
	if (r)
		goto give_pages;
	/* Nobody can attach before the caller handles requests. */
	if (sp->pool->keep && !space_is_set(space))
		r = kept_write(space, sp->pool->keep);
	if (r)
		goto remove_host;
	while (*last)
		last = &(*last)->next;
	*last = space;
	sp->nr_pages += space->nr_pages;
	return 0;

remove_host:
	far_host_remove(&sp->host, &space->host);
give_pages:
	pool_give_run(sp->pool, space->page, space->nr_pages);
free_space:
	free(space);
	return r;
}

/* Gives back a piece of a space that was deleted.  True: the space is freed. */
static bool space_end(struct spaces *sp, struct space *space)
{
	uint64_t nr = space->nr_pages < PAGES_PIECE ? space->nr_pages : PAGES_PIECE;

	if (!space->removed)
		space->removed = !far_host_remove(&sp->host, &space->host);
	if (!space->removed)
		return false;
	space->nr_pages -= nr;
	sp->nr_pages -= nr;
	if (space->kept < 0)
		pool_give_run(sp->pool, space->page + space->nr_pages, nr);
	if (space->nr_pages)
		return false;
	free(space);
	return true;
}

/* Does a piece of the work of spaces that were deleted. */
static void spaces_end(struct spaces *sp)
{
	struct space *next = sp->ending ? sp->ending->next : NULL;

	if (sp->ending && space_end(sp, sp->ending))
		sp->ending = next;
}

/* Takes a space from the list.  No client finds it from now on, whatever else is ending:
 * the host takes it from its list, too, and ends its attachments. */
static void space_leave(struct spaces *sp, struct space *space)
{
	struct space **at = &sp->list;

	while (*at != space)
		at = &(*at)->next;
	*at = space->next;
	space_set_fini(&space->set);
	space->removed = !far_host_remove(&sp->host, &space->host);
	for (at = &sp->ending; *at; at = &(*at)->next)
		;
	*at = space;
	space->next = NULL;
}

/* The next agent does not adopt the space. */
static void space_forget(struct spaces *sp, struct space *space)
{
	if (space->kept >= 0)
		keep_space_drop(sp->pool->keep, space->kept);
	space->kept = -1;
}

/* A client deletes the space. */
static void delete_asked(void *arg, struct far_host_space *host)
{
	spaces_delete(arg, (struct space *)host);
}

static void hello_refused(void *arg, const struct nic_event *event,
			  const struct far_host_asker *asker, const char *why)
{
	const struct spaces *sp = arg;
	const struct pass *pass = idents_pass(sp->idents, asker->pass);
	const struct audit_peer peer = {
		.name = pass ? pass->name : NULL, .proved = pass,
		.ip = event->peer_ip,
	};

	audit_refused(sp->audit, &peer, why);
}

int spaces_open(struct spaces *sp, struct nic *nic, const struct conf *conf,
		char why[CONF_WHY_MAX])
{
	int r;

	*sp = (struct spaces){ .open = false };
	if (!conf->nr_spaces)
		return 0;
	r = far_host_init(&sp->host, nic);
	if (r) {
		snprintf(why, CONF_WHY_MAX, "cannot listen for clients of spaces: %s",
			 strerror(-r));
		return r;
	}
	sp->host.delete = delete_asked;
	sp->host.join = part_join;
	sp->host.refused = hello_refused;
	sp->host.arg = sp;
	sp->open = true;
	return 0;
}

/* Ends the spaces that were deleted, or that the agent leaves. */
static void spaces_end_all(struct spaces *sp)
{
	while (sp->ending) {
		far_host_poll(&sp->host);
		/* Nobody gets these pages while this agent runs, so no fence is awaited. */
		sp->ending->removed = !far_host_remove(&sp->host, &sp->ending->host) ||
				      !far_host_leaving(&sp->host, &sp->ending->host);
		spaces_end(sp);
	}
}

int spaces_make(struct spaces *sp, struct pool *pool, const struct conf *conf,
		char why[CONF_WHY_MAX])
{
	struct space **first = &sp->list;
	unsigned int i;
	int r;

	sp->pool = pool;
	while (*first)
		first = &(*first)->next;
	for (i = 0; i < conf->nr_spaces; i++) {
		if (spaces_find(sp, conf->spaces[i].name))
			continue;
		*why = 0;
		r = space_new(sp, &conf->spaces[i], why);
		if (!r)
			continue;
		if (!*why)
			snprintf(why, CONF_WHY_MAX, "cannot make space %s: %s",
				 conf->spaces[i].name, strerror(-r));
		while (*first) {
			space_forget(sp, *first);
			space_leave(sp, *first);
		}
		spaces_end_all(sp);
		return r;
	}
	return 0;
}

void spaces_unmake(struct spaces *sp)
{
	while (sp->list)
		space_leave(sp, sp->list);
	spaces_end_all(sp);
}

void spaces_close(struct spaces *sp)
{
	if (sp->open)
		far_host_fini(&sp->host);
	sp->open = false;
}

/* ---- clients --------------------------------------------------------------------- */

/* Is name in the list? */
static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name), n;

	for (; *list; list += n + strspn(list + n, ", \t")) {
		n = strcspn(list, ", \t");
		if (n && n == len && !strncmp(list, name, n))
			return true;
	}
	return false;
}

/* Writers may read, too.  name: "" if the peer has proved none. */
static bool name_may(const struct conf_space *conf, const char *name,
		     unsigned int rights)
{
	if (!*conf->readers && !*conf->writers)
		return true;
	return list_has(conf->writers, name) ||
	       (!(rights & ODRP_FAR_WRITE) && list_has(conf->readers, name));
}

/* With node_keys in the settings, only a peer that has proved this node's secret may send
 * orders.  far_host_serve() checks the address, too. */
static bool name_may_order(const struct space *space, const char *name)
{
	char key[CONF_CLIENT_MAX];

	return !space->conf->nr_nodes ||
	       !space_set_key(space->conf, space->conf->node, key) ||
	       !strcmp(name, key);
}

static bool hello_is_allowed(const struct spaces *sp,
			     const struct odrp_far_hello *hello, const char *name)
{
	bool orders = hello->role == ODRP_FAR_JOIN || hello->role == ODRP_FAR_CUT;
	unsigned int rights = hello->role == ODRP_FAR_DELETE ? ODRP_FAR_WRITE :
			      hello->rights;
	char text[ODRP_FAR_NAME_MAX + 1] = "";
	const struct space *space;

	if (!orders && hello->role != ODRP_FAR_ATTACH && hello->role != ODRP_FAR_DELETE)
		return true;
	memcpy(text, hello->name, sizeof(hello->name));
	space = spaces_find(sp, text);
	if (space && orders)
		return name_may_order(space, name);
	return !space || name_may(space->conf, name, rights);
}

/* Is this an order of the set's arbiter? */
static bool hello_is_arbiters(const struct spaces *sp,
			      const struct odrp_far_hello *hello, const char *name)
{
	char text[ODRP_FAR_NAME_MAX + 1] = "", key[CONF_CLIENT_MAX];
	const struct space *space;

	if (hello->role != ODRP_FAR_JOIN && hello->role != ODRP_FAR_CUT)
		return false;
	memcpy(text, hello->name, sizeof(hello->name));
	space = spaces_find(sp, text);
	return space && space_set_key(space->conf, space->conf->node, key) &&
	       !strcmp(name, key);
}

/* The request adds an attachment, a queue, or nothing: a queue that replaces an older one
 * adds nothing. */
static enum spaces_adds hello_adds(const struct spaces *sp,
				   const struct odrp_far_hello *hello)
{
	const struct far_host_attach *attach;
	const struct far_host_link *link;

	if (hello->role != ODRP_FAR_QUEUE)
		return hello->role == ODRP_FAR_ATTACH ? SPACES_ATTACH : SPACES_NOTHING;
	attach = far_host_find(&sp->host, be64_to_cpu(hello->attach));
	link = attach ? attach->queues : NULL;
	while (link && link->number != be32_to_cpu(hello->number))
		link = link->next;
	return link ? SPACES_NOTHING : SPACES_QUEUE;
}

/* enum odrp_far_status.  Orders of a set's arbiter count for no share. */
static unsigned int name_within_share(const struct spaces *sp,
				      const struct odrp_far_hello *hello, const char *name)
{
	if (!sp->share || hello_is_arbiters(sp, hello, name))
		return ODRP_FAR_OK;
	return sp->share(sp->share_arg, name, true, hello_adds(sp, hello));
}

/* The same for a peer that has proved nothing: its address counts.  Orders count for no
 * share; a peer that is not the arbiter gets nothing by them. */
static unsigned int address_within_share(const struct spaces *sp,
					 const struct odrp_far_hello *hello, __be32 ip)
{
	char name[INET_ADDRSTRLEN];

	if (!sp->share || hello->role == ODRP_FAR_JOIN || hello->role == ODRP_FAR_CUT)
		return ODRP_FAR_OK;
	inet_ntop(AF_INET, &ip, name, sizeof(name));
	return sp->share(sp->share_arg, name, false, hello_adds(sp, hello));
}

static void serve_signed(struct spaces *sp, struct idents *idents, const struct nic_event *ev)
{
	struct far_host_signed req;
	unsigned int status;

	if (far_host_signed_check(&sp->host, idents, ev, &req)) {
		far_host_refuse(&sp->host, ev, &req.asker, ODRP_FAR_E_AUTH);
		return;
	}
	req.asker.owner = spaces_owner(req.pass->name);
	status = name_within_share(sp, &req.hello, req.pass->name);
	req.pass->spent |= (req.hello.role == ODRP_FAR_ATTACH && !status) ||
			   far_host_signed_adopt(&sp->host, idents, &req);
	if (!status && !hello_is_allowed(sp, &req.hello, req.pass->name))
		status = ODRP_FAR_E_RIGHTS;
	if (status)
		far_host_refuse(&sp->host, ev, &req.asker, status);
	else
		far_host_serve(&sp->host, &req.event, &req.asker);
	explicit_bzero(&req, sizeof(req));
}

static void serve_plain(struct spaces *sp, bool required, const struct nic_event *ev)
{
	struct far_host_asker nobody = { .pass = 0 };
	struct odrp_far_hello hello = { .role = 0 };
	char ip[INET_ADDRSTRLEN];
	unsigned int status;

	inet_ntop(AF_INET, &ev->peer_ip, ip, sizeof(ip));
	nobody.owner = spaces_owner(ip);

	if (ev->priv_len >= sizeof(hello))
		memcpy(&hello, ev->priv, sizeof(hello));
	if (required) {
		far_host_refuse(&sp->host, ev, &nobody, ODRP_FAR_E_AUTH);
		return;
	}
	status = address_within_share(sp, &hello, ev->peer_ip);
	if (status)
		far_host_refuse(&sp->host, ev, &nobody, status);
	else if (!hello_is_allowed(sp, &hello, ""))
		far_host_refuse(&sp->host, ev, &nobody, ODRP_FAR_E_RIGHTS);
	else
		far_host_serve(&sp->host, ev, &nobody);
}

bool spaces_request(struct spaces *sp, struct idents *idents, bool required,
		    const struct nic_event *ev)
{
	if (sp->open && idents_is_far_request(ev))
		serve_signed(sp, idents, ev);
	else if (sp->open && far_host_is_hello(ev))
		serve_plain(sp, required, ev);
	else
		return false;
	return true;
}

bool spaces_go_by(const struct spaces *sp, uint64_t pass)
{
	return sp->open && far_host_uses_pass(&sp->host, pass);
}

void spaces_cut_name(struct spaces *sp, const char *name)
{
	if (sp->open)
		far_host_cut_owner(&sp->host, spaces_owner(name));
}

bool spaces_gone(struct spaces *sp, const struct nic_event *ev)
{
	struct space *space;

	if (!sp->open)
		return false;
	for (space = sp->list; space; space = space->next)
		if (space_set_event(&space->set, ev))
			return true;
	return ev->type == NIC_GONE && far_host_gone(&sp->host, ev->id);
}

unsigned int spaces_joined(const struct space *space)
{
	return space_is_set_arbiter(space) ? 1 + space_set_joined(&space->set) :
	       !space->host.closed;
}

/* FNV-1a (Fowler, Noll, Vo 1991). */
uint64_t spaces_owner(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3;
	return hash;
}

struct spaces_use spaces_use_of(const struct spaces *sp, const char *name)
{
	const struct far_host_attach *attach = sp->open ? sp->host.attaches : NULL;
	struct spaces_use use = { .attaches = 0 };
	uint64_t owner = spaces_owner(name);

	for (; attach; attach = attach->next) {
		if (attach->owner != owner)
			continue;
		use.attaches++;
		use.queues += attach->nr_queues;
	}
	return use;
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

static int client_is_gone(void *arg, unsigned number)
{
	const struct space *space = arg;

	return !far_host_claimed(&space->all->host, &space->host, number);
}

static int client_fence(void *arg, unsigned node, unsigned number, unsigned incarnation)
{
	struct space *space = arg;

	if (node != space->sb.node)
		return space_set_cut(&space->set, node, number, incarnation);
	return far_host_fence(&space->all->host, &space->host, number);
}

static void space_step(struct space *space, uint64_t now)
{
	const struct far_arbiter arbiter = {
		.memory = space->host.base, .sb = &space->sb,
		.beat_ns = space->conf->dead_ms * UINT64_C(1000000),
		.epoch_ns = FAR_EPOCH_NS,
		.arg = space, .gone = client_is_gone, .fence = client_fence,
		.published = space_is_set(space) ? part_published : NULL,
	};
	const struct far_epoch_line *line =
		(const void *)(space->host.base + FAR_SB_EPOCH);
	unsigned int nr;
	uint64_t epoch;

	part_losses_write(space);
	nr = far_arbiter_step(&arbiter, now);
	/* A smaller space is counted when somebody asks. */
	if (space->sb.nr_chunks > FAR_TALLY_STEP)
		far_tally_some(space->host.base, &space->sb, TALLY_STEP,
			       &space->host.tally);
	if (nr)
		log_info("space %s: clients fenced: %u", space->host.name, nr);
	space->fenced += nr;
	space->living = __atomic_load_n(&line->clients, __ATOMIC_RELAXED);
	epoch = __atomic_load_n(&line->epoch, __ATOMIC_RELAXED);
	if (epoch != space->epoch || !space->living)
		space->epoch_at = now;
	space->epoch = epoch;
	space->stepped_at = now;
}

uint64_t spaces_epoch_age(const struct space *space)
{
	return space->stepped_at - space->epoch_at;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t spaces_step(struct spaces *sp, uint64_t now)
{
	bool busy = false;
	struct space *space;
	uint64_t next;

	if (!sp->open)
		return UINT64_MAX;
	far_host_poll(&sp->host);
	spaces_end(sp);
	next = parts_step(sp, now);
	/* A client or a space that was deleted waits for a READ. */
	if (sp->host.fence.covers || sp->ending)
		next = sooner(next, now + FAR_EPOCH_NS);
	for (space = sp->list; space; space = space->next)
		busy |= space->living || spaces_attached(sp, space) || part_waits(space);
	if ((sp->ending && sp->ending->removed) || far_host_leaving(&sp->host, NULL))
		next = now;
	if (!busy)
		return next;
	if (now >= sp->probe_at) {
		far_host_probe(&sp->host);
		sp->probe_at = now + FAR_HOST_PROBE_NS;
	}
	if (now >= sp->step_at) {
		for (space = sp->list; space; space = space->next)
			if (space->sb.node == space->sb.arbiter && !space->host.closed)
				space_step(space, now);
		sp->step_at = now + FAR_EPOCH_NS;
	}
	return sooner(next, sooner(sp->step_at, sp->probe_at));
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
	log_info("space %s: deleted", space->host.name);
	space_forget(sp, space);
	space_leave(sp, space);
	spaces_end(sp);
}
