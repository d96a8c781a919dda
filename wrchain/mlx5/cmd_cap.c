// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* QUERY_HCA_CAP, QUERY_ROCE_ADDRESS, ALLOC_Q_COUNTER. */
#include "cmd.h"

#define CURRENT		1	/* op_mod bit 0: as they are, not as they could be */
#define QUERY_LEN	16
#define ROCE_OUT_LEN	48
#define MIN_UDP_SPORT	0xc000	/* where the IBA lets RoCE v2 begin */

void wrc_mlx5_cmd_query_cap(enum wrc_mlx5_cap_type type,
			    struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, WRC_MLX5_QUERY_HCA_CAP, QUERY_LEN,
		       WRC_MLX5_OUT_MAX);
	wrc_mlx5_put(ret_cmd, 0, WRC_F(query_hca_cap_in, op_mod),
		     type << 1 | CURRENT);
}

static void parse_general(const __u8 *cap, struct wrc_mlx5_caps *c)
{
#define GET(field) wrc_mlx5_get(cap, WRC_F(cmd_hca_cap, field))
	c->rc = GET(rc);
	c->cd = GET(cd);
	c->cq_oi = GET(cq_oi);
	c->wqe_index_ignore = GET(wqe_index_ignore_cap);
	c->atomic = GET(atomic);
	c->roce = GET(roce);
	c->log_max_qp_sz = GET(log_max_qp_sz);
	c->log_max_qp = GET(log_max_qp);
	c->log_max_cq_sz = GET(log_max_cq_sz);
	c->log_max_cq = GET(log_max_cq);
	c->log_max_ra_req = GET(log_max_ra_req_qp);
	c->log_max_ra_res = GET(log_max_ra_res_qp);
	c->log_max_msg = GET(log_max_msg);
	c->num_ports = GET(num_ports);
	c->cqe_version = GET(cqe_version);
	c->max_wqe_sq = GET(max_wqe_sz_sq);
	c->max_wqe_rq = GET(max_wqe_sz_rq);
	c->max_qp_cnt = GET(max_qp_cnt);
	c->ksm = GET(fixed_buffer_size);
	c->umr_ksm = !GET(umr_indirect_mkey_disabled);
	c->log_max_mkey = GET(log_max_mkey);
	c->log_max_ksm = GET(log_max_klm_list_size);
	c->max_indirection = GET(max_indirection);
	c->umr_fence = GET(umr_fence);
	/* Without RoCE; parse_roce() overrules it. */
	c->ts_format = GET(sq_ts_format) ? 1 : 0;
	c->fl_disabled = GET(fl_rc_qp_when_roce_disabled);
#undef GET
}

static void parse_atomic(const __u8 *cap, struct wrc_mlx5_caps *c)
{
#define GET(field) wrc_mlx5_get(cap, WRC_F(atomic_caps, field))
	c->atomic_mode = GET(atomic_req_8B_endianness_mode);
	c->atomic_mode_1 = GET(supported_atomic_req_8B_endianness_mode_1);
	c->atomic_ops = GET(atomic_operations);
	c->atomic_sizes = GET(atomic_size_qp);
#undef GET
}

static void parse_roce_cap(const __u8 *cap, struct wrc_mlx5_caps *c)
{
#define GET(field) wrc_mlx5_get(cap, WRC_F(roce_cap, field))
	c->fl_disabled |= GET(fl_rc_qp_when_roce_disabled);
	c->fl_enabled = GET(fl_rc_qp_when_roce_enabled);
	/* 0: only free running, and that has to be said as 0. */
	c->ts_format = GET(qp_ts_format) ? 1 : 0;
	c->udp_sport = GET(r_roce_min_src_udp_port);
	if (!c->udp_sport)
		c->udp_sport = MIN_UDP_SPORT;
#undef GET
}

void wrc_mlx5_parse_cap(enum wrc_mlx5_cap_type type, const void *out,
			struct wrc_mlx5_caps *caps)
{
	const __u8 *cap = (const __u8 *)out + WRC_MLX5_CAP_OFF;

	switch (type) {
	case WRC_MLX5_CAP_GENERAL:
		parse_general(cap, caps);
		break;
	case WRC_MLX5_CAP_ATOMIC:
		parse_atomic(cap, caps);
		break;
	case WRC_MLX5_CAP_ROCE:
		parse_roce_cap(cap, caps);
		break;
	}
}

void wrc_mlx5_cmd_query_roce(__u8 port, __u16 index,
			     struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, WRC_MLX5_QUERY_ROCE_ADDRESS, QUERY_LEN,
		       ROCE_OUT_LEN);
	wrc_mlx5_put(ret_cmd, 0,
		     WRC_F(query_roce_address_in, roce_address_index), index);
	wrc_mlx5_put(ret_cmd, 0, WRC_F(query_roce_address_in, vhca_port_num),
		     port);
}

void wrc_mlx5_parse_roce(const void *out, struct wrc_mlx5_roce *ret_roce)
{
	const __u8 *a = (const __u8 *)out + WRC_MLX5_ROCE_OFF;

	memcpy(ret_roce->gid, a, sizeof(ret_roce->gid));
	memcpy(ret_roce->mac, a + (WRC_F(roce_addr_layout, source_mac_47_32) >>
				   8) / 8, sizeof(ret_roce->mac));
	ret_roce->version = wrc_mlx5_get(a, WRC_F(roce_addr_layout,
						  roce_version));
}

void wrc_mlx5_cmd_alloc_counter(struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, WRC_MLX5_ALLOC_Q_COUNTER, QUERY_LEN,
		       QUERY_LEN);
}

__u8 wrc_mlx5_parse_alloc_counter(const void *out)
{
	return wrc_mlx5_get(out, WRC_F(alloc_q_counter_out, counter_set_id));
}
