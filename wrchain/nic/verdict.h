/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What odrp-hwcheck --save has kept of a card.  It counts only where it is of
 * this card, this firmware, this version of ODRP and this way of arming chains,
 * and where nobody but root or the agent's own user can have written it: a lie
 * there makes a memory node that serves wrong pages.
 */
#ifndef NIC_VERDICT_H
#define NIC_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#define VERDICT_PATH_MAX	384
#define VERDICT_SAID_MAX	640
#define VERDICT_FILE_MAX	(16u << 20)	/* bytes; a report has 100 KB */

/* Where reports are if nothing else is said; ends with a slash. */
extern const char verdict_dir[];
/* Of this build. */
extern const char verdict_version[];

/**
 * struct verdict_card - whom a report must be of
 * @device:	for people; names go around
 * @guid:	"": it has none, and no report is of it
 * @strict:	chains renew each index
 */
struct verdict_card {
	const char *device, *guid, *firmware;
	bool strict;
};

/**
 * struct verdict - what is known of a card
 * @fences:	it keeps order=fence
 * @keys:	it does what translate=nic rests on
 * @said:	a sentence: what is known, or why nothing is
 */
struct verdict {
	bool fences, keys;
	char said[VERDICT_SAID_MAX];
};

/* A path that ends with a slash is a directory, with a file for each device.
 * -ENAMETOOLONG. */
int verdict_path(const char *where, const char *device,
		 char ret_path[VERDICT_PATH_MAX]);
/* Whatever is wrong with the file: then nothing is known. */
void verdict_read(const char *path, const struct verdict_card *card,
		  struct verdict *ret_verdict);

#endif /* NIC_VERDICT_H */
