/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backing device of a device: what backing.c sends to it, and backdev.c opens
 * and closes.
 */
#ifndef _ODRP_BACKING_H
#define _ODRP_BACKING_H

#include <linux/bio.h>
#include <linux/llist.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "odrp.h"

/*
 * struct odrp_backing - a backing device, and twins on their way
 * @twins:	where they come from
 * @todo:	for the backing device, which @todo_work calls
 * @done:	have been there; @done_work ends them
 */
struct odrp_backing {
	struct odrp_dev		*dev;
	char			*path;
	struct odrp_compat_bdev	disk;
	struct bio_set		twins;
	struct workqueue_struct	*wq;
	struct llist_head	todo;
	struct llist_head	done;
	struct work_struct	todo_work;
	struct work_struct	done_work;
};

int odrp_twins_init(struct odrp_backing *b);
void odrp_twins_done(struct odrp_backing *b, struct odrp_queue *q);

#endif /* _ODRP_BACKING_H */
