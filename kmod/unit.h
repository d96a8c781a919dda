/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device of this module: its slots, its session, and all that goes with them.
 */
#ifndef _ODRP_UNIT_H
#define _ODRP_UNIT_H

#include <linux/cache.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/wait.h>
#include "ask.h"
#include "free.h"
#include "hist.h"
#include "lease.h"
#include "move.h"
#include "place.h"
#include "sess.h"
#include "slot.h"
#include "stats.h"
#include "uevent.h"

struct odrp_backing;
struct odrp_leave;
struct odrp_protect;

struct odrp_wait {
	spinlock_t		lock;
	struct bio_list		bios;
};

/*
 * struct odrp_times - how long requests of a queue that were answered have taken, from
 * posting to their end, in ns, since the device was added
 */
struct odrp_times {
	struct odrp_hist_live load;
	struct odrp_hist_live store;
} ____cacheline_aligned_in_smp;

#define odrp_stat_inc(dev, f)	this_cpu_inc((dev)->stats->f)
#define odrp_stat_add(dev, f, n) this_cpu_add((dev)->stats->f, (n))

struct odrp_dev {
	int			id;
	bool			shown;		/* guarded by ctl.c's mutex */
	bool			leaving;	/* guarded by ctl.c's mutex */
	struct odrp_leave	*leave;		/* see ctl.c */
	struct gendisk		*disk;
	struct mutex		lock;
	unsigned int		openers;	/* guarded by lock */
	bool			removing;	/* guarded by lock */
	bool			forced;		/* ... by force, while it was open; stays true */
	struct odrp_slots	slots;
	struct odrp_places	places;	/* see slabs.c; all 0: not used */
	struct odrp_lease	lease;
	struct odrp_ask		ask;
	struct odrp_move	move;	/* see move.c */
	struct odrp_free	free;
	struct odrp_wait	waits[ODRP_NR_WAITS];
	atomic_t		parked;	/* blocks of bios that wait for a request or a page */
	wait_queue_head_t	room;	/* writers that sleep until fewer are parked */
	atomic_t		backing_stores;	/* stores under way to the backing device */
	wait_queue_head_t	backing_room;	/* writers that sleep until fewer stores are */
	struct odrp_sess	sess;
	unsigned int		timeout_ms;
	unsigned int		reconnect_delay_ms;
	unsigned int		dead_after_ms;
	unsigned int		io_fail_ms;	/* 0: as long as attempts go on */
	bool			some_unknown;	/* slots may be UNKNOWN; see lookup.c */
	struct odrp_uevents	uevents;
	unsigned long		*held;	/* see frontswap.c; NULL: not used */
	struct odrp_backing	*backing;	/* NULL: none */
	unsigned long		*good;		/* see backing.c; NULL: none */
	u32			*sums;		/* see sum.c; NULL: none */
	struct odrp_protect	*protect;	/* see protect.c; NULL: not used */
	unsigned long		*unreadable;	/* see unreadable.c; NULL: not needed */
	bool			some_unreadable;	/* a bit of unreadable has been set, once */
	struct odrp_stats __percpu *stats;
	struct odrp_times	*times;	/* one for each queue */
	struct dentry		*debug;	/* directory in debugfs; an error pointer: none */
};

static inline struct odrp_queue *odrp_queue_here(struct odrp_dev *dev)
{
	return &dev->sess.queues[raw_smp_processor_id() % dev->sess.nr_queues];
}

/* Are requests served, now or when the session has been resumed? */
static inline bool odrp_dev_serves(const struct odrp_dev *dev)
{
	enum odrp_state state = odrp_sess_state(&dev->sess);

	return state == ODRP_LIVE || state == ODRP_LOST;
}

/*
 * Do requests fail?  A backing device serves them alone, unless the device was removed by
 * force.
 */
static inline bool odrp_dev_fails(const struct odrp_dev *dev)
{
	return !odrp_dev_serves(dev) &&
	       (!dev->backing || READ_ONCE(dev->forced));
}

/* ctl.c: /sys/class/odrp-control */
int odrp_ctl_init(void);
void odrp_ctl_exit(void);
int odrp_ctl_each(int (*fn)(struct odrp_dev *dev));
void odrp_ctl_sweep(void);

int odrp_pm_init(void);
void odrp_pm_exit(void);

/* blk.c: the disk, bios to blocks */
void odrp_blk_init(void (*unused)(void));
int odrp_blk_add(struct odrp_dev *dev);
void odrp_blk_del(struct odrp_dev *dev);
void odrp_blk_free(struct odrp_dev *dev);
void odrp_blk_issue(struct odrp_dev *dev, struct bio_list *bios, bool may_poll);
struct odrp_dev *odrp_blk_dev(struct block_device *bdev);

/* frontswap.c: pages that come without a bio, where the kernel has that */
#ifdef ODRP_HAVE_FRONTSWAP
int odrp_frontswap_add(struct odrp_dev *dev);
void odrp_frontswap_del(struct odrp_dev *dev);
#else
static inline int odrp_frontswap_add(struct odrp_dev *dev)
{
	pr_err("hot_add: backend=frontswap: this kernel has none for modules: expected block\n");
	return -EOPNOTSUPP;
}

static inline void odrp_frontswap_del(struct odrp_dev *dev) { }
#endif

/* unreadable.c: pages that swapoff must not map */
int odrp_unreadable_add(struct odrp_dev *dev);
void odrp_unreadable_del(struct odrp_dev *dev);
void odrp_unreadable_mark(struct odrp_dev *dev, u64 slot);
void odrp_unreadable_clear_bit(struct odrp_dev *dev, u64 slot);
bool odrp_unreadable_any(const struct odrp_dev *dev);

/* A slot has been read, or written.  Any context; call before the slot is given up. */
static inline void odrp_unreadable_clear(struct odrp_dev *dev, u64 slot)
{
	if (unlikely(READ_ONCE(dev->some_unreadable)))
		odrp_unreadable_clear_bit(dev, slot);
}

/* backdev.c: opens and closes the backing device */
int odrp_backing_add(struct odrp_dev *dev, const char *path);
void odrp_backing_del(struct odrp_dev *dev);

/* backing.c: a copy on a local device */
const char *odrp_backing_path(const struct odrp_dev *dev);
struct bio *odrp_backing_twin(struct odrp_dev *dev, struct bio *parent);
void odrp_backing_want(struct odrp_dev *dev, struct bio *bio);
void odrp_backing_begin(struct bio *bio);
void odrp_backing_answered(struct bio *bio, enum odrp_slot_result res,
			   struct odrp_queue *q);
void odrp_backing_alone(struct bio *bio);
void odrp_backing_report(struct odrp_dev *dev);

/* Call when a slot has been taken to be freed. */
static inline void odrp_backing_forget(struct odrp_dev *dev, u64 slot)
{
	clear_bit(slot, dev->good);
}

/* Does the backing device hold the slot's contents?  May change unless the caller owns it. */
static inline bool odrp_backing_has(const struct odrp_dev *dev, u64 slot)
{
	return test_bit(slot, dev->good);
}

/* wait.c: bios that wait for a slot */
void odrp_wait_init(struct odrp_dev *dev);
bool odrp_wait_park(struct odrp_dev *dev, struct bio *bio, u64 slot);
void odrp_wait_end(struct odrp_queue *q, u64 slot);

/* Blocks of a bio that have not been issued. */
static inline unsigned int odrp_bio_blocks(const struct bio *bio)
{
	return bio->bi_iter.bi_size / ODRP_BLOCK;
}

/* room.c: makes writers sleep */
void odrp_park(struct odrp_dev *dev, const struct bio *bio);
void odrp_unpark(struct odrp_dev *dev, unsigned int blocks);
void odrp_backing_stored(struct odrp_dev *dev);
void odrp_wait_for_room(struct odrp_dev *dev);
void odrp_wake_room(struct odrp_dev *dev);
bool odrp_holds_up(const struct odrp_dev *dev);

/*
 * odrp_wait_room() - make a writer sleep while too much is waiting already
 *
 * In line: nothing is waiting.
 */
static inline void odrp_wait_room(struct odrp_dev *dev)
{
	if (atomic_read(&dev->parked) || atomic_read(&dev->backing_stores))
		odrp_wait_for_room(dev);
}

/* ask.c */
void odrp_ask_now(struct odrp_dev *dev);

/* A store has taken a page. */
static inline void odrp_ask_if_low(struct odrp_dev *dev)
{
	if (odrp_ask_is_low(&dev->ask, odrp_lease_used(&dev->lease),
			    atomic64_read(&dev->lease.limit), dev->slots.nr))
		odrp_ask_now(dev);
}

/* stats.c */
void odrp_stats_sum(struct odrp_dev *dev, struct odrp_stats *sum);
void odrp_times_sum(struct odrp_dev *dev, bool store, struct odrp_hist *sum);
s64 odrp_dev_mapped(const struct odrp_dev *dev);

/* sysfs.c */
extern const struct attribute_group *odrp_disk_groups[];

/* debug.c: debugfs */
void odrp_debug_init(void);
void odrp_debug_exit(void);
void odrp_debug_add(struct odrp_dev *dev);
void odrp_debug_del(struct odrp_dev *dev);

#endif /* _ODRP_UNIT_H */
