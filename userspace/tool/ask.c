// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Questions to memory nodes: who is asked, and how long it took. */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* That there is no such node is known at once, or after nobody has answered. */
#define SILENCE_S	1.0

void ask_start(struct ask *ask, const char *node)
{
	clock_gettime(CLOCK_MONOTONIC, &ask->begin);
	snprintf(ask->what, sizeof(ask->what), "asking memory node%s%s", node ? " " : "s",
		 node ? node : "");
	ask->is_terminal = isatty(STDERR_FILENO) &&
			!progress_start(&ask->progress, ask->what, NULL);
}

void ask_end(struct ask *ask, int err, char *why, size_t why_len)
{
	size_t len = strnlen(why, why_len);
	struct timespec now;
	double waited;

	if (ask->is_terminal)
		progress_stop(&ask->progress);
	clock_gettime(CLOCK_MONOTONIC, &now);
	waited = now.tv_sec - ask->begin.tv_sec + (now.tv_nsec - ask->begin.tv_nsec) / 1e9;
	if ((err == -EHOSTUNREACH || err == -ETIMEDOUT) && waited >= SILENCE_S)
		snprintf(why + len, why_len - len, " (after %.1f s)", waited);
}
