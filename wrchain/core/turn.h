/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recycle=node: an instance finds the words of its next lap in a table.
 *
 * The table is read-only, made once for a program and a depth K, and shared by
 * all queues that have the two.  At its end the instance that serves request r
 * READs a few rows.  Their bytes go straight over
 *
 *	its own WQEs before these READs, for request r + K,
 *	those from the READs on of the instance before, for request r - 1 + K
 *		(its own are yet to run),
 *	the client queue's of the next instance, for request r + 1
 *		(its answer of a lap ago has come: else there were no request r),
 *
 * and over the READs' own addresses, so that rows are linked lists and nobody
 * counts.  The receive entry is posted when the rows are known to be there.
 *
 * Everything but the high byte of a WAIT's 24 bits repeats after 2^16 requests.
 * So there are two kinds of rows.  With X = r mod 2^16 and H = r / 2^16 mod 2^8:
 *
 *	a low row for each X; in strict mode up to two of them, READ one by one
 *	a high row for each H and each class of X, at class << 16 | H << 8
 *
 * Two X are of one class if the same low halves have overflown on the way to
 * them.  A low row has the class that is next, a high row the H that is next.
 *
 *	| high rows: classes << 16 | low rows 0: stride << 16 | low rows 1 | opcodes |
 *
 * The opcodes are for the answers.  An instance READs that of the next one's
 * answer, from an address whose last byte its own request has brought: all 256
 * are one of the two that the program knows, to answer and not to.  So it takes
 * no time that somebody waits for.
 *
 * The table address of a request is also renewed: with one that no table has.
 * So a receive entry that completes without a request, or with a piece of one,
 * when the connection breaks, makes a chain that fails at its first access.  A
 * store of page exchange has the upper half of that address behind its page.
 */
#ifndef WRC_TURN_H
#define WRC_TURN_H

#include "prog.h"

#define WRC_TURN_ROWS		0x10000u	/* low ones */
#define WRC_TURN_BLOCK		0x80u		/* so many rows stay in a cache */
#define WRC_TURN_HIGHS		0x100u
#define WRC_TURN_STRIDE		0x100u		/* of high rows */
#define WRC_TURN_MASK		0xffffffu	/* requests, until all repeats */
#define WRC_TURN_NO_TT		(~0ull)		/* no table is so large */

/* Which of the 256 opcodes a request names; a page holds them. */
#define WRC_CHOICES		0x100u
#define WRC_CHOICE_ANSWER	ODRP_WIRE_NEXT_ANSWERED
#define WRC_CHOICE_QUIET	ODRP_WIRE_NEXT_QUIET	/* and all the others */

struct wrc_ref wrc_turn_ref(const struct wrc_prog *prog,
			    const struct wrc_turn *turn);

/* The linker: how many words, with some NOPs more; -ENOSPC. */
int wrc_turn_size(struct wrc_prog *prog, unsigned int more);
/* The linker: all words into the data segments of the READs. */
int wrc_turn_place(struct wrc_prog *prog);

/* table_len and what else geom says of it; -ERANGE: too many classes. */
int wrc_turn_shape(const struct wrc_prog *prog, struct wrc_geom *geom);

/* The opcode that a request chooses with this byte; 0: there is no choice. */
__u8 wrc_choice(const struct wrc_prog *prog, __u8 byte);

/* Where the row is that READ number `read` of request r gets. */
__u64 wrc_turn_row(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   unsigned int read, __u32 r);
/* The request that a word read by request r is for. */
__u32 wrc_turn_for(const struct wrc_geom *geom, const struct wrc_turn *turn,
		   __u32 r);

/* What a part of a table has; of opcodes there are no rows. */
enum wrc_rows_kind {
	WRC_ROWS_HIGH,		/* the rows of classes first to end - 1 */
	WRC_ROWS_LOW,		/* rows first to end - 1 of READ number `read` */
	WRC_ROWS_NONE,
};

struct wrc_rows {
	unsigned int read;
	__u32 first, end;
};

enum wrc_rows_kind wrc_turn_rows(const struct wrc_prog *prog,
				 const struct wrc_geom *geom,
				 const struct wrc_table_part *part,
				 struct wrc_rows *ret_rows);

/**
 * struct wrc_column - one word of the low rows, from row to row
 * @turn:	which
 * @value:	in the row that it is at
 * @step:	what it grows by
 * @end:	behind the largest; the next one is @size less
 *
 * All rows are 65536 times as many words, and each of them is a multiplication
 * and a choice of ten; this is an addition.
 */
struct wrc_column {
	const struct wrc_turn *turn;
	__u64 value, step, end, size;
};

/* At a row whose word is first, and second in the next one.  Not of a CLASS. */
void wrc_column_init(struct wrc_column *c, const struct wrc_prog *prog,
		     const struct wrc_geom *geom, __u64 table_iova,
		     __u64 first, __u64 second);

static inline __u64 wrc_column_after(const struct wrc_column *c, __u64 value)
{
	value += c->step;
	return value >= c->end ? value - c->size : value;
}

#endif /* WRC_TURN_H */
