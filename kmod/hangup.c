// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of connections that serve nobody any more, of what is under way on them, and
 * of what waits for them.
 */
#include <linux/sched/mm.h>
#include <linux/string.h>
#include "odrp.h"

/*
 * odrp_conn_give_up() - bios that wait for a request do without
 *
 * The session serves nobody any more: they fail, or go elsewhere.
 */
void odrp_conn_give_up(struct odrp_conn *conn)
{
	struct bio_list waiting;

	spin_lock_bh(&conn->lock);
	waiting = conn->waiting;
	bio_list_init(&conn->waiting);
	spin_unlock_bh(&conn->lock);

	if (bio_list_empty(&waiting))
		return;
	odrp_unpark(conn->sess->dev, bio_list_size(&waiting));
	odrp_issue(conn->q, &waiting);
}

/* odrp_conn_abort_unsent() - end what could not be posted: the session is dead */
void odrp_conn_abort_unsent(struct odrp_conn *conn)
{
	struct odrp_req *list = odrp_conn_take_unsent(conn);

	if (!list)
		return;
	odrp_reqs_abort(list);
	odrp_issue_released(conn->q);
}

/*
 * odrp_conn_end_posted() - fail what was posted and not answered
 *
 * As odrp_conn_fail_posted(); what that releases is issued.
 */
void odrp_conn_end_posted(struct odrp_conn *conn)
{
	odrp_conn_fail_posted(conn);
	if (conn->q)
		odrp_issue_released(conn->q);
}

/* No request is posted from now on, and nobody waits for one. */
void odrp_conn_close(struct odrp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->live = false;
	conn->paused = false;
	spin_unlock_bh(&conn->lock);

	odrp_conn_give_up(conn);
	odrp_conn_abort_unsent(conn);
	odrp_wake_room(conn->sess->dev);
}

static bool is_idle(struct odrp_conn *conn)
{
	bool idle;

	spin_lock_bh(&conn->lock);
	idle = conn->nr_free == conn->nr_reqs;
	spin_unlock_bh(&conn->lock);
	return idle;
}

/*
 * odrp_sess_unplug() - no connection has a queue pair, and no NIC touches what is in flight
 *
 * After each has been paused or closed.  Takes a moment, also if the device is ill.
 */
void odrp_sess_unplug(struct odrp_sess *s)
{
	odrp_sess_each_conn(s, odrp_conn_drain);
	odrp_sess_each_conn(s, odrp_conn_quiesce);
	odrp_sess_each_conn(s, odrp_conn_halt);
	odrp_sess_each_conn(s, odrp_conn_unplug);
}

/*
 * End what is in flight: after odrp_conn_close(), and without a queue pair.  Requests
 * without an answer fail.  What another CPU is preparing to post fails there; that is
 * all that is waited for.
 */
static void conn_stop(struct odrp_conn *conn)
{
	if (!conn->started)
		return;
	odrp_conn_end_posted(conn);
	wait_event(conn->idle, is_idle(conn));
}

/* What the NIC may write to stays, for good. */
static void conn_destroy(struct odrp_conn *conn)
{
	if (!conn->stuck)
		odrp_conn_destroy(conn);
}

static void admin_exit(struct odrp_sess *s)
{
	if (s->admin && s->admin->stuck)
		return;
	odrp_beat_exit(s);
	odrp_sync_exit(s);
	odrp_keys_exit(s);
}

/* odrp_dev_end_wanting() - the session is dead: nobody waits for a page any more */
void odrp_dev_end_wanting(struct odrp_dev *dev)
{
	struct odrp_queue *q;

	if (!odrp_free_wanted(dev))
		return;
	q = odrp_queue_here(dev);
	odrp_free_release(q);
	odrp_issue_released(q);
}

void odrp_sess_each_conn(struct odrp_sess *s, void (*fn)(struct odrp_conn *conn))
{
	unsigned int i, c;

	if (s->auth.conn)
		fn(s->auth.conn);
	if (s->admin)
		fn(s->admin);
	for (i = 0; s->queues && i < s->nr_queues; i++) {
		for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
			if (s->queues[i].conn[c])
				fn(s->queues[i].conn[c]);
		}
	}
}

/* Nobody makes a connection any more: nothing that proves or signs is left. */
static void wipe_auth(struct odrp_auth *a)
{
	spin_lock(&a->lock);
	memzero_explicit(a->secret, sizeof(a->secret));
	spin_unlock(&a->lock);
	memzero_explicit(&a->key, sizeof(a->key));
}

/*
 * odrp_sess_hang_up() - end all connections and everything on them
 *
 * One phase for all of them before the next begins: a completion on one may
 * resume a bio on another.  What is gone already is no matter.
 */
void odrp_sess_hang_up(struct odrp_sess *s)
{
	unsigned int noio = memalloc_noio_save();

	cancel_delayed_work_sync(&s->watch_work);
	odrp_beat_stop(s);
	odrp_sess_each_conn(s, odrp_conn_close);
	odrp_dev_end_wanting(s->dev);
	odrp_sess_unplug(s);
	odrp_sess_each_conn(s, conn_stop);
	/* No bio waits for us any more. */
	admin_exit(s);
	odrp_sess_each_conn(s, conn_destroy);
	odrp_sess_each_conn(s, odrp_plug_exit);
	odrp_sess_no_events(s);
	if (s->pd && !s->stuck)
		ib_dealloc_pd(s->pd);
	s->pd = NULL;
	odrp_sess_each_conn(s, odrp_cm_disconnect);
	odrp_sess_each_conn(s, odrp_cm_exit);
	odrp_end_wait(s);
	wipe_auth(&s->auth);
	WRITE_ONCE(s->ibdev, NULL);
	memalloc_noio_restore(noio);
}
