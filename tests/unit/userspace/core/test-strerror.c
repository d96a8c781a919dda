// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each error that the public headers name has a sentence of the library's own. */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <far/far.h>

#define ERRORS	200

/* -ENOENT and the like; 0: no error has that name. */
static int error_named(const char *name, size_t len)
{
	for (int err = 1; err < ERRORS; err++) {
		const char *known = strerrorname_np(err);

		if (known && strlen(known) == len && !strncmp(known, name, len))
			return -err;
	}
	return 0;
}

static unsigned errors_check(const char *path, const char *line)
{
	unsigned nr = 0;

	while ((line = strstr(line, "-E"))) {
		size_t len = 0;
		int err;

		line++;
		while (isupper((unsigned char)line[len]) || isdigit((unsigned char)line[len]))
			len++;
		err = error_named(line, len);
		if (!err)
			continue;
		nr++;
		if (!strcmp(far_strerror(err), strerrordesc_np(-err)))
			fail_msg("%s: %.*s has no sentence", path, (int)len, line);
	}
	return nr;
}

static void test_headers(void **state)
{
	char pattern[512], line[512];
	unsigned nr = 0;
	glob_t found;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/userspace/include/far/*.h", getenv("ODRP_TOP"));
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");

		assert_non_null(f);
		while (fgets(line, sizeof(line), f))
			nr += errors_check(found.gl_pathv[i], line);
		fclose(f);
	}
	globfree(&found);
	assert_true(nr > 20);
}

/* What the library never answers has words all the same. */
static void test_others(void **state)
{
	static const int other[] = { -EXDEV, -ERRORS, INT32_MIN, 1, INT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_true(strlen(far_strerror(other[i])) > 3);
	assert_string_equal(far_strerror(0), "no error");
}

/* A space and a service of RPC are refused with the same error: the sentence names both. */
static void test_refused(void **state)
{
	(void)state;
	assert_non_null(strstr(far_strerror(-ECONNREFUSED), "service"));
	assert_non_null(strstr(far_strerror(-ECONNREFUSED), "serves no spaces"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
