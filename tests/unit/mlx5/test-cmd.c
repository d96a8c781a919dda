// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mailboxes: their bytes against reviewed files (golden/NAME.hex: offset and
 * 16 bytes, lines of zeros left out), numbers that are too wide, and answers.
 *
 * After a change that is meant: ODRP_REGEN=1 meson test "mlx5 cmd", and review
 * the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "mlx5/cmd.h"

#define MAX_TEXT 4096

static size_t dump(const struct wrc_mlx5_cmd *cmd, char *buf)
{
	static const uint8_t zeros[16];
	size_t n, i, j;

	n = snprintf(buf, MAX_TEXT, "in %u out %u\n", cmd->in_len,
		     cmd->out_len);
	for (i = 0; i < cmd->in_len; i += 16) {
		if (!memcmp(cmd->in + i, zeros, 16))
			continue;
		n += snprintf(buf + n, MAX_TEXT - n, "%03zx:", i);
		for (j = 0; j < 16; j++)
			n += snprintf(buf + n, MAX_TEXT - n, "%s%02x",
				      j % 4 ? "" : " ", cmd->in[i + j]);
		n += snprintf(buf + n, MAX_TEXT - n, "\n");
	}
	return n;
}

static void golden(const char *name, const struct wrc_mlx5_cmd *cmd)
{
	char path[512], have[MAX_TEXT], want[MAX_TEXT] = "";
	size_t len = dump(cmd, have);
	FILE *f;

	assert_int_equal(cmd->err, 0);
	snprintf(path, sizeof(path), "%s/%s.hex", getenv("GOLDEN"), name);
	if (getenv("ODRP_REGEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(have, 1, len, f), len);
		fclose(f);
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot read %s", path);
	want[fread(want, 1, sizeof(want) - 1, f)] = 0;
	fclose(f);
	assert_string_equal(have, want);
}

/* Every number of it has its own digits, so that none can take another's
 * place. */
static const struct wrc_mlx5_qp_attr qp_attr = {
	.pdn = 0x1a2b3c, .uar_page = 0x2c3d4e, .scqn = 0x3e4f50,
	.rcqn = 0x506172, .user_index = 0x627384,
	.log_sq = 11, .has_rq = true, .log_rq = 6, .log_rq_stride = 9,
	.umem = 0x74859607, .wq_off = 0x1122334455667788,
	.dbr_off = 0x99aabbccddeeff00, .ts_format = 1,
};

static const struct wrc_mlx5_conn conn = {
	.path = {
		.port = 1, .pkey_index = 0x1234,
		.dlid = 0x2345, .src_path_bits = 0x15, .sl = 5,
		.sgid_index = 3, .hop_limit = 64, .traffic_class = 0x6a,
		.flow_label = 0x54321,
		.dgid = { 0xfe, 0x80, 2, 3, 4, 5, 6, 7,
			  8, 9, 10, 11, 12, 13, 14, 15 },
		.mac = { 0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5 },
		.udp_sport = 0xc123,
	},
	.dest_qpn = 0x778899, .mtu = 5, .log_msg_max = 30,
	.access = WRC_MLX5_REMOTE_READ | WRC_MLX5_REMOTE_ATOMIC,
	.rq_psn = 0xaabbcc, .sq_psn = 0xddeeff,
	.max_rd_atomic = 16, .max_dest_rd_atomic = 4,
	.min_rnr_timer = 6, .retry_cnt = 7, .rnr_retry = 5, .timeout = 14,
};

static void capabilities(void **state)
{
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_query_cap(WRC_MLX5_CAP_GENERAL, &cmd);
	golden("query-cap-general", &cmd);
	wrc_mlx5_cmd_query_cap(WRC_MLX5_CAP_ATOMIC, &cmd);
	golden("query-cap-atomic", &cmd);
	wrc_mlx5_cmd_query_cap(WRC_MLX5_CAP_ROCE, &cmd);
	golden("query-cap-roce", &cmd);
	wrc_mlx5_cmd_query_roce(2, 0x345, &cmd);
	golden("query-roce-address", &cmd);
	wrc_mlx5_cmd_alloc_counter(&cmd);
	golden("alloc-q-counter", &cmd);
}

static void completion_queues(void **state)
{
	const struct wrc_mlx5_cq_attr attr = {
		.log_size = 7, .uar_page = 0x123456, .eqn = 0x9a,
		.umem = 0xabcdef01, .buf_off = 0x1020304050607080,
		.dbr_off = 0x2000, .overrun_ignore = true,
	};
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_create_cq(&attr, &cmd);
	golden("create-cq", &cmd);
	wrc_mlx5_cmd_query_cq(0xfedcba, &cmd);
	golden("query-cq", &cmd);
}

static void indirect_keys(void **state)
{
	struct wrc_mlx5_ksm_attr attr = {
		.pdn = 0x1a2b3c, .entries = 0x8000, .variant = 0xa5,
		.access = WRC_MLX5_REMOTE_READ | WRC_MLX5_REMOTE_WRITE,
	};
	struct wrc_mlx5_cmd cmd;
	uint8_t out[16] = { [9] = 0x12, 0x34, 0x56 };

	wrc_mlx5_cmd_create_ksm(&attr, &cmd);
	golden("create-mkey-ksm", &cmd);
	attr.access = WRC_MLX5_REMOTE_READ;
	wrc_mlx5_cmd_create_ksm(&attr, &cmd);
	golden("create-mkey-ksm-read", &cmd);
	attr.pdn = 1 << 24;
	wrc_mlx5_cmd_create_ksm(&attr, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
	assert_int_equal(wrc_mlx5_parse_create_mkey(out, 0xa5), 0x123456a5);
}

static void shared_memory(void **state)
{
	struct wrc_mlx5_mtt_attr attr = {
		.pdn = 0x1a2b3c, .umem = 0x4d5e6f71, .iova = 0xff15080000000000,
		.len = 0xfedcba9000, .variant = 0xa5,
	};
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_create_mtt(&attr, &cmd);
	golden("create-mkey-mtt", &cmd);
	attr.pdn = 1 << 24;
	wrc_mlx5_cmd_create_mtt(&attr, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
}

static void queue_pairs(void **state)
{
	struct wrc_mlx5_qp_attr attr = qp_attr;
	struct wrc_mlx5_cmd cmd;

	attr.cd_slave_send = true;
	wrc_mlx5_cmd_create_qp(&attr, &cmd);
	golden("create-qp-client", &cmd);
	attr.has_rq = false;
	attr.cd_master = true;
	wrc_mlx5_cmd_create_qp(&attr, &cmd);
	golden("create-qp-loop", &cmd);
	attr.cd_master = attr.cd_slave_send = false;
	attr.cd_slave_receive = true;
	wrc_mlx5_cmd_create_qp(&attr, &cmd);
	golden("create-qp-slave-receive", &cmd);
}

static void state_changes(void **state)
{
	struct wrc_mlx5_conn c = conn;
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_init(0x665544, &c, &cmd);
	golden("rst2init", &cmd);
	wrc_mlx5_cmd_rtr(0x665544, &c, &cmd);
	golden("init2rtr-infiniband", &cmd);
	c.path.grh = true;
	c.access = WRC_MLX5_REMOTE_WRITE;
	wrc_mlx5_cmd_rtr(0x665544, &c, &cmd);
	golden("init2rtr-infiniband-grh", &cmd);
	c.path.roce = true;
	wrc_mlx5_cmd_rtr(0x665544, &c, &cmd);
	golden("init2rtr-roce", &cmd);
	c.path.loopback = true;
	wrc_mlx5_cmd_rtr(0x665544, &c, &cmd);
	golden("init2rtr-loopback", &cmd);
	wrc_mlx5_cmd_rts(0x665544, &c, &cmd);
	golden("rtr2rts", &cmd);
	wrc_mlx5_cmd_stop(0x665544, WRC_MLX5_2ERR_QP, &cmd);
	golden("2err", &cmd);
	wrc_mlx5_cmd_stop(0x665544, WRC_MLX5_2RST_QP, &cmd);
	golden("2rst", &cmd);
	wrc_mlx5_cmd_query_qp(0x665544, &cmd);
	golden("query-qp", &cmd);
}

/* ---- numbers that do not fit ------------------------------------------------- */

static void refused_qp(struct wrc_mlx5_qp_attr attr)
{
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_create_qp(&attr, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
}

static void refused_rtr(struct wrc_mlx5_conn c)
{
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_rtr(1, &c, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
}

static void too_wide(void **state)
{
	struct wrc_mlx5_qp_attr attr = qp_attr;
	struct wrc_mlx5_cq_attr cq = { .log_size = 32 };
	struct wrc_mlx5_conn c = conn;
	struct wrc_mlx5_cmd cmd;

	attr.log_sq = 16;
	refused_qp(attr);
	attr = qp_attr;
	attr.pdn = 1 << 24;
	refused_qp(attr);
	attr = qp_attr;
	attr.log_rq_stride = 3;
	refused_qp(attr);
	attr.log_rq_stride = 12;
	refused_qp(attr);
	wrc_mlx5_cmd_create_cq(&cq, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
	c.mtu = 8;
	refused_rtr(c);
	c = conn;
	c.path.sl = 16;
	refused_rtr(c);
	c = conn;
	c.dest_qpn = 1 << 24;
	refused_rtr(c);
	wrc_mlx5_cmd_query_qp(1 << 24, &cmd);
	assert_int_equal(cmd.err, -ERANGE);
}

/* A field changes nothing around it, and 64 bits are whole. */
static void fields(void **state)
{
	uint8_t box[WRC_MLX5_IN_MAX], before[WRC_MLX5_IN_MAX];

	memset(box, 0xff, sizeof(box));
	assert_int_equal(wrc_mlx5_set(box, WRC_F(qpc, log_rq_size), 0), 0);
	assert_int_equal(box[9], 0x87);
	assert_int_equal(wrc_mlx5_get(box, WRC_F(qpc, log_rq_size)), 0);
	assert_int_equal(wrc_mlx5_get(box, WRC_F(qpc, log_rq_stride)), 7);
	memcpy(before, box, sizeof(box));
	assert_int_equal(wrc_mlx5_set(box, WRC_F(qpc, log_rq_size), 16),
			 -ERANGE);
	assert_memory_equal(box, before, sizeof(box));
	assert_int_equal(wrc_mlx5_set(box, WRC_F(qpc, dbr_addr),
				      0x0123456789abcdef), 0);
	assert_int_equal(box[0xa0], 0x01);
	assert_int_equal(box[0xa7], 0xef);
	assert_true(wrc_mlx5_get(box, WRC_F(qpc, dbr_addr)) ==
		    0x0123456789abcdef);
}

/* ---- answers ------------------------------------------------------------------ */

static void answers(void **state)
{
	uint8_t out[WRC_MLX5_IN_MAX] = { 0 };
	struct wrc_mlx5_cq_info cq;
	struct wrc_mlx5_qp_info qp;

	out[9] = 0x12;
	out[10] = 0x34;
	out[11] = 0x56;
	assert_int_equal(wrc_mlx5_parse_create_cq(out), 0x123456);
	assert_int_equal(wrc_mlx5_parse_create_qp(out), 0x123456);
	assert_int_equal(wrc_mlx5_parse_alloc_counter(out), 0x56);

	memset(out, 0, sizeof(out));
	out[0x10] = 0x90;	/* status 9 */
	out[0x11] = 0x02;	/* oi */
	out[0x10 + 0x29] = 0xab;
	out[0x10 + 0x2b] = 0xcd;
	out[0x10 + 0x2d] = 0xde;
	out[0x10 + 0x2f] = 0xf0;
	wrc_mlx5_parse_cq(out, &cq);
	assert_int_equal(cq.status, 9);
	assert_true(cq.overrun_ignore);
	assert_int_equal(cq.consumer, 0xab00cd);
	assert_int_equal(cq.producer, 0xde00f0);

	memset(out, 0, sizeof(out));
	out[0x18] = 0x60;	/* ERR */
	out[0x18 + 0x93] = 0x03;	/* cd_slave_send, cd_master */
	out[0x18 + 0xb4] = 0x12;
	out[0x18 + 0xb5] = 0x34;
	out[0x18 + 0xb7] = 0x56;
	out[0x18 + 0xbb] = 0x78;
	out[0x18 + 0xbc] = 0x9a;
	wrc_mlx5_parse_qp(out, &qp);
	assert_int_equal(qp.state, WRC_MLX5_QP_ERR);
	assert_true(qp.cd_master && qp.cd_slave_send && !qp.cd_slave_receive);
	assert_int_equal(qp.sq_executed, 0x1234);
	assert_int_equal(qp.sq_posted, 0x56);
	assert_int_equal(qp.rq_consumed, 0x78);
	assert_int_equal(qp.rq_posted, 0x9a000000);
}

static void roce_address(void **state)
{
	uint8_t out[48] = { 0 };
	struct wrc_mlx5_roce roce;

	for (int i = 0; i < 16; i++)
		out[16 + i] = 0x10 + i;
	for (int i = 0; i < 6; i++)
		out[16 + 18 + i] = 0xa0 + i;
	out[16 + 27] = 2;
	wrc_mlx5_parse_roce(out, &roce);
	assert_memory_equal(roce.gid, out + 16, 16);
	assert_memory_equal(roce.mac, out + 34, 6);
	assert_int_equal(roce.version, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities),
		cmocka_unit_test(completion_queues),
		cmocka_unit_test(indirect_keys),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(queue_pairs),
		cmocka_unit_test(state_changes),
		cmocka_unit_test(too_wide),
		cmocka_unit_test(fields),
		cmocka_unit_test(answers),
		cmocka_unit_test(roce_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
