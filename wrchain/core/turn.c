// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recycle=node: the words that instances renew, and their table; see turn.h. */
#include "link.h"
#include "turn.h"

/* Bytes of the field (of a POST: none). */
static __u8 turn_width(__u8 kind)
{
	static const __u8 widths[] = {
		[WRC_TURN_INDEX] = 2, [WRC_TURN_ENABLE] = 4,
		[WRC_TURN_WAIT_LOW] = 2, [WRC_TURN_WAIT_HIGH] = 2,
		[WRC_TURN_POST] = 4, [WRC_TURN_ROW] = 8,
		[WRC_TURN_CLASS] = 6, [WRC_TURN_HIGH] = 2,
		[WRC_TURN_NO_ARG] = 8,
	};

	return widths[kind];
}

struct wrc_ref wrc_turn_ref(const struct wrc_prog *prog,
			    const struct wrc_turn *turn)
{
	struct wrc_ref ref;

	switch (turn->kind) {
	case WRC_TURN_POST:
		return wrc_reg(WRC_REG_POST, 0);
	case WRC_TURN_INDEX:
		ref = wrc_field(turn->insn, WRC_F_INDEX, 0);
		break;
	case WRC_TURN_ENABLE:
	case WRC_TURN_WAIT_HIGH:
		ref = wrc_field(turn->insn, WRC_F_COUNT, 0);
		break;
	case WRC_TURN_WAIT_LOW:
		ref = wrc_field(turn->insn, WRC_F_COUNT, 2);
		break;
	case WRC_TURN_HIGH:
		ref = wrc_field(turn->insn, WRC_F_RADDR, 6);
		break;
	default:
		ref = wrc_field(turn->insn, WRC_F_RADDR, 0);
		break;
	}
	ref.delta = turn->delta;
	return ref;
}

/* ---- the linker's part ------------------------------------------------------ */

static int turn_add(struct wrc_prog *prog, enum wrc_turn_kind kind,
		    unsigned int insn)
{
	struct wrc_turn *t;

	if (prog->nr_turns == WRC_MAX_TURNS)
		return -ENOSPC;
	t = &prog->turn[prog->nr_turns++];
	t->kind = kind;
	t->insn = insn;
	t->width = turn_width(kind);
	t->delta = 0;
	if (kind == WRC_TURN_POST)
		return 0;
	if (prog->insn[insn].queue == WRC_CLIENT)
		t->delta = 1;
	else if (insn >= prog->turns)
		t->delta = -1;
	return 0;
}

static int add_insn(struct wrc_prog *prog, unsigned int insn)
{
	bool high = insn + 1 == (unsigned int)prog->turns + prog->nr_reads;
	__u8 op = prog->insn[insn].op;
	int err = 0;

	if (prog->strict)
		err = turn_add(prog, WRC_TURN_INDEX, insn);
	if (!err && op == WRC_WQE_SEND_EN)
		err = turn_add(prog, WRC_TURN_ENABLE, insn);
	if (!err && op == WRC_WQE_WAIT)
		err = turn_add(prog, WRC_TURN_WAIT_LOW, insn);
	if (!err && op == WRC_WQE_WAIT)
		err = turn_add(prog, WRC_TURN_WAIT_HIGH, insn);
	if (!err && wrc_is_turn(prog, insn))
		err = turn_add(prog, high ? WRC_TURN_CLASS : WRC_TURN_ROW,
			       insn);
	if (!err && wrc_is_turn(prog, insn) && high)
		err = turn_add(prog, WRC_TURN_HIGH, insn);
	if (!err && wrc_is_asked(prog, insn))
		err = turn_add(prog, WRC_TURN_NO_ARG, insn);
	return err;
}

static bool is_high(const struct wrc_turn *t)
{
	return t->kind == WRC_TURN_WAIT_HIGH || t->kind == WRC_TURN_HIGH;
}

/* Which READ brings which word, and where in its row. */
static int turns_deal(struct wrc_prog *prog, unsigned int more)
{
	__u8 last = prog->nr_reads - 1, n[WRC_TURN_READS] = { more, 0, 0 };
	unsigned int i, read = 0;

	memset(prog->row_len, 0, sizeof(prog->row_len));
	for (i = 0; i < prog->nr_turns; i++) {
		struct wrc_turn *t = &prog->turn[i];

		if (!is_high(t) && n[read] == WRC_INSN_SGE)
			read++;
		t->read = is_high(t) ? last : read;
		if (t->read > last || (!is_high(t) && read == last) ||
		    n[t->read] == WRC_INSN_SGE)
			return -ENOSPC;
		n[t->read]++;
		t->off = prog->row_len[t->read];
		prog->row_len[t->read] += t->width;
	}
	for (i = 0; i < prog->nr_reads; i++)
		prog->insn[prog->turns + i].nr_sge = n[i];
	return prog->row_len[last] > WRC_TURN_STRIDE ? -ENOSPC : 0;
}

int wrc_turn_size(struct wrc_prog *prog, unsigned int more)
{
	unsigned int i;
	int err = 0;

	if (!prog->nr_reads || prog->nr_reads > WRC_TURN_READS ||
	    (unsigned int)prog->turns + prog->nr_reads > prog->nr_insn)
		return -EINVAL;
	prog->nr_turns = 0;
	for (i = 0; !err && i < prog->nr_insn; i++)
		err = add_insn(prog, i);
	if (!err)
		err = turn_add(prog, WRC_TURN_POST, 0);
	return err ? err : turns_deal(prog, prog->strict ? more : 0);
}

int wrc_turn_place(struct wrc_prog *prog)
{
	__u8 n[WRC_TURN_READS] = { 0 };
	unsigned int i;
	int err = wrc_turn_size(prog, 0);

	for (i = 0; !err && i < prog->nr_turns; i++) {
		struct wrc_turn *t = &prog->turn[i];
		struct wrc_operand *o =
			&prog->insn[prog->turns + t->read].sge[n[t->read]++];

		o->at = wrc_turn_ref(prog, t);
		o->len = t->width;
	}
	return err;
}

/* ---- opcodes ------------------------------------------------------------------ */

__u8 wrc_choice(const struct wrc_prog *prog, __u8 byte)
{
	const struct wrc_insn *read;
	__u8 answer;

	if (prog->choice >= prog->nr_insn)
		return 0;
	read = &prog->insn[prog->choice];
	answer = read->sge[0].at.at;
	if (read->sge[0].at.space != WRC_SP_FIELD || answer >= prog->nr_insn)
		return 0;
	return byte == WRC_CHOICE_ANSWER ? prog->insn[answer].op :
					   prog->insn[answer].quiet;
}

/* ---- rows -------------------------------------------------------------------- */

__u32 wrc_turn_for(const struct wrc_geom *geom, const struct wrc_turn *turn,
		   __u32 r)
{
	if (turn->delta > 0)
		return r + 1;
	return r + geom->depth - (turn->delta < 0);
}

/* What a word with a high byte counts: it grows evenly with r. */
static __u32 word_count(const struct wrc_prog *prog, const struct wrc_geom *geom,
			const struct wrc_turn *t, __u32 r)
{
	__u32 at = wrc_turn_for(geom, t, r);

	return t->kind == WRC_TURN_WAIT_HIGH ? wrc_count(prog, t->insn, at) :
					       at;
}

static __u32 next_class(const struct wrc_prog *prog,
			const struct wrc_geom *geom, __u32 x)
{
	__u32 next = WRC_TURN_ROWS;
	unsigned int i;

	for (i = 0; i < prog->nr_turns; i++) {
		const struct wrc_turn *t = &prog->turn[i];
		__u32 now, step, left;

		if (!is_high(t))
			continue;
		now = word_count(prog, geom, t, x);
		step = word_count(prog, geom, t, 1) - word_count(prog, geom, t, 0);
		left = WRC_TURN_ROWS - (now & (WRC_TURN_ROWS - 1));
		if (step && x + (left + step - 1) / step < next)
			next = x + (left + step - 1) / step;
	}
	return next;
}

/* The last class that begins at or before x. */
static __u32 class_of(const struct wrc_geom *geom, __u32 x)
{
	__u32 low = 0, high = geom->table_classes;

	while (high - low > 1) {
		__u32 mid = (low + high) / 2;

		if (geom->table_class[mid] <= x)
			low = mid;
		else
			high = mid;
	}
	return low;
}

int wrc_turn_shape(const struct wrc_prog *prog, struct wrc_geom *geom)
{
	unsigned int i;
	__u32 x;

	if (!prog->node)
		return 0;
	for (x = 0; x < WRC_TURN_ROWS; x = next_class(prog, geom, x)) {
		if (geom->table_classes == WRC_TABLE_CLASSES)
			return -ERANGE;
		geom->table_class[geom->table_classes++] = x;
	}
	geom->table_len = (__u32)geom->table_classes << 16;
	for (i = 0; i + 1 < prog->nr_reads; i++) {
		geom->table_row[i] = geom->table_len;
		geom->table_stride[i] = (prog->row_len[i] + 7) & ~7u;
		geom->table_len += (__u32)geom->table_stride[i] << 16;
	}
	geom->table_choice = geom->table_len;
	geom->table_len += ODRP_WIRE_PAGE_SIZE;
	return 0;
}

static __u64 high_row(__u32 class, __u32 high)
{
	return class << 16 | (high & (WRC_TURN_HIGHS - 1)) << 8;
}

static __u64 low_row(const struct wrc_geom *geom, unsigned int read, __u32 r)
{
	return geom->table_row[read] +
	       (r & (WRC_TURN_ROWS - 1)) * geom->table_stride[read];
}

__u64 wrc_turn_row(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   unsigned int read, __u32 r)
{
	if (read + 1u < prog->nr_reads)
		return low_row(geom, read, r);
	return high_row(class_of(geom, r & (WRC_TURN_ROWS - 1)), r >> 16);
}

/* ---- parts --------------------------------------------------------------------- */

#define PART_CLASSES	8u
#define PART_ROWS	0x2000u		/* of one READ */
#define READ_PARTS	(WRC_TURN_ROWS / PART_ROWS)

static unsigned int class_parts(const struct wrc_geom *geom)
{
	return (geom->table_classes + PART_CLASSES - 1) / PART_CLASSES;
}

bool wrc_table_part(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    unsigned int n, struct wrc_table_part *ret_part)
{
	unsigned int high = class_parts(geom);
	unsigned int choices = high + (prog->nr_reads - 1u) * READ_PARTS;
	__u32 end;

	if (n < high) {
		end = (n + 1) * PART_CLASSES;
		ret_part->off = n * PART_CLASSES << 16;
		if (end > geom->table_classes)
			end = geom->table_classes;
		ret_part->len = (end << 16) - ret_part->off;
	} else if (n < choices) {
		unsigned int read = (n - high) / READ_PARTS;
		__u32 rows = (n - high) % READ_PARTS * PART_ROWS;

		ret_part->off = low_row(geom, read, rows);
		ret_part->len = PART_ROWS * geom->table_stride[read];
	} else {
		ret_part->off = geom->table_choice;
		ret_part->len = geom->table_len - geom->table_choice;
	}
	return n <= choices;
}

enum wrc_rows_kind wrc_turn_rows(const struct wrc_prog *prog,
				 const struct wrc_geom *geom,
				 const struct wrc_table_part *part,
				 struct wrc_rows *ret_rows)
{
	unsigned int read;

	if (part->off >= geom->table_choice)
		return WRC_ROWS_NONE;
	if (part->off < (__u32)geom->table_classes << 16) {
		ret_rows->first = part->off >> 16;
		ret_rows->end = (part->off + part->len) >> 16;
		return WRC_ROWS_HIGH;
	}
	for (read = prog->nr_reads - 2u; part->off < geom->table_row[read]; read--)
		;
	ret_rows->read = read;
	ret_rows->first = (part->off - geom->table_row[read]) /
			  geom->table_stride[read];
	ret_rows->end = ret_rows->first + part->len / geom->table_stride[read];
	return WRC_ROWS_LOW;
}

/* ---- columns ------------------------------------------------------------------- */

void wrc_column_init(struct wrc_column *c, const struct wrc_prog *prog,
		     const struct wrc_geom *geom, __u64 table_iova,
		     __u64 first, __u64 second)
{
	const struct wrc_turn *t = c->turn;
	unsigned int read = t->insn - prog->turns;

	c->value = first;
	c->size = first == second ? 0 : WRC_TURN_ROWS;
	c->end = c->size;
	if (t->kind == WRC_TURN_ROW) {
		c->size = (__u64)geom->table_stride[read] << 16;
		c->end = table_iova + geom->table_row[read] + c->size;
	}
	c->step = second - first;
	if (second < first)
		c->step += c->size;
}

/* ---- filling ------------------------------------------------------------------- */

static void put_be(__u8 *to, __u64 value, unsigned int len)
{
	switch (len) {
	case 2:
		*(wrc_any_be16 *)to = cpu_to_be16(value);
		break;
	case 4:
		*(wrc_any_be32 *)to = cpu_to_be32(value);
		break;
	case 6:
		*(wrc_any_be16 *)to = cpu_to_be16(value >> 32);
		*(wrc_any_be32 *)(to + 2) = cpu_to_be32(value);
		break;
	case 8:
		*(wrc_any_be64 *)to = cpu_to_be64(value);
		break;
	default:
		for (; len--; value >>= 8)
			to[len] = value;
		break;
	}
}

/* All but CLASS, for which the classes have to be known. */
static __u64 word_of(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     __u64 iova, const struct wrc_turn *t, __u32 r)
{
	__u32 at = wrc_turn_for(geom, t, r);

	switch (t->kind) {
	case WRC_TURN_INDEX:
		return (__u16)(at * prog->bb[prog->insn[t->insn].queue] +
			       prog->insn[t->insn].bb);
	case WRC_TURN_ENABLE:
		return wrc_count(prog, t->insn, at) & WRC_WQE_EN_MASK;
	case WRC_TURN_WAIT_LOW:
		return (__u16)wrc_count(prog, t->insn, at);
	case WRC_TURN_WAIT_HIGH:
		return word_count(prog, geom, t, r) >> 16 & 0xff;
	case WRC_TURN_POST:
		return (geom->depth + r + 1) & WRC_WQE_EN_MASK;
	case WRC_TURN_ROW:
		return iova + low_row(geom, t->insn - prog->turns, at);
	case WRC_TURN_HIGH:
		return (word_count(prog, geom, t, r) >> 16 & 0xff) << 8;
	default:
		return WRC_TURN_NO_TT;
	}
}

#define FILL_BLOCK(type, swap)						\
	for (i = 0; i < WRC_TURN_BLOCK; i++, to += stride) {		\
		*(type *)to = swap(value);				\
		value = wrc_column_after(c, value);			\
	}

/* The width is asked for once for a block, not for each word. */
static void fill_block(struct wrc_column *c, __u8 *to, __u32 stride)
{
	__u64 value = c->value;
	unsigned int i;

	switch (c->turn->width) {
	case 2:
		FILL_BLOCK(wrc_any_be16, cpu_to_be16);
		break;
	case 4:
		FILL_BLOCK(wrc_any_be32, cpu_to_be32);
		break;
	default:	/* none but a CLASS has another */
		FILL_BLOCK(wrc_any_be64, cpu_to_be64);
		break;
	}
	c->value = value;
}

/* Rows that are followed by a request of which class. */
static void fill_class(const struct wrc_geom *geom, __u64 iova,
		       const struct wrc_turn *t, const struct wrc_rows *rows,
		       __u8 *table)
{
	__u32 r, next;

	for (r = rows->first; r < rows->end; r++) {
		next = (r + wrc_turn_for(geom, t, 0)) & (WRC_TURN_ROWS - 1);
		put_be(table + low_row(geom, t->read, r) + t->off,
		       (iova + high_row(class_of(geom, next), 0)) >> 16,
		       t->width);
	}
}

static void fill_low(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     __u64 iova, const struct wrc_rows *rows, __u8 *table)
{
	struct wrc_column column[WRC_INSN_SGE];
	unsigned int i, n = 0;
	__u32 x;

	for (i = 0; i < prog->nr_turns; i++) {
		const struct wrc_turn *t = &prog->turn[i];

		if (t->read != rows->read)
			continue;
		if (t->kind == WRC_TURN_CLASS) {
			fill_class(geom, iova, t, rows, table);
			continue;
		}
		column[n].turn = t;
		wrc_column_init(&column[n++], prog, geom, iova,
				word_of(prog, geom, iova, t, rows->first),
				word_of(prog, geom, iova, t, rows->first + 1));
	}
	for (x = rows->first; x < rows->end; x += WRC_TURN_BLOCK)
		for (i = 0; i < n; i++)
			fill_block(&column[i],
				   table + low_row(geom, rows->read, x) +
					   column[i].turn->off,
				   geom->table_stride[rows->read]);
}

static void fill_row(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     __u64 iova, __u32 r, __u8 *row)
{
	unsigned int i;

	for (i = 0; i < prog->nr_turns; i++) {
		const struct wrc_turn *t = &prog->turn[i];

		if (t->read == prog->nr_reads - 1)
			put_be(row + t->off, word_of(prog, geom, iova, t, r),
			       t->width);
	}
}

/* The high rows of some classes. */
static void fill_high(const struct wrc_prog *prog, const struct wrc_geom *geom,
		      __u64 iova, const struct wrc_rows *rows, __u8 *table)
{
	__u32 class, high;

	for (class = rows->first; class < rows->end; class++)
		for (high = 0; high < WRC_TURN_HIGHS; high++)
			fill_row(prog, geom, iova,
				 high << 16 | geom->table_class[class],
				 table + high_row(class, high));
}

static void fill_choices(const struct wrc_prog *prog, __u8 *opcode)
{
	unsigned int i;

	for (i = 0; i < WRC_CHOICES; i++)
		opcode[i] = wrc_choice(prog, i);
}

void wrc_table_fill_part(const struct wrc_prog *prog,
			 const struct wrc_geom *geom, __u64 table_iova,
			 const struct wrc_table_part *part, void *table)
{
	struct wrc_rows rows;
	__u8 *at = table;

	memset(at + part->off, 0, part->len);
	switch (wrc_turn_rows(prog, geom, part, &rows)) {
	case WRC_ROWS_HIGH:
		fill_high(prog, geom, table_iova, &rows, table);
		break;
	case WRC_ROWS_LOW:
		fill_low(prog, geom, table_iova, &rows, table);
		break;
	case WRC_ROWS_NONE:
		fill_choices(prog, at + geom->table_choice);
		break;
	}
}

void wrc_table_fill(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    __u64 table_iova, void *table)
{
	struct wrc_table_part part;
	unsigned int n;

	for (n = 0; wrc_table_part(prog, geom, n, &part); n++)
		wrc_table_fill_part(prog, geom, table_iova, &part, table);
}
