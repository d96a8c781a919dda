// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks of the memory node's accepts, field by field.  cm.c copies the fields of an
 * accept that passes, and logs the wrong field of one that does not.
 */
#include <linux/errno.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include "accept.h"

static int wrong(struct odrp_bad *bad, const char *what, u64 is, u64 expected)
{
	*bad = (struct odrp_bad) {
		.what = what, .is = is, .expected = expected,
	};
	return -EPROTO;
}

static bool zeros(const u8 *p, size_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

/* Check the length and the fields that both kinds of accept begin with. */
static int check_head(const struct odrp_wire_admin_accept *a, size_t len,
		      size_t min_len, struct odrp_bad *bad)
{
	if (len < min_len)
		return wrong(bad, "length", len, min_len);
	if (be32_to_cpu(a->magic) != ODRP_WIRE_MAGIC)
		return wrong(bad, "magic", be32_to_cpu(a->magic),
			     ODRP_WIRE_MAGIC);
	if (be16_to_cpu(a->version) != ODRP_WIRE_VERSION)
		return wrong(bad, "version", be16_to_cpu(a->version),
			     ODRP_WIRE_VERSION);
	return 0;
}

#define MAY_END	(ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_KEPT | ODRP_WIRE_F_ASKS)
/* These need long heartbeats. */
#define LONG_ONLY	(ODRP_WIRE_F_KEPT | ODRP_WIRE_F_ASKS)

/*
 * The memory node may grant only features that were offered.  A session that is resumed
 * must get the features that it had.  Fields of heartbeats may end: the agent may be an
 * older one by then.
 */
static int check_features(const struct odrp_wire_admin_accept *a,
			  const struct odrp_admin_terms *t,
			  struct odrp_bad *bad)
{
	u32 features = be32_to_cpu(a->features);
	u32 keys_rkey = be32_to_cpu(a->keys_rkey);
	bool keyed = features & ODRP_WIRE_F_KEYED, direct = features & ODRP_WIRE_F_DIRECT;

	if (features & ~t->features ||
	    (t->session && (features ^ t->features) & ~MAY_END))
		return wrong(bad, "features", features, t->features);
	if (direct && (keyed || !(features & ODRP_WIRE_F_LONG_BEAT)))
		return wrong(bad, "features", features, t->features & ~ODRP_WIRE_F_DIRECT);
	if ((features & LONG_ONLY) && !(features & ODRP_WIRE_F_LONG_BEAT))
		return wrong(bad, "features", features, t->features & ~LONG_ONLY);
	if ((keyed || direct) != !!keys_rkey)
		return wrong(bad, "keys_rkey", keys_rkey, keyed || direct);
	if (a->log_slab != (direct ? ODRP_WIRE_LOG_SLAB : 0))
		return wrong(bad, "log_slab", a->log_slab, direct ? ODRP_WIRE_LOG_SLAB : 0);
	return 0;
}

/*
 * An accept names a session.  When a session is resumed, its number and the sizes that
 * the device was built for must be unchanged.
 */
static int check_same(u16 queues, u16 depth, u64 session,
		      const struct odrp_admin_terms *t, struct odrp_bad *bad)
{
	/* 0 in a hello asks for a new session, so no session has that number. */
	if (!session)
		return wrong(bad, "session", 0, t->session ? t->session : 1);
	if (!t->session)
		return 0;
	if (queues != t->queues)
		return wrong(bad, "max_queues", queues, t->queues);
	if (depth != t->depth)
		return wrong(bad, "depth", depth, t->depth);
	if (session != t->session)
		return wrong(bad, "session", session, t->session);
	return 0;
}

/* Only heartbeats that have room for dead_ms can ask for more than the accept states. */
static int check_dead_max(const struct odrp_wire_admin_accept *a,
			  struct odrp_bad *bad)
{
	bool can_ask = be32_to_cpu(a->features) & ODRP_WIRE_F_LONG_BEAT;
	u32 dead = be32_to_cpu(a->dead_ms), max = be32_to_cpu(a->dead_ms_max);

	if (can_ask ? max < dead : max)
		return wrong(bad, "dead_ms_max", max, can_ask ? dead : 0);
	return 0;
}

/*
 * odrp_accept_admin() - check the accept of an admin connection
 * @len: number of bytes received
 *
 * Return: 0, or -EPROTO with @bad filled in.
 */
int odrp_accept_admin(const struct odrp_wire_admin_accept *a, size_t len,
		      const struct odrp_admin_terms *t, struct odrp_bad *bad)
{
	int err = check_head(a, len, sizeof(*a), bad);
	u16 queues, depth;
	u32 beat, dead;

	if (err)
		return err;
	queues = be16_to_cpu(a->max_queues);
	depth = be16_to_cpu(a->depth);
	beat = be32_to_cpu(a->beat_ms);
	dead = be32_to_cpu(a->dead_ms);
	if (!queues || queues > t->queues)
		return wrong(bad, "max_queues", queues, t->queues);
	if (!depth || depth > t->depth)
		return wrong(bad, "depth", depth, t->depth);
	err = check_features(a, t, bad);
	if (err)
		return err;
	if (be64_to_cpu(a->nr_slots) < t->nr_slots)
		return wrong(bad, "nr_slots", be64_to_cpu(a->nr_slots),
			     t->nr_slots);
	if (beat < ODRP_WIRE_MIN_BEAT_MS)
		return wrong(bad, "beat_ms", beat, ODRP_WIRE_MIN_BEAT_MS);
	if (beat >= dead)
		return wrong(bad, "beat_ms", beat, dead / 2);
	err = check_dead_max(a, bad);
	if (err)
		return err;
	if (a->resv0 || !zeros(a->resv2, sizeof(a->resv2)))
		return wrong(bad, "a reserved field", 1, 0);
	return check_same(queues, depth, be64_to_cpu(a->session), t, bad);
}

/*
 * odrp_accept_io() - check the accept of an I/O connection
 * @len: number of bytes received
 *
 * Return: 0, or -EPROTO with @bad filled in.
 */
int odrp_accept_io(const struct odrp_wire_io_accept *a, size_t len,
		   const struct odrp_io_terms *t, struct odrp_bad *bad)
{
	int err = check_head((const void *)a, len, sizeof(*a), bad);
	u16 depth;

	if (err)
		return err;
	depth = be16_to_cpu(a->depth);
	if (a->chain != t->chain)
		return wrong(bad, "chain", a->chain, t->chain);
	if (be16_to_cpu(a->queue) != t->queue)
		return wrong(bad, "queue", be16_to_cpu(a->queue), t->queue);
	if (!depth || depth > t->depth)
		return wrong(bad, "depth", depth, t->depth);
	if (depth < t->nr_reqs)
		return wrong(bad, "depth", depth, t->nr_reqs);
	if (a->resv0 || !zeros(a->resv1, sizeof(a->resv1)))
		return wrong(bad, "a reserved field", 1, 0);
	return 0;
}

/*
 * odrp_accept_reads() - check the granted number of outstanding READs
 * @reads: number in the reply
 * @most: number in the request
 *
 * Return: 0, or -EPROTO with @bad filled in.
 */
int odrp_accept_reads(u8 reads, u8 most, struct odrp_bad *bad)
{
	if (!reads || reads > most)
		return wrong(bad, "initiator depth", reads, most);
	return 0;
}
