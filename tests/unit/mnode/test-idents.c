// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The directory of secrets, read again: what is gone has no secret any more, and a file
 * that cannot be used costs its own name only.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../../userspace/host/idents.h"

static char dir[] = "ids-XXXXXX";
static struct idents idents;
static unsigned int nr_bad;
static char last_bad[SECRET_WHY_MAX];

static void note_bad(void *arg, const char *why)
{
	nr_bad++;
	snprintf(last_bad, sizeof(last_bad), "%s", why);
}

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make_file(const char *name)
{
	char why[SECRET_WHY_MAX];

	assert_int_equal(secret_new(dir, name, why), 0);
}

static void remove_file(const char *name)
{
	char why[SECRET_WHY_MAX];

	assert_int_equal(secret_remove(dir, name, why), 0);
}

/* Reads all; so many files cannot be used. */
static void read_all(unsigned int bad)
{
	char why[SECRET_WHY_MAX];

	nr_bad = 0;
	assert_int_equal(idents_read(&idents, dir, note_bad, NULL, why), 0);
	assert_int_equal(nr_bad, bad);
}

static int setup(void **state)
{
	memcpy(dir, "ids-XXXXXX", sizeof(dir));
	assert_non_null(mkdtemp(dir));
	make_file("one");
	make_file("two");
	make_file("three");
	read_all(0);
	return 0;
}

static int teardown(void **state)
{
	const char *const names[] = { "one", "two", "three" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		unlink(path_of(names[i]));
	idents_fini(&idents);
	return rmdir(dir);
}

static void test_removed_beside_bad(void **state)
{
	assert_int_equal(chmod(path_of("two"), 0644), 0);
	remove_file("three");
	read_all(1);
	assert_non_null(strstr(last_bad, "two: mode 0644"));
	assert_non_null(idents_find(&idents, "one"));
	assert_null(idents_find(&idents, "two"));
	assert_null(idents_find(&idents, "three"));
	assert_true(idents_had(&idents, "three"));
	assert_int_equal(chmod(path_of("two"), 0600), 0);
	read_all(0);
	assert_non_null(idents_find(&idents, "two"));
}

static void test_bad_text(void **state)
{
	FILE *f = fopen(path_of("two"), "a");

	assert_non_null(f);
	fputs("secret = short\n", f);
	fclose(f);
	read_all(1);
	assert_null(idents_find(&idents, "two"));
	assert_non_null(idents_find(&idents, "three"));
}

/* Names that no compute node can have. */
static void test_bad_names(void **state)
{
	const char *const bad[] = { "a name", "a-name-that-is-longer-than-any-that-fits" };
	unsigned int i;

	for (i = 0; i < 2; i++)
		fclose(fopen(path_of(bad[i]), "w"));
	read_all(2);
	assert_non_null(idents_find(&idents, "one"));
	for (i = 0; i < 2; i++)
		unlink(path_of(bad[i]));
}

static void test_owner(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(chown(path_of("two"), 1234, 0), 0);
	read_all(1);
	assert_non_null(strstr(last_bad, "two: owner 1234"));
	assert_null(idents_find(&idents, "two"));
	assert_non_null(idents_find(&idents, "one"));
}

static void test_never_known(void **state)
{
	assert_false(idents_had(&idents, "four"));
	remove_file("one");
	remove_file("two");
	remove_file("three");
	read_all(0);
	read_all(0);
	assert_null(idents_find(&idents, "one"));
	assert_true(idents_had(&idents, "one"));
}

/* What cannot be read as a whole changes nothing. */
static void test_no_directory(void **state)
{
	char why[SECRET_WHY_MAX] = "";

	assert_int_equal(idents_read(&idents, path_of("one"), note_bad, NULL, why), -ENOTDIR);
	assert_non_null(strstr(why, "one: "));
	assert_non_null(idents_find(&idents, "one"));
	assert_int_equal(idents_read(&idents, path_of("none"), note_bad, NULL, why), 0);
	assert_null(idents_find(&idents, "one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_removed_beside_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_directory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
