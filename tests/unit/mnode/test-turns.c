// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one turn of the agent's loop does for a session that comes, is resumed, or ends, is
 * bounded, however large its ring and however many its queues; and nobody has its ring
 * or its pages before all of it is done.
 */
#include <endian.h>
#include <errno.h>
#include <json-c/json.h>
#include <report/status.h>
#include <string.h>
#include "bed/load.h"

#define SLOTS		300
#define POOL		(256ull << 20)	/* ring of 2^18 slots */
#define MOST_SLOTS	32768		/* of a turn */
#define MOST_QUEUES	4
#define QUEUES		8
#define CHAINS		(QUEUES * ODRP_WIRE_NR_CHAINS)

static struct bed bed;
static struct load load;
static uint64_t in_turn, most_in_turn, nr_slots;
static unsigned int stops_in_turn, most_stops, nr_stops;
static unsigned int tables_in_turn, nr_bound;
static unsigned int arms_in_turn, nr_arms;
static unsigned int positions_in_turn, nr_positions;

/* Once, when the ring is half in order. */
static void (*in_the_middle)(struct sess *s);

bool __real_ring_compact_some(struct ring *ring, uint64_t nr);
bool __wrap_ring_compact_some(struct ring *ring, uint64_t nr);
int __real_queue_stop(struct queue *q);
int __wrap_queue_stop(struct queue *q);
bool __real_lend_collect(struct lender *l, struct sess *s);
bool __wrap_lend_collect(struct lender *l, struct sess *s);
enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);
void __real_manager_tick(struct manager *m, uint32_t elapsed_ms);
void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms);

int __real_tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
			    const struct wrc_prog *prog, const struct wrc_geom *geom,
			    char why[WRC_WHY_MAX]);
int __wrap_tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
			    const struct wrc_prog *prog, const struct wrc_geom *geom,
			    char why[WRC_WHY_MAX]);
int __real_tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		       const struct wrc_prog *prog, const struct wrc_geom *geom,
		       struct wrc_bind *bind, char why[WRC_WHY_MAX]);
int __wrap_tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		       const struct wrc_prog *prog, const struct wrc_geom *geom,
		       struct wrc_bind *bind, char why[WRC_WHY_MAX]);

int __real_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);
int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX]);

int __real_queue_position(const struct queue *q, uint16_t *ret_bb);
int __wrap_queue_position(const struct queue *q, uint16_t *ret_bb);

static struct sess *sess(void)
{
	assert_true(bed.m.nr_sess > 0);
	return bed.m.sess[0];
}

bool __wrap_ring_compact_some(struct ring *ring, uint64_t nr)
{
	uint64_t before = ring->unsorted;
	bool done = __real_ring_compact_some(ring, nr);

	nr_slots += before - ring->unsorted;
	in_turn += before - ring->unsorted;
	if (in_turn > most_in_turn)
		most_in_turn = in_turn;
	return done;
}

int __wrap_queue_stop(struct queue *q)
{
	if (!q->stopped) {
		nr_stops++;
		if (++stops_in_turn > most_stops)
			most_stops = stops_in_turn;
	}
	return __real_queue_stop(q);
}

/* A piece of one chain, and nobody has it before the last one. */
int __wrap_queue_arm_some(struct queue *q, char why[WRC_WHY_MAX])
{
	nr_arms++;
	assert_int_equal(++arms_in_turn, 1);
	assert_int_equal(q->cm_id, 0);
	return __real_queue_arm_some(q, why);
}

int __wrap_queue_position(const struct queue *q, uint16_t *ret_bb)
{
	positions_in_turn++;
	nr_positions++;
	return __real_queue_position(q, ret_bb);
}

/* A part of one table at a time. */
int __wrap_tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
			    const struct wrc_prog *prog, const struct wrc_geom *geom,
			    char why[WRC_WHY_MAX])
{
	int r = __real_tables_make_some(ts, nic, pdn, prog, geom, why);

	if (r == -EAGAIN)
		assert_int_equal(++tables_in_turn, 1);
	return r;
}

/* Before a chain is armed its table is there. */
int __wrap_tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		       const struct wrc_prog *prog, const struct wrc_geom *geom,
		       struct wrc_bind *bind, char why[WRC_WHY_MAX])
{
	nr_bound++;
	assert_int_equal(__real_tables_make_some(ts, nic, pdn, prog, geom, why), 0);
	return __real_tables_bind(ts, nic, pdn, prog, geom, bind, why);
}

/* Others may have its pages only when none of its chains runs. */
bool __wrap_lend_collect(struct lender *l, struct sess *s)
{
	assert_true(sess_has_no_chains(s));
	return __real_lend_collect(l, s);
}

/* Nobody is connected before all is done, and no page is lost meanwhile. */
static void look_at_turn(struct manager *m)
{
	struct sess *s = m->nr_sess ? m->sess[0] : NULL;
	void (*act)(struct sess *s) = in_the_middle;
	struct check_result res;

	if (!s || s->state != SESS_SORTING)
		return;
	assert_false(sess_attached(s));
	assert_true(sess_has_no_chains(s));
	assert_ptr_not_equal(m->lender.sess, s);
	if (!act || s->ring.unsorted > ring_slots(s->ring.log_len) / 2)
		return;
	assert_int_equal(check_pages(m, &res), 0);
	assert_true(check_ok(&res));
	in_the_middle = NULL;
	act(s);
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	enum lend_todo todo;

	in_turn = 0;
	stops_in_turn = 0;
	tables_in_turn = arms_in_turn = 0;
	todo = __real_manager_work(m);
	look_at_turn(m);
	return todo;
}

void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	stops_in_turn = 0;
	__real_manager_tick(m, elapsed_ms);
}

static void count_anew(void)
{
	in_turn = most_in_turn = nr_slots = 0;
	stops_in_turn = most_stops = nr_stops = 0;
}

static struct cnode *open_one(uint64_t pool, unsigned int queues)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.pool = pool;
	o.conf.queues = queues;
	o.conf.dead_ms = 60000;
	bed_open(&bed, &o, 1);
	in_the_middle = NULL;
	return load_open(&load, &bed, pool, queues, SLOTS);
}

/* ---- tables ------------------------------------------------------------------------- */

/* The tables of a session that comes, and of one that another agent has begun. */
static void test_tables_by_turns(void **state)
{
	int fd[KEEP_FILES];
	struct cnode *c;

	nr_bound = 0;
	c = open_one(POOL / 16, 1);
	assert_true(nr_bound > 0);
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
	nr_bound = 0;
	cnode_lose(c, true);
	assert_int_equal(cnode_resume_status(c), 0);
	assert_true(nr_bound > 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* ---- chains ------------------------------------------------------------------------- */

static void test_chains_by_turns(void **state)
{
	nr_bound = nr_arms = 0;
	open_one(4 << 20, QUEUES);
	assert_true(nr_arms > 2 * nr_bound);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* Many connections of a session that stays go at a time. */
static uint32_t gone[CHAINS];
static unsigned int nr_gone;
static const struct nic_ops *real_ops;

static int event_gone(struct nic *nic, struct nic_event *ev)
{
	if (!nr_gone)
		return -EAGAIN;
	*ev = (struct nic_event){ .type = NIC_GONE, .id = gone[--nr_gone] };
	return 0;
}

static void expect_by_turns(void);

static void test_connections_go_by_turns(void **state)
{
	unsigned int n, chain;
	struct nic_ops ops;
	struct queue *q;

	open_one(4 << 20, QUEUES);
	ops = *bed.nic->ops;
	real_ops = bed.nic->ops;
	ops.event = event_gone;
	bed.nic->ops = &ops;
	sess_for_each_queue(sess(), n, chain, q)
		gone[nr_gone++] = q->cm_id;
	count_anew();
	while (nr_gone) {
		stops_in_turn = 0;
		manager_events(&bed.m);
	}
	bed.nic->ops = real_ops;
	expect_by_turns();
	bed_die(&bed, 0);
	load_close(&load, &bed);
}

/* ---- the ring ---------------------------------------------------------------------- */

static void test_ring_by_turns(void **state)
{
	struct cnode *c = open_one(POOL, 2);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		cnode_lose(c, i);
		count_anew();
		assert_int_equal(cnode_resume_status(c), 0);
		assert_int_equal(nr_slots, ring_slots(sess()->ring.log_len));
		assert_true(nr_slots > 4 * MOST_SLOTS);
		assert_in_range(most_in_turn, 1, MOST_SLOTS);
		load_goes_on(&load, &bed);
	}
	load_close(&load, &bed);
}

static void evict(struct sess *s)
{
	manager_kill(&bed.m, s, WHY_EVICTED);
}

/* All of it goes back, and who waits hears it. */
static void test_evicted_meanwhile(void **state)
{
	struct cnode *c = open_one(POOL, 2);

	cnode_lose(c, true);
	in_the_middle = evict;
	assert_int_equal(cnode_resume_status(c), ODRP_WIRE_E_SESSION);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_check(&bed, 0);
	load_close(&load, &bed);
}

/* What has been begun is done to its end, though nobody waits for it. */
static void put_off(struct sess *s)
{
	manager_forget_waiting(&bed.m, s);
}

static void test_nobody_waits(void **state)
{
	struct cnode *c = open_one(POOL, 2);

	cnode_lose(c, true);
	in_the_middle = put_off;
	assert_int_equal(cnode_resume_status(c), ODRP_WIRE_E_BUSY);
	bed_settle(&bed);
	assert_false(sess_state_settles(sess()->state));
	assert_int_equal(sess()->ring.unsorted, 0);
	bed_check(&bed, load.mapped);
	assert_int_equal(cnode_resume_status(c), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static void pause_all(struct sess *s)
{
	manager_pause(&bed.m);
}

/* The agent ends: who waits comes again, and finds the next one. */
static void test_paused_meanwhile(void **state)
{
	struct cnode *c = open_one(POOL, 2);
	int fd[KEEP_FILES];

	cnode_lose(c, true);
	in_the_middle = pause_all;
	assert_int_equal(cnode_resume_status(c), ODRP_WIRE_E_BUSY);
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
	assert_int_equal(cnode_resume_status(c), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static int killed_fd[KEEP_FILES];

static void take_copy(struct sess *s)
{
	bed_copy_kept(&bed, killed_fd);
}

/* As the agent leaves it that is killed at this moment. */
static void test_killed_meanwhile(void **state)
{
	struct cnode *c = open_one(POOL, 2);

	cnode_lose(c, true);
	in_the_middle = take_copy;
	assert_int_equal(cnode_resume_status(c), 0);
	assert_null(in_the_middle);
	cnode_lose(c, true);
	bed_restart(&bed, killed_fd);
	bed_settle(&bed);
	assert_int_equal(cnode_resume_status(c), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static void empty_hand(struct sess *s)
{
	for (; s->held.nr; s->lent--)
		assert_int_equal(pool_give(&bed.m.pool, s->owner,
					   s->held.at[--s->held.nr]), 0);
	s->held.waiting = 0;
}

/* A ring that has what is not this session's page, and more pages than are due. */
static void test_foreign(void **state)
{
	struct cnode *c = open_one(4 << 20, 2);
	struct sess *s = sess();
	uint64_t foreign = bed.m.lender.nr_foreign;

	cnode_lose(c, true);
	bed_pass(&bed, 300);
	assert_true(sess_has_no_chains(s));
	*s->ring.head = ring_advance(s->ring.log_len, *s->ring.head,
				     ring_slots(s->ring.log_len) - 1);
	s->ring.slot[ring_index(s->ring.log_len, *s->ring.head)] = htobe64(12345);
	empty_hand(s);
	s->lease.ceiling = s->lease.target = load.mapped;
	assert_true(lend_about(s) > lend_goal(s));
	sess_event(s, SESS_EV_RESUME);
	while (lend_settle(&bed.m.lender, s) == -EAGAIN)
		;
	assert_int_equal(bed.m.lender.nr_foreign, foreign + 1);
	assert_int_equal(s->held.nr, 0);
	assert_int_equal(lend_about(s), lend_goal(s));
	assert_int_equal(cnode_resume_status(c), 0);
	bed_settle(&bed);
	bed_check(&bed, load.mapped);
	load_verify(&load);
	load_close(&load, &bed);
}

/* ---- a count of all pages ------------------------------------------------------------ */

static uint64_t pages_seen(void)
{
	const struct check_result *res = &bed.m.check->res;

	return res->pool + res->free + res->mapped + res->armed + res->held + res->returning;
}

/* Does one turn of the count, and looks at what it has done. */
static void count_turn(void)
{
	enum check_stage stage = bed.m.check->stage;
	uint64_t at = bed.m.check->at, seen = pages_seen();

	positions_in_turn = 0;
	manager_work(&bed.m);
	assert_in_range(pages_seen() - seen, 0, MOST_SLOTS);
	assert_in_range(positions_in_turn, 0, MOST_QUEUES);
	if (bed.m.check->stage == stage)
		assert_in_range(bed.m.check->at - at, 0, MOST_SLOTS);
}

static void test_count_by_turns(void **state)
{
	struct check_result res;
	unsigned int turns = 0;

	open_one(POOL, QUEUES);
	nr_positions = 0;
	assert_int_equal(check_begin(&bed.m), 0);
	assert_int_equal(check_begin(&bed.m), -EBUSY);
	for (; check_runs(&bed.m); turns++) {
		assert_int_equal(check_result(&bed.m, &res), -EAGAIN);
		count_turn();
	}
	assert_int_equal(nr_positions, CHAINS);
	assert_true(turns > ring_slots(sess()->ring.log_len) / MOST_SLOTS);
	assert_int_equal(check_result(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_true(res.exact);
	assert_int_equal(res.mapped, load.mapped);
	assert_int_equal(pages_seen(), bed.m.pool.pages);
	check_end(&bed.m);
	assert_int_equal(check_result(&bed.m, &res), -ENOENT);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static struct json_object *ask(const char *line)
{
	struct json_object *req = json_tokener_parse(line), *answer;

	answer = status_command(&bed.m, req, 0);
	json_object_put(req);
	return answer;
}

static void expect_answer(const char *line)
{
	struct json_object *answer = ask(line);

	assert_non_null(answer);
	assert_false(json_object_object_get_ex(answer, "error", NULL));
	json_object_put(answer);
}

static int event_never(struct nic *nic, struct nic_event *ev)
{
	fail();
	return -EAGAIN;
}

/* Nothing moves while pages are counted, and nobody is silent; who only reads is answered. */
static void test_count_holds_up(void **state)
{
	struct nic_ops ops;
	uint32_t silent;
	char line[64];

	open_one(POOL, 2);
	ops = *bed.nic->ops;
	real_ops = bed.nic->ops;
	ops.event = event_never;
	bed.nic->ops = &ops;
	silent = sess()->silent_ms;
	snprintf(line, sizeof(line), "{\"command\":\"evict\",\"session\":%u}",
		 (unsigned int)sess()->id);
	assert_null(ask("{\"command\":\"check\"}"));
	while (check_runs(&bed.m)) {
		manager_tick(&bed.m, 50);
		manager_events(&bed.m);
		assert_int_equal(sess()->silent_ms, silent);
		assert_null(ask(line));
		assert_null(ask("{\"command\":\"check\"}"));
		assert_int_equal(sess()->state, SESS_ATTACHED);
		expect_answer("{\"command\":\"status\"}");
		count_turn();
	}
	/* all who have asked get the result of the one count */
	expect_answer("{\"command\":\"check\"}");
	expect_answer("{\"command\":\"check\"}");
	assert_false(check_runs(&bed.m));
	check_end(&bed.m);
	bed.nic->ops = real_ops;
	load_goes_on(&load, &bed);
	expect_answer(line);
	bed_settle(&bed);
	bed_check(&bed, 0);
	bed_die(&bed, 0);
	load_close(&load, &bed);
}

/* The agent ends meanwhile. */
static void test_count_ends_early(void **state)
{
	unsigned int i;

	open_one(POOL, 2);
	assert_int_equal(check_begin(&bed.m), 0);
	for (i = 0; i < 3; i++)
		count_turn();
	assert_true(check_runs(&bed.m));
	manager_pause(&bed.m);
	assert_false(check_runs(&bed.m));
	while (manager_hangs_up(&bed.m))
		manager_work(&bed.m);
	assert_int_equal(check_begin(&bed.m), 0);
	manager_work(&bed.m);
	load_close(&load, &bed);
}

/* ---- queues ------------------------------------------------------------------------ */

/* Each of them was stopped, and not all at a time. */
static void expect_by_turns(void)
{
	assert_int_equal(nr_stops, CHAINS);
	assert_in_range(most_stops, 1, MOST_QUEUES);
}

static void test_kill_by_turns(void **state)
{
	open_one(4 << 20, QUEUES);
	count_anew();
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	expect_by_turns();
	bed_check(&bed, 0);
	bed_die(&bed, 0);
	load_close(&load, &bed);
}

static void test_lost_by_turns(void **state)
{
	struct cnode *c = open_one(4 << 20, QUEUES);

	count_anew();
	manager_lost(&bed.m, sess());
	assert_false(sess_has_no_chains(sess()));
	assert_int_equal(cnode_resume_status(c), 0);
	expect_by_turns();
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* He is there before it is known that he was gone. */
static void test_taken_over_by_turns(void **state)
{
	struct cnode *c = open_one(4 << 20, QUEUES);

	cnode_lose(c, false);
	count_anew();
	assert_int_equal(cnode_resume_status(c), 0);
	expect_by_turns();
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

static uint32_t released[4 * CHAINS];
static unsigned int nr_released;

static void release_once(struct nic *nic, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < nr_released; i++)
		assert_int_not_equal(released[i], id);
	assert_true(nr_released < sizeof(released) / sizeof(released[0]));
	released[nr_released++] = id;
	real_ops->release(nic, id);
}

/* His connections end while they wait to be ended: their numbers are others' then. */
static void test_hung_up_meanwhile(void **state)
{
	struct cnode *c = open_one(4 << 20, QUEUES);
	struct nic_ops ops = *bed.nic->ops;
	unsigned int i;

	real_ops = bed.nic->ops;
	ops.release = release_once;
	bed.nic->ops = &ops;
	nr_released = 0;
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	cnode_lose(c, true);
	bed_run_ns(&bed, 1000000);
	for (i = 0; i < 4; i++)
		manager_events(&bed.m);
	assert_true(nr_released > MOST_QUEUES);
	while (bed.m.nr_sess) {
		manager_work(&bed.m);
		bed_run_ns(&bed, 1000);
	}
	assert_int_equal(nr_released, CHAINS + 1);
	bed.nic->ops = real_ops;
	bed_check(&bed, 0);
	bed_die(&bed, 0);
	load_close(&load, &bed);
}

/* All chains break at a time, as a look at them finds. */
static void test_broken_by_turns(void **state)
{
	struct cnode *c = open_one(4 << 20, QUEUES);
	unsigned int n, chain;
	struct queue *q;

	count_anew();
	sess_for_each_queue(sess(), n, chain, q)
		bed.nic->ops->qp_error(bed.nic, q->client_qpn);
	__real_manager_tick(&bed.m, 1);
	assert_int_equal(stops_in_turn, 0);
	while (bed.m.health.due || sess()->nr_closing)
		manager_work(&bed.m);
	expect_by_turns();
	assert_int_equal(bed.m.queues_broken, CHAINS);
	cnode_lose(c, true);
	assert_int_equal(cnode_resume_status(c), 0);
	load_goes_on(&load, &bed);
	load_close(&load, &bed);
}

/* An agent that ends tells all of them before it is gone. */
static void test_pause_by_turns(void **state)
{
	open_one(4 << 20, QUEUES);
	count_anew();
	manager_pause(&bed.m);
	assert_true(manager_hangs_up(&bed.m));
	while (manager_hangs_up(&bed.m))
		manager_work(&bed.m);
	expect_by_turns();
	load_close(&load, &bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_by_turns),
		cmocka_unit_test(test_chains_by_turns),
		cmocka_unit_test(test_connections_go_by_turns),
		cmocka_unit_test(test_ring_by_turns),
		cmocka_unit_test(test_evicted_meanwhile),
		cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_paused_meanwhile),
		cmocka_unit_test(test_killed_meanwhile),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_count_by_turns),
		cmocka_unit_test(test_count_holds_up),
		cmocka_unit_test(test_count_ends_early),
		cmocka_unit_test(test_kill_by_turns),
		cmocka_unit_test(test_lost_by_turns),
		cmocka_unit_test(test_taken_over_by_turns),
		cmocka_unit_test(test_hung_up_meanwhile),
		cmocka_unit_test(test_broken_by_turns),
		cmocka_unit_test(test_pause_by_turns),
	};

	return bed_run_tests(tests);
}
