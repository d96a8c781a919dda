// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The session: all connections to the memory node, from the first one to closing.
 * state.h has the states.  reconnect.c resumes a session whose connections break.  A dead
 * session stays dead: its device fails all I/O until it is removed, unless it has a backing
 * device (backing.c).
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "odrp.h"

static int open_admin(struct odrp_sess *s)
{
	int err;

	s->admin = odrp_conn_new(s, NULL, 0, odrp_conn_poll);
	if (!s->admin)
		return -ENOMEM;
	err = odrp_cm_connect(s->admin);
	if (err)
		return err;
	err = odrp_beat_init(s);
	if (err)
		return err;
	err = odrp_sync_init(s);
	if (err)
		return err;
	err = odrp_keys_init(s);
	if (err)
		return err;
	err = odrp_slabs_init(s);
	if (err)
		return err;
	return odrp_conn_stock(s->admin);
}

/* The connection is up: makes what it needs for I/O. */
static int open_io(struct odrp_sess *s, struct odrp_queue *q, u8 chain)
{
	struct odrp_conn *conn = q->conn[chain];
	int err;

	err = odrp_conn_make_reqs(conn);
	if (err) {
		pr_err("odrp%d: cannot make the requests of queue %u, chain %u: error %d\n",
		       s->dev->id, q->idx, chain, err);
		return err;
	}
	err = odrp_conn_stock(conn);
	if (err) {
		pr_err("odrp%d: cannot make a spare queue pair for queue %u, chain %u: error %d\n",
		       s->dev->id, q->idx, chain, err);
		return err;
	}
	odrp_conn_start(conn);
	return 0;
}

/*
 * Makes the first I/O connection alone: the memory node answers it when everything is there
 * that a new session needs, and accepts no other I/O connection before.
 */
static int connect_io(struct odrp_sess *s)
{
	unsigned int left;
	int err = odrp_cm_connect(s->queues[0].conn[0]);

	return err ?: odrp_dial(s, 1, &left);
}

static int new_queue(struct odrp_sess *s, unsigned int idx)
{
	struct odrp_queue *q = &s->queues[idx];
	unsigned int c;

	q->dev = s->dev;
	q->idx = idx;
	spin_lock_init(&q->released_lock);
	bio_list_init(&q->released);
	for (c = 0; c < odrp_sess_chains(s); c++) {
		q->conn[c] = odrp_conn_new(s, q, c, odrp_conn_poll);
		if (!q->conn[c])
			return -ENOMEM;
	}
	return 0;
}

static int open_queues(struct odrp_sess *s)
{
	unsigned int i, c;
	int err = 0;

	s->queues = odrp_alloc(kcalloc(s->nr_queues, sizeof(*s->queues),
				       ODRP_GFP_CHOSEN));
	if (!s->queues)
		return -ENOMEM;
	for (i = 0; !err && i < s->nr_queues; i++)
		err = new_queue(s, i);
	if (!err)
		err = connect_io(s);
	if (err)
		return err;
	for (i = 0; i < s->nr_queues; i++) {
		for (c = 0; c < odrp_sess_chains(s); c++) {
			err = open_io(s, &s->queues[i], c);
			if (err)
				return err;
		}
	}
	return 0;
}

static int open_sess(struct odrp_sess *s, unsigned int queues,
		     unsigned int depth)
{
	enum odrp_state from;
	int err;

	err = odrp_reconnect_init(s);
	if (err)
		return err;
	odrp_fail_init(s);
	odrp_stock_init(s);
	odrp_watch_init(s);
	odrp_beat_prepare(s);
	odrp_reserve_init(&s->reserve);
	spin_lock_init(&s->auth.lock);
	s->nr_queues = queues;
	s->depth = depth;
	odrp_sess_move(s, ODRP_CONNECTING, &from);

	err = odrp_handshake_open(s);
	if (!err)
		err = open_admin(s);
	if (err) {
		odrp_sess_close(s);
		odrp_sess_free(s);
		return err;
	}
	odrp_beat_start(s);
	return 0;
}

/*
 * odrp_sess_open() - connect to the memory node, and take over what it grants
 *
 * Connecting takes mutexes of others, and allocates memory while it holds them.  That must
 * not wait for I/O: another odrp device may be lost, and need the same mutexes.
 *
 * Return: 0 with the admin connection up, or -errno with nothing left behind.
 */
int odrp_sess_open(struct odrp_sess *s, unsigned int queues,
		   unsigned int depth)
{
	unsigned int noio = memalloc_noio_save();
	int err = open_sess(s, queues, depth);

	memalloc_noio_restore(noio);
	return err;
}

static int go_live(struct odrp_sess *s)
{
	enum odrp_state from;
	bool live;
	int err;

	err = open_queues(s);
	if (!err)
		err = odrp_slabs_read(s);
	/*
	 * When a connection that was there has broken, the memory node refuses the next ones,
	 * and its reason is not the cause.
	 */
	if (err)
		return odrp_sess_state(s) == ODRP_DEAD ? -ECONNRESET : err;
	/* If a connection broke before, this fails; a session that breaks later is resumed. */
	spin_lock_bh(&s->lock);
	live = odrp_sess_move(s, ODRP_LIVE, &from);
	spin_unlock_bh(&s->lock);
	if (!live)
		return -ECONNRESET;	/* fail.c has logged why */
	odrp_sess_watch(s);
	return 0;
}

/*
 * odrp_sess_go_live() - make the connections for I/O
 *
 * Waits for no I/O, as odrp_sess_open().  The caller has made everything that a request
 * touches.
 *
 * Return: 0 with the session live; else -errno, and the caller closes the session.
 */
int odrp_sess_go_live(struct odrp_sess *s)
{
	unsigned int noio = memalloc_noio_save();
	int err = go_live(s);

	memalloc_noio_restore(noio);
	return err;
}

/*
 * Disconnects.  The structures stay for threads that still read them, without connections.
 */
void odrp_sess_close(struct odrp_sess *s)
{
	enum odrp_state from;

	spin_lock_bh(&s->lock);
	odrp_sess_move(s, ODRP_CLOSING, &from);
	spin_unlock_bh(&s->lock);
	/* Nobody queues reconnect.work from here on. */
	wake_up_all(&s->reconnect.wake);
	flush_work(&s->reconnect.work);
	cancel_delayed_work_sync(&s->reconnect.end_work);
	if (from == ODRP_LIVE || from == ODRP_CONNECTING) {
		odrp_beat_stop(s);
		odrp_beat_bye(s);
	}
	odrp_sess_hang_up(s);
	odrp_reserve_drop(&s->reserve);
	odrp_sess_move(s, ODRP_CLOSED, &from);
}

/* If a queue pair is stuck, its events may still name the connections: these stay. */
void odrp_sess_free(struct odrp_sess *s)
{
	odrp_reconnect_exit(s);
	if (s->stuck)
		return;
	odrp_sess_each_conn(s, odrp_conn_free);
	odrp_keys_free(s);
	odrp_slabs_free(s);
	kfree(s->queues);
	s->queues = NULL;
	s->admin = NULL;
	s->auth.conn = NULL;
}
