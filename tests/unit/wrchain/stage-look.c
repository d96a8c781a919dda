// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two CNodes and a memory node, when a run is over; see stage.h. */
#include "stage-priv.h"

uint32_t stage_requests(const struct stage *st, enum stage_scene scene)
{
	switch (scene) {
	case STAGE_LAPS:
		return LAPS_REQUESTS;
	case STAGE_CUT:
		return CUT_REQUESTS;
	case STAGE_WRAP:
		return 0x10000 / st->c[0].geom.loop_bb + 2 * STAGE_DEPTH + 1;
	default:
		return 0;
	}
}

uint64_t stage_own_page(const struct stage *st, uint32_t instance)
{
	const struct stage_cnode *c = &st->c[0];
	uint64_t page = 0;

	if (wrc_has_register(&c->prog))
		memcpy(&page, c->arena + wrc_arena_off(&c->prog, &c->geom,
						       wrc_at(WRC_SP_RECV),
						       instance), sizeof(page));
	return page;
}

/* False: it is no page. */
static bool count_page(uint32_t *seen, uint64_t be)
{
	uint64_t page = (be64toh(be) - WRC_POOL_IOVA) / PAGE;

	if (be && page < NR_PAGES)
		seen[page]++;
	return !be || page < NR_PAGES;
}

/*
 * In the chain's hands: each instance's own; or that of the one that stopped.  With
 * recycle=node a store that copies has taken a page before it fails, when the end of
 * its connection has flushed the receive entry.
 */
static bool count_held(const struct stage *st, uint32_t *seen)
{
	const struct stage_cnode *c = &st->c[0];
	struct wrc_held held;
	bool well = true;

	if (!wrc_has_register(&c->prog)) {
		assert_int_equal(wrc_held_page(&c->prog, &c->geom, c->arena,
					       st->executed, &held), 0);
		return count_page(seen, htobe64(held.page));
	}
	for (int i = 0; i < STAGE_DEPTH; i++) {
		assert_int_equal(wrc_held_of(&c->prog, &c->geom, c->arena,
					     st->executed, i, &held), 0);
		well &= count_page(seen, htobe64(held.page));
	}
	return well;
}

bool stage_pages_are_well(const struct stage *st)
{
	uint32_t seen[NR_PAGES] = { 0 };
	bool well = count_held(st, seen);

	for (int i = 0; i < NR_PAGES; i++)
		well &= count_page(seen, *stage_ring_slot(st, i));
	for (int i = 0; i < NR_SLOTS; i++) {
		well &= count_page(seen, st->c[0].tt[i]);
		well &= count_page(seen, st->c[1].tt[i]);
	}
	for (int i = 0; i < NR_PAGES; i++)
		well &= seen[i] == 1;
	return well;
}

void stage_expect_well(const struct stage *st, enum stage_scene scene,
		       const struct stage_end *end)
{
	const struct stage_cnode *b = &st->c[1];
	size_t pool = st->pool - st->mem;

	assert_int_equal(end->answered, stage_requests(st, scene));
	/* A chain that is cut off is for the agent to put in order. */
	assert_true(st->in_order || scene == STAGE_CUT);
	assert_int_equal(b->answered, NEIGHBOURS + 1);
	assert_true(stage_pages_are_well(st));
	for (int i = 0; i < NEIGHBOURS; i++) {
		assert_memory_equal(st->pool + i * PAGE,
				    st->clean + pool + i * PAGE, PAGE);
		assert_memory_equal(b->in + i * PAGE, st->pool + i * PAGE,
				    PAGE);
	}
}
