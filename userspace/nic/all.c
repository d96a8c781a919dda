/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back ends that are built in, and how a --nic argument selects one. */
#include "nic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
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

int far_nic_open(const char *spec, char *why, size_t why_len,
		 struct far_nic **ret_nic)
{
	size_t len = strcspn(spec, ":");
	const struct far_nic_ops *ops = spec_ops(spec, why, why_len);

	if (!ops)
		return -ENOENT;
	if (why_len)
		why[0] = 0;
	return ops->open(spec[len] ? spec + len + 1 : "", why, why_len, ret_nic);
}
