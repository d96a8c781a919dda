/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The comparison of a card with the software NIC, and its report: a JSON
 * object that both programs and people read.
 */
#ifndef HWCHECK_CHECK_H
#define HWCHECK_CHECK_H

#include <json-c/json.h>
#include <stdio.h>
#include "side.h"

/*
 * Describes a device and how it is looked at: name, GUID, firmware, version, port,
 * strict, capabilities, and under "lacks" a sentence for each thing that chains
 * need and it does not have.  Nothing may be set on it until it has been judged.
 */
int check_describe(const struct wrc_mlx5 *dev,
		   const struct nic_mlx5_opts *opts,
		   struct json_object **ret_obj);

/**
 * struct check - what came of it
 * @programs:	each that WAITs did the same on both
 * @fenced:	each with order=fence did
 * @answers:	where chains or the agent rely on one, it was the same; the others
 *		are not judged
 * @fences:	the card says that a fence orders what another queue fetches
 * @keyed, @keys: of translation in the NIC: its programs did the same, and what
 *		it relies on was
 * @keyed_fenced: the same programs with order=fence did the same
 * @lacks:	what the card lacks for that, first; NULL: nothing
 */
struct check {
	bool programs, fenced, answers, fences, keyed, keys, keyed_fenced;
	const char *lacks;
};

/*
 * Runs all programs on both sides and adds "programs" to the report.  A side's
 * NIC that is strict runs programs that renew each index; a card that says that
 * it ignores it, those that do not, too.
 */
int check_programs(struct side *card, struct side *soft,
		   struct json_object *report, struct check *check);
/* Asks all questions and adds "probes". */
int check_questions(struct side *card, struct side *soft,
		    struct json_object *report, struct check *check);
/*
 * When both are done: adds "fences", "order_fence" and "translate_nic", whether these
 * may be set, and the same in words, "fence_verdict" and "translate_verdict".  False:
 * the card is not as it should be, and neither may be.  Programs with fences count
 * only where the question says that fences order, else nobody may arm them; those of
 * translation in the NIC only for "translate_nic".
 */
bool check_judge(const struct check *check, struct json_object *report);

/*
 * Puts the report there at once or not at all, in directories that are made if they
 * are missing.  -errno: with a sentence.  What is there and is no file stays.
 */
int check_save(struct json_object *report, const char *path,
	       char why[NIC_MLX5_WHY_MAX]);
/* For people. */
void check_print(struct json_object *report, FILE *f);

#endif /* HWCHECK_CHECK_H */
