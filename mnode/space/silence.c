// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Members of a set that are silent; see silence.h. */
#include <string.h>
#include "../log.h"
#include "part.h"
#include "silence.h"

#define MS	UINT64_C(1000000)

/* An answer shows for so long that the arbiter is not cut off. */
#define HEARD_NS	(3 * SPACE_SET_ASK_NS)
/* An agent whose steps are further apart has asked nobody meanwhile. */
#define STEP_MAX_NS	(2 * SPACE_SET_ASK_NS)

/* ---- the arbiter ----------------------------------------------------------------- */

void silence_begins(struct space_member *member)
{
	member->turn = ODRP_FAR_TURN_NONE;
	member->known = member->answers = member->has_part = false;
	member->silent = 0;
}

void silence_ends(struct space_member *member, uint32_t generation, uint8_t turn)
{
	member->known = member->answers = true;
	if (member->state != SPACE_MEMBER_JOINED || generation != member->generation)
		return;
	member->has_part = true;
	member->turn = turn;
}

unsigned int silence_turn(const struct space_set *set, const struct space_member *member)
{
	if (!set->conf->lost_ms)
		return 0;
	return member->turn < ODRP_FAR_TURN_FIRST || member->turn > ODRP_FAR_TURN_LAST ?
	       ODRP_FAR_TURN_NONE : member->turn;
}

/* Notes who has answered.  Has anybody, lately? */
static bool set_hears(struct space_set *set, uint64_t now)
{
	bool hears = false;
	unsigned int i;

	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		if (member->answers)
			member->answered = now;
		hears |= member->answered && now - member->answered < HEARD_NS;
		member->answers = false;
	}
	return hears;
}

/* Counts `passed` more of silence.  Is it too long? */
static bool member_is_silent(const struct space_set *set, struct space_member *member,
			     uint64_t passed)
{
	if (member->has_part || !member->known)
		member->silent = 0;
	else
		member->silent += passed;
	member->has_part = false;
	return member->silent >= set->conf->lost_ms * MS;
}

void silence_step(struct space_set *set, uint64_t now, bool attached)
{
	uint64_t passed = now - set->counted_at;
	bool hears = set_hears(set, now) || attached;
	unsigned int i;

	set->counted_at = now;
	if (!set->conf->lost_ms || set->space->closed)
		return;
	if (!hears || passed > STEP_MAX_NS)
		passed = 0;
	for (i = 0; i < set->nr_members; i++)
		if (member_is_silent(set, &set->members[i], passed))
			space_set_declare(set, i + 1, "it was silent for lost-ms");
}

/* ---- a member -------------------------------------------------------------------- */

static unsigned int turn_of(const struct odrp_far_hello *hello)
{
	return hello->rights >> ODRP_FAR_TURN;
}

bool silence_counts(const struct space *space, const struct odrp_far_hello *hello)
{
	return space->conf->lost_ms || turn_of(hello);
}

void silence_joins(struct space *space, const struct odrp_far_hello *hello)
{
	if (space->conf->lost_ms && space->turn && turn_of(hello) == space->turn &&
	    be32_to_cpu(hello->number) == space->generation)
		space->until = space->turn_at + space->conf->lost_ms * MS / 4 * 3;
}

uint8_t silence_answers(struct space *space, const struct odrp_far_hello *hello)
{
	/* The first turn of an agent is another one than those of the agent before. */
	unsigned int turn = turn_of(hello);

	if (!space->conf->lost_ms)
		return 0;
	/* The arbiter may not have got the last answer: a turn is over when it is named. */
	if (space->turn && turn != space->turn)
		return space->turn;
	space->turn = turn < ODRP_FAR_TURN_LAST ? turn + 1 : ODRP_FAR_TURN_FIRST;
	if (space->turn < ODRP_FAR_TURN_FIRST)
		space->turn = ODRP_FAR_TURN_FIRST;
	space->turn_at = space->all->now;
	return space->turn;
}

/* Returns when to call again. */
static uint64_t part_stand(struct space *space, uint64_t now)
{
	struct far_host_space *host = &space->host;

	if (host->closed && now < space->until) {
		/* Clients may have written anything over the superblock. */
		memcpy(host->base, &space->sb, sizeof(space->sb));
		part_open(space);
	} else if (!host->closed && now >= space->until) {
		far_host_close(&space->all->host, host);
		log_warning("space %s: the arbiter is away: part %u stands still",
			    host->name, space->conf->node);
	}
	/* spaces_step(), which ends the rest of its connections, may not run now. */
	if (host->closed && far_host_leaving(&space->all->host, host)) {
		far_host_poll(&space->all->host);
		return now;
	}
	return now < space->until && space->until < now + SPACE_SET_ASK_NS ?
	       space->until : now + SPACE_SET_ASK_NS;
}

uint64_t spaces_stand(struct spaces *sp, uint64_t now)
{
	uint64_t next = UINT64_MAX, then;
	struct space *space;

	sp->now = now;
	for (space = sp->list; space; space = space->next) {
		if (!space->conf->lost_ms || space_is_set_arbiter(space))
			continue;
		then = part_stand(space, now);
		if (then < next)
			next = then;
	}
	return next;
}
