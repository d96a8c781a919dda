// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A memory node's life: honest and hostile nodes at work, quiet points at which
 * every page is counted, and the hostile ones' eviction.
 */
#include <stdlib.h>
#include <string.h>
#include <paper/paper.h>
#include "client.h"

#define MS		1000000ull
#define QUIET_MS	250		/* the agent looks twice */
#define MAX_SETTLE	200
#define BURST_NS	40000		/* all chains of a node, one by one */
#define PER_SESSION	125		/* requests */
#define PER_DEATH	20

/* ---- chance -------------------------------------------------------------- */

uint64_t life_random(struct life *l)
{
	uint64_t v = l->rnd += 0x9e3779b97f4a7c15ull;

	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
	return v ^ (v >> 31);
}

unsigned int life_below(struct life *l, unsigned int n)
{
	return life_random(l) % n;
}

bool life_chance(struct life *l, unsigned int n)
{
	return !life_below(l, n);
}

void life_wrong(struct life *l, enum wrong wrong, const char *fmt, ...)
{
	va_list ap;

	if (l->wrong)
		return;
	l->wrong = wrong;
	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
}

/* ---- time ---------------------------------------------------------------- */

static void take_in(struct life *l)
{
	unsigned int i;

	for (i = 0; i < NR_HONEST; i++)
		honest_poll(&l->honest[i]);
	for (i = 0; i < l->nr_hostile; i++)
		hostile_reap(&l->hostile[i]);
}

void life_pass(struct life *l, unsigned int ms)
{
	uint64_t until = l->bed.now + ms * MS;

	do {
		bed_pump(&l->bed);
		take_in(l);
	} while (l->bed.now < until);
}

void life_churn(struct life *l, unsigned int rounds)
{
	unsigned int i;

	while (rounds-- && !l->wrong) {
		for (i = 0; i < NR_HONEST; i++)
			honest_submit(&l->honest[i], 8);
		for (i = 0; i < NR_HONEST; i++)
			honest_wait(&l->honest[i]);
	}
}

/* ---- quiet points -------------------------------------------------------- */

static void count_pages(struct life *l, struct check_result *res)
{
	unsigned int tries;
	const char *why;

	/* A batch on its way to the ring arrives first. */
	for (tries = 0; tries < MAX_SETTLE &&
	     l->bed.m.lender.state != LEND_IDLE; tries++) {
		bed_pump(&l->bed);
		take_in(l);
	}
	if (check_pages(&l->bed.m, res)) {
		life_wrong(l, WRONG_RETURN, "the agent's batch never ends");
		return;
	}
	why = res->nr_problems ? res->problems[0] : "no problem said";
	if (res->doubled)
		life_wrong(l, WRONG_DOUBLED, "%s", why);
	if (res->foreign)
		life_wrong(l, WRONG_FOREIGN, "%s", why);
	/* A client that takes what it was not lent does that to its own ring. */
	if ((res->empty || res->stray || res->overtaken) &&
	    !(l->acts & (ACT_STARVE | ACT_DROP)))
		life_wrong(l, WRONG_RING, "empty %lu, overtaken %lu: %s",
			   (unsigned long)res->empty,
			   (unsigned long)res->overtaken, why);
}

/* A client that did two things to one slot goes at the next look; its page waits. */
static bool somebody_is_doomed(const struct life *l)
{
	const struct manager *m = &l->bed.m;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (sess_is_live(m->sess[i]) && m->sess[i]->damage == DAMAGE_TABLE)
			return true;
	return false;
}

static void come_to_rest(struct life *l)
{
	unsigned int tries, i;

	life_pass(l, l->acts & ACT_WIRE ? 8 * QUIET_MS : QUIET_MS);
	/* Asked for what needs a receive entry, where there is none. */
	if (l->acts & ACT_KEYS) {
		for (i = 0; i < l->nr_hostile; i++)
			hostile_stop_stuck(&l->hostile[i]);
		life_pass(l, QUIET_MS);
	}
	for (tries = 0; tries < MAX_SETTLE && somebody_is_doomed(l); tries++)
		life_pass(l, 100);
}

static void quiet(struct life *l)
{
	struct check_result res = { 0 };
	unsigned int i;

	for (i = 0; i < NR_HONEST; i++)
		honest_wait(&l->honest[i]);
	if (l->acts & (ACT_WORDS | ACT_JUNK | ACT_GREEDY)) {
		for (i = 0; i < l->nr_hostile; i++)
			hostile_stop_stuck(&l->hostile[i]);
	}
	come_to_rest(l);
	count_pages(l, &res);
	look_at_all_keys(l);
	look_at_pool(l);
	for (i = 0; i < l->nr_hostile; i++) {
		hostile_scan(&l->hostile[i]);
		hostile_quiet(&l->hostile[i]);
	}
	for (i = 0; i < NR_HONEST; i++)
		honest_check(&l->honest[i]);
	if (res.lost)
		life_wrong(l, WRONG_LOST, "%lu pages are lost: %s",
			   (unsigned long)res.lost,
			   res.nr_problems ? res.problems[0] : "");
	l->count->quiet++;
}

/* ---- the end of the hostile ones ----------------------------------------- */

static bool hostile_left(struct life *l)
{
	return l->bed.m.nr_sess > NR_HONEST;
}

/* Requests of which some are still running when it returns. */
static void burst(struct life *l, struct hostile *h)
{
	unsigned int n = 1 + life_below(l, 8);

	hostile_connect(h);
	while (n--) {
		hostile_act(h);
		if (life_chance(l, 2)) {
			bed_run_ns(&l->bed, life_below(l, 2000));
			look_at_keys(l);
		}
	}
	/* What breaks is behind us when the last ones start. */
	if (life_chance(l, 2)) {
		bed_run_ns(&l->bed, 50000);
		hostile_strike(h);
	}
	bed_run_ns(&l->bed, life_below(l, BURST_NS));
	look_at_keys(l);
}

/* One way or another each session ends, most of them in the middle. */
static void evict(struct life *l)
{
	struct sess *s;
	unsigned int i;

	for (i = 0; i < l->nr_hostile; i++)
		if (!life_chance(l, 4))
			burst(l, &l->hostile[i]);
	for (i = 0; i < l->nr_hostile; i++) {
		struct hostile *h = &l->hostile[i];
		unsigned int how = life_below(l, 4);

		s = hostile_sess(h);
		if (s && how)
			manager_kill(&l->bed.m, s, WHY_EVICTED);
		if (how < 2)
			hostile_end(h, how);
	}
	look_at_keys(l);
	/* What did not say goodbye is dead after a while without a heartbeat. */
	for (i = 0; i < MAX_SETTLE && hostile_left(l) && !l->wrong; i++)
		life_pass(l, 100);
}

static void all_back(struct life *l)
{
	struct check_result res = { 0 };
	unsigned int i, mapped = 0;

	for (i = 0; i < NR_HONEST; i++) {
		honest_wait(&l->honest[i]);
		mapped += honest_mapped(&l->honest[i]);
	}
	if (l->wrong)
		return;
	bed_settle(&l->bed);
	count_pages(l, &res);
	if (hostile_left(l))
		life_wrong(l, WRONG_RETURN, "a hostile session does not end");
	if (res.mapped != mapped ||
	    res.pool + res.free + res.armed + mapped != res.total)
		life_wrong(l, WRONG_RETURN, "of %lu pages %lu are free, %lu "
			   "mapped (honest: %u), %lu held, %lu returning, %lu "
			   "lost", (unsigned long)res.total,
			   (unsigned long)res.free, (unsigned long)res.mapped,
			   mapped, (unsigned long)res.held,
			   (unsigned long)res.returning,
			   (unsigned long)res.lost);
	look_at_all_keys(l);
	look_at_pool(l);
	for (i = 0; i < l->nr_hostile; i++)
		hostile_scan(&l->hostile[i]);
	for (i = 0; i < NR_HONEST; i++) {
		honest_verify(&l->honest[i]);
		honest_check(&l->honest[i]);
	}
}

/* ---- a life -------------------------------------------------------------- */

/* All at once, the honest ones in between. */
static void batch(struct life *l)
{
	unsigned int n = 1 + life_below(l, 24), i;

	for (i = 0; i < l->nr_hostile; i++)
		hostile_connect(&l->hostile[i]);
	while (n-- && !l->wrong) {
		i = life_below(l, l->nr_hostile);
		hostile_act(&l->hostile[i]);
		if (life_chance(l, 3))
			honest_submit(&l->honest[life_below(l, NR_HONEST)],
				      1 + life_below(l, 3));
		if (life_chance(l, 4)) {
			bed_run_ns(&l->bed, life_below(l, 3000));
			look_at_keys(l);
		}
		if (life_chance(l, 16))
			bed_pump(&l->bed);
	}
	for (i = 0; i < NR_HONEST; i++)
		honest_wait(&l->honest[i]);
	take_in(l);
}

static void session(struct life *l, unsigned int requests)
{
	uint64_t until = l->count->requests + l->count->others + requests;
	unsigned int idle = 0;

	while (!l->wrong && l->count->requests + l->count->others < until &&
	       idle++ < requests / 4) {
		batch(l);
		if (!(l->acts & (ACT_SAME_SLOT | ACT_GREEDY)) ||
		    life_chance(l, 4))
			quiet(l);
	}
	quiet(l);
	evict(l);
	all_back(l);
}

static void options(struct life *l, uint64_t seed, struct bed_options *o)
{
	bed_options(o);
	o->seed = seed;
	/* Where nobody proves anything more is had by a hello. */
	if (l->acts & ACT_CM && life_chance(l, 2))
		o->conf.auth = CONF_AUTH_NONE;
	/* Few, so that a freed page is soon somebody else's.  With keys, two
	 * requests for one slot are the end of a session: then enough for
	 * another one. */
	o->conf.pool = l->acts & ACT_SAME_SLOT && !bed_keyed ? 480 << 10 :
							       640 << 10;
	o->conf.reserve = 16;
	o->conf.depth = LIFE_DEPTH + 1;	/* a power of two */
	o->conf.queues = LIFE_QUEUES;
	o->conf.max_sessions = NR_HONEST + MAX_HOSTILE;
	o->fetch = life_chance(l, 2) ? SNIC_FETCH_EARLY : SNIC_FETCH_LATE;
	o->relaxed = life_chance(l, 2);
	o->conf.order = life_chance(l, 2) ?
			CONF_ORDER_FENCE : CONF_ORDER_WAIT;
	o->cost_ns = 50 + life_below(l, 100);
	/* Chains overtake each other, and a page is one packet or four. */
	if (bed_keyed && life_chance(l, 2))
		o->cost_more_ns = 1 + life_below(l, 1000);
	if (bed_keyed && life_chance(l, 2))
		o->mtu = 1500;
	/* With the right lie a chain runs in circles, until it is stopped. */
	if (l->acts & (ACT_WORDS | ACT_JUNK))
		o->cost_ns = 3000;
	if (l->acts & ACT_WIRE) {
		o->faults = (struct snic_faults){
			.loss = 0.02, .duplicate = 0.02, .reorder = 0.02,
			.corrupt = 0.02, .delay_ns = 20000,
		};
		/* Honest heartbeats get lost, too. */
		o->conf.dead_ms = 5000;
	}
}

void life_run(struct life *l, unsigned int acts, uint64_t seed,
	      unsigned int requests, struct life_count *count)
{
	struct bed_options o;
	unsigned int most = acts & ACT_DIE ? PER_DEATH : PER_SESSION, i, part;

	memset(l, 0, sizeof(*l));
	l->acts = acts;
	l->rnd = seed * 0x2545f4914f6cdd1dull;
	l->count = count;
	l->nr_hostile = 1 + life_below(l, MAX_HOSTILE);
	options(l, seed, &o);
	bed_open(&l->bed, &o, NR_HONEST + l->nr_hostile);
	l->lent_then = UINT64_MAX;
	/* A client that asks for no keys has chains. */
	for (i = 1; bed_keyed && i < NR_HONEST + l->nr_hostile; i++)
		l->bed.nodes[i].cfg.keyed = !life_chance(l, i < NR_HONEST ? 2 :
							 8);
	for (i = 0; i < NR_HONEST; i++)
		honest_open(&l->honest[i], l, i);
	for (i = 0; i < l->nr_hostile; i++)
		hostile_init(&l->hostile[i], l, NR_HONEST + i);
	for (; requests && !l->wrong; requests -= part) {
		part = requests < most ? requests : most;
		session(l, part);
	}
	for (i = 0; i < l->nr_hostile; i++)
		hostile_fini(&l->hostile[i]);
	bed_close(&l->bed);
	count->lives++;
}
