// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiments on what page exchange and the agent's counting rely on: the receive record,
 * receive entries that a queue writes, pages that another queue has received or sent, and
 * the moment when completions are counted.
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

static void close_trio(struct trio *t)
{
	raw_close(&t->loop);
	raw_close(&t->from);
	raw_close(&t->to);
}

/* Receive entry i has len bytes at place i.  posted: value of the receive record. */
static bool open_trio(struct side *side, uint32_t len, unsigned int posted,
		      struct trio *t)
{
	struct wrc_sge sge;
	unsigned int i;

	raw_open(side, RAW_APART | RAW_RQ, NULL, &t->to);
	raw_open(side, RAW_APART, &t->to, &t->from);
	if (!raw_open(side, RAW_MASTER, &t->to, &t->loop)) {
		close_trio(t);
		return false;
	}
	for (i = 0; i < ENTRIES; i++) {
		sge = (struct wrc_sge){ len, t->to.key,
					(uintptr_t)t->to.data + i * len };
		side_fail(side, wrc_encode_recv(&sge, 1, entry(t, i), 16));
	}
	t->to.dbr->rcv = htobe32(posted);
	raw_join(&t->from, &t->to, NIC_REMOTE_WRITE);
	return true;
}

static void put_send(struct raw *raw, size_t off, uint32_t len)
{
	raw_put(raw, (struct wrc_wr){
		.op = WRC_WQE_SEND, .nr_sge = 1,
		.sge = { { len, raw->key, (uintptr_t)raw->data + off } } });
}

/* ---- the receive record -------------------------------------------------------- */

static void send_one(struct trio *t)
{
	put_send(&t->from, 0, AREA);
	raw_go(&t->from);
}

void probe_dbr_lowered(struct side *side)
{
	struct trio t;
	uint32_t n;

	if (!open_trio(side, AREA, 6, &t))
		return;
	send_one(&t);
	t.to.dbr->rcv = htobe32(1);
	send_one(&t);
	n = raw_cqes(&t.to, t.to.rcqn);
	probe_describe(side, n == 1 ?
		       "yes: lowered to what was consumed, it holds the next message "
		       "back" :
		       "no: %u messages were received after it was lowered to 1", n);
	close_trio(&t);
}

void probe_dbr_raised(struct side *side)
{
	uint32_t before;
	struct trio t;

	if (!open_trio(side, AREA, 1, &t))
		return;
	send_one(&t);
	send_one(&t);
	before = raw_cqes(&t.to, t.to.rcqn);
	t.to.dbr->rcv = htobe32(2);
	side_settle(side);
	side_settle(side);
	probe_describe(side, "with 1 entry %u of 2 messages are received; when the record "
		       "is raised, %u", before, raw_cqes(&t.to, t.to.rcqn));
	close_trio(&t);
}

/* ---- receive entries that a queue writes -------------------------------------- */

/* Each small message has its number. */
static void put_messages(struct trio *t, unsigned int first, unsigned int nr)
{
	unsigned int i;
	uint64_t n;

	for (i = first; i < first + nr; i++) {
		n = i + 1;
		memcpy(t->from.data + i * AREA, &n, sizeof(n));
		put_send(&t->from, i * AREA, AREA);
	}
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
static void put_renew(struct trio *t, unsigned int i, unsigned int place)
{
	struct raw *loop = &t->loop;
	__be64 addr = htobe64((uintptr_t)t->to.data + place * AREA);

	memcpy(loop->data + i * 8, &addr, sizeof(addr));
	raw_put_move(loop, WRC_WQE_READ, entry(t, i) + offsetof(struct wrc_wqe_data, addr),
		     t->to.key, sizeof(addr), (uintptr_t)loop->data + i * 8, loop->key);
}

/* Does what a store does after its answer: writes a new page into the entry and posts it. */
static void put_turn(struct trio *t, unsigned int i)
{
	struct raw *loop = &t->loop;
	uint8_t *word = loop->data + PAGE + i * sizeof(__be32);
	__be32 posted = htobe32(ENTRIES + i + 1);

	memcpy(word, &posted, sizeof(posted));
	raw_put_wait(loop, t->to.rcqn, i);
	put_renew(t, i, ENTRIES + i);
	raw_put_wait(loop, loop->scqn, 2 * i);
	raw_put_move(loop, WRC_WQE_WRITE, word, loop->key, sizeof(posted),
		     (uintptr_t)&t->to.dbr->rcv, t->to.key);
}

/* Says how many of the messages from `first` on are at places from new_place on, and how many
 * at those from old_place on. */
static void describe_places(struct trio *t, unsigned int new_place, unsigned int old_place,
			    unsigned int first)
{
	probe_describe(t->to.side, "of %u messages %u go to the new addresses and %u to the "
		       "old ones", MANY, count_places(t, new_place, first, MANY),
		       count_places(t, old_place, first, MANY));
}

void probe_entry_renewed(struct side *side)
{
	struct trio t;
	unsigned int i;

	if (!open_trio(side, AREA, ENTRIES, &t))
		return;
	for (i = 0; i < MANY; i++)
		put_turn(&t, i);
	put_messages(&t, 0, ENTRIES + MANY);
	raw_ring(&t.loop);
	raw_go(&t.from);
	side_settle(side);
	describe_places(&t, ENTRIES, 0, ENTRIES);
	close_trio(&t);
}

/* Chains never do this.  The answer shows how far ahead the NIC reads entries. */
void probe_entry_rewritten(struct side *side)
{
	struct trio t;
	unsigned int i;

	if (!open_trio(side, AREA, ENTRIES, &t))
		return;
	put_messages(&t, 0, 1);
	raw_go(&t.from);
	for (i = 1; i < ENTRIES; i++)
		put_renew(&t, i, ENTRIES + i);
	raw_go(&t.loop);
	put_messages(&t, 1, MANY);
	raw_go(&t.from);
	describe_places(&t, ENTRIES + 1, 1, 1);
	close_trio(&t);
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
static void put_copies(struct trio *t, uint32_t cqn)
{
	struct raw *loop = &t->loop;
	unsigned int i;

	for (i = 0; i < ENTRIES; i++) {
		raw_put_wait(loop, cqn, i);
		raw_put_move(loop, WRC_WQE_READ, loop->data + i * PAGE, loop->key, PAGE,
			     (uintptr_t)t->to.data + i * PAGE, t->to.key);
	}
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
static void watch_pages(struct side *side, bool written)
{
	struct trio t;
	unsigned int i;

	if (!open_trio(side, PAGE, ENTRIES, &t))
		return;
	fill_pages(&t);
	put_copies(&t, written ? t.from.scqn : t.to.rcqn);
	for (i = 0; i < ENTRIES; i++) {
		if (written)
			raw_put_move(&t.from, WRC_WQE_WRITE, t.from.data + i * PAGE,
				     t.from.key, PAGE, (uintptr_t)t.to.data + i * PAGE,
				     t.to.key);
		else
			put_send(&t.from, i * PAGE, PAGE);
	}
	raw_ring(&t.loop);
	raw_go(&t.from);
	probe_describe(side, "%u of %u pages are whole when the WAIT is over",
		       count_pages(&t), ENTRIES);
	close_trio(&t);
}

void probe_page_received(struct side *side)
{
	watch_pages(side, false);
}

void probe_page_sent(struct side *side)
{
	watch_pages(side, true);
}

/* ---- when completions are counted ---------------------------------------------------- */

void probe_cq_acknowledged(struct side *side)
{
	struct trio t;
	uint32_t before;

	if (!open_trio(side, AREA, 0, &t))
		return;
	raw_put_move(&t.from, WRC_WQE_WRITE_IMM, t.from.data, t.from.key, 8,
		     (uintptr_t)t.to.data, t.to.key);
	raw_go(&t.from);
	before = raw_cqes(&t.from, t.from.scqn);
	t.to.dbr->rcv = htobe32(1);
	side_settle(side);
	side_settle(side);
	probe_describe(side, "%u are counted before its peer takes it, and %u then",
		       before, raw_cqes(&t.from, t.from.scqn));
	close_trio(&t);
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

static void put_flag(struct trio *t, unsigned int i)
{
	struct raw *loop = &t->loop;
	uint64_t value = i + 1;

	memcpy(loop->data + 8 * value, &value, sizeof(value));
	raw_put_wait(loop, t->to.rcqn, i);
	raw_put_move(loop, WRC_WQE_WRITE, loop->data + 8 * value, loop->key, sizeof(value),
		     (uintptr_t)loop->data, loop->key);
}

/* Sends a message and asks for the count as soon as the flag is set. */
static bool is_counted(struct trio *t, unsigned int i)
{
	struct flag flag = { (const volatile uint64_t *)t->loop.data, i + 1 };
	struct side *side = t->to.side;

	put_send(&t->from, 0, AREA);
	raw_ring(&t->from);
	spin(&flag);
	if (!side->err && !side_until(side, is_set, &flag))
		side_fail(side, -ETIMEDOUT);
	return raw_cqes(&t->to, t->to.rcqn) >= i + 1;
}

void probe_cq_received(struct side *side)
{
	unsigned int i, good = 0;
	struct trio t;

	if (!open_trio(side, AREA, ENTRIES, &t))
		return;
	for (i = 0; i < ENTRIES; i++)
		put_flag(&t, i);
	raw_ring(&t.loop);
	for (i = 0; !side->err && i < ENTRIES; i++)
		good += is_counted(&t, i);
	probe_describe(side, "%u of %u messages are counted when what waits for them has "
		       "run", good, ENTRIES);
	close_trio(&t);
}
