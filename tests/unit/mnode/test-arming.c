// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What may happen while a chain is being armed, a piece in each turn of the agent's
 * loop: who waits for it goes, or its session or the agent ends; another one is asked for;
 * the NIC stops nothing.  Nobody has a chain that is half armed, who waits is answered,
 * and no page is lost.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/load.h"

#define SLOTS		300
#define POOL		(4ull << 20)
#define QUEUES		2

static struct bed bed;
static struct load load;
static unsigned int nr_begun, nr_arms, most_arming;

/* A compute node waits for its connections; else the agent is slower than it. */
static bool waits = true;

/* This chain stays half armed. */
static struct queue *held;

/* Once, when a chain is half armed. */
static void (*while_arming)(struct sess *s);

enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);
int __real_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);
int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);

static struct sess *sess(void)
{
	assert_true(bed.m.nr_sess > 0);
	return bed.m.sess[0];
}

int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX])
{
	if (q == held)
		return -EAGAIN;
	nr_arms++;
	nr_begun += q->step == 1;
	assert_int_equal(q->cm_id, 0);
	return __real_queue_arm_some(q, why);
}

static bool is_arming(struct sess *s)
{
	unsigned int n, c, nr = 0;
	bool half = false;
	struct queue *q;

	sess_for_each_queue(s, n, c, q) {
		nr += q->arming;
		half |= q->arming && !conn_is_closing(q->state) && q->step > 2;
	}
	if (nr > most_arming)
		most_arming = nr;
	return half;
}

/* Its pages are there. */
static void look_at_arming(struct manager *m)
{
	struct sess *s = m->nr_sess ? m->sess[0] : NULL;
	void (*act)(struct sess *s) = while_arming;
	struct check_result res;

	if (!s || !is_arming(s) || !act)
		return;
	assert_int_equal(check_pages(m, &res), 0);
	assert_true(check_ok(&res));
	while_arming = NULL;
	act(s);
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	enum lend_todo todo;

	if (!waits)
		return LEND_WAIT;
	todo = __real_manager_work(m);
	look_at_arming(m);
	/* A queue that is held stays to be armed: virtual time goes on in larger steps. */
	return held ? LEND_WAIT : todo;
}

/* A compute node that waits for its connections as long as it may. */
static bool impatient(void *arg)
{
	return waits && bed_pump(arg);
}

static void open_agent(void)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.pool = POOL;
	o.conf.queues = QUEUES;
	o.conf.dead_ms = 60000;
	bed_open(&bed, &o, 1);
	bed.nodes[0].cfg.pump = impatient;
	while_arming = NULL;
	held = NULL;
	waits = true;
}

static struct cnode *open_one(void)
{
	open_agent();
	return load_open(&load, &bed, POOL, QUEUES, SLOTS);
}

static void lose_patience(struct sess *s)
{
	waits = false;
}

static void evict(struct sess *s)
{
	manager_kill(&bed.m, s, WHY_EVICTED);
}

static void pause_all(struct sess *s)
{
	manager_pause(&bed.m);
}

/* Refused, or gone: what was half armed is not there any more, and lost no page. */
static void ends_while_arming(void (*act)(struct sess *s), unsigned int status)
{
	struct cnode_config *cfg;
	struct cnode_refusal no = { 0 };
	struct cnode *c;

	open_agent();
	cfg = &bed.nodes[0].cfg;
	cfg->nr_slots = SLOTS;
	cfg->queues = QUEUES;
	cfg->depth = 7;
	while_arming = act;
	assert_int_not_equal(cnode_open(cfg, &c, &no), 0);
	assert_int_equal(no.status, status);
	assert_null(while_arming);
	waits = true;
	bed_settle(&bed);
	bed_check(&bed, 0);
	assert_int_equal(manager_armed_pages(&bed.m), 0);
	bed_close(&bed);
}

static void test_evicted_while_arming(void **state)
{
	ends_while_arming(evict, ODRP_WIRE_E_SESSION);
}

static void test_gone_while_arming(void **state)
{
	ends_while_arming(lose_patience, 0);
}

static void test_paused_while_arming(void **state)
{
	ends_while_arming(pause_all, ODRP_WIRE_E_BUSY);
}

static int connect_chain(struct cnode *c, enum odrp_wire_chain chain)
{
	struct cnode_refusal no;

	return cnode_reconnect(c, 0, chain, &no);
}

static int connect_again(struct cnode *c)
{
	return connect_chain(c, ODRP_WIRE_UNMAPPED_STORE);
}

/* Another one comes while the first is being armed, as the kernel module asks for many
 * at a time: none is told to come again. */
static void test_two_at_a_time(void **state)
{
	struct cnode *c = open_one();
	uint64_t busy = bed.m.rejects[ODRP_WIRE_E_BUSY];

	waits = false;
	assert_int_equal(connect_chain(c, ODRP_WIRE_UNMAPPED_STORE), -ETIMEDOUT);
	assert_int_equal(connect_chain(c, ODRP_WIRE_INVALIDATE), -ETIMEDOUT);
	waits = true;
	nr_begun = most_arming = 0;
	bed_settle(&bed);
	assert_int_equal(nr_begun, 2);
	assert_int_equal(most_arming, 2);
	assert_int_equal(bed.m.rejects[ODRP_WIRE_E_BUSY], busy);
	assert_int_equal(connect_chain(c, ODRP_WIRE_UNMAPPED_STORE), 0);
	assert_int_equal(connect_chain(c, ODRP_WIRE_INVALIDATE), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static uint32_t gone_id;
static unsigned int arms_then;
static const struct nic_ops *real_ops;

static int event_gone(struct nic *nic, struct nic_event *ev)
{
	if (!gone_id)
		return real_ops->event(nic, ev);
	*ev = (struct nic_event){ .type = NIC_GONE, .id = gone_id };
	gone_id = 0;
	return 0;
}

static void say_gone(struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q)
		if (q->asked)
			gone_id = q->asked->ev.id;
	arms_then = nr_arms;
	manager_events(&bed.m);
}

/* One connection of a session that stays. */
static void test_one_gone_while_arming(void **state)
{
	struct cnode *c = open_one();
	uint64_t armed = manager_armed_pages(&bed.m);
	struct nic_ops ops = *bed.nic->ops;

	real_ops = bed.nic->ops;
	ops.event = event_gone;
	bed.nic->ops = &ops;
	while_arming = say_gone;
	assert_int_not_equal(connect_again(c), 0);
	assert_null(while_arming);
	bed.nic->ops = real_ops;
	bed_settle(&bed);
	assert_int_equal(nr_arms, arms_then);
	bed_check(&bed, load.mapped);
	assert_true(manager_armed_pages(&bed.m) < armed);
	assert_int_equal(connect_again(c), 0);
	assert_int_equal(manager_armed_pages(&bed.m), armed);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static void look_at_all(struct sess *s)
{
	manager_tick(&bed.m, 1);
}

/* That nothing runs yet is no reason to stop it. */
static void test_looked_at_while_arming(void **state)
{
	struct cnode *c = open_one();

	while_arming = look_at_all;
	assert_int_equal(connect_again(c), 0);
	assert_null(while_arming);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* The NIC stops nothing for a while, and the connection of what is armed goes. */
static bool obstinate;

static int stop_not(struct nic *nic, uint32_t qpn)
{
	return obstinate ? -EIO : real_ops->qp_error(nic, qpn);
}

static int destroy_not(struct nic *nic, uint32_t qpn)
{
	return obstinate ? -EIO : real_ops->qp_destroy(nic, qpn);
}

static void be_obstinate(struct nic_ops *ops)
{
	*ops = *bed.nic->ops;
	real_ops = bed.nic->ops;
	ops->event = event_gone;
	ops->qp_error = stop_not;
	ops->qp_destroy = destroy_not;
	bed.nic->ops = ops;
}

static void say_gone_unstopped(struct sess *s)
{
	obstinate = true;
	say_gone(s);
	obstinate = false;
}

static void test_unstopped_while_arming(void **state)
{
	struct cnode *c = open_one();
	uint64_t armed = manager_armed_pages(&bed.m);
	struct nic_ops ops;

	be_obstinate(&ops);
	while_arming = say_gone_unstopped;
	assert_int_not_equal(connect_again(c), 0);
	assert_null(while_arming);
	bed_pass(&bed, 1000);
	assert_int_equal(sess_unstopped(sess()), 0);
	bed.nic->ops = real_ops;
	assert_int_equal(connect_again(c), 0);
	assert_int_equal(manager_armed_pages(&bed.m), armed);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* The same, and the session ends. */
static void evict_unstopped(struct sess *s)
{
	say_gone_unstopped(s);
	manager_kill(&bed.m, s, WHY_EVICTED);
	obstinate = true;
	while (s->nr_closing)
		__real_manager_work(&bed.m);
	obstinate = false;
}

static void test_ends_unstopped_while_arming(void **state)
{
	struct cnode *c = open_one();
	struct nic_ops ops;

	be_obstinate(&ops);
	while_arming = evict_unstopped;
	assert_int_not_equal(connect_again(c), 0);
	bed_pass(&bed, 1000);
	bed.nic->ops = real_ops;
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_die(&bed, 0);
	load_close(&load, &bed);
}

static unsigned int nr_unstopped;

static void look_at_status(struct sess *s)
{
	nr_unstopped = sess_unstopped(s);
}

static void test_status_while_arming(void **state)
{
	struct cnode *c = open_one();

	while_arming = look_at_status;
	assert_int_equal(connect_again(c), 0);
	assert_int_equal(nr_unstopped, 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* He comes again before it is known that he is gone. */
static uint32_t deaf_to;

static int event_deaf(struct nic *nic, struct nic_event *ev)
{
	int r = real_ops->event(nic, ev);

	while (!r && ev->type == NIC_GONE && ev->id == deaf_to)
		r = real_ops->event(nic, ev);
	return r;
}

static void stay_deaf(struct sess *s)
{
	held = s->queues[0][ODRP_WIRE_UNMAPPED_STORE];
	deaf_to = held->asked->ev.id;
	waits = false;
}

static void test_resumed_while_arming(void **state)
{
	uint64_t busy;
	int r;
	struct cnode *c = open_one();
	struct nic_ops ops = *bed.nic->ops;

	real_ops = bed.nic->ops;
	ops.event = event_deaf;
	bed.nic->ops = &ops;
	while_arming = stay_deaf;
	assert_int_not_equal(connect_again(c), 0);
	assert_null(while_arming);
	assert_true(is_arming(sess()));
	cnode_lose(c, false);
	waits = true;
	busy = bed.m.rejects[ODRP_WIRE_E_BUSY];
	r = cnode_resume_status(c);
	held = NULL;
	assert_int_equal(r, 0);
	assert_int_equal(bed.m.rejects[ODRP_WIRE_E_BUSY], busy + 1);	/* the one that waited */
	bed.nic->ops = real_ops;
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static int killed_fd[KEEP_FILES];

static void take_copy(struct sess *s)
{
	bed_copy_kept(&bed, killed_fd);
}

/* As the agent leaves it that is killed at this moment. */
static void test_killed_while_arming(void **state)
{
	struct cnode *c = open_one();

	while_arming = take_copy;
	assert_int_equal(connect_again(c), 0);
	assert_null(while_arming);
	cnode_lose(c, true);
	bed_restart(&bed, killed_fd);
	bed_settle(&bed);
	assert_int_equal(cnode_resume_status(c), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* Before it has had a queue; nobody is connected to an agent that ends. */
static bool late;

static void pause_first(struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	manager_pause(&bed.m);
	do {
		manager_work(&bed.m);
		sess_for_each_queue(s, n, c, q)
			late |= q->cm_id && !conn_is_closing(q->state);
	} while (is_arming(s));
}

static void test_paused_first_while_arming(void **state)
{
	late = false;
	if (bed_keyed)
		skip();
	ends_while_arming(pause_first, ODRP_WIRE_E_BUSY);
	assert_false(late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evicted_while_arming),
		cmocka_unit_test(test_gone_while_arming),
		cmocka_unit_test(test_paused_while_arming),
		cmocka_unit_test(test_paused_first_while_arming),
		cmocka_unit_test(test_one_gone_while_arming),
		cmocka_unit_test(test_looked_at_while_arming),
		cmocka_unit_test(test_killed_while_arming),
		cmocka_unit_test(test_two_at_a_time),
		cmocka_unit_test(test_unstopped_while_arming),
		cmocka_unit_test(test_ends_unstopped_while_arming),
		cmocka_unit_test(test_status_while_arming),
		cmocka_unit_test(test_resumed_while_arming),
	};

	return bed_run_tests(tests);
}
