/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page rates of swapping: writes a known pattern over more than memory holds,
 * verifies it in order, in order again, then at random.  One line per phase.  Or
 * writes only, again and again, for whoever looks at pages going out.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "pattern-far 1";

struct options {
	uint64_t bytes;
	uint64_t factor_pct;	/* instead of bytes: of the machine's memory */
	uint64_t seed;
	uint64_t repeat;
	uint64_t writes;	/* instead of all the phases */
	const char *device;	/* whose stores are counted */
};

/* Stores of an ODRP device since it was added: to slots with a page, and without one. */
struct stores {
	uint64_t mapped, unmapped;
};

struct region {
	uint8_t *mem;
	uint64_t nr_pages;
	uint64_t seed;
	const char *device;	/* NULL: stores are not counted */
};

enum order { IN_ORDER, AT_RANDOM };

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "how much to write",
	  OPTION_NUMBER, offsetof(struct options, bytes), PAGE_BYTES, 1ull << 40 },
	{ "percent", 'p', "N", "instead: percent of the machine's memory (120)",
	  OPTION_NUMBER, offsetof(struct options, factor_pct), 1, 10000 },
	{ "seed", 'r', "N", "which pattern and order (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
	{ "repeat", 'n', "N", "verify so often in order (2)",
	  OPTION_NUMBER, offsetof(struct options, repeat), 0, 1000000 },
	{ "writes", 'w', "N", "instead: write so often, give it all up each time, and end",
	  OPTION_NUMBER, offsetof(struct options, writes), 1, 1000000 },
	{ "device", 'd', "NAME", "count the stores of this ODRP device by kind, as odrp0",
	  OPTION_TEXT, offsetof(struct options, device) },
};

static const char doc[] =
	"Write a known pattern over memory, verify it in order, twice or as often "
	"as told, and once at random."
	"\vPrints for each of write, verify1, verify2, random: "
	"PHASE pages=N seconds=T rate=PAGES_PER_SECOND; with --writes, for each "
	"time. With --device also mapped=N unmapped=N: stores to slots that had "
	"a page, and to slots that had none. Exit status 1 on the first wrong "
	"page.";

static uint64_t memory_bytes(void)
{
	struct sysinfo si;

	if (sysinfo(&si))
		return 0;
	return (uint64_t)si.totalram * si.mem_unit;
}

static uint64_t device_counter(const char *device, const char *name)
{
	char path[128];
	uint64_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/odrp/%s", device, name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%" SCNu64, &n) != 1) {
		fprintf(stderr, "pattern-far: --device '%s': cannot read %s\n", device, path);
		exit(EXIT_FAILURE);
	}
	fclose(f);
	return n;
}

static struct stores stores_count(const char *device)
{
	struct stores s = { 0 };

	if (device) {
		s.mapped = device_counter(device, "stores_mapped");
		s.unmapped = device_counter(device, "stores_unmapped");
	}
	return s;
}

struct phase {
	const char *name;
	struct stores stores;	/* at its start */
	double start;
};

static struct phase phase_begin(const char *name, const struct region *r)
{
	struct phase p = { .name = name, .stores = stores_count(r->device) };

	p.start = now_s();
	return p;
}

static void phase_report(const struct phase *p, const struct region *r)
{
	double seconds = now_s() - p->start;
	struct stores now;

	printf("%s pages=%" PRIu64 " seconds=%.3f rate=%.0f", p->name, r->nr_pages, seconds,
	       (double)r->nr_pages / seconds);
	if (r->device) {
		now = stores_count(r->device);
		printf(" mapped=%" PRIu64 " unmapped=%" PRIu64,
		       now.mapped - p->stores.mapped, now.unmapped - p->stores.unmapped);
	}
	putchar('\n');
	fflush(stdout);
}

static void write_all(const struct region *r)
{
	struct phase p = phase_begin("write", r);
	uint64_t i;

	for (i = 0; i < r->nr_pages; i++)
		page_stamp(r->mem + i * PAGE_BYTES, r->seed, i, 1);
	phase_report(&p, r);
}

static int verify_all(const struct region *r, const char *phase,
		      enum order order)
{
	struct phase p = phase_begin(phase, r);
	uint64_t i, idx;

	for (i = 0; i < r->nr_pages; i++) {
		idx = order == IN_ORDER ? i : permute(i, r->nr_pages, r->seed);
		if (page_verify(r->mem + idx * PAGE_BYTES, r->seed, idx, 1) < 0)
			continue;
		fprintf(stderr, "pattern-far: %s:\n", phase);
		page_explain(r->mem + idx * PAGE_BYTES, r->seed, idx, 1,
			     r->nr_pages);
		return -1;
	}
	phase_report(&p, r);
	return 0;
}

static int write_again_and_again(const struct region *r, uint64_t writes)
{
	uint64_t i;

	for (i = 0; i < writes; i++) {
		write_all(r);
		if (madvise(r->mem, r->nr_pages * PAGE_BYTES, MADV_DONTNEED)) {
			perror("pattern-far: giving up memory");
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .factor_pct = 120, .seed = 1, .repeat = 2 };
	struct region r;
	char phase[32];
	uint64_t i;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (!o.bytes)
		o.bytes = memory_bytes() / 100 * o.factor_pct;
	r.nr_pages = o.bytes / PAGE_BYTES;
	r.seed = o.seed;
	r.device = o.device;
	r.mem = map_pages(r.nr_pages);
	if (!r.mem) {
		perror("pattern-far: memory");
		return EXIT_FAILURE;
	}
	if (o.writes)
		return write_again_and_again(&r, o.writes) ? EXIT_FAILURE :
							     EXIT_SUCCESS;
	write_all(&r);
	for (i = 1; i <= o.repeat; i++) {
		snprintf(phase, sizeof(phase), "verify%" PRIu64, i);
		if (verify_all(&r, phase, IN_ORDER))
			return EXIT_FAILURE;
	}
	return verify_all(&r, "random", AT_RANDOM) ? EXIT_FAILURE : EXIT_SUCCESS;
}
