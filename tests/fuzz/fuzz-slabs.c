// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hostile compute nodes with direct slabs, among an honest one: they READ and WRITE by keys
 * that they have, that they had, and that others have, while slabs are taken from them and given
 * to others, and their sessions end, are lost and resumed.  What must hold: a page that was not
 * written since its slab was granted is zero; what the honest node stored is as it was, and is
 * seen by nobody else; each page of the pool is in one place, and all are back in the end.
 *
 *	fuzz-slabs [ACTS [SEED]]
 *
 * ODRP_NIGHTLY=1: fifty times as many acts.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include "../lib/nightly.h"
#include "bed/agent.h"
#include "bed/cnode-priv.h"

#define SLAB		ODRP_WIRE_SLAB_PAGES
#define POOL		8u	/* slabs */
#define MOST		4u	/* of a hostile node */
#define HONEST_SLABS	2u
#define HONEST_PAGES	24u
#define NODES		3u	/* the first is honest */
#define MAX_OLD		16u
#define HONEST_MAGIC	0xa5c396f1u
#define PER_LIFE	120u
#define DEFAULT_ACTS	6000u

static struct bed bed;
static uint64_t rnd;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));
static unsigned long nr_acts, nr_zero, nr_own, nr_stale, nr_taken, nr_back;

/**
 * struct mine - what a hostile node has
 * @generation:	of each slab; UINT32_MAX: it never had one of that number
 * @written:	pages of it that were written since then
 * @old, @nr_old: slabs that it had, or whose keys it knows
 */
static struct mine {
	uint32_t generation[MOST];
	bool written[MOST][SLAB];
	struct odrp_wire_slab old[MAX_OLD];
	unsigned int nr_old;
} mine[NODES];

static unsigned int below(unsigned int n)
{
	rnd = rnd * 6364136223846793005ull + 1442695040888963407ull;
	return (rnd >> 33) % n;
}

static struct cnode *node(unsigned int i)
{
	return bed.nodes[i].cnode;
}

/* ---- the honest one -------------------------------------------------------------------- */

static void fill_honest(unsigned int i)
{
	uint32_t *p = (uint32_t *)page;
	unsigned int k;

	for (k = 0; k < sizeof(page) / sizeof(*p); k++)
		p[k] = HONEST_MAGIC;
	p[1] = i;
}

static uint64_t honest_slot(unsigned int i)
{
	return i * 37 % (HONEST_SLABS * SLAB);
}

static void honest_store(void)
{
	unsigned int i;

	bed_connect(&bed, 0, HONEST_SLABS * SLAB, 1, 7);
	for (i = 0; i < HONEST_PAGES; i++) {
		fill_honest(i);
		assert_int_equal(cnode_do(node(0), 0, ODRP_WIRE_MAPPED_STORE, honest_slot(i),
					  page), 0);
	}
}

static void honest_look(void)
{
	uint8_t want[sizeof(page)];
	unsigned int i;

	for (i = 0; i < HONEST_PAGES; i++) {
		fill_honest(i);
		memcpy(want, page, sizeof(page));
		assert_int_equal(cnode_do(node(0), 0, ODRP_WIRE_LOAD, honest_slot(i), page), 0);
		assert_memory_equal(page, want, sizeof(page));
	}
}

/* A value that is in no page of a hostile node. */
static bool honest_seen(const void *mem, size_t len)
{
	const uint32_t magic = HONEST_MAGIC;

	return memmem(mem, len, &magic, sizeof(magic));
}

/* ---- what a hostile one has ------------------------------------------------------------ */

static bool holds(unsigned int i, unsigned int nr)
{
	return node(i)->mem->held[nr / 8] >> nr % 8 & 1;
}

static void know_key(unsigned int i, const struct odrp_wire_slab *slab)
{
	struct mine *m = &mine[i];

	m->old[m->nr_old++ % MAX_OLD] = *slab;
}

/* A slab of another generation is a new one. */
static void take_stock(unsigned int i)
{
	struct mine *m = &mine[i];
	unsigned int nr;

	for (nr = 0; nr < MOST; nr++) {
		uint32_t generation = cnode_slab(node(i), nr)->generation;

		if (!holds(i, nr) || m->generation[nr] == generation)
			continue;
		m->generation[nr] = generation;
		memset(m->written[nr], 0, sizeof(m->written[nr]));
		know_key(i, cnode_slab(node(i), nr));
		nr_taken++;
	}
}

static void forget_all(unsigned int i)
{
	memset(mine[i].generation, 0xff, sizeof(mine[i].generation));
}

static void connect_hostile(unsigned int i)
{
	struct bed_node *n = &bed.nodes[i];
	struct cnode_refusal no;

	n->cfg.nr_slots = MOST * SLAB;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	forget_all(i);
	if (!cnode_open(&n->cfg, &n->cnode, &no))
		take_stock(i);
}

/* One of those that it holds; MOST: it has none. */
static unsigned int any_held(unsigned int i)
{
	unsigned int nr = below(MOST), k;

	for (k = 0; k < MOST; k++, nr = (nr + 1) % MOST)
		if (holds(i, nr))
			return nr;
	return MOST;
}

/* ---- acts ------------------------------------------------------------------------------ */

static void see_page(unsigned int i, unsigned int nr, unsigned int at)
{
	unsigned int k;

	assert_false(honest_seen(page, sizeof(page)));
	if (mine[i].written[nr][at])
		return;
	nr_zero++;
	for (k = 0; k < sizeof(page); k++)
		if (page[k])
			fail_msg("node %u: page %u of slab %u has %#x at %u and was not written",
				 i, at, nr, page[k], k);
}

static void act_own(unsigned int i)
{
	unsigned int nr = any_held(i), at = below(8) * 61;
	uint64_t slot = (uint64_t)nr * SLAB + at;

	if (nr == MOST)
		return;
	nr_own++;
	if (below(2)) {
		if (!cnode_do(node(i), 0, ODRP_WIRE_LOAD, slot, page))
			see_page(i, nr, at);
		return;
	}
	memset(page, 0x80 + i, sizeof(page));
	mine[i].written[nr][at] = true;
	cnode_do(node(i), 0, ODRP_WIRE_MAPPED_STORE, slot, page);
}

static bool is_of(const struct odrp_wire_slab *slab, unsigned int i)
{
	struct cnode_info info;
	const struct sess *s;
	uint32_t nr;

	cnode_info(node(i), &info);
	s = manager_find_wire(&bed.m, info.session);
	for (nr = 0; s && slabs_exist(&s->slabs) && nr < s->slabs.max; nr++)
		if (s->slabs.key[nr] == be32toh(slab->rkey))
			return true;
	return false;
}

/* By a key that it has no right to any more, or never had: that breaks the connection.  It may
 * still be one of its own. */
static void act_stale(unsigned int i)
{
	const struct mine *m = &mine[i];
	unsigned int known = m->nr_old < 4 ? m->nr_old : 4, at = below(8) * 61, nr;
	enum odrp_wire_chain chain = below(2) ? ODRP_WIRE_MAPPED_STORE : ODRP_WIRE_LOAD;
	const struct odrp_wire_slab *s;

	if (!known)
		return;
	s = &m->old[(m->nr_old - 1 - below(known)) % MAX_OLD];
	for (nr = 0; nr < MOST && chain == ODRP_WIRE_MAPPED_STORE; nr++)
		if (cnode_slab(node(i), nr)->rkey == s->rkey)
			mine[i].written[nr][at] = true;
	if (cnode_rdma_raw(node(i), 0, chain, chain == ODRP_WIRE_MAPPED_STORE,
			   be64toh(s->addr) + at * PAGE, be32toh(s->rkey), PAGE) ||
	    is_of(s, i))
		return;
	nr_stale++;
	bed_run_ns(&bed, MS);
	assert_true(cnode_broken(node(i), 0, chain));
}

/* Posts, and gives the slab back at the same time. */
static void act_give(unsigned int i)
{
	unsigned int nr = any_held(i), k;

	if (nr == MOST)
		return;
	nr_back++;
	for (k = 0; k < 4; k++) {
		mine[i].written[nr][k * 61] = true;
		cnode_rdma_raw(node(i), 0, ODRP_WIRE_MAPPED_STORE, true,
			       be64toh(cnode_slab(node(i), nr)->addr) + k * 61 * PAGE,
			       be32toh(cnode_slab(node(i), nr)->rkey), PAGE);
	}
	know_key(i, cnode_slab(node(i), nr));
	cnode_leave_slab(node(i), nr);
	cnode_beat(node(i), bed.nodes[i].want);
}

static void act_take(unsigned int i)
{
	if (!cnode_admin_broken(node(i)) && !cnode_take_slabs(node(i)))
		take_stock(i);
}

static void act_end(unsigned int i)
{
	if (below(2))
		bed_die(&bed, i);
	else
		bed_leave(&bed, i);
}

static void act_resume(unsigned int i)
{
	struct cnode_refusal no;

	cnode_lose(node(i), below(2));
	if (cnode_resume(node(i), &no))
		bed_die(&bed, i);
	else
		take_stock(i);
}

/* Takes in what the NIC has to say, and looks at what READs have brought. */
static void reap(unsigned int i)
{
	struct cnode_done none;
	unsigned int k;

	while (!cnode_poll(node(i), &none))
		;
	for (k = 0; k < node(i)->nr_conns; k++)
		if (node(i)->conns[k].bufs)
			assert_false(honest_seen(node(i)->conns[k].bufs, REQ_ROOM + PAGE));
	/* The bytes that it will WRITE. */
	for (k = 0; k < node(i)->nr_conns; k++)
		if (node(i)->conns[k].bufs)
			memset(node(i)->conns[k].bufs, 0x90 + i, PAGE);
}

static void act(unsigned int i)
{
	nr_acts++;
	if (!node(i)) {
		connect_hostile(i);
		return;
	}
	if (cnode_broken(node(i), 0, ODRP_WIRE_LOAD) ||
	    cnode_broken(node(i), 0, ODRP_WIRE_MAPPED_STORE) || cnode_admin_broken(node(i))) {
		act_resume(i);
		return;
	}
	bed.nodes[i].want = (1 + below(MOST)) * SLAB;
	bed.nodes[i].cfg.wrong_hash = !below(8);
	node(i)->cfg.wrong_hash = !below(8);
	switch (below(12)) {
	case 0: case 1: case 2: case 3:
		act_own(i);
		break;
	case 4: case 5:
		act_stale(i);
		break;
	case 6: case 7:
		act_give(i);
		break;
	case 8: case 9:
		act_take(i);
		break;
	case 10:
		know_key(i, cnode_slab(node(0), below(HONEST_SLABS)));
		act_resume(i);
		break;
	default:
		act_end(i);
	}
}

static void time_passes(void)
{
	unsigned int i;

	bed_run_ns(&bed, 1000 * below(200));
	if (!below(3))
		for (i = below(400); i; i -= i < 20 ? i : 20)
			bed_pump(&bed);
	for (i = 1; i < NODES; i++)
		if (node(i))
			reap(i);
}

static void all_are_back(void)
{
	struct check_result res;
	unsigned int i;

	for (i = 0; i < NODES; i++)
		if (node(i))
			bed_leave(&bed, i);
	bed_pass(&bed, 6000);
	bed_settle(&bed);
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
}

static void life(uint64_t seed)
{
	struct bed_options o;
	struct check_result res;
	unsigned int k;

	rnd = seed * 2 + 1;
	memset(mine, 0, sizeof(mine));
	bed_options(&o);
	o.seed = seed;
	o.conf.translate = CONF_TRANSLATE_DIRECT;
	o.conf.pool = POOL << ODRP_WIRE_LOG_SLAB;
	o.conf.store_pages = 0;
	bed_open(&bed, &o, NODES);
	honest_store();
	for (k = 0; k < PER_LIFE; k++) {
		act(1 + below(NODES - 1));
		time_passes();
		if (k % 20 == 0)
			honest_look();
	}
	honest_look();
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	all_are_back();
	bed_close(&bed);
}

static int nr_args;
static char **args;

static void run(void **state)
{
	unsigned long most = nr_args > 1 ? strtoul(args[1], NULL, 0) : DEFAULT_ACTS;
	uint64_t seed = nr_args > 2 ? strtoull(args[2], NULL, 0) : 1;

	if (nightly())
		most *= 50;
	for (; nr_acts < most; seed++) {
		if (nr_args > 2)
			printf("seed %lu\n", (unsigned long)seed);
		life(seed);
	}
	printf("%lu acts, %lu of them on slabs of their own, %lu pages seen before they were "
	       "written, %lu by other keys, %lu slabs taken, %lu given back\n", nr_acts, nr_own,
	       nr_zero, nr_stale, nr_taken, nr_back);
	assert_true(nr_zero && nr_stale && nr_back && nr_taken > NODES);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };

	nr_args = argc;
	args = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
