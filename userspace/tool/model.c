// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * far bench model: the model against the paper's points, with what was fitted and what
 * only checks it; the fit itself; how conclusions depend on parameters.
 */
#include "far.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/fit.h"
#include "../bench/model.h"
#include "../bench/sweep.h"
#include "progress.h"

#define MAX_POINTS	1024u
#define FIT_ROUNDS	200u	/* trials for each of the two sets of parameters */

struct options {
	const char *profile;
	const char *figure;	/* NULL: all */
	const char *csv;
	int fit, sweep, summary;
	unsigned every;
};

enum { OPT_PROFILE = 256, OPT_FIGURE, OPT_CSV, OPT_FIT, OPT_SWEEP, OPT_SUMMARY,
       OPT_EVERY };

static const struct argp_option argp_options[] = {
	{ "profile", OPT_PROFILE, "PROFILE", 0,
	  "name or path, ,NAME=VALUE behind it (cx6-200)", 0 },
	{ "figure", OPT_FIGURE, "NAME", 0, "only points of figures "
	  "whose names begin so; or throttling: that alone", 0 },
	{ "every", OPT_EVERY, "N", 0, "only each N-th point, for a quick look (1)", 0 },
	{ "summary", OPT_SUMMARY, NULL, 0, "only errors of sets of points, not each", 0 },
	{ "csv", OPT_CSV, "FILE", 0, "each point as a line; '-' is the standard output", 0 },
	{ "sweep", OPT_SWEEP, NULL, 0,
	  "half and twice each parameter: what that does to the conclusions", 0 },
	{ "fit", OPT_FIT, NULL, 0, "fit the parameters on the points for that, and print "
	  "them; takes a quarter of an hour", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

#define THROTTLING	"throttling"	/* a name for --figure */

static int model_figure(const char *prefix)
{
	const struct model_point *p = model_points;

	if (!strcmp(prefix, THROTTLING))
		return 1;
	while (p->figure && strncmp(p->figure, prefix, strlen(prefix)))
		p++;
	return p->figure != NULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_PROFILE:
		o->profile = far_arg_profile(state, "--profile", arg);
		break;
	case OPT_FIGURE:
		if (!model_figure(arg))
			argp_error(state, "--figure '%s': 3, 4, 13, 13a, 13b or "
				   "throttling expected", arg);
		o->figure = arg;
		break;
	case OPT_CSV:
		o->csv = far_arg_output(state, "--csv", arg);
		break;
	case OPT_EVERY:
		o->every = far_arg_number(state, "--every", arg, 1, MAX_POINTS, 0);
		break;
	case OPT_SUMMARY:
		o->summary = 1;
		break;
	case OPT_SWEEP:
		o->sweep = 1;
		break;
	case OPT_FIT:
		o->fit = 1;
		break;
	case ARGP_KEY_SUCCESS:
		if (o->fit && o->sweep)
			argp_error(state, "--fit and --sweep: one of them expected");
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument expected, but '%s' is there", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* One point and what the model says. */
struct outcome {
	const struct model_point *point;
	double mops;
};

struct outcomes {
	struct outcome o[MAX_POINTS];
	unsigned nr;
};

static double outcome_error(const struct outcome *o)
{
	return o->mops / o->point->mops - 1;
}

/* What far bench model demands of a set of points. */
struct target {
	const char *title;
	int (*counts)(const struct model_point *point);
	double within_25, within_40, median;	/* shares and error; 0: none */
};

static int is_reads(const struct model_point *p)
{
	return !strcmp(p->op, "read") && !p->throttle;
}

static int is_fitted(const struct model_point *p)
{
	return p->fitted;
}

static int is_checked(const struct model_point *p)
{
	return is_reads(p) && !p->fitted;
}

/* 96 threads of depth 16 are not monotone in the paper. */
static int is_monotone(const struct model_point *p)
{
	return is_reads(p) && (strcmp(p->figure, "4") || p->threads != 96 || p->depth != 16);
}

static int is_3_read(const struct model_point *p)
{
	return is_reads(p) && !strcmp(p->figure, "3");
}

static int is_4_read(const struct model_point *p)
{
	return is_reads(p) && !strcmp(p->figure, "4");
}

static int is_13(const struct model_point *p)
{
	return is_reads(p) && !strncmp(p->figure, "13", 2);
}

static int is_throttled(const struct model_point *p)
{
	return p->throttle;
}

static int is_3_write(const struct model_point *p)
{
	return !strcmp(p->op, "write") && !strcmp(p->figure, "3");
}

static int is_4_write(const struct model_point *p)
{
	return !strcmp(p->op, "write") && !strcmp(p->figure, "4");
}

static const struct target targets[] = {
	{ "fitted", is_fitted, 0, 0, 0 },
	{ "checked READ", is_checked, 0, 0, 0 },
	{ "3 READ", is_3_read, 0, 0, 0 },
	{ "4 READ", is_4_read, 0, 0, 0 },
	{ "13", is_13, 0, 0, 0 },
	{ "3, 4 READ, 13", is_reads, .95, 0, .12 },
	{ "the same but 96x16", is_monotone, 0, 1, 0 },
	{ "3 WRITE", is_3_write, .90, 0, 0 },
	{ "4 WRITE", is_4_write, 0, 0, 0 },
	{ "13 throttled", is_throttled, 0, 0, 0 },
};

/* Prints one line; whether the target is reached. */
static int print_target(const struct outcomes *all, const struct target *target)
{
	double error[MAX_POINTS];
	struct model_errors e;
	unsigned i, nr = 0;
	int demands = target->within_25 || target->within_40 || target->median, met;

	for (i = 0; i < all->nr; i++)
		if (target->counts(all->o[i].point))
			error[nr++] = fabs(outcome_error(&all->o[i]));
	if (!nr)
		return 1;
	model_errors(error, nr, &e);
	met = e.within_25 >= target->within_25 * nr && e.within_40 >= target->within_40 * nr &&
	      (!target->median || e.median <= target->median);
	printf("%-20s %4u %8.1f%% %8.1f%% %7.1f%% %7.1f%%  %s\n", target->title, nr,
	       100.0 * e.within_25 / nr, 100.0 * e.within_40 / nr, 100 * e.median,
	       100 * e.worst, !demands ? "" : met ? "reached" : "MISSED");
	return met;
}

static int print_summary(const struct outcomes *all)
{
	unsigned i;
	int met = 1;

	printf("\n%-20s %4s %9s %9s %8s %8s\n", "points of figures", "nr", "in 25 %",
	       "in 40 %", "median", "worst");
	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		met &= print_target(all, &targets[i]);
	return met;
}

/* Shares of the best fixed depth that throttling has to reach. */
#define STEADY_SHARE	.95
#define CHANGING_SHARE	.87

static int print_throttled(const char *load, const struct model_throttled *t,
			   double share)
{
	int met = t->mops >= share * t->best_mops;

	printf("%-24s %6u %9.1f %9.1f (%2u) %8.1f%%  %s\n", load, t->depth, t->mops,
	       t->best_mops, t->best_depth, 100 * t->mops / t->best_mops,
	       met ? "reached" : "MISSED");
	return met;
}

/* 1: all targets are reached; 0; or -errno. */
static int print_throttling(const char *nic, char *why, size_t why_len)
{
	static const unsigned depths[] = { 16, 32, 64 };
	struct model_throttled t;
	unsigned i;
	int err, met = 1;

	printf("\n%-24s %6s %9s %14s %9s\n", "throttling (model)", "batch", "Mop/s",
	       "best (depth)", "of best");
	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		err = model_throttling(nic, depths[i], why, why_len, &t);
		if (err)
			return err;
		met &= print_throttled("96 threads", &t, STEADY_SHARE);
	}
	err = model_changing(nic, why, why_len, &t);
	return err ? err : met & print_throttled("36 to 96, changing", &t, CHANGING_SHARE);
}

static void print_point(const struct outcome *o)
{
	const struct model_point *p = o->point;

	printf("%-4s %-5s %-20s %3u x %-3u %8.3f %8.3f %+6.1f%%  %s\n", p->figure, p->op,
	       p->throttle ? "throttled" : p->policy, p->threads, p->depth, p->mops,
	       o->mops, 100 * outcome_error(o), p->fitted ? "fitted" : "checked");
}

static bool point_is_wanted(const struct options *o, const struct model_point *p)
{
	return !o->figure || !strncmp(p->figure, o->figure, strlen(o->figure));
}

static unsigned nr_wanted(const struct options *o)
{
	const struct model_point *p;
	unsigned nr = 0;

	for (p = model_points; p->figure; p++)
		nr += point_is_wanted(o, p);
	return nr;
}

/* Publishes how much is done in *percent. */
static void run_points(const char *name, const struct options *o, struct outcomes *all,
		       atomic_uint *percent)
{
	const struct model_point *p;
	char nic[FIT_SET_MAX], why[256] = "";
	unsigned nr = 0, wanted = nr_wanted(o);

	snprintf(nic, sizeof(nic), "sim:%s", o->profile);
	if (o->figure && !strcmp(o->figure, THROTTLING))
		return;
	if (!o->summary)
		printf("%-4s %-5s %-20s %9s %8s %8s %7s\n", "fig", "op", "policy",
		       "threads", "paper", "model", "error");
	for (p = model_points; p->figure && all->nr < MAX_POINTS; p++) {
		struct outcome *outcome = &all->o[all->nr];

		if (!point_is_wanted(o, p))
			continue;
		*percent = nr * 100 / wanted;
		if (nr++ % o->every)
			continue;
		outcome->point = p;
		if (model_run(p, nic, why, sizeof(why), &outcome->mops)) {
			fprintf(stderr, "%s: %s\n", name, why);
			exit(1);
		}
		all->nr++;
		if (!o->summary) {
			print_point(outcome);
			fflush(stdout);
		}
	}
}

static int write_csv(const char *name, const struct options *o,
		     const struct outcomes *all)
{
	FILE *out = strcmp(o->csv, "-") ? fopen(o->csv, "w") : stdout;
	unsigned i;
	int err = 0;

	if (!out) {
		fprintf(stderr, "%s: %s: %s\n", name, o->csv, strerror(errno));
		return 1;
	}
	fprintf(out, "figure,op,policy,threads,depth,throttle,fitted,paper_mops,model_mops\n");
	for (i = 0; i < all->nr; i++) {
		const struct model_point *p = all->o[i].point;

		err |= fprintf(out, "%s,%s,%s,%u,%u,%d,%d,%g,%.4g\n", p->figure, p->op,
			       p->policy, p->threads, p->depth, p->throttle, p->fitted,
			       p->mops, all->o[i].mops) < 0;
	}
	if (out != stdout)
		err |= fclose(out) != 0;
	if (err)
		fprintf(stderr, "%s: %s: cannot write\n", name, o->csv);
	return err;
}

static int run_all(const char *name, const struct options *o)
{
	static struct outcomes all;
	static atomic_uint percent;
	struct progress progress;
	char nic[FIT_SET_MAX], why[256] = "";
	int met, throttled = 1;
	int started = o->summary && !progress_start(&progress, "running all points",
						    &percent);

	run_points(name, o, &all, &percent);
	if (started)
		progress_stop(&progress);
	if (o->csv && write_csv(name, o, &all))
		return 1;
	met = !all.nr || print_summary(&all);
	if (o->figure ? !strcmp(o->figure, THROTTLING) : o->every == 1) {
		snprintf(nic, sizeof(nic), "sim:%s", o->profile);
		started = !progress_start(&progress, "running throttled loads",
					  NULL);
		throttled = print_throttling(nic, why, sizeof(why));
		if (started)
			progress_stop(&progress);
	}
	if (throttled < 0)
		fprintf(stderr, "%s: %s\n", name, why);
	printf("paper: ConnectX-6 200 Gb/s; model: profile %s; errors are |model / paper - 1|\n",
	       o->profile);
	return met && throttled > 0 ? 0 : 1;
}

/* The processor's and the cache's parameters are fitted without locks first. */
static int without_locks(const struct model_point *p)
{
	return !strcmp(p->policy, "per-thread-doorbell");
}

static int with_locks(const struct model_point *p)
{
	return !without_locks(p);
}

static const char *const cost_params[] = {
	"poll_ns", "rtt_ns", "wqe_slots", "wqe_miss_op_ns", "slow_threads", "build_ns",
	"mmio_ns", "cqe_ns", "rtt_thread_ns", "wqe_miss_ns", NULL,
};

static const char *const lock_params[] = {
	"spin_base_ns", "spin_ns", "spin_power", "spin_barge", "line_ns", "qp_change_ns",
	"cq_change_ns", NULL,
};

static void fit_report(const void *arg, unsigned round, double error, const char *set)
{
	printf("%s, trial %u: error %.4f: %s\n", (const char *)arg, round, error, set);
	fflush(stdout);
}

static int run_fit(const char *name, const struct options *o)
{
	struct fit fit = {
		.profile = o->profile,
		.params = cost_params,
		.counts = without_locks,
		.rounds = FIT_ROUNDS,
		.report = fit_report,
		.arg = "costs",
	};
	char set[FIT_SET_MAX], profile[FIT_SET_MAX + 128], why[256] = "";
	int err = fit_run(&fit, set, why, sizeof(why));

	if (!err) {
		snprintf(profile, sizeof(profile), "%s,%s", o->profile, set);
		fit.profile = profile;
		fit.params = lock_params;
		fit.counts = with_locks;
		fit.arg = "locks";
		err = fit_run(&fit, set, why, sizeof(why));
	}
	if (err)
		fprintf(stderr, "%s: %s\n", name, why);
	return err ? 1 : 0;
}

static void sweep_report(void *arg, const char *param, double value, double factor,
			 const double *mops)
{
	unsigned i;

	if (param)
		printf("%-18s %10.4g x %-4g", param, value, factor);
	else
		printf("%-18s %10s   %-4s", "as it is", "", "");
	for (i = 0; i < SWEEP_NR; i++)
		printf(" %8.2f", mops[i]);
	printf(" %8.1f\n", mops[SWEEP_DOORBELL] / mops[SWEEP_THREAD_QP]);
	fflush(stdout);
}

static int run_sweep(const char *name, const struct options *o)
{
	char why[256] = "";
	unsigned i;
	int err;

	printf("%-18s %17s", "parameter", "");
	for (i = 0; i < SWEEP_NR; i++)
		printf(" %8s", sweep_titles[i]);
	printf(" %8s\n", "db/qp");
	err = sweep_run(o->profile, sweep_report, NULL, why, sizeof(why));
	if (err)
		fprintf(stderr, "%s: %s\n", name, why);
	else
		printf("READs of 8 bytes, Mop/s, model: one queue pair shared by 96, queue "
		       "pairs each,\ndoorbells each at 96 x 8, 96 x 32; db/qp: a doorbell "
		       "each over queue pairs each\n");
	return err ? 1 : 0;
}

int far_bench_model(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse_option, NULL,
		"Runs the model of sim at the points that smart-framework measured, and "
		"prints the errors: of the points that the parameters were fitted on, and "
		"of all others. Exits with 1 if a target is missed.",
		NULL, NULL, NULL,
	};
	struct options o = { .profile = "cx6-200", .every = 1 };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.fit)
		return run_fit(argv[0], &o);
	if (o.sweep)
		return run_sweep(argv[0], &o);
	return run_all(argv[0], &o);
}
