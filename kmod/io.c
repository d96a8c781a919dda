// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests to the wire: take a free request of a connection, fill its head, number and
 * post it.  A connection has exactly as many requests as the memory node allows to be
 * outstanding, so a free request is a credit.
 *
 * On the data path issue.c and flush.c come before this file, and done.c after it.
 */
#include <linux/jiffies.h>
#include <linux/string.h>
#include "odrp.h"
#include "trace.h"

/*
 * May a request wait if it cannot be posted now?  Under conn->lock: the code that makes
 * the session fail requests takes conn->lock after it has changed the state, and then ends
 * the requests and bios that wait.
 */
static bool conn_may_wait(const struct odrp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return conn->live ||
	       (conn->paused && odrp_sess_waits(conn->sess));
}

/* See odrp_req_get(). */
static struct odrp_req *conn_get(struct odrp_conn *conn, struct bio *bio)
{
	struct odrp_req *req = conn->live ? conn->free : NULL;

	if (!conn_may_wait(conn)) {
		req = ERR_PTR(-EIO);
	} else if (req) {
		conn->free = req->next;
		conn->nr_free--;
	} else if (bio) {
		trace_odrp_wait(conn->sess->dev, bio, conn->chain);
		bio_list_add(&conn->waiting, bio);
		odrp_park(conn->sess->dev, bio);
		odrp_stat_inc(conn->sess->dev, waits_credit);
	}
	return req;
}

/*
 * odrp_req_get() - take a free request
 * @bio: parked on the connection when no request can be taken; may be NULL
 *
 * Any context but hard interrupt.
 *
 * Return: the request.  NULL when no request is free or the connection is paused: @bio is
 * parked and does not belong to the caller any more.  ERR_PTR(-EIO) when the connection is
 * closed, or requests of the session fail: @bio still belongs to the caller.
 */
struct odrp_req *odrp_req_get(struct odrp_conn *conn, struct bio *bio)
{
	struct odrp_req *req;

	spin_lock_bh(&conn->lock);
	req = conn_get(conn, bio);
	spin_unlock_bh(&conn->lock);
	return req;
}

/*
 * odrp_conn_take_waiting() - take as many parked bios as there are free requests
 * @bios: the bios are added to it, at most ODRP_POST_CHUNK
 *
 * Return: the number of bios taken.
 */
unsigned int odrp_conn_take_waiting(struct odrp_conn *conn,
				    struct bio_list *bios)
{
	unsigned int max, n = 0, blocks = 0;
	struct bio *bio;

	spin_lock_bh(&conn->lock);
	max = conn->live ? min_t(unsigned int, conn->nr_free,
				 ODRP_POST_CHUNK) : 0;
	while (n < max && (bio = bio_list_pop(&conn->waiting))) {
		blocks += odrp_bio_blocks(bio);
		bio_list_add(bios, bio);
		n++;
	}
	spin_unlock_bh(&conn->lock);
	if (n)
		odrp_unpark(conn->sess->dev, blocks);
	return n;
}

/*
 * odrp_req_end() - a request has ended: it is posted no more
 *
 * Its generation changes, so a late answer to the old generation matches no request.
 */
void odrp_req_end(struct odrp_req *req)
{
	req->bio = NULL;
	atomic_set(&req->st, (odrp_req_gen(req) + 1) << ODRP_REQ_GEN_SHIFT);
}

/*
 * odrp_reqs_put() - give requests back that have ended
 * @e: empty on return, but for the time
 *
 * The connection may be torn down when all its requests have been given back.
 */
void odrp_reqs_put(struct odrp_conn *conn, struct odrp_ended *e)
{
	if (!e->first)
		return;
	spin_lock_bh(&conn->lock);
	e->last->next = conn->free;
	conn->free = e->first;
	conn->nr_free += e->nr;
	if (!conn->live)
		wake_up(&conn->idle);
	spin_unlock_bh(&conn->lock);
	e->first = e->last = NULL;
	e->nr = 0;
}

/* odrp_req_put() - end a request, and give it back */
void odrp_req_put(struct odrp_req *req)
{
	struct odrp_ended e = { .first = req, .last = req, .nr = 1 };

	odrp_req_end(req);
	odrp_reqs_put(req->conn, &e);
}

/* The request counts as neither posted nor answered; its generation stays. */
static void req_reset(struct odrp_req *req)
{
	atomic_andnot((1u << ODRP_REQ_GEN_SHIFT) - 1, &req->st);
}

static u32 req_id(const struct odrp_req *req)
{
	return odrp_req_gen(req) << 16 | req->idx;
}

/*
 * Set page address and rkey of a READ or WRITE, from the table entry of its slot.  Done
 * at each posting: when the session has been resumed, the rkeys may have changed.
 */
static void req_set_target(struct odrp_req *req)
{
	const struct odrp_dev *dev = req->conn->sess->dev;

	if (dev->places.max) {
		req->wr.remote_addr = odrp_place_addr(&dev->places, req->place);
		req->wr.rkey = odrp_place_rkey(&dev->places, req->place);
		return;
	}
	req->wr.remote_addr = odrp_key_addr(req->place);
	req->wr.rkey = req->conn->sess->keys.rkeys[odrp_key_nr(req->place)];
}

/* Fill the fixed head. */
static void req_fill_head(struct odrp_req *req, u32 entry)
{
	struct odrp_wire_req *w = req->hdr;

	w->tt_addr = cpu_to_be64((u64)entry * 8);
	w->id = cpu_to_be32(req_id(req));
	w->raddr_hi = cpu_to_be32(upper_32_bits(req->raddr));
	w->raddr_lo = cpu_to_be32(lower_32_bits(req->raddr));
	w->rkey = cpu_to_be32(req->rkey);
}

/* Fill a request for a slot that the caller owns. */
void odrp_req_fill(struct odrp_req *req, u64 slot)
{
	u32 entry = req->conn->sess->dev->slots.entry[slot];

	req->slot = slot;
	req->res = ODRP_SLOT_OK;
	req->sends = 0;
	req->place = entry;
	if (!req->conn->keyed)
		req_fill_head(req, entry);
}

void odrp_batch_init(struct odrp_batch *b, struct odrp_queue *q)
{
	unsigned int i;

	b->q = q;
	b->behind = 0;
	b->load.req = NULL;
	b->refused = NULL;
	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++) {
		b->ch[i].head = NULL;
		b->ch[i].tail = &b->ch[i].head;
		b->ch[i].nr = 0;
		b->ch[i].stock = NULL;
	}
}

/* Take requests for bios that come behind, at most @max, unless others wait for them. */
static struct odrp_req *conn_take_stock(struct odrp_conn *conn, unsigned int max)
{
	struct odrp_req *stock = conn->free, **tail = &conn->free;
	unsigned int n = 0;

	lockdep_assert_held(&conn->lock);
	if (!bio_list_empty(&conn->waiting))
		return NULL;
	for (; n < max && *tail; n++)
		tail = &(*tail)->next;
	if (!n)
		return NULL;
	conn->free = *tail;
	conn->nr_free -= n;
	*tail = NULL;
	return stock;
}

/*
 * odrp_batch_take() - odrp_req_get(), with requests for the bios behind this one
 *
 * Requests that are left over go back by odrp_batch_return().
 */
struct odrp_req *odrp_batch_take(struct odrp_batch *b, struct odrp_conn *conn,
				 struct bio *bio)
{
	struct odrp_req *req;

	spin_lock_bh(&conn->lock);
	req = conn_get(conn, bio);
	if (b->behind && !IS_ERR_OR_NULL(req))
		b->ch[conn->chain].stock = conn_take_stock(conn, b->behind);
	spin_unlock_bh(&conn->lock);
	return req;
}

/*
 * odrp_batch_return() - give back the requests that no bio has needed
 *
 * A bio that has parked for want of one is not looked for.  It parked while no request was
 * free, so at least one was in use, if only the one that was taken with the stock: when that
 * one ends, or the session does, the bio is issued.
 */
void odrp_batch_return(struct odrp_batch *b)
{
	unsigned int i;

	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++) {
		struct odrp_req *req = b->ch[i].stock;
		struct odrp_ended e = { .first = req };

		b->ch[i].stock = NULL;
		for (; req; req = req->next) {
			e.last = req;
			e.nr++;
		}
		odrp_reqs_put(b->q->conn[i], &e);
	}
}

/*
 * Must a request that is not quiet ask for the completion of its SEND?  See
 * odrp_conn_lazy().
 */
static bool conn_wants_signal(struct odrp_conn *conn)
{
	if (odrp_conn_lazy(conn) && ++conn->unsignaled < ODRP_SIGNAL_EVERY)
		return false;
	conn->unsignaled = 0;
	return true;
}

/* Write what the chain is told about the request behind this one. */
static void req_set_next(struct odrp_conn *conn, struct odrp_req *req, bool quiet)
{
	u8 *next = req->hdr + sizeof(struct odrp_wire_req);

	*next = quiet ? ODRP_WIRE_NEXT_QUIET : ODRP_WIRE_NEXT_ANSWERED;
	ib_dma_sync_single_for_device(conn->sess->ibdev, req->hdr_dma, ODRP_HDR_LEN,
				      DMA_TO_DEVICE);
}

/* The state bits of a request that is being posted; see ODRP_REQ_* in req.h. */
static unsigned int req_first_bits(const struct odrp_conn *conn, bool quiet,
				   bool signal)
{
	if (quiet)
		return ODRP_REQ_POSTED | ODRP_REQ_QUIET;
	if (conn->keyed)
		return ODRP_REQ_POSTED | ODRP_REQ_ANSWERED;
	return ODRP_REQ_POSTED | (signal ? 0 : ODRP_REQ_SENT);
}

/*
 * Number a request, and set what depends on the number.  conn->lock keeps the numbers in
 * the order of posting.
 */
static void req_number(struct odrp_conn *conn, struct odrp_req *req, bool quiet,
		       bool next, u64 now, unsigned long deadline)
{
	bool signal = false;

	lockdep_assert_held(&conn->lock);
	conn->next_r++;
	if (quiet)
		conn->unsignaled++;
	else
		signal = conn_wants_signal(conn);
	if (conn->keyed)
		req_set_target(req);
	else
		req_set_next(conn, req, next);
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
 * May a request of the list be quiet, with n quiet ones just before it?  The last request
 * of a list must be answered: nobody knows when the next list comes.
 */
static bool req_is_quiet(const struct odrp_req *req, unsigned int n,
			 unsigned int every)
{
	return req && req->next && n + 1 < every;
}

/*
 * Number a list of requests, and form groups: see odrp_conn_quiet().  A request tells the
 * chain whether the next request is quiet.  The last request of the list before has told
 * that the next one is answered, so the first one is not quiet.
 */
static void req_number_all(struct odrp_conn *conn, struct odrp_req *list,
			   unsigned long deadline)
{
	unsigned int every = odrp_conn_quiet(conn), n = 0;
	bool quiet = conn->keyed && req_is_quiet(list, 0, every), next;
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

/*
 * Reset @bad and the requests behind it to what they were before req_number(): they were
 * not posted.  Return: the first of them.
 */
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
 * The session is lost, or about to be: keep a list of requests until the session is
 * resumed or given up.
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
 * Number and post a list on a live connection.  When posting fails, the requests that were
 * not posted are kept, and the connection is paused, so later requests wait as well: the
 * memory node counts requests, and the kept ones have taken numbers that will never
 * arrive.  The caller reports the error, and the session continues on a new connection.
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

/*
 * odrp_conn_take_unsent() - take the requests that could not be posted
 *
 * Return: a list, oldest first, or NULL; the caller ends the requests.
 */
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
 * Number and post a list of requests with one doorbell.  Requests that cannot be posted
 * are kept until the session is resumed.  If requests of the session may not wait, they go
 * to b->refused, and the caller ends them.
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
 * odrp_conn_resume() - post requests again, on a new connection
 *
 * Posts first the requests that were under way on the old connection and have no answer:
 * they keep their slots, pages and ids.  Then the requests that could not be posted.  For
 * the bios that wait for a request the caller calls odrp_conn_kick().
 *
 * Return: 0.  -ECONNRESET: requests of the session fail meanwhile, and nothing was posted;
 * the code that made them fail ends them.  Else the error of posting on the new
 * connection: the requests that were not posted wait again.
 */
int odrp_conn_resume(struct odrp_conn *conn)
{
	struct odrp_req *list = NULL, **tail = &list;
	unsigned int i;
	int err = 0;

	odrp_fault_lost(conn);
	spin_lock_bh(&conn->lock);
	if (!odrp_sess_waits(conn->sess)) {
		spin_unlock_bh(&conn->lock);
		return -ECONNRESET;
	}
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
	conn->next_r = 0;
	conn->unsignaled = 0;
	conn->paused = false;
	conn->live = true;
	if (list)
		err = req_number_and_post(conn, list);
	spin_unlock_bh(&conn->lock);
	return err;
}

/* Called before posting: a posted request may end at once, and then be taken again. */
static struct odrp_mark req_last(struct odrp_req **tail)
{
	struct odrp_req *req = container_of(tail, struct odrp_req, next);

	return (struct odrp_mark) { .req = req, .gen = odrp_req_gen(req) };
}

/*
 * odrp_batch_post() - post all requests of a batch, with one doorbell for each chain
 *
 * The caller ends the requests in @b->refused.
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
