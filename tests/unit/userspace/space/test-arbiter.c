// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The arbiter's step over a table that the test writes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../../userspace/space/arbiter.h"
#include "../../../../userspace/space/format.h"
#include "../../../../userspace/space/geometry.h"

#define MS	UINT64_C(1000000)

struct rig {
	struct far_sb sb;
	char *memory;
	struct far_arbiter arbiter;
	struct far_epoch_line *line;
	unsigned gone;		/* number of a client whose process has ended */
	unsigned confirmed;	/* bits of nodes that confirm a fence */
	unsigned asked;		/* bits of nodes that were asked */
};

static int rig_gone(void *arg, unsigned number)
{
	struct rig *rig = arg;

	return rig->gone == number;
}

static int rig_fence(void *arg, unsigned node, unsigned number, unsigned incarnation)
{
	struct rig *rig = arg;

	(void)number;
	(void)incarnation;
	rig->asked |= 1u << node;
	return rig->confirmed >> node & 1 ? 0 : -EBUSY;
}

static int setup(void **state)
{
	const struct far_format format = {
		.name = "s", .size = UINT64_C(4) << 20, .max_clients = 4, .nr_nodes = 3,
	};
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(far_format_plan(&format, NULL, 0, &rig->sb), 0);
	rig->memory = calloc(1, rig->sb.data_off);
	far_format_write(rig->memory, &rig->sb, true);
	rig->arbiter = (struct far_arbiter){
		.memory = rig->memory, .sb = &rig->sb, .beat_ns = 1000 * MS,
		.epoch_ns = MS, .arg = rig, .gone = rig_gone, .fence = rig_fence,
	};
	rig->line = (void *)(rig->memory + FAR_SB_EPOCH);
	rig->confirmed = 7;
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	free(rig->memory);
	free(rig);
	return 0;
}

static struct far_client_entry *entry(struct rig *rig, unsigned number)
{
	return (void *)(rig->memory + far_client_entry_off(&rig->sb, number));
}

static void join(struct rig *rig, unsigned number, uint64_t epoch)
{
	struct far_client_entry *e = entry(rig, number);

	e->claim = far_claim(far_owner_incarnation(e->claim) + 1, 1);
	e->epoch = epoch;
	e->flushed = epoch - 1;
	e->beat++;
}

/* E goes up by one per period, however often the step is done. */
static void epochs_advance(void **state)
{
	struct rig *rig = *state;

	for (unsigned i = 1; i < 100; i++) {
		far_arbiter_step(&rig->arbiter, i * MS / 4);
		assert_int_equal(rig->line->epoch, 1 + i / 4);
	}
	assert_true(far_arbiter_due(&rig->arbiter) > 99 * MS / 4);
	assert_true(far_arbiter_due(&rig->arbiter) <= 100 * MS / 4);
}

/* safe and flushed are the least of the living, and E when there are none. */
static void least_of_the_living(void **state)
{
	struct rig *rig = *state;

	rig->line->epoch = 50;
	far_arbiter_step(&rig->arbiter, 0);
	assert_int_equal(rig->line->safe, 50);
	assert_int_equal(rig->line->flushed, FAR_EPOCH_IDLE);
	join(rig, 1, 40);
	join(rig, 4, 30);
	far_arbiter_step(&rig->arbiter, 0);
	assert_int_equal(rig->line->safe, 30);
	assert_int_equal(rig->line->clients, 2);
	assert_int_equal(rig->line->flushed, 29);
	entry(rig, 4)->claim &= ~UINT64_C(1);	/* it leaves */
	far_arbiter_step(&rig->arbiter, 0);
	assert_int_equal(rig->line->safe, 40);
	entry(rig, 1)->epoch = FAR_EPOCH_IDLE;
	far_arbiter_step(&rig->arbiter, 0);
	assert_int_equal(rig->line->safe, 50);
	assert_int_equal(rig->line->flushed, 39);
}

/* A client without a beat is fenced after its time, and counts until then. */
static void silence(void **state)
{
	struct rig *rig = *state;

	rig->line->epoch = 50;
	join(rig, 2, 40);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 5 * MS), 0);
	entry(rig, 2)->beat++;
	assert_int_equal(far_arbiter_step(&rig->arbiter, 900 * MS), 0);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 1900 * MS), 0);
	assert_int_equal(rig->asked, 0);
	assert_int_equal(rig->line->safe, 40);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 1901 * MS), 1);
	assert_int_equal(rig->asked, 7);
	assert_int_equal(entry(rig, 2)->fenced, 1);
	assert_int_equal(rig->line->deaths, 1);
	assert_true(rig->line->safe > 50);
	/* once and for all */
	assert_int_equal(far_arbiter_step(&rig->arbiter, 9000 * MS), 0);
	assert_int_equal(rig->line->deaths, 1);
}

/* A new incarnation of the number has its time from the start. */
static void silence_of_an_earlier_one(void **state)
{
	struct rig *rig = *state;
	struct far_client_entry *e = entry(rig, 2);

	join(rig, 2, 40);
	far_arbiter_step(&rig->arbiter, 5 * MS);
	e->claim &= ~UINT64_C(1);
	far_arbiter_step(&rig->arbiter, 1500 * MS);
	e->claim = far_claim(2, 1);	/* and its beat is where the last one's was */
	assert_int_equal(far_arbiter_step(&rig->arbiter, 1600 * MS), 0);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 2600 * MS), 0);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 2601 * MS), 1);
	assert_int_equal(e->fenced, 2);
}

/* One that has parked need not beat; but its process may be gone. */
static void parked(void **state)
{
	struct rig *rig = *state;

	join(rig, 2, FAR_EPOCH_IDLE);
	entry(rig, 2)->beat = FAR_BEAT_NONE;
	assert_int_equal(far_arbiter_step(&rig->arbiter, 5 * MS), 0);
	assert_int_equal(far_arbiter_step(&rig->arbiter, 50000 * MS), 0);
	rig->gone = 2;
	assert_int_equal(far_arbiter_step(&rig->arbiter, 50001 * MS), 1);
	assert_int_equal(entry(rig, 2)->fenced, 1);
}

/* While a single node cannot confirm, the incarnation stays, and the entry counts. */
static void every_node_confirms(void **state)
{
	struct rig *rig = *state;

	rig->line->epoch = 50;
	join(rig, 3, 40);
	rig->gone = 3;
	for (unsigned confirmed = 0; confirmed < 7; confirmed++) {
		rig->confirmed = confirmed;
		assert_int_equal(far_arbiter_step(&rig->arbiter, confirmed * MS), 0);
		assert_int_equal(entry(rig, 3)->fenced, 0);
		assert_int_equal(rig->line->safe, 40);
	}
	rig->confirmed = 7;
	assert_int_equal(far_arbiter_step(&rig->arbiter, 8 * MS), 1);
	assert_int_equal(entry(rig, 3)->fenced, 1);
}

/* E does not run away from a client that stands still. */
static void lead(void **state)
{
	struct rig *rig = *state;

	join(rig, 1, 10);
	rig->line->epoch = 10;
	for (unsigned i = 1; i < 2 * FAR_EPOCH_LEAD; i++) {
		entry(rig, 1)->beat++;
		far_arbiter_step(&rig->arbiter, i * MS);
	}
	assert_int_equal(rig->line->epoch, 10 + FAR_EPOCH_LEAD - 1);
	entry(rig, 1)->epoch = rig->line->epoch;
	far_arbiter_step(&rig->arbiter, 3 * FAR_EPOCH_LEAD * MS);
	assert_int_equal(rig->line->epoch, 10 + FAR_EPOCH_LEAD);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(epochs_advance),
		TEST(least_of_the_living),
		TEST(silence),
		TEST(silence_of_an_earlier_one),
		TEST(parked),
		TEST(every_node_confirms),
		TEST(lead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
