/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Splits a back end's configuration into words. */
#include "conf.h"

#include <errno.h>
#include <string.h>

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
