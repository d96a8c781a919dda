/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A question to memory nodes, which takes seconds when one of them does not answer. */
#ifndef FAR_TOOL_ASK_H
#define FAR_TOOL_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "progress.h"

struct ask {
	struct progress progress;
	bool is_terminal;
	struct timespec begin;
	char what[80];
};

/* On a terminal it is said who is asked, and for how long. node may be NULL. */
void ask_start(struct ask *ask, const char *node);
/* err came of it, and why: of a node that has not answered, why gets how long that took. */
void ask_end(struct ask *ask, int err, char *why, size_t why_len);

#endif
