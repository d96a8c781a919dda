/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The application that swaps without knowing it: a quicksort of more integers
 * than memory holds.  Verifies order, and by a multiset hash that what came out
 * is what went in; prints one line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "qsort-far 1";

#define SMALL 24	/* up to here insertion sort is faster */

struct options {
	uint64_t bytes;
	uint64_t seed;
};

/* Order does not matter to it, and one changed element does. */
struct multiset {
	uint64_t sum, mixed;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "how much to sort (96M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), PAGE_BYTES, 1ull << 40 },
	{ "seed", 'r', "N", "which numbers (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
};

static const char doc[] =
	"Sort seeded random integers in memory and verify the result."
	"\vPrints: qsort-far bytes=N fill_s=T sort_s=T verify_s=T total_s=T "
	"verified=yes|no. Exit status 1 if the result is wrong.";

static void count(struct multiset *m, uint32_t x)
{
	m->sum += x;
	m->mixed += mix64(x);
}

static void fill(uint32_t *a, size_t n, uint64_t seed, struct multiset *ret_m)
{
	struct multiset m = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		a[i] = (uint32_t)next_random(&seed);
		count(&m, a[i]);
	}
	*ret_m = m;
}

static void insertion_sort(uint32_t *a, size_t n)
{
	size_t i, j;
	uint32_t x;

	for (i = 1; i < n; i++) {
		x = a[i];
		for (j = i; j && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

static uint32_t median3(uint32_t a, uint32_t b, uint32_t c)
{
	if (a < b)
		return b < c ? b : a < c ? c : a;
	return a < c ? a : b < c ? c : b;
}

/* Hoare's partition: a[0..ret] <= pivot <= a[ret + 1..n - 1], both not empty. */
static size_t partition(uint32_t *a, size_t n)
{
	uint32_t pivot = median3(a[0], a[n / 2], a[n - 1]), t;
	size_t i = 0, j = n - 1;

	/* The pivot must not be the last element alone. */
	if (a[n - 1] == pivot) {
		t = a[n / 2];
		a[n / 2] = a[n - 1];
		a[n - 1] = t;
	}
	for (;;) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i >= j)
			return j < n - 1 ? j : n - 2;
		t = a[i];
		a[i++] = a[j];
		a[j--] = t;
	}
}

/* The smaller half by recursion, so that the stack stays below log2(n). */
static void quicksort(uint32_t *a, size_t n)
{
	size_t left;

	while (n > SMALL) {
		left = partition(a, n) + 1;
		if (left < n - left) {
			quicksort(a, left);
			a += left;
			n -= left;
		} else {
			quicksort(a + left, n - left);
			n = left;
		}
	}
	insertion_sort(a, n);
}

static int verify(const uint32_t *a, size_t n, const struct multiset *want)
{
	struct multiset m = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		if (i && a[i - 1] > a[i]) {
			fprintf(stderr, "not sorted at element %zu: %" PRIu32
				" after %" PRIu32 "\n", i, a[i], a[i - 1]);
			return -1;
		}
		count(&m, a[i]);
	}
	if (m.sum != want->sum || m.mixed != want->mixed) {
		fprintf(stderr, "sorted, but not the numbers that went in\n");
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .bytes = 96 << 20, .seed = 1 };
	double start, filled, sorted, end;
	struct multiset m;
	uint32_t *a;
	size_t n;
	int bad;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	n = o.bytes / sizeof(*a);
	a = map_pages((o.bytes + PAGE_BYTES - 1) / PAGE_BYTES);
	if (!a) {
		perror("qsort-far: memory");
		return EXIT_FAILURE;
	}

	start = now_s();
	fill(a, n, o.seed, &m);
	filled = now_s();
	quicksort(a, n);
	sorted = now_s();
	bad = verify(a, n, &m);
	end = now_s();

	printf("qsort-far bytes=%zu fill_s=%.2f sort_s=%.2f verify_s=%.2f "
	       "total_s=%.2f verified=%s\n", n * sizeof(*a), filled - start,
	       sorted - filled, end - sorted, end - start, bad ? "no" : "yes");
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
