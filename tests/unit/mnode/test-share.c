// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shares: what is guaranteed to one name is nobody else's, weights divide what all want,
 * no name has more than its most, whatever sessions it opens; and all of it may change
 * while sessions go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "bed/agent.h"
#include "bed/load.h"

/* ---- the policy alone -------------------------------------------------------------- */

#define MAX_LEASES 8
#define BUDGET	100000

static struct lease leases[MAX_LEASES], *all[MAX_LEASES];
static struct lease_share shares[3];
static unsigned int nr_leases;

static const struct lease *const *those(void)
{
	return (const struct lease *const *)all;
}

static void begin(void)
{
	memset(leases, 0, sizeof(leases));
	memset(shares, 0, sizeof(shares));
	nr_leases = 0;
}

static int join(struct lease_share *share, uint64_t want)
{
	struct lease *l = &leases[nr_leases];
	int r = lease_open(those(), nr_leases, BUDGET, BUDGET, 0, 1, share, l);

	if (r)
		return r;
	all[nr_leases++] = l;
	lease_keep(those(), nr_leases, BUDGET, UINT64_MAX, l);
	l->want = want;
	return 0;
}

static uint64_t held(const struct lease_share *share)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < nr_leases; i++)
		sum += leases[i].share == share ? leases[i].ceiling : 0;
	return sum;
}

/* Heartbeats, a plan, grants that arrive. */
static void rounds(unsigned int nr)
{
	unsigned int i;

	while (nr--) {
		for (i = 0; i < nr_leases; i++) {
			struct lease *l = &leases[i];

			lease_beat(l, l->used, l->want, l->used > l->granted ? l->used :
				   l->granted, true);
		}
		lease_plan(all, nr_leases, BUDGET);
		for (i = 0; i < nr_leases; i++) {
			if (!lease_differs(&leases[i]))
				continue;
			lease_grant(&leases[i]);
			lease_granted(&leases[i]);
		}
		for (i = 0; i < 3; i++)
			if (shares[i].most && !shares[i].held)
				assert_true(held(&shares[i]) <= shares[i].most);
	}
}

static void assert_about(uint64_t is, uint64_t expected)
{
	assert_in_range(is, expected - expected / 100, expected + expected / 100);
}

static void test_weights(void **state)
{
	begin();
	shares[0].weight = 2;
	shares[1].weight = 1;
	assert_int_equal(join(&shares[0], BUDGET), 0);
	assert_int_equal(join(&shares[1], BUDGET), 0);
	rounds(20);
	assert_about(held(&shares[0]), BUDGET * 2 / 3);
	assert_about(held(&shares[1]), BUDGET / 3);
	/* However many sessions the second one opens. */
	assert_int_equal(join(&shares[1], BUDGET), 0);
	assert_int_equal(join(&shares[1], BUDGET), 0);
	rounds(20);
	assert_about(held(&shares[0]), BUDGET * 2 / 3);
	assert_about(held(&shares[1]), BUDGET / 3);
	/* And one that needs less leaves it to the other one. */
	leases[0].want = 1000;
	rounds(20);
	assert_true(held(&shares[1]) >= BUDGET - 1500);
}

static void test_within_a_share(void **state)
{
	begin();
	shares[0].most = 30000;
	assert_int_equal(join(&shares[0], BUDGET), 0);
	assert_int_equal(join(&shares[0], 5000), -EDQUOT);
	leases[0].want = 1000;
	rounds(1);
	/* What is idle is moved within the share, too. */
	shares[0].most = 40000;
	assert_int_equal(join(&shares[0], BUDGET), 0);
	leases[0].want = BUDGET;
	rounds(20);
	assert_about(leases[0].granted, 20000);
	assert_about(leases[1].granted, 20000);
	assert_true(held(&shares[0]) <= 40000);
}

/* A share at its most lacks nothing that others could give. */
static void test_most_is_no_lack(void **state)
{
	begin();
	shares[0].most = 1000;
	assert_int_equal(join(&shares[0], BUDGET), 0);
	assert_int_equal(join(&shares[1], BUDGET), 0);
	leases[1].used = leases[1].want = 40000;
	rounds(20);
	assert_int_equal(leases[0].granted, 1000);
	assert_true(leases[1].granted > 79000);
}

/* Others had it before it was guaranteed, or before its owner came. */
static void test_guaranteed(void **state)
{
	begin();
	shares[0].least = 60000;
	assert_int_equal(join(&shares[1], BUDGET), 0);
	rounds(5);
	assert_int_equal(held(&shares[1]), BUDGET);
	assert_int_equal(join(&shares[0], 0), 0);
	rounds(20);
	assert_true(held(&shares[1]) <= BUDGET - 60000);
	leases[1].want = 60000;
	rounds(20);
	assert_true(held(&shares[0]) >= 60000);
	assert_int_equal(join(&shares[2], BUDGET), 0);
	rounds(20);
	assert_true(held(&shares[0]) >= 60000);
	assert_true(held(&shares[1]) + held(&shares[2]) <= BUDGET - 60000);
	assert_true(held(&shares[2]) > 0);
}

/* Guaranteed while others have the pages: its owner gets them when they are back, since
 * together they never have more than there are. */
static void test_guaranteed_later(void **state)
{
	unsigned int i;

	begin();
	assert_int_equal(join(&shares[1], BUDGET), 0);
	assert_int_equal(join(&shares[0], BUDGET), 0);
	leases[0].used = 90000;
	leases[1].want = BUDGET;
	rounds(20);
	shares[0].least = 60000;
	for (i = 0; i < 40; i++) {
		if (i == 20)
			leases[0].used = leases[0].want = 10000;
		rounds(1);
		assert_true(leases[0].ceiling + leases[1].ceiling <= BUDGET);
	}
	assert_true(held(&shares[0]) >= 60000);
}

/* Nobody has told the owner's sessions anything: what it is guaranteed stays free. */
static void test_guaranteed_stays_free(void **state)
{
	begin();
	shares[0].least = 60000;
	assert_int_equal(join(&shares[0], 10), 0);
	leases[0].ceiling = leases[0].granted = 10;
	assert_int_equal(join(&shares[1], BUDGET), 0);
	leases[1].used = leases[1].want = 1;
	rounds(1);
	leases[1].want = BUDGET;
	rounds(20);
	assert_true(held(&shares[1]) <= 40000);
}

/* Below what is used: no new page, and what is freed does not come back. */
static void test_lowered(void **state)
{
	begin();
	assert_int_equal(join(&shares[0], 50000), 0);
	assert_int_equal(join(&shares[0], 50000), 0);
	rounds(20);
	leases[0].used = 30000;
	leases[1].used = 100;
	shares[0].most = 10000;
	shares[0].held = 1;		/* not at once */
	rounds(20);
	assert_int_equal(leases[0].granted, 30000);
	assert_int_equal(leases[1].granted, 100);
	leases[0].used = 8000;
	rounds(20);
	assert_true(held(&shares[0]) <= 10000);
	assert_true(leases[0].granted >= 8000);
	shares[0].most = 0;
	rounds(20);
	assert_about(leases[0].granted, BUDGET / 2);
}

/* ---- the agent ------------------------------------------------------------------- */

static struct bed bed;
static struct bed_options opts;

static void set(const char *client, const char *name, const char *text)
{
	char why[CONF_WHY_MAX] = "";

	assert_int_equal(conf_client_set(&opts.conf, client, name, text, why), 0);
}

static void open_bed(unsigned int nr_nodes)
{
	bed_open(&bed, &opts, nr_nodes);
}

/* While sessions go on. */
static int change(void)
{
	char why[CONF_WHY_MAX] = "";

	return manager_set_clients(&bed.m, &opts.conf, why);
}

static int try_open(unsigned int node, unsigned int as, unsigned int queues,
		    struct cnode_refusal *ret_no)
{
	struct bed_node *n = &bed.nodes[node];

	n->cfg.name = bed.nodes[as].name;
	n->cfg.secret = bed.nodes[as].secret;
	n->cfg.nr_slots = 1 << 16;
	n->cfg.queues = queues;
	n->cfg.depth = 7;
	return cnode_open(&n->cfg, &n->cnode, ret_no);
}

static uint64_t lease_of(unsigned int node)
{
	struct cnode_info info;

	cnode_info(bed.nodes[node].cnode, &info);
	return info.lease;
}

static void test_greedy_name(void **state)
{
	struct cnode_refusal no;
	uint64_t pages;
	unsigned int i;
	char text[24];

	bed_options(&opts);
	pages = opts.conf.pool / ODRP_WIRE_PAGE_SIZE / 2;
	snprintf(text, sizeof(text), "%" PRIu64, pages);
	set("node0", "guaranteed-pages", text);
	open_bed(5);
	/* Before the owner is there at all. */
	for (i = 1; i < 5; i++) {
		bed.nodes[i].want = UINT32_MAX;
		try_open(i, 1, 1, &no);
	}
	bed_pass(&bed, 3000);
	assert_int_equal(try_open(0, 0, 1, &no), 0);
	bed_pass(&bed, 300);
	assert_true(lease_of(0) >= pages);
	bed_close(&bed);
}

static void test_leases_by_weight(void **state)
{
	bed_options(&opts);
	set("node0", "weight", "2");
	open_bed(2);
	bed_connect(&bed, 0, 1 << 16, 1, 7);
	bed_connect(&bed, 1, 1 << 16, 1, 7);
	bed.nodes[0].want = bed.nodes[1].want = UINT32_MAX;
	bed_pass(&bed, 3000);
	assert_in_range(lease_of(0), lease_of(1) * 2 - lease_of(1) / 10,
			lease_of(1) * 2 + lease_of(1) / 10);
	/* Now it is the other way round. */
	set("node0", "weight", "1");
	set("node1", "weight", "2");
	assert_int_equal(change(), 0);
	bed_pass(&bed, 5000);
	assert_in_range(lease_of(1), lease_of(0) * 2 - lease_of(0) / 10,
			lease_of(0) * 2 + lease_of(0) / 10);
	bed_close(&bed);
}

static void test_sessions(void **state)
{
	struct cnode_refusal no;

	bed_options(&opts);
	set("*", "max-sessions", "2");
	open_bed(4);
	assert_int_equal(try_open(0, 0, 1, &no), 0);
	assert_int_equal(try_open(1, 0, 1, &no), 0);
	assert_int_equal(try_open(2, 0, 1, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
	/* Another name has a count of its own. */
	assert_int_equal(try_open(3, 3, 1, &no), 0);
	set("node0", "max-sessions", "3");
	assert_int_equal(change(), 0);
	assert_int_equal(try_open(2, 0, 1, &no), 0);
	bed_close(&bed);
}

static void test_connections(void **state)
{
	struct cnode_refusal no;
	struct cnode_info info;

	bed_options(&opts);
	/* An admin connection, and four for each queue. */
	set("node0", "max-connections", "9");
	open_bed(2);
	assert_int_equal(try_open(0, 0, 2, &no), 0);
	assert_int_equal(try_open(1, 0, 1, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
	set("node0", "max-connections", "14");
	assert_int_equal(change(), 0);
	assert_int_equal(try_open(1, 0, 2, &no), 0);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_int_equal(bed.m.sess[1]->nr_queues, 1);
	bed_close(&bed);
}

static void test_requests(void **state)
{
	struct cnode_refusal no;

	bed_options(&opts);
	set("node0", "max-requests", "5");
	open_bed(3);
	assert_int_equal(try_open(0, 0, 1, &no), 0);
	assert_int_equal(try_open(1, 0, 1, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_BUSY);
	assert_int_equal(try_open(2, 2, 1, &no), 0);
	bed_close(&bed);
}

/* One that is guaranteed pages finds a place, too. */
static void test_place(void **state)
{
	struct cnode_refusal no;

	bed_options(&opts);
	opts.conf.max_sessions = 2;
	set("node2", "guaranteed-pages", "64");
	open_bed(3);
	assert_int_equal(try_open(0, 0, 1, &no), 0);
	assert_int_equal(try_open(1, 1, 1, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
	assert_int_equal(try_open(2, 2, 1, &no), 0);
	bed_close(&bed);
}

/* Pages in use stay; no new one is had until enough are free. */
static void test_lowered_below_use(void **state)
{
	static struct load load;
	uint64_t used;

	bed_options(&opts);
	open_bed(1);
	bed_connect(&bed, 0, 1000, 1, 7);
	load_init(&load, &bed, 0, 1000, 1);
	load.free_chance = 0;
	while (load.mapped < 400)
		load_run(&load, 50);
	used = load.mapped;
	set("node0", "max-pages", "100");
	assert_int_equal(change(), 0);
	bed_pass(&bed, 3000);
	assert_int_equal(bed.m.sess[0]->lease.used, used);
	assert_in_range(lease_of(0), used, used + 7);
	assert_int_equal(bed.m.sess_evicted, 0);
	load_verify(&load);
	load_close(&load, &bed);
}

/* More than there is: what was there goes on. */
static void test_too_much(void **state)
{
	bed_options(&opts);
	open_bed(1);
	bed_connect(&bed, 0, 1000, 1, 7);
	set("node0", "guaranteed-pages", "100000000");
	assert_int_equal(change(), -EINVAL);
	assert_int_equal(bed.m.sess[0]->share->lease.least, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_within_a_share),
		cmocka_unit_test(test_most_is_no_lack),
		cmocka_unit_test(test_guaranteed),
		cmocka_unit_test(test_guaranteed_later),
		cmocka_unit_test(test_guaranteed_stays_free),
		cmocka_unit_test(test_lowered),
		cmocka_unit_test(test_greedy_name),
		cmocka_unit_test(test_leases_by_weight),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_lowered_below_use),
		cmocka_unit_test(test_too_much),
	};

	return bed_run_tests(tests);
}
