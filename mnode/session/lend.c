// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Moves pages between the pool and the rings; see lend.h.
 */
#include <endian.h>
#include <errno.h>
#include "../log.h"
#include "lend.h"

/* Work per call. */
#define SCAN_STEP	65536	/* pages of the pool that are searched */
#define FILL_STEP	4096	/* pages into a ring that no chain uses */
#define SCRUB_STEP	1024	/* the same, if pages are cleared: a millisecond */
#define COMPACT_STEP	32768	/* positions of a ring that is put in order */
#define ASK_STEP	4	/* queues that are asked for a grace period: a card takes
				 * some 100 us for each */
#define EMPTY_STEP	16384	/* pages out of a ring that no chain uses */

/* Memory of the loopback queue pair. */
struct staging {
	uint64_t old;			/* the head, written by the NIC in host byte order */
};

static struct staging *staging(struct lender *l)
{
	return l->q.data;
}

static int open_queue(struct lender *l)
{
	struct nic *nic = l->pool->nic;
	int r;

	r = ctlq_init(&l->q, nic, l->pool->pdn,
		      NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC,
		      sizeof(struct staging));
	if (r)
		return r;
	r = nic->node->ops->qp_loop(nic, l->q.qpn, l->q.qpn);
	if (r)
		ctlq_fini(&l->q);
	return r;
}

int lend_init(struct lender *l, struct pool *pool, uint64_t set_aside,
	      enum lend_scrub scrub)
{
	*l = (struct lender){
		.pool = pool, .kept = set_aside, .scrub = scrub,
	};
	far_fence_init(&l->fence, pool->nic);
	return open_queue(l);
}

void lend_fini(struct lender *l)
{
	far_fence_fini(&l->fence);
	ctlq_fini(&l->q);
}

uint64_t lend_goal(const struct sess *s)
{
	const struct lease *l = &s->lease;
	uint64_t pages = l->target > l->ceiling ? l->target : l->ceiling;

	return pages ? pages + l->slack : 0;
}

/* ---- pages held by the agent -------------------------------------------------- */

static size_t held_room(const struct sess *s)
{
	return s->held.max - s->held.nr;
}

/* The agent must not lend an address that is not a page of the session. */
static bool is_own(struct lender *l, const struct sess *s, uint64_t addr)
{
	if (pool_owns(l->pool, s->owner, addr))
		return true;
	log_error("session %lu: free ring entry holds %#lx, "
		  "which is not a page of this session",
		  s->id, (unsigned long)addr);
	l->nr_foreign++;
	return false;
}

static int held_add(struct lender *l, struct sess *s, uint64_t addr)
{
	if (!is_own(l, s, addr))
		return 0;
	if (!held_room(s))
		return -ENOSPC;
	s->held.at[s->held.nr++] = addr;
	return 0;
}

/* Takes the newest page: its grace period has not begun, as a rule. */
static uint64_t held_pop(struct held_pages *h)
{
	uint64_t addr = h->at[--h->nr];

	if (h->waiting > h->nr)
		h->waiting = h->nr;
	return addr;
}

static void return_page(struct lender *l, struct sess *s, uint64_t addr)
{
	if (pool_give(l->pool, s->owner, addr)) {
		l->nr_foreign++;
		return;
	}
	s->lent--;
	l->nr_back++;
}

uint64_t lend_pages(const struct lender *l)
{
	return l->pool->nr_free > l->kept ? l->pool->nr_free - l->kept : 0;
}

/* With keys of its own a compute node reaches only its own pages. A chain reaches all
 * pages; only its program keeps it from sending those of other sessions. */
static bool is_scrubbed(const struct lender *l, const struct sess *s)
{
	if (l->scrub == LEND_SCRUB_CHAINS)
		return !keys_exist(&s->keys);
	return l->scrub == LEND_SCRUB_ALL;
}

/* Takes nr pages, first those that the agent holds, then at most `most` of the pool.
 * Returns how many. */
static unsigned int fetch_pages(struct lender *l, struct sess *s, uint64_t nr,
				uint64_t most, __u64 *ret_pages)
{
	uint64_t n = 0, more;

	while (n < nr && s->held.nr)
		ret_pages[n++] = held_pop(&s->held);
	more = nr - n < most ? nr - n : most;
	pool_take(l->pool, s->owner, more, ret_pages + n);
	if (is_scrubbed(l, s))
		l->nr_scrubbed += pool_scrub(l->pool, more, ret_pages + n);
	s->lent += more;
	l->nr_lent += more;
	return n + more;
}

/* ---- grace ---------------------------------------------------------------------- */

/*
 * Asks the queues of the session one after the other, as many as this call may.  True: all
 * have said yes.  A queue that comes meanwhile has no request from before the grace period.
 */
static bool queues_ask(struct lender *l, struct sess *s, bool (*ask)(struct queue *q))
{
	unsigned int *at = &s->held.asking;
	struct queue *q;

	for (; *at < s->nr_queues * ODRP_WIRE_NR_CHAINS; ++*at) {
		q = s->queues[*at / ODRP_WIRE_NR_CHAINS][*at % ODRP_WIRE_NR_CHAINS];
		if (!q)
			continue;
		if (!l->questions)
			return false;
		l->questions--;
		if (!ask(q))
			return false;
	}
	*at = 0;
	return true;
}

static bool mark_set(struct queue *q)
{
	return !queue_mark(q);
}

static bool mark_passed(struct queue *q)
{
	return queue_passed(q);
}

static void grace_begin(struct held_pages *h)
{
	h->waiting = h->nr;
	h->marked = false;
	h->asking = 0;
}

static bool grace_over(struct lender *l, struct sess *s)
{
	struct held_pages *h = &s->held;

	if (!h->waiting)
		grace_begin(h);
	if (!h->marked)
		h->marked = queues_ask(l, s, mark_set);
	return h->marked && queues_ask(l, s, mark_passed);
}

/* Returns the pages that the agent holds to the pool, after a grace period. */
static enum lend_todo held_release(struct lender *l, struct sess *s)
{
	struct held_pages *h = &s->held;
	size_t i;

	if (!h->nr)
		return LEND_NOTHING;
	if (!grace_over(l, s) || !lend_fenced(l, s))
		return LEND_WAIT;
	for (i = 0; i < h->waiting; i++)
		return_page(l, s, h->at[i]);
	h->nr -= h->waiting;
	for (i = 0; i < h->nr; i++)
		h->at[i] = h->at[h->waiting + i];
	h->waiting = 0;
	s->owing_ms = 0;
	return LEND_MORE;
}

/* ---- out of a ring -------------------------------------------------------------- */

static enum lend_todo lender_failed(struct lender *l)
{
	if (!l->nr_failures++)
		log_error("the queue pair by which the agent changes free rings "
			  "failed; the agent creates another one");
	l->retry = l->state;
	l->state = LEND_FAILED;
	return LEND_WAIT;
}

/* Has the NIC move the head on over nr ring positions, but not past the tail: if the CNode
 * uses too many pages, the rest is taken when the CNode frees some. */
static enum lend_todo take_pages(struct lender *l, struct sess *s, uint64_t nr)
{
	uint64_t there = ring_pages(&s->ring);

	if (s->held.nr >= SESS_TAKE_BATCH ||
	    there > ring_slots(s->ring.log_len) / 2)
		return LEND_WAIT;
	if (nr > there)
		nr = there;
	if (nr > SESS_TAKE_BATCH - s->held.nr)
		nr = SESS_TAKE_BATCH - s->held.nr;
	if (!nr)
		return LEND_WAIT;
	l->sess = s;
	l->nr = nr;
	l->state = LEND_HEAD;
	if (ctlq_fetch_add(&l->q, offsetof(struct staging, old),
			   nr * RING_SLOT, s->ring.log_len,
			   ring_head_iova(&s->ring), s->ring.key))
		return lender_failed(l);
	return LEND_WAIT;
}

/* Empties the ring positions that the head has passed for the agent. Stops at an empty
 * one, which an invalidate is about to fill. */
static enum lend_todo held_gather(struct lender *l, struct sess *s)
{
	enum lend_todo todo = LEND_WAIT;
	uint64_t addr;

	while (s->nr_taken && held_room(s)) {
		addr = ring_take_slot(&s->ring, s->taken);
		if (!addr)
			break;
		held_add(l, s, addr);
		s->taken = ring_advance(s->ring.log_len, s->taken, 1);
		s->nr_taken--;
		s->owing_ms = 0;
		todo = LEND_MORE;
	}
	return todo;
}

/* ---- into a ring ---------------------------------------------------------------- */

static enum lend_todo lender_finish(struct lender *l)
{
	l->state = LEND_IDLE;
	l->sess = NULL;
	return LEND_MORE;
}

/* The ring position n places behind the head. */
static uint64_t ring_behind(const struct ring *ring, uint64_t head, uint64_t n)
{
	return ring_advance(ring->log_len, head,
			    ring_slots(ring->log_len) - n);
}

/* How many ring positions directly behind the head are empty. Stores that have advanced
 * the head are about to empty the next ones. */
static unsigned int ring_room_behind(const struct ring *ring, uint64_t head,
				     unsigned int most)
{
	unsigned int n = 0;

	while (n < most &&
	       !ring->slot[ring_index(ring->log_len,
				      ring_behind(ring, head, n + 1))])
		n++;
	return n;
}

/* The pages cannot enter the ring now: the agent holds them. */
static enum lend_todo batch_give_up(struct lender *l)
{
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		held_add(l, l->sess, l->pages[i]);
	return lender_finish(l);
}

/* Writes the pages behind the present head, and has the NIC move the head back. */
static enum lend_todo head_swap(struct lender *l)
{
	struct ring *ring = &l->sess->ring;
	unsigned int i;

	l->head = *ring->head;
	if (ring_room_behind(ring, l->head, l->nr) < l->nr) {
		batch_give_up(l);
		return LEND_WAIT;
	}
	for (i = 0; i < l->nr; i++)
		ring->slot[ring_index(ring->log_len,
				      ring_behind(ring, l->head, i + 1))] =
			htobe64(l->pages[i]);
	l->state = LEND_SWAP;
	if (ctlq_swap(&l->q, offsetof(struct staging, old), l->head,
		      ring_behind(ring, l->head, l->nr), ring_head_iova(ring),
		      ring->key))
		return lender_failed(l);
	return LEND_WAIT;
}

/* The head did not move back, so no chain has seen the pages: takes them out again. */
static void batch_take_out(struct lender *l)
{
	struct ring *ring = &l->sess->ring;
	unsigned int i, n = 0;
	uint64_t addr;

	for (i = 0; i < l->nr; i++) {
		addr = ring_take_slot(ring, ring_behind(ring, l->head, i + 1));
		if (addr)
			l->pages[n++] = addr;
	}
	l->nr = n;
}

static enum lend_todo head_swapped(struct lender *l)
{
	if (staging(l)->old == l->head)
		return lender_finish(l);
	l->nr_retries++;
	batch_take_out(l);
	batch_give_up(l);
	return LEND_MORE;
}

static enum lend_todo ring_lend(struct lender *l, struct sess *s, uint64_t nr)
{
	unsigned int most = nr < LEND_BATCH ? nr : LEND_BATCH;
	uint64_t head = *s->ring.head;

	if (!ring_valid(s->ring.log_len, head) ||
	    ring_pages(&s->ring) > ring_slots(s->ring.log_len) / 2)
		return LEND_WAIT;
	most = ring_room_behind(&s->ring, head, most);
	if (!most)
		return LEND_WAIT;
	l->sess = s;
	l->nr = fetch_pages(l, s, most, lend_pages(l), l->pages);
	if (!l->nr) {
		lender_finish(l);
		return LEND_NOTHING;
	}
	return head_swap(l);
}

/* ---- the work ------------------------------------------------------------------ */

static enum lend_todo head_passed(struct lender *l)
{
	struct sess *s = l->sess;

	s->taken = staging(l)->old;
	s->nr_taken = l->nr;
	return lender_finish(l);
}

/* Creates another queue pair. If the failed swap was done, the pages are in the ring, and
 * those that are not in their positions any more are in use. */
static enum lend_todo lender_recover(struct lender *l)
{
	const struct ring *ring = &l->sess->ring;
	uint64_t gone;

	ctlq_fini(&l->q);
	if (open_queue(l))
		return LEND_WAIT;
	if (l->retry != LEND_SWAP)
		return lender_finish(l);
	gone = ring_distance(ring->log_len, ring_behind(ring, l->head, l->nr),
			     *ring->head);
	if (gone < l->nr)
		return lender_finish(l);
	batch_take_out(l);
	return batch_give_up(l);
}

static enum lend_todo lender_drive(struct lender *l)
{
	int r;

	if (l->state == LEND_FAILED)
		return lender_recover(l);
	r = ctlq_poll(&l->q);
	if (r == -EAGAIN)
		return LEND_WAIT;
	if (r)
		return lender_failed(l);
	return l->state == LEND_SWAP ? head_swapped(l) : head_passed(l);
}

/* Does what is due first for one session. */
static enum lend_todo sess_work(struct lender *l, struct sess *s)
{
	uint64_t about = lend_about(s), goal = lend_goal(s);

	if (slabs_exist(&s->slabs))
		return lend_slabs(l, s);
	if (s->nr_taken)
		return held_gather(l, s);
	if (about < goal)
		return ring_lend(l, s, goal - about);
	if (about > goal && s->held.nr < SESS_TAKE_BATCH / 2)
		return take_pages(l, s, about - goal);
	return held_release(l, s);
}

/* The sessions take turns. LEND_WAIT: at least one waits, and none could go on. */
enum lend_todo lend_run(struct lender *l, struct sess *const *all, size_t nr)
{
	enum lend_todo todo = LEND_NOTHING, one;
	size_t i;

	far_fence_poll(&l->fence);
	if (l->state != LEND_IDLE)
		return lender_drive(l);
	l->questions = ASK_STEP;
	for (i = 0; i < nr && l->state == LEND_IDLE && l->questions; i++) {
		struct sess *s = all[(l->next + i) % nr];

		/* Without a heartbeat the compute node may not exist. */
		if (!sess_is_live(s) || s->lease.unseen || sess_state_settles(s->state))
			continue;
		one = sess_work(l, s);
		if (one > todo)
			todo = one;
	}
	l->next += i;
	return todo;
}

bool lend_quiesce(struct lender *l)
{
	if (l->state != LEND_IDLE)
		lender_drive(l);
	return l->state == LEND_IDLE;
}

/* ---- without the NIC ------------------------------------------------------------ */

/* Returns pages beyond the goal to the pool, at most that many. No chain runs, so they need
 * no grace period. True: there are no more such pages in the ring or held by the agent. */
static bool ring_empty_down(struct lender *l, struct sess *s, uint64_t most)
{
	uint64_t addr;

	for (; most && lend_about(s) > lend_goal(s); most--) {
		addr = ring_pop(&s->ring);
		if (!addr)
			break;
		if (is_own(l, s, addr))
			return_page(l, s, addr);
	}
	for (; most && s->held.nr && lend_about(s) >= lend_goal(s); most--)
		return_page(l, s, held_pop(&s->held));
	return most;
}

/* Adds at most that many pages to the ring; at most SCRUB_STEP if they are cleared. */
static void ring_fill_up(struct lender *l, struct sess *s, uint64_t most)
{
	__u64 addr;

	if (is_scrubbed(l, s) && most > SCRUB_STEP)
		most = SCRUB_STEP;
	while (most-- && lend_about(s) < lend_goal(s) &&
	       fetch_pages(l, s, 1, lend_pages(l), &addr))
		ring_push(&s->ring, addr);
}

static int fill_some(struct lender *l, struct sess *s)
{
	if (slabs_exist(&s->slabs))
		return lend_fill_slabs(l, s);
	ring_fill_up(l, s, FILL_STEP);
	if (lend_about(s) >= lend_goal(s))
		return 0;
	return lend_pages(l) ? -EAGAIN : -ENOMEM;
}

int lend_fill(struct lender *l, struct sess *s)
{
	if (l->sess == s || sess_state_settles(s->state))
		return -EBUSY;
	return fill_some(l, s);
}

/* The positions that the head has passed for the agent are part of the ring again. */
static int settle_begin(struct sess *s)
{
	ring_compact_begin(&s->ring);
	s->nr_taken = 0;
	damage_step(&s->damage, DAMAGE_EV_SORT, s->id);
	sess_event(s, SESS_EV_STAND);
	return -EAGAIN;
}

static int settle_ring(struct sess *s)
{
	if (ring_compact_some(&s->ring, COMPACT_STEP))
		sess_event(s, SESS_EV_SORTED);
	return -EAGAIN;
}

static int settle_pages(struct lender *l, struct sess *s)
{
	int r = slabs_exist(&s->slabs) || ring_empty_down(l, s, EMPTY_STEP) ?
		fill_some(l, s) : -EAGAIN;

	if (r != -EAGAIN)
		sess_event(s, SESS_EV_FILLED);
	return r;
}

int lend_settle(struct lender *l, struct sess *s)
{
	if (l->sess == s || !lend_fenced(l, s))
		return -EBUSY;
	switch (s->state) {
	case SESS_STOPPING:
		return settle_begin(s);
	case SESS_SORTING:
		return settle_ring(s);
	case SESS_FILLING:
		return settle_pages(l, s);
	default:
		return -EINVAL;
	}
}

/* ---- page registers ------------------------------------------------------------ */

int lend_arm(struct lender *l, struct sess *s, uint64_t nr, __u64 *ret_pages)
{
	if (s->held.nr + l->pool->nr_free < nr)
		return -ENOMEM;
	fetch_pages(l, s, nr, l->pool->nr_free, ret_pages);
	s->armed += nr;
	l->kept -= nr;
	return 0;
}

void lend_unarm(struct lender *l, struct sess *s, uint64_t nr,
		const __u64 *pages)
{
	s->armed -= nr;
	l->kept += nr;
	while (nr--)
		held_add(l, s, pages[nr]);
}

/*
 * A chain stopped with a page that the NIC translates: enters the page into the table, as
 * if the store were done, or the invalidate had not begun. -EXDEV: the entry has another
 * page or does not exist; nobody may get this page as long as the session has keys.
 */
static int complete_mapping(struct sess *s, const struct wrc_held *held)
{
	uint64_t slot = held->tt_addr / sizeof(__be64);
	__be64 none = 0;

	if (held->tt_addr % sizeof(__be64) || slot >= s->tt.nr_slots ||
	    !__atomic_compare_exchange_n(&s->tt.entries[slot], &none,
					 htobe64(held->page), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -EXDEV;
	return 0;
}

/*
 * Takes over what one holder of a stopped chain held. An invalidate may have taken a ring
 * position and not filled it; a store may have taken a ring position and not emptied it;
 * or there is a page without a position. own: the page was in a page register.
 */
static int holder_stopped(struct lender *l, struct sess *s, bool own,
			  const struct wrc_held *held)
{
	struct ring *ring = &s->ring;
	uint64_t slot = held->slot, addr;

	if (held->home)
		return complete_mapping(s, held);
	if (slot && !ring_valid(ring->log_len, slot)) {
		log_error("session %lu: a chain stopped at address %#lx, which "
			  "is not in the free ring", s->id, (unsigned long)slot);
		slot = 0;
	}
	if (slot && held->page && !own) {
		ring->slot[ring_index(ring->log_len, slot)] =
			htobe64(held->page);
		return 0;
	}
	if (held->page && held_add(l, s, held->page))
		return -ENOSPC;
	if (!slot)
		return 0;
	addr = ring_take_slot(ring, slot);
	return addr ? held_add(l, s, addr) : -EPIPE;
}

int lend_stopped(struct lender *l, struct sess *s, const struct queue *q)
{
	bool own = wrc_has_register(q->prog);
	unsigned int i, nr = queue_nr_holders(q);
	struct wrc_held held;
	uint16_t bb;
	int r, err;

	if (own) {
		s->armed -= nr;
		l->kept += nr;
	}
	/* A chain that has never run still has the pages that it was given. */
	if (q->arming) {
		for (i = 0; own && i < nr; i++)
			held_add(l, s, q->pages[i]);
		return 0;
	}
	r = queue_position(q, &bb);
	if (r) {
		s->astray += nr;
		return r;
	}
	for (i = 0; i < nr; i++) {
		err = queue_held(q, bb, i, &held);
		if (!err)
			err = holder_stopped(l, s, own, &held);
		if (err)
			r = err;
	}
	return r;
}

/* ---- the end ------------------------------------------------------------------- */

void lend_gone(struct lender *l, struct sess *s)
{
	s->ended = far_fence_end(&l->fence);
}

bool lend_fenced(struct lender *l, const struct sess *s)
{
	return !far_fence_settle(&l->fence, s->ended);
}

bool lend_collect(struct lender *l, struct sess *s)
{
	uint64_t n;

	if (l->sess == s)
		return false;
	n = pool_give_all(l->pool, s->owner, SCAN_STEP, &s->scan);
	s->lent -= n;
	l->nr_back += n;
	return s->scan == l->pool->pages;
}
