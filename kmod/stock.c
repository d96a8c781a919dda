// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spares for the next time that a connection breaks: a queue pair and a connection id for
 * each connection (plug.c, cm.c).  A separate work item makes them while the session is live.
 * The work item takes mutexes of the RDMA core and allocates memory, and may wait for either.
 * Nobody waits for the work item but the end of the session, after all requests have ended.
 * A session that is lost meanwhile is resumed with the spares that there are.
 *
 * Making spares may not use the kernel's reserves, which are for attempts to resume a
 * session, and starts no I/O while it holds a mutex that such an attempt takes.
 */
#include <linux/sched/mm.h>
#include "odrp.h"

static void stock_conn(struct odrp_conn *conn)
{
	struct odrp_sess *s = conn->sess;

	if (odrp_sess_state(s) != ODRP_LIVE || odrp_conn_stock(conn))
		WRITE_ONCE(s->lacks_spares, true);
}

/* Makes the spares that can be made now.  Heartbeats queue this again for missing ones. */
static void stock_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(w, struct odrp_sess, stock_work);
	unsigned int noio = memalloc_noio_save();

	WRITE_ONCE(s->lacks_spares, false);
	odrp_fault_wait(ODRP_FAULT_BUSY);
	odrp_sess_each_conn(s, stock_conn);
	memalloc_noio_restore(noio);
}

/* odrp_stock_stop() - make no spares from now on; the session is not live any more */
void odrp_stock_stop(struct odrp_sess *s)
{
	cancel_work_sync(&s->stock_work);
}

void odrp_stock_init(struct odrp_sess *s)
{
	INIT_WORK(&s->stock_work, stock_work);
}
