// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Epochs of programs: far_hold() and far_unhold(). */
#include <errno.h>

#include <far/memory.h>

#include "epoch.h"
#include "thread.h"

int far_hold(struct far_task *task)
{
	int err = far_task_usable(task);

	if (!err)
		err = far_epoch_enter(task);
	if (!err)
		task->holds++;
	return err;
}

int far_unhold(struct far_task *task)
{
	int err = far_task_usable(task);

	if (err)
		return err;
	if (!task->holds)
		return -EINVAL;
	task->holds--;
	far_epoch_exit(task);
	return 0;
}

void far_hold_end(struct far_task *task)
{
	for (; task->holds; task->holds--)
		far_epoch_exit(task);
}
