// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts every page while the NIC is frozen; see check.h.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

/* The place where a page was found. */
enum place {
	NOWHERE,
	IN_RING,
	IN_TABLE,
	IN_REGISTER,
	IN_CHAIN,
	IN_AGENT,
	IN_POOL,
	IN_SPACE,
};

struct count {
	const struct pool *pool;
	const struct sess *sess;	/* the session that is being counted */
	uint8_t *place;			/* for each page: enum place */
	uint64_t *known;		/* ring positions that a chain or the agent has taken */
	size_t nr_known;
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
		[NOWHERE] = "nowhere", [IN_RING] = "a ring",
		[IN_TABLE] = "a table", [IN_REGISTER] = "a store's register",
		[IN_CHAIN] = "a chain", [IN_AGENT] = "the agent's hand",
		[IN_POOL] = "the pool", [IN_SPACE] = "a space",
	};

	return names[place];
}

/* @where: index of the table entry, ring position or holder; for the message only. */
static void count_page(struct count *c, uint64_t addr, enum place place,
		       uint64_t where)
{
	struct check_result *res = c->res;
	uint64_t page;

	if (!page_index(addr, c->pool->pages, &page) ||
	    c->pool->owner[page] != c->sess->owner) {
		res->foreign++;
		problem(res, "%#" PRIx64 " in %s (%" PRIu64 ") of session %"
			PRIu64 " is not a page of its", addr,
			place_name(place), where, c->sess->id);
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
	default:
		res->returning++;
	}
}

static uint64_t slot_page(const struct ring *ring, uint64_t slot)
{
	return be64toh(ring->slot[ring_index(ring->log_len, slot)]);
}

static int see_holder(struct count *c, const struct queue *q, uint16_t bb,
		      unsigned int holder)
{
	const struct ring *ring = &c->sess->ring;
	bool own = wrc_has_register(q->prog);
	struct wrc_held held;
	int r = queue_held(q, bb, holder, &held);

	if (r)
		return r;
	if (held.slot && !ring_valid(ring->log_len, held.slot))
		return -ERANGE;
	if (held.page)
		count_page(c, held.page, own ? IN_REGISTER : IN_CHAIN, holder);
	if (held.slot)
		c->known[c->nr_known++] = held.slot;
	if (held.slot && slot_page(ring, held.slot))
		count_page(c, slot_page(ring, held.slot),
			   own ? IN_REGISTER : IN_CHAIN, holder);
	return 0;
}

static void see_queue(struct count *c, const struct queue *q)
{
	unsigned int i, nr = queue_nr_holders(q);
	uint16_t bb;
	int r;

	r = queue_position(q, &bb);
	for (i = 0; !r && i < nr; i++)
		r = see_holder(c, q, bb, i);
	if (r) {
		problem(c->res, "cannot tell what chain %s of session %" PRIu64
			" holds", q->prog->name, c->sess->id);
		c->res->foreign++;
	}
}

static bool is_known(const struct count *c, uint64_t slot)
{
	size_t i;

	for (i = 0; i < c->nr_known; i++) {
		if (c->known[i] == slot)
			return true;
	}
	return false;
}

/* A ring position from head to tail (@live) must have a page. Any other one must be empty,
 * unless ring_compact_some() has yet to visit it (!@sorted). */
static void see_slot(struct count *c, uint64_t slot, bool live, bool sorted)
{
	const struct ring *ring = &c->sess->ring;
	uint64_t addr = slot_page(ring, slot);

	if ((!addr && !live) || is_known(c, slot))
		return;
	if (addr)
		count_page(c, addr, IN_RING, ring_index(ring->log_len, slot));
	if (addr && (live || !sorted))
		return;
	problem(c->res, "slot %" PRIu64 " of session %" PRIu64 "'s ring is %s",
		ring_index(ring->log_len, slot), c->sess->id,
		addr ? "behind the tail, and not empty" : "empty");
	c->res->stray += !!addr;
	c->res->empty += !addr;
}

static void see_ring(struct count *c)
{
	const struct ring *ring = &c->sess->ring;
	uint64_t head = *ring->head, tail = *ring->tail, n, i;
	uint64_t sorted = ring_slots(ring->log_len) - ring->unsorted;
	struct check_result *res = c->res;

	if (!ring_valid(ring->log_len, head) ||
	    !ring_valid(ring->log_len, tail)) {
		problem(res, "head %#" PRIx64 " or tail %#" PRIx64
			" of session %" PRIu64 "'s ring points out of it",
			head, tail, c->sess->id);
		res->foreign++;
		return;
	}
	n = ring_distance(ring->log_len, head, tail);
	if (n > ring_slots(ring->log_len) / 2) {
		res->overtaken += ring_slots(ring->log_len) - n;
		n = 0;
	}
	for (i = 0; i < ring_slots(ring->log_len); i++)
		see_slot(c, ring_advance(ring->log_len, head, i), i < n, i < sorted);
}

static void see_hand(struct count *c)
{
	const struct sess *s = c->sess;
	uint64_t slot;
	size_t i;

	for (i = 0; i < s->hand.nr; i++)
		count_page(c, s->hand.at[i], IN_AGENT, i);
	for (i = 0; i < s->nr_taken; i++) {
		slot = ring_advance(s->ring.log_len, s->taken, i);
		c->known[c->nr_known++] = slot;
		if (slot_page(&s->ring, slot))
			count_page(c, slot_page(&s->ring, slot), IN_AGENT, i);
	}
}

static void see_sess(struct count *c, const struct sess *s)
{
	unsigned int n, chain;
	struct queue *q;
	uint64_t i;

	c->sess = s;
	c->nr_known = 0;
	sess_for_each_queue(s, n, chain, q)
		see_queue(c, q);
	for (i = 0; i < s->tt.nr_slots; i++) {
		if (s->tt.entries[i])
			count_page(c, be64toh(s->tt.entries[i]), IN_TABLE, i);
	}
	see_hand(c);
	see_ring(c);
}

/* Counts all pages of the session at once: they return to the pool wherever they are, or
 * are withheld as long as a chain does not stop. */
static void see_dying(struct count *c, const struct sess *s)
{
	if (sess_unstopped(s))
		c->res->withheld += s->lent;
	else
		c->res->returning += s->lent;
}

static void see_pool(struct count *c)
{
	const struct pool *pool = c->pool;
	uint64_t i, page;

	c->res->pool = pool->nr_free;
	for (i = 0; i < pool->nr_free; i++) {
		page = pool->free[i];
		if (c->place[page] != NOWHERE) {
			c->res->doubled++;
			problem(c->res, "page %" PRIu64 " is in the pool and "
				"in %s", page, place_name(c->place[page]));
		}
		c->place[page] = IN_POOL;
	}
}

static void see_space(struct count *c, const struct space *space)
{
	uint64_t i, page;

	for (i = 0; i < space->nr_pages; i++) {
		page = space->page + i;
		if (c->place[page] != NOWHERE) {
			c->res->doubled++;
			problem(c->res, "page %" PRIu64 " is in space %s and in %s", page,
				space->host.name, place_name(c->place[page]));
		} else if (c->pool->owner[page] != POOL_SPACES) {
			c->res->foreign++;
			problem(c->res, "page %" PRIu64 " of space %s is a session's",
				page, space->host.name);
		}
		c->place[page] = IN_SPACE;
	}
	c->res->spaces += space->nr_pages;
}

static bool owner_is_dying(const struct manager *m, uint16_t owner)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->owner == owner)
			return m->sess[i]->state == SESS_ENDING;
	}
	return false;
}

static void find_lost(struct count *c, const struct manager *m)
{
	uint64_t page;

	for (page = 0; page < m->pool.pages; page++) {
		if (c->place[page] != NOWHERE ||
		    owner_is_dying(m, m->pool.owner[page]))
			continue;
		c->res->lost++;
		problem(c->res, "page %" PRIu64 " is nowhere", page);
	}
}

static void count_all(struct count *c, struct manager *m)
{
	const struct space *space;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (sess_is_live(m->sess[i]))
			see_sess(c, m->sess[i]);
		else
			see_dying(c, m->sess[i]);
	}
	see_pool(c);
	for (space = m->spaces.list; space; space = space->next)
		see_space(c, space);
	find_lost(c, m);
}

static size_t max_known(const struct manager *m)
{
	size_t most = 0, nr;
	unsigned int i, n, chain;
	struct queue *q;

	for (i = 0; i < m->nr_sess; i++) {
		nr = 0;
		sess_for_each_queue(m->sess[i], n, chain, q)
			nr += queue_nr_holders(q);
		if (nr > most)
			most = nr;
	}
	return most + SESS_TAKE_BATCH;
}

static void count_free(struct count *c)
{
	free(c->known);
	free(c->place);
}

int check_pages(struct manager *m, struct check_result *ret_res)
{
	struct count c = { .pool = &m->pool, .res = ret_res };
	int r;

	*ret_res = (struct check_result){ .total = m->pool.pages };
	/* The NIC may be moving a batch of pages for the lender: let it finish. */
	r = lend_quiesce(&m->lender);
	if (r)
		return r;
	c.place = calloc(m->pool.pages, 1);
	c.known = calloc(max_known(m), sizeof(*c.known));
	if (!c.place || !c.known) {
		count_free(&c);
		return -ENOMEM;
	}
	ret_res->exact = !m->nic->node->ops->freeze(m->nic);
	count_all(&c, m);
	if (ret_res->exact)
		m->nic->node->ops->thaw(m->nic);
	count_free(&c);
	return 0;
}

bool check_ok(const struct check_result *res)
{
	return !res->lost && !res->doubled && !res->foreign && !res->empty &&
	       !res->stray && !res->overtaken;
}
