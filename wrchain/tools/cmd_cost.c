// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `wrc cost`: what programs cost, in the model and in the paper; see cost.h. */
#include <math.h>
#include <stdlib.h>
#include "cost.h"
#include "paper/paper.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

const char *const wrc_armed_names[WRC_NR_ARMED] = {
	[WRC_ARMED_ANY] = "armed",
	[WRC_ARMED_KNOWN] = "armed-known",
};

/* As mnode/manager.c settles it. */
struct wrc_opts cost_armed(const struct wrc_cmd *cmd, enum wrc_armed nic,
			   int chain)
{
	bool store = chain == ODRP_WIRE_MAPPED_STORE ||
		     chain == ODRP_WIRE_UNMAPPED_STORE;
	bool known = nic == WRC_ARMED_KNOWN;

	return (struct wrc_opts) {
		.strict_index = cmd->strict,
		.variant = known ? WRC_V_KEYED :
			   store ? WRC_V_EXCHANGE : WRC_V_OURS,
		.recycle = WRC_RECYCLE_NODE,
		.order = known ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
	};
}

static struct wrc_opts opts_asked_for(const struct wrc_cmd *cmd, int variant)
{
	return (struct wrc_opts) {
		.strict_index = cmd->strict &&
				!wrc_variant_is_rung(variant),
		.variant = variant,
		.recycle = wrc_variant_must_recycle(variant) ?
				   WRC_RECYCLE_NODE :
			   wrc_variant_is_rung(variant) ?
				   WRC_RECYCLE_CLIENT : cmd->recycle,
		.order = cmd->order,
	};
}

int cost_build(int chain, const struct wrc_opts *opts, struct cost_prog *ret)
{
	int err;

	ret->variant = opts->variant;
	ret->alone = !wrc_variant_has(opts->variant, chain);
	err = wrc_any_build(chain, ret->alone ? NULL : opts, &ret->prog);
	if (err)
		return wrc_fail("program %d, %s: %s", chain,
				wrc_variant_name(opts->variant),
				strerror(-err));
	return 0;
}

static int add_armed(const struct wrc_cmd *cmd, enum wrc_armed nic, int chain,
		     struct cost_prog *progs, unsigned int *nr)
{
	struct wrc_opts opts = cost_armed(cmd, nic, chain);
	struct cost_prog *c = &progs[(*nr)++];

	c->armed = true;
	snprintf(c->name, sizeof(c->name), "%s", wrc_armed_names[nic]);
	return cost_build(chain, &opts, c);
}

static int add_variant(const struct wrc_cmd *cmd, int variant, int chain,
		       struct cost_prog *progs, unsigned int *nr)
{
	struct wrc_opts opts = opts_asked_for(cmd, variant);
	struct cost_prog *c = &progs[(*nr)++];

	snprintf(c->name, sizeof(c->name), "%s%s", wrc_variant_name(variant),
		 opts.order == WRC_ORDER_FENCE ? "/fence" : "");
	return cost_build(chain, &opts, c);
}

bool cost_one(const struct wrc_cmd *cmd)
{
	return cmd->armed || cmd->one_variant || cmd->recycle || cmd->order;
}

/* What is armed, and each variant; or the one that is asked for. */
static int add_chain(const struct wrc_cmd *cmd, int chain,
		     struct cost_prog *progs, unsigned int *nr)
{
	bool one = cost_one(cmd);
	int n, v, status = 0;

	for (n = WRC_ARMED_ANY; !status && n < WRC_NR_ARMED; n++)
		if (!one || n == (int)cmd->armed)
			status = add_armed(cmd, n, chain, progs, nr);
	for (v = 0; !status && !cmd->armed && v < WRC_NR_VARIANTS; v++)
		if (!one || v == (int)cmd->variant)
			status = add_variant(cmd, v, chain, progs, nr);
	return status;
}

int cost_programs(const struct wrc_cmd *cmd, struct cost_prog *progs,
		  unsigned int *ret_nr)
{
	bool wanted[ODRP_WIRE_NR_CHAINS] = { false };
	unsigned int nr = 0;
	int i, status = 0;

	for (i = 0; i < cmd->nr_files; i++) {
		int chain = wrc_chain_of(cmd->files[i]);

		if (chain < 0)
			return 2;
		wanted[chain] = true;
	}
	for (i = 0; !status && i < ODRP_WIRE_NR_CHAINS; i++)
		if (!cmd->nr_files || wanted[i])
			status = add_chain(cmd, i, progs, &nr);
	*ret_nr = nr;
	return status;
}

void cost_of(const struct cost_prog *cp, const struct wrc_params *p,
	     struct wrc_cost *ret_cost)
{
	if (cp->alone)
		wrc_model_keyed(cp->prog.chain == ODRP_WIRE_LOAD, p, ret_cost);
	else
		wrc_model_cost(&cp->prog, p, ret_cost);
}

/* ---- programs ------------------------------------------------------------- */

static void add_counts(struct json_object *o, const struct wrc_cost *c)
{
	cost_add(o, "wrs_path", c->wrs_path);
	cost_add(o, "wrs", c->wrs);
	cost_add(o, "controls_path", c->controls_path);
	cost_add(o, "waits", c->waits);
	cost_add(o, "send_ens", c->send_ens);
	cost_add(o, "atomics", c->atomics);
	cost_add(o, "sges", c->sges);
	cost_add(o, "recv_sges", c->recv_sges);
	cost_add(o, "words", c->words);
	cost_add(o, "request_bytes", c->request_bytes);
	cost_add(o, "wqe_bytes", c->wqe_bytes);
	cost_add(o, "pcie_in_bytes", c->pcie_in);
	cost_add(o, "pcie_out_bytes", c->pcie_out);
	cost_add(o, "page_copies", c->copies);
	cost_add(o, "dependent_fetches", c->fetches);
}

/* The same for any number of instances. */
static void add_recv(struct json_object *o, const struct wrc_prog *prog)
{
	struct wrc_geom geom;

	if (!wrc_geom_init(prog, 4, &geom))
		cost_add(o, "recv_bytes", 1u << geom.log_rq_stride);
}

/* What one request takes of each station. */
static struct json_object *demand_object(const struct wrc_cost *c,
					 const struct wrc_params *p)
{
	struct json_object *o = json_object_new_object();
	double ns[WRC_NR_STATIONS];

	wrc_model_demand(c, p, 1, ns);
	for (int i = 0; i < WRC_NR_STATIONS; i++)
		cost_add(o, wrc_station_name((enum wrc_station)i), ns[i]);
	return o;
}

static void add_model(struct json_object *o, const struct wrc_cost *c,
		      const struct wrc_params *p)
{
	enum wrc_station first;

	cost_add(o, "model_latency_us", c->latency_ns / 1e3);
	cost_add(o, "model_slot_us", c->slot_ns / 1e3);
	cost_add(o, "model_queue_busy_us", c->busy_ns / 1e3);
	cost_add(o, "model_saturation_mops",
		 wrc_model_saturation(c, p, &first));
	cost_add_text(o, "model_saturates", wrc_station_name(first));
	json_object_object_add(o, "model_demand_ns", demand_object(c, p));
}

static struct json_object *program_row(const struct cost_prog *cp,
				       const struct wrc_params *p)
{
	struct json_object *o = json_object_new_object();
	double paper = wrc_model_paper_us((enum odrp_wire_chain)cp->prog.chain,
					  cp->variant);
	struct wrc_cost c;

	cost_of(cp, p, &c);
	cost_add_text(o, "program", cp->prog.name);
	cost_add_text(o, "variant", cp->name);
	json_object_object_add(o, "strict",
			       json_object_new_boolean(cp->prog.strict));
	add_counts(o, &c);
	if (!cp->alone)
		add_recv(o, &cp->prog);
	add_model(o, &c, p);
	if (paper > 0)
		cost_add(o, "paper_latency_us", paper);
	return o;
}

static const struct cost_column program_columns[] = {
	{ "program", "program", -14, 0 },
	{ "variant", "variant", -14, 0 },
	{ "wrs_path", "path", 4, 0 },
	{ "wrs", "WRs", 3, 0 },
	{ "waits", "wait", 4, 0 },
	{ "send_ens", "en", 2, 0 },
	{ "atomics", "atom", 4, 0 },
	{ "sges", "sge", 3, 0 },
	{ "dependent_fetches", "fetch", 5, 0 },
	{ "page_copies", "copy", 4, 0 },
	{ "wqe_bytes", "wqe B", 5, 0 },
	{ "request_bytes", "req B", 5, 0 },
	{ "recv_bytes", "rqe B", 5, 0 },
	{ "pcie_in_bytes", "pcie in", 7, 0 },
	{ "pcie_out_bytes", "out B", 6, 0 },
	{ "model_latency_us", "model us", 8, 2 },
	{ "model_slot_us", "slot us", 7, 2 },
	{ "paper_latency_us", "paper us", 8, 1 },
	{ "model_saturation_mops", "model M/s", 9, 2 },
	{ "model_saturates", "at", -12, 0 },
};

static int program_rows(const struct wrc_cmd *cmd, const struct wrc_params *p,
			struct json_object **ret_rows)
{
	struct cost_prog *progs = calloc(COST_MAX_PROGS, sizeof(*progs));
	struct json_object *rows = json_object_new_array();
	unsigned int i, nr = 0;
	int status;

	if (!progs)
		status = wrc_fail("no memory");
	else
		status = cost_programs(cmd, progs, &nr);
	for (i = 0; !status && i < nr; i++)
		json_object_array_add(rows, program_row(&progs[i], p));
	free(progs);
	*ret_rows = rows;
	return status;
}

/* ---- the model and the paper --------------------------------------------------- */

static struct json_object *param_rows(const struct wrc_params *p)
{
	struct json_object *rows = json_object_new_array();

	for (int i = 0; i < WRC_NR_PARAMS; i++) {
		const struct wrc_param_def *def = &wrc_param_defs[i];
		struct json_object *o = json_object_new_object();

		cost_add_text(o, "parameter", def->name);
		cost_add(o, "value", p->v[i]);
		cost_add_text(o, "unit", def->unit);
		json_object_object_add(o, "fitted",
				       json_object_new_boolean(def->fitted));
		cost_add_text(o, "source", def->source);
		json_object_array_add(rows, o);
	}
	return rows;
}

static const struct cost_column param_columns[] = {
	{ "parameter", "parameter", -12, 0 },	{ "value", "value", 9, 3 },
	{ "unit", "unit", -5, 0 },		{ "fitted", "fit", -4, 0 },
	{ "source", "from", -1, 0 },
};

/* By how much a number is off, in tenths, and never -0. */
static double percent(double got, double want)
{
	double tenths = round(1000 * (got / want - 1));

	return tenths == 0 ? 0 : tenths / 10;
}

static int obs_rows(const struct wrc_params *p, struct json_object **ret_rows)
{
	struct json_object *rows = json_object_new_array();
	struct wrc_obs obs[WRC_NR_OBS];
	int err = wrc_model_observe(p, obs);

	for (int i = 0; !err && i < WRC_NR_OBS; i++) {
		struct json_object *o = json_object_new_object();

		cost_add_text(o, "number", obs[i].name);
		cost_add_text(o, "unit", obs[i].unit);
		cost_add_text(o, "where", obs[i].where);
		cost_add(o, "paper", obs[i].paper);
		cost_add(o, "model", obs[i].model);
		cost_add(o, "error_percent", percent(obs[i].model,
						     obs[i].paper));
		json_object_object_add(o, "fitted",
				       json_object_new_boolean(obs[i].fitted));
		json_object_array_add(rows, o);
	}
	*ret_rows = rows;
	return err ? wrc_fail("the ladder: %s", strerror(-err)) : 0;
}

static const struct cost_column obs_columns[] = {
	{ "number", "number", -31, 0 },	       { "where", "in the paper", -12, 0 },
	{ "paper", "paper", 7, 1 },	       { "model", "model", 7, 2 },
	{ "error_percent", "error %", 8, 1 },  { "unit", "unit", -4, 0 },
	{ "fitted", "fitted", -6, 0 },
};

/* ---- all together --------------------------------------------------------------- */

#define PRINT(title, rows, columns)					\
	cost_table(title, rows, columns, ARRAY_LEN(columns))

static int costs_make(const struct wrc_cmd *cmd, const struct wrc_params *p,
		      struct json_object *all)
{
	bool loads = cmd->cnodes || cmd->queues;
	struct json_object *rows;
	int status = 0;

	json_object_object_add(all, "parameters", param_rows(p));
	if (cmd->fit) {
		status = obs_rows(p, &rows);
		json_object_object_add(all, "fit", rows);
	}
	if (!status && cmd->sweep) {
		status = cost_sweep_rows(cmd, p, &rows);
		json_object_object_add(all, "sweep", rows);
	}
	if (!status && loads) {
		status = cost_load_rows(cmd, p, &rows);
		json_object_object_add(all, "load", rows);
	}
	if (!status && !cmd->fit && !cmd->sweep && !loads) {
		status = program_rows(cmd, p, &rows);
		json_object_object_add(all, "programs", rows);
	}
	return status;
}

static void costs_print(struct json_object *all)
{
	struct json_object *rows;

	printf("model: computed for a ConnectX-5 class NIC, not run on hardware.  "
	       "paper: measured there.\n\n");
	if (json_object_object_get_ex(all, "programs", &rows))
		PRINT("one request; path: WRs before the answer, "
		      "fetch: WQEs fetched one after another, "
		      "slot: may be used again",
		      rows, program_columns);
	if (json_object_object_get_ex(all, "fit", &rows)) {
		PRINT("against the paper", rows, obs_columns);
		printf("\n");
		json_object_object_get_ex(all, "parameters", &rows);
		PRINT("parameters of the model", rows, param_columns);
	}
	if (json_object_object_get_ex(all, "sweep", &rows))
		cost_sweep_print(rows);
	if (json_object_object_get_ex(all, "load", &rows))
		cost_load_print(rows);
}

/* The model's parameters, with what somebody knows better. */
static int params_parse(const struct wrc_cmd *cmd,
			struct wrc_params *ret_params)
{
	wrc_params_init(ret_params);
	for (int i = 0; i < cmd->nr_params; i++) {
		const char *arg = cmd->params[i], *eq = strchr(arg, '=');
		int n = eq ? eq - arg : 0, k = 0;
		double value;
		char *end;

		while (k < WRC_NR_PARAMS &&
		       (strncmp(wrc_param_defs[k].name, arg, n) ||
			wrc_param_defs[k].name[n]))
			k++;
		if (k == WRC_NR_PARAMS)
			return wrc_fail("no parameter in '%s'; `wrc cost --fit` names them",
					arg);
		value = strtod(eq + 1, &end);
		if (end == eq + 1 || *end || !(value > 0) || value > 1e12)
			return wrc_fail("'%s': %s is a number above 0", arg,
					wrc_param_defs[k].name);
		ret_params->v[k] = value;
	}
	return 0;
}

int wrc_cmd_cost(const struct wrc_cmd *cmd)
{
	struct json_object *all = json_object_new_object();
	struct wrc_params p;
	int status;

	status = params_parse(cmd, &p);
	if (!status)
		status = costs_make(cmd, &p, all);
	if (!status && cmd->json) {
		wrc_print_json(all);
		return 0;
	}
	if (!status)
		costs_print(all);
	json_object_put(all);
	return status;
}
