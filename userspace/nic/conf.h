/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of a back end's configuration. The configuration is what follows the first
 * ':' of a --nic argument; its words are NAME[=VALUE], separated by commas.
 */
#ifndef FAR_NIC_CONF_H
#define FAR_NIC_CONF_H

#include <stddef.h>

#define FAR_CONF_WORD_MAX	4095

struct far_conf_word {
	char name[FAR_CONF_WORD_MAX + 1];
	const char *value;	/* points into name, behind the '='; NULL: no '=' */
};

/*
 * Copies the next word at *pos and moves *pos behind it. 1: there was a word; 0: the end;
 * -EINVAL: the word or its name is empty, or longer than FAR_CONF_WORD_MAX. Any thread.
 */
int far_conf_next(const char **pos, struct far_conf_word *ret_word);

/* Copies the value of a word keys=DIR, to FAR_CONF_WORD_MAX + 1 bytes. -EINVAL, with a
 * sentence in why: it is empty. */
int far_conf_keys(const char *value, char *ret_dir, char *why, size_t len);

#endif
