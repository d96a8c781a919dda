/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Firmware commands of mlx5 devices: from a struct to the bytes of the mailbox,
 * and from the bytes that come back to a struct.  Pure; nobody is asked.
 *
 * Not run on hardware.  Which fields are set when follows the recipe of
 * docs/mlx5.md; where that is uncertain, the comment here says so.
 */
#ifndef WRC_MLX5_CMD_H
#define WRC_MLX5_CMD_H

#include "ifc.h"

#define WRC_MLX5_IN_MAX		272
#define WRC_MLX5_OUT_MAX	(WRC_MLX5_CAP_OFF + 4096)

/**
 * struct wrc_mlx5_cmd - a mailbox
 * @in, @in_len:	what is sent
 * @out_len:		how much comes back
 * @err:	-ERANGE: a number was wider than its field
 */
struct wrc_mlx5_cmd {
	__u16 in_len, out_len;
	int err;
	__u8 in[WRC_MLX5_IN_MAX];
};

/* ---- capabilities --------------------------------------------------------- */

enum wrc_mlx5_cap_type {
	WRC_MLX5_CAP_GENERAL	= 0,
	WRC_MLX5_CAP_ATOMIC	= 3,
	WRC_MLX5_CAP_ROCE	= 4,
};

/* atomic_caps.atomic_operations */
#define WRC_MLX5_ATOMIC_CS		0x1
#define WRC_MLX5_ATOMIC_FA		0x2
#define WRC_MLX5_ATOMIC_MASKED_CS	0x4
#define WRC_MLX5_ATOMIC_MASKED_FA	0x8
/* atomic_caps.atomic_size_qp: bit n is 2^n bytes */
#define WRC_MLX5_ATOMIC_SIZE_8		0x8

/**
 * struct wrc_mlx5_caps - what a device says about itself
 * @rc:		has RC queue pairs
 * @cd:		cross-channel: WAIT, SEND_EN and managed queues
 * @cq_oi:	completion queues that ignore overrun
 * @wqe_index_ignore: does not need WQE indices.  Known of send queue objects;
 *		whether it covers queue pairs is not known
 * @atomic, @roce: has such capabilities
 * @log_max_*:	sizes: BBs or WQEs of a queue, CQEs, concurrent reads, message
 * @max_wqe_sq, @max_wqe_rq: bytes
 * @max_qp_cnt:	counter sets
 * @ts_format:	what ts_format of a queue pair has to be
 * @atomic_mode: endianness of 8-byte atomics; 1: the host's
 * @atomic_mode_1: could be 1
 * @atomic_ops, @atomic_sizes: masks, see above
 * @fl_disabled, @fl_enabled: can force loopback on an RC queue pair, without
 *		and with RoCE
 * @udp_sport:	lowest RoCE v2 source port
 * @ksm:	has indirect keys with entries of one size
 * @umr_ksm:	and UMRs can change them
 * @log_max_mkey, @log_max_ksm: keys, and entries of one
 * @max_indirection: how many indirect keys may lead to one another
 * @umr_fence:	what a work request that needs the UMR in front of it in its queue
 *		has to have: 0 strong ordering, 1 a small fence, 2 nothing
 */
struct wrc_mlx5_caps {
	bool rc, cd, cq_oi, wqe_index_ignore, atomic, roce;
	__u8 log_max_qp_sz, log_max_qp, log_max_cq_sz, log_max_cq;
	__u8 log_max_ra_req, log_max_ra_res, log_max_msg;
	__u8 num_ports, cqe_version;
	__u16 max_wqe_sq, max_wqe_rq, max_qp_cnt;
	__u8 ts_format;
	__u8 atomic_mode;
	bool atomic_mode_1;
	__u16 atomic_ops, atomic_sizes;
	bool fl_disabled, fl_enabled;
	__u16 udp_sport;
	bool ksm, umr_ksm;
	__u8 log_max_mkey, log_max_ksm, max_indirection, umr_fence;
};

void wrc_mlx5_cmd_query_cap(enum wrc_mlx5_cap_type type,
			    struct wrc_mlx5_cmd *ret_cmd);
/* Adds what the answer of one type says to caps; GENERAL is first. */
void wrc_mlx5_parse_cap(enum wrc_mlx5_cap_type type, const void *out,
			struct wrc_mlx5_caps *caps);

#define WRC_MLX5_ROCE_V2	2	/* v1 is 0, as the device numbers them */

/**
 * struct wrc_mlx5_roce - an entry of a port's RoCE address table
 * @version:	of packets with this address
 */
struct wrc_mlx5_roce {
	__u8 gid[16];
	__u8 mac[6];
	__u8 version;
};

void wrc_mlx5_cmd_query_roce(__u8 port, __u16 index,
			     struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_parse_roce(const void *out, struct wrc_mlx5_roce *ret_roce);

/* A set of counters for queue pairs. */
void wrc_mlx5_cmd_alloc_counter(struct wrc_mlx5_cmd *ret_cmd);
__u8 wrc_mlx5_parse_alloc_counter(const void *out);

/* ---- completion queues ------------------------------------------------------ */

/**
 * struct wrc_mlx5_cq_attr - a completion queue in its own memory
 * @log_size:	log2 of its entries, 64 bytes each
 * @umem, @buf_off, @dbr_off: registered memory, and where in it entries and
 *		doorbell record are.  @buf_off should be 0: Linux wants another
 *		kind of registration for others
 * @overrun_ignore: entries are overwritten, counts go on
 */
struct wrc_mlx5_cq_attr {
	__u8 log_size;
	__u32 uar_page, eqn;
	__u32 umem;
	__u64 buf_off, dbr_off;
	bool overrun_ignore;
};

/**
 * struct wrc_mlx5_cq_info - a completion queue's context
 * @status:	0: works; 9: has overrun, 10: error on write (as Linux has them)
 * @producer:	entries ever written, 24 bits.  Whether that is of this moment
 *		on a queue in use is not known
 */
struct wrc_mlx5_cq_info {
	__u8 status;
	bool overrun_ignore;
	__u32 producer, consumer;
};

void wrc_mlx5_cmd_create_cq(const struct wrc_mlx5_cq_attr *attr,
			    struct wrc_mlx5_cmd *ret_cmd);
__u32 wrc_mlx5_parse_create_cq(const void *out);
void wrc_mlx5_cmd_query_cq(__u32 cqn, struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_parse_cq(const void *out, struct wrc_mlx5_cq_info *ret_info);

/* What the peer of a queue pair may, or whoever has a key do. */
#define WRC_MLX5_REMOTE_READ	0x1
#define WRC_MLX5_REMOTE_WRITE	0x2
#define WRC_MLX5_REMOTE_ATOMIC	0x4

/* ---- indirect keys ---------------------------------------------------------------- */

/**
 * struct wrc_mlx5_ksm_attr - a key of pieces of 4 KB (KSM), its addresses from 0 on
 * @entries:	one for each piece
 * @access:	what peers may do: WRC_MLX5_REMOTE_READ, WRC_MLX5_REMOTE_WRITE
 * @variant:	the low byte of its number
 */
struct wrc_mlx5_ksm_attr {
	__u32 pdn, entries;
	__u8 access, variant;
};

/*
 * It comes free, and what is in its entries is not known: a list of them would have
 * to be in the mailbox, and Linux takes 64 KB of that.
 */
void wrc_mlx5_cmd_create_ksm(const struct wrc_mlx5_ksm_attr *attr,
			     struct wrc_mlx5_cmd *ret_cmd);
__u32 wrc_mlx5_parse_create_mkey(const void *out, __u8 variant);

/**
 * struct wrc_mlx5_mtt_attr - a key of a whole umem, for this side alone: peers may
 *	nothing
 * @umem:	the umem's number
 * @iova:	what its first byte's address is; the umem's pages have to begin where
 *		pages of these addresses do
 * @variant:	the low byte of its number
 */
struct wrc_mlx5_mtt_attr {
	__u32 pdn, umem;
	__u64 iova, len;
	__u8 variant;
};

void wrc_mlx5_cmd_create_mtt(const struct wrc_mlx5_mtt_attr *attr,
			     struct wrc_mlx5_cmd *ret_cmd);

/* ---- queue pairs --------------------------------------------------------------- */

/**
 * struct wrc_mlx5_qp_attr - an RC queue pair in its own memory
 * @log_sq:	log2 of its send queue in BBs
 * @log_rq, @log_rq_stride: log2 of receive entries and of an entry's bytes;
 *		if there is a receive queue, the send queue begins where it ends
 * @umem, @wq_off, @dbr_off: registered memory, where in it the queues begin
 *		(0: as with CQs), and the doorbell record
 * @ts_format:	of wrc_mlx5_caps
 */
struct wrc_mlx5_qp_attr {
	__u32 pdn, uar_page;
	__u32 scqn, rcqn;
	__u32 user_index;
	__u8 log_sq;
	bool has_rq;
	__u8 log_rq, log_rq_stride;
	__u32 umem;
	__u64 wq_off, dbr_off;
	__u8 ts_format;
	bool cd_master, cd_slave_send, cd_slave_receive;
};

/**
 * struct wrc_mlx5_path - where packets go
 * @loopback:	to this device itself; nothing else of the path is needed
 * @roce:	Ethernet: @mac, and the GIDs; else InfiniBand
 * @grh:	InfiniBand: with GIDs too
 * @src_path_bits: low bits of the source LID
 * @udp_sport:	RoCE v2 only; 0: v1
 */
struct wrc_mlx5_path {
	__u8 port;
	__u16 pkey_index;
	bool loopback, roce, grh;
	__u16 dlid;
	__u8 src_path_bits, sl;
	__u8 sgid_index, hop_limit, traffic_class;
	__u32 flow_label;
	__u8 dgid[16];
	__u8 mac[6];
	__u16 udp_sport;
};

/**
 * struct wrc_mlx5_conn - the three steps from RESET to RTS
 * @mtu:	enum ibv_mtu: 1 is 256, 5 is 4096
 * @access:	WRC_MLX5_REMOTE_*
 * @max_rd_atomic, @max_dest_rd_atomic: that we start, that the peer may start
 * @timeout:	4.096 us << timeout
 */
struct wrc_mlx5_conn {
	struct wrc_mlx5_path path;
	__u32 dest_qpn;
	__u8 mtu, log_msg_max;
	__u8 access;
	__u32 rq_psn, sq_psn;
	__u8 max_rd_atomic, max_dest_rd_atomic;
	__u8 min_rnr_timer, retry_cnt, rnr_retry, timeout;
};

/**
 * struct wrc_mlx5_qp_info - a queue pair's context
 * @sq_executed: BBs, 16 bits.  Whether a WQE that failed is among them, and
 *		whether the count is of this moment, is not known
 * @rq_consumed: receive entries
 */
struct wrc_mlx5_qp_info {
	__u8 state;			/* enum wrc_mlx5_qp_state */
	__u16 sq_executed, sq_posted;
	__u32 rq_consumed, rq_posted;
	bool cd_master, cd_slave_send, cd_slave_receive;
};

void wrc_mlx5_cmd_create_qp(const struct wrc_mlx5_qp_attr *attr,
			    struct wrc_mlx5_cmd *ret_cmd);
__u32 wrc_mlx5_parse_create_qp(const void *out);
void wrc_mlx5_cmd_init(__u32 qpn, const struct wrc_mlx5_conn *conn,
		       struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_cmd_rtr(__u32 qpn, const struct wrc_mlx5_conn *conn,
		      struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_cmd_rts(__u32 qpn, const struct wrc_mlx5_conn *conn,
		      struct wrc_mlx5_cmd *ret_cmd);
/* Opcode WRC_MLX5_2ERR_QP or WRC_MLX5_2RST_QP. */
void wrc_mlx5_cmd_stop(__u32 qpn, enum wrc_mlx5_opcode opcode,
		       struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_cmd_query_qp(__u32 qpn, struct wrc_mlx5_cmd *ret_cmd);
void wrc_mlx5_parse_qp(const void *out, struct wrc_mlx5_qp_info *ret_info);

/* ---- for the builders ------------------------------------------------------------ */

static inline void wrc_mlx5_begin(struct wrc_mlx5_cmd *cmd,
				  enum wrc_mlx5_opcode opcode, __u16 in_len,
				  __u16 out_len)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->in_len = in_len;
	cmd->out_len = out_len;
	/* The opcode is where it is in all of them. */
	cmd->err = wrc_mlx5_set(cmd->in, WRC_F(create_qp_in, opcode), opcode);
}

static inline void wrc_mlx5_put(struct wrc_mlx5_cmd *cmd, unsigned int base,
				enum wrc_mlx5_fld fld, __u64 value)
{
	int err = wrc_mlx5_set(cmd->in + base, fld, value);

	if (err)
		cmd->err = err;
}

#endif /* WRC_MLX5_CMD_H */
