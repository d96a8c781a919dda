// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An agent that is killed before one of its writes; see killed.h. */
#include "killed.h"

static const struct bed *killed;	/* NULL: none is to be killed */
static unsigned int nr_writes, kill_at;
static int killed_fd[KEEP_FILES];

void killed_begin(const struct bed *b, unsigned int n)
{
	killed = b;
	nr_writes = 0;
	kill_at = n;
}

void killed_write(void)
{
	if (killed && ++nr_writes == kill_at)
		bed_copy_kept(killed, killed_fd);
}

bool killed_end(struct bed *b)
{
	killed = NULL;
	if (nr_writes < kill_at)
		return false;
	bed_restart(b, killed_fd);
	bed_settle(b);
	return true;
}

void __real_keep_own(struct keep *k, uint64_t nr, uint16_t owner);
void __wrap_keep_own(struct keep *k, uint64_t nr, uint16_t owner);

void __wrap_keep_own(struct keep *k, uint64_t nr, uint16_t owner)
{
	killed_write();
	__real_keep_own(k, nr, owner);
}
