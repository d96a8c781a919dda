// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one name can have of attachments, queues and metadata, whatever it asks for: there
 * is some for the others.
 */
#include <string.h>
#include <lease/bound.h>
#include "bed/agent.h"

#define NAMES	5
#define LEAST	4

static struct bed bed;

/* How much a name gets that takes all it can get, one by one. */
static uint64_t take_all(struct bound *b)
{
	uint64_t had = b->has;

	while (bound_admits(b, 1)) {
		b->group = ++b->has;
		b->taken++;
	}
	return b->has - had;
}

static void test_bound(void **state)
{
	struct bound b = { .total = 100, .least = LEAST };

	assert_true(bound_is_wide(&b, 50));
	assert_false(bound_is_wide(&b, 51));
	assert_int_equal(take_all(&b), 75);
	b.has = b.group = 0;			/* the next name */
	assert_int_equal(take_all(&b), 19);
	b.has = b.group = 0;
	assert_int_equal(take_all(&b), 5);
	b = (struct bound){ .total = 100, .taken = 99 };
	assert_false(bound_admits(&b, 2));
	b = (struct bound){ .total = 100, .taken = 120 };
	assert_false(bound_admits(&b, 1));
	assert_false(bound_admits(&b, UINT64_MAX));
}

/* One after the other takes all that it can get; each gets its least. */
static void test_greedy(void **state)
{
	struct bound b = { .total = 40, .least = LEAST };
	unsigned int i;

	for (i = 0; i < NAMES; i++) {
		b.has = b.group = 0;
		b.kept = (NAMES - 1 - i) * LEAST;
		assert_in_range(take_all(&b), LEAST, b.total);
	}
	assert_in_range(b.taken, 0, b.total);
}

/* ---- attachments ----------------------------------------------------------------- */

static void open_bed(uint64_t metadata, unsigned int nodes)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.pool += 4 << 20;
	o.conf.metadata = metadata;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	bed_open(&bed, &o, nodes);
}

static struct far_host_attach attach[FAR_HOST_ATTACHES];

static void attach_add(const char *name)
{
	struct far_host *host = &bed.m.spaces.host;
	struct far_host_attach *one = &attach[host->nr_attaches++];

	*one = (struct far_host_attach){
		.owner = spaces_owner(name), .next = host->attaches,
	};
	host->attaches = one;
}

/* The name attaches as often as it can. Returns how often. */
static unsigned int attach_all(const char *name)
{
	unsigned int nr = 0;

	for (; !manager_share_far(&bed.m, name, true, SPACES_ATTACH); nr++)
		attach_add(name);
	return nr;
}

/* By an attachment that it has, it makes as many queues as it can. */
static unsigned int queue_all(const char *name)
{
	struct far_host *host = &bed.m.spaces.host;
	unsigned int nr = 0;

	attach_add(name);
	for (; !manager_share_far(&bed.m, name, true, SPACES_QUEUE); nr++) {
		host->attaches->nr_queues++;
		host->nr_queues++;
	}
	return nr;
}

static void close_bed(void)
{
	struct far_host *host = &bed.m.spaces.host;

	host->attaches = NULL;
	host->nr_attaches = host->nr_queues = 0;
	bed_close(&bed);
}

static void test_attachments(void **state)
{
	open_bed(0, 0);
	assert_int_equal(attach_all("greedy"), FAR_HOST_ATTACHES * 3 / 4);
	assert_in_range(attach_all("other"), 100, FAR_HOST_ATTACHES / 4);
	assert_in_range(attach_all("third"), 16, FAR_HOST_ATTACHES / 16);
	close_bed();
	open_bed(0, 0);
	assert_int_equal(queue_all("greedy"), FAR_HOST_QUEUES * 3 / 4);
	assert_in_range(queue_all("other"), 1000, FAR_HOST_QUEUES / 4);
	close_bed();
}

/* What a name with a section can have is kept for it, also before it comes. */
static void test_kept(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	struct conf conf;
	char why[CONF_WHY_MAX];
	unsigned int i;

	open_bed(0, 0);
	conf = *bed.m.conf;
	assert_int_equal(conf_client_set(&conf, "named", "weight", "1", why), 0);
	assert_int_equal(manager_set_clients(&bed.m, &conf, why), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		attach_all(names[i]);
	assert_in_range(attach_all("named"), 4, FAR_HOST_ATTACHES);
	close_bed();
}

/* ---- metadata -------------------------------------------------------------------- */

static int open_node(unsigned int node, uint64_t slots, struct cnode_refusal *no)
{
	struct bed_node *n = &bed.nodes[node];

	n->cfg.nr_slots = slots;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	return cnode_open(&n->cfg, &n->cnode, no);
}

/* A device whose table is too large is refused, and others are let in. */
static void test_metadata(void **state)
{
	struct cnode_refusal no;

	open_bed(1 << 20, 2);
	assert_int_not_equal(open_node(0, 1 << 17, &no), 0);
	assert_int_equal(no.status, ODRP_WIRE_E_NOMEM);
	assert_int_equal(manager_metadata_of(&bed.m, NULL), 0);
	assert_int_equal(open_node(0, 64, &no), 0);
	assert_int_equal(open_node(1, 64, &no), 0);
	assert_in_range(manager_metadata_of(&bed.m, NULL), 2 * 64 * 8, 1 << 20);
	assert_int_equal(manager_metadata_of(&bed.m, bed.m.sess[0]->share) +
			 manager_metadata_of(&bed.m, bed.m.sess[1]->share),
			 manager_metadata_of(&bed.m, NULL));
	bed_close(&bed);
}

/* The ring of a small device is small, however large the pool is. */
static void test_metadata_of_a_ring(void **state)
{
	struct cnode_refusal no;
	const struct sess *s;
	struct bed_options o;

	bed_options(&o);
	o.conf.pool = 1 << 30;
	bed_open(&bed, &o, 1);
	assert_int_equal(open_node(0, 64, &no), 0);
	s = bed.m.sess[0];
	assert_in_range(s->metadata, s->ring.mem.len, s->ring.mem.len + 4096);
	bed_close(&bed);
}

/* A name that has much of it is refused more while others are not. */
static void test_metadata_of_a_name(void **state)
{
	struct cnode_refusal no;
	struct share *share, *other;

	open_bed(4 << 20, 2);
	assert_int_equal(open_node(0, 64, &no), 0);
	assert_int_equal(open_node(1, 64, &no), 0);
	share = bed.m.sess[0]->share;
	other = bed.m.sess[1]->share;
	assert_ptr_not_equal(share, other);
	assert_true(manager_metadata_admits(&bed.m, share, 1 << 20));
	bed.m.sess[0]->metadata = 5 << 19;	/* 2.5 of 4 MB */
	assert_false(manager_metadata_admits(&bed.m, share, 1 << 20));
	assert_true(manager_metadata_admits(&bed.m, other, 1 << 20));
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_attachments),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_metadata_of_a_ring),
		cmocka_unit_test(test_metadata_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
