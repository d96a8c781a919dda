// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Numbers that people type: see parse.h.
 */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
			"0123456789-_."

/* The number in front; *ret_end is what follows it. */
static int count_in_front(const char *text, uint64_t *ret_value, const char **ret_end)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;		/* strtoull() takes signs and blanks, too */
	errno = 0;
	value = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	if (errno)
		return -errno;
	*ret_value = value;
	*ret_end = end;
	return 0;
}

static int in_range(uint64_t value, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int far_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	const char *end;
	uint64_t value;
	int err = count_in_front(text, &value, &end);

	if (err)
		return err;
	return *end ? -EINVAL : in_range(value, min, max, ret_value);
}

int far_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	unsigned shift = 0;
	uint64_t value;
	int err = count_in_front(text, &value, &end);

	if (err)
		return err;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	if (*end)
		return -EINVAL;
	if (shift && value >> (64 - shift))
		return -ERANGE;
	return in_range(value << shift, min, max, ret_value);
}

int far_parse_span(const char *text, uint64_t min, uint64_t max, uint64_t *ret_from,
		   uint64_t *ret_to)
{
	uint64_t from, to;
	const char *end;
	int err = count_in_front(text, &from, &end);

	if (err)
		return err;
	to = from;
	if (!strncmp(end, "..", 2)) {
		err = count_in_front(end + 2, &to, &end);
		if (err)
			return err;
	}
	if (*end)
		return -EINVAL;
	if (from < min || to > max || from > to)
		return -ERANGE;
	*ret_from = from;
	*ret_to = to;
	return 0;
}

int far_parse_real(const char *text, double min, double max, double *ret_value)
{
	double value;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	errno = 0;
	value = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (errno || !(value >= min && value <= max))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

bool far_parse_is_name(const char *text, size_t max)
{
	size_t len = strlen(text);

	return len && len <= max && text[0] != '.' && strspn(text, NAME_CHARS) == len;
}
