/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages that say which they are.  After cmocka.h. */
#ifndef TEST_WRCHAIN_PAGES_H
#define TEST_WRCHAIN_PAGES_H

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

#endif /* TEST_WRCHAIN_PAGES_H */
