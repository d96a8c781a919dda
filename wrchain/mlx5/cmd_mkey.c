// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CREATE_MKEY: indirect keys that UMRs fill, and keys of memory that is a umem. */
#include "cmd.h"

#define CREATE_IN_LEN	272
#define CREATE_OUT_LEN	16

#define ACCESS_MTT	1
#define ACCESS_KSM	3
#define ANY_QP		0xffffff
#define LOG_PIECE	12	/* what log_page_size means here */

static void mkey_put(struct wrc_mlx5_cmd *cmd, enum wrc_mlx5_fld fld, __u64 value)
{
	wrc_mlx5_put(cmd, WRC_MLX5_MKC_OFF, fld, value);
}

/*
 * As Linux' mlx5 driver makes those of its receive queues' headers.  Relaxed
 * ordering stays off, and there are no atomics.  Remote writing needs local
 * writing, as everywhere.
 */
void wrc_mlx5_cmd_create_ksm(const struct wrc_mlx5_ksm_attr *attr,
			     struct wrc_mlx5_cmd *ret_cmd)
{
	bool writes = attr->access & WRC_MLX5_REMOTE_WRITE;
	struct wrc_mlx5_cmd *cmd = ret_cmd;

	wrc_mlx5_begin(cmd, WRC_MLX5_CREATE_MKEY, CREATE_IN_LEN,
		       CREATE_OUT_LEN);
	mkey_put(cmd, WRC_F(mkc, free), 1);
	mkey_put(cmd, WRC_F(mkc, umr_en), 1);
	mkey_put(cmd, WRC_F(mkc, access_mode_1_0), ACCESS_KSM);
	mkey_put(cmd, WRC_F(mkc, lr), 1);
	mkey_put(cmd, WRC_F(mkc, lw), writes);
	mkey_put(cmd, WRC_F(mkc, rr), !!(attr->access & WRC_MLX5_REMOTE_READ));
	mkey_put(cmd, WRC_F(mkc, rw), writes);
	mkey_put(cmd, WRC_F(mkc, qpn), ANY_QP);
	mkey_put(cmd, WRC_F(mkc, mkey_7_0), attr->variant);
	mkey_put(cmd, WRC_F(mkc, pd), attr->pdn);
	mkey_put(cmd, WRC_F(mkc, len), (__u64)attr->entries << LOG_PIECE);
	mkey_put(cmd, WRC_F(mkc, translations_octword_size), attr->entries);
	mkey_put(cmd, WRC_F(mkc, log_page_size), LOG_PIECE);
}

/*
 * The device goes by the umem's translation, whose pages have the size that Linux has
 * found for it.  No relaxed ordering here either.
 */
void wrc_mlx5_cmd_create_mtt(const struct wrc_mlx5_mtt_attr *attr,
			     struct wrc_mlx5_cmd *ret_cmd)
{
	struct wrc_mlx5_cmd *cmd = ret_cmd;

	wrc_mlx5_begin(cmd, WRC_MLX5_CREATE_MKEY, CREATE_IN_LEN,
		       CREATE_OUT_LEN);
	wrc_mlx5_put(cmd, 0, WRC_F(create_mkey_in, mkey_umem_valid), 1);
	wrc_mlx5_put(cmd, 0, WRC_F(create_mkey_in, mkey_umem_id), attr->umem);
	mkey_put(cmd, WRC_F(mkc, access_mode_1_0), ACCESS_MTT);
	mkey_put(cmd, WRC_F(mkc, lr), 1);
	mkey_put(cmd, WRC_F(mkc, lw), 1);
	mkey_put(cmd, WRC_F(mkc, qpn), ANY_QP);
	mkey_put(cmd, WRC_F(mkc, mkey_7_0), attr->variant);
	mkey_put(cmd, WRC_F(mkc, pd), attr->pdn);
	mkey_put(cmd, WRC_F(mkc, start_addr), attr->iova);
	mkey_put(cmd, WRC_F(mkc, len), attr->len);
}

__u32 wrc_mlx5_parse_create_mkey(const void *out, __u8 variant)
{
	return wrc_mlx5_get(out, WRC_F(create_mkey_out, mkey_index)) << 8 |
	       variant;
}
