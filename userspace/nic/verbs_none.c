/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces the back end verbs in a build without libibverbs and librdmacm. */
#include <errno.h>

#include "../base/why.h"
#include "verbs.h"
#include "verbs_info.h"

static int none_open(const char *conf, char *why, size_t why_len,
		     struct far_nic **ret_nic)
{
	return far_why(why, why_len, -EOPNOTSUPP,
		       "verbs: built without libibverbs and librdmacm");
}

/* open() always fails, so no other function is needed. */
const struct far_nic_ops far_verbs_ops = {
	.name = "verbs",
	.summary = "an RDMA device, over libibverbs and librdmacm",
	.open = none_open,
};

int far_verbs_report(const struct far_verbs_reporter *to)
{
	return 0;
}
