// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lease policy: the laws L1 to L4 of lease.h over random histories, where
 * grants and heartbeats are late, and compute nodes come and go.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <lease/lease.h>

#define MAX_NODES 6

/* A compute node that keeps the protocol, behind a slow wire. */
struct node {
	bool here;
	struct lease lease;
	uint64_t seen;		/* the grant it goes by */
	uint64_t arriving;	/* the grant that lies in its memory */
	uint64_t used, want;
	bool writing;
};

static struct node nodes[MAX_NODES];
static struct lease *list[MAX_NODES];
static uint64_t rnd_state;
static uint64_t slack;		/* of each */

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return rnd_state >> 33;
}

static size_t list_all(void)
{
	size_t nr = 0, i;

	for (i = 0; i < MAX_NODES; i++) {
		if (nodes[i].here)
			list[nr++] = &nodes[i].lease;
	}
	return nr;
}

/* Some newcomers are not heard of at once, and meanwhile others come. */
static bool late_ones;

/* What it was promised it may not use before that has been kept, or it knows better. */
static void show(struct node *n, uint64_t budget)
{
	lease_keep((const struct lease *const *)list, list_all(), budget,
		   UINT64_MAX, &n->lease);
}

static bool join(struct node *n, uint64_t budget, uint64_t cap)
{
	size_t nr = list_all();

	if (lease_open((const struct lease *const *)list, nr, budget, cap,
		       slack, 1, NULL, &n->lease))
		return false;
	n->here = true;
	if (!late_ones || rnd() % 2)
		show(n, budget);
	n->seen = n->arriving = n->lease.granted;
	n->used = n->want = 0;
	n->writing = false;
	return true;
}

/* What a heartbeat does: reads the grant, then says how it stands. */
static void beat(struct node *n)
{
	uint64_t held;

	n->seen = n->arriving;
	held = n->seen > n->used ? n->seen : n->used;
	lease_beat(&n->lease, n->used, n->want > n->used ? n->want : n->used,
		   held, true);
}

static void grant_all(uint64_t budget)
{
	size_t nr = list_all(), i;

	lease_plan(list, nr, budget);
	for (i = 0; i < MAX_NODES; i++) {
		struct node *n = &nodes[i];

		if (n->here && lease_differs(&n->lease) && n->lease.reachable &&
		    !n->lease.writing) {
			assert_false(n->lease.writing);
			assert_true(n->lease.reachable);
			lease_grant(&n->lease);
			n->writing = true;
		}
	}
}

static void arrive(struct node *n)
{
	if (!n->writing)
		return;
	n->writing = false;
	n->arriving = n->lease.granted;
	lease_granted(&n->lease);
}

/* L1 and L2, and what they are for: never more pages used than there are. */
static void check_laws(uint64_t budget)
{
	uint64_t ceilings = 0, used = 0;
	unsigned int i;

	for (i = 0; i < MAX_NODES; i++) {
		const struct node *n = &nodes[i];

		if (!n->here)
			continue;
		ceilings += n->lease.ceiling;
		ceilings += n->lease.ceiling ? n->lease.slack : 0;
		used += n->used;
		assert_true(n->lease.granted <= n->lease.cap);
		assert_true(n->lease.promised ||
			    n->lease.ceiling >= n->lease.granted);
		assert_true(n->lease.promised || n->lease.ceiling >= n->seen);
		assert_true(n->lease.promised || n->lease.ceiling >= n->arriving);
		assert_true(n->lease.ceiling >= n->used);
		assert_false(n->lease.overdrawn);
	}
	assert_true(ceilings <= budget);
	assert_true(used <= budget);
}

static void random_step(uint64_t budget)
{
	struct node *n = &nodes[rnd() % MAX_NODES];

	if (!n->here) {
		if (rnd() % 8 == 0)
			join(n, budget, 1 + rnd() % (2 * budget));
		return;
	}
	switch (rnd() % 9) {
	case 0:
		if (n->lease.promised)
			show(n, budget);
		beat(n);
		break;
	case 1:
		grant_all(budget);
		break;
	case 2:
		arrive(n);
		break;
	case 3:
		n->want = rnd() % (2 * budget);
		break;
	case 4:
	case 5:	/* as many as it may */
		if (n->used < n->seen && !n->lease.promised)
			n->used += rnd() % (n->seen - n->used + 1);
		break;
	case 6:
		n->used -= n->used ? rnd() % (n->used + 1) : 0;
		break;
	case 7:
		if (rnd() % 16 == 0)
			n->here = false;
		break;
	case 8:
		n->lease.lacking = rnd() % 2 ? rnd() % (n->lease.cap + 1) : 0;
	}
}

static void test_never_oversubscribed(void **state)
{
	static const uint64_t budgets[] = { 1, 7, 100, 4096, 1000000 };
	unsigned int seed, i;

	for (seed = 0; seed < 100; seed++) {
		uint64_t budget = budgets[seed % 5];

		rnd_state = seed + 1;
		slack = seed % 3 * budget / 16;
		late_ones = seed % 2;
		memset(nodes, 0, sizeof(nodes));
		for (i = 0; i < 5000; i++) {
			random_step(budget);
			check_laws(budget);
		}
	}
	slack = 0;
	late_ones = false;
}

/* A round in which everything arrives. */
static void rounds(uint64_t budget, unsigned int nr)
{
	unsigned int i;

	while (nr--) {
		for (i = 0; i < MAX_NODES; i++) {
			if (nodes[i].here)
				beat(&nodes[i]);
		}
		grant_all(budget);
		for (i = 0; i < MAX_NODES; i++)
			arrive(&nodes[i]);
		check_laws(budget);
	}
}

static void setup(unsigned int nr, uint64_t budget)
{
	unsigned int i;

	memset(nodes, 0, sizeof(nodes));
	for (i = 0; i < nr; i++)
		assert_true(join(&nodes[i], budget, budget));
}

/* With slack, too, all is given out: what a newcomer's would be comes from what
 * others leave idle. */
static void test_slack(void **state)
{
	slack = 100;
	memset(nodes, 0, sizeof(nodes));
	assert_true(join(&nodes[0], 1000, 1000));
	assert_int_equal(nodes[0].seen, 900);
	assert_true(join(&nodes[1], 1000, 1000));
	assert_int_equal(nodes[1].seen, 0);
	nodes[0].want = nodes[1].want = 1000;
	rounds(1000, 30);
	assert_int_equal(nodes[0].lease.granted, 400);
	assert_int_equal(nodes[1].lease.granted, 400);
	slack = 0;
}

/* Constant wants, nothing used: max-min fair after some rounds. */
static void test_becomes_fair(void **state)
{
	static const struct {
		uint64_t want[4], fair[4];
	} cases[] = {
		{ { 1000, 1000, 1000, 1000 }, { 250, 250, 250, 250 } },
		{ { 100, 1000, 1000, 0 }, { 100, 450, 450, 0 } },
		{ { 600, 400, 0, 0 }, { 600, 400, 0, 0 } },
		{ { 10, 20, 30, 1000 }, { 10, 20, 30, 940 } },
	};
	unsigned int c, i;

	for (c = 0; c < 4; c++) {
		setup(4, 1000);
		for (i = 0; i < 4; i++)
			nodes[i].want = cases[c].want[i];
		rounds(1000, 30);
		for (i = 0; i < 4; i++) {
			uint64_t got = nodes[i].lease.granted;

			/* what it keeps beyond its use is not cut: L3 */
			assert_true(got + 1 >= cases[c].fair[i] ||
				    got + 4 * 64 >= cases[c].fair[i]);
			assert_true(got >= (cases[c].want[i] < 64 ?
					    cases[c].want[i] : 64));
		}
	}
}

static void test_fair_exactly(void **state)
{
	unsigned int i;

	setup(3, 300000);
	for (i = 0; i < 3; i++)
		nodes[i].want = 1000000;
	rounds(300000, 30);
	for (i = 0; i < 3; i++)
		assert_in_range(nodes[i].lease.granted, 100000 - 3,
				100000 + 3);
}

/* L3: what is used is not taken away. */
static void test_used_is_kept(void **state)
{
	setup(1, 10000);
	nodes[0].used = nodes[0].want = 9000;
	rounds(10000, 3);
	assert_true(join(&nodes[1], 10000, 10000));
	nodes[1].want = 10000;
	rounds(10000, 20);
	assert_true(nodes[0].lease.granted >= 9000);
	assert_true(nodes[1].lease.granted > 0);
	/* It frees them one after the other, and they move. */
	while (nodes[0].used) {
		nodes[0].used -= 500;
		nodes[0].want = nodes[0].used;
		rounds(10000, 5);
	}
	assert_true(nodes[1].lease.granted > 9500);
}

static void test_grows_with_use(void **state)
{
	memset(nodes, 0, sizeof(nodes));
	assert_true(join(&nodes[0], 100000, 1000));
	assert_true(join(&nodes[1], 100000, 100000));
	assert_int_equal(nodes[1].seen, 49500);
	nodes[1].used = nodes[1].want = 49500;
	rounds(100000, 3);
	assert_int_equal(nodes[1].lease.granted, 99000);
}

static void test_first_lease(void **state)
{
	struct lease a, b, c;
	const struct lease *all[] = { &a, &b };

	assert_int_equal(lease_open(NULL, 0, 1000, 5000, 0, 1, NULL, &a), 0);
	assert_int_equal(a.promised, 1000);
	assert_int_equal(a.granted, 1000);	/* as it is told */
	assert_int_equal(lease_open(NULL, 0, 1000, 300, 0, 1, NULL, &a), 0);
	assert_int_equal(a.granted, 300);
	assert_int_equal(lease_keep(all, 1, 1000, 1000, &a), 0);
	assert_int_equal(a.ceiling, 300);
	assert_int_equal(lease_open(all, 1, 1000, 5000, 0, 1, NULL, &b), 0);
	assert_int_equal(b.granted, 350);
	/* All is leased and used: nothing for a third one, ever. */
	a.used = a.want = 300;
	b.unseen = false;
	b.promised = 0;
	b.ceiling = b.granted = b.used = b.want = 700;
	assert_int_equal(lease_open(all, 2, 1000, 5000, 0, 1, NULL, &c), -ENOSPC);
	/* All is leased, but some lies idle: let him in and move it. */
	b.used = b.want = 10;
	assert_int_equal(lease_open(all, 2, 1000, 5000, 0, 1, NULL, &c), 0);
	assert_int_equal(c.granted, 0);
	assert_int_equal(lease_open(NULL, 0, 0, 5000, 0, 1, NULL, &c), -ENOSPC);
	assert_int_equal(lease_open(NULL, 0, 1000, 0, 0, 1, NULL, &c), -ENOSPC);
	assert_int_equal(lease_open(NULL, 0, 1000, 5000, 1000, 1, NULL, &c), -ENOSPC);
	assert_int_equal(lease_open(NULL, 0, 1000, 5000, 999, 1, NULL, &c), 0);
	assert_int_equal(c.granted, 1);
	/* The first fill of a ring is bounded. */
	assert_int_equal(lease_open(NULL, 0, 1 << 28, 1 << 28, 0, 1, NULL, &c), 0);
	assert_int_equal(c.granted, 1 << 22);
}

/* Pages that are of use only together: nobody is let in for less, and one unit is not halved. */
static void test_first_units(void **state)
{
	struct lease_share share = { .most = 511 };
	const struct lease *all[1];
	struct lease a, b;

	all[0] = &a;
	assert_int_equal(lease_open(NULL, 0, 511, 5120, 0, 512, NULL, &a), -ENOSPC);
	assert_int_equal(lease_open(NULL, 0, 512, 511, 0, 512, NULL, &a), -ENOSPC);
	assert_int_equal(lease_open(NULL, 0, 5120, 5120, 0, 512, &share, &a), -EDQUOT);
	assert_int_equal(lease_open(NULL, 0, 5120, 4096, 0, 512, NULL, &a), 0);
	assert_int_equal(lease_keep(all, 1, 5120, 5120, &a), 0);
	a.used = a.want = a.cap;
	assert_int_equal(lease_open(all, 1, 4096 + 511, 5120, 0, 512, NULL, &b), -ENOSPC);
	assert_int_equal(lease_open(all, 1, 4096 + 512, 5120, 0, 512, NULL, &b), 0);
	assert_int_equal(b.promised, 512);
	/* A unit that lies idle elsewhere can come. */
	a.used = a.want = 512;
	assert_int_equal(lease_open(all, 1, 4096 + 100, 5120, 0, 512, NULL, &b), 0);
}

/* Strangers come, and none is heard of again: they hold an eighth, and the next one is
 * promised as much as the first. */
static void test_strangers(void **state)
{
	struct lease all[100];
	const struct lease *here[100];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(lease_open(here, i, 16384, 8192, 64, 1, NULL, &all[i]), 0);
		here[i] = &all[i];
		sum += all[i].ceiling ? all[i].ceiling + 64 : 0;
	}
	assert_in_range(sum, 16384 / 8, 16384 / 8 + LEASE_FIRST + 64);
	assert_in_range(all[99].promised, 16384 / 3, 8192);
	assert_int_equal(lease_keep(here, 100, 16384, 16384, &all[99]), 0);
	assert_int_equal(all[99].ceiling, all[99].promised ? 0 : all[99].granted);
}

/* A promise that others have made void: the CNode is told what there is, and is
 * believed to know when it says so. */
static void test_broken_promise(void **state)
{
	struct lease a, b, *all[] = { &a, &b };
	const struct lease *here[] = { &a, &b };

	assert_int_equal(lease_open(here, 0, 10000, 9000, 0, 1, NULL, &a), 0);
	assert_int_equal(lease_open(here, 1, 10000, 9000, 0, 1, NULL, &b), 0);
	assert_in_range(b.promised, 4900, 5000);
	assert_int_equal(lease_keep(here, 2, 10000, 10000, &a), 0);
	assert_int_equal(a.ceiling, 9000);
	assert_int_equal(lease_keep(here, 2, 10000, 10000, &b), -EAGAIN);
	assert_true(lease_promise_stands(&b));
	lease_beat(&b, 0, 0, b.granted, true);
	lease_plan(all, 2, 10000);
	assert_int_equal(b.target, 1000);
	lease_grant(&b);
	assert_int_equal(b.ceiling, 1000);
	assert_int_not_equal(b.promised, 0);
	lease_granted(&b);
	lease_beat(&b, 0, 0, 4900, true);	/* has not read it */
	assert_int_not_equal(b.promised, 0);
	lease_beat(&b, 0, 0, 1000, true);
	assert_int_equal(b.promised, 0);
	assert_false(b.overdrawn);
}

/* And the pages that it has at once may be gone, too. */
static void test_no_page_after_all(void **state)
{
	struct lease a, *all[] = { &a };
	const struct lease *here[] = { &a };

	assert_int_equal(lease_open(NULL, 0, 1000, 500, 10, 1, NULL, &a), 0);
	assert_int_equal(lease_keep(here, 1, 1000, 20, &a), -EAGAIN);
	lease_lower(&a, 20);
	assert_int_equal(a.ceiling, 10);
	lease_lower(&a, 5);
	assert_int_equal(a.ceiling, 0);
	lease_beat(&a, 0, 0, 500, true);
	lease_plan(all, 1, 1000);
	a.target = a.ceiling;
	assert_true(lease_differs(&a));
	lease_grant(&a);
	assert_int_equal(a.granted, 0);
}

/* A raise that the CNode may not have seen yet still counts after a cut. */
static void test_unseen_raise_counts(void **state)
{
	struct lease l = { .cap = 1000, .granted = 100, .ceiling = 100 };

	l.target = 200;
	lease_grant(&l);
	lease_granted(&l);
	l.target = 50;
	lease_grant(&l);
	lease_granted(&l);
	assert_int_equal(l.ceiling, 200);
	lease_beat(&l, 0, 0, 100, true);	/* composed before either */
	assert_int_equal(l.ceiling, 200);
	lease_beat(&l, 0, 0, 50, true);
	assert_int_equal(l.ceiling, 50);
}

/* L8: of the pages that there are not for one lease, another one gets what it wants. */
static void test_lacking(void **state)
{
	struct lease a = { .cap = 1000, .lacking = 800, .asks = true }, b = a;
	struct lease *all[] = { &a, &b };

	b.lacking = 0;
	lease_beat(&a, 0, 1000, 0, true);
	lease_beat(&b, 0, 1000, 0, true);
	lease_plan(all, 2, 1000);
	assert_int_equal(a.target, 200);
	assert_int_equal(b.target, 800);
	/* What the CNode goes by is not taken away for that. */
	a.granted = a.ceiling = 300;
	lease_plan(all, 2, 1000);
	assert_int_equal(a.target, 300);
	assert_int_equal(b.target, 700);
}

/* Nor has it surely seen anything that was on its way when its connection
 * broke, until it has said so twice over the next one. */
static void test_detached(void **state)
{
	struct lease l = { .cap = 1000, .granted = 200, .ceiling = 200 };
	struct lease *all[] = { &l };

	lease_beat(&l, 0, 0, 200, true);
	l.target = 50;
	lease_grant(&l);
	lease_detach(&l);
	l.want = 1000;
	lease_plan(all, 1, 1000);
	assert_int_equal(l.target, 50);
	assert_int_equal(l.ceiling, 200);
	lease_beat(&l, 0, 0, 50, true);
	assert_int_equal(l.ceiling, 200);
	lease_beat(&l, 0, 0, 50, true);
	assert_int_equal(l.ceiling, 50);
	/* Also if it had been about to. */
	l.ceiling = 200;
	l.beats = LEASE_SETTLE_BEATS - 1;
	lease_detach(&l);
	lease_beat(&l, 0, 0, 50, true);
	assert_int_equal(l.ceiling, 200);
}

static void test_liars(void **state)
{
	struct lease l = { .cap = 5000, .granted = 100, .ceiling = 100 };
	struct lease *all[] = { &l };

	lease_beat(&l, UINT64_MAX, UINT64_MAX, UINT64_MAX, true);
	assert_true(l.overdrawn);
	lease_beat(&l, UINT64_MAX, UINT64_MAX, UINT64_MAX, true);
	assert_int_equal(l.ceiling, 100);
	lease_plan(all, 1, 1000);
	assert_true(l.target <= 1000);
	/* An answer counted late is no lie. */
	l = (struct lease){ .cap = 5000, .granted = 100, .ceiling = 100 };
	lease_beat(&l, 104, 104, 104, true);
	assert_false(l.overdrawn);
}

static void test_unreachable_is_left_alone(void **state)
{
	struct lease l = { .cap = 5000, .granted = 100, .ceiling = 100 };
	struct lease *all[] = { &l };

	lease_beat(&l, 90, 4000, 100, false);
	lease_plan(all, 1, 1000);
	assert_int_equal(l.target, 100);
	lease_beat(&l, 90, 4000, 100, true);
	lease_plan(all, 1, 1000);
	assert_int_equal(l.target, 1000);
	lease_grant(&l);
	lease_plan(all, 1, 1000);
	assert_int_equal(l.target, 1000);
}

static void test_default_slack(void **state)
{
	assert_int_equal(lease_default_slack(64), 16);
	assert_int_equal(lease_default_slack(16384), 64);
	assert_int_equal(lease_default_slack(1 << 28), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_oversubscribed),
		cmocka_unit_test(test_becomes_fair),
		cmocka_unit_test(test_fair_exactly),
		cmocka_unit_test(test_used_is_kept),
		cmocka_unit_test(test_grows_with_use),
		cmocka_unit_test(test_first_lease),
		cmocka_unit_test(test_first_units),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_broken_promise),
		cmocka_unit_test(test_no_page_after_all),
		cmocka_unit_test(test_unseen_raise_counts),
		cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_unreachable_is_left_alone),
		cmocka_unit_test(test_default_slack),
		cmocka_unit_test(test_slack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
