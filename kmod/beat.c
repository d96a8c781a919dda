// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The heartbeat: a counter and the use of the lease, which the compute node writes by
 * RDMA into memory of the memory node every beat_ms.  The memory node writes its grants
 * by RDMA into a page of the compute node, which reads that page before each beat.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "grant.h"
#include "odrp.h"

/* Limit of each of two waits: for the beat in flight, and for the last beat. */
#define BYE_MS	1000

/* How often a request of the memory node to leave is reported. */
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

/*
 * Reports are limited in rate: an operator asks rarely, and a memory node that asks all the
 * time must not flood the log.
 */
static void ask_to_leave(struct odrp_sess *s)
{
	if (!__ratelimit(&s->beat.asks))
		return;
	pr_notice("odrp%d: memory node asks to swap off and leave\n",
		  s->dev->id);
	odrp_uevent(s->dev, ODRP_UEVENT_DRAIN);
}

/* Do heartbeats and grants of the session carry MACs, made with K of the last handshake? */
static bool is_signed(const struct odrp_sess *s)
{
	return s->features & ODRP_WIRE_F_SIGNED;
}

/* odrp_beat_lease() - take over the lease of an accept */
void odrp_beat_lease(struct odrp_sess *s, u64 lease)
{
	if (odrp_sess_direct(s))
		odrp_slabs_accepted(s, lease);
	else
		atomic64_set(&s->dev->lease.limit,
			     min_t(u64, lease, s->dev->slots.nr));
}

/* Return: does a new grant count? */
static bool read_grant(struct odrp_sess *s, struct odrp_wire_grant *ret_grant)
{
	struct odrp_ctl_buf *ctl = &s->ctl;
	bool counts;
	u32 flags;

	ib_dma_sync_single_for_cpu(s->ibdev, ctl->dma, PAGE_SIZE,
				   DMA_FROM_DEVICE);
	counts = odrp_grant_read(ctl->page, ctl->epoch,
				 is_signed(s) ? &s->auth.key : NULL, s->auth.handle,
				 ret_grant);
	ib_dma_sync_single_for_device(s->ibdev, ctl->dma, PAGE_SIZE,
				      DMA_FROM_DEVICE);
	if (!counts)
		return false;
	flags = be32_to_cpu(ret_grant->flags);
	if ((flags & ODRP_WIRE_GRANT_DRAIN) &&
	    !(ctl->flags & ODRP_WIRE_GRANT_DRAIN))
		ask_to_leave(s);
	ctl->epoch = be64_to_cpu(ret_grant->epoch);
	ctl->heard = be32_to_cpu(ret_grant->heard);
	WRITE_ONCE(ctl->flags, flags);
	return true;
}

static void take_grant(struct odrp_sess *s, const struct odrp_wire_grant *g)
{
	if (odrp_sess_direct(s))
		odrp_slabs_granted(s, g);
	else
		atomic64_set(&s->dev->lease.limit,
			     min_t(u64, be64_to_cpu(g->lease), s->dev->slots.nr));
}

/*
 * odrp_beat_forget() - ignore all grants that were written so far
 *
 * The accept has stated the lease, and an older grant that has not been read yet may state
 * a larger one.  An older grant with a MAC is ignored anyway, because its MAC was made with
 * another K.  Epochs begin anew with each K, so the last epoch is 0 then.
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

static u32 beat_len(const struct odrp_sess *s)
{
	return odrp_wire_beat_len(s->features);
}

/*
 * How long the memory node is asked to keep a silent session.  It hears the last beat
 * before the loss that dead_after_ms counts from, and its clock is another one, so it is
 * asked for half as much again.
 */
static u32 asked_dead_ms(const struct odrp_dev *dev)
{
	u32 ms = READ_ONCE(dev->dead_after_ms);

	return ms + ms / 2;
}

/*
 * Pages whose contents can still be asked for.  The two numbers are read one after the
 * other, while slots are freed.
 */
static u64 kept_pages(struct odrp_dev *dev)
{
	s64 pending = atomic64_read(&dev->free.pending);
	s64 kept = odrp_lease_used(&dev->lease) - max_t(s64, pending, 0);

	return max_t(s64, kept, 0);
}

/* Fill in what the device uses, wants and keeps to. */
static void fill_use(struct odrp_sess *s, struct odrp_wire_beat *w)
{
	struct odrp_dev *dev = s->dev;
	u64 limit = atomic64_read(&dev->lease.limit), held, used;

	if (s->features & ODRP_WIRE_F_KEPT)
		w->kept = cpu_to_be64(kept_pages(dev));
	else
		w->kept = 0;
	if (odrp_sess_direct(s)) {
		odrp_slabs_beat(s, w);
		return;
	}
	held = odrp_lease_set(&dev->lease, limit, &used);
	w->used = cpu_to_be64(used);
	w->want = cpu_to_be64(odrp_sess_asks(s) ?
			      odrp_ask_want(&dev->ask, used, limit, dev->slots.nr) :
			      odrp_lease_want(used, dev->slots.nr));
	w->lease_held = cpu_to_be64(held);
}

/*
 * Near the limit, give back the pages of freed slots instead of keeping them for reuse.  A
 * device that asks for pages is always near its limit: not before it is denied more.
 */
static void save_pages(struct odrp_dev *dev)
{
	u64 used = odrp_lease_used(&dev->lease);
	bool near = odrp_sess_asks(&dev->sess) ? dev->ask.denied :
		    used + used / 8 >= atomic64_read(&dev->lease.limit);

	if (near || dev->places.back)
		odrp_free_now(dev);
}

/* Return: has a grant come? */
static bool fill_beat(struct odrp_sess *s, u32 flags)
{
	struct odrp_wire_beat *w = s->beat.buf;
	struct odrp_wire_grant g;
	bool granted = read_grant(s, &g) && !(flags & ODRP_WIRE_BEAT_BYE);

	if (granted)
		take_grant(s, &g);
	if (odrp_sess_asks(s))
		odrp_ask_measure(&s->dev->ask, odrp_lease_used(&s->dev->lease),
				 jiffies_to_msecs(jiffies));

	ib_dma_sync_single_for_cpu(s->ibdev, s->beat.dma, sizeof(*w),
				   DMA_TO_DEVICE);
	w->dead_ms = cpu_to_be32(asked_dead_ms(s->dev));
	w->beat = cpu_to_be64(++s->beat.nr);
	fill_use(s, w);
	w->ctl_raddr = cpu_to_be64(s->ctl.reg.mr->iova);
	w->ctl_rkey = cpu_to_be32(s->ctl.reg.mr->rkey);
	w->flags = cpu_to_be32(flags);
	if (is_signed(s))
		odrp_auth_sign_beat(&s->auth.key, s->auth.handle, w,
				    beat_len(s));
	ib_dma_sync_single_for_device(s->ibdev, s->beat.dma, sizeof(*w),
				      DMA_TO_DEVICE);
	save_pages(s->dev);
	return granted;
}

/* Writes the bitmap of held slabs, behind the place of the heartbeat, and then the heartbeat. */
static int post_held(struct odrp_sess *s, struct ib_rdma_wr *beat)
{
	struct ib_sge sge = {
		.addr	= s->slabs.held_dma,
		.length	= s->slabs.held_len,
		.lkey	= s->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = *beat;

	wr.wr.next = &beat->wr;
	wr.wr.sg_list = &sge;
	wr.wr.send_flags = 0;
	wr.remote_addr += sizeof(struct odrp_wire_beat);
	return odrp_post_send(s->admin->qp, &wr.wr, NULL);
}

static int post_beat(struct odrp_sess *s)
{
	struct odrp_beat *b = &s->beat;
	struct ib_sge sge = {
		.addr	= b->dma,
		.length	= beat_len(s),
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

	return s->slabs.held ? post_held(s, &wr) :
			       odrp_post_send(s->admin->qp, &wr.wr, NULL);
}

/*
 * Fail the session if the beat in flight is past its deadline.  When nobody uses the device,
 * an overdue beat is the only sign that the memory node is gone: rdma_rxe takes a retry
 * count of 7 as unlimited, so the transport reports no error.
 */
static bool overdue(struct odrp_sess *s)
{
	if (!time_after(jiffies, s->beat.deadline))
		return false;
	odrp_sess_fail(s, "no heartbeat acknowledged within %u ms",
		       READ_ONCE(s->dev->timeout_ms));
	return true;
}

/*
 * After a heartbeat: bios that wait for a page look for one again, if a grant has come, or
 * none has come for too long.
 */
static void go_on(struct odrp_sess *s, bool granted)
{
	struct odrp_dev *dev = s->dev;
	struct odrp_queue *q;

	if (!odrp_ask_round(&dev->ask, odrp_lease_used(&dev->lease),
			    atomic64_read(&dev->lease.limit), dev->slots.nr,
			    s->beat.nr, granted, s->ctl.heard) ||
	    !odrp_free_wanted(dev))
		return;
	q = odrp_queue_here(dev);
	odrp_free_release(q);
	odrp_issue_released(q);
}

/*
 * The last heartbeat is not under way any more: sends another.
 * @ret_granted: has a grant come?
 *
 * Return: 0 or -errno.
 */
static int send_beat(struct odrp_sess *s, bool *ret_granted)
{
	struct odrp_beat *b = &s->beat;
	int err;

	*ret_granted = fill_beat(s, 0);

	b->deadline = jiffies + msecs_to_jiffies(READ_ONCE(s->dev->timeout_ms));
	atomic_set(&b->busy, 1);
	odrp_fault_lost(s->admin);
	err = post_beat(s);
	if (err) {
		atomic_set(&b->busy, 0);
		odrp_sess_fail(s, "posting a heartbeat: error %d", err);
		return err;
	}
	odrp_stat_inc(s->dev, beats);
	go_on(s, *ret_granted);
	return 0;
}

/*
 * The memory node counts heartbeats that it sees one by one, to know that a grant was read.
 * It answers each heartbeat of a device that is denied pages: those have time.
 */
static u32 next_ms(const struct odrp_sess *s, bool granted)
{
	if (odrp_ask_hopes(&s->dev->ask))
		return ODRP_ASK_QUICK_MS;
	return odrp_sess_asks(s) && granted && !s->dev->ask.denied ?
	       min_t(u32, ODRP_WIRE_LOOK_MS * 3 / 2, s->beat.period_ms) : s->beat.period_ms;
}

static void beat_work(struct work_struct *w)
{
	struct odrp_beat *b = container_of(to_delayed_work(w),
					   struct odrp_beat, work);
	struct odrp_sess *s = container_of(b, struct odrp_sess, beat);
	enum odrp_state state = odrp_sess_state(s);
	bool granted = false;

	if (state != ODRP_LIVE && state != ODRP_CONNECTING)
		return;
	odrp_reserve_collect(&s->reserve);
	odrp_sess_restock(s);
	/* The NIC may still read the buffer of a beat in flight: leave the buffer alone. */
	if (atomic_read_acquire(&b->busy)) {
		if (overdue(s))
			return;
	} else if (send_beat(s, &granted)) {
		return;
	}
	queue_delayed_work(odrp_wq, &b->work, msecs_to_jiffies(next_ms(s, granted)));
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

/* Make what heartbeats and grants need.  The admin connection is up. */
int odrp_beat_init(struct odrp_sess *s)
{
	int err;

	err = init_buf(s);
	if (err)
		return err;
	return init_ctl(s);
}

/*
 * Beats start while the I/O connections are still being made, because the memory node
 * has been counting its dead-ms since the admin connection.  When a session is resumed,
 * the last beat on the old connection may never have completed (unplug.c), so busy is
 * cleared here; the old queue pair is gone.
 */
void odrp_beat_start(struct odrp_sess *s)
{
	atomic_set(&s->beat.busy, 0);
	WRITE_ONCE(s->beat.on, true);
	queue_delayed_work(odrp_wq, &s->beat.work, 0);
}

/* Wait up to BYE_MS or somewhat longer for the beat in flight.  Return: is none in flight? */
static bool wait_idle(struct odrp_beat *b)
{
	unsigned int ms;

	for (ms = 0; ms < BYE_MS && atomic_read_acquire(&b->busy); ms++)
		usleep_range(1000, 1500);
	return !atomic_read_acquire(&b->busy);
}

/*
 * odrp_beat_bye() - send a last beat that announces the end of the session
 *
 * With it, the memory node takes the pages back as soon as the connection ends.  Without
 * it, the memory node first waits for the session to be resumed, and nothing else is lost.
 * Call after odrp_beat_stop().  Sleeps for up to two waits of BYE_MS.
 *
 * A session whose making has failed may lack what a heartbeat needs: the page of grants, or
 * the bitmap of held slabs, which is made last.
 */
void odrp_beat_bye(struct odrp_sess *s)
{
	struct odrp_beat *b = &s->beat;

	if (!s->admin || !s->admin->established || !s->ctl.reg.mr ||
	    (odrp_sess_direct(s) && !s->slabs.held) || !wait_idle(b))
		return;
	fill_beat(s, ODRP_WIRE_BEAT_BYE);
	atomic_set(&b->busy, 1);
	if (post_beat(s))
		atomic_set(&b->busy, 0);
	wait_idle(b);
}

void odrp_beat_stop(struct odrp_sess *s)
{
	WRITE_ONCE(s->beat.on, false);
	cancel_delayed_work_sync(&s->beat.work);
}

void odrp_beat_prepare(struct odrp_sess *s)
{
	mutex_init(&s->slabs.lock);
	INIT_DELAYED_WORK(&s->beat.work, beat_work);
	ratelimit_state_init(&s->beat.asks, ASK_INTERVAL, ASK_BURST);
}

/* Call when nothing is in flight on the admin connection any more. */
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
