/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Experiments on questions that only hardware can answer.  Each runs on any side and
 * answers in words.  Chains were verified with the answers of the software NIC.
 */
#ifndef HWCHECK_PROBES_H
#define HWCHECK_PROBES_H

#include "side.h"

#define PROBE_ANSWER_MAX 160

/**
 * struct probe - one question
 * @id:		short and stable
 * @card_only:	the software NIC has nothing comparable
 * @relied:	chains or the agent need the software NIC's answer
 * @keys:	only translation in the NIC needs that answer
 * @ask:	0 and the answer, or -errno: the experiment cannot be set up
 */
struct probe {
	const char *id, *question;
	bool card_only, relied, keys;
	int (*ask)(struct side *side, char answer[PROBE_ANSWER_MAX]);
};

extern const struct probe probes[];
extern const unsigned int nr_probes;

/* probes-more.c */
int probe_dbr_lowered(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_dbr_raised(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_uar_target(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_uar_cq(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_masked_fa(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_masked_cs(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_check_off(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_counter_twice(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_masked_wire(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_counter_sets(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_sq_counter(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_sq_counter_error(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_cq_counter(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_misaligned(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_two_queues(struct side *side, char answer[PROBE_ANSWER_MAX]);

/* probes-page.c */
int probe_entry_renewed(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_entry_rewritten(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_page_received(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_page_sent(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_cq_acknowledged(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_cq_received(struct side *side, char answer[PROBE_ANSWER_MAX]);

/* probes-keys.c.  -EOPNOTSUPP: the card has no such keys. */
int probe_keys_entries(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_keys_taken(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_keys_behind(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_keys_chain(struct side *side, char answer[PROBE_ANSWER_MAX]);
int probe_keys_stranger(struct side *side, char answer[PROBE_ANSWER_MAX]);

/* probes-fence.c */
int probe_fence(struct side *side, char answer[PROBE_ANSWER_MAX]);

__attribute__((format(printf, 2, 3)))
void probe_describe(char answer[PROBE_ANSWER_MAX], const char *fmt, ...);

#endif /* HWCHECK_PROBES_H */
