/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tracepoints, under events/odrp in tracefs: arrival of bios, blocks that wait, requests
 * posted and ended, changes of the session's state, batches of the free worker.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM odrp

#if !defined(_ODRP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _ODRP_TRACE_H

#include <linux/blkdev.h>
#include <linux/tracepoint.h>
#include "odrp.h"

/* Gives programs that read the format of an event numbers in place of these names. */
TRACE_DEFINE_ENUM(ODRP_INIT);
TRACE_DEFINE_ENUM(ODRP_CONNECTING);
TRACE_DEFINE_ENUM(ODRP_LIVE);
TRACE_DEFINE_ENUM(ODRP_LOST);
TRACE_DEFINE_ENUM(ODRP_FAILING);
TRACE_DEFINE_ENUM(ODRP_DEAD);
TRACE_DEFINE_ENUM(ODRP_CLOSING);
TRACE_DEFINE_ENUM(ODRP_CLOSED);
TRACE_DEFINE_ENUM(ODRP_WIRE_LOAD);
TRACE_DEFINE_ENUM(ODRP_WIRE_MAPPED_STORE);
TRACE_DEFINE_ENUM(ODRP_WIRE_UNMAPPED_STORE);
TRACE_DEFINE_ENUM(ODRP_WIRE_INVALIDATE);
TRACE_DEFINE_ENUM(ODRP_SLOT_OK);
TRACE_DEFINE_ENUM(ODRP_SLOT_ABORTED);
TRACE_DEFINE_ENUM(ODRP_SLOT_FAILED);
TRACE_DEFINE_ENUM(ODRP_FREE_AGE);
TRACE_DEFINE_ENUM(ODRP_FREE_COUNT);
TRACE_DEFINE_ENUM(ODRP_FREE_AGED);
TRACE_DEFINE_ENUM(ODRP_FREE_NOW);

#define show_odrp_state(s)						\
	__print_symbolic(s,						\
			 { ODRP_INIT, "init" },				\
			 { ODRP_CONNECTING, "connecting" },		\
			 { ODRP_LIVE, "live" },				\
			 { ODRP_LOST, "lost" },				\
			 { ODRP_FAILING, "failing" },			\
			 { ODRP_DEAD, "dead" },				\
			 { ODRP_CLOSING, "closing" },			\
			 { ODRP_CLOSED, "closed" })

#define show_odrp_chain(c)						\
	__print_symbolic(c,						\
			 { ODRP_WIRE_LOAD, "load" },			\
			 { ODRP_WIRE_MAPPED_STORE, "mapped_store" },	\
			 { ODRP_WIRE_UNMAPPED_STORE, "unmapped_store" }, \
			 { ODRP_WIRE_INVALIDATE, "invalidate" })

/* REQ_OP_* would stay names in the format of an event. */
#define ODRP_TRACE_READ		0
#define ODRP_TRACE_WRITE	1
#define ODRP_TRACE_DISCARD	2

#define odrp_trace_op(bio)						\
	(bio_op(bio) == REQ_OP_READ ? ODRP_TRACE_READ :			\
	 bio_op(bio) == REQ_OP_WRITE ? ODRP_TRACE_WRITE : ODRP_TRACE_DISCARD)

#define show_odrp_op(op)						\
	__print_symbolic(op,						\
			 { ODRP_TRACE_READ, "load" },			\
			 { ODRP_TRACE_WRITE, "store" },			\
			 { ODRP_TRACE_DISCARD, "free" })

/* A block that waits for no request of a chain waits for its slot, or for a page. */
#define ODRP_TRACE_SLOT		0xff
#define ODRP_TRACE_PAGE		0xfe

#define show_odrp_wait(w)						\
	__print_symbolic(w,						\
			 { ODRP_WIRE_LOAD, "load" },			\
			 { ODRP_WIRE_MAPPED_STORE, "mapped_store" },	\
			 { ODRP_WIRE_UNMAPPED_STORE, "unmapped_store" }, \
			 { ODRP_TRACE_SLOT, "slot" },			\
			 { ODRP_TRACE_PAGE, "page" })

#define show_odrp_end(err)						\
	__print_symbolic(err,						\
			 { 0, "zeros" },				\
			 { ENOSPC, "no_space" },			\
			 { EIO, "io_error" })

#define show_odrp_result(r)						\
	__print_symbolic(r,						\
			 { ODRP_SLOT_OK, "ok" },			\
			 { ODRP_SLOT_ABORTED, "aborted" },		\
			 { ODRP_SLOT_FAILED, "failed" })

/* AGED continues a run that AGE began. */
#define show_odrp_free_why(w)						\
	__print_symbolic(w,						\
			 { ODRP_FREE_AGE, "age" },			\
			 { ODRP_FREE_COUNT, "count" },			\
			 { ODRP_FREE_AGED, "age" },			\
			 { ODRP_FREE_NOW, "now" })

TRACE_EVENT(odrp_bio,
	TP_PROTO(const struct odrp_dev *dev, const struct bio *bio),
	TP_ARGS(dev, bio),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(int, op)
		__field(u64, slot)
		__field(unsigned int, blocks)
	),
	TP_fast_assign(
		__entry->dev = dev->id;
		__entry->op = odrp_trace_op(bio);
		__entry->slot = bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
		__entry->blocks = bio->bi_iter.bi_size / ODRP_BLOCK;
	),
	TP_printk("odrp%d %s slot=%llu blocks=%u", __entry->dev,
		  show_odrp_op(__entry->op), __entry->slot, __entry->blocks)
);

/* @what: a chain that has no free request, or ODRP_TRACE_SLOT or ODRP_TRACE_PAGE. */
TRACE_EVENT(odrp_wait,
	TP_PROTO(const struct odrp_dev *dev, const struct bio *bio, int what),
	TP_ARGS(dev, bio, what),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(u64, slot)
		__field(int, what)
	),
	TP_fast_assign(
		__entry->dev = dev->id;
		__entry->slot = bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
		__entry->what = what;
	),
	TP_printk("odrp%d slot=%llu for=%s", __entry->dev, __entry->slot,
		  show_odrp_wait(__entry->what))
);

/* A block ends without a request.  With an error, all blocks behind it end as well. */
TRACE_EVENT(odrp_end,
	TP_PROTO(const struct odrp_dev *dev, const struct bio *bio,
		 blk_status_t status),
	TP_ARGS(dev, bio, status),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(u64, slot)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = dev->id;
		__entry->slot = bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
		__entry->err = -blk_status_to_errno(status);
	),
	TP_printk("odrp%d slot=%llu %s", __entry->dev, __entry->slot,
		  show_odrp_end(__entry->err))
);

TRACE_EVENT(odrp_post,
	TP_PROTO(const struct odrp_conn *conn, const struct odrp_req *req),
	TP_ARGS(conn, req),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(u16, queue)
		__field(u8, chain)
		__field(u64, slot)
		__field(u32, r)
		__field(u16, idx)
	),
	TP_fast_assign(
		__entry->dev = conn->sess->dev->id;
		__entry->queue = conn->q->idx;
		__entry->chain = conn->chain;
		__entry->slot = req->slot;
		__entry->r = conn->next_r - 1;
		__entry->idx = req->idx;
	),
	TP_printk("odrp%d queue=%u chain=%s slot=%llu r=%u idx=%u",
		  __entry->dev, __entry->queue,
		  show_odrp_chain(__entry->chain), __entry->slot, __entry->r,
		  __entry->idx)
);

TRACE_EVENT(odrp_done,
	TP_PROTO(const struct odrp_conn *conn, const struct odrp_req *req),
	TP_ARGS(conn, req),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(u16, queue)
		__field(u8, chain)
		__field(u64, slot)
		__field(u16, idx)
		__field(int, res)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->dev = conn->sess->dev->id;
		__entry->queue = conn->q->idx;
		__entry->chain = conn->chain;
		__entry->slot = req->slot;
		__entry->idx = req->idx;
		__entry->res = req->res;
		__entry->ns = ktime_get_ns() - req->start_ns;
	),
	TP_printk("odrp%d queue=%u chain=%s slot=%llu idx=%u %s ns=%llu",
		  __entry->dev, __entry->queue,
		  show_odrp_chain(__entry->chain), __entry->slot,
		  __entry->idx, show_odrp_result(__entry->res), __entry->ns)
);

TRACE_EVENT(odrp_state,
	TP_PROTO(int dev, int from, int to),
	TP_ARGS(dev, from, to),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("odrp%d %s -> %s", __entry->dev,
		  show_odrp_state(__entry->from), show_odrp_state(__entry->to))
);

TRACE_EVENT(odrp_free,
	TP_PROTO(int dev, int why, unsigned int sent, s64 pending),
	TP_ARGS(dev, why, sent, pending),
	TP_STRUCT__entry(
		__field(int, dev)
		__field(int, why)
		__field(unsigned int, sent)
		__field(s64, pending)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->why = why;
		__entry->sent = sent;
		__entry->pending = pending;
	),
	TP_printk("odrp%d %s sent=%u pending=%lld", __entry->dev,
		  show_odrp_free_why(__entry->why), __entry->sent,
		  __entry->pending)
);

#endif /* _ODRP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
