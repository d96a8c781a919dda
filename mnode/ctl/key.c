// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl key: secrets of compute nodes, on the memory node and on theirs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "../../userspace/auth/secret.h"
#include "keyring.h"
#include "odrpctl.h"

static const char usage[] =
"usage: odrpctl key new|load NAME [--dir DIR]\n"
"\n"
"  new NAME    make the secret of compute node NAME, in DIR/NAME, for root only\n"
"  load NAME   give it to the kernel, as key logon odrp:NAME in the user's keyring,\n"
"              for who writes key=NAME to hot_add himself\n"
"  --dir DIR   default " SECRET_DIR "\n";

static const struct option options[] = {
	{ "dir", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

static int secret_load(const char *dir, const char *name)
{
	char why[SECRET_WHY_MAX];

	if (!keyring_load(dir, name, KEYRING_USER, why))
		return EXIT_OK;
	fprintf(stderr, "odrpctl: %s\n", why);
	return EXIT_TROUBLE;
}

/* What can be wrong with the arguments: a command, and a name. */
static int key_misused(const char *command, const char *more)
{
	if (command && strcmp(command, "new") && strcmp(command, "load"))
		fprintf(stderr, "odrpctl key: '%s': expected new or load\n", command);
	else if (more)
		fprintf(stderr, "odrpctl key: '%s': expected one name\n", more);
	fputs(usage, stderr);
	return EXIT_USAGE;
}

int key_main(int argc, char **argv)
{
	const char *dir = SECRET_DIR;
	char why[SECRET_WHY_MAX];
	static char self[] = "odrpctl key";
	int c, err;

	argv[0] = self;		/* what getopt begins its messages with */
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_OK;
		}
		if (c != 'd')
			return EXIT_USAGE;
		dir = optarg;
	}
	if (argc - optind == 2 && !strcmp(argv[optind], "load"))
		return secret_load(dir, argv[optind + 1]);
	if (argc - optind != 2 || strcmp(argv[optind], "new"))
		return key_misused(argc > optind ? argv[optind] : NULL,
				   argc - optind > 2 ? argv[optind + 2] : NULL);
	err = secret_new(dir, argv[optind + 1], why);
	if (err) {
		fprintf(stderr, "odrpctl: %s\n", why);
		return err == -EINVAL ? EXIT_USAGE : EXIT_TROUBLE;
	}
	printf("%s/%s\n", dir, argv[optind + 1]);
	return EXIT_OK;
}
