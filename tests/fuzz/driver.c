// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs a fuzz target on seeded mutations of its own inputs: see driver.h. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../lib/nightly.h"
#include "driver.h"

#define DEFAULT_RUNS	100000
#define MAX_SEEDS	64

static uint8_t input[FUZZ_MAX_LEN];
static size_t input_len;
static unsigned long seed = 1, run;

static uint64_t next_random(void)
{
	static uint64_t z;
	uint64_t v;

	if (!z)
		z = seed;
	z += 0x9e3779b97f4a7c15ull;
	v = z;
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
	return v ^ (v >> 31);
}

static size_t below(size_t n)
{
	return n ? next_random() % n : 0;
}

static void insert(size_t at, size_t n)
{
	size_t i;

	if (input_len + n > FUZZ_MAX_LEN)
		return;
	memmove(input + at + n, input + at, input_len - at);
	for (i = 0; i < n; i++)
		input[at + i] = next_random();
	input_len += n;
}

static void repeat_part(void)
{
	size_t at = below(input_len), n = below(input_len - at) + 1;

	if (input_len + n > FUZZ_MAX_LEN)
		return;
	memmove(input + at + n, input + at, input_len - at);
	input_len += n;
}

static void splice(unsigned int nr_seeds)
{
	static uint8_t other[FUZZ_MAX_LEN];
	size_t len = fuzz_seed(below(nr_seeds), other);
	size_t keep = below(input_len + 1), from = below(len);

	if (keep + len - from > FUZZ_MAX_LEN)
		return;
	memcpy(input + keep, other + from, len - from);
	input_len = keep + len - from;
}

static void mutate(unsigned int nr_seeds)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x10 };
	size_t at = below(input_len), n;

	switch (below(8)) {
	case 0: case 1:
		input[at] ^= 1 << below(8);
		break;
	case 2:
		input[at] = odd[below(sizeof(odd))];
		break;
	case 3:
		input[at] = next_random();
		break;
	case 4:
		n = below(input_len - at) + 1;
		if (n < input_len) {
			memmove(input + at, input + at + n,
				input_len - at - n);
			input_len -= n;
		}
		break;
	case 5:
		insert(at, below(8) + 1);
		break;
	case 6:
		repeat_part();
		break;
	case 7:
		splice(nr_seeds);
		break;
	}
	if (!input_len)
		input_len = 1;
}

/* The sanitizers' way to end, where they are linked in. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

/* Keeps the input that broke something. */
static void save_input(void)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "fuzz-input-%lu-%lu", seed, run);
	f = fopen(name, "w");
	if (f) {
		fwrite(input, 1, input_len, f);
		fclose(f);
	}
	fprintf(stderr, "run %lu of seed %lu failed: see %s\n", run, seed,
		name);
}

static void on_crash(int sig)
{
	save_input();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_crashes(void)
{
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(save_input);
	} else {
		signal(SIGSEGV, on_crash);
		signal(SIGBUS, on_crash);
	}
	signal(SIGABRT, on_crash);
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	input_len = fread(input, 1, sizeof(input), f);
	fclose(f);
	LLVMFuzzerTestOneInput(input, input_len);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long runs = DEFAULT_RUNS;
	unsigned int nr_seeds = 0;
	char *end = NULL;
	int i, n, ret = 0;

	if (argc > 1)
		runs = strtoul(argv[1], &end, 0);
	if (end && *end) {
		for (i = 1; i < argc; i++)
			ret |= run_file(argv[i]);
		return ret;
	}
	if (argc > 2)
		seed = strtoul(argv[2], NULL, 0);
	/* A NIC per run: its memory need not go back to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	catch_crashes();
	if (nightly())
		runs *= 20;
	while (nr_seeds < MAX_SEEDS && fuzz_seed(nr_seeds, input))
		nr_seeds++;
	for (run = 0; run < runs; run++) {
		input_len = fuzz_seed(run % nr_seeds, input);
		n = run < nr_seeds ? 0 : 1 + below(12);
		while (n--)
			mutate(nr_seeds);
		LLVMFuzzerTestOneInput(input, input_len);
	}
	return 0;
}
