/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is told by uevents.
 */
#ifndef _ODRP_TELL_H
#define _ODRP_TELL_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct odrp_dev;

/* What is told by uevents, see tell.c. */
enum odrp_tell {
	ODRP_TELL_LOST,
	ODRP_TELL_LIVE,
	ODRP_TELL_DEAD,
	ODRP_TELL_DRAIN,
	ODRP_NR_TELLS,
};

/*
 * struct odrp_tells - what has not been sent yet
 * @lock:	guards the others
 * @todo:	a bit for each enum odrp_tell
 * @on:		there is a disk to send it for
 */
struct odrp_tells {
	spinlock_t		lock;
	unsigned long		todo;
	bool			on;
	struct work_struct	work;
};

/* tell.c: uevents */
void odrp_tell_init(struct odrp_dev *dev);
void odrp_tell_start(struct odrp_dev *dev);
void odrp_tell(struct odrp_dev *dev, enum odrp_tell what);
void odrp_tell_stop(struct odrp_dev *dev);

#endif /* _ODRP_TELL_H */
