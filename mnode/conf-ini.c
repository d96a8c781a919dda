// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads INI files with libinih, and reports which line is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "conf-ini.h"

/* More lines than any real file has. The limit ends the reading of a device, which may
 * never end by itself. */
#define MAX_LINES	10000u

/* A setting that was read. */
struct seen {
	struct seen *next;
	char key[];			/* section, newline, name */
};

/**
 * struct reading - where the reading of a file is
 * @joined:	the setting that may go on in indented lines; NULL: none may
 * @seen:	the settings before, the latest first
 * @indented:	the line begins with a blank
 * @begun:	the section has a setting already
 */
struct reading {
	FILE *file;
	conf_ini_line *line;
	void *arg;
	const char *joined;
	struct seen *seen;
	bool indented, begun;
	char reason[CONF_INI_WHY_MAX];	/* what is wrong with a setting */
	char reason_section[CONF_INI_WHY_MAX];	/* what is wrong with a section */
	unsigned int wrong_section;	/* the line of that section, or 0 */
	unsigned int nr_lines;
	int failed;
};

__attribute__((format(printf, 3, 4)))
static int complain(int r, char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, CONF_INI_WHY_MAX, fmt, ap);
	va_end(ap);
	return r;
}

static bool seen_has(const struct reading *rd, const char *key)
{
	const struct seen *seen = rd->seen;

	while (seen && strcmp(seen->key, key))
		seen = seen->next;
	return seen;
}

static void seen_free(struct reading *rd)
{
	struct seen *next;

	for (; rd->seen; rd->seen = next) {
		next = rd->seen->next;
		free(rd->seen);
	}
}

/* Notes a setting. The list is short: no setting is in it twice, and none that the caller
 * has refused. */
static int seen_add(struct reading *rd, const char *section, const char *name)
{
	size_t len = strlen(section) + strlen(name) + 2;
	struct seen *seen = malloc(sizeof(*seen) + len);

	if (!seen)
		return complain(-ENOMEM, rd->reason, "%s", strerror(ENOMEM));
	snprintf(seen->key, len, "%s\n%s", section, name);
	if (seen_has(rd, seen->key)) {
		free(seen);
		return complain(-EINVAL, rd->reason, "%s: given twice", name);
	}
	seen->next = rd->seen;
	rd->seen = seen;
	return 0;
}

/* libinih reports an indented line as one more setting of the name before. */
static int setting_check(struct reading *rd, const char *section, const char *name)
{
	bool goes_on = rd->indented && rd->begun;

	rd->begun = true;
	if (!goes_on)
		return seen_add(rd, section, name);
	if (rd->joined && !strcmp(name, rd->joined))
		return 0;
	return complain(-EINVAL, rd->reason, "%s: goes on in an indented line: expected a "
			"setting that begins in the first column", name);
}

static int on_setting(void *arg, const char *section, const char *name,
		      const char *value)
{
	struct reading *rd = arg;

	if (!rd->failed)
		rd->failed = rd->line(rd->arg, section, name, value ? value : "",
				      rd->reason);
	if (!rd->failed)
		rd->failed = setting_check(rd, section, name);
	return !rd->failed;
}

/* libinih reports a section only with its settings, so it does not report an empty
 * section: begin_section() reports every section. */
static void begin_section(struct reading *rd, const char *text)
{
	size_t len = strcspn(text, "]");
	char name[CONF_INI_WHY_MAX];

	rd->begun = false;
	if (text[len] == ']' && len < sizeof(name)) {
		memcpy(name, text, len);
		name[len] = 0;
		rd->failed = rd->line(rd->arg, name, NULL, NULL, rd->reason_section);
	} else {
		rd->failed = complain(-EINVAL, rd->reason_section, "section [%.*s: expected "
				      "a ']' behind its name", (int)strcspn(text, "\r\n"),
				      text);
	}
	if (rd->failed)
		rd->wrong_section = rd->nr_lines;
}

static char *next_line(char *buf, int len, void *arg)
{
	struct reading *rd = arg;

	if (rd->failed || rd->nr_lines > MAX_LINES || !fgets(buf, len, rd->file))
		return NULL;
	rd->nr_lines++;
	rd->indented = *buf == ' ' || *buf == '\t';
	if (*buf == '[')
		begin_section(rd, buf + 1);
	return rd->failed ? NULL : buf;
}

/* Without O_NONBLOCK, open() of a FIFO would wait for a writer. */
static int open_file(const char *path, FILE **ret_file)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETFL, O_RDONLY) < 0)
		goto close_file;
	*ret_file = fdopen(fd, "r");
	if (*ret_file)
		return 0;
close_file:
	r = -errno;
	close(fd);
	return r;
}

int conf_ini_read(const char *path, const char *joined, conf_ini_line *line, void *arg,
		  char why[CONF_INI_WHY_MAX])
{
	struct reading rd = {
		.line = line, .arg = arg, .joined = joined, .reason = "expected NAME = VALUE",
	};
	int at, r;

	r = open_file(path, &rd.file);
	if (r)
		return complain(r, why, "%.200s: %s", path, strerror(-r));
	at = ini_parse_stream(next_line, &rd, on_setting, &rd);
	/* A directory, for example, can be opened but not read. */
	r = ferror(rd.file) ? -EIO : 0;
	fclose(rd.file);
	seen_free(&rd);
	if (r)
		return complain(-EINVAL, why, "%.200s: cannot be read: expected a file",
				path);
	if (at < 0)
		return complain(-ENOMEM, why, "%.200s: %s", path, strerror(ENOMEM));
	if (rd.nr_lines > MAX_LINES)
		return complain(-EINVAL, why, "%.200s: expected a file of at most %u "
				"lines", path, MAX_LINES);
	if (at)
		return complain(-EINVAL, why, "%.200s:%d: %.250s", path, at, rd.reason);
	if (rd.wrong_section)
		return complain(-EINVAL, why, "%.200s:%u: %.250s", path,
				rd.wrong_section, rd.reason_section);
	return 0;
}
