// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads INI files with libinih, and reports which line is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "conf-ini.h"

/* More lines than any real file has. The limit ends the reading of a device, which may
 * never end by itself. */
#define MAX_LINES	10000u

struct reading {
	FILE *file;
	conf_ini_line *line;
	void *arg;
	char said[CONF_INI_WHY_MAX];	/* what is wrong with a setting */
	char said_section[CONF_INI_WHY_MAX];	/* what is wrong with a section */
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

static int on_setting(void *arg, const char *section, const char *name,
		      const char *value)
{
	struct reading *rd = arg;

	if (!rd->failed)
		rd->failed = rd->line(rd->arg, section, name, value ? value : "",
				      rd->said);
	return !rd->failed;
}

/* libinih reports a section only with its settings, so it does not report an empty
 * section: begin_section() reports every section. */
static void begin_section(struct reading *rd, const char *text)
{
	size_t len = strcspn(text, "]");
	char name[CONF_INI_WHY_MAX];

	if (rd->failed || text[len] != ']' || len >= sizeof(name))
		return;
	memcpy(name, text, len);
	name[len] = 0;
	rd->failed = rd->line(rd->arg, name, NULL, NULL, rd->said_section);
	if (rd->failed)
		rd->wrong_section = rd->nr_lines;
}

static char *next_line(char *buf, int len, void *arg)
{
	struct reading *rd = arg;

	if (rd->failed || rd->nr_lines > MAX_LINES || !fgets(buf, len, rd->file))
		return NULL;
	rd->nr_lines++;
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

int conf_ini_read(const char *path, conf_ini_line *line, void *arg,
		  char why[CONF_INI_WHY_MAX])
{
	struct reading rd = {
		.line = line, .arg = arg, .said = "expected NAME = VALUE",
	};
	int at, r;

	r = open_file(path, &rd.file);
	if (r)
		return complain(r, why, "%.200s: %s", path, strerror(-r));
	at = ini_parse_stream(next_line, &rd, on_setting, &rd);
	/* A directory, for example, can be opened but not read. */
	r = ferror(rd.file) ? -EIO : 0;
	fclose(rd.file);
	if (r)
		return complain(-EINVAL, why, "%.200s: cannot be read: expected a file",
				path);
	if (at < 0)
		return complain(-ENOMEM, why, "%.200s: %s", path, strerror(ENOMEM));
	if (rd.nr_lines > MAX_LINES)
		return complain(-EINVAL, why, "%.200s: expected a file of at most %u "
				"lines", path, MAX_LINES);
	if (at)
		return complain(-EINVAL, why, "%.200s:%d: %.250s", path, at, rd.said);
	if (rd.wrong_section)
		return complain(-EINVAL, why, "%.200s:%u: %.250s", path,
				rd.wrong_section, rd.said_section);
	return 0;
}
