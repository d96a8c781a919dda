// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The recycle words against a model that shares nothing with them: it walks
 * through the instances with counters of the NIC's widths, one request after
 * the other, and says what each count must be then.  2^24 requests and more,
 * so that every counter wraps.
 */
#include "bench.h"

/* What stands in the loop queue, as decided on paper. */
struct step {
	/*
	 * Request wait, Wait for the last CQE, wait for a Message, Enable, Gate
	 * whose count comes last, Answer, .
	 */
	char what;
	uint8_t bbs;
	uint8_t end;	/* Enable, Answer: blocks from the instance's start */
	bool cqe;
};

#define MAX_STEPS 24

/* Page exchange, behind the present programs. */
#define EXCHANGE ODRP_WIRE_NR_CHAINS
/* Then with fences: ours, but for the stores, which exchange. */
#define FENCES (EXCHANGE + ODRP_WIRE_INVALIDATE)
#define NR_PROGS (FENCES + ODRP_WIRE_NR_CHAINS)

static const struct step steps[NR_PROGS][MAX_STEPS] = {
	[ODRP_WIRE_LOAD] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 10 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'A', 1 }, { '.', 2 },
	},
	[ODRP_WIRE_MAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 6 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'E', 1, 18 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'A', 1 }, { '.', 7 },
	},
	[ODRP_WIRE_UNMAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 10 },
		{ '.', 1, 0, true }, { 'W', 1 }, { '.', 3, 0, true },
		{ 'W', 1 }, { 'E', 1, 14 },
		{ '.', 2, 0, true }, { 'W', 1 }, { 'E', 1, 34 },
		{ '.', 1 }, { '.', 1, 0, true }, { 'W', 1 }, { 'A', 1 },
		{ '.', 14 },
	},
	[ODRP_WIRE_INVALIDATE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 10 },
		{ '.', 2, 0, true }, { 'W', 1 }, { '.', 2, 0, true },
		{ 'W', 1 }, { 'E', 1, 17 },
		{ '.', 1, 0, true }, { 'W', 1 }, { '.', 3, 0, true },
		{ 'W', 1 }, { 'E', 1, 34 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'A', 1 }, { '.', 12 },
	},
	[EXCHANGE + ODRP_WIRE_LOAD] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 12 },
		{ '.', 2, 0, true }, { 'W', 1 }, { 'A', 1, 1 },
		{ '.', 1, 0, true }, { '.', 1, 0, true }, { 'W', 1 },
		{ 'M', 1 }, { 'E', 1, 18 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'A', 1, 2 }, { '.', 1 },
	},
	[EXCHANGE + ODRP_WIRE_MAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'G', 1, 8 },
		{ '.', 2, 0, true }, { 'W', 1 }, { 'A', 1, 1 }, { 'E', 1, 18 },
		{ '.', 1 }, { '.', 3, 0, true }, { '.', 1, 0, true },
		{ 'W', 1 }, { '.', 1 }, { '.', 1 },
	},
	[EXCHANGE + ODRP_WIRE_UNMAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'G', 1, 8 },
		{ '.', 2, 0, true }, { 'W', 1 }, { 'A', 1, 1 }, { 'E', 1, 16 },
		{ '.', 1, 0, true }, { '.', 1, 0, true }, { 'W', 1 },
		{ '.', 3, 0, true }, { 'W', 1 }, { 'E', 1, 20 },
		{ '.', 2, 0, true }, { 'W', 1 }, { 'E', 1, 34 },
		{ '.', 1 }, { '.', 3, 0, true }, { '.', 1, 0, true },
		{ 'W', 1 }, { '.', 1 }, { '.', 5 },
	},
	[FENCES + ODRP_WIRE_LOAD] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 10 },
		{ '.', 1, 0, true }, { 'A', 1 }, { '.', 3 },
	},
	[FENCES + ODRP_WIRE_MAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'G', 1, 7 },
		{ '.', 2, 0, true }, { 'A', 1, 1 }, { 'E', 1, 18 },
		{ '.', 1 }, { '.', 3, 0, true }, { '.', 1, 0, true },
		{ '.', 1 }, { '.', 3 },
	},
	[FENCES + ODRP_WIRE_UNMAPPED_STORE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'G', 1, 7 },
		{ '.', 2, 0, true }, { 'A', 1, 1 }, { 'E', 1, 13 },
		{ '.', 1, 0, true }, { '.', 1, 0, true },
		{ '.', 3, 0, true }, { 'E', 1, 16 },
		{ '.', 2, 0, true }, { 'E', 1, 34 },
		{ '.', 1 }, { '.', 3, 0, true }, { '.', 1, 0, true },
		{ '.', 1 }, { '.', 10 },
	},
	[FENCES + ODRP_WIRE_INVALIDATE] = {
		{ 'R', 1 }, { 'E', 1, 3 }, { 'E', 1, 8 },
		{ '.', 2, 0, true }, { '.', 2, 0, true }, { 'E', 1, 13 },
		{ '.', 1, 0, true }, { '.', 3, 0, true }, { 'E', 1, 18 },
		{ '.', 1, 0, true }, { 'W', 1 }, { 'A', 1 },
	},
};

static enum wrc_variant variant_of(int which)
{
	if (which == FENCES + ODRP_WIRE_MAPPED_STORE ||
	    which == FENCES + ODRP_WIRE_UNMAPPED_STORE)
		return WRC_V_EXCHANGE;
	if (which >= FENCES)
		return WRC_V_OURS;
	return which < EXCHANGE ? WRC_V_OURS : WRC_V_EXCHANGE;
}

static enum odrp_wire_chain chain_of(int which)
{
	if (which >= FENCES)
		return which - FENCES;
	return which % EXCHANGE;
}

/* The NIC's counters at the start of an instance. */
struct model {
	const struct step *steps;
	uint32_t depth;
	bool strict;
	uint32_t requests;	/* receive completions, 24 bits */
	uint32_t cqes;		/* loop completions, 24 bits */
	uint16_t loop, client;	/* blocks */
	uint16_t posted;	/* receive entries */
	uint32_t messages;	/* that were seen to arrive, 24 bits */
	int size;		/* blocks of an instance */
	bool store;		/* page exchange: posts its own entry, gate last */
	bool pages_first;	/* page exchange, load: two messages */
	uint16_t tail;
};

struct formula {
	uint32_t base, step, mask;
	uint8_t kind;
};

struct client {
	struct formula f[WRC_MAX_WORDS];
	int n, at;
	uint32_t r;
};

/* The next word that the client sends must be this. */
static inline void expect(struct client *c, uint8_t kind, uint32_t value)
{
	const struct formula *f = &c->f[c->at++];
	uint32_t have = (f->base + c->r * f->step) & f->mask;

	if (f->kind == kind && have == value)
		return;
	fail_msg("request %u word %d: kind %u value %u, expected %u and %u",
		 c->r, c->at - 1, f->kind, have, kind, value);
}

/* The words of one step, for an instance that starts at these counters. */
static inline void expect_step(struct client *c, const struct model *m,
			       const struct step *s, uint32_t request,
			       uint16_t loop, uint16_t at, uint32_t cqes)
{
	if (m->strict)
		expect(c, WRC_WORD_INDEX, at);
	switch (s->what) {
	case 'R':
		expect(c, WRC_WORD_WAIT, request);
		break;
	case 'W':
		expect(c, WRC_WORD_WAIT, (cqes - 1) & 0xffffff);
		break;
	case 'E':
		expect(c, WRC_WORD_ENABLE, (uint16_t)(loop + s->end));
		break;
	case 'A':
		expect(c, WRC_WORD_ENABLE,
		       (uint16_t)(m->client + (s->end ? s->end : 1)));
		break;
	case 'M':
		expect(c, WRC_WORD_WAIT, m->messages);
		break;
	}
}

/* One request: the next instance's head, this one's body, the record. */
static void serve(struct model *m, struct client *c)
{
	uint16_t at = m->loop, next = m->loop + m->size;

	c->at = 0;
	for (int i = 0; i < MAX_STEPS && m->steps[i].what; i++) {
		const struct step *s = &m->steps[i];

		if (i < 2)
			expect_step(c, m, s, (m->requests + 1) & 0xffffff,
				    next, next + i, 0);
		else
			expect_step(c, m, s, 0, m->loop, at, m->cqes);
		if (s->what == 'G')
			m->tail = m->loop + s->end;
		at += s->bbs;
		m->cqes = (m->cqes + s->cqe) & 0xffffff;
	}
	assert_int_equal(at, next);
	if (m->pages_first) {
		if (m->strict)
			expect(c, WRC_WORD_INDEX, m->client);
		expect(c, WRC_WORD_PAGE, WRC_WQE_WRITE);
		m->client++;
		m->messages = (m->messages + 1) & 0xffffff;
	}
	if (m->strict)
		expect(c, WRC_WORD_INDEX, m->client);
	expect(c, WRC_WORD_ANSWER, WRC_WQE_WRITE_IMM);
	m->posted++;
	expect(c, WRC_WORD_DBR, m->posted);
	if (m->store)
		expect(c, WRC_WORD_ENABLE, m->tail);
	/* r + 1 consumed; what remains posted is K - 1, or all K, always. */
	if ((uint16_t)(m->posted - m->requests - 1) != m->depth - !m->store)
		fail_msg("request %u leaves %u posted", c->r,
			 (uint16_t)(m->posted - m->requests - 1));
	if (c->at != c->n)
		fail_msg("%d words, expected %d", c->n, c->at);
	m->loop = next;
	m->client++;
	m->requests = (m->requests + 1) & 0xffffff;
	c->r++;
}

/* What a word that is no count says of a quiet request, or an early page. */
static uint8_t other_opcode(int prog, uint8_t kind)
{
	if (kind == WRC_WORD_PAGE)
		return WRC_WQE_WRITE_IMM;
	return prog == ODRP_WIRE_LOAD ||
	       prog == FENCES + ODRP_WIRE_LOAD ? WRC_WQE_WRITE : WRC_WQE_NOP;
}

static void open_client(int which, bool strict, uint32_t depth,
			struct client *c, struct model *m)
{
	struct wrc_word_rule words[WRC_MAX_WORDS];
	struct wrc_opts opts = {
		.strict_index = strict,
		.variant = variant_of(which),
		.order = which >= FENCES ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
	};
	struct wrc_prog prog;
	struct wrc_geom geom;

	assert_int_equal(wrc_any_build(chain_of(which), &opts, &prog), 0);
	assert_int_equal(wrc_geom_init(&prog, depth, &geom), 0);
	memset(c, 0, sizeof(*c));
	c->n = wrc_words(&prog, &geom, words);
	assert_true(c->n > 0 && c->n <= WRC_MAX_WORDS);
	for (int i = 0; i < c->n; i++) {
		c->f[i].kind = words[i].kind;
		c->f[i].base = be16toh(words[i].base);
		c->f[i].step = words[i].step;
		if (words[i].kind >= WRC_WORD_ANSWER) {
			assert_int_equal(words[i].step,
					 other_opcode(which, words[i].kind));
			c->f[i].step = 0;
		}
		c->f[i].mask = words[i].kind == WRC_WORD_WAIT ?
				       0xffffff : 0xffff;
	}
	*m = (struct model){ .steps = steps[which], .depth = depth,
			     .strict = strict,
			     .store = wrc_owns(&prog) && prog.page,
			     .pages_first = wrc_owns(&prog) && !prog.page };
	m->posted = depth - !m->store;
	for (int i = 0; i < MAX_STEPS && steps[which][i].what; i++)
		m->size += steps[which][i].bbs;
	assert_int_equal(m->size & (m->size - 1), 0);
}

#define WRAP_24 (0x1000000 + 5000)
#define WRAP_16 (0x10000 + 5000)

/* Beyond 2^24 requests, and so beyond every other wrap. */
static void for_ever(void **state)
{
	struct client c;
	struct model m;

	for (int prog = 0; prog < NR_PROGS; prog++) {
		open_client(prog, false, 64, &c, &m);
		for (uint32_t r = 0; r < WRAP_24; r++)
			serve(&m, &c);
	}
}

static void every_depth(void **state)
{
	struct client c;
	struct model m;

	for (int prog = 0; prog < NR_PROGS; prog++)
		for (int strict = 0; strict < 2; strict++)
			for (uint32_t k = 4; k <= 1024; k *= 2) {
				open_client(prog, strict, k, &c, &m);
				for (uint32_t r = 0; r < WRAP_16; r++)
					serve(&m, &c);
			}
}

/* What stands in the image is what a request before the first would bring; in
 * the gate, what one a lap before that would have. */
static void first_lap(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct wrc_word_rule words[WRC_MAX_WORDS];
		struct bench b;
		int n;

		bench_open(&b, chain, true, 8);
		n = wrc_words(&b.prog, &b.geom, words);
		for (int i = 0; i < n; i++) {
			const struct wrc_word *w = &b.prog.word[i];
			bool index = w->kind == WRC_WORD_INDEX;
			int lap = !index && wrc_is_gate(&b.prog, w->insn) ? 8 : 0;

			if (w->kind == WRC_WORD_DBR)
				continue;
			if (w->kind == WRC_WORD_ANSWER) {
				for (uint32_t k = 0; k < 8; k++)
					assert_int_equal(*bench_field(&b,
						w->insn, WRC_F_OPCODE, 0, k),
						be16toh(words[i].base));
				continue;
			}
			for (uint32_t k = 0; k < 8; k++) {
				uint8_t *at = bench_field(&b, w->insn,
						index ? WRC_F_INDEX :
							WRC_F_COUNT, 0, k);
				uint32_t have = index ? at[0] << 8 | at[1] :
					at[1] << 16 | at[2] << 8 | at[3];

				assert_int_equal(have, 0xffff &
					(be16toh(words[i].base) +
					 ((int)k - w->delta - lap) *
						 words[i].step));
			}
		}
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(for_ever),
		cmocka_unit_test(every_depth),
		cmocka_unit_test(first_lap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
