/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The linker.  First, once per program: basic blocks, CQE numbers, the
 * request's words, and every self-modification as a relocation.  Then, for a
 * geometry and a binding: instructions of an instance as work requests with
 * all their numbers, and its receive entry.
 */
#ifndef WRC_LINK_H
#define WRC_LINK_H

#include "prog.h"
#include "wr.h"

/* Bytes of a recycle word, and what it overwrites (not of the record's). */
__u8 wrc_word_width(__u8 kind);
struct wrc_ref wrc_word_ref(const struct wrc_word *w);
/*
 * The client's side: the word in request r, as its bytes go on the wire; how
 * many.  step: for those that are no counts, the word's other value.
 */
__u8 wrc_word_put(const struct wrc_word_rule *w, __u32 r, bool step, void *to);
/* Words in a row; steps: which kinds (1 << kind) have their other value. */
unsigned int wrc_words_put(const struct wrc_word_rule *words, unsigned int nr,
			   __u32 r, unsigned int steps, void *to);

/* -ERANGE, -EINVAL, -ENOSPC as wrc_end(). */
int wrc_link(struct wrc_prog *prog);

/* Byte offset of a FIELD place in its instance of its queue; -ERANGE. */
int wrc_field_off(const struct wrc_prog *prog, struct wrc_ref ref);

/*
 * The count of a WAIT (CQE number) or SEND_EN (BBs) when it serves request r,
 * before it is cut to its width.
 */
__u32 wrc_count(const struct wrc_prog *prog, unsigned int insn, __u32 r);

/*
 * A cell: its value when request r has advanced it, which arms request r +
 * depth; how far each request advances it; and where it wraps.
 */
__u32 wrc_cell_value(const struct wrc_prog *prog, const struct wrc_geom *geom,
		     unsigned int cell, __u32 r);
__u32 wrc_cell_step(const struct wrc_prog *prog, unsigned int cell);

/* Byte offset in the arena of a place of an instance, where it is in the arena. */
__u32 wrc_arena_off(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    struct wrc_ref ref, __u32 instance);

/* Byte offset in the arena of an instruction of an instance. */
__u32 wrc_insn_off(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   unsigned int insn, __u32 instance);

/* The page that an instance is armed with, 0: none. */
__u64 wrc_first_page(const struct wrc_geom *geom, const struct wrc_bind *bind,
		     __u32 instance);
/*
 * Bytes in the other order.  Atomics work on numbers of the host, table entries
 * are big endian: an operand that is to stand in an entry is swapped.
 */
__u64 wrc_swapped(__u64 value);

/*
 * The free ring.  What an advance adds to a counter, as the NIC does it, to a
 * little-endian number, and the bit of that behind which no carry goes.
 */
void wrc_ring_step(const struct wrc_bind *bind, __u64 *ret_add,
		   __u64 *ret_boundary);

__u32 wrc_class_key(const struct wrc_bind *bind, enum wrc_class class);
/* The same as an rkey. */
__u32 wrc_remote_key(const struct wrc_bind *bind, enum wrc_class class);

/* Address of a place; one that comes at run time is 0 for now. */
__u64 wrc_ref_addr(const struct wrc_prog *prog, const struct wrc_geom *geom,
		   const struct wrc_bind *bind, struct wrc_ref ref,
		   __u32 instance);

/* Instruction insn of an instance, as it stands on its first lap. */
void wrc_link_wr(const struct wrc_prog *prog, const struct wrc_geom *geom,
		 const struct wrc_bind *bind, unsigned int insn,
		 __u32 instance, struct wrc_wr *ret_wr);

/* The receive entry of an instance; returns the number of segments. */
unsigned int wrc_link_recv(const struct wrc_prog *prog,
			   const struct wrc_geom *geom,
			   const struct wrc_bind *bind, __u32 instance,
			   struct wrc_sge sge[WRC_MAX_RECV_SGE]);

#endif /* WRC_LINK_H */
