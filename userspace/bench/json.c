// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What benchmarks need of JSON: see json.h. */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct json_object *bench_json_number(double value)
{
	char text[32];

	if (isnan(value))
		return NULL;
	snprintf(text, sizeof(text), "%.7g", value);
	return json_object_new_double_s(value, text);
}

int bench_json_write(struct json_object *o, const char *path)
{
	FILE *out = strcmp(path, "-") ? fopen(path, "w") : stdout;
	int err = 0;

	if (!out)
		return -errno;
	fprintf(out, "%s\n", json_object_to_json_string_ext(o,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	if (fflush(out) || ferror(out))
		err = -EIO;
	if (out != stdout && fclose(out) && !err)
		err = -errno;
	return err;
}
