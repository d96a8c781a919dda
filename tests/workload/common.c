/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the workloads share; see common.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"

#define GOLDEN		0x9e3779b97f4a7c15ull
/* Distance of neighbouring words of a page: odd, all bytes different. */
#define WORD_STEP	0x0123456789abcdefull
#define HUGE_BYTES	(2ul << 20)
/* How many versions back page_explain() looks. */
#define STALE_MAX	64

uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t next_random(uint64_t *state)
{
	*state += GOLDEN;
	return mix64(*state);
}

uint64_t next_below(uint64_t *state, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)next_random(state) * bound) >> 64);
}

double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static unsigned int suffix_shift(char c)
{
	switch (c) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	default:
		return 0;
	}
}

uint64_t parse_size(struct argp_state *state, const char *option,
		    const char *text, uint64_t min, uint64_t max)
{
	unsigned int shift;
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	shift = suffix_shift(*end);
	if (shift)
		end++;
	if (errno || end == text || *end || *text == '-' ||
	    n > (UINT64_MAX >> shift) || n << shift < min || n << shift > max)
		argp_error(state, "--%s '%s': expected a number from %" PRIu64
			   " to %" PRIu64 ", with K, M or G if you like",
			   option, text, min, max);
	return n << shift;
}

static void *map_anonymous(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *map_pages(size_t nr_pages)
{
	size_t len = nr_pages * PAGE_BYTES;
	void *p = map_anonymous(len);

	/* Best effort: a kernel without huge pages has none to refuse. */
	if (p)
		madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

void *map_huge(size_t nr_pages)
{
	uintptr_t p;

	/* What is before and after stays untouched. */
	p = (uintptr_t)map_anonymous(nr_pages * PAGE_BYTES + HUGE_BYTES);
	if (!p)
		return NULL;
	return (void *)((p + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
}

static size_t period = PAGE_WORDS;

void pages_compressible(void)
{
	period = PAGE_WORDS / 8;
}

static uint64_t first_word(uint64_t seed, uint64_t idx, uint32_t version)
{
	return mix64(mix64(seed * GOLDEN + idx) + version);
}

void page_stamp(void *page, uint64_t seed, uint64_t idx, uint32_t version)
{
	uint64_t *w = page, v = first_word(seed, idx, version);
	size_t i;

	for (i = 0; i < period; i++, v += WORD_STEP)
		w[i] = v;
	for (; i < PAGE_WORDS; i++)
		w[i] = w[i - period];
}

int page_verify(const void *page, uint64_t seed, uint64_t idx,
		uint32_t version)
{
	uint64_t v = 0, step = 0;
	const uint64_t *w = page;
	size_t i;

	if (version) {
		v = first_word(seed, idx, version);
		step = WORD_STEP;
	}
	for (i = 0; i < period; i++, v += step)
		if (w[i] != v)
			return (int)i;
	for (; i < PAGE_WORDS; i++)
		if (w[i] != w[i - period])
			return (int)i;
	return -1;
}

/* Which page and version, of this seed, has word i equal to found? */
static int find_origin(uint64_t found, int i, uint64_t seed, uint32_t version,
		       uint64_t nr_pages, uint64_t *ret_idx,
		       uint32_t *ret_version)
{
	uint64_t first = found - (uint64_t)i % period * WORD_STEP, idx;
	uint32_t back, newest = version + STALE_MAX;

	for (idx = 0; idx < nr_pages; idx++) {
		for (back = 0; back < 2 * STALE_MAX && back < newest; back++) {
			if (first_word(seed, idx, newest - back) != first)
				continue;
			*ret_idx = idx;
			*ret_version = newest - back;
			return 0;
		}
	}
	return -ENOENT;
}

void page_explain(const void *page, uint64_t seed, uint64_t idx,
		  uint32_t version, uint64_t nr_pages)
{
	int i = page_verify(page, seed, idx, version);
	const uint64_t *w = page;
	uint64_t want = 0, other;
	uint32_t v;

	if (i < 0) {
		fprintf(stderr, "BAD PAGE %" PRIu64 " version %u: was wrong a "
			"moment ago, is right now\n", idx, version);
		return;
	}
	if (version)
		want = first_word(seed, idx, version) +
		       (uint64_t)i % period * WORD_STEP;
	fprintf(stderr, "BAD PAGE %" PRIu64 " version %u seed %" PRIu64
		": byte %zu: expected %016" PRIx64 ", found %016" PRIx64 "\n",
		idx, version, seed, (size_t)i * sizeof(*w), want, w[i]);
	if (!w[i])
		fprintf(stderr, "  zeros where there should be data\n");
	else if (!find_origin(w[i], i, seed, version, nr_pages, &other, &v))
		fprintf(stderr, "  that is page %" PRIu64 " version %u\n",
			other, v);
	else
		fprintf(stderr, "  that is no page of this process\n");
}

/* One pass of a Feistel network over 2 * half bits. */
static uint64_t feistel(uint64_t x, unsigned int half, uint64_t key)
{
	uint64_t mask = (1ull << half) - 1, l = x >> half, r = x & mask, t;
	int round;

	for (round = 0; round < 4; round++) {
		t = l ^ (mix64(r + key + (uint64_t)round * GOLDEN) & mask);
		l = r;
		r = t;
	}
	return l << half | r;
}

uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
	unsigned int half = 1;

	while (1ull << (2 * half) < n)
		half++;
	/* Cycle walking: what falls outside is permuted once more. */
	do
		i = feistel(i, half, key);
	while (i >= n);
	return i;
}
