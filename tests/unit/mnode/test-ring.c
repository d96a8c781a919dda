// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rings, page addresses, and the pool: whose a page is. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/agent.h"

static void test_size(void **state)
{
	static const uint64_t pages[] = {
		1, 63, 64, 255, 256, 257, 1000, 65536, 69632, 1ull << 28,
	};
	unsigned int i;

	for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		uint8_t log = ring_log_len(pages[i]);

		assert_true(ring_slots(log) >= 2 * pages[i]);
		assert_int_equal(ring_slots(log) * RING_SLOT, 1ull << log);
		assert_int_equal(RING_IOVA & ((1ull << log) - 1), 0);
		if (log > RING_MIN_LOG_LEN)
			assert_true(ring_slots(log - 1) < 2 * pages[i]);
	}
}

static void test_walk(void **state)
{
	uint8_t log = RING_MIN_LOG_LEN;
	uint64_t n = ring_slots(log), i, at = RING_IOVA;

	for (i = 0; i < 3 * n; i++) {
		assert_true(ring_valid(log, at));
		assert_int_equal(ring_index(log, at), i % n);
		assert_int_equal(ring_distance(log, RING_IOVA, at), i % n);
		assert_int_equal(ring_distance(log, at, RING_IOVA),
				 (n - i % n) % n);
		assert_int_equal(ring_advance(log, RING_IOVA, i), at);
		at = ring_advance(log, at, 1);
	}
	assert_false(ring_valid(log, RING_IOVA + 4));
	assert_false(ring_valid(log, RING_IOVA - 8));
	assert_false(ring_valid(log, RING_IOVA + (1ull << log)));
	assert_false(ring_valid(log, 0));
}

static void test_page_address(void **state)
{
	uint64_t page;

	assert_true(page_index(page_addr(0), 10, &page));
	assert_int_equal(page, 0);
	assert_true(page_index(page_addr(9), 10, &page));
	assert_int_equal(page, 9);
	assert_false(page_index(page_addr(10), 10, &page));
	assert_false(page_index(page_addr(3) + 1, 10, &page));
	assert_false(page_index(page_addr(3) + 2048, 10, &page));
	assert_false(page_index(WRC_POOL_IOVA - 4096, 10, &page));
	assert_false(page_index(0, 10, &page));
	assert_false(page_index(UINT64_MAX, 10, &page));
}

/* Chains rely on these two bytes: see WRC_POOL_IOVA. */
static void test_page_address_bytes(void **state)
{
	uint64_t first = htobe64(page_addr(0));
	uint64_t last = htobe64(page_addr((WRC_POOL_MAX >> 12) - 1));

	assert_memory_equal((uint8_t *)&first + 1, "\x15\x08", 2);
	assert_memory_equal((uint8_t *)&last + 1, "\x15\x08", 2);
}

/* May byte i of a page's address be v? */
static bool may_be(unsigned int i, unsigned int v)
{
	uint64_t first = htobe64(page_addr(0));
	uint64_t last = htobe64(page_addr((WRC_POOL_MAX >> 12) - 1));
	unsigned int lo = ((uint8_t *)&first)[i], hi = ((uint8_t *)&last)[i];

	return v >= lo && v <= hi && (i < 7 || !v) && (i != 6 || !(v & 15));
}

/*
 * Could the eight bytes from byte k of an entry on be a page's address?  Bytes of
 * an address do not depend on each other, so it is enough to look at each alone.
 */
static bool may_be_page(unsigned int k, bool empty, bool next_empty)
{
	unsigned int i, v;

	for (i = 0; i < 8; i++) {
		bool zero = i + k < 8 ? empty : next_empty;

		for (v = 0; v < 256; v++)
			if (may_be(i, v) &&
			    (zero ? !v : may_be((i + k) % 8, v)))
				break;
		if (v == 256)
			return false;
	}
	return true;
}

static void test_between_entries(void **state)
{
	unsigned int k, which;

	assert_true(may_be_page(0, false, false));
	for (k = 1; k < 8; k++)
		for (which = 0; which < 4; which++)
			if (may_be_page(k, which & 1, which & 2))
				fail_msg("%u bytes further is a page", k);
}

/* But parts of two addresses, as plain writes between two entries leave them,
 * make one of a page that is neither: so no store may write them plainly. */
static void test_parts_make_a_page(void **state)
{
	const uint64_t a = page_addr(0x1234), b = page_addr(0x1235);
	uint8_t entry[16] = { 0 };
	uint64_t be, found;

	be = htobe64(a);
	memcpy(entry, &be, 8);
	be = htobe64(b);
	memcpy(entry + 6, &be, 8);
	memcpy(&be, entry, 8);
	found = be64toh(be);
	assert_in_range(found, page_addr(0x123f),
			page_addr(0x123f) + ODRP_WIRE_PAGE_SIZE - 1);
}

static void test_pool(void **state)
{
	__u64 addr[1024];
	struct bed_options o;
	uint64_t i, at = 0;
	struct pool *p;
	struct bed b;

	bed_options(&o);
	o.conf.store_pages = 8;
	bed_open(&b, &o, 0);
	p = &b.m.pool;
	assert_int_equal(p->pages, 1024);
	assert_int_equal(p->nr_free, 1024);
	assert_int_equal(pool_take(p, 5, 1025, addr), -ENOMEM);
	assert_int_equal(pool_take(p, 5, 1000, addr), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(addr[i], page_addr(i));
	assert_int_equal(pool_take(p, 6, 24, addr + 1000), 0);
	assert_true(pool_owns(p, 5, addr[999]));
	assert_false(pool_owns(p, 5, addr[1000]));
	assert_int_equal(pool_give_all(p, 5, 10, &at), 10);
	assert_int_equal(at, 10);
	assert_int_equal(pool_give_all(p, 5, UINT64_MAX, &at), 990);
	assert_int_equal(at, 1024);
	assert_int_equal(p->nr_free, 1000);
	bed_close(&b);
}

/* In pieces, of which none is larger than it may be. */
static uint64_t ring_sort(struct ring *r, uint64_t piece)
{
	uint64_t left;

	ring_compact_begin(r);
	do {
		left = r->unsorted;
		ring_compact_some(r, piece);
		assert_int_equal(left - r->unsorted, left < piece ? left : piece);
	} while (r->unsorted);
	return ring_pages(r);
}

/* A ring in any disorder: all that is in it, in a row. */
static void test_compact(void **state)
{
	struct bed_options o;
	struct ring r;
	struct bed b;
	unsigned int i, n;

	bed_options(&o);
	bed_open(&b, &o, 0);
	assert_int_equal(ring_init(&r, b.nic, b.m.pool.pdn, 256), 0);
	n = ring_slots(r.log_len);
	assert_int_equal(ring_pop(&r), 0);
	for (i = 0; i < n - 1; i++)
		ring_push(&r, page_addr(i));
	for (i = 0; i < n - 5; i++)
		assert_int_equal(ring_pop(&r), page_addr(i));
	ring_push(&r, page_addr(7000));
	assert_int_equal(ring_pages(&r), 5);
	/* A hole; the head has passed three; one is behind it. */
	assert_int_equal(ring_take_slot(&r, ring_advance(r.log_len, *r.head,
							 1)),
			 page_addr(n - 4));
	r.slot[3] = htobe64(page_addr(8000));
	*r.head = ring_advance(r.log_len, *r.head, 3);
	assert_int_equal(ring_sort(&r, 7), 5);
	for (i = 0; i < 5; i++)
		assert_true(ring_pop(&r));
	assert_int_equal(ring_pop(&r), 0);
	*r.head = 12345;
	ring_push(&r, page_addr(9));
	assert_int_equal(ring_sort(&r, UINT64_MAX), 1);
	assert_int_equal(ring_pop(&r), page_addr(9));
	ring_fini(&r);
	bed_close(&b);
}

static void test_pool_size(void **state)
{
	struct bed_options o;
	struct pool p;
	struct bed b;

	bed_options(&o);
	bed_open(&b, &o, 0);
	assert_int_equal(pool_init(&p, b.nic, 0, false), -ERANGE);
	assert_int_equal(pool_init(&p, b.nic, 4097, false), -ERANGE);
	assert_int_equal(pool_init(&p, b.nic, (1ull << 40) + 4096, false),
			 -ERANGE);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_page_address),
		cmocka_unit_test(test_page_address_bytes),
		cmocka_unit_test(test_between_entries),
		cmocka_unit_test(test_parts_make_a_page),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(test_pool_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
