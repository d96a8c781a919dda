// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier against corruption: in the good image of each program every
 * field of every WQE and receive entry gets other values, and every bit is
 * flipped.  A mutant is refused, in a sentence that names the rule; or what was
 * corrupted is documented below not to matter, and running it shows that: the
 * same memory, completions and answers as those of the good image, to the last
 * byte, while two CNodes are at work and connections end.
 *
 * ODRP_NIGHTLY=1: all values instead of some, and pairs of fields.
 */
#include <stdio.h>
#include <stdlib.h>
#include "../../lib/nightly.h"
#include "stage.h"

/* Why a corruption may be harmless; documented in wrchain/README.md. */
enum excuse {
	BY_REQUEST,	/* the request overwrites it before it is enabled */
	BY_RESULT,	/* another WQE's result does */
	NOP_LENGTH,	/* a NOP that says it is shorter, in the same blocks */
	BEHIND_WQE,	/* in a WQE's blocks, behind its end */
	BEHIND_LIST,	/* behind the last segment of a receive entry */
	REGISTER,	/* written before it is read */
	NOBODYS,	/* between the rings, and records of no queue */
	NO_EXCUSE,
	NR_EXCUSES,
};

static const char *const excuse_names[] = {
	[BY_REQUEST] = "overwritten by the request",
	[BY_RESULT] = "overwritten by a result",
	[NOP_LENGTH] = "length of a NOP",
	[BEHIND_WQE] = "behind a WQE's end",
	[BEHIND_LIST] = "behind a receive list's end",
	[REGISTER] = "register",
	[NOBODYS] = "nobody's",
	[NO_EXCUSE] = "no excuse",
};

#define MAX_FIELDS 4096
#define UMR_AT sizeof(struct wrc_wqe_ctrl)
#define MKC_AT (UMR_AT + sizeof(struct wrc_wqe_umr))
#define XLT_AT (MKC_AT + sizeof(struct wrc_wqe_mkc))
#define UMR_LEN (XLT_AT + sizeof(struct wrc_wqe_xlt))

struct field {
	uint32_t off;
	uint32_t width;
};

struct trial {
	struct stage st;
	uint8_t *image;		/* good, but for the mutation under way */
	uint8_t *harmless;	/* 1: may differ after a run */
	struct {
		uint8_t *mem;
		struct stage_end end;
	} good[STAGE_NR_SCENES][2];
	unsigned long checked, ran;
	unsigned long refused[WRC_NR_RULES], excused[NR_EXCUSES];
	bool wrapped[NR_EXCUSES];
	uint64_t values8[512];
	uint32_t values4[512];
	unsigned int nr8, nr4;
	struct field field[MAX_FIELDS];
	unsigned int nr_fields;
	uint32_t random;
	bool nightly;
};

static uint32_t any(struct trial *t)
{
	uint32_t x = t->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return t->random = x;
}

/* ---- what a byte is ---------------------------------------------------------- */

static enum excuse excuse_of_field(const struct wrc_prog *prog,
				   const struct wrc_place *at, uint32_t off)
{
	const struct wrc_insn *i = &prog->insn[at->insn];
	uint32_t len;
	bool request = false, result = false;

	len = i->op == WRC_WQE_NOP ? 16 : i->nr_sge * 16 +
	      wrc_field_at(i->op, WRC_F_LEN, 0);
	if (i->op == WRC_WQE_WAIT || i->op == WRC_WQE_SEND_EN)
		len = 32;
	if (i->op == WRC_WQE_UMR)
		len = UMR_LEN;
	if (off >= len)
		return BEHIND_WQE;
	if (i->op == WRC_WQE_NOP && at->byte.field == WRC_F_DS)
		return NOP_LENGTH;
	if (at->byte.field == WRC_NR_FIELDS)
		return NO_EXCUSE;
	for (unsigned int p = 0; p < prog->nr_patches; p++) {
		const struct wrc_patch *q = &prog->patch[p];

		if (q->insn != at->insn || q->field != at->byte.field ||
		    q->sge != at->byte.sge || at->byte.off < q->field_off ||
		    at->byte.off >= q->field_off + q->width)
			continue;
		request |= q->source == WRC_RECV;
		result |= q->source != WRC_RECV;
	}
	return request ? BY_REQUEST : result ? BY_RESULT : NO_EXCUSE;
}

static enum excuse excuse_of(const struct trial *t, uint32_t off)
{
	const struct stage_cnode *c = &t->st.c[0];
	const struct wrc_geom *g = &c->geom;
	struct wrc_place at = wrc_place_of(&c->prog, g, off);
	uint32_t rq_len = g->depth << g->log_rq_stride;

	if (at.space == WRC_SP_FIELD)
		return excuse_of_field(&c->prog, &at,
			off - wrc_insn_off(&c->prog, g, at.insn, at.instance));
	if (at.space == WRC_SP_REG)
		return REGISTER;
	if (at.space == WRC_SP_DBR)
		return NO_EXCUSE;
	if (off >= g->client_rq && off - g->client_rq < rq_len) {
		uint32_t in = (off - g->client_rq) &
			      ((1u << g->log_rq_stride) - 1);

		/* The segment that ends the list is part of it. */
		return in / 16 > c->prog.nr_scatter ? BEHIND_LIST : NO_EXCUSE;
	}
	return NOBODYS;
}

/* ---- running ------------------------------------------------------------------- */

static void learn(struct trial *t, enum stage_scene scene, int fetch)
{
	struct stage_end *end = &t->good[scene][fetch].end;

	stage_run(&t->st, stage_image(&t->st), scene, fetch, end);
	stage_expect_well(&t->st, scene, end);
	t->good[scene][fetch].mem = malloc(t->st.len);
	assert_non_null(t->good[scene][fetch].mem);
	memcpy(t->good[scene][fetch].mem, t->st.mem, t->st.len);
}

/* The first byte that is not as it should be, or -1. */
static long difference(const struct trial *t, const uint8_t *good)
{
	const struct stage *st = &t->st;
	size_t from = st->c[0].arena - st->mem;
	size_t to = from + st->c[0].geom.arena_len;
	bool ours = memcmp(st->mem + from, good + from, to - from);
	bool others = memcmp(st->mem, good, from) ||
		      memcmp(st->mem + to, good + to, st->len - to);

	/* Byte by byte only where something is to be found. */
	if (!ours && !others)
		return -1;
	for (size_t i = others ? 0 : from; i < (others ? st->len : to); i++)
		if (st->mem[i] != good[i] &&
		    (i < from || i >= to || !t->harmless[i - from]))
			return i;
	return -1;
}

/* Does a run end as that of the good image?  If not, ret_what tells where. */
static bool ends_well(struct trial *t, enum stage_scene scene, int fetch,
		      char ret_what[80])
{
	const struct stage_end *good = &t->good[scene][fetch].end;
	struct stage_end end;
	long at;

	if (!t->good[scene][fetch].mem)
		learn(t, scene, fetch);
	stage_run(&t->st, t->image, scene, fetch, &end);
	t->ran++;
	at = difference(t, t->good[scene][fetch].mem);
	snprintf(ret_what, 80, "scene %d, %s, byte %ld, %u answers of %u",
		 scene, fetch == SNIC_FETCH_EARLY ? "early" : "late", at,
		 end.answered, good->answered);
	return at < 0 && end.answered == good->answered &&
	       end.log == good->log && end.now == good->now;
}

static void run_one(struct trial *t, enum stage_scene scene, int fetch,
		    const char *what)
{
	char where[80];

	if (!ends_well(t, scene, fetch, where))
		fail_msg("%s: %s was accepted and does harm: %s",
			 t->st.c[0].prog.name, what, where);
}

static void expect_harmless(struct trial *t, enum excuse excuse,
			    const char *what)
{
	for (int scene = STAGE_LAPS; scene < STAGE_WRAP; scene++)
		for (int fetch = 0; fetch < 2; fetch++)
			run_one(t, scene, fetch, what);
	if (t->wrapped[excuse] && (!t->nightly || any(t) % 16))
		return;
	t->wrapped[excuse] = true;
	run_one(t, STAGE_WRAP, SNIC_FETCH_EARLY, what);
}

/* ---- numbers in the image ------------------------------------------------ */

static void put(uint8_t *at, uint64_t value, uint32_t width)
{
	for (uint32_t i = width; i--; value >>= 8)
		at[i] = value;
}

static uint64_t get(const uint8_t *at, uint32_t width)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < width; i++)
		v = v << 8 | at[i];
	return v;
}

/* ---- judging -------------------------------------------------------------------- */

static void count_refusal(struct trial *t, const char *why)
{
	for (int rule = 0; rule < WRC_NR_RULES; rule++) {
		const char *name = wrc_rule_name(rule);
		size_t len = strlen(name);

		if (strncmp(why, name, len) || why[len] != ':')
			continue;
		assert_true(strlen(why) > len + 10);
		assert_null(strchr(why, '\n'));
		t->refused[rule]++;
		return;
	}
	fail_msg("refused without a reason: '%s'", why);
}

/* true: the verifier refuses the image as it is now. */
static bool is_refused(struct trial *t)
{
	const struct stage_cnode *c = &t->st.c[0];
	char why[WRC_WHY_MAX] = "";
	int err = wrc_image_check(&c->prog, &c->geom, &c->bind, t->image, why);

	t->checked++;
	if (!err)
		return false;
	assert_int_equal(err, -EPERM);
	count_refusal(t, why);
	return true;
}

/* How many accepted mutants of a kind run: all of what the NIC looks at. */
static bool sampled(struct trial *t, enum excuse excuse)
{
	unsigned long n = t->excused[excuse];

	if (n < 4)
		return true;
	switch (excuse) {
	case BY_REQUEST:
	case BY_RESULT:
	case NOP_LENGTH:
		return !(n % (t->nightly ? 16 : 64));
	default:
		return !(n % (t->nightly ? 64 : 4096));
	}
}

/* len bytes at off have another value now. */
static void judge(struct trial *t, uint32_t off, uint32_t len)
{
	const uint8_t *good = stage_image(&t->st);
	enum excuse excuse = NO_EXCUSE;
	bool first = true;
	char what[120];

	if (!memcmp(t->image + off, good + off, len))
		return;
	if (!is_refused(t)) {
		for (uint32_t i = 0; i < len; i++)
			if (t->image[off + i] != good[off + i]) {
				enum excuse e = excuse_of(t, off + i);

				if (first || e == NO_EXCUSE)
					excuse = e;
				first = false;
				t->harmless[off + i] = 1;
			}
		snprintf(what, sizeof(what), "0x%x[%u] = 0x%llx, was 0x%llx (%s)",
			 off, len,
			 (unsigned long long)get(t->image + off,
						 len < 8 ? len : 8),
			 (unsigned long long)get(good + off,
						 len < 8 ? len : 8),
			 excuse_names[excuse]);
		if (excuse == NO_EXCUSE)
			fail_msg("%s: %s was accepted", t->st.c[0].prog.name,
				 what);
		if (sampled(t, excuse))
			expect_harmless(t, excuse, what);
		t->excused[excuse]++;
		memset(t->harmless + off, 0, len);
	}
	memcpy(t->image + off, good + off, len);
}

/* ---- values ------------------------------------------------------------------------ */

static void try(struct trial *t, uint32_t off, uint32_t width, uint64_t value)
{
	put(t->image + off, value, width);
	judge(t, off, width);
}

static void remember(struct trial *t, uint64_t v, uint32_t width)
{
	unsigned int i;

	if (width == 8) {
		for (i = 0; i < t->nr8 && t->values8[i] != v; i++)
			;
		if (i == t->nr8 && i < 512)
			t->values8[t->nr8++] = v;
	} else if (width == 4) {
		for (i = 0; i < t->nr4 && t->values4[i] != v; i++)
			;
		if (i == t->nr4 && i < 512)
			t->values4[t->nr4++] = v;
	}
}

static void remember_bind(struct trial *t, const struct stage_cnode *c)
{
	const struct wrc_bind *b = &c->bind;
	const uint32_t v4[] = {
		b->client_qpn, b->client_rcqn, b->loop_qpn, b->loop_scqn,
		b->arena_key, b->buf_key, b->tt_key, b->free_key, b->pool_key,
		b->arena_rkey, b->keymap_key, c->ksm ? c->ksm_key : 0,
		c->peer_key, c->peer_qpn, c->peer_rcqn, c->peer_scqn,
		WRC_WQE_END_LKEY, ODRP_WIRE_PAGE_SIZE,
	};
	const uint64_t v8[] = {
		b->arena_iova, b->buf_iova, b->free_head, b->free_tail,
		b->free_ring, WRC_POOL_IOVA, (uintptr_t)c->in,
		b->arena_iova + c->geom.scratch,
		b->arena_iova + c->geom.client_dbr,
		b->arena_iova + c->geom.loop_dbr,
	};

	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		remember(t, v4[i], 4);
	for (size_t i = 0; i < sizeof(v8) / sizeof(v8[0]); i++)
		remember(t, v8[i], 8);
}

/* Values near the right one, values of other fields, and any. */
static void try_values(struct trial *t, uint32_t off, uint32_t width)
{
	static const int64_t steps[] = {
		1, -1, 2, 8, -8, 16, -16, 64, -64, 4096, -4096, 256, 1 << 24,
		0x10000,
	};
	uint64_t v = get(stage_image(&t->st) + off, width);
	unsigned int n = width == 8 ? t->nr8 : width == 4 ? t->nr4 : 0, i;
	unsigned int every = t->nightly ? 1 : 1 + n / 12;

	try(t, off, width, 0);
	try(t, off, width, 1);
	try(t, off, width, ~0ull);
	try(t, off, width, ~v);
	try(t, off, width, width == 8 ? __builtin_bswap64(v) : v << 1);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		try(t, off, width, v + steps[i]);
	for (i = any(t) % every; i < n; i += every)
		try(t, off, width, width == 8 ? t->values8[i] : t->values4[i]);
	for (i = 0; i < 4; i++)
		try(t, off, width, (uint64_t)any(t) << 32 | any(t));
	if (width == 1)
		for (i = 0; i < 256; i += t->nightly ? 1 : 1 + any(t) % 7)
			try(t, off, width, i);
}

/* ---- everywhere ---------------------------------------------------------------------- */

static void add(struct trial *t, uint32_t off, uint32_t width)
{
	assert_true(t->nr_fields < MAX_FIELDS);
	t->field[t->nr_fields++] = (struct field){ off, width };
	remember(t, get(stage_image(&t->st) + off, width), width);
}

/* No instruction has a field for these parts of a UMR: how much, from where on, more of
 * the key, and the entries that stay empty. */
static void add_umr(struct trial *t, uint32_t off)
{
	static const struct field rest[] = {
		{ UMR_AT, 1 }, { UMR_AT + 1, 1 }, { UMR_AT + 2, 2 },
		{ UMR_AT + offsetof(struct wrc_wqe_umr, octowords), 2 },
		{ UMR_AT + offsetof(struct wrc_wqe_umr, mkey_mask), 8 },
		{ UMR_AT + offsetof(struct wrc_wqe_umr, offset_high), 4 },
		{ XLT_AT, 4 },
	};
	uint32_t at;

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		add(t, off + rest[i].off, rest[i].width);
	for (at = UMR_AT + offsetof(struct wrc_wqe_umr, resv1); at < XLT_AT;
	     at += 4)
		add(t, off + at, 4);
	for (at = XLT_AT + sizeof(struct wrc_ksm); at < UMR_LEN;
	     at += sizeof(struct wrc_ksm)) {
		add(t, off + at, 4);
		add(t, off + at + offsetof(struct wrc_ksm, key), 4);
		add(t, off + at + offsetof(struct wrc_ksm, addr), 8);
	}
}

static void add_wqe(struct trial *t, unsigned int insn, uint32_t instance)
{
	const struct stage_cnode *c = &t->st.c[0];
	const struct wrc_insn *i = &c->prog.insn[insn];
	uint32_t off = wrc_insn_off(&c->prog, &c->geom, insn, instance);

	for (int f = 0; f < WRC_NR_FIELDS; f++) {
		const struct wrc_fielddef *def = wrc_fielddef(f);
		unsigned int n = def->seg == WRC_SEG_DATA ? i->nr_sge : 1;

		for (unsigned int s = 0; s < n; s++) {
			int at = wrc_field_at(i->op, f, s);

			if (at < 0)
				continue;
			/* A QPN has three bytes, the index two. */
			add(t, off + at, def->width);
		}
	}
	add(t, off + 8, 1);		/* reserved, as all the rest is not */
	if (i->op == WRC_WQE_UMR)
		add_umr(t, off);
}

static void add_entry(struct trial *t, uint32_t instance)
{
	const struct wrc_geom *g = &t->st.c[0].geom;
	uint32_t from = g->client_rq + (instance << g->log_rq_stride);

	for (uint32_t off = 0; off < 1u << g->log_rq_stride; off += 16) {
		add(t, from + off, 4);
		add(t, from + off + 4, 4);
		add(t, from + off + 8, 8);
	}
}

static void add_all(struct trial *t)
{
	const struct stage_cnode *c = &t->st.c[0];

	for (uint32_t k = 0; k < STAGE_DEPTH; k++) {
		/* One in the middle, or the one at the wrap; at night all. */
		if (!t->nightly && k != (t->st.strict ? 1 : STAGE_DEPTH - 1))
			continue;
		for (unsigned int i = 0; i < c->prog.nr_insn; i++)
			add_wqe(t, i, k);
		add_entry(t, k);
	}
	for (uint32_t off = 0; off < sizeof(struct wrc_dbr); off += 4) {
		add(t, c->geom.loop_dbr + off, 4);
		add(t, c->geom.client_dbr + off, 4);
	}
	remember_bind(t, &t->st.c[0]);
	remember_bind(t, &t->st.c[1]);
}

static void every_field(struct trial *t)
{
	for (unsigned int i = 0; i < t->nr_fields; i++)
		try_values(t, t->field[i].off, t->field[i].width);
}

/* By day those of one instance's WQEs, of its entry, and some of the rest. */
static bool wants_bits(struct trial *t, uint32_t off)
{
	const struct stage_cnode *c = &t->st.c[0];
	struct wrc_place at = wrc_place_of(&c->prog, &c->geom, off);
	enum excuse excuse = excuse_of(t, off);

	if (t->nightly)
		return true;
	if (excuse == NOBODYS || excuse == BEHIND_WQE || excuse == REGISTER)
		return !(any(t) % 61);
	return at.space == WRC_SP_FIELD ? at.instance == 2 : !(any(t) % 3);
}

static void every_bit(struct trial *t)
{
	for (uint32_t off = 0; off < t->st.c[0].geom.arena_len; off++)
		for (int bit = 0; wants_bits(t, off) && bit < 8; bit++) {
			t->image[off] ^= 1 << bit;
			judge(t, off, 1);
		}
}

/* Two fields at once; the range between them is as it was. */
static void pairs(struct trial *t)
{
	for (unsigned int n = t->nightly ? 20000 : 200; n; n--) {
		const struct field *a = &t->field[any(t) % t->nr_fields];
		const struct field *b = &t->field[any(t) % t->nr_fields];
		const struct field *f = a->off < b->off ? a : b;
		const struct field *l = a->off < b->off ? b : a;
		uint64_t va = get(stage_image(&t->st) + a->off, a->width);
		uint64_t vb = get(stage_image(&t->st) + b->off, b->width);
		uint64_t d = 1ull << any(t) % (8 * a->width);

		/* What one gains the other may lose; or they change places. */
		if (any(t) % 2 && a->width == b->width) {
			put(t->image + a->off, vb, a->width);
			put(t->image + b->off, va, b->width);
		} else {
			put(t->image + a->off, va + d, a->width);
			put(t->image + b->off, vb - d, b->width);
		}
		judge(t, f->off, l->off + l->width - f->off);
	}
}

/* Is any value accepted here? */
static bool is_free(const struct trial *t, uint32_t off)
{
	const struct stage_cnode *c = &t->st.c[0];
	struct wrc_place at = wrc_place_of(&c->prog, &c->geom, off);
	enum excuse excuse = excuse_of(t, off);

	/* One of these is right before the first request. */
	if (c->prog.node && at.space == WRC_SP_FIELD &&
	    at.byte.field == WRC_F_RADDR &&
	    (wrc_renews(&c->prog, at.insn) ||
	     wrc_is_asked(&c->prog, at.insn) ||
	     c->prog.insn[at.insn].remote.space == WRC_SP_TT))
		return false;
	if (excuse == BY_REQUEST || excuse == BY_RESULT)
		return at.byte.field == WRC_F_RADDR ||
		       at.byte.field == WRC_F_ADDR;
	return excuse != NO_EXCUSE && excuse != NOP_LENGTH;
}

/* All that does not matter, at once: still accepted, still harmless. */
static void all_free(struct trial *t)
{
	const uint8_t *good = stage_image(&t->st);
	uint32_t len = t->st.c[0].geom.arena_len;

	for (int n = t->nightly ? 500 : 10; n; n--) {
		for (uint32_t off = 0; off < len; off++)
			if (is_free(t, off)) {
				t->image[off] = any(t);
				t->harmless[off] = 1;
			}
		if (is_refused(t))
			fail_msg("%s: refused for what does not matter",
				 t->st.c[0].prog.name);
		expect_harmless(t, NOBODYS, "all that does not matter");
		memcpy(t->image, good, len);
		memset(t->harmless, 0, len);
	}
}

/*
 * Would harm be seen?  Fields that decide what a WQE does, when and where, with
 * other values: all are refused, and most end otherwise when they run.  The
 * rest come to the same by luck, or in these scenes: 65 bytes of a NOP, a count
 * that is rearmed in time, a slot that is not used.
 */
static void harm_is_seen(struct trial *t)
{
	unsigned int seen = 0, all = 0;
	char where[80];

	while (all < 60) {
		const struct field *f = &t->field[any(t) % t->nr_fields];
		uint64_t v = get(stage_image(&t->st) + f->off, f->width);
		bool well = true;

		if (excuse_of(t, f->off) != NO_EXCUSE || f->width < 4 ||
		    f->off >= t->st.c[0].geom.loop_dbr)
			continue;
		put(t->image + f->off, v + (any(t) % 2 ? 64 : 1), f->width);
		assert_true(is_refused(t));
		/* Its own byte is no sign of harm. */
		memset(t->harmless + f->off, 1, f->width);
		for (int scene = STAGE_LAPS; scene < STAGE_WRAP; scene++)
			for (int fetch = 0; fetch < 2; fetch++)
				well &= ends_well(t, scene, fetch, where);
		memset(t->harmless + f->off, 0, f->width);
		memcpy(t->image + f->off, stage_image(&t->st) + f->off,
		       f->width);
		seen += !well;
		all++;
	}
	printf("  harm seen in %u of %u that are refused\n", seen, all);
	assert_true(seen >= all / 2);
}

/* ---- the trial of one program ---------------------------------------------------------- */

static void report(const struct trial *t, const struct wrc_opts *opts)
{
	printf("%s, %s, %s%s%s: %lu mutants, %lu runs\n", t->st.c[0].prog.name,
	       wrc_variant_name(opts->variant),
	       opts->strict_index ? "strict" : "relaxed",
	       opts->recycle ? ", recycled by the node" : "",
	       opts->order ? ", with fences" : "",
	       t->checked, t->ran);
	printf("  refused:");
	for (int rule = 0; rule < WRC_NR_RULES; rule++)
		printf(" %s %lu", wrc_rule_name(rule), t->refused[rule]);
	printf("\n  harmless:");
	for (int e = 0; e < NO_EXCUSE; e++)
		printf("%s %s %lu", e ? "," : "", excuse_names[e],
		       t->excused[e]);
	printf("\n");
}

static void try_program(enum odrp_wire_chain chain, const struct wrc_opts *opts)
{
	struct trial *t = calloc(1, sizeof(*t));
	uint32_t len;

	assert_non_null(t);
	t->nightly = nightly();
	t->random = 1 + chain * 2 + opts->strict_index;
	stage_open(&t->st, chain, opts);
	len = t->st.c[0].geom.arena_len;
	t->image = malloc(len);
	t->harmless = calloc(1, len);
	assert_non_null(t->image);
	assert_non_null(t->harmless);
	memcpy(t->image, stage_image(&t->st), len);
	add_all(t);
	every_field(t);
	every_bit(t);
	pairs(t);
	all_free(t);
	report(t, opts);
	fflush(stdout);
	harm_is_seen(t);
	for (int i = 0; i < STAGE_NR_SCENES; i++)
		for (int fetch = 0; fetch < 2; fetch++)
			free(t->good[i][fetch].mem);
	free(t->image);
	free(t->harmless);
	stage_close(&t->st);
	free(t);
}

/* Every variant that the verifier has to accept. */
static void every_program(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int v = 0; v < WRC_NR_VARIANTS; v++)
			for (int strict = 0; strict < 2; strict++) {
				struct wrc_opts opts = {
					.strict_index = strict, .variant = v,
				};
				struct wrc_prog prog;

				if (!wrc_variant_excused(v) &&
				    !wrc_any_build(chain, &opts, &prog))
					try_program(chain, &opts);
			}
}

static bool is_store(int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* What a memory node arms that recycles; by day each in one mode. */
static void every_node_program(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++) {
			struct wrc_opts opts = {
				.strict_index = strict,
				.variant = is_store(chain) ? WRC_V_EXCHANGE :
							     WRC_V_OURS,
				.recycle = WRC_RECYCLE_NODE,
			};

			if (nightly() ||
			    strict == chain % 2)
				try_program(chain, &opts);
		}
}

/* And of stores that copy. */
static void every_node_copy(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++) {
			struct wrc_opts opts = {
				.strict_index = strict,
				.recycle = WRC_RECYCLE_NODE,
			};

			if (is_store(chain) &&
			    (nightly() ||
			     strict == chain % 2))
				try_program(chain, &opts);
		}
}

/* And with order=fence: by day one that looks, and one that exchanges. */
static void every_fenced_program(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct wrc_opts opts = {
			.strict_index = true,
			.variant = is_store(chain) ? WRC_V_EXCHANGE :
						     WRC_V_OURS,
			.recycle = WRC_RECYCLE_NODE, .order = WRC_ORDER_FENCE,
		};

		if (nightly() ||
		    chain <= ODRP_WIRE_MAPPED_STORE)
			try_program(chain, &opts);
	}
}

/* Translation in the NIC: by day a store in one mode, an invalidate in the other,
 * and each once with fences. */
static void every_keyed_program(void **state)
{
	bool all = nightly();

	for (int chain = ODRP_WIRE_UNMAPPED_STORE;
	     chain <= ODRP_WIRE_INVALIDATE; chain++)
		for (int mode = 0; mode < 4; mode++) {
			struct wrc_opts opts = {
				.strict_index = mode & 1,
				.variant = WRC_V_KEYED,
				.recycle = WRC_RECYCLE_NODE,
				.order = mode & 2 ? WRC_ORDER_FENCE :
						    WRC_ORDER_WAIT,
			};

			if (all || mode == chain % 2)
				try_program(chain, &opts);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program),
		cmocka_unit_test(every_node_program),
		cmocka_unit_test(every_node_copy),
		cmocka_unit_test(every_fenced_program),
		cmocka_unit_test(every_keyed_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
