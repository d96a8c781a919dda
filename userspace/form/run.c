// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Second tries.
 */
#include "run.h"

#include "../core/epoch.h"

#define TRIES	4u	/* connections that may break under one operation, and full spaces */

int form_run_again(struct form_run *run, int err)
{
	bool reclaimed = false;

	for (unsigned i = 1; i < TRIES; i++) {
		if (err == -ENOSPC && !reclaimed) {
			/* Whatever it answers: others may have freed something meanwhile. */
			far_reclaim(run->task);
			reclaimed = true;
		} else if (err != -EIO || run->unsure) {
			break;
		}
		err = run->once(run);
	}
	return err;
}
