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
	struct far_loose *loose = &thread->far->loose[node];

	time_raise(&loose->until, far_thread_now(thread) + FAR_LOOSE_NS);
	if (!thread->link[node].loose)
		atomic_fetch_add(&loose->links, 1);
	thread->link[node].loose = true;
}

void far_loose_end(struct far_thread *thread, unsigned node)
{
	if (thread->link[node].loose)
		atomic_fetch_sub(&thread->far->loose[node].links, 1);
	thread->link[node].loose = false;
}

void far_loose_leave(struct far_thread *thread)
{
	for (unsigned i = 0; i < thread->far->nr_nodes; i++) {
		struct far_loose *loose = &thread->far->loose[i];

		if (thread->link[i].loose)
			time_raise(&loose->ended, atomic_load(&loose->until));
		far_loose_end(thread, i);
	}
}

bool far_is_loose(struct far_task *task, unsigned node)
{
	struct far_loose *loose = &far_task_far(task)->loose[node];
	uint64_t until = atomic_load(&loose->links) ? atomic_load(&loose->until) : 0;
	uint64_t ended = atomic_load(&loose->ended);

	return (until || ended) && far_now(task) < (until > ended ? until : ended);
}

bool far_is_any_loose(struct far_task *task)
{
	for (unsigned i = 0; i < far_task_far(task)->nr_nodes; i++) {
		if (far_is_loose(task, i))
			return true;
	}
	return false;
}
