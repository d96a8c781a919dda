/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of the mlx5 back end: commands with what they came to
 * noted.  ret_out has room for the command's out_len.
 */
#ifndef WRC_MLX5_PRIV_H
#define WRC_MLX5_PRIV_H

#include "dev.h"

int wrc_mlx5_create(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		    __u8 *ret_out, void **ret_obj);
int wrc_mlx5_modify(struct wrc_mlx5 *dev, void *obj,
		    const struct wrc_mlx5_cmd *cmd);
/* The question's command is built already. */
void wrc_mlx5_question_init(const struct wrc_mlx5 *dev, void *obj,
			    struct wrc_mlx5_question *q);
/* Notes what the question came to, in the device's thread. */
int wrc_mlx5_question_end(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q);

#endif /* WRC_MLX5_PRIV_H */
