/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection to the memory node: its requests, its queue pair, and its spares.
 */
#ifndef _ODRP_CONN_H
#define _ODRP_CONN_H

#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <odrp/wire.h>
#include "queue.h"
#include "req.h"

struct odrp_end;
struct odrp_msgs;
struct odrp_sess;

/*
 * struct odrp_spare - a spare id and a spare queue pair, for use after a connection breaks
 * @id:		NULL: none
 * @end:	destroys @id (end.c)
 * @qp:		NULL: none; completes to the completion queue of the connection
 * @making:	the completion queue for which a spare queue pair is being made; NULL: none
 * @left:	equals the old @making if the connection has given up that completion queue
 *		meanwhile: the maker of the queue pair destroys both
 *
 * The connection's lock guards all fields.  stock.c makes spares, and an attempt to
 * reconnect takes them; neither waits for the other.
 */
struct odrp_spare {
	struct rdma_cm_id	*id;
	struct odrp_end		*end;
	struct ib_qp		*qp;
	struct ib_cq		*making;
	struct ib_cq		*left;
};

/*
 * struct odrp_waiter - the wait of odrp_post_wait()
 * @late:	the device has not completed a work request, and nobody waits for it any more
 */
struct odrp_waiter {
	struct ib_cqe		cqe;
	struct completion	done;
	enum ib_wc_status	status;
	bool			late;
};

/* The last work request of a send or receive queue; see unplug.c. */
struct odrp_marker {
	struct ib_cqe		cqe;
	struct completion	done;
};

/*
 * struct odrp_conn - an RDMA connection: admin, handshake, or one chain of one queue
 * @keyed:	requests are READs or WRITEs of pages with the session's rkeys
 *		(keys.c): no chain executes them, and their completion is their answer
 * @live:	requests may be posted; guarded by @lock
 * @paused:	requests may not be posted now but may be later, and wait; guarded
 *		by @lock
 * @next_r:	number of the next request; guarded by @lock
 * @unsignaled:	requests since the last one that asked for the completion of its
 *		SEND; guarded by @lock
 * @free:	list of requests not in use; guarded by @lock
 * @nr_free:	length of @free; guarded by @lock
 * @waiting:	bios that wait for a request; guarded by @lock
 * @unsent:	requests that could not be posted, oldest first, linked by
 *		->next; guarded by @lock
 * @msgs:	messages of the handshake's connection, which has no requests and no
 *		answers; NULL for all other connections
 * @counter:	counter of the REQ, if the session has a key; the MAC of the answer
 *		covers the same counter
 * @stuck:	the RDMA device has failed to destroy a queue pair of this connection:
 *		all memory that the queue pair may touch is kept for good
 * @flushes:	the markers are posted; unplug.c waits for them until @flush_until
 *		(jiffies)
 * @pollers:	number of tasks that poll the CQ besides the softirq; teardown waits
 *		until it is 0
 */
struct odrp_conn {
	struct odrp_sess	*sess;
	struct odrp_queue	*q;	/* NULL: admin or handshake */
	u8			chain;
	bool			keyed;
	u16			depth;

	struct rdma_cm_id	*id;
	struct odrp_end		*end;	/* destroys id (end.c) */
	struct mutex		plug_lock;	/* guards qp against events of id */
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	bool			cq_failed;
	struct odrp_spare	spare;
	struct irq_poll		iop;
	irq_poll_fn		*poll;	/* what iop calls */
	struct ib_cqe		recv_cqe;
	struct odrp_waiter	waiter;
	struct odrp_marker	sent, received;
	unsigned long		flush_until;
	bool			flushes;
	bool			stuck;
	struct ib_recv_wr	recv[ODRP_RECV_CHUNK];
	struct odrp_msgs	*msgs;
	atomic_t		recv_used;

	/* connecting */
	struct completion	cm_done;
	int			cm_status;
	bool			established;
	__be64			counter;
	u32			peer_qpn;	/* in the REP */
	u8			accept_len;
	u8			accept_reads;	/* outstanding READs, in the REP */
	union {
		struct odrp_wire_admin_accept admin;
		struct odrp_wire_io_accept io;
		u8 raw[ODRP_WIRE_REP_PRIV_MAX];
	} accept;

	/* requests */
	spinlock_t		lock;
	bool			live;
	bool			paused;
	u32			next_r;
	unsigned int		unsignaled;
	struct odrp_req		*free;
	unsigned int		nr_free;
	struct bio_list		waiting;
	struct odrp_req		*unsent;
	atomic_t		pollers;
	wait_queue_head_t	idle;	/* woken by a freed request while not live */

	struct odrp_req		*reqs;
	unsigned int		nr_reqs;
	bool			irq_on;		/* irq_poll is enabled */
	bool			started;
	struct odrp_reg		*regs;
	unsigned int		nr_regs;
#ifdef ODRP_FAULTS
	bool			flushed;	/* see fault.c */
#endif
};

/*
 * odrp_conn_quiet() - how many requests may share one answer, or one completion
 *
 * Of requests that are posted together, only the first, every n-th and the last one ask for
 * an answer.  The other requests are quiet.  The memory node executes the requests of a
 * connection in order, so an answer also says that the quiet requests before the answered
 * one are done.  These quiet requests are the group of the answered request: a list that
 * begins at its ->group, oldest first.  They end when the answered request ends.  For the
 * same reason only the answered request may ask for the completion of its SEND.
 *
 * A READ or WRITE has no answer, and its completion stands for one (the first may be quiet,
 * too): a send queue completes its work requests in order.  A quiet one that fails
 * completes all the same, with an error.
 */
static inline unsigned int odrp_conn_quiet(const struct odrp_conn *conn)
{
	return conn->chain == ODRP_WIRE_LOAD ? ODRP_ANSWER_LOAD :
					       ODRP_ANSWER_EVERY;
}

/*
 * odrp_conn_lazy() - do most requests end without the completion of their SEND?
 *
 * Requests without a page do: their answer ends them.  But when at least three requests in
 * a row have not asked for the completion of their SEND, the next one that is not quiet
 * asks for it, and ends only when both completion and answer have come.  So the send queue
 * never has more than depth * 4 work requests.
 *
 * The NIC may send a request again after its answer, when the memory of the head already
 * has another request.  The memory node has received the first transmission, for it has
 * answered, and drops the repetition.  But the page of a store may be unmapped by then,
 * so a store always waits for both.
 */
static inline bool odrp_conn_lazy(const struct odrp_conn *conn)
{
	return !conn->keyed && (conn->chain == ODRP_WIRE_LOAD ||
				conn->chain == ODRP_WIRE_INVALIDATE);
}

static inline bool odrp_conn_stores(const struct odrp_conn *conn)
{
	return conn->chain == ODRP_WIRE_MAPPED_STORE ||
	       conn->chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* io.c: posting requests */
void odrp_batch_init(struct odrp_batch *b, struct odrp_queue *q);
struct odrp_req *odrp_batch_take(struct odrp_batch *b, struct odrp_conn *conn,
				 struct bio *bio);
void odrp_batch_return(struct odrp_batch *b);
void odrp_batch_post(struct odrp_batch *b);
unsigned int odrp_conn_take_waiting(struct odrp_conn *conn,
				    struct bio_list *bios);
struct odrp_req *odrp_conn_take_unsent(struct odrp_conn *conn);
struct odrp_req *odrp_req_get(struct odrp_conn *conn, struct bio *bio);
void odrp_req_end(struct odrp_req *req);
void odrp_req_put(struct odrp_req *req);
void odrp_reqs_put(struct odrp_conn *conn, struct odrp_ended *e);
void odrp_req_fill(struct odrp_req *req, u64 slot);
int odrp_conn_resume(struct odrp_conn *conn);

static inline void odrp_batch_add(struct odrp_batch *b, struct odrp_req *req)
{
	unsigned int c = req->conn->chain;

	req->next = NULL;
	*b->ch[c].tail = req;
	b->ch[c].tail = &req->next;
	if (++b->ch[c].nr >= ODRP_POST_CHUNK)
		odrp_batch_post(b);
}

/* done.c: completions */
int odrp_conn_reap(struct odrp_conn *conn, int budget);
void odrp_conn_fail_posted(struct odrp_conn *conn);
void odrp_req_settle(struct odrp_req *req);
void odrp_reqs_abort(struct odrp_req *req);
void odrp_batch_abort(struct odrp_batch *b);

/* plug.c: QP and CQ of a connection, and spare ones */
int odrp_conn_plug(struct odrp_conn *conn);
int odrp_conn_post_recvs(struct odrp_conn *conn);
int odrp_plug_stock(struct odrp_conn *conn);
bool odrp_conn_has_spare(const struct odrp_conn *conn);
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc);
void odrp_recv_done(struct ib_cq *cq, struct ib_wc *wc);

/* unplug.c: the end of QP and CQ */
int odrp_conn_break(struct odrp_conn *conn);
void odrp_conn_drain(struct odrp_conn *conn);
void odrp_conn_quiesce(struct odrp_conn *conn);
void odrp_conn_halt(struct odrp_conn *conn);
void odrp_conn_unplug(struct odrp_conn *conn);
void odrp_plug_discard(struct odrp_conn *conn, struct ib_qp *qp,
		       struct ib_cq *cq);
void odrp_plug_exit(struct odrp_conn *conn);

/* queue.c: memory of a connection */
struct odrp_conn *odrp_conn_new(struct odrp_sess *s, struct odrp_queue *q,
				u8 chain, irq_poll_fn *poll);
int odrp_conn_make_reqs(struct odrp_conn *conn);
void odrp_conn_start(struct odrp_conn *conn);
void odrp_conn_pause(struct odrp_conn *conn);
void odrp_conn_destroy(struct odrp_conn *conn);
void odrp_conn_free(struct odrp_conn *conn);
int odrp_post_wait(struct odrp_conn *conn, struct ib_send_wr *wr,
		   unsigned int ms);
int odrp_map(struct ib_device *ibdev, void *p, size_t len,
	     enum dma_data_direction dir, u64 *ret_dma);
int odrp_reg_make(struct odrp_conn *conn, struct odrp_reg *reg,
		  const u64 *dma, unsigned int nr);
void odrp_reg_free(struct odrp_reg *reg);

/* cm.c: RDMA CM */
int odrp_cm_begin(struct odrp_conn *conn);
int odrp_cm_finish(struct odrp_conn *conn, unsigned long until);
int odrp_cm_connect(struct odrp_conn *conn);
int odrp_conn_stock(struct odrp_conn *conn);
bool odrp_cm_mtu_cut(struct odrp_conn *conn);
void odrp_cm_disconnect(struct odrp_conn *conn);
void odrp_cm_drop(struct odrp_conn *conn);
void odrp_cm_exit(struct odrp_conn *conn);

/* end.c: the end of connection ids */
int odrp_end_init(void);
void odrp_end_exit(void);
struct odrp_end *odrp_end_new(void);
void odrp_end_free(struct odrp_end *e);
void odrp_end_id(struct odrp_end *e, const struct odrp_sess *owner,
		 struct rdma_cm_id *id);
void odrp_end_wait(const struct odrp_sess *owner);

#endif /* _ODRP_CONN_H */
