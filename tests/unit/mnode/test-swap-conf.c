// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings of a swap device: single ones, the file, what hot_add is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <ctl/swap-conf.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static char why[SWAP_CONF_WHY_MAX];

static int read_text(struct swap_conf *conf, const char *text)
{
	char path[] = "/tmp/odrp-swap-conf-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	*conf = (struct swap_conf){ 0 };
	why[0] = 0;
	r = swap_conf_read(conf, path, why);
	unlink(path);
	return r;
}

static void test_all(void **state)
{
	struct swap_conf conf;
	char text[SWAP_LINE_MAX];

	assert_int_equal(read_text(&conf, "# a comment\n[swap]\n"
		"address = 192.0.2.1\nport = 7490\nsize = 32G\n"
		"src = 192.0.2.9\nqueues = 2\ndepth = 128\n"
		"timeout-ms = 5000\ndead-after-ms = 0\n"
		"reconnect-delay-ms = 7\nbackend = frontswap\n"
		"backing = /dev/sdb\nchecksum = crc32c\n"
		"protect = none\ntranslate = chain\nkey = host-1.x\nlabel = far\n"
		"uuid = 0f0e0d0c-1234-5678-9ABC-0123456789ab\nactivate = no\n"
		"min-free-kbytes = 16384\n"), 0);
	swap_conf_line(&conf, 3, text, sizeof(text));
	assert_string_equal(text, "id=3 addr=192.0.2.1 port=7490 size=32G "
		"src=192.0.2.9 queues=2 depth=128 timeout_ms=5000 "
		"dead_after_ms=0 reconnect_delay_ms=7 backend=frontswap "
		"backing=/dev/sdb checksum=crc32c protect=none translate=chain "
		"key=host-1.x");
	assert_int_equal(swap_conf_number(&conf, SWAP_PRIORITY, -1), -1);
	assert_string_equal(conf.value[SWAP_LABEL], "far");
	assert_string_equal(conf.value[SWAP_UUID],
			    "0f0e0d0c-1234-5678-9ABC-0123456789ab");
	assert_false(swap_conf_activates(&conf));
	assert_int_equal(swap_conf_number(&conf, SWAP_MIN_FREE, 0), 16384);
	swap_conf_server(&conf, text, sizeof(text));
	assert_string_equal(text, "192.0.2.1:7490");
}

static void test_least(void **state)
{
	struct swap_conf conf;
	char text[SWAP_LINE_MAX];

	assert_int_equal(read_text(&conf, "[swap]\naddress=192.0.2.1\n"
				   "size=4096\nauth=none\n"), 0);
	swap_conf_line(&conf, 0, text, sizeof(text));
	assert_string_equal(text, "id=0 addr=192.0.2.1 size=4096 auth=none");
	assert_int_equal(swap_conf_number(&conf, SWAP_PRIORITY, -1), -1);
	assert_true(swap_conf_activates(&conf));
	swap_conf_server(&conf, text, sizeof(text));
	assert_string_equal(text, "192.0.2.1:7489");
}

#define ONE_16	"1000000000000000"
#define ONE_64	ONE_16 ONE_16 ONE_16 ONE_16

/* Name, value, and what the complaint has to name. */
static const char *const bad[][3] = {
	{ "address", "192.0.2", "IPv4" },
	{ "address", "fd00::1", "address=fd00::1: IPv6: expected an IPv4" },
	{ "src", "[::1]", "src=[::1]: IPv6" },
	{ "address", "memory.example", "address=memory.example" },
	{ "address", "", "IPv4" },
	{ "src", "::1", "src=::1" },
	{ "backing", "sdb", "absolute" },
	{ "backing", "/dev/a b", "backing=/dev/a b" },
	{ "dead-after-ms", "600001", "0 to 600000" },
	{ "reconnect-delay-ms", "0", "1 to 600000" },
	{ "port", "0", "1 to 65535" },
	{ "port", "65536", "65535" },
	{ "port", "74 89", "port=74 89" },
	{ "size", "0", "size=0" },
	{ "size", "4095", "multiple of 4K" },
	{ "size", "", "multiple of 4K" },
	{ "size", "4GB", "size=4GB" },
	{ "size", "-4K", "size=-4K" },
	{ "size", "4X", "K, M, G or T" },
	{ "size", "99999999999T", "size=" },
	{ "size", "99999999999999999999", "size=" },
	{ "size", "010M", "size=010M: expected a size without zeros" },
	{ "size", "00", "without zeros" },
	{ "queues", "65", "1 to 64" },
	{ "queues", "010", "queues=010: expected a number without zeros" },
	{ "queues", "08", "from 1 to 64" },
	{ "queues", "0x10", "1 to 64" },
	{ "dead-after-ms", "00", "without zeros" },
	{ "depth", "1025", "1 to 1024" },
	{ "timeout-ms", "0", "600000" },
	{ "backend", "zram", "block or frontswap" },
	{ "checksum", "sha1", "none or crc32c" },
	{ "protect", "xor", "protect=xor: expected none or aead" },
	{ "translate", "keys", "nic or chain" },
	{ "address", "192.0.2.1:7489", "an IPv4 address alone: the port has a setting" },
	{ "label", "", "1 to 15 letters, digits" },
	{ "label", "far away", "label=far away: expected 1 to 15 letters" },
	{ "label", "far\"", "expected 1 to 15 letters" },
	{ "label", "far\x01", "expected 1 to 15 letters" },
	{ "label", "0123456789abcdef", "label=0123456789abcdef: expected 1" },
	{ "uuid", "far", "uuid=far: expected a UUID such as" },
	{ "uuid", "0f0e0d0c-1234-5678-9abc-0123456789a", "expected a UUID" },
	{ "uuid", "0f0e0d0c-1234-5678-9abc-0123456789abc", "expected a UUID" },
	{ "uuid", "0f0e0d0c-1234-5678-9abc-0123456789ag", "expected a UUID" },
	{ "uuid", "0f0e0d0c01234-5678-9abc-0123456789ab", "expected a UUID" },
	{ "uuid", "00000000-0000-0000-0000-000000000000", "not all zeros" },
	{ "activate", "maybe", "activate=maybe: expected yes or no" },
	{ "priority", "-1", "0 to 32767" },
	{ "priority", "32768", "32767" },
	{ "min-free-kbytes", "99999999999999999999", "min-free-kbytes" },
	{ "size", ONE_64 ONE_64 ONE_64 ONE_64, "255 characters" },
	{ "colour", "red", "colour" },
};

static void test_bad_values(void **state)
{
	const struct swap_conf none = { 0 };
	unsigned int i;

	for (i = 0; i < NR(bad); i++) {
		struct swap_conf conf = none;
		int r;

		why[0] = 0;
		r = swap_conf_set(&conf, bad[i][0], bad[i][1], why);
		if ((r != -EINVAL && r != -ENOENT) || !strstr(why, bad[i][2]))
			fail_msg("%s=%s: %d, %s", bad[i][0], bad[i][1], r, why);
		assert_memory_equal(&conf, &none, sizeof(conf));
	}
}

static const char *const bad_files[][2] = {
	{ "[swap]\nsize = 1G\n", "address is missing" },
	{ "[swap]\naddress = 192.0.2.1\n", "size is missing" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\n",
	  "key is missing: expected our name at the memory node, or auth=none" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\nkey = a\nauth = none\n",
	  "auth=none and key=a: expected one of them" },
	{ "address = 192.0.2.1\n[swap]\n",
	  ":1: address: in no section: expected [swap]" },
	{ "", "missing" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\n[other]\n",
	  ":4: section [other]: expected [swap]" },
	{ "[swap]\naddress 192.0.2.1\n[other]\n", ":2: expected NAME = VALUE" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\nkey = a\nactivate = no\npriority = 1\n",
	  "priority=1: not expected with activate=no" },
	{ "[mnode]\naddress = 192.0.2.1\n", ":1: section [mnode]" },
	{ "[swap]\naddress 192.0.2.1\n", ":2: expected NAME = VALUE" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\nsize = 2G\n",
	  ":4: size: given twice" },
	{ "[swap]\naddress = 192.0.2.1\n\t192.0.2.2\nsize = 1G\n",
	  ":3: address" },
	{ "[swap]\naddress = 192.0.2.1\nsize = 1G\npriority = high\n",
	  ":4: priority" },
};

static void test_bad_files(void **state)
{
	struct swap_conf conf;
	unsigned int i;

	for (i = 0; i < NR(bad_files); i++) {
		if (read_text(&conf, bad_files[i][0]) >= 0 ||
		    !strstr(why, bad_files[i][1]))
			fail_msg("'%s': %s", bad_files[i][0], why);
	}
}

static void test_no_file(void **state)
{
	struct swap_conf conf = { 0 };

	assert_int_equal(swap_conf_read(&conf, "/nowhere/odrp0.conf", why),
			 -ENOENT);
	assert_non_null(strstr(why, "/nowhere/odrp0.conf"));
	assert_int_equal(swap_conf_read(&conf, "/", why), -EINVAL);
	assert_string_equal(why, "/: cannot be read: expected a file");
	assert_int_equal(swap_conf_read(&conf, "/dev/zero", why), -EINVAL);
	assert_string_equal(why, "/dev/zero: expected a file of at most 10000 lines");
}

/* All that can be set fits into the buffer of those who add devices. */
static void test_longest(void **state)
{
	char path[SWAP_VALUE_MAX] = "/";
	const char *const most[][2] = {
		{ "address", "255.255.255.255" }, { "port", "65535" },
		{ "size", "18446744073709547520" },
		{ "src", "255.255.255.255" }, { "queues", "64" },
		{ "depth", "1024" }, { "timeout-ms", "600000" },
		{ "dead-after-ms", "600000" },
		{ "reconnect-delay-ms", "600000" },
		{ "backend", "frontswap" }, { "backing", path },
	};
	struct swap_conf conf = { 0 };
	char text[SWAP_LINE_MAX], small[20];
	unsigned int i;

	memset(path + 1, 'x', sizeof(path) - 2);
	for (i = 0; i < NR(most); i++)
		assert_int_equal(swap_conf_set(&conf, most[i][0], most[i][1],
					       why), 0);
	swap_conf_line(&conf, 255, text, sizeof(text));
	assert_string_equal(text + strlen(text) - strlen(path), path);
	swap_conf_line(&conf, 255, small, sizeof(small));
	assert_memory_equal(small, text, sizeof(small) - 1);
	assert_int_equal(small[sizeof(small) - 1], 0);
}

/* Each line of the sample that is commented out is taken, and all settings are
 * there. */
static void test_sample(void **state)
{
	const char *top = getenv("ODRP_TOP");
	char path[512], line[512], text[8192], word[32];
	struct swap_conf conf;
	size_t n = 0;
	unsigned int i;
	FILE *f;

	assert_non_null(top);
	snprintf(path, sizeof(path), "%s/mnode/ctl/odrp0.conf", top);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		bool setting = sscanf(line, "#%31[a-z-] =%1s", word, word) == 2;

		n += snprintf(text + n, sizeof(text) - n, "%s", line + setting);
		assert_true(n < sizeof(text));
	}
	fclose(f);
	if (read_text(&conf, text))
		fail_msg("%s", why);
	for (i = 0; i < SWAP_NR_KEYS; i++)
		if (!*conf.value[i] && i != SWAP_AUTH)	/* it is that or a key */
			fail_msg("setting %u is not in the sample", i);
	assert_string_equal(conf.value[SWAP_TRANSLATE], "nic");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
