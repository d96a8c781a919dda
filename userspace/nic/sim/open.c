// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sim as a back end: configuration string (see sim.h), and table. */
#include "cluster.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../conf.h"

#define DEFAULT_PROFILE	"cx6-200"
#define DEFAULT_SPACE	(UINT64_C(64) << 30)
#define SET_MAX		1024u

/* A parsed configuration string. */
struct open {
	struct far_sim_attr attr;
	char profile[FAR_CONF_WORD_MAX + 1];
	char set[SET_MAX];
	int cn;			/* a compute node of the last cluster; -1: a new cluster */
	char *why;
	size_t why_len;
};

/* A word NAME=VALUE. off: for numbers, the offset of the field in struct open. */
struct setting {
	const char *name;
	int (*set)(struct open *open, const struct setting *setting, const char *value);
	size_t off;
};

static int complain(const struct open *open, const char *name, const char *value,
		    const char *expected)
{
	snprintf(open->why, open->why_len, "%s%s%s: expected %s", name,
		 value ? "=" : "", value ? value : "", expected);
	return -EINVAL;
}

/* Parses a decimal number, which may end with K, M, G or T. */
static int parse_number(const char *text, uint64_t *ret_number)
{
	static const char suffixes[] = "KMGT";
	char *end;
	unsigned long long number;
	const char *suffix;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (errno || (*end && (!suffix || end[1])))
		return -EINVAL;
	*ret_number = number << (suffix ? 10 * (suffix - suffixes + 1) : 0);
	return 0;
}

static int set_adversary(struct open *open, const struct setting *setting,
			 const char *value)
{
	while (*value) {
		size_t len = strcspn(value, "+");
		const struct far_sim_fault *fault = far_sim_atlas;

		while (fault->bit && (strncmp(value, fault->name, len) ||
				      fault->name[len]))
			fault++;
		if (!fault->bit)
			return complain(open, setting->name, value,
					"tear, delay, break, with '+' between them");
		open->attr.adversary |= fault->bit;
		value += len;
		value += *value == '+';
	}
	return 0;
}

static int open_param(struct open *open, const char *name, const char *value)
{
	size_t len = strlen(open->set);

	if ((size_t)snprintf(open->set + len, SET_MAX - len, "%s%s=%s", len ? "," : "",
			     name, value) >= SET_MAX - len)
		return complain(open, name, value, "less in one configuration");
	return 0;
}

static int set_u64(struct open *open, const struct setting *setting, const char *value)
{
	uint64_t number = 0;

	if (parse_number(value, &number))
		return complain(open, setting->name, value, "a number");
	*(uint64_t *)((char *)open + setting->off) = number;
	return 0;
}

/* The field may be an int, too: the number is at most INT32_MAX. */
static int set_unsigned(struct open *open, const struct setting *setting,
			const char *value)
{
	uint64_t number = 0;

	if (parse_number(value, &number))
		return complain(open, setting->name, value, "a number");
	if (number > INT32_MAX)
		return complain(open, setting->name, value, "a smaller number");
	*(unsigned *)((char *)open + setting->off) = number;
	return 0;
}

static const struct setting settings[] = {
	{ "adversary", set_adversary, 0 },
	{ "cn", set_unsigned, offsetof(struct open, cn) },
	{ "cns", set_unsigned, offsetof(struct open, attr.cns) },
	{ "mns", set_unsigned, offsetof(struct open, attr.mns) },
	{ "seed", set_u64, offsetof(struct open, attr.seed) },
	{ "space", set_u64, offsetof(struct open, attr.max_space) },
};

/* A word without a value is the profile; a word that is no setting is a parameter of it. */
static int open_word(struct open *open, const struct far_conf_word *word)
{
	size_t i;

	if (!word->value) {
		snprintf(open->profile, sizeof(open->profile), "%s", word->name);
		return 0;
	}
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(word->name, settings[i].name))
			return settings[i].set(open, &settings[i], word->value);
	return open_param(open, word->name, word->value);
}

static int open_parse(struct open *open, const char *conf)
{
	struct far_conf_word word;
	int err;

	while ((err = far_conf_next(&conf, &word)) > 0) {
		err = open_word(open, &word);
		if (err)
			return err;
	}
	if (err)
		return complain(open, conf, NULL, "words with ',' between them");
	return 0;
}

static int open_last(const struct open *open, struct far_nic **ret_nic)
{
	struct far_sim *sim = sim_last();

	if (!sim || (unsigned)open->cn >= sim->attr.cns) {
		snprintf(open->why, open->why_len, "cn=%d: this thread has made no "
			 "cluster with that compute node", open->cn);
		return -ENODEV;
	}
	*ret_nic = far_sim_nic(sim, open->cn);
	return 0;
}

static int sim_open(const char *conf, char *why, size_t why_len, struct far_nic **ret_nic)
{
	struct open open = {
		.attr = {
			.profile = open.profile,
			.set = open.set,
			.cns = 1,
			.mns = 1,
			.seed = 1,
			.max_space = DEFAULT_SPACE,
			.scale = 1,
		},
		.profile = DEFAULT_PROFILE,
		.cn = -1,
		.why = why,
		.why_len = why_len,
	};
	struct far_sim *sim;
	int err = open_parse(&open, conf);

	if (err)
		return err;
	if (open.cn >= 0)
		return open_last(&open, ret_nic);
	err = far_sim_new(&open.attr, why, why_len, &sim);
	if (err)
		return err == -ENOENT ? -EINVAL : err;
	sim->owned = 1;
	*ret_nic = far_sim_nic(sim, 0);
	return 0;
}

static void sim_close(struct far_nic *nic)
{
	struct sim_cn *cn = sim_cn_of(nic);

	if (cn->sim->owned && !cn->idx)
		far_sim_free(cn->sim);
}

static uint64_t sim_now(struct far_nic *nic)
{
	return sim_local_now(sim_cn_of(nic)->sim);
}

static void sim_spend(struct far_nic *nic, uint64_t ns)
{
	struct sim_cn *cn = sim_cn_of(nic);

	cn->sim->current->lag += ns * cn->spend_slow + 0.5;
}

const struct far_nic_ops far_sim_ops = {
	.name = "sim",
	.summary = "A cluster in virtual time; its numbers are a model's.",
	.caps = FAR_NIC_CAP_VIRTUAL | FAR_NIC_CAP_SHARED | FAR_NIC_CAP_PEER_DEATH |
		FAR_NIC_CAP_BOUNDS | FAR_NIC_CAP_IMM | FAR_NIC_CAP_HEARS |
		FAR_NIC_CAP_DATAGRAMS,
	.call = &sim_call_ops,
	.host = &sim_host_ops,
	.open = sim_open,
	.close = sim_close,
	.mr_reg = sim_mr_reg,
	.mr_dereg = sim_mr_dereg,
	.attach = sim_attach,
	.detach = sim_detach,
	.claim = sim_claim,
	.unclaim = sim_unclaim,
	.fence = sim_fence,
	.qset_new = sim_qset_new,
	.qset_free = sim_qset_free,
	.connect = sim_connect,
	.post = sim_post,
	.poll = sim_poll,
	.now = sim_now,
	.spend = sim_spend,
	.wait = sim_wait,
	.wake = sim_wake,
	.thread_start = sim_thread_start,
	.thread_join = sim_thread_join,
	.address = sim_address,
	.stats = sim_qset_stats,
};
