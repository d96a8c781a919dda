// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parser of --nic mlx5:mlx5_0,port=1,gid=3,strict=yes,report=none
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "mlx5.h"
#include "verdict.h"

#define WORD_MAX 320

/*
 * A word KEY=VALUE.  @off: offset of the field in struct nic_mlx5_opts; @min, @max: the
 * bounds of a number.
 */
struct word {
	const char *key;
	int (*set)(void *field, const struct word *w, const char *value, char *why);
	size_t off;
	unsigned long min, max;
};

__attribute__((format(printf, 2, 3)))
static int complain(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NIC_MLX5_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int parse_number(const struct word *w, const char *value, unsigned long *ret,
			char *why)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || errno || *end || n < w->min || n > w->max)
		return complain(why, "%s=%s: expected a number from %lu to %lu", w->key,
				value, w->min, w->max);
	*ret = n;
	return 0;
}

static int set_u8(void *field, const struct word *w, const char *value, char *why)
{
	unsigned long n = 0;
	int r = parse_number(w, value, &n, why);

	if (!r)
		*(uint8_t *)field = n;
	return r;
}

static int set_u16(void *field, const struct word *w, const char *value, char *why)
{
	unsigned long n = 0;
	int r = parse_number(w, value, &n, why);

	if (!r)
		*(uint16_t *)field = n;
	return r;
}

static int set_bool(void *field, const struct word *w, const char *value, char *why)
{
	bool yes = !strcasecmp(value, "yes") || !strcmp(value, "1");

	if (!yes && strcasecmp(value, "no") && strcmp(value, "0"))
		return complain(why, "%s=%s: expected yes or no", w->key, value);
	*(bool *)field = yes;
	return 0;
}

static int set_report(void *field, const struct word *w, const char *value, char *why)
{
	if (!strcmp(value, "none"))
		value = "";
	else if (*value != '/' || strlen(value) >= NIC_MLX5_REPORT_MAX)
		return complain(why, "%s=%.40s: expected none or an absolute "
				"path of less than %d bytes", w->key, value,
				NIC_MLX5_REPORT_MAX);
	memcpy(field, value, strlen(value) + 1);
	return 0;
}

/* The offset of a field; does not compile unless the field has the size of type. */
#define OFF(type, f)							\
	(offsetof(struct nic_mlx5_opts, f) + 0 * sizeof(char[			\
	 sizeof(((struct nic_mlx5_opts *)0)->f) == sizeof(type) ? 1 : -1]))

static const struct word mlx5_words[] = {
	{ "port", set_u8, OFF(uint8_t, port), .min = 1, .max = 254 },
	{ "gid", set_u16, OFF(uint16_t, gid_index), .max = 255 },
	{ "strict", set_bool, OFF(bool, strict) },
	{ "report", set_report, offsetof(struct nic_mlx5_opts, report) },
};

#define NR_WORDS (sizeof(mlx5_words) / sizeof(mlx5_words[0]))

static int complain_unknown(const char *key, char *why)
{
	char all[NIC_MLX5_WHY_MAX];
	size_t len = 0, i;

	for (i = 0; i < NR_WORDS && len < sizeof(all); i++)
		len += snprintf(all + len, sizeof(all) - len, "%s%s",
				!i ? "" : i < NR_WORDS - 1 ? ", " : " or ",
				mlx5_words[i].key);
	return complain(why, "%.40s: unknown; expected %s", key, all);
}

static int set_word(struct nic_mlx5_opts *opts, const char *key,
		    const char *value, char *why)
{
	const struct word *w;

	for (w = mlx5_words; w < mlx5_words + NR_WORDS; w++)
		if (!strcmp(key, w->key))
			return w->set((char *)opts + w->off, w, value, why);
	return complain_unknown(key, why);
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

	set_word(&opts, "report", verdict_dir, why);
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
