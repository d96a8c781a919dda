// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * backing=PATH: every page is also written to a local block device, at the same
 * offset.  When the memory node is lost for good (session DEAD), pages are read from
 * the backing device, and new pages are written to the backing device alone.
 *
 * Each block of a bio gets a twin: a bio of one block that is issued instead of the
 * bio that came in.  A store has two halves: the request to the memory node, and a
 * second bio for the backing device.  The twin owns the slot of its block (slot.h)
 * until both halves have ended.  So no slot ever has more than one write in flight to
 * either device, and both devices see the stores of a slot in the same order.  Other
 * bios for the slot wait until the twin gives up the slot.
 *
 * One bit per slot, good, says that the backing device holds the contents of the slot.
 * Only the owner of the slot changes its bit:
 *   - clear the bit when a store has got its request, before either half begins;
 *   - set the bit when the write to the backing device has succeeded, before the slot
 *     is given up;
 *   - clear the bit when an invalidate of the slot begins, or when another slot takes
 *     the freed page.  Before that the state of the freed slot makes it read as zeros,
 *     whatever the bit is.
 * A store that ends before it has a request has changed no device and no bit.
 *
 * A store succeeds when one half succeeds.  A request that the memory node has not
 * answered leaves the slot UNKNOWN.  Nobody asks again what the memory node holds for
 * the slot: a read takes the page from the backing device if the bit is set, and is an
 * I/O error otherwise.  Requests end like that only when the session is dead.  From then
 * on slots are taken by odrp_slot_begin_local() and given up by odrp_slot_end_local().
 *
 * A page that is changed while it is being written (direct I/O can do that) may differ
 * on the two devices, as on any mirror.
 *
 * A work item submits the bios to the backing device.  The functions that issue or
 * complete requests do not, because they may run in softirq, or within another
 * submit_bio(), whose bio lists would delay the bios.  The backing device may complete
 * a bio in hard interrupt, so another work item ends the twins.
 *
 * Twins come from a mempool of this device.  Nobody sleeps for one: a twin may be under way
 * for as long as the session is lost, and a task that slept within submit_bio() would hold
 * up a freeze of the queue for as long (room.c).  A bio that finds no twin is parked
 * instead.  The pool is empty only while twins are under way, each of them ends on its own,
 * and its end has the work item make twins for the parked bios.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/llist.h>
#include <linux/sched/mm.h>
#include "backing.h"
#include "compat.h"
#include "odrp.h"

#define RESERVE		64

/*
 * struct twin - one block of a bio that is being read or written
 * @node:	in odrp_backing.todo or odrp_backing.done
 * @parent:	the bio that the block is part of; the twin holds a reference
 * @halves:	store: number of halves that have not ended
 * @asked:	the block has, or had, a request to the memory node
 * @good:	the backing device's I/O has succeeded
 * @res:	result of the request; valid if @asked
 * @acct:	start time for the block layer's accounting; valid unless @asked
 * @local:	the bio for the backing device
 * @bio:	the bio that is issued instead of @parent
 */
struct twin {
	struct llist_node	node;
	struct odrp_backing	*b;
	struct bio		*parent;
	atomic_t		halves;
	bool			asked;
	bool			good;
	enum odrp_slot_result	res;
	unsigned long		acct;
	struct bio		local;
	struct bio		bio;	/* last: the pool may add bio_vecs behind it */
};

static struct twin *twin_of(struct bio *bio)
{
	return container_of(bio, struct twin, bio);
}

static bool is_store(struct twin *t)
{
	return bio_op(&t->bio) == REQ_OP_WRITE;
}

static u64 slot_of(struct twin *t)
{
	return t->bio.bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
}

/* ---- twins ------------------------------------------------------------------ */

static void end_twin(struct bio *bio)
{
	struct twin *t = twin_of(bio);
	struct odrp_backing *b = t->b;
	struct bio *parent = t->parent;

	if (bio->bi_status)
		parent->bi_status = bio->bi_status;
	if (is_store(t))
		odrp_backing_stored(b->dev);
	bio_put(bio);
	smp_mb();	/* pairs with the locks in odrp_twins_more() and in the pool */
	if (READ_ONCE(b->wanting.head))
		queue_work(b->wq, &b->done_work);
	bio_endio(parent);	/* after this call the device may be gone */
}

/*
 * odrp_backing_twin() - make the twin of the next block of a bio, and go behind that block
 *
 * The caller holds a reference of @parent, which has a block left.  Does not sleep.
 *
 * Return: the bio to issue; NULL when there is none: see odrp_backing_want().
 */
struct bio *odrp_backing_twin(struct odrp_dev *dev, struct bio *parent)
{
	struct odrp_backing *b = dev->backing;
	struct bio *bio = odrp_alloc(odrp_compat_bio_clone(parent,
							   GFP_NOWAIT | __GFP_NOWARN,
							   &b->twins));
	struct twin *t;

	if (!bio)
		return NULL;
	t = twin_of(bio);
	bio_advance_iter(parent, &parent->bi_iter, ODRP_BLOCK);
	bio->bi_iter.bi_size = ODRP_BLOCK;
	bio->bi_end_io = end_twin;
	t->b = b;
	t->parent = parent;
	t->asked = false;
	t->good = false;
	bio_inc_remaining(parent);
	if (is_store(t))
		atomic_inc(&dev->backing_stores);
	return bio;
}

/*
 * odrp_backing_want() - park a bio for which odrp_backing_twin() has returned NULL
 *
 * The bio does not belong to the caller any more.  A store counts as one more that is under
 * way to the backing device, so writers sleep when there are too many.  The work item looks
 * for a twin at once, too: the last twin under way may have ended before the bio was on the
 * list.
 */
void odrp_backing_want(struct odrp_dev *dev, struct bio *bio)
{
	struct odrp_backing *b = dev->backing;

	if (bio_op(bio) == REQ_OP_WRITE)
		atomic_inc(&dev->backing_stores);
	spin_lock_bh(&b->lock);
	bio_list_add(&b->wanting, bio);
	spin_unlock_bh(&b->lock);
	queue_work(b->wq, &b->done_work);
}

static struct bio *first_wanting(struct odrp_backing *b)
{
	struct bio *bio;

	spin_lock_bh(&b->lock);
	bio = bio_list_peek(&b->wanting);
	spin_unlock_bh(&b->lock);
	return bio;
}

/* The first of the bios that wait has all its twins. */
static void first_served(struct odrp_backing *b)
{
	struct bio *bio;

	spin_lock_bh(&b->lock);
	bio = bio_list_pop(&b->wanting);
	spin_unlock_bh(&b->lock);
	if (bio_op(bio) == REQ_OP_WRITE)
		odrp_backing_stored(b->dev);
	bio_endio(bio);
}

static bool make_twins(struct odrp_dev *dev, struct bio *bio,
		       struct bio_list *twins)
{
	struct bio *twin;

	while (bio->bi_iter.bi_size) {
		twin = odrp_backing_twin(dev, bio);
		if (!twin)
			return false;
		bio_list_add(twins, twin);
	}
	return true;
}

/*
 * odrp_twins_more() - make twins for the bios that wait for them, as far as there are any
 * @q: any queue; the twins are released there
 *
 * Only the work item calls this.  A bio stays on the list until it has all its twins: a twin
 * that ends while the pool is found empty sees the bio, and queues the work item again.
 */
void odrp_twins_more(struct odrp_backing *b, struct odrp_queue *q)
{
	struct bio_list twins;
	struct bio *bio;

	bio_list_init(&twins);
	while ((bio = first_wanting(b)) && make_twins(b->dev, bio, &twins))
		first_served(b);
	odrp_release(q, &twins);
}

/* ---- the halves end ---------------------------------------------------------- */

static void end_store(struct twin *t, struct odrp_queue *q)
{
	struct odrp_dev *dev = t->b->dev;
	bool remote = t->asked && t->res == ODRP_SLOT_OK;
	u64 slot = slot_of(t);
	unsigned int more;

	if (t->good)
		set_bit(slot, dev->good);
	if (t->good || remote)
		odrp_unreadable_clear(dev, slot);
	if (remote)
		more = odrp_slot_end(&dev->slots, slot, ODRP_SLOT_OK);
	else
		more = odrp_slot_end_local(&dev->slots, slot);
	odrp_slot_more(q, slot, more);

	if (t->good) {
		odrp_stat_inc(dev, backing_stores);
	} else if (!remote) {
		odrp_stat_inc(dev, store_errors);
		t->bio.bi_status = BLK_STS_IOERR;
	}
	bio_endio(&t->bio);
}

/* End a load that the memory node has not served, after trying the backing device. */
static void end_load(struct twin *t, struct odrp_queue *q)
{
	struct odrp_dev *dev = t->b->dev;
	u64 slot = slot_of(t);
	unsigned int more;

	if (t->good)
		odrp_unreadable_clear(dev, slot);
	else
		odrp_unreadable_mark(dev, slot);
	if (t->asked)
		more = odrp_slot_end(&dev->slots, slot, t->res);
	else
		more = odrp_slot_end_local(&dev->slots, slot);
	odrp_slot_more(q, slot, more);

	if (t->good) {
		odrp_stat_inc(dev, backing_loads);
	} else {
		odrp_stat_inc(dev, load_errors);
		t->bio.bi_status = BLK_STS_IOERR;
	}
	bio_endio(&t->bio);
}

static void end_local(struct twin *t, struct odrp_queue *q)
{
	if (!t->asked)
		odrp_acct_end(&t->bio, ODRP_BLOCK_SECTORS, t->acct);
	if (!is_store(t))
		end_load(t, q);
	else if (atomic_dec_and_test(&t->halves))
		end_store(t, q);
}

/*
 * odrp_twins_done() - handle the twins that the backing device has completed
 * @q: any queue; bios that waited for the slots of these twins are released there
 */
void odrp_twins_done(struct odrp_backing *b, struct odrp_queue *q)
{
	struct twin *t, *next;

	llist_for_each_entry_safe(t, next,
				  llist_reverse_order(llist_del_all(&b->done)),
				  node)
		end_local(t, q);
}

static void local_done(struct twin *t)
{
	struct odrp_backing *b = t->b;

	if (llist_add(&t->node, &b->done))
		queue_work(b->wq, &b->done_work);
}

/* ---- the backing device ------------------------------------------------------- */

/* Called in any context, hard interrupt included. */
static void end_io(struct bio *local)
{
	struct twin *t = container_of(local, struct twin, local);

	t->good = !local->bi_status;
	if (!t->good) {
		odrp_stat_inc(t->b->dev, backing_errors);
		pr_err_ratelimited("odrp%d: backing device %s: %s slot %llu: error %d\n",
				   t->b->dev->id, t->b->path,
				   is_store(t) ? "writing" : "reading",
				   slot_of(t),
				   blk_status_to_errno(local->bi_status));
	}
	bio_uninit(local);
	local_done(t);
}

static void submit(struct odrp_backing *b, struct twin *t)
{
	if (!is_store(t) && !test_bit(slot_of(t), b->dev->good)) {
		local_done(t);
		return;
	}
	odrp_compat_bio_copy(&t->local, b->disk.bdev, &t->bio);
	t->local.bi_opf = bio_op(&t->bio) | (t->bio.bi_opf & REQ_SYNC);
	t->local.bi_end_io = end_io;
	submit_bio_noacct(&t->local);
}

static void todo_work(struct work_struct *w)
{
	struct odrp_backing *b = container_of(w, struct odrp_backing,
					      todo_work);
	unsigned int noio = memalloc_noio_save();
	struct blk_plug plug;
	struct twin *t, *next;

	blk_start_plug(&plug);
	llist_for_each_entry_safe(t, next,
				  llist_reverse_order(llist_del_all(&b->todo)),
				  node)
		submit(b, t);
	blk_finish_plug(&plug);
	memalloc_noio_restore(noio);
}

static void begin_local(struct twin *t)
{
	struct odrp_backing *b = t->b;

	if (is_store(t))
		clear_bit(slot_of(t), b->dev->good);
	if (llist_add(&t->node, &b->todo))
		queue_work(b->wq, &b->todo_work);
}

/* ---- calls of issue.c and done.c ----------------------------------------------- */

/* Call when a block has its slot and a request, before the request is posted. */
void odrp_backing_begin(struct bio *bio)
{
	struct twin *t = twin_of(bio);

	t->asked = true;
	if (!is_store(t))
		return;
	atomic_set(&t->halves, 2);
	begin_local(t);
}

/*
 * odrp_backing_answered() - handle the end of the request of a block
 * @res: how the request ended
 * @q: queue of the request; bios that waited for the slot are released there
 */
void odrp_backing_answered(struct bio *bio, enum odrp_slot_result res,
			   struct odrp_queue *q)
{
	struct twin *t = twin_of(bio);
	struct odrp_dev *dev = t->b->dev;
	u64 slot = slot_of(t);

	t->res = res;
	if (is_store(t)) {
		if (atomic_dec_and_test(&t->halves))
			end_store(t, q);
		return;
	}
	if (res != ODRP_SLOT_OK) {
		begin_local(t);
		return;
	}
	odrp_slot_more(q, slot, odrp_slot_end(&dev->slots, slot, res));
	bio_endio(bio);
}

/* Call when odrp_slot_begin_local() has taken the slot of a block. */
void odrp_backing_alone(struct bio *bio)
{
	struct twin *t = twin_of(bio);

	t->asked = false;
	t->acct = odrp_acct_start(bio, ODRP_BLOCK_SECTORS);
	atomic_set(&t->halves, 1);
	begin_local(t);
}

/* Call when the session is dead. */
void odrp_backing_report(struct odrp_dev *dev)
{
	pr_notice("odrp%d: continues with the backing device %s alone\n",
		  dev->id, dev->backing->path);
}

const char *odrp_backing_path(const struct odrp_dev *dev)
{
	return dev->backing ? dev->backing->path : "none";
}

/* Make the pool of twins, and the lists and the work item of backing.c. */
int odrp_twins_init(struct odrp_backing *b)
{
	init_llist_head(&b->todo);
	init_llist_head(&b->done);
	INIT_WORK(&b->todo_work, todo_work);
	spin_lock_init(&b->lock);
	bio_list_init(&b->wanting);
	return bioset_init(&b->twins, RESERVE, offsetof(struct twin, bio), 0);
}
