// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The session's state, and what brings it down: a connection that fails, the device,
 * the end of its time.  Whoever finds that out says so here, from wherever it is;
 * what is done about it is the work item of reconnect.c, which is queued, and not called.
 */
#include <linux/module.h>
#include "odrp.h"
#include "trace.h"

/*
 * odrp_sess_move() - the only way to change the state
 * @ret_from: the state before, also when the move is not allowed
 *
 * Return: whether the move was allowed, and made.
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
 * odrp_reconnect_queue() - the session is lost or dead, or there is something new to report
 *
 * Any context.  Nobody closes it meanwhile.
 */
void odrp_reconnect_queue(struct odrp_sess *s)
{
	queue_work(s->reconnect.wq, &s->reconnect.work);
}

static void report(struct odrp_sess *s, const char *level, const char *what,
		   const char *fmt, va_list *args)
{
	struct va_format vaf = { .fmt = fmt, .va = args };

	printk("%s" KBUILD_MODNAME ": odrp%d: %pISpc: %s: %pV\n", level,
	       s->dev->id, &s->addr.dst, what, &vaf);
}

/* Return: whether this call has made it dead.  Under s->lock. */
static bool to_dead(struct odrp_sess *s)
{
	enum odrp_state from;

	lockdep_assert_held(&s->lock);
	if (!odrp_sess_move(s, ODRP_DEAD, &from))
		return false;
	/* While connecting, the connecting thread cleans up. */
	if (from != ODRP_CONNECTING)
		odrp_reconnect_queue(s);
	/* The reconnect work may be running, and waiting for memory that only this frees. */
	if (odrp_state_is_lost(from))
		mod_delayed_work(odrp_wq, &s->reconnect.end_work, 0);
	wake_up_all(&s->reconnect.wake);
	return true;
}

/*
 * odrp_sess_fail() - something went wrong that a connection does not survive
 *
 * Any context but hard interrupt.  The first one prints, and has the session
 * resumed; one that was not live yet is dead.
 */
void odrp_sess_fail(struct odrp_sess *s, const char *fmt, ...)
{
	enum odrp_state from;
	bool lost, dead;
	va_list args;

	spin_lock_bh(&s->lock);
	lost = odrp_sess_move(s, ODRP_LOST, &from);
	dead = from == ODRP_CONNECTING && to_dead(s);
	if (lost)
		odrp_reconnect_queue(s);
	else if (odrp_state_is_lost(from))
		s->reconnect.broken = true;
	spin_unlock_bh(&s->lock);
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
 * odrp_sess_die() - something went wrong that a session does not survive
 *
 * Any context but hard interrupt.  The first one prints and starts the end;
 * all others, and those of a session that is being closed, do nothing.
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
 * odrp_sess_expire() - odrp_sess_die(), if the time of a lost session is over
 *
 * Return: whether it has died of that, now.
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
 * odrp_sess_event() - the device says that a queue has failed
 *
 * Any context, hard interrupt as well.
 */
void odrp_sess_event(struct odrp_sess *s, int event)
{
	WRITE_ONCE(s->event, event);
	queue_work(odrp_wq, &s->event_work);
}

/* Nothing that can have an event is left: those of it are old. */
void odrp_sess_no_events(struct odrp_sess *s)
{
	cancel_work_sync(&s->event_work);
}

/*
 * odrp_reconnect_restock() - try again to have spares, if there are none
 *
 * Any context.
 */
void odrp_reconnect_restock(struct odrp_sess *s)
{
	if (!READ_ONCE(s->reconnect.lacks_spares))
		return;
	spin_lock_bh(&s->lock);
	if (odrp_sess_state(s) == ODRP_LIVE)
		odrp_reconnect_queue(s);
	spin_unlock_bh(&s->lock);
}

void odrp_fail_init(struct odrp_sess *s)
{
	spin_lock_init(&s->lock);
	INIT_WORK(&s->event_work, event_work);
}

/*
 * odrp_sess_check_patience() - warn when it is tried for longer than there is a session
 *
 * The memory node has said in its accept for how long it waits.
 */
void odrp_sess_check_patience(const struct odrp_sess *s)
{
	unsigned int ms = READ_ONCE(s->dev->dead_after_ms);

	if (ms >= s->beat.dead_ms)
		pr_warn("odrp%d: dead_after_ms=%u: expected less than dead-ms of %pISpc, %u\n",
			s->dev->id, ms, &s->addr.dst, s->beat.dead_ms);
}
