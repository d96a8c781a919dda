/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What chains need of a device, against what it says it has; in words.
 */
#ifndef WRC_MLX5_CAPS_H
#define WRC_MLX5_CAPS_H

#include "cmd.h"

/*
 * The next sentence about something that the device lacks, and NULL after the
 * last one.  *pos is 0 at the first call.
 */
const char *wrc_mlx5_lacks(const struct wrc_mlx5_caps *caps,
			   unsigned int *pos);
/* The same of what translation in the NIC needs beyond that. */
const char *wrc_mlx5_lacks_keys(const struct wrc_mlx5_caps *caps,
				unsigned int *pos);

#endif /* WRC_MLX5_CAPS_H */
