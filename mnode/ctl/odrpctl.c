// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl: what an operator says to the memory node's agent (mnode ...) and to
 * the kernel module of a compute node (swap ...).
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include "odrpctl.h"

/* For --version of each level. */
const char *argp_program_version = "odrpctl " VERSION;

static const char usage[] =
"Usage: odrpctl mnode status|check|sessions|top|drain|undrain|evict ID|\n"
	"                     delete-space NAME [OPTION...]\n"
"       odrpctl swap add ADDRESS[:PORT] SIZE | remove DEVICE | drop DEVICE\n"
"       odrpctl swap up DEVICE | down DEVICE | status [DEVICE]\n"
"       odrpctl swap top | metrics\n"
"       odrpctl key new NAME\n"
"\n"
"  odrpctl mnode --help    the memory node's agent on this machine\n"
"  odrpctl swap --help     the swap devices of this machine\n"
"  odrpctl key --help      secrets of compute nodes\n"
"\n"
"Exit status: 0 yes, 1 no (a check failed), 2 wrong usage, 3 trouble.\n";

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "mnode"))
		return mnode_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "swap"))
		return swap_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "key"))
		return key_main(argc - 1, argv + 1);
	if (argc > 1 && (!strcmp(argv[1], "--help") ||
			 !strcmp(argv[1], "-h"))) {
		fputs(usage, stdout);
		return EXIT_OK;
	}
	if (argc > 1 && (!strcmp(argv[1], "--version") ||
			 !strcmp(argv[1], "-V"))) {
		puts(argp_program_version);
		return EXIT_OK;
	}
	if (argc > 1)
		fprintf(stderr, "odrpctl: '%s': expected mnode, swap or key\n",
			argv[1]);
	fputs(usage, stderr);
	return EXIT_USAGE;
}
