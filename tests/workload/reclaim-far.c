/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paging out and paging in, one after the other: writes pages in a memory group
 * of its own, lowers the group's limit until they are all out, lifts it, and
 * reads one word of each page in order.  Nothing else is done between the
 * marks, so that what the machine executes there is the cost of the one, or of
 * the other.
 *
 * A mark is the no-op that scripts/lib/guest-count.c looks for: out begins with
 * the first and ends with the second, in with the third and the fourth.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "reclaim-far 1";

#define ROOT_GROUP	"/sys/fs/cgroup"
#define GROUP		ROOT_GROUP "/reclaim-far"
#define STEP_BYTES	(1u << 20)	/* of the limit, at a time */
#define STEP_WAIT_US	1000
#define STEP_WAITS	10000
/* The memory of a group beside its pages: page tables, shadows. */
#define REST_BYTES(size)	((size) / 64 + (256u << 10))
/* So that what is delayed, as the freeing of slots, is over before a mark. */
#define CALM_S		2

struct options {
	uint64_t bytes;
	uint64_t seed;
	const char *stores, *loads;
};

/* Pages since the machine was booted. */
struct counts {
	uint64_t out, in;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "how much to write (64M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), STEP_BYTES, 1ull << 40 },
	{ "seed", 'r', "N", "which pattern (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
	{ "stores", 'o', "FILE", "a counter of pages out that /proc/vmstat does not count",
	  OPTION_TEXT, offsetof(struct options, stores) },
	{ "loads", 'i', "FILE", "and of pages in",
	  OPTION_TEXT, offsetof(struct options, loads) },
};

static const char doc[] =
	"Write pages, have them all reclaimed, read them back in order; needs a "
	"memory group's limit, and so root."
	"\vPrints the pages that were swapped meanwhile, "
	"PHASE pages=N, for out and in; exit status 1 when one is wrong.";

static void die(const char *what)
{
	fprintf(stderr, "reclaim-far: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void mark(void)
{
#ifdef __x86_64__
	__asm__ volatile("xchg %%bx,%%bx" ::: "memory");
#endif
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* A number by its name, or, without one, the file's only number. */
static uint64_t get(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[256], key[64];
	uint64_t n = 0;

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		if (!name && sscanf(line, "%" SCNu64, &n) == 1)
			break;
		if (name && sscanf(line, "%63s %" SCNu64, key, &n) == 2 &&
		    !strcmp(key, name))
			break;
		n = 0;
	}
	fclose(f);
	return n;
}

static struct counts count(const struct options *o)
{
	struct counts c;

	c.out = get("/proc/vmstat", "pswpout") +
		(o->stores ? get(o->stores, NULL) : 0);
	c.in = get("/proc/vmstat", "pswpin") +
	       (o->loads ? get(o->loads, NULL) : 0);
	return c;
}

/* Memory belongs to the group that its process was in when it touched it. */
static uint8_t *write_in_group(const struct options *o)
{
	uint64_t nr = o->bytes / PAGE_BYTES, i;
	uint8_t *mem = map_pages(nr);

	if (!mem)
		die("memory");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		die(GROUP);
	put(GROUP "/cgroup.procs", "0");
	for (i = 0; i < nr; i++)
		page_stamp(mem + i * PAGE_BYTES, o->seed, i, 1);
	put(ROOT_GROUP "/cgroup.procs", "0");
	return mem;
}

/*
 * In steps, as the kernel reclaims for those who allocate.  Pages that have
 * been written are freed by a later step.
 */
static int reclaim_all(uint64_t size)
{
	uint64_t limit = size, used;
	unsigned int waits = 0;
	char text[32];

	for (;;) {
		limit -= limit < STEP_BYTES ? limit : STEP_BYTES;
		snprintf(text, sizeof(text), "%" PRIu64, limit);
		put(GROUP "/memory.high", text);
		if (limit)
			continue;
		used = get(GROUP "/memory.current", NULL);
		if (used <= REST_BYTES(size))
			return 0;
		if (++waits > STEP_WAITS) {
			fprintf(stderr, "reclaim-far: %" PRIu64
				" bytes cannot be reclaimed\n", used);
			return -1;
		}
		usleep(STEP_WAIT_US);
	}
}

static void read_all(const uint8_t *mem, uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++)
		(void)*(const volatile uint64_t *)(mem + i * PAGE_BYTES);
}

static int verify_all(const uint8_t *mem, uint64_t nr, uint64_t seed)
{
	uint64_t i;

	for (i = 0; i < nr; i++) {
		if (page_verify(mem + i * PAGE_BYTES, seed, i, 1) < 0)
			continue;
		page_explain(mem + i * PAGE_BYTES, seed, i, 1, nr);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 64ull << 20, .seed = 1 };
	struct counts before, after;
	uint64_t nr;
	uint8_t *mem;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	nr = o.bytes / PAGE_BYTES;
	mem = write_in_group(&o);
	sleep(CALM_S);

	before = count(&o);
	mark();
	if (reclaim_all(nr * PAGE_BYTES))
		return EXIT_FAILURE;
	mark();
	after = count(&o);
	printf("out pages=%" PRIu64 "\n", after.out - before.out);

	put(GROUP "/memory.high", "max");
	sleep(CALM_S);
	before = count(&o);
	mark();
	read_all(mem, nr);
	mark();
	after = count(&o);
	printf("in pages=%" PRIu64 "\n", after.in - before.in);
	return verify_all(mem, nr, o.seed) ? EXIT_FAILURE : EXIT_SUCCESS;
}
