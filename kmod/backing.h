/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backing device of an odrp device.  backdev.c opens and closes the backing device,
 * and backing.c sends I/O to it.
 */
#ifndef _ODRP_BACKING_H
#define _ODRP_BACKING_H

#include <linux/bio.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "odrp.h"

/*
 * struct odrp_backing - a backing device, and the twins that use it
 * @twins:	pool that twins come from
 * @lock:	guards @wanting
 * @wanting:	bios that have found no twin; they wait until one has ended
 * @wq:		runs @todo_work and @done_work
 * @todo:	twins that @todo_work submits to the backing device
 * @done:	twins that the backing device has completed; @done_work handles them, and
 *		then makes twins for @wanting
 */
struct odrp_backing {
	struct odrp_dev		*dev;
	char			*path;
	struct odrp_compat_bdev	disk;
	struct bio_set		twins;
	spinlock_t		lock;
	struct bio_list		wanting;
	struct workqueue_struct	*wq;
	struct llist_head	todo;
	struct llist_head	done;
	struct work_struct	todo_work;
	struct work_struct	done_work;
};

int odrp_twins_init(struct odrp_backing *b);
void odrp_twins_done(struct odrp_backing *b, struct odrp_queue *q);
void odrp_twins_more(struct odrp_backing *b, struct odrp_queue *q);

#endif /* _ODRP_BACKING_H */
