/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a file of settings in INI format. */
#ifndef MNODE_CONF_INI_H
#define MNODE_CONF_INI_H

#include <stddef.h>

#define CONF_INI_WHY_MAX	512

/*
 * Called for each setting, and with name NULL for the beginning of each section, so that
 * a section without settings is noticed, too. Returns 0, or -errno with a sentence in why.
 */
typedef int conf_ini_line(void *arg, const char *section, const char *name,
			  const char *value, char why[CONF_INI_WHY_MAX]);

/*
 * Reads a file of at most 10,000 lines, up to its end or to the first wrong line. Returns
 * 0; -EINVAL: a line is wrong, or the path is not a file that can be read, or has too many
 * lines; -ENOMEM; or -errno of opening the file. On error why names the file, the line, if
 * one is wrong, and what was expected. A setting that its section has already is wrong; the
 * one that `joined` names (NULL: none) may go on in indented lines, which are reported as
 * settings of its name.
 */
int conf_ini_read(const char *path, const char *joined, conf_ini_line *line, void *arg,
		  char why[CONF_INI_WHY_MAX]);

#endif /* MNODE_CONF_INI_H */
