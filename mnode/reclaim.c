// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages on their way back to the free ring.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "log.h"
#include "reclaim.h"

#define SCAN_STEP	65536	/* table entries per call */

/* Memory of the loopback queue pair. */
struct staging {
	uint64_t old_tail;		/* host order, from the NIC */
	uint64_t old_head;
	uint64_t resv[6];
	__be64 pages[RECLAIM_BATCH];
};

static struct staging *staging(struct reclaim *rc)
{
	return rc->q.data;
}

static int open_queue(struct reclaim *rc)
{
	struct nic *nic = rc->pool->nic;
	int r;

	r = ctlq_init(&rc->q, nic, rc->pool->pdn,
		      NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC,
		      sizeof(struct staging));
	if (r)
		return r;
	r = nic->ops->qp_loop(nic, rc->q.qpn);
	if (r)
		ctlq_fini(&rc->q);
	return r;
}

int reclaim_init(struct reclaim *rc, struct pool *pool, struct stock *stock)
{
	int r;

	*rc = (struct reclaim){ .pool = pool, .stock = stock };
	rc->seen = calloc((pool->pages + 63) / 64, sizeof(*rc->seen));
	if (!rc->seen)
		return -ENOMEM;
	r = open_queue(rc);
	if (r)
		free(rc->seen);
	return r;
}

void reclaim_fini(struct reclaim *rc)
{
	ctlq_fini(&rc->q);
	free(rc->seen);
	free(rc->holes.at);
	free(rc->lost.at);
}

/* ---- holes and lost pages ----------------------------------------------------- */

static int list_add(struct list *l, uint64_t value)
{
	size_t max = l->max ? 2 * l->max : 64;
	uint64_t *at;

	if (l->nr == l->max) {
		at = realloc(l->at, max * sizeof(*at));
		if (!at)
			return -ENOMEM;
		l->at = at;
		l->max = max;
	}
	l->at[l->nr++] = value;
	return 0;
}

static bool drop_hole(struct reclaim *rc, uint64_t slot)
{
	struct list *l = &rc->holes;
	size_t i;

	for (i = 0; i < l->nr; i++) {
		if (l->at[i] == slot) {
			l->at[i] = l->at[--l->nr];
			return true;
		}
	}
	return false;
}

/*
 * In one: should a counter lap the ring just now, the page that comes into the
 * slot between a look and a 0 would be lost, and one that leaves it doubled
 * (docs/model.md).  Against a NIC whose atomics are its own affair it is as good
 * as look and 0.
 */
static uint64_t take_slot(struct reclaim *rc, uint64_t slot)
{
	volatile __be64 *p = &rc->pool->ring[ring_index(rc->pool->log_len,
							slot)];

	return be64toh(__atomic_exchange_n(p, 0, __ATOMIC_ACQ_REL));
}

/* A page that is in nobody else's hands: for the stock, or for the ring. */
static void put_back(struct reclaim *rc, uint64_t addr)
{
	int r = stock_give(rc->stock, addr);

	if (r == -ENOSPC)
		rc->pages[rc->nr++] = addr;
	else if (r == -EEXIST)
		rc->nr_double++;
	else if (r)
		rc->nr_foreign++;
}

static void collect_holes(struct reclaim *rc)
{
	struct list *l = &rc->holes;
	size_t i = 0;

	while (rc->nr < RECLAIM_BATCH && i < l->nr) {
		uint64_t page = take_slot(rc, l->at[i]);

		if (!page) {
			i++;
			continue;
		}
		put_back(rc, page);
		l->at[i] = l->at[--l->nr];
	}
}

int reclaim_lost(struct reclaim *rc, uint64_t addr)
{
	return list_add(&rc->lost, addr);
}

bool reclaim_found(struct reclaim *rc)
{
	if (rc->state != RECLAIM_IDLE)
		return false;
	collect_holes(rc);
	while (rc->lost.nr && rc->nr < RECLAIM_BATCH) {
		put_back(rc, rc->lost.at[--rc->lost.nr]);
		rc->nr_lost++;
	}
	return rc->lost.nr;
}

/* ---- taking ------------------------------------------------------------------ */

static void orphan(struct sess *s, unsigned int number, unsigned int chain,
		   uint64_t page)
{
	s->orphans[number][chain] = page;
	s->nr_orphans++;
}

static int look(struct reclaim *rc, const struct sess *s,
		const struct queue *q, uint16_t bb, unsigned int holder,
		struct wrc_held *held)
{
	int r = queue_held(q, bb, holder, held);

	if (!r && held->slot && !ring_valid(rc->pool->log_len, held->slot)) {
		log_error("session %lu: chain %s stopped with slot %#lx, "
			  "which is not in the ring", s->id, q->prog->name,
			  (unsigned long)held->slot);
		held->slot = 0;
	}
	return r;
}

/* A page out of a register: it is needed by the next chain, as a rule. */
static int stock_page(struct reclaim *rc, const struct sess *s, uint64_t addr)
{
	switch (stock_give(rc->stock, addr)) {
	case 0:
		return 0;
	case -ENOSPC:
		return reclaim_lost(rc, addr);
	case -EEXIST:
		log_error("session %lu: page at %#lx found twice", s->id,
			  (unsigned long)addr);
		rc->nr_double++;
		return 0;
	default:
		log_error("session %lu: a register held %#lx, which is not a "
			  "page", s->id, (unsigned long)addr);
		rc->nr_foreign++;
		return 0;
	}
}

/* The page in the register, and one between the ring's head and the register;
 * never more than one of the two, if the chain is ours. */
static int reclaim_register(struct reclaim *rc, const struct sess *s,
			    const struct wrc_held *held)
{
	uint64_t page;
	int r = 0, err;

	if (held->page)
		r = stock_page(rc, s, held->page);
	if (!held->slot)
		return r;
	page = take_slot(rc, held->slot);
	err = page ? stock_page(rc, s, page) :
		     list_add(&rc->holes, held->slot);
	return r ? r : err;
}

static int reclaim_registers(struct reclaim *rc, const struct sess *s,
			     const struct queue *q, uint16_t bb)
{
	unsigned int i, nr = queue_nr_holders(q);
	struct wrc_held held;
	int r = 0, err;

	stock_disarm(rc->stock, nr);
	for (i = 0; i < nr; i++) {
		err = look(rc, s, q, bb, i, &held);
		if (!err)
			err = reclaim_register(rc, s, &held);
		if (err)
			r = err;
	}
	return r;
}

int reclaim_queue(struct reclaim *rc, struct sess *s, unsigned int number,
		  unsigned int chain)
{
	struct queue *q = s->queues[number][chain];
	uint8_t log_len = rc->pool->log_len;
	struct wrc_held held;
	uint64_t page;
	uint16_t bb;
	int r;

	r = queue_position(q, &bb);
	if (r) {
		if (wrc_has_register(q->prog))
			stock_disarm(rc->stock, queue_nr_holders(q));
		return r;
	}
	if (wrc_has_register(q->prog))
		return reclaim_registers(rc, s, q, bb);
	r = look(rc, s, q, bb, 0, &held);
	if (r)
		return r;
	if (held.slot && held.page) {
		/* An invalidate, between the tail and the slot. */
		rc->pool->ring[ring_index(log_len, held.slot)] =
			htobe64(held.page);
	} else if (held.slot) {
		/* An unmapped store, between the head and the slot. */
		page = take_slot(rc, held.slot);
		if (page)
			orphan(s, number, chain, page);
		else
			r = list_add(&rc->holes, held.slot);
	} else if (held.page) {
		orphan(s, number, chain, held.page);
	}
	return r;
}

void reclaim_begin_scan(struct reclaim *rc)
{
	memset(rc->seen, 0,
	       (rc->pool->pages + 63) / 64 * sizeof(*rc->seen));
}

static void collect_page(struct reclaim *rc, const struct sess *s,
			 uint64_t addr)
{
	uint64_t page, bit;

	if (!page_index(addr, rc->pool->pages, &page)) {
		log_error("session %lu: table held %#lx, which is not a page",
			  s->id, (unsigned long)addr);
		rc->nr_foreign++;
		return;
	}
	bit = 1ull << (page % 64);
	if (s->state == SESS_DYING && rc->seen[page / 64] & bit) {
		log_error("session %lu: page %lu found twice", s->id, page);
		rc->nr_double++;
		return;
	}
	rc->seen[page / 64] |= bit;
	put_back(rc, addr);
	rc->nr_pages++;
}

static bool collect_orphans(struct reclaim *rc, struct sess *s)
{
	unsigned int n, c;

	if (!s->nr_orphans)
		return true;
	for (n = 0; n < s->nr_queues; n++) {
		for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
			if (!s->orphans[n][c])
				continue;
			if (rc->nr == RECLAIM_BATCH)
				return false;
			collect_page(rc, s, s->orphans[n][c]);
			s->orphans[n][c] = 0;
			s->nr_orphans--;
		}
	}
	return true;
}

bool reclaim_collect(struct reclaim *rc, struct sess *s)
{
	uint64_t end = s->scan + SCAN_STEP;

	if (rc->state != RECLAIM_IDLE || !collect_orphans(rc, s))
		return false;
	if (s->state != SESS_DYING)
		return true;
	if (end > s->tt.nr_slots)
		end = s->tt.nr_slots;
	while (s->scan < end) {
		uint64_t addr = be64toh(s->tt.entries[s->scan]);

		if (addr) {
			if (rc->nr == RECLAIM_BATCH)
				return false;
			collect_page(rc, s, addr);
			s->tt.entries[s->scan] = 0;
		}
		s->scan++;
	}
	return s->scan == s->tt.nr_slots;
}

/* ---- giving ------------------------------------------------------------------ */

static enum reclaim_todo failed(struct reclaim *rc)
{
	unsigned int i;

	if (!rc->nr_failures++)
		log_error("the agent's own queue pair failed; making another");
	/* The WRITEs that were done must not be repeated: their pages may have
	 * gone to somebody. */
	rc->retry = RECLAIM_IDLE;
	if (rc->state == RECLAIM_PUT) {
		rc->retry = RECLAIM_PUT;
		for (i = 0; i + rc->q.outstanding < rc->nr_runs; i++)
			rc->put += rc->run[i];
	}
	rc->state = RECLAIM_FAILED;
	return RECLAIM_WAIT;
}

static enum reclaim_todo reserve(struct reclaim *rc)
{
	const struct pool *pool = rc->pool;

	if (ctlq_fetch_add(&rc->q, offsetof(struct staging, old_tail),
			   (uint64_t)rc->nr * RING_SLOT, pool->log_len,
			   pool_tail_iova(pool), pool->ring_key))
		return failed(rc);
	rc->state = RECLAIM_RESERVE;
	return RECLAIM_WAIT;
}

/*
 * What the stock is short of and nobody has brought back: out of the ring, like
 * a chain would, and not the last of it.
 */
static enum reclaim_todo take(struct reclaim *rc)
{
	const struct pool *pool = rc->pool;
	uint64_t n = stock_short(rc->stock), most = pool_free_pages(pool) / 2;

	if (n > most)
		n = most;
	if (n > RECLAIM_BATCH)
		n = RECLAIM_BATCH;
	if (!n)
		return RECLAIM_NOTHING;
	rc->nr_take = n;
	if (ctlq_fetch_add(&rc->q, offsetof(struct staging, old_head),
			   n * RING_SLOT, pool->log_len, pool_head_iova(pool),
			   pool->ring_key))
		return failed(rc);
	rc->state = RECLAIM_TAKE;
	return RECLAIM_WAIT;
}

/* The slots are ours.  A page that has not come to one yet makes a hole. */
static enum reclaim_todo taken(struct reclaim *rc)
{
	uint64_t head = staging(rc)->old_head, slot, page;
	unsigned int i;

	rc->state = RECLAIM_IDLE;
	for (i = 0; i < rc->nr_take; i++) {
		slot = ring_advance(rc->pool->log_len, head, i);
		page = take_slot(rc, slot);
		if (page)
			put_back(rc, page);
		else if (list_add(&rc->holes, slot))
			log_error("no memory to remember a hole in the ring");
	}
	return RECLAIM_MORE;
}

/* Pages from first on that go to slots next to each other. */
static unsigned int run_len(const struct reclaim *rc, unsigned int first)
{
	unsigned int n = 1;

	while (first + n < rc->nr_dest &&
	       rc->dest[first + n] == rc->dest[first] + n * RING_SLOT)
		n++;
	return n;
}

static enum reclaim_todo put(struct reclaim *rc)
{
	unsigned int first = rc->put, n;

	rc->state = RECLAIM_PUT;
	for (rc->nr_runs = 0; first < rc->nr_dest &&
	     rc->nr_runs < RECLAIM_RUNS; first += n) {
		n = run_len(rc, first);
		if (ctlq_write(&rc->q, offsetof(struct staging, pages[first]),
			       n * sizeof(__be64), rc->dest[first],
			       rc->pool->ring_key))
			return failed(rc);
		rc->run[rc->nr_runs++] = n;
	}
	return RECLAIM_WAIT;
}

static void stage(struct reclaim *rc)
{
	unsigned int i;

	for (i = 0; i < rc->nr; i++)
		staging(rc)->pages[i] = htobe64(rc->pages[i]);
}

static enum reclaim_todo reserved(struct reclaim *rc)
{
	uint64_t tail = staging(rc)->old_tail;
	unsigned int i;

	rc->nr_dest = rc->put = 0;
	for (i = 0; i < rc->nr; i++) {
		uint64_t slot = ring_advance(rc->pool->log_len, tail, i);

		if (!drop_hole(rc, slot))
			rc->dest[rc->nr_dest++] = slot;
	}
	stage(rc);
	return put(rc);
}

static enum reclaim_todo written(struct reclaim *rc)
{
	unsigned int i;

	for (i = 0; i < rc->nr_runs; i++)
		rc->put += rc->run[i];
	if (rc->put < rc->nr_dest)
		return put(rc);
	/* As many slots as were holes are missing: once more with the rest. */
	rc->nr -= rc->nr_dest;
	memmove(rc->pages, rc->pages + rc->nr_dest,
		rc->nr * sizeof(rc->pages[0]));
	rc->state = RECLAIM_IDLE;
	return RECLAIM_MORE;
}

static enum reclaim_todo recover(struct reclaim *rc)
{
	ctlq_fini(&rc->q);
	if (open_queue(rc))
		return RECLAIM_WAIT;
	if (rc->retry == RECLAIM_PUT) {
		stage(rc);
		return put(rc);
	}
	rc->state = RECLAIM_IDLE;
	return RECLAIM_MORE;
}

enum reclaim_todo reclaim_run(struct reclaim *rc)
{
	int r;

	if (rc->state == RECLAIM_IDLE)
		return rc->nr ? reserve(rc) : take(rc);
	if (rc->state == RECLAIM_FAILED)
		return recover(rc);
	r = ctlq_poll(&rc->q);
	if (r == -EAGAIN)
		return RECLAIM_WAIT;
	if (r)
		return failed(rc);
	if (rc->state == RECLAIM_TAKE)
		return taken(rc);
	return rc->state == RECLAIM_RESERVE ? reserved(rc) : written(rc);
}
