// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The watch of a live session: a work item that looks for a request over its deadline
 * among the outstanding ones.  Such a request breaks the session, so nothing waits for
 * ever.  The work item also compares the MTU of the interface with that of the path
 * (cm.c:odrp_cm_mtu_cut()): when the MTU was cut, packets that do not fit are lost, and
 * nobody reports it.
 */
#include "odrp.h"

#define WATCH_MIN_MS	10
#define WATCH_MAX_MS	500

/* Finds the first request of a connection that is over its deadline; false: none is. */
static bool overdue(struct odrp_conn *conn, unsigned long now, u64 *ret_slot)
{
	unsigned int i;

	for (i = 0; i < conn->nr_reqs; i++) {
		struct odrp_req *req = &conn->reqs[i];

		/* Pairs with io.c:req_number(): a posted request has its own deadline. */
		if (!(atomic_read_acquire(&req->st) & ODRP_REQ_POSTED) ||
		    !time_after(now, READ_ONCE(req->deadline)))
			continue;
		*ret_slot = req->slot;
		return true;
	}
	return false;
}

static unsigned long watch_period(struct odrp_sess *s)
{
	unsigned int ms = READ_ONCE(s->dev->timeout_ms) / 8;

	return msecs_to_jiffies(clamp_t(unsigned int, ms, WATCH_MIN_MS,
					WATCH_MAX_MS));
}

static void watch_work(struct work_struct *w)
{
	struct odrp_sess *s = container_of(to_delayed_work(w),
					   struct odrp_sess, watch_work);
	unsigned long now = jiffies;
	unsigned int i, c;
	u64 slot;

	if (odrp_cm_mtu_cut(s->admin)) {
		odrp_sess_fail(s, "the MTU of the interface was cut");
		return;
	}
	for (i = 0; i < s->nr_queues; i++) {
		for (c = 0; c < odrp_sess_chains(s); c++) {
			if (!overdue(s->queues[i].conn[c], now, &slot))
				continue;
			odrp_sess_fail(s, "no answer within %u ms (slot %llu, queue %u, chain %u)",
				       READ_ONCE(s->dev->timeout_ms), slot, i,
				       c);
			return;
		}
	}
	odrp_sess_watch(s);
}

void odrp_sess_watch(struct odrp_sess *s)
{
	queue_delayed_work(odrp_wq, &s->watch_work, watch_period(s));
}

void odrp_watch_init(struct odrp_sess *s)
{
	INIT_DELAYED_WORK(&s->watch_work, watch_work);
}
