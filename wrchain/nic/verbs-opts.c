// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parser of --nic verbs:rxe0,port=1 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

static int complain(char *why, const char *word, int len)
{
	snprintf(why, NIC_VERBS_WHY_MAX, "verbs: '%.*s': expected DEVICE, as ibv_devices "
		 "lists them, or DEVICE,port=N with N from 1 to 254", len, word);
	return -EINVAL;
}

int nic_verbs_parse(const char *words, struct nic_verbs_opts *ret_opts,
		    char why[NIC_VERBS_WHY_MAX])
{
	struct nic_verbs_opts opts = { .port = 1 };
	size_t len = strcspn(words, ",");
	const char *rest = words + len;
	unsigned long n;
	char *end;

	if (!len || len >= sizeof(opts.device) || memchr(words, '=', len))
		return complain(why, words, len);
	memcpy(opts.device, words, len);
	if (*rest) {
		if (strncmp(rest, ",port=", 6) || rest[6] < '0' || rest[6] > '9')
			return complain(why, rest + 1, strlen(rest + 1));
		n = strtoul(rest + 6, &end, 10);
		if (*end || !n || n > 254)
			return complain(why, rest + 1, strlen(rest + 1));
		opts.port = n;
	}
	*ret_opts = opts;
	return 0;
}
