// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A program before it was linked; see unlink.h. */
#include <string.h>
#include "unlink.h"

/* Instruction `from` is `to[from]` now; other numbers stay. */
static void number(__u8 *at, const __u8 *to, unsigned int nr)
{
	if (*at < nr)
		*at = to[*at];
}

static void place(struct wrc_ref *ref, const __u8 *to, unsigned int nr)
{
	if (ref->space == WRC_SP_FIELD)
		number(&ref->at, to, nr);
}

void unlink_renumber(struct wrc_prog *prog, const __u8 *to, unsigned int nr)
{
	struct wrc_hold *h = &prog->hold;
	unsigned int i, j;

	for (i = 0; i < prog->nr_insn; i++) {
		struct wrc_insn *insn = &prog->insn[i];

		if (insn->op == WRC_WQE_WAIT || insn->op == WRC_WQE_SEND_EN)
			number(&insn->target, to, nr);
		place(&insn->remote, to, nr);
		for (j = 0; j < insn->nr_sge; j++)
			place(&insn->sge[j].at, to, nr);
	}
	for (i = 0; i < prog->nr_args; i++)
		place(&prog->arg[i].to, to, nr);
	place(&h->slot, to, nr);
	place(&h->page, to, nr);
	place(&h->old, to, nr);
	place(&h->tt, to, nr);
	number(&h->slot_taken, to, nr);
	number(&h->page_taken, to, nr);
	number(&h->page_put, to, nr);
	number(&h->swapped, to, nr);
	number(&h->umr, to, nr);
	number(&prog->post, to, nr);
	number(&prog->choice, to, nr);
	number(&prog->map, to, nr);
	number(&prog->turns, to, nr);
}

static void remove_pad(struct wrc_prog *prog, unsigned int at)
{
	__u8 to[WRC_MAX_INSN];
	unsigned int i, nr = prog->nr_insn;

	for (i = 0; i < nr; i++)
		to[i] = i - (i > at);
	memmove(&prog->insn[at], &prog->insn[at + 1],
		(nr - at - 1) * sizeof(prog->insn[0]));
	memset(&prog->insn[nr - 1], 0, sizeof(prog->insn[0]));
	prog->nr_insn--;
	unlink_renumber(prog, to, nr);
}

/* The linker gives them their segments. */
static void forget_rows(struct wrc_prog *prog)
{
	unsigned int i;

	for (i = 0; prog->node && i < prog->nr_reads; i++) {
		struct wrc_insn *insn = &prog->insn[prog->turns + i];

		insn->nr_sge = 0;
		memset(insn->sge, 0, sizeof(insn->sge));
	}
	prog->nr_turns = 0;
	memset(prog->turn, 0, sizeof(prog->turn));
	memset(prog->row_len, 0, sizeof(prog->row_len));
}

void unlink_prog(struct wrc_prog *prog)
{
	unsigned int i;

	forget_rows(prog);
	for (i = prog->nr_insn; i--;)
		if (prog->insn[i].op == WRC_WQE_NOP)
			remove_pad(prog, i);
	for (i = 0; i < prog->nr_insn; i++)
		prog->insn[i].bb = prog->insn[i].nr_bb = prog->insn[i].cqe = 0;
	prog->cqes = prog->client_cqes = 0;
	memset(prog->bb, 0, sizeof(prog->bb));
	prog->nr_patches = prog->nr_words = prog->nr_scatter = 0;
	memset(prog->patch, 0, sizeof(prog->patch));
	memset(prog->word, 0, sizeof(prog->word));
	memset(prog->scatter, 0, sizeof(prog->scatter));
	prog->page_sge = 0;
	prog->req_len = prog->tail_len = 0;
}
