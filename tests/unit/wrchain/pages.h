/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rigs, pages that say which they are, and where each of them is.  After cmocka.h. */
#ifndef TEST_WRCHAIN_PAGES_H
#define TEST_WRCHAIN_PAGES_H

#include <string.h>
#include "tools/rig.h"

static inline void rig_open(struct wrc_rig *rig, const struct wrc_rig_config *cfg)
{
	char why[WRC_WHY_MAX];
	int err = wrc_rig_open(cfg, rig, why);

	if (err)
		fail_msg("%s %s: %s %s", wrc_variant_name(cfg->variant),
			 rig->prog.name, strerror(-err), why);
}

static inline void fill(uint8_t *page, uint32_t seed)
{
	for (unsigned int i = 0; i < 4096; i++)
		page[i] = seed + i * 7 + i / 256;
}

static inline void expect_page(const uint8_t *page, uint32_t seed)
{
	uint8_t want[4096];

	fill(want, seed);
	assert_memory_equal(page, want, 4096);
}

/* addr: 0, or that of a page. */
static inline void see_page(const struct wrc_rig *rig, unsigned int *seen,
			    uint64_t addr)
{
	uint64_t off = addr - WRC_POOL_IOVA;

	if (!addr)
		return;
	assert_true(off % 4096 == 0 && off / 4096 < rig->cfg.nr_pages);
	seen[off / 4096]++;
}

/* Those in the ring and in the table. */
static inline void see_pages(const struct wrc_rig *rig, unsigned int *seen)
{
	for (uint32_t i = 0; i < rig->cfg.nr_pages; i++)
		see_page(rig, seen, be64toh(rig->ring[i]));
	for (uint32_t i = 0; i < rig->cfg.nr_slots; i++)
		see_page(rig, seen, be64toh(rig->tt[i]));
}

static inline void expect_seen_once(const struct wrc_rig *rig,
				    const unsigned int *seen)
{
	for (uint32_t i = 0; i < rig->cfg.nr_pages; i++)
		if (seen[i] != 1)
			fail_msg("%s: page %u is in %u places", rig->prog.name,
				 i, seen[i]);
}

#endif /* TEST_WRCHAIN_PAGES_H */
