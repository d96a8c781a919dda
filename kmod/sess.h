/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The session: its connections, its state, and what keeps or resumes it.
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
#include "state.h"

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

/* How many entries of the memory node's table are read at a time. */
#define ODRP_SYNC_BATCH		32

/* Where entries of the memory node's table are read to, and by what. */
struct odrp_sync {
	__be64			*entries;
	struct odrp_sync_read	*reads;
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
 * struct odrp_reconnect - resuming a lost session
 * @wq:		its own: it waits for the memory node, and when no worker can be
 *		made the rescuer waits. Nobody else's work may be behind it
 * @broken:	a connection has broken since the attempt began; guarded by
 *		odrp_sess.lock
 * @torn_down:	the session is dead, and all has been torn down
 * @reported_forced: ... and the report said that the device was removed by force
 * @refused:	a new connection has refused what was waiting for it; only the
 *		work item sets it and asks
 * @lost_at: jiffies
 * @resumed_at: when it was last resumed; 0: never
 * @until:	when the attempts end
 * @end:	the same; 0: not reconnecting, nothing ends; guarded by odrp_sess.lock
 * @fail_at:	when requests begin to fail; 0: with the session; guarded by
 *		odrp_sess.lock
 * @looking:	entries are being read: requests do not begin to fail; guarded by
 *		odrp_sess.lock
 * @unplugged:	no queue pair has any of our requests; guarded by odrp_sess.lock
 * @end_work:	has the session die then, whatever @work waits for
 * @last_err:	of the last attempt
 */
struct odrp_reconnect {
	struct workqueue_struct	*wq;
	struct work_struct	work;
	wait_queue_head_t	wake;
	bool			broken;
	bool			torn_down;
	bool			reported_forced;
	bool			refused;
	unsigned long		lost_at;
	unsigned long		resumed_at;
	unsigned long		until;
	unsigned long		end;
	unsigned long		fail_at;
	bool			looking;
	bool			unplugged;
	bool			lacks_spares;	/* the session lives, and ... */
	struct delayed_work	end_work;
	struct ratelimit_state	log_limit;	/* lost, resumed */
	int			last_err;
};

/*
 * struct odrp_auth - who we are to the memory node, and what proves it
 * @on:		the device has a key
 * @name:	ours, filled up with zeros
 * @secret:	guarded by @lock
 * @conn:	of handshakes; NULL: there is no key
 * @knock:	the REQ of a handshake that is being made
 * @key:	K of the last handshake; of who connects
 * @handle:	names @key to the memory node
 * @counter:	of REQs under @key
 */
struct odrp_auth {
	bool			on;
	char			name[ODRP_AUTH_NAME];
	spinlock_t		lock;
	u8			secret[ODRP_AUTH_SECRET];
	struct odrp_conn	*conn;
	struct odrp_auth_knock	knock;
	struct odrp_auth_key	key;
	__be64			handle;
	u64			counter;
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
	bool			stuck;	/* a connection is */
	struct odrp_auth	auth;
	struct odrp_conn	*admin;
	struct odrp_queue	*queues;
	struct odrp_beat	beat;
	struct odrp_ctl_buf	ctl;
	struct odrp_sync	sync;
	struct odrp_keys	keys;
	struct odrp_reconnect	reconnect;
	struct odrp_reserve	reserve;
	spinlock_t		lock;
	struct delayed_work	watch_work;
	int			event;	/* of the device, the last; for ... */
	struct work_struct	event_work;
};

static inline enum odrp_state odrp_sess_state(const struct odrp_sess *s)
{
	return atomic_read(&s->state);
}

/* Requests that cannot be posted may wait until they can. */
static inline bool odrp_sess_waits(const struct odrp_sess *s)
{
	enum odrp_state state = odrp_sess_state(s);

	return state != ODRP_DEAD && state != ODRP_FAILING;
}

/* fail.c: the session's state, and what brings it down */
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
void odrp_reconnect_queue(struct odrp_sess *s);
void odrp_reconnect_restock(struct odrp_sess *s);

/* watch.c: time-outs of requests */
void odrp_watch_init(struct odrp_sess *s);
void odrp_sess_watch(struct odrp_sess *s);

/* sess.c: the session */
int odrp_sess_open(struct odrp_sess *s, unsigned int queues,
		   unsigned int depth);
int odrp_sess_go_live(struct odrp_sess *s);
void odrp_sess_close(struct odrp_sess *s);
void odrp_sess_free(struct odrp_sess *s);
void odrp_sess_lose_device(struct odrp_sess *s);

/* reconnect.c: resuming a lost session */
int odrp_reconnect_init(struct odrp_sess *s);
void odrp_reconnect_exit(struct odrp_sess *s);

/* dial.c: connections for I/O, many at a time */
int odrp_dial(struct odrp_sess *s, unsigned int from, unsigned int *ret_left);

/* lookup.c: slots of which nobody knows whether they have a page */
int odrp_lookup(struct odrp_dev *dev);

/* handshake.c: who is who */
int odrp_handshake_open(struct odrp_sess *s);
int odrp_handshake(struct odrp_sess *s);

/* sync.c: what the memory node has */
int odrp_sync_init(struct odrp_sess *s);
void odrp_sync_exit(struct odrp_sess *s);
int odrp_sync_read(struct odrp_sess *s, const u64 *slots, unsigned int nr,
		   bool *ret_mapped);
int odrp_admin_read(struct odrp_sess *s, u64 dma, u32 len, u64 addr, u32 rkey);

/* reserve.c: memory for others who resume it */
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
void odrp_beat_exit(struct odrp_sess *s);

/* hangup.c: the end of what is under way */
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
