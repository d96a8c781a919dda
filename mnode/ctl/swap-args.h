/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What "odrpctl swap" was told.
 */
#ifndef CTL_SWAP_ARGS_H
#define CTL_SWAP_ARGS_H

#include <stdbool.h>
#include "swap-conf.h"

enum swap_command {
	SWAP_ADD,
	SWAP_REMOVE,
	SWAP_DROP,
	SWAP_UP,
	SWAP_DOWN,
	SWAP_STATUS,
	SWAP_TOP,
	SWAP_METRICS,
	SWAP_NR_COMMANDS,
};

/**
 * struct swap_args - the line
 * @word:	the command's name, and what it is about; not looked at
 * @given:	bits of options; all are of the command
 * @conf:	add: from options; address, port and size are words
 * @file:	up: instead of the device's; NULL: that
 * @output:	metrics: instead of standard output; NULL: that
 * @force:	remove, down
 * @interval, @count: top: seconds, and how often, 0: for ever
 */
struct swap_args {
	enum swap_command command;
	const char *word[3];
	unsigned int nr_words;
	unsigned long given;
	struct swap_conf conf;
	const char *file, *output;
	bool no_swapon, json, force;
	double interval;
	unsigned long count;
};

/* Ends the process with EXIT_USAGE if something is wrong. */
void swap_args_parse(int argc, char **argv, struct swap_args *ret_args);

#endif /* CTL_SWAP_ARGS_H */
