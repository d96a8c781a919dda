/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The report on a card that odrp-hwcheck --save has written.  A report is used only if
 * it is for this card, its firmware, this version of ODRP and this way of arming chains,
 * and if only root or the agent's user can have written it: a false report makes a
 * memory node serve wrong pages.
 */
#ifndef NIC_VERDICT_H
#define NIC_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#define VERDICT_PATH_MAX	384
#define VERDICT_TEXT_MAX	640
#define VERDICT_FILE_MAX	(16u << 20)	/* bytes; a report has about 100 KB */

/*
 * The value pci_wr_ordering of a report: the firmware setting PCI_WR_ORDERING as the
 * operator has read it.  With the first one, writes to memory are in order, but for keys
 * that ask otherwise, and ours never do; with the second one, no write is, and what a
 * completion announces may not be there yet.
 */
#define VERDICT_PER_MKEY	"per_mkey"
#define VERDICT_FORCE_RELAX	"force_relax"
#define VERDICT_NOT_TOLD	"unknown"

/* The default directory of reports; ends with a slash. */
extern const char verdict_dir[];
/* The version of this build. */
extern const char verdict_version[];

/**
 * struct verdict_card - the card that a report must be for
 * @device:	name for messages, not compared: another card may get the name
 * @guid:	node GUID; "": the card has none, and no report is valid for it
 * @firmware:	version of the firmware
 * @strict:	chains renew the index of each WQE
 */
struct verdict_card {
	const char *device, *guid, *firmware;
	bool strict;
};

/**
 * struct verdict - what is known of a card
 * @fences:	the card keeps the order that order=fence needs
 * @keys:	the card does what translate=nic needs
 * @unfit:	the card was not found to be enough for chains
 * @relaxed:	the card orders no writes: nothing may be armed on it
 * @text:	a sentence: what is known, or why nothing is known
 */
struct verdict {
	bool fences, keys, unfit, relaxed;
	char text[VERDICT_TEXT_MAX];
};

/* The path of a device's report.  If where ends with a slash, it is a directory with a
 * file for each device; else it is the path.  -ENAMETOOLONG. */
int verdict_path(const char *where, const char *device,
		 char ret_path[VERDICT_PATH_MAX]);
/* Reads a report.  If the file is missing or not valid, nothing is known. */
void verdict_read(const char *path, const struct verdict_card *card,
		  struct verdict *ret_verdict);

#endif /* NIC_VERDICT_H */
