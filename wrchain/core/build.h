/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder: a transaction that appends instructions to a program.  It
 * latches the first error; every call after that does nothing, and wrc_end()
 * returns it.  So a program is written straight down, without checks.
 *
 * Calls that add an instruction return its number (0 after an error).
 */
#ifndef WRC_BUILD_H
#define WRC_BUILD_H

#include "prog.h"

struct wrc_build {
	struct wrc_prog *prog;
	int err;
	bool in_client;		/* the loop queue is closed */
	bool fence;		/* the next instruction has one */
};

void wrc_begin(struct wrc_build *b, struct wrc_prog *prog,
	       enum odrp_wire_chain chain, const char *name,
	       const struct wrc_opts *opts);
/*
 * Closes the transaction: links.  0, or the first error: -EINVAL for a call
 * that makes no sense, -ENOSPC for one that did not fit, -ERANGE for a place
 * that does not exist.
 */
int wrc_end(struct wrc_build *b);

/* Any instruction, as it stands; checked against the opcode table. */
int wrc_emit(struct wrc_build *b, const struct wrc_insn *insn);

/* Ends the head: what the instance before enables. */
void wrc_head_end(struct wrc_build *b);
/* From here on instructions are the client queue's. */
void wrc_client_queue(struct wrc_build *b);

int wrc_wait(struct wrc_build *b, int for_insn);
/* target: the last instruction to be enabled; 0 for wrc_enable_upto() later */
int wrc_send_en(struct wrc_build *b, int target);
void wrc_enable_upto(struct wrc_build *b, int send_en, int target);
/* The same for a wrc_wait() for what did not exist yet. */
void wrc_wait_for(struct wrc_build *b, int wait, int for_insn);

/*
 * What comes next runs when insn, a READ or atomic, is done: by a WAIT for it, or
 * with order=fence by a fence of its own.
 */
void wrc_after(struct wrc_build *b, int insn);

int wrc_read(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to,
	     __u32 len);
int wrc_write(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
	      __u32 len, __u8 flags);
int wrc_write_imm(struct wrc_build *b, struct wrc_ref remote,
		  struct wrc_ref from, __u32 len);
/*
 * The same as the answer to a request, which may ask to do without: then it is
 * a WRITE, or a NOP when there is nothing to write.
 */
int wrc_answer(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
	       __u32 len, __u8 flags);
/*
 * Page exchange, a load's page: a WRITE, or with a notice of its own, as the
 * request says.  The answer comes behind it.
 */
int wrc_deliver(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref from,
		__u32 len);
/* A counter to the next slot of the free ring; the old value to `to`. */
int wrc_advance(struct wrc_build *b, struct wrc_ref counter, struct wrc_ref to,
		__u8 flags);
/* Moves 8 bytes: *remote to `to`, and 0 to *remote, in one. */
int wrc_take(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to);
/* Page exchange: *remote to `to`, and the instance's own page to *remote. */
int wrc_exchange(struct wrc_build *b, struct wrc_ref remote, struct wrc_ref to);
/*
 * Translation in the NIC: READs where the slot's entry is, for a UMR that comes
 * later, wrc_umr(); that writes the instance's own page there, or that there is
 * none.
 */
int wrc_keymap(struct wrc_build *b);
int wrc_umr(struct wrc_build *b, bool own_page);
/* A READ of eight bytes in one-byte segments; wrc_set_swapped() says where to. */
int wrc_endian_swap(struct wrc_build *b, struct wrc_ref from);

/*
 * Places that lie behind, in instructions that did not exist yet: of data
 * segment sge; and, of a wrc_endian_swap(), of all eight, in reverse.
 */
void wrc_set_local(struct wrc_build *b, int insn, unsigned int sge,
		   struct wrc_ref at);
void wrc_set_swapped(struct wrc_build *b, int insn, struct wrc_ref at);
/* The same of the remote side of a READ; given any place of ours till then. */
void wrc_set_remote(struct wrc_build *b, int insn, struct wrc_ref at);

/* The request's bytes [off, off + len) go to `to`. */
void wrc_arg(struct wrc_build *b, __u16 off, __u16 len, struct wrc_ref to);
/* Between which instructions an instance holds a page; see struct wrc_hold. */
void wrc_holds(struct wrc_build *b, bool freeing, int slot_taken,
	       struct wrc_ref slot, int page_taken, struct wrc_ref page,
	       int page_put);
/* The same of a load that takes a page out of the entry at *tt meanwhile. */
void wrc_lends(struct wrc_build *b, struct wrc_ref tt, int page_taken,
	       struct wrc_ref page, int page_put);
/*
 * Page exchange: from `swapped` on an instance holds what was in the entry, at
 * old; wrc_holds() says what it takes then instead, if it does.
 */
void wrc_holds_old(struct wrc_build *b, int swapped, struct wrc_ref old);
/* The request brings a page; it goes to the instance's buffer. */
void wrc_page(struct wrc_build *b);
/*
 * Page exchange: no page is touched but while its address is in a register of
 * the instance.  A page that comes goes into such a one, and `post` is the
 * WRITE that posts the receive entry again (else WRC_NONE).
 */
void wrc_own(struct wrc_build *b);
void wrc_posts(struct wrc_build *b, int post);
/*
 * recycle=node: the loop queue's end, which READs the opcode of the next answer,
 * renews all words, and then posts the receive entry again.  Does nothing for
 * recycle=client.
 */
void wrc_recycle(struct wrc_build *b);

#endif /* WRC_BUILD_H */
