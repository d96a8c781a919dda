// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that keys of several domains open; see dev.h.
 *
 * A memory region of verbs pins its memory and writes a translation of its own, which
 * takes long for much memory.  A umem does that once, and CREATE_MKEY makes keys that
 * refer to it, as DPDK, UCX and libdpcp do.
 */
#include "cmd-priv.h"

int wrc_mlx5_share_init(struct wrc_mlx5 *dev, void *va, __u64 len, __u64 iova,
			struct wrc_mlx5_share *ret_share)
{
	struct wrc_mlx5_share s = { .dev = dev, .len = len, .iova = iova };
	int err = dev->devx->umem_reg(dev->ctx, va, len, &s.id, &s.umem);

	if (!err)
		*ret_share = s;
	return err;
}

int wrc_mlx5_share_fini(struct wrc_mlx5_share *share)
{
	return share->dev->devx->umem_dereg(share->umem);
}

int wrc_mlx5_share_key(const struct wrc_mlx5_share *share, __u32 pdn, __u8 variant,
		       void **ret_obj, __u32 *ret_key)
{
	const struct wrc_mlx5_mtt_attr attr = {
		.pdn = pdn, .umem = share->id, .iova = share->iova, .len = share->len,
		.variant = variant,
	};
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_create_mtt(&attr, &cmd);
	err = wrc_mlx5_create(share->dev, &cmd, out, ret_obj);
	if (!err)
		*ret_key = wrc_mlx5_parse_create_mkey(out, variant);
	return err;
}
