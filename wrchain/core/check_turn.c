// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verifier, rule table: recycle=node.
 *
 * What the other rules know of a request's words they learn here from the rows.
 * And: every word that changes with the lap has one; rows lead to the rows of
 * the next lap; the receive entry is posted when all rows are known to be there;
 * a request chooses between two opcodes of the next answer, and nothing else;
 * and nothing happens without a request.
 */
#include "check.h"
#include "turn.h"

#define RULE WRC_RULE_TABLE

static const struct wrc_turn *turn_of(const struct wrc_prog *prog,
				      unsigned int insn,
				      enum wrc_turn_kind kind)
{
	unsigned int i;

	for (i = 0; i < prog->nr_turns; i++)
		if (prog->turn[i].kind == kind &&
		    (kind == WRC_TURN_POST || prog->turn[i].insn == insn))
			return &prog->turn[i];
	return NULL;
}

static __u64 load_be(const __u8 *from, unsigned int len)
{
	__u64 value = 0;

	switch (len) {
	case 2:
		return be16_to_cpu(*(const wrc_any_be16 *)from);
	case 4:
		return be32_to_cpu(*(const wrc_any_be32 *)from);
	case 6:
		return (__u64)be16_to_cpu(*(const wrc_any_be16 *)from) << 32 |
		       be32_to_cpu(*(const wrc_any_be32 *)(from + 2));
	case 8:
		return be64_to_cpu(*(const wrc_any_be64 *)from);
	default:
		while (len--)
			value = value << 8 | *from++;
		return value;
	}
}

/* A word as the READs of request r bring it. */
static __u64 word_at(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     const __u8 *table, const struct wrc_turn *t, __u32 r)
{
	return load_be(table + wrc_turn_row(prog, geom, t->read,
					    r & WRC_TURN_MASK) + t->off,
		       t->width);
}

/* The request whose READs bring the word for request r. */
static __u32 brought_by(const struct wrc_geom *geom, const struct wrc_turn *t,
			__s64 r)
{
	return ((__u32)r - wrc_turn_for(geom, t, 0)) & WRC_TURN_MASK;
}

static bool word_brought(const struct wrc_check *c, unsigned int insn,
			 enum wrc_turn_kind kind, __s64 r, __u64 *ret_value)
{
	const struct wrc_turn *t = turn_of(c->ctx.prog, insn, kind);

	if (!t || !c->ctx.bind->table)
		return false;
	*ret_value = word_at(c->ctx.prog, c->ctx.geom, c->ctx.bind->table, t,
			     brought_by(c->ctx.geom, t, r));
	return true;
}

bool wrc_check_turn_word(const struct wrc_check *c, unsigned int insn,
			 __u8 kind, __s64 r, __u32 *ret_value)
{
	__u64 low, high = 0;
	bool found;

	switch (kind) {
	case WRC_WORD_WAIT:
		found = word_brought(c, insn, WRC_TURN_WAIT_LOW, r, &low) &&
			word_brought(c, insn, WRC_TURN_WAIT_HIGH, r, &high);
		break;
	case WRC_WORD_ENABLE:
		found = word_brought(c, insn, WRC_TURN_ENABLE, r, &low);
		break;
	case WRC_WORD_INDEX:
		found = word_brought(c, insn, WRC_TURN_INDEX, r, &low);
		break;
	default:
		return false;
	}
	if (found)
		*ret_value = high << 16 | low;
	return found;
}

bool wrc_check_turn_post(const struct wrc_check *c, __u64 r, __u32 *ret_value)
{
	const struct wrc_turn *t = turn_of(c->ctx.prog, 0, WRC_TURN_POST);

	if (!t || !c->ctx.bind->table)
		return false;
	*ret_value = word_at(c->ctx.prog, c->ctx.geom, c->ctx.bind->table, t,
			     r);
	return true;
}

/* ---- rows ------------------------------------------------------------------- */

/* How far ahead of the request that brings a word the one is that it is for. */
static __u32 ahead_of(const struct wrc_geom *geom, const struct wrc_turn *t)
{
	return t->delta == 1 ? 1 : geom->depth + t->delta;
}

/* What the word has to be, from nothing but the program. */
static __u64 word_wanted(const struct wrc_prog *prog, const struct wrc_geom *geom,
			 __u64 iova, const struct wrc_turn *t, __u32 r)
{
	__u32 at = r + ahead_of(geom, t);
	const struct wrc_insn *insn = &prog->insn[t->insn];
	__u64 row;

	switch (t->kind) {
	case WRC_TURN_INDEX:
		return (__u16)(at * prog->bb[insn->queue] + insn->bb);
	case WRC_TURN_ENABLE:
		return wrc_count(prog, t->insn, at) & 0xffff;
	case WRC_TURN_WAIT_LOW:
		return wrc_count(prog, t->insn, at) & 0xffff;
	case WRC_TURN_WAIT_HIGH:
		return wrc_count(prog, t->insn, at) >> 16 & 0xff;
	case WRC_TURN_POST:
		return (geom->depth + r + 1) & 0xffff;
	case WRC_TURN_NO_ARG:
		return WRC_TURN_NO_TT;
	default:
		row = iova + wrc_turn_row(prog, geom, t->insn - prog->turns,
					  at & WRC_TURN_MASK);
		if (t->kind == WRC_TURN_CLASS)
			return row >> 16;
		return t->kind == WRC_TURN_HIGH ? row & 0xffff : row;
	}
}

static const char *turn_name(__u8 kind)
{
	static const char *const names[] = {
		[WRC_TURN_INDEX] = "index", [WRC_TURN_ENABLE] = "enable",
		[WRC_TURN_WAIT_LOW] = "wait (low)",
		[WRC_TURN_WAIT_HIGH] = "wait (high)",
		[WRC_TURN_POST] = "post", [WRC_TURN_ROW] = "next row",
		[WRC_TURN_CLASS] = "next class", [WRC_TURN_HIGH] = "next high",
		[WRC_TURN_NO_ARG] = "no argument",
	};

	return names[kind];
}

static int refuse_word(const struct wrc_prog *prog, const struct wrc_turn *t,
		       __u32 r, __u64 is, __u64 want, struct wrc_text *why)
{
	wrc_text_add(why, "table: row %u of request %u has 0x%llx as %s",
		     t->read, r, (unsigned long long)is, turn_name(t->kind));
	if (t->kind != WRC_TURN_POST) {
		wrc_text_add(why, " of ");
		wrc_dis_label(why, prog, t->insn);
	}
	wrc_text_add(why, ", and it is 0x%llx", (unsigned long long)want);
	return -EPERM;
}

static int check_row(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     __u64 iova, const __u8 *table, unsigned int read, __u32 r,
		     struct wrc_text *why)
{
	unsigned int i;

	for (i = 0; i < prog->nr_turns; i++) {
		const struct wrc_turn *t = &prog->turn[i];
		__u64 is, want;

		if (t->read != read)
			continue;
		is = word_at(prog, geom, table, t, r);
		want = word_wanted(prog, geom, iova, t, r);
		if (is != want)
			return refuse_word(prog, t, r, is, want, why);
	}
	return 0;
}

#define MATCH(type, swap)						\
	for (i = 0; i < n && swap(*(const type *)at) == value;		\
	     i++, at += stride)						\
		value = wrc_column_after(c, value)

/* How many of n rows are right, until the first that is not. */
static __u32 column_match(struct wrc_column *c, const __u8 *at, __u32 stride, __u32 n)
{
	__u64 value = c->value;
	__u32 i;

	switch (c->turn->width) {
	case 2:
		MATCH(wrc_any_be16, be16_to_cpu);
		break;
	case 4:
		MATCH(wrc_any_be32, be32_to_cpu);
		break;
	case 8:
		MATCH(wrc_any_be64, be64_to_cpu);
		break;
	default:
		for (i = 0; i < n && load_be(at, c->turn->width) == value;
		     i++, at += stride)
			value = wrc_column_after(c, value);
		break;
	}
	c->value = value;
	return i;
}

/* Behind the last of the rows from r on that lead to the same class. */
static __u32 class_end(const struct wrc_geom *geom, const struct wrc_turn *t,
		       __u32 r)
{
	__u32 at = (r + ahead_of(geom, t)) & (WRC_TURN_ROWS - 1);
	__u32 end = WRC_TURN_ROWS;
	unsigned int i;

	for (i = geom->table_classes; i && geom->table_class[i - 1] > at; i--)
		end = geom->table_class[i - 1];
	return r + end - at < WRC_TURN_ROWS ? r + end - at : WRC_TURN_ROWS;
}

/* One word in some of the low rows that have it. */
static int check_column(const struct wrc_prog *prog,
			const struct wrc_geom *geom, __u64 iova,
			const __u8 *table, const struct wrc_turn *t,
			const struct wrc_rows *rows, struct wrc_text *why)
{
	const __u8 *at = table + wrc_turn_row(prog, geom, t->read, 0) + t->off;
	__u32 stride = geom->table_stride[t->read], r, end = rows->end;
	bool even = t->kind != WRC_TURN_CLASS;	/* from row to row */
	struct wrc_column c = { .turn = t };

	if (even)
		wrc_column_init(&c, prog, geom, iova,
				word_wanted(prog, geom, iova, t, rows->first),
				word_wanted(prog, geom, iova, t, rows->first + 1));
	for (r = rows->first; r < rows->end;) {
		if (!even) {
			c.value = word_wanted(prog, geom, iova, t, r);
			end = class_end(geom, t, r);
			if (end > rows->end)
				end = rows->end;
		}
		r += column_match(&c, at + r * stride, stride, end - r);
		if (r < end)
			return refuse_word(prog, t, r,
					   load_be(at + r * stride, t->width),
					   c.value, why);
	}
	return 0;
}

/* All rows that READs of request r get. */
static int check_rows(const struct wrc_prog *prog, const struct wrc_geom *geom,
		      __u64 iova, const void *table, __u32 r,
		      struct wrc_text *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < prog->nr_reads; i++)
		err = check_row(prog, geom, iova, table, i, r, why);
	return err;
}

static int check_choices(const struct wrc_prog *prog,
			 const struct wrc_geom *geom, const __u8 *table,
			 struct wrc_text *why)
{
	const __u8 *opcode = table + geom->table_choice;
	unsigned int i;

	for (i = 0; i < WRC_CHOICES; i++)
		if (opcode[i] != wrc_choice(prog, i)) {
			wrc_text_add(why, "table: choice %u is opcode 0x%02x, and it is 0x%02x",
				     i, opcode[i], wrc_choice(prog, i));
			return -EPERM;
		}
	return 0;
}

/* A lap and a bit, and where 16 or 24 bits of something wrap. */
static int check_some(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	const struct wrc_geom *geom = c->ctx.geom;
	__u32 wraps[] = {
		0, 0x10000 / prog->bb[WRC_LOOP],
		prog->cqes ? 0x10000 / prog->cqes : 0, 0x10000,
		prog->cqes ? 0x1000000 / prog->cqes : 0, 0x1000000,
	};
	unsigned int i;
	__u32 r;
	int err;

	err = check_choices(prog, geom, c->ctx.bind->table, &c->why);
	for (i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++)
		for (r = wraps[i] - geom->depth - 2;
		     !err && r != wraps[i] + geom->depth + 2; r++)
			err = check_rows(prog, geom, c->ctx.bind->table_iova,
					 c->ctx.bind->table, r & WRC_TURN_MASK,
					 &c->why);
	return err;
}

static int check_low(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     __u64 iova, const struct wrc_rows *rows, const void *table,
		     struct wrc_text *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < prog->nr_turns; i++)
		if (prog->turn[i].read == rows->read)
			err = check_column(prog, geom, iova, table,
					   &prog->turn[i], rows, why);
	return err;
}

/* Where a class begins, and ends: all between are equal. */
static int check_high(const struct wrc_prog *prog, const struct wrc_geom *geom,
		      __u64 iova, const struct wrc_rows *rows, const void *table,
		      struct wrc_text *why)
{
	unsigned int i;
	__u32 r, high;
	int err = 0;

	for (i = 2 * rows->first; !err && i < 2 * rows->end; i++) {
		r = WRC_TURN_ROWS - 1;
		if (i % 2 == 0)
			r = geom->table_class[i / 2];
		else if (i / 2 + 1 < geom->table_classes)
			r = geom->table_class[i / 2 + 1] - 1;
		for (high = 0; !err && high < WRC_TURN_HIGHS; high++)
			err = check_row(prog, geom, iova, table,
					prog->nr_reads - 1, high << 16 | r, why);
	}
	return err;
}

int wrc_table_check_part(const struct wrc_prog *prog,
			 const struct wrc_geom *geom, __u64 table_iova,
			 const struct wrc_table_part *part, const void *table,
			 char why[WRC_WHY_MAX])
{
	struct wrc_rows rows;
	struct wrc_text t;

	wrc_text_init(&t, why, WRC_WHY_MAX);
	switch (wrc_turn_rows(prog, geom, part, &rows)) {
	case WRC_ROWS_HIGH:
		return check_high(prog, geom, table_iova, &rows, table, &t);
	case WRC_ROWS_LOW:
		return check_low(prog, geom, table_iova, &rows, table, &t);
	default:
		return check_choices(prog, geom, table, &t);
	}
}

int wrc_table_check(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    __u64 table_iova, const void *table, char why[WRC_WHY_MAX])
{
	struct wrc_table_part part;
	unsigned int n;
	int err = 0;

	for (n = 0; !err && wrc_table_part(prog, geom, n, &part); n++)
		err = wrc_table_check_part(prog, geom, table_iova, &part, table,
					   why);
	return err;
}

/* ---- the program ---------------------------------------------------------------- */

static const struct wrc_turn *turn_at(const struct wrc_prog *prog,
				      unsigned int read, __u32 off)
{
	unsigned int i;

	for (i = 0; i < prog->nr_turns; i++)
		if (prog->turn[i].read == read && prog->turn[i].off == off)
			return &prog->turn[i];
	return NULL;
}

/* What a READ brings are the words of its row, each to what it renews. */
static int check_segments(struct wrc_check *c, unsigned int read)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int j, insn = prog->turns + read;
	const struct wrc_insn *i = &prog->insn[insn];
	const struct wrc_turn *t;
	__u32 off = 0;

	for (j = 0; j < i->nr_sge; off += i->sge[j++].len) {
		t = turn_at(prog, read, off);
		if (!t || t->width != i->sge[j].len ||
		    !wrc_same_place(i->sge[j].at, wrc_turn_ref(prog, t)))
			return wrc_refuse(c, RULE, 0, insn,
					  "takes byte %u of its row to another place",
					  off);
	}
	if (off == prog->row_len[read])
		return 0;
	return wrc_refuse(c, RULE, 0, insn,
			  "reads %u bytes of a row of %u", off,
			  prog->row_len[read]);
}

/* That all counts and indices are renewed is rule index's. */
static int check_insn(struct wrc_check *c, unsigned int insn)
{
	const struct wrc_prog *prog = c->ctx.prog;
	bool high = insn + 1 == (unsigned int)prog->turns + prog->nr_reads;

	if (wrc_is_turn(prog, insn) &&
	    (!turn_of(prog, insn, high ? WRC_TURN_CLASS : WRC_TURN_ROW) ||
	     (high && !turn_of(prog, insn, WRC_TURN_HIGH))))
		return wrc_refuse(c, RULE, 0, insn, "reads one row for ever");
	if (prog->insn[insn].remote.space == WRC_SP_TURN &&
	    !wrc_is_turn(prog, insn))
		return wrc_refuse(c, RULE, 0, insn,
				  "reads rows behind the instance's end");
	return 0;
}

/*
 * One READ of one opcode, and to an answer: that is what wrc_choice() knows the
 * opcodes of.
 */
static int check_choice(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];
		struct wrc_ref to = insn->sge[0].at;

		if (insn->remote.space != WRC_SP_CHOICE)
			continue;
		if (i != prog->choice || insn->op != WRC_WQE_READ ||
		    insn->nr_sge != 1 || insn->sge[0].len != 1 ||
		    to.space != WRC_SP_FIELD || to.field != WRC_F_OPCODE ||
		    !(prog->insn[to.at].flags & WRC_I_ANSWER))
			return wrc_refuse(c, RULE, 0, i,
					  "reads an opcode that is not the next answer's");
	}
	return 0;
}

/* Is the page exchange's or the ring's own business, and undone after a stop? */
static bool is_held(const struct wrc_prog *prog, unsigned int insn)
{
	const struct wrc_hold *h = &prog->hold;

	return !h->freeing && (insn == h->slot_taken || insn == h->page_taken);
}

static bool is_ours(const struct wrc_insn *i)
{
	return wrc_space_class((enum wrc_space)i->remote.space) ==
	       WRC_CL_ARENA;
}

/*
 * A receive entry that completes without a request leaves the address that no
 * table has: nothing but what a stop undoes may happen before that one is used.
 */
static int check_unasked(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i, first = WRC_NONE;

	for (i = 0; first == WRC_NONE && i < prog->nr_insn; i++)
		if (turn_of(prog, i, WRC_TURN_NO_ARG))
			first = i;
	if (first == WRC_NONE)
		return wrc_refuse_all(c, RULE,
				      "the table address of a lap ago is not taken away");
	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];
		bool writes = wrc_opdef(insn->op)->flags &
			      (WRC_OP_RWRITE | WRC_OP_KEY);

		if (wrc_is_asked(prog, i) &&
		    !turn_of(prog, i, WRC_TURN_NO_ARG))
			return wrc_refuse(c, RULE, 0, i,
					  "uses a table address that is not taken away");
		if (writes && i < first && !is_ours(insn) && !is_held(prog, i))
			return wrc_refuse(c, RULE, 0, i,
					  "works although no request may have come");
	}
	return 0;
}

/* The first lap's address, too. */
static int check_first(struct wrc_check *c, __u32 instance)
{
	const struct wrc_prog *prog = c->ctx.prog;
	struct wrc_wr wr;
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++)
		if ((prog->insn[i].remote.space == WRC_SP_TT ||
		     prog->insn[i].remote.space == WRC_SP_KEYMAP) &&
		    wrc_check_decode(c, instance, i, &wr) &&
		    wr.raddr != WRC_TURN_NO_TT)
			return wrc_refuse(c, RULE, instance, i,
					  "has a table address before its first request");
	return 0;
}

/* Behind a WAIT for the last of the READs, and only what they say. */
static int check_post(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i, last = prog->turns + prog->nr_reads - 1u;
	const struct wrc_insn *post;

	if (prog->post >= prog->nr_insn)
		return wrc_refuse_all(c, RULE,
				      "nobody posts the receive entry again");
	post = &prog->insn[prog->post];
	if (post->op != WRC_WQE_WRITE || post->remote.space != WRC_SP_DBR ||
	    post->nr_sge != 1 || post->sge[0].len != sizeof(__be32) ||
	    !wrc_same_place(post->sge[0].at, wrc_reg(WRC_REG_POST, 0)))
		return wrc_refuse(c, RULE, 0, prog->post,
				  "does not post what the row says");
	for (i = last + 1; i < prog->post; i++)
		if (prog->insn[i].op == WRC_WQE_WAIT &&
		    prog->insn[i].target == last)
			return 0;
	return wrc_refuse(c, RULE, 0, prog->post,
			  "may post the receive entry before its words are there");
}

static int check_reads(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	unsigned int i;

	for (i = 0; i < prog->nr_words; i++)
		if (prog->word[i].kind != WRC_WORD_END &&
		    prog->word[i].kind != WRC_WORD_NEXT)
			break;
	if (i < prog->nr_words || wrc_rearms_itself(prog))
		return wrc_refuse_all(c, RULE,
				      "the client has a say in it, too");
	for (i = 0; i < prog->nr_words; i++)
		if (!wrc_check_word_lands(prog, &prog->word[i]))
			return wrc_refuse(c, RULE, 0, prog->word[i].insn,
					  "does not get its %s from the request",
					  wrc_word_name(prog->word[i].kind));
	if (prog->nr_reads < 2 ||
	    prog->turns + prog->nr_reads > prog->nr_insn)
		return wrc_refuse_all(c, RULE, "no READs of the table");
	if (!c->ctx.bind->table ||
	    c->ctx.bind->table_iova & (WRC_TABLE_ALIGN - 1))
		return wrc_refuse_all(c, RULE, "no table, or not at a multiple of 2^24: 0x%llx",
				      (unsigned long long)c->ctx.bind->table_iova);
	for (i = prog->turns; wrc_is_turn(prog, i); i++)
		if (prog->insn[i].op != WRC_WQE_READ ||
		    prog->insn[i].remote.space != WRC_SP_TURN ||
		    prog->insn[i].remote.at != i - prog->turns)
			return wrc_refuse(c, RULE, 0, i,
					  "is no READ of its part of the table");
	return 0;
}

int wrc_check_turns(struct wrc_check *c)
{
	const struct wrc_prog *prog = c->ctx.prog;
	__u32 instance;
	unsigned int i;
	int err;

	if (!prog->node)
		return 0;
	err = check_reads(c);
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = check_insn(c, i);
	if (!err)
		err = check_choice(c);
	if (!err)
		err = check_unasked(c);
	for (instance = 0; !err && instance < c->ctx.geom->depth; instance++)
		err = check_first(c, instance);
	if (!err)
		err = check_post(c);
	for (i = 0; !err && i < prog->nr_reads; i++)
		err = check_segments(c, i);
	return err ? err : check_some(c);
}
