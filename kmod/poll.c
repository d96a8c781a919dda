// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues are reaped in softirq (irq_poll) and, for loads, by the
 * reader itself; both may do so at once.  What that has released is issued.
 */
#include <linux/sched.h>
#include "odrp.h"

#define POLL_BATCH	8

/*
 * odrp_conn_kick() - go on with the bios that wait for a request
 *
 * Together, so that they share a doorbell and an answer.  Not finished before
 * there is no free request or no bio: a bio that is resumed here may turn out
 * to need another connection.
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

/* Softirq.  Armed again only after the queue was seen empty. */
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
 * odrp_poll_load() - wait actively, and boundedly, for a load just posted
 *
 * The last of ours: a connection's requests are answered in order, so those
 * before it end first, and what others post behind it is not waited for.  Not
 * tried when loads have been taking much longer than we would poll: then
 * the softirq is as good.
 */
void odrp_poll_load(struct odrp_queue *q, struct odrp_mark last)
{
	struct odrp_conn *conn = q->conn[ODRP_WIRE_LOAD];
	u64 ns = (u64)READ_ONCE(odrp_poll_us) * NSEC_PER_USEC;
	u64 end;

	if (!ns || READ_ONCE(q->load_ewma_ns) > 2 * ns)
		return;

	/* Pairs with odrp_conn_quiesce(): it waits for us, or we see it. */
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
