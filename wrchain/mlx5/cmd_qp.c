// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CREATE_QP, the steps from RESET to RTS, and out of it again.
 *
 * The opcodes, the QPN and the optional parameters of all modifications lie at
 * the same places.
 */
#include "cmd.h"

#define CREATE_IN_LEN	272
#define MODIFY_IN_LEN	272
#define SHORT_LEN	16	/* 2ERR, 2RST, QUERY, and most answers */
#define QUERY_OUT_LEN	272

#define ST_RC		0
#define PM_MIGRATED	3
#define RQ_REGULAR	0
#define RQ_NONE		3
#define LOG_STRIDE_UNIT	4	/* log_rq_stride 0: 16 bytes */
#define ATOMIC_UP_TO_8	3	/* atomic_mode: extended atomics of 8 bytes */

/* opt_param_mask */
#define OPT_RRE		(1 << 1)
#define OPT_RAE		(1 << 2)
#define OPT_RWE		(1 << 3)

static void qp_put(struct wrc_mlx5_cmd *cmd, enum wrc_mlx5_fld fld, __u64 value)
{
	wrc_mlx5_put(cmd, WRC_MLX5_QPC_OFF, fld, value);
}

static void put_path(struct wrc_mlx5_cmd *cmd, enum wrc_mlx5_fld fld,
		     __u64 value)
{
	wrc_mlx5_put(cmd, WRC_MLX5_QPC_OFF + WRC_MLX5_ADS_OFF, fld, value);
}

static __u8 log2_of(__u32 n)
{
	__u8 log = 0;

	while (n >>= 1)
		log++;
	return log;
}

/* ---- creation ------------------------------------------------------------- */

static void put_rq(struct wrc_mlx5_cmd *cmd,
		   const struct wrc_mlx5_qp_attr *attr)
{
	qp_put(cmd, WRC_F(qpc, rq_type), attr->has_rq ? RQ_REGULAR : RQ_NONE);
	if (!attr->has_rq)
		return;
	if (attr->log_rq_stride < LOG_STRIDE_UNIT) {
		cmd->err = -ERANGE;
		return;
	}
	qp_put(cmd, WRC_F(qpc, log_rq_size), attr->log_rq);
	qp_put(cmd, WRC_F(qpc, log_rq_stride),
	       attr->log_rq_stride - LOG_STRIDE_UNIT);
}

/*
 * cs_req and cs_res stay 0: small results go where the WQE says, never into
 * the CQE.  log_page_size stays 0, too: DPDK sets it on larger pages even with
 * umems, rdma-core never does.
 */
void wrc_mlx5_cmd_create_qp(const struct wrc_mlx5_qp_attr *attr,
			    struct wrc_mlx5_cmd *ret_cmd)
{
	struct wrc_mlx5_cmd *cmd = ret_cmd;

	wrc_mlx5_begin(cmd, WRC_MLX5_CREATE_QP, CREATE_IN_LEN, SHORT_LEN);
	wrc_mlx5_put(cmd, 0, WRC_F(create_qp_in, wq_umem_offset),
		     attr->wq_off);
	wrc_mlx5_put(cmd, 0, WRC_F(create_qp_in, wq_umem_id), attr->umem);
	wrc_mlx5_put(cmd, 0, WRC_F(create_qp_in, wq_umem_valid), 1);
	qp_put(cmd, WRC_F(qpc, st), ST_RC);
	qp_put(cmd, WRC_F(qpc, pm_state), PM_MIGRATED);
	qp_put(cmd, WRC_F(qpc, pd), attr->pdn);
	qp_put(cmd, WRC_F(qpc, uar_page), attr->uar_page);
	qp_put(cmd, WRC_F(qpc, user_index), attr->user_index);
	qp_put(cmd, WRC_F(qpc, cqn_snd), attr->scqn);
	qp_put(cmd, WRC_F(qpc, cqn_rcv), attr->rcqn);
	qp_put(cmd, WRC_F(qpc, log_sq_size), attr->log_sq);
	qp_put(cmd, WRC_F(qpc, ts_format), attr->ts_format);
	put_rq(cmd, attr);
	qp_put(cmd, WRC_F(qpc, cd_master), attr->cd_master);
	qp_put(cmd, WRC_F(qpc, cd_slave_send), attr->cd_slave_send);
	qp_put(cmd, WRC_F(qpc, cd_slave_receive), attr->cd_slave_receive);
	qp_put(cmd, WRC_F(qpc, dbr_umem_valid), 1);
	qp_put(cmd, WRC_F(qpc, dbr_umem_id), attr->umem);
	qp_put(cmd, WRC_F(qpc, dbr_addr), attr->dbr_off);
}

__u32 wrc_mlx5_parse_create_qp(const void *out)
{
	return wrc_mlx5_get(out, WRC_F(create_qp_out, qpn));
}

/* ---- modification ------------------------------------------------------------ */

static void begin_modify(struct wrc_mlx5_cmd *cmd, enum wrc_mlx5_opcode opcode,
			 __u32 qpn, __u32 opt)
{
	wrc_mlx5_begin(cmd, opcode, MODIFY_IN_LEN, SHORT_LEN);
	wrc_mlx5_put(cmd, 0, WRC_F(rst2init_qp_in, qpn), qpn);
	wrc_mlx5_put(cmd, 0, WRC_F(rst2init_qp_in, opt_param_mask), opt);
}

static void put_access(struct wrc_mlx5_cmd *cmd, __u8 access)
{
	qp_put(cmd, WRC_F(qpc, rre), !!(access & WRC_MLX5_REMOTE_READ));
	qp_put(cmd, WRC_F(qpc, rwe), !!(access & WRC_MLX5_REMOTE_WRITE));
	qp_put(cmd, WRC_F(qpc, rae), !!(access & WRC_MLX5_REMOTE_ATOMIC));
	if (access & WRC_MLX5_REMOTE_ATOMIC)
		qp_put(cmd, WRC_F(qpc, atomic_mode), ATOMIC_UP_TO_8);
}

void wrc_mlx5_cmd_init(__u32 qpn, const struct wrc_mlx5_conn *conn,
		       struct wrc_mlx5_cmd *ret_cmd)
{
	begin_modify(ret_cmd, WRC_MLX5_RST2INIT_QP, qpn, 0);
	qp_put(ret_cmd, WRC_F(qpc, pm_state), PM_MIGRATED);
	put_access(ret_cmd, conn->access);
	put_path(ret_cmd, WRC_F(ads, vhca_port_num), conn->path.port);
	put_path(ret_cmd, WRC_F(ads, pkey_index), conn->path.pkey_index);
}

static void put_gids(struct wrc_mlx5_cmd *cmd, const struct wrc_mlx5_path *p)
{
	put_path(cmd, WRC_F(ads, src_addr_index), p->sgid_index);
	put_path(cmd, WRC_F(ads, hop_limit), p->hop_limit);
	put_path(cmd, WRC_F(ads, tclass), p->traffic_class);
	put_path(cmd, WRC_F(ads, flow_label), p->flow_label);
	memcpy(cmd->in + WRC_MLX5_QPC_OFF + WRC_MLX5_ADS_OFF +
	       WRC_MLX5_ADS_RGID_OFF, p->dgid, sizeof(p->dgid));
}

static void put_ethernet(struct wrc_mlx5_cmd *cmd,
			 const struct wrc_mlx5_path *p)
{
	put_path(cmd, WRC_F(ads, rmac_47_32),
		 (__u32)p->mac[0] << 8 | p->mac[1]);
	put_path(cmd, WRC_F(ads, rmac_31_0),
		 (__u32)p->mac[2] << 24 | (__u32)p->mac[3] << 16 |
		 (__u32)p->mac[4] << 8 | p->mac[5]);
	if (p->udp_sport) {
		put_path(cmd, WRC_F(ads, udp_sport), p->udp_sport);
		put_path(cmd, WRC_F(ads, dscp), p->traffic_class >> 2);
	}
	put_path(cmd, WRC_F(ads, eth_prio), p->sl & 7);
	put_gids(cmd, p);
}

static void put_infiniband(struct wrc_mlx5_cmd *cmd,
			   const struct wrc_mlx5_path *p)
{
	put_path(cmd, WRC_F(ads, rlid), p->dlid);
	put_path(cmd, WRC_F(ads, mlid), p->src_path_bits);
	put_path(cmd, WRC_F(ads, sl), p->sl);
	put_path(cmd, WRC_F(ads, grh), p->grh);
	if (p->grh)
		put_gids(cmd, p);
}

/* stat_rate stays 0: as fast as the port. */
static void put_address(struct wrc_mlx5_cmd *cmd,
			const struct wrc_mlx5_path *p)
{
	put_path(cmd, WRC_F(ads, vhca_port_num), p->port);
	put_path(cmd, WRC_F(ads, pkey_index), p->pkey_index);
	if (p->loopback) {
		put_path(cmd, WRC_F(ads, fl), 1);
		return;
	}
	if (p->roce)
		put_ethernet(cmd, p);
	else
		put_infiniband(cmd, p);
}

void wrc_mlx5_cmd_rtr(__u32 qpn, const struct wrc_mlx5_conn *conn,
		      struct wrc_mlx5_cmd *ret_cmd)
{
	begin_modify(ret_cmd, WRC_MLX5_INIT2RTR_QP, qpn,
		     OPT_RRE | OPT_RAE | OPT_RWE);
	qp_put(ret_cmd, WRC_F(qpc, mtu), conn->mtu);
	qp_put(ret_cmd, WRC_F(qpc, log_msg_max), conn->log_msg_max);
	qp_put(ret_cmd, WRC_F(qpc, remote_qpn), conn->dest_qpn);
	qp_put(ret_cmd, WRC_F(qpc, next_rcv_psn), conn->rq_psn);
	qp_put(ret_cmd, WRC_F(qpc, log_rra_max),
	       log2_of(conn->max_dest_rd_atomic));
	qp_put(ret_cmd, WRC_F(qpc, min_rnr_nak), conn->min_rnr_timer);
	put_access(ret_cmd, conn->access);
	put_address(ret_cmd, &conn->path);
}

void wrc_mlx5_cmd_rts(__u32 qpn, const struct wrc_mlx5_conn *conn,
		      struct wrc_mlx5_cmd *ret_cmd)
{
	begin_modify(ret_cmd, WRC_MLX5_RTR2RTS_QP, qpn, 0);
	qp_put(ret_cmd, WRC_F(qpc, next_send_psn), conn->sq_psn);
	qp_put(ret_cmd, WRC_F(qpc, log_sra_max), log2_of(conn->max_rd_atomic));
	qp_put(ret_cmd, WRC_F(qpc, retry_count), conn->retry_cnt);
	qp_put(ret_cmd, WRC_F(qpc, rnr_retry), conn->rnr_retry);
	qp_put(ret_cmd, WRC_F(qpc, log_ack_req_freq), 0);
	put_path(ret_cmd, WRC_F(ads, ack_timeout), conn->timeout);
}

void wrc_mlx5_cmd_stop(__u32 qpn, enum wrc_mlx5_opcode opcode,
		       struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, opcode, SHORT_LEN, SHORT_LEN);
	wrc_mlx5_put(ret_cmd, 0, WRC_F(rst2init_qp_in, qpn), qpn);
}

void wrc_mlx5_cmd_query_qp(__u32 qpn, struct wrc_mlx5_cmd *ret_cmd)
{
	wrc_mlx5_begin(ret_cmd, WRC_MLX5_QUERY_QP, SHORT_LEN, QUERY_OUT_LEN);
	wrc_mlx5_put(ret_cmd, 0, WRC_F(query_qp_in, qpn), qpn);
}

void wrc_mlx5_parse_qp(const void *out, struct wrc_mlx5_qp_info *ret_info)
{
	const __u8 *qpc = (const __u8 *)out + WRC_MLX5_QPC_OFF;

#define GET(field) wrc_mlx5_get(qpc, WRC_F(qpc, field))
	ret_info->state = GET(state);
	ret_info->sq_executed = GET(hw_sq_wqebb_counter);
	ret_info->sq_posted = GET(sw_sq_wqebb_counter);
	ret_info->rq_consumed = GET(hw_rq_counter);
	ret_info->rq_posted = GET(sw_rq_counter);
	ret_info->cd_master = GET(cd_master);
	ret_info->cd_slave_send = GET(cd_slave_send);
	ret_info->cd_slave_receive = GET(cd_slave_receive);
#undef GET
}
