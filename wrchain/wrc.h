/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wrchain: from a chain program to armed work queue entries.
 *
 *	wrc_prog_build()	instructions and self-modifications of one instance
 *	wrc_geom_init()		how K instances lie in ring memory
 *	wrc_image_write()	linked and encoded for given keys and QPs
 *	wrc_image_check()	the verifier: decodes the bytes again and refuses
 *	wrc_image_arm()		both, and then the value for the doorbell
 *	wrc_words()		what a client must send along to re-arm them, or
 *	wrc_table_fill()	where they find that themselves: recycle=node
 *	wrc_keymap_set()	where a slot's translation is, for WRC_V_KEYED
 *	wrc_held_page()		after a stop: what an interrupted instance holds
 *	wrc_held_of()		the same of each instance, where all hold a page
 *
 * An instance serves one request.  It spans two RC QPs of the memory node's
 * NIC: *client* (connected to the CNode: its receive queue triggers, its send
 * queue answers) and *loop* (connected to itself: its work requests touch the
 * memory node's own memory).  Both send queues are managed: nothing in them
 * runs before a SEND_EN (or, once, the doorbell that wrc_image_arm() gives) allows
 * it.
 * The client QP's receive CQ and the loop QP's send CQ are only waited on,
 * never polled, and must ignore overrun.
 *
 * Nothing here allocates, and nothing needs a device.
 */
#ifndef WRC_H
#define WRC_H

#include <odrp/wire.h>
#include "core/wqe.h"

struct wrc_prog;		/* core/prog.h: fixed size, caller-allocated */

/*
 * Which chains.  One set for NICs that do not translate, load and invalidate of
 * WRC_V_OURS with the stores of WRC_V_EXCHANGE; and one for those that do.  Nothing
 * else is built by wrc_prog_build().  paper/paper.h has more, to compare with: stores of
 * WRC_V_OURS, a load of WRC_V_EXCHANGE, and from WRC_V_NAIVE to WRC_V_PAPER the rungs
 * of Figure 12 of the ODRP paper, each with one more of its optimisations.
 */
enum wrc_variant {
	WRC_V_OURS,
	WRC_V_EXCHANGE,		/* page exchange: prog/exchange.c */
	WRC_V_KEYED,		/* translation in the NIC: core/keymap.h */
	WRC_V_NAIVE,
	WRC_V_STORE_DECISION,	/* the client knows whether a slot is mapped */
	WRC_V_CALC_TT_ADDR,	/* ... and computes tt_addr */
	WRC_V_RECYCLE_HELPER,	/* ... and the recycle words */
	WRC_V_PAPER,		/* ... and bytes are reversed by one READ */
	WRC_NR_VARIANTS,
};

/* The side that knows the counts of an instance's next lap; core/turn.h. */
enum wrc_recycle {
	WRC_RECYCLE_CLIENT,	/* its request brings them: insecure */
	WRC_RECYCLE_NODE,	/* a table in the memory node */
	WRC_NR_RECYCLES,
};

/*
 * What a word of a request counts, and so its width and modulus.  Requests for chains that
 * are recycled by the node have WRC_WORD_NEXT and, of stores, WRC_WORD_END: <odrp/wire.h>.
 * All others are of chains that nobody arms.
 */
enum wrc_word_kind {
	WRC_WORD_INDEX	= 1,	/* WQE index:   2 bytes, mod 2^16 */
	WRC_WORD_ENABLE	= 2,	/* SEND_EN:     4 bytes, mod 2^16 */
	WRC_WORD_WAIT	= 3,	/* WAIT:        4 bytes, mod 2^24 */
	WRC_WORD_DBR	= 4,	/* RQ doorbell: 4 bytes, mod 2^16 */
	/*
	 * Not a count: 1 byte, @base for a request that is to be answered, @step
	 * for a quiet one.
	 */
	WRC_WORD_ANSWER	= 5,
	/*
	 * Not a count: 1 byte, the opcode that brings a load's page.  @base: the page
	 * comes silently, and the answer behind it; @step: it comes with the same
	 * immediate as the answer, as soon as it is there, and the answer behind it
	 * when the slot may be used again.
	 */
	WRC_WORD_PAGE	= 6,
	WRC_WORD_END	= 7,	/* 4 bytes of 0: ODRP_WIRE_END_LEN */
	WRC_WORD_NEXT	= 8,	/* 1 byte: ODRP_WIRE_NEXT_*, by @base and @step */
};

/**
 * struct wrc_word_rule - how to make one word of request r
 * @kind:	enum wrc_word_kind
 * @step:	value = (base + r * step) mod the kind's modulus, big endian,
 * @base:	where r counts the requests of this connection from 0
 *
 * The words stand in the request in the order of wrc_words(), without padding: the first
 * behind the head, prog.tail_len bytes behind the page.  They re-arm the memory node's
 * chain for its next lap (paper, section 4.4: client-assisted recycling).
 */
struct wrc_word_rule {
	__u8	kind;
	__u8	step;
	__be16	base;
};

#define WRC_MAX_WORDS	40

/* How a WQE comes behind what a READ or atomic of its own queue has brought. */
enum wrc_order {
	WRC_ORDER_WAIT,		/* a WAIT for its completion */
	WRC_ORDER_FENCE,	/* a fence: one WQE less; see wrc_bind.fence_orders */
	WRC_NR_ORDERS,
};

struct wrc_opts {
	/* Re-arm each WQE's index too, for NICs that check it. */
	bool strict_index;
	__u8 variant;		/* enum wrc_variant */
	__u8 recycle;		/* enum wrc_recycle */
	__u8 order;		/* enum wrc_order */
};

#define WRC_TABLE_CLASSES 128

/**
 * struct wrc_geom - where the pieces of one queue lie in its arena
 * @depth:	instances K, a power of two; K - 1 requests may be outstanding
 * @loop_bb:	BBs of one instance in the loop send queue, a power of two
 * @client_bb:	BBs of one instance in the client send queue
 * @log_loop_sq, @log_client_sq:	log2 of send queue sizes in BBs
 * @log_rq:	log2 of receive queue entries
 * @log_rq_stride:	log2 of an entry's bytes
 * @loop_sq, @client_sq, @client_rq, @loop_dbr, @client_dbr, @scratch:
 *		byte offsets in the arena (send queues are page aligned; records
 *		are struct wrc_dbr)
 * @arena_len:	bytes of the arena, a multiple of 4096
 * @buf_len:	bytes of page buffers: 4096 * depth for stores that copy, else 0
 * @start_bb:	where the head of instance 0 ends; the value that arms it comes
 *		from wrc_image_arm()
 * @rq_posted:	initial receive doorbell record value: K - 1, or K where the chain
 *		posts its entries itself
 * @req_len:	bytes of a request before the page
 * @table_len:	recycle=node: bytes of the table, else 0
 * @table_classes, @table_class, @table_row, @table_stride, @table_choice: what
 *		is in it, see core/turn.h
 */
struct wrc_geom {
	__u32 depth;
	__u32 loop_bb, client_bb;
	__u8 log_loop_sq, log_client_sq;
	__u8 log_rq, log_rq_stride;
	__u32 loop_sq, client_sq, client_rq;
	__u32 loop_dbr, client_dbr;
	__u32 scratch;
	__u32 arena_len;
	__u32 buf_len;
	__u16 start_bb;
	__u16 rq_posted;
	__u16 req_len;
	__u32 table_len;
	__u16 table_classes;
	__u16 table_class[WRC_TABLE_CLASSES];
	__u32 table_row[2];
	__u16 table_stride[2];
	__u32 table_choice;
};

/*
 * Every page address has these two bytes (bytes 1 and 2 in memory order), so
 * that a translation table entry scattered over a WQE's opcode byte means the
 * operation for a mapped page, and NOP for an unmapped one (0).
 *
 * And byte 0 is that of nothing else in an address: eight bytes that begin
 * between two entries are in no pool.  A window that begins with byte 1, 2 or 7
 * begins with 0x15, 0x08 or 0; byte 3 stays below 0xff (WRC_POOL_MAX), byte 6
 * has no low bits; and behind bytes 4 and 5, which may be any, byte 6 would have
 * to be 0x08 or 0x15.
 */
#define WRC_POOL_IOVA	0xff15080000000000ull
#define WRC_POOL_MAX	(0xffull << 32)

/**
 * struct wrc_bind - what an image is linked to
 * @arena_iova, @arena_key:	the queue's own ring memory
 * @buf_iova, @buf_key:		its page buffers
 * @tt_iova, @tt_key, @tt_len:	the CNode's translation table; a request's
 *			tt_addr is an address under tt_key, so tt_iova is 0
 * @free_head, @free_tail:	addresses of the two counters of the free ring;
 *			each holds the address of a slot in host byte order
 * @free_ring, @log_free_ring:	the ring's address, aligned to its size, and
 *			log2 of its size in bytes
 * @free_key:	key of ring and counters
 * @pool_key, @pool_len:	the pages, from WRC_POOL_IOVA on
 * @client_scqn:	of the client queue; only loads of WRC_V_EXCHANGE wait on it
 * @pages:	stores of WRC_V_EXCHANGE: the first page of each instance, which is
 *		in nobody else's hands; else NULL
 * @arena_rkey: the key by which the loop queue's peer reaches the arena; 0: the
 *		same one
 * @keymap_key:	of the key map (struct wrc_keymap for each slot), where the
 *		translation table is the NIC's; under it an address means the same
 *		slot as under tt_key.  0: there is none
 * @table, @table_iova, @table_key: recycle=node: the table, which the NIC may
 *		only read; its address is a multiple of WRC_TABLE_ALIGN
 * @fence_orders: of the NIC: behind a fence, what READs and atomics of that
 *		queue have brought is there for all queues.  Documented for no card;
 *		without it the verifier takes a fence for nothing
 */
struct wrc_bind {
	__u32 client_qpn, client_rcqn, client_scqn;
	__u32 loop_qpn, loop_scqn;
	__u64 arena_iova;
	__u32 arena_key, arena_rkey;
	__u32 buf_key;
	__u32 keymap_key;
	__u64 buf_iova;
	__u64 tt_iova, tt_len;
	__u32 tt_key;
	__u32 free_key;
	__u64 free_head, free_tail, free_ring;
	__u8 log_free_ring;
	__u32 pool_key;
	__u64 pool_len;
	const __u64 *pages;
	const void *table;
	__u64 table_iova;
	__u32 table_key;
	bool fence_orders;
};

#define WRC_TABLE_ALIGN (1ull << 24)

/*
 * recycle=node with stores of WRC_V_EXCHANGE: the largest tt_len.  The upper half
 * of a request's tt_addr is what tells that all of it has come.
 */
#define WRC_TT_MAX (1ull << 32)

/**
 * struct wrc_held - what a stopped queue had taken and not yet put
 * @page:	page address that lies only in this queue's registers, or 0
 * @slot:	ring slot, or 0.  Unmapped store: the head has passed it and its
 *		page is still in it; or it was empty (the ring was), and what
 *		comes into it is behind the head.  Invalidate: the tail has
 *		passed it and @page was about to be written to it.
 * @home:	@page is that of the table entry at @tt_addr: it goes there, if the
 *		entry is 0.  It was only lent; or it has a translation in the NIC, and
 *		if it cannot go there nobody may have it as long as there are the
 *		CNode's keys
 */
struct wrc_held {
	__u64 page;
	__u64 slot;
	__u64 tt_addr;
	bool home;
};

/* Text of the last refusal, for people: one sentence with the WQE's line. */
#define WRC_WHY_MAX 256

/*
 * -EINVAL: no such chain of this variant, one that is not recycled by the node, or
 * one that needs no chain (WRC_V_KEYED: a load is a READ by the client, a mapped
 * store a WRITE).  -ENOSPC: the program outgrew its arrays (a bug).
 */
int wrc_prog_build(enum odrp_wire_chain chain, const struct wrc_opts *opts,
		   struct wrc_prog *ret_prog);
/* -ERANGE: depth is not a power of two in [4, 1024], or too large a ring. */
int wrc_geom_init(const struct wrc_prog *prog, __u32 depth,
		  struct wrc_geom *ret_geom);
/* Writes arena_len bytes: rings, receive entries, doorbell records, scratch. */
int wrc_image_write(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, void *arena);
/* 0, or -EPERM with the reason in why. */
int wrc_image_check(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, const void *arena,
		    char why[WRC_WHY_MAX]);
/*
 * The only way to arm a chain, in pieces, since an agent has other work to do meanwhile:
 * the first one writes the image, the others verify it, and the last one says with what
 * the loop queue's doorbell is rung.  step is 0 before the first one.  0: that was the
 * last; -EAGAIN: there are more, and nobody changes the image until then; other errors
 * are those of the two, and end it.
 */
int wrc_image_arm(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const struct wrc_bind *bind, void *arena, unsigned int *step,
		  char why[WRC_WHY_MAX], __u16 *ret_doorbell);
/*
 * recycle=node: fills table_len bytes of a table, which is the same for all
 * queues of this program and geometry.  It holds, for each request, the counts,
 * indices and addresses that the next lap needs, all numbers big endian; and the
 * opcodes of an answer that a request may choose from.
 */
void wrc_table_fill(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    __u64 table_iova, void *table);

/**
 * struct wrc_table_part - bytes of a table that are filled and checked at once
 * @off, @len:	where they are; parts are next to each other, in the order of their
 *		numbers, and none has more than 1 MB
 */
struct wrc_table_part {
	__u32 off, len;
};

/* Part n of all; false: there are no more. */
bool wrc_table_part(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    unsigned int n, struct wrc_table_part *ret_part);
/* As the whole, for who has other work to do meanwhile. */
void wrc_table_fill_part(const struct wrc_prog *prog,
			 const struct wrc_geom *geom, __u64 table_iova,
			 const struct wrc_table_part *part, void *table);
int wrc_table_check_part(const struct wrc_prog *prog,
			 const struct wrc_geom *geom, __u64 table_iova,
			 const struct wrc_table_part *part, const void *table,
			 char why[WRC_WHY_MAX]);
/*
 * The verifier's part for all of it: every word of every row.  0 or -EPERM.
 * wrc_image_check() looks only at the rows of a lap and around the wraps.
 */
int wrc_table_check(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    __u64 table_iova, const void *table,
		    char why[WRC_WHY_MAX]);
/* Number of words, or -errno.  words has room for WRC_MAX_WORDS. */
int wrc_words(const struct wrc_prog *prog, const struct wrc_geom *geom,
	      struct wrc_word_rule *words);
/*
 * loop_bb: the loop send queue's count of executed BBs (QPC
 * hw_sq_wqebb_counter), 16 bits, without the WQE that failed.  To be called
 * when the queue has stopped and nothing of it is in flight.
 */
int wrc_held_page(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const void *arena, __u16 loop_bb, struct wrc_held *ret_held);
/*
 * What an instance holds; wrc_held_page() is that of the one that stands at
 * loop_bb.  Only stores of WRC_V_EXCHANGE hold something in all of them: a page
 * each.
 */
int wrc_held_of(const struct wrc_prog *prog, const struct wrc_geom *geom,
		const void *arena, __u16 loop_bb, __u32 instance,
		struct wrc_held *ret_held);

#endif /* WRC_H */
