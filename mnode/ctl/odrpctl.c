// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl: controls the memory node's agent (mnode ...) and the kernel module of a
 * compute node (swap ...).
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include "odrpctl.h"

/* argp prints this for --version of the subcommands */
const char *argp_program_version = "odrpctl " VERSION;

static const char usage[] =
"Usage: odrpctl mnode status|check|sessions|clients|top|metrics|drain|undrain|\n"
"                     evict ID|revoke NAME|delete-space NAME|\n"
"                     lost SPACE NODE [OPTION...]\n"
"       odrpctl swap add ADDRESS[:PORT] SIZE | remove DEVICE | drop DEVICE\n"
"       odrpctl swap up DEVICE | down DEVICE | status [DEVICE]\n"
"       odrpctl swap top | metrics\n"
"       odrpctl key new|load|remove NAME | list\n"
"\n"
"  odrpctl mnode --help    the memory node's agent on this machine\n"
"  odrpctl swap --help     the swap devices of this machine\n"
"  odrpctl key --help      secrets of compute nodes\n"
"\n"
"Exit status: 0 yes, 1 no (a check failed), 2 wrong usage, 3 trouble.\n";

static int help_main(int argc, char **argv)
{
	fputs(usage, stdout);
	return EXIT_OK;
}

static int version_main(int argc, char **argv)
{
	puts(argp_program_version);
	return EXIT_OK;
}

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "mnode", mnode_main },
	{ "swap", swap_main },
	{ "key", key_main },
	{ "--help", help_main },
	{ "-h", help_main },
	{ "--version", version_main },
	{ "-V", version_main },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (argc > 1)
		fprintf(stderr, "odrpctl: '%s': expected mnode, swap or key\n",
			argv[1]);
	fputs(usage, stderr);
	return EXIT_USAGE;
}
