// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recycle words: the accept's table, checked, and the words of request r.
 * cm.c parses the table once per connection, io.c makes the words of each
 * request.
 */
#include <linux/errno.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include "words.h"

static unsigned int word_len(u8 kind)
{
	switch (kind) {
	case ODRP_WIRE_WORD_INDEX:
		return 2;
	case ODRP_WIRE_WORD_ENABLE:
	case ODRP_WIRE_WORD_WAIT:
	case ODRP_WIRE_WORD_DBR:
	case ODRP_WIRE_WORD_END:
		return 4;
	case ODRP_WIRE_WORD_ANSWER:
	case ODRP_WIRE_WORD_NEXT:
		return 1;
	default:
		return 0;
	}
}

/*
 * odrp_words_parse() - take over the table of an accept
 * @head_len: bytes of the words that stand before the page
 * @ret_bad: index of the offending word when -EPROTO is returned
 *
 * Return: 0, -EPROTO for an unknown kind, -E2BIG for too many words, -EMSGSIZE
 * when no word ends after @head_len bytes.
 */
int odrp_words_parse(struct odrp_words *ws, const struct odrp_wire_word *tab,
		     unsigned int nr, unsigned int head_len,
		     unsigned int *ret_bad)
{
	bool fits = !head_len;
	unsigned int i, len = 0;

	if (nr > ODRP_WIRE_MAX_WORDS)
		return -E2BIG;
	ws->may_be_quiet = ws->ahead = false;
	for (i = 0; i < nr; i++) {
		unsigned int n = word_len(tab[i].kind);

		if (!n) {
			*ret_bad = i;
			return -EPROTO;
		}
		ws->w[i].kind = tab[i].kind;
		ws->w[i].step = tab[i].step;
		ws->w[i].base = be16_to_cpu(tab[i].base);
		ws->may_be_quiet |= tab[i].kind == ODRP_WIRE_WORD_ANSWER;
		ws->ahead |= tab[i].kind == ODRP_WIRE_WORD_NEXT;
		len += n;
		fits |= len == head_len;
	}
	ws->may_be_quiet |= ws->ahead;
	ws->nr = nr;
	ws->len = len;
	if (!fits)
		return -EMSGSIZE;
	ws->head_len = head_len;
	return 0;
}

static u8 *put_be(u8 *p, u32 v, unsigned int len)
{
	while (len--)
		*p++ = v >> (8 * len);
	return p;
}

/*
 * odrp_words_make() - write the words of request number r
 * @quiet: it wants no answer; only if ws->may_be_quiet
 * @next: nor does the one behind it
 * @buf: room for ws->len bytes, of any alignment; the page is not in between
 *
 * The request number may wrap at 2^32, a multiple of every modulus.
 */
void odrp_words_make(const struct odrp_words *ws, u32 r, bool quiet,
		     bool next, void *buf)
{
	u8 *p = buf;
	unsigned int i;

	for (i = 0; i < ws->nr; i++) {
		u32 v = ws->w[i].base + r * ws->w[i].step;

		switch (ws->w[i].kind) {
		case ODRP_WIRE_WORD_INDEX:
			p = put_be(p, v & 0xffff, 2);
			break;
		case ODRP_WIRE_WORD_WAIT:
			p = put_be(p, v & 0xffffff, 4);
			break;
		case ODRP_WIRE_WORD_ANSWER:
			p = put_be(p, quiet ? ws->w[i].step : ws->w[i].base, 1);
			break;
		case ODRP_WIRE_WORD_NEXT:
			p = put_be(p, next ? ws->w[i].step : ws->w[i].base, 1);
			break;
		default:
			p = put_be(p, v & 0xffff, 4);
			break;
		}
	}
}
