/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a benchmark of an index has found, as JSON for programs and as a table for
 * people. Each number is labelled: "model" where the clock is virtual, else "measured".
 */
#ifndef FAR_BENCH_REPORT_H
#define FAR_BENCH_REPORT_H

#include <stdio.h>

#include "indexes.h"
#include "run.h"

struct report {
	const char *nic, *variant, *without;
	unsigned cns, mns;
	uint64_t cache_bytes;	/* asked for; 0: what the library takes */
	int is_model;
	const struct run_conf *conf;
	double plain_mops;	/* plain.h; 0: was not run */
	double of_plain;	/* what the index has of that */
	const struct index_memory *memory;	/* NULL: nobody has asked */
	const struct run_result *run;
};

/* To a file, or to standard output if path is "-". -errno. */
int report_json(const struct report *report, const char *path);
void report_table(const struct report *report, FILE *out);

#endif
