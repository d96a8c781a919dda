// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RoCEv2 headers and ICRC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "snic/net/pkt.h"

static const struct snic_pkt full = {
	.pad = 2, .solicited = true, .ack_req = true, .pkey = 0x8001,
	.qpn = 0xabcdef, .psn = 0x123456, .va = 0x1122334455667788,
	.rkey = 0x99aabbcc, .dma_len = 0xddeeff00,
	.swap_add = 0x0102030405060708, .compare = 0x1112131415161718,
	.syndrome = 0x65, .msn = 0x777888, .orig = 0x2122232425262728,
	.inv_rkey = 0x31323334, .qkey = 0x80010000, .src_qpn = 0x000001,
};

static void expect_same(const struct snic_pkt *a, const struct snic_pkt *b)
{
	uint32_t f = a->flags;

	assert_int_equal(f, b->flags);
	assert_int_equal(a->pad, b->pad);
	assert_int_equal(a->solicited, b->solicited);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->qpn, b->qpn);
	assert_int_equal(a->psn, b->psn);
	if (f & (SNIC_OPF_RETH | SNIC_OPF_ATOMICETH)) {
		assert_int_equal(a->va, b->va);
		assert_int_equal(a->rkey, b->rkey);
	}
	if (f & SNIC_OPF_RETH)
		assert_int_equal(a->dma_len, b->dma_len);
	if (f & SNIC_OPF_ATOMICETH) {
		assert_int_equal(a->swap_add, b->swap_add);
		assert_int_equal(a->compare, b->compare);
	}
	if (f & SNIC_OPF_AETH) {
		assert_int_equal(a->syndrome, b->syndrome);
		assert_int_equal(a->msn, b->msn);
	}
	if (f & SNIC_OPF_ATOMICACK)
		assert_int_equal(a->orig, b->orig);
	if (f & SNIC_OPF_IMM)
		assert_int_equal(a->imm, b->imm);
	if (f & SNIC_OPF_IETH)
		assert_int_equal(a->inv_rkey, b->inv_rkey);
	if (f & SNIC_OPF_DETH) {
		assert_int_equal(a->qkey, b->qkey);
		assert_int_equal(a->src_qpn, b->src_qpn);
	}
}

static void test_round_trip(void **state)
{
	unsigned int op, n = 0;

	(void)state;
	for (op = 0; op < 256; op++) {
		struct snic_pkt in = full, out = { 0 };
		uint8_t buf[SNIC_PKT_HDR_MAX + 8] = { 0 };
		size_t len;

		in.opcode = op;
		in.imm = cpu_to_be32(0xcafef00d);
		if (!(snic_op_flags(op) & SNIC_OPF_PAYLOAD))
			in.pad = 0;
		len = snic_pkt_build(&in, buf);
		if (!len) {
			assert_int_equal(snic_op_flags(op), 0);
			continue;
		}
		n++;
		assert_true(len <= SNIC_PKT_HDR_MAX);
		if (in.pad)
			len += 8;	/* 6 bytes of payload */
		assert_int_equal(snic_pkt_parse(buf, len, &out), 0);
		expect_same(&in, &out);
		assert_int_equal(out.len, in.pad ? 6 : 0);
		assert_ptr_equal(out.payload, buf + len - (in.pad ? 8 : 0));
	}
	assert_int_equal(n, 25);
}

/* The bytes of an ATOMIC and of a WRITE, written down from the specification. */
static void test_layout(void **state)
{
	static const uint8_t cmp_swap[] = {
		0x13, 0xc0, 0x80, 0x01, 0x00, 0xab, 0xcd, 0xef,
		0x80, 0x12, 0x34, 0x56,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x99, 0xaa, 0xbb, 0xcc,
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	};
	static const uint8_t write_imm[] = {
		0x0b, 0xe0, 0x80, 0x01, 0x00, 0xab, 0xcd, 0xef,
		0x80, 0x12, 0x34, 0x56,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00,
		0xca, 0xfe, 0xf0, 0x0d,
	};
	static const uint8_t ack[] = {
		0x11, 0xc0, 0x80, 0x01, 0x00, 0xab, 0xcd, 0xef,
		0x80, 0x12, 0x34, 0x56, 0x65, 0x77, 0x78, 0x88,
	};
	struct snic_pkt pkt = full;
	uint8_t buf[SNIC_PKT_HDR_MAX];

	(void)state;
	pkt.pad = 0;
	pkt.opcode = SNIC_OP_CMP_SWAP;
	assert_int_equal(snic_pkt_build(&pkt, buf), sizeof(cmp_swap));
	assert_memory_equal(buf, cmp_swap, sizeof(cmp_swap));
	pkt.opcode = SNIC_OP_ACK;
	assert_int_equal(snic_pkt_build(&pkt, buf), sizeof(ack));
	assert_memory_equal(buf, ack, sizeof(ack));
	pkt.pad = 2;
	pkt.opcode = SNIC_OP_WRITE_ONLY_IMM;
	pkt.imm = cpu_to_be32(0xcafef00d);
	assert_int_equal(snic_pkt_build(&pkt, buf), sizeof(write_imm));
	assert_memory_equal(buf, write_imm, sizeof(write_imm));
}

static void test_malformed(void **state)
{
	struct snic_pkt in = full, out;
	uint8_t buf[64] = { 0 };
	size_t len, i;

	(void)state;
	in.opcode = SNIC_OP_WRITE_ONLY_IMM;
	len = snic_pkt_build(&in, buf);
	/* Too short for its headers, or not whole words. */
	for (i = 0; i < len; i++)
		assert_int_equal(snic_pkt_parse(buf, i, &out), -EBADMSG);
	/* Two bytes of pad, none of payload. */
	assert_int_equal(snic_pkt_parse(buf, len, &out), -EBADMSG);
	assert_int_equal(snic_pkt_parse(buf, len + 4, &out), 0);
	for (i = 1; i < 4; i++)
		assert_int_equal(snic_pkt_parse(buf, len + 4 + i, &out),
				 -EBADMSG);
	buf[1] |= 1;	/* version */
	assert_int_equal(snic_pkt_parse(buf, len + 4, &out), -EBADMSG);

	/* No payload where there is none. */
	in.pad = 0;
	in.opcode = SNIC_OP_READ_REQ;
	len = snic_pkt_build(&in, buf);
	assert_int_equal(snic_pkt_parse(buf, len, &out), 0);
	assert_int_equal(snic_pkt_parse(buf, len + 4, &out), -EBADMSG);

	buf[0] = 0x15;
	assert_int_equal(snic_pkt_parse(buf, len, &out), -EBADMSG);
	buf[0] = 0x26;	/* another transport */
	assert_int_equal(snic_pkt_parse(buf, len, &out), -EBADMSG);
}

/* A congestion notification that a ConnectX-4 Lx sent: IP to ICRC. */
static const uint8_t captured[] = {
	0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00,
	0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
	0x0a, 0x00, 0x12, 0x01,
	0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
	0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
	0x00, 0x00, 0x00, 0x00,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x82, 0xfd, 0x00, 0x2a,
};

static uint32_t icrc_of(const uint8_t *p, size_t split)
{
	struct iovec iov[3] = {
		{ (void *)(p + 28), split },
		{ NULL, 0 },
		{ (void *)(p + 28 + split), 28 - split },
	};

	return snic_icrc(p, p + 20, iov, 3);
}

static void test_icrc(void **state)
{
	/* What a router may change: TOS, TTL, checksums, FECN and BECN. */
	static const uint8_t variant[] = { 1, 8, 10, 11, 26, 27, 32 };
	uint8_t p[sizeof(captured)];
	uint32_t want = snic_icrc_get(captured + 56);
	size_t i, j;

	(void)state;
	memcpy(p, captured, sizeof(p));
	for (i = 12; i <= 28; i++)
		assert_int_equal(icrc_of(p, i), want);
	for (i = 0; i < 56; i++) {
		bool free = false;

		for (j = 0; j < sizeof(variant); j++)
			free |= variant[j] == i;
		p[i] ^= 0x10;
		if (free)
			assert_int_equal(icrc_of(p, 12), want);
		else
			assert_int_not_equal(icrc_of(p, 12), want);
		p[i] ^= 0x10;
	}
	snic_icrc_put(p, want);
	assert_memory_equal(p, captured + 56, 4);
}

static void test_psn(void **state)
{
	(void)state;
	assert_int_equal(snic_psn_diff(5, 3), 2);
	assert_int_equal(snic_psn_diff(3, 5), -2);
	assert_int_equal(snic_psn_diff(1, 0xffffff), 2);
	assert_int_equal(snic_psn_diff(0xffffff, 1), -2);
	assert_int_equal(snic_psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(snic_psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(snic_psn_add(0xffffff, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_icrc),
		cmocka_unit_test(test_psn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
