// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * max-bandwidth: a name that would move pages as fast as it can moves what it may, loads
 * and stores together, by chains and by keys, in one session or two; another name beside
 * it is, by chains, as fast as if it were alone; and all of it may change while it works.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "bed/load.h"

#define SLOTS	200
#define WQE_NS	300
#define TURN_NS	50000
#define RATE	(32u << 20)

/* Starts all that its connections take, each so many ns. */
struct greedy {
	struct snic_actor actor;
	struct load load;
	uint64_t at;
};

static struct bed_options opts;
static struct bed bed;
static struct greedy greedy[2];
static unsigned int nr_greedy;

static uint64_t greedy_next(struct snic_actor *actor, uint64_t now)
{
	return bed.only_nics ? SNIC_NEVER : ((struct greedy *)actor)->at;
}

static int greedy_step(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost)
{
	struct greedy *g = (struct greedy *)actor;

	load_poll(&g->load);
	load_submit(&g->load, 64);
	g->at = now + TURN_NS;
	return 0;
}

static const struct snic_actor_ops greedy_ops = {
	.next = greedy_next, .step = greedy_step,
};

static void greedy_begin(unsigned int node)
{
	struct greedy *g = &greedy[nr_greedy++];

	bed_connect(&bed, node, SLOTS, 2, 7);
	memset(g, 0, sizeof(*g));
	g->actor.ops = &greedy_ops;
	g->at = bed.now;
	load_init(&g->load, &bed, node, SLOTS, node + 1);
	snic_vt_add(&bed.vt, &g->actor);
}

static void greedy_end_all(void)
{
	unsigned int i;

	for (i = 0; i < nr_greedy; i++)
		snic_vt_remove(&bed.vt, &greedy[i].actor);
	while (nr_greedy--) {
		load_run(&greedy[nr_greedy].load, 0);
		load_verify(&greedy[nr_greedy].load);
		assert_false(cnode_broken(greedy[nr_greedy].load.cnode, 0, 0));
		load_fini(&greedy[nr_greedy].load);
	}
	nr_greedy = 0;
}

/* Pages that they have moved: an invalidate moves none. */
static uint64_t moved(void)
{
	uint64_t sum = 0;
	unsigned int i, c;

	for (i = 0; i < nr_greedy; i++)
		for (c = 0; c < ODRP_WIRE_INVALIDATE; c++)
			sum += greedy[i].load.done[c];
	return sum * ODRP_WIRE_PAGE_SIZE;
}

/* The world goes on; who works works.  (bed_pass() is for those who are idle.) */
static void pass(unsigned int ms)
{
	int r = snic_vt_run(&bed.vt, bed.now + ms * MS, NULL, NULL);

	assert_true(!r || r == -ETIMEDOUT);
	bed.now = bed.vt.now;
}

/* Bytes a second, over so many ms. */
static uint64_t rate_of(unsigned int ms)
{
	uint64_t before = moved();

	pass(ms);
	return (moved() - before) * 1000 / ms;
}

static void set(const char *name, const char *value)
{
	char why[CONF_WHY_MAX];

	assert_int_equal(conf_client_set(&opts.conf, name, "max-bandwidth", value, why),
			 0);
}

static void change(void)
{
	char why[CONF_WHY_MAX];

	assert_int_equal(manager_set_clients(&bed.m, &opts.conf, why), 0);
}

static void begin(unsigned int nr_nodes)
{
	bed_options(&opts);
	opts.cost_ns = WQE_NS;
}

static void expect_rate(uint64_t is, uint64_t most)
{
	print_message("%lu kB/s of %lu\n", (unsigned long)is / 1000,
		      (unsigned long)most / 1000);
	assert_in_range(is, most * 8 / 10, most * 11 / 10);
}

static void test_one(void **state)
{
	uint64_t free_rate;

	begin(1);
	bed_open(&bed, &opts, 1);
	greedy_begin(0);
	pass(5);
	free_rate = rate_of(10);
	assert_true(free_rate > 4ull * RATE);
	/* While it works, there and back. */
	set("node0", "32M");
	change();
	pass(10);
	expect_rate(rate_of(100), RATE);
	set("node0", "64M");
	change();
	pass(10);
	expect_rate(rate_of(100), 2 * RATE);
	set("node0", "0");
	change();
	assert_in_range(rate_of(10), free_rate * 8 / 10, UINT64_MAX);
	assert_int_equal(bed.m.queues_broken, 0);
	assert_int_equal(bed.m.sess_resumed, 0);
	greedy_end_all();
	bed_close(&bed);
}

/* By the section of all others, of which nobody had a share before. */
static void test_two_sessions(void **state)
{
	begin(2);
	set("*", "32M");
	bed_open(&bed, &opts, 2);
	bed.nodes[1].cfg.name = bed.nodes[0].name;
	bed.nodes[1].cfg.secret = bed.nodes[0].secret;
	greedy_begin(0);
	greedy_begin(1);
	assert_int_equal(bed.m.nr_sess, 2);
	assert_ptr_equal(bed.m.sess[0]->share, bed.m.sess[1]->share);
	pass(10);
	expect_rate(rate_of(100), RATE);
	/* Neither of them is left out. */
	assert_in_range(greedy[0].load.done[ODRP_WIRE_LOAD],
			greedy[1].load.done[ODRP_WIRE_LOAD] / 2,
			greedy[1].load.done[ODRP_WIRE_LOAD] * 2);
	greedy_end_all();
	bed_close(&bed);
}

/* The honest one, alone, and beside one that would take all. */
static uint64_t honest_ns(bool beside, const char *most)
{
	struct load load;
	uint64_t began, ns;

	begin(2);
	if (most)
		set("node1", most);
	bed_open(&bed, &opts, 2);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	if (beside)
		greedy_begin(1);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 200);
	began = bed.now;
	load_run(&load, 8000);
	ns = bed.now - began;
	load_verify(&load);
	load_fini(&load);
	greedy_end_all();
	bed_close(&bed);
	return ns;
}

/* With keys the NIC's time goes to invalidates, which move no bytes. */
static void test_beside(void **state)
{
	uint64_t alone, limited;

	if (bed_keyed)
		skip();
	alone = honest_ns(false, NULL);
	limited = honest_ns(true, "32M");
	print_message("8000 requests: %lu us alone, %lu us beside a greedy one of 32 MB/s\n",
		      (unsigned long)alone / 1000, (unsigned long)limited / 1000);
	assert_in_range(limited, 1, alone * 12 / 10);
}

/* What is limited loses its connections, and comes again: the limit is still there. */
static void test_resumed(void **state)
{
	struct cnode_refusal no;

	begin(1);
	set("node0", "32M");
	bed_open(&bed, &opts, 1);
	greedy_begin(0);
	pass(10);
	snic_vt_remove(&bed.vt, &greedy[0].actor);
	load_run(&greedy[0].load, 0);
	assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	greedy[0].at = bed.now;
	snic_vt_add(&bed.vt, &greedy[0].actor);
	pass(10);
	expect_rate(rate_of(100), RATE);
	greedy_end_all();
	bed_close(&bed);
}

/* ---- a NIC that does not hold a limit -------------------------------------------- */

static struct nic_node_ops poor_ops;
static const struct nic_node_ops *rich_ops;
static bool no_rates, no_limits;
static unsigned int said;
static char saying[256];

void __wrap_log_line(int level, const char *fmt, ...);

void __wrap_log_line(int level, const char *fmt, ...)
{
	va_list ap;

	if (!strstr(fmt, "max-bandwidth"))
		return;
	said++;
	va_start(ap, fmt);
	vsnprintf(saying, sizeof(saying), fmt, ap);
	va_end(ap);
}

static int poor_rate_set(struct nic *nic, uint64_t bytes_per_s, uint32_t *rate)
{
	return no_rates ? -ENOMEM : rich_ops->rate_set(nic, bytes_per_s, rate);
}

static int poor_qp_limit(struct nic *nic, uint32_t qpn, uint32_t rate)
{
	return no_limits ? -ENOMEM : rich_ops->qp_limit(nic, qpn, rate);
}

static void be_poor(bool rates, bool limits)
{
	if (bed.nic->node->ops != &poor_ops) {
		rich_ops = bed.nic->node->ops;
		poor_ops = *rich_ops;
		poor_ops.rate_set = poor_rate_set;
		poor_ops.qp_limit = poor_qp_limit;
		bed.nic->node->ops = &poor_ops;
	}
	no_rates = rates;
	no_limits = limits;
	said = 0;
}

/* The log names the client and the limit once, however many queues it has. */
static void expect_said(const char *name)
{
	assert_int_equal(said, 1);
	assert_non_null(strstr(saying, name));
	assert_non_null(strstr(saying, "33554432 bytes a second"));
	assert_non_null(strstr(saying, "no memory"));
}

/* Compute nodes without a section have no limit before they come. */
static void test_no_memory(void **state)
{
	begin(1);
	set("*", "32M");
	bed_open(&bed, &opts, 1);
	be_poor(true, false);
	greedy_begin(0);
	expect_said("node0");
	/* When there is some again, whoever comes brings it for all of them. */
	be_poor(false, false);
	manager_limit_queue(&bed.m, bed.m.sess[0], bed.m.sess[0]->queues[0][0]);
	assert_int_equal(said, 0);
	pass(10);
	expect_rate(rate_of(100), RATE);
	greedy_end_all();
	bed.nic->node->ops = rich_ops;
	bed_close(&bed);
}

static void test_no_memory_for_queue(void **state)
{
	begin(1);
	set("node0", "32M");
	bed_open(&bed, &opts, 1);
	be_poor(false, true);
	greedy_begin(0);
	expect_said("node0");
	/* It is said again of what is set anew. */
	be_poor(true, true);
	change();
	expect_said("node0");
	greedy_end_all();
	bed.nic->node->ops = rich_ops;
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_for_queue),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_two_sessions),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_resumed),
	};

	return bed_run_tests(tests);
}
