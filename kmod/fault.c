// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Faults made on purpose: which call of a kind fails, and what a fault leaves
 * behind.  Only in a module that is built for tests; see fault.h.
 *
 * debugfs, odrp/fail/KIND/, one number per file, to be written as well:
 *	nth	fail the N-th call from now on; counts down, 0: none
 *	every	after that fail each N-th again; 0: only the one
 *	calls	how many there were
 *	failed	how many failed
 *
 * What is made up here has to be what could have been.
 *
 * alloc, step, recv: what is refused has not been tried, so nothing was made or posted.
 *
 * post: work requests are counted one by one.  Those in front of the one that is
 * refused are posted, that one and those behind it are not, and *ret_bad says
 * so: like a send queue that has become full.
 *
 * status: only a completion that has come is changed, and one that was good, so
 * that the NIC is done with its memory, as it is after an error.  After it
 * nothing good comes on that connection: a queue pair that has failed is in the
 * error state, and its completions say that they were flushed.  The work behind
 * them may have been done all the same: that is so where the acknowledgement was
 * lost, or the answer.  Of a completion that failed only cqe, QP and status are
 * valid, so the rest is spoilt.
 *
 * lost: the session hears of it as from the connection manager's event, just
 * before something is posted or a good completion is handled.  After that as
 * after an error: the peer is gone.  (The event comes in a context that may
 * sleep, this in any that may call odrp_sess_fail().)
 *
 * map: as alloc; the store goes from a copy of its page.
 *
 * held: an id is not destroyed as long as "every" is not 0, as if RDMA waited for
 * its last message.
 *
 * busy: an attempt to resume a session does not begin as long as "every" is
 * not 0, as if somebody had a mutex that connecting takes, and did not give it back.
 *
 * mute: the completion of a request that is waited for, or of the last one of a queue
 * pair that is flushed, is not seen, as if the device had not completed it.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/string.h>
#include "odrp.h"

/* So that modinfo tells it from one that may be used. */
MODULE_INFO(faults, "fails on purpose: for tests only");

static struct kind {
	const char	*name;
	atomic_t	nth;
	atomic_t	every;
	atomic_t	calls;
	atomic_t	failed;
} kinds[ODRP_NR_FAULTS] = {
	[ODRP_FAULT_ALLOC]	= { .name = "alloc" },
	[ODRP_FAULT_STEP]	= { .name = "step" },
	[ODRP_FAULT_POST]	= { .name = "post" },
	[ODRP_FAULT_RECV]	= { .name = "recv" },
	[ODRP_FAULT_STATUS]	= { .name = "status" },
	[ODRP_FAULT_LOST]	= { .name = "lost" },
	[ODRP_FAULT_MAP]	= { .name = "map" },
	[ODRP_FAULT_HELD]	= { .name = "held" },
	[ODRP_FAULT_BUSY]	= { .name = "busy" },
	[ODRP_FAULT_MUTE]	= { .name = "mute" },
};

/*
 * odrp_fault() - count a call
 *
 * Any context.
 *
 * Return: whether it is to fail.
 */
bool odrp_fault(enum odrp_fault kind)
{
	struct kind *k = &kinds[kind];

	atomic_inc(&k->calls);
	if (atomic_dec_if_positive(&k->nth) != 0)
		return false;
	atomic_inc(&k->failed);
	atomic_set(&k->nth, atomic_read(&k->every));
	return true;
}

/* A connection has a new queue pair. */
void odrp_fault_plugged(struct odrp_conn *conn)
{
	WRITE_ONCE(conn->flushed, false);
}

/* Before something is posted or a good completion is handled; no lock held. */
void odrp_fault_lost(struct odrp_conn *conn)
{
	if (!odrp_fault(ODRP_FAULT_LOST))
		return;
	WRITE_ONCE(conn->flushed, true);
	odrp_sess_fail(conn->sess, "connection lost: on purpose");
}

/* held, busy; may sleep. */
void odrp_fault_wait(enum odrp_fault kind)
{
	if (!odrp_fault(kind))
		return;
	while (atomic_read(&kinds[kind].every))
		msleep(20);
}

static void spoil(struct ib_wc *wc, enum ib_wc_status status)
{
	struct ib_cqe *cqe = wc->wr_cqe;
	struct ib_qp *qp = wc->qp;

	memset(wc, 0xa5, sizeof(*wc));
	wc->wr_cqe = cqe;
	wc->qp = qp;
	wc->status = status;
}

/* What ib_poll_cq() has returned. */
void odrp_fault_polled(struct odrp_conn *conn, struct ib_wc *wc, int nr)
{
	for (; nr > 0; nr--, wc++) {
		if (wc->status != IB_WC_SUCCESS)
			continue;
		if (READ_ONCE(conn->flushed)) {
			spoil(wc, IB_WC_WR_FLUSH_ERR);
		} else if (odrp_fault(ODRP_FAULT_STATUS)) {
			WRITE_ONCE(conn->flushed, true);
			spoil(wc, IB_WC_FATAL_ERR);
		} else {
			odrp_fault_lost(conn);
		}
	}
}

/* As ib_post_send(). */
int odrp_post_send(struct ib_qp *qp, struct ib_send_wr *list,
		   const struct ib_send_wr **ret_bad)
{
	struct ib_send_wr *wr, *last = NULL;
	int err;

	for (wr = list; wr; last = wr, wr = wr->next) {
		if (odrp_fault(ODRP_FAULT_POST))
			break;
	}
	if (!wr)
		return ib_post_send(qp, list, ret_bad);
	if (last) {
		/* It stays so: who has to do it again links it again. */
		last->next = NULL;
		err = ib_post_send(qp, list, ret_bad);
		if (err)
			return err;
	}
	if (ret_bad)
		*ret_bad = wr;
	return -ENOMEM;
}

static void kind_show(struct kind *k, struct dentry *fail)
{
	struct dentry *dir = debugfs_create_dir(k->name, fail);

	debugfs_create_atomic_t("nth", 0644, dir, &k->nth);
	debugfs_create_atomic_t("every", 0644, dir, &k->every);
	debugfs_create_atomic_t("calls", 0644, dir, &k->calls);
	debugfs_create_atomic_t("failed", 0644, dir, &k->failed);
}

/* What is made in dir goes with it: debug.c. */
void odrp_fault_init(struct dentry *dir)
{
	struct dentry *fail = debugfs_create_dir("fail", dir);
	unsigned int i;

	for (i = 0; i < ODRP_NR_FAULTS; i++)
		kind_show(&kinds[i], fail);
	pr_warn("this module fails on purpose when debugfs says so: for tests only\n");
}
