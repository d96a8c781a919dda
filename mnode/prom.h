/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table of metrics, and the text that Prometheus reads (exposition format
 * 0.0.4), made of that table and of a JSON object with the numbers.
 */
#ifndef MNODE_PROM_H
#define MNODE_PROM_H

#include <stdint.h>
#include <stdio.h>

struct json_object;

#define PROM_SOURCES_MAX 16

enum prom_type {
	PROM_GAUGE,
	PROM_COUNTER,		/* never decreases while its owner lives; ends in _total */
};

/**
 * struct prom_source - where a number of a metric comes from
 * @path:	names of members, joined by dots, from the object or the row on
 * @value:	of the metric's label; NULL if it has none, or if @path leads to a
 *		text (the text is the value, the number is 1) or to an object (each
 *		member is a number, its name the value)
 */
struct prom_source {
	const char *path;
	const char *value;
};

/**
 * struct prom_metric - one metric
 * @unit:	of the number; the name ends in a base unit where there is one
 * @help:	one sentence
 * @label:	that tells the sources apart; NULL: there is one source
 * @per:	"": one for the whole; else rows[] of the table, by name
 * @from:	ends with a NULL path; what is not in the object is left out
 * @divisor:	of a number in another unit than the metric's; 0: 1
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
 * struct prom_rows - the things of which each has metrics
 * @list:	an array in the object; metrics have it in @per
 * @labels:	of each number: name of the label, member of the row; NULL: no more
 */
struct prom_rows {
	const char *list;
	const char *labels[3][2];
};

/* metrics: ends with a NULL name.  Errors of writing are those of f. */
void prom_write(FILE *f, const struct prom_metric *metrics,
		const struct prom_rows *rows, struct json_object *obj);

#endif /* MNODE_PROM_H */
