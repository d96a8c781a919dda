// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sums in far memory: see sum.h. */
#include "sum.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "client_priv.h"
#include "core.h"
#include "task.h"
#include "thread.h"

struct far_sum {
	struct far_sum *next;		/* of far->sums */
	uint64_t addr;
	_Atomic int64_t pending;
	atomic_bool listed;
	atomic_uint refs;		/* the structure's, and the list's */
};

int far_sum_new(uint64_t addr, struct far_sum **ret_sum)
{
	struct far_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	sum->addr = addr;
	atomic_init(&sum->refs, 1);
	*ret_sum = sum;
	return 0;
}

uint64_t far_sum_addr(const struct far_sum *sum)
{
	return sum->addr;
}

void far_sum_put(struct far_sum *sum)
{
	if (sum && atomic_fetch_sub(&sum->refs, 1) == 1)
		free(sum);
}

static void sum_list(struct far *far, struct far_sum *sum)
{
	atomic_fetch_add(&sum->refs, 1);
	sum->next = atomic_load(&far->sums);
	while (!atomic_compare_exchange_weak(&far->sums, &sum->next, sum))
		;
}

void far_sum_add(struct far_task *task, struct far_sum *sum, int64_t by)
{
	/* In this order: sums_take() looks at what is pending after it has cleared the flag. */
	atomic_fetch_add(&sum->pending, by);
	if (!atomic_load(&sum->listed) && !atomic_exchange(&sum->listed, true))
		sum_list(far_task_far(task), sum);
}

int64_t far_sum_pending(const struct far_sum *sum)
{
	return atomic_load(&sum->pending);
}

/* Takes the first of a list, and what it has; false: the list is empty. */
static bool sums_take(struct far_sum **list, uint64_t *ret_addr, int64_t *ret_by)
{
	struct far_sum *sum = *list;

	if (!sum)
		return false;
	*list = sum->next;
	atomic_store(&sum->listed, false);
	*ret_addr = sum->addr;
	*ret_by = atomic_exchange(&sum->pending, 0);
	far_sum_put(sum);
	return true;
}

void far_sums_pay(struct far_task *task)
{
	struct far *far = far_task_far(task);
	struct far_sum *list;
	struct far_ops inner;
	uint64_t addr;
	int64_t by;

	if (!atomic_load(&far->sums))
		return;
	list = atomic_exchange(&far->sums, NULL);
	far_verbs_begin(task, &inner);
	while (sums_take(&list, &addr, &by))
		if (by)
			far_faa(task, addr, by, NULL);
	/* what fails is lost */
	far_verbs_end(task, &inner);
}

void far_sums_forget(struct far *far)
{
	struct far_sum *list = atomic_exchange(&far->sums, NULL);
	uint64_t addr;
	int64_t by;

	while (sums_take(&list, &addr, &by))
		;
}
