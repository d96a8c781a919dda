// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a client must send along: the formulas of the recycle words.
 *
 * The words of request r arm the body of the instance that serves r, and the
 * head of the one that will serve r + 1 (the head of r is already enabled when
 * r arrives).  Some words are no counts: which opcode the answer gets, and what
 * ends a request.
 */
#include "link.h"
#include "turn.h"

__u8 wrc_word_width(__u8 kind)
{
	switch (kind) {
	case WRC_WORD_INDEX:
		return 2;
	case WRC_WORD_ANSWER:
	case WRC_WORD_PAGE:
	case WRC_WORD_NEXT:
		return 1;
	default:
		return 4;
	}
}

struct wrc_ref wrc_word_ref(const struct wrc_word *w)
{
	switch (w->kind) {
	case WRC_WORD_INDEX:
		return wrc_field(w->insn, WRC_F_INDEX, 0);
	case WRC_WORD_ANSWER:
	case WRC_WORD_PAGE:
		return wrc_field(w->insn, WRC_F_OPCODE, 0);
	case WRC_WORD_NEXT:	/* which of the table's opcodes */
		return wrc_field(w->insn, WRC_F_RADDR, 7);
	case WRC_WORD_END:
		return wrc_field(w->insn, WRC_F_RADDR, 0);
	default:
		return wrc_field(w->insn, WRC_F_COUNT, 0);
	}
}

static inline __u8 *put_word(const struct wrc_word_rule *w, __u32 r, bool step,
			     __u8 *to)
{
	__u32 v = be16_to_cpu(w->base);
	__be16 be16;
	__be32 be32;

	if (w->kind < WRC_WORD_ANSWER)
		v += r * w->step;
	else if (step)
		v = w->step;
	switch (w->kind) {
	case WRC_WORD_INDEX:
		be16 = cpu_to_be16(v);
		memcpy(to, &be16, sizeof(be16));
		return to + sizeof(be16);
	case WRC_WORD_ANSWER:
	case WRC_WORD_PAGE:
	case WRC_WORD_NEXT:
		*to = v;
		return to + 1;
	default:
		v &= w->kind == WRC_WORD_WAIT ? WRC_WQE_WAIT_MASK :
						      WRC_WQE_EN_MASK;
		be32 = cpu_to_be32(v);
		memcpy(to, &be32, sizeof(be32));
		return to + sizeof(be32);
	}
}

__u8 wrc_word_put(const struct wrc_word_rule *w, __u32 r, bool step, void *to)
{
	return put_word(w, r, step, to) - (__u8 *)to;
}

unsigned int wrc_words_put(const struct wrc_word_rule *words, unsigned int nr,
			   __u32 r, unsigned int steps, void *to)
{
	__u8 *at = to;
	unsigned int i;

	for (i = 0; i < nr; i++)
		at = put_word(&words[i], r, steps >> words[i].kind & 1, at);
	return at - (__u8 *)to;
}

/* Value of a word in request r, before it is cut to its width. */
static __u32 word_value(const struct wrc_prog *prog,
			const struct wrc_geom *geom, const struct wrc_word *w,
			__u32 r)
{
	const struct wrc_insn *insn;

	switch (w->kind) {
	case WRC_WORD_DBR:
		/*
		 * By the request itself: r + 1 are consumed then, K - 1 posted.
		 * By the chain, behind the answer: K, so that K - 1 are posted
		 * when the answer comes.
		 */
		return geom->depth + r + (prog->post != WRC_NONE);
	case WRC_WORD_INDEX:
		insn = &prog->insn[w->insn];
		return (r + w->delta) * prog->bb[insn->queue] + insn->bb;
	default:
		return wrc_count(prog, w->insn, r + w->delta);
	}
}

int wrc_words(const struct wrc_prog *prog, const struct wrc_geom *geom,
	      struct wrc_word_rule *words)
{
	unsigned int i;

	for (i = 0; i < prog->nr_words; i++) {
		const struct wrc_word *w = &prog->word[i];
		__u32 base, step;

		if (w->kind == WRC_WORD_END) {
			base = step = 0;
		} else if (w->kind == WRC_WORD_NEXT) {
			base = WRC_CHOICE_ANSWER;
			step = WRC_CHOICE_QUIET;
		} else if (w->kind >= WRC_WORD_ANSWER) {
			base = prog->insn[w->insn].op;
			step = prog->insn[w->insn].quiet;
		} else {
			base = word_value(prog, geom, w, 0);
			step = word_value(prog, geom, w, 1) - base;
		}
		if (base > 0xffff || step > 0xff)
			return -ERANGE;
		words[i].kind = w->kind;
		words[i].step = step;
		words[i].base = cpu_to_be16(base);
	}
	return prog->nr_words;
}
