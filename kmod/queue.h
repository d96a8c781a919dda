/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue: the connections that a CPU uses, the bios whose wait is over, and the way
 * through it (issue.c, poll.c).
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
 * @released: bios whose wait is over: whoever ends what they waited for adds them, and
 *	odrp_issue() alone takes them; guarded by @released_lock
 */
struct odrp_queue {
	struct odrp_dev		*dev;
	u16			idx;
	atomic_t		users;	/* submitters inside */
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
 * odrp_release() - bios are to go on
 * @bios: empty when it returns
 *
 * Any context but hard interrupt.  The caller calls odrp_issue_released() later, when
 * it has no lock; somebody else may have taken them by then.
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

/* For odrp_issue() alone. */
static inline void odrp_take_released(struct odrp_queue *q,
				      struct bio_list *bios)
{
	spin_lock_bh(&q->released_lock);
	bio_list_merge(bios, &q->released);
	bio_list_init(&q->released);
	spin_unlock_bh(&q->released_lock);
}

/* A request that was posted, and may have ended since; req NULL: none. */
struct odrp_mark {
	struct odrp_req		*req;
	u32			gen;
};

/* The requests of one submission, to be posted chain by chain. */
struct odrp_batch {
	struct odrp_queue	*q;
	struct {
		struct odrp_req	*head;
		struct odrp_req	**tail;
		unsigned int	nr;
	} ch[ODRP_WIRE_NR_CHAINS];
	struct odrp_mark	load;	/* the last that was posted */
	struct odrp_req		*refused;	/* will not be posted */
};

/* issue.c: bios to requests */
struct odrp_mark odrp_issue(struct odrp_queue *q, struct bio_list *bios);
void odrp_issue_released(struct odrp_queue *q);

/* poll.c: completions reaped, and what they release issued */
int odrp_conn_poll(struct irq_poll *iop, int budget);
void odrp_conn_kick(struct odrp_conn *conn);
void odrp_poll_load(struct odrp_queue *q, struct odrp_mark last);

#endif /* _ODRP_QUEUE_H */
