/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that more than one file of the module knows.
 *
 * A page's way: blk.c (bios) -> issue.c (bio to blocks, slot state) -> io.c
 * (request, post) -> wire -> poll.c -> done.c (completions, bio end).  Around it:
 * wait.c (bios that wait for a slot), free.c and flush.c (freed slots), sess.c,
 * hangup.c, mend.c and cm.c (connections), beat.c (heartbeat and lease), backing.c and
 * backdev.c (a second copy), sum.c (checksums), unread.c (what swapoff must not map),
 * keys.c (rkeys for pages), mem.c (memory by size), plug.c and reserve.c (what is kept
 * for reconnecting), end.c (ids that go), tell.c (uevents), ctl.c, sysfs.c and debug.c
 * (users).
 *
 * Locks, outermost first:
 *   ctl.c's rwsem		devices that are being made, and RDMA devices that go
 *   ctl.c's mutex		showing and removing devices
 *   odrp_dev.lock (mutex)	openers, removal
 *   odrp_wait.lock (bh)	bios that wait for one slot
 *   odrp_free.lock (bh)	bios that wait for a page
 *   odrp_sess.lock (bh)	moves that queue the mending, and going live
 *   odrp_conn.plug_lock	(mutex) the queue pair and events of its connection
 *   odrp_conn.lock (bh)	free requests, numbering and posting, waiting bios
 *   odrp_queue.released_lock (bh)	bios that have been released; nothing within
 * Nothing on the data path takes a mutex, allocates, or holds a lock with
 * interrupts off: ib_post_send() may run the whole transport in the caller.
 */
#ifndef _ODRP_H
#define _ODRP_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/in.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <odrp/wire.h>

#include "dev.h"
#include "fault.h"
#include "fring.h"
#include "hist.h"
#include "keys.h"
#include "lease.h"
#include "param.h"
#include "queue.h"
#include "slot.h"
#include "state.h"
#include "stats.h"
#include "words.h"

#define ODRP_BLOCK		ODRP_WIRE_PAGE_SIZE
#define ODRP_BLOCK_SECTORS	(ODRP_BLOCK >> SECTOR_SHIFT)
#define ODRP_MAX_QUEUES		64
#define ODRP_MAX_DEPTH		1024
#define ODRP_MAX_SLOTS		(1ull << 32)	/* a ring entry is 32 bits */
#define ODRP_RECV_CHUNK		16	/* receives reposted at a time */
#define ODRP_POST_CHUNK		32	/* requests posted at a time at most */
#define ODRP_NR_WAITS		64
#define ODRP_MAX_TIMEOUT_MS	600000	/* of whatever is set in ms */
#define ODRP_MAX_SGE		3	/* head, page, words behind it */
#define ODRP_SIGNAL_EVERY	4	/* see odrp_conn_lazy() */
#define ODRP_ANSWER_EVERY	8	/* see odrp_conn_quiet() */
#define ODRP_ANSWER_LOAD	4
#define ODRP_MAX_READS		16	/* outstanding, of a connection */

static_assert(PAGE_SIZE == ODRP_BLOCK);

struct odrp_dev;
struct odrp_backing;
struct odrp_sess;
struct odrp_queue;
struct odrp_conn;
struct odrp_end;

/*
 * A request's life, in one word together with its generation, so that an
 * answer can be matched and counted in one step, whoever sends it and however
 * often.  The request is done when both SENT and ANSWERED are set: then
 * neither NIC touches its memory any more.  (SENT is set from the start where
 * nobody waits for it: odrp_conn_lazy(); ANSWERED where there are no answers: a
 * READ or WRITE has been done when it completes, see odrp_conn.keyed.)
 */
#define ODRP_REQ_POSTED		1u
#define ODRP_REQ_SENT		2u
#define ODRP_REQ_ANSWERED	4u
#define ODRP_REQ_QUIET		8u	/* ends with another: no answer is its */
#define ODRP_REQ_DONE		(ODRP_REQ_SENT | ODRP_REQ_ANSWERED)
#define ODRP_REQ_GEN_SHIFT	16

/*
 * struct odrp_req - one request that may be outstanding on a connection
 * @st:		generation << 16 | ODRP_REQ_*
 * @res:	how it ended, for the slot
 * @act:	what was begun with the slot: decides the accounting
 * @sends:	how often it has been posted
 * @bio, @iter:	loads and stores: the block of the bio (a single 4 KB block)
 * @hdr:	struct odrp_wire_req and recycle words, also those that are sent
 *		behind the page; NULL: a READ or WRITE, which has none
 * @bounce:	page that a load comes to, or that gathers a
 *		store whose block is not within one page
 * @page_dma:	store: the bio's own page while it is mapped, else 0
 */
struct odrp_req {
	struct ib_cqe		cqe;
	struct odrp_conn	*conn;
	struct odrp_req		*next;	/* in the free list or in a batch */
	struct odrp_req		*group;	/* see odrp_conn_quiet() */
	atomic_t		st;
	u16			idx;
	bool			mapped;	/* page_dma is valid */
	u8			sends;
	enum odrp_slot_result	res;
	enum odrp_slot_act	act;
	u64			slot;
	struct bio		*bio;
	struct bvec_iter	iter;
	unsigned long		acct;	/* start time for the block layer */
	u32			sum;	/* store: of the bounce page; see sum.c */
	u64			start_ns;
	unsigned long		deadline;	/* jiffies */

	void			*hdr;
	u64			hdr_dma;
	struct page		*bounce;
	u64			bounce_dma;
	u64			page_dma;
	u64			raddr;	/* load: bounce, as the memory node */
	u32			rkey;	/* sees it */
	struct ib_rdma_wr	wr;	/* a SEND uses its wr.wr alone */
	struct ib_sge		sge[ODRP_MAX_SGE];
};

struct odrp_reg {			/* one fast registration */
	struct ib_mr		*mr;
};

/*
 * struct odrp_conn - an RDMA connection: admin, or one chain of one queue
 * @keyed:	requests are READs or WRITEs of pages, by rkeys of the session
 *		(keys.c): they go to no chain, and each completes by itself
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
 * @pollers:	who polls the CQ besides the softirq; teardown waits for 0
 */
/*
 * What a connection that breaks takes with it, made before that (plug.c).  Of the one
 * who makes or mends the session; NULL where there is none.
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

struct odrp_conn {
	struct odrp_sess	*sess;
	struct odrp_queue	*q;	/* NULL: admin */
	u8			chain;
	bool			keyed;
	u16			depth;
	u16			req_len;	/* before the page */
	u16			tail_len;	/* words behind it */
	struct odrp_words	words;

	struct rdma_cm_id	*id;
	struct odrp_end		*end;	/* of id */
	struct mutex		plug_lock;	/* qp, for events of id */
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	bool			cq_failed;
	struct odrp_spare	spare;
	struct irq_poll		iop;
	struct ib_cqe		recv_cqe;
	struct odrp_waiter	waiter;
	struct ib_recv_wr	recv[ODRP_RECV_CHUNK];
	atomic_t		recv_used;

	/* connecting */
	struct completion	cm_done;
	int			cm_status;
	bool			established;
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

/* What the memory node may write to: the grant, one page of its own. */
struct odrp_ctl_buf {
	void			*page;
	u64			dma;
	struct odrp_reg		reg;
	u64			epoch;
	u32			flags;
};

struct odrp_beat {
	struct ib_cqe		cqe;
	struct odrp_wire_beat	*buf;
	u64			dma;
	u64			raddr;
	u32			rkey;
	u32			period_ms;
	u32			dead_ms;
	u64			nr;
	atomic_t		busy;
	unsigned long		deadline;	/* of the one that is busy */
	struct delayed_work	work;
	struct ratelimit_state	asks;		/* to be left */
};

/* Where an entry of the memory node's table is read to. */
struct odrp_sync {
	__be64			*entry;
	u64			dma;
	u32			rkey;	/* of the table */
};

/* The rkeys of a session with ODRP_WIRE_F_KEYED, see keys.h. */
struct odrp_keys {
	u32			*rkeys;	/* NULL: none */
	__be32			*buf;	/* they are read to, a page at a time */
	u64			dma;
	u32			rkey;	/* of where they are */
};

/*
 * struct odrp_mend - taking the session up again
 * @wq:		its own: it waits for the memory node, and when no worker can be
 *		made the rescuer waits. Nobody else's work may be behind it
 * @broken:	a connection has broken since the attempt began; guarded by
 *		odrp_sess.lock
 * @buried:	the session is dead, and all has been torn down
 * @told:	... and it has been said that the device was removed by force
 * @refused:	a new connection has refused what was waiting for it; only the
 *		work item sets it and asks
 * @lost_at: jiffies
 * @lived_at: when it was last taken up again; 0: never
 * @until:	when the attempts end
 * @end:	the same; 0: not mending, nothing ends; guarded by odrp_sess.lock
 * @unplugged:	no queue pair has any of our requests; guarded by odrp_sess.lock
 * @end_work:	has the session die then, whatever @work waits for
 * @last_err:	of the last attempt
 */
struct odrp_mend {
	struct workqueue_struct	*wq;
	struct work_struct	work;
	wait_queue_head_t	wake;
	bool			broken;
	bool			buried;
	bool			told;
	bool			refused;
	unsigned long		lost_at;
	unsigned long		lived_at;
	unsigned long		until;
	unsigned long		end;
	bool			unplugged;
	bool			lacks_spares;	/* the session lives, and ... */
	struct delayed_work	end_work;
	struct ratelimit_state	says;		/* lost, taken up again */
	int			last_err;
};

/* Pages put by, see reserve.c. */
struct odrp_reserve {
	struct list_head	pages;
	u32			nr;
};

struct odrp_sess {
	struct odrp_dev		*dev;
	atomic_t		state;	/* enum odrp_state */
	struct odrp_addr	addr;
	u64			id;
	u64			token;
	u16			nr_queues;
	u16			depth;
	u32			features;	/* offered; then: granted */
	struct ib_device	*ibdev;
	struct ib_pd		*pd;
	struct odrp_conn	*admin;
	struct odrp_queue	*queues;
	struct odrp_beat	beat;
	struct odrp_ctl_buf	ctl;
	struct odrp_sync	sync;
	struct odrp_keys	keys;
	struct odrp_mend	mend;
	struct odrp_reserve	reserve;
	spinlock_t		lock;
	struct delayed_work	watch_work;
	int			event;	/* of the device, the last; for ... */
	struct work_struct	event_work;
};

struct odrp_wait {
	spinlock_t		lock;
	struct bio_list		bios;
};

struct odrp_free_cpu {
	struct odrp_fring	ring;
};

/* Why the worker that gives pages back runs, or will; the larger one wins. */
enum odrp_free_why {
	ODRP_FREE_IDLE,
	ODRP_FREE_AGE,		/* when the oldest slot has waited long enough */
	ODRP_FREE_COUNT,	/* too many are waiting: down to half */
	ODRP_FREE_AGED,		/* to go on with AGE, which had no request left */
	ODRP_FREE_NOW,		/* the pages are needed */
};

/*
 * struct odrp_free - slots whose remote page is to be given back
 * @pending:	slots FREE_PENDING or FREEING
 * @overflow:	one bit per slot: freed while the CPU's ring was full
 * @armed:	enum odrp_free_why: why the worker will run
 * @starved:	worker stopped because all invalidate requests were in use: why
 *		it was running, 0 otherwise
 * @reuse_cpu:	on whose ring stores look for a page after their own
 * @wanting:	bios that found no page, and wait for one that is pending; guarded
 *		by @lock
 * @nr_wanting:	their number, or more
 */
struct odrp_free {
	struct odrp_free_cpu __percpu *cpu;
	unsigned long		*overflow;
	atomic_t		nr_overflow;
	u64			overflow_hint;
	atomic64_t		pending;
	atomic_t		armed;
	atomic_t		starved;
	int			reuse_cpu;
	spinlock_t		lock;
	struct bio_list		wanting;
	atomic_t		nr_wanting;
	bool			on;
	struct delayed_work	work;
};

/*
 * struct odrp_times - from posting to the end of those of a queue that were
 * answered, in ns, since the device was added
 */
struct odrp_times {
	struct odrp_hist_live load;
	struct odrp_hist_live store;
} ____cacheline_aligned_in_smp;

#define odrp_stat_inc(dev, f)	this_cpu_inc((dev)->stats->f)
#define odrp_stat_add(dev, f, n) this_cpu_add((dev)->stats->f, (n))

/* What is told by uevents, see tell.c. */
enum odrp_tell {
	ODRP_TELL_LOST,
	ODRP_TELL_LIVE,
	ODRP_TELL_DEAD,
	ODRP_TELL_DRAIN,
	ODRP_NR_TELLS,
};

/*
 * struct odrp_tells - what has not been sent yet
 * @lock:	guards the others
 * @todo:	a bit for each enum odrp_tell
 * @on:		there is a disk to send it for
 */
struct odrp_tells {
	spinlock_t		lock;
	unsigned long		todo;
	bool			on;
	struct work_struct	work;
};

struct odrp_dev {
	int			id;
	struct gendisk		*disk;
	struct mutex		lock;
	unsigned int		openers;	/* guarded by lock */
	bool			removing;	/* guarded by lock */
	bool			forced;		/* ... while it was open; for good */
	struct odrp_slots	slots;
	struct odrp_lease	lease;
	struct odrp_free	free;
	struct odrp_wait	waits[ODRP_NR_WAITS];
	atomic_t		parked;	/* bios that wait for a request */
	wait_queue_head_t	room;	/* writers that wait for fewer */
	atomic_t		backing_stores;	/* under way to the backing device */
	wait_queue_head_t	backing_room;	/* writers that wait for fewer */
	struct odrp_sess	sess;
	unsigned int		timeout_ms;
	unsigned int		reconnect_delay_ms;
	unsigned int		dead_after_ms;
	struct odrp_tells	tells;
	unsigned long		*held;	/* see frontswap.c; NULL: not used */
	struct odrp_backing	*backing;	/* NULL: none */
	unsigned long		*good;		/* see backing.c; NULL: none */
	u32			*sums;		/* see sum.c; NULL: none */
	unsigned long		*unread;	/* see unread.c; NULL: not needed */
	bool			some_unread;	/* a bit has been set, once */
	struct odrp_stats __percpu *stats;
	struct odrp_times	*times;	/* one for each queue */
	struct dentry		*debug;	/* in debugfs; an error: none */
};

static inline struct odrp_queue *odrp_queue_here(struct odrp_dev *dev)
{
	return &dev->sess.queues[raw_smp_processor_id() % dev->sess.nr_queues];
}

static inline u32 odrp_req_gen(const struct odrp_req *req)
{
	return (u32)atomic_read(&req->st) >> ODRP_REQ_GEN_SHIFT;
}

static inline enum odrp_state odrp_sess_state(const struct odrp_sess *s)
{
	return atomic_read(&s->state);
}

/* Requests are served, now or when the session has been taken up again. */
static inline bool odrp_dev_serves(const struct odrp_dev *dev)
{
	enum odrp_state state = odrp_sess_state(&dev->sess);

	return state == ODRP_LIVE || state == ODRP_LOST;
}

/* Requests fail: a backing device goes on alone, but not if it is to go. */
static inline bool odrp_dev_fails(const struct odrp_dev *dev)
{
	return !odrp_dev_serves(dev) &&
	       (!dev->backing || READ_ONCE(dev->forced));
}

/* ctl.c: /sys/class/odrp-control */
int odrp_ctl_init(void);
void odrp_ctl_exit(void);
int odrp_ctl_each(int (*fn)(struct odrp_dev *dev));
void odrp_ctl_sweep(void);

int odrp_pm_init(void);
void odrp_pm_exit(void);

/* blk.c: the disk, bios to blocks */
void odrp_blk_init(void (*unused)(void));
int odrp_blk_add(struct odrp_dev *dev);
void odrp_blk_del(struct odrp_dev *dev);
void odrp_blk_free(struct odrp_dev *dev);
void odrp_blk_issue(struct odrp_dev *dev, struct bio_list *bios, bool may_poll);
struct odrp_dev *odrp_blk_dev(struct block_device *bdev);

/* frontswap.c: pages that come without a bio, where the kernel has that */
#ifdef ODRP_HAVE_FRONTSWAP
int odrp_frontswap_add(struct odrp_dev *dev);
void odrp_frontswap_del(struct odrp_dev *dev);
#else
static inline int odrp_frontswap_add(struct odrp_dev *dev)
{
	pr_err("hot_add: backend=frontswap: this kernel has none for modules: expected block\n");
	return -EOPNOTSUPP;
}

static inline void odrp_frontswap_del(struct odrp_dev *dev) { }
#endif

/* sum.c: what the memory node returns is what it was given */
int odrp_sum_add(struct odrp_dev *dev);
void odrp_sum_del(struct odrp_dev *dev);
void odrp_sum_make(struct odrp_req *req);
void odrp_sum_keep(struct odrp_dev *dev, const struct odrp_req *req);
int odrp_sum_check(struct odrp_dev *dev, const struct odrp_req *req);

/* unread.c: pages that swapoff must not map */
int odrp_unread_add(struct odrp_dev *dev);
void odrp_unread_del(struct odrp_dev *dev);
void odrp_unread_mark(struct odrp_dev *dev, u64 slot);
void odrp_unread_clear_bit(struct odrp_dev *dev, u64 slot);
bool odrp_unread_any(const struct odrp_dev *dev);

/* A slot has been read, or written.  Any context; before it is given up. */
static inline void odrp_unread_clear(struct odrp_dev *dev, u64 slot)
{
	if (unlikely(READ_ONCE(dev->some_unread)))
		odrp_unread_clear_bit(dev, slot);
}

/* backdev.c: the backing device, opened and closed */
int odrp_backing_add(struct odrp_dev *dev, const char *path);
void odrp_backing_del(struct odrp_dev *dev);

/* backing.c: a copy on a local device */
const char *odrp_backing_path(const struct odrp_dev *dev);
struct bio *odrp_backing_twin(struct odrp_dev *dev, struct bio *parent,
			      unsigned int offset);
void odrp_backing_begin(struct bio *bio);
void odrp_backing_answered(struct bio *bio, enum odrp_slot_result res,
			   struct odrp_queue *q);
void odrp_backing_alone(struct bio *bio);
void odrp_backing_say(struct odrp_dev *dev);

/* A slot has been taken to be freed. */
static inline void odrp_backing_forget(struct odrp_dev *dev, u64 slot)
{
	clear_bit(slot, dev->good);
}

/* Is there a copy of its contents?  May have changed already. */
static inline bool odrp_backing_has(const struct odrp_dev *dev, u64 slot)
{
	return test_bit(slot, dev->good);
}

/* wait.c: bios that wait for a slot */
void odrp_wait_init(struct odrp_dev *dev);
bool odrp_wait_park(struct odrp_dev *dev, struct bio *bio, u64 slot);
void odrp_wait_end(struct odrp_queue *q, u64 slot);

/* block.c: blocks of bios */
void odrp_block_copy(struct bio *bio, struct bvec_iter iter, struct page *page,
		     bool to_bio);

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

/* room.c: writers that are held up */
void odrp_unpark(struct odrp_dev *dev, unsigned int nr);
void odrp_backing_stored(struct odrp_dev *dev);
void odrp_wait_room(struct odrp_dev *dev);
void odrp_wake_room(struct odrp_dev *dev);
bool odrp_holds_up(const struct odrp_dev *dev);

/* done.c: the wire to completions */
int odrp_conn_reap(struct odrp_conn *conn, int budget);
void odrp_conn_fail_posted(struct odrp_conn *conn);
void odrp_req_settle(struct odrp_req *req);
void odrp_reqs_abort(struct odrp_req *req);
void odrp_batch_abort(struct odrp_batch *b);

/* hangup.c: the end of what is under way */
void odrp_conn_give_up(struct odrp_conn *conn);
void odrp_conn_abort_unsent(struct odrp_conn *conn);
void odrp_conn_end_posted(struct odrp_conn *conn);
void odrp_conn_close(struct odrp_conn *conn);
void odrp_conn_stop(struct odrp_conn *conn);
void odrp_dev_end_wanting(struct odrp_dev *dev);

/* free.c: freed slots */
int odrp_free_init(struct odrp_dev *dev, work_func_t work);
int odrp_free_add(struct odrp_dev *dev);
void odrp_free_exit(struct odrp_dev *dev);
void odrp_free_start(struct odrp_dev *dev);
void odrp_free_stop(struct odrp_dev *dev);
void odrp_free_arm(struct odrp_free *f, enum odrp_free_why why);
s64 odrp_free_most(struct odrp_dev *dev);
bool odrp_free_next(struct odrp_dev *dev, u64 *ret_slot);
void odrp_free_slot(struct odrp_dev *dev, u64 slot);
void odrp_free_queue(struct odrp_dev *dev, u64 slot);
void odrp_slot_more(struct odrp_queue *q, u64 slot, unsigned int more);
bool odrp_free_reuse(struct odrp_queue *q, u64 slot, bool any);
bool odrp_free_wait(struct odrp_dev *dev, struct bio *bio);
void odrp_free_less(struct odrp_queue *q);
bool odrp_free_wanted(struct odrp_dev *dev);
void odrp_free_release(struct odrp_queue *q);
void odrp_free_now(struct odrp_dev *dev);
void odrp_free_credit(struct odrp_dev *dev);
void odrp_free_drain(struct odrp_dev *dev, unsigned int ms);

/* flush.c: pages given back */
void odrp_flush_work(struct work_struct *w);

/* plug.c: QP and CQ of a connection, and spare ones */
int odrp_conn_plug(struct odrp_conn *conn);
int odrp_conn_stock(struct odrp_conn *conn);
bool odrp_conn_has_spare(const struct odrp_conn *conn);
void odrp_conn_halt(struct odrp_conn *conn);
void odrp_conn_unplug(struct odrp_conn *conn);
void odrp_plug_exit(struct odrp_conn *conn);
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc);
void odrp_recv_done(struct ib_cq *cq, struct ib_wc *wc);

/* queue.c: memory of a connection */
struct odrp_conn *odrp_conn_new(struct odrp_sess *s, struct odrp_queue *q,
				u8 chain);
int odrp_conn_make_reqs(struct odrp_conn *conn);
void odrp_conn_start(struct odrp_conn *conn);
void odrp_conn_pause(struct odrp_conn *conn);
void odrp_conn_quiesce(struct odrp_conn *conn);
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
int odrp_cm_connect(struct odrp_conn *conn);
int odrp_cm_move_qp(struct odrp_conn *conn, enum ib_qp_state state);
int odrp_cm_stock(struct odrp_conn *conn);
bool odrp_cm_mtu_cut(struct odrp_conn *conn);
void odrp_cm_let_go(struct odrp_conn *conn);
void odrp_cm_exit(struct odrp_conn *conn);

/* tell.c: uevents */
void odrp_tell_init(struct odrp_dev *dev);
void odrp_tell_start(struct odrp_dev *dev);
void odrp_tell(struct odrp_dev *dev, enum odrp_tell what);
void odrp_tell_stop(struct odrp_dev *dev);

/* end.c: the end of connection ids */
int odrp_end_init(void);
void odrp_end_exit(void);
struct odrp_end *odrp_end_new(void);
void odrp_end_free(struct odrp_end *e);
void odrp_end_id(struct odrp_end *e, const struct odrp_sess *owner,
		 struct rdma_cm_id *id);
void odrp_end_wait(const struct odrp_sess *owner);

/* sess.c: the session */
bool odrp_sess_move(struct odrp_sess *s, enum odrp_state to,
		    enum odrp_state *ret_from);
int odrp_sess_open(struct odrp_sess *s, unsigned int queues,
		   unsigned int depth);
int odrp_sess_go_live(struct odrp_sess *s);
void odrp_sess_close(struct odrp_sess *s);
void odrp_sess_free(struct odrp_sess *s);
__printf(2, 3)
void odrp_sess_fail(struct odrp_sess *s, const char *fmt, ...);
__printf(2, 3)
void odrp_sess_die(struct odrp_sess *s, const char *fmt, ...);
__printf(2, 3)
bool odrp_sess_expire(struct odrp_sess *s, const char *fmt, ...);
void odrp_sess_event(struct odrp_sess *s, int event);
void odrp_sess_no_events(struct odrp_sess *s);
void odrp_sess_lose_device(struct odrp_sess *s);
void odrp_sess_each_conn(struct odrp_sess *s,
			 void (*fn)(struct odrp_conn *conn));
void odrp_sess_hang_up(struct odrp_sess *s);
void odrp_sess_watch(struct odrp_sess *s);

/* mend.c: taking the session up again */
int odrp_mend_init(struct odrp_sess *s);
void odrp_mend_exit(struct odrp_sess *s);
void odrp_mend_queue(struct odrp_sess *s);
void odrp_mend_restock(struct odrp_sess *s);
int odrp_sync_init(struct odrp_sess *s);
void odrp_sync_exit(struct odrp_sess *s);
int odrp_admin_read(struct odrp_sess *s, u64 dma, u32 len, u64 addr, u32 rkey);

/* reserve.c: memory for others who take it up again */
void odrp_reserve_init(struct odrp_reserve *r);
void odrp_reserve_collect(struct odrp_reserve *r);
void odrp_reserve_spend(struct odrp_reserve *r);
void odrp_reserve_drop(struct odrp_reserve *r);

/* keys.c: rkeys for pages */
int odrp_keys_init(struct odrp_sess *s);
int odrp_keys_check(struct odrp_sess *s);
void odrp_keys_exit(struct odrp_sess *s);
void odrp_keys_free(struct odrp_sess *s);

/* beat.c: heartbeat and lease */
void odrp_beat_prepare(struct odrp_sess *s);
int odrp_beat_init(struct odrp_sess *s);
void odrp_beat_start(struct odrp_sess *s);
void odrp_beat_stop(struct odrp_sess *s);
void odrp_beat_bye(struct odrp_sess *s);
void odrp_beat_forget(struct odrp_sess *s);
void odrp_beat_exit(struct odrp_sess *s);

/* stats.c */
void odrp_stats_sum(struct odrp_dev *dev, struct odrp_stats *sum);
void odrp_times_sum(struct odrp_dev *dev, bool store, struct odrp_hist *sum);
s64 odrp_dev_mapped(const struct odrp_dev *dev);

/* sysfs.c */
extern const struct attribute_group *odrp_disk_groups[];

/* debug.c: debugfs */
void odrp_debug_init(void);
void odrp_debug_exit(void);
void odrp_debug_add(struct odrp_dev *dev);
void odrp_debug_del(struct odrp_dev *dev);

#endif /* _ODRP_H */
