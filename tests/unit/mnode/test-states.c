/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transition tables of connections and sessions, each cell of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <session/conn-state.h>
#include <session/sess-state.h>

/* events */
#define MOST	20

/**
 * struct sent - who sends an event, and in which states
 * @by:		the function that sends it, and why in no other state
 * @in:		bits of these states
 */
struct sent {
	const char *by;
	unsigned int in;
};

/**
 * struct table - what a table has to be
 * @step:	the function that changes the state, by numbers
 * @final:	the state after which the object does not exist
 * @want:	[state][event]: "next", "next/action", "." if ignored, "-" if impossible
 */
struct table {
	const struct fsm *fsm;
	void (*step)(unsigned int *state, unsigned int event, unsigned int *ret_action);
	unsigned int first, final, nr_actions;
	const char *const (*want)[MOST];
	const struct sent *sent;
};

/* ---- connections ------------------------------------------------------------------ */

#define IN(s)	(1u << (s))

/* Columns: armed, accepted, failed, gone, close, tick, turn, stopped, unstopped. */
static const char *const conn_want[CONN_NR_STATES][MOST] = {
	[CONN_ARMING] = {
		"armed", "-", "stopping/2", "stopping/2", "closing/1", ".", "-", "-", "-" },
	[CONN_ARMED] = {
		"-", "open", "stopping/2", "-", "-", "-", "-", "-", "-" },
	[CONN_OPEN] = {
		"-", "-", "-", "stopping/2", "closing", ".", "-", "-", "-" },
	[CONN_CLOSING] = {
		"-", "-", "-", "stopping/2", ".", ".", "stopping/2", "-", "-" },
	[CONN_STOPPING] = {
		"-", "-", "-", "-", "-", "-", "-", "freed/3", "unstopped" },
	[CONN_UNSTOPPED] = {
		"-", "-", "-", "-", "retrying", "retrying", "-", "-", "-" },
	[CONN_RETRYING] = {
		"-", "-", "-", "-", ".", ".", "stopping/2", "-", "-" },
	[CONN_FREED] = {
		"-", "-", "-", "-", "-", "-", "-", "-", "-" },
};

/* States that are left when the call that enters them returns are not seen by others. */
#define CONN_SEEN	(IN(CONN_ARMING) | IN(CONN_OPEN) | IN(CONN_CLOSING) |	\
			 IN(CONN_UNSTOPPED) | IN(CONN_RETRYING))

static const struct sent conn_sent[CONN_NR_EVENTS] = {
	[CONN_EV_ARMED] = {
		"queue_armed(), after queue_arm() looked for ARMING, and for a new queue",
		IN(CONN_ARMING) },
	[CONN_EV_ACCEPTED] = {
		"queue_armed(), after it sent ARMED in the same call",
		IN(CONN_ARMED) },
	[CONN_EV_FAILED] = {
		"queue_arm() instead of ARMED, queue_armed() instead of ACCEPTED",
		IN(CONN_ARMING) | IN(CONN_ARMED) },
	[CONN_EV_GONE] = {
		"conn_gone(), for a queue with this CM id: a request that waits has one, and "
		"a connection until it is told to stop",
		IN(CONN_ARMING) | IN(CONN_OPEN) | IN(CONN_CLOSING) },
	[CONN_EV_CLOSE] = {
		"disconnect(), to all queues of a session; queue_check(), if OPEN",
		CONN_SEEN },
	[CONN_EV_TICK] = { "manager_tick(), to all queues", CONN_SEEN },
	[CONN_EV_TURN] = {
		"manager_close_some(), after it looked for conn_is_closing()",
		IN(CONN_CLOSING) | IN(CONN_RETRYING) },
	[CONN_EV_STOPPED] = { "conn_stop(), the action of this state", IN(CONN_STOPPING) },
	[CONN_EV_UNSTOPPED] = { "conn_stop(), else", IN(CONN_STOPPING) },
};

static void step_conn(unsigned int *state, unsigned int event, unsigned int *ret_action)
{
	enum conn_state s = *state;

	*ret_action = conn_step(&s, event, 1);
	*state = s;
}

static const struct table conn_table = {
	.fsm = &conn_fsm, .step = step_conn, .first = CONN_ARMING, .final = CONN_FREED,
	.nr_actions = CONN_NR_ACTIONS, .want = conn_want, .sent = conn_sent,
};

/* ---- sessions --------------------------------------------------------------------- */

/* Columns: accepted, failed, gone, adopted, restored, lost, pause, left, dead, evicted,
 * resume, stuck, stand, sorted, filled, resumed, returned. */
static const char *const sess_want[SESS_NR_STATES][MOST] = {
	[SESS_OPENING] = {
		"attached", "ending/1", "ending/1", "restoring", "-", "-", "ending/6", "-", "-",
		"ending/6", "-", "-", "-", "-", "-", "-", "-" },
	[SESS_ATTACHED] = {
		"-", "-", "-", "-", "-", "detached/2", "detached/3", "ending/4", "ending/4",
		"ending/4", "-", "-", "-", "-", "-", "-", "-" },
	[SESS_RESTORING] = {
		"-", "-", "-", "-", "detached", "-", "restoring/3", "-", "ending/4",
		"ending/4", "-", "-", "-", "-", "-", "-", "-" },
	[SESS_DETACHED] = {
		"-", "-", "-", "-", "-", "-", "detached/3", "-", "ending/4",
		"ending/4", "stopping", "-", "-", "-", "-", "attached", "-" },
	[SESS_STOPPING] = {
		"-", "-", "-", "-", "-", "-", "stopping/3", "-", "ending/4",
		"ending/4", ".", "detached", "sorting", "-", "-", "-", "-" },
	[SESS_SORTING] = {
		"-", "-", "-", "-", "-", "-", "sorting/3", "-", "ending/4",
		"ending/4", ".", "-", "-", "filling", "-", "-", "-" },
	[SESS_FILLING] = {
		"-", "-", "-", "-", "-", "-", "filling/3", "-", "ending/4",
		"ending/4", ".", "-", "-", "-", "detached", "-", "-" },
	[SESS_ENDING] = {
		"-", "-", "-", "-", "-", "-", "-", "-", "-",
		".", "-", "-", "-", "-", "-", "-", "freeing/5" },
	[SESS_FREEING] = {
		"-", "-", "-", "-", "-", "-", "-", "-", "-",
		"-", "-", "-", "-", "-", "-", "-", "-" },
};

#define SETTLES	(IN(SESS_STOPPING) | IN(SESS_SORTING) | IN(SESS_FILLING))
#define LIVE	(IN(SESS_ATTACHED) | IN(SESS_RESTORING) | IN(SESS_DETACHED) | SETTLES)

static const struct sent sess_sent[SESS_NR_EVENTS] = {
	[SESS_EV_ACCEPTED] = {
		"sess_open(), for a session that manager_open_some() found OPENING",
		IN(SESS_OPENING) },
	[SESS_EV_FAILED] = { "sess_open(), else", IN(SESS_OPENING) },
	[SESS_EV_GONE] = { "sess_conn_gone(), if OPENING", IN(SESS_OPENING) },
	[SESS_EV_ADOPTED] = { "sess_adopt(), for a session that is new", IN(SESS_OPENING) },
	[SESS_EV_RESTORED] = {
		"sess_restore(), for a session that adopt_some() found RESTORING",
		IN(SESS_RESTORING) },
	[SESS_EV_LOST] = {
		"manager_detach(), after sess_conn_gone(), beat_check(), answer_use() and "
		"asked_resume() found an admin connection", IN(SESS_ATTACHED) },
	[SESS_EV_PAUSE] = { "manager_pause(), if OPENING or live",
		LIVE | IN(SESS_OPENING) },
	[SESS_EV_LEFT] = { "manager_lost(), instead of LOST", IN(SESS_ATTACHED) },
	[SESS_EV_DEAD] = { "beat_check(), for sessions that are live", LIVE },
	[SESS_EV_EVICTED] = {
		"manager_evict_all() and manager_kill(), to sessions of the list: none of them is "
		"FREEING",
		LIVE | IN(SESS_OPENING) | IN(SESS_ENDING) },
	[SESS_EV_RESUME] = {
		"asked_resume(), for a live session, after it refused RESTORING and detached "
		"ATTACHED", IN(SESS_DETACHED) | SETTLES },
	[SESS_EV_STUCK] = { "settle_sess(), if STOPPING", IN(SESS_STOPPING) },
	[SESS_EV_STAND] = { "lend_settle(), if STOPPING", IN(SESS_STOPPING) },
	[SESS_EV_SORTED] = { "lend_settle(), if SORTING", IN(SESS_SORTING) },
	[SESS_EV_FILLED] = { "lend_settle(), if FILLING", IN(SESS_FILLING) },
	[SESS_EV_RESUMED] = {
		"sess_attach(), for manager_settled(), which settle_some() calls with 0 after "
		"FILLED alone", IN(SESS_DETACHED) },
	[SESS_EV_RETURNED] = {
		"collect(), for a session that next_dying() found ENDING", IN(SESS_ENDING) },
};

static void step_sess(unsigned int *state, unsigned int event, unsigned int *ret_action)
{
	enum sess_state s = *state;

	*ret_action = sess_step(&s, event, 1);
	*state = s;
}

static const struct table sess_table = {
	.fsm = &sess_fsm, .step = step_sess, .first = SESS_OPENING, .final = SESS_FREEING,
	.nr_actions = SESS_NR_ACTIONS, .want = sess_want, .sent = sess_sent,
};

/* Columns: seen, more, blocked, done. */
static const char *const setup_want[SETUP_NR_STATES][MOST] = {
	[SETUP_UNSEEN] = { "preparing", "-", "-", "-" },
	[SETUP_PREPARING] = { ".", ".", "blocked", "ready/1" },
	[SETUP_BLOCKED] = { ".", "preparing", ".", "ready/1" },
	[SETUP_READY] = { ".", "-", "-", "-" },
};

#define PREPARES	(IN(SETUP_PREPARING) | IN(SETUP_BLOCKED))

static const struct sent setup_sent[SETUP_NR_EVENTS] = {
	[SETUP_EV_SEEN] = {
		"beat_check(), asked_open_queue() and sess_adopt(), whatever the setup is",
		IN(SETUP_NR_STATES) - 1 },
	[SETUP_EV_MORE] = { "prepare_some(), if may_prepare()", PREPARES },
	[SETUP_EV_BLOCKED] = { "prepare_some(), if may_prepare()", PREPARES },
	[SETUP_EV_DONE] = { "prepare_some(), if may_prepare()", PREPARES },
};

static void step_setup(unsigned int *state, unsigned int event, unsigned int *ret_action)
{
	enum sess_setup s = *state;

	*ret_action = setup_step(&s, event, 1);
	*state = s;
}

static const struct table setup_table = {
	.fsm = &setup_fsm, .step = step_setup, .first = SETUP_UNSEEN, .final = SETUP_READY,
	.nr_actions = SETUP_NR_ACTIONS, .want = setup_want, .sent = setup_sent,
};

/* Columns: ring, table, sort. */
static const char *const damage_want[DAMAGE_NR_STATES][MOST] = {
	[DAMAGE_NONE] = { "disordered", "damaged", "." },
	[DAMAGE_RING] = { ".", "damaged", "whole" },
	[DAMAGE_TABLE] = { ".", ".", "." },
};

static const struct sent damage_sent[DAMAGE_NR_EVENTS] = {
	[DAMAGE_EV_RING] = { "take_over(), of any chain", IN(DAMAGE_NR_STATES) - 1 },
	[DAMAGE_EV_TABLE] = { "take_over(), of any chain", IN(DAMAGE_NR_STATES) - 1 },
	[DAMAGE_EV_SORT] = { "lend_settle(), with STAND", IN(DAMAGE_NR_STATES) - 1 },
};

static void step_damage(unsigned int *state, unsigned int event, unsigned int *ret_action)
{
	enum sess_damage s = *state;

	damage_step(&s, event, 1);
	*ret_action = 0;
	*state = s;
}

static const struct table damage_table = {
	.fsm = &damage_fsm, .step = step_damage, .first = DAMAGE_NONE, .final = DAMAGE_TABLE,
	.nr_actions = 1, .want = damage_want, .sent = damage_sent,
};

/* ---- each cell -------------------------------------------------------------------- */

static void expect_cell(const struct table *t, unsigned int state, unsigned int event)
{
	const char *want = t->want[state][event];
	unsigned int next = state, action, before = fsm_nr_impossible;
	char got[40];

	assert_non_null(want);
	t->step(&next, event, &action);
	assert_int_equal(fsm_nr_impossible, before + !strcmp(want, "-"));
	if (!strcmp(want, "-") || !strcmp(want, ".")) {
		assert_int_equal(next, state);
		assert_int_equal(action, 0);
		return;
	}
	snprintf(got, sizeof(got), action ? "%s/%u" : "%s", t->fsm->states[next], action);
	assert_string_equal(got, want);
}

static void each_cell(const struct table *t)
{
	unsigned int s, e, state, before;

	for (s = 0; s < t->fsm->nr_states; s++)
		for (e = 0; e < t->fsm->nr_events; e++)
			expect_cell(t, s, e);
	before = fsm_nr_impossible;
	state = t->fsm->nr_states;
	t->step(&state, 0, &e);
	state = t->first;
	t->step(&state, t->fsm->nr_events, &e);
	assert_int_equal(state, t->first);
	assert_int_equal(fsm_nr_impossible, before + 2);
}

/* A cell is impossible exactly where nobody sends the event. */
static void each_sender(const struct table *t)
{
	unsigned int s, e;

	for (e = 0; e < t->fsm->nr_events; e++) {
		assert_non_null(t->sent[e].by);
		for (s = 0; s < t->fsm->nr_states; s++)
			if (!(t->sent[e].in >> s & 1) !=
			    (fsm_cell(t->fsm, s, e)->kind == FSM_NEVER))
				fail_msg("%s in %s: %s", t->fsm->events[e],
					 t->fsm->states[s], t->sent[e].by);
	}
}

/* The states that a state leads to, at once or later, itself too. */
static unsigned int reach(const struct table *t, unsigned int from)
{
	unsigned int all = IN(from), before, s, e;

	do {
		before = all;
		for (s = 0; s < t->fsm->nr_states; s++) {
			for (e = 0; (all >> s & 1) && e < t->fsm->nr_events; e++) {
				const struct fsm_cell *c = fsm_cell(t->fsm, s, e);

				if (c->kind == FSM_GOES)
					all |= IN(c->next);
			}
		}
	} while (all != before);
	return all;
}

static void each_state(const struct table *t)
{
	unsigned int s, actions = 0, e;

	assert_int_equal(reach(t, t->first), IN(t->fsm->nr_states) - 1);
	assert_int_equal(reach(t, t->final), IN(t->final));
	for (s = 0; s < t->fsm->nr_states; s++) {
		assert_true(reach(t, s) >> t->final & 1);
		assert_non_null(t->fsm->states[s]);
		for (e = 0; e < t->fsm->nr_events; e++)
			actions |= IN(fsm_cell(t->fsm, s, e)->action);
	}
	assert_int_equal(actions, IN(t->nr_actions) - 1);
}

/* ---- the drawings of docs/architecture.md ------------------------------------------- */

static char doc[64 * 1024];

static void read_doc(void)
{
	char path[500];
	size_t len;
	FILE *f;

	assert_non_null(getenv("ODRP_TOP"));
	snprintf(path, sizeof(path), "%s/docs/architecture.md", getenv("ODRP_TOP"));
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(doc, 1, sizeof(doc) - 1, f);
	assert_true(feof(f));
	doc[len] = 0;
	fclose(f);
}

/* "\tFROM --> NEXT: EVENT, EVENT"; nothing if no event leads there. */
static void draw(const struct table *t, unsigned int from, unsigned int next, char line[300])
{
	size_t len = 0;
	unsigned int e;

	line[0] = 0;
	for (e = 0; e < t->fsm->nr_events; e++) {
		const struct fsm_cell *c = fsm_cell(t->fsm, from, e);

		if (c->kind != FSM_GOES || c->next != next || next == from)
			continue;
		if (!len)
			len = snprintf(line, 300, "\n\t%s --> %s: %s", t->fsm->states[from],
				       t->fsm->states[next], t->fsm->events[e]);
		else
			len += snprintf(line + len, 300 - len, ", %s", t->fsm->events[e]);
	}
	if (len)
		snprintf(line + len, 300 - len, "\n");
}

/* Returns the number of arrows. */
static unsigned int expect_drawn(const struct table *t)
{
	unsigned int s, next, nr = 0;
	char line[300];

	for (s = 0; s < t->fsm->nr_states; s++) {
		for (next = 0; next < t->fsm->nr_states; next++) {
			draw(t, s, next, line);
			if (line[0] && !strstr(doc, line))
				fail_msg("docs/architecture.md lacks:%s", line);
			nr += line[0] != 0;
		}
	}
	return nr;
}

static void test_drawings(void **state)
{
	unsigned int nr, arrows = 0;
	const char *at;

	read_doc();
	nr = expect_drawn(&sess_table) + expect_drawn(&conn_table);
	for (at = doc; (at = strstr(at, " --> ")); at++)
		arrows++;
	assert_int_equal(arrows, nr);
}

/* ---- all tables -------------------------------------------------------------------- */

static const struct table *const tables[] = {
	&conn_table, &sess_table, &setup_table, &damage_table,
};

#define NR_TABLES	(sizeof(tables) / sizeof(tables[0]))

static void test_cells(void **state)
{
	for (unsigned int i = 0; i < NR_TABLES; i++)
		each_cell(tables[i]);
}

static void test_senders(void **state)
{
	for (unsigned int i = 0; i < NR_TABLES; i++)
		each_sender(tables[i]);
}

/* Senders in session/ use sess_event(), which does no action: these events have none. */
static void test_no_action(void **state)
{
	static const enum sess_event quiet[] = {
		SESS_EV_ADOPTED, SESS_EV_RESTORED, SESS_EV_STAND,
		SESS_EV_SORTED, SESS_EV_FILLED, SESS_EV_RESUMED,
	};
	unsigned int s, i;

	for (i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		for (s = 0; s < SESS_NR_STATES; s++)
			assert_int_equal(fsm_cell(&sess_fsm, s, quiet[i])->action, 0);
}

static void test_states(void **state)
{
	for (unsigned int i = 0; i < NR_TABLES; i++)
		each_state(tables[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_no_action),
		cmocka_unit_test(test_senders),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_drawings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
