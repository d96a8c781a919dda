// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fault injection: which call of a kind fails, and what the fault leaves behind.  Only
 * in a module that is built for tests; see fault.h.
 *
 * debugfs has a directory odrp/fail/KIND/ for each kind, with one number per file.  All
 * files can be read and written:
 *	nth	fail the N-th call from now on; counts down, 0: fail no call
 *	every	after that call fail each N-th call again; 0: no other call
 *	calls	number of calls
 *	failed	number of calls that failed
 *
 * Each fault leaves a state that a real fault could leave:
 *
 * alloc, step, recv: the refused call is not made, so nothing is allocated or posted.
 *
 * post: each work request is a call.  The work requests before the refused one are
 * posted; the refused one and those behind it are not, and *ret_bad points to the refused
 * one: like a send queue that has become full.
 *
 * status: a completion that has arrived, and reports success, is changed to an error.  So
 * the NIC no longer uses the memory of that work request, as after a real error.  From
 * then on all completions of the connection report a flush, for a queue pair that has
 * failed is in the error state.  The memory node may have executed the work requests all
 * the same: so it is when an acknowledgement or an answer is lost.  Only cqe, QP and
 * status of a failed completion are valid, so the other fields are overwritten.
 *
 * lost: the session is told that its connection is lost, as by an event of the connection
 * manager, just before a work request is posted or a good completion is handled.  From
 * then on completions report a flush, as after status.  (The connection manager reports
 * its event in a context that may sleep; the fault comes in any context in which
 * odrp_sess_fail() may be called.)
 *
 * map: the page of a store cannot be mapped; the store sends a copy of the page.
 *
 * held: an id is not destroyed until "every" is 0, as if the RDMA core waited for the
 * last message of the id.
 *
 * busy: an attempt to resume a session, or the making of spares, does not begin until
 * "every" is 0, as if another task kept a mutex that is needed, or as if there were no
 * memory.
 *
 * firmware: a queue pair is not destroyed until "every" is 0, as if the device did not
 * answer the command.
 *
 * handler: an id is not given up until "every" is 0, as if the handler of the id were
 * running, under the mutex that the connection manager holds for it.
 *
 * mute: a completion that odrp_post_wait() waits for, or the completion of a marker
 * (unplug.c), is ignored, as if the device had not completed the work request.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/string.h>
#include "odrp.h"

/* modinfo tells a test module from a module for use by this. */
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
	[ODRP_FAULT_FIRMWARE]	= { .name = "firmware" },
	[ODRP_FAULT_HANDLER]	= { .name = "handler" },
	[ODRP_FAULT_MUTE]	= { .name = "mute" },
};

/*
 * odrp_fault() - count a call
 *
 * Any context.
 *
 * Return: true when the call has to fail.
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

/* The connection gets a new queue pair: completions are good again. */
void odrp_fault_plugged(struct odrp_conn *conn)
{
	WRITE_ONCE(conn->flushed, false);
}

/* Called before a work request is posted or a good completion is handled, without locks. */
void odrp_fault_lost(struct odrp_conn *conn)
{
	if (!odrp_fault(ODRP_FAULT_LOST))
		return;
	WRITE_ONCE(conn->flushed, true);
	odrp_sess_fail(conn->sess, "on purpose");
}

/* The kinds held, busy, firmware and handler sleep here until "every" is 0. */
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

/* Applies status and lost to completions that ib_poll_cq() has returned. */
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

/* Like ib_post_send(); a fault cuts the list in front of the refused work request. */
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
		/* The list stays cut: a caller that posts again links the list again. */
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

/* The files are removed together with dir: debug.c. */
void odrp_fault_init(struct dentry *dir)
{
	struct dentry *fail = debugfs_create_dir("fail", dir);
	unsigned int i;

	for (i = 0; i < ODRP_NR_FAULTS; i++)
		kind_show(&kinds[i], fail);
	pr_warn("this module fails on purpose when debugfs says so: for tests only\n");
}
