// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests to the wire: taking a free request of a connection, filling its
 * head, numbering and posting.  A connection has exactly as many requests as
 * the memory node granted outstanding ones, so having one is having a credit.
 *
 * issue.c and flush.c come before, done.c after.
 */
#include <linux/jiffies.h>
#include <linux/string.h>
#include "odrp.h"
#include "trace.h"

/*
 * What is not posted now may be later.  Under conn->lock: who makes the session
 * fail requests takes that lock afterwards, for what was left to wait before.
 */
static bool conn_may_wait(const struct odrp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return conn->live ||
	       (conn->paused && odrp_sess_waits(conn->sess));
}

/*
 * odrp_req_get() - take a free request
 * @bio: parked on the connection when there is none; may be NULL
 *
 * Return: the request; NULL when there is none, or none may be had for now
 * (the bio now belongs to whoever changes that); -EIO when the connection is
 * down for good.
 */
struct odrp_req *odrp_req_get(struct odrp_conn *conn, struct bio *bio)
{
	struct odrp_req *req;

	spin_lock_bh(&conn->lock);
	req = conn->live ? conn->free : NULL;
	if (!conn_may_wait(conn)) {
		req = ERR_PTR(-EIO);
	} else if (req) {
		conn->free = req->next;
		conn->nr_free--;
	} else if (bio) {
		trace_odrp_wait(conn->sess->dev, bio, conn->chain);
		bio_list_add(&conn->waiting, bio);
		atomic_inc(&conn->sess->dev->parked);
		odrp_stat_inc(conn->sess->dev, waits_credit);
	}
	spin_unlock_bh(&conn->lock);
	return req;
}

/*
 * odrp_conn_take_waiting() - take bios for which there are requests now
 * @bios: gets them
 *
 * Return: how many.
 */
unsigned int odrp_conn_take_waiting(struct odrp_conn *conn,
				    struct bio_list *bios)
{
	unsigned int max, n = 0;
	struct bio *bio;

	spin_lock_bh(&conn->lock);
	max = conn->live ? min_t(unsigned int, conn->nr_free,
				 ODRP_POST_CHUNK) : 0;
	while (n < max && (bio = bio_list_pop(&conn->waiting))) {
		bio_list_add(bios, bio);
		n++;
	}
	spin_unlock_bh(&conn->lock);
	if (n)
		odrp_unpark(conn->sess->dev, n);
	return n;
}

/* A new generation: answers to the old one find nothing. */
void odrp_req_put(struct odrp_req *req)
{
	struct odrp_conn *conn = req->conn;

	req->bio = NULL;
	atomic_set(&req->st, (odrp_req_gen(req) + 1) << ODRP_REQ_GEN_SHIFT);

	spin_lock_bh(&conn->lock);
	req->next = conn->free;
	conn->free = req;
	conn->nr_free++;
	if (!conn->live)
		wake_up(&conn->idle);
	spin_unlock_bh(&conn->lock);
}

/* Neither posted nor answered; the generation stays. */
static void req_reset(struct odrp_req *req)
{
	atomic_andnot((1u << ODRP_REQ_GEN_SHIFT) - 1, &req->st);
}

static u32 req_id(const struct odrp_req *req)
{
	return odrp_req_gen(req) << 16 | req->idx;
}

/*
 * A READ or WRITE goes to the page of its slot's entry, by the rkeys of this connection:
 * when the session is resumed they may be others.
 */
static void req_set_target(struct odrp_req *req)
{
	u32 entry = req->conn->sess->dev->slots.entry[req->slot];

	req->wr.remote_addr = odrp_key_addr(entry);
	req->wr.rkey = req->conn->sess->keys.rkeys[odrp_key_nr(entry)];
}

/* The fixed head; the words come when the request gets its number. */
static void req_fill_head(struct odrp_req *req, u32 entry)
{
	struct odrp_wire_req *w = req->hdr;

	w->tt_addr = cpu_to_be64((u64)entry * 8);
	w->id = cpu_to_be32(req_id(req));
	w->raddr_hi = cpu_to_be32(upper_32_bits(req->raddr));
	w->raddr_lo = cpu_to_be32(lower_32_bits(req->raddr));
	w->rkey = cpu_to_be32(req->rkey);
}

/* The slot is the caller's. */
void odrp_req_fill(struct odrp_req *req, u64 slot)
{
	u32 entry = req->conn->sess->dev->slots.entry[slot];

	req->slot = slot;
	req->res = ODRP_SLOT_OK;
	req->sends = 0;
	if (!req->conn->keyed)
		req_fill_head(req, entry);
}

void odrp_batch_init(struct odrp_batch *b, struct odrp_queue *q)
{
	unsigned int i;

	b->q = q;
	b->load.req = NULL;
	b->refused = NULL;
	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++) {
		b->ch[i].head = NULL;
		b->ch[i].tail = &b->ch[i].head;
		b->ch[i].nr = 0;
	}
}

/* Does a request that is not quiet ask for the completion of its SEND? */
static bool conn_wants_signal(struct odrp_conn *conn)
{
	if (odrp_conn_lazy(conn) && ++conn->unsignaled < ODRP_SIGNAL_EVERY)
		return false;
	conn->unsignaled = 0;
	return true;
}

static void req_make_words(struct odrp_conn *conn, struct odrp_req *req, u32 r,
			   bool quiet, bool next)
{
	if (!req->hdr)
		return;
	odrp_words_make(&conn->words, r, quiet, next,
			req->hdr + sizeof(struct odrp_wire_req));
	ib_dma_sync_single_for_device(conn->sess->ibdev, req->hdr_dma,
				      conn->req_len + conn->tail_len,
				      DMA_TO_DEVICE);
}

/* How the life of a request begins. */
static unsigned int req_first_bits(const struct odrp_conn *conn, bool quiet,
				   bool signal)
{
	if (quiet)
		return ODRP_REQ_POSTED | ODRP_REQ_QUIET;
	if (conn->keyed)
		return ODRP_REQ_POSTED | ODRP_REQ_ANSWERED;
	return ODRP_REQ_POSTED | (signal ? 0 : ODRP_REQ_SENT);
}

/* Number a request and make its words; conn->lock is what orders numbers. */
static void req_number(struct odrp_conn *conn, struct odrp_req *req, bool quiet,
		       bool next, u64 now, unsigned long deadline)
{
	u32 r = conn->next_r++;
	bool signal = false;

	lockdep_assert_held(&conn->lock);
	if (quiet)
		conn->unsignaled++;
	else
		signal = conn_wants_signal(conn);
	req_make_words(conn, req, r, quiet, next);
	if (conn->keyed)
		req_set_target(req);
	req->sends++;
	if (req->sends == 1)
		req->start_ns = now;
	req->deadline = deadline;
	req->wr.wr.next = req->next ? &req->next->wr.wr : NULL;
	req->wr.wr.send_flags = signal ? IB_SEND_SIGNALED : 0;
	trace_odrp_post(conn, req);
	smp_mb__before_atomic();	/* pairs with watch.c:overdue() */
	atomic_or(req_first_bits(conn, quiet, signal), &req->st);
}

/*
 * May a request of the list be quiet, with n quiet ones just before it?  The
 * last is answered: nobody knows when another comes.
 */
static bool req_is_quiet(const struct odrp_req *req, unsigned int n,
			 unsigned int every)
{
	return req && req->next && n + 1 < every;
}

/*
 * Number a list, and make groups of it: see odrp_conn_quiet().  Where a request
 * speaks for the one behind it, the first is answered, as the last of the list
 * before has said.
 */
static void req_number_all(struct odrp_conn *conn, struct odrp_req *list,
			   unsigned long deadline)
{
	unsigned int every = odrp_conn_quiet(conn), n = 0;
	bool quiet = !conn->words.ahead && req_is_quiet(list, 0, every), next;
	struct odrp_req *group = NULL, **tail = &group, *req;
	u64 now = ktime_get_ns();

	for (req = list; req; req = req->next, quiet = next) {
		n = quiet ? n + 1 : 0;
		next = req_is_quiet(req->next, n, every);
		if (quiet) {
			req->group = NULL;
			*tail = req;
			tail = &req->group;
		} else {
			req->group = group;
			group = NULL;
			tail = &group;
		}
		req_number(conn, req, quiet, next, now, deadline);
	}
}

/* What was not posted is not in flight: it is as it was before req_number(). */
static struct odrp_req *req_unpost(struct odrp_conn *conn,
				   const struct ib_send_wr *bad)
{
	struct odrp_req *first, *req;

	lockdep_assert_held(&conn->lock);
	first = container_of(bad, struct odrp_req, wr.wr);
	for (req = first; req; req = req->next) {
		req_reset(req);
		req->sends--;
	}
	return first;
}

/*
 * The session is being lost, or has been: keep a list until it is resumed,
 * or given up.
 */
static void conn_keep_unsent(struct odrp_conn *conn, struct odrp_req *list)
{
	struct odrp_req **tail = &conn->unsent;

	lockdep_assert_held(&conn->lock);
	while (*tail)
		tail = &(*tail)->next;
	*tail = list;
}

/*
 * The connection is live.  What could not be posted is kept, and what comes after
 * it waits as well: the memory node counts requests, and these have got numbers
 * that it will never see.  The caller tells the session, which goes on with a new
 * connection.
 */
static int req_number_and_post(struct odrp_conn *conn, struct odrp_req *list)
{
	unsigned int ms = READ_ONCE(conn->sess->dev->timeout_ms);
	const struct ib_send_wr *bad;
	int err;

	req_number_all(conn, list, jiffies + msecs_to_jiffies(ms));
	err = odrp_post_send(conn->qp, &list->wr.wr, &bad);
	if (err) {
		conn_keep_unsent(conn, req_unpost(conn, bad));
		conn->paused = true;
		conn->live = false;
	}
	return err;
}

/* odrp_conn_take_unsent() - what could not be posted, and will not be: a list */
struct odrp_req *odrp_conn_take_unsent(struct odrp_conn *conn)
{
	struct odrp_req *list;

	spin_lock_bh(&conn->lock);
	list = conn->unsent;
	conn->unsent = NULL;
	spin_unlock_bh(&conn->lock);
	return list;
}

static void batch_refuse(struct odrp_batch *b, struct odrp_req *list)
{
	struct odrp_req **tail = &b->refused;

	while (*tail)
		tail = &(*tail)->next;
	*tail = list;
}

/*
 * Number and post a list of requests with one call.  Those that cannot be
 * posted wait for the session to be resumed, or are refused when it will not
 * be: then whoever has the batch ends them.
 */
static void batch_post(struct odrp_conn *conn, struct odrp_req *list,
		       struct odrp_batch *b)
{
	int err;

	odrp_fault_lost(conn);
	spin_lock_bh(&conn->lock);
	if (!conn->live) {
		bool waits = conn_may_wait(conn);

		if (waits)
			conn_keep_unsent(conn, list);
		spin_unlock_bh(&conn->lock);
		if (!waits)
			batch_refuse(b, list);
		return;
	}
	err = req_number_and_post(conn, list);
	spin_unlock_bh(&conn->lock);

	odrp_stat_inc(conn->sess->dev, doorbells);
	if (err)
		odrp_sess_fail(conn->sess, "posting a request: error %d", err);
}

/*
 * odrp_conn_resume() - requests may be posted again, on a new connection
 *
 * First those that were under way on the last one and have no answer: they
 * keep their slots, their pages and their ids.  Then those that have been
 * waiting.  For bios that wait for a request, odrp_conn_kick().
 *
 * Return: 0, or an error of the new connection, on which all wait again.
 */
int odrp_conn_resume(struct odrp_conn *conn)
{
	struct odrp_req *list = NULL, **tail = &list;
	unsigned int i;
	int err = 0;

	odrp_fault_lost(conn);
	spin_lock_bh(&conn->lock);
	for (i = 0; i < conn->nr_reqs; i++) {
		struct odrp_req *req = &conn->reqs[i];

		if (!(atomic_read(&req->st) & ODRP_REQ_POSTED))
			continue;
		req_reset(req);
		odrp_stat_inc(conn->sess->dev, resent);
		*tail = req;
		tail = &req->next;
	}
	*tail = conn->unsent;
	conn->unsent = NULL;
	odrp_conn_fit(conn);
	conn->next_r = 0;
	conn->unsignaled = 0;
	conn->paused = false;
	conn->live = true;
	if (list)
		err = req_number_and_post(conn, list);
	spin_unlock_bh(&conn->lock);
	return err;
}

/* Before it is posted: after that it may end, and be another's. */
static struct odrp_mark req_last(struct odrp_req **tail)
{
	struct odrp_req *req = container_of(tail, struct odrp_req, next);

	return (struct odrp_mark) { .req = req, .gen = odrp_req_gen(req) };
}

/*
 * odrp_batch_post() - post all requests of a batch, each chain's with one doorbell
 *
 * The caller ends those in @b->refused.
 */
void odrp_batch_post(struct odrp_batch *b)
{
	unsigned int i;

	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++) {
		struct odrp_req *list = b->ch[i].head;

		if (!list)
			continue;
		if (i == ODRP_WIRE_LOAD)
			b->load = req_last(b->ch[i].tail);
		b->ch[i].head = NULL;
		b->ch[i].tail = &b->ch[i].head;
		b->ch[i].nr = 0;
		batch_post(b->q->conn[i], list, b);
	}
}

void odrp_batch_add(struct odrp_batch *b, struct odrp_req *req)
{
	unsigned int c = req->conn->chain;

	req->next = NULL;
	*b->ch[c].tail = req;
	b->ch[c].tail = &req->next;
	if (++b->ch[c].nr >= ODRP_POST_CHUNK)
		odrp_batch_post(b);
}
