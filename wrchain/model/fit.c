// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The model against the paper: its numbers, which of them choose parameters,
 * and the choice (Newton's method: as many numbers as parameters).
 */
#include <math.h>
#include "../paper/paper.h"
#include "model.h"

#define NR_FIT 5
#define ROUNDS 50

static const enum wrc_param fit_params[NR_FIT] = {
	WRC_P_RTT, WRC_P_FETCH, WRC_P_READ, WRC_P_ATOMIC, WRC_P_RECV,
};

enum {
	OBS_ONESIDED, OBS_LOAD, OBS_MAPPED, OBS_UNMAPPED,
	OBS_DECISION, OBS_CALC, OBS_RECYCLE, OBS_SWAP,
	OBS_TOTAL_NAIVE, OBS_TOTAL_DECISION, OBS_TOTAL_CALC, OBS_TOTAL_RECYCLE,
	OBS_LOAD_SHARE,
};

static const struct wrc_obs paper[WRC_NR_OBS] = {
	[OBS_ONESIDED] = { "one-sided 4 KB", "us", "Fig. 11", 2.9, 0, true },
	[OBS_LOAD] = { "load", "us", "Fig. 11", 5.5, 0, false },
	[OBS_MAPPED] = { "mapped store", "us", "Fig. 11", 4.6, 0, false },
	[OBS_UNMAPPED] = { "unmapped store", "us", "Fig. 12", 9.4, 0, true },
	[OBS_DECISION] = { "step StoreDecision: CAS, WRITE", "us", "sec. 5.4",
			   1.9, 0, true },
	[OBS_CALC] = { "step CalcTTAddr", "us", "sec. 5.4", 2.4, 0, true },
	[OBS_RECYCLE] = { "step RecycleHelper", "us", "sec. 5.4", 16, 0,
			  false },
	[OBS_SWAP] = { "step EndianSwap", "us", "sec. 5.4", 6.2, 0, true },
	[OBS_TOTAL_NAIVE] = { "rung naive", "us", "Fig. 12", 35.9, 0, false },
	[OBS_TOTAL_DECISION] = { "rung +StoreDecision", "us", "Fig. 12", 34.0,
				 0, false },
	[OBS_TOTAL_CALC] = { "rung +CalcTTAddr", "us", "Fig. 12", 31.6, 0,
			     false },
	[OBS_TOTAL_RECYCLE] = { "rung +RecycleHelper", "us", "Fig. 12", 15.6,
				0, false },
	[OBS_LOAD_SHARE] = { "load / one-sided throughput", "%", "Fig. 10",
			     92.1, 0, false },
};

double wrc_model_paper_us(enum odrp_wire_chain chain, enum wrc_variant variant)
{
	static const double rungs[WRC_NR_VARIANTS] = {
		[WRC_V_NAIVE] = 35.9, [WRC_V_STORE_DECISION] = 34.0,
		[WRC_V_CALC_TT_ADDR] = 31.6, [WRC_V_RECYCLE_HELPER] = 15.6,
		[WRC_V_PAPER] = 9.4,
	};

	if (chain == ODRP_WIRE_UNMAPPED_STORE)
		return rungs[variant];
	if (variant != WRC_V_PAPER)
		return 0;
	if (chain == ODRP_WIRE_LOAD)
		return paper[OBS_LOAD].paper;
	return chain == ODRP_WIRE_MAPPED_STORE ? paper[OBS_MAPPED].paper : 0;
}

static int latency(enum odrp_wire_chain chain, enum wrc_variant variant,
		   const struct wrc_params *p, double *ret_us,
		   struct wrc_cost *ret_cost)
{
	struct wrc_opts opts = { .variant = variant };
	struct wrc_prog prog;
	int err;

	err = wrc_any_build(chain, &opts, &prog);
	if (err)
		return err;
	wrc_model_cost(&prog, p, ret_cost);
	*ret_us = ret_cost->latency_ns / 1e3;
	return 0;
}

static int throughputs(const struct wrc_params *p,
		       const struct wrc_cost *load, double *ret_share)
{
	struct wrc_cost one;
	enum wrc_station st;

	wrc_model_onesided(p, &one);
	*ret_share = 100 * wrc_model_saturation(load, p, &st) /
		     wrc_model_saturation(&one, p, &st);
	return 0;
}

int wrc_model_observe(const struct wrc_params *p,
		      struct wrc_obs ret_obs[WRC_NR_OBS])
{
	double rung[WRC_NR_VARIANTS];
	struct wrc_obs *o = ret_obs;
	struct wrc_cost cost;
	int v, err = 0;

	memcpy(o, paper, sizeof(paper));
	for (v = WRC_V_NAIVE; !err && v <= WRC_V_PAPER; v++)
		err = latency(ODRP_WIRE_UNMAPPED_STORE, v, p, &rung[v], &cost);
	if (!err)
		err = latency(ODRP_WIRE_MAPPED_STORE, WRC_V_PAPER, p,
			      &o[OBS_MAPPED].model, &cost);
	if (!err)
		err = latency(ODRP_WIRE_LOAD, WRC_V_PAPER, p,
			      &o[OBS_LOAD].model, &cost);
	if (!err)
		err = throughputs(p, &cost, &o[OBS_LOAD_SHARE].model);
	if (err)
		return err;
	wrc_model_onesided(p, &cost);
	o[OBS_ONESIDED].model = cost.latency_ns / 1e3;
	o[OBS_UNMAPPED].model = rung[WRC_V_PAPER];
	o[OBS_DECISION].model = (wrc_model_step_ns(WRC_WQE_CS, p) +
				 wrc_model_step_ns(WRC_WQE_WRITE, p)) / 1e3;
	o[OBS_CALC].model = rung[WRC_V_STORE_DECISION] -
			    rung[WRC_V_CALC_TT_ADDR];
	o[OBS_RECYCLE].model = rung[WRC_V_CALC_TT_ADDR] -
			       rung[WRC_V_RECYCLE_HELPER];
	o[OBS_SWAP].model = rung[WRC_V_RECYCLE_HELPER] - rung[WRC_V_PAPER];
	o[OBS_TOTAL_NAIVE].model = rung[WRC_V_NAIVE];
	o[OBS_TOTAL_DECISION].model = rung[WRC_V_STORE_DECISION];
	o[OBS_TOTAL_CALC].model = rung[WRC_V_CALC_TT_ADDR];
	o[OBS_TOTAL_RECYCLE].model = rung[WRC_V_RECYCLE_HELPER];
	return 0;
}

/* Model less paper, of the fitted numbers. */
static int residuals(const struct wrc_params *p, double ret_r[NR_FIT])
{
	struct wrc_obs obs[WRC_NR_OBS];
	int i, n = 0, err = wrc_model_observe(p, obs);

	for (i = 0; !err && i < WRC_NR_OBS; i++)
		if (obs[i].fitted)
			ret_r[n++] = obs[i].model - obs[i].paper;
	return err;
}

/* Gauss, with the largest pivot of each column. */
static int solve(double a[NR_FIT][NR_FIT + 1], double ret_x[NR_FIT])
{
	int i, j, k;

	for (i = 0; i < NR_FIT; i++) {
		int best = i;

		for (j = i + 1; j < NR_FIT; j++)
			if (fabs(a[j][i]) > fabs(a[best][i]))
				best = j;
		if (fabs(a[best][i]) < 1e-12)
			return -EDOM;
		for (k = 0; k <= NR_FIT; k++) {
			double t = a[i][k];

			a[i][k] = a[best][k];
			a[best][k] = t;
		}
		for (j = 0; j < NR_FIT; j++) {
			double f = a[j][i] / a[i][i];

			for (k = i; j != i && k <= NR_FIT; k++)
				a[j][k] -= f * a[i][k];
		}
	}
	for (i = 0; i < NR_FIT; i++)
		ret_x[i] = a[i][NR_FIT] / a[i][i];
	return 0;
}

int wrc_model_fit(struct wrc_params *params)
{
	double r[NR_FIT], s[NR_FIT], x[NR_FIT], a[NR_FIT][NR_FIT + 1];
	int i, j, round, err = 0;

	for (round = 0; !err && round < ROUNDS; round++) {
		double worst = 0;

		err = residuals(params, r);
		for (j = 0; !err && j < NR_FIT; j++) {
			struct wrc_params q = *params;

			q.v[fit_params[j]] += 1;
			err = residuals(&q, s);
			for (i = 0; i < NR_FIT; i++)
				a[i][j] = s[i] - r[i];
		}
		for (i = 0; !err && i < NR_FIT; i++) {
			a[i][NR_FIT] = -r[i];
			worst = fmax(worst, fabs(r[i]));
		}
		if (!err && worst < 1e-9)
			return 0;
		if (!err)
			err = solve(a, x);
		for (i = 0; !err && i < NR_FIT; i++)
			params->v[fit_params[i]] += x[i];
	}
	return err ? err : -EDOM;
}
