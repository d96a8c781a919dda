/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts blocks that structures lose track of. */
#include "lost.h"

struct far_task;

unsigned lost_blocks;

void __real_far_alloc_lost(struct far_task *task);
void __wrap_far_alloc_lost(struct far_task *task);
void __wrap_far_alloc_lost(struct far_task *task)
{
	lost_blocks++;
	__real_far_alloc_lost(task);
}
