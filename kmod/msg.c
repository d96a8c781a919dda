// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages over a connection: SENDs that are waited for, and receives that have memory.
 * The receives are posted before the connection is made, one for each message that
 * the peer has to say; another one breaks the connection.
 *
 * All memory is one page, made and mapped once.  The peer has no key for it, and of what
 * has come a copy is used.
 */
#include <linux/slab.h>
#include "msg.h"
#include "odrp.h"

#define NR_IN	2

/* Where in the page: what is sent, then what comes. */
#define OUT	0
#define IN(nth)	(((nth) + 1) * ODRP_MSG_MAX)

/*
 * struct in - a message that comes
 * @here:	it has come, or does not come any more
 */
struct in {
	struct ib_cqe		cqe;
	struct ib_recv_wr	wr;
	struct ib_sge		sge;
	struct completion	here;
	enum ib_wc_status	status;
	u32			len;
};

struct odrp_msgs {
	struct in		in[NR_IN];
	void			*page;
	u64			dma;
	struct ib_device	*mapped;	/* NULL: not yet */
};

/*
 * odrp_msgs_new() - the connection is for messages
 *
 * Return: 0; or -ENOMEM, and odrp_msgs_free() is called all the same.
 */
int odrp_msgs_new(struct odrp_conn *conn)
{
	struct odrp_msgs *m = odrp_alloc(kzalloc(sizeof(*m), GFP_KERNEL));
	unsigned int i;

	if (!m)
		return -ENOMEM;
	conn->msgs = m;
	for (i = 0; i < NR_IN; i++)
		init_completion(&m->in[i].here);
	m->page = odrp_alloc((void *)get_zeroed_page(GFP_KERNEL));
	return m->page ? 0 : -ENOMEM;
}

static int map(struct odrp_conn *conn)
{
	struct ib_device *ibdev = conn->sess->ibdev;
	struct odrp_msgs *m = conn->msgs;
	int err;

	if (m->mapped)
		return 0;
	err = odrp_map(ibdev, m->page, PAGE_SIZE, DMA_BIDIRECTIONAL, &m->dma);
	if (!err)
		m->mapped = ibdev;
	return err;
}

static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct in *in = container_of(wc->wr_cqe, struct in, cqe);

	in->status = wc->status;
	in->len = wc->byte_len;
	complete(&in->here);
}

/* odrp_msgs_post() - the receives of a new queue pair, in INIT */
int odrp_msgs_post(struct odrp_conn *conn)
{
	struct odrp_msgs *m = conn->msgs;
	unsigned int i;
	int err;

	err = map(conn);
	if (err)
		return err;
	for (i = 0; i < NR_IN; i++) {
		struct in *in = &m->in[i];

		reinit_completion(&in->here);
		in->status = IB_WC_WR_FLUSH_ERR;
		in->cqe.done = received;
		in->sge = (struct ib_sge) {
			.addr	= m->dma + IN(i),
			.length	= ODRP_MSG_MAX,
			.lkey	= conn->sess->pd->local_dma_lkey,
		};
		in->wr = (struct ib_recv_wr) {
			.wr_cqe		= &in->cqe,
			.sg_list	= &in->sge,
			.num_sge	= 1,
			.next		= i + 1 < NR_IN ? &m->in[i + 1].wr : NULL,
		};
	}
	return odrp_post_recv(conn->qp, &m->in[0].wr);
}

/*
 * odrp_msg_send() - send a message and wait until the peer's NIC has it
 *
 * Return: as odrp_post_wait(), but -ECONNRESET when the connection has ended: a peer that
 * hangs up may not even say that it has the message.
 */
int odrp_msg_send(struct odrp_conn *conn, const void *p, u32 len,
		  unsigned int ms)
{
	struct odrp_msgs *m = conn->msgs;
	struct ib_sge sge = {
		.addr	= m->dma + OUT,
		.length	= len,
		.lkey	= conn->sess->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
	};
	int err;

	memcpy(m->page + OUT, p, len);
	ib_dma_sync_single_for_device(m->mapped, m->dma + OUT, ODRP_MSG_MAX,
				      DMA_BIDIRECTIONAL);
	err = odrp_post_wait(conn, &wr, ms);
	if (err == -EIO && conn->waiter.status == IB_WC_WR_FLUSH_ERR)
		err = -ECONNRESET;
	return err;
}

/*
 * odrp_msg_receive() - wait for a message
 * @nth: of those of this connection, from 0 on
 * @len: which it has to have
 *
 * Return: 0; -ECONNRESET: it does not come; -ETIMEDOUT: it has not come; -EMSGSIZE;
 * -EINTR: the caller is killed.
 */
int odrp_msg_receive(struct odrp_conn *conn, unsigned int nth, void *ret_p,
		     u32 len, unsigned int ms)
{
	struct odrp_msgs *m = conn->msgs;
	struct in *in = &m->in[nth];
	long left;

	left = wait_for_completion_killable_timeout(&in->here,
						    msecs_to_jiffies(ms));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	if (in->status != IB_WC_SUCCESS)
		return -ECONNRESET;
	if (in->len != len)
		return -EMSGSIZE;
	ib_dma_sync_single_for_cpu(m->mapped, m->dma + IN(nth), ODRP_MSG_MAX,
				   DMA_BIDIRECTIONAL);
	memcpy(ret_p, m->page + IN(nth), len);
	return 0;
}

/*
 * odrp_msgs_lost() - the peer has hung up, or the device goes
 *
 * What has not come does not come any more, and what is sent is waited for no longer: the
 * queue pair completes all of it.  Sleeps: waits for who makes or takes away the queue
 * pair.
 */
void odrp_msgs_lost(struct odrp_conn *conn)
{
	mutex_lock(&conn->plug_lock);
	if (conn->qp)
		odrp_conn_break(conn);
	mutex_unlock(&conn->plug_lock);
}

/*
 * odrp_msgs_event() - the device says that a queue has failed: nothing comes any more
 *
 * Any context, hard interrupt as well.  What is being sent has its time-out.
 */
void odrp_msgs_event(struct odrp_conn *conn)
{
	unsigned int i;

	for (i = 0; i < NR_IN; i++)
		complete(&conn->msgs->in[i].here);
}

/* odrp_msgs_unmap() - the connection has no queue pair, and gets none */
void odrp_msgs_unmap(struct odrp_conn *conn)
{
	struct odrp_msgs *m = conn->msgs;

	if (m->mapped)
		ib_dma_unmap_single(m->mapped, m->dma, PAGE_SIZE,
				    DMA_BIDIRECTIONAL);
	m->mapped = NULL;
}

void odrp_msgs_free(struct odrp_conn *conn)
{
	free_page((unsigned long)conn->msgs->page);
	kfree(conn->msgs);
	conn->msgs = NULL;
}
