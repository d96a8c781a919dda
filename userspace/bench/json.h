/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What benchmarks need of JSON. */
#ifndef FAR_BENCH_JSON_H
#define FAR_BENCH_JSON_H

#include <json-c/json.h>

/* With as many digits as a count of a million has; NULL, which is null, of NAN. */
struct json_object *bench_json_number(double value);

/* To a file, or to standard output if path is "-". -errno. */
int bench_json_write(struct json_object *o, const char *path);

#endif
