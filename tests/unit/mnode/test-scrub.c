// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a compute node leaves in its pages, when others get them: cleared where chains
 * find pages, or where the setting says so, a bounded part of it in each turn.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/agent.h"
#include "bed/cnode-priv.h"

#define PAGES 8192
#define SLOTS 6000
#define MOST_IN_A_TURN 3072	/* pages: some milliseconds */

static struct bed bed;
static uint64_t most;		/* pages that one turn has cleared */
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));
static const uint8_t zeros[ODRP_WIRE_PAGE_SIZE];

/* ---- turns of the agent's loop -------------------------------------------------- */

enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);
void __real_manager_events(struct manager *m);
void __wrap_manager_events(struct manager *m);

static void note(uint64_t before)
{
	if (bed.m.lender.nr_scrubbed - before > most)
		most = bed.m.lender.nr_scrubbed - before;
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	uint64_t before = m->lender.nr_scrubbed;
	enum lend_todo todo = __real_manager_work(m);

	note(before);
	return todo;
}

void __wrap_manager_events(struct manager *m)
{
	uint64_t before = m->lender.nr_scrubbed;

	__real_manager_events(m);
	note(before);
}

/* ---- what is in a page ------------------------------------------------------------ */

static void open_bed(enum conf_scrub scrub)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.pool = PAGES * ODRP_WIRE_PAGE_SIZE;
	o.conf.scrub = scrub;
	bed_open(&bed, &o, 2);
}

static void fill_slots(unsigned int node, uint64_t nr)
{
	uint64_t slot;

	for (slot = 0; slot < nr; slot++) {
		bed_fill(page, node, slot, 1);
		assert_int_equal(cnode_do(bed.nodes[node].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	}
}

static void go_away(unsigned int node)
{
	bed_leave(&bed, node);
	bed_settle(&bed);
}

static struct sess *sess_of(unsigned int node)
{
	struct cnode_info info;
	struct sess *s;

	cnode_info(bed.nodes[node].cnode, &info);
	s = manager_find_wire(&bed.m, info.session);
	assert_non_null(s);
	return s;
}

/* Pages of a session that has stored nothing, and in which there is something. */
static unsigned int soiled(const struct sess *s)
{
	const struct pool *pool = &bed.m.pool;
	unsigned int nr = 0;

	for (uint64_t i = 0; i < pool->pages; i++)
		if (pool->owner[i] == s->owner)
			nr += !!memcmp(pool_va(pool, i), zeros, sizeof(zeros));
	return nr;
}

/* A page of its ring, big endian; one in which there is something, if there is one. */
static __be64 ring_page(const struct sess *s)
{
	uint64_t at = *s->ring.head, nr = 0, i;

	for (i = ring_pages(&s->ring); i; i--) {
		__be64 entry = s->ring.slot[ring_index(s->ring.log_len, at)];

		assert_true(page_index(be64toh(entry), bed.m.pool.pages, &nr));
		if (i == 1 || memcmp(pool_va(&bed.m.pool, nr), zeros,
				     sizeof(zeros)))
			return entry;
		at = ring_advance(s->ring.log_len, at, 1);
	}
	return 0;
}

/* As if a hole somewhere mapped a page before it has been received. */
static void look_through_hole(struct sess *s)
{
	s->tt.entries[7] = ring_page(s);
	assert_int_not_equal(s->tt.entries[7], 0);
	assert_int_equal(cnode_do(bed.nodes[1].cnode, 0, ODRP_WIRE_LOAD, 7,
				  page), 0);
	s->tt.entries[7] = 0;
}

/* One stores and leaves, another one comes; is what it gets cleared? */
static void pass_on(enum conf_scrub scrub, bool cleared)
{
	struct sess *s;

	open_bed(scrub);
	bed.nodes[0].want = bed.nodes[1].want = SLOTS;
	bed_connect(&bed, 0, SLOTS, 1, 7);
	bed_pass(&bed, 2000);
	fill_slots(0, 1000);
	go_away(0);
	assert_int_equal(bed.m.lender.nr_scrubbed, 0);
	bed_connect(&bed, 1, SLOTS, 1, 7);
	bed_pass(&bed, 2000);
	s = sess_of(1);
	if (cleared) {
		assert_int_equal(soiled(s), 0);
		assert_in_range(bed.m.lender.nr_scrubbed, 1000, s->lent);
	} else {
		assert_in_range(soiled(s), 1000, s->lent);
		assert_int_equal(bed.m.lender.nr_scrubbed, 0);
	}
	if (!bed_keyed) {
		look_through_hole(s);
		assert_true(!memcmp(page, zeros, sizeof(page)) == cleared);
	}
	bed_check(&bed, 0);
	bed_close(&bed);
}

static void test_auto(void **state)
{
	pass_on(CONF_SCRUB_AUTO, !bed_keyed);
}

static void test_yes(void **state)
{
	pass_on(CONF_SCRUB_YES, true);
}

/* So the others would notice. */
static void test_no(void **state)
{
	pass_on(CONF_SCRUB_NO, false);
}

/* Its own pages it keeps, however often it comes again. */
static void test_resume(void **state)
{
	struct cnode_refusal no;
	struct sess *s;

	open_bed(CONF_SCRUB_YES);
	bed_connect(&bed, 0, 100, 1, 7);
	fill_slots(0, 100);
	s = sess_of(0);
	for (unsigned int i = 0; i < 3; i++) {
		manager_detach(&bed.m, s);
		assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
		bed_settle(&bed);
	}
	for (uint64_t slot = 0; slot < 100; slot++) {
		uint8_t want[sizeof(page)];

		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0, ODRP_WIRE_LOAD,
					  slot, page), 0);
		bed_fill(want, 0, slot, 1);
		assert_memory_equal(page, want, sizeof(page));
	}
	bed_check(&bed, 100);
	bed_close(&bed);
}

/* Empties a detached session's ring, as another agent finds it: it has no pages. */
static void take_out(struct sess *s, unsigned int nr)
{
	while (nr--) {
		assert_int_equal(pool_give(&bed.m.pool, s->owner,
					   ring_pop(&s->ring)), 0);
		s->lent--;
	}
}

static struct sess *detached(enum conf_scrub scrub)
{
	struct sess *s;

	open_bed(scrub);
	bed.nodes[0].want = SLOTS;
	bed_connect(&bed, 0, SLOTS, 1, 7);
	bed_pass(&bed, 2000);
	s = sess_of(0);
	manager_detach(&bed.m, s);
	bed_settle(&bed);
	return s;
}

/* To the end.  Returns in how many pieces pages came, of which none is larger. */
static unsigned int settle(struct sess *s, uint64_t piece)
{
	unsigned int nr = 0;
	uint64_t before;
	int r;

	sess_event(s, SESS_EV_RESUME);
	do {
		before = s->lent;
		r = lend_settle(&bed.m.lender, s);
		assert_in_range(s->lent - before, 0, piece);
		nr += s->lent > before;
	} while (r == -EAGAIN);
	assert_int_equal(r, 0);
	assert_int_equal(s->state, SESS_DETACHED);
	assert_true(lend_about(s) >= lend_goal(s));
	return nr;
}

/* A node that comes again and is to have more than is cleared in a turn gets it in pieces. */
static void test_settle_in_pieces(void **state)
{
	struct sess *s = detached(CONF_SCRUB_YES);

	take_out(s, 2500);
	assert_int_equal(settle(s, MOST_IN_A_TURN), 3);
	bed_close(&bed);
}

/* So does who is to have many that are not cleared. */
static void test_settle_uncleared(void **state)
{
	struct sess *s = detached(CONF_SCRUB_NO);

	take_out(s, 5000);
	assert_int_equal(settle(s, 4096), 2);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* All of a pool that others have used. */
static void test_turns(void **state)
{
	open_bed(CONF_SCRUB_YES);
	memset(bed.m.pool.clean, false, bed.m.pool.pages);
	most = 0;
	bed.nodes[0].want = SLOTS;
	bed_connect(&bed, 0, SLOTS, 1, 7);
	bed_pass(&bed, 2000);
	assert_in_range(bed.m.lender.nr_scrubbed, SLOTS,
			bed.m.pool.pages);
	assert_in_range(most, 1, MOST_IN_A_TURN);
	bed_check(&bed, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_yes),
		cmocka_unit_test(test_no),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_settle_in_pieces),
		cmocka_unit_test(test_settle_uncleared),
		cmocka_unit_test(test_turns),
	};

	return bed_run_tests(tests);
}
