// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reconnecting: resumes a lost session.  When a connection breaks, the session gives up all
 * of its connections, and makes them anew for the same session on the memory node, which has
 * kept the pages.  Then requests that were under way are sent again, and bios that have come
 * meanwhile, and waited, are issued.  Users of the device notice a delay, and nothing else.
 *
 * A request without an answer may have been executed or not.  A load or a mapped store may
 * be executed twice, by a chain or as a READ or WRITE of the page: the result is the same.
 * A mapped store that was cut short leaves a page of old and new bytes, in a slot that
 * nobody can read until the store has been sent again.  An unmapped store or an invalidate
 * must not be executed twice.  The entry of the memory node's table, read once all old chains
 * have stopped, tells whether such a request was executed.  A store exchanges pages: its
 * chain writes the entry when the page has arrived as a whole.
 *
 * All happens in one work item, one attempt after the other, until the session is live and
 * has issued what waited, or is being closed, or is dead.  An attempt may wait for others.  So
 * a second work item (end_work()) enforces dead_after_ms and io_fail_ms, which count from the
 * loss (fail.c), and a third one makes spares (stock.c).
 * The session is also dead if a request has had no answer for dead_after_ms and MAX_TIMEOUTS
 * time-outs.  So no request waits for ever, however often a session breaks.  The number of
 * losses is not limited: with a limit, whoever can break connections could end the session.
 *
 * Memory: requests, their pages, registrations and completion queues stay, and queue pairs
 * and CM ids have spares (plug.c).  What has to be allocated all the same may come from the
 * kernel's reserves, since the tasks that could free memory may be waiting for this device.
 * reserve.c provides memory for what others allocate meanwhile, and room.c:odrp_holds_up()
 * does not hold up their threads.
 */
#include <linux/blkdev.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "odrp.h"

/* A request may be without an answer for dead_after_ms and this many time-outs. */
#define MAX_TIMEOUTS	4

/* An attempt fails after this many rounds of dialling in a row that bring up no connection. */
#define MAX_IDLE_ROUNDS	3

/* Limits the log lines of a session that is lost and resumed again and again. */
#define LOG_INTERVAL	(60 * HZ)
#define LOG_BURST	20

static bool is_lost(struct odrp_sess *s)
{
	return odrp_state_is_lost(odrp_sess_state(s));
}

/* ---- what was under way ---------------------------------------------------- */

/* Does the table entry, mapped or not, say that the chain has executed the request? */
static bool chain_executed(const struct odrp_conn *conn, bool mapped)
{
	return conn->chain == ODRP_WIRE_UNMAPPED_STORE ? mapped : !mapped;
}

/* Was the request first sent longer ago than any request may be without an answer? */
static bool req_never_answered(const struct odrp_req *req)
{
	const struct odrp_dev *dev = req->conn->sess->dev;
	u64 ms = READ_ONCE(dev->dead_after_ms) +
		 (u64)MAX_TIMEOUTS * READ_ONCE(dev->timeout_ms);

	return ktime_get_ns() - req->start_ns > ms * NSEC_PER_MSEC;
}

/* Does only the table entry tell whether a request was executed? */
static bool needs_entry(const struct odrp_conn *conn)
{
	return conn->chain == ODRP_WIRE_UNMAPPED_STORE ||
	       conn->chain == ODRP_WIRE_INVALIDATE;
}

/* Ends the request if its table entry says that it was executed. */
static void settle_req(struct odrp_req *req, bool mapped)
{
	struct odrp_conn *conn = req->conn;

	if (!chain_executed(conn, mapped))
		return;
	odrp_req_settle(req);
	odrp_issue_released(conn->q);
}

/* A batch of requests whose table entries are to be read. */
struct settling {
	struct odrp_req		*req[ODRP_SYNC_BATCH];
	u64			slot[ODRP_SYNC_BATCH];
	unsigned int		nr;
};

static int settle_batch(struct odrp_sess *s, struct settling *b)
{
	unsigned int i, nr = b->nr;
	bool mapped[ODRP_SYNC_BATCH];
	int err;

	b->nr = 0;
	if (!nr)
		return 0;
	if (!is_lost(s) || READ_ONCE(s->reconnect.broken))
		return -ECONNRESET;
	err = odrp_sync_read(s, b->slot, nr, mapped);
	for (i = 0; !err && i < nr; i++)
		settle_req(b->req[i], mapped[i]);
	return err;
}

static int settle_conn(struct odrp_conn *conn, struct settling *b)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < conn->nr_reqs; i++) {
		struct odrp_req *req = &conn->reqs[i];

		if (!(atomic_read(&req->st) & ODRP_REQ_POSTED))
			continue;
		if (req_never_answered(req))
			return -ENOLINK;
		if (!needs_entry(conn))
			continue;
		b->req[b->nr] = req;
		b->slot[b->nr++] = req->slot;
		if (b->nr == ODRP_SYNC_BATCH)
			err = settle_batch(conn->sess, b);
	}
	return err;
}

/* Settles the requests without an answer of all connections, in batches.  0 or -errno. */
static int sess_settle(struct odrp_sess *s)
{
	struct settling b = { .nr = 0 };
	unsigned int i, c;
	int err = 0;

	for (i = 0; !err && i < s->nr_queues; i++)
		for (c = 0; !err && c < odrp_sess_chains(s); c++)
			err = settle_conn(s->queues[i].conn[c], &b);
	return err ?: settle_batch(s, &b);
}

/* ---- an attempt ------------------------------------------------------------- */

/* Is no old request in a queue pair any more, or is the time to wait for that over? */
static bool has_let_go(struct odrp_sess *s)
{
	struct odrp_reconnect *r = &s->reconnect;
	bool gone;

	spin_lock_bh(&s->lock);
	gone = r->unplugged || !time_before(jiffies, r->let_go_at);
	spin_unlock_bh(&s->lock);
	return gone;
}

/*
 * Makes requests fail: the session is FAILING, or it is DEAD and sess_teardown() may be late.
 * Bios that wait are issued again, and fail or go to the backing device.  Requests under way
 * end when no queue pair has them any more, or at let_go_at.
 *
 * Return: whether all have ended.
 */
static bool sess_release(struct odrp_sess *s)
{
	odrp_wake_room(s->dev);
	odrp_sess_each_conn(s, odrp_conn_hold);
	odrp_sess_each_conn(s, odrp_conn_give_up);
	odrp_sess_each_conn(s, odrp_conn_abort_unsent);
	odrp_dev_end_wanting(s->dev);
	if (!has_let_go(s))
		return false;
	odrp_sess_each_conn(s, odrp_conn_end_posted);
	return true;
}

/* All queue pairs are gone.  New ones have no request before sess_go_live(). */
static void set_unplugged(struct odrp_sess *s)
{
	spin_lock_bh(&s->lock);
	s->reconnect.unplugged = true;
	spin_unlock_bh(&s->lock);
	if (!odrp_sess_waits(s))
		sess_release(s);
}

/*
 * Gives up all connections, phase by phase, and keeps the requests under way.  The last phase
 * takes mutexes that others hold, too; see end_work().
 */
static void sess_disconnect(struct odrp_sess *s)
{
	cancel_delayed_work_sync(&s->watch_work);
	odrp_beat_stop(s);
	odrp_sess_each_conn(s, odrp_conn_pause);
	odrp_sess_unplug(s);
	odrp_sess_no_events(s);
	set_unplugged(s);
	odrp_sess_each_conn(s, odrp_cm_disconnect);
}

static void conn_resume_io(struct odrp_conn *conn)
{
	int err;

	if (!conn->q)
		return;
	err = odrp_conn_resume(conn);
	if (err) {
		conn->sess->reconnect.refused = true;
		odrp_sess_fail(conn->sess, "posting again: error %d", err);
	}
	odrp_conn_kick(conn);
}

/*
 * Moves the session to LIVE.
 * @looked: the session's state before table entries were read
 *
 * Return: 0; -EAGAIN when requests have begun to fail since then; else -ECONNRESET.
 */
static int sess_go_live(struct odrp_sess *s, enum odrp_state looked)
{
	struct odrp_reconnect *r = &s->reconnect;
	enum odrp_state from;
	int err = -ECONNRESET;

	spin_lock_bh(&s->lock);
	if (looked == ODRP_LOST && odrp_sess_state(s) == ODRP_FAILING) {
		err = -EAGAIN;
	} else if (!r->broken && odrp_sess_move(s, ODRP_LIVE, &from)) {
		err = 0;
		r->end = 0;
		r->fail_at = 0;
		r->unplugged = false;
		cancel_delayed_work(&r->end_work);
	}
	spin_unlock_bh(&s->lock);
	return err;
}

/*
 * Is another attempt of no use after this error?  An error that the memory node has sent is
 * final only if it has proved that it is the memory node (cm.c:refusal(), handshake.c).
 */
static bool error_is_final(int err)
{
	switch (err) {
	case -EACCES:		/* the memory node has no such session */
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -ERANGE:
	case -EXDEV:
	case -ENOLINK:		/* a request has been without an answer for too long */
	case -EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/* Waits for the pause between two attempts, or until the session is not lost any more. */
static void sess_backoff(struct odrp_sess *s)
{
	wait_event_timeout(s->reconnect.wake, !is_lost(s),
		msecs_to_jiffies(READ_ONCE(s->dev->reconnect_delay_ms)));
}

/*
 * Makes all connections for I/O.  Only those that have failed are dialled again, as long as
 * rounds bring up further connections.
 */
static int sess_connect_io(struct odrp_sess *s)
{
	unsigned int left, before = ~0u, idle = 0;
	int err;

	for (;;) {
		err = odrp_dial(s, 0, &left);
		if (!err || error_is_final(err) || !is_lost(s) ||
		    READ_ONCE(s->reconnect.broken))
			return err;
		idle = left < before ? 0 : idle + 1;
		if (idle == MAX_IDLE_ROUNDS)
			return err;
		before = left;
		sess_backoff(s);
	}
}

/*
 * All connections are up: settles requests and UNKNOWN slots by the memory node's table, and
 * goes live.  If requests begin to fail meanwhile, they leave slots UNKNOWN, and the table is
 * read again.  If the session is FAILING already, no request ends between the reading and
 * going live: end_work() has run before, and ends the requests of a FAILING session once.
 */
static int sess_look(struct odrp_sess *s)
{
	enum odrp_state state;
	int err;

	do {
		state = odrp_sess_state(s);
		flush_delayed_work(&s->reconnect.end_work);
		err = sess_settle(s);
		if (!err)
			err = odrp_lookup(s->dev);
		if (!err)
			err = sess_go_live(s, state);
	} while (err == -EAGAIN);
	return err;
}

static int sess_attempt(struct odrp_sess *s)
{
	int err;

	spin_lock_bh(&s->lock);
	s->reconnect.broken = false;
	spin_unlock_bh(&s->lock);

	odrp_fault_wait(ODRP_FAULT_BUSY);
	err = odrp_handshake(s);
	if (err)
		return err;
	err = odrp_cm_connect(s->admin);
	if (err)
		return err;
	err = odrp_keys_renew(s);
	if (err)
		return err;
	err = odrp_slabs_read(s);
	if (err)
		return err;
	/* When the connections for I/O are up, no old chain runs any more. */
	err = sess_connect_io(s);
	return err ?: sess_look(s);
}

/* All that waited has been issued: a loss from now on has times of its own. */
static void sess_finish(struct odrp_sess *s)
{
	spin_lock_bh(&s->lock);
	if (odrp_sess_state(s) == ODRP_LIVE)
		s->reconnect.unfinished = false;
	spin_unlock_bh(&s->lock);
}

static void sess_resumed(struct odrp_sess *s)
{
	s->reconnect.resumed_at = jiffies ?: 1;
	odrp_stat_inc(s->dev, reconnects);
	odrp_move_resumed(s->dev);
	odrp_beat_start(s);
	odrp_sess_each_conn(s, conn_resume_io);
	sess_finish(s);
	/* No invalidate was sent while requests failed. */
	if (atomic64_read(&s->dev->free.pending) > 0)
		odrp_free_arm(&s->dev->free, ODRP_FREE_AGE);
	odrp_sess_watch(s);
	if (__ratelimit(&s->reconnect.log_limit))
		pr_notice("odrp%d: %pISpc: session resumed after %u ms\n",
			  s->dev->id, &s->addr.dst,
			  jiffies_to_msecs(jiffies - s->reconnect.lost_at));
	odrp_uevent(s->dev, ODRP_UEVENT_LIVE);
	WRITE_ONCE(s->lacks_spares, true);
	odrp_sess_restock(s);
}

/* Was the session resumed just now?  A memory node may break each new connection at once. */
static bool just_resumed(const struct odrp_sess *s)
{
	unsigned int ms = READ_ONCE(s->dev->reconnect_delay_ms);

	return s->reconnect.resumed_at &&
	       time_before(jiffies, s->reconnect.resumed_at + msecs_to_jiffies(ms));
}

/* If dead_after_ms is over, makes the session dead.  Return: whether this call has. */
static bool sess_expired(struct odrp_sess *s)
{
	return odrp_sess_expire(s, "not resumed within %u ms (error %d)",
				READ_ONCE(s->dev->dead_after_ms),
				s->reconnect.last_err);
}

/* Before Linux 5.19 swapon keeps a device open twice: by its file, and by its claim. */
#define SWAPON_OPENS	2

/*
 * May a swapoff be running that would map pages which it could not read (unreadable.c)?  A
 * swapoff has the device open once more.  A swapoff that comes later is refused (blk.c).
 */
static bool swapoff_may_run(const struct odrp_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	return !ODRP_SWAPOFF_SAFE && dev->openers > SWAPON_OPENS;
}

/*
 * Moves the session to FAILING if io_fail_ms is over, but later while a swapoff may be running.
 * Under dev->lock, so that nobody opens the device meanwhile.  Return: whether it moved.
 */
static bool move_to_failing(struct odrp_sess *s)
{
	enum odrp_state from;
	bool failing = false;

	spin_lock_bh(&s->lock);
	if (s->reconnect.fail_at && !time_before(jiffies, s->reconnect.fail_at)) {
		if (swapoff_may_run(s->dev))
			s->reconnect.fail_at = (jiffies + HZ) ?: 1;
		else
			failing = odrp_sess_move(s, ODRP_FAILING, &from);
	}
	spin_unlock_bh(&s->lock);
	return failing;
}

/* If io_fail_ms is over, requests fail from now on, while attempts to resume go on. */
static void sess_begin_failing(struct odrp_sess *s)
{
	bool failing;

	mutex_lock(&s->dev->lock);
	failing = move_to_failing(s);
	mutex_unlock(&s->dev->lock);
	if (failing)
		pr_warn("odrp%d: %pISpc: requests fail after %u ms; the session is tried on\n",
			s->dev->id, &s->addr.dst, READ_ONCE(s->dev->io_fail_ms));
}

/*
 * Ends requests and the session on time, whatever the work item that reconnects waits for.
 * Connecting takes mutexes of others, who allocate memory while they hold them.  A holder
 * that is in reclaim may be waiting for this device, until the session is dead.  So the
 * session has to die, and requests have to end, while the other work item still waits.
 *
 * Runs when io_fail_ms, dead_after_ms or the time to wait for queue pairs is over, and when
 * the session has died of something else.
 */
static void end_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(to_delayed_work(w),
					   struct odrp_sess, reconnect.end_work);
	unsigned long loss = READ_ONCE(s->reconnect.let_go_at);
	bool released;

	sess_expired(s);
	/* Not if dead: sess_begin_failing() waits for opens (blk.c:may_open()). */
	if (odrp_sess_state(s) == ODRP_LOST)
		sess_begin_failing(s);
	released = s->reconnect.released ||
		   (!odrp_sess_waits(s) && sess_release(s));
	spin_lock_bh(&s->lock);
	/* Not if the session has been live and lost again meanwhile. */
	if (!odrp_sess_waits(s) && s->reconnect.let_go_at == loss)
		s->reconnect.released = released;
	odrp_sess_arm_end(s);
	spin_unlock_bh(&s->lock);
}

/*
 * Makes attempts until the session is not lost any more.  If the session was resumed, and a
 * new connection then refused the requests that waited, nobody has been served: that counts
 * as a failed attempt, and the times of the first loss go on.
 */
static void sess_reconnect(struct odrp_sess *s)
{
	struct odrp_dev *dev = s->dev;
	bool refused = s->reconnect.refused;
	bool again = just_resumed(s);
	int err;

	s->reconnect.refused = false;
	s->reconnect.last_err = refused ? -ENOBUFS : 0;
	odrp_uevent(dev, ODRP_UEVENT_LOST);
	sess_disconnect(s);
	if (refused || again)
		sess_backoff(s);
	while (is_lost(s) && !sess_expired(s)) {
		odrp_reserve_spend(&s->reserve);
		err = sess_attempt(s);
		if (!err) {
			sess_resumed(s);
			return;
		}
		s->reconnect.last_err = err;
		sess_disconnect(s);
		if (error_is_final(err))
			odrp_sess_die(s, "cannot be resumed (error %d)",
				      err);
		sess_backoff(s);
	}
}

/* Logs what an operator has to know about a dead device. */
static void report_dead(struct odrp_dev *dev, bool forced)
{
	if (forced)
		pr_notice("odrp%d: removed by force: all I/O fails until its last user closes it\n",
			  dev->id);
	if (dev->backing && !forced)
		odrp_backing_report(dev);
	else if (!ODRP_SWAPOFF_SAFE)
		pr_warn("odrp%d: do not swap off: programs would get wrong bytes for lost pages\n",
			dev->id);
}

/*
 * Tears down a dead session, once.  If its device has been removed by force then that is
 * reported, also if the session had been dead before and the backing device served.  The
 * connections may still work: then the memory node is sent a goodbye, and need not wait for
 * the session to be resumed.
 */
static void sess_teardown(struct odrp_sess *s)
{
	bool forced = READ_ONCE(s->dev->forced);

	if (s->reconnect.torn_down && s->reconnect.reported_forced == forced)
		return;
	s->reconnect.reported_forced = forced;
	odrp_wake_room(s->dev);
	report_dead(s->dev, forced);
	if (!s->reconnect.torn_down) {
		s->reconnect.torn_down = true;
		odrp_beat_stop(s);
		if (forced)
			odrp_beat_bye(s);
		odrp_sess_hang_up(s);
		/* All requests have ended, also those that a queue pair has kept. */
		cancel_delayed_work_sync(&s->reconnect.end_work);
		odrp_reserve_drop(&s->reserve);
	}
	odrp_uevent(s->dev, ODRP_UEVENT_DEAD);
}

static void reconnect_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(w, struct odrp_sess, reconnect.work);
	unsigned int noio = memalloc_noio_save();
	unsigned int reserves = memalloc_noreclaim_save();

	if (is_lost(s))
		sess_reconnect(s);
	if (odrp_sess_state(s) == ODRP_DEAD)
		sess_teardown(s);
	memalloc_noreclaim_restore(reserves);
	memalloc_noio_restore(noio);
}

int odrp_reconnect_init(struct odrp_sess *s)
{
	INIT_WORK(&s->reconnect.work, reconnect_work);
	INIT_DELAYED_WORK(&s->reconnect.end_work, end_work);
	init_waitqueue_head(&s->reconnect.wake);
	ratelimit_state_init(&s->reconnect.log_limit, LOG_INTERVAL, LOG_BURST);
	s->reconnect.wq = odrp_alloc(alloc_workqueue("odrp%d_reconnect",
						ODRP_WQ | WQ_HIGHPRI, 1,
						s->dev->id));
	return s->reconnect.wq ? 0 : -ENOMEM;
}

void odrp_reconnect_exit(struct odrp_sess *s)
{
	destroy_workqueue(s->reconnect.wq);
}
