// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many compute nodes at the end of the pool at the same time: those that keep to
 * their leases hear of it from their own count, and nothing else happens; what
 * those do that do not is their own affair.
 */
#include <errno.h>
#include "bed/load.h"

#define PAGES		1024	/* that may be lent */
#define SLACK		16
#define KEEPERS		4
#define GREEDY		3
#define SLOTS		1000
#define WANT		400	/* together more than there are */
#define GREEDY_SLOTS	10000
#define QUEUES		2
#define DEPTH		7
#define LEASES		(PAGES - KEEPERS * SLACK)
#define WQE_NS		100000	/* requests are under way when leases move */
#define LONG		5000	/* turns */

_Static_assert(KEEPERS + GREEDY <= BED_NODES, "all are on one wire");

/* Takes pages, whatever its lease. */
struct greedy {
	struct cnode *c;
	unsigned int node;
	uint64_t slot;
	unsigned int broken;
};

static struct bed bed;
static struct load loads[KEEPERS];
static struct greedy greedy[GREEDY];
static unsigned int nr_greedy;

/* ---- compute nodes -------------------------------------------------------- */

static void open_all(void)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.conf.pool = PAGES * ODRP_WIRE_PAGE_SIZE;
	o.conf.reserve = SLACK;
	o.conf.queues = QUEUES;
	o.conf.depth = DEPTH + 1;
	o.conf.dead_ms = 60000;		/* a debtor stays, too */
	o.cost_ns = WQE_NS;
	nr_greedy = 0;
	bed_open(&bed, &o, KEEPERS + GREEDY);
	for (i = 0; i < KEEPERS; i++) {
		bed_connect(&bed, i, SLOTS, QUEUES, DEPTH);
		load_init(&loads[i], &bed, i, SLOTS, 3);
		bed.nodes[i].want = WANT;
	}
	bed_pass(&bed, 1000);
}

static uint64_t mapped(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < KEEPERS; i++)
		sum += loads[i].mapped;
	return sum;
}

static uint64_t lease_of(unsigned int node)
{
	struct cnode_info info;

	cnode_info(bed.nodes[node].cnode, &info);
	return info.lease;
}

static void count_refusals_anew(void)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++)
		loads[i].refused = 0;
}

/* All it was lent is mapped, and it was told so when it asked for more. */
static bool is_full(unsigned int keeper)
{
	const struct load *l = &loads[keeper];

	return l->refused && l->mapped == lease_of(keeper);
}

static void tell(void)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++)
		print_message("node %u: %lu of %lu mapped, %lu refused, wants "
			      "%lu\n", i, (unsigned long)loads[i].mapped,
			      (unsigned long)lease_of(i),
			      (unsigned long)loads[i].refused,
			      (unsigned long)bed.nodes[i].want);
}

static uint64_t leases(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < KEEPERS; i++)
		sum += lease_of(i);
	return sum;
}

/* Connected as on the first day, the ring in order. */
static void expect_undisturbed(void)
{
	unsigned int i, q, c;

	for (i = 0; i < KEEPERS; i++) {
		const struct sess *s = bed.m.sess[i];

		assert_int_equal(s->id, i + 1);
		assert_true(sess_attached(s));
		assert_int_equal(s->damage, DAMAGE_NONE);
		assert_false(s->lease.overdrawn);
		assert_false(cnode_admin_broken(loads[i].cnode));
		for (q = 0; q < QUEUES; q++) {
			for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
				assert_false(cnode_broken(loads[i].cnode, q,
							  c));
		}
	}
}

/* ---- those that keep no lease ----------------------------------------------- */

/* Its answers; then stores to slots that have never had one. */
static void greedy_turn(struct greedy *g)
{
	static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));
	struct cnode_refusal no;
	struct cnode_done done;
	unsigned int n;

	while (!cnode_poll(g->c, &done))
		;
	if (cnode_admin_broken(g->c)) {
		g->broken++;
		/* Refused as long as the old one is being buried. */
		if (cnode_resume(g->c, &no))
			assert_int_equal(no.status, ODRP_WIRE_E_BUSY);
		return;
	}
	for (n = 0; n < 4; n++) {
		assert_in_range(g->slot, 0, GREEDY_SLOTS - 1);
		bed_fill(page, g->node, g->slot, 1);
		if (!cnode_submit(g->c, n % QUEUES, ODRP_WIRE_UNMAPPED_STORE,
				  g->slot, page, 0))
			g->slot++;
	}
}

static bool all_broken(unsigned int times)
{
	unsigned int i;

	for (i = 0; i < GREEDY; i++) {
		if (greedy[i].broken < times)
			return false;
	}
	return true;
}

/* ---- all together -------------------------------------------------------------- */

/* The world goes on a little, and everybody takes in his answers. */
static void pass(void)
{
	unsigned int i;

	assert_true(bed_pump(&bed));
	for (i = 0; i < KEEPERS; i++)
		load_poll(&loads[i]);
	for (i = 0; i < nr_greedy; i++)
		greedy_turn(&greedy[i]);
}

/* They come, and go on storing as soon as each has been lent something. */
static void greedy_open(void)
{
	unsigned int i;

	for (i = 0; i < GREEDY; i++) {
		struct bed_node *n = &bed.nodes[KEEPERS + i];

		n->cfg.ignore_lease = true;
		n->want = WANT;
		bed_connect(&bed, KEEPERS + i, GREEDY_SLOTS, QUEUES, DEPTH);
		greedy[i] = (struct greedy){
			.c = n->cnode, .node = KEEPERS + i,
		};
	}
	for (i = 0; i < GREEDY; i++) {
		while (lease_of(KEEPERS + i) < 10)
			pass();
	}
	nr_greedy = GREEDY;
}

/* One that frees, if he is among them; the others ask at random. */
static void turn(unsigned int freeing)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++) {
		if (loads[i].under_way >= DEPTH)
			continue;	/* or the slowest chain would decide */
		if (i == freeing)
			load_free(&loads[i], 4);
		else
			load_submit(&loads[i], 4);
		cnode_flush(loads[i].cnode);
	}
	pass();
}

/* Every page is in one place, at this moment; how many are mapped. */
static uint64_t count_pages(void)
{
	struct check_result res;

	while (bed.m.lender.state != LEND_IDLE)
		pass();
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.doubled, 0);
	assert_int_equal(res.foreign, 0);
	assert_int_equal(res.lost, 0);
	assert_int_equal(res.pool + res.free + res.mapped + res.armed +
			 res.held + res.returning, res.total);
	return res.mapped;
}

static void finish_all(void)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++) {
		while (loads[i].under_way)
			pass();
	}
}

/* Nobody but the one who frees, if there is one, has a page to store to; and
 * there is none in the pool. */
static bool at_the_end(unsigned int freeing)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++) {
		if (i != freeing && !is_full(i))
			return false;
	}
	return leases() >= LEASES - KEEPERS;
}

/* One wants no pages and frees what it has; the others take them until they are
 * refused again.  freeing: KEEPERS for nobody, all want all. */
static void fill(unsigned int freeing)
{
	unsigned int i, n;

	for (i = 0; i < KEEPERS; i++) {
		bed.nodes[i].want = i == freeing ? 1 : WANT;
		loads[i].free_chance = 0;
	}
	count_refusals_anew();
	for (n = 0; n < LONG && !at_the_end(freeing); n++)
		turn(freeing);
	if (n == LONG)
		tell();
	assert_true(at_the_end(freeing));
	assert_true(leases() <= LEASES);
	assert_in_range(bed.m.pool.nr_free + manager_armed_pages(&bed.m),
			bed.m.stock.target, bed.m.stock.target + KEEPERS);
	finish_all();
	expect_undisturbed();
	assert_int_equal(count_pages(), mapped());
}

/* All free and store. */
static void churn(unsigned int turns)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++)
		loads[i].free_chance = 60;
	while (turns--) {
		turn(KEEPERS);
		if (turns % 50 == 0)
			count_pages();
	}
	finish_all();
	expect_undisturbed();
}

static bool all_refused(void)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++) {
		if (!loads[i].refused)
			return false;
	}
	return true;
}

/* At the end, where they are refused now and then. */
static void linger(unsigned int turns)
{
	unsigned int n;

	for (n = 0; n < KEEPERS; n++)
		bed.nodes[n].want = WANT;
	count_refusals_anew();
	for (n = 0; turns || (n < LONG && !all_refused()); n += 50) {
		churn(50);
		turns -= turns ? 50 : 0;
	}
	if (!all_refused())
		tell();
	assert_true(all_refused());
}

static void close_all(void)
{
	unsigned int i;

	for (i = 0; i < KEEPERS; i++) {
		load_verify(&loads[i]);
		load_fini(&loads[i]);
	}
	bed_settle(&bed);
	bed_check(&bed, mapped());
	for (i = 0; i < KEEPERS; i++) {
		bed_leave(&bed, i);
	}
	bed_settle(&bed);
	bed_check(&bed, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	assert_int_equal(bed.m.lender.nr_foreign, 0);
	bed_close(&bed);
}

static void test_all_refused(void **state)
{
	unsigned int i;

	open_all();
	fill(KEEPERS);
	linger(200);
	for (i = 0; i < KEEPERS; i++) {
		fill(i);
		linger(50);
	}
	fill(KEEPERS);
	assert_in_range(mapped(), LEASES - KEEPERS, LEASES);
	assert_int_equal(bed.m.queues_broken, 0);
	assert_int_equal(bed.m.sess_resumed, 0);
	assert_true(bed.m.lender.nr_back > 0);
	close_all();
}

/* Others go on storing when they have no page left, all at once. */
static void test_among_greedy_ones(void **state)
{
	unsigned int i;

	open_all();
	churn(100);
	for (i = 0; i < KEEPERS; i++)
		bed.nodes[i].want = WANT / KEEPERS;
	greedy_open();
	for (i = 0; i < LONG && !all_broken(3); i += 50)
		churn(50);
	assert_true(all_broken(3));
	nr_greedy = 0;
	for (i = 0; i < GREEDY; i++) {
		manager_kill(&bed.m, bed.m.sess[KEEPERS + i], WHY_EVICTED);
		cnode_die(greedy[i].c);
		bed.nodes[greedy[i].node].cnode = NULL;
	}
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, KEEPERS);
	bed_check(&bed, mapped());
	/* What they had is for those who are left. */
	fill(KEEPERS);
	linger(50);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_refused),
		cmocka_unit_test(test_among_greedy_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
