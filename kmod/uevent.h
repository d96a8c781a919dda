/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Uevents that the disk sends.
 */
#ifndef _ODRP_UEVENT_H
#define _ODRP_UEVENT_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct odrp_dev;

enum odrp_uevent {
	ODRP_UEVENT_LOST,
	ODRP_UEVENT_LIVE,
	ODRP_UEVENT_DEAD,
	ODRP_UEVENT_DRAIN,
	ODRP_NR_UEVENTS,
};

/*
 * struct odrp_uevents - uevents that have not been sent yet
 * @lock:	guards @todo and @on
 * @todo:	a bit for each enum odrp_uevent
 * @on:		there is a disk that can send uevents
 */
struct odrp_uevents {
	spinlock_t		lock;
	unsigned long		todo;
	bool			on;
	struct work_struct	work;
};

/* uevent.c: uevents */
void odrp_uevent_init(struct odrp_dev *dev);
void odrp_uevent_start(struct odrp_dev *dev);
void odrp_uevent(struct odrp_dev *dev, enum odrp_uevent what);
void odrp_uevent_stop(struct odrp_dev *dev);

#endif /* _ODRP_UEVENT_H */
