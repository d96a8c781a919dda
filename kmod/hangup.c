// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ending connections that are not used any more, the requests under way on them, and the
 * bios that wait for them.
 */
#include <linux/sched/mm.h>
#include <linux/string.h>
#include "odrp.h"

/*
 * odrp_conn_give_up() - issue the bios that wait for a request again
 *
 * The session does not serve any more: the bios fail, or go to the backing device.
 */
void odrp_conn_give_up(struct odrp_conn *conn)
{
	unsigned int blocks = 0;
	struct bio_list waiting;
	struct bio *bio;

	spin_lock_bh(&conn->lock);
	waiting = conn->waiting;
	bio_list_init(&conn->waiting);
	spin_unlock_bh(&conn->lock);

	if (bio_list_empty(&waiting))
		return;
	bio_list_for_each(bio, &waiting)
		blocks += odrp_bio_blocks(bio);
	odrp_unpark(conn->sess->dev, blocks);
	odrp_issue(conn->q, &waiting);
}

/*
 * odrp_conn_abort_unsent() - end the requests that could not be posted
 *
 * Requests of the connection do not wait any more: the session is dead, FAILING, or being
 * closed.
 */
void odrp_conn_abort_unsent(struct odrp_conn *conn)
{
	struct odrp_req *list = odrp_conn_take_unsent(conn);

	if (!list)
		return;
	odrp_reqs_abort(list);
	odrp_issue_released(conn->q);
}

/*
 * odrp_conn_hold() - stop posting, if requests of the session may not wait any more
 *
 * A session that has become live meanwhile goes on posting: odrp_conn_resume() is called
 * after the change of the state, and takes the same lock.
 */
void odrp_conn_hold(struct odrp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	if (conn->live && !odrp_sess_waits(conn->sess)) {
		conn->paused = true;
		conn->live = false;
	}
	spin_unlock_bh(&conn->lock);
}

/*
 * odrp_conn_end_posted() - fail the requests that were posted and not answered
 *
 * Calls odrp_conn_fail_posted(), then issues the bios that it has released.
 */
void odrp_conn_end_posted(struct odrp_conn *conn)
{
	odrp_conn_fail_posted(conn);
	if (conn->q)
		odrp_issue_released(conn->q);
}

/* Stop posting for good: end the bios and requests that wait to be posted. */
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
 * odrp_sess_unplug() - destroy the queue pairs of all connections
 *
 * After it no NIC accesses memory of requests, unless the device refuses to destroy a
 * queue pair (unplug.c).  The caller has paused or closed each connection.  Sleeps; waits
 * for a device that does not flush its queue pairs for a bounded time.
 */
void odrp_sess_unplug(struct odrp_sess *s)
{
	odrp_sess_each_conn(s, odrp_conn_drain);
	odrp_sess_each_conn(s, odrp_conn_quiesce);
	odrp_sess_each_conn(s, odrp_conn_halt);
	odrp_sess_each_conn(s, odrp_conn_unplug);
}

/*
 * End all requests, after odrp_conn_close() and odrp_conn_unplug().  Requests without an
 * answer fail here.  A request that another CPU is about to post fails on that CPU; this
 * waits for such requests only.
 */
static void conn_stop(struct odrp_conn *conn)
{
	if (!conn->started)
		return;
	odrp_conn_end_posted(conn);
	wait_event(conn->idle, is_idle(conn));
}

/* Memory that the NIC may still write to is never freed. */
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
	odrp_slabs_exit(s);
}

/*
 * odrp_dev_end_wanting() - issue the bios that wait for a page again
 *
 * The session does not serve any more: the bios fail, or go to the backing device.
 */
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

/* No connection is made any more: wipe the secret and the key. */
static void wipe_auth(struct odrp_auth *a)
{
	spin_lock(&a->lock);
	memzero_explicit(a->secret, sizeof(a->secret));
	spin_unlock(&a->lock);
	memzero_explicit(&a->key, sizeof(a->key));
}

/*
 * odrp_sess_hang_up() - end all connections, and all requests on them
 *
 * Each phase covers all connections before the next phase begins: a completion on one
 * connection may release a bio that goes to another.  Parts that were not made, or are
 * gone already, are skipped.  Sleeps.
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
	/* All bios have ended, so this may wait for memory. */
	odrp_stock_stop(s);
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
	odrp_card_put(s);
	memalloc_noio_restore(noio);
}
