// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Timers: a binary heap by time.  Its memory is reserved when objects with
 * timers are created, so that arming a timer cannot fail.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

void snic_timer_init(struct snic_timer *t,
		     void (*fire)(struct snic *nic, struct snic_timer *t))
{
	*t = (struct snic_timer){ .when = SNIC_NEVER, .fire = fire };
}

int snic_timer_reserve(struct snic *nic, unsigned int n)
{
	uint32_t need = nic->heap_reserved + n;
	uint32_t cap = nic->heap_cap ? nic->heap_cap : 64;
	struct snic_timer **heap;

	while (cap < need)
		cap *= 2;
	if (cap > nic->heap_cap) {
		heap = realloc(nic->heap, cap * sizeof(struct snic_timer *));
		if (!heap)
			return -ENOMEM;
		nic->heap = heap;
		nic->heap_cap = cap;
	}
	nic->heap_reserved = need;
	return 0;
}

void snic_timer_unreserve(struct snic *nic, unsigned int n)
{
	nic->heap_reserved -= n;
}

static void heap_put(struct snic *nic, uint32_t i, struct snic_timer *t)
{
	nic->heap[i] = t;
	t->heap_idx = i;
}

static void sift_up(struct snic *nic, uint32_t i, struct snic_timer *t)
{
	while (i) {
		uint32_t parent = (i - 1) / 2;

		if (nic->heap[parent]->when <= t->when)
			break;
		heap_put(nic, i, nic->heap[parent]);
		i = parent;
	}
	heap_put(nic, i, t);
}

static void sift_down(struct snic *nic, uint32_t i, struct snic_timer *t)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= nic->heap_len)
			break;
		if (child + 1 < nic->heap_len &&
		    nic->heap[child + 1]->when < nic->heap[child]->when)
			child++;
		if (t->when <= nic->heap[child]->when)
			break;
		heap_put(nic, i, nic->heap[child]);
		i = child;
	}
	heap_put(nic, i, t);
}

void snic_timer_cancel(struct snic *nic, struct snic_timer *t)
{
	struct snic_timer *last;

	if (t->when == SNIC_NEVER)
		return;
	t->when = SNIC_NEVER;
	last = nic->heap[--nic->heap_len];
	if (last == t)
		return;
	if (t->heap_idx && nic->heap[(t->heap_idx - 1) / 2]->when > last->when)
		sift_up(nic, t->heap_idx, last);
	else
		sift_down(nic, t->heap_idx, last);
}

void snic_timer_set(struct snic *nic, struct snic_timer *t, uint64_t when)
{
	uint64_t old = t->when;

	if (when == SNIC_NEVER) {
		snic_timer_cancel(nic, t);
		return;
	}
	if (when == old)
		return;
	t->when = when;
	if (old == SNIC_NEVER)
		sift_up(nic, nic->heap_len++, t);
	else if (when < old)
		sift_up(nic, t->heap_idx, t);
	else
		sift_down(nic, t->heap_idx, t);
}

void snic_timers_run(struct snic *nic, unsigned int budget)
{
	while (budget-- && nic->heap_len && nic->heap[0]->when <= nic->now) {
		struct snic_timer *t = nic->heap[0];

		snic_timer_cancel(nic, t);
		t->fire(nic, t);
	}
}

uint64_t snic_timers_next(const struct snic *nic)
{
	return nic->heap_len ? nic->heap[0]->when : SNIC_NEVER;
}
