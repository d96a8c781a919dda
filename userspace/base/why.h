/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sentence that goes with an error.
 */
#ifndef FAR_BASE_WHY_H
#define FAR_BASE_WHY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the sentence into why, of len bytes (0: nobody wants it). Returns err. */
__attribute__((format(printf, 4, 5)))
static inline int far_why(char *why, size_t len, int err, const char *fmt, ...)
{
	va_list ap;

	if (!len)
		return err;
	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return err;
}

#endif
