/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of "odrpctl swap". */
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
 * struct swap_args - parsed arguments
 * @word:	the command's name, then its arguments, unchecked
 * @given:	bits of the options that were given; all belong to the command
 * @conf:	add: settings from options; address, port and size are words
 * @file:	up: settings file; NULL: the device's own
 * @output:	metrics: file for the output; NULL: standard output
 * @force:	remove, down: although programs may get wrong bytes
 * @interval, @count: top: seconds between lines; number of lines, 0: no end
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

/* Ends the process with EXIT_USAGE if an argument is wrong. */
void swap_args_parse(int argc, char **argv, struct swap_args *ret_args);

#endif /* CTL_SWAP_ARGS_H */
