/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers and names that people type. All of the text must be the number: -EINVAL otherwise, and
 * -ERANGE outside of [min, max]. The caller's message names the value and the range.
 */
#ifndef FAR_BASE_PARSE_H
#define FAR_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal, or with 0x; "_" between digits is not taken. */
int far_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);
/* The same with K, M, G or T (powers of 1,024), and B behind it or not: "64M", "1GB". */
int far_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);
/* "3" or "3..8". */
int far_parse_span(const char *text, uint64_t min, uint64_t max, uint64_t *ret_from,
		   uint64_t *ret_to);
int far_parse_real(const char *text, double min, double max, double *ret_value);
/*
 * Whether the text is a name, as of a space: 1 to max letters, digits, "-", "_" and ".", and
 * not "." at first.
 */
bool far_parse_is_name(const char *text, size_t max);

#endif
