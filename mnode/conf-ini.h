/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file of settings, in INI form, that a person has written. */
#ifndef MNODE_CONF_INI_H
#define MNODE_CONF_INI_H

#include <stddef.h>

#define CONF_INI_WHY_MAX	512

/*
 * One line of a file: a setting, or with name NULL the beginning of a section, so
 * that a section without settings is seen too.  0, or -errno with a sentence in
 * why.
 */
typedef int conf_ini_line(void *arg, const char *section, const char *name,
			  const char *value, char why[CONF_INI_WHY_MAX]);

/*
 * Reads a file, of 10,000 lines at most, up to its end or its first wrong line.  0;
 * -EINVAL: what is written, or what the file is; or -errno of open().  why names
 * the file, the line and what was expected.
 */
int conf_ini_read(const char *path, conf_ini_line *line, void *arg,
		  char why[CONF_INI_WHY_MAX]);

#endif /* MNODE_CONF_INI_H */
