/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A linked program: the instructions of one instance, what its request brings,
 * and every self-modification as a relocation.  Fixed size; the builder fills
 * it, all others read it.
 */
#ifndef WRC_PROG_H
#define WRC_PROG_H

#include "../wrc.h"
#include "insn.h"

#define WRC_MAX_INSN	64
#define WRC_MAX_ARGS	8
#define WRC_MAX_SCATTER	WRC_MAX_RECV_SGE
#define WRC_MAX_PATCH	128
#define WRC_MAX_CELLS	12
#define WRC_MAX_TURNS	90

/**
 * struct wrc_arg - bytes of struct odrp_wire_req and where they go
 * @off, @len:	in the request
 */
struct wrc_arg {
	__u16 off, len;
	struct wrc_ref to;
};

/**
 * struct wrc_word - a recycle word
 * @kind:	enum wrc_word_kind
 * @delta:	0: of this instance, 1: of the next
 * @insn:	whose index or count it is (not for the doorbell record)
 * @off:	in the request
 * @width:	bytes
 */
struct wrc_word {
	__u8 kind;
	__u8 delta;
	__u8 insn;
	__u8 width;
	__u16 off;
};

/**
 * struct wrc_scatter - one data segment of the receive entry
 * @off, @len:	bytes of the message
 * @delta:	instance of @to, after the receive entry's own
 */
struct wrc_scatter {
	__u16 off, len;
	__u8 delta;
	struct wrc_ref to;
};

/**
 * struct wrc_patch - relocation: a self-modification of the ring
 * @source:	the instruction whose result is written, or WRC_RECV
 * @off, @width:	bytes of that result
 * @queue, @delta, @insn, @field, @sge, @field_off:	what they overwrite
 */
struct wrc_patch {
	__u8 source;
	__u8 width;
	__u16 off;
	__u8 queue;
	__s8 delta;
	__u8 insn;
	__u8 field;
	__u8 sge;
	__u8 field_off;
};

#define WRC_NONE	0xff

/**
 * struct wrc_hold - between which instructions an instance holds a page; rules own
 *		and move see to it that it is so
 * @slot_taken:	a counter has been advanced and @slot is a slot of ours
 * @page_taken:	a page address has been moved to @page
 * @page_put:	and from there to where it belongs; WRC_NONE: holds nothing
 * @freeing:	the page comes from the table and goes to the slot
 * @lent:	the page comes from the table entry whose address is @tt, and goes
 *		back there
 * @swapped:	page exchange: from here on the instance holds what was in the
 *		entry, @old, until @page_taken if there is one; WRC_NONE: none
 * @umr:	translation in the NIC: what the slot's key says follows here
 */
struct wrc_hold {
	__u8 slot_taken, page_taken, page_put, swapped, umr;
	bool freeing, lent;
	struct wrc_ref slot, page, tt, old;
};

/**
 * struct wrc_cell - a counter in the arena that the chain itself advances
 * @kind:	enum wrc_word_kind: of the word it replaces
 * @insn:	whose count it is, WRC_NONE: the doorbell record's
 */
struct wrc_cell {
	__u8 kind;
	__u8 insn;
};

/* What a word of the table renews; turn.h. */
enum wrc_turn_kind {
	WRC_TURN_INDEX,		/* a WQE's index: 2 bytes */
	WRC_TURN_ENABLE,	/* SEND_EN's count: 4 bytes, mod 2^16 */
	WRC_TURN_WAIT_LOW,	/* WAIT's count: its low 2 bytes */
	WRC_TURN_WAIT_HIGH,	/* and its high 2 bytes, mod 2^8 */
	WRC_TURN_POST,		/* what the receive record is to be: 4 bytes */
	WRC_TURN_ROW,		/* address of the next low row: 8 bytes */
	WRC_TURN_CLASS,		/* of the next high row: its first 6 bytes */
	WRC_TURN_HIGH,		/* and its last 2 */
	WRC_TURN_NO_ARG,	/* a table address that no table has: 8 bytes */
};

/**
 * struct wrc_turn - recycle=node: one word of a row
 * @kind:	enum wrc_turn_kind
 * @insn:	whose it is (not of POST)
 * @delta:	of which instance: 0 own, 1 next, -1 the one before
 * @read:	which of the READs brings it
 * @width, @off: bytes of its row
 */
struct wrc_turn {
	__u8 kind;
	__u8 insn;
	__s8 delta;
	__u8 read;
	__u8 width;
	__u16 off;
};

#define WRC_TURN_READS	3	/* two of low rows, one of high ones */

/* Which rules a program is under that are not those of all; rule own has more. */
enum wrc_kind {
	WRC_KIND_LOOK,		/* looks pages up in the table; a store copies */
	WRC_KIND_OWN,		/* page exchange: touches none but its own pages */
	WRC_KIND_PAPER,		/* fences and no gate: paper/ladder.h */
	WRC_KIND_LADDER,	/* and re-arms itself, by its cells */
	WRC_KIND_LADDER_HOST,	/* and has tt_addr in host byte order */
};

/**
 * struct wrc_prog - a linked program
 * @nr_head:	instructions at the start of the loop queue that are enabled
 *		by the instance before, and armed by the request before
 * @insn:	the loop queue's, in order, then the client queue's
 * @bb:		basic blocks of an instance in each queue
 * @cqes:	CQEs that an instance makes on the loop queue's send CQ
 * @client_cqes: the same of the client queue's
 * @kind:	enum wrc_kind
 * @page:	the request carries a page: to the instance's buffer, or in
 *		WRC_KIND_OWN to a page that is the instance's own
 * @post:	the instruction that posts the receive entry again; WRC_NONE: the
 *		request does
 * @page_sge:	which segment of the receive entry takes the page
 * @req_len:	bytes of the request before the page
 * @tail_len:	and behind it
 * @fences:	order=fence: fences stand where else it WAITs for its own READs
 * @map:	the READ of the key map, where the translation table is the NIC's: the
 *		request's tt_addr comes to it first; else WRC_NONE
 * @node:	recycle=node: no words, the table has them; but what ends a store, and
 *		whether the next request is to be answered
 * @choice:	and its READ of the next answer's opcode; WRC_NONE: none
 * @turns, @nr_reads:	its first READ of the table, and how many follow each
 *		other; the last one is of high rows
 * @row_len:	bytes of each one's row
 */
struct wrc_prog {
	const char *name;
	__u8 chain;
	__u8 kind;
	bool strict, page, fences, node;
	__u8 nr_insn, nr_head;
	__u8 nr_args, nr_words, nr_scatter, nr_patches;
	__u8 cqes, client_cqes;
	__u8 post, page_sge, map;
	__u8 bb[WRC_NR_QUEUES];
	__u16 req_len, tail_len;
	__u8 choice, turns, nr_reads, nr_turns;
	__u16 row_len[WRC_TURN_READS];
	__u8 nr_cells;
	struct wrc_cell cell[WRC_MAX_CELLS];
	struct wrc_hold hold;
	struct wrc_insn insn[WRC_MAX_INSN];
	struct wrc_arg arg[WRC_MAX_ARGS];
	struct wrc_word word[WRC_MAX_WORDS];
	struct wrc_scatter scatter[WRC_MAX_SCATTER];
	struct wrc_patch patch[WRC_MAX_PATCH];
	struct wrc_turn turn[WRC_MAX_TURNS];
};

/* Bytes of a request, all in all. */
static inline __u32 wrc_msg_len(const struct wrc_prog *prog)
{
	return prog->req_len + prog->tail_len +
	       (prog->page ? ODRP_WIRE_PAGE_SIZE : 0);
}

/* Page exchange: does it touch no page but its own? */
static inline bool wrc_owns(const struct wrc_prog *prog)
{
	return prog->kind == WRC_KIND_OWN;
}

/* Has it no recycle words, and renews its counts by arithmetic? */
static inline bool wrc_rearms_itself(const struct wrc_prog *prog)
{
	return prog->kind >= WRC_KIND_LADDER;
}

/* Is the translation table the NIC's? */
static inline bool wrc_is_keyed(const struct wrc_prog *prog)
{
	return prog->map != WRC_NONE;
}

/* Is it here that a request's tt_addr comes to? */
static inline bool wrc_is_asked(const struct wrc_prog *prog, unsigned int insn)
{
	if (wrc_is_keyed(prog))
		return insn == prog->map;
	return prog->insn[insn].remote.space == WRC_SP_TT;
}

/* Does the instance receive into a page of its own? */
static inline bool wrc_has_register(const struct wrc_prog *prog)
{
	return wrc_owns(prog) && prog->page;
}

static inline bool wrc_is_head(const struct wrc_prog *prog, unsigned int insn)
{
	return insn < prog->nr_head;
}

/*
 * recycle=client: the first SEND_EN behind the head.  Only a request gives it a count that
 * enables something, so nothing behind it runs without one.
 */
static inline bool wrc_is_gate(const struct wrc_prog *prog, unsigned int insn)
{
	return !prog->node && insn == prog->nr_head;
}

/* recycle=node: one of the READs that renew the words? */
static inline bool wrc_is_turn(const struct wrc_prog *prog, unsigned int insn)
{
	return prog->node && insn >= prog->turns &&
	       insn < (unsigned int)prog->turns + prog->nr_reads;
}

/* ... or anything else of another instance: the next answer's opcode? */
static inline bool wrc_renews(const struct wrc_prog *prog, unsigned int insn)
{
	return wrc_is_turn(prog, insn) ||
	       (prog->node && insn < prog->nr_insn &&
		prog->insn[insn].remote.space == WRC_SP_CHOICE);
}

#endif /* WRC_PROG_H */
