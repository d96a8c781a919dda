// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and addresses of fixed places.  Rule address proves where such an
 * address leads when the image is armed; so nobody may write it afterwards, least of
 * all the request, whose bytes the client chooses.  Every program that the agent can
 * arm is built with the eight bytes of the request's raddr going to the address of
 * each loop instruction in turn, and a program of three READs and WRITEs with every
 * such field split over two arguments.
 */
#include "core/build.h"
#include "prog/parts.h"
#include "verdict.h"

#define K 4
#define NR_VARIANTS 3
#define NO_INSN (-1)

int __real_wrc_link(struct wrc_prog *prog);
int __wrap_wrc_link(struct wrc_prog *prog);

/* The address that the request's raddr goes to; insn NO_INSN: the one it belongs to. */
static struct {
	int insn;
	enum wrc_field field;
	unsigned int sge;
} victim = { .insn = NO_INSN };
/* What the program was before that, as it came to the linker. */
static struct wrc_prog unlinked;

int __wrap_wrc_link(struct wrc_prog *prog)
{
	unsigned int i;

	unlinked = *prog;
	for (i = 0; victim.insn != NO_INSN && i < prog->nr_args; i++) {
		__u16 off = prog->arg[i].off;

		if (off != offsetof(struct odrp_wire_req, raddr_hi) &&
		    off != offsetof(struct odrp_wire_req, raddr_lo))
			continue;
		off -= offsetof(struct odrp_wire_req, raddr_hi);
		prog->arg[i].to = wrc_field(victim.insn, victim.field, off);
		prog->arg[i].to.sge = victim.sge;
	}
	return __real_wrc_link(prog);
}

static bool is_fixed(const struct wrc_insn *insn, enum wrc_field field, unsigned int sge)
{
	__u8 flags = wrc_opdef(insn->op)->flags;

	if (insn->queue != WRC_LOOP)
		return false;
	if (field == WRC_F_RADDR)
		return flags & WRC_OP_REMOTE &&
		       wrc_space_static((enum wrc_space)insn->remote.space);
	return wrc_space_static((enum wrc_space)insn->sge[sge].at.space);
}

/* 1: the linker takes the program, and rule patch refuses its image. */
static unsigned int victim_try(enum odrp_wire_chain chain, const struct wrc_opts *opts,
			       int insn, enum wrc_field field, unsigned int sge)
{
	char why[WRC_WHY_MAX];
	struct bench b;
	int err;

	if (!is_fixed(&unlinked.insn[insn], field, sge))
		return 0;
	victim.insn = insn;
	victim.field = field;
	victim.sge = sge;
	err = wrc_prog_build(chain, opts, &b.prog);
	victim.insn = NO_INSN;
	if (err)	/* the linker refuses it */
		return 0;
	bench_image(&b, K);
	b.bind.fence_orders = opts->order == WRC_ORDER_FENCE;
	if (!(refused_by(&b, why) & 1u << WRC_RULE_PATCH))
		fail_msg("%s: the request gives l%d its %s, and rule patch accepts it",
			 b.prog.name, insn, wrc_fielddef(field)->name);
	bench_close(&b);
	return 1;
}

static unsigned int program_try(enum odrp_wire_chain chain, const struct wrc_opts *opts)
{
	struct wrc_prog good;
	unsigned int i, j, nr, n = 0;

	if (wrc_prog_build(chain, opts, &good))
		return 0;
	nr = unlinked.nr_insn;
	for (i = 0; i < nr; i++) {
		/* Each attempt leaves its own program in `unlinked`. */
		unsigned int nr_sge = unlinked.insn[i].nr_sge;

		n += victim_try(chain, opts, i, WRC_F_RADDR, 0);
		for (j = 0; j < nr_sge; j++)
			n += victim_try(chain, opts, i, WRC_F_ADDR, j);
	}
	return n;
}

static void request_at_fixed_places(void **state)
{
	static const enum wrc_variant variants[NR_VARIANTS] = {
		WRC_V_OURS, WRC_V_EXCHANGE, WRC_V_KEYED,
	};
	unsigned int tried = 0;

	(void)state;
	for (int mode = 0; mode < NR_VARIANTS * 8; mode++) {
		struct wrc_opts opts = {
			.variant = variants[mode / 8],
			.strict_index = mode & 1,
			.order = mode & 2 ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
			.recycle = mode & 4 ? WRC_RECYCLE_CLIENT :
					      WRC_RECYCLE_NODE,
		};

		for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
			tried += program_try(chain, &opts);
	}
	assert_true(tried > 100);
}

/* ---- a program that does nothing else ---------------------------------------------- */

enum place {
	TARGET_OF_WRITE,
	SOURCE_OF_READ,
	RESULT_OF_READ,
	NR_PLACES,
};

static int place_insn(struct wrc_build *w, enum place place)
{
	struct wrc_ref page = wrc_reg(WRC_REG_PAGE, 0), tt = wrc_reg(WRC_REG_TT, 0);
	struct wrc_ref trash = wrc_reg(WRC_REG_TRASH, 0);

	switch (place) {
	case TARGET_OF_WRITE:
		return wrc_write(w, page, tt, 8, WRC_I_SIGNALED);
	case SOURCE_OF_READ:
		return wrc_read(w, page, trash, 8);
	default:
		return wrc_read(w, tt, trash, 8);
	}
}

/* A load with one instruction more, whose address the request gives, or does not. */
static void place_open(struct bench *b, enum place place, bool given, bool node)
{
	struct wrc_opts opts = { .recycle = node ? WRC_RECYCLE_NODE : WRC_RECYCLE_CLIENT };
	enum wrc_field field = place == RESULT_OF_READ ? WRC_F_ADDR : WRC_F_RADDR;
	struct wrc_ref imm, rkey;
	int body, look, copy, insn, go, answer;
	struct wrc_build w;

	wrc_begin(&w, &b->prog, ODRP_WIRE_LOAD, "places", &opts);
	body = wrc_prog_head(&w);
	look = wrc_read(&w, wrc_at(WRC_SP_TT), wrc_at(WRC_SP_NONE), 8);
	copy = wrc_read(&w, wrc_field(look, WRC_F_RADDR, 0), wrc_reg(WRC_REG_TT, 0), 8);
	wrc_wait(&w, copy);
	insn = place_insn(&w, place);
	wrc_wait(&w, insn);
	go = wrc_send_en(&w, 0);
	wrc_enable_upto(&w, body, WRC_NEXT_HEAD);
	answer = wrc_prog_answer(&w, go, ODRP_WIRE_PAGE_SIZE, WRC_I_SIGNALED);
	wrc_set_local(&w, look, 0, wrc_field(answer, WRC_F_ADDR, 0));
	imm = given ? wrc_field(insn, field, 4) : wrc_field(answer, WRC_F_IMM, 0);
	rkey = given ? wrc_field(insn, field, 0) : wrc_field(answer, WRC_F_RKEY, 0);
	wrc_arg(&w, 0, 8, wrc_field(look, WRC_F_RADDR, 0));
	wrc_arg(&w, 8, 4, imm);
	wrc_arg(&w, 12, 4, wrc_field(answer, WRC_F_RADDR, 0));
	wrc_arg(&w, 16, 4, wrc_field(answer, WRC_F_RADDR, 4));
	wrc_arg(&w, 20, 4, rkey);
	assert_int_equal(wrc_end(&w), 0);
	bench_image(b, K);
}

static void request_in_two_halves(void **state)
{
	struct bench b;

	(void)state;
	for (int mode = 0; mode < 2 * NR_PLACES; mode++) {
		place_open(&b, mode / 2, false, mode & 1);
		expect_accepted(&b);
		bench_close(&b);
		place_open(&b, mode / 2, true, mode & 1);
		expect_refusal(&b, WRC_RULE_PATCH,
			       "has a field written that this source may not write");
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_at_fixed_places),
		cmocka_unit_test(request_in_two_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
