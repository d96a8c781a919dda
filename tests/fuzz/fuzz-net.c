// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames from the wire.  The input is a row of records: flags, 16-bit length,
 * bytes.  Flag 1: checksums are made right, so that the frame gets further; 2:
 * it is preceded by a good Ethernet, IPv4 and UDP header; 4: a second passes.
 */
#include <endian.h>
#include <string.h>
#include "bed.h"
#include "snic/net/pkt.h"

#define FIX	1
#define HEADERS	2
#define WAIT	4

/* The variant and the page size of an indirect key: two pages that lie the other way round,
 * and then nothing. */
#define VARIANT	0x5a
#define PAGE	4096

static struct fuzz_bed bed;
static uint32_t indirect;	/* the key: the same in each bed */
static _Alignas(PAGE) uint8_t memory[2 * PAGE];

static void one_frame(uint8_t flags, const uint8_t *p, size_t n)
{
	static uint8_t frame[SNIC_NET_HLEN + FUZZ_MAX_LEN];
	size_t off = flags & HEADERS ? SNIC_NET_HLEN : 0;

	FUZZ_ASSERT(n <= FUZZ_MAX_LEN);
	memcpy(frame + off, p, n);
	if (off)
		frame_udp(frame, 9, 2, n);
	if (flags & FIX)
		frame_fix(frame, off + n);
	fuzz_receive(&bed, frame, off + n, flags & WAIT ? SECOND : 1000);
}

/* The QP is connected to 10.0.0.9, so that the transport is reached too. */
static void connect_qp(void)
{
	struct snic_qp_conn conn = {
		.dest_qpn = 0x11, .dest_ip = htobe32(0x0a000009), .mtu = 1024,
		.rq_psn = 0x123456, .sq_psn = 1, .retry_cnt = 7,
		.rnr_retry = 7, .timeout = 14, .min_rnr_timer = 12,
		.max_rd_atomic = 4, .max_dest_rd_atomic = 4,
	};

	FUZZ_ASSERT(!snic_qp_connect(bed.host.nic, bed.qpn, &conn));
}

static void put_entries(uint32_t key)
{
	struct {
		struct wrc_wqe_ctrl ctrl;
		struct wrc_wqe_umr umr;
		struct wrc_wqe_mkc mkc;
		struct wrc_wqe_xlt xlt;
	} *w = (void *)bed.host.sq;

	w->ctrl = (struct wrc_wqe_ctrl){
		.opcode = WRC_WQE_UMR, .ds = sizeof(*w) / WRC_WQE_DS,
		.qpn = { bed.qpn >> 16, bed.qpn >> 8, bed.qpn },
		.imm = htobe32(indirect),
	};
	w->umr.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET;
	w->umr.octowords = htobe16(WRC_KSM_GROUP);
	for (int i = 0; i < 2; i++) {
		w->xlt.entry[i].key = htobe32(key);
		w->xlt.entry[i].addr = htobe64((1 - i) * PAGE);
	}
	FUZZ_ASSERT(!snic_qp_doorbell(bed.host.nic, bed.qpn, 3));
	host_run(&bed.host);
}

static void make_keys(void)
{
	struct wrc_ksm e;
	uint32_t key;

	FUZZ_ASSERT(!snic_mkey_indirect(bed.host.nic, bed.host.pdn, WRC_KSM_GROUP,
					SNIC_REMOTE_READ | SNIC_REMOTE_WRITE,
					VARIANT, &key));
	FUZZ_ASSERT(!indirect || key == indirect);
	indirect = key;
	FUZZ_ASSERT(!snic_mkey_reg(bed.host.nic, bed.host.pdn, memory, sizeof(memory), 0,
				   SNIC_LOCAL_WRITE, &key));
	put_entries(key);
	FUZZ_ASSERT(!snic_mkey_entry(bed.host.nic, indirect, 1, &e) &&
		    be32toh(e.key) == key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint32_t listener;
	uint8_t flags;
	size_t n;

	fuzz_open(&bed);
	connect_qp();
	make_keys();
	FUZZ_ASSERT(!snic_cm_listen(bed.host.nic, 7489, &listener));
	while (len >= 3) {
		flags = data[0];
		n = data[1] << 8 | data[2];
		data += 3;
		len -= 3;
		if (n > len)
			n = len;
		one_frame(flags, data, n);
		data += n;
		len -= n;
	}
	fuzz_check_cm(&bed);
	fuzz_close(&bed);
	return 0;
}

/* ---- inputs to start from ---------------------------------------------------- */

static size_t record(uint8_t *buf, uint8_t flags, const uint8_t *p, size_t n)
{
	buf[0] = flags;
	buf[1] = n >> 8;
	buf[2] = n;
	memcpy(buf + 3, p, n);
	return n + 3;
}

static size_t arp_seed(uint8_t *buf, uint8_t oper)
{
	uint8_t f[60] = {
		255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 6,
		0, 1, 8, 0, 6, 4, 0, oper, 2, 0, 0, 0, 0, 9, 10, 0, 0, 9,
		0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
	};

	return record(buf, 0, f, sizeof(f));
}

static size_t icmp_seed(uint8_t *buf)
{
	uint8_t f[14 + 20 + 16] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 8, 0,
		0x45, 0, 0, 36, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9,
		10, 0, 0, 2, 8, 0, 0xf7, 0xff,
	};

	return record(buf, FIX, f, sizeof(f));
}

/* A packet of each opcode for the QP, in sequence. */
static size_t rc_seed(uint8_t *buf)
{
	struct snic_pkt pkt = { .pkey = 0xffff, .psn = 0x123456, .va = 0x1000,
				.rkey = 0x100, .dma_len = 64 };
	uint8_t p[200] = { 0 };
	size_t len = 0, n;
	int op;

	for (op = SNIC_OP_SEND_FIRST; op <= SNIC_OP_SEND_ONLY_INV; op++) {
		if (!snic_op_flags(op))
			continue;
		pkt.opcode = op;
		pkt.qpn = bed.qpn ?: 0x100;
		n = snic_pkt_build(&pkt, p);
		pkt.psn++;
		len += record(buf + len, FIX | HEADERS, p, n + 64 + 4);
	}
	return len;
}

/* A seed may be asked for before the first bed is there. */
static void find_key(void)
{
	if (indirect)
		return;
	fuzz_open(&bed);
	connect_qp();
	make_keys();
	fuzz_close(&bed);
}

/* WRITEs and a READ by the indirect key, across its pages, and behind them. */
static size_t key_seed(uint8_t *buf)
{
	static const uint8_t ops[] = {
		SNIC_OP_WRITE_ONLY, SNIC_OP_READ_REQ, SNIC_OP_WRITE_ONLY,
		SNIC_OP_READ_REQ,
	};
	struct snic_pkt pkt = { .pkey = 0xffff, .psn = 0x123456, .dma_len = 64 };
	uint8_t p[200] = { 0 };
	size_t len = 0, n;

	find_key();
	pkt.rkey = indirect;
	for (unsigned int i = 0; i < sizeof(ops); i++) {
		bool data = ops[i] == SNIC_OP_WRITE_ONLY;

		pkt.opcode = ops[i];
		pkt.qpn = bed.qpn ?: 0x100;
		pkt.va = PAGE * (1 + i / 3) - 32;
		n = snic_pkt_build(&pkt, p);
		pkt.psn++;
		len += record(buf + len, FIX | HEADERS, p,
			      n + (data ? 64 : 0) + 4);
	}
	return len;
}

static size_t ud_seed(uint8_t *buf)
{
	struct snic_pkt pkt = { .opcode = SNIC_OP_UD_SEND_ONLY, .pkey = 0xffff,
				.qpn = 1, .qkey = SNIC_GSI_QKEY, .src_qpn = 1 };
	struct snic_cm_msg m = { .attr = SNIC_CM_DREQ, .local_id = 1,
				 .remote_id = 2 };
	uint8_t p[20 + SNIC_MAD_LEN + 4] = { 0 };

	snic_pkt_build(&pkt, p);
	snic_cm_build(&m, p + 20);
	return record(buf, FIX | HEADERS, p, sizeof(p));
}

size_t fuzz_seed(unsigned int n, uint8_t *buf)
{
	size_t len;

	switch (n) {
	case 0: return arp_seed(buf, 1);
	case 1: return arp_seed(buf, 2);
	case 2: return icmp_seed(buf);
	case 3: return rc_seed(buf);
	case 4: return ud_seed(buf);
	case 5:
		len = arp_seed(buf, 1);
		len += rc_seed(buf + len);
		return len + ud_seed(buf + len);
	case 6: return key_seed(buf);
	default: return 0;
	}
}
