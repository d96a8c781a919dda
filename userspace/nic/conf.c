/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Splits a back end's configuration into words. */
#include "conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/why.h"

int far_conf_next(const char **pos, struct far_conf_word *ret_word)
{
	size_t len = strcspn(*pos, ",");
	char *equals;

	if (!**pos)
		return 0;
	if (!len || len > FAR_CONF_WORD_MAX || **pos == '=')
		return -EINVAL;
	memcpy(ret_word->name, *pos, len);
	ret_word->name[len] = 0;
	equals = strchr(ret_word->name, '=');
	ret_word->value = equals ? equals + 1 : NULL;
	if (equals)
		*equals = 0;
	*pos += len;
	*pos += **pos == ',';
	return 1;
}

int far_conf_keys(const char *value, char *ret_dir, char *why, size_t len)
{
	if (!value || !*value)
		return far_why(why, len, -EINVAL, "keys=: expected a directory of secrets");
	snprintf(ret_dir, FAR_CONF_WORD_MAX + 1, "%s", value);
	return 0;
}
