// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Looking after chains on a card, and waiting for them: no turn of the agent's loop waits
 * for more than a few firmware commands, however many chains there are, and a chain that
 * breaks is noticed all the same.
 *
 * Linked with under.c.
 */
#include "bed/load.h"
#include "fake.h"

#define SLOTS	200
#define QUEUES	16
#define CHAINS	(QUEUES * ODRP_WIRE_NR_CHAINS)

/* Commands of a turn: a few queues of three each, and the admin connection. */
#define FEW	16

static struct bed bed;
static struct load load;
static unsigned int most;	/* commands of any turn */

void __real_manager_tick(struct manager *m, uint32_t elapsed_ms);
enum lend_todo __real_manager_work(struct manager *m);
void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms);
enum lend_todo __wrap_manager_work(struct manager *m);

static void turn_ends(unsigned int before)
{
	if (fake.calls - before > most)
		most = fake.calls - before;
}

void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	unsigned int before = fake.calls;

	__real_manager_tick(m, elapsed_ms);
	turn_ends(before);
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	unsigned int before = fake.calls;
	enum lend_todo todo = __real_manager_work(m);

	turn_ends(before);
	return todo;
}

static struct sess *sess(void)
{
	return bed.m.sess[0];
}

static void open_bed(void)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.queues = QUEUES;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, SLOTS, QUEUES, 7);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	assert_int_equal(sess()->nr_queues, QUEUES);
	bed_pass(&bed, 1000);
}

static void close_bed(void)
{
	load_close(&load, &bed);
}

/* Those that are chains: the NIC translates the others' slots. */
static unsigned int nr_chains(void)
{
	unsigned int n, c, nr = 0;
	struct queue *q;

	sess_for_each_queue(sess(), n, c, q)
		nr += !q->bare;
	return nr;
}

static void test_short_turns(void **state)
{
	unsigned int before;

	open_bed();
	most = 0;
	before = fake.calls;
	bed_pass(&bed, 3 * bed.opts.conf.beat_ms);
	/* All have been asked in each of at least two periods. */
	assert_true(fake.calls - before >= 2 * CHAINS);
	assert_in_range(most, 1, FEW);
	close_bed();
}

/* A grace period: each chain is asked before the pages are back. */
static void test_grace_by_turns(void **state)
{
	unsigned int before, turns;
	uint64_t nr_free;
	struct sess *s;

	open_bed();
	s = sess();
	s->lease.granted = s->lease.ceiling = s->lease.target = load.mapped;
	s->lease.held = s->lease.cap = load.mapped;
	bed.m.stirred = true;
	nr_free = bed.m.pool.nr_free;
	most = 0;
	before = fake.calls;
	for (turns = 0; bed.m.pool.nr_free == nr_free; turns++) {
		assert_in_range(turns, 0, 10 * CHAINS);
		manager_work(&bed.m);
		bed_run_ns(&bed, 10000);
	}
	assert_true(fake.calls - before >= nr_chains());
	assert_in_range(most, 1, FEW);
	close_bed();
}

static struct queue *queue_of(unsigned int i)
{
	return sess()->queues[i / ODRP_WIRE_NR_CHAINS][i % ODRP_WIRE_NR_CHAINS];
}

/* Whichever breaks, first or last of the period, at either queue pair. */
static void test_noticed(void **state)
{
	const unsigned int broken[] = { 0, 1, CHAINS / 2 + 1, CHAINS - 1 };
	unsigned int i;

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct queue *q;

		open_bed();
		q = queue_of(broken[i]);
		assert_int_equal(snic_qp_error(fake.snic, i % 2 && !q->bare ?
					       q->loop_qpn : q->client_qpn), 0);
		bed_pass(&bed, 3 * bed.opts.conf.beat_ms);
		assert_true(bed.m.queues_broken >= 1);
		close_bed();
	}
}

/* A broken admin connection completes nothing. */
static void test_admin(void **state)
{
	open_bed();
	assert_int_equal(snic_qp_error(fake.snic, sess()->ctl.qpn), 0);
	bed_pass(&bed, 3 * bed.opts.conf.beat_ms);
	assert_false(sess_attached(sess()));
	close_bed();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_turns),
		cmocka_unit_test(test_grace_by_turns),
		cmocka_unit_test(test_noticed),
		cmocka_unit_test(test_admin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
