// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The connection manager's attributes to ours: each from the step to which it
 * belongs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <nic/cm-attr.h>

static void each_from_its_step(void **state)
{
	/* What is not of a step is wrong there. */
	struct ibv_qp_attr init, rtr, rts;
	struct wrc_mlx5_conn c;

	memset(&init, 0xee, sizeof(init));
	memset(&rtr, 0xee, sizeof(rtr));
	memset(&rts, 0xee, sizeof(rts));
	init.port_num = 2;
	init.pkey_index = 0x1234;
	rtr.path_mtu = IBV_MTU_2048;
	rtr.dest_qp_num = 0x345678;
	rtr.rq_psn = 0x456789;
	rtr.max_dest_rd_atomic = 3;
	rtr.min_rnr_timer = 4;
	rtr.ah_attr.is_global = 1;
	rtr.ah_attr.dlid = 0x5678;
	rtr.ah_attr.src_path_bits = 5;
	rtr.ah_attr.sl = 6;
	rtr.ah_attr.grh.sgid_index = 7;
	rtr.ah_attr.grh.hop_limit = 8;
	rtr.ah_attr.grh.traffic_class = 9;
	rtr.ah_attr.grh.flow_label = 0xabcde;
	memset(rtr.ah_attr.grh.dgid.raw, 0x77, 16);
	rts.sq_psn = 0x56789a;
	rts.max_rd_atomic = 10;
	rts.retry_cnt = 1;
	rts.rnr_retry = 2;
	rts.timeout = 13;
	mlx5_cm_convert(&init, &rtr, &rts, &c);
	assert_int_equal(c.path.port, 2);
	assert_int_equal(c.path.pkey_index, 0x1234);
	assert_int_equal(c.mtu, 4);
	assert_int_equal(c.dest_qpn, 0x345678);
	assert_int_equal(c.rq_psn, 0x456789);
	assert_int_equal(c.max_dest_rd_atomic, 3);
	assert_int_equal(c.min_rnr_timer, 4);
	assert_true(c.path.grh);
	assert_int_equal(c.path.dlid, 0x5678);
	assert_int_equal(c.path.src_path_bits, 5);
	assert_int_equal(c.path.sl, 6);
	assert_int_equal(c.path.sgid_index, 7);
	assert_int_equal(c.path.hop_limit, 8);
	assert_int_equal(c.path.traffic_class, 9);
	assert_int_equal(c.path.flow_label, 0xabcde);
	assert_memory_equal(c.path.dgid, rtr.ah_attr.grh.dgid.raw, 16);
	assert_int_equal(c.sq_psn, 0x56789a);
	assert_int_equal(c.max_rd_atomic, 10);
	assert_int_equal(c.retry_cnt, 1);
	assert_int_equal(c.rnr_retry, 2);
	assert_int_equal(c.timeout, 13);
	assert_int_equal(c.access, 0);
	assert_int_equal(c.path.udp_sport, 0);
	assert_false(c.path.loopback || c.path.roce);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_from_its_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
