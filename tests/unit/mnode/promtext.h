/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text for Prometheus, as a reader sees it: exposition format 0.0.4, of which the
 * reader takes what the format allows and this tree writes.
 */
#ifndef TEST_MNODE_PROMTEXT_H
#define TEST_MNODE_PROMTEXT_H

#include <stdbool.h>
#include <report/prom.h>

/* Fails the test with the line that is wrong. */
void promtext_check(const char *text);
/* A number of that metric; with label and value, if they are not NULL. */
bool promtext_has(const char *text, const char *name, const char *label,
		  const char *value);
/* The number of the only such line; -1: there is none, or there are several. */
double promtext_number(const char *text, const char *name, const char *label,
		       const char *value);

#endif /* TEST_MNODE_PROMTEXT_H */
