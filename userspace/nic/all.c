/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back ends that are built in, and how a --nic argument selects one. */
#include "nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/why.h"
#include "conf.h"
#include "mem.h"
#include "share.h"
#include "sim/sim.h"
#include "soft.h"
#include "verbs.h"

const struct far_nic_ops *const far_nic_all[] = {
	&far_mem_ops,
	&far_soft_ops,
	&far_verbs_ops,
	&far_sim_ops,
	NULL,
};

static const struct far_nic_ops *ops_find(const char *name, size_t len)
{
	unsigned i;

	for (i = 0; far_nic_all[i]; i++) {
		const char *known = far_nic_all[i]->name;

		if (strlen(known) == len && !memcmp(known, name, len))
			return far_nic_all[i];
	}
	return NULL;
}

static const struct far_nic_ops *spec_ops(const char *spec, char *why, size_t why_len)
{
	size_t len = strcspn(spec, ":");
	const struct far_nic_ops *ops = ops_find(spec, len);
	unsigned i;
	int at;

	if (ops)
		return ops;
	at = snprintf(why, why_len, "no back end '%.*s'; there are:", (int)len, spec);
	for (i = 0; far_nic_all[i] && at >= 0 && (size_t)at < why_len; i++)
		at += snprintf(why + at, why_len - at, "%s %s", i ? "," : "",
			       far_nic_all[i]->name);
	return NULL;
}

int far_nic_check(const char *spec, char *why, size_t why_len)
{
	return spec_ops(spec, why, why_len) ? 0 : -ENOENT;
}

/* 1: the word is qps=N, and *ret_qps is N; 0: another word; -EINVAL: N is no such number. */
static int word_qps(const struct far_conf_word *word, unsigned *ret_qps)
{
	char *end;
	unsigned long nr;

	if (strcmp(word->name, "qps"))
		return 0;
	nr = word->value ? strtoul(word->value, &end, 10) : 0;
	if (!nr || nr > FAR_SHARE_MAX || *word->value < '0' || *word->value > '9' || *end)
		return -EINVAL;
	*ret_qps = nr;
	return 1;
}

/*
 * Copies a configuration without the word qps=N, which is the same for all back ends. The back
 * end itself complains of what is no word.
 */
static int conf_copy(const struct far_nic_ops *ops, const char *conf, char *ret_rest,
		     unsigned *ret_qps, char *why, size_t why_len)
{
	const char *at = conf, *next = conf;
	struct far_conf_word word;
	size_t len = 0;
	int ret;

	for (; far_conf_next(&next, &word) > 0; at = next) {
		ret = word_qps(&word, ret_qps);
		if (ret < 0)
			return far_why(why, why_len, ret, "%s: qps=%s: expected a number of queue "
				       "pairs from 1 to %u", ops->name,
				       word.value ? word.value : "", FAR_SHARE_MAX);
		if (ret)
			continue;
		memcpy(ret_rest + len, at, next - at);
		len += next - at;
	}
	memcpy(ret_rest + len, at, strlen(at) + 1);
	/* The comma in front of a last word that is gone. */
	len += strlen(at);
	if (*ret_qps && len && ret_rest[len - 1] == ',')
		ret_rest[len - 1] = 0;
	return 0;
}

static int conf_open(const struct far_nic_ops *ops, const char *conf, char *rest, char *why,
		     size_t why_len, struct far_nic **ret_nic)
{
	unsigned qps = 0;
	int err = conf_copy(ops, conf, rest, &qps, why, why_len);

	if (err)
		return err;
	err = ops->open(rest, why, why_len, ret_nic);
	if (err || !qps)
		return err;
	err = far_nic_share(*ret_nic, qps);
	if (err)
		(*ret_nic)->ops->close(*ret_nic);
	return err ? far_why(why, why_len, err, "%s: %s", ops->name, strerror(-err)) : 0;
}

int far_nic_open(const char *spec, char *why, size_t why_len,
		 struct far_nic **ret_nic)
{
	size_t len = strcspn(spec, ":");
	const struct far_nic_ops *ops = spec_ops(spec, why, why_len);
	const char *conf = spec[len] ? spec + len + 1 : "";
	char *rest;
	int err;

	if (!ops)
		return -ENOENT;
	if (why_len)
		why[0] = 0;
	rest = malloc(strlen(conf) + 1);
	if (!rest)
		return far_why(why, why_len, -ENOMEM, "%s: %s", ops->name, strerror(ENOMEM));
	err = conf_open(ops, conf, rest, why, why_len, ret_nic);
	free(rest);
	return err;
}
