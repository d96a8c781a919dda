// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of mailbox fields against Linux' mlx5_ifc.h, in which a structure
 * has one byte for each bit of the hardware's.  Built where kernel headers are
 * installed; the header is read, never copied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "mlx5/cmd.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#define BIT(n) (1u << (n))
#define BIT_ULL(n) (1ull << (n))
#include LINUX_IFC

#define STRUCT(s) struct mlx5_ifc_##s##_bits
#define OFF(s, f) offsetof(STRUCT(s), f)
#define LEN(s) (sizeof(STRUCT(s)) / 8)

static void fields(void **state)
{
#define CHECK(s, f, off, bits) {					\
		const STRUCT(s) *none = NULL;				\
									\
		if (OFF(s, f) != (off) || sizeof(none->f) != (bits))	\
			fail_msg(#s "." #f " is at 0x%zx[%zu]",		\
				 OFF(s, f), sizeof(none->f));		\
	}
	WRC_MLX5_FIELDS(CHECK)
#undef CHECK
}

/* Where one lies in another. */
static void places(void **state)
{
	assert_int_equal(OFF(query_hca_cap_out, capability),
			 WRC_MLX5_CAP_OFF * 8);
	assert_int_equal(OFF(create_cq_in, cq_context), WRC_MLX5_CQC_OFF * 8);
	assert_int_equal(OFF(query_cq_out, cq_context), WRC_MLX5_CQC_OFF * 8);
	assert_int_equal(OFF(create_mkey_in, memory_key_mkey_entry),
			 WRC_MLX5_MKC_OFF * 8);
	assert_int_equal(OFF(create_qp_in, qpc), WRC_MLX5_QPC_OFF * 8);
	assert_int_equal(OFF(rst2init_qp_in, qpc), WRC_MLX5_QPC_OFF * 8);
	assert_int_equal(OFF(init2rtr_qp_in, qpc), WRC_MLX5_QPC_OFF * 8);
	assert_int_equal(OFF(rtr2rts_qp_in, qpc), WRC_MLX5_QPC_OFF * 8);
	assert_int_equal(OFF(query_qp_out, qpc), WRC_MLX5_QPC_OFF * 8);
	assert_int_equal(OFF(qpc, primary_address_path),
			 WRC_MLX5_ADS_OFF * 8);
	assert_int_equal(OFF(ads, rgid_rip), WRC_MLX5_ADS_RGID_OFF * 8);
	assert_int_equal(OFF(query_roce_address_out, roce_address),
			 WRC_MLX5_ROCE_OFF * 8);
	assert_int_equal(OFF(roce_addr_layout, source_l3_address), 0);
	assert_int_equal(OFF(qp_2err_in, qpn), OFF(rst2init_qp_in, qpn));
	assert_int_equal(OFF(qp_2rst_in, qpn), OFF(rst2init_qp_in, qpn));
	assert_int_equal(OFF(init2rtr_qp_in, opt_param_mask),
			 OFF(rst2init_qp_in, opt_param_mask));
}

static void expect(const struct wrc_mlx5_cmd *cmd, unsigned int opcode,
		   size_t in_len, size_t out_len)
{
	assert_int_equal(cmd->err, 0);
	assert_int_equal(cmd->in[0] << 8 | cmd->in[1], opcode);
	assert_int_equal(cmd->in_len, in_len);
	assert_int_equal(cmd->out_len, out_len);
}

static void opcodes_and_lengths(void **state)
{
	const struct wrc_mlx5_cq_attr cq = { 0 };
	const struct wrc_mlx5_ksm_attr ksm = { 0 };
	const struct wrc_mlx5_qp_attr qp = { 0 };
	const struct wrc_mlx5_conn conn = { 0 };
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_query_cap(WRC_MLX5_CAP_GENERAL, &cmd);
	expect(&cmd, MLX5_CMD_OP_QUERY_HCA_CAP, LEN(query_hca_cap_in),
	       LEN(query_hca_cap_out));
	wrc_mlx5_cmd_query_roce(1, 0, &cmd);
	expect(&cmd, MLX5_CMD_OP_QUERY_ROCE_ADDRESS,
	       LEN(query_roce_address_in), LEN(query_roce_address_out));
	wrc_mlx5_cmd_alloc_counter(&cmd);
	expect(&cmd, MLX5_CMD_OP_ALLOC_Q_COUNTER, LEN(alloc_q_counter_in),
	       LEN(alloc_q_counter_out));
	wrc_mlx5_cmd_create_cq(&cq, &cmd);
	expect(&cmd, MLX5_CMD_OP_CREATE_CQ, LEN(create_cq_in),
	       LEN(create_cq_out));
	wrc_mlx5_cmd_query_cq(1, &cmd);
	expect(&cmd, MLX5_CMD_OP_QUERY_CQ, LEN(query_cq_in),
	       LEN(query_cq_out));
	wrc_mlx5_cmd_create_ksm(&ksm, &cmd);
	expect(&cmd, MLX5_CMD_OP_CREATE_MKEY, LEN(create_mkey_in),
	       LEN(create_mkey_out));
	assert_int_equal(wrc_mlx5_get(cmd.in + WRC_MLX5_MKC_OFF,
				      WRC_F(mkc, access_mode_1_0)),
			 MLX5_MKC_ACCESS_MODE_KSM);
	wrc_mlx5_cmd_create_qp(&qp, &cmd);
	expect(&cmd, MLX5_CMD_OP_CREATE_QP, LEN(create_qp_in),
	       LEN(create_qp_out));
	wrc_mlx5_cmd_init(1, &conn, &cmd);
	expect(&cmd, MLX5_CMD_OP_RST2INIT_QP, LEN(rst2init_qp_in),
	       LEN(rst2init_qp_out));
	wrc_mlx5_cmd_rtr(1, &conn, &cmd);
	expect(&cmd, MLX5_CMD_OP_INIT2RTR_QP, LEN(init2rtr_qp_in),
	       LEN(init2rtr_qp_out));
	wrc_mlx5_cmd_rts(1, &conn, &cmd);
	expect(&cmd, MLX5_CMD_OP_RTR2RTS_QP, LEN(rtr2rts_qp_in),
	       LEN(rtr2rts_qp_out));
	wrc_mlx5_cmd_stop(1, WRC_MLX5_2ERR_QP, &cmd);
	expect(&cmd, MLX5_CMD_OP_2ERR_QP, LEN(qp_2err_in), LEN(qp_2err_out));
	wrc_mlx5_cmd_stop(1, WRC_MLX5_2RST_QP, &cmd);
	expect(&cmd, MLX5_CMD_OP_2RST_QP, LEN(qp_2rst_in), LEN(qp_2rst_out));
	wrc_mlx5_cmd_query_qp(1, &cmd);
	expect(&cmd, MLX5_CMD_OP_QUERY_QP, LEN(query_qp_in),
	       LEN(query_qp_out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(places),
		cmocka_unit_test(opcodes_and_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
