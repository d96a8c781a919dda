/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verifier's parts.  wrc_image_check() in wrc.h is what others call.
 *
 * An image is refused unless all rules accept it.  They read the bytes that
 * the NIC will read, and the recycle words as the client will compute them;
 * from the program they take only what it claims to do, and prove that it is
 * harmless and that the bytes do the same.
 */
#ifndef WRC_CHECK_H
#define WRC_CHECK_H

#include "decode.h"
#include "dis.h"
#include "link.h"

enum wrc_rule {
	/* Geometry, opcodes, lengths, QPNs, completion flags. */
	WRC_RULE_FORM,
	/* Each operand's key opens the memory its role needs, no other. */
	WRC_RULE_KEY,
	/* Addresses known beforehand lie in their region, and are one's own. */
	WRC_RULE_ADDRESS,
	/*
	 * Whoever writes the ring hits whole fields of its own instance that it
	 * may write, and every address still open is written by somebody.
	 */
	WRC_RULE_PATCH,
	/*
	 * A WQE is enabled, and a register read, only after whatever is written
	 * there is known to have arrived (by a WAIT for it, or on a NIC that is said
	 * to keep that order by a fence).
	 */
	WRC_RULE_ORDER,
	/* The answer is enabled after all effects (I5). */
	WRC_RULE_ANSWER,
	/*
	 * WAITs name CQEs that come, SEND_ENs let everything run once and no
	 * more than the next head, at every wrap.
	 */
	WRC_RULE_BALANCE,
	/* Counts and indices are those of their lap, and re-armed. */
	WRC_RULE_INDEX,
	/* The receive queue is full but never over-posted. */
	WRC_RULE_RQ,
	/* Pages are moved, never copied; counters stay in the ring (I1). */
	WRC_RULE_ATOMIC,
	/* Addresses and pages come from where they may come from (I2, I3). */
	WRC_RULE_FLOW,
	/*
	 * Page exchange: no page is touched but while its address is in a register
	 * of the instance (I3), and that register is never two pages or a used one.
	 */
	WRC_RULE_OWN,
	/*
	 * recycle=node: all that changes with the lap is in the rows of a table,
	 * the entry is posted behind them, and nothing is done unasked (I6).
	 */
	WRC_RULE_TABLE,
	/*
	 * Translation in the NIC: a page has a translation only where it is in the
	 * table or an instance's own, and one that the slot's client may have (I3).
	 */
	WRC_RULE_KEYED,
	/*
	 * A page that is moved goes to one place, of each slot one page, and a stop
	 * in between finds both (I1).
	 */
	WRC_RULE_MOVE,
	/*
	 * The agent can tell when no page that was looked up is in use any more: by
	 * completions of the client queue (I3).
	 */
	WRC_RULE_GRACE,
	WRC_NR_RULES,
};

#define WRC_ALL_RULES ((1u << WRC_NR_RULES) - 1)

const char *wrc_rule_name(enum wrc_rule rule);

struct wrc_check {
	struct wrc_dis_ctx ctx;
	const __u8 *arena;
	unsigned int rules;
	int nr_words;
	struct wrc_word_rule words[WRC_MAX_WORDS];
	struct wrc_text why;
};

/* Only some rules: a mask of 1 << enum wrc_rule. */
int wrc_check_rules(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, const void *arena,
		    unsigned int rules, char why[WRC_WHY_MAX]);

/*
 * wrc_image_arm() with only some rules, for yardsticks on the software NIC
 * (paper/ladder.h).
 */
int wrc_arm_rules(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const struct wrc_bind *bind, void *arena, unsigned int rules,
		  char why[WRC_WHY_MAX], __u16 *ret_doorbell);

/* Writes the reason, with the WQE's line, and returns -EPERM. */
__attribute__((format(printf, 5, 6)))
int wrc_refuse(struct wrc_check *c, enum wrc_rule rule, __u32 instance,
	       unsigned int insn, const char *fmt, ...);
/* The same about the queue or an instance's receive entry. */
__attribute__((format(printf, 3, 4)))
int wrc_refuse_all(struct wrc_check *c, enum wrc_rule rule,
		   const char *fmt, ...);

const __u8 *wrc_check_wqe(const struct wrc_check *c, __u32 instance,
			  unsigned int insn);
/* Decoded as its program has it; false: it is not (rule form says why). */
bool wrc_check_decode(const struct wrc_check *c, __u32 instance,
		      unsigned int insn, struct wrc_wr *ret_wr);
/* Segments of the receive entry of an instance, -EINVAL. */
int wrc_check_recv(const struct wrc_check *c, __u32 instance,
		   struct wrc_sge sge[WRC_MAX_RECV_SGE]);

/*
 * A recycle word as the client computes it for request r, which may be -1:
 * the value that stands in the image.
 */
__u32 wrc_check_word(const struct wrc_check *c, unsigned int word, __s64 r);
/* The word of an instruction and kind, negative: none. */
int wrc_check_word_of(const struct wrc_check *c, unsigned int insn,
		      enum wrc_word_kind kind);

/* Is there a relocation that takes that word to where it belongs? */
bool wrc_check_word_lands(const struct wrc_prog *prog, const struct wrc_word *w);

/*
 * recycle=node: the same of the table; kind is that of a word.  And what the
 * receive record is to be behind request r.  False: no row has it.
 */
bool wrc_check_turn_word(const struct wrc_check *c, unsigned int insn,
			 __u8 kind, __s64 r, __u32 *ret_value);
bool wrc_check_turn_post(const struct wrc_check *c, __u64 r, __u32 *ret_value);

/*
 * Is source done when `at` runs, because of a fence between them?  Never, unless
 * the NIC is known to keep that order.  @at is of the loop queue, or the last one,
 * which stands for the end of the instance.
 */
bool wrc_check_fenced(const struct wrc_check *c, unsigned int source,
		      unsigned int at);

/*
 * Is it known when `at` executes that source, of the same instance, has been
 * done?  From the program alone, of both queues.
 */
bool wrc_check_known(const struct wrc_check *c, unsigned int source,
		     unsigned int at);

/* Is a page, of whatever kind, read or written there? */
bool wrc_check_touches_page(const struct wrc_insn *insn);

/* Does anybody write that field? */
bool wrc_check_is_patched(const struct wrc_prog *prog, unsigned int insn,
			  enum wrc_field field, unsigned int sge);

/*
 * The one instruction that writes all of the register of 8 bytes at reg; WRC_NONE:
 * there is none, or another.  Does nobody else, the request neither, write a byte
 * of it?
 */
__u8 wrc_check_writer(const struct wrc_prog *prog, struct wrc_ref reg,
		      bool *ret_alone);

int wrc_check_form(struct wrc_check *c, __u32 instance, unsigned int insn);
int wrc_check_wr(struct wrc_check *c, __u32 instance, unsigned int insn,
		 const struct wrc_wr *wr);
int wrc_check_keys(struct wrc_check *c);
int wrc_check_bind(struct wrc_check *c);
int wrc_check_geom(struct wrc_check *c);
int wrc_check_patches(struct wrc_check *c);
int wrc_check_run(struct wrc_check *c);
int wrc_check_rq(struct wrc_check *c);
int wrc_check_flow(struct wrc_check *c);
int wrc_check_own(struct wrc_check *c);
int wrc_check_turns(struct wrc_check *c);
int wrc_check_keyed(struct wrc_check *c);
int wrc_check_move(struct wrc_check *c);
int wrc_check_grace(struct wrc_check *c);

#endif /* WRC_CHECK_H */
