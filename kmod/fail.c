// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The state of a session, and the causes that end or interrupt the session: a connection
 * fails, the device reports an error, a time-out passes.  Code that detects such a cause
 * calls a function of this file, in nearly any context.  The function changes the state and
 * queues the work item of reconnect.c, which does the rest.
 */
#include <linux/module.h>
#include "odrp.h"
#include "trace.h"

/*
 * How long after the loss a request that has to fail may wait for the end of its queue
 * pair.  Longer than a device that works takes to flush a queue pair (FLUSH_MS of
 * unplug.c).
 */
#define LET_GO_MS	3000

/*
 * odrp_sess_move() - change the state; the only function that does
 * @ret_from: set to the state before, also when the change is not allowed
 *
 * Any context.
 *
 * Return: true when the change is allowed and made.
 */
bool odrp_sess_move(struct odrp_sess *s, enum odrp_state to,
		    enum odrp_state *ret_from)
{
	int from = atomic_read(&s->state);

	do {
		*ret_from = from;
		if (!odrp_state_may(from, to))
			return false;
	} while (!atomic_try_cmpxchg(&s->state, &from, to));
	trace_odrp_state(s->dev->id, from, to);
	return true;
}

/*
 * odrp_reconnect_queue() - queue the work item of reconnect.c
 *
 * The session is lost or dead, or its device has been removed by force.  Any context.  The
 * caller makes sure that the session is not closed meanwhile.
 */
void odrp_reconnect_queue(struct odrp_sess *s)
{
	queue_work(s->reconnect.wq, &s->reconnect.work);
}

/*
 * When end_work (reconnect.c) has to run next, in jiffies.
 *
 * Return: false when end_work does not have to run.
 */
static bool next_end(const struct odrp_reconnect *r, enum odrp_state state,
		     unsigned long *ret_when)
{
	switch (state) {
	case ODRP_LOST:
		*ret_when = r->until;
		if (r->fail_at && time_before(r->fail_at, r->until))
			*ret_when = r->fail_at;
		return true;
	case ODRP_FAILING:
		*ret_when = r->until;
		if (!r->released && time_before(r->let_go_at, r->until))
			*ret_when = r->let_go_at;
		return true;
	case ODRP_DEAD:
		*ret_when = r->let_go_at;
		return !r->released;
	default:
		return false;
	}
}

/*
 * odrp_sess_arm_end() - schedule end_work (reconnect.c) for the next time-out
 *
 * The caller holds s->lock, as it does to change the state or the times.
 */
void odrp_sess_arm_end(struct odrp_sess *s)
{
	struct odrp_reconnect *r = &s->reconnect;
	unsigned long when;
	long left;

	lockdep_assert_held(&s->lock);
	if (!next_end(r, odrp_sess_state(s), &when))
		return;
	left = when - jiffies;
	mod_delayed_work(odrp_wq, &r->end_work, max(left, 0L) + 1);
}

/*
 * The session was live until now: its time-outs begin.  When the session was lost before
 * and resumed, and has not yet issued all requests that waited, the time-outs of that loss
 * go on.  Otherwise a memory node that breaks each new connection could make requests wait
 * for ever.
 */
static void begin_times(struct odrp_sess *s)
{
	unsigned int ms = s->dev->backing ? 0 : READ_ONCE(s->dev->io_fail_ms);
	struct odrp_reconnect *r = &s->reconnect;
	unsigned long fail_at;

	lockdep_assert_held(&s->lock);
	if (!r->unfinished) {
		r->lost_at = jiffies;
		r->until = jiffies +
			msecs_to_jiffies(READ_ONCE(s->dev->dead_after_ms));
	}
	r->unfinished = true;
	r->end = r->until ?: 1;
	fail_at = r->lost_at + msecs_to_jiffies(ms);
	r->fail_at = ms && time_before(fail_at, r->until) ? fail_at ?: 1 : 0;
	r->released = false;
	r->let_go_at = jiffies + msecs_to_jiffies(LET_GO_MS);
}

static void report(struct odrp_sess *s, const char *level, const char *what,
		   const char *fmt, va_list *args)
{
	struct va_format vaf = { .fmt = fmt, .va = args };

	printk("%s" KBUILD_MODNAME ": odrp%d: %pISpc: %s: %pV\n", level,
	       s->dev->id, &s->addr.dst, what, &vaf);
}

/* Return: true when this call has made the session dead.  Under s->lock. */
static bool to_dead(struct odrp_sess *s)
{
	enum odrp_state from;

	lockdep_assert_held(&s->lock);
	if (!odrp_sess_move(s, ODRP_DEAD, &from))
		return false;
	if (from == ODRP_LIVE)
		begin_times(s);
	/* While connecting, the connecting thread cleans up. */
	if (from != ODRP_CONNECTING) {
		odrp_reconnect_queue(s);
		/* The reconnect work may wait for memory that only the end of requests frees. */
		mod_delayed_work(odrp_wq, &s->reconnect.end_work, 0);
	}
	wake_up_all(&s->reconnect.wake);
	return true;
}

/*
 * odrp_sess_fail() - report an error that breaks a connection
 *
 * Any context but hard interrupt.  A live session becomes lost: the call prints the
 * message and queues the reconnect.  A session that is still connecting becomes dead.  On
 * a session that is lost already, the call only marks the current attempt as broken.
 * dead_after_ms and io_fail_ms count from the call that makes the session lost (see
 * begin_times()).
 */
void odrp_sess_fail(struct odrp_sess *s, const char *fmt, ...)
{
	enum odrp_state from;
	bool lost, dead;
	va_list args;

	spin_lock_bh(&s->lock);
	lost = odrp_sess_move(s, ODRP_LOST, &from);
	dead = from == ODRP_CONNECTING && to_dead(s);
	if (lost) {
		begin_times(s);
		odrp_sess_arm_end(s);
		odrp_reconnect_queue(s);
	} else if (odrp_state_is_lost(from)) {
		s->reconnect.broken = true;
	}
	spin_unlock_bh(&s->lock);
	if (lost)
		odrp_wake_room(s->dev);
	if (!dead && !(lost && __ratelimit(&s->reconnect.log_limit)))
		return;
	va_start(args, fmt);
	if (dead)
		report(s, KERN_ERR, "session is dead", fmt, &args);
	else
		report(s, KERN_WARNING, "connection lost", fmt, &args);
	va_end(args);
}

/*
 * odrp_sess_die() - report an error that ends the session
 *
 * Any context but hard interrupt.  The first call prints the message and queues the
 * teardown.  Later calls do nothing, nor do calls for a session that is being closed.
 */
void odrp_sess_die(struct odrp_sess *s, const char *fmt, ...)
{
	va_list args;
	bool dead;

	spin_lock_bh(&s->lock);
	dead = to_dead(s);
	spin_unlock_bh(&s->lock);
	if (!dead)
		return;
	va_start(args, fmt);
	report(s, KERN_ERR, "session is dead", fmt, &args);
	va_end(args);
}

/*
 * odrp_sess_expire() - odrp_sess_die(), if the session is lost and dead_after_ms has passed
 *
 * Return: true when this call has made the session dead.
 */
bool odrp_sess_expire(struct odrp_sess *s, const char *fmt, ...)
{
	va_list args;
	bool dead;

	spin_lock_bh(&s->lock);
	dead = odrp_state_is_lost(odrp_sess_state(s)) && s->reconnect.end &&
	       !time_before(jiffies, s->reconnect.end) && to_dead(s);
	spin_unlock_bh(&s->lock);
	if (!dead)
		return false;
	va_start(args, fmt);
	report(s, KERN_ERR, "session is dead", fmt, &args);
	va_end(args);
	return true;
}

static void event_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(w, struct odrp_sess, event_work);

	odrp_sess_fail(s, "device event: %s",
		       ib_event_msg(READ_ONCE(s->event)));
}

/*
 * odrp_sess_event() - the device reports that a queue pair or completion queue has failed
 * @event: enum ib_event_type
 *
 * Any context, also hard interrupt.
 */
void odrp_sess_event(struct odrp_sess *s, int event)
{
	WRITE_ONCE(s->event, event);
	queue_work(odrp_wq, &s->event_work);
}

/*
 * No queue is left that could report an event: cancel the report of an event of an old
 * queue.  Sleeps.
 */
void odrp_sess_no_events(struct odrp_sess *s)
{
	cancel_work_sync(&s->event_work);
}

/*
 * odrp_sess_restock() - queue the making of spares (stock.c), if a spare is missing
 *
 * Any context but hard interrupt.
 */
void odrp_sess_restock(struct odrp_sess *s)
{
	if (!READ_ONCE(s->lacks_spares))
		return;
	spin_lock_bh(&s->lock);
	if (odrp_sess_state(s) == ODRP_LIVE)
		queue_work(odrp_stock_wq, &s->stock_work);
	spin_unlock_bh(&s->lock);
}

void odrp_fail_init(struct odrp_sess *s)
{
	spin_lock_init(&s->lock);
	INIT_WORK(&s->event_work, event_work);
}

/*
 * odrp_sess_check_patience() - warn when dead_after_ms is not below the memory node's dead-ms
 *
 * The memory node's accept has told the most that it grants as dead-ms, after which it
 * gives up the session: trying to resume the session for longer is useless.
 */
void odrp_sess_check_patience(const struct odrp_sess *s)
{
	unsigned int ms = READ_ONCE(s->dev->dead_after_ms);

	if (ms >= s->beat.dead_ms)
		pr_warn("odrp%d: dead_after_ms=%u: expected less than dead-ms of %pISpc, %u\n",
			s->dev->id, ms, &s->addr.dst, s->beat.dead_ms);
}
