// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The heartbeat: a counter, and what the lease is about, RDMA-written to the
 * memory node every beat_ms.  The memory node's grants come the other way,
 * written by it into a page of ours, and are read here before each beat.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "grant.h"
#include "odrp.h"

/* How long a goodbye may take, twice. */
#define BYE_MS	1000

/* How often the memory node may ask us to leave. */
#define ASK_INTERVAL	(60 * HZ)
#define ASK_BURST	10

static void beat_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct odrp_beat *b = container_of(wc->wr_cqe, struct odrp_beat, cqe);
	struct odrp_sess *s = container_of(b, struct odrp_sess, beat);

	if (wc->status != IB_WC_SUCCESS)
		odrp_sess_fail(s, "heartbeat: %s (%d)",
			       ib_wc_status_msg(wc->status), wc->status);
	atomic_set_release(&b->busy, 0);
}

/* An operator asks now and then; a memory node that always does is not heard. */
static void ask_to_leave(struct odrp_sess *s)
{
	if (!__ratelimit(&s->beat.asks))
		return;
	pr_notice("odrp%d: memory node asks to swap off and leave\n",
		  s->dev->id);
	odrp_uevent(s->dev, ODRP_UEVENT_DRAIN);
}

/* Has the session MACs of heartbeats and grants?  By K of its last handshake. */
static bool is_signed(const struct odrp_sess *s)
{
	return s->features & ODRP_WIRE_F_SIGNED;
}

static u64 read_grant(struct odrp_sess *s, u64 limit)
{
	struct odrp_ctl_buf *ctl = &s->ctl;
	struct odrp_wire_grant g;
	u32 flags;

	ib_dma_sync_single_for_cpu(s->ibdev, ctl->dma, PAGE_SIZE,
				   DMA_FROM_DEVICE);
	if (!odrp_grant_read(ctl->page, ctl->epoch,
			     is_signed(s) ? &s->auth.key : NULL, s->auth.handle,
			     &g))
		goto out;
	flags = be32_to_cpu(g.flags);
	if ((flags & ODRP_WIRE_GRANT_DRAIN) &&
	    !(ctl->flags & ODRP_WIRE_GRANT_DRAIN))
		ask_to_leave(s);
	ctl->epoch = be64_to_cpu(g.epoch);
	WRITE_ONCE(ctl->flags, flags);
	limit = min_t(u64, be64_to_cpu(g.lease), s->dev->slots.nr);
out:
	ib_dma_sync_single_for_device(s->ibdev, ctl->dma, PAGE_SIZE,
				      DMA_FROM_DEVICE);
	return limit;
}

/*
 * odrp_beat_forget() - what has been granted so far counts no more
 *
 * The accept says the lease; an older grant, not read yet, may say more.  One with a MAC
 * is of another K, and epochs begin anew with each.
 */
void odrp_beat_forget(struct odrp_sess *s)
{
	struct odrp_ctl_buf *ctl = &s->ctl;
	const struct odrp_wire_grant *g = ctl->page;

	if (!g)
		return;
	ib_dma_sync_single_for_cpu(s->ibdev, ctl->dma, PAGE_SIZE,
				   DMA_FROM_DEVICE);
	ctl->epoch = is_signed(s) ? 0 : be64_to_cpu(READ_ONCE(g->epoch));
	WRITE_ONCE(ctl->flags, 0);
	ib_dma_sync_single_for_device(s->ibdev, ctl->dma, PAGE_SIZE,
				      DMA_FROM_DEVICE);
}

static void fill_beat(struct odrp_sess *s, u32 flags)
{
	struct odrp_dev *dev = s->dev;
	struct odrp_wire_beat *w = s->beat.buf;
	u64 limit, held, used;

	limit = read_grant(s, atomic64_read(&dev->lease.limit));
	held = odrp_lease_set(&dev->lease, limit, &used);

	ib_dma_sync_single_for_cpu(s->ibdev, s->beat.dma, sizeof(*w),
				   DMA_TO_DEVICE);
	w->beat = cpu_to_be64(++s->beat.nr);
	w->used = cpu_to_be64(used);
	w->want = cpu_to_be64(odrp_lease_want(used, dev->slots.nr));
	w->lease_held = cpu_to_be64(held);
	w->ctl_raddr = cpu_to_be64(s->ctl.reg.mr->iova);
	w->ctl_rkey = cpu_to_be32(s->ctl.reg.mr->rkey);
	w->flags = cpu_to_be32(flags);
	if (is_signed(s))
		odrp_auth_sign_beat(&s->auth.key, s->auth.handle, w);
	ib_dma_sync_single_for_device(s->ibdev, s->beat.dma, sizeof(*w),
				      DMA_TO_DEVICE);
	/* Near the limit, give back what is only waiting to be reused. */
	if (used + used / 8 >= limit)
		odrp_free_now(dev);
}

static int post_beat(struct odrp_sess *s)
{
	struct odrp_beat *b = &s->beat;
	struct ib_sge sge = {
		.addr	= b->dma,
		.length	= sizeof(*b->buf),
		.lkey	= s->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe		= &b->cqe,
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.remote_addr	= b->raddr,
		.rkey		= b->rkey,
	};

	return odrp_post_send(s->admin->qp, &wr.wr, NULL);
}

/*
 * The last beat is still on its way.  It has a deadline like any request: a
 * device that nobody uses has nothing else to miss its memory node by, and for
 * rdma_rxe seven retries are retries for ever.
 */
static bool overdue(struct odrp_sess *s)
{
	if (!time_after(jiffies, s->beat.deadline))
		return false;
	odrp_sess_fail(s, "no heartbeat acknowledged within %u ms",
		       READ_ONCE(s->dev->timeout_ms));
	return true;
}

static void beat_work(struct work_struct *w)
{
	struct odrp_beat *b = container_of(to_delayed_work(w),
					   struct odrp_beat, work);
	struct odrp_sess *s = container_of(b, struct odrp_sess, beat);
	enum odrp_state state = odrp_sess_state(s);
	int err;

	if (state != ODRP_LIVE && state != ODRP_CONNECTING)
		return;
	odrp_reserve_collect(&s->reserve);
	odrp_reconnect_restock(s);
	/* While it is on its way its buffer is not touched. */
	if (atomic_read_acquire(&b->busy)) {
		if (overdue(s))
			return;
	} else {
		fill_beat(s, 0);
		b->deadline = jiffies +
			msecs_to_jiffies(READ_ONCE(s->dev->timeout_ms));
		atomic_set(&b->busy, 1);
		odrp_fault_lost(s->admin);
		err = post_beat(s);
		if (err) {
			atomic_set(&b->busy, 0);
			odrp_sess_fail(s, "posting a heartbeat: error %d", err);
			return;
		}
		odrp_stat_inc(s->dev, beats);
	}
	queue_delayed_work(odrp_wq, &b->work, msecs_to_jiffies(b->period_ms));
}

static int init_buf(struct odrp_sess *s)
{
	struct odrp_beat *b = &s->beat;
	int err;

	b->cqe.done = beat_done;
	b->buf = odrp_alloc(kzalloc(sizeof(*b->buf), GFP_KERNEL));
	if (!b->buf)
		return -ENOMEM;
	err = odrp_map(s->ibdev, b->buf, sizeof(*b->buf), DMA_TO_DEVICE,
		       &b->dma);
	if (err) {
		kfree(b->buf);
		b->buf = NULL;
	}
	return err;
}

static int init_ctl(struct odrp_sess *s)
{
	struct odrp_ctl_buf *ctl = &s->ctl;
	int err;

	ctl->page = odrp_alloc((void *)get_zeroed_page(GFP_KERNEL));
	if (!ctl->page)
		return -ENOMEM;
	err = odrp_map(s->ibdev, ctl->page, PAGE_SIZE, DMA_FROM_DEVICE,
		       &ctl->dma);
	if (err) {
		free_page((unsigned long)ctl->page);
		ctl->page = NULL;
		return err;
	}
	return odrp_reg_make(s->admin, &ctl->reg, &ctl->dma, 1);
}

/* The admin connection is up: make what the beat needs. */
int odrp_beat_init(struct odrp_sess *s)
{
	int err;

	err = init_buf(s);
	if (err)
		return err;
	return init_ctl(s);
}

/*
 * Beats start while the I/O connections are still being made: the memory
 * node's patience began with the admin connection.  The last one of a session that is
 * resumed may never have completed (unplug.c), and has gone with its queue pair.
 */
void odrp_beat_start(struct odrp_sess *s)
{
	atomic_set(&s->beat.busy, 0);
	queue_delayed_work(odrp_wq, &s->beat.work, 0);
}

/* Wait, for a moment, for the beat that is on its way. */
static bool wait_idle(struct odrp_beat *b)
{
	unsigned int ms;

	for (ms = 0; ms < BYE_MS && atomic_read_acquire(&b->busy); ms++)
		usleep_range(1000, 1500);
	return !atomic_read_acquire(&b->busy);
}

/*
 * odrp_beat_bye() - say that this is the last beat
 *
 * The memory node then takes the pages back as soon as the connection ends,
 * and does not wait for us to come again.  If it does not hear it, it will have
 * waited in vain, that is all.  No beat runs any more.
 */
void odrp_beat_bye(struct odrp_sess *s)
{
	struct odrp_beat *b = &s->beat;

	if (!s->admin || !s->admin->established || !s->ctl.reg.mr ||
	    !wait_idle(b))
		return;
	fill_beat(s, ODRP_WIRE_BEAT_BYE);
	atomic_set(&b->busy, 1);
	if (post_beat(s))
		atomic_set(&b->busy, 0);
	wait_idle(b);
}

void odrp_beat_stop(struct odrp_sess *s)
{
	cancel_delayed_work_sync(&s->beat.work);
}

void odrp_beat_prepare(struct odrp_sess *s)
{
	INIT_DELAYED_WORK(&s->beat.work, beat_work);
	ratelimit_state_init(&s->beat.asks, ASK_INTERVAL, ASK_BURST);
}

/* Nothing is in flight on the admin connection any more. */
void odrp_beat_exit(struct odrp_sess *s)
{
	struct odrp_ctl_buf *ctl = &s->ctl;
	struct odrp_beat *b = &s->beat;

	odrp_reg_free(&ctl->reg);
	if (ctl->page) {
		ib_dma_unmap_single(s->ibdev, ctl->dma, PAGE_SIZE,
				    DMA_FROM_DEVICE);
		free_page((unsigned long)ctl->page);
	}
	ctl->page = NULL;
	if (b->buf) {
		ib_dma_unmap_single(s->ibdev, b->dma, sizeof(*b->buf),
				    DMA_TO_DEVICE);
		kfree(b->buf);
	}
	b->buf = NULL;
}
