// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hostile compute nodes that own a session, beside honest ones, against the
 * agent as it is, on software NICs in virtual time:
 *
 *	fuzz-client [REQUESTS [SEED [CLASS]]]	all classes; a line for each
 *	fuzz-client --life CLASS SEED	one life again, as a failure names it
 *
 * There are classes of attacks that nothing may come of, which share REQUESTS,
 * and classes that are known to break something (docs/model.md): of those,
 * lives are run until it has been found, and not finding it is a failure.
 * ODRP_NIGHTLY=1 in the environment: 400 times as many.  ODRP_TRANSLATE=nic: most
 * nodes have keys, by which they READ and WRITE pages; else they have chains.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../lib/nightly.h"
#include "client.h"

#define DEFAULT_REQUESTS	100000ul
#define PER_LIFE		500u

/**
 * struct class - a kind of attack
 * @acts:	enum act
 * @share:	of the requests, in 16ths
 * @keyed:	the same with translation in the NIC; 0: not then
 */
struct class {
	const char *name;
	unsigned int acts, share, keyed;
};

#define WITH_KEYS(n)	.keyed = (n)
#define KEYS_ONLY(n)	.share = NEVER, .keyed = (n)
#define NEVER		~0u

static const struct class classes[] = {
	{ "meaning", ACT_REQUEST | ACT_RANGE | ACT_TARGET | ACT_SHORT, 4,
		WITH_KEYS(2) },
	{ "one-sided", ACT_REQUEST | ACT_ONE_SIDED | ACT_TARGET, 2,
		WITH_KEYS(1) },
	{ "cm", ACT_REQUEST | ACT_CM, 1, WITH_KEYS(1) },
	{ "beat", ACT_REQUEST | ACT_BEAT, 1 },
	{ "death", ACT_REQUEST | ACT_RANGE | ACT_DIE, 2, WITH_KEYS(2) },
	{ "drop", ACT_REQUEST | ACT_DROP, 1, WITH_KEYS(1) },
	{ "wire", ACT_REQUEST | ACT_RANGE | ACT_SHORT | ACT_ONE_SIDED |
		  ACT_DIE | ACT_WIRE, 2, WITH_KEYS(2) },
	{ "same-slot", ACT_REQUEST | ACT_SAME_SLOT | ACT_DEAF | ACT_HANG_UP |
		       ACT_SHORT | ACT_NO_LOADS, 2 },
	{ "same-load", ACT_REQUEST | ACT_SAME_SLOT | ACT_DEAF | ACT_HANG_UP,
		2, WITH_KEYS(2) },
	{ "words", ACT_REQUEST | ACT_WORDS, 1 },
	{ "junk", ACT_REQUEST | ACT_JUNK | ACT_GREEDY, 1, WITH_KEYS(1) },
	{ "misaligned", ACT_REQUEST | ACT_MISALIGNED, 1, WITH_KEYS(1) },
	{ "starve", ACT_REQUEST | ACT_STARVE, 1, WITH_KEYS(1) },
	{ "resume", ACT_REQUEST | ACT_RANGE | ACT_RESUME, 1, WITH_KEYS(1) },
	{ "cut-off", ACT_REQUEST | ACT_CUT_OFF, 1, WITH_KEYS(2) },
	{ "keys", ACT_REQUEST | ACT_SHORT | ACT_KEYS, KEYS_ONLY(3) },
	{ "stale", ACT_REQUEST | ACT_STALE, KEYS_ONLY(2) },
	{ "all-keys", ACT_REQUEST | ACT_RANGE | ACT_SHORT | ACT_KEYS |
		      ACT_SAME_SLOT | ACT_HANG_UP | ACT_RESUME | ACT_DIE |
		      ACT_JUNK | ACT_CUT_OFF, KEYS_ONLY(2) },
};

static struct class class_of(unsigned int i)
{
	struct class c = classes[i];

	if (bed_keyed)
		c.share = c.keyed ? c.keyed : NEVER;
	return c;
}

static const char *const wrong_names[NR_WRONG] = {
	[RIGHT] = "nothing", [WRONG_DOUBLED] = "I1, doubled",
	[WRONG_LOST] = "I1, lost", [WRONG_FOREIGN] = "I1, no page's address",
	[WRONG_RING] = "I1, the ring", [WRONG_RETURN] = "not all back",
	[WRONG_LEAK] = "I3, leaked", [WRONG_PAGE] = "I3, overwritten",
	[WRONG_UNASKED] = "I6, unasked",
	[WRONG_SILENT] = "honest not answered",
	[WRONG_BROKEN] = "honest broken",
	[WRONG_KEY] = "a key leads astray",
	[WRONG_ENTRY] = "a key is not as the table",
	[WRONG_STALE] = "reached what it must not",
	[WRONG_POOL] = "nobody's page changed",
};

static uint64_t life_seed(unsigned long seed, unsigned int class,
			  unsigned long n)
{
	return (seed * 64 + class) * 1000003 + n + 1;
}

/* The time of the processor: others work, too. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void summary(const struct class *c, const struct life_count *n,
		    double seconds, const struct life *l)
{
	printf("%-10s %5lu lives %4lu sessions %8lu requests %6lu others "
	       "%7lu answers %5lu reconnects %8lu honest %5lu counts %6.0f/s: "
	       "%s%s%s\n",
	       c->name, (unsigned long)n->lives, (unsigned long)n->sessions,
	       (unsigned long)n->requests, (unsigned long)n->others,
	       (unsigned long)n->answers, (unsigned long)n->reconnects,
	       (unsigned long)n->honest, (unsigned long)n->quiet,
	       (n->requests + n->others) / (seconds + 1e-9),
	       wrong_names[l->wrong],
	       l->wrong ? ": " : "", l->why);
	fflush(stdout);
}

/* 0: as it has to be. */
static int run_class(unsigned int i, unsigned long requests, unsigned long seed)
{
	static struct life l;
	const struct class class = class_of(i), *c = &class;
	struct life_count n = { 0 };
	double start = now();
	uint64_t s = 0;

	do {
		s = life_seed(seed, i, n.lives);
		life_run(&l, c->acts, s, PER_LIFE, &n);
	} while (!l.wrong && n.requests + n.others < requests * c->share / 16);
	summary(c, &n, now() - start, &l);
	if (l.wrong)
		printf("again: %sfuzz-client --life %s %lu\n",
		       bed_keyed ? "ODRP_TRANSLATE=nic " : "", c->name,
		       (unsigned long)s);
	return l.wrong != RIGHT;
}

static int one_life(const char *name, const char *seed)
{
	static struct life l;
	struct life_count n = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strcmp(name, classes[i].name))
			continue;
		life_run(&l, classes[i].acts, strtoull(seed, NULL, 0),
			 PER_LIFE, &n);
		summary(&classes[i], &n, 1, &l);
		return l.wrong != RIGHT;
	}
	fprintf(stderr, "fuzz-client: no class \"%s\"\n", name);
	return 2;
}

/* The bed's own assertions need a test around them. */
static int nr_args;
static char **args;
static int result;

static void run(void **state)
{
	unsigned long requests = DEFAULT_REQUESTS, seed = 1;
	unsigned int i;

	if (nr_args == 4 && !strcmp(args[1], "--life")) {
		result = one_life(args[2], args[3]);
		return;
	}
	if (nr_args > 1)
		requests = strtoul(args[1], NULL, 0);
	if (nr_args > 2)
		seed = strtoul(args[2], NULL, 0);
	if (nightly())
		requests *= 400;
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (class_of(i).share != NEVER &&
		    (nr_args < 4 || !strcmp(args[3], classes[i].name)))
			result |= run_class(i, requests, seed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };

	const char *translate = getenv("ODRP_TRANSLATE");

	bed_keyed = translate && !strcmp(translate, "nic");
	nr_args = argc;
	args = argv;
	return cmocka_run_group_tests(tests, NULL, NULL) || result;
}
