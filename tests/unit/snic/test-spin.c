// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The NIC's thread polls while that finds work, and learns when it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <snic/run/spin.h>

#define MAX_NS	50000u
#define ROUND	20000u		/* of a peer that is not held up */

struct bed {
	struct snic_spin spin;
	uint64_t now, polls, sleeps;
};

/* The thread looks until it sleeps: work comes after ns, whether it polls or sleeps. */
static void round_free(struct bed *bed, uint64_t ns)
{
	uint64_t work = bed->now + ns, from;

	for (; bed->now < work && snic_spin_on(&bed->spin, bed->now); bed->now += 100)
		bed->polls++;
	from = bed->now;
	if (from < work) {
		bed->now = work;
		bed->sleeps++;
		snic_spin_slept(&bed->spin, work - from);
	}
	snic_spin_found(&bed->spin, bed->now);
}

/* The peer waits for this processor: it makes work only while the thread sleeps. */
static void round_held_up(struct bed *bed)
{
	for (; snic_spin_on(&bed->spin, bed->now); bed->now += 100)
		bed->polls++;
	bed->now += ROUND;
	bed->sleeps++;
	snic_spin_slept(&bed->spin, ROUND);
	snic_spin_found(&bed->spin, bed->now);
}

static void test_helps(void **state)
{
	struct bed bed = { .spin.max_ns = MAX_NS };
	unsigned int i;

	for (i = 0; i < 100; i++)
		round_free(&bed, ROUND);
	assert_int_equal(bed.sleeps, 0);
}

/* Few of many rounds have a poll; once peers are not held up, each round has one. */
static void test_harms(void **state)
{
	struct bed bed = { .spin.max_ns = MAX_NS };
	unsigned int i;

	for (i = 0; i < 10000; i++)
		round_held_up(&bed);
	assert_int_equal(bed.sleeps, 10000);
	assert_true(bed.polls < 20 * MAX_NS / 100);
	for (i = 0; i < 2000; i++)
		round_free(&bed, ROUND);
	assert_true(bed.sleeps <= 10000 + SNIC_SPIN_MAX_WAIT);
}

/* Work that comes rarely is not polled for. */
static void test_idle(void **state)
{
	struct bed bed = { .spin.max_ns = MAX_NS };
	unsigned int i;

	for (i = 0; i < 1000; i++)
		round_free(&bed, 10 * MAX_NS);
	assert_true(bed.polls <= MAX_NS / 100);
}

static void test_never(void **state)
{
	struct bed bed = { .spin.max_ns = 0 };
	unsigned int i;

	for (i = 0; i < 100; i++)
		round_free(&bed, 1);
	assert_int_equal(bed.polls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helps),
		cmocka_unit_test(test_harms),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
