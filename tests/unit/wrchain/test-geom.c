// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Geometry: pieces that do not overlap, aligned as devices want them. */
#include "bench.h"

struct piece {
	uint32_t from, len;
};

static void check(const struct wrc_prog *prog, uint32_t depth)
{
	struct wrc_geom g;

	assert_int_equal(wrc_geom_init(prog, depth, &g), 0);
	{
		const struct piece pieces[] = {
			{ g.loop_sq, 64u << g.log_loop_sq },
			{ g.client_rq, depth << g.log_rq_stride },
			{ g.client_sq, 64u << g.log_client_sq },
			{ g.loop_dbr, 8 },
			{ g.client_dbr, 8 },
			{ g.scratch, 64 * depth },
			{ g.arena_len, 0 },
		};

		for (unsigned int i = 0; i + 1 < 7; i++)
			assert_true(pieces[i].from + pieces[i].len <=
				    pieces[i + 1].from);
	}
	assert_int_equal(g.loop_sq % 4096, 0);
	assert_int_equal(g.client_sq % 4096, 0);
	assert_int_equal(g.client_rq % 64, 0);
	assert_int_equal(g.loop_dbr % 64, 0);
	assert_int_equal(g.client_dbr % 64, 0);
	assert_int_equal(g.scratch % 64, 0);
	assert_int_equal(g.arena_len % 4096, 0);
	assert_int_equal(g.client_rq + (depth << g.log_rq_stride), g.client_sq);

	assert_int_equal(1u << g.log_loop_sq, depth * g.loop_bb);
	assert_int_equal(1u << g.log_client_sq, depth * g.client_bb);
	assert_int_equal(1u << g.log_rq, depth);
	assert_true(16u * prog->nr_scatter <= 1u << g.log_rq_stride);
	assert_int_equal(g.loop_bb & (g.loop_bb - 1), 0);
	assert_int_equal(g.start_bb, 2);
	assert_int_equal(g.rq_posted, depth - 1);
	assert_int_equal(g.req_len, prog->req_len);
	assert_int_equal(g.buf_len, prog->page ? depth * 4096 : 0);
}

static void all(void **state)
{
	struct wrc_prog prog;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++) {
			struct wrc_opts opts = { .strict_index = strict };

			assert_int_equal(wrc_any_build(chain, &opts, &prog),
					 0);
			for (uint32_t k = 4; k <= 1024; k *= 2)
				check(&prog, k);
		}
}

static void refused(void **state)
{
	static const uint32_t bad[] = { 0, 1, 2, 3, 5, 6, 7, 1000, 2048,
					0x80000000, 0xffffffff };
	struct wrc_prog prog;
	struct wrc_geom g;

	assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, NULL, &prog), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(wrc_geom_init(&prog, bad[i], &g), -ERANGE);
	prog.bb[WRC_LOOP] = 64;		/* 2^16 blocks: too large a ring */
	assert_int_equal(wrc_geom_init(&prog, 1024, &g), -ERANGE);
	assert_int_equal(wrc_geom_init(&prog, 512, &g), 0);
}

/* Every byte of the arena back to the place it was computed from. */
static void places(void **state)
{
	struct bench b;

	bench_open(&b, ODRP_WIRE_INVALIDATE, true, 8);
	for (uint32_t k = 0; k < 8; k++)
		for (unsigned int i = 0; i < b.prog.nr_insn; i++) {
			struct wrc_ref ref = wrc_field(i, WRC_F_INDEX, 1);
			struct wrc_place p;

			p = wrc_place_of(&b.prog, &b.geom,
					 wrc_arena_off(&b.prog, &b.geom, ref,
						       k));
			assert_int_equal(p.space, WRC_SP_FIELD);
			assert_int_equal(p.instance, k);
			assert_int_equal(p.insn, i);
			assert_int_equal(p.byte.field, WRC_F_INDEX);
			assert_int_equal(p.byte.off, 1);
		}
	assert_int_equal(wrc_place_of(&b.prog, &b.geom,
				      b.geom.scratch + 64 + 9).off, 9);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom,
				      b.geom.client_dbr + 3).space,
			 WRC_SP_DBR);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom,
				      b.geom.client_dbr + 3).off, 3);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom,
				      b.geom.client_dbr + 4).space,
			 WRC_SP_NONE);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom, b.geom.loop_dbr).space,
			 WRC_SP_NONE);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom,
				      b.geom.client_rq).space, WRC_SP_NONE);
	assert_int_equal(wrc_place_of(&b.prog, &b.geom, ~0ull).space,
			 WRC_SP_NONE);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all),
		cmocka_unit_test(refused),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
