// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many compute nodes that connect at once, lose their links at once, and meet another agent at
 * once: all are back, with their pages, after so many turns of the agent for each of them; and
 * while nobody wants anything, no turn looks for work at all sessions.  Counted, in virtual
 * time; the benchmark "mnode sessions" has 1,000 of them and a clock.
 */
#include <stdlib.h>
#include "crowd.h"

#define DIRECT		24
#define CHAINED		10
#define QUEUES		2
#define DEPTH		7
#define IDLE_MS		3000
#define RESUME_MS	30000
/* Times of the agent for each node: handshake, admin and I/O connections, pieces. */
#define TURNS_EACH	200

static struct bed bed;
static struct crowd crowd;
static unsigned int nr_visits;

enum lend_todo __real_lend_run(struct lender *l, struct sess *const *all, size_t nr);
enum lend_todo __wrap_lend_run(struct lender *l, struct sess *const *all, size_t nr);

enum lend_todo __wrap_lend_run(struct lender *l, struct sess *const *all, size_t nr)
{
	nr_visits++;
	return __real_lend_run(l, all, nr);
}

static void begin(enum conf_translate translate, unsigned int nr)
{
	struct bed_options o;

	bed_options(&o);
	o.tick_ms = o.conf.beat_ms = 1000;
	o.conf.dead_ms = 90 * 1000;
	o.conf.translate = translate;
	o.conf.max_sessions = nr;
	o.conf.queues = QUEUES;
	o.conf.depth = 2 * (DEPTH + 1);
	o.conf.pool = (nr + 2ull) << ODRP_WIRE_LOG_SLAB;
	bed_open(&bed, &o, 0);
	crowd_open(&crowd, &bed, nr, QUEUES, DEPTH);
}

static void expect_back(const char *what, uint64_t began, uint64_t turns)
{
	turns = bed.nr_turns - turns;
	if (getenv("CROWD_PRINT"))
		print_message("%s: %lu turns each, %lu ms\n", what, (unsigned long)turns / crowd.nr,
			      (unsigned long)((bed.now - began) / MS));
	assert_int_equal(bed.m.nr_sess, crowd.nr);
	assert_int_equal(bed.m.tally.state[SESS_ATTACHED], crowd.nr);
	assert_in_range(turns, 1, (uint64_t)TURNS_EACH * crowd.nr);
	assert_in_range(bed.now - began, 1, RESUME_MS * MS);
}

static void expect_rest(void)
{
	/* Pages that are not wanted go back to the pool first. */
	crowd_pass(&crowd, IDLE_MS);
	nr_visits = 0;
	crowd_pass(&crowd, IDLE_MS);
	/* Each second has one tick, and a heartbeat of each; all else asks the NIC. */
	assert_in_range(nr_visits, 1, IDLE_MS / 1000 * (crowd.nr + crowd.nr / 4 + 4));
	assert_int_equal(bed.m.tally.arming + bed.m.tally.closing, 0);
}

static void come_back(enum conf_translate translate, unsigned int nr)
{
	int fd[KEEP_FILES];
	uint64_t began, turns;

	begin(translate, nr);
	began = bed.now;
	turns = bed.nr_turns;
	crowd_connect(&crowd);
	expect_back("connect", began, turns);
	expect_rest();
	began = bed.now;
	turns = bed.nr_turns;
	crowd_lose(&crowd);
	crowd_resume(&crowd);
	expect_back("links lost", began, turns);
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	crowd_tell(&crowd);
	began = bed.now;
	turns = bed.nr_turns;
	crowd_resume(&crowd);
	expect_back("restart", began, turns);
	expect_rest();
	crowd_close(&crowd);
}

static void test_direct(void **state)
{
	come_back(CONF_TRANSLATE_DIRECT, DIRECT);
}

static void test_chains(void **state)
{
	come_back(CONF_TRANSLATE_CHAIN, CHAINED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
