/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The disassembler: WQE bytes, and programs, to text.
 *
 *	read ce from tt:0x0 to l5@1.raddr[8]
 *
 * Memory is written KEY:ADDRESS[LENGTH]; with a context the key is the name of
 * what it opens, and an address in a queue's own arena is the place it means:
 * l5@1.raddr is the field raddr of loop instruction 5 of instance 1.
 */
#ifndef WRC_DIS_H
#define WRC_DIS_H

#include "prog.h"
#include "text.h"
#include "wr.h"

/* What the numbers mean; all or none. */
struct wrc_dis_ctx {
	const struct wrc_prog *prog;
	const struct wrc_geom *geom;
	const struct wrc_bind *bind;
};

const char *wrc_class_name(enum wrc_class class);
const char *wrc_word_name(__u8 kind);

/**
 * struct wrc_place - what an arena offset belongs to
 * @space:	WRC_SP_FIELD, WRC_SP_REG, WRC_SP_DBR, or WRC_SP_NONE
 * @instance, @insn:	FIELD: whose; REG: the instance's
 * @byte:	FIELD: which field and byte of it
 * @off:	REG: byte in the scratch line; DBR: in the record's word
 */
struct wrc_place {
	__u8 space;
	__u8 insn;
	struct wrc_byte byte;
	__u8 off;
	__u32 instance;
};

struct wrc_place wrc_place_of(const struct wrc_prog *prog,
			      const struct wrc_geom *geom, __u64 arena_off);

/* Number of an instruction in its own queue. */
unsigned int wrc_insn_number(const struct wrc_prog *prog, unsigned int insn);

/* A WQE that may be anything; returns how many bytes to go on. */
__u32 wrc_dis_bytes(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		    const void *wqe, size_t len, int shape);
void wrc_dis_sge(struct wrc_text *t, const struct wrc_dis_ctx *ctx,
		 const struct wrc_sge *sge);
/* The label of an instruction: l5 or c0. */
void wrc_dis_label(struct wrc_text *t, const struct wrc_prog *prog,
		   unsigned int insn);
/* Symbolic: an instruction and a relocation as the program has them. */
void wrc_dis_insn(struct wrc_text *t, const struct wrc_prog *prog,
		  unsigned int insn);
void wrc_dis_patch(struct wrc_text *t, const struct wrc_prog *prog,
		   const struct wrc_patch *patch);

#endif /* WRC_DIS_H */
