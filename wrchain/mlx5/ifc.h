/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fields of firmware commands and contexts of mlx5 devices, as far as chains
 * need them, and how they are read and written.
 *
 * A field is a place in a mailbox: bit offset and width.  Offset 0 is the most
 * significant bit of byte 0; a field never crosses 32 bits, except those of 64.
 * Structures and fields have the names of the programmer's reference manual as
 * they show in Linux' include/linux/mlx5/mlx5_ifc.h, so that a test can compare
 * both (tests/unit/mlx5/test-ifc.c).  The second list is of fields that Linux
 * 6.1 does not name; their source is in the comment.
 */
#ifndef WRC_MLX5_IFC_H
#define WRC_MLX5_IFC_H

#include "../core/port.h"

/* X(structure, field, bit offset, bits) */
#define WRC_MLX5_FIELDS(X)						\
	X(query_hca_cap_in, opcode, 0x00, 16)				\
	X(query_hca_cap_in, op_mod, 0x30, 16)				\
	X(query_hca_cap_out, status, 0x00, 8)				\
	X(query_hca_cap_out, syndrome, 0x20, 32)			\
	X(cmd_hca_cap, log_max_qp_sz, 0x88, 8)				\
	X(cmd_hca_cap, log_max_qp, 0x9b, 5)				\
	X(cmd_hca_cap, log_max_cq_sz, 0xc8, 8)				\
	X(cmd_hca_cap, log_max_cq, 0xdb, 5)				\
	X(cmd_hca_cap, log_max_mkey, 0xea, 6)				\
	X(cmd_hca_cap, max_indirection, 0x100, 8)			\
	X(cmd_hca_cap, fixed_buffer_size, 0x108, 1)			\
	X(cmd_hca_cap, log_max_klm_list_size, 0x11a, 6)			\
	X(cmd_hca_cap, log_max_ra_req_qp, 0x14a, 6)			\
	X(cmd_hca_cap, log_max_ra_res_qp, 0x15a, 6)			\
	X(cmd_hca_cap, rts2rts_qp_counters_set_id, 0x169, 1)		\
	X(cmd_hca_cap, max_qp_cnt, 0x186, 10)				\
	X(cmd_hca_cap, port_type, 0x1b6, 2)				\
	X(cmd_hca_cap, num_ports, 0x1b8, 8)				\
	X(cmd_hca_cap, log_max_msg, 0x1c3, 5)				\
	X(cmd_hca_cap, cqe_version, 0x1fc, 4)				\
	X(cmd_hca_cap, umr_indirect_mkey_disabled, 0x209, 1)		\
	X(cmd_hca_cap, umr_fence, 0x20a, 2)				\
	X(cmd_hca_cap, roce, 0x21d, 1)					\
	X(cmd_hca_cap, atomic, 0x21e, 1)				\
	X(cmd_hca_cap, cq_oi, 0x220, 1)					\
	X(cmd_hca_cap, cd, 0x22c, 1)					\
	X(cmd_hca_cap, rc, 0x23f, 1)					\
	X(cmd_hca_cap, fl_rc_qp_when_roce_disabled, 0x248, 1)		\
	X(cmd_hca_cap, max_wqe_sz_sq, 0x290, 16)			\
	X(cmd_hca_cap, max_wqe_sz_rq, 0x2b0, 16)			\
	X(cmd_hca_cap, sq_ts_format, 0x440, 2)				\
	X(atomic_caps, atomic_req_8B_endianness_mode, 0x40, 2)		\
	X(atomic_caps, supported_atomic_req_8B_endianness_mode_1, 0x46, 1) \
	X(atomic_caps, atomic_operations, 0x90, 16)			\
	X(atomic_caps, atomic_size_qp, 0xb0, 16)			\
	X(roce_cap, fl_rc_qp_when_roce_disabled, 0x05, 1)		\
	X(roce_cap, fl_rc_qp_when_roce_enabled, 0x06, 1)		\
	X(roce_cap, qp_ts_format, 0x1e, 2)				\
	X(roce_cap, r_roce_min_src_udp_port, 0xd0, 16)			\
	X(query_roce_address_in, opcode, 0x00, 16)			\
	X(query_roce_address_in, roce_address_index, 0x40, 16)		\
	X(query_roce_address_in, vhca_port_num, 0x5c, 4)		\
	X(roce_addr_layout, source_mac_47_32, 0x90, 16)			\
	X(roce_addr_layout, source_mac_31_0, 0xa0, 32)			\
	X(roce_addr_layout, roce_version, 0xd8, 8)			\
	X(create_cq_in, opcode, 0x00, 16)				\
	X(create_cq_in, cq_umem_valid, 0x2e0, 1)			\
	X(create_cq_out, cqn, 0x48, 24)					\
	X(query_cq_in, opcode, 0x00, 16)				\
	X(query_cq_in, cqn, 0x48, 24)					\
	X(cqc, status, 0x00, 4)						\
	X(cqc, dbr_umem_valid, 0x06, 1)					\
	X(cqc, cqe_sz, 0x08, 3)						\
	X(cqc, cc, 0x0b, 1)						\
	X(cqc, oi, 0x0e, 1)						\
	X(cqc, log_cq_size, 0x63, 5)					\
	X(cqc, uar_page, 0x68, 24)					\
	X(cqc, c_eqn_or_apu_element, 0xa0, 32)				\
	X(cqc, log_page_size, 0xc3, 5)					\
	X(cqc, consumer_counter, 0x148, 24)				\
	X(cqc, producer_counter, 0x168, 24)				\
	X(cqc, dbr_addr, 0x1c0, 64)					\
	X(create_qp_in, opcode, 0x00, 16)				\
	X(create_qp_in, wq_umem_valid, 0x860, 1)			\
	X(create_qp_out, qpn, 0x48, 24)					\
	X(rst2init_qp_in, opcode, 0x00, 16)				\
	X(rst2init_qp_in, qpn, 0x48, 24)				\
	X(rst2init_qp_in, opt_param_mask, 0x80, 32)			\
	X(query_qp_in, opcode, 0x00, 16)				\
	X(query_qp_in, qpn, 0x48, 24)					\
	X(qpc, state, 0x00, 4)						\
	X(qpc, st, 0x08, 8)						\
	X(qpc, pm_state, 0x13, 2)					\
	X(qpc, pd, 0x28, 24)						\
	X(qpc, mtu, 0x40, 3)						\
	X(qpc, log_msg_max, 0x43, 5)					\
	X(qpc, log_rq_size, 0x49, 4)					\
	X(qpc, log_rq_stride, 0x4d, 3)					\
	X(qpc, no_sq, 0x50, 1)						\
	X(qpc, log_sq_size, 0x51, 4)					\
	X(qpc, ts_format, 0x58, 2)					\
	X(qpc, counter_set_id, 0x60, 8)					\
	X(qpc, uar_page, 0x68, 24)					\
	X(qpc, user_index, 0x88, 24)					\
	X(qpc, log_page_size, 0xa3, 5)					\
	X(qpc, remote_qpn, 0xa8, 24)					\
	X(qpc, log_ack_req_freq, 0x380, 4)				\
	X(qpc, log_sra_max, 0x388, 3)					\
	X(qpc, retry_count, 0x38d, 3)					\
	X(qpc, rnr_retry, 0x390, 3)					\
	X(qpc, next_send_psn, 0x3c8, 24)				\
	X(qpc, cqn_snd, 0x3e8, 24)					\
	X(qpc, log_rra_max, 0x488, 3)					\
	X(qpc, atomic_mode, 0x48c, 4)					\
	X(qpc, rre, 0x490, 1)						\
	X(qpc, rwe, 0x491, 1)						\
	X(qpc, rae, 0x492, 1)						\
	X(qpc, cd_slave_receive, 0x49d, 1)				\
	X(qpc, cd_slave_send, 0x49e, 1)					\
	X(qpc, cd_master, 0x49f, 1)					\
	X(qpc, min_rnr_nak, 0x4a3, 5)					\
	X(qpc, next_rcv_psn, 0x4a8, 24)					\
	X(qpc, cqn_rcv, 0x4e8, 24)					\
	X(qpc, dbr_addr, 0x500, 64)					\
	X(qpc, rq_type, 0x565, 3)					\
	X(qpc, hw_sq_wqebb_counter, 0x5a0, 16)				\
	X(qpc, sw_sq_wqebb_counter, 0x5b0, 16)				\
	X(qpc, hw_rq_counter, 0x5c0, 32)				\
	X(qpc, sw_rq_counter, 0x5e0, 32)				\
	X(qpc, cs_req, 0x630, 8)					\
	X(qpc, cs_res, 0x638, 8)					\
	X(qpc, dbr_umem_valid, 0x683, 1)				\
	X(create_mkey_in, opcode, 0x00, 16)				\
	X(create_mkey_in, mkey_umem_valid, 0x61, 1)			\
	X(create_mkey_out, mkey_index, 0x48, 24)			\
	X(mkc, free, 0x01, 1)						\
	X(mkc, umr_en, 0x10, 1)						\
	X(mkc, rw, 0x12, 1)						\
	X(mkc, rr, 0x13, 1)						\
	X(mkc, lw, 0x14, 1)						\
	X(mkc, lr, 0x15, 1)						\
	X(mkc, access_mode_1_0, 0x16, 2)				\
	X(mkc, qpn, 0x20, 24)						\
	X(mkc, mkey_7_0, 0x38, 8)					\
	X(mkc, pd, 0x68, 24)						\
	X(mkc, start_addr, 0x80, 64)					\
	X(mkc, len, 0xc0, 64)						\
	X(mkc, translations_octword_size, 0x1a0, 32)			\
	X(mkc, log_page_size, 0x1db, 5)					\
	X(alloc_q_counter_out, counter_set_id, 0x58, 8)			\
	X(ads, fl, 0x00, 1)						\
	X(ads, pkey_index, 0x10, 16)					\
	X(ads, grh, 0x28, 1)						\
	X(ads, mlid, 0x29, 7)						\
	X(ads, rlid, 0x30, 16)						\
	X(ads, ack_timeout, 0x40, 5)					\
	X(ads, src_addr_index, 0x48, 8)					\
	X(ads, hop_limit, 0x58, 8)					\
	X(ads, tclass, 0x64, 8)						\
	X(ads, flow_label, 0x6c, 20)					\
	X(ads, dscp, 0x10a, 6)						\
	X(ads, udp_sport, 0x110, 16)					\
	X(ads, eth_prio, 0x121, 3)					\
	X(ads, sl, 0x124, 4)						\
	X(ads, vhca_port_num, 0x128, 8)					\
	X(ads, rmac_47_32, 0x130, 16)					\
	X(ads, rmac_31_0, 0x140, 32)

#define WRC_MLX5_MORE_FIELDS(X)						\
	/* DPDK mlx5_prm.h: requires it of its clock and rearm queues */ \
	X(cmd_hca_cap, wqe_index_ignore_cap, 0x99, 1)			\
	/* DPDK mlx5_prm.h; Linux sets the valid bits of umems itself */ \
	X(create_cq_in, cq_umem_offset, 0x280, 64)			\
	X(create_cq_in, cq_umem_id, 0x2c0, 32)				\
	X(cqc, dbr_umem_id, 0x20, 32)					\
	/* Linux 6.12 and DPDK; the id also in rdma-core */		\
	X(create_qp_in, wq_umem_offset, 0x800, 64)			\
	X(create_qp_in, wq_umem_id, 0x840, 32)				\
	/* DPDK and UCX */						\
	X(create_mkey_in, mkey_umem_id, 0x320, 32)			\
	/* rdma-core and DPDK */					\
	X(qpc, dbr_umem_id, 0x720, 32)

/* A field is one number, so that it can be passed: offset << 8 | bits. */
enum wrc_mlx5_fld {
#define WRC_MLX5_FLD(s, f, off, bits) WRC_F_##s##_##f = (off) << 8 | (bits),
	WRC_MLX5_FIELDS(WRC_MLX5_FLD)
	WRC_MLX5_MORE_FIELDS(WRC_MLX5_FLD)
#undef WRC_MLX5_FLD
};

#define WRC_F(s, f) WRC_F_##s##_##f

/* Byte offsets of what lies in something else. */
#define WRC_MLX5_CAP_OFF	0x10	/* capability in query_hca_cap_out */
#define WRC_MLX5_CQC_OFF	0x10	/* cqc in create_cq_in, query_cq_out */
#define WRC_MLX5_QPC_OFF	0x18	/* qpc in create, modify, query_qp_out */
#define WRC_MLX5_ADS_OFF	0x18	/* primary address path in qpc */
#define WRC_MLX5_ADS_RGID_OFF	0x10	/* remote GID in it, 16 bytes */
#define WRC_MLX5_MKC_OFF	0x10	/* mkc in create_mkey_in */
#define WRC_MLX5_ROCE_OFF	0x10	/* address in query_roce_address_out */

/* What comes back from each command begins with these. */
#define WRC_MLX5_OUT_STATUS	0	/* byte */
#define WRC_MLX5_OUT_SYNDROME	4	/* be32 */

enum wrc_mlx5_opcode {
	WRC_MLX5_QUERY_HCA_CAP		= 0x100,
	WRC_MLX5_CREATE_MKEY		= 0x200,
	WRC_MLX5_CREATE_CQ		= 0x400,
	WRC_MLX5_QUERY_CQ		= 0x402,
	WRC_MLX5_CREATE_QP		= 0x500,
	WRC_MLX5_RST2INIT_QP		= 0x502,
	WRC_MLX5_INIT2RTR_QP		= 0x503,
	WRC_MLX5_RTR2RTS_QP		= 0x504,
	WRC_MLX5_2ERR_QP		= 0x507,
	WRC_MLX5_2RST_QP		= 0x50a,
	WRC_MLX5_QUERY_QP		= 0x50b,
	WRC_MLX5_QUERY_ROCE_ADDRESS	= 0x760,
	WRC_MLX5_ALLOC_Q_COUNTER	= 0x771,
};

/* qpc.state */
enum wrc_mlx5_qp_state {
	WRC_MLX5_QP_RST		= 0,
	WRC_MLX5_QP_INIT	= 1,
	WRC_MLX5_QP_RTR		= 2,
	WRC_MLX5_QP_RTS		= 3,
	WRC_MLX5_QP_SQER	= 4,
	WRC_MLX5_QP_SQD		= 5,
	WRC_MLX5_QP_ERR		= 6,
};

/* The value must fit: 0, or -ERANGE and nothing is written. */
int wrc_mlx5_set(void *base, enum wrc_mlx5_fld fld, __u64 value);
__u64 wrc_mlx5_get(const void *base, enum wrc_mlx5_fld fld);

#endif /* WRC_MLX5_IFC_H */
