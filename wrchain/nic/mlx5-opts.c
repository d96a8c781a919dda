// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parser of --nic mlx5:mlx5_0,port=1,gid=3,strict=yes,report=none
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "mlx5.h"
#include "verdict.h"

#define WORD_MAX 320

__attribute__((format(printf, 2, 3)))
static int complain(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NIC_MLX5_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int set_number(const char *key, const char *value, unsigned long min,
		      unsigned long max, unsigned long *ret, char *why)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || errno || *end || n < min ||
	    n > max)
		return complain(why, "%s=%s: expected a number from %lu to %lu",
				key, value, min, max);
	*ret = n;
	return 0;
}

static int set_strict(const char *value, bool *ret, char *why)
{
	if (!strcasecmp(value, "yes") || !strcmp(value, "1"))
		*ret = true;
	else if (!strcasecmp(value, "no") || !strcmp(value, "0"))
		*ret = false;
	else
		return complain(why, "strict=%s: expected yes or no", value);
	return 0;
}

static int set_report(const char *value, char *ret, char *why)
{
	if (!strcmp(value, "none"))
		value = "";
	else if (*value != '/' || strlen(value) >= NIC_MLX5_REPORT_MAX)
		return complain(why, "report=%.40s: expected none or an absolute "
				"path of less than %d bytes", value,
				NIC_MLX5_REPORT_MAX);
	memcpy(ret, value, strlen(value) + 1);
	return 0;
}

static int set_word(struct nic_mlx5_opts *opts, const char *key,
		    const char *value, char *why)
{
	unsigned long n = 0;
	int r;

	if (!strcmp(key, "strict"))
		return set_strict(value, &opts->strict, why);
	if (!strcmp(key, "port")) {
		r = set_number(key, value, 1, 254, &n, why);
		if (!r)
			opts->port = n;
		return r;
	}
	if (!strcmp(key, "gid")) {
		r = set_number(key, value, 0, 255, &n, why);
		if (!r)
			opts->gid_index = n;
		return r;
	}
	if (!strcmp(key, "report"))
		return set_report(value, opts->report, why);
	return complain(why, "%.40s: unknown; expected port, gid, strict or "
			"report", key);
}

static int set_device(struct nic_mlx5_opts *opts, const char *word, char *why)
{
	if (!*word || strlen(word) >= sizeof(opts->device))
		return complain(why, "'%s': expected the name of a device of "
				"less than %d characters, as ibv_devices lists "
				"them", word, NIC_MLX5_DEV_MAX);
	memcpy(opts->device, word, strlen(word) + 1);
	return 0;
}

static int parse_word(struct nic_mlx5_opts *opts, const char *word, bool first,
		      char *why)
{
	char key[WORD_MAX];
	const char *eq = strchr(word, '=');

	if (!eq && first)
		return set_device(opts, word, why);
	if (!eq || eq == word || !eq[1])
		return complain(why, "'%s': expected KEY=VALUE", word);
	memcpy(key, word, eq - word);
	key[eq - word] = 0;
	return set_word(opts, key, eq + 1, why);
}

int nic_mlx5_parse(const char *words, struct nic_mlx5_opts *ret_opts,
		   char why[NIC_MLX5_WHY_MAX])
{
	struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	const char *begin = words;
	char word[WORD_MAX];
	int r;

	set_report(verdict_dir, opts.report, why);
	while (*words) {
		size_t len = strcspn(words, ",");

		if (len >= sizeof(word))
			return complain(why, "%.40s...: word longer than %d "
					"bytes", words, WORD_MAX - 1);
		memcpy(word, words, len);
		word[len] = 0;
		r = parse_word(&opts, word, words == begin, why);
		if (r)
			return r;
		words += len;
		if (*words == ',' && !*++words)
			return complain(why, "ends with a comma");
	}
	*ret_opts = opts;
	return 0;
}
