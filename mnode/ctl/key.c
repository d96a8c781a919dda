// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl key: secrets of compute nodes, on the memory node.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "../../userspace/auth/secret.h"
#include "odrpctl.h"

static const char usage[] =
"usage: odrpctl key new NAME [--dir DIR]\n"
"\n"
"  new NAME    make the secret of compute node NAME, in DIR/NAME, for root only\n"
"  --dir DIR   default " SECRET_DIR "\n"
"\n"
"The agent does not ask for secrets yet.\n";

static const struct option options[] = {
	{ "dir", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

int key_main(int argc, char **argv)
{
	const char *dir = SECRET_DIR;
	char why[SECRET_WHY_MAX];
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_OK;
		}
		if (c != 'd')
			return EXIT_USAGE;
		dir = optarg;
	}
	if (argc - optind != 2 || strcmp(argv[optind], "new")) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (secret_new(dir, argv[optind + 1], why)) {
		fprintf(stderr, "odrpctl: %s\n", why);
		return EXIT_TROUBLE;
	}
	printf("%s/%s\n", dir, argv[optind + 1]);
	return EXIT_OK;
}
