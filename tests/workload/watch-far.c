/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a command and watches how much swap is used meanwhile: page-seconds, the most, and
 * the processor's time. The same instrument for every kind of swap device.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define SAMPLE_NS	100000000
/* More than /proc/swaps has with some devices. */
#define SWAPS_MAX	4096

/* last, at: pages at the last sample, and when. */
struct watch {
	double begin, at, page_s;
	uint64_t last, peak, samples;
};

/* Pages of all swap devices. The columns are name, type, size, used, priority. */
static uint64_t swap_used(void)
{
	char text[SWAPS_MAX], *line, *rest;
	int fd = open("/proc/swaps", O_RDONLY | O_CLOEXEC);
	uint64_t kb, sum = 0;
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "%*s %*s %*u %" SCNu64, &kb) == 1)
			sum += kb * 1024 / PAGE_BYTES;
	return sum;
}

static void sample(struct watch *w)
{
	uint64_t used = swap_used();
	double now = now_s();

	/* As much as at the last sample until now. */
	w->page_s += (double)w->last * (now - w->at);
	w->at = now;
	w->last = used;
	if (used > w->peak)
		w->peak = used;
	w->samples++;
}

/* Return: the command's exit status, as a shell has it. */
static int watch(struct watch *w, pid_t child)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	int status;

	w->begin = w->at = now_s();
	w->last = swap_used();
	while (waitpid(child, &status, WNOHANG) != child) {
		nanosleep(&pause, NULL);
		sample(w);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv)
{
	struct watch w = { 0 };
	pid_t child;
	int status;

	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: watch-far COMMAND [ARG]...\n"
			"Prints at the end: watch-far seconds=T cpu_s=T used_page_s=N "
			"used_peak=N samples=N. Exit status: COMMAND's.\n");
		return argc == 2 && !strcmp(argv[1], "--help") ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0) {
		perror("watch-far: fork");
		return EXIT_FAILURE;
	}
	/* Best effort: a watcher that waits for its own pages watches less often. */
	if (mlockall(MCL_CURRENT))
		perror("watch-far: mlockall");
	status = watch(&w, child);
	printf("watch-far seconds=%.2f cpu_s=%.2f used_page_s=%.0f used_peak=%" PRIu64
	       " samples=%" PRIu64 "\n", w.at - w.begin, cpu_s(), w.page_s, w.peak, w.samples);
	return status;
}
