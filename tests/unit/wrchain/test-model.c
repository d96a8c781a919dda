// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cost model: its counts by hand, its laws, and that its parameters are
 * those that the paper's numbers choose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "model/model.h"
#include "paper/paper.h"

static struct wrc_params params;

static int setup(void **state)
{
	(void)state;
	wrc_params_init(&params);
	return 0;
}

static void near(double got, double want, double by)
{
	if (!(fabs(got - want) <= by))
		fail_msg("%g instead of %g", got, want);
}

static void cost_of(enum odrp_wire_chain chain, enum wrc_variant variant,
		    struct wrc_cost *ret_cost)
{
	struct wrc_opts opts = { .variant = variant };
	struct wrc_prog prog;

	assert_int_equal(wrc_any_build(chain, &opts, &prog), 0);
	wrc_model_cost(&prog, &params, ret_cost);
}

/* ---- counts ----------------------------------------------------------------- */

/* WAIT, SEND_EN | READ, SEND_EN | answer: five blocks. */
static void paper_load_by_hand(void **state)
{
	struct wrc_cost c;
	double pcie = params.v[WRC_P_PCIE] * params.v[WRC_P_DLL];

	cost_of(ODRP_WIRE_LOAD, WRC_V_PAPER, &c);
	assert_int_equal(c.wrs, 2);
	assert_int_equal(c.wrs_path, 2);
	assert_int_equal(c.waits, 1);
	assert_int_equal(c.send_ens, 2);
	assert_int_equal(c.controls, 3);
	assert_int_equal(c.atomics, 0);
	assert_int_equal(c.sges, 2);
	assert_int_equal(c.wqe_bytes, 5 * 64);
	assert_int_equal(c.fetches, 3);		/* READ, SEND_EN, answer */
	assert_int_equal(c.copies, 0);
	assert_int_equal(c.words, 4);
	assert_int_equal(c.request_bytes, 24 + 16);
	near(c.chain_ns, 2 * params.v[WRC_P_FETCH] + params.v[WRC_P_READ] +
	     8 / pcie, 1e-6);
	near(c.latency_ns, params.v[WRC_P_RTT] + 4096 / 12.5 + 4096 / pcie +
	     params.v[WRC_P_RECV] + c.chain_ns + params.v[WRC_P_FETCH], 1e-6);
	/* The wire: request and ACK; page, in one packet, and ACK. */
	near(c.link_in, 40 + 26 + 26 + 4, 1e-6);
	near(c.link_out, 4096 + 26 + 16 + 4 + 26 + 4, 1e-6);
}

static void onesided_by_hand(void **state)
{
	struct wrc_cost c;

	wrc_model_onesided(&params, &c);
	near(c.pcie_in, 4096 + 16 * 20, 1e-6);	/* in pieces of 256 */
	near(c.pcie_out, 8 * 24, 1e-6);		/* asked for by 512 */
	near(c.link_in, 26 + 16, 1e-6);
	near(c.link_out, 4096 + 26 + 4, 1e-6);
	near(c.latency_ns, 2900, 0.5);
}

static void stores_copy_a_page(void **state)
{
	struct wrc_cost load, store;

	cost_of(ODRP_WIRE_LOAD, WRC_V_OURS, &load);
	cost_of(ODRP_WIRE_MAPPED_STORE, WRC_V_OURS, &store);
	assert_int_equal(load.copies, 0);
	assert_int_equal(store.copies, 1);
	/* Out: the page from the wire to the buffer, and from there on. */
	assert_true(store.pcie_out > 2 * 4096);
	assert_true(store.pcie_in > 4096);
	assert_true(load.pcie_out < 4096);
	cost_of(ODRP_WIRE_UNMAPPED_STORE, WRC_V_OURS, &store);
	assert_int_equal(store.atomics, 2);
	assert_int_equal(store.hot_atomics, 1);
}

/* ---- time ---------------------------------------------------------------------- */

/* The rungs differ by whole steps. */
static void steps_add_up(void **state)
{
	struct wrc_cost a, b;
	double read;

	read = params.v[WRC_P_FETCH] + params.v[WRC_P_READ];
	near(wrc_model_step_ns(WRC_WQE_READ, &params), read, 1e-6);
	near(wrc_model_step_ns(WRC_WQE_FA, &params),
	     params.v[WRC_P_FETCH] + params.v[WRC_P_ATOMIC], 1e-6);
	near(wrc_model_step_ns(WRC_WQE_WRITE, &params), params.v[WRC_P_FETCH],
	     1e-6);
	cost_of(ODRP_WIRE_UNMAPPED_STORE, WRC_V_RECYCLE_HELPER, &a);
	cost_of(ODRP_WIRE_UNMAPPED_STORE, WRC_V_PAPER, &b);
	near(a.latency_ns - b.latency_ns, 7 * read, 1e-6);
	assert_int_equal(a.fetches - b.fetches, 7);
}

/* A WAIT for a WRITE costs what the WRITE takes; a READ is waited for anyway. */
static void waiting_costs(void **state)
{
	struct wrc_cost ours, papers;
	struct wrc_params slow = params;

	cost_of(ODRP_WIRE_MAPPED_STORE, WRC_V_OURS, &ours);
	cost_of(ODRP_WIRE_MAPPED_STORE, WRC_V_PAPER, &papers);
	assert_true(ours.latency_ns > papers.latency_ns);
	slow.v[WRC_P_PCIE] /= 4;
	params = slow;
	cost_of(ODRP_WIRE_MAPPED_STORE, WRC_V_OURS, &ours);
	assert_true(ours.chain_ns > papers.chain_ns +
		    4096 / (slow.v[WRC_P_PCIE] * slow.v[WRC_P_DLL]));
}

/* A NIC that fetches what is enabled at once needs one fetch per SEND_EN. */
static void batches(void **state)
{
	struct wrc_cost one, many;

	cost_of(ODRP_WIRE_UNMAPPED_STORE, WRC_V_RECYCLE_HELPER, &one);
	params.v[WRC_P_BATCH] = 64;
	cost_of(ODRP_WIRE_UNMAPPED_STORE, WRC_V_RECYCLE_HELPER, &many);
	/* FAA .. SEND_EN | take, SEND_EN | map, put, SEND_EN | answer */
	assert_int_equal(many.fetches, 4);
	near(one.latency_ns - many.latency_ns,
	     (one.fetches - many.fetches) * params.v[WRC_P_FETCH], 1e-6);
}

/* ---- many requests ---------------------------------------------------------------- */

static void alone_it_takes_its_latency(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		struct wrc_load l;
		struct wrc_cost c;

		cost_of(chain, WRC_V_PAPER, &c);
		wrc_model_load(&c, &params, 1, 1, 1, &l);
		near(l.latency_ns, c.latency_ns, 0.01);
		near(l.mops, 1e3 / c.latency_ns, 1e-6);
	}
}

/* Little's law, no station above 100 %, more queues never less (in the NIC). */
static void laws_of_queues(void **state)
{
	static const unsigned int queues[] = { 1, 2, 5, 20, 100, 352 };

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		enum wrc_station first;
		struct wrc_cost c;
		double most, last = 0;

		cost_of(chain, WRC_V_OURS, &c);
		most = wrc_model_saturation(&c, &params, &first);
		for (unsigned int i = 0; i < 6; i++) {
			struct wrc_load l;

			wrc_model_load(&c, &params, queues[i], 1, 63, &l);
			near(l.mops * l.latency_ns / 1e3, 63. * queues[i],
			     63. * queues[i] * 1e-3);
			assert_true(l.use[l.first] <= 1.001);
			assert_true(l.mops <= most * 1.001);
			assert_true(l.mops >= last * 0.999);
			last = l.mops;
			if (!i)
				assert_int_equal(l.first, WRC_ST_QUEUE);
		}
		near(last, most, most * 0.01);
	}
}

#define SIM_QUEUES 32
#define SIM_WINDOW 7

/*
 * The same network, simulated: own server, shared server, the rest of the way;
 * all times fixed, first come first served.  Requests per ns.
 */
static double simulate(unsigned int queues, unsigned int window, double own,
		       double shared, double way)
{
	double at[SIM_QUEUES * SIM_WINDOW], queue_free[SIM_QUEUES] = { 0 };
	unsigned int n = queues * window, done = 0, goal = 2000 * n;
	bool at_shared[SIM_QUEUES * SIM_WINDOW] = { false };
	double shared_free = 0, start = 0, now = 0;

	for (unsigned int i = 0; i < n; i++)
		at[i] = i;
	while (done < goal) {
		unsigned int next = 0, q;
		double *server;

		for (unsigned int i = 1; i < n; i++)
			if (at[i] < at[next])
				next = i;
		now = at[next];
		q = next % queues;
		server = at_shared[next] ? &shared_free : &queue_free[q];
		if (*server < now)
			*server = now;
		*server += at_shared[next] ? shared : own;
		at[next] = *server;
		if (at_shared[next]) {
			at[next] += way;
			if (++done == goal / 2)
				start = now;
		}
		at_shared[next] = !at_shared[next];
	}
	return (goal - goal / 2) / (now - start);
}

/* Where nothing or everything is busy the same; between, never optimistic. */
static void against_simulation(void **state)
{
	static const unsigned int queues[] = { 1, 2, 4, 8, 16, 32 };
	const double own = 3200, shared = 383, way = 2400;
	struct wrc_cost c = {
		.busy_ns = own, .link_out = shared * 12.5,
		.latency_ns = own + shared + way,
	};

	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int w = 1; w <= SIM_WINDOW; w += 3) {
			double sim = simulate(queues[i], w, own, shared, way);
			struct wrc_load l;

			wrc_model_load(&c, &params, queues[i], 1, w, &l);
			if (l.mops / 1e3 > 1.01 * sim ||
			    l.mops / 1e3 < 0.8 * sim)
				fail_msg("%u queues, %u each: %.3f M/s, simulated %.3f",
					 queues[i], w, l.mops, sim * 1e3);
		}
}

/* Contexts that do not fit cost throughput. */
static void too_many_queues(void **state)
{
	struct wrc_load few, many;
	struct wrc_cost c;

	cost_of(ODRP_WIRE_LOAD, WRC_V_OURS, &c);
	wrc_model_load(&c, &params, 300, 1, 63, &few);
	wrc_model_load(&c, &params, 4000, 1, 63, &many);
	assert_true(many.mops < 0.95 * few.mops);
	params.v[WRC_P_QP_CACHE] = 1e6;
	wrc_model_load(&c, &params, 4000, 1, 63, &many);
	near(many.mops, few.mops, 0.01 * few.mops);
}

/* Figure 10 in words: the unmapped store is the slowest, the load the fastest. */
static void order_of_figure_10(void **state)
{
	struct wrc_cost c[3], one;
	enum wrc_station st;
	double x[3];

	for (int chain = 0; chain < 3; chain++) {
		cost_of(chain, WRC_V_PAPER, &c[chain]);
		x[chain] = wrc_model_saturation(&c[chain], &params, &st);
	}
	wrc_model_onesided(&params, &one);
	assert_true(wrc_model_saturation(&one, &params, &st) > x[0]);
	assert_true(x[ODRP_WIRE_LOAD] > x[ODRP_WIRE_MAPPED_STORE]);
	assert_true(x[ODRP_WIRE_MAPPED_STORE] > x[ODRP_WIRE_UNMAPPED_STORE]);
}

/* As the agent arms it, but for the variant; or the client alone, by a key. */
static void ordered_cost(enum odrp_wire_chain chain, enum wrc_variant variant,
			 enum wrc_order order, struct wrc_cost *ret_cost)
{
	struct wrc_opts opts = {
		.strict_index = true, .variant = variant,
		.recycle = WRC_RECYCLE_NODE, .order = order,
	};
	struct wrc_prog prog;

	if (!wrc_variant_has(variant, chain)) {
		wrc_model_keyed(chain == ODRP_WIRE_LOAD, &params, ret_cost);
		return;
	}
	assert_int_equal(wrc_any_build(chain, &opts, &prog), 0);
	wrc_model_cost(&prog, &params, ret_cost);
}

static void node_cost(enum odrp_wire_chain chain, enum wrc_variant variant,
		      struct wrc_cost *ret_cost)
{
	ordered_cost(chain, variant, WRC_ORDER_WAIT, ret_cost);
}

/* Is a parameter that much of what it is: the sweep's exceptions. */
static bool swept(int i, enum wrc_param param, double factor)
{
	static const double factors[] = { 0.5, 2 };

	return i / 2 == (int)param && factors[i % 2] == factor;
}

/* What docs/results/chains-cost.md concludes from the sweep, of what is armed on any card. */
static void order_survives_the_sweep(void **state)
{
	static const double factors[] = { 0.5, 2 };

	for (int i = 0; i < 2 * WRC_NR_PARAMS; i++) {
		struct wrc_cost copy[2], exchange[2], papers[2];
		enum wrc_station st;
		bool fewer = swept(i, WRC_P_PCIE, 2) ||
			     swept(i, WRC_P_DLL, 2) ||
			     swept(i, WRC_P_WQE_RATE, 0.5) ||
			     swept(i, WRC_P_ATOMIC_RATE, 0.5);

		wrc_params_init(&params);
		params.v[i / 2] *= factors[i % 2];
		for (int k = 0; k < 2; k++) {
			int chain = k ? ODRP_WIRE_UNMAPPED_STORE :
					ODRP_WIRE_MAPPED_STORE;

			node_cost(chain, WRC_V_OURS, &copy[k]);
			node_cost(chain, WRC_V_EXCHANGE, &exchange[k]);
			cost_of(chain, WRC_V_PAPER, &papers[k]);
			assert_int_equal(fewer && k,
				wrc_model_saturation(&exchange[k], &params,
						     &st) <
				0.999 * wrc_model_saturation(&copy[k], &params,
							     &st));
		}
		assert_true(exchange[1].latency_ns < copy[1].latency_ns);
		assert_true(exchange[1].latency_ns < papers[1].latency_ns);
		assert_int_equal(exchange[0].latency_ns > copy[0].latency_ns,
				 swept(i, WRC_P_ATOMIC, 2));
		assert_int_equal(exchange[0].latency_ns < papers[0].latency_ns,
				 swept(i, WRC_P_FETCH, 2) ||
				 swept(i, WRC_P_READ, 2) ||
				 swept(i, WRC_P_ATOMIC, 0.5));
	}
}

static double rate(const struct wrc_cost *c)
{
	enum wrc_station st;

	return wrc_model_saturation(c, &params, &st);
}

/* All there is to choose from, of one chain. */
struct choice {
	struct wrc_cost keyed;
	struct wrc_cost chains[2];	/* as armed: with WAITs; with fences */
	struct wrc_cost papers;
};

static void choice_cost(int chain, struct choice *ret)
{
	bool store = chain == ODRP_WIRE_MAPPED_STORE ||
		     chain == ODRP_WIRE_UNMAPPED_STORE;
	enum wrc_variant v = store ? WRC_V_EXCHANGE : WRC_V_OURS;

	ordered_cost(chain, WRC_V_KEYED, WRC_ORDER_FENCE, &ret->keyed);
	ordered_cost(chain, v, WRC_ORDER_WAIT, &ret->chains[0]);
	ordered_cost(chain, v, WRC_ORDER_FENCE, &ret->chains[1]);
	cost_of(chain, WRC_V_PAPER, &ret->papers);
}

/* By how much the keyed one is faster than the fastest of the others. */
static double gain_ns(const struct choice *c)
{
	return fmin(fmin(c->chains[0].latency_ns, c->chains[1].latency_ns),
		    c->papers.latency_ns) - c->keyed.latency_ns;
}

/* Load and mapped store, the client's own: sooner, and more of them. */
static void keys_win(bool fetch_halved)
{
	struct wrc_cost one;

	wrc_model_onesided(&params, &one);
	for (int chain = 0; chain < 2; chain++) {
		struct choice c;

		choice_cost(chain, &c);
		assert_true(gain_ns(&c) > 900);
		assert_int_equal(gain_ns(&c) < 1100,
				 chain == ODRP_WIRE_LOAD && fetch_halved);
		assert_true(rate(&c.keyed) > 1.01 * rate(&c.chains[0]));
		assert_true(rate(&c.keyed) > 1.01 * rate(&c.chains[1]));
		assert_true(rate(&c.keyed) > 0.95 * rate(&one));
		if (chain == ODRP_WIRE_LOAD)
			assert_true(rate(&c.keyed) > 0.97 * rate(&one));
	}
}

/* What changes a key: later than any of our chains, and never more of them. */
static void keys_lose(bool as_paper, bool fewer)
{
	struct choice c;

	choice_cost(ODRP_WIRE_UNMAPPED_STORE, &c);
	for (int k = 0; k < 2; k++)
		assert_true(c.keyed.latency_ns > c.chains[k].latency_ns + 2500);
	assert_int_equal(c.keyed.latency_ns < c.papers.latency_ns, as_paper);
	assert_true(rate(&c.keyed) < 1.001 * rate(&c.chains[0]));
	assert_int_equal(rate(&c.keyed) < 0.999 * rate(&c.chains[1]), fewer);

	choice_cost(ODRP_WIRE_INVALIDATE, &c);
	for (int k = 0; k < 2; k++)
		assert_true(c.keyed.latency_ns > c.chains[k].latency_ns + 1900);
	assert_true(c.keyed.latency_ns > c.papers.latency_ns);
}

/* The same of what is armed on a NIC that is known. */
static void keys_survive_the_sweep(void **state)
{
	static const double factors[] = { 0.5, 2 };

	for (int i = 0; i < 2 * WRC_NR_PARAMS; i++) {
		wrc_params_init(&params);
		params.v[i / 2] *= factors[i % 2];
		/* No PCIe link has more than all. */
		if (swept(i, WRC_P_DLL, 2))
			continue;
		keys_win(swept(i, WRC_P_FETCH, 0.5));
		keys_lose(swept(i, WRC_P_FETCH, 2) ||
			  swept(i, WRC_P_READ, 0.5) ||
			  swept(i, WRC_P_ATOMIC, 2) ||
			  swept(i, WRC_P_UMR, 0.5),
			  swept(i, WRC_P_PCIE, 0.5) ||
			  swept(i, WRC_P_DLL, 0.5) ||
			  swept(i, WRC_P_TLP, 2) ||
			  swept(i, WRC_P_MPS, 0.5) ||
			  swept(i, WRC_P_WQE_RATE, 0.5) ||
			  swept(i, WRC_P_ATOMIC_RATE, 2));
	}
}

/* Beyond the sweep, since nothing is known of these two. */
static void what_is_assumed_of_keys(void **state)
{
	double ksm = params.v[WRC_P_KSM];
	struct choice c[2];

	/* Five times as much before a chain is faster; six, one with WAITs. */
	for (int times = 4; times < 6; times++) {
		params.v[WRC_P_KSM] = (times + 0.9) * ksm;
		for (int chain = 0; chain < 2; chain++) {
			choice_cost(chain, &c[chain]);
			assert_int_equal(gain_ns(&c[chain]) > 0,
					 times == 4 ||
					 chain == ODRP_WIRE_MAPPED_STORE);
			assert_true(c[chain].keyed.latency_ns <
				    c[chain].chains[0].latency_ns);
		}
	}
	/* A UMR that is for nothing makes no store the faster one. */
	params.v[WRC_P_UMR] = 1e-3;
	choice_cost(ODRP_WIRE_UNMAPPED_STORE, &c[0]);
	assert_true(c[0].keyed.latency_ns > c[0].chains[0].latency_ns + 2500);
}

/* A ring's counter holds up its own CNode only. */
static void rings_are_apart(void **state)
{
	struct wrc_load one, many;
	struct wrc_cost c;

	node_cost(ODRP_WIRE_UNMAPPED_STORE, WRC_V_EXCHANGE, &c);
	params.v[WRC_P_ATOMIC_SAME] *= 4;
	wrc_model_load(&c, &params, 1, 32, 63, &one);
	wrc_model_load(&c, &params, 32, 1, 63, &many);
	assert_int_equal(one.first, WRC_ST_HOT);
	assert_int_not_equal(many.first, WRC_ST_HOT);
	assert_true(many.mops > 1.5 * one.mops);
}

static void fences_save_waits(void **state)
{
	static const enum wrc_variant variants[] = {
		WRC_V_OURS, WRC_V_EXCHANGE, WRC_V_KEYED,
	};

	for (int i = 0; i < 3 * ODRP_WIRE_NR_CHAINS; i++) {
		enum wrc_variant v = variants[i % 3];
		struct wrc_cost waits, fences;

		if (!wrc_variant_has(v, i / 3))
			continue;
		ordered_cost(i / 3, v, WRC_ORDER_WAIT, &waits);
		ordered_cost(i / 3, v, WRC_ORDER_FENCE, &fences);
		assert_true(fences.waits < waits.waits);
		assert_true(fences.latency_ns < waits.latency_ns);
		assert_int_equal(fences.wrs, waits.wrs);
	}
}

/* ---- the paper ----------------------------------------------------------------------- */

static void parameters_are_the_fit(void **state)
{
	struct wrc_params far = params;

	for (int i = 0; i < WRC_NR_PARAMS; i++)
		if (wrc_param_defs[i].fitted)
			far.v[i] = 1000;
	assert_int_equal(wrc_model_fit(&far), 0);
	for (int i = 0; i < WRC_NR_PARAMS; i++)
		near(far.v[i], params.v[i], 0.06);
}

/* As many numbers as parameters, each hit; the others not far off. */
static void errors_are_known(void **state)
{
	struct wrc_obs obs[WRC_NR_OBS];
	int fitted = 0, chosen = 0;

	for (int i = 0; i < WRC_NR_PARAMS; i++)
		chosen += wrc_param_defs[i].fitted;
	assert_int_equal(wrc_model_observe(&params, obs), 0);
	for (int i = 0; i < WRC_NR_OBS; i++) {
		fitted += obs[i].fitted;
		near(obs[i].model / obs[i].paper, 1,
		     obs[i].fitted ? 0.001 : 0.26);
	}
	assert_int_equal(fitted, chosen);
}

static void nothing_to_tell_apart(void **state)
{
	/* A page that takes for ever hides all else. */
	params.v[WRC_P_LINK] = 1e-300;
	assert_true(wrc_model_fit(&params) < 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paper_load_by_hand),
		TEST(onesided_by_hand),
		TEST(stores_copy_a_page),
		TEST(steps_add_up),
		TEST(waiting_costs),
		TEST(batches),
		TEST(alone_it_takes_its_latency),
		TEST(laws_of_queues),
		TEST(against_simulation),
		TEST(too_many_queues),
		TEST(order_of_figure_10),
		TEST(order_survives_the_sweep),
		TEST(keys_survive_the_sweep),
		TEST(what_is_assumed_of_keys),
		TEST(rings_are_apart),
		TEST(fences_save_waits),
		TEST(parameters_are_the_fit),
		TEST(errors_are_known),
		TEST(nothing_to_tell_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
