// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of connection ids.
 *
 * Destroying an id says goodbye to the peer, and waits until that has been sent.
 * A device whose QP1 has failed may never do that.  So it is done beside everything
 * else: by work items of their own, on a workqueue of their own, whose rescuer may
 * be held up by such an id without anybody waiting for it.
 *
 * Ids go one after the other, so that one goodbye at a time is under way.  When
 * the link is down and several are, rdma_rxe of 6.1 keeps the last of them for
 * ever, and with them the ids and the RDMA device: it drops all that wait in QP1
 * when one cannot be sent (rxe_drain_resp_pkts()), but does not count them as
 * processed (req.wqe_index).  What is posted then to a QP1 that the core has put
 * right, waits behind work that is over.
 *
 * An id that does not go has had its turn after TURN_MS.  Until its turn comes
 * nothing of an id is queued: what is, a rescuer takes all at once, and then the
 * first one holds up the rest.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "compat.h"
#include "odrp.h"

/* Ids are gone at once, or their device is ill. */
#define GONE_MS		2000

#define TURN_MS		500

/*
 * struct odrp_end - made together with the id, so that its end cannot fail
 * @owner:	the session whose it was: to be compared, it may be gone
 * @begun:	it had its turn, or has it
 */
struct odrp_end {
	struct list_head	list;
	struct work_struct	work;
	struct rdma_cm_id	*id;
	const struct odrp_sess	*owner;
	bool			begun;
};

static struct workqueue_struct *end_wq;
static DECLARE_WAIT_QUEUE_HEAD(gone);	/* one is */

static DEFINE_SPINLOCK(turn_lock);
static LIST_HEAD(ending);		/* in the order in which they came */
static struct odrp_end *turn_of;	/* NULL: nobody's */
static unsigned long turn_until;	/* jiffies */

static void turn_over(struct work_struct *w);
static DECLARE_DELAYED_WORK(turn_work, turn_over);

static struct odrp_end *first_waiting(void)
{
	struct odrp_end *e;

	list_for_each_entry(e, &ending, list) {
		if (!e->begun)
			return e;
	}
	return NULL;
}

static void next_turn(void)
{
	lockdep_assert_held(&turn_lock);
	turn_of = first_waiting();
	if (!turn_of)
		return;
	turn_of->begun = true;
	turn_until = jiffies + msecs_to_jiffies(TURN_MS);
	queue_work(end_wq, &turn_of->work);
	mod_delayed_work(odrp_wq, &turn_work, msecs_to_jiffies(TURN_MS));
}

/* One that comes too late finds that another's turn has begun, and its own work. */
static void turn_over(struct work_struct *w)
{
	spin_lock(&turn_lock);
	if (turn_of && !time_before(jiffies, turn_until))
		next_turn();
	spin_unlock(&turn_lock);
}

static void end_work(struct work_struct *w)
{
	struct odrp_end *e = container_of(w, struct odrp_end, work);

	odrp_fault_wait(ODRP_FAULT_HELD);
	rdma_destroy_id(e->id);
	spin_lock(&turn_lock);
	list_del(&e->list);
	if (turn_of == e)
		next_turn();
	spin_unlock(&turn_lock);
	kfree(e);
	wake_up_all(&gone);
	module_put(THIS_MODULE);	/* odrp_end_exit() waits for the rest */
}

/* Return: what odrp_end_id() will need, or NULL without memory. */
struct odrp_end *odrp_end_new(void)
{
	struct odrp_end *e = odrp_alloc(kzalloc(sizeof(*e), GFP_KERNEL));

	if (e)
		INIT_WORK(&e->work, end_work);
	return e;
}

/* One that no id has needed. */
void odrp_end_free(struct odrp_end *e)
{
	kfree(e);
}

/*
 * odrp_end_id() - destroy an id, beside us
 * @e:		from odrp_end_new(); not the caller's any more
 * @owner:	of the id; see odrp_end_wait()
 * @id:		has no queue pair and hears of no event any more
 *
 * May be called where no memory can be had.  The module cannot be unloaded until
 * the id has gone: the caller's device has a reference to it.
 */
void odrp_end_id(struct odrp_end *e, const struct odrp_sess *owner,
		 struct rdma_cm_id *id)
{
	e->id = id;
	e->owner = owner;
	__module_get(THIS_MODULE);
	spin_lock(&turn_lock);
	list_add_tail(&e->list, &ending);
	if (!turn_of)
		next_turn();
	spin_unlock(&turn_lock);
}

static unsigned int nr_of(const struct odrp_sess *owner)
{
	struct odrp_end *e;
	unsigned int n = 0;

	spin_lock(&turn_lock);
	list_for_each_entry(e, &ending, list)
		n += e->owner == owner;
	spin_unlock(&turn_lock);
	return n;
}

/*
 * odrp_end_wait() - wait for the ids of a session that are to be destroyed
 *
 * For a time: should one never go, then the module stays, and nothing else.
 */
void odrp_end_wait(const struct odrp_sess *owner)
{
	if (!wait_event_timeout(gone, !nr_of(owner), msecs_to_jiffies(GONE_MS)))
		pr_warn("odrp%d: RDMA still holds %u connection ids: no unloading until they end\n",
			owner->dev->id, nr_of(owner));
}

int odrp_end_init(void)
{
	end_wq = alloc_workqueue("odrp_end", ODRP_WQ, 0);
	return end_wq ? 0 : -ENOMEM;
}

/* Each id had a reference to the module: there is none. */
void odrp_end_exit(void)
{
	cancel_delayed_work_sync(&turn_work);
	destroy_workqueue(end_wq);
}
