/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that differ in one thing from a good one: an instruction dropped,
 * doubled or behind its neighbour; a flag, an operand, a target, an argument, a
 * hold or a claim with another value.
 */
#ifndef TEST_WRCHAIN_MUTANTS_H
#define TEST_WRCHAIN_MUTANTS_H

#include "core/link.h"

/**
 * struct mutants - an enumeration
 * @good:	what they are made of
 * @try:	called with each; what says in words what is different
 * @every, @next: every so many-th is tried, and in how many the next one is
 * @made:	how many there are
 */
struct mutants {
	const struct wrc_prog *good;
	void (*try)(void *arg, const struct wrc_prog *mutant, const char *what);
	void *arg;
	unsigned int every, next;
	unsigned long made;
	struct wrc_prog now;
	char what[96];
};

/* Changes a program as it is written: wrc_link() comes behind it. */
void mutants_of_source(struct mutants *m);
/* The same, with a copy of each instruction before each other one of its queue. */
void mutants_of_insertions(struct mutants *m);
/* Changes what wrc_link() has made of a program. */
void mutants_of_linked(struct mutants *m);

#endif /* TEST_WRCHAIN_MUTANTS_H */
