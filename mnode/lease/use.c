// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pages by time; see use.h. */
#include "use.h"

static void page_seconds_add(struct page_seconds *s, uint64_t pages, uint32_t ms)
{
	uint64_t more = pages * ms + s->rest;

	s->sum += more / 1000;
	s->rest = more % 1000;
}

void use_count(struct use *u, uint64_t used, uint64_t held, uint32_t ms)
{
	if (used > held)
		used = held;
	page_seconds_add(&u->used_s, used, ms);
	page_seconds_add(&u->held_s, held, ms);
	u->used = used;
	u->held = held;
	if (used < u->peak_used || (used == u->peak_used && held <= u->peak_held))
		return;
	u->peak_used = used;
	u->peak_held = held;
}
