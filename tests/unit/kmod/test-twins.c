// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Twins (backing.c) when the pool has none left: the task that brings a bio goes on, for it
 * holds a reference to the queue, and the bio waits until twins have ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/backing.h"
#include "bed.h"

#define NEW	ODRP_WIRE_UNMAPPED_STORE
#define LOAD	ODRP_WIRE_LOAD

static struct odrp_backing backing;
static unsigned long good[1];

void odrp_backing_stored(struct odrp_dev *dev)
{
	atomic_dec(&dev->backing_stores);
}

/* The disk has no delay. */
void submit_bio_noacct(struct bio *bio)
{
	bio->bi_end_io(bio);
}

/* The work item of backdev.c, without its backing device. */
static void done_work(struct work_struct *w)
{
	odrp_twins_done(&backing, &bed.q);
	odrp_twins_more(&backing, &bed.q);
	odrp_issue_released(&bed.q);
}

static int setup(void **state)
{
	bed_init();
	memset(&backing, 0, sizeof(backing));
	good[0] = 0;
	bed.dev.good = good;
	bed.dev.backing = &backing;
	backing.dev = &bed.dev;
	INIT_WORK(&backing.done_work, done_work);
	return odrp_twins_init(&backing);
}

static void run_works(void)
{
	while (backing.todo_work.queued || backing.done_work.queued) {
		shim_flush(&backing.todo_work);
		shim_flush(&backing.done_work);
	}
}

/* blk.c makes the twins of a bio in the same way. */
static struct bio *take(unsigned int op, u64 slot, unsigned int nr)
{
	struct bio *bio = &bed.bio[bed.nr_bios++], *twin;
	static struct page pages[BED_BIOS][BED_SLOTS];
	struct bio_list bios;

	*bio = (struct bio){ .op = op, .remaining = 1,
			     .pages = pages[bed.nr_bios - 1] };
	bio->bi_iter.bi_sector = slot * ODRP_BLOCK_SECTORS;
	bio->bi_iter.bi_size = nr * ODRP_BLOCK;
	while (bio->bi_iter.bi_size) {
		twin = odrp_backing_twin(&bed.dev, bio);
		if (!twin) {
			odrp_backing_want(&bed.dev, bio);
			return bio;
		}
		bio_list_init(&bios);
		bio_list_add(&bios, twin);
		odrp_issue(&bed.q, &bios);
	}
	bio_endio(bio);
	return bio;
}

/* The memory node answers what it has got of a chain. */
static void answer(unsigned int chain)
{
	bed_serve(chain, BED_DEPTH);
	run_works();
}

static void test_no_twin(void **state)
{
	unsigned int left = backing.twins.left;
	struct bio *bio, *other;

	backing.twins.left = 2;
	bio = take(REQ_OP_WRITE, 0, 4);
	other = take(REQ_OP_WRITE, 8, 1);
	run_works();
	assert_int_equal(bed_posted(NEW), 2);
	assert_int_equal(atomic_read(&bed.dev.backing_stores), 4);
	answer(NEW);
	assert_int_equal(bio->ended, 0);
	assert_int_equal(bed_posted(NEW), 2);
	answer(NEW);
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bed_posted(NEW), 1);
	answer(NEW);
	assert_int_equal(other->ended, 1);
	assert_int_equal(other->bi_status, BLK_STS_OK);
	assert_int_equal(backing.twins.left, 2);
	assert_int_equal(atomic_read(&bed.dev.backing_stores), 0);

	bio = take(REQ_OP_READ, 0, 4);
	run_works();
	assert_int_equal(bed_posted(LOAD), 2);
	answer(LOAD);
	answer(LOAD);
	assert_int_equal(bio->ended, 1);
	assert_true(left >= BED_DEPTH);
	bed_check_idle();
}

/* The last twin ends before the bio that has found none is on the list. */
static void test_ended_meanwhile(void **state)
{
	struct bio *bio;

	backing.twins.left = 0;
	bio = take(REQ_OP_WRITE, 0, 1);
	assert_int_equal(bed_posted(NEW), 0);
	backing.twins.left = 1;
	run_works();
	assert_int_equal(bed_posted(NEW), 1);
	answer(NEW);
	assert_int_equal(bio->ended, 1);
	bed_check_idle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_no_twin, setup),
		cmocka_unit_test_setup(test_ended_meanwhile, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
