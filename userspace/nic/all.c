/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back ends that are built in, and how a --nic argument picks one. */
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

static const struct far_nic_ops *find(const char *name, size_t len)
{
	unsigned i;

	for (i = 0; far_nic_all[i]; i++) {
		const char *known = far_nic_all[i]->name;

		if (strlen(known) == len && !memcmp(known, name, len))
			return far_nic_all[i];
	}
	return NULL;
}

static void say_unknown(const char *name, size_t len, char *why, size_t why_len)
{
	unsigned i;
	int at;

	at = snprintf(why, why_len, "no back end '%.*s'; there are:", (int)len, name);
	for (i = 0; far_nic_all[i] && at >= 0 && (size_t)at < why_len; i++)
		at += snprintf(why + at, why_len - at, "%s %s", i ? "," : "",
			       far_nic_all[i]->name);
}

int far_nic_open(const char *spec, char *why, size_t why_len,
		 struct far_nic **ret_nic)
{
	size_t len = strcspn(spec, ":");
	const struct far_nic_ops *ops = find(spec, len);

	if (!ops) {
		say_unknown(spec, len, why, why_len);
		return -ENOENT;
	}
	if (why_len)
		why[0] = 0;
	return ops->open(spec[len] ? spec + len + 1 : "", why, why_len, ret_nic);
}
