// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiments on what page exchange and the agent's counting rely on: receive entries
 * that a queue writes, pages that another queue has received or sent, and the moment when
 * completions are counted.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "probes.h"
#include "raw.h"

#define PAGE	4096
#define ENTRIES	(1u << RAW_LOG_RQ)
#define MANY	(ENTRIES - 1)	/* leaves room for all WQEs */
#define AREA	64		/* for one small message */
#define SPINS	100000

_Static_assert(RAW_DATA_LEN >= ENTRIES * PAGE, "a page for each entry");

/**
 * struct trio - two queue pairs for messages, and a loopback queue pair that watches
 */
struct trio {
	struct raw from, to, loop;
};

static uint8_t *entry(struct trio *t, unsigned int i)
{
	return (uint8_t *)t->to.mem.va + 16 * i;
}

/* Receive entry i has len bytes at place i.  posted: value of the receive record. */
static int open_trio(struct side *side, uint32_t len, unsigned int posted,
		     struct trio *t)
{
	struct wrc_sge sge;
	unsigned int i;
	int r;

	r = raw_open(side, RAW_APART | RAW_RQ, NULL, &t->to);
	if (r)
		return r;
	r = raw_open(side, RAW_APART, &t->to, &t->from);
	if (r)
		goto close_to;
	r = raw_open(side, RAW_MASTER, &t->to, &t->loop);
	if (r)
		goto close_from;
	for (i = 0; !r && i < ENTRIES; i++) {
		sge = (struct wrc_sge){ len, t->to.key,
					(uintptr_t)t->to.data + i * len };
		r = wrc_encode_recv(&sge, 1, entry(t, i), 16);
	}
	t->to.dbr->rcv = htobe32(posted);
	if (!r)
		r = raw_join(&t->from, &t->to);
	if (!r)
		return 0;
	raw_close(&t->loop);
close_from:
	raw_close(&t->from);
close_to:
	raw_close(&t->to);
	return r;
}

static void close_trio(struct trio *t)
{
	raw_close(&t->loop);
	raw_close(&t->from);
	raw_close(&t->to);
}

static int put_send(struct raw *raw, size_t off, uint32_t len)
{
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .nr_sge = 1,
		.flags = WRC_WQE_CE_ALWAYS,
	};

	wr.sge[0] = (struct wrc_sge){ len, raw->key,
				      (uintptr_t)raw->data + off };
	return raw_put(raw, wr);
}

/* A READ or WRITE between here and there. */
static int put_move(struct raw *raw, uint8_t op, void *here, uint32_t lkey,
		    uint32_t len, void *there, uint32_t rkey)
{
	struct wrc_wr wr = {
		.op = op, .shape = op, .nr_sge = 1, .flags = WRC_WQE_CE_ALWAYS,
		.raddr = (uintptr_t)there, .rkey = rkey,
	};

	wr.sge[0] = (struct wrc_sge){ len, lkey, (uintptr_t)here };
	return raw_put(raw, wr);
}

/* ---- receive entries that a queue writes -------------------------------------- */

/* Each small message has its number. */
static int put_messages(struct trio *t, unsigned int first, unsigned int nr)
{
	unsigned int i;
	uint64_t n;
	int r = 0;

	for (i = first; !r && i < first + nr; i++) {
		n = i + 1;
		memcpy(t->from.data + i * AREA, &n, sizeof(n));
		r = put_send(&t->from, i * AREA, AREA);
	}
	return r;
}

/* How many of nr places, from @place on, hold the messages from @first on? */
static unsigned int count_places(const struct trio *t, unsigned int place,
				 unsigned int first, unsigned int nr)
{
	unsigned int i, found = 0;
	uint64_t n;

	for (i = 0; i < nr; i++) {
		memcpy(&n, t->to.data + (place + i) * AREA, sizeof(n));
		found += n == first + i + 1;
	}
	return found;
}

/* The loop queue READs the address of a new place into entry i. */
static int put_renew(struct trio *t, unsigned int i, unsigned int place)
{
	struct raw *loop = &t->loop;
	__be64 addr = htobe64((uintptr_t)t->to.data + place * AREA);

	memcpy(loop->data + i * 8, &addr, sizeof(addr));
	return put_move(loop, WRC_WQE_READ,
			entry(t, i) + offsetof(struct wrc_wqe_data, addr),
			t->to.key, sizeof(addr), loop->data + i * 8,
			loop->key);
}

/* Does what a store does after its answer: writes a new page into the entry and posts it. */
static int put_turn(struct trio *t, unsigned int i)
{
	struct raw *loop = &t->loop;
	uint8_t *word = loop->data + PAGE + i * sizeof(__be32);
	__be32 posted = htobe32(ENTRIES + i + 1);
	int r;

	memcpy(word, &posted, sizeof(posted));
	r = raw_put_wait(loop, t->to.rcqn, i);
	if (!r)
		r = put_renew(t, i, ENTRIES + i);
	if (!r)
		r = raw_put_wait(loop, loop->scqn, 2 * i);
	if (!r)
		r = put_move(loop, WRC_WQE_WRITE, word, loop->key,
			     sizeof(posted), &t->to.dbr->rcv, t->to.key);
	return r;
}

int probe_entry_renewed(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct trio t;
	unsigned int i;
	int r;

	r = open_trio(side, AREA, ENTRIES, &t);
	if (r)
		return r;
	for (i = 0; !r && i < MANY; i++)
		r = put_turn(&t, i);
	if (!r)
		r = put_messages(&t, 0, ENTRIES + MANY);
	if (!r)
		r = raw_ring(&t.loop);
	if (!r)
		r = raw_go(&t.from);
	side_settle(side);
	if (!r)
		probe_describe(answer, "of %u messages %u go to the new addresses "
			       "and %u to the old ones", MANY,
			       count_places(&t, ENTRIES, ENTRIES, MANY),
			       count_places(&t, 0, ENTRIES, MANY));
	close_trio(&t);
	return r;
}

/* Chains never do this.  The answer shows how far ahead the NIC reads entries. */
int probe_entry_rewritten(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct trio t;
	unsigned int i;
	int r;

	r = open_trio(side, AREA, ENTRIES, &t);
	if (r)
		return r;
	r = put_messages(&t, 0, 1);
	if (!r)
		r = raw_go(&t.from);
	for (i = 1; !r && i < ENTRIES; i++)
		r = put_renew(&t, i, ENTRIES + i);
	if (!r)
		r = raw_go(&t.loop);
	if (!r)
		r = put_messages(&t, 1, MANY);
	if (!r)
		r = raw_go(&t.from);
	if (!r)
		probe_describe(answer, "of %u messages %u go to the new addresses "
			       "and %u to the old ones", MANY,
			       count_places(&t, ENTRIES + 1, 1, MANY),
			       count_places(&t, 1, 1, MANY));
	close_trio(&t);
	return r;
}

/* ---- pages behind a WAIT ---------------------------------------------------------- */

static void fill_pages(struct trio *t)
{
	uint32_t i, w;

	for (i = 0; i < ENTRIES * PAGE / sizeof(w); i++) {
		w = (i + 1) * 2654435761u;
		memcpy(t->from.data + i * sizeof(w), &w, sizeof(w));
	}
}

/* The loop queue copies each page when a WAIT says that it is there. */
static int put_copies(struct trio *t, uint32_t cqn)
{
	struct raw *loop = &t->loop;
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < ENTRIES; i++) {
		r = raw_put_wait(loop, cqn, i);
		if (!r)
			r = put_move(loop, WRC_WQE_READ, loop->data + i * PAGE,
				     loop->key, PAGE, t->to.data + i * PAGE,
				     t->to.key);
	}
	return r;
}

static unsigned int count_pages(const struct trio *t)
{
	unsigned int i, n = 0;

	for (i = 0; i < ENTRIES; i++)
		n += !memcmp(t->loop.data + i * PAGE, t->from.data + i * PAGE,
			     PAGE);
	return n;
}

/* written: pages come by WRITEs, and the WAITs are for the WRITEs' own completions. */
static int watch_pages(struct side *side, bool written, char *answer)
{
	struct trio t;
	unsigned int i;
	int r;

	r = open_trio(side, PAGE, ENTRIES, &t);
	if (r)
		return r;
	fill_pages(&t);
	r = put_copies(&t, written ? t.from.scqn : t.to.rcqn);
	for (i = 0; !r && i < ENTRIES; i++)
		r = written ? put_move(&t.from, WRC_WQE_WRITE,
				       t.from.data + i * PAGE, t.from.key,
				       PAGE, t.to.data + i * PAGE, t.to.key) :
			      put_send(&t.from, i * PAGE, PAGE);
	if (!r)
		r = raw_ring(&t.loop);
	if (!r)
		r = raw_go(&t.from);
	if (!r)
		probe_describe(answer, "%u of %u pages are whole when the WAIT is "
			       "over", count_pages(&t), ENTRIES);
	close_trio(&t);
	return r;
}

int probe_page_received(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return watch_pages(side, false, answer);
}

int probe_page_sent(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return watch_pages(side, true, answer);
}

/* ---- when completions are counted ---------------------------------------------------- */

int probe_cq_acknowledged(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct wrc_wr wr = {
		.op = WRC_WQE_WRITE_IMM, .shape = WRC_WQE_WRITE_IMM,
		.flags = WRC_WQE_CE_ALWAYS, .nr_sge = 1,
	};
	uint32_t before, after;
	struct trio t;
	int r;

	r = open_trio(side, AREA, 0, &t);
	if (r)
		return r;
	wr.raddr = (uintptr_t)t.to.data;
	wr.rkey = t.to.key;
	wr.sge[0] = (struct wrc_sge){ 8, t.from.key, (uintptr_t)t.from.data };
	r = raw_put(&t.from, wr);
	if (!r)
		r = raw_go(&t.from);
	if (!r)
		r = raw_cqes(&t.from, &before);
	t.to.dbr->rcv = htobe32(1);
	side_settle(side);
	side_settle(side);
	if (!r)
		r = raw_cqes(&t.from, &after);
	if (!r)
		probe_describe(answer, "%u are counted before its peer takes it, "
			       "and %u then", before, after);
	close_trio(&t);
	return r;
}

/* A WRITE behind a WAIT for message n sets the flag to n. */
struct flag {
	const volatile uint64_t *at;
	uint64_t value;
};

static bool is_set(void *arg)
{
	const struct flag *f = arg;

	return *f->at == f->value;
}

/* Spins for a while, so as to ask soon after the hardware has set the flag. */
static void spin(const struct flag *flag)
{
	unsigned int i;

	for (i = 0; i < SPINS && *flag->at != flag->value; i++)
		;
}

static int put_flag(struct trio *t, unsigned int i)
{
	struct raw *loop = &t->loop;
	uint64_t value = i + 1;
	int r;

	memcpy(loop->data + 8 * value, &value, sizeof(value));
	r = raw_put_wait(loop, t->to.rcqn, i);
	if (!r)
		r = put_move(loop, WRC_WQE_WRITE, loop->data + 8 * value,
			     loop->key, sizeof(value), loop->data, loop->key);
	return r;
}

/* Sends a message and asks for the count as soon as the flag is set. */
static int count_after(struct trio *t, unsigned int i, unsigned int *good)
{
	struct flag flag = { (const volatile uint64_t *)t->loop.data, i + 1 };
	struct side *side = t->to.side;
	struct nic_cq_info info;
	int r;

	r = put_send(&t->from, 0, AREA);
	if (!r)
		r = raw_ring(&t->from);
	spin(&flag);
	if (!r && !side_until(side, is_set, &flag))
		r = -ETIMEDOUT;
	if (!r)
		r = side->nic->node->ops->cq_info(side->nic, t->to.rcqn, &info);
	if (!r)
		*good += info.written >= i + 1;
	return r;
}

int probe_cq_received(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	unsigned int i, good = 0;
	struct trio t;
	int r;

	r = open_trio(side, AREA, ENTRIES, &t);
	if (r)
		return r;
	for (i = 0; !r && i < ENTRIES; i++)
		r = put_flag(&t, i);
	if (!r)
		r = raw_ring(&t.loop);
	for (i = 0; !r && i < ENTRIES; i++)
		r = count_after(&t, i, &good);
	if (!r)
		probe_describe(answer, "%u of %u messages are counted when what "
			       "waits for them has run", good, ENTRIES);
	close_trio(&t);
	return r;
}
