// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults: the adversary's probabilities, and nodes that die. */
#include "cluster.h"

#include <stdio.h>

const struct far_sim_fault far_sim_atlas[] = {
	{ "tear", FAR_SIM_TEAR,
	  "Nothing is lost, nobody sees a state that is no operation's: only aligned "
	  "words of 8 bytes are whole." },
	{ "delay", FAR_SIM_DELAY, "Nothing changes but times." },
	{ "break", FAR_SIM_BREAK,
	  "The operation reports an unknown fate or is done again where that is safe; "
	  "behind connect() nothing of the old queue pair executes." },
	{ "kill-cn", 0,
	  "What the dead client had done stays or is undone as a whole; others go on "
	  "once it is fenced, at any number of dead clients." },
	{ "kill-mn", 0,
	  "Operations on that memory node fail with -EHOSTDOWN; what lies there alone "
	  "is gone, other memory nodes are not hurt." },
	{ NULL, 0, NULL },
};

static double rng_between(struct far_rng *rng, double low, double high)
{
	return low + (high - low) * far_rng_unit(rng);
}

void sim_odds_draw(struct far_sim *sim)
{
	struct far_rng *rng = &sim->fate;
	uint64_t rtt = sim->profile.rtt_ns;

	sim->odds = (struct sim_odds) {
		.tear = rng_between(rng, .1, .9),
		.pass = rng_between(rng, 0, 1),
		.delay = rng_between(rng, .02, .3),
		.brk = 1 / rng_between(rng, 500, 5000),
		.tear_ns = 1 + far_rng_below(rng, 2 * rtt),
		.delay_ns = 1 + far_rng_below(rng, 4 * rtt),
	};
	if (sim->attr.break_one_in)
		sim->odds.brk = 1.0 / sim->attr.break_one_in;
}

void far_sim_describe(const struct far_sim *sim, char *text, size_t len)
{
	const struct sim_odds *odds = &sim->odds;
	unsigned bits = sim->attr.adversary;
	size_t at = snprintf(text, len, "seed=%llu", (unsigned long long)sim->attr.seed);

	if (bits & FAR_SIM_TEAR && at < len)
		at += snprintf(text + at, len - at, " tear=%.2f/%lluns pass=%.2f",
			       odds->tear, (unsigned long long)odds->tear_ns, odds->pass);
	if (bits & FAR_SIM_DELAY && at < len)
		at += snprintf(text + at, len - at, " delay=%.2f/%lluns", odds->delay,
			       (unsigned long long)odds->delay_ns);
	if (bits & FAR_SIM_BREAK && at < len)
		snprintf(text + at, len - at, " break=1/%.0f", 1 / odds->brk);
}

unsigned sim_cn_count(struct sim_cn *cn, unsigned nr)
{
	unsigned live;

	if (cn->dead)
		return 0;
	if (!cn->die_at)
		return nr;
	live = cn->die_at > nr ? nr : cn->die_at - 1;
	cn->die_at -= live;
	return live;
}

void sim_cn_die(struct sim_cn *cn)
{
	struct far_sim *sim = cn->sim;
	struct sim_thread *thread;
	struct sim_qp *qp;

	if (cn->dead)
		return;
	cn->dead = 1;
	sim_trace(sim, 3, cn->idx);
	sim_links_mourn(cn);
	for (qp = cn->qps; qp; qp = qp->next)
		sim_qp_orphan(qp);
	for (thread = sim->threads; thread; thread = thread->next)
		if (thread->cn == cn && thread != sim->current)
			sim_thread_kill(thread);
	if (sim->current->cn == cn)
		sim_thread_exit(sim);
}

void far_sim_kill_cn_at(struct far_sim *sim, unsigned cn, uint64_t nth_op)
{
	sim->cns[cn].die_at = nth_op;
}

static void mn_die(struct sim_event *event)
{
	struct sim_mn *mn = (struct sim_mn *)((char *)event -
					      offsetof(struct sim_mn, death));

	mn->dead = 1;
	sim_trace(mn->sim, 4, mn->idx);
}

void far_sim_kill_mn_at(struct far_sim *sim, unsigned mn, uint64_t at_ns)
{
	struct sim_event *death = &sim->mns[mn].death;

	sim_wheel_remove(&sim->wheel, death);
	death->fire = mn_die;
	sim_wheel_add(&sim->wheel, death, at_ns);
}

void far_sim_revive_mn(struct far_sim *sim, unsigned mn)
{
	sim->mns[mn].dead = 0;
	sim_trace(sim, 5, mn);
}

int far_sim_cn_dead(const struct far_sim *sim, unsigned cn)
{
	return sim->cns[cn].dead;
}
