// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-hwcheck: compares chains on an mlx5 card with the software NIC, and asks the card
 * what only hardware can answer.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <nic/verdict.h>
#include "check.h"

#define EXIT_SAME	0
#define EXIT_DIFFERENT	1
#define EXIT_NO_CARD	77	/* "skipped" for test runners */

const char *argp_program_version = "odrp-hwcheck " VERSION;

/**
 * struct args - the command line
 * @save:	where the report is kept: a file, or a directory if it ends with a slash;
 *		NULL: nowhere
 * @ordering:	PCI_WR_ORDERING, a VERDICT_* word
 */
struct args {
	struct nic_mlx5_opts opts;
	bool json;
	const char *save;
	const char *ordering;
};

/* DEVICE has the syntax of the agent's setting nic=; only report= is for the agent alone. */
static void parse_device(char *arg, struct nic_mlx5_opts *opts,
			 struct argp_state *state)
{
	char why[NIC_MLX5_WHY_MAX];

	if (state->arg_num)
		argp_error(state, "%s: expected one device", arg);
	if (!strncmp(arg, "mlx5:", 5))
		arg += 5;
	if (nic_mlx5_parse(arg, opts, why))
		argp_error(state, "%s", why);
	if (strcmp(opts->report, verdict_dir))
		argp_error(state, "report= says what odrp-mnoded reads; "
			   "expected --save=PATH");
}

/* The number, the word, and both as mlxconfig prints them. */
static const struct {
	const char *text, *ordering;
} orderings[] = {
	{ "0", VERDICT_PER_MKEY }, { "per_mkey", VERDICT_PER_MKEY },
	{ "per_mkey(0)", VERDICT_PER_MKEY },
	{ "1", VERDICT_FORCE_RELAX }, { "force_relax", VERDICT_FORCE_RELAX },
	{ "force_relax(1)", VERDICT_FORCE_RELAX },
};

static void parse_ordering(const char *arg, struct args *args, struct argp_state *state)
{
	size_t i;

	for (i = 0; i < sizeof(orderings) / sizeof(orderings[0]); i++) {
		if (!strcasecmp(arg, orderings[i].text)) {
			args->ordering = orderings[i].ordering;
			return;
		}
	}
	argp_error(state, "--wr-ordering=%s: expected per_mkey or force_relax, as "
		   "mlxconfig -d DEVICE query PCI_WR_ORDERING prints it", arg);
}

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'j':
		args->json = true;
		return 0;
	case 's':
		args->save = arg ? arg : verdict_dir;
		if (!*args->save)
			argp_error(state, "--save=: expected a path");
		return 0;
	case 'w':
		parse_ordering(arg, args, state);
		return 0;
	case ARGP_KEY_ARG:
		parse_device(arg, &args->opts, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "the report as one JSON object" },
	{ "save", 's', "PATH", OPTION_ARG_OPTIONAL, "keep the report, for "
	  "odrp-mnoded (" LOCALSTATEDIR "/lib/odrp/hwcheck/DEVICE.json)" },
	{ "wr-ordering", 'w', "VALUE", 0, "what mlxconfig -d DEVICE query "
	  "PCI_WR_ORDERING prints: per_mkey or force_relax" },
	{ NULL },
};

static const struct argp argp = {
	.options = options, .parser = parse_arg,
	.args_doc = "[DEVICE[,port=N][,gid=N][,strict=yes|no]]",
	.doc = "Runs every chain program on an mlx5 card and on the software "
	       "NIC with the same inputs, compares memory, completions and "
	       "order, and asks the card what no document says."
	       "\vWithout DEVICE, the first mlx5 device. Exit status: 0 all "
	       "programs did the same and what is relied on holds, 1 not so "
	       "or the card cannot run them, 64 wrong arguments, 77 no card. See "
	       "odrp-hwcheck(8).",
};

static int report_print(const struct args *args, struct json_object *report)
{
	if (args->json)
		puts(json_object_to_json_string_ext(report,
				JSON_C_TO_STRING_PRETTY));
	else
		check_print(report, stdout);
	return fflush(stdout) ? -errno : 0;
}

static void report_conclude(struct json_object *report, const char *result)
{
	json_object_object_add(report, "result",
			       json_object_new_string(result));
}

/* Reports that there is no card, and why. */
static int card_absent(const struct args *args, const char *why)
{
	struct json_object *report;

	fprintf(stderr, "odrp-hwcheck: %s; nothing was checked\n", why);
	if (args->json) {
		report = json_object_new_object();
		json_object_object_add(report, "device", NULL);
		report_conclude(report, why);
		report_print(args, report);
		json_object_put(report);
	}
	return EXIT_NO_CARD;
}

/* Opens both sides, compares them and closes them.  -errno, with a sentence in why. */
static int sides_compare(const struct args *args, struct json_object *report,
			 bool *ret_same, char why[NIC_MLX5_WHY_MAX])
{
	struct check check = {
		.ordered = !strcmp(args->ordering, VERDICT_PER_MKEY),
	};
	struct side card, soft;
	int r;

	if (!strcmp(args->ordering, VERDICT_FORCE_RELAX)) {
		snprintf(why, NIC_MLX5_WHY_MAX,
			 "PCI_WR_ORDERING is force_relax: the card's writes come "
			 "in any order, and chains rely on theirs. mlxconfig -d "
			 "DEVICE set PCI_WR_ORDERING=0, then reset the card.");
		return -EOPNOTSUPP;
	}
	r = side_mlx5_open(&args->opts, &wrc_mlx5_devx, &card, why);
	if (r)
		return r;
	r = side_soft_open(args->opts.strict, &soft);
	if (r) {
		snprintf(why, NIC_MLX5_WHY_MAX,
			 "cannot make a software NIC: %s", strerror(-r));
		goto close_card;
	}
	r = check_programs(&card, &soft, report, &check);
	if (!r)
		r = check_questions(&card, &soft, report, &check);
	if (!r)
		*ret_same = check_judge(&check, report);
	else
		snprintf(why, NIC_MLX5_WHY_MAX, "cannot compare: %s",
			 strerror(-r));
	side_close(&soft);
close_card:
	side_close(&card);
	return r;
}

/* Saves the report, if --save is given; prints a failure. */
static int save_report(const struct args *args, struct json_object *report)
{
	char path[VERDICT_PATH_MAX], why[NIC_MLX5_WHY_MAX];
	struct json_object *device;
	int r;

	if (!args->save)
		return 0;
	json_object_object_get_ex(report, "device", &device);
	r = verdict_path(args->save, json_object_get_string(device), path);
	if (r)
		snprintf(why, sizeof(why), "--save=%.200s: %s", args->save,
			 strerror(-r));
	else
		r = check_save(report, path, why);
	if (r)
		fprintf(stderr, "odrp-hwcheck: %s\n", why);
	return r;
}

/* Replaces the card's saved report first: an older one must not count if this check fails. */
static int report_invalidate(const struct args *args, struct json_object *report)
{
	int r;

	json_object_object_add(report, "error", json_object_new_string(
			"The check has not come to its end."));
	r = save_report(args, report);
	json_object_object_del(report, "error");
	return r;
}

static int device_check(const struct args *args, struct json_object *report)
{
	char why[NIC_MLX5_WHY_MAX];
	bool same = false;
	int r;

	if (report_invalidate(args, report))
		return EXIT_DIFFERENT;
	r = sides_compare(args, report, &same, why);
	if (r)
		json_object_object_add(report, "error",
				       json_object_new_string(why));
	check_enough(report, !r && same);
	report_conclude(report, r ? "Nothing could be compared." :
			same ? "Every program that may be armed did the same on both, "
			"and what is relied on holds." :
			"The card and the software NIC differ.");
	r = save_report(args, report);
	if (report_print(args, report))
		r = -EIO;
	return !r && same ? EXIT_SAME : EXIT_DIFFERENT;
}

int main(int argc, char **argv)
{
	struct args args = {
		.opts = { .port = 1, .strict = true },
		.ordering = VERDICT_NOT_TOLD,
	};
	char why[NIC_MLX5_WHY_MAX];
	struct json_object *report;
	struct wrc_mlx5 dev;
	int r;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	r = wrc_mlx5_probe(&wrc_mlx5_devx, args.opts.device, &dev, why);
	if (r == -ENODEV)
		return card_absent(&args, why);
	if (r) {
		fprintf(stderr, "odrp-hwcheck: %s\n", why);
		return EXIT_DIFFERENT;
	}
	r = check_describe(&dev, &args.opts, args.ordering, &report);
	wrc_mlx5_close(&dev);
	if (r) {
		fprintf(stderr, "odrp-hwcheck: out of memory\n");
		return EXIT_DIFFERENT;
	}
	r = device_check(&args, report);
	json_object_put(report);
	return r;
}
