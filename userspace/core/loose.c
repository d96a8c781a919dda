// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Verbs that may be executed late. See loose.h. */
#include "loose.h"

#include "core.h"
#include "task.h"
#include "thread.h"

static void time_raise(_Atomic uint64_t *time, uint64_t to)
{
	uint64_t old = atomic_load(time);

	while (old < to && !atomic_compare_exchange_weak(time, &old, to))
		;
}

void far_loose_begin(struct far_thread *thread, unsigned node)
{
	uint64_t until = far_thread_now(thread) + FAR_LOOSE_NS;

	atomic_store(&thread->loose_until[node], until);
	time_raise(&thread->far->loose[node].last, until);
}

void far_loose_end(struct far_thread *thread, unsigned node)
{
	if (far_link_is_loose(thread, node))
		atomic_store(&thread->loose_until[node], 0);
}

bool far_link_is_loose(const struct far_thread *thread, unsigned node)
{
	return atomic_load(&thread->loose_until[node]);
}

/* In this order: whoever finds the thread's time gone finds that of ended threads. */
void far_loose_leave(struct far_thread *thread)
{
	for (unsigned i = 0; i < thread->far->nr_nodes; i++) {
		time_raise(&thread->far->loose[i].ended,
			   atomic_load(&thread->loose_until[i]));
		far_loose_end(thread, i);
	}
}

/* `ended` comes last: see far_loose_leave(). */
static bool node_is_loose(struct far *far, unsigned node, uint64_t now)
{
	struct far_thread *thread = atomic_load(&far->threads);

	for (; thread; thread = thread->next) {
		if (now < atomic_load(&thread->loose_until[node]))
			return true;
	}
	return now < atomic_load(&far->loose[node].ended);
}

bool far_is_loose(struct far_task *task, unsigned node)
{
	struct far *far = far_task_far(task);
	uint64_t last = atomic_load(&far->loose[node].last), now;

	if (!last || far_client_lost(far_task_far(task)->client, node))
		return false;
	now = far_now(task);
	return now < last && node_is_loose(far, node, now);
}

bool far_is_any_loose(struct far_task *task)
{
	for (unsigned i = 0; i < far_task_far(task)->nr_nodes; i++) {
		if (far_is_loose(task, i))
			return true;
	}
	return false;
}
