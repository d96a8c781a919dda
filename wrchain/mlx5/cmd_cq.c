// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CREATE_CQ and QUERY_CQ. */
#include "cmd.h"

#define CREATE_IN_LEN	272
#define CREATE_OUT_LEN	16
#define QUERY_IN_LEN	16
#define QUERY_OUT_LEN	272

static void cq_put(struct wrc_mlx5_cmd *cmd, enum wrc_mlx5_fld fld, __u64 value)
{
	wrc_mlx5_put(cmd, WRC_MLX5_CQC_OFF, fld, value);
}

/* cqe_sz 0: 64 bytes.  cqe_comp_en stays 0: WAIT counts whole entries. */
void wrc_mlx5_cmd_create_cq(const struct wrc_mlx5_cq_attr *attr,
			    struct wrc_mlx5_cmd *ret_cmd)
{
	struct wrc_mlx5_cmd *cmd = ret_cmd;

	wrc_mlx5_begin(cmd, WRC_MLX5_CREATE_CQ, CREATE_IN_LEN, CREATE_OUT_LEN);
	wrc_mlx5_put(cmd, 0, WRC_F(create_cq_in, cq_umem_offset),
		     attr->buf_off);
	wrc_mlx5_put(cmd, 0, WRC_F(create_cq_in, cq_umem_id), attr->umem);
	wrc_mlx5_put(cmd, 0, WRC_F(create_cq_in, cq_umem_valid), 1);
	cq_put(cmd, WRC_F(cqc, oi), attr->overrun_ignore);
	cq_put(cmd, WRC_F(cqc, log_cq_size), attr->log_size);
	cq_put(cmd, WRC_F(cqc, uar_page), attr->uar_page);
	cq_put(cmd, WRC_F(cqc, c_eqn_or_apu_element), attr->eqn);
	cq_put(cmd, WRC_F(cqc, dbr_umem_valid), 1);
	cq_put(cmd, WRC_F(cqc, dbr_umem_id), attr->umem);
	cq_put(cmd, WRC_F(cqc, dbr_addr), attr->dbr_off);
}

__u32 wrc_mlx5_parse_create_cq(const void *out)
{
	return wrc_mlx5_get(out, WRC_F(create_cq_out, cqn));
}

void wrc_mlx5_cmd_query_cq(__u32 cqn, struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, WRC_MLX5_QUERY_CQ, QUERY_IN_LEN,
		       QUERY_OUT_LEN);
	wrc_mlx5_put(ret_cmd, 0, WRC_F(query_cq_in, cqn), cqn);
}

void wrc_mlx5_parse_cq(const void *out, struct wrc_mlx5_cq_info *ret_info)
{
	const __u8 *cqc = (const __u8 *)out + WRC_MLX5_CQC_OFF;

	ret_info->status = wrc_mlx5_get(cqc, WRC_F(cqc, status));
	ret_info->overrun_ignore = wrc_mlx5_get(cqc, WRC_F(cqc, oi));
	ret_info->producer = wrc_mlx5_get(cqc, WRC_F(cqc, producer_counter));
	ret_info->consumer = wrc_mlx5_get(cqc, WRC_F(cqc, consumer_counter));
}
