// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A set with lost-ms: two agents and a client on one wire, in virtual time. A member that the
 * arbiter does not hear stops serving, and is declared lost after that; the set stands still
 * while its arbiter is away.
 */
#include "set-world.h"
#include <check.h>
#include <space/silence.h>

#define LOST_MS		30000u
/* Times after which a member stops without its arbiter, and within which it finds it again. */
#define STANDS_MS	(LOST_MS / 4 * 3)
#define FINDS_MS	20000u

static struct space_member *member(void)
{
	return &part(ARBITER)->set.members[0];
}

static void silence_open(void)
{
	lost_ms = LOST_MS;
	set_open();
	bed_pass(&b, 5000);
	expect_joined();
}

static void silence_close(void)
{
	world_close();
	lost_ms = 0;
	second_is_arbiter = false;
}

/* An answer is not enough: the arbiter says in the next question that it has heard it. */
static void test_opens(void **state)
{
	struct link l;

	silence_open();
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	/* Both are there: nobody is declared lost. */
	bed_pass(&b, 2 * LOST_MS);
	expect_joined();
	assert_non_null(second.m.spaces.host.attaches);
	assert_int_equal(member()->losses, 0);
	hang_up(&l);
	silence_close();
}

/* The member is away, and a client is attached to the arbiter: others go on without it. */
static void test_declared(void **state)
{
	struct link l;

	silence_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	second.lives = false;
	bed_pass(&b, LOST_MS - 2000);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	bed_pass(&b, 5000);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_int_equal(member()->losses, 1);
	/* It is told, and begins anew. */
	second.lives = true;
	bed_pass(&b, FINDS_MS);
	expect_joined();
	assert_int_equal(member()->losses, 2);
	hang_up(&l);
	silence_close();
}

/* Both are there, and do not hear each other: the member has stopped long before. */
static void test_apart(void **state)
{
	struct link l[2];

	silence_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l[ARBITER]);
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &l[OTHER]);
	part(OTHER)->host.arbiter = htonl(0x0a4d0002);	/* answers nobody */
	bed_pass(&b, STANDS_MS - 5000);
	assert_non_null(second.m.spaces.host.attaches);
	bed_pass(&b, 6000);
	assert_null(second.m.spaces.host.attaches);
	bed_pass(&b, LOST_MS / 4 - 3000);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	bed_pass(&b, 4000);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	part(OTHER)->host.arbiter = ip_of(ARBITER);
	bed_pass(&b, FINDS_MS);
	expect_joined();
	assert_int_equal(member()->losses, 2);
	hang_up(&l[ARBITER]);
	hang_up(&l[OTHER]);
	silence_close();
}

/* It is there, and its part is not: nobody brings it back for as long. */
static void test_empty(void **state)
{
	struct link l;

	silence_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	second_again();
	/* Only who speaks is found where he is now. */
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 10000);
	assert_int_equal(member()->state, SPACE_MEMBER_EMPTY);
	bed_pass(&b, LOST_MS);
	expect_joined();
	assert_int_equal(member()->losses, 2);
	hang_up(&l);
	silence_close();
}

/* It is back in time, with its part. */
static void test_goes_on(void **state)
{
	struct link l;

	silence_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	second_goes_on();
	/* Only who speaks is found where he is now. */
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 2 * LOST_MS);
	expect_joined();
	assert_int_equal(member()->losses, 0);
	hang_up(&l);
	silence_close();
}

/* Nobody is heard: it is the arbiter that may be cut off. */
static void test_cut_off(void **state)
{
	silence_open();
	second.lives = false;
	bed_pass(&b, 3 * LOST_MS);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	second.lives = true;
	bed_pass(&b, FINDS_MS);
	expect_joined();
	assert_int_equal(member()->losses, 0);
	silence_close();
}

/* The member stops before the arbiter may declare it lost, and goes on with its part. */
static void test_stands_still(void **state)
{
	uint32_t generation;
	struct link l;

	second_is_arbiter = true;
	silence_open();
	generation = part(OTHER)->generation;
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	second.lives = false;
	bed_pass(&b, STANDS_MS - 3000);
	assert_non_null(b.m.spaces.host.attaches);
	bed_pass(&b, 3000);
	assert_null(b.m.spaces.host.attaches);
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	/* A client has written over it. */
	memset(part(OTHER)->host.base, 0, sizeof(part(OTHER)->sb));
	second.lives = true;
	bed_pass(&b, FINDS_MS);
	expect_joined();
	assert_int_equal(part(OTHER)->host.sb.magic, FAR_SPACE_MAGIC);
	assert_int_equal(part(OTHER)->generation, generation);
	assert_int_equal(member()->losses, 0);
	hang_up(&l);
	silence_close();
}

/* Nobody counts pages so long that a part is served for longer. */
static void test_stops_while_counting(void **state)
{
	struct check check = { .stage = CHECK_REST };
	uint64_t until;

	silence_open();
	until = part(OTHER)->until;
	second.m.check = &check;
	assert_in_range(manager_spaces(&second.m, until - 1000), 1, until);
	assert_false(part(OTHER)->host.closed);
	manager_spaces(&second.m, until);
	assert_true(part(OTHER)->host.closed);
	second.m.check = NULL;
	second.m.count_at = 0;
	silence_close();
}

static void join(uint8_t turn)
{
	const struct odrp_far_hello hello = {
		.role = ODRP_FAR_JOIN, .rights = turn << ODRP_FAR_TURN,
		.attach = cpu_to_be64(part(OTHER)->host.life),
		.number = cpu_to_be32(part(OTHER)->generation),
	};
	struct odrp_far_member ret;

	assert_int_equal(part_join(part(OTHER)->all, &part(OTHER)->host, &hello, &ret),
			 ODRP_FAR_OK);
}

/* A question that was under way for long does not let it serve for longer. */
static void test_late_question(void **state)
{
	struct space *other;
	unsigned int i;
	uint64_t until;
	uint8_t turn;

	silence_open();
	other = part(OTHER);
	turn = other->turn;
	until = other->until;
	join(turn == ODRP_FAR_TURN_FIRST ? ODRP_FAR_TURN_LAST : turn - 1);
	assert_true(other->until == until);
	/* Nor however many do, to which no answer arrives. */
	for (i = 0; i < 2 * ODRP_FAR_TURN_LAST; i++)
		join(ODRP_FAR_TURN_NONE);
	assert_int_equal(other->turn, turn);
	assert_true(other->until == until);
	/* It was sent behind the last answer, and arrives now. */
	until = other->turn_at + STANDS_MS * UINT64_C(1000000);
	other->all->now += UINT64_C(1000000000);
	join(turn);
	assert_true(other->until == until);
	/* Another agent of before has had this turn. */
	other->turn = 0;
	other->until = 0;
	join(7);
	assert_true(!other->until);
	assert_int_equal(other->turn, 8);
	/* An arbiter without the setting has no part served. */
	spaces_stand(other->all, other->all->now);
	join(0);
	assert_true(other->host.closed);
	/* Nor has one with it, where a member has not. */
	second.conf.spaces[0].lost_ms = 0;
	join(ODRP_FAR_TURN_NONE);
	assert_true(other->host.closed);
	silence_close();
}

/* Nobody serves, and nobody is declared lost, where the settings differ. */
static void settings_differ(unsigned int first, unsigned int other)
{
	struct link l;

	silence_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	b.opts.conf.spaces[0].lost_ms = first;
	second.conf.spaces[0].lost_ms = other;
	bed_pass(&b, 3 * LOST_MS);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	assert_int_equal(member()->losses, 0);
	assert_non_null(member()->trouble);
	if (other)
		assert_true(part(OTHER)->host.closed);
	hang_up(&l);
	silence_close();
}

static void test_settings_differ(void **state)
{
	settings_differ(LOST_MS, 2 * LOST_MS);
	settings_differ(LOST_MS, 0);
	settings_differ(0, LOST_MS);
}

/* The arbiter's agent stood still, and so has asked nobody. */
static void test_arbiter_stood(void **state)
{
	struct space_set *set;
	unsigned int i;

	silence_open();
	set = &part(ARBITER)->set;
	silence_step(set, set->counted_at + 10 * LOST_MS * UINT64_C(1000000), true);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	for (i = 0; i < LOST_MS / 1000; i++) {
		assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
		silence_step(set, set->counted_at + UINT64_C(1000000000), true);
	}
	assert_int_equal(member()->state, SPACE_MEMBER_DECLARED);
	assert_int_equal(silence_turn(set, member()), ODRP_FAR_TURN_NONE);
	silence_close();
}

static int begin(void **state)
{
	proved = free_clients = true;
	first_secret = second_secret = 7;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_declared),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_stands_still),
		cmocka_unit_test(test_stops_while_counting),
		cmocka_unit_test(test_late_question),
		cmocka_unit_test(test_settings_differ),
		cmocka_unit_test(test_arbiter_stood),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
