/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recycle words: what a request carries to re-arm the memory node's chain for
 * its next lap.  The rule is in <odrp/wire.h>; pure code, also compiled in
 * user space.
 */
#ifndef _ODRP_WORDS_H
#define _ODRP_WORDS_H

#include <odrp/wire.h>

/* Most bytes that a request's head and words may take. */
#define ODRP_HDR_MAX	(sizeof(struct odrp_wire_req) + 4 * ODRP_WIRE_MAX_WORDS)

struct odrp_words {
	unsigned int	nr;
	unsigned int	len;	/* of all words, in bytes */
	unsigned int	head_len;	/* of those that stand before the page */
	bool		may_be_quiet;	/* one of them is ODRP_WIRE_WORD_ANSWER */
	bool		ahead;		/* or ODRP_WIRE_WORD_NEXT, which is one ahead */
	struct {
		u8	kind;
		u8	step;
		u16	base;
	} w[ODRP_WIRE_MAX_WORDS];
};

int odrp_words_parse(struct odrp_words *ws, const struct odrp_wire_word *tab,
		     unsigned int nr, unsigned int head_len,
		     unsigned int *ret_bad);
void odrp_words_make(const struct odrp_words *ws, u32 r, bool quiet,
		     bool next, void *buf);

#endif /* _ODRP_WORDS_H */
