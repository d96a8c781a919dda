// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A space on two memory nodes: two agents and a client on one wire, in virtual time.
 * The set opens when both are there, and a client is fenced at both before it is dead. An
 * agent that begins anew goes on with its part, if somebody has kept it. Else nobody finds an
 * empty part among the others before it was declared lost.
 */
#include "set-world.h"

/* ---- the tests ----------------------------------------------------------------------- */

static void test_opens(void **state)
{
	struct link l;

	world_open();
	bed_pass(&b, 2500);
	assert_int_equal(answer(ARBITER, ODRP_FAR_ATTACH, 11, 0), ODRP_FAR_E_INCOMPLETE);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	second_begin("4M");
	bed_pass(&b, 2500);
	assert_true(is_open());
	assert_int_equal(spaces_joined(part(ARBITER)), 2);
	assert_memory_equal(part(ARBITER)->sb.set, part(OTHER)->sb.set, 16);
	assert_int_equal(part(OTHER)->sb.node, 1);
	assert_int_equal(part(OTHER)->sb.nr_nodes, 2);
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	hang_up(&l);
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	hang_up(&l);
	world_close();
}

/* Nobody joins a set by mistake. */
static void test_settings_differ(void **state)
{
	world_open();
	second_begin("8M");
	bed_pass(&b, 5000);
	assert_true(part(ARBITER)->host.closed);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "has other settings of it; expected the same nodes, size, "
			    "chunk, clients and lost-ms");
	world_close();
}

/* Only the arbiter has a part begun, or clients cut off; the arbiter itself has none. */
static void test_rights(void **state)
{
	uint64_t life;

	set_open();
	life = part(OTHER)->host.life;
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(ARBITER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(part(OTHER)->host.life, life);
	assert_true(is_open());
	world_close();
}

static struct far_client_entry *entry(unsigned int number)
{
	return (void *)(part(ARBITER)->host.base +
			far_client_entry_off(&part(ARBITER)->sb, number));
}

/* As a client that joins at both: number 1, alive. */
static void client_join(struct link control[2])
{
	const struct far_epoch_line *line =
		(const void *)(part(ARBITER)->host.base + FAR_SB_EPOCH);
	unsigned int i;

	for (i = ARBITER; i <= OTHER; i++) {
		say(i, ODRP_FAR_ATTACH, 11, 0, &control[i]);
		assert_true(control[i].up);
		assert_int_equal(answer(i, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_OK);
	}
	entry(1)->claim = far_claim(1, 1);
	entry(1)->beat = 1;
	entry(1)->epoch = line->epoch;
	entry(1)->flushed = FAR_EPOCH_IDLE;
}

static void test_fence(void **state)
{
	struct link control[2];

	set_open();
	client_join(control);
	bed_pass(&b, 100);
	assert_int_equal(entry(1)->fenced, 0);
	bed_pass(&b, 400);
	assert_int_equal(entry(1)->fenced, 1);
	assert_null(b.m.spaces.host.attaches);
	assert_null(second.m.spaces.host.attaches);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
}

/* While one agent cannot confirm, the client is not dead. */
static void test_fence_waits(void **state)
{
	struct link control[2];

	set_open();
	client_join(control);
	second.lives = false;
	bed_pass(&b, 5000);
	assert_null(b.m.spaces.host.attaches);
	assert_int_equal(entry(1)->fenced, 0);
	second.lives = true;
	bed_pass(&b, 20000);
	assert_null(second.m.spaces.host.attaches);
	assert_int_equal(entry(1)->fenced, 1);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
}

static struct space_member *member(void)
{
	return &part(ARBITER)->set.members[0];
}

static uint8_t *losses(void)
{
	return ((struct far_losses *)(part(ARBITER)->host.base + FAR_SB_LOSSES))->nr;
}

static void declare(void)
{
	char why[CONF_WHY_MAX];

	assert_int_equal(spaces_declare_lost(part(ARBITER), 1, why), 0);
}

/* Its part is there: the same life goes on, and whoever was attached at the arbiter is. */
static void test_member_goes_on(void **state)
{
	uint64_t *word, mark = 0x6d61726b;
	struct link control;
	uint32_t generation;
	uint64_t life;

	set_open();
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &control);
	assert_true(control.up);
	life = part(ARBITER)->host.life;
	generation = part(OTHER)->generation;
	word = (uint64_t *)(part(OTHER)->host.base + part(OTHER)->sb.size - 8);
	*word = mark;
	second_goes_on();
	/* Nobody may use the part before the arbiter has found that it is the one it knows. */
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 5000);
	expect_joined();
	assert_true(part(OTHER)->host.life == life && part(ARBITER)->host.life == life);
	assert_int_equal(part(OTHER)->generation, generation);
	word = (uint64_t *)(part(OTHER)->host.base + part(OTHER)->sb.size - 8);
	assert_true(*word == mark);
	assert_non_null(b.m.spaces.host.attaches);
	assert_int_equal(losses()[1], 0);
	hang_up(&control);
	world_close();
}

/* Its part is empty: the life goes on, and it takes part again when it was declared lost. */
static void test_member_again(void **state)
{
	struct link control;
	uint32_t generation;
	uint64_t life;

	set_open();
	life = part(ARBITER)->host.life;
	generation = part(OTHER)->generation;
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &control);
	assert_true(control.up);
	second_again();
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 5000);
	assert_int_equal(member()->state, SPACE_MEMBER_EMPTY);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	assert_false(part(ARBITER)->host.closed);
	declare();
	assert_int_equal(member()->losses, 1);
	bed_pass(&b, 5000);
	expect_joined();
	assert_true(part(OTHER)->host.life == life && part(ARBITER)->host.life == life);
	assert_int_not_equal(part(OTHER)->generation, generation);
	assert_int_equal(losses()[1], 2);
	assert_non_null(b.m.spaces.host.attaches);
	hang_up(&control);
	world_close();
}

/* Before the set has opened, nothing can be lost: an empty part takes its place at once. */
static void test_again_before_open(void **state)
{
	char why[CONF_WHY_MAX];
	uint32_t generation;

	third_is_missing = true;
	world_open();
	second_begin("4M");
	bed_pass(&b, 2500);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	generation = member()->generation;
	assert_int_equal(spaces_declare_lost(part(ARBITER), 1, why), -EAGAIN);
	second_again();
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 10000);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	assert_int_not_equal(member()->generation, generation);
	assert_int_equal(member()->losses, 0);
	assert_true(part(ARBITER)->host.closed);
	world_close();
	third_is_missing = false;
}

/* It was only out of reach, and has its part: it is told, and the part begins empty. */
static void test_back_after_lost(void **state)
{
	struct link control[2];

	set_open();
	client_join(control);
	part(OTHER)->host.base[part(OTHER)->sb.chunk_off] = 'x';
	second.lives = false;
	bed_pass(&b, 5000);
	assert_int_equal(entry(1)->fenced, 0);
	declare();
	bed_pass(&b, 200);
	/* The fence is complete without it. */
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_int_equal(entry(1)->fenced, 1);
	assert_int_equal(losses()[1], 1);
	assert_non_null(second.m.spaces.host.attaches);
	second.lives = true;
	bed_pass(&b, 20000);
	expect_joined();
	assert_null(second.m.spaces.host.attaches);
	assert_int_equal(part(OTHER)->host.base[part(OTHER)->sb.chunk_off], 0);
	assert_int_equal(losses()[1], 2);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
}

/* Whoever has the arbiter's address may say what the arbiter would: nothing is emptied. */
static void unproved_open(void)
{
	char *mark;

	set_open();
	mark = (char *)part(OTHER)->host.base + part(OTHER)->sb.chunk_off;
	*mark = 'x';
	second.lives = false;
	bed_pass(&b, 3000);
	declare();
	bed_pass(&b, 200);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	second.lives = true;
	bed_pass(&b, 20000);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_non_null(strstr(member()->trouble, "keeps its part"));
	assert_int_equal(*mark, 'x');
	assert_int_equal(losses()[1], 1);
}

/* Nor is one that the agent before has kept. */
static void test_unproved_empties_nothing(void **state)
{
	unproved_open();
	second_goes_on();
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 5000);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_non_null(strstr(member()->trouble, "keeps its part"));
	assert_int_equal(part(OTHER)->host.base[part(OTHER)->sb.chunk_off], 'x');
	world_close();
}

/* The operator has had it dropped. */
static void test_unproved_dropped(void **state)
{
	unproved_open();
	second_again();
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	bed_pass(&b, 5000);
	expect_joined();
	assert_int_equal(losses()[1], 2);
	world_close();
}

/* The client has not looked yet: its operations may still be under way there. */
static void test_counts_behind_clients(void **state)
{
	const struct far_epoch_line *line;
	struct link control[2];
	uint64_t epoch;

	set_open();
	client_join(control);
	line = (const void *)(part(ARBITER)->host.base + FAR_SB_EPOCH);
	part(ARBITER)->set.members[0].trouble = NULL;
	second.lives = false;
	declare();
	bed_pass(&b, 100);
	epoch = line->epoch;
	assert_int_equal(member()->state, SPACE_MEMBER_DECLARED);
	/* What it read before the declaration does not count. */
	entry(1)->epoch = member()->declared;
	entry(1)->beat++;
	bed_pass(&b, 100);
	assert_int_equal(member()->state, SPACE_MEMBER_DECLARED);
	entry(1)->epoch = epoch;
	entry(1)->beat++;
	bed_pass(&b, 50);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_int_equal(entry(1)->fenced, 0);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	second.lives = true;	/* so that it is ended */
	world_close();
}

/* A dead client has held the epoch as far as it goes: a declaration still counts. */
static void test_epoch_held(void **state)
{
	const struct far_epoch_line *line;
	struct link control[2];

	set_open();
	client_join(control);
	line = (const void *)(part(ARBITER)->host.base + FAR_SB_EPOCH);
	second.lives = false;
	bed_pass(&b, 4000);
	assert_true(line->epoch > 500);
	assert_int_equal(line->clients, 1);
	declare();
	bed_pass(&b, 200);
	assert_int_equal(entry(1)->fenced, 1);
	assert_int_equal(line->clients, 0);
	assert_true(line->safe > 500);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	second.lives = true;	/* so that it is ended */
	world_close();
}

/* Nobody but the arbiter's operator declares. */
static void test_declare_rights(void **state)
{
	char why[CONF_WHY_MAX];
	uint32_t generation;
	uint64_t life;

	set_open();
	life = part(OTHER)->host.life;
	generation = part(OTHER)->generation;
	join_rights = ODRP_FAR_ANEW;
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life, generation), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(ARBITER, ODRP_FAR_JOIN, life, generation), ODRP_FAR_E_RIGHTS);
	join_rights = 0;
	assert_int_equal(part(OTHER)->generation, generation);
	assert_int_equal(spaces_declare_lost(part(OTHER), 1, why), -EPERM);
	assert_int_equal(spaces_declare_lost(part(ARBITER), 0, why), -EINVAL);
	assert_int_equal(spaces_declare_lost(part(ARBITER), 2, why), -EINVAL);
	/* A client has written what only the arbiter writes. */
	losses()[1] = 1;
	part_losses_write(part(ARBITER));
	assert_int_equal(losses()[1], 0);
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	declare();
	assert_int_equal(spaces_declare_lost(part(ARBITER), 1, why), -EALREADY);
	world_close();
}

/* It remembers life and members; all clients of before are fenced, at both. */
static void test_arbiter_goes_on(void **state)
{
	struct link control[2];
	uint64_t life;

	second_is_arbiter = true;
	set_open();
	life = part(OTHER)->host.life;
	client_join(control);
	entry(1)->beat = FAR_BEAT_NONE;
	second_goes_on();
	assert_int_equal(member()->state, SPACE_MEMBER_JOINED);
	bed_pass(&b, 8000);
	expect_joined();
	assert_true(part(OTHER)->host.life == life && part(ARBITER)->host.life == life);
	assert_int_equal(entry(1)->claim, far_claim(1, 1));
	assert_int_equal(entry(1)->fenced, 1);
	assert_null(b.m.spaces.host.attaches);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
	second_is_arbiter = false;
}

/* It was away, and knows what it has declared before. */
static void test_arbiter_remembers_lost(void **state)
{
	second_is_arbiter = true;
	set_open();
	part(OTHER)->host.arbiter = htonl(0x0a4d0002);	/* answers nobody */
	declare();
	bed_pass(&b, 2000);
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	second_goes_on();
	assert_int_equal(member()->state, SPACE_MEMBER_LOST);
	assert_int_equal(member()->losses, 1);
	world_close();
	second_is_arbiter = false;
}

static void test_arbiter_again(void **state)
{
	struct link control;
	uint64_t life;

	second_is_arbiter = true;
	set_open();
	life = part(OTHER)->host.life;
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &control);
	assert_true(control.up);
	second_again();
	bed_pass(&b, 5000);
	assert_true(is_open());
	assert_int_not_equal(part(OTHER)->host.life, life);
	assert_int_equal(part(ARBITER)->host.life, part(OTHER)->host.life);
	assert_null(b.m.spaces.host.attaches);
	hang_up(&control);
	world_close();
	second_is_arbiter = false;
}

/* ---- members that prove who they are -------------------------------------------------- */

static int begin_proved(void **state)
{
	proved = true;
	first_secret = second_secret = 7;
	return 0;
}

static int begin_free(void **state)
{
	free_clients = true;
	return begin_proved(state);
}

static int end_proved(void **state)
{
	proved = free_clients = second_is_arbiter = false;
	return 0;
}

static void test_proved(void **state)
{
	uint64_t life;

	set_open();
	expect_joined();
	assert_int_equal(second.m.responder.done, 1);
	life = part(OTHER)->host.life;
	/* The arbiter's address alone is not enough: nobody has proved anything here. */
	part(OTHER)->host.arbiter = htonl(0x0a4d0002);
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_AUTH);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_AUTH);
	second.m.conf = &b.opts.conf;
	b.opts.conf.auth = CONF_AUTH_NONE;
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_RIGHTS);
	assert_int_equal(part(OTHER)->host.life, life);
	world_close();
}

/* The pass is good for one life of the member's agent: it begins anew, and is asked. */
static void test_proved_again(void **state)
{
	uint64_t life;

	set_open();
	life = part(ARBITER)->host.life;
	second_goes_on();
	/* Only who speaks is found where he is now. */
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_AUTH);
	bed_pass(&b, 8000);
	expect_joined();
	assert_true(part(ARBITER)->host.life == life);
	world_close();
}

static void test_arbiter_proved_again(void **state)
{
	second_is_arbiter = true;
	set_open();
	expect_joined();
	second_again();
	bed_pass(&b, 5000);
	expect_joined();
	world_close();
	second_is_arbiter = false;
}

static void expect_apart(const char *trouble)
{
	world_open();
	second_begin("4M");
	bed_pass(&b, 5000);
	assert_true(part(ARBITER)->host.closed);
	assert_true(part(OTHER)->host.closed);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, trouble);
	assert_null(second.m.idents.passes);
	world_close();
}

/* On either side it is another one, who may have the address. */
static void test_other_secret(void **state)
{
	second_secret = 8;
	expect_apart("has another secret than this one");
	second_secret = 0;
	expect_apart("has another secret than this one");
	second_secret = 7;
	first_secret = 0;
	expect_apart("cannot be asked: its secret is not there");
	first_secret = 7;
}

/* What came of one handshake is not said of the next one, which nobody answers. */
static void test_proved_absent(void **state)
{
	static const char absent[] = "cannot be asked: its address cannot be reached";

	world_open();
	bed_pass(&b, 20000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, absent);
	second_secret = 8;
	second_begin("4M");
	bed_pass(&b, 20000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "has another secret than this one");
	second_end();
	bed_pass(&b, 200000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, absent);
	world_close();
	second_secret = 7;
}

/* An agent is not kept awake by a member that does not answer its handshake. */
static void test_proved_waits(void **state)
{
	struct space_set *set;

	world_open();
	set = &part(ARBITER)->set;
	bed_pass(&b, 100);
	assert_int_equal(set->members[0].call.state, FAR_CALL_INITIATED);
	assert_true(space_set_step(set, set->now) > set->now + 100 * SPACE_SET_HANDSHAKE_NS);
	world_close();
}

/* Its connection stands, and then it says nothing: that is said. */
static void test_proved_silent(void **state)
{
	struct space_set *set;
	uint64_t until;

	world_open();
	set = &part(ARBITER)->set;
	bed_pass(&b, 100);
	assert_int_equal(set->members[0].call.state, FAR_CALL_INITIATED);
	until = set->members[0].call.until;
	space_set_step(set, until);
	assert_null(set->members[0].trouble);
	space_set_step(set, until + 1);
	assert_string_equal(set->members[0].trouble,
			    "does not answer the handshake in time");
	world_close();
}

/* A name that is good for clients gives no orders. */
static void test_other_name(void **state)
{
	world_open();
	memcpy(b.m.spaces.list->set.members[0].key, "client", sizeof("client"));
	assert_int_equal(idents_add(&b.m.idents, "client", &b.m.idents.first->secrets), 0);
	second_begin("4M");
	assert_int_equal(idents_add(&second.m.idents, "client", &b.m.idents.first->secrets), 0);
	bed_pass(&b, 5000);
	assert_true(part(OTHER)->host.closed);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "does not take this one for the arbiter");
	world_close();
}

int main(void)
{
	const struct CMUnitTest proofs[] = {
		cmocka_unit_test(test_proved),
		cmocka_unit_test(test_proved_again),
		cmocka_unit_test(test_arbiter_proved_again),
		cmocka_unit_test(test_other_secret),
		cmocka_unit_test(test_proved_absent),
		cmocka_unit_test(test_proved_waits),
		cmocka_unit_test(test_proved_silent),
		cmocka_unit_test(test_other_name),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_settings_differ),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_fence_waits),
		cmocka_unit_test(test_member_goes_on),
		cmocka_unit_test(test_member_again),
		cmocka_unit_test(test_again_before_open),
		cmocka_unit_test(test_counts_behind_clients),
		cmocka_unit_test(test_epoch_held),
		cmocka_unit_test(test_declare_rights),
		cmocka_unit_test(test_arbiter_goes_on),
		cmocka_unit_test(test_arbiter_remembers_lost),
	};

	/* These run with node-keys: a join has to be proved before a part is emptied. */
	const struct CMUnitTest emptied[] = {
		cmocka_unit_test(test_back_after_lost),
		cmocka_unit_test(test_arbiter_again),
	};
	const struct CMUnitTest unproved[] = {
		cmocka_unit_test(test_unproved_empties_nothing),
		cmocka_unit_test(test_unproved_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       cmocka_run_group_tests(unproved, NULL, NULL) +
	       cmocka_run_group_tests_name("emptied", emptied, begin_free, end_proved) +
	       cmocka_run_group_tests_name("clients", tests, begin_free, end_proved) +
	       cmocka_run_group_tests_name("proved", proofs, begin_proved, end_proved);
}
