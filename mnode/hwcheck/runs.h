/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that odrp-hwcheck runs: the programs that the agent may arm, and a list of
 * runs for each.
 */
#ifndef HWCHECK_RUNS_H
#define HWCHECK_RUNS_H

#include "rig.h"

/**
 * struct program - a program and its name in reports
 * @stores:	"exchange": a store; "keyed": with translation in the NIC; NULL: neither
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
 * struct run - a run and its name in reports
 * @chains:	bit (1 << chain): only for these chains; 0: for all
 */
struct run {
	const char *name;
	unsigned int chains;
	struct rig_config cfg;
};

extern const struct run runs[];
extern const unsigned int nr_runs;

/* Names what this machine lacks for the run; NULL: it lacks nothing. */
const char *run_lacks(const struct run *run);
bool run_applies(const struct run *run, const struct program *prog);

#endif /* HWCHECK_RUNS_H */
