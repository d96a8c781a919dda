/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of a back end's configuration: what follows the first ':' of a --nic
 * argument, NAME[=VALUE] separated by commas.
 */
#ifndef FAR_NIC_CONF_H
#define FAR_NIC_CONF_H

#include <stddef.h>

#define FAR_CONF_WORD_MAX	4095

struct far_conf_word {
	char name[FAR_CONF_WORD_MAX + 1];
	const char *value;	/* in name, behind its '='; NULL: there is none */
};

/*
 * Takes the next word from *pos and moves it on. 1: there was one, 0: the end,
 * -EINVAL: it is empty or longer than FAR_CONF_WORD_MAX. Any thread.
 */
int far_conf_next(const char **pos, struct far_conf_word *ret_word);

#endif
