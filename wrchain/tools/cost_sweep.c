// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `wrc cost --sweep`: what conclusions rest on, with other parameters. */
#include "cost.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The origin of the chains, what is armed or the paper's, and its name in rows. */
enum whose { ANY, KNOWN, PAPER, NR_WHOSE };
static const char *const whose_names[] = { "armed", "known", "paper_chain" };

static struct wrc_opts opts_of(const struct wrc_cmd *cmd, enum whose whose,
			       int chain)
{
	switch (whose) {
	case ANY:
		return cost_armed(cmd, WRC_ARMED_ANY, chain);
	case KNOWN:
		return cost_armed(cmd, WRC_ARMED_KNOWN, chain);
	default:
		return (struct wrc_opts) { .variant = WRC_V_PAPER };
	}
}

static const char *const short_names[] = { "load", "mapped", "unmapped" };
#define NR_CHAINS ARRAY_LEN(short_names)

static void add_rate(struct json_object *o, const char *name, double rate,
		     const char *unit, enum wrc_station st)
{
	char key[48];

	snprintf(key, sizeof(key), "model_%s_%s", name, unit);
	cost_add(o, key, rate);
	snprintf(key, sizeof(key), "model_%s_saturates", name);
	cost_add_text(o, key, wrc_station_name(st));
}

/* What a node carries of one that is armed. */
static void add_rates(struct json_object *o, size_t chain, enum whose whose,
		      const struct wrc_cost *c, const struct wrc_params *p)
{
	enum wrc_station st, any;
	double rate = wrc_model_saturation(c, p, &st);
	struct wrc_cost one;
	char name[24];

	snprintf(name, sizeof(name), "%s%s", short_names[chain],
		 whose == KNOWN ? "_known" : "");
	if (chain != ODRP_WIRE_LOAD) {
		add_rate(o, name, rate, "mops", st);
		return;
	}
	wrc_model_onesided(p, &one);
	add_rate(o, name, 100 * rate / wrc_model_saturation(&one, p, &any),
		 "share_percent", st);
}

/* For one set of parameters. */
static int sweep_conclusions(const struct wrc_cmd *cmd,
			     const struct wrc_params *p,
			     struct json_object *o)
{
	for (size_t chain = 0; chain < NR_CHAINS; chain++)
		for (int k = 0; k < NR_WHOSE; k++) {
			struct wrc_opts opts = opts_of(cmd, k, chain);
			struct cost_prog prog;
			struct wrc_cost c;
			char key[48];
			int status = cost_build(chain, &opts, &prog);

			if (status)
				return status;
			cost_of(&prog, p, &c);
			snprintf(key, sizeof(key), "model_%s_%s_us",
				 short_names[chain], whose_names[k]);
			cost_add(o, key, c.latency_ns / 1e3);
			if (k != PAPER)
				add_rates(o, chain, k, &c, p);
		}
	return 0;
}

static int sweep_row(const struct wrc_cmd *cmd, const struct wrc_params *base,
		     int param, double factor, struct json_object *rows)
{
	struct json_object *o = json_object_new_object();
	struct wrc_params p = *base;

	if (param >= 0)
		p.v[param] *= factor;
	cost_add_text(o, "parameter",
		      param < 0 ? "(none)" : wrc_param_defs[param].name);
	cost_add(o, "factor", factor);
	json_object_array_add(rows, o);
	return sweep_conclusions(cmd, &p, o);
}

int cost_sweep_rows(const struct wrc_cmd *cmd, const struct wrc_params *p,
		    struct json_object **ret_rows)
{
	static const double factors[] = { 0.5, 2 };
	int status;

	*ret_rows = json_object_new_array();
	status = sweep_row(cmd, p, -1, 1, *ret_rows);
	for (int i = 0; i < WRC_NR_PARAMS; i++)
		for (size_t j = 0; !status && j < ARRAY_LEN(factors); j++)
			/* No PCIe link has more than all. */
			if (i != WRC_P_DLL || factors[j] < 1)
				status = sweep_row(cmd, p, i, factors[j],
						   *ret_rows);
	return status;
}

void cost_sweep_print(struct json_object *rows)
{
	static const struct cost_column times[] = {
		{ "parameter", "parameter", -11, 0 },
		{ "factor", "times", 5, 1 },
		{ "model_load_armed_us", "load", 6, 2 },
		{ "model_load_known_us", "known", 6, 2 },
		{ "model_load_paper_chain_us", "paper's", 7, 2 },
		{ "model_mapped_armed_us", "mapped", 8, 2 },
		{ "model_mapped_known_us", "known", 6, 2 },
		{ "model_mapped_paper_chain_us", "paper's", 7, 2 },
		{ "model_unmapped_armed_us", "unmapped", 9, 2 },
		{ "model_unmapped_known_us", "known", 6, 2 },
		{ "model_unmapped_paper_chain_us", "paper's", 7, 2 },
	};
	static const struct cost_column rates[] = {
		{ "parameter", "parameter", -11, 0 },
		{ "factor", "times", 5, 1 },
		{ "model_load_share_percent", "load %", 6, 1 },
		{ "model_load_saturates", "at", -11, 0 },
		{ "model_load_known_share_percent", "known", 5, 1 },
		{ "model_load_known_saturates", "at", -11, 0 },
		{ "model_mapped_mops", "map M/s", 7, 2 },
		{ "model_mapped_saturates", "at", -11, 0 },
		{ "model_mapped_known_mops", "known", 5, 2 },
		{ "model_mapped_known_saturates", "at", -11, 0 },
		{ "model_unmapped_mops", "unm M/s", 7, 2 },
		{ "model_unmapped_saturates", "at", -11, 0 },
		{ "model_unmapped_known_mops", "known", 5, 2 },
		{ "model_unmapped_known_saturates", "at", -11, 0 },
	};

	cost_table("one parameter halved and doubled; model us of what is armed, on a "
		   "card of which nothing is known and on a NIC that is known, and of "
		   "the paper's chains",
		   rows, times, ARRAY_LEN(times));
	printf("\n");
	cost_table("the same; what a node carries of what is armed, load %: of "
		   "one-sided throughput",
		   rows, rates, ARRAY_LEN(rates));
}
