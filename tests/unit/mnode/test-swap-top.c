/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odrpctl swap top, on devices that only this test has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <ctl/swap-dev.h>
#include <ctl/swap-top.h>

#define ID 7

/* What device ID has in sysfs; NULL: there is none. */
static const char *const (*files)[2];

bool swap_dev_exists(unsigned int id)
{
	return id == ID && files;
}

int swap_dev_read(unsigned int id, const char *name, char *buf, size_t len)
{
	int i;

	for (i = 0; swap_dev_exists(id) && files[i][0]; i++)
		if (!strcmp(files[i][0], name)) {
			assert_true(strlen(files[i][1]) < len);
			memcpy(buf, files[i][1], strlen(files[i][1]) + 1);
			return 0;
		}
	return -ENOENT;
}

static const char *const device[][2] = {
	{ "state", "live" }, { "loads", "1000" }, { "stores_mapped", "30" },
	{ "stores_unmapped", "500" }, { "invalidates", "40" },
	{ "notify_free", "70" },
	{ "load_errors", "1" }, { "store_errors", "2" },
	{ "reconnects", "3" }, { "used", "512" }, { "lease", "2560" },
	{ "load_p50_ns", "12000" }, { "load_p99_ns", "34000" },
	{ "store_p50_ns", "5000" }, { "store_p99_ns", "7000" },
	{ NULL, NULL },
};

static void test_sample(void **state)
{
	struct swap_sample s;

	files = device;
	assert_int_equal(swap_sample_read(ID, &s), 0);
	assert_true(s.there && s.ns);
	assert_string_equal(s.state, "live");
	assert_int_equal(s.count[SWAP_LOADS], 1000);
	assert_int_equal(s.count[SWAP_STORES], 530);
	assert_int_equal(s.count[SWAP_FREES], 70);
	assert_int_equal(s.count[SWAP_ERRORS], 3);
	assert_int_equal(s.count[SWAP_RECONNECTS], 3);
	assert_int_equal(s.used, 512);
	assert_int_equal(s.lease, 2560);
	assert_true(s.load_us[0] == 12 && s.load_us[1] == 34);
	assert_true(s.store_us[0] == 5 && s.store_us[1] == 7);
	files = NULL;
	assert_int_equal(swap_sample_read(ID, &s), -ENOENT);
	assert_false(s.there);
}

/* A device that goes while it is looked at, or says what nobody understands. */
static void test_in_part(void **state)
{
	static const char *const half[][2] = {
		{ "state", "closing" }, { "loads", "1" }, { NULL, NULL },
	};
	static const char *const bad[] = { "soon", "", "12000 34000" };
	const char *odd[sizeof(device) / sizeof(device[0])][2];
	struct swap_sample s;
	int i;

	files = half;
	assert_int_equal(swap_sample_read(ID, &s), -ENOENT);
	assert_false(s.there);
	memcpy(odd, device, sizeof(odd));
	files = (void *)odd;
	for (i = 0; i < 3; i++) {
		odd[11][1] = bad[i];
		assert_int_equal(swap_sample_read(ID, &s), -EIO);
		assert_false(s.there);
	}
	files = NULL;
}

static void two(struct swap_sample *from, struct swap_sample *to)
{
	files = device;
	assert_int_equal(swap_sample_read(ID, from), 0);
	files = NULL;
	*to = *from;
	to->ns += 500 * 1000 * 1000;
	to->count[SWAP_LOADS] += 100;
	to->count[SWAP_STORES] += 7;
}

static void test_rates(void **state)
{
	struct swap_sample from, to;

	two(&from, &to);
	assert_true(swap_rate(&from, &to, SWAP_LOADS) == 200);
	assert_true(swap_rate(&from, &to, SWAP_STORES) == 14);
	assert_true(swap_rate(&from, &to, SWAP_FREES) == 0);
	/* Another device of that number, and the same look twice. */
	assert_true(swap_rate(&to, &from, SWAP_LOADS) == 0);
	assert_true(swap_rate(&to, &to, SWAP_LOADS) == 0);
	from.count[SWAP_LOADS] = to.count[SWAP_LOADS] + 1;
	assert_true(swap_rate(&from, &to, SWAP_LOADS) == 0);
}

/* Each number ends where its title does. */
static void test_line(void **state)
{
	char head[SWAP_TOP_LINE], line[SWAP_TOP_LINE];
	struct swap_sample from, to;

	two(&from, &to);
	swap_top_head(head);
	swap_top_line(ID, &from, &to, line);
	assert_int_equal(strlen(head), strlen(line));
	assert_int_equal(strlen(head), 80);
	assert_memory_equal(line, "odrp7  live  ", 13);
	assert_memory_equal(line + (strstr(head, "LOAD/S") - head), "   200", 6);
	assert_memory_equal(line + (strstr(head, "LD US") - head), "   12", 5);
	assert_memory_equal(line + (strstr(head, "USED MB") - head), "    2.0", 7);
	assert_memory_equal(line + (strstr(head, "LEASED") - head), "  10.0", 6);
	/* Large numbers keep the line as long as it is. */
	to.load_us[1] = 234567;
	to.store_us[1] = 30e6;
	to.used = UINT64_C(1) << 31;
	to.count[SWAP_LOADS] += 2000000;
	swap_top_line(ID, &from, &to, line);
	assert_int_equal(strlen(line), 80);
	assert_non_null(strstr(line, " 235ms "));
	assert_non_null(strstr(line, " 30s "));
	assert_non_null(strstr(line, " 8388608 "));
	assert_non_null(strstr(line, " 4M "));
}

static void test_json(void **state)
{
	struct swap_sample from, to;
	struct json_object *obj;

	two(&from, &to);
	obj = swap_top_json(&from, &to);
	assert_string_equal(json_object_to_json_string_ext(obj,
							   JSON_C_TO_STRING_PLAIN),
		"{\"state\":\"live\",\"loads_per_s\":200.0,"
		"\"stores_per_s\":14.0,\"frees_per_s\":0.0,"
		"\"load_p50_us\":12.0,\"load_p99_us\":34.0,"
		"\"store_p50_us\":5.0,\"store_p99_us\":7.0,"
		"\"used_pages\":512,\"lease_pages\":2560,\"errors\":3,"
		"\"reconnects\":3}");
	json_object_put(obj);
}

/* Two looks, without a device and with one; nothing else is printed. */
static void test_all(void **state)
{
	static const char *const want[] = { "no devices\n", "{}\n", "odrp7 " };
	char text[1024], *found;
	int fd[2], out, i;
	ssize_t n;

	for (i = 0; i < 3; i++) {
		assert_int_equal(pipe(fd), 0);
		out = dup(STDOUT_FILENO);
		fflush(stdout);
		dup2(fd[1], STDOUT_FILENO);
		files = i == 2 ? device : NULL;
		assert_int_equal(swap_top(0.1, 2, i == 1), 0);
		files = NULL;
		dup2(out, STDOUT_FILENO);
		close(out);
		close(fd[1]);
		n = read(fd[0], text, sizeof(text) - 1);
		close(fd[0]);
		assert_true(n > 0);
		text[n] = 0;
		found = strstr(text, want[i]);
		assert_non_null(found);
		assert_non_null(strstr(found + 1, want[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_in_part),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
