/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares a card with the software NIC.  The report is a JSON object for programs and
 * people.
 */
#ifndef HWCHECK_CHECK_H
#define HWCHECK_CHECK_H

#include <json-c/json.h>
#include <stdio.h>
#include "side.h"

/*
 * Describes a device and the options of the check: name, GUID, firmware, version, port,
 * strict, PCI_WR_ORDERING (ordering: a VERDICT_* word of nic/verdict.h) and capabilities.
 * "lacks" has a sentence for each thing that chains need and the device does not have.
 * "order_fence" and "translate_nic" are false until check_judge().  -ENOMEM.
 */
int check_describe(const struct wrc_mlx5 *dev,
		   const struct nic_mlx5_opts *opts, const char *ordering,
		   struct json_object **ret_obj);

/**
 * struct check - results
 * @programs:	all programs with WAITs did the same on both sides
 * @fenced:	all programs with order=fence did
 * @answers:	all answers that chains or the agent rely on are the same; the other
 *		answers are not judged
 * @fences:	the card says that a fence orders what another queue fetches
 * @keyed:	programs of translation in the NIC did the same
 * @keys:	all answers that translation in the NIC relies on are the same
 * @keyed_fenced: programs of translation in the NIC with order=fence did the same
 * @ordered:	PCI_WR_ORDERING is known to be per_mkey
 * @lacks:	first thing that the card lacks for translation in the NIC; NULL: nothing
 */
struct check {
	bool programs, fenced, answers, fences, keyed, keys, keyed_fenced;
	bool ordered;
	const char *lacks;
};

/*
 * Runs all programs on both sides and adds "programs" to the report.  A strict NIC runs
 * programs that renew each index.  A card that says that it ignores indices also runs
 * programs that do not.  -errno: a run could not be set up.
 */
int check_programs(struct side *card, struct side *soft,
		   struct json_object *report, struct check *check);
/* Asks all questions and adds "probes" to the report.  -ENOMEM. */
int check_questions(struct side *card, struct side *soft,
		    struct json_object *report, struct check *check);
/*
 * Judges the results of check_programs() and check_questions().  Adds "fences",
 * "order_fence" and "translate_nic": may these be set?  "fence_verdict" and
 * "translate_verdict" say the same in words.  False: the card is not as it should be, and
 * neither may be set; nor if it is not known how its writes are ordered.  Programs with
 * fences count only if the card says that fences order, because nobody may arm them
 * otherwise.  Programs of translation in the NIC count only for "translate_nic".
 */
bool check_judge(const struct check *check, struct json_object *report);

/*
 * Adds "enough": is the card enough for "chains", for "keys" beside them (translate=nic), for
 * "direct" slabs, for "spaces"?  The last two need no chains: any RDMA device does, as
 * nic = verbs:DEVICE.  same: check_judge() has said so.
 */
void check_enough(struct json_object *report, bool same);

/*
 * Replaces the file at path by the report, or leaves it unchanged; makes missing
 * directories.  -errno, with a sentence in why; -EEXIST: path is not a regular file.
 */
int check_save(struct json_object *report, const char *path,
	       char why[NIC_MLX5_WHY_MAX]);
/* Prints the report for people. */
void check_print(struct json_object *report, FILE *f);

#endif /* HWCHECK_CHECK_H */
