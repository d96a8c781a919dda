// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A card that does not answer a query: the agent says it once, sends the card no further
 * command, and goes on with all that needs none.  The agent has its thread here that asks
 * the card; what the card is asked is answered in the test's thread, or held up.
 *
 * Linked with under.c.
 */
#include <json-c/json.h>
#include <report/status.h>
#include <sys/eventfd.h>
#include "bed/load.h"
#include "fake.h"

#define SLOTS	200
#define QUEUES	4

static struct bed bed;
static struct load load;
static unsigned int said, said_again;

void __wrap_log_line(int level, const char *fmt, ...);
enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);

void __wrap_log_line(int level, const char *fmt, ...)
{
	said += !!strstr(fmt, "does not answer a query");
	said_again += !!strstr(fmt, "answers again");
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	enum lend_todo todo;

	if (m->health.asked)
		fake_serve(m->nic->node->look_fd);
	todo = __real_manager_work(m);
	/* The loop comes again when look_fd is readable. */
	return m->health.asked && todo == LEND_NOTHING ? LEND_WAIT : todo;
}

static struct sess *sess(void)
{
	return bed.m.sess[0];
}

static void open_bed(unsigned int nodes)
{
	struct bed_options o;

	said = said_again = 0;
	under_threads = true;
	bed_options(&o);
	bed_open(&bed, &o, nodes);
	bed_connect(&bed, 0, SLOTS, QUEUES, 7);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	bed_pass(&bed, 1000);
}

static void close_bed(void)
{
	load_close(&load, &bed);
}

static bool status_silent(void)
{
	struct json_object *obj = status_make(&bed.m, 0), *v;
	bool silent;

	assert_true(json_object_object_get_ex(obj, "nic_silent", &v));
	silent = json_object_get_boolean(v);
	json_object_put(obj);
	return silent;
}

/* Holds the next query up until the agent has noticed. */
static void fall_silent(void)
{
	unsigned int i;

	fake.held = true;
	for (i = 0; i < 100 && !bed.m.health.silent; i++)
		bed_pass(&bed, 1000);
	assert_true(status_silent());
}

/* With a thread that asks, what breaks is noticed as without, and requests are counted. */
static void test_answers(void **state)
{
	uint64_t before;

	open_bed(1);
	before = sess_executed(sess(), ODRP_WIRE_LOAD);
	load_run(&load, 300);
	bed_pass(&bed, 3 * bed.opts.conf.beat_ms);
	assert_true(sess_executed(sess(), ODRP_WIRE_LOAD) > before);
	assert_int_equal(bed.m.queues_broken, 0);
	assert_int_equal(snic_qp_error(fake.snic, sess()->queues[1][0]->client_qpn), 0);
	bed_pass(&bed, 3 * bed.opts.conf.beat_ms);
	assert_int_equal(bed.m.queues_broken, 1);
	assert_int_equal(said, 0);
	assert_false(status_silent());
	close_bed();
}

static void test_silent(void **state)
{
	struct cnode *other;
	struct odrp_wire_hello h;
	unsigned int calls;
	uint64_t beats;

	open_bed(2);
	fall_silent();
	assert_int_equal(said, 1);
	calls = fake.calls;
	beats = sess()->beats;
	load_run(&load, 300);
	bed_pass(&bed, 2 * bed.opts.conf.dead_ms);
	assert_true(sess()->beats > beats);
	assert_int_equal(sess()->state, SESS_ATTACHED);
	/* Nothing that is asked for meanwhile gives the card anything to do. */
	manager_conn(&bed.m, sess(), 0, 0, CONN_EV_CLOSE);
	bed_admin_hello(&h, SLOTS);
	assert_int_not_equal(cnode_request(&bed.nodes[1].cfg, &h, sizeof(h), &other), 0);
	bed_pass(&bed, 1000);
	assert_int_equal(fake.calls, calls);
	assert_int_equal(said, 1);
	fake.held = false;
	bed_pass(&bed, 1000);
	assert_int_equal(said_again, 1);
	assert_false(status_silent());
	assert_null(sess()->queues[0][0]);
	bed_connect(&bed, 1, SLOTS, 1, 7);
	bed_settle(&bed);
	bed_check(&bed, load.mapped);
	close_bed();
}

/* Heartbeats that a silent card does not take count against nobody. */
static void test_no_beats(void **state)
{
	open_bed(1);
	fall_silent();
	cnode_lose(bed.nodes[0].cnode, false);
	bed_pass(&bed, 2 * bed.opts.conf.dead_ms);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess_is_live(sess()));
	fake.held = false;
	bed_pass(&bed, 2 * bed.opts.conf.dead_ms);
	assert_true(!bed.m.nr_sess || !sess_is_live(sess()));
	close_bed();
}

/* The object of a question stays while the card has not answered, and goes then. */
static void test_object_stays(void **state)
{
	uint32_t qpn;

	open_bed(1);
	fall_silent();
	qpn = bed.m.health.look.qpn[0] ? bed.m.health.look.qpn[0] :
					 bed.m.health.look.qpn[1];
	assert_int_not_equal(qpn, 0);
	assert_int_equal(bed.nic->ops->qp_destroy(bed.nic, qpn), -EBUSY);
	assert_non_null(fake_qp(qpn));
	fake.held = false;
	fake_serve(bed.nic->node->look_fd);
	assert_int_equal(bed.nic->ops->qp_destroy(bed.nic, qpn), 0);
	close_bed();
}

/* The agent ends, whether the card answers or not. */
static void test_end(void **state)
{
	open_bed(1);
	fall_silent();
	load_close(&load, &bed);
	fake_give_up();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_no_beats),
		cmocka_unit_test(test_object_stays),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
