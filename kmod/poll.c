// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Polling completion queues.  The softirq (irq_poll) reaps completions, and so does a task
 * that waits for a load; both may reap one queue at once.  Bios that completions have
 * released are issued here.
 */
#include <linux/sched.h>
#include "odrp.h"

#define POLL_BATCH	8

/*
 * odrp_conn_kick() - issue bios that wait for a request of the connection
 *
 * Issues several bios together, so that they share a doorbell and an answer.  Goes on
 * until no request is free or no bio waits: a bio may turn out to need a request of
 * another connection, and leave the free request to the next bio.
 */
void odrp_conn_kick(struct odrp_conn *conn)
{
	struct bio_list bios;

	if (!conn->q)
		return;
	bio_list_init(&bios);
	while (odrp_conn_take_waiting(conn, &bios))
		odrp_issue(conn->q, &bios);
}

static int conn_poll(struct odrp_conn *conn, int budget)
{
	int n = odrp_conn_reap(conn, budget);

	if (n && conn->q) {
		odrp_issue_released(conn->q);
		odrp_conn_kick(conn);
	}
	return n;
}

/*
 * The irq_poll function, in softirq.  Arms the interrupt again only when the queue was seen
 * empty.
 */
int odrp_conn_poll(struct irq_poll *iop, int budget)
{
	struct odrp_conn *conn = container_of(iop, struct odrp_conn, iop);
	int n = conn_poll(conn, budget);

	if (n >= budget)
		return budget;
	irq_poll_complete(iop);
	if (ib_req_notify_cq(conn->cq, IB_CQ_NEXT_COMP |
				       IB_CQ_REPORT_MISSED_EVENTS) > 0)
		irq_poll_sched(iop);
	return n;
}

/*
 * odrp_poll_load() - poll for the end of a load, for odrp_poll_us at most
 * @last: the last load that the caller has posted
 *
 * The requests of a connection are answered in order: when the last load has ended, so
 * have the caller's loads before it, and the caller does not wait for loads that others
 * post behind it.  Does not poll when loads have been taking more than twice as long as
 * odrp_poll_us: then the softirq is as good.
 */
void odrp_poll_load(struct odrp_queue *q, struct odrp_mark last)
{
	struct odrp_conn *conn = q->conn[ODRP_WIRE_LOAD];
	u64 ns = (u64)READ_ONCE(odrp_poll_us) * NSEC_PER_USEC;
	u64 end;

	if (!ns || READ_ONCE(q->load_ewma_ns) > 2 * ns)
		return;

	/*
	 * Pairs with odrp_conn_quiesce(): that function sees this poller and waits, or this
	 * task sees that the connection is not live.
	 */
	atomic_inc(&conn->pollers);
	smp_mb__after_atomic();
	odrp_stat_inc(q->dev, polls);
	end = ktime_get_ns() + ns;
	while (READ_ONCE(conn->live)) {
		conn_poll(conn, POLL_BATCH);
		if (odrp_req_gen(last.req) != last.gen) {
			odrp_stat_inc(q->dev, polls_hit);
			break;
		}
		if (need_resched() || ktime_get_ns() >= end)
			break;
		cpu_relax();
	}
	smp_mb__before_atomic();
	atomic_dec(&conn->pollers);
}
