// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * protect=aead: protect.c on the way of a bio (bed.h), with nettle in the place of the
 * kernel's library.  What the memory node has is noise; what it gives back is what
 * was stored last in that slot, or an I/O error of that block alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bed.h"

#define MAPPED	ODRP_WIRE_MAPPED_STORE
#define NEW	ODRP_WIRE_UNMAPPED_STORE

static int setup(void **state)
{
	bed_init();
	return odrp_protect_add(&bed.dev);
}

static int teardown(void **state)
{
	odrp_protect_del(&bed.dev);
	return bed.dev.protect ? -1 : 0;
}

/* Bios that have ended are nobody's. */
static void forget_bios(void)
{
	bed_check_idle();
	memset(bed.bio, 0, sizeof(bed.bio));
	bed.nr_bios = 0;
}

static void store(u64 slot, unsigned int nr, char what)
{
	struct bio *bio = bed_store(slot, nr, what);
	unsigned int i;

	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	for (i = 0; !bed.off && i < nr; i++)
		assert_int_equal(bed_read(bio, i), what);
	forget_bios();
}

static void expect(u64 slot, char what)
{
	struct bio *bio = bed_load(slot, 1);

	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	assert_int_equal(bed_read(bio, 0), what);
	forget_bios();
}

/* An I/O error, and zeros where the page would have been; counted once. */
static void expect_error(u64 slot)
{
	u64 before = bed.dev.stats->protect_errors;
	struct bio *bio = bed_load(slot, 1);

	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed_read(bio, 0), 0);
	assert_int_equal(bed.dev.stats->protect_errors, before + 1);
	assert_false(bed.dev.some_unknown);	/* its slot is not to be looked up */
	forget_bios();
}

/* No value is there more than 60 times in 4096 bytes of noise, in a universe. */
static void check_noise(const struct page *page)
{
	unsigned int n[256] = { 0 }, i;

	for (i = 0; i < PAGE_SIZE; i++)
		n[(u8)page->bytes[i]]++;
	for (i = 0; i < 256; i++)
		assert_in_range(n[i], 0, 60);
}

static void test_noise(void **state)
{
	struct page first;

	store(0, 3, 'a');
	check_noise(bed_page(0));
	first = *bed_page(0);
	assert_memory_not_equal(&first, bed_page(1), PAGE_SIZE);
	assert_memory_not_equal(bed_page(2), bed_page(1), PAGE_SIZE);
	store(0, 1, 'a');
	assert_memory_not_equal(&first, bed_page(0), PAGE_SIZE);
	expect(0, 'a');
	expect(1, 'a');
	expect(2, 'a');
	expect(0, 'a');
	assert_int_equal(bed.dev.stats->bounced, 4);
}

/* Each byte, and each bit of some. */
static void test_changed(void **state)
{
	unsigned int bit;

	store(4, 2, 'b');
	for (bit = 0; bit < PAGE_SIZE * 8; bit += 61) {
		char *at = &bed_page(4)->bytes[bit / 8];

		*at ^= 1 << bit % 8;
		expect_error(4);
		*at ^= 1 << bit % 8;
	}
	expect(4, 'b');
	expect(5, 'b');
	bed_page(4)->bytes[0] ^= 1;
	store(4, 1, 'c');
	expect(4, 'c');
}

static void exchange(u64 a, u64 b)
{
	struct page page = *bed_page(a);

	*bed_page(a) = *bed_page(b);
	*bed_page(b) = page;
}

static void test_another_page(void **state)
{
	store(1, 3, 'd');
	exchange(1, 2);
	expect_error(1);
	expect_error(2);
	expect(3, 'd');
	exchange(1, 2);
	expect(1, 'd');
	expect(2, 'd');
	memset(bed_page(1), 0, PAGE_SIZE);
	expect_error(1);
	memset(bed_page(1), 'd', PAGE_SIZE);
	expect_error(1);
}

static void test_old_page(void **state)
{
	struct page old;

	store(7, 1, 'e');
	old = *bed_page(7);
	store(7, 1, 'f');
	expect(7, 'f');
	*bed_page(7) = old;
	expect_error(7);
	store(7, 1, 'e');
	*bed_page(7) = old;
	expect_error(7);
}

/* A slot takes the page of one that was freed: entries change places, seals do not. */
static void test_reuse(void **state)
{
	store(0, 2, 'g');
	odrp_free_slot(&bed.dev, 0);
	store(9, 1, 'h');
	assert_int_equal(bed.dev.stats->stores_reused, 1);
	assert_int_not_equal(bed.dev.slots.entry[9], 9);
	expect(9, 'h');
	expect(1, 'g');
	expect(0, 0);
	store(0, 1, 'i');
	exchange(0, 9);
	expect_error(0);
	expect_error(9);
}

/* As reconnect.c: connections are gone, and made anew. */
static void reconnect(void)
{
	enum odrp_state from;
	unsigned int c;

	odrp_sess_fail(&bed.dev.sess, "lost");
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		bed.conn[c].live = false;
		bed.conn[c].paused = true;
	}
	bed_unplug();
	assert_true(odrp_sess_move(&bed.dev.sess, ODRP_LIVE, &from));
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		assert_int_equal(odrp_conn_resume(&bed.conn[c]), 0);
}

/* What is sent again is the same: the nonce has no other page. */
static void test_sent_again(void **state)
{
	struct page first;

	store(3, 1, 'j');
	bed_store(3, 1, 'k');
	first = *bed_sent(MAPPED, 0);
	check_noise(&first);
	reconnect();
	assert_memory_equal(&first, bed_sent(MAPPED, 0), PAGE_SIZE);
	bed_execute(MAPPED, 1);
	reconnect();
	assert_memory_equal(&first, bed_sent(MAPPED, 0), PAGE_SIZE);
	bed_drain();
	assert_int_equal(bed.dev.stats->resent, 2);
	forget_bios();
	expect(3, 'k');
}

/* An unmapped store that was executed without an answer, as the table says. */
static void test_settled(void **state)
{
	struct odrp_req *req = bed.conn[NEW].reqs;

	bed_store(2, 1, 'l');
	bed_execute(NEW, 1);
	for (; !(atomic_read(&req->st) & ODRP_REQ_POSTED);)
		req++;
	odrp_req_settle(req);
	bed_drain();
	forget_bios();
	expect(2, 'l');
}

/* One that was not sent leaves the slot what it was. */
static void test_aborted(void **state)
{
	struct bio *bio;

	store(6, 1, 'm');
	bio = bed_store(6, 1, 'n');
	bed_unplug();
	bed.conn[MAPPED].reqs[0].res = ODRP_SLOT_ABORTED;
	odrp_req_settle(&bed.conn[MAPPED].reqs[0]);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	forget_bios();
	expect(6, 'm');
}

/* Blocks that lie in two pages each. */
static void test_pieces(void **state)
{
	struct bio *bio;
	unsigned int i;

	bed.off = 512;
	store(0, 3, 'o');
	bio = bed_load(0, 3);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	for (i = 0; i < 3 * PAGE_SIZE; i++)
		assert_int_equal((&bio->pages->bytes[0])[512 + i], 'o');
	forget_bios();
	bed_page(1)->bytes[4000] ^= 4;
	bio = bed_load(0, 3);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed.dev.stats->protect_errors, 1);
	for (i = 0; i < PAGE_SIZE; i++) {
		assert_int_equal((&bio->pages->bytes[0])[512 + i], 'o');
		assert_int_equal((&bio->pages->bytes[0])[512 + PAGE_SIZE + i], 0);
	}
	bed.off = 0;
	forget_bios();
	expect(0, 'o');
}

/* Each device has its own key, also one that is added again. */
static void test_key(void **state)
{
	struct page first;

	store(0, 1, 'p');
	first = *bed_page(0);
	odrp_protect_del(&bed.dev);
	assert_int_equal(odrp_protect_add(&bed.dev), 0);
	store(0, 1, 'p');
	assert_memory_not_equal(&first, bed_page(0), PAGE_SIZE);
	*bed_page(0) = first;
	expect_error(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sent_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aborted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
