/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection to the memory node: its requests, its queue pair, and what is spare.
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
#include "words.h"

struct odrp_end;
struct odrp_msgs;
struct odrp_sess;

/*
 * What a connection that breaks takes with it, made before that (plug.c).  Of the one
 * who makes or resumes the session; NULL where there is none.
 */
struct odrp_spare {
	struct rdma_cm_id	*id;
	struct odrp_end		*end;	/* of id */
	struct ib_qp		*qp;
};

/*
 * struct odrp_waiter - for odrp_post_wait()
 * @late:	the request is still posted: nobody waits for it any more
 */
struct odrp_waiter {
	struct ib_cqe		cqe;
	struct completion	done;
	enum ib_wc_status	status;
	bool			late;
};

/* A work request behind all others of its queue; see unplug.c. */
struct odrp_marker {
	struct ib_cqe		cqe;
	struct completion	done;
};

/*
 * struct odrp_conn - an RDMA connection: admin, or one chain of one queue
 * @keyed:	requests are READs or WRITEs of pages, by rkeys of the session
 *		(keys.c): they go to no chain, and each completes by itself
 * @req_len, @tail_len: of requests that have been posted
 * @next_req_len, @next_tail_len: as the last accept has them, of requests from
 *		odrp_conn_fit() on: the chains may be others than before
 * @live:	requests may be posted; guarded by @lock
 * @paused:	not live, but may be again: requests wait; guarded by @lock
 * @next_r:	number of the next request; guarded by @lock
 * @unsignaled:	requests since the last that asks for the completion of its
 *		SEND; guarded by @lock
 * @free:	requests not in use; guarded by @lock
 * @nr_free:	their number; guarded by @lock
 * @waiting:	bios that wait for a request; guarded by @lock
 * @unsent:	requests that could not be posted, oldest first, chained by
 *		->next; guarded by @lock
 * @msgs:	of the handshake's: it has messages, and neither requests nor answers
 * @counter:	of the REQ, with a key; the answer's MAC has it, too
 * @stuck:	the device has not given up a queue pair of it: what it may touch
 *		is kept for good
 * @flushes:	the markers are posted, and come at the latest at @flush_until (jiffies)
 * @pollers:	who polls the CQ besides the softirq; teardown waits for 0
 */
struct odrp_conn {
	struct odrp_sess	*sess;
	struct odrp_queue	*q;	/* NULL: admin */
	u8			chain;
	bool			keyed;
	u16			depth;
	u16			req_len;	/* before the page */
	u16			tail_len;	/* words behind it */
	u16			next_req_len;
	u16			next_tail_len;
	struct odrp_words	words;

	struct rdma_cm_id	*id;
	struct odrp_end		*end;	/* of id */
	struct mutex		plug_lock;	/* qp, for events of id */
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
	u32			peer_qpn;	/* as the REP says */
	u8			accept_len;
	u8			accept_reads;	/* that may be outstanding */
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
	wait_queue_head_t	idle;	/* all requests free, no pollers */

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
 * Of requests that are posted together only each so many-th, and the last,
 * asks for an answer (and the first, where words.ahead): the memory node
 * executes them in order, so that answer speaks for the quiet ones before it.
 * They are its group: chained by ->group, oldest first, from the one that is
 * answered, and they end with it.  For the same reason only that one asks for the
 * completion of its SEND.
 */
static inline unsigned int odrp_conn_quiet(const struct odrp_conn *conn)
{
	if (!conn->words.may_be_quiet)
		return 1;
	return conn->chain == ODRP_WIRE_LOAD ? ODRP_ANSWER_LOAD :
					       ODRP_ANSWER_EVERY;
}

/*
 * Requests without a page complete by their answer alone.  One that is not
 * quiet asks for the completion of its SEND too, and ends only with it, when
 * three or more that did not ask have gone before it: so there are never more
 * than depth * 4 in the send queue.  Should the NIC have to send one again
 * whose head is another's by now, the memory node has it already (it answered)
 * and drops what comes.  A store's page may be gone by then, so a store always
 * waits for both.
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

/* io.c: requests to the wire */
void odrp_batch_init(struct odrp_batch *b, struct odrp_queue *q);
void odrp_batch_add(struct odrp_batch *b, struct odrp_req *req);
void odrp_batch_post(struct odrp_batch *b);
unsigned int odrp_conn_take_waiting(struct odrp_conn *conn,
				    struct bio_list *bios);
struct odrp_req *odrp_conn_take_unsent(struct odrp_conn *conn);
struct odrp_req *odrp_req_get(struct odrp_conn *conn, struct bio *bio);
void odrp_req_put(struct odrp_req *req);
void odrp_req_fill(struct odrp_req *req, u64 slot);
int odrp_conn_resume(struct odrp_conn *conn);

/* done.c: the wire to completions */
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

/* unplug.c: the end of them */
int odrp_conn_break(struct odrp_conn *conn);
void odrp_conn_drain(struct odrp_conn *conn);
void odrp_conn_quiesce(struct odrp_conn *conn);
void odrp_conn_halt(struct odrp_conn *conn);
void odrp_conn_unplug(struct odrp_conn *conn);
void odrp_plug_exit(struct odrp_conn *conn);

/* queue.c: memory of a connection */
struct odrp_conn *odrp_conn_new(struct odrp_sess *s, struct odrp_queue *q,
				u8 chain, irq_poll_fn *poll);
int odrp_conn_make_reqs(struct odrp_conn *conn);
void odrp_conn_fit(struct odrp_conn *conn);
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
