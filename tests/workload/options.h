/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program's options as one table, which argp gets its options and parser from. */
#ifndef WORKLOAD_OPTIONS_H
#define WORKLOAD_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_NUMBER,	/* uint64_t: parse_size(), from min to max */
	OPTION_TEXT,	/* const char * */
	OPTION_FLAG,	/* bool, true when it is given */
};

/*
 * One option. @arg: what --help calls its value; @offset: of the field that it sets in
 * the program's own struct.
 */
struct option_row {
	const char *name;
	char letter;
	const char *arg;
	const char *doc;
	enum option_kind kind;
	size_t offset;
	uint64_t min, max;
};

#define OPTIONS_MAX	16

/*
 * Sets the fields of @fields from the command line; @doc is argp's. Bad options end
 * the program with a line that says what was expected, as argp does.
 */
void options_parse(const struct option_row *rows, size_t nr, const char *doc,
		   int argc, char **argv, void *fields);

#endif /* WORKLOAD_OPTIONS_H */
