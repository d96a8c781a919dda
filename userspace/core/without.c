// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The names of what can be switched off.
 */
#include <errno.h>
#include <string.h>

#include <far/far.h>

static const struct {
	const char *name;
	unsigned bit;
} names[] = {
	{ "throttle", FAR_WITHOUT_CREDIT },
	{ "credit", FAR_WITHOUT_CREDIT },
	{ "backoff", FAR_WITHOUT_BACKOFF },
	{ "limit", FAR_WITHOUT_LIMIT },
	{ "tasks", FAR_WITHOUT_TASKS },
	{ "combine", FAR_WITHOUT_COMBINE },
	{ "handover", FAR_WITHOUT_HANDOVER },
	{ "cache", FAR_WITHOUT_CACHE },
	{ "doorbell", FAR_WITHOUT_DOORBELL },
};

/* The bit of a name of len bytes; 0: unknown. */
static unsigned name_bit(const char *name, size_t len)
{
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len))
			return names[i].bit;
	return 0;
}

int far_without_parse(const char *list, unsigned *ret_without, const char **ret_bad)
{
	unsigned without = 0;

	while (*list) {
		size_t len = strcspn(list, ",");
		unsigned bit = name_bit(list, len);

		if (!bit) {
			*ret_bad = list;
			return -EINVAL;
		}
		without |= bit;
		list += len;
		if (*list == ',')
			list++;
	}
	*ret_without = without;
	return 0;
}
