// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads profiles. */
#include "profile.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../conf.h"
#include "sim.h"

struct param {
	const char *name;
	size_t off;
	double min, max;
	double missing;		/* what it is if the file has no line of it; NAN: an error */
};

#define PARAM(field, min, max) \
	{ #field, offsetof(struct sim_profile, field), min, max, NAN }
#define OPTIONAL(field, min, max, missing) \
	{ #field, offsetof(struct sim_profile, field), min, max, missing }

static const struct param params[] = {
	PARAM(build_ns, 0, 1e6),
	PARAM(mmio_ns, 0, 1e6),
	PARAM(poll_ns, 0, 1e6),
	PARAM(poll_empty_ns, 1, 1e6),
	PARAM(cqe_ns, 0, 1e6),
	PARAM(slow_threads, 1, 1e9),
	PARAM(spend_slow_threads, 1, 1e9),
	PARAM(spin_base_ns, 0, 1e6),
	PARAM(spin_ns, 0, 1e6),
	PARAM(spin_power, 0, 2),
	PARAM(spin_barge, 0, 1),
	PARAM(line_ns, 0, 1e6),
	PARAM(qp_change_ns, 0, 1e6),
	PARAM(cq_change_ns, 0, 1e6),
	PARAM(low_latency, 0, 1024),
	PARAM(shared, 1, 1024),
	PARAM(read_op_ns, 0, 1e6),
	PARAM(write_op_ns, 0, 1e6),
	PARAM(rd_atomic, 1, 65536),
	PARAM(rtt_ns, 1, 1e9),
	PARAM(rtt_thread_ns, 0, 1e6),
	PARAM(wqe_slots, 1, 1e9),
	PARAM(wqe_miss_op_ns, 0, 1e6),
	PARAM(wqe_miss_ns, 0, 1e6),
	PARAM(write_cliff, 1, 1e9),
	PARAM(write_cliff_op_ns, 0, 1e6),
	PARAM(dram_bytes, 0, 1e6),
	PARAM(dram_miss_bytes, 0, 1e6),
	PARAM(mtt_contexts, 1, 1e9),
	PARAM(mtt_miss_op_ns, 0, 1e6),
	PARAM(node_op_ns, 0, 1e6),
	PARAM(node_base_ns, 0, 1e6),
	PARAM(byte_ns, 0, 1e3),
	PARAM(atomic_same_ns, 0, 1e6),
	PARAM(link_byte_ns, 0, 1e3),
	PARAM(link_head_bytes, 0, 1e4),
	PARAM(dead_ns, 1, 1e12),
	OPTIONAL(wake_ns, 0, 1e6, 0),
	OPTIONAL(serve_first, 0, 1, 0),
	OPTIONAL(qp_slots, 0, 1e6, 0),
	OPTIONAL(qp_miss_op_ns, 0, 1e6, 0),
	OPTIONAL(qp_miss_ns, 0, 1e6, 0),
	OPTIONAL(recv_ns, 0, 1e6, 0),
	OPTIONAL(recv_cqe_ns, 0, 1e6, 0),
	OPTIONAL(mtu, 1, 1e6, 4096),
};

#define NR_PARAMS (sizeof(params) / sizeof(params[0]))

_Static_assert(NR_PARAMS * sizeof(double) == sizeof(struct sim_profile),
	       "each parameter has its line");

static double *param_at(const struct sim_profile *profile, size_t i)
{
	return (double *)((char *)profile + params[i].off);
}

/* The index of a parameter; NR_PARAMS: no parameter has this name. */
static size_t param_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_PARAMS && strcmp(name, params[i].name); i++)
		;
	return i;
}

/* Sets a parameter by name. -ENOENT: no such parameter; -EINVAL: an invalid value. */
static int profile_set(struct sim_profile *profile, const char *name, const char *value,
		       char *why, size_t why_len)
{
	size_t i = param_find(name);
	double number;
	char *end;

	if (i == NR_PARAMS) {
		snprintf(why, why_len, "%s: no parameter of a profile; expected one of "
			 "those in cx5-100.ini", name);
		return -ENOENT;
	}
	number = strtod(value, &end);
	if (end == value || *end || !(number >= params[i].min && number <= params[i].max)) {
		snprintf(why, why_len, "%s=%s: expected a number from %g to %g", name,
			 value, params[i].min, params[i].max);
		return -EINVAL;
	}
	*param_at(profile, i) = number;
	return 0;
}

const char *sim_profile_param(size_t i)
{
	return i < NR_PARAMS ? params[i].name : NULL;
}

int sim_profile_get(const struct sim_profile *profile, const char *name,
		    double *ret_value)
{
	size_t i = param_find(name);

	if (i == NR_PARAMS)
		return -ENOENT;
	*ret_value = *param_at(profile, i);
	return 0;
}

struct load {
	struct sim_profile *profile;
	char *why;
	size_t why_len;
	int err;
};

static int load_line(void *arg, const char *section, const char *name, const char *value)
{
	struct load *load = arg;

	if (!load->err)
		load->err = profile_set(load->profile, name, value, load->why,
					    load->why_len);
	return !load->err;
}

/* Checks that the file has set all parameters, but for those that may be missing. */
static int load_check(const struct load *load)
{
	size_t i;

	for (i = 0; i < NR_PARAMS; i++)
		if (isnan(*param_at(load->profile, i))) {
			snprintf(load->why, load->why_len, "%s is missing",
				 params[i].name);
			return -EINVAL;
		}
	return 0;
}

/* Returns what inih does: 0, -1 (no such file or profile), or the number of a bad line. */
static int load_parse(const char *spec, struct load *load)
{
	const char *const *text;
	struct stat st;

	if (strchr(spec, '/') && !stat(spec, &st) && S_ISDIR(st.st_mode))
		return -1;
	if (strchr(spec, '/'))
		return ini_parse(spec, load_line, load);
	for (text = sim_profile_texts; *text; text += 2)
		if (!strcmp(spec, text[0]))
			return ini_parse_string(text[1], load_line, load);
	return -1;
}

/* Sets the parameters of a list NAME=VALUE,... */
static int params_set(struct sim_profile *profile, const char *list, char *why,
		      size_t why_len)
{
	struct far_conf_word word;
	int err;

	while ((err = far_conf_next(&list, &word)) > 0) {
		if (!word.value) {
			snprintf(why, why_len, "%s: expected NAME=VALUE", word.name);
			return -EINVAL;
		}
		err = profile_set(profile, word.name, word.value, why, why_len);
		if (err)
			return -EINVAL;
	}
	return err;
}

const char *far_sim_profile_name(size_t i)
{
	const char *const *text = sim_profile_texts;

	while (*text && i--)
		text += 2;
	return *text;
}

/* Complains about a profile that does not exist. */
static int load_missing(const char *spec, char *why, size_t why_len)
{
	char names[128] = "";
	const char *name;
	size_t i, len = 0;

	for (i = 0; (name = far_sim_profile_name(i)) && len < sizeof(names); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
				name);
	snprintf(why, why_len, "sim: profile '%s' is not there: expected %s, or a path "
		 "with a '/'", spec, names);
	return -ENOENT;
}

int sim_profile_load(const char *spec_list, struct sim_profile *ret_profile, char *why,
		     size_t why_len)
{
	size_t len = strcspn(spec_list, ",");
	char spec[PATH_MAX];
	struct sim_profile profile;
	struct load load = { .profile = &profile, .why = why, .why_len = why_len };
	size_t i;
	int line;

	snprintf(spec, sizeof(spec), "%.*s", (int)len, spec_list);
	for (i = 0; i < NR_PARAMS; i++)
		*param_at(&profile, i) = params[i].missing;
	line = load_parse(spec, &load);
	if (line < 0)
		return load_missing(spec, why, why_len);
	if (!load.err && line) {
		snprintf(why, why_len, "%s: line %d: expected NAME = NUMBER", spec, line);
		return -EINVAL;
	}
	if (!load.err)
		load.err = load_check(&load);
	if (!load.err && spec_list[len])
		load.err = params_set(&profile, spec_list + len + 1, why, why_len);
	if (load.err)
		return -EINVAL;
	*ret_profile = profile;
	return 0;
}
