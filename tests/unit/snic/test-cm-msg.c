// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connection management messages, byte by byte: captured ones of Linux, and
 * every field of ours at the place the specification gives it.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "snic/cm/msg.h"

/* rdma_cm and rdma_rxe of Linux 6.1 connecting for rping; zeros cut off. */
static const uint8_t linux_req[] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0xfd, 0x78, 0x70, 0x8c, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x8c, 0x70, 0x78, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x06, 0x1c, 0x06, 0x50, 0x54, 0x00, 0xff, 0xfe, 0x77, 0x00, 0x0a,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x01,
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xa0, 0x05, 0xe4, 0x36, 0xa7,
	0xff, 0xff, 0x57, 0xf0, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0a, 0x4d, 0x00, 0x0a,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
	0x0a, 0x4d, 0x00, 0x01, 0xcb, 0xc7, 0xf0, 0x00, 0x00, 0x40, 0x00, 0x98,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0xec, 0x67,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x0a, 0x4d, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x0a, 0x4d, 0x00, 0x01,
};

static const uint8_t linux_rtu[] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0xfd, 0x78, 0x70, 0x8c, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x8c, 0x70, 0x78, 0xfd, 0x89, 0x02, 0x1c, 0xc1,
};

static const uint8_t linux_dreq[] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0xfd, 0x78, 0x70, 0x8c, 0x00, 0x15, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x8c, 0x70, 0x78, 0xfd, 0x89, 0x02, 0x1c, 0xc1, 0x00, 0x01, 0x00, 0x00,
	0x00,
};

static void parse(const uint8_t *bytes, size_t len, uint8_t *mad,
		  struct snic_cm_msg *m)
{
	memset(mad, 0, SNIC_MAD_LEN);
	memcpy(mad, bytes, len);
	assert_int_equal(snic_cm_parse(mad, SNIC_MAD_LEN, m), 0);
}

static void test_linux_req(void **state)
{
	uint8_t mad[SNIC_MAD_LEN], again[SNIC_MAD_LEN], gid[16];
	struct snic_cm_ip_hdr hdr;
	struct snic_cm_msg m;

	parse(linux_req, sizeof(linux_req), mad, &m);
	assert_int_equal(m.attr, SNIC_CM_REQ);
	assert_true(m.tid == 0x2fd78708cull);
	assert_int_equal(m.local_id, 0x8c7078fd);
	assert_true(m.req.service_id == (SNIC_CM_SERVICE_TCP | 7174));
	assert_true(m.req.ca_guid == 0x505400fffe77000aull);
	assert_int_equal(m.req.qpn, 0x11);
	assert_int_equal(m.req.psn, 0x05e436);
	assert_int_equal(m.req.responder_resources, 1);
	assert_int_equal(m.req.initiator_depth, 1);
	assert_int_equal(m.req.remote_timeout, 20);
	assert_int_equal(m.req.local_timeout, 20);
	assert_int_equal(m.req.transport, SNIC_CM_TRANSPORT_RC);
	assert_int_equal(m.req.retry_cnt, 7);
	assert_int_equal(m.req.rnr_retry, 7);
	assert_int_equal(m.req.max_retries, 15);
	assert_int_equal(m.req.pkey, 0xffff);
	assert_int_equal(snic_mtu_bytes(m.req.mtu), 4096);
	assert_int_equal(m.req.hop_limit, 64);
	assert_int_equal(m.req.ack_timeout, 19);
	snic_gid_of_ip(htobe32(0x0a4d000a), gid);
	assert_memory_equal(m.req.local_gid, gid, 16);
	snic_gid_of_ip(htobe32(0x0a4d0001), gid);
	assert_memory_equal(m.req.remote_gid, gid, 16);
	assert_int_equal(m.priv_len, 92);
	assert_int_equal(snic_cm_parse_ip_hdr(m.priv, m.priv_len, &hdr), 0);
	assert_int_equal(hdr.src, htobe32(0x0a4d000a));
	assert_int_equal(hdr.dst, htobe32(0x0a4d0001));
	assert_int_equal(hdr.src_port, 0xec67);

	assert_int_equal(snic_cm_build(&m, again), 0);
	/* All but what we leave out: flow label and packet rate. */
	memcpy(again + 24 + 88, mad + 24 + 88, 4);
	assert_memory_equal(mad, again, SNIC_MAD_LEN);
}

static void test_linux_rtu_dreq(void **state)
{
	uint8_t mad[SNIC_MAD_LEN], again[SNIC_MAD_LEN];
	struct snic_cm_msg m;

	parse(linux_rtu, sizeof(linux_rtu), mad, &m);
	assert_int_equal(m.attr, SNIC_CM_RTU);
	assert_int_equal(m.local_id, 0x8c7078fd);
	assert_int_equal(m.remote_id, 0x89021cc1);
	assert_int_equal(snic_cm_build(&m, again), 0);
	assert_memory_equal(mad, again, SNIC_MAD_LEN);

	parse(linux_dreq, sizeof(linux_dreq), mad, &m);
	assert_int_equal(m.attr, SNIC_CM_DREQ);
	assert_int_equal(m.dreq_qpn, 0x000100);
	assert_int_equal(snic_cm_build(&m, again), 0);
	assert_memory_equal(mad, again, SNIC_MAD_LEN);
}

/* A REP with a different value in each field, against table 110. */
static void test_rep(void **state)
{
	static const uint8_t priv[196] = { [0] = 0xaa, [195] = 0xbb };
	static const uint8_t golden[] = {
		1, 7, 2, 3, 0, 0, 0, 0,			/* MAD header */
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x00, 0x13, 0, 0, 0, 0, 0, 0,
		0x21, 0x22, 0x23, 0x24,			/* 0: local id */
		0x31, 0x32, 0x33, 0x34,			/* 4: remote id */
		0, 0, 0, 0,				/* 8: Q_Key */
		0x41, 0x42, 0x43, 0,			/* 12: QPN */
		0, 0, 0, 0,				/* 16: EECN */
		0x51, 0x52, 0x53, 0,			/* 20: PSN */
		0x61,					/* 24: responder res. */
		0x62,					/* 25: initiator depth */
		0x1d << 3 | 1,				/* 26: ack delay, flow */
		5 << 5 | 1 << 4,			/* 27: RNR retry, SRQ */
		0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
		0xaa,					/* 36: private data */
	};
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REP, .tid = 0x1112131415161718ull,
		.local_id = 0x21222324, .remote_id = 0x31323334,
		.rep = {
			.qpn = 0x414243, .psn = 0x515253,
			.responder_resources = 0x61, .initiator_depth = 0x62,
			.ack_delay = 0x1d, .flow_control = true,
			.rnr_retry = 5, .srq = true,
			.ca_guid = 0x7172737475767778ull,
		},
		.priv = priv, .priv_len = sizeof(priv),
	}, back;
	uint8_t mad[SNIC_MAD_LEN];

	assert_int_equal(snic_cm_build(&m, mad), 0);
	assert_memory_equal(mad, golden, sizeof(golden));
	assert_int_equal(mad[24 + 36 + 195], 0xbb);
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &back), 0);
	assert_int_equal(back.rep.qpn, 0x414243);
	assert_int_equal(back.rep.psn, 0x515253);
	assert_int_equal(back.rep.responder_resources, 0x61);
	assert_int_equal(back.rep.initiator_depth, 0x62);
	assert_int_equal(back.rep.ack_delay, 0x1d);
	assert_int_equal(back.rep.rnr_retry, 5);
	assert_true(back.rep.srq && back.rep.flow_control);
	assert_true(back.rep.ca_guid == m.rep.ca_guid);
	assert_memory_equal(back.priv, priv, 196);
	m.priv_len = 197;
	assert_int_equal(snic_cm_build(&m, mad), -EMSGSIZE);
}

static void test_rej_mra(void **state)
{
	uint8_t mad[SNIC_MAD_LEN], again[SNIC_MAD_LEN];
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REJ, .local_id = 1, .remote_id = 2,
		.rej = { .which = SNIC_CM_WHICH_REP, .reason = 0x1234,
			 .ari_len = 72 },
	}, back;

	memset(m.rej.ari, 0x5a, 72);
	assert_int_equal(snic_cm_build(&m, mad), 0);
	assert_int_equal(mad[24 + 8], 1 << 6);
	assert_int_equal(mad[24 + 9], 72 << 1);
	assert_int_equal(mad[24 + 10] << 8 | mad[24 + 11], 0x1234);
	assert_int_equal(mad[24 + 12 + 71], 0x5a);
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &back), 0);
	assert_int_equal(snic_cm_build(&back, again), 0);
	assert_memory_equal(mad, again, sizeof(mad));
	mad[24 + 9] = 73 << 1;			/* longer than its field */
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &back), -EBADMSG);
	mad[24 + 9] = 0;
	mad[24 + 8] = 3 << 6;			/* which: 0 to 2 */
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &back), -EBADMSG);

	m = (struct snic_cm_msg) {
		.attr = SNIC_CM_MRA,
		.mra = { .which = SNIC_CM_WHICH_REQ, .service_timeout = 0x15 },
	};
	assert_int_equal(snic_cm_build(&m, mad), 0);
	assert_int_equal(mad[24 + 8], 0);
	assert_int_equal(mad[24 + 9], 0x15 << 3);
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &back), 0);
	assert_int_equal(back.mra.service_timeout, 0x15);
}

static void expect_bad(const uint8_t *mad, int off, uint8_t value)
{
	uint8_t bad[SNIC_MAD_LEN];
	struct snic_cm_msg m;

	memcpy(bad, mad, sizeof(bad));
	bad[off] = value;
	assert_int_equal(snic_cm_parse(bad, sizeof(bad), &m), -EBADMSG);
}

static void test_malformed(void **state)
{
	uint8_t mad[SNIC_MAD_LEN];
	struct snic_cm_msg m;
	size_t len;

	parse(linux_req, sizeof(linux_req), mad, &m);
	for (len = 0; len < SNIC_MAD_LEN; len++)
		assert_int_equal(snic_cm_parse(mad, len, &m), -EBADMSG);
	expect_bad(mad, 0, 2);			/* base version */
	expect_bad(mad, 1, 3);			/* class */
	expect_bad(mad, 2, 1);			/* class version */
	expect_bad(mad, 3, 0x81);		/* method */
	expect_bad(mad, 24 + 50, 0x07);		/* MTU code 0 */
	expect_bad(mad, 24 + 50, 0x67);		/* MTU code 6 */
	expect_bad(mad, 24 + 34, 0);		/* QPN 0 */
	expect_bad(mad, 24 + 34, 1);		/* QPN 1 */
	mad[17] = 0x17;				/* SIDR REQ */
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &m), -EOPNOTSUPP);
	mad[17] = 0x0f;
	assert_int_equal(snic_cm_parse(mad, sizeof(mad), &m), -EOPNOTSUPP);
}

static void test_ip_hdr(void **state)
{
	uint8_t p[SNIC_CM_IP_HDR];
	struct snic_cm_ip_hdr hdr = {
		.src_port = 0x1234, .src = htobe32(0x01020304),
		.dst = htobe32(0x05060708),
	}, back;

	snic_cm_build_ip_hdr(&hdr, p);
	assert_int_equal(p[1], 0x40);
	assert_int_equal(p[2], 0x12);
	assert_int_equal(p[16], 1);
	assert_int_equal(p[35], 8);
	assert_int_equal(snic_cm_parse_ip_hdr(p, 36, &back), 0);
	assert_int_equal(back.src_port, hdr.src_port);
	assert_int_equal(back.src, hdr.src);
	assert_int_equal(back.dst, hdr.dst);
	assert_int_equal(snic_cm_parse_ip_hdr(p, 35, &back), -EBADMSG);
	p[1] = 0x60;				/* IPv6 */
	assert_int_equal(snic_cm_parse_ip_hdr(p, 36, &back), -EBADMSG);
	p[1] = 0x40;
	p[0] = 1;				/* another version */
	assert_int_equal(snic_cm_parse_ip_hdr(p, 36, &back), -EBADMSG);
}

static void test_mtu_codes(void **state)
{
	static const uint16_t mtus[] = { 256, 512, 1024, 2048, 4096 };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		assert_int_equal(snic_mtu_code(mtus[i]), i + 1);
		assert_int_equal(snic_mtu_bytes(i + 1), mtus[i]);
	}
	assert_int_equal(snic_mtu_code(1500), 0);
	assert_int_equal(snic_mtu_bytes(0), 0);
	assert_int_equal(snic_mtu_bytes(6), 0);
	assert_int_equal(snic_mtu_bytes(255), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linux_req),
		cmocka_unit_test(test_linux_rtu_dreq),
		cmocka_unit_test(test_rep),
		cmocka_unit_test(test_rej_mra),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_ip_hdr),
		cmocka_unit_test(test_mtu_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
