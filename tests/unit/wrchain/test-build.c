// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The builder: latches its first error, and checks each instruction. */
#include "bench.h"
#include "core/build.h"

static struct wrc_prog prog;

/* The smallest program that links. */
static void begin(struct wrc_build *b, int *ret_body)
{
	wrc_begin(b, &prog, ODRP_WIRE_LOAD, "test", NULL);
	wrc_wait(b, WRC_RECV);
	*ret_body = wrc_send_en(b, WRC_NEXT_HEAD);
	wrc_head_end(b);
}

static int finish(struct wrc_build *b)
{
	int go = wrc_send_en(b, 0), answer;

	wrc_client_queue(b);
	answer = wrc_write_imm(b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL), 0);
	wrc_enable_upto(b, go, answer);
	wrc_arg(b, 0, 8, wrc_reg(WRC_REG_TRASH, 0));
	wrc_arg(b, 8, 4, wrc_field(answer, WRC_F_IMM, 0));
	wrc_arg(b, 12, 8, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(b, 20, 4, wrc_field(answer, WRC_F_RKEY, 0));
	return wrc_end(b);
}

static void smallest(void **state)
{
	struct wrc_build b;
	int body;

	begin(&b, &body);
	assert_int_equal(body, 1);
	assert_int_equal(finish(&b), 0);
	assert_int_equal(prog.nr_insn, 5);	/* with the pad */
	assert_int_equal(prog.nr_head, 2);
	assert_int_equal(prog.bb[WRC_LOOP], 4);
}

/* After an error nothing is added, and later errors do not replace it. */
static void latches(void **state)
{
	struct wrc_build b;
	int body;

	begin(&b, &body);
	wrc_arg(&b, 20, 5, wrc_reg(WRC_REG_TRASH, 0));
	assert_int_equal(b.err, -ERANGE);
	assert_int_equal(wrc_read(&b, wrc_at(WRC_SP_TT),
				  wrc_reg(WRC_REG_TRASH, 0), 8), 0);
	assert_int_equal(prog.nr_insn, 2);
	wrc_enable_upto(&b, 0, 1);	/* wrong too, and not the first */
	wrc_head_end(&b);
	assert_int_equal(b.err, -ERANGE);
	wrc_page(&b);
	assert_false(prog.page);
	assert_int_equal(finish(&b), -ERANGE);
	assert_int_equal(prog.nr_args, 0);
}

static int emit_err(const struct wrc_insn *insn)
{
	struct wrc_build b;
	int body;

	begin(&b, &body);
	wrc_emit(&b, insn);
	return b.err;
}

static void checks_instructions(void **state)
{
	struct wrc_insn insn = { .op = WRC_WQE_READ,
				 .remote = wrc_at(WRC_SP_TT) };

	assert_int_equal(emit_err(&insn), 0);
	insn.op = 0x7f;
	assert_int_equal(emit_err(&insn), -EINVAL);
	insn.op = WRC_WQE_WAIT;			/* has no remote side */
	assert_int_equal(emit_err(&insn), -EINVAL);
	insn.op = WRC_WQE_READ;
	insn.remote = wrc_at(WRC_SP_NONE);
	assert_int_equal(emit_err(&insn), -EINVAL);
	insn.remote = wrc_at(WRC_SP_TT);
	insn.nr_sge = WRC_INSN_SGE + 1;
	assert_int_equal(emit_err(&insn), -ENOSPC);
	insn.op = WRC_WQE_MASKED_FA;		/* has one segment, not two */
	insn.nr_sge = 2;
	assert_int_equal(emit_err(&insn), -EINVAL);
	insn.nr_sge = 1;
	insn.flags = WRC_I_MAYBE;		/* its CQE would come sometimes */
	assert_int_equal(emit_err(&insn), -EINVAL);
	insn.op = WRC_WQE_WRITE_IMM;		/* an answer of the loop queue */
	insn.flags = WRC_I_ANSWER;
	assert_int_equal(emit_err(&insn), -EINVAL);
}

static void queues(void **state)
{
	struct wrc_build b;
	int body;

	begin(&b, &body);
	wrc_head_end(&b);			/* a second head */
	assert_int_equal(b.err, -EINVAL);

	wrc_begin(&b, &prog, ODRP_WIRE_LOAD, "test", NULL);
	wrc_client_queue(&b);			/* before the head */
	assert_int_equal(b.err, -EINVAL);

	begin(&b, &body);
	assert_int_equal(wrc_end(&b), -EINVAL);	/* no answer */
}

static void runs_out(void **state)
{
	struct wrc_build b;
	int body;

	begin(&b, &body);
	for (int i = 2; i < WRC_MAX_INSN; i++)
		wrc_wait(&b, WRC_RECV);
	assert_int_equal(b.err, 0);
	wrc_wait(&b, WRC_RECV);
	assert_int_equal(b.err, -ENOSPC);

	begin(&b, &body);
	for (int i = 0; i < WRC_MAX_ARGS; i++)
		wrc_arg(&b, 0, 1, wrc_reg(WRC_REG_TRASH, 0));
	assert_int_equal(b.err, 0);
	wrc_arg(&b, 0, 1, wrc_reg(WRC_REG_TRASH, 0));
	assert_int_equal(b.err, -ENOSPC);
}

static void places_set_later(void **state)
{
	struct wrc_build b;
	int body, read;

	begin(&b, &body);
	read = wrc_endian_swap(&b, wrc_reg(WRC_REG_SLOT, 0));
	wrc_set_swapped(&b, read, wrc_reg(WRC_REG_PAGE, 0));
	assert_int_equal(b.err, 0);
	assert_int_equal(prog.insn[read].sge[0].at.off, 7);
	assert_int_equal(prog.insn[read].sge[7].at.off, 0);
	wrc_set_local(&b, read, 8, wrc_reg(WRC_REG_PAGE, 0));
	assert_int_equal(b.err, -EINVAL);

	begin(&b, &body);
	wrc_enable_upto(&b, 0, 3);		/* a WAIT */
	assert_int_equal(b.err, -EINVAL);

	/* Forgotten altogether. */
	begin(&b, &body);
	wrc_endian_swap(&b, wrc_reg(WRC_REG_SLOT, 0));
	assert_int_equal(finish(&b), -EINVAL);
}

/* The library that an agent has: two sets, and nothing that is insecure. */
static void what_can_be_armed(void **state)
{
	static const unsigned int chains[WRC_NR_VARIANTS] = {
		[WRC_V_OURS] = 1 << ODRP_WIRE_LOAD | 1 << ODRP_WIRE_INVALIDATE,
		[WRC_V_EXCHANGE] = 1 << ODRP_WIRE_MAPPED_STORE |
				   1 << ODRP_WIRE_UNMAPPED_STORE |
				   1 << ODRP_WIRE_INVALIDATE,
		[WRC_V_KEYED] = 1 << ODRP_WIRE_UNMAPPED_STORE |
				1 << ODRP_WIRE_INVALIDATE,
	};

	for (int v = 0; v < WRC_NR_VARIANTS; v++)
		for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			struct wrc_opts opts = {
				.variant = v, .recycle = WRC_RECYCLE_NODE,
			};

			assert_int_equal(wrc_prog_build(chain, &opts, &prog),
					 chains[v] & 1 << chain ? 0 : -EINVAL);
			opts.recycle = WRC_RECYCLE_CLIENT;
			assert_int_equal(wrc_prog_build(chain, &opts, &prog),
					 -EINVAL);
		}
}

static void programs(void **state)
{
	assert_int_equal(wrc_any_build(ODRP_WIRE_NR_CHAINS, NULL, &prog),
			 -EINVAL);
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++) {
			struct wrc_opts opts = { .strict_index = strict };

			assert_int_equal(wrc_any_build(chain, &opts, &prog),
					 0);
			assert_int_equal(prog.chain, chain);
			assert_int_equal(prog.strict, strict);
			/* What devices can take, and a request can carry. */
			assert_true(prog.nr_scatter <= 32);
			assert_true(prog.nr_words <= WRC_MAX_WORDS);
			assert_true(prog.req_len <= 256);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest),
		cmocka_unit_test(latches),
		cmocka_unit_test(checks_instructions),
		cmocka_unit_test(queues),
		cmocka_unit_test(runs_out),
		cmocka_unit_test(places_set_later),
		cmocka_unit_test(what_can_be_armed),
		cmocka_unit_test(programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
