// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Logs of operations: recording, merging, and export.
 */
#include "history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const history_f_name[HISTORY_NR_F] = {
	[HISTORY_GET] = "get",
	[HISTORY_PUT] = "put",
	[HISTORY_INSERT] = "insert",
	[HISTORY_UPDATE] = "update",
	[HISTORY_DELETE] = "delete",
	[HISTORY_CAS] = "cas",
	[HISTORY_RMW] = "rmw",
};

long history_invoke(struct history_log *log, enum history_f f, uint64_t key,
		    uint64_t value, uint64_t expect, uint64_t now)
{
	if (log->nr == log->max)
		return -1;
	log->op[log->nr] = (struct history_op){
		.key = key,
		.value = value,
		.expect = expect,
		.invoked = now,
		.returned = HISTORY_NEVER,
		.process = log->process,
		.f = f,
		.type = HISTORY_OPEN,
	};
	return (long)log->nr++;
}

void history_return(struct history_log *log, long idx, enum history_type type,
		    uint64_t value, uint64_t now)
{
	struct history_op *op = &log->op[idx];

	if (type == HISTORY_OPEN) {
		log->process += 1u << 16;
		return;
	}
	if (op->f == HISTORY_GET)
		op->value = value;
	if (op->f == HISTORY_RMW)
		op->expect = value;
	op->returned = now;
	op->type = type;
}

static int by_key(const void *a, const void *b)
{
	const struct history_op *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->invoked != y->invoked)
		return x->invoked < y->invoked ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

void history_forget(struct history_log *log, long idx)
{
	log->nr--;
	memmove(&log->op[idx], &log->op[idx + 1], (log->nr - idx) * sizeof(*log->op));
}

struct history_op *history_merge(const struct history_log *log, unsigned nr_logs,
				 size_t *ret_nr)
{
	struct history_op *all;
	size_t nr = 0, i;
	unsigned l;

	for (l = 0; l < nr_logs; l++)
		nr += log[l].nr;
	all = malloc((nr + 1) * sizeof(*all));
	if (!all)
		return NULL;
	nr = 0;
	for (l = 0; l < nr_logs; l++)
		for (i = 0; i < log[l].nr; i++)
			all[nr++] = log[l].op[i];
	qsort(all, nr, sizeof(*all), by_key);
	*ret_nr = nr;
	return all;
}

/* Zones know neither failures nor absence as a value that is written. */
static int zones_can_decide(const struct history_op *op, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (op[i].f != HISTORY_GET && op[i].f != HISTORY_PUT)
			return 0;
	return 1;
}

#define FEW_STATES	100000u
#define MANY_STATES	4000000u

int history_check(const struct history_op *op, size_t nr, uint64_t initial,
		  struct history_verdict *ret_verdict)
{
	int err;

	if (zones_can_decide(op, nr))
		return history_check_zones(op, nr, initial, ret_verdict);
	err = history_check_search(op, nr, initial, FEW_STATES, ret_verdict);
	/* many operations of unknown fate */
	if (!err && ret_verdict->undecided)
		err = history_check_search(op, nr, initial, MANY_STATES, ret_verdict);
	if (err || !ret_verdict->undecided)
		return err;
	snprintf(ret_verdict->why, sizeof(ret_verdict->why),
		 "%zu of %zu keys could not be decided", ret_verdict->undecided,
		 ret_verdict->keys);
	return -EOVERFLOW;
}

/* An invocation or a response. */
struct event {
	const struct history_op *op;
	uint64_t time;
	int is_return;
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->is_return != y->is_return)
		return x->is_return - y->is_return;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void event_print(const struct event *event, size_t idx, FILE *out)
{
	static const char *const type[] = {
		[HISTORY_OPEN] = "info",
		[HISTORY_OK] = "ok",
		[HISTORY_FAIL] = "fail",
	};
	const struct history_op *op = event->op;
	int reads = op->f == HISTORY_GET;

	fprintf(out, "{\"index\":%zu,\"time\":%" PRIu64 ",\"type\":\"%s\","
		"\"process\":%" PRIu32 ",\"f\":\"%s\",\"key\":%" PRIu64 ",\"value\":",
		idx, event->time, event->is_return ? type[op->type] : "invoke",
		op->process, history_f_name[op->f], op->key);
	if (op->f == HISTORY_DELETE || op->value == HISTORY_ABSENT ||
	    (reads && (!event->is_return || op->type != HISTORY_OK)))
		fputs("null}\n", out);
	else if (op->f == HISTORY_CAS || op->f == HISTORY_RMW)
		fprintf(out, "[%" PRIu64 ",%" PRIu64 "]}\n", op->expect, op->value);
	else
		fprintf(out, "%" PRIu64 "}\n", op->value);
}

int history_export(const struct history_op *op, size_t nr, FILE *out)
{
	struct event *event = malloc((2 * nr + 1) * sizeof(*event));
	size_t i, nr_events = 0;
	uint64_t last = 0;

	if (!event)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		event[nr_events++] = (struct event){ &op[i], op[i].invoked, 0 };
		if (op[i].invoked > last)
			last = op[i].invoked;
		if (op[i].type != HISTORY_OPEN && op[i].returned > last)
			last = op[i].returned;
	}
	/* Those that stay open are said to be unknown at the end. */
	for (i = 0; i < nr; i++)
		event[nr_events++] = (struct event){ &op[i],
			op[i].type == HISTORY_OPEN ? last : op[i].returned, 1 };
	qsort(event, nr_events, sizeof(*event), by_time);
	for (i = 0; i < nr_events; i++)
		event_print(&event[i], i, out);
	free(event);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
