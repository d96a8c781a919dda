/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables filled at once: see form/image.h. */
#ifndef FAR_HASH_IMAGE_H
#define FAR_HASH_IMAGE_H

#include "../form/image.h"

/*
 * Fills a table that was made for so many keys and is empty, a struct far_hash. -EINVAL:
 * keys of 1 to 64 bytes, and values to FORM_IMAGE_MAX_VALUE.
 */
int far_hash_image(struct far_task *task, void *hash, const struct form_image *image);

#endif
