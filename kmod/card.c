// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA devices: which sessions use a device, and the end of these sessions when the device
 * is removed.
 *
 * The RDMA core removes a device when an operator asks for it or when the driver restarts,
 * and calls card_removed() while the device still works.  The events of the connection
 * manager are not enough, because they reach only sessions with a connection id on the
 * device, and a session may have memory registered there without an id.  So a list has each
 * session that uses a device, from the first connection until nothing of the session is
 * left on the device.  This includes sessions of odrp devices that are being added or taken
 * down.
 */
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "odrp.h"

/* An RDMA device that is being removed. */
struct going {
	struct list_head	list;
	struct ib_device	*ibdev;
};

static DEFINE_SPINLOCK(lock);		/* guards both lists and odrp_sess.ibdev */
static LIST_HEAD(users);		/* sessions */
static LIST_HEAD(all_going);
static DECLARE_WAIT_QUEUE_HEAD(left);	/* woken when a session has left its device */

static bool is_going(const struct ib_device *ibdev)
{
	struct going *g;

	lockdep_assert_held(&lock);
	list_for_each_entry(g, &all_going, list) {
		if (g->ibdev == ibdev)
			return true;
	}
	return false;
}

/*
 * odrp_card_take() - make a session a user of an RDMA device
 *
 * Return: 0, or -ENODEV: the device is being removed.
 */
int odrp_card_take(struct odrp_sess *s, struct ib_device *ibdev)
{
	int err = 0;

	spin_lock(&lock);
	if (is_going(ibdev)) {
		err = -ENODEV;
	} else {
		WRITE_ONCE(s->ibdev, ibdev);
		list_add(&s->card_user, &users);
	}
	spin_unlock(&lock);
	return err;
}

/*
 * odrp_card_put() - end the use of the session's RDMA device, if it has one
 *
 * Nothing of the session is left on the device.
 */
void odrp_card_put(struct odrp_sess *s)
{
	spin_lock(&lock);
	if (s->ibdev)
		list_del(&s->card_user);
	WRITE_ONCE(s->ibdev, NULL);
	spin_unlock(&lock);
	wake_up_all(&left);
}

/* Make each session on the device dead, except those that are being closed. */
static void end_sessions(const struct ib_device *ibdev)
{
	struct odrp_sess *s;

	lockdep_assert_held(&lock);
	list_for_each_entry(s, &users, card_user) {
		if (s->ibdev == ibdev)
			odrp_sess_die(s, "its RDMA device is being removed");
	}
}

static bool is_used(const struct ib_device *ibdev)
{
	struct odrp_sess *s;
	bool used = false;

	spin_lock(&lock);
	list_for_each_entry(s, &users, card_user)
		used |= s->ibdev == ibdev;
	spin_unlock(&lock);
	return used;
}

/*
 * The RDMA core calls this when a device is removed.  On return nothing of this module is
 * left on the device except connection ids that are being destroyed; the core waits for
 * these.  The function may wait, because no lock is held that sessions need to end.
 */
static void card_removed(struct ib_device *ibdev, void *data)
{
	struct going g = { .ibdev = ibdev };

	spin_lock(&lock);
	list_add(&g.list, &all_going);
	end_sessions(ibdev);
	spin_unlock(&lock);
	wait_event(left, !is_used(ibdev));
	spin_lock(&lock);
	list_del(&g.list);
	spin_unlock(&lock);
}

static struct ib_client client = {
	.name	= KBUILD_MODNAME,
	.remove	= card_removed,
};

int odrp_card_init(void)
{
	return ib_register_client(&client);
}

void odrp_card_exit(void)
{
	ib_unregister_client(&client);
}
