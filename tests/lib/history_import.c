// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Histories from files of history_export(). */
#include "history.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

struct import {
	struct history_op *op;
	size_t nr, max;
};

/* A line of the file. */
struct event {
	uint64_t time, key, value, expect;
	uint32_t process;
	uint8_t f;
	const char *type;
};

static int field(struct json_object *line, const char *name, json_type type,
		 struct json_object **ret_value)
{
	if (!json_object_object_get_ex(line, name, ret_value) ||
	    json_object_get_type(*ret_value) != type)
		return -EBADMSG;
	return 0;
}

static int number(struct json_object *line, const char *name, uint64_t *ret_number)
{
	struct json_object *value;
	int err = field(line, name, json_type_int, &value);

	if (!err)
		*ret_number = json_object_get_uint64(value);
	return err;
}

static int text(struct json_object *line, const char *name, const char **ret_text)
{
	struct json_object *value;
	int err = field(line, name, json_type_string, &value);

	if (!err)
		*ret_text = json_object_get_string(value);
	return err;
}

static int f_of(const char *name, uint8_t *ret_f)
{
	uint8_t f;

	for (f = 0; f < HISTORY_NR_F; f++) {
		if (strcmp(name, history_f_name[f]))
			continue;
		*ret_f = f;
		return 0;
	}
	return -EBADMSG;
}

/* null, a value, or what a CAS expects and its value. */
static int value_of(struct json_object *line, struct event *event)
{
	struct json_object *value;

	if (!json_object_object_get_ex(line, "value", &value))
		return -EBADMSG;
	if (json_object_is_type(value, json_type_array)) {
		if (json_object_array_length(value) != 2)
			return -EBADMSG;
		event->expect = json_object_get_uint64(json_object_array_get_idx(value, 0));
		value = json_object_array_get_idx(value, 1);
	}
	event->value = value ? json_object_get_uint64(value) : HISTORY_ABSENT;
	return 0;
}

static int event_read(struct json_object *line, struct event *ret_event)
{
	struct event event = { .value = HISTORY_ABSENT };
	uint64_t process;
	const char *f;

	if (number(line, "time", &event.time) || number(line, "process", &process) ||
	    number(line, "key", &event.key) || text(line, "f", &f) ||
	    text(line, "type", &event.type) || f_of(f, &event.f) || value_of(line, &event))
		return -EBADMSG;
	event.process = process;
	*ret_event = event;
	return 0;
}

static int import_invoke(struct import *import, const struct event *event)
{
	size_t max = import->max ? 2 * import->max : 1024;
	struct history_op *op;

	if (import->nr == import->max) {
		op = realloc(import->op, max * sizeof(*op));
		if (!op)
			return -ENOMEM;
		import->op = op;
		import->max = max;
	}
	import->op[import->nr++] = (struct history_op) {
		.key = event->key, .value = event->value, .expect = event->expect,
		.invoked = event->time, .returned = HISTORY_NEVER,
		.process = event->process, .f = event->f, .type = HISTORY_OPEN,
	};
	return 0;
}

/* To the first invocation of that process and key that has no response so far. */
static int import_return(struct import *import, const struct event *event)
{
	struct history_op *op;

	for (op = import->op; op < import->op + import->nr; op++)
		if (op->process == event->process && op->key == event->key &&
		    op->type == HISTORY_OPEN)
			break;
	if (op == import->op + import->nr || op->f != event->f)
		return -EBADMSG;
	if (!strcmp(event->type, "info"))
		return 0;
	op->type = strcmp(event->type, "ok") ? HISTORY_FAIL : HISTORY_OK;
	op->returned = event->time;
	if (op->f == HISTORY_GET)
		op->value = event->value;
	return 0;
}

static int import_line(struct import *import, const char *text)
{
	struct json_object *line = json_tokener_parse(text);
	struct event event;
	int err = line ? event_read(line, &event) : -EBADMSG;

	if (!err)
		err = strcmp(event.type, "invoke") ? import_return(import, &event) :
						     import_invoke(import, &event);
	json_object_put(line);
	return err;
}

int history_import(FILE *in, struct history_op **ret_op, size_t *ret_nr)
{
	struct import import = { .op = NULL };
	char line[512];
	int err = 0;

	while (!err && fgets(line, sizeof(line), in))
		err = import_line(&import, line);
	if (!err && ferror(in))
		err = -EIO;
	if (err) {
		free(import.op);
		return err;
	}
	*ret_op = import.op;
	*ret_nr = import.nr;
	return 0;
}
