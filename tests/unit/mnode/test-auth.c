// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Proofs and MACs: fixed values, and that every bit that counts does count; the window
 * of counters; files of secrets.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../../userspace/auth/shake.h"

/* Byte i of the secret is i, of what is sent a * i + b. Made by Python's hmac. */
static const uint8_t want_key[] = {
	0x30, 0xef, 0x3a, 0x6e, 0xa3, 0x87, 0x89, 0xfb,
	0xac, 0x26, 0xcd, 0xac, 0x9c, 0x06, 0xc6, 0x21,
	0xa3, 0xe6, 0x9f, 0x28, 0xb8, 0x01, 0x5e, 0xfc,
	0x22, 0x84, 0x64, 0x36, 0x01, 0x78, 0x9a, 0x85,
};
static const uint8_t want_response[] = {
	0x23, 0x7b, 0xe2, 0x65, 0x17, 0x2b, 0xb0, 0xa0,
	0xb7, 0xbf, 0x32, 0xd0, 0xc1, 0x33, 0xd2, 0xba,
	0xeb, 0xaf, 0x04, 0x27, 0x02, 0xee, 0x31, 0x7a,
	0x1a, 0x73, 0xd5, 0xfc, 0x4e, 0x22, 0x50, 0x63,
};
static const uint8_t want_done[] = {
	0x3d, 0xfe, 0x4b, 0x8e, 0x76, 0xac, 0x3b, 0x81,
	0x06, 0x1b, 0x13, 0xb5, 0x30, 0x11, 0x57, 0xd8,
	0x12, 0xcd, 0xa3, 0x1f, 0x77, 0x1c, 0x84, 0xbd,
	0x15, 0x76, 0xcf, 0xd3, 0xcf, 0x2e, 0x03, 0x66,
};
static const uint8_t want_req[] = {
	0x79, 0x76, 0x31, 0x86, 0x45, 0x38, 0x01, 0x0e,
	0x69, 0xfa, 0xcc, 0x19, 0xed, 0xa1, 0xe9, 0xa5,
};
static const uint8_t want_answer[] = {
	0x71, 0x74, 0xb1, 0x93, 0x8a, 0x5d, 0x7c, 0x49,
	0xe6, 0x08, 0x47, 0x39, 0x70, 0xf1, 0x26, 0xcf,
};

static uint8_t secret[ODRP_AUTH_SECRET];
static struct odrp_auth_hello hello;
static struct odrp_auth_challenge challenge;
static struct odrp_auth_response response;
static struct odrp_auth_done done;
static struct odrp_auth_req req;
static struct odrp_auth_bound bound;
static uint8_t answer[96], answer_mac[ODRP_AUTH_MAC];
static struct auth_key key;

static void fill(void *p, size_t len, unsigned int a, unsigned int b)
{
	size_t i;

	for (i = 0; i < len; i++)
		((uint8_t *)p)[i] = a * i + b;
}

static void make_all(void)
{
	fill(secret, sizeof(secret), 1, 0);
	fill(&hello, sizeof(hello), 7, 1);
	fill(&challenge, sizeof(challenge), 5, 2);
	fill(&response, offsetof(struct odrp_auth_response, proof), 3, 3);
	fill(&done, offsetof(struct odrp_auth_done, proof), 11, 4);
	fill(&req, offsetof(struct odrp_auth_req, mac), 13, 5);
	fill(answer, sizeof(answer), 17, 6);
	bound = (struct odrp_auth_bound){
		.what = ODRP_AUTH_REP, .version = ODRP_AUTH_VERSION,
		.qpn = htobe32(0x123456), .counter = req.counter,
	};
	fill(bound.cnode_addr, ODRP_AUTH_ADDR, 1, 0x40);
	fill(bound.mnode_addr, ODRP_AUTH_ADDR, 1, 0x80);
	auth_derive(secret, &hello, &challenge, &key);
	auth_prove_response(&key, &hello, &challenge, &response);
	auth_prove_done(&key, &hello, &challenge, &response, &done);
	auth_sign_req(&key, bound, &req);
	auth_sign_answer(&key, bound, answer, sizeof(answer), answer_mac);
}

static int check_response(void)
{
	struct auth_key k;

	auth_derive(secret, &hello, &challenge, &k);
	return auth_check_response(&k, &hello, &challenge, &response);
}

static int check_done(void)
{
	struct auth_key k;

	auth_derive(secret, &hello, &challenge, &k);
	return auth_check_done(&k, &hello, &challenge, &response, &done);
}

static int check_req(void)
{
	return auth_check_req(&key, bound, &req);
}

static int check_answer(void)
{
	return auth_check_answer(&key, bound, answer, sizeof(answer), answer_mac);
}

static void test_values(void **state)
{
	make_all();
	assert_memory_equal(key.k, want_key, sizeof(want_key));
	assert_memory_equal(response.proof, want_response, sizeof(want_response));
	assert_memory_equal(done.proof, want_done, sizeof(want_done));
	assert_memory_equal(req.mac, want_req, sizeof(want_req));
	assert_memory_equal(answer_mac, want_answer, sizeof(want_answer));
}

/* Each bit of p, on its own, makes the check fail; and nothing else does. */
static void flip_all(void *p, size_t len, int (*check)(void))
{
	uint8_t *b = p;
	size_t i;

	assert_int_equal(check(), 0);
	for (i = 0; i < 8 * len; i++) {
		b[i / 8] ^= 1 << i % 8;
		assert_int_equal(check(), -EKEYREJECTED);
		b[i / 8] ^= 1 << i % 8;
	}
	assert_int_equal(check(), 0);
}

static void test_all_counts(void **state)
{
	make_all();
	flip_all(secret, sizeof(secret), check_response);
	flip_all(&hello, sizeof(hello), check_response);
	flip_all(&challenge, sizeof(challenge), check_response);
	flip_all(&response, sizeof(response), check_response);
	flip_all(&hello, sizeof(hello), check_done);
	flip_all(&challenge, sizeof(challenge), check_done);
	flip_all(&response, sizeof(response), check_done);
	flip_all(&done, sizeof(done), check_done);
	flip_all(&req, sizeof(req), check_req);
	flip_all(&bound.qpn, sizeof(bound.qpn), check_req);
	flip_all(bound.cnode_addr, 2 * ODRP_AUTH_ADDR, check_req);
	flip_all(&key, sizeof(key), check_req);
	flip_all(answer, sizeof(answer), check_answer);
	flip_all(answer_mac, sizeof(answer_mac), check_answer);
	flip_all(&bound, sizeof(bound), check_answer);
	flip_all(&key, sizeof(key), check_answer);
}

/* What is for one purpose is for no other: a refusal is no accept, and a proof of the
 * one is none of the other. */
static void test_purposes(void **state)
{
	make_all();
	bound.what = ODRP_AUTH_REJ;
	assert_int_equal(check_answer(), -EKEYREJECTED);
	memcpy(done.proof, response.proof, sizeof(done.proof));
	assert_int_equal(check_done(), -EKEYREJECTED);
}

/* ---- counters ----------------------------------------------------------------------- */

static void test_window(void **state)
{
	struct auth_window w = { 0 };
	uint64_t i;

	assert_int_equal(auth_window_take(&w, 0), -ERANGE);
	for (i = 1; i <= 3000; i++) {
		assert_int_equal(auth_window_take(&w, i), 0);
		assert_int_equal(auth_window_take(&w, i), -EALREADY);
	}
	assert_int_equal(auth_window_take(&w, 3000 - 1023), -EALREADY);
	assert_int_equal(auth_window_take(&w, 3000 - 1024), -ERANGE);
	assert_int_equal(auth_window_take(&w, 3500), 0);
	assert_int_equal(auth_window_take(&w, 3500 - 1023), -EALREADY);
	for (i = 3499; i > 3000; i--)
		assert_int_equal(auth_window_take(&w, i), 0);
	assert_int_equal(auth_window_take(&w, 3000), -EALREADY);
	assert_int_equal(auth_window_take(&w, UINT64_MAX), 0);
	assert_int_equal(auth_window_take(&w, UINT64_MAX), -EALREADY);
	assert_int_equal(auth_window_take(&w, UINT64_MAX - 1023), 0);
	assert_int_equal(auth_window_take(&w, UINT64_MAX - 1024), -ERANGE);
	assert_int_equal(auth_window_take(&w, 3501), -ERANGE);
}

/* Any order: each counter once at most, and what is young enough at least once. */
static void test_window_any(void **state)
{
	static uint8_t taken[20000];
	struct auth_window w = { 0 };
	uint64_t rnd = 1, top = 0;
	unsigned int i;
	int r;

	for (i = 0; i < 200000; i++) {
		uint64_t c;

		rnd = rnd * 6364136223846793005ull + 1442695040888963407ull;
		c = i / 10 + (rnd >> 33) % 1500;
		if (!c || c >= sizeof(taken))
			continue;
		r = auth_window_take(&w, c);
		if (top >= 1024 && c <= top - 1024)
			assert_int_equal(r, -ERANGE);
		else
			assert_int_equal(r, taken[c] ? -EALREADY : 0);
		taken[c] |= !r;
		top = c > top ? c : top;
	}
}

/* ---- files -------------------------------------------------------------------------- */

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define B64 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

static char dir[] = "secret-XXXXXX";

static void put(const char *name, const char *text, mode_t mode)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static int read_one(const char *name, struct secrets *s, const char *expect)
{
	char why[SECRET_WHY_MAX] = "";
	int r = secret_read(dir, name, s, why);

	if (r && !strstr(why, expect))
		fail_msg("expected '%s' in: %s", expect, why);
	assert_null(strstr(why, "0001020304"));
	assert_null(strstr(why, "AAECAwQF"));
	return r;
}

static void test_files(void **state)
{
	char why[SECRET_WHY_MAX], path[64];
	struct secrets s, again;
	struct stat st;

	assert_non_null(mkdtemp(dir));
	make_all();
	put("one", "# the old one\nsecret = " HEX "\n  secret=" B64 "\n\n", 0600);
	assert_int_equal(read_one("one", &s, ""), 0);
	assert_int_equal(s.nr, 2);
	assert_memory_equal(s.secret[0], secret, sizeof(secret));
	assert_memory_equal(s.secret[1], secret, sizeof(secret));
	put("one", "secret = " HEX "\n", 0640);
	assert_int_equal(read_one("one", &s, "mode 0640: expected 0600"), -EACCES);
	put("one", "secret = " HEX "\n", 0604);
	assert_int_equal(read_one("one", &s, "mode 0604"), -EACCES);
	put("one", "secret = " HEX "\nsecret = " HEX "\nsecret = " HEX "\n", 0400);
	assert_int_equal(read_one("one", &s, "one:3: expected at most 2"), -EINVAL);
	put("one", "secret = " HEX "00\n", 0600);
	assert_int_equal(read_one("one", &s, "one:1: expected 32 bytes"), -EINVAL);
	put("one", "secret = AAECAwQF\n", 0600);
	assert_int_equal(read_one("one", &s, "one:1: expected 32 bytes"), -EINVAL);
	put("one", "secret = " HEX " x\n", 0600);
	assert_int_equal(read_one("one", &s, "one:1: expected secret"), -EINVAL);
	put("one", "token = " HEX "\n", 0600);
	assert_int_equal(read_one("one", &s, "one:1: expected secret"), -EINVAL);
	put("one", "\n", 0600);
	assert_int_equal(read_one("one", &s, "has no secret"), -EINVAL);
	assert_int_equal(read_one("none", &s, "none: No such"), -ENOENT);
	assert_int_equal(read_one("../x", &s, "expected 1 to 31"), -EINVAL);
	assert_int_equal(read_one(".x", &s, "expected 1 to 31"), -EINVAL);
	assert_int_equal(read_one("", &s, "expected 1 to 31"), -EINVAL);
	put("one", "secret = " HEX "\n", 0600);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("one", path), 0);
	assert_int_equal(read_one("link", &s, "link"), -EACCES);
	unlink(path);
	snprintf(path, sizeof(path), "%s/one", dir);
	unlink(path);

	umask(0);
	assert_int_equal(secret_new(dir, "new", why), 0);
	assert_int_equal(secret_new(dir, "new", why), -EEXIST);
	assert_int_equal(secret_new(dir, "a/b", why), -EINVAL);
	snprintf(path, sizeof(path), "%s/new", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(read_one("new", &s, ""), 0);
	assert_int_equal(s.nr, 1);
	unlink(path);
	assert_int_equal(secret_new(dir, "new", why), 0);
	assert_int_equal(read_one("new", &again, ""), 0);
	assert_memory_not_equal(s.secret[0], again.secret[0], ODRP_AUTH_SECRET);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_all_counts),
		cmocka_unit_test(test_purposes),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_any),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
