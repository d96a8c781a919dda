// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads text for Prometheus; see promtext.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "promtext.h"

#define NAME_MAX_LEN	128
#define LABELS_MAX	8
#define LINE_MAX_LEN	1024
#define FAMILIES_MAX	256

struct sample {
	char name[NAME_MAX_LEN];
	struct {
		char name[NAME_MAX_LEN], value[NAME_MAX_LEN];
	} labels[LABELS_MAX];
	unsigned int nr_labels;
	double number;
};

/* NULL: there is no name here. */
static const char *read_name(const char *at, char name[NAME_MAX_LEN])
{
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (!len || len >= NAME_MAX_LEN || strchr("0123456789", *at))
		return NULL;
	memcpy(name, at, len);
	name[len] = 0;
	return at + len;
}

/* Behind the opening quote; ends behind the closing one. */
static const char *read_value(const char *at, char value[NAME_MAX_LEN])
{
	size_t len = 0;

	while (*at != '"') {
		bool escaped = *at == '\\';

		at += escaped;
		if (!*at || (escaped && !strchr("\\\"n", *at)) ||
		    len == NAME_MAX_LEN - 1)
			return NULL;
		value[len++] = escaped && *at == 'n' ? '\n' : *at;
		at++;
	}
	value[len] = 0;
	return at + 1;
}

static const char *read_labels(const char *at, struct sample *s)
{
	do {
		at++;
		if (s->nr_labels == LABELS_MAX)
			return NULL;
		at = read_name(at, s->labels[s->nr_labels].name);
		if (!at || strncmp(at, "=\"", 2))
			return NULL;
		at = read_value(at + 2, s->labels[s->nr_labels++].value);
	} while (at && *at == ',');
	return at && *at == '}' ? at + 1 : NULL;
}

static bool read_sample(const char *line, struct sample *ret_sample)
{
	struct sample s = { 0 };
	const char *at = read_name(line, s.name);
	char *end;

	if (at && *at == '{')
		at = read_labels(at, &s);
	if (!at || *at != ' ' || at[1] == ' ')
		return false;
	s.number = strtod(at + 1, &end);
	if (end == at + 1 || *end)
		return false;
	*ret_sample = s;
	return true;
}

/* The next line; NULL: no more. */
static const char *next_line(const char *text, char line[LINE_MAX_LEN])
{
	size_t len = strcspn(text, "\n");

	if (!*text)
		return NULL;
	if (!text[len])
		fail_msg("the last line does not end: %s", text);
	assert_true(len < LINE_MAX_LEN);
	memcpy(line, text, len);
	line[len] = 0;
	return text + len + 1;
}

/* ---- the format -------------------------------------------------------------------- */

struct checking {
	char family[NAME_MAX_LEN];	/* of the lines that come */
	bool helped, typed, counter;
	unsigned int nr_samples;
	char done[FAMILIES_MAX][NAME_MAX_LEN];
	unsigned int nr_done;
};

static bool begins_family(struct checking *c, const char *line)
{
	unsigned int i;

	if (*c->family && !c->nr_samples)
		return false;
	memset(c->family, 0, sizeof(c->family));
	line = read_name(line + strlen("# HELP "), c->family);
	if (!line || *line != ' ' || !line[1])
		return false;
	for (i = 0; i < c->nr_done; i++)
		if (!strcmp(c->done[i], c->family))
			return false;
	assert_true(c->nr_done < FAMILIES_MAX);
	memcpy(c->done[c->nr_done++], c->family, NAME_MAX_LEN);
	c->typed = false;
	c->nr_samples = 0;
	return true;
}

static bool gives_type(struct checking *c, const char *line)
{
	char name[NAME_MAX_LEN];

	line = read_name(line + strlen("# TYPE "), name);
	if (!line || strcmp(name, c->family) || c->typed || c->nr_samples)
		return false;
	c->typed = true;
	c->counter = !strcmp(line, " counter");
	return c->counter || !strcmp(line, " gauge");
}

static bool is_of_family(struct checking *c, const char *line)
{
	struct sample s;

	if (!read_sample(line, &s) || strcmp(s.name, c->family) || !c->typed ||
	    (c->counter && s.number < 0))
		return false;
	c->nr_samples++;
	return true;
}

/* The name and labels of a line, for which there is one number. */
static bool is_repeated(const char *text, const char *line)
{
	size_t len = strrchr(line, ' ') - line + 1;
	char other[LINE_MAX_LEN];
	unsigned int nr = 0;

	while ((text = next_line(text, other)))
		nr += !strncmp(other, line, len);
	return nr > 1;
}

void promtext_check(const char *text)
{
	struct checking *c = calloc(1, sizeof(*c));
	const char *rest = text;
	char line[LINE_MAX_LEN];
	bool ok;

	assert_non_null(c);
	while ((rest = next_line(rest, line))) {
		if (!strncmp(line, "# HELP ", 7))
			ok = begins_family(c, line);
		else if (!strncmp(line, "# TYPE ", 7))
			ok = gives_type(c, line);
		else
			ok = is_of_family(c, line) && !is_repeated(text, line);
		if (!ok)
			fail_msg("not of the format, or not in its place: %s", line);
	}
	assert_true(c->nr_samples > 0);
	free(c);
}

/* ---- what is in it ------------------------------------------------------------------ */

static bool fits(const struct sample *s, const char *name, const char *label,
		 const char *value)
{
	unsigned int i;

	if (strcmp(s->name, name))
		return false;
	if (!label)
		return true;
	for (i = 0; i < s->nr_labels; i++)
		if (!strcmp(s->labels[i].name, label) &&
		    (!value || !strcmp(s->labels[i].value, value)))
			return true;
	return false;
}

static unsigned int count(const char *text, const char *name, const char *label,
			  const char *value, double *ret_number)
{
	char line[LINE_MAX_LEN];
	unsigned int nr = 0;
	struct sample s;

	while ((text = next_line(text, line))) {
		if (*line == '#' || !read_sample(line, &s) ||
		    !fits(&s, name, label, value))
			continue;
		*ret_number = s.number;
		nr++;
	}
	return nr;
}

bool promtext_has(const char *text, const char *name, const char *label,
		  const char *value)
{
	double number;

	return count(text, name, label, value, &number);
}

double promtext_number(const char *text, const char *name, const char *label,
		       const char *value)
{
	double number = -1;

	return count(text, name, label, value, &number) == 1 ? number : -1;
}
