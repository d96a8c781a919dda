// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* This node's part of a set; see part.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "../../userspace/space/format.h"
#include "../log.h"
#include "kept.h"
#include "part.h"
#include "silence.h"

/* ---- formatting ------------------------------------------------------------------ */

/* Plans the superblock of a space on one node, or of this node's part of a set. */
static int space_plan(const struct conf_space *conf, uint64_t life,
		      struct far_sb *ret_sb, char why[CONF_WHY_MAX])
{
	struct far_format format = {
		.name = conf->name, .size = conf->size, .chunk_size = conf->chunk,
		.max_clients = conf->clients, .nr_nodes = 1, .created = time(NULL),
	};
	char reason[200] = "";
	int r;

	memcpy(format.set, &life, sizeof(life));
	if (conf->nr_nodes) {
		format.nr_nodes = conf->nr_nodes;
		format.node = conf->node;
	}
	r = far_format_plan(&format, reason, sizeof(reason), ret_sb);
	if (r)
		snprintf(why, CONF_WHY_MAX, "space %s: %s", conf->name, reason);
	return r;
}

int space_number_draw(void *ret_number, size_t len)
{
	uint8_t *bytes = ret_number;

	if (getrandom(bytes, len, 0) != (ssize_t)len)
		return -EIO;
	bytes[0] |= 1;
	return 0;
}

bool space_is_set(const struct space *space)
{
	return space->conf->nr_nodes;
}

bool space_is_set_arbiter(const struct space *space)
{
	return space_is_set(space) && !space->conf->node;
}

int space_format(struct space *space, uint64_t life, char why[CONF_WHY_MAX])
{
	int r = space_plan(space->conf, life, &space->sb, why);

	if (r)
		return r;
	far_format_write(space->host.base, &space->sb, false);
	space->host.life = life;
	space->living = 0;
	return 0;
}

int part_begin(struct space *space)
{
	uint64_t life;
	int r = space_number_draw(&life, sizeof(life));

	if (!r)
		space_set_begin(&space->set, life);
	return r;
}

/* ---- a member -------------------------------------------------------------------- */

/* Is the arbiter told of the part that this node has, and nothing begun? */
static bool part_stays(const struct space *space, const struct odrp_far_hello *hello)
{
	uint32_t expected = be32_to_cpu(hello->number);
	bool mine = space->generation && space->host.life == be64_to_cpu(hello->attach);

	if (hello->rights & ODRP_FAR_ANEW)
		return mine && space->generation != expected;
	return mine || expected;
}

/* Has whoever sends orders proved this node's secret, and not an address alone? */
static bool orders_are_proved(const struct space *space)
{
	char key[CONF_CLIENT_MAX];

	return space_set_key(space->conf, space->conf->node, key);
}

/* Begins the part anew, empty. */
static unsigned int part_renew(struct spaces *sp, struct space *space, uint64_t life)
{
	struct keep *keep = sp->pool->keep;
	char why[CONF_WHY_MAX];

	if (far_host_close(&sp->host, &space->host))
		return ODRP_FAR_E_BUSY;
	if (space->kept >= 0)
		keep_space_drop(keep, space->kept);
	space->kept = -1;
	space->generation = 0;
	space->turn = 0;
	space->until = 0;
	space->used = false;
	if (space_format(space, life, why) ||
	    space_number_draw(&space->generation, sizeof(space->generation)) ||
	    (keep && kept_write(space, keep)))
		return ODRP_FAR_E_NOMEM;
	return ODRP_FAR_OK;
}

void part_open(struct space *space)
{
	far_host_open(&space->host);
	space->used = true;
	log_info("space %s: part %u of %u is open", space->host.name, space->conf->node,
		 space->conf->nr_nodes);
}

/* Clients may use no other part than the one that the arbiter knows. */
static bool part_is_arbiters(const struct space *space, const struct odrp_far_hello *hello)
{
	return space->generation && space->host.life == be64_to_cpu(hello->attach) &&
	       (hello->rights & ODRP_FAR_ANEW || !hello->number ||
		be32_to_cpu(hello->number) == space->generation);
}

unsigned int part_join(void *arg, struct far_host_space *host,
		       const struct odrp_far_hello *hello, struct odrp_far_member *ret_member)
{
	struct spaces *sp = arg;
	struct space *space = (struct space *)host;
	uint64_t life = be64_to_cpu(hello->attach);
	unsigned int status = ODRP_FAR_OK;

	if (!part_stays(space, hello)) {
		/* Anybody may have the arbiter's address: nothing is emptied for that. */
		if (space->used && !orders_are_proved(space))
			return ODRP_FAR_E_PART;
		status = part_renew(sp, space, life);
	}
	if (!status && part_is_arbiters(space, hello)) {
		if (silence_counts(space, hello))
			silence_joins(space, hello);
		else if (host->closed)
			part_open(space);
	}
	*ret_member = (struct odrp_far_member){
		.generation = cpu_to_be32(host->life == life ? space->generation : 0),
		.digest = cpu_to_be32(space_set_digest(space->conf, space->conf->node)),
		.turn = silence_answers(space, hello),
	};
	return status;
}

/* ---- the arbiter ----------------------------------------------------------------- */

bool part_waits(const struct space *space)
{
	unsigned int i;

	for (i = 0; i < space->set.nr_members; i++)
		if (space->set.members[i].state == SPACE_MEMBER_DECLARED)
			return true;
	return false;
}

void part_losses_write(struct space *space)
{
	struct far_losses *losses = (void *)(space->host.base + FAR_SB_LOSSES);
	unsigned int i;

	for (i = 0; i < space->set.nr_members; i++)
		__atomic_store_n(&losses->nr[i + 1], space->set.members[i].losses,
				 __ATOMIC_RELEASE);
}

bool part_published(void *arg, uint64_t epoch, uint64_t least)
{
	struct space *space = arg;

	return space_set_count(&space->set, epoch, least);
}

/* Keeps what has changed, before anything follows from it. */
static void members_keep(struct space *space)
{
	if (space->set.changed && space->kept >= 0)
		kept_write_members(space, space->all->pool->keep);
	if (space->set.changed && !space->host.closed)
		part_losses_write(space);
	space->set.changed = false;
}

/* Opens the space when all members have joined. */
static void set_step(struct space *space, uint64_t now, uint64_t *ret_next)
{
	struct far_host *host = &space->all->host;
	struct keep *keep = space->all->pool->keep;
	struct space_set *set = &space->set;
	char why[CONF_WHY_MAX];

	*ret_next = space_set_step(set, now);
	silence_step(set, now, spaces_attached(space->all, space));
	members_keep(space);
	if (!space->host.closed || space_set_joined(set) < set->nr_members ||
	    far_host_settle(host, &space->host) || space_format(space, set->life, why) ||
	    (keep && kept_write(space, keep)))
		return;
	far_host_open(&space->host);
	log_info("space %s: all %u memory nodes have joined", space->host.name,
		 space->conf->nr_nodes);
}

uint64_t parts_step(struct spaces *sp, uint64_t now)
{
	uint64_t next = UINT64_MAX, then = 0;
	struct space *space;

	for (space = sp->list; space; space = space->next) {
		if (!space_is_set_arbiter(space))
			continue;
		set_step(space, now, &then);
		if (then < next)
			next = then;
	}
	return next;
}

/* ---- the operator ---------------------------------------------------------------- */

int spaces_declare_lost(struct space *space, uint64_t node, char why[CONF_WHY_MAX])
{
	int r;

	if (!space_is_set_arbiter(space)) {
		snprintf(why, CONF_WHY_MAX, "space %s: only the arbiter declares a memory node "
			 "lost, and this is none: ask node 0 of the set", space->host.name);
		return -EPERM;
	}
	if (!node || node >= space->conf->nr_nodes) {
		snprintf(why, CONF_WHY_MAX, "space %s: node %" PRIu64 ": expected 1 to %u",
			 space->host.name, node, space->conf->nr_nodes - 1);
		return -EINVAL;
	}
	r = space_set_declare(&space->set, node, "the operator says so");
	members_keep(space);
	if (r == -EALREADY)
		snprintf(why, CONF_WHY_MAX, "space %s: node %" PRIu64 " has been declared lost "
			 "already, and has not come back", space->host.name, node);
	else if (r)
		snprintf(why, CONF_WHY_MAX, "space %s: nothing of it is on node %" PRIu64 " yet: "
			 "not all of its nodes have joined", space->host.name, node);
	return r;
}
