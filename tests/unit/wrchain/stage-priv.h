/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the stage share; see stage.h. */
#ifndef TEST_WRCHAIN_STAGE_PRIV_H
#define TEST_WRCHAIN_STAGE_PRIV_H

#include "stage.h"

#define PAGE ODRP_WIRE_PAGE_SIZE
#define NR_PAGES 32
#define NR_SLOTS 16		/* of a table */
#define NEIGHBOURS 4		/* pages that are CNode 1's */
#define LAPS_REQUESTS 14
#define CUT_REQUESTS 5
#define RING_BYTES (NR_PAGES * sizeof(uint64_t))

static inline uint64_t *stage_ring_slot(const struct stage *st, uint64_t i)
{
	return st->ring + i % NR_PAGES;
}

/* Requests of CNode 0 in a scene. */
uint32_t stage_requests(const struct stage *st, enum stage_scene scene);
/* The page that an instance receives into, big endian; 0: it has none. */
uint64_t stage_own_page(const struct stage *st, uint32_t instance);

#endif /* TEST_WRCHAIN_STAGE_PRIV_H */
