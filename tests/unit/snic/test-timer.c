// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The timer heap, against a list that is searched from end to end. */
#include <stdlib.h>
#include "bed/end.h"

#define NR 300

static struct snic_timer timers[NR];
static uint64_t expected[NR];	/* SNIC_NEVER: not armed */
static unsigned int fired;

static void fire(struct snic *nic, struct snic_timer *t)
{
	unsigned int i = t - timers, k;

	assert_true(t->when == SNIC_NEVER);
	assert_true(expected[i] <= snic_now(nic));
	for (k = 0; k < NR; k++)
		assert_true(expected[k] >= expected[i]);
	expected[i] = SNIC_NEVER;
	fired++;
}

static uint64_t earliest(void)
{
	uint64_t first = SNIC_NEVER;
	unsigned int i;

	for (i = 0; i < NR; i++)
		if (expected[i] < first)
			first = expected[i];
	return first;
}

static void random_timers(void **state)
{
	struct host b;
	uint64_t next, now = HOST_EPOCH;
	unsigned int i, n;

	host_open(&b, NULL);
	assert_int_equal(snic_timer_reserve(b.nic, NR), 0);
	for (i = 0; i < NR; i++) {
		snic_timer_init(&timers[i], fire);
		expected[i] = SNIC_NEVER;
	}
	srandom(1);
	for (n = 0; n < 30000; n++) {
		i = random() % NR;
		switch (random() % 4) {
		case 0:
			snic_timer_cancel(b.nic, &timers[i]);
			expected[i] = SNIC_NEVER;
			break;
		case 1:
			now += random() % 50;
			assert_int_equal(snic_step(b.nic, now, &next), 0);
			assert_true(next == earliest());
			assert_true(next > now);
			break;
		default:
			expected[i] = now + 1 + random() % 2000;
			snic_timer_set(b.nic, &timers[i], expected[i]);
		}
		assert_true(snic_timers_next(b.nic) == earliest());
	}
	assert_true(fired > 1000);
	snic_timer_set(b.nic, &timers[0], SNIC_NEVER);
	assert_true(timers[0].when == SNIC_NEVER);
	for (i = 0; i < NR; i++)
		snic_timer_cancel(b.nic, &timers[i]);
	assert_true(snic_timers_next(b.nic) == SNIC_NEVER);
	snic_timer_unreserve(b.nic, NR);
	host_close(&b);
}

static void again_at_once(struct snic *nic, struct snic_timer *t)
{
	fired++;
	snic_timer_set(nic, t, snic_now(nic));
}

/* One that never ends does not hold up the step. */
static void rearms_itself(void **state)
{
	struct snic_timer t;
	struct host b;
	uint64_t next;

	host_open(&b, NULL);
	assert_int_equal(snic_timer_reserve(b.nic, 1), 0);
	snic_timer_init(&t, again_at_once);
	fired = 0;
	snic_timer_set(b.nic, &t, 5);
	assert_int_equal(snic_step(b.nic, 10, &next), 0);
	assert_true(fired > 0);
	assert_int_equal(next, 10);
	snic_timer_cancel(b.nic, &t);
	snic_timer_unreserve(b.nic, 1);
	host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_timers),
		cmocka_unit_test(rearms_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
