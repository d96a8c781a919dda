// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of what is under way, or waits, on connections that serve nobody any more.
 */
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
 * odrp_conn_stop() - end what is in flight
 *
 * After odrp_conn_close().  Requests without an answer fail.  What another CPU
 * is preparing to post fails there.
 */
void odrp_conn_stop(struct odrp_conn *conn)
{
	odrp_conn_quiesce(conn);
	if (!conn->started)
		return;
	odrp_conn_end_posted(conn);
	wait_event(conn->idle, is_idle(conn));
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
