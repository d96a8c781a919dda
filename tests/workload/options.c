// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See options.h. */
#include <argp.h>
#include <assert.h>
#include <stdbool.h>

#include "common.h"
#include "options.h"

struct parse {
	const struct option_row *rows;
	size_t nr;
	char *fields;
};

static const struct option_row *row_of(const struct parse *p, int letter)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->rows[i].letter == letter)
			return &p->rows[i];
	return NULL;
}

static void field_set(const struct option_row *row, const char *arg, void *field,
		      struct argp_state *state)
{
	switch (row->kind) {
	case OPTION_NUMBER:
		*(uint64_t *)field = parse_size(state, row->name, arg, row->min,
						row->max);
		break;
	case OPTION_TEXT:
		*(const char **)field = arg;
		break;
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct parse *p = state->input;
	const struct option_row *row = row_of(p, key);

	if (row) {
		field_set(row, arg, p->fields + row->offset, state);
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_error(state, "unexpected argument '%s'", arg);
	return key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

void options_parse(const struct option_row *rows, size_t nr, const char *doc,
		   int argc, char **argv, void *fields)
{
	struct argp_option options[OPTIONS_MAX + 1] = { 0 };
	struct argp argp = { .options = options, .parser = parse, .doc = doc };
	struct parse p = { rows, nr, fields };

	assert(nr <= OPTIONS_MAX);
	for (size_t i = 0; i < nr; i++)
		options[i] = (struct argp_option) {
			.name = rows[i].name, .key = rows[i].letter,
			.arg = rows[i].arg, .doc = rows[i].doc,
		};
	argp_parse(&argp, argc, argv, 0, NULL, &p);
}
