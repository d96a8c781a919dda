/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The variables of kernel.h, and its locks. */
#include "kernel.h"

void (*shim_wait_hook)(const bool *flag);
unsigned long jiffies = 1000;
unsigned int shim_log_lines;
unsigned int shim_module_refs;
struct page shim_zero_page;

void shim_lock(spinlock_t *l)
{
	shim_step();
	while (l->held) {
		if (!shim_wait_hook)
			abort();	/* nobody is there to give it up */
		shim_wait_hook(&l->free);
	}
	l->held = true;
	l->free = false;
}

void shim_unlock(spinlock_t *l)
{
	l->held = false;
	l->free = true;
	shim_step();
}
