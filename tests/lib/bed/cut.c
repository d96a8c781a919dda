// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests that are cut short; see cut.h. */
#include <endian.h>
#include <string.h>
#include "cut.h"

#define STEP_NS	100
#define SLOT	5

struct cut {
	struct bed *b;
	void (*interrupt)(struct cnode *c, unsigned int steps);
	unsigned int seen[2];		/* how often the slot was empty, and mapped */
};

static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void use_again(struct bed *b, struct cnode *c, bool content)
{
	uint64_t entries[8];

	assert_true(b->m.nr_sess > 0);
	assert_int_equal(cnode_read_table(c, 0, 8, entries), 0);
	assert_int_equal(entries[SLOT], be64toh(b->m.sess[0]->tt.entries[SLOT]));
	bed_settle(b);
	bed_check(b, entries[SLOT] != 0);
	if (content) {
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, SLOT, page), 0);
		assert_true(bed_is(page, 0, SLOT, 1));
	}
	bed_fill(page, 0, SLOT, 2);
	assert_int_equal(cnode_do(c, 0, entries[SLOT] ? ODRP_WIRE_MAPPED_STORE :
				  ODRP_WIRE_UNMAPPED_STORE, SLOT, page), 0);
	memset(page, 0, sizeof(page));
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, SLOT, page), 0);
	assert_true(bed_is(page, 0, SLOT, 2));
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, SLOT, NULL), 0);
	bed_settle(b);
	bed_check(b, 0);
}

/* After so many steps of the chain.  True: it had been answered. */
static bool cut_at(struct cut *cut, enum odrp_wire_chain chain, bool mapped,
		   unsigned int steps)
{
	struct bed *b = cut->b;
	struct bed_options o;
	struct cnode_done done;
	struct cnode_info info;
	struct cnode *c;
	bool answered;

	bed_options(&o);
	o.cost_ns = STEP_NS;
	o.conf.pool = 1 << 20;
	bed_open(b, &o, 1);
	bed_connect(b, 0, 64, 1, 7);
	c = b->nodes[0].cnode;
	bed_fill(page, 0, SLOT, 1);
	if (mapped)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, SLOT, page),
				 0);
	assert_int_equal(cnode_submit(c, 0, chain, SLOT, page, 0), 0);
	bed_run_ns(b, steps * STEP_NS);
	answered = !cnode_poll(c, &done);
	cut->interrupt(c, steps);
	bed_check_translations(b);
	cnode_info(c, &info);
	cut->seen[info.used]++;
	use_again(b, c, chain == ODRP_WIRE_LOAD);
	bed_close(b);
	return answered;
}

static void cut_everywhere(struct cut *cut, enum odrp_wire_chain chain, bool mapped)
{
	unsigned int steps = 0;

	cut->seen[0] = cut->seen[1] = 0;
	while (!cut_at(cut, chain, mapped, steps))
		assert_in_range(++steps, 0, 200);
	/* A READ or WRITE by key is there at once. */
	assert_true(steps > 5 ||
		    (bed_keyed && (chain == ODRP_WIRE_LOAD ||
				   chain == ODRP_WIRE_MAPPED_STORE)));
}

void cut_each_chain(struct bed *b, void (*interrupt)(struct cnode *c, unsigned int steps))
{
	struct cut cut = { .b = b, .interrupt = interrupt };

	cut_everywhere(&cut, ODRP_WIRE_UNMAPPED_STORE, false);
	assert_true(cut.seen[0] && cut.seen[1]);
	cut_everywhere(&cut, ODRP_WIRE_INVALIDATE, true);
	assert_true(cut.seen[0] && cut.seen[1]);
	cut_everywhere(&cut, ODRP_WIRE_MAPPED_STORE, true);
	assert_true(!cut.seen[0] && cut.seen[1]);
	cut_everywhere(&cut, ODRP_WIRE_LOAD, true);
	assert_true(!cut.seen[0] && cut.seen[1]);
}
