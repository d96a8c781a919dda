// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Log messages; see log.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "log.h"

#define LINE_MAX_LEN 1024

static int max_level = LOG_INFO;
static bool journal;

/* JOURNAL_STREAM holds device and inode of the journal's socket. */
static bool stderr_is_journal(void)
{
	const char *s = getenv("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	return s && sscanf(s, "%ju:%ju", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev &&
	       st.st_ino == ino;
}

void log_init(int level)
{
	max_level = level;
	journal = stderr_is_journal();
}

void log_line(int level, const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (journal)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "odrp-mnoded: %s\n", line);
}

bool log_first(unsigned int *logged, unsigned int what)
{
	bool first = !(*logged & what);

	*logged |= what;
	return first;
}
