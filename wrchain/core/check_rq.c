// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule rq: the client's receive queue.
 *
 * K entries, K - 1 posted at first.  Request r raises the record to K + r when
 * r + 1 entries have been consumed: K - 1 are posted again, and never more
 * than K, even while the record is written by the entry being consumed.  Where
 * the chain posts its own entry behind the answer, all K are posted at first
 * and then, and K - 1 when the answer comes.
 */
#include "check.h"

#define RULE WRC_RULE_RQ

/* 1: the chain posts its entry, which has been consumed then. */
static __u32 by_chain(const struct wrc_check *c)
{
	return c->ctx.prog->post != WRC_NONE;
}

static int record_check(struct wrc_check *c)
{
	const struct wrc_geom *geom = c->ctx.geom;
	struct wrc_dbr dbr;
	__u32 posted;

	memcpy(&dbr, c->arena + geom->client_dbr, sizeof(dbr));
	posted = be32_to_cpu(dbr.rcv);
	if (posted != geom->depth - 1 + by_chain(c))
		return wrc_refuse_all(c, RULE,
				      "%u of %u receive entries are posted at first, instead of %u",
				      posted, geom->depth,
				      geom->depth - 1 + by_chain(c));
	return 0;
}

/* The record's word at request r, as a whole number. */
static int posted_at(struct wrc_check *c, unsigned int word, __u64 r)
{
	__u32 depth = c->ctx.geom->depth, value = 0;
	__u16 ahead;

	if (!c->ctx.prog->node)
		value = wrc_check_word(c, word, r);
	else if (!wrc_check_turn_post(c, r, &value))
		return wrc_refuse_all(c, RULE,
				      "no row re-posts receive entries");
	ahead = value - (__u16)r - by_chain(c);

	if (ahead > depth)
		return wrc_refuse_all(c, RULE,
				      "request %llu posts %u receive entries of a queue of %u",
				      (unsigned long long)r, ahead, depth);
	if (ahead < depth)
		return wrc_refuse_all(c, RULE,
				      "request %llu leaves %u receive entries posted instead of %u",
				      (unsigned long long)r, ahead, depth);
	return 0;
}

static int record_words(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	int w = wrc_check_word_of(c, WRC_NONE, WRC_WORD_DBR);
	__u64 r;
	int err = 0;

	if (w < 0 && !prog->node)
		return wrc_refuse_all(c, RULE,
				      "no word of the request re-posts receive entries");
	if (!prog->node && (!prog->nr_scatter ||
	    w + (prog->tail_len != 0) != prog->nr_words - 1))
		return wrc_refuse_all(c, RULE,
				      "the doorbell record is not the last word");
	for (r = 0; !err && r < c->ctx.geom->depth + 2ull; r++)
		err = posted_at(c, w, r);
	for (r = 0x10000 - 4; !err && r < 0x10000 + 4; r++)
		err = posted_at(c, w, r);
	return err;
}

/* An entry takes a whole request and not one byte more. */
static int entry_check(struct wrc_check *c, __u32 instance)
{
	const struct wrc_prog *prog = c->ctx.prog;
	const struct wrc_bind *b = c->ctx.bind;
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	__u32 want = wrc_msg_len(prog);
	__u32 len = 0;
	int i, n;

	n = wrc_check_recv(c, instance, sge);
	if (n <= 0)
		return wrc_refuse_all(c, RULE, "receive entry %u is malformed",
				      instance);
	for (i = 0; i < n; i++)
		len += sge[i].len;
	if (len != want)
		return wrc_refuse_all(c, RULE,
				      "receive entry %u takes %u bytes of a request of %u",
				      instance, len, want);
	if (!prog->page || wrc_owns(prog))	/* rule own has that */
		return 0;
	if (sge[n - 1].lkey != b->buf_key ||
	    sge[n - 1].len != ODRP_WIRE_PAGE_SIZE ||
	    sge[n - 1].addr != b->buf_iova +
			       (__u64)instance * ODRP_WIRE_PAGE_SIZE)
		return wrc_refuse_all(c, RULE,
				      "receive entry %u does not put the page into its own buffer",
				      instance);
	return 0;
}

/* A client sends the request, its words and the page. */
static int message_check(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u32 len = sizeof(struct odrp_wire_req);
	unsigned int i;

	for (i = 0; i < prog->nr_words; i++)
		len += wrc_word_width(prog->word[i].kind);
	if (prog->page)
		len += ODRP_WIRE_PAGE_SIZE;
	if (len == wrc_msg_len(prog))
		return 0;
	return wrc_refuse_all(c, RULE,
			      "a client sends %u bytes, and a request has %u",
			      len, wrc_msg_len(prog));
}

/* A request goes to the instance's ring memory, and its page to the page's place. */
static int segments_check(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = 0; i < prog->nr_scatter; i++) {
		enum wrc_space to = (enum wrc_space)prog->scatter[i].to.space;

		if (wrc_space_class(to) == WRC_CL_ARENA ||
		    (prog->page && i == prog->page_sge &&
		     to == (wrc_owns(prog) ? WRC_SP_POOL : WRC_SP_BUF)))
			continue;
		return wrc_refuse_all(c, RULE,
				      "segment %u of the receive entries goes to class %s",
				      i, wrc_class_name(wrc_space_class(to)));
	}
	return 0;
}

int wrc_check_rq(struct wrc_check *c)
{
	__u32 instance;
	int err;

	err = record_check(c);
	if (!err)
		err = message_check(c);
	if (!err)
		err = segments_check(c);
	if (!err)
		err = record_words(c);
	for (instance = 0; !err && instance < c->ctx.geom->depth; instance++)
		err = entry_check(c, instance);
	return err;
}
