// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The linker: blocks, counts, relocations, the receive entry. */
#include "bench.h"
#include "core/build.h"

static bool has_patch(const struct wrc_prog *p, uint8_t source, uint16_t off,
		      uint8_t width, uint8_t insn, enum wrc_field field,
		      uint8_t field_off, uint8_t delta)
{
	for (unsigned int i = 0; i < p->nr_patches; i++) {
		const struct wrc_patch *q = &p->patch[i];

		if (q->source == source && q->off == off && q->width == width &&
		    q->insn == insn && q->field == field &&
		    q->field_off == field_off && q->delta == delta)
			return true;
	}
	return false;
}

/* The load chain, relaxed, against what was decided on paper. */
static void load(void **state)
{
	static const uint8_t ops[] = {
		WRC_WQE_WAIT, WRC_WQE_SEND_EN, WRC_WQE_SEND_EN, WRC_WQE_READ,
		WRC_WQE_WAIT, WRC_WQE_SEND_EN, WRC_WQE_NOP, WRC_WQE_WRITE_IMM,
	};
	struct wrc_prog p;

	assert_int_equal(wrc_any_build(ODRP_WIRE_LOAD, NULL, &p), 0);
	assert_int_equal(p.nr_insn, sizeof(ops));
	for (unsigned int i = 0; i < sizeof(ops); i++)
		assert_int_equal(p.insn[i].op, ops[i]);
	assert_int_equal(p.bb[WRC_LOOP], 8);
	assert_int_equal(p.bb[WRC_CLIENT], 1);
	assert_int_equal(p.insn[6].bb, 6);
	assert_int_equal(p.insn[6].nr_bb, 2);
	assert_int_equal(p.insn[7].bb, 0);
	assert_int_equal(p.cqes, 1);
	assert_int_equal(p.nr_patches, 12);
	assert_true(has_patch(&p, 3, 0, 8, 7, WRC_F_ADDR, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 0, 8, 3, WRC_F_RADDR, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 8, 4, 7, WRC_F_IMM, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 12, 4, 7, WRC_F_RADDR, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 16, 4, 7, WRC_F_RADDR, 4, 0));
	assert_true(has_patch(&p, WRC_RECV, 20, 4, 7, WRC_F_RKEY, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 24, 4, 0, WRC_F_COUNT, 0, 1));
	assert_true(has_patch(&p, WRC_RECV, 28, 4, 1, WRC_F_COUNT, 0, 1));
	assert_true(has_patch(&p, WRC_RECV, 32, 4, 2, WRC_F_COUNT, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 36, 4, 4, WRC_F_COUNT, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 40, 4, 5, WRC_F_COUNT, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 44, 1, 7, WRC_F_OPCODE, 0, 0));
	assert_int_equal(p.req_len, 49);

	/* tt_addr; id to rkey in one; six words; the record. */
	assert_int_equal(p.nr_scatter, 9);
	assert_int_equal(p.scatter[1].off, 8);
	assert_int_equal(p.scatter[1].len, 16);
	assert_int_equal(p.scatter[8].to.space, WRC_SP_DBR);

	assert_int_equal(wrc_count(&p, 0, 5), 5);
	assert_int_equal(wrc_count(&p, 1, 0), 3);
	assert_int_equal(wrc_count(&p, 1, 5), 43);
	assert_int_equal(wrc_count(&p, 2, 0), 10);
	assert_int_equal(wrc_count(&p, 2, 5), 50);
	assert_int_equal(wrc_count(&p, 4, 5), 5);
	assert_int_equal(wrc_count(&p, 5, 5), 6);
}

/* Until a request opens it, the gate has the count of the lap before. */
static void gate(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct bench b;

		bench_open(&b, chain, true, 4);
		for (uint32_t k = 0; k < 4; k++) {
			uint8_t *p = bench_field(&b, 2, WRC_F_COUNT, 0, k);
			uint16_t have = p[2] << 8 | p[3];

			assert_true(wrc_is_gate(&b.prog, 2));
			assert_int_equal(have, (uint16_t)(wrc_count(&b.prog, 2, k) -
							  4 * b.geom.loop_bb));
			assert_int_equal(p[0] | p[1], 0);
		}
		bench_close(&b);
	}
}

/* A reversed result is eight relocations of a byte. */
static void reversed(void **state)
{
	struct wrc_prog p;

	assert_int_equal(wrc_any_build(ODRP_WIRE_UNMAPPED_STORE, NULL, &p), 0);
	for (unsigned int i = 0; i < 8; i++)
		assert_true(has_patch(&p, 5, i, 1, 8, WRC_F_RADDR, 7 - i, 0));
	assert_true(has_patch(&p, 8, 0, 8, 12, WRC_F_RADDR, 0, 0));
	assert_true(has_patch(&p, WRC_RECV, 0, 8, 11, WRC_F_RADDR, 0, 0));
	assert_int_equal(p.cqes, 4);
	assert_int_equal(p.insn[12].cqe, 3);
}

static void conditional(void **state)
{
	struct wrc_prog p;
	struct bench b;

	assert_int_equal(wrc_any_build(ODRP_WIRE_INVALIDATE, NULL, &p), 0);
	assert_true(has_patch(&p, 5, 1, 1, 8, WRC_F_OPCODE, 0, 0));
	assert_true(has_patch(&p, 5, 2, 1, 13, WRC_F_OPCODE, 0, 0));
	bench_open(&b, ODRP_WIRE_INVALIDATE, false, 4);
	assert_int_equal(*bench_field(&b, 8, WRC_F_OPCODE, 0, 2), WRC_WQE_NOP);
	assert_int_equal(*bench_field(&b, 8, WRC_F_OPMOD, 0, 2), 0x09);
	bench_close(&b);
}

/* Strict: one more word for every WQE, and it is the WQE's own index. */
static void strict(void **state)
{
	struct wrc_opts opts = { .strict_index = true };
	struct wrc_prog p, q;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		unsigned int seen = 0;

		assert_int_equal(wrc_any_build(chain, NULL, &p), 0);
		assert_int_equal(wrc_any_build(chain, &opts, &q), 0);
		assert_int_equal(q.nr_words, p.nr_words + q.nr_insn);
		for (unsigned int i = 0; i < q.nr_words; i++) {
			const struct wrc_word *w = &q.word[i];

			if (w->kind != WRC_WORD_INDEX)
				continue;
			assert_int_equal(w->insn, seen++);
			assert_int_equal(w->delta, w->insn < 2);
			assert_true(has_patch(&q, WRC_RECV, w->off, 2, w->insn,
					      WRC_F_INDEX, 0, w->delta));
		}
	}
}

/* The receive entry covers the request without a gap or an overlap. */
static void scatter(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int s = 0; s < 2; s++) {
			struct wrc_opts opts = { .strict_index = s };
			struct wrc_prog p;
			uint32_t at = 0;

			assert_int_equal(wrc_any_build(chain, &opts, &p), 0);
			for (unsigned int i = 0; i < p.nr_scatter; i++) {
				assert_int_equal(p.scatter[i].off, at);
				at += p.scatter[i].len;
			}
			assert_int_equal(at, p.req_len + (p.page ? 4096 : 0));
		}
}

/* The last instance's neighbour is the first. */
static void wraps(void **state)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	struct bench b;

	bench_open(&b, ODRP_WIRE_LOAD, false, 4);
	assert_int_equal(wrc_link_recv(&b.prog, &b.geom, &b.bind, 3, sge), 9);
	assert_int_equal(sge[2].addr,
			 b.bind.arena_iova + b.geom.loop_sq + 24);
	assert_int_equal(sge[5].addr,
			 b.bind.arena_iova + b.geom.loop_sq + (24 + 4) * 64 + 24);
	bench_close(&b);
}

static int link_with(void (*change)(struct wrc_build *b, int read, int answer))
{
	static struct wrc_prog prog;
	struct wrc_build b;
	int read, go, answer;

	wrc_begin(&b, &prog, ODRP_WIRE_LOAD, "test", NULL);
	wrc_wait(&b, WRC_RECV);
	wrc_send_en(&b, WRC_NEXT_HEAD);
	wrc_head_end(&b);
	read = wrc_read(&b, wrc_at(WRC_SP_TT), wrc_reg(WRC_REG_PAGE, 0), 8);
	wrc_wait(&b, read);
	go = wrc_send_en(&b, 0);
	wrc_client_queue(&b);
	answer = wrc_write_imm(&b, wrc_at(WRC_SP_PEER), wrc_at(WRC_SP_POOL), 0);
	wrc_enable_upto(&b, go, answer);
	change(&b, read, answer);
	return wrc_end(&b);
}

static void args(struct wrc_build *b, struct wrc_ref first)
{
	wrc_arg(b, 0, 8, first);
	wrc_arg(b, 8, 16, wrc_reg(WRC_REG_TRASH, 0));
}

static void well(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_field(read, WRC_F_RADDR, 0));
}

static void beyond_field(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_field(read, WRC_F_RADDR, 1));
}

static void no_such_field(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_field(read, WRC_F_COUNT, 0));
}

static void no_such_insn(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_field(20, WRC_F_RADDR, 0));
}

static void beyond_scratch(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_reg(60, 0));
}

static void into_the_pool(struct wrc_build *b, int read, int answer)
{
	args(b, wrc_at(WRC_SP_POOL));
}

static void gap(struct wrc_build *b, int read, int answer)
{
	wrc_arg(b, 0, 8, wrc_field(read, WRC_F_RADDR, 0));
}

static void wait_for_later(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	b->prog->insn[0].target = read;
}

static void wait_for_unsignaled(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	b->prog->insn[read].flags = 0;
}

static void enable_behind(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	b->prog->insn[1].target = 0;
}

/* The client queue's own: behind the answer, which may be signaled. */
static void client_control(struct wrc_build *b, int answer, bool wait,
			   int target)
{
	if (!b->err)
		b->prog->insn[answer].flags |= WRC_I_SIGNALED;
	if (wait)
		wrc_wait(b, target);
	else
		wrc_send_en(b, target);
}

static void client_waits(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	client_control(b, answer, true, answer);
	client_control(b, answer, false, WRC_NEXT_HEAD);
}

static void client_waits_for_loop(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	client_control(b, answer, true, read);
}

static void client_waits_for_request(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	client_control(b, answer, true, WRC_RECV);
}

static void client_waits_for_itself(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	client_control(b, answer, true, answer + 1);
}

static void client_waits_unsignaled(struct wrc_build *b, int read, int answer)
{
	client_waits(b, read, answer);
	b->prog->insn[answer].flags = 0;
}

static void client_enables_some(struct wrc_build *b, int read, int answer)
{
	well(b, read, answer);
	client_control(b, answer, false, read);
}

static void errors(void **state)
{
	assert_int_equal(link_with(well), 0);
	assert_int_equal(link_with(client_waits), 0);
	assert_int_equal(link_with(client_waits_for_loop), -EINVAL);
	assert_int_equal(link_with(client_waits_for_request), -EINVAL);
	assert_int_equal(link_with(client_waits_for_itself), -EINVAL);
	assert_int_equal(link_with(client_waits_unsignaled), -EINVAL);
	assert_int_equal(link_with(client_enables_some), -EINVAL);
	assert_int_equal(link_with(beyond_field), -ERANGE);
	assert_int_equal(link_with(no_such_field), -ERANGE);
	assert_int_equal(link_with(no_such_insn), -ERANGE);
	assert_int_equal(link_with(beyond_scratch), -ERANGE);
	assert_int_equal(link_with(into_the_pool), -EINVAL);
	assert_int_equal(link_with(gap), -EINVAL);
	assert_int_equal(link_with(wait_for_later), -EINVAL);
	assert_int_equal(link_with(wait_for_unsignaled), -EINVAL);
	assert_int_equal(link_with(enable_behind), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load),
		cmocka_unit_test(gate),
		cmocka_unit_test(reversed),
		cmocka_unit_test(conditional),
		cmocka_unit_test(strict),
		cmocka_unit_test(scatter),
		cmocka_unit_test(wraps),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
