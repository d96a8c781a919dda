/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager's attributes of the three state changes of a queue pair, as they
 * are and as an mlx5 card needs them.
 */
#ifndef NIC_CM_ATTR_H
#define NIC_CM_ATTR_H

#include <infiniband/verbs.h>
#include <mlx5/cmd.h>

/* The attributes of a connection for the change to attr->qp_state, and their mask. */
int nic_cm_qp_attr(void *conn, struct ibv_qp_attr *attr, int *ret_mask);

/* Does not set access and the Ethernet address of the path: the caller does. */
static inline void mlx5_cm_convert(const struct ibv_qp_attr *init,
				   const struct ibv_qp_attr *rtr,
				   const struct ibv_qp_attr *rts,
				   struct wrc_mlx5_conn *ret_conn)
{
	const struct ibv_ah_attr *ah = &rtr->ah_attr;
	struct wrc_mlx5_conn c = {
		.path = {
			.port = init->port_num,
			.pkey_index = init->pkey_index,
			.grh = ah->is_global,
			.dlid = ah->dlid,
			.src_path_bits = ah->src_path_bits,
			.sl = ah->sl,
			.sgid_index = ah->grh.sgid_index,
			.hop_limit = ah->grh.hop_limit,
			.traffic_class = ah->grh.traffic_class,
			.flow_label = ah->grh.flow_label,
		},
		.dest_qpn = rtr->dest_qp_num,
		.mtu = rtr->path_mtu,
		.rq_psn = rtr->rq_psn,
		.max_dest_rd_atomic = rtr->max_dest_rd_atomic,
		.min_rnr_timer = rtr->min_rnr_timer,
		.sq_psn = rts->sq_psn,
		.max_rd_atomic = rts->max_rd_atomic,
		.retry_cnt = rts->retry_cnt,
		.rnr_retry = rts->rnr_retry,
		.timeout = rts->timeout,
	};

	memcpy(c.path.dgid, ah->grh.dgid.raw, sizeof(c.path.dgid));
	*ret_conn = c;
}

#endif /* NIC_CM_ATTR_H */
