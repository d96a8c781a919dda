/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Experiments on questions that only hardware can answer.  Each runs on any side and
 * answers in words.  Chains were verified with the answers of the software NIC.
 */
#ifndef HWCHECK_PROBES_H
#define HWCHECK_PROBES_H

#include "raw.h"

#define PROBE_ANSWER_MAX 160

/**
 * struct probe - one question
 * @id:		short and stable
 * @card_only:	the software NIC has nothing comparable
 * @relied:	chains or the agent need the software NIC's answer
 * @keys:	only translation in the NIC needs that answer
 * @ask:	ends with probe_describe(), or with side->err: it cannot be set up
 * @why_not:	the answer of a question that is not asked, @ask NULL
 */
struct probe {
	const char *id, *question;
	bool card_only, relied, keys;
	void (*ask)(struct side *side);
	const char *why_not;
};

extern const struct probe probes[];
extern const unsigned int nr_probes;

/* 0 and the answer, or -errno. */
int probe_ask(const struct probe *probe, struct side *side, char answer[PROBE_ANSWER_MAX]);

/* probes-more.c */
void probe_uar_target(struct side *side);
void probe_uar_cq(struct side *side);
void probe_masked_fa(struct side *side);
void probe_masked_cs(struct side *side);
void probe_counter_sets(struct side *side);
void probe_sq_counter(struct side *side);
void probe_sq_counter_error(struct side *side);
void probe_cq_counter(struct side *side);
void probe_misaligned(struct side *side);
void probe_two_queues(struct side *side);

/* probes-page.c */
void probe_dbr_lowered(struct side *side);
void probe_dbr_raised(struct side *side);
void probe_entry_renewed(struct side *side);
void probe_entry_rewritten(struct side *side);
void probe_page_received(struct side *side);
void probe_page_sent(struct side *side);
void probe_cq_acknowledged(struct side *side);
void probe_cq_received(struct side *side);

/* probes-keys.c.  -EOPNOTSUPP: the card has no such keys. */
void probe_keys_entries(struct side *side);
void probe_keys_taken(struct side *side);
void probe_keys_behind(struct side *side);
void probe_keys_chain(struct side *side);
void probe_keys_stranger(struct side *side);

/* probes-fence.c */
void probe_fence(struct side *side);

/* No effect if the experiment has failed. */
__attribute__((format(printf, 2, 3)))
void probe_describe(struct side *side, const char *fmt, ...);
/* Could a queue enable another one, or wait for it?  used: where that would show, the other
 * one or itself. */
void probe_describe_use(struct raw *user, struct raw *used);

#endif /* HWCHECK_PROBES_H */
