// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counts every page while the NIC is frozen, in pieces; see check.h. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

/* Work per call: what is looked at, where a queue counts as so many. */
#define STEP		32768u
#define QUEUE_COST	(STEP / 4)	/* a card is asked for the position of each */
#define REST_TRIES	5000u		/* calls in which the lender has to come to rest */

/* The place where a page was found. */
enum place {
	NOWHERE,
	IN_RING,
	IN_TABLE,
	IN_SLAB,
	IN_REGISTER,
	IN_CHAIN,
	IN_AGENT,
	IN_POOL,
	IN_SPACE,
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
		[IN_TABLE] = "a table", [IN_SLAB] = "a slab", [IN_REGISTER] = "a store's register",
		[IN_CHAIN] = "a chain", [IN_AGENT] = "the agent's hand",
		[IN_POOL] = "the pool", [IN_SPACE] = "a space",
	};

	return names[place];
}

static uint8_t *places(const struct check *c)
{
	return c->place.va;
}

/* The session that is being counted. */
static const struct sess *check_sess(const struct check *c)
{
	return c->m->sess[c->sess];
}

/* Goes on with nr things, as far as this call may.  True: the last one has been seen. */
static bool check_walk(struct check *c, uint64_t nr, void (*see)(struct check *c, uint64_t i))
{
	for (; c->at < nr && c->left; c->at++, c->left--)
		see(c, c->at);
	return c->at >= nr;
}

/* @where: index of the table entry, ring position or holder; for the message only. */
static void count_page(struct check *c, uint64_t addr, enum place place,
		       uint64_t where)
{
	const struct sess *s = check_sess(c);
	struct check_result *res = &c->res;
	uint64_t page;

	if (!page_index(addr, c->m->pool.pages, &page) ||
	    c->m->pool.owner[page] != s->owner) {
		res->foreign++;
		problem(res, "%#" PRIx64 " in %s (%" PRIu64 ") of session %"
			PRIu64 " is not a page of its", addr,
			place_name(place), where, s->id);
		return;
	}
	if (places(c)[page] != NOWHERE) {
		res->doubled++;
		problem(res, "page %" PRIu64 " is in %s and in %s (%" PRIu64
			")", page, place_name(places(c)[page]),
			place_name(place), where);
		return;
	}
	places(c)[page] = place;
	switch (place) {
	case IN_RING:
		res->free++;
		break;
	case IN_TABLE:
		res->mapped++;
		break;
	case IN_SLAB:
		res->slabs++;
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

static void known_add(struct check *c, uint64_t slot)
{
	c->known[c->nr_known++] = slot;
}

static int see_holder(struct check *c, const struct queue *q, uint16_t bb,
		      unsigned int holder)
{
	const struct ring *ring = &check_sess(c)->ring;
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
		known_add(c, held.slot);
	if (held.slot && slot_page(ring, held.slot))
		count_page(c, slot_page(ring, held.slot),
			   own ? IN_REGISTER : IN_CHAIN, holder);
	return 0;
}

/* i: number of the queue * ODRP_WIRE_NR_CHAINS + chain. */
static void see_queue(struct check *c, uint64_t i)
{
	const struct queue *q = check_sess(c)->queues[i / ODRP_WIRE_NR_CHAINS]
						     [i % ODRP_WIRE_NR_CHAINS];
	unsigned int k, nr = q ? queue_nr_holders(q) : 0;
	uint16_t bb;
	int r;

	if (!q)
		return;
	c->left -= c->left < QUEUE_COST ? c->left - 1 : QUEUE_COST - 1;
	r = queue_position(q, &bb);
	for (k = 0; !r && k < nr; k++)
		r = see_holder(c, q, bb, k);
	if (r) {
		problem(&c->res, "cannot tell what chain %s of session %" PRIu64
			" holds", q->prog->name, check_sess(c)->id);
		c->res.foreign++;
	}
}

static void see_entry(struct check *c, uint64_t i)
{
	__be64 addr = check_sess(c)->tt.entries[i];

	if (addr)
		count_page(c, be64toh(addr), IN_TABLE, i);
}

/* i: of the pages in the agent's hand, and behind them of the ring positions that the head
 * has passed for the agent. */
static void count_held(struct check *c, uint64_t i)
{
	const struct sess *s = check_sess(c);
	const struct ring *ring = &s->ring;
	uint64_t slot;

	if (i < s->held.nr) {
		count_page(c, s->held.at[i], IN_AGENT, i);
		return;
	}
	i -= s->held.nr;
	slot = ring_advance(ring->log_len, s->taken, i);
	known_add(c, slot);
	if (slot_page(ring, slot))
		count_page(c, slot_page(ring, slot), IN_AGENT, i);
}

static int known_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_known(const struct check *c, uint64_t slot)
{
	return c->nr_known && bsearch(&slot, c->known, c->nr_known, sizeof(slot),
				      known_compare);
}

/*
 * A ring position from head to tail must have a page. Any other one must be empty, unless
 * ring_compact_some() has yet to visit it. i: position behind the head.
 */
static void see_slot(struct check *c, uint64_t i)
{
	const struct ring *ring = &check_sess(c)->ring;
	bool live = i < c->nr_live, sorted = i < ring_slots(ring->log_len) - ring->unsorted;
	uint64_t slot = ring_advance(ring->log_len, c->head, i);
	uint64_t addr = slot_page(ring, slot);
	struct check_result *res = &c->res;

	if ((!addr && !live) || is_known(c, slot))
		return;
	if (addr)
		count_page(c, addr, IN_RING, ring_index(ring->log_len, slot));
	if (addr && (live || !sorted))
		return;
	problem(res, "slot %" PRIu64 " of session %" PRIu64 "'s ring is %s",
		ring_index(ring->log_len, slot), check_sess(c)->id,
		addr ? "behind the tail, and not empty" : "empty");
	res->stray += !!addr;
	res->empty += !addr;
}

/* Notes where the ring begins.  False: it makes no sense. */
static bool ring_begin(struct check *c)
{
	const struct ring *ring = &check_sess(c)->ring;
	uint64_t head = *ring->head, tail = *ring->tail, n;
	struct check_result *res = &c->res;

	if (!ring_valid(ring->log_len, head) ||
	    !ring_valid(ring->log_len, tail)) {
		problem(res, "head %#" PRIx64 " or tail %#" PRIx64
			" of session %" PRIu64 "'s ring points out of it",
			head, tail, check_sess(c)->id);
		res->foreign++;
		return false;
	}
	n = ring_distance(ring->log_len, head, tail);
	if (n > ring_slots(ring->log_len) / 2) {
		res->overtaken += ring_slots(ring->log_len) - n;
		n = 0;
	}
	c->head = head;
	c->nr_live = n;
	return true;
}

/* Counts all pages of the session at once: they return to the pool wherever they are, or
 * are withheld as long as a chain does not stop. */
static void see_dying(struct check *c)
{
	const struct sess *s = check_sess(c);

	c->dying[s->owner] = s->state == SESS_ENDING;
	if (sess_unstopped(s))
		c->res.withheld += s->lent;
	else
		c->res.returning += s->lent;
}

static void see_free(struct check *c, uint64_t page)
{
	if (!free_map_has(&c->m->pool.free, page))
		return;
	if (places(c)[page] != NOWHERE) {
		c->res.doubled++;
		problem(&c->res, "page %" PRIu64 " is in the pool and in %s", page,
			place_name(places(c)[page]));
	}
	places(c)[page] = IN_POOL;
	c->res.pool++;
}

static void see_space(struct check *c, uint64_t i)
{
	const struct space *space = c->space;
	uint64_t page = space->page + i;

	if (places(c)[page] != NOWHERE) {
		c->res.doubled++;
		problem(&c->res, "page %" PRIu64 " is in space %s and in %s", page,
			space->host.name, place_name(places(c)[page]));
	} else if (c->m->pool.owner[page] != POOL_SPACES) {
		c->res.foreign++;
		problem(&c->res, "page %" PRIu64 " of space %s is a session's",
			page, space->host.name);
	}
	places(c)[page] = IN_SPACE;
	c->res.spaces++;
}

static void see_lost(struct check *c, uint64_t page)
{
	if (places(c)[page] != NOWHERE || c->dying[c->m->pool.owner[page]])
		return;
	if (c->m->pool.owner[page] == POOL_WITHHELD) {
		c->res.withheld++;
		return;
	}
	c->res.lost++;
	problem(&c->res, "page %" PRIu64 " is nowhere", page);
}

/* ---- stages: true when the stage is done ------------------------------------------- */

/* The NIC may be moving a batch of pages for the lender: let it finish. */
static bool stage_rest(struct check *c)
{
	const struct nic_node_ops *ops = c->m->nic->node->ops;

	if (!lend_quiesce(&c->m->lender)) {
		if (++c->tries == REST_TRIES)
			c->err = -EBUSY;
		return false;
	}
	c->res.exact = c->frozen = !ops->freeze(c->m->nic);
	return true;
}

static void check_thaw(struct check *c)
{
	if (c->frozen)
		c->m->nic->node->ops->thaw(c->m->nic);
	c->frozen = false;
}

/* Goes on to the next session that is not ending.  False: there is none. */
static bool sess_find(struct check *c)
{
	for (; c->sess < c->m->nr_sess && c->left; c->sess++, c->left--) {
		if (sess_is_live(check_sess(c)))
			return true;
		see_dying(c);
	}
	return false;
}

static bool stage_queues(struct check *c)
{
	const struct sess *s;

	if (!sess_find(c)) {
		if (c->sess == c->m->nr_sess)
			c->stage = CHECK_RING;	/* the pool follows */
		return c->sess == c->m->nr_sess;
	}
	s = check_sess(c);
	return check_walk(c, s->nr_queues * ODRP_WIRE_NR_CHAINS, see_queue);
}

/* i: of the pages of all slabs, in their order. */
static void see_slab_page(struct check *c, uint64_t i)
{
	const struct slabs *sl = &check_sess(c)->slabs;
	const volatile struct slab_record *rec = &sl->record[i / ODRP_WIRE_SLAB_PAGES];
	bool cut = sl->cut[i / ODRP_WIRE_SLAB_PAGES];

	if (rec->valid == SLAB_VALID)
		count_page(c, page_addr(rec->page + i % ODRP_WIRE_SLAB_PAGES),
			   cut ? IN_AGENT : IN_SLAB, i / ODRP_WIRE_SLAB_PAGES);
}

static bool stage_table(struct check *c)
{
	const struct slabs *sl = &check_sess(c)->slabs;

	if (slabs_exist(sl))
		return check_walk(c, (uint64_t)sl->max * ODRP_WIRE_SLAB_PAGES, see_slab_page);
	return check_walk(c, check_sess(c)->tt.nr_slots, see_entry);
}

static bool stage_hand(struct check *c)
{
	const struct sess *s = check_sess(c);

	if (!check_walk(c, s->held.nr + s->nr_taken, count_held))
		return false;
	qsort(c->known, c->nr_known, sizeof(c->known[0]), known_compare);
	c->left = 0;
	return true;
}

/* Goes back to the queues of the next session. */
static bool stage_ring(struct check *c)
{
	const struct ring *ring = &check_sess(c)->ring;

	if ((c->at || ring_begin(c)) &&
	    !check_walk(c, ring_slots(ring->log_len), see_slot))
		return false;
	c->nr_known = 0;
	c->at = 0;
	c->sess++;
	c->stage = CHECK_QUEUES;
	return false;
}

static bool stage_pool(struct check *c)
{
	return check_walk(c, c->m->pool.pages, see_free);
}

static bool stage_spaces(struct check *c)
{
	for (; c->space; c->space = c->space->next, c->at = 0)
		if (!check_walk(c, c->space->nr_pages, see_space))
			return false;
	return true;
}

static bool stage_lost(struct check *c)
{
	if (!check_walk(c, c->m->pool.pages, see_lost))
		return false;
	check_thaw(c);
	return true;
}

static bool stage_free(struct check *c)
{
	c->left = 0;
	return mem_shrink(&c->place);
}

/* ---- a count ------------------------------------------------------------------------- */

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

int check_begin(struct manager *m)
{
	struct check *c;
	int r;

	if (m->check)
		return -EBUSY;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->m = m;
	c->space = m->spaces.list;
	c->res.total = m->pool.pages;
	r = mem_map(m->pool.pages, 0, &c->place);
	c->known = calloc(max_known(m), sizeof(*c->known));
	if (!r && !c->known)
		r = -ENOMEM;
	m->check = c;
	if (r)
		check_end(m);
	return r;
}

void check_end(struct manager *m)
{
	struct check *c = m->check;

	if (!c)
		return;
	m->check = NULL;
	check_thaw(c);
	mem_unmap(&c->place);
	free(c->known);
	free(c);
}

enum lend_todo check_some(struct manager *m)
{
	static bool (*const stages[CHECK_DONE])(struct check *c) = {
		[CHECK_REST] = stage_rest, [CHECK_QUEUES] = stage_queues,
		[CHECK_TABLE] = stage_table, [CHECK_HAND] = stage_hand,
		[CHECK_RING] = stage_ring, [CHECK_POOL] = stage_pool,
		[CHECK_SPACES] = stage_spaces, [CHECK_LOST] = stage_lost,
		[CHECK_FREE] = stage_free,
	};
	struct check *c = m->check;

	c->left = STEP;
	while (c->left && c->stage != CHECK_DONE && stages[c->stage](c)) {
		c->stage++;
		c->at = 0;
	}
	return c->stage == CHECK_REST ? LEND_WAIT : LEND_MORE;
}

bool check_runs(const struct manager *m)
{
	return m->check && !m->check->err && m->check->stage != CHECK_DONE;
}

int check_result(const struct manager *m, struct check_result *ret_res)
{
	if (!m->check)
		return -ENOENT;
	if (check_runs(m))
		return -EAGAIN;
	*ret_res = m->check->res;
	return m->check->err;
}

bool check_ok(const struct check_result *res)
{
	return !res->lost && !res->doubled && !res->foreign && !res->empty &&
	       !res->stray && !res->overtaken;
}
