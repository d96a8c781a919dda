/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics by table: writes the text format of Prometheus (exposition format 0.0.4) from a
 * table of metrics and a JSON object with the numbers.
 */
#ifndef MNODE_PROM_H
#define MNODE_PROM_H

#include <stdint.h>
#include <stdio.h>

struct json_object;

#define PROM_SOURCES_MAX 16

enum prom_type {
	PROM_GAUGE,
	PROM_COUNTER,		/* never decreases while the process or device exists; the name
				 * ends in _total */
};

/**
 * struct prom_source - where a metric finds a number
 * @path:	names of members, joined by dots, that start at the object or the row
 * @value:	value of the metric's label.  NULL if the metric has no label, if @path
 *		leads to a text (the text is the label's value, the number is 1), or to an
 *		object (each member is a number, and its name the label's value)
 */
struct prom_source {
	const char *path;
	const char *value;
};

/**
 * struct prom_metric - one metric
 * @unit:	of the number; the name ends in a base unit where there is one
 * @help:	one sentence
 * @label:	name of the label that distinguishes the sources; NULL: there is one
 *		source
 * @per:	"": one value for the object; else one for each row: the name of the list
 *		of rows
 * @from:	ends with a NULL path; sources that the object does not have are left out
 * @divisor:	divides a number that is in a smaller unit than the metric; a power of 10;
 *		0: 1
 */
struct prom_metric {
	const char *name;
	enum prom_type type;
	const char *unit, *help;
	const char *label;
	const char *per;
	struct prom_source from[PROM_SOURCES_MAX];
	uint32_t divisor;
};

/**
 * struct prom_rows - objects that have metrics of their own
 * @list:	path of the array in the object; also the value of @per
 * @labels:	of each sample: name of the label, member of the row; ends with NULL
 */
struct prom_rows {
	const char *list;
	const char *labels[3][2];
};

/* metrics: ends with a NULL name; rows: with a NULL list.  Errors of writing remain in f:
 * see ferror(). */
void prom_write(FILE *f, const struct prom_metric *metrics,
		const struct prom_rows *rows, struct json_object *obj);

#endif /* MNODE_PROM_H */
