/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and writes a device that may fail, several processes at once, each its own
 * part of it, and doubts what it is given: a read may be an I/O error, but what it
 * brings has to be what was written there last, or since then in a write that
 * failed.  Ends with 0, and how much failed, or with 3 when a byte was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fs.h>

#include "common.h"
#include "options.h"

#define MAX_RUN		16	/* pages at once */
#define MAX_PROCESSES	16
#define EXIT_WRONG	3

const char *argp_program_version = "doubt-far 1";

struct options {
	const char *device;
	uint64_t bytes;
	uint64_t ops;
	uint64_t processes;
	uint64_t seed;
};

/* What a page may hold: a version from good to newest; 0 is zeros. */
struct page {
	uint32_t good, newest;
};

/* One process, and the pages from first on, which are its alone. */
struct part {
	const struct options *o;
	int fd;
	uint64_t first, nr, random;
	struct page *pages;
	uint8_t *buf;
	uint32_t version;
	uint64_t *counts;	/* shared with the parent */
};

enum count { READ, READ_ERROR, WRITTEN, WRITE_ERROR, NR_COUNTS };

static const struct option_row rows[] = {
	{ "device", 'd', "PATH", "what to use",
	  OPTION_TEXT, offsetof(struct options, device) },
	{ "size", 's', "BYTES", "how much of it (8M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 1 << 20, 1ull << 40 },
	{ "ops", 'n', "N", "operations of each process (1000)",
	  OPTION_NUMBER, offsetof(struct options, ops), 1, 1ull << 32 },
	{ "processes", 'j', "N", "so many (4)",
	  OPTION_NUMBER, offsetof(struct options, processes), 1, MAX_PROCESSES },
	{ "seed", 'r', "N", "which operations (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Reads and writes a device that may fail, and never believes it.";

static off_t at(const struct part *p, uint64_t i)
{
	return (p->first + i) * PAGE_BYTES;
}

static void write_pages(struct part *p, uint64_t i, unsigned int n)
{
	ssize_t len = n * PAGE_BYTES;
	bool ok;

	p->version++;
	for (unsigned int k = 0; k < n; k++)
		page_stamp(p->buf + k * PAGE_BYTES, p->o->seed,
			   p->first + i + k, p->version);
	ok = pwrite(p->fd, p->buf, len, at(p, i)) == len;
	for (unsigned int k = 0; k < n; k++) {
		p->pages[i + k].newest = p->version;
		if (ok)
			p->pages[i + k].good = p->version;
	}
	p->counts[ok ? WRITTEN : WRITE_ERROR] += n;
}

static bool believable(const struct part *p, uint64_t i, const uint8_t *page)
{
	const struct page *may = &p->pages[i];
	uint32_t v;

	/* Versions of other pages lie in between; they do not match. */
	for (v = may->good; v <= may->newest; v++)
		if (page_verify(page, p->o->seed, p->first + i, v) < 0)
			return true;
	return false;
}

/* All that was read is looked at, whatever became of the rest. */
static void read_pages(struct part *p, uint64_t i, unsigned int n)
{
	ssize_t len = n * PAGE_BYTES, got;

	memset(p->buf, 0x5a, len);
	got = pread(p->fd, p->buf, len, at(p, i));
	if (got < 0)
		got = 0;
	for (unsigned int k = 0; k < got / PAGE_BYTES; k++) {
		if (believable(p, i + k, p->buf + k * PAGE_BYTES))
			continue;
		page_explain(p->buf + k * PAGE_BYTES, p->o->seed,
			     p->first + i + k, p->pages[i + k].good,
			     p->first + p->nr);
		_exit(EXIT_WRONG);
	}
	p->counts[READ] += got / PAGE_BYTES;
	if (got == len)
		return;
	p->counts[READ_ERROR] += n - got / PAGE_BYTES;
	for (unsigned int k = got / PAGE_BYTES; n > 1 && k < n; k++)
		read_pages(p, i + k, 1);
}

static void discard(struct part *p, uint64_t i, unsigned int n)
{
	uint64_t range[2] = { at(p, i), n * PAGE_BYTES };
	int err = ioctl(p->fd, BLKDISCARD, range);

	if (err && errno == ENOTTY)	/* a file */
		return;
	for (unsigned int k = 0; k < n; k++) {
		if (err)
			p->pages[i + k].good = 0;
		else
			p->pages[i + k] = (struct page) { 0 };
	}
}

static void work(struct part *p)
{
	uint64_t op, i;

	for (op = 0; op < p->o->ops; op++) {
		unsigned int n = 1 + next_below(&p->random, MAX_RUN);

		i = next_below(&p->random, p->nr - n + 1);
		switch (next_below(&p->random, 8)) {
		case 0:
			discard(p, i, n);
			break;
		case 1 ... 3:
			write_pages(p, i, n);
			break;
		default:
			read_pages(p, i, n);
			break;
		}
	}
}

static int run_part(const struct options *o, unsigned int nr, uint64_t *counts)
{
	uint64_t all = o->bytes / PAGE_BYTES;
	struct part p = {
		.o = o,
		.nr = all / o->processes,
		.first = all / o->processes * nr,
		.random = mix64(o->seed ^ (nr + 1)),
		.counts = counts,
	};

	p.fd = open(o->device, O_RDWR | O_DIRECT);
	if (p.fd < 0 && errno == EINVAL)
		p.fd = open(o->device, O_RDWR);
	if (p.fd < 0) {
		fprintf(stderr, "%s: %s\n", o->device, strerror(errno));
		return 2;
	}
	p.pages = calloc(p.nr, sizeof(*p.pages));
	p.buf = aligned_alloc(PAGE_BYTES, MAX_RUN * PAGE_BYTES);
	if (!p.pages || !p.buf)
		return 2;
	/* What cannot be written to a device that is new stays zeros. */
	p.nr -= p.nr % MAX_RUN;
	for (uint64_t i = 0; i < p.nr; i += MAX_RUN)
		write_pages(&p, i, MAX_RUN);
	work(&p);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 8 << 20, .ops = 1000, .processes = 4,
			     .seed = 1 };
	uint64_t sum[NR_COUNTS] = { 0 }, *counts;
	int status, worst = 0;
	unsigned int i, k;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (!o.device) {
		fputs("doubt-far: expected --device=PATH\n", stderr);
		return 2;
	}
	counts = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	for (i = 0; i < o.processes; i++)
		if (!fork())
			_exit(run_part(&o, i, counts + i * NR_COUNTS));
	for (i = 0; i < o.processes; i++) {
		if (wait(&status) < 0 || !WIFEXITED(status))
			worst = 2;
		else if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	}
	for (i = 0; i < o.processes; i++)
		for (k = 0; k < NR_COUNTS; k++)
			sum[k] += counts[i * NR_COUNTS + k];
	printf("read %" PRIu64 " failed %" PRIu64 " written %" PRIu64
	       " failed %" PRIu64 "\n", sum[READ], sum[READ_ERROR],
	       sum[WRITTEN], sum[WRITE_ERROR]);
	return worst;
}
