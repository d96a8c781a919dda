// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* odrpctl key: secrets of compute nodes, on the memory node and on the compute nodes. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../userspace/auth/secret.h"
#include "keyring.h"
#include "odrpctl.h"

static const char usage[] =
"usage: odrpctl key new|load|remove NAME [--dir DIR]\n"
"       odrpctl key list [--dir DIR]\n"
"\n"
"  new NAME     make the secret of compute node NAME, in DIR/NAME, for root only\n"
"  load NAME    give it to the kernel, as key logon odrp:NAME in the user's keyring,\n"
"               for who writes key=NAME to hot_add himself\n"
"  remove NAME  remove DIR/NAME; odrpctl mnode revoke NAME then ends what it has\n"
"  list         names, and what is wrong with files that cannot be used\n"
"  --dir DIR    default " SECRET_DIR "\n";

static const struct option options[] = {
	{ "dir", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

static int complain(int r, const char *why)
{
	fprintf(stderr, "odrpctl: %s\n", why);
	return r == -EINVAL ? EXIT_USAGE : EXIT_TROUBLE;
}

/* ---- commands ---------------------------------------------------------------------- */

static int key_new(const char *dir, const char *name)
{
	char why[SECRET_WHY_MAX];
	int r = secret_new(dir, name, why);

	if (r)
		return complain(r, why);
	printf("%s/%s\n", dir, name);
	return EXIT_OK;
}

static int key_load(const char *dir, const char *name)
{
	char why[SECRET_WHY_MAX];

	return keyring_load(dir, name, KEYRING_USER, why) ? complain(-EIO, why) : EXIT_OK;
}

static int key_remove(const char *dir, const char *name)
{
	char why[SECRET_WHY_MAX];
	int r = secret_remove(dir, name, why);

	return r ? complain(r, why) : EXIT_OK;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Prints the name, or why its file cannot be used.  False: it cannot. */
static bool key_print(const char *dir, const char *name)
{
	char why[SECRET_WHY_MAX];
	struct secrets secrets;
	int r = secret_read(dir, name, &secrets, why);

	explicit_bzero(&secrets, sizeof(secrets));
	if (r)
		fprintf(stderr, "odrpctl: %s\n", why);
	else
		puts(name);
	return !r;
}

static int key_list(const char *dir)
{
	struct dirent **list;
	int nr = scandir(dir, &list, visible, alphasort), i;
	bool ok = true;

	if (nr < 0 && errno == ENOENT)
		return EXIT_OK;
	if (nr < 0) {
		fprintf(stderr, "odrpctl: %s: %s\n", dir, strerror(errno));
		return EXIT_TROUBLE;
	}
	for (i = 0; i < nr; i++) {
		ok &= key_print(dir, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return ok ? EXIT_OK : EXIT_NOT_OK;
}

/* ---- arguments --------------------------------------------------------------------- */

/* Prints what is wrong: the command or a further word. */
static int key_misused(const char *command, const char *more)
{
	if (command && strcmp(command, "new") && strcmp(command, "load") &&
	    strcmp(command, "remove") && strcmp(command, "list"))
		fprintf(stderr, "odrpctl key: '%s': expected new, load, remove or list\n",
			command);
	else if (more)
		fprintf(stderr, "odrpctl key: '%s': expected %s\n", more,
			strcmp(command, "list") ? "one name" : "no name");
	fputs(usage, stderr);
	return EXIT_USAGE;
}

static int key_run(const char *dir, int nr, char **word)
{
	static const struct {
		const char *name;
		int (*run)(const char *dir, const char *name);
	} named[] = {
		{ "new", key_new }, { "load", key_load }, { "remove", key_remove },
	};
	unsigned int i;

	if (nr == 1 && !strcmp(word[0], "list"))
		return key_list(dir);
	for (i = 0; nr == 2 && i < 3; i++)
		if (!strcmp(word[0], named[i].name))
			return named[i].run(dir, word[1]);
	if (nr && !strcmp(word[0], "list"))
		return key_misused(word[0], word[1]);
	return key_misused(nr ? word[0] : NULL, nr > 2 ? word[2] : NULL);
}

int key_main(int argc, char **argv)
{
	const char *dir = SECRET_DIR;
	static char self[] = "odrpctl key";
	int c;

	argv[0] = self;		/* getopt begins its messages with this */
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_OK;
		}
		if (c != 'd')
			return EXIT_USAGE;
		dir = optarg;
	}
	return key_run(dir, argc - optind, argv + optind);
}
