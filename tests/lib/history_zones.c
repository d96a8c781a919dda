// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Linearizability of a register whose values are written once, by zones (Gibbons and
 * Korach 1997).
 *
 * A cluster is the write of a value with all reads of it. Between the first response
 * and the last invocation of a cluster the register must hold its value: its zone.
 * Where the last invocation comes first, all operations of the cluster share a moment,
 * and it can be squeezed in anywhere there (a backward zone). A history is linearizable
 * if no two forward zones overlap and no backward zone lies within a forward one.
 */
#include "history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct zone {
	uint64_t from, to;
	uint64_t value;
};

/* Room for the zones of one key. */
struct zones {
	struct zone *forward, *backward;
	size_t nr_forward, nr_backward;
	const struct history_op **by_value;
};

static int by_value(const void *a, const void *b)
{
	const struct history_op *x = *(const struct history_op *const *)a;
	const struct history_op *y = *(const struct history_op *const *)b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->f == HISTORY_GET) - (y->f == HISTORY_GET);
}

static int by_start(const void *a, const void *b)
{
	const struct zone *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int wrong(struct history_verdict *verdict, uint64_t key, const char *what,
		 uint64_t value, uint64_t other)
{
	verdict->key = key;
	snprintf(verdict->why, sizeof(verdict->why),
		 "key %" PRIu64 ": %s (values %" PRIu64 " and %" PRIu64 ")",
		 key, what, value, other);
	return -EILSEQ;
}

/* Times as they are seen here: 0 is before all, when the initial value was written. */
static uint64_t began(const struct history_op *op)
{
	return op->invoked + 1;
}

static uint64_t ended(const struct history_op *op)
{
	return op->returned == HISTORY_NEVER ? HISTORY_NEVER : op->returned + 1;
}

/* The cluster of one value: op[0 .. nr), its write first if there is one. */
static int cluster_add(struct zones *zones, const struct history_op **op, size_t nr,
		       uint64_t initial, struct history_verdict *verdict)
{
	uint64_t value = op[0]->value, first_return, last_invoke, written;
	size_t i = 0;

	if (op[0]->f == HISTORY_PUT) {
		if (value == initial || (nr > 1 && op[1]->f == HISTORY_PUT))
			return -EINVAL;
		/* Nobody knows whether it happened, and nobody saw it. */
		if (nr == 1 && op[0]->type == HISTORY_OPEN)
			return 0;
		written = began(op[0]);
		first_return = ended(op[0]);
		last_invoke = began(op[0]);
		i = 1;
	} else if (value == initial) {
		written = 0;
		first_return = 0;
		last_invoke = 0;
	} else {
		return wrong(verdict, op[0]->key, "a get returned what nobody wrote",
			     value, value);
	}
	for (; i < nr; i++) {
		if (ended(op[i]) < written)
			return wrong(verdict, op[i]->key,
				     "a get returned a value before its put began",
				     value, value);
		if (ended(op[i]) < first_return)
			first_return = ended(op[i]);
		if (began(op[i]) > last_invoke)
			last_invoke = began(op[i]);
	}
	if (first_return < last_invoke)
		zones->forward[zones->nr_forward++] =
			(struct zone){ first_return, last_invoke, value };
	else
		zones->backward[zones->nr_backward++] =
			(struct zone){ last_invoke, first_return, value };
	return 0;
}

static int forward_judge(const struct zones *zones, uint64_t key,
			 struct history_verdict *verdict)
{
	size_t i;

	for (i = 1; i < zones->nr_forward; i++)
		if (zones->forward[i].from < zones->forward[i - 1].to)
			return wrong(verdict, key,
				     "two values must be there at the same time",
				     zones->forward[i - 1].value,
				     zones->forward[i].value);
	return 0;
}

/* The last forward zone that begins before `from`, or NULL. */
static const struct zone *zone_before(const struct zones *zones, uint64_t from)
{
	size_t low = 0, high = zones->nr_forward, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (zones->forward[mid].from < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &zones->forward[low - 1] : NULL;
}

static int backward_judge(const struct zones *zones, uint64_t key,
			  struct history_verdict *verdict)
{
	const struct zone *around;
	size_t i;

	for (i = 0; i < zones->nr_backward; i++) {
		around = zone_before(zones, zones->backward[i].from);
		if (around && zones->backward[i].to < around->to)
			return wrong(verdict, key,
				     "a value has no moment while another must be there",
				     zones->backward[i].value, around->value);
	}
	return 0;
}

/* All operations of one key. */
static int key_judge(struct zones *zones, const struct history_op *op, size_t nr,
		     uint64_t initial, struct history_verdict *verdict)
{
	size_t i, first, used = 0;
	int err;

	zones->nr_forward = zones->nr_backward = 0;
	for (i = 0; i < nr; i++) {
		if (op[i].f != HISTORY_GET && op[i].f != HISTORY_PUT)
			return -EINVAL;
		if (op[i].f == HISTORY_PUT ? op[i].type == HISTORY_FAIL :
					     op[i].type != HISTORY_OK)
			continue;	/* it did nothing, or read nothing */
		zones->by_value[used++] = &op[i];
	}
	qsort(zones->by_value, used, sizeof(*zones->by_value), by_value);
	for (first = 0; first < used; first = i) {
		for (i = first + 1; i < used; i++)
			if (zones->by_value[i]->value != zones->by_value[first]->value)
				break;
		err = cluster_add(zones, zones->by_value + first, i - first, initial,
				  verdict);
		if (err)
			return err;
	}
	qsort(zones->forward, zones->nr_forward, sizeof(struct zone), by_start);
	err = forward_judge(zones, op[0].key, verdict);
	return err ? err : backward_judge(zones, op[0].key, verdict);
}

int history_check_zones(const struct history_op *op, size_t nr, uint64_t initial,
			struct history_verdict *ret_verdict)
{
	struct zones zones = { .forward = NULL };
	size_t first, i;
	int err = 0;

	memset(ret_verdict, 0, sizeof(*ret_verdict));
	zones.forward = malloc((nr + 1) * sizeof(struct zone));
	zones.backward = malloc((nr + 1) * sizeof(struct zone));
	zones.by_value = malloc((nr + 1) * sizeof(*zones.by_value));
	if (!zones.forward || !zones.backward || !zones.by_value)
		err = -ENOMEM;
	for (first = 0; first < nr && !err; first = i) {
		for (i = first + 1; i < nr && op[i].key == op[first].key; i++)
			;
		err = key_judge(&zones, op + first, i - first, initial, ret_verdict);
		ret_verdict->keys++;
		ret_verdict->ops += i - first;
	}
	free(zones.forward);
	free(zones.backward);
	free(zones.by_value);
	return err;
}
