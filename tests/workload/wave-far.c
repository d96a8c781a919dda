/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wave: the used part of a disk goes from a quarter to all of it and back, in even time.
 * Pages are written and discarded at random, so that those that are left lie everywhere.
 * After each ramp all pages are verified: the last contents, or zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "wave-far 1";

#define STEPS	64	/* of a ramp */

struct options {
	const char *device;
	uint64_t bytes, seconds, waves, seed;
};

/* order: pages in use come first. version: 0 is zeros. */
struct disk {
	int fd;
	uint64_t nr, used, seed, random;
	uint64_t *order;
	uint32_t *version;
	void *page;
};

static const struct option_row rows[] = {
	{ "device", 'd', "PATH", "the disk, whose contents are lost",
	  OPTION_TEXT, offsetof(struct options, device) },
	{ "size", 's', "BYTES", "how much of it (32M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 4 * PAGE_BYTES, 1ull << 40 },
	{ "seconds", 't', "N", "how long a ramp takes at least (10)",
	  OPTION_NUMBER, offsetof(struct options, seconds), 0, 100000 },
	{ "waves", 'w', "N", "how many (2)",
	  OPTION_NUMBER, offsetof(struct options, waves), 1, 100000 },
	{ "seed", 'r', "N", "which pages (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Write a disk from a quarter to all of it and discard down to a quarter again, in "
	"waves, pages at random, and verify all of it after each ramp."
	"\vPrints a line for each ramp: used=N pages=N. Exit status 1 on the first wrong page.";

static void failed(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static void swap_order(struct disk *d, uint64_t i, uint64_t j)
{
	uint64_t page = d->order[i];

	d->order[i] = d->order[j];
	d->order[j] = page;
}

/* Writes a page that is not used. */
static void grow(struct disk *d)
{
	uint64_t page;

	swap_order(d, d->used, d->used + next_below(&d->random, d->nr - d->used));
	page = d->order[d->used++];
	page_stamp(d->page, d->seed, page, ++d->version[page]);
	if (pwrite(d->fd, d->page, PAGE_BYTES, page * PAGE_BYTES) != PAGE_BYTES)
		failed("wave-far: writing");
}

/* Discards a used page. A plain file has holes instead. */
static void shrink(struct disk *d)
{
	uint64_t range[2] = { 0, PAGE_BYTES };

	swap_order(d, d->used - 1, next_below(&d->random, d->used));
	range[0] = d->order[--d->used] * PAGE_BYTES;
	if (ioctl(d->fd, BLKDISCARD, range) && errno == ENOTTY &&
	    fallocate(d->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range[0], PAGE_BYTES))
		failed("wave-far: discarding");
}

static void verify(struct disk *d)
{
	uint64_t i, page;
	uint32_t version;

	for (i = 0; i < d->nr; i++) {
		page = d->order[i];
		version = i < d->used ? d->version[page] : 0;
		if (pread(d->fd, d->page, PAGE_BYTES, page * PAGE_BYTES) != PAGE_BYTES)
			failed("wave-far: reading");
		if (page_verify(d->page, d->seed, page, version) < 0)
			continue;
		page_explain(d->page, d->seed, page, version, d->nr);
		exit(EXIT_FAILURE);
	}
}

static void sleep_until(double when)
{
	double left = when - now_s();
	struct timespec ts;

	if (left <= 0)
		return;
	ts.tv_sec = (time_t)left;
	ts.tv_nsec = (long)((left - (double)ts.tv_sec) * 1e9);
	nanosleep(&ts, NULL);
}

static void ramp(struct disk *d, uint64_t to, uint64_t seconds)
{
	uint64_t from = d->used, goal;
	double start = now_s();
	unsigned int step;

	for (step = 1; step <= STEPS; step++) {
		goal = from + (int64_t)(to - from) * step / STEPS;
		while (d->used < goal)
			grow(d);
		while (d->used > goal)
			shrink(d);
		sleep_until(start + (double)seconds * step / STEPS);
	}
	verify(d);
	printf("used=%" PRIu64 " pages=%" PRIu64 "\n", d->used, d->nr);
	fflush(stdout);
}

static void disk_open(struct disk *d, const struct options *o)
{
	uint64_t all[2] = { 0, o->bytes }, i;

	*d = (struct disk){ .nr = o->bytes / PAGE_BYTES, .seed = o->seed, .random = o->seed };
	d->fd = open(o->device, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (d->fd < 0 && errno == EINVAL)
		d->fd = open(o->device, O_RDWR | O_CLOEXEC);
	if (d->fd < 0)
		failed(o->device);
	/* A plain file instead of a disk: for tests. */
	if (ioctl(d->fd, BLKDISCARD, all) && (ftruncate(d->fd, 0) || ftruncate(d->fd, all[1])))
		failed("wave-far: discarding all");
	d->order = calloc(d->nr, sizeof(*d->order));
	d->version = calloc(d->nr, sizeof(*d->version));
	d->page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	if (!d->order || !d->version || !d->page)
		failed("wave-far: memory");
	for (i = 0; i < d->nr; i++)
		d->order[i] = i;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 32 << 20, .seconds = 10, .waves = 2, .seed = 1 };
	struct disk d;
	uint64_t i;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (!o.device) {
		fprintf(stderr, "wave-far: --device: expected a disk\n");
		return EXIT_FAILURE;
	}
	disk_open(&d, &o);
	while (d.used < d.nr / 4)
		grow(&d);
	for (i = 0; i < o.waves; i++) {
		ramp(&d, d.nr, o.seconds);
		ramp(&d, d.nr / 4, o.seconds);
	}
	return EXIT_SUCCESS;
}
