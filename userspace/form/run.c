// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Second tries.
 */
#include "run.h"

#include "../core/epoch.h"

#define TRIES	4u	/* connections that may break under one operation, and full spaces */

/* Waits for what others have begun, and tries again, as often as the try asks for that. */
static int run_waited(struct form_run *run, int err)
{
	while (err == -EINPROGRESS) {
		err = far_epoch_wait(run->task, run->mark);
		if (!err)
			err = run->once(run);
	}
	return err;
}

int form_run_again(struct form_run *run, int err)
{
	bool reclaimed = false;

	err = run_waited(run, err);
	for (unsigned i = 1; i < TRIES; i++) {
		if (err == -ENOSPC && !reclaimed) {
			/* Whatever it answers: others may have freed something meanwhile. */
			far_reclaim(run->task);
			reclaimed = true;
		} else if (err != -EIO || run->unsure) {
			break;
		}
		err = run_waited(run, run->once(run));
	}
	return err;
}
