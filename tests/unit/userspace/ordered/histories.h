/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histories of several clients, threads and tasks, as a table: each row is a test. */
#ifndef TEST_FAR_ORDERED_HISTORIES_H
#define TEST_FAR_ORDERED_HISTORIES_H

#include "program.h"

struct histories {
	const char *name;
	struct program_conf conf;	/* kind NULL: the first one of histories_main() */
	unsigned by_day, at_night;	/* seeds */
	int combines;			/* some operations do, in all seeds together */
	/* Each of them has all the seeds; none: conf.variant. */
	const unsigned *variants;
	unsigned nr_variants;
};

/*
 * The program's argument is mem, sim or soft: the rows on that NIC; or elsewhere:
 * program_elsewhere().
 */
int histories_main(int argc, char **argv, const struct ordered_kind *kind,
		   const struct histories *rows, unsigned nr);

#endif
