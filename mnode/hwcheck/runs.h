/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What odrp-hwcheck runs: each program that the agent may arm, and for each of
 * them a list of runs.
 */
#ifndef HWCHECK_RUNS_H
#define HWCHECK_RUNS_H

#include "rig.h"

/**
 * struct program - as it is called in a report
 * @stores:	"exchange", or NULL: it is no store; "keyed": with translation in
 *		the NIC
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
 */
struct run {
	const char *name;
	unsigned int chains;
	struct rig_config cfg;
};

extern const struct run runs[];
extern const unsigned int nr_runs;

bool run_applies(const struct run *run, const struct program *prog);

#endif /* HWCHECK_RUNS_H */
