/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between the files of the mlx5 back end: commands with what they came to
 * noted.  ret_out has room for the command's out_len.
 */
#ifndef WRC_MLX5_PRIV_H
#define WRC_MLX5_PRIV_H

#include "dev.h"

int wrc_mlx5_command(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		     __u8 *ret_out);
int wrc_mlx5_create(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		    __u8 *ret_out, void **ret_obj);
int wrc_mlx5_modify(struct wrc_mlx5 *dev, void *obj,
		    const struct wrc_mlx5_cmd *cmd);
int wrc_mlx5_query(struct wrc_mlx5 *dev, void *obj,
		   const struct wrc_mlx5_cmd *cmd, __u8 *ret_out);

#endif /* WRC_MLX5_PRIV_H */
