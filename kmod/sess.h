/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The session: its connections, its state, its heartbeat, and what resumes it.
 */
#ifndef _ODRP_SESS_H
#define _ODRP_SESS_H

#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <odrp/wire.h>
#include "auth.h"
#include "conn.h"
#include "dev.h"
#include "slabs.h"
#include "state.h"

/* The page that the memory node writes its grant to; nothing else is in the page. */
struct odrp_ctl_buf {
	void			*page;
	u64			dma;
	struct odrp_reg		reg;
	u64			epoch;
	u32			flags;
	u32			heard;	/* the heartbeat that the last grant answers */
};

struct odrp_beat {
	struct ib_cqe		cqe;
	struct odrp_wire_beat	*buf;
	u64			dma;
	u64			raddr;
	u32			rkey;
	u32			period_ms;
	u32			dead_ms;	/* the most that the memory node grants */
	u64			nr;
	atomic_t		busy;
	unsigned long		deadline;	/* jiffies: of the heartbeat under way */
	struct delayed_work	work;
	bool			on;	/* @work is queued, or runs */
	struct ratelimit_state	asks;		/* reports of requests to leave */
};

/* How many entries of the memory node's table are read at a time. */
#define ODRP_SYNC_BATCH		32

/* The buffer and the work requests by which entries of the memory node's table are read. */
struct odrp_sync {
	__be64			*entries;
	struct odrp_sync_read	*reads;
	u64			dma;
	u32			rkey;	/* of the table */
};

/* The rkeys for pages, of a session with ODRP_WIRE_F_KEYED; see keys.h. */
struct odrp_keys {
	u32			*rkeys;	/* NULL: none */
	__be32			*buf;	/* a page that the rkeys are read to */
	u64			dma;
	u32			rkey;	/* for reading the rkeys, or the table of slabs */
};

/*
 * struct odrp_reconnect - resuming a lost session
 * @wq:		for @work alone.  @work waits for the memory node; when the kernel can make no
 *		worker, the rescuer runs @work and waits: other work must not be behind it
 * @broken:	a connection has broken since the attempt began; guarded by
 *		odrp_sess.lock
 * @unfinished:	the session has been lost, and has not issued again all that waited: if
 *		it is lost now, the times of the first loss go on; guarded by odrp_sess.lock
 * @torn_down:	the session is dead, and has been torn down
 * @reported_forced: the report of the dead session said that the device was removed by force
 * @refused:	a new connection has refused the requests that waited; only @work uses this
 * @lost_at:	when the session was lost.  All times are in jiffies; odrp_sess.lock guards
 *		this field and the next five
 * @until:	when the attempts end
 * @end:	@until, but never 0, from the first loss until the session is live; else 0
 * @fail_at:	when requests begin to fail; 0: when the session dies
 * @unplugged:	no queue pair has a request from before the loss
 * @let_go_at:	when requests end even if a queue pair may still have them
 * @released:	the session is FAILING or DEAD, and requests from before have ended; for
 *		@end_work
 * @resumed_at: when the session was last resumed; 0: never
 * @end_work:	ends requests and the session on time, whatever @work waits for
 * @last_err:	the error of the last attempt
 */
struct odrp_reconnect {
	struct workqueue_struct	*wq;
	struct work_struct	work;
	wait_queue_head_t	wake;
	bool			broken;
	bool			unfinished;
	bool			torn_down;
	bool			reported_forced;
	bool			refused;
	unsigned long		lost_at;
	unsigned long		until;
	unsigned long		end;
	unsigned long		fail_at;
	bool			unplugged;
	unsigned long		let_go_at;
	bool			released;
	unsigned long		resumed_at;
	struct delayed_work	end_work;
	struct ratelimit_state	log_limit;	/* lines about lost and resumed */
	int			last_err;
};

/*
 * struct odrp_auth - the compute node's name, and what proves it to the memory node
 * @on:		the device has a key
 * @name:	name of the compute node, filled up with zeros
 * @secret:	guarded by @lock
 * @conn:	the connection for handshakes; NULL: the device has no key
 * @initiation:	the REQ of the handshake that is being made
 * @key:	K of the last handshake; only the thread that connects changes it
 * @handle:	names @key to the memory node
 * @counter:	counter of the last REQ under @key
 */
struct odrp_auth {
	bool			on;
	char			name[ODRP_AUTH_NAME];
	spinlock_t		lock;
	u8			secret[ODRP_AUTH_SECRET];
	struct odrp_conn	*conn;
	struct odrp_auth_initiation	initiation;
	struct odrp_auth_key	key;
	__be64			handle;
	u64			counter;
};

/* Pages that are kept for resuming, see reserve.c. */
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
	u32			features;	/* offered; after the accept: granted */
	struct ib_device	*ibdev;
	struct list_head	card_user;	/* on card.c's list, while ibdev is set */
	struct ib_pd		*pd;
	bool			stuck;	/* a connection is stuck: see odrp_conn */
	struct odrp_auth	auth;
	struct odrp_conn	*admin;
	struct odrp_queue	*queues;
	struct odrp_beat	beat;
	struct odrp_ctl_buf	ctl;
	struct odrp_sync	sync;
	struct odrp_keys	keys;
	struct odrp_slabs	slabs;
	struct odrp_reconnect	reconnect;
	struct work_struct	stock_work;
	bool			lacks_spares;	/* a spare is missing */
	struct odrp_reserve	reserve;
	spinlock_t		lock;
	struct delayed_work	watch_work;
	int			event;	/* the device's last one, for event_work */
	struct work_struct	event_work;
};

static inline enum odrp_state odrp_sess_state(const struct odrp_sess *s)
{
	return atomic_read(&s->state);
}

/* Are pages in slabs (ODRP_WIRE_F_DIRECT)? */
static inline bool odrp_sess_direct(const struct odrp_sess *s)
{
	return s->features & ODRP_WIRE_F_DIRECT;
}

/* Do leases follow what heartbeats ask for (ODRP_WIRE_F_ASKS)? */
static inline bool odrp_sess_asks(const struct odrp_sess *s)
{
	return s->features & ODRP_WIRE_F_ASKS;
}

/* How many I/O connections a queue has: without chains, those for loads and mapped stores. */
static inline unsigned int odrp_sess_chains(const struct odrp_sess *s)
{
	return odrp_sess_direct(s) ? ODRP_WIRE_MAPPED_STORE + 1 : ODRP_WIRE_NR_CHAINS;
}

/* May requests that cannot be posted now wait until they can? */
static inline bool odrp_sess_waits(const struct odrp_sess *s)
{
	enum odrp_state state = odrp_sess_state(s);

	return state != ODRP_DEAD && state != ODRP_FAILING;
}

/* fail.c: changes of the session's state, and failures */
void odrp_fail_init(struct odrp_sess *s);
void odrp_sess_check_patience(const struct odrp_sess *s);
bool odrp_sess_move(struct odrp_sess *s, enum odrp_state to,
		    enum odrp_state *ret_from);
__printf(2, 3)
void odrp_sess_fail(struct odrp_sess *s, const char *fmt, ...);
__printf(2, 3)
void odrp_sess_die(struct odrp_sess *s, const char *fmt, ...);
__printf(2, 3)
bool odrp_sess_expire(struct odrp_sess *s, const char *fmt, ...);
void odrp_sess_event(struct odrp_sess *s, int event);
void odrp_sess_no_events(struct odrp_sess *s);
void odrp_sess_arm_end(struct odrp_sess *s);
void odrp_reconnect_queue(struct odrp_sess *s);
void odrp_sess_restock(struct odrp_sess *s);

/* card.c: RDMA devices, and the removal of one */
int odrp_card_init(void);
void odrp_card_exit(void);
int odrp_card_take(struct odrp_sess *s, struct ib_device *ibdev);
void odrp_card_put(struct odrp_sess *s);

/* watch.c: time-outs of requests */
void odrp_watch_init(struct odrp_sess *s);
void odrp_sess_watch(struct odrp_sess *s);

/* sess.c: the session */
int odrp_sess_open(struct odrp_sess *s, unsigned int queues,
		   unsigned int depth);
int odrp_sess_go_live(struct odrp_sess *s);
void odrp_sess_close(struct odrp_sess *s);
void odrp_sess_free(struct odrp_sess *s);

/* reconnect.c: resuming a lost session */
int odrp_reconnect_init(struct odrp_sess *s);
void odrp_reconnect_exit(struct odrp_sess *s);

/* stock.c: spare queue pairs and connection ids */
void odrp_stock_init(struct odrp_sess *s);
void odrp_stock_stop(struct odrp_sess *s);

/* dial.c: connections for I/O, many at a time */
int odrp_dial(struct odrp_sess *s, unsigned int from, unsigned int *ret_left);

/* lookup.c: reads whether UNKNOWN slots have a page */
int odrp_lookup(struct odrp_dev *dev);

/* handshake.c: the compute node and the memory node prove who they are */
int odrp_handshake_open(struct odrp_sess *s);
int odrp_handshake(struct odrp_sess *s);

/* sync.c: reads from the memory node */
#define ODRP_READ_MS	1000	/* while a session is made or resumed */

int odrp_sync_init(struct odrp_sess *s);
void odrp_sync_exit(struct odrp_sess *s);
int odrp_sync_read(struct odrp_sess *s, const u64 *slots, unsigned int nr,
		   bool *ret_mapped);
int odrp_admin_read(struct odrp_sess *s, u64 dma, u32 len, u64 addr, u32 rkey,
		    unsigned int timeout_ms);

/* reserve.c: memory for other threads that resume a session */
void odrp_reserve_init(struct odrp_reserve *r);
void odrp_reserve_collect(struct odrp_reserve *r);
void odrp_reserve_spend(struct odrp_reserve *r);
void odrp_reserve_drop(struct odrp_reserve *r);

/* keys.c: rkeys for pages */
int odrp_keys_init(struct odrp_sess *s);
int odrp_keys_renew(struct odrp_sess *s);
void odrp_keys_exit(struct odrp_sess *s);
void odrp_keys_free(struct odrp_sess *s);

/* beat.c: heartbeat and lease */
void odrp_beat_prepare(struct odrp_sess *s);
int odrp_beat_init(struct odrp_sess *s);
void odrp_beat_start(struct odrp_sess *s);
void odrp_beat_stop(struct odrp_sess *s);
void odrp_beat_bye(struct odrp_sess *s);
void odrp_beat_forget(struct odrp_sess *s);
void odrp_beat_lease(struct odrp_sess *s, u64 lease);
void odrp_beat_exit(struct odrp_sess *s);

/* hangup.c: ends connections, and the requests on them */
void odrp_conn_hold(struct odrp_conn *conn);
void odrp_conn_give_up(struct odrp_conn *conn);
void odrp_conn_abort_unsent(struct odrp_conn *conn);
void odrp_conn_end_posted(struct odrp_conn *conn);
void odrp_conn_close(struct odrp_conn *conn);
void odrp_dev_end_wanting(struct odrp_dev *dev);
void odrp_sess_each_conn(struct odrp_sess *s,
			 void (*fn)(struct odrp_conn *conn));
void odrp_sess_unplug(struct odrp_sess *s);
void odrp_sess_hang_up(struct odrp_sess *s);

#endif /* _ODRP_SESS_H */
