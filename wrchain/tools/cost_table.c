// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rows as JSON, and tables of them; see cost.h. */
#include <math.h>
#include "cost.h"

/* So that JSON does not show how a double is made. */
void cost_add(struct json_object *row, const char *key, double value)
{
	char text[32];

	if (value == floor(value) && fabs(value) < 1e9) {
		json_object_object_add(row, key, json_object_new_int64(value));
		return;
	}
	snprintf(text, sizeof(text), "%.4g", value);
	if (fabs(value) >= 1000)
		snprintf(text, sizeof(text), "%.1f", value);
	json_object_object_add(row, key, json_object_new_double_s(value, text));
}

void cost_add_text(struct json_object *row, const char *key, const char *text)
{
	json_object_object_add(row, key, json_object_new_string(text));
}

static void row_add_cell(struct json_object *row, const struct cost_column *c)
{
	struct json_object *value;

	if (!json_object_object_get_ex(row, c->key, &value)) {
		printf("%*s", c->width, "-");
		return;
	}
	switch (json_object_get_type(value)) {
	case json_type_int:
	case json_type_double:
		printf("%*.*f", c->width, c->digits,
		       json_object_get_double(value));
		break;
	case json_type_boolean:
		printf("%*s", c->width,
		       json_object_get_boolean(value) ? "yes" : "no");
		break;
	default:
		printf("%*s", c->width, json_object_get_string(value));
	}
}

void cost_table(const char *title, struct json_object *rows,
		const struct cost_column *columns, unsigned int nr_columns)
{
	printf("%s\n", title);
	for (unsigned int i = 0; i < nr_columns; i++)
		printf("%s%*s", i ? " " : "", columns[i].width,
		       columns[i].head);
	printf("\n");
	for (size_t r = 0; r < json_object_array_length(rows); r++) {
		for (unsigned int i = 0; i < nr_columns; i++) {
			if (i)
				printf(" ");
			row_add_cell(json_object_array_get_idx(rows, r),
				     &columns[i]);
		}
		printf("\n");
	}
}
