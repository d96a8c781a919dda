// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bios that wait for a slot that is busy, in lists by a hash of the slot.
 */
#include <linux/hash.h>
#include "odrp.h"
#include "trace.h"

static u64 bio_slot(const struct bio *bio)
{
	return bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
}

static struct odrp_wait *wait_of(struct odrp_dev *dev, u64 slot)
{
	return &dev->waits[hash_64(slot, ilog2(ODRP_NR_WAITS))];
}

/*
 * odrp_wait_park() - park a bio until its slot is not busy any more
 *
 * Return: false when the slot is not busy any more; the bio is still the caller's.
 */
bool odrp_wait_park(struct odrp_dev *dev, struct bio *bio, u64 slot)
{
	struct odrp_wait *w = wait_of(dev, slot);
	bool parked;

	spin_lock_bh(&w->lock);
	parked = odrp_slot_wait(&dev->slots, slot);
	if (parked) {
		trace_odrp_wait(dev, bio, ODRP_TRACE_SLOT);
		bio_list_add(&w->bios, bio);
	}
	spin_unlock_bh(&w->lock);
	if (parked)
		odrp_stat_inc(dev, waits_slot);
	return parked;
}

/* odrp_wait_end() - a slot is not busy any more: release the bios that wait for it */
void odrp_wait_end(struct odrp_queue *q, u64 slot)
{
	struct odrp_wait *w = wait_of(q->dev, slot);
	struct bio_list mine, others;
	struct bio *bio;

	bio_list_init(&mine);
	bio_list_init(&others);
	spin_lock_bh(&w->lock);
	while ((bio = bio_list_pop(&w->bios)))
		bio_list_add(bio_slot(bio) == slot ? &mine : &others, bio);
	w->bios = others;
	spin_unlock_bh(&w->lock);
	odrp_release(q, &mine);
}

void odrp_wait_init(struct odrp_dev *dev)
{
	unsigned int i;

	for (i = 0; i < ODRP_NR_WAITS; i++) {
		spin_lock_init(&dev->waits[i].lock);
		bio_list_init(&dev->waits[i].bios);
	}
}
