/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What odrp-hwcheck runs: each program with each way of recycling that it is to
 * be had with, and for each of them a list of runs.
 */
#ifndef HWCHECK_RUNS_H
#define HWCHECK_RUNS_H

#include "rig.h"

/**
 * struct program - as it is called in a report
 * @stores:	"exchange", "copy", or NULL: it is no store; "keyed": with
 *		translation in the NIC, which is recycle=node only
 * @order:	with fences: recycle=node only
 */
struct program {
	const char *name, *stores;
	enum odrp_wire_chain chain;
	enum wrc_variant variant;
	enum wrc_order order;
};

extern const struct program programs[];
extern const unsigned int nr_programs;

/**
 * struct run - what is done with a program
 * @chains:	bit (1 << chain): only of these; 0: of all
 * @node_only:	not with recycle=client
 */
struct run {
	const char *name;
	unsigned int chains;
	bool node_only;
	struct rig_config cfg;
};

extern const struct run runs[];
extern const unsigned int nr_runs;

bool run_applies(const struct run *run, const struct program *prog,
		 enum wrc_recycle recycle);

#endif /* HWCHECK_RUNS_H */
