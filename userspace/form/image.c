/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of keys in epochs; see image.h. */
#include "image.h"

#include "../core/epoch.h"

#define BATCH	4096u	/* keys per epoch */

int form_image_fill(struct far_task *task, const struct form_image *image,
		    int (*one)(void *arg, uint64_t i), void *arg)
{
	uint64_t i = 0, end;
	int err = 0;

	while (i < image->nr_keys && !err) {
		err = far_epoch_enter(task);
		if (err)
			return err;
		end = image->nr_keys - i < BATCH ? image->nr_keys : i + BATCH;
		for (; i < end && !err; i++)
			err = one(arg, i);
		far_epoch_exit(task);
	}
	return err;
}
