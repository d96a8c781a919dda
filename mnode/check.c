// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts every page, with the NIC frozen.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

/* Where a page has been seen. */
enum place {
	NOWHERE,
	IN_RING,
	IN_TABLE,
	IN_REGISTER,
	IN_CHAIN,
	IN_STOCK,
	IN_AGENT,
};

struct count {
	const struct pool *pool;
	uint8_t *place;			/* of each page */
	uint64_t *filling;		/* slots that are about to be filled */
	size_t nr_filling;
	struct check_result *res;
};

__attribute__((format(printf, 2, 3)))
static void problem(struct check_result *res, const char *fmt, ...)
{
	va_list ap;

	if (res->nr_problems == CHECK_MAX_PROBLEMS)
		return;
	va_start(ap, fmt);
	vsnprintf(res->problems[res->nr_problems++], CHECK_PROBLEM_LEN, fmt,
		  ap);
	va_end(ap);
}

static const char *place_name(enum place place)
{
	static const char *const names[] = {
		[NOWHERE] = "nowhere", [IN_RING] = "the free ring",
		[IN_TABLE] = "a table", [IN_REGISTER] = "a store's register",
		[IN_CHAIN] = "a chain", [IN_STOCK] = "the stock",
		[IN_AGENT] = "the agent",
	};

	return names[place];
}

static void see(struct count *c, uint64_t addr, enum place place,
		uint64_t where)
{
	struct check_result *res = c->res;
	uint64_t page;

	if (!page_index(addr, c->pool->pages, &page)) {
		res->foreign++;
		problem(res, "%#" PRIx64 " in %s (%" PRIu64 ") is not a page",
			addr, place_name(place), where);
		return;
	}
	if (c->place[page] != NOWHERE) {
		res->doubled++;
		problem(res, "page %" PRIu64 " is in %s and in %s (%" PRIu64
			")", page, place_name(c->place[page]),
			place_name(place), where);
		return;
	}
	c->place[page] = place;
	switch (place) {
	case IN_RING:
		res->free++;
		break;
	case IN_TABLE:
		res->mapped++;
		break;
	case IN_REGISTER:
		res->armed++;
		break;
	case IN_CHAIN:
		res->held++;
		break;
	case IN_STOCK:
		res->stock++;
		break;
	default:
		res->returning++;
	}
}

static uint64_t slot_page(const struct count *c, uint64_t slot)
{
	return be64toh(c->pool->ring[ring_index(c->pool->log_len, slot)]);
}

static int see_holder(struct count *c, const struct sess *s,
		      const struct queue *q, uint16_t bb, unsigned int holder)
{
	bool own = wrc_has_register(q->prog);
	struct wrc_held held;
	int r = queue_held(q, bb, holder, &held);

	if (r)
		return r;
	if (held.slot && !ring_valid(c->pool->log_len, held.slot))
		return -ERANGE;
	if (held.page)
		see(c, held.page, own ? IN_REGISTER : IN_CHAIN, s->id);
	if (held.slot && held.page && !own)
		c->filling[c->nr_filling++] = held.slot;
	else if (held.slot && slot_page(c, held.slot))
		see(c, slot_page(c, held.slot), own ? IN_REGISTER : IN_CHAIN,
		    s->id);
	return 0;
}

static void see_queue(struct count *c, const struct sess *s,
		      const struct queue *q)
{
	unsigned int i, nr = queue_nr_holders(q);
	uint16_t bb;
	int r;

	r = queue_position(q, &bb);
	for (i = 0; !r && i < nr; i++)
		r = see_holder(c, s, q, bb, i);
	if (r) {
		problem(c->res, "cannot tell what chain %s of session %" PRIu64
			" holds", q->prog->name, s->id);
		c->res->foreign++;
	}
}

static void see_sess(struct count *c, const struct sess *s)
{
	unsigned int n, chain;
	struct queue *q;
	uint64_t i;

	sess_for_each_queue(s, n, chain, q)
		see_queue(c, s, q);
	for (n = 0; n < s->nr_queues; n++) {
		for (chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			if (s->orphans[n][chain])
				see(c, s->orphans[n][chain], IN_AGENT, s->id);
		}
	}
	for (i = 0; i < s->tt.nr_slots; i++) {
		if (s->tt.entries[i])
			see(c, be64toh(s->tt.entries[i]), IN_TABLE, i);
	}
}

static bool being_filled(const struct count *c, uint64_t slot)
{
	size_t i;

	for (i = 0; i < c->nr_filling; i++) {
		if (c->filling[i] == slot)
			return true;
	}
	return false;
}

static void see_ring(struct count *c)
{
	const struct pool *pool = c->pool;
	uint64_t head = *pool->head, tail = *pool->tail, n, i;
	struct check_result *res = c->res;

	if (!ring_valid(pool->log_len, head) ||
	    !ring_valid(pool->log_len, tail)) {
		problem(res, "the ring's head %#" PRIx64 " or tail %#" PRIx64
			" points out of it", head, tail);
		res->foreign++;
		return;
	}
	n = ring_distance(pool->log_len, head, tail);
	if (n > pool->pages) {
		res->overtaken = ring_slots(pool->log_len) - n;
		return;
	}
	for (i = 0; i < n; i++) {
		uint64_t slot = ring_advance(pool->log_len, head, i);

		if (slot_page(c, slot)) {
			see(c, slot_page(c, slot), IN_RING, i);
		} else if (!being_filled(c, slot)) {
			res->empty++;
			problem(res, "slot %" PRIu64 " of the ring is empty",
				ring_index(pool->log_len, slot));
		}
	}
}

static void see_agent(struct count *c, const struct reclaim *rc)
{
	unsigned int i;
	size_t h;

	for (i = 0; i < rc->nr; i++)
		see(c, rc->pages[i], IN_AGENT, i);
	for (h = 0; h < rc->lost.nr; h++)
		see(c, rc->lost.at[h], IN_AGENT, h);
	for (h = 0; h < rc->holes.nr; h++) {
		if (slot_page(c, rc->holes.at[h]))
			see(c, slot_page(c, rc->holes.at[h]), IN_AGENT, h);
	}
}

static void count_all(struct count *c, struct manager *m)
{
	struct check_result *res = c->res;
	uint64_t page;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		see_sess(c, m->sess[i]);
	see_agent(c, &m->reclaim);
	for (i = 0; i < m->stock.nr; i++)
		see(c, m->stock.at[i], IN_STOCK, i);
	see_ring(c);
	for (page = 0; page < m->pool.pages; page++) {
		if (c->place[page] == NOWHERE) {
			res->lost++;
			problem(res, "page %" PRIu64 " is nowhere", page);
		}
	}
}

static size_t max_filling(const struct manager *m)
{
	size_t n = 1;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		n += (size_t)m->sess[i]->nr_queues * ODRP_WIRE_NR_CHAINS;
	return n;
}

/* A batch of pages is on its way through the NIC: let it arrive. */
static int settle(struct manager *m)
{
	struct reclaim *rc = &m->reclaim;
	unsigned int tries;

	for (tries = 0; tries < 1000000 && rc->state != RECLAIM_IDLE; tries++)
		reclaim_run(rc);
	return rc->state == RECLAIM_IDLE ? 0 : -EAGAIN;
}

static void count_free(struct count *c)
{
	free(c->filling);
	free(c->place);
}

static int count_init(struct count *c, struct manager *m,
		      struct check_result *res)
{
	int r;

	*c = (struct count){ .pool = &m->pool, .res = res };
	*res = (struct check_result){ .total = m->pool.pages };
	r = settle(m);
	if (r)
		return r;
	c->place = calloc(m->pool.pages, 1);
	c->filling = calloc(max_filling(m), sizeof(*c->filling));
	if (!c->place || !c->filling) {
		count_free(c);
		return -ENOMEM;
	}
	res->exact = !m->nic->ops->freeze(m->nic);
	count_all(c, m);
	if (res->exact)
		m->nic->ops->thaw(m->nic);
	return 0;
}

int check_pages(struct manager *m, struct check_result *ret_res)
{
	struct count c;
	int r;

	r = count_init(&c, m, ret_res);
	if (!r)
		count_free(&c);
	return r;
}

int check_repair(struct manager *m, uint64_t *ret_repaired)
{
	struct check_result res;
	struct count c;
	uint64_t page;
	int r;

	r = count_init(&c, m, &res);
	if (r)
		return r;
	if (!res.exact)
		r = -EOPNOTSUPP;
	/* What is nowhere stays nowhere: nobody else can find it. */
	for (page = 0; !r && page < m->pool.pages; page++) {
		if (c.place[page] == NOWHERE)
			r = reclaim_lost(&m->reclaim, page_addr(page));
	}
	count_free(&c);
	if (!r)
		*ret_repaired = res.lost;
	return r;
}

bool check_ok(const struct check_result *res)
{
	return !res->lost && !res->doubled && !res->foreign && !res->empty &&
	       !res->overtaken;
}
