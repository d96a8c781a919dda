// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Destroying connection ids.
 *
 * rdma_destroy_id() sends a disconnect message to the peer and waits until the device has
 * sent the message.  A device whose QP1 has failed may never send it.  So each id is
 * destroyed by a work item of its own, on a workqueue that does nothing else: nobody else
 * waits when the workqueue's rescuer blocks in an id.
 *
 * Ids are destroyed in turn, so that one disconnect message at a time is under way.  When
 * the link is down and several messages are under way, rdma_rxe of 6.1 keeps the last
 * ones for ever, and with them their ids and the RDMA device: when QP1 cannot send one
 * message, rdma_rxe drops all messages that wait in QP1 (rxe_drain_resp_pkts()), but does
 * not count them as processed (req.wqe_index).  The RDMA core then repairs QP1, and later
 * messages wait behind work requests that no longer exist.
 *
 * The turn of an id ends when the id is destroyed, and at the latest after TURN_MS.  The
 * work item of an id is queued when the turn of the id begins, and not earlier: a rescuer
 * takes all queued work items at once, and then the first id would block the others.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "compat.h"
#include "odrp.h"

/* How long odrp_end_wait() waits.  A device that works destroys an id at once. */
#define GONE_MS		2000

/* The longest turn of an id; see above. */
#define TURN_MS		500

/*
 * struct odrp_end - what destroying one id needs; allocated together with the id, so that
 *		     destroying the id cannot fail
 * @owner:	the session that the id belonged to; only compared, never dereferenced: the
 *		session may have been freed
 * @begun:	the turn of the id has begun
 *
 * turn_lock guards @list and @begun.
 */
struct odrp_end {
	struct list_head	list;
	struct work_struct	work;
	struct rdma_cm_id	*id;
	const struct odrp_sess	*owner;
	bool			begun;
};

static struct workqueue_struct *end_wq;
static DECLARE_WAIT_QUEUE_HEAD(gone);	/* woken when an id has been destroyed */

static DEFINE_SPINLOCK(turn_lock);	/* guards ending, turn_of, turn_until */
static LIST_HEAD(ending);		/* ids not destroyed yet, oldest first */
static struct odrp_end *turn_of;	/* the id whose turn it is, or NULL */
static unsigned long turn_until;	/* when that turn ends, in jiffies */

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

/*
 * The work item that ends a turn after TURN_MS.  When another turn has begun meanwhile,
 * turn_until lies ahead: do nothing, the new turn has armed this work item again.
 */
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
	module_put(THIS_MODULE);	/* odrp_end_exit() waits for this work item */
}

/* Return: an object for odrp_end_id(), or NULL when there is no memory. */
struct odrp_end *odrp_end_new(void)
{
	struct odrp_end *e = odrp_alloc(kzalloc(sizeof(*e), GFP_KERNEL));

	if (e)
		INIT_WORK(&e->work, end_work);
	return e;
}

/* Frees an object that was not passed to odrp_end_id(). */
void odrp_end_free(struct odrp_end *e)
{
	kfree(e);
}

/*
 * odrp_end_id() - destroy an id in the background
 * @e:		from odrp_end_new(); this file owns and frees it from here on
 * @owner:	session of the id, for odrp_end_wait()
 * @id:		has no queue pair, and its handler ignores events from here on
 *
 * Allocates nothing and does not sleep.  The id holds a reference to the module until it
 * is destroyed.  The caller has a reference, too: the device holds one.
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
 * odrp_end_wait() - wait until the ids of a session are destroyed, for GONE_MS at most
 *
 * An id that is never destroyed keeps the module loaded, but neither the session nor the
 * device of ours.  Sleeps.
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

/* Each id holds a reference to the module: when the module is unloaded, no id is left. */
void odrp_end_exit(void)
{
	cancel_delayed_work_sync(&turn_work);
	destroy_workqueue(end_wq);
}
