// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reconnecting: a lost session is resumed.  When a connection breaks, all of them are
 * given up, and made anew for the same session on the memory node, which has kept our
 * pages.  What was under way then goes out again; what has come meanwhile was
 * waiting for it.  Nobody outside notices but by the time that it took.
 *
 * A request without an answer may have been executed or not.  Done again, a load
 * or a mapped store is the same, by a chain or as a READ or WRITE of the page; one
 * that was cut short leaves a page of old and new, in a slot that nobody may read
 * until it has been done again.  An unmapped store or an invalidate is not: the
 * entry of the memory node's table, read once all old chains have stopped, says
 * which it was.  A store that exchanges pages swaps one into the entry that has
 * come as a whole.  One that copies writes the entry before the page, and may have
 * been stopped in between: then nobody can say what the page holds, and the
 * session is dead.  (Words behind the page tell which it is.)
 *
 * All happens in one work item, one attempt after the other, until the session
 * is live and takes what has been waiting, or is closed, or given up
 * (dead_after_ms, which another item sees to, for an attempt may wait for others).
 * A request without an answer for that long, and some time-outs more, is the end, too:
 * so however often a session breaks, none waits for ever.  How often does not count:
 * whoever can break connections could end the session by that.
 *
 * Memory: requests, their pages, registrations and completion queues stay, and for
 * queue pairs and CM ids there are spares (plug.c).  What has to be made all the same
 * may come from the kernel's reserves, since whoever could free memory may be waiting
 * for us.  What others allocate for it is helped by reserve.c, and their threads are
 * not held up (room.c:odrp_holds_up()).
 */
#include <linux/blkdev.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "odrp.h"

/* Time-outs that a request may have without an answer, beside dead_after_ms. */
#define MAX_TIMEOUTS	4

/* How often connections are dialled again without one more that is up. */
#define MAX_IDLE_ROUNDS	3

/* How often a session that comes and goes is spoken of. */
#define LOG_INTERVAL	(60 * HZ)
#define LOG_BURST	20

static bool is_lost(struct odrp_sess *s)
{
	return odrp_state_is_lost(odrp_sess_state(s));
}

/* ---- what was under way ---------------------------------------------------- */

/* Does an entry that is mapped, or not, say that the chain has done its work? */
static bool chain_executed(const struct odrp_conn *conn, bool mapped)
{
	return conn->chain == ODRP_WIRE_UNMAPPED_STORE ? mapped : !mapped;
}

/* Has it been waiting since it was first sent for longer than any has to? */
static bool req_never_answered(const struct odrp_req *req)
{
	const struct odrp_dev *dev = req->conn->sess->dev;
	u64 ms = READ_ONCE(dev->dead_after_ms) +
		 (u64)MAX_TIMEOUTS * READ_ONCE(dev->timeout_ms);

	return ktime_get_ns() - req->start_ns > ms * NSEC_PER_MSEC;
}

/* Whether only its entry tells what became of a request. */
static bool needs_entry(const struct odrp_conn *conn)
{
	return conn->chain == ODRP_WIRE_UNMAPPED_STORE ||
	       conn->chain == ODRP_WIRE_INVALIDATE;
}

/* What became of a request: end it if it has been executed. */
static int settle_req(struct odrp_req *req, bool mapped)
{
	struct odrp_conn *conn = req->conn;

	if (!chain_executed(conn, mapped))
		return 0;
	if (odrp_conn_stores(conn) && !conn->tail_len)
		return -EILSEQ;
	odrp_req_settle(req);
	odrp_issue_released(conn->q);
	return 0;
}

/* Requests whose entries are to be read. */
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
		err = settle_req(b->req[i], mapped[i]);
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

/* All requests without an answer, of whichever connection, some at a time. */
static int sess_settle(struct odrp_sess *s)
{
	struct settling b = { .nr = 0 };
	unsigned int i, c;
	int err = 0;

	for (i = 0; !err && i < s->nr_queues; i++)
		for (c = 0; !err && c < ODRP_WIRE_NR_CHAINS; c++)
			err = settle_conn(s->queues[i].conn[c], &b);
	return err ?: settle_batch(s, &b);
}

/* ---- an attempt ------------------------------------------------------------- */

/*
 * Requests fail from now on: the session is dead, and sess_teardown() may be long in coming,
 * or it is FAILING.  Whoever waits does without.  What is under way ends if no queue pair
 * has it any more; otherwise sess_disconnect() is at work, and comes here when that is so.
 */
static void sess_release(struct odrp_sess *s)
{
	bool unplugged;

	odrp_wake_room(s->dev);
	odrp_sess_each_conn(s, odrp_conn_give_up);
	spin_lock_bh(&s->lock);
	unplugged = s->reconnect.unplugged;
	spin_unlock_bh(&s->lock);
	if (!unplugged)
		return;
	odrp_sess_each_conn(s, odrp_conn_abort_unsent);
	odrp_dev_end_wanting(s->dev);
	odrp_sess_each_conn(s, odrp_conn_end_posted);
}

/* All queue pairs are gone, and none that comes has a request before sess_go_live(). */
static void set_unplugged(struct odrp_sess *s)
{
	spin_lock_bh(&s->lock);
	s->reconnect.unplugged = true;
	spin_unlock_bh(&s->lock);
	if (!odrp_sess_waits(s))
		sess_release(s);
}

/*
 * Give up all connections, phase by phase, and keep what is under way.  The last
 * phase takes mutexes of others; see end_work().
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

static bool sess_go_live(struct odrp_sess *s)
{
	enum odrp_state from;
	bool live;

	spin_lock_bh(&s->lock);
	live = !s->reconnect.broken && odrp_sess_move(s, ODRP_LIVE, &from);
	if (live) {
		s->reconnect.end = 0;
		s->reconnect.fail_at = 0;
		s->reconnect.unplugged = false;
	}
	spin_unlock_bh(&s->lock);
	return live;
}

/*
 * Trying again will not change these.  What the memory node says is one of them only if
 * it has proved that it is the memory node (cm.c:refusal(), handshake.c).
 */
static bool error_is_final(int err)
{
	switch (err) {
	case -EACCES:		/* the memory node has given us up */
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -ERANGE:
	case -EXDEV:
	case -EILSEQ:		/* a page may have been copied in part */
	case -ENOLINK:		/* a request is never answered */
	case -EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/* Between two attempts. */
static void sess_backoff(struct odrp_sess *s)
{
	wait_event_timeout(s->reconnect.wake, !is_lost(s),
		msecs_to_jiffies(READ_ONCE(s->dev->reconnect_delay_ms)));
}

/*
 * All connections for I/O.  What is lost of their making is made again alone, as long as
 * that gets on.
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

static void set_looking(struct odrp_sess *s, bool looking)
{
	spin_lock_bh(&s->lock);
	s->reconnect.looking = looking;
	spin_unlock_bh(&s->lock);
}

/*
 * Connections are up: what the memory node's table says, and then live.  Nobody has
 * requests fail meanwhile but who makes the session dead, as the end of its time does.
 */
static int sess_look(struct odrp_sess *s)
{
	int err;

	set_looking(s, true);
	/* Done, also for one that has just died; and armed for the end. */
	flush_delayed_work(&s->reconnect.end_work);
	err = sess_settle(s);
	if (!err)
		err = odrp_lookup(s->dev);
	if (!err && !sess_go_live(s))
		err = -ECONNRESET;
	set_looking(s, false);
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
	/* After this no chain of before runs. */
	err = sess_connect_io(s);
	return err ?: sess_look(s);
}

static void stock_conn(struct odrp_conn *conn)
{
	if (odrp_conn_stock(conn))
		WRITE_ONCE(conn->sess->reconnect.lacks_spares, true);
}

/* As far as it can be had now; beats ask for the rest. */
static void stock_spares(struct odrp_sess *s)
{
	WRITE_ONCE(s->reconnect.lacks_spares, false);
	odrp_sess_each_conn(s, stock_conn);
}

static void sess_resumed(struct odrp_sess *s)
{
	cancel_delayed_work(&s->reconnect.end_work);
	s->reconnect.resumed_at = jiffies ?: 1;
	odrp_stat_inc(s->dev, reconnects);
	odrp_beat_start(s);
	odrp_sess_each_conn(s, conn_resume_io);
	/* Nothing was freed while requests failed. */
	if (atomic64_read(&s->dev->free.pending) > 0)
		odrp_free_arm(&s->dev->free, ODRP_FREE_AGE);
	odrp_sess_watch(s);
	if (__ratelimit(&s->reconnect.log_limit))
		pr_notice("odrp%d: %pISpc: session resumed after %u ms\n",
			  s->dev->id, &s->addr.dst,
			  jiffies_to_msecs(jiffies - s->reconnect.lost_at));
	odrp_uevent(s->dev, ODRP_UEVENT_LIVE);
	stock_spares(s);
}

/* A memory node that breaks each new connection at once would keep us busy. */
static bool just_resumed(const struct odrp_sess *s)
{
	unsigned int ms = READ_ONCE(s->dev->reconnect_delay_ms);

	return s->reconnect.resumed_at &&
	       time_before(jiffies, s->reconnect.resumed_at + msecs_to_jiffies(ms));
}

/* The time to be resumed in is over: the session is dead. */
static bool sess_expired(struct odrp_sess *s)
{
	return odrp_sess_expire(s, "not resumed within %u ms (error %d)",
				READ_ONCE(s->dev->dead_after_ms),
				s->reconnect.last_err);
}

/* The next end of a time: that of requests, then that of the session. */
static void deadline_arm(struct odrp_sess *s)
{
	enum odrp_state state = odrp_sess_state(s);
	unsigned long when = s->reconnect.until;
	long left;

	if (!odrp_state_is_lost(state))
		return;
	if (state == ODRP_LOST && s->reconnect.fail_at &&
	    !READ_ONCE(s->reconnect.looking) &&
	    time_before(s->reconnect.fail_at, when))
		when = s->reconnect.fail_at;
	left = when - jiffies;
	mod_delayed_work(odrp_wq, &s->reconnect.end_work, max(left, 0L) + 1);
}

/* What swapon keeps open of a device, before Linux 5.19: its file, and what claims it. */
#define SWAPON_OPENS	2

/*
 * Does a swapoff run, maybe, that would map what it could not read (unreadable.c)?  It
 * has the device open as well; one that comes later is refused (blk.c).
 */
static bool swapoff_may_run(const struct odrp_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	return !ODRP_SWAPOFF_SAFE && dev->openers > SWAPON_OPENS;
}

/* Under the lock that opens take. */
static bool move_to_failing(struct odrp_sess *s)
{
	enum odrp_state from;
	bool failing = false;

	spin_lock_bh(&s->lock);
	if (s->reconnect.fail_at && !s->reconnect.looking &&
	    !time_before(jiffies, s->reconnect.fail_at)) {
		if (swapoff_may_run(s->dev))
			s->reconnect.fail_at = (jiffies + HZ) ?: 1;
		else
			failing = odrp_sess_move(s, ODRP_FAILING, &from);
	}
	spin_unlock_bh(&s->lock);
	return failing;
}

/* Requests have waited for long enough: they fail while the session is resumed. */
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
 * Connecting takes mutexes of others, who hold them while they allocate memory.
 * Who of them is in reclaim may be waiting for this device, until the session is
 * dead: so it has to die, and what is under way with it, while the work item that
 * reconnects waits.  It comes when the time is over, that of requests or that of the
 * session, or when a session that was lost has died of something else.
 */
static void end_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(to_delayed_work(w),
					   struct odrp_sess, reconnect.end_work);

	sess_expired(s);
	/* A dead one does not wait for who opens the device: blk.c:may_open(). */
	if (odrp_sess_state(s) == ODRP_LOST)
		sess_begin_failing(s);
	if (!odrp_sess_waits(s))
		sess_release(s);
	deadline_arm(s);
}

static void deadline_start(struct odrp_sess *s)
{
	unsigned int ms = s->dev->backing ? 0 : READ_ONCE(s->dev->io_fail_ms);
	unsigned long fail_at = s->reconnect.lost_at + msecs_to_jiffies(ms);
	bool sooner = ms && time_before(fail_at, s->reconnect.until);

	spin_lock_bh(&s->lock);
	s->reconnect.end = s->reconnect.until ?: 1;
	s->reconnect.fail_at = sooner ? fail_at ?: 1 : 0;
	spin_unlock_bh(&s->lock);
	deadline_arm(s);
}

/*
 * Until the session is not lost any more.  One that was resumed and then
 * refused what had been waiting has not served anybody: that was an attempt like
 * others, and their time goes on.
 */
static void sess_reconnect(struct odrp_sess *s)
{
	struct odrp_dev *dev = s->dev;
	bool refused = s->reconnect.refused;
	bool again = just_resumed(s);
	int err;

	s->reconnect.refused = false;
	if (!refused) {
		s->reconnect.lost_at = jiffies;
		s->reconnect.last_err = 0;
		s->reconnect.until = jiffies +
			msecs_to_jiffies(READ_ONCE(dev->dead_after_ms));
	}
	deadline_start(s);
	odrp_wake_room(dev);
	odrp_uevent(dev, ODRP_UEVENT_LOST);
	sess_disconnect(s);
	if (refused)
		s->reconnect.last_err = -ENOBUFS;
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
		deadline_arm(s);
		sess_disconnect(s);
		if (error_is_final(err))
			odrp_sess_die(s, "cannot be resumed (error %d)",
				      err);
		sess_backoff(s);
	}
}

/* What is different now from what an operator would expect. */
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
 * The session is dead: all of it is torn down, once.  If its device has been
 * removed by force then that is reported, also of one that had been dead before and
 * was served by its backing device.  Its connections may be well: then the
 * memory node hears a goodbye, and need not wait for us to come again.
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
		cancel_delayed_work_sync(&s->reconnect.end_work);
		odrp_beat_stop(s);
		if (forced)
			odrp_beat_bye(s);
		odrp_sess_hang_up(s);
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
	else if (READ_ONCE(s->reconnect.lacks_spares) &&
		 odrp_sess_state(s) == ODRP_LIVE)
		stock_spares(s);
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
