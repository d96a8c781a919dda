// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Progress, from a thread of its own. */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define STEP_S	2

/* On a screen over what was said before, in a file on a line of its own. */
static void progress_print(const struct progress *progress, unsigned seconds, int on_screen)
{
	const char *begin = on_screen ? "\r" : "", *end = on_screen ? "" : "\n";

	unsigned percent = progress->percent ?
		atomic_load_explicit(progress->percent, memory_order_relaxed) : 0;

	if (percent >= 100)
		fprintf(stderr, "%sfar: %s: until it is steady, %u s%s", begin, progress->what,
			seconds, end);
	else if (progress->percent)
		fprintf(stderr, "%sfar: %s: %u %% after %u s%s", begin, progress->what, percent,
			seconds, end);
	else
		fprintf(stderr, "%sfar: %s: %u s%s", begin, progress->what, seconds, end);
}

static void *progress_run(void *arg)
{
	struct progress *progress = arg;
	struct timespec next;
	unsigned seconds = 0;
	int on_screen = isatty(STDERR_FILENO);

	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&progress->lock);
	while (!progress->over) {
		next.tv_sec += STEP_S;
		while (!progress->over &&
		       !pthread_cond_timedwait(&progress->wake, &progress->lock, &next))
			;
		seconds += STEP_S;
		if (!progress->over)
			progress_print(progress, seconds, on_screen);
	}
	pthread_mutex_unlock(&progress->lock);
	if (on_screen && seconds > STEP_S)
		fprintf(stderr, "\r\033[K");
	return NULL;
}

int progress_start(struct progress *progress, const char *what,
		   const atomic_uint *percent)
{
	progress->what = what;
	progress->percent = percent;
	progress->over = false;
	pthread_mutex_init(&progress->lock, NULL);
	pthread_cond_init(&progress->wake, NULL);
	return -pthread_create(&progress->thread, NULL, progress_run, progress);
}

void progress_stop(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	progress->over = true;
	pthread_cond_signal(&progress->wake);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
	pthread_cond_destroy(&progress->wake);
	pthread_mutex_destroy(&progress->lock);
}
