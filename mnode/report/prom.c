// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text for Prometheus; see prom.h. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>
#include "prom.h"

#define PATH_MAX_LEN	96
#define LABELS_MAX	4

struct label {
	const char *name, *value;
};

/**
 * struct writing - a metric that is being written
 * @headed:	HELP and TYPE are written
 * @labels, @nr_labels: labels of the next samples
 */
struct writing {
	FILE *f;
	const struct prom_metric *metric;
	bool headed;
	struct label labels[LABELS_MAX];
	size_t nr_labels;
};

/* ---- text ------------------------------------------------------------------------ */

static void write_escaped(FILE *f, const char *text, bool quoted)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", f);
		else if (*text == '\\' || (quoted && *text == '"'))
			fprintf(f, "\\%c", *text);
		else
			fputc(*text, f);
	}
}

/* Called with the first sample: a metric without samples has no head. */
static void write_head(struct writing *w)
{
	const struct prom_metric *m = w->metric;

	if (w->headed)
		return;
	w->headed = true;
	fprintf(w->f, "# HELP %s ", m->name);
	write_escaped(w->f, m->help, false);
	fprintf(w->f, "\n# TYPE %s %s\n", m->name,
		m->type == PROM_COUNTER ? "counter" : "gauge");
}

static void write_sample(struct writing *w, const char *number)
{
	size_t i;

	write_head(w);
	fputs(w->metric->name, w->f);
	for (i = 0; i < w->nr_labels; i++) {
		fprintf(w->f, "%s%s=\"", i ? "," : "{", w->labels[i].name);
		write_escaped(w->f, w->labels[i].value, true);
		fputc('"', w->f);
	}
	fprintf(w->f, "%s %s\n", w->nr_labels ? "}" : "", number);
}

/* ---- numbers ---------------------------------------------------------------------- */

static void write_quotient(struct writing *w, uint64_t n)
{
	uint32_t divisor = w->metric->divisor ? w->metric->divisor : 1, d;
	unsigned int digits = 0;
	char text[48];

	for (d = divisor; d > 1; d /= 10)
		digits++;
	if (digits)
		snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, n / divisor,
			 (int)digits, n % divisor);
	else
		snprintf(text, sizeof(text), "%" PRIu64, n);
	write_sample(w, text);
}

/* Writes a number that is text, as in sysfs; ignores other text. */
static void write_digits(struct writing *w, const char *text)
{
	uint64_t n;
	char rest;

	if (*text >= '0' && *text <= '9' &&
	    sscanf(text, "%" SCNu64 "%c", &n, &rest) == 1)
		write_quotient(w, n);
}

static void write_value(struct writing *w, struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_int:
		write_quotient(w, json_object_get_uint64(value));
		break;
	case json_type_boolean:
		write_sample(w, json_object_get_boolean(value) ? "1" : "0");
		break;
	case json_type_double:
		write_sample(w, json_object_get_string(value));
		break;
	case json_type_string:
		write_digits(w, json_object_get_string(value));
		break;
	default:
		break;
	}
}

static void write_labelled(struct writing *w, const char *label,
			   struct json_object *value)
{
	w->labels[w->nr_labels++] = (struct label){ w->metric->label, label };
	if (value)
		write_value(w, value);
	else
		write_sample(w, "1");
	w->nr_labels--;
}

static struct json_object *value_find(struct json_object *obj, const char *path)
{
	char name[PATH_MAX_LEN];
	struct json_object *next;
	size_t len;

	while (*path) {
		len = strcspn(path, ".");
		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = 0;
		if (!json_object_is_type(obj, json_type_object) ||
		    !json_object_object_get_ex(obj, name, &next))
			return NULL;
		obj = next;
		path += len + (path[len] == '.');
	}
	return obj;
}

static void write_source(struct writing *w, const struct prom_source *from,
			 struct json_object *obj)
{
	struct json_object *value = value_find(obj, from->path);

	if (!value)
		return;
	if (!w->metric->label) {
		write_value(w, value);
	} else if (from->value) {
		write_labelled(w, from->value, value);
	} else if (json_object_is_type(value, json_type_string)) {
		write_labelled(w, json_object_get_string(value), NULL);
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, member)
			write_labelled(w, name, member);
	}
}

static void write_sources(struct writing *w, struct json_object *obj)
{
	const struct prom_source *from;

	for (from = w->metric->from; from->path; from++)
		write_source(w, from, obj);
}

static void write_row(struct writing *w, const struct prom_rows *rows,
		      struct json_object *row)
{
	struct json_object *value;
	size_t i;

	w->nr_labels = 0;
	for (i = 0; rows->labels[i][0]; i++) {
		value = value_find(row, rows->labels[i][1]);
		w->labels[w->nr_labels++] = (struct label){
			rows->labels[i][0],
			value ? json_object_get_string(value) : "",
		};
	}
	write_sources(w, row);
}

static void write_rows(struct writing *w, const struct prom_rows *rows,
		       struct json_object *obj)
{
	struct json_object *list;
	size_t i;

	while (rows->list && strcmp(rows->list, w->metric->per))
		rows++;
	list = rows->list ? value_find(obj, rows->list) : NULL;
	for (i = 0; list && i < json_object_array_length(list); i++)
		write_row(w, rows, json_object_array_get_idx(list, i));
}

void prom_write(FILE *f, const struct prom_metric *metrics,
		const struct prom_rows *rows, struct json_object *obj)
{
	const struct prom_metric *m;

	for (m = metrics; m->name; m++) {
		struct writing w = { .f = f, .metric = m };

		if (*m->per)
			write_rows(&w, rows, obj);
		else
			write_sources(&w, obj);
	}
}
