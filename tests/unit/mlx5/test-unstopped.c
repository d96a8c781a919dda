// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A card that refuses to stop queue pairs, or to destroy them, or both: the agent
 * gives no page away that a chain may still use, says so, and goes on when the card
 * does.
 *
 * Linked with under.c, and with --wrap=log_line.
 */
#include <errno.h>
#include <json-c/json.h>
#include <log.h>
#include <report/status.h>
#include <string.h>
#include "bed/load.h"
#include "fake.h"

#define SLOTS	200
#define QUEUES	2
#define CHAINS	(QUEUES * ODRP_WIRE_NR_CHAINS)

#define FENCE_UMEMS	2	/* completion queue and queue pair of the fence */

static struct bed bed;
static struct load loads[2];
static unsigned int said, at_first;

void __wrap_log_line(int level, const char *fmt, ...);

/* Without what it is about: once is once. */
void __wrap_log_line(int level, const char *fmt, ...)
{
	said += level == LOG_ERR && strstr(fmt, "neither stops nor destroys");
}

static void refuse(bool stop, bool destroy)
{
	fake.no_stop = stop;
	fake.no_destroy = destroy;
}

static unsigned int umems(void)
{
	const struct fake_umem *u;
	unsigned int n = 0;

	for (u = fake.umems; u; u = u->next)
		n++;
	return n;
}

static void open_bed(unsigned int nr_nodes)
{
	struct bed_options o;
	unsigned int i;

	said = 0;
	bed_options(&o);
	o.conf.dead_ms = 60000;
	bed_open(&bed, &o, nr_nodes);
	at_first = umems();
	for (i = 0; i < nr_nodes; i++) {
		bed_connect(&bed, i, i ? 4000 : SLOTS, QUEUES, 7);
		load_init(&loads[i], &bed, i, i ? 4000 : SLOTS, i + 1);
		load_run(&loads[i], 300);
	}
}

static void close_bed(void)
{
	unsigned int i;

	for (i = 0; i < bed.nr_nodes; i++)
		load_fini(&loads[i]);
	bed_close(&bed);
}

static void forget_node(unsigned int node)
{
	bed_die(&bed, node);
}

static uint64_t number(struct json_object *obj, const char *name)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(obj, name, &v));
	return json_object_get_uint64(v);
}

/* What people are told: all that the session has, and how many chains are why. */
static void expect_status(uint64_t withheld, unsigned int unstopped)
{
	struct json_object *obj = status_make(&bed.m, 0), *list, *s;

	assert_int_equal(number(obj, "pages_withheld"), withheld);
	assert_true(json_object_object_get_ex(obj, "sessions", &list));
	s = json_object_array_get_idx(list, 0);
	assert_int_equal(number(s, "unstopped"), unstopped);
	json_object_put(obj);
}

static uint64_t pages_of(uint16_t owner)
{
	uint64_t i, n = 0;

	for (i = 0; i < bed.m.pool.pages; i++)
		n += bed.m.pool.owner[i] == owner;
	return n;
}

static void expect_withheld(uint64_t pages)
{
	struct check_result res;

	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.withheld, pages);
	assert_int_equal(res.returning, 0);
}

/* Grows until there is nothing more to be had, and stores to all of it. */
static void take_all(unsigned int node)
{
	struct load *l = &loads[node];

	bed.nodes[node].want = l->nr_slots;
	bed_pass(&bed, 3000);
	l->free_chance = 0;
	l->refused = 0;
	while (!l->refused)
		load_run(l, 100);
}

/* Whatever becomes of that, each of its queues has been told to stop. */
static void kill_sess(struct sess *s, enum manager_why why)
{
	manager_kill(&bed.m, s, why);
	while (s->nr_closing)
		manager_work(&bed.m);
}

/* Evicted, and its chains run on for it, on its own pages and no others. */
static void test_runs_on(void **state)
{
	struct sess *s;
	uint64_t lent, most;
	bool keyed;

	open_bed(2);
	s = bed.m.sess[0];
	keyed = keys_exist(&s->keys);
	refuse(true, true);
	kill_sess(s, WHY_EVICTED);
	lent = s->lent;
	assert_int_equal(sess_unstopped(s), CHAINS);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 2);
	assert_int_equal(pages_of(s->owner), lent);
	assert_true(keys_exist(&s->keys) == keyed);
	load_run(&loads[0], 300);
	take_all(1);
	load_run(&loads[0], 300);
	load_verify(&loads[1]);
	load_verify(&loads[0]);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 2);
	assert_ptr_equal(bed.m.sess[0], s);
	assert_int_equal(s->lent, lent);
	assert_int_equal(pages_of(s->owner), lent);
	bed_check(&bed, loads[1].mapped);
	expect_withheld(lent);
	expect_status(lent, CHAINS);
	assert_int_equal(said, 1);

	/* The card comes to its senses: then they are for the other one. */
	refuse(false, false);
	most = loads[1].mapped;
	bed_pass(&bed, 300);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	expect_withheld(0);
	forget_node(0);
	take_all(1);
	assert_true(loads[1].mapped > most + lent / 2);
	load_verify(&loads[1]);
	bed_settle(&bed);
	bed_check(&bed, loads[1].mapped);
	close_bed();
}

/* One that is dead is looked after, too, though another one is held up. */
static void test_others_are_buried(void **state)
{
	uint64_t lent;

	open_bed(2);
	refuse(true, true);
	kill_sess(bed.m.sess[0], WHY_EVICTED);
	lent = bed.m.sess[0]->lent;
	refuse(false, true);	/* these stand still, at least */
	forget_node(1);
	kill_sess(bed.m.sess[1], WHY_DEAD);
	refuse(true, true);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, 0);
	expect_withheld(lent);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages - lent);
	load_run(&loads[0], 100);
	load_verify(&loads[0]);
	refuse(false, false);
	close_bed();
}

static void expect_busy(int r, const struct cnode_refusal *no)
{
	assert_int_equal(r, -ECONNREFUSED);
	assert_int_equal(no->status, ODRP_WIRE_E_BUSY);
}

/* One chain of a session that goes on: nothing takes its place before it stands. */
static void test_one_chain(void **state)
{
	struct cnode_refusal no;
	unsigned int c;

	open_bed(1);
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		refuse(true, true);
		manager_close_queue(&bed.m, bed.m.sess[0], 0, c);
		bed_pass(&bed, 300);
		expect_busy(cnode_reconnect(bed.nodes[0].cnode, 0, c, &no),
			    &no);
		expect_status(0, 1);
		assert_int_equal(bed.m.queues_broken, 0);
		refuse(false, false);
		bed_pass(&bed, 300);
		assert_int_equal(cnode_reconnect(bed.nodes[0].cnode, 0, c, &no),
				 0);
		load_run(&loads[0], 100);
		load_verify(&loads[0]);
		bed_check(&bed, loads[0].mapped);
	}
	assert_int_equal(said, 1);
	close_bed();
}

/* The ring is not put in order, and nothing is connected, while one runs. */
static void test_resume(void **state)
{
	struct cnode *c;
	struct cnode_refusal no;

	open_bed(1);
	c = bed.nodes[0].cnode;
	refuse(true, true);
	cnode_lose(c, true);
	bed_pass(&bed, 300);
	assert_false(sess_attached(bed.m.sess[0]));
	expect_busy(cnode_resume(c, &no), &no);
	refuse(false, false);
	bed_pass(&bed, 300);
	assert_int_equal(cnode_resume(c, &no), 0);
	bed_check(&bed, loads[0].mapped);
	load_verify(&loads[0]);
	load_run(&loads[0], 100);
	load_verify(&loads[0]);
	close_bed();
}

/* Destroyed, a queue pair stands still, and one that stands still need not be
 * destroyed: pages go on in both cases. */
static void either(bool stop, bool destroy)
{
	open_bed(1);
	refuse(stop, destroy);
	kill_sess(bed.m.sess[0], WHY_EVICTED);
	forget_node(0);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	assert_int_equal(said, 0);
	/* What is left has the memory that it works in. */
	if (destroy)
		assert_true(umems() > at_first + FENCE_UMEMS);
	else
		assert_int_equal(umems(), at_first + FENCE_UMEMS);
	refuse(false, false);
	close_bed();
}

static void test_either(void **state)
{
	either(true, false);
	either(false, true);
}

/* Nobody knows how far they came: what they held is out of use, and not counted as
 * what the compute node could have. */
static void test_astray(void **state)
{
	struct check_result res;
	struct cnode_refusal no;
	unsigned int i, c;

	open_bed(1);
	bed.nodes[0].want = SLOTS;
	bed_pass(&bed, 1000);
	for (i = 0; i < 20; i++) {
		c = i % ODRP_WIRE_NR_CHAINS;
		refuse(true, false);
		manager_close_queue(&bed.m, bed.m.sess[0], 0, c);
		refuse(false, false);
		bed_pass(&bed, 300);
		assert_int_equal(cnode_reconnect(bed.nodes[0].cnode, 0, c, &no),
				 0);
	}
	loads[0].free_chance = 0;
	while (loads[0].mapped < SLOTS)
		load_run(&loads[0], 50);
	loads[0].free_chance = 40;
	load_run(&loads[0], 500);
	load_verify(&loads[0]);
	assert_int_equal(bed.m.queues_broken, 0);
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.lost, 5 * bed_registers(&bed, 8));
	assert_int_equal(res.doubled + res.foreign + res.empty + res.stray, 0);
	kill_sess(bed.m.sess[0], WHY_EVICTED);
	forget_node(0);
	bed_settle(&bed);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	close_bed();
}

static void (*real_close)(struct nic *nic);

/* What the kernel does when the agent's file is closed. */
static void close_file(struct nic *nic)
{
	refuse(false, false);
	real_close(nic);
}

/* The agent ends all the same. */
static void test_end(void **state)
{
	static struct nic_ops ops;

	open_bed(1);
	ops = *bed.nic->ops;
	real_close = ops.close;
	ops.close = close_file;
	bed.nic->ops = &ops;
	refuse(true, true);
	manager_evict_all(&bed.m);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	close_bed();
}

/* A chain that has never run: what it would have had is known, whatever the card
 * says of queue pairs that are in RESET. */
static bool watching;

int __real_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);
int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);

int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX])
{
	if (!watching)
		return __real_queue_arm_some(q, why);
	watching = false;
	refuse(true, false);
	return -EIO;
}

static void test_astray_while_arming(void **state)
{
	struct check_result res;
	struct cnode_refusal no;
	unsigned int i;

	if (bed_keyed)
		skip();
	open_bed(1);
	bed_settle(&bed);
	for (i = 0; i < 20; i++) {
		watching = true;
		(void)cnode_reconnect(bed.nodes[0].cnode, 0,
				      ODRP_WIRE_UNMAPPED_STORE, &no);
		assert_false(watching);
		refuse(false, false);
		bed_pass(&bed, 100);
	}
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.lost, 0);
	close_bed();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_on),
		cmocka_unit_test(test_others_are_buried),
		cmocka_unit_test(test_one_chain),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_either),
		cmocka_unit_test(test_astray),
		cmocka_unit_test(test_astray_while_arming),
		cmocka_unit_test(test_end),
	};

	return bed_run_tests(tests);
}
