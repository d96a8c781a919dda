/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue: the connections that a CPU uses, and the bios that no longer wait; and the
 * functions that issue bios on a queue and reap its completions (issue.c, poll.c).
 */
#ifndef _ODRP_QUEUE_H
#define _ODRP_QUEUE_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/irq_poll.h>
#include <linux/spinlock.h>
#include <odrp/wire.h>

struct odrp_conn;
struct odrp_dev;
struct odrp_req;

/*
 * struct odrp_queue - the connections that a CPU uses
 * @load_ewma_ns: moving average of the time of a load; a hint, updated without a lock
 * @released: bios that no longer wait, and have to be issued.  odrp_release() adds bios,
 *	odrp_issue() alone takes them; guarded by @released_lock
 */
struct odrp_queue {
	struct odrp_dev		*dev;
	u16			idx;
	atomic_t		users;	/* submitters that use the queue */
	u64			load_ewma_ns;
	struct odrp_conn	*conn[ODRP_WIRE_NR_CHAINS];
	spinlock_t		released_lock;
	struct bio_list		released;
};

static inline bool odrp_has_released(const struct odrp_queue *q)
{
	return READ_ONCE(q->released.head);
}

/*
 * odrp_release() - list bios that no longer wait, to be issued
 * @bios: empty when this returns
 *
 * Any context but hard interrupt.  The caller calls odrp_issue_released() later, when it
 * holds no lock.  Another thread may have issued the bios by then.
 */
static inline void odrp_release(struct odrp_queue *q, struct bio_list *bios)
{
	if (bio_list_empty(bios))
		return;
	spin_lock_bh(&q->released_lock);
	bio_list_merge(&q->released, bios);
	spin_unlock_bh(&q->released_lock);
	bio_list_init(bios);
}

/* Only odrp_issue() calls this. */
static inline void odrp_take_released(struct odrp_queue *q,
				      struct bio_list *bios)
{
	spin_lock_bh(&q->released_lock);
	bio_list_merge(bios, &q->released);
	bio_list_init(&q->released);
	spin_unlock_bh(&q->released_lock);
}

/* A request that was posted; its generation tells whether it has ended.  req NULL: none. */
struct odrp_mark {
	struct odrp_req		*req;
	u32			gen;
};

/*
 * The requests of one submission, to be posted chain by chain.
 * @behind:	bios of the submission that have not been looked at
 * @stock:	requests taken for them, with that of an earlier bio
 */
struct odrp_batch {
	struct odrp_queue	*q;
	unsigned int		behind;
	struct {
		struct odrp_req	*head;
		struct odrp_req	**tail;
		unsigned int	nr;
		struct odrp_req	*stock;
	} ch[ODRP_WIRE_NR_CHAINS];
	struct odrp_mark	load;	/* the last load that was posted */
	struct odrp_req		*refused;	/* requests that will not be posted */
};

/* issue.c: bios to requests */
struct odrp_mark odrp_issue(struct odrp_queue *q, struct bio_list *bios);
void odrp_issue_released(struct odrp_queue *q);

/* poll.c: reaps completions, and issues the bios that they release */
int odrp_conn_poll(struct irq_poll *iop, int budget);
void odrp_conn_kick(struct odrp_conn *conn);
void odrp_poll_load(struct odrp_queue *q, struct odrp_mark last);

#endif /* _ODRP_QUEUE_H */
