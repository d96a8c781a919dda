/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far space serve. */
#ifndef FAR_TOOL_SERVE_H
#define FAR_TOOL_SERVE_H

#include <stddef.h>

#include <far/space.h>

/*
 * Creates a space on memory nodes of this process, says on the standard output that it
 * is there, and deletes it on SIGINT or SIGTERM. -errno, with a sentence in why.
 */
int serve_run(const char *spec, const char *name, const struct far_space_attr *attr,
	      char *why, size_t why_len);

#endif
