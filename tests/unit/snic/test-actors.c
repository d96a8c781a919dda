// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Virtual time with actors that are no NICs: when each is stepped, what its
 * processor costs, and a program that uses a NIC in the same run.
 */
#include <errno.h>
#include "bed/end.h"
#include "snic/vt.h"

#define NR_LOG	64

struct log {
	struct { char who; uint64_t when; } at[NR_LOG];
	unsigned int nr;
};

/* Wants to act at each of its times. */
struct player {
	struct snic_actor actor;
	struct log *log;
	char name;
	uint64_t times[8];	/* ends with 0 */
	unsigned int nr_done;
	uint64_t cost, clock;
	int result;
};

static uint64_t player_next(struct snic_actor *actor, uint64_t now)
{
	struct player *p = (struct player *)actor;
	uint64_t at = p->times[p->nr_done];

	return at ? at : SNIC_NEVER;
}

static int player_step(struct snic_actor *actor, uint64_t now,
		       uint64_t *ret_cost)
{
	struct player *p = (struct player *)actor;

	assert_int_equal(p->clock, now);
	assert_in_range(p->log->nr, 0, NR_LOG - 1);
	p->log->at[p->log->nr].who = p->name;
	p->log->at[p->log->nr++].when = now;
	p->nr_done++;
	if (p->cost)
		*ret_cost = p->cost;
	return p->result;
}

static void player_clock(struct snic_actor *actor, uint64_t now)
{
	((struct player *)actor)->clock = now;
}

static const struct snic_actor_ops player_ops = {
	.next = player_next, .step = player_step, .clock = player_clock,
};

static void expect_log(const struct log *log, unsigned int nr,
		       const char *who, const uint64_t *when)
{
	unsigned int i;

	assert_int_equal(log->nr, nr);
	for (i = 0; i < nr; i++) {
		assert_int_equal(log->at[i].who, who[i]);
		assert_int_equal(log->at[i].when, when[i]);
	}
}

/* At one instant in the order in which they were added, each as often as it has
 * something to do. */
static void order(void **state)
{
	struct log log = { .nr = 0 };
	struct player a = { .actor.ops = &player_ops, .log = &log, .name = 'a',
			    .times = { 10, 30, 30 } };
	struct player b = { .actor.ops = &player_ops, .log = &log, .name = 'b',
			    .times = { 5, 10, 30 } };
	const uint64_t when[] = { 5, 10, 10, 30, 30, 30 };
	struct snic_vt vt;

	snic_vt_init(&vt, 0);
	snic_vt_add(&vt, &a.actor);
	snic_vt_add(&vt, &b.actor);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), 0);
	expect_log(&log, 6, "bababa", when);
	assert_int_equal(vt.now, 30);
}

/* A processor that is busy acts later, others meanwhile. */
static void cost(void **state)
{
	struct log log = { .nr = 0 };
	struct player a = { .actor.ops = &player_ops, .log = &log, .name = 'a',
			    .times = { 10, 11, 100 }, .cost = 25 };
	struct player b = { .actor.ops = &player_ops, .log = &log, .name = 'b',
			    .times = { 12, 50 } };
	const uint64_t when[] = { 10, 12, 35, 50, 100 };
	struct snic_vt vt;

	snic_vt_init(&vt, 0);
	snic_vt_add(&vt, &a.actor);
	snic_vt_add(&vt, &b.actor);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), 0);
	expect_log(&log, 5, "ababa", when);
}

static bool never(void *arg)
{
	return false;
}

static bool twice(void *arg)
{
	return ((struct log *)arg)->nr == 2;
}

static void ends(void **state)
{
	struct log log = { .nr = 0 };
	struct player a = { .actor.ops = &player_ops, .log = &log, .name = 'a',
			    .times = { 10, 20, 30, 40 } };
	struct snic_vt vt;

	snic_vt_init(&vt, 7);
	assert_int_equal(snic_vt_step(&vt), -EAGAIN);
	assert_int_equal(snic_vt_run(&vt, 9, NULL, NULL), 0);
	assert_int_equal(vt.now, 9);
	snic_vt_add(&vt, &a.actor);
	assert_int_equal(a.clock, 9);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, twice, &log), 0);
	assert_int_equal(vt.now, 20);
	/* It is so already. */
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, twice, &log), 0);
	assert_int_equal(log.nr, 2);
	assert_int_equal(snic_vt_run(&vt, 35, never, NULL), -ETIMEDOUT);
	assert_int_equal(vt.now, 35);
	assert_int_equal(log.nr, 3);
	a.result = -EBADMSG;
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), -EBADMSG);
	assert_int_equal(vt.now, 40);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, never, NULL), -ETIMEDOUT);
	assert_int_equal(vt.now, 40);
}

static void steps(void **state)
{
	struct log log = { .nr = 0 };
	struct player a = { .actor.ops = &player_ops, .log = &log, .name = 'a',
			    .times = { 10, 10 } };
	struct snic_vt vt;

	snic_vt_init(&vt, 0);
	snic_vt_add(&vt, &a.actor);
	assert_int_equal(snic_vt_step(&vt), 0);
	assert_int_equal(vt.now, 10);
	assert_int_equal(log.nr, 0);
	assert_int_equal(snic_vt_step(&vt), 0);
	assert_int_equal(log.nr, 1);
	assert_int_equal(snic_vt_step(&vt), 0);
	assert_int_equal(log.nr, 2);
	assert_int_equal(snic_vt_step(&vt), -EAGAIN);
}

static void leaves(void **state)
{
	struct log log = { .nr = 0 };
	struct player p[3];
	const uint64_t when[] = { 10, 10, 20 };
	struct snic_vt vt;
	unsigned int i;

	snic_vt_init(&vt, 0);
	for (i = 0; i < 3; i++) {
		p[i] = (struct player){
			.actor.ops = &player_ops, .log = &log, .name = 'a' + i,
			.times = { 10, 20 },
		};
		snic_vt_add(&vt, &p[i].actor);
	}
	snic_vt_remove(&vt, &p[1].actor);
	assert_false(snic_vt_has(&vt, &p[1].actor));
	snic_vt_remove(&vt, &p[1].actor);	/* it is not there */
	assert_int_equal(snic_vt_run(&vt, 15, NULL, NULL), 0);
	snic_vt_remove(&vt, &p[0].actor);
	assert_true(snic_vt_has(&vt, &p[2].actor));
	assert_int_equal(snic_vt_run(&vt, 25, NULL, NULL), 0);
	expect_log(&log, 3, "acc", when);
}

/* ---- a program on a NIC -------------------------------------------------------- */

/* Posts a WRITE, polls, and posts the next one when it has the entry. */
struct program {
	struct snic_actor actor;
	struct end *end;
	uint8_t *m;
	unsigned int posted, done;
	struct snic_vt *vt;
};

static bool program_has_entry(const struct program *p)
{
	return cq_count(p->end->host, p->end->scqn) > p->done;
}

static uint64_t program_next(struct snic_actor *actor, uint64_t now)
{
	struct program *p = (struct program *)actor;

	if (p->done == 5)
		return SNIC_NEVER;
	return p->posted == p->done || program_has_entry(p) ? now : SNIC_NEVER;
}

static int program_step(struct snic_actor *actor, uint64_t now,
			uint64_t *ret_cost)
{
	struct program *p = (struct program *)actor;

	/* Time-outs of what it asks for begin now. */
	assert_int_equal(snic_now(p->end->host->nic), now);
	if (program_has_entry(p)) {
		expect_cqe(p->end->host, p->end->scqn, WRC_CQE_REQ, p->done);
		p->done++;
		*ret_cost = 50;		/* to poll */
	} else {
		put_write(p->end, CE, p->m, 8, p->m + 8);
		ring(p->end);
		p->posted++;
		*ret_cost = 100;	/* to post */
	}
	/* Nobody turns the clock of which he is a part. */
	assert_int_equal(snic_vt_run(p->vt, now + 1, NULL, NULL), -EDEADLK);
	assert_int_equal(snic_vt_step(p->vt), -EDEADLK);
	return 0;
}

static const struct snic_actor_ops program_ops = {
	.next = program_next, .step = program_step,
};

static uint64_t charge(void *arg, const struct snic_work *work)
{
	return work->kind == SNIC_COST_EXECUTE ? 1000 : 0;
}

static void program(void **state)
{
	struct program p = { .actor.ops = &program_ops };
	struct snic_vt_nic nic;
	struct snic_vt vt;
	struct host b;
	struct end e;

	host_open(&b, NULL);
	end_open(&b, NULL, &e);
	end_join(&e, &e);
	snic_set_cost(b.nic, charge, NULL);
	p.end = &e;
	p.vt = &vt;
	p.m = host_alloc(&b, 64);
	/* The NIC has stood still: what it is asked begins now all the same. */
	snic_vt_init(&vt, 1000000);
	snic_vt_add(&vt, &p.actor);
	snic_vt_add_nic(&vt, &nic, b.nic);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), 0);
	assert_int_equal(p.done, 5);
	/* A WRITE, the poll, the next one: 1000 + 50 each, but the last poll. */
	assert_int_equal(vt.now, 1000000 + 5 * 1050 - 50);
	host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(cost),
		cmocka_unit_test(ends),
		cmocka_unit_test(steps),
		cmocka_unit_test(leaves),
		cmocka_unit_test(program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
