// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * backing=PATH: every page is also written to a local block device, at the same
 * offset.  When the memory node is lost for good (session DEAD), pages are read
 * from there, and new ones go there alone.
 *
 * Each block of a bio gets a twin: a bio of one block that goes the way of all
 * bios in the place of the one that came in, with a second one, for the backing
 * device, beside it.  A block's slot has one owner (slot.h), and the twin keeps
 * it until both halves have ended.  So for one slot there is never more than one
 * write on its way to either device, and both see all stores in the same order;
 * whoever comes meanwhile waits for the slot.
 *
 * One bit per slot, good, says that the backing device holds its contents.  It
 * is changed by the owner of the slot only:
 *   - cleared when a store has its request, before either half begins;
 *   - set when the write to the backing device has succeeded, before the slot
 *     is given up;
 *   - cleared when the slot's invalidate begins.  Before that the slot reads as
 *     zeros by its state, whatever the bit.
 * A store that is given back before it has a request has changed neither.
 *
 * A store has succeeded when one half has.  What the memory node has not
 * answered leaves the slot UNKNOWN: what that holds is never looked at again,
 * and a read comes from the backing device, if it is good, or is an I/O error.
 * There are slots like that only when the session is dead.  From then on slots
 * are taken by odrp_slot_begin_local(), and UNKNOWN when they are given up.
 *
 * Whoever changes a page while it is being written (direct I/O may) can get
 * different copies, as on any mirror.
 *
 * The backing device is called by a work item, never by who issues or completes:
 * those may be in softirq, and under the lists of another submit_bio().  Its
 * completions, maybe in a hard interrupt, go to another one.  Twins come from a
 * pool of our own and are handed on one by one, so that whoever waits for one
 * holds none back; each ends by itself.
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
 * struct twin - a block on its way
 * @node:	in odrp_backing.todo or .done
 * @parent:	what it is a block of; holds a reference of it
 * @halves:	of a store: how many have not ended
 * @asked:	the memory node is one of them, or has been
 * @res:	how that ended
 * @good:	the backing device did it
 * @acct:	start time for the block layer, unless @asked
 * @local:	for the backing device
 * @bio:	in the place of the parent
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
	struct bio		bio;	/* last: it ends with what a pool adds */
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
	struct bio *parent = t->parent;

	if (bio->bi_status)
		parent->bi_status = bio->bi_status;
	if (is_store(t))
		odrp_backing_stored(t->b->dev);
	bio_put(bio);
	bio_endio(parent);	/* from here on the device may be gone */
}

/*
 * odrp_backing_twin() - what is to be issued for a block of a bio
 * @offset: of the block, in bytes
 *
 * The caller has a reference of the bio, and issues the twin before it asks for
 * another.  May sleep, until other twins have ended.
 */
struct bio *odrp_backing_twin(struct odrp_dev *dev, struct bio *parent,
			      unsigned int offset)
{
	struct odrp_backing *b = dev->backing;
	struct bio *bio = odrp_compat_bio_clone(parent, GFP_NOIO, &b->twins);
	struct twin *t = twin_of(bio);

	bio_advance_iter(bio, &bio->bi_iter, offset);
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

/* A load that the memory node has not served. */
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
 * odrp_twins_done() - twins have been at the backing device
 * @q: any queue: the bios that waited for their slots are released there
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

/* Any context. */
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

/* ---- what issue.c, done.c and free.c tell -------------------------------------- */

/* A block's slot has been taken and it has a request, which is not posted yet. */
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
 * odrp_backing_answered() - the request of a block has ended
 * @q: its queue: the bios that waited for its slot are released there
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

/* A block's slot has been taken by odrp_slot_begin_local(). */
void odrp_backing_alone(struct bio *bio)
{
	struct twin *t = twin_of(bio);

	t->asked = false;
	t->acct = odrp_acct_start(bio, ODRP_BLOCK_SECTORS);
	atomic_set(&t->halves, 1);
	begin_local(t);
}

/* The session is dead. */
void odrp_backing_report(struct odrp_dev *dev)
{
	pr_notice("odrp%d: continues with the backing device %s alone\n",
		  dev->id, dev->backing->path);
}

const char *odrp_backing_path(const struct odrp_dev *dev)
{
	return dev->backing ? dev->backing->path : "none";
}

/* Twins can be made, from a pool of our own. */
int odrp_twins_init(struct odrp_backing *b)
{
	init_llist_head(&b->todo);
	init_llist_head(&b->done);
	INIT_WORK(&b->todo_work, todo_work);
	return bioset_init(&b->twins, RESERVE, offsetof(struct twin, bio), 0);
}
