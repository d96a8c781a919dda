// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Linearizability of any operations on one key, by search.
 *
 * A configuration is what the key may hold, and which of the pending operations have
 * happened. Invocations and responses are met in order of time; when an operation
 * responds, it must have happened, so that from each configuration in which it has not,
 * pending ones are let happen in all orders until it has (Lowe 2017: just in time is
 * soon enough). An operation that changes nothing happens as soon as it may: that
 * cannot hurt.
 */
#include "history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PENDING	64

struct config {
	uint64_t value;
	uint64_t done;		/* bits of pending operations that have happened */
};

/* A set by open addressing; entries in the order in which they came. */
struct configs {
	struct config *entry;
	size_t nr, max;
	uint32_t *index;	/* of entry, plus 1; 0 is empty */
	size_t mask;
};

struct search {
	const struct history_op *pending[MAX_PENDING];
	uint64_t in_use;	/* bits of pending */
	uint64_t open;		/* those of them that never respond */
	struct configs now, seen;
	const struct history_op **returns;
};

static int configs_init(struct configs *set, size_t max)
{
	size_t size = 16;

	while (size < 2 * max)
		size *= 2;
	set->nr = 0;
	set->max = max;
	set->mask = size - 1;
	set->entry = malloc(max * sizeof(*set->entry));
	set->index = calloc(size, sizeof(*set->index));
	return set->entry && set->index ? 0 : -ENOMEM;
}

static void configs_fini(struct configs *set)
{
	free(set->entry);
	free(set->index);
}

static size_t config_hash(const struct config *config)
{
	uint64_t h = config->value * UINT64_C(0x9e3779b97f4a7c15) ^ config->done;

	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

/* The place of config in the index: its own, or the free one for it. */
static size_t configs_find(const struct configs *set, const struct config *config)
{
	size_t at = config_hash(config) & set->mask;
	const struct config *there;

	while (set->index[at]) {
		there = &set->entry[set->index[at] - 1];
		if (there->value == config->value && there->done == config->done)
			break;
		at = (at + 1) & set->mask;
	}
	return at;
}

/* 0, also if it was there; -ENOSPC. */
static int configs_add(struct configs *set, struct config config)
{
	size_t at = configs_find(set, &config);

	if (set->index[at])
		return 0;
	if (set->nr == set->max)
		return -ENOSPC;
	set->entry[set->nr++] = config;
	set->index[at] = set->nr;
	return 0;
}

static void configs_clear(struct configs *set)
{
	size_t i;

	/* Emptied entry by entry while that is less than all of the index. */
	if (set->nr * 8 < set->mask) {
		for (i = set->nr; i-- > 0; )
			set->index[configs_find(set, &set->entry[i])] = 0;
	} else {
		memset(set->index, 0, (set->mask + 1) * sizeof(*set->index));
	}
	set->nr = 0;
}

/*
 * Whether op may happen while the key holds value, with the outcome that it had; then
 * *ret_value is what the key holds. An open one may have had any outcome that changes
 * something.
 */
static int op_may_happen(const struct history_op *op, uint64_t value,
			 uint64_t *ret_value)
{
	int there = value != HISTORY_ABSENT, can;

	*ret_value = op->f == HISTORY_DELETE ? HISTORY_ABSENT : op->value;
	switch ((enum history_f)op->f) {
	case HISTORY_GET:
		*ret_value = value;
		return op->value == value;
	case HISTORY_PUT:
		return op->type != HISTORY_FAIL;
	case HISTORY_INSERT:
		can = !there;
		break;
	case HISTORY_UPDATE:
	case HISTORY_DELETE:
		can = there;
		break;
	case HISTORY_CAS:
		can = value == op->expect;
		break;
	case HISTORY_RMW:
		return op->type == HISTORY_OPEN || (op->type == HISTORY_OK && value == op->expect);
	default:
		return 0;
	}
	if (op->type != HISTORY_FAIL)
		return can;
	*ret_value = value;
	return !can;
}

/* Lets all happen that may and that changes nothing. */
static struct config config_settle(const struct search *search, struct config config)
{
	uint64_t left = search->in_use & ~config.done, value;
	unsigned slot;

	for (; left; left &= left - 1) {
		slot = __builtin_ctzll(left);
		if (op_may_happen(search->pending[slot], config.value, &value) &&
		    value == config.value)
			config.done |= UINT64_C(1) << slot;
	}
	return config;
}

/*
 * Adds config to those that were seen, unless the same value was seen with one open
 * operation fewer: whatever goes on from config goes on from there, as no open operation
 * has to happen.
 */
static int seen_add(struct search *search, struct config config)
{
	uint64_t left = config.done & search->open, bit;
	struct config fewer = config;

	for (; left; left &= left - 1) {
		bit = left & -left;
		fewer.done = config.done & ~bit;
		if (search->seen.index[configs_find(&search->seen, &fewer)])
			return 0;
	}
	return configs_add(&search->seen, config);
}

static int config_step(struct search *search, struct config config)
{
	uint64_t left = search->in_use & ~config.done;
	struct config next;
	unsigned slot;
	int err = 0;

	for (; left && !err; left &= left - 1) {
		slot = __builtin_ctzll(left);
		if (!op_may_happen(search->pending[slot], config.value, &next.value))
			continue;
		next.done = config.done | UINT64_C(1) << slot;
		err = seen_add(search, config_settle(search, next));
	}
	return err;
}

/* The operation in slot responds. -EILSEQ: it cannot have happened. */
static int search_return(struct search *search, unsigned slot)
{
	uint64_t bit = UINT64_C(1) << slot;
	struct config config;
	size_t i;
	int err = 0;

	configs_clear(&search->seen);
	for (i = 0; i < search->now.nr && !err; i++)
		err = seen_add(search, config_settle(search, search->now.entry[i]));
	configs_clear(&search->now);
	for (i = 0; i < search->seen.nr && !err; i++) {
		config = search->seen.entry[i];
		if (!(config.done & bit)) {
			err = config_step(search, config);
		} else {
			config.done &= ~bit;
			err = configs_add(&search->now, config);
		}
	}
	search->in_use &= ~bit;
	if (err)
		return err;
	return search->now.nr ? 0 : -EILSEQ;
}

/* -ENOSPC: more are pending than there is room for. */
static int search_invoke(struct search *search, const struct history_op *op)
{
	unsigned slot;

	if (!~search->in_use)
		return -ENOSPC;
	slot = __builtin_ctzll(~search->in_use);
	search->pending[slot] = op;
	search->in_use |= UINT64_C(1) << slot;
	if (op->type == HISTORY_OPEN)
		search->open |= UINT64_C(1) << slot;
	return 0;
}

static int by_return(const void *a, const void *b)
{
	const struct history_op *x = *(const struct history_op *const *)a;
	const struct history_op *y = *(const struct history_op *const *)b;

	return x->returned < y->returned ? -1 : x->returned > y->returned;
}

static unsigned slot_of(const struct search *search, const struct history_op *op)
{
	unsigned slot = 0;

	while (!(search->in_use >> slot & 1) || search->pending[slot] != op)
		slot++;
	return slot;
}

/* An open get tells nothing, and a put that is known not to have happened did nothing. */
static int op_counts(const struct history_op *op)
{
	if (op->f == HISTORY_GET)
		return op->type == HISTORY_OK;
	return op->f != HISTORY_PUT || op->type != HISTORY_FAIL;
}

/* All operations of one key, ordered by invocation. */
static int key_search(struct search *search, const struct history_op *op, size_t nr,
		      uint64_t initial, const struct history_op **ret_wrong)
{
	size_t i, nr_returns = 0, next = 0;
	int err;

	for (i = 0; i < nr; i++)
		if (op_counts(&op[i]) && op[i].type != HISTORY_OPEN)
			search->returns[nr_returns++] = &op[i];
	qsort(search->returns, nr_returns, sizeof(*search->returns), by_return);
	search->in_use = search->open = 0;
	configs_clear(&search->now);
	err = configs_add(&search->now, (struct config){ .value = initial });
	i = 0;
	while (!err && next < nr_returns) {
		/* At the same time invocations come first. */
		if (i < nr && op[i].invoked <= search->returns[next]->returned) {
			if (op_counts(&op[i]))
				err = search_invoke(search, &op[i]);
			i++;
			continue;
		}
		*ret_wrong = search->returns[next];
		err = search_return(search, slot_of(search, search->returns[next]));
		next++;
	}
	return err;
}

static void verdict_set(struct history_verdict *verdict, const struct history_op *op)
{
	static const char *const f[HISTORY_NR_F] = {
		"get", "put", "insert", "update", "delete", "cas", "rmw",
	};

	verdict->key = op->key;
	snprintf(verdict->why, sizeof(verdict->why),
		 "key %" PRIu64 ": %s of process %" PRIu32 ", value %" PRIu64
		 ", invoked at %" PRIu64 ", %s at %" PRIu64
		 ": no order of the operations explains it",
		 op->key, f[op->f], op->process, op->value, op->invoked,
		 op->type == HISTORY_FAIL ? "failed" : "returned", op->returned);
}

int history_check_search(const struct history_op *op, size_t nr, uint64_t initial,
			 size_t max_states, struct history_verdict *ret_verdict)
{
	const struct history_op *wrong = NULL;
	struct search search = { .in_use = 0 };
	size_t first, i;
	int err;

	memset(ret_verdict, 0, sizeof(*ret_verdict));
	err = configs_init(&search.now, max_states);
	if (!err)
		err = configs_init(&search.seen, max_states);
	search.returns = malloc((nr + 1) * sizeof(*search.returns));
	if (!search.returns)
		err = -ENOMEM;
	for (first = 0; first < nr && !err; first = i) {
		for (i = first + 1; i < nr && op[i].key == op[first].key; i++)
			;
		err = key_search(&search, op + first, i - first, initial, &wrong);
		ret_verdict->keys++;
		ret_verdict->ops += i - first;
		if (err == -ENOSPC) {
			ret_verdict->undecided++;
			err = 0;
		} else if (err == -EILSEQ) {
			verdict_set(ret_verdict, wrong);
		}
	}
	configs_fini(&search.now);
	configs_fini(&search.seen);
	free(search.returns);
	return err;
}
