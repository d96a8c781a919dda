/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Epochs that are far from each other, for tests of what clients remember. */
#ifndef TEST_FAR_ORDERED_AGE_H
#define TEST_FAR_ORDERED_AGE_H

#include "../hash/rig.h"

#define AGE_DAY	UINT64_C(86400000)	/* epochs */

/* How far E goes on: about where 31, 32 and 40 bits come round, too. */
static const uint64_t age_passes[] = {
	0, AGE_DAY, (UINT64_C(1) << 31) - 3, (UINT64_C(1) << 31) + 3, UINT64_C(2200000000),
	(UINT64_C(1) << 32) - 2000, (UINT64_C(1) << 32) + 7, UINT64_C(3) << 31,
	(UINT64_C(1) << 40) - 7700,
};
#define AGE_PASSES	(sizeof(age_passes) / sizeof(age_passes[0]))

/* E goes on by so much, as if that time had passed; all clients learn of it. For sim. */
static inline void age_pass(struct rig *rig, uint64_t by)
{
	struct far_epoch_line *line = (void *)((char *)rig->map[0].addr + FAR_SB_EPOCH);
	uint64_t until = line->epoch + by;
	struct far_task *task;
	unsigned i;

	line->epoch += by;
	line->safe += by;
	line->flushed += by;
	for (i = 0; i < rig->conf.clients; i++) {
		task = rig_enter(rig, i);
		while (far_epoch_known(task) < until + 4)
			far_sleep(task, 100000);
		far_leave(task);
	}
}

#endif
