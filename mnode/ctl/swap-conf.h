/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings of one swap device of a compute node, from its file or from the options of
 * "odrpctl swap add".  Both use the same names.
 */
#ifndef CTL_SWAP_CONF_H
#define CTL_SWAP_CONF_H

#include <stdbool.h>
#include <stddef.h>

#ifndef SYSCONFDIR
#define SYSCONFDIR		"/etc"
#endif
/* one file per device: odrp0.conf is for /dev/odrp0 */
#define SWAP_CONF_DIR		SYSCONFDIR "/odrp/swap"
#define SWAP_CONF_WHY_MAX	512
#define SWAP_VALUE_MAX		256
#define SWAP_LABEL_MAX		15
/* room for a line for hot_add */
#define SWAP_LINE_MAX		1024

/* docs/man/odrp-swap.conf.5 explains each setting. */
enum swap_key {
	SWAP_ADDRESS,
	SWAP_PORT,
	SWAP_SIZE,
	SWAP_SRC,
	SWAP_QUEUES,
	SWAP_DEPTH,
	SWAP_TIMEOUT_MS,
	SWAP_DEAD_AFTER_MS,
	SWAP_IO_FAIL_MS,
	SWAP_RECONNECT_MS,
	SWAP_BACKEND,
	SWAP_BACKING,
	SWAP_CHECKSUM,
	SWAP_PROTECT,
	SWAP_TRANSLATE,
	SWAP_KEY,
	SWAP_AUTH,
	SWAP_LABEL,
	SWAP_UUID,
	SWAP_ACTIVATE,
	SWAP_PRIORITY,
	SWAP_MIN_FREE,
	SWAP_NR_KEYS,
};

/* struct swap_conf - checked values as text; "": not set */
struct swap_conf {
	char value[SWAP_NR_KEYS][SWAP_VALUE_MAX];
};

/* Functions that return int return -errno with a sentence in why, which says what is
 * wrong and what was expected.  swap_conf_set(): -ENOENT: there is no such setting. */
int swap_conf_set(struct swap_conf *conf, const char *name, const char *text,
		  char why[SWAP_CONF_WHY_MAX]);
/* Reads and checks an INI file: one section [swap], each setting once. */
int swap_conf_read(struct swap_conf *conf, const char *path,
		   char why[SWAP_CONF_WHY_MAX]);
/* Checks settings that depend on each other. */
int swap_conf_check(const struct swap_conf *conf,
		    char why[SWAP_CONF_WHY_MAX]);

/* True: swap on; false: only make the swap space. */
bool swap_conf_activates(const struct swap_conf *conf);
/* Value of a number setting; otherwise: if it is not set. */
long swap_conf_number(const struct swap_conf *conf, enum swap_key key,
		      long otherwise);
/* The memory node as in sysfs: ADDRESS:PORT. */
void swap_conf_server(const struct swap_conf *conf, char *buf, size_t len);
/* Makes the line for hot_add, for device number id. */
void swap_conf_line(const struct swap_conf *conf, unsigned int id, char *buf,
		    size_t len);

#endif /* CTL_SWAP_CONF_H */
