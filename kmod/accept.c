// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The accepts of a memory node, field by field.  cm.c takes over what has been
 * found good, and says what has not.
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

/* The beginning that both have; they are at least min_len long. */
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

/* What was not offered is not granted; a session keeps what it has been. */
static int check_features(u32 features, u32 keys_rkey,
			  const struct odrp_admin_terms *t,
			  struct odrp_bad *bad)
{
	bool keyed = features & ODRP_WIRE_F_KEYED;

	if (features & ~t->features ||
	    (t->session && features != t->features))
		return wrong(bad, "features", features, t->features);
	if (keyed != !!keys_rkey)
		return wrong(bad, "keys_rkey", keys_rkey, keyed);
	return 0;
}

/* Of a session that is resumed: what others rely on has not changed. */
static int check_same(u16 queues, u16 depth, u64 session,
		      const struct odrp_admin_terms *t, struct odrp_bad *bad)
{
	/* 0 asks for a new session when this one is resumed. */
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

/*
 * odrp_accept_admin() - may this be believed?
 * @len: bytes of it that came
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
	err = check_features(be32_to_cpu(a->features),
			     be32_to_cpu(a->keys_rkey), t, bad);
	if (err)
		return err;
	if (be64_to_cpu(a->nr_slots) < t->nr_slots)
		return wrong(bad, "nr_slots", be64_to_cpu(a->nr_slots),
			     t->nr_slots);
	if (beat < ODRP_WIRE_MIN_BEAT_MS)
		return wrong(bad, "beat_ms", beat, ODRP_WIRE_MIN_BEAT_MS);
	if (beat >= dead)
		return wrong(bad, "beat_ms", beat, dead / 2);
	if (!zeros(a->resv0, sizeof(a->resv0)) ||
	    !zeros(a->resv2, sizeof(a->resv2)))
		return wrong(bad, "a reserved field", 1, 0);
	return check_same(queues, depth, be64_to_cpu(a->session), t, bad);
}

static bool stores(u8 chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

static int check_words(const struct odrp_wire_io_accept *a, size_t len,
		       struct odrp_words *ws, struct odrp_bad *bad)
{
	u16 req_len = be16_to_cpu(a->req_len), tail = be16_to_cpu(a->tail_len);
	unsigned int which = 0, want;
	int err;

	if (a->nr_words > ODRP_WIRE_MAX_WORDS)
		return wrong(bad, "nr_words", a->nr_words, ODRP_WIRE_MAX_WORDS);
	want = sizeof(*a) + a->nr_words * sizeof(a->words[0]);
	if (len < want)
		return wrong(bad, "length", len, want);
	err = odrp_words_parse(ws, a->words, a->nr_words,
			       req_len - sizeof(struct odrp_wire_req), &which);
	if (err == -EPROTO)
		return wrong(bad, NULL, a->words[which].kind, which);
	want = sizeof(struct odrp_wire_req) + ws->len;
	if (err)
		return wrong(bad, "req_len", req_len, want);
	if (req_len + tail != want)
		return wrong(bad, "req_len and tail_len", req_len + tail, want);
	return 0;
}

/* READs and WRITEs have no words. */
static int check_keyed(const struct odrp_wire_io_accept *a,
		       struct odrp_words *ws, struct odrp_bad *bad)
{
	if (a->nr_words)
		return wrong(bad, "nr_words", a->nr_words, 0);
	if (a->req_len)
		return wrong(bad, "req_len", be16_to_cpu(a->req_len), 0);
	if (a->tail_len)
		return wrong(bad, "tail_len", be16_to_cpu(a->tail_len), 0);
	*ws = (struct odrp_words) { .nr = 0 };
	return 0;
}

/*
 * odrp_accept_io() - may this be believed?
 * @ws: its words; of no use unless 0 is returned
 *
 * Return: 0, or -EPROTO with @bad filled in.
 */
int odrp_accept_io(const struct odrp_wire_io_accept *a, size_t len,
		   const struct odrp_io_terms *t, struct odrp_words *ws,
		   struct odrp_bad *bad)
{
	int err = check_head((const void *)a, len, sizeof(*a), bad);
	u16 depth, req_len, tail;

	if (err)
		return err;
	depth = be16_to_cpu(a->depth);
	req_len = be16_to_cpu(a->req_len);
	tail = be16_to_cpu(a->tail_len);
	if (a->chain != t->chain)
		return wrong(bad, "chain", a->chain, t->chain);
	if (be16_to_cpu(a->queue) != t->queue)
		return wrong(bad, "queue", be16_to_cpu(a->queue), t->queue);
	if (!depth || depth > t->depth)
		return wrong(bad, "depth", depth, t->depth);
	if (depth < t->nr_reqs)
		return wrong(bad, "depth", depth, t->nr_reqs);
	if (t->keyed)
		return check_keyed(a, ws, bad);
	if (req_len < sizeof(struct odrp_wire_req))
		return wrong(bad, "req_len", req_len,
			     sizeof(struct odrp_wire_req));
	if (tail && !stores(t->chain))
		return wrong(bad, "tail_len", tail, 0);
	return check_words(a, len, ws, bad);
}

/*
 * odrp_accept_reads() - may this many READs be outstanding?
 * @reads: as the reply says
 * @most: as was asked for
 *
 * Return: 0, or -EPROTO with @bad filled in.
 */
int odrp_accept_reads(u8 reads, u8 most, struct odrp_bad *bad)
{
	if (!reads || reads > most)
		return wrong(bad, "initiator depth", reads, most);
	return 0;
}
