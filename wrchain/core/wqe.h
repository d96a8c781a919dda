/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The encoded form of a chain: mlx5 work queue entries, completion queue
 * entries and doorbell records, as far as chains need them.  The encoder
 * (wrchain/mlx5) writes these bytes, a ConnectX or the software NIC
 * (wrchain/snic) executes them.
 *
 * All fields are big endian.  Facts and sources: the mlx5 programmer's
 * interface as it shows in rdma-core's mlx5dv.h, Linux' mlx5_ifc.h and DPDK's
 * mlx5_prm.h.
 */
#ifndef WRC_WQE_H
#define WRC_WQE_H

#include "port.h"

#define WRC_WQE_BB		64	/* basic block: unit of the send queue */
#define WRC_WQE_DS		16	/* unit of a WQE's length */
#define WRC_WQE_MAX_DS		63

/* Opcodes: ctrl byte 3. */
enum wrc_wqe_opcode {
	WRC_WQE_NOP		= 0x00,
	WRC_WQE_WRITE		= 0x08,
	WRC_WQE_WRITE_IMM	= 0x09,
	WRC_WQE_SEND		= 0x0a,
	WRC_WQE_SEND_IMM	= 0x0b,
	WRC_WQE_WAIT		= 0x0f,
	WRC_WQE_READ		= 0x10,
	WRC_WQE_CS		= 0x11,
	WRC_WQE_FA		= 0x12,
	WRC_WQE_MASKED_CS	= 0x14,
	WRC_WQE_MASKED_FA	= 0x15,
	WRC_WQE_RECV_EN		= 0x16,
	WRC_WQE_SEND_EN		= 0x17,
	WRC_WQE_UMR		= 0x25,
};

/* Opcode modifier of masked atomics: 8 | log2(bytes) - 2. */
#define WRC_WQE_OPMOD_MASKED_4	0x08
#define WRC_WQE_OPMOD_MASKED_8	0x09

/* ctrl.fm_ce_se */
#define WRC_WQE_SE		0x02
#define WRC_WQE_CE_MASK		0x0c
#define WRC_WQE_CE_ERROR	0x00	/* CQE on error only */
#define WRC_WQE_CE_ALWAYS	0x08
#define WRC_WQE_FM_MASK		0xe0
#define WRC_WQE_FM_FENCE	0x40

/* Control segment: the first 16 bytes of every send WQE. */
struct wrc_wqe_ctrl {
	__u8	opmod;
	__u8	index[2];	/* 16-bit running number of the WQE's first BB */
	__u8	opcode;
	__u8	qpn[3];
	__u8	ds;		/* bits 5:0, WQE length in 16 bytes with ctrl */
	__u8	signature;
	__u8	resv[2];
	__u8	fm_ce_se;
	__be32	imm;
};

struct wrc_wqe_raddr {
	__be64	addr;
	__be32	rkey;
	__be32	resv;
};

/* byte_count 0 means 2 GiB; a list ends early at {0, WRC_WQE_END_LKEY}. */
struct wrc_wqe_data {
	__be32	byte_count;
	__be32	lkey;
	__be64	addr;
};

#define WRC_WQE_END_LKEY	0x00000100u

/* byte_count | WRC_WQE_INLINE, then the data, padded to 16 bytes in all. */
struct wrc_wqe_inline {
	__be32	byte_count;
};

#define WRC_WQE_INLINE		0x80000000u

/* CS: swap, compare.  FA: add, 0. */
struct wrc_wqe_atomic {
	__be64	swap_add;
	__be64	compare;
};

/* Masked FA, 8 bytes.  A 1 at bit i of boundary stops the carry out of i. */
struct wrc_wqe_masked_fa {
	__be64	add;
	__be64	boundary;
};

/* Masked CS, 8 bytes:
 * if (!((*va ^ compare) & compare_mask))
 *	*va = (*va & ~swap_mask) | (swap & swap_mask)
 */
struct wrc_wqe_masked_cs {
	__be64	swap;
	__be64	compare;
	__be64	swap_mask;
	__be64	compare_mask;
};

/*
 * WAIT: holds the queue until CQE number index (0-based, 24 bits, cyclic) of
 * CQ obj exists.  SEND_EN: lets send queue obj execute all BBs before index
 * (16 bits, cyclic).  RECV_EN: the same for receive WQEs.
 */
struct wrc_wqe_wait_en {
	__be64	resv;
	__be32	index;
	__be32	obj;
};

/*
 * UMR: control segment, whose imm is the key that is changed, then these three.
 * It writes entries of that key's translation table from an offset on, both in
 * units of 16 bytes, and changes nothing else of the key; but the last one of those
 * that fill a new key opens it.  The device wants whole groups of 64 bytes,
 * aligned: four entries (MLX5_UMR_FLEX_ALIGNMENT of Linux).
 */
struct wrc_wqe_umr {
	__u8	flags;
	__u8	resv0[3];
	__be16	octowords;	/* how much */
	__be16	offset_low;	/* bits 15:0 */
	__be64	mkey_mask;	/* which fields of the key's context */
	__be32	offset_high;	/* bits 47:16 */
	__u8	resv1[28];
};

#define WRC_UMR_INLINE		0x80	/* the entries are in the WQE */
#define WRC_UMR_OFFSET		0x10	/* not from the table's beginning on */
/* In mkey_mask: the key is free no more, since that bit of the context is 0. */
#define WRC_UMR_OPENS		(1ull << 29)

/* The key's context; of what the mask takes all is 0. */
struct wrc_wqe_mkc {
	__u8	resv[64];
};

/* Entry of an indirect key of pieces of one size (KSM); 0: leads nowhere. */
struct wrc_ksm {
	__be32	resv;
	__be32	key;
	__be64	addr;
};

#define WRC_KSM_GROUP		4	/* entries that are written at once */

struct wrc_wqe_xlt {
	struct wrc_ksm entry[WRC_KSM_GROUP];
};

#define WRC_WQE_WAIT_MASK	0xffffffu
#define WRC_WQE_EN_MASK		0xffffu

/* Completion queue entry. */
struct wrc_cqe {
	__u8	resv0[28];
	__u8	resv1[4];
	__be32	srqn_uidx;	/* low 24 bits: the QP's user index */
	__be32	imm;
	__u8	resv2[4];
	__be32	byte_cnt;
	__be64	timestamp;
	__be32	sop_qpn;	/* 31:24 opcode of the send WQE, 23:0 QPN */
	__be16	wqe_counter;
	__u8	signature;
	__u8	op_own;		/* 7:4 enum wrc_cqe_opcode, 0 owner */
};

/* The same entry when its opcode is REQ_ERR or RESP_ERR. */
struct wrc_cqe_err {
	__u8	resv0[52];
	__u8	hw_err_synd;
	__u8	hw_synd_type;
	__u8	vendor_synd;
	__u8	syndrome;	/* enum wrc_cqe_syndrome */
	__be32	sop_qpn;
	__be16	wqe_counter;
	__u8	signature;
	__u8	op_own;
};

enum wrc_cqe_opcode {
	WRC_CQE_REQ		= 0,
	WRC_CQE_RESP_WR_IMM	= 1,
	WRC_CQE_RESP_SEND	= 2,
	WRC_CQE_RESP_SEND_IMM	= 3,
	WRC_CQE_RESP_SEND_INV	= 4,
	WRC_CQE_REQ_ERR		= 13,
	WRC_CQE_RESP_ERR	= 14,
	WRC_CQE_INVALID		= 15,
};

enum wrc_cqe_syndrome {
	WRC_SYND_LOCAL_LENGTH	= 0x01,
	WRC_SYND_LOCAL_QP_OP	= 0x02,
	WRC_SYND_LOCAL_PROT	= 0x04,
	WRC_SYND_WR_FLUSH	= 0x05,
	WRC_SYND_MW_BIND	= 0x06,	/* memory management operation */
	WRC_SYND_BAD_RESP	= 0x10,
	WRC_SYND_LOCAL_ACCESS	= 0x11,
	WRC_SYND_REMOTE_INVAL	= 0x12,
	WRC_SYND_REMOTE_ACCESS	= 0x13,
	WRC_SYND_REMOTE_OP	= 0x14,
	WRC_SYND_RETRY_EXC	= 0x15,
	WRC_SYND_RNR_EXC	= 0x16,
	WRC_SYND_ABORTED	= 0x22,
};

/* Doorbell record of a QP: be32(counter & 0xffff) each. */
struct wrc_dbr {
	__be32	rcv;		/* RQ: WQEs posted */
	__be32	snd;		/* SQ: BBs posted */
};

WRC_ASSERT(sizeof(struct wrc_wqe_ctrl) == 16);
WRC_AT(wrc_wqe_ctrl, opmod, 0);
WRC_AT(wrc_wqe_ctrl, index, 1);
WRC_AT(wrc_wqe_ctrl, opcode, 3);
WRC_AT(wrc_wqe_ctrl, qpn, 4);
WRC_AT(wrc_wqe_ctrl, ds, 7);
WRC_AT(wrc_wqe_ctrl, fm_ce_se, 11);
WRC_AT(wrc_wqe_ctrl, imm, 12);
WRC_ASSERT(sizeof(struct wrc_wqe_raddr) == 16);
WRC_AT(wrc_wqe_raddr, addr, 0);
WRC_AT(wrc_wqe_raddr, rkey, 8);
WRC_ASSERT(sizeof(struct wrc_wqe_data) == 16);
WRC_AT(wrc_wqe_data, byte_count, 0);
WRC_AT(wrc_wqe_data, lkey, 4);
WRC_AT(wrc_wqe_data, addr, 8);
WRC_ASSERT(sizeof(struct wrc_wqe_atomic) == 16);
WRC_AT(wrc_wqe_atomic, swap_add, 0);
WRC_AT(wrc_wqe_atomic, compare, 8);
WRC_ASSERT(sizeof(struct wrc_wqe_masked_fa) == 16);
WRC_AT(wrc_wqe_masked_fa, boundary, 8);
WRC_ASSERT(sizeof(struct wrc_wqe_masked_cs) == 32);
WRC_AT(wrc_wqe_masked_cs, swap, 0);
WRC_AT(wrc_wqe_masked_cs, compare, 8);
WRC_AT(wrc_wqe_masked_cs, swap_mask, 16);
WRC_AT(wrc_wqe_masked_cs, compare_mask, 24);
WRC_ASSERT(sizeof(struct wrc_wqe_wait_en) == 16);
WRC_AT(wrc_wqe_wait_en, index, 8);
WRC_AT(wrc_wqe_wait_en, obj, 12);
WRC_ASSERT(sizeof(struct wrc_wqe_umr) == 48);
WRC_AT(wrc_wqe_umr, flags, 0);
WRC_AT(wrc_wqe_umr, octowords, 4);
WRC_AT(wrc_wqe_umr, offset_low, 6);
WRC_AT(wrc_wqe_umr, mkey_mask, 8);
WRC_AT(wrc_wqe_umr, offset_high, 16);
WRC_ASSERT(sizeof(struct wrc_wqe_mkc) == 64);
WRC_ASSERT(sizeof(struct wrc_ksm) == 16);
WRC_AT(wrc_ksm, key, 4);
WRC_AT(wrc_ksm, addr, 8);
WRC_ASSERT(sizeof(struct wrc_wqe_xlt) == 64);
WRC_ASSERT(sizeof(struct wrc_cqe) == 64);
WRC_AT(wrc_cqe, srqn_uidx, 32);
WRC_AT(wrc_cqe, imm, 36);
WRC_AT(wrc_cqe, byte_cnt, 44);
WRC_AT(wrc_cqe, timestamp, 48);
WRC_AT(wrc_cqe, sop_qpn, 56);
WRC_AT(wrc_cqe, wqe_counter, 60);
WRC_AT(wrc_cqe, op_own, 63);
WRC_ASSERT(sizeof(struct wrc_cqe_err) == 64);
WRC_AT(wrc_cqe_err, vendor_synd, 54);
WRC_AT(wrc_cqe_err, syndrome, 55);
WRC_AT(wrc_cqe_err, op_own, 63);
WRC_ASSERT(sizeof(struct wrc_dbr) == 8);
WRC_AT(wrc_dbr, snd, 4);

#endif /* WRC_WQE_H */
