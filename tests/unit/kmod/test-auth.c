// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Proofs and MACs of the compute node: HMAC-SHA-256 against RFC 4231, all else against
 * the agent's own, of the same messages, and each bit of them counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../kmod/auth.h"
#include "../../../userspace/auth/auth.h"

static u8 secret[ODRP_AUTH_SECRET];
static struct odrp_auth_hello hello;
static struct odrp_auth_challenge challenge;
static struct odrp_auth_response response;
static struct odrp_auth_done done;
static struct odrp_auth_req req;
static struct odrp_auth_bound bound;
static u8 answer[112], answer_mac[ODRP_AUTH_MAC];
static struct odrp_auth_key key;
static struct auth_key mnode_key;

static void hex(const char *text, u8 *ret)
{
	unsigned int n;

	for (; *text; text += 2) {
		assert_int_equal(sscanf(text, "%2x", &n), 1);
		*ret++ = n;
	}
}

/* RFC 4231, 4.2 to 4.6: a key's byte and length, or text; the data likewise. */
static const struct {
	const char	*key;
	u8		key_byte, key_len;
	const char	*data;
	u8		data_byte, data_len;
	const char	*mac;	/* as much as is given */
} vectors[] = {
	{ NULL, 0x0b, 20, "Hi There", 0, 8,
	  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
	{ "Jefe", 0, 4, "what do ya want for nothing?", 0, 28,
	  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
	{ NULL, 0xaa, 20, NULL, 0xdd, 50,
	  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
	{ NULL, 0, 25, NULL, 0xcd, 50,	/* the key counts from 1 */
	  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
	{ NULL, 0x0c, 20, "Test With Truncation", 0, 20,
	  "a3b6167473100ee06e0c796c2955552b" },
};

static void make(const char *text, u8 byte, u8 len, u8 *ret)
{
	u8 i;

	for (i = 0; i < len; i++)
		ret[i] = text ? text[i] : byte ? byte : i + 1;
}

/* However the data is cut. */
static void test_rfc4231(void **state)
{
	u8 k[64], data[64], mac[ODRP_AUTH_PROOF], want[ODRP_AUTH_PROOF];
	struct odrp_auth_piece piece[2];
	unsigned int i, cut;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		make(vectors[i].key, vectors[i].key_byte, vectors[i].key_len, k);
		make(vectors[i].data, vectors[i].data_byte, vectors[i].data_len,
		     data);
		hex(vectors[i].mac, want);
		for (cut = 0; cut <= vectors[i].data_len; cut++) {
			piece[0] = (struct odrp_auth_piece){ data, cut };
			piece[1] = (struct odrp_auth_piece){
				data + cut, vectors[i].data_len - cut };
			odrp_hmac(k, vectors[i].key_len, piece, 2, mac);
			assert_memory_equal(mac, want,
					    strlen(vectors[i].mac) / 2);
		}
	}
}

static void fill(void *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		((u8 *)p)[i] = (i + 1) * (2 * seed + 1) + seed * seed;
}

/* All of one round: what this end makes by its functions, the rest by the agent's. */
static void make_all(unsigned int seed)
{
	fill(secret, sizeof(secret), seed);
	fill(&hello, sizeof(hello), seed + 1);
	fill(&challenge, sizeof(challenge), seed + 2);
	fill(&response, sizeof(response), seed + 3);
	fill(&done, sizeof(done), seed + 4);
	fill(&req, sizeof(req), seed + 5);
	fill(answer, sizeof(answer), seed + 6);
	fill(&bound, sizeof(bound), seed + 7);
	bound.what = ODRP_AUTH_REP;
	bound.version = ODRP_AUTH_VERSION;
	bound.counter = req.counter;
	odrp_auth_derive(secret, &hello, &challenge, &key);
	auth_derive(secret, &hello, &challenge, &mnode_key);
	odrp_auth_prove(&key, &hello, &challenge, &response);
	auth_prove_done(&mnode_key, &hello, &challenge, &response, &done);
	odrp_auth_sign_req(&key, bound, &req);
	auth_sign_answer(&mnode_key, bound, answer, sizeof(answer), answer_mac);
}

static int check_done(void)
{
	struct odrp_auth_key k;

	odrp_auth_derive(secret, &hello, &challenge, &k);
	return odrp_auth_check_done(&k, &hello, &challenge, &response, &done);
}

static int check_answer(void)
{
	return odrp_auth_check_answer(&key, &bound, answer, sizeof(answer),
				      answer_mac);
}

static void test_as_the_agent(void **state)
{
	unsigned int seed;

	for (seed = 0; seed < 50; seed++) {
		make_all(seed);
		assert_memory_equal(key.k, mnode_key.k, sizeof(key.k));
		assert_int_equal(auth_check_response(&mnode_key, &hello,
						     &challenge, &response), 0);
		assert_int_equal(check_done(), 0);
		assert_int_equal(auth_check_req(&mnode_key, bound, &req), 0);
		assert_int_equal(check_answer(), 0);
	}
}

/* Each bit of p makes the check fail, and nothing else does. */
static void flip_all(void *p, size_t len, int (*check)(void))
{
	u8 *b = p;
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
	make_all(77);
	flip_all(secret, sizeof(secret), check_done);
	flip_all(&hello, sizeof(hello), check_done);
	flip_all(&challenge, sizeof(challenge), check_done);
	flip_all(&response, sizeof(response), check_done);
	flip_all(&done, sizeof(done), check_done);
	flip_all(answer, sizeof(answer), check_answer);
	flip_all(answer_mac, sizeof(answer_mac), check_answer);
	flip_all(&bound, sizeof(bound), check_answer);
	flip_all(&key, sizeof(key), check_answer);
}

/* What one end says is not taken for what the other one would say. */
static void test_no_mirror(void **state)
{
	make_all(3);
	memcpy(done.proof, response.proof, sizeof(done.proof));
	assert_int_equal(check_done(), -EKEYREJECTED);
	assert_int_equal(odrp_auth_check_answer(&key, &bound, &req,
				offsetof(struct odrp_auth_req, mac), req.mac),
			 -EKEYREJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc4231),
		cmocka_unit_test(test_as_the_agent),
		cmocka_unit_test(test_all_counts),
		cmocka_unit_test(test_no_mirror),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
