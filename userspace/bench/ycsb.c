// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * YCSB's workloads: see ycsb.h.
 */
#include "ycsb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Ended by one without a name. */
static const struct ycsb_mix ycsb_mixes[] = {
	{ "A", "50 % updates, 50 % gets", { 50, 50, 0, 0 }, GEN_SCRAMBLED },
	{ "B", "5 % updates, 95 % gets", { 95, 5, 0, 0 }, GEN_SCRAMBLED },
	{ "C", "gets only", { 100, 0, 0, 0 }, GEN_SCRAMBLED },
	{ "D", "5 % inserts, 95 % gets of what came last", { 95, 0, 5, 0 }, GEN_LATEST },
	{ "E", "5 % inserts, 95 % scans of 1 to 100 keys", { 0, 0, 5, 95 }, GEN_SCRAMBLED },
	{ "LOAD", "inserts only", { 0, 0, 100, 0 }, GEN_UNIFORM },
	{ "update", "updates only", { 0, 100, 0, 0 }, GEN_SCRAMBLED },
	{ "modify", "changes by a function that counts", { 0, 0, 0, 0, 100 }, GEN_SCRAMBLED },
	{ NULL, NULL, { 0 }, GEN_UNIFORM },
};

const struct ycsb_mix *ycsb_find(const char *name)
{
	const struct ycsb_mix *mix;

	for (mix = ycsb_mixes; mix->name; mix++)
		if (!strcasecmp(mix->name, name))
			return mix;
	return NULL;
}

/* A bijection of 64-bit numbers, so that strings of neighbours differ early. */
static uint64_t scatter(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static const struct {
	const char *name;
	uint32_t least;
} key_types[] = {
	[YCSB_KEY_INT] = { "int", 8 },
	[YCSB_KEY_STRING] = { "string", YCSB_MIN_STRING_KEY },
	[YCSB_KEY_EMAIL] = { "email", YCSB_MIN_EMAIL_KEY },
};

int ycsb_key_type_parse(const char *name, enum ycsb_key_type *ret_type)
{
	unsigned i;

	for (i = 0; i < sizeof(key_types) / sizeof(key_types[0]); i++)
		if (!strcmp(name, key_types[i].name)) {
			*ret_type = i;
			return 0;
		}
	return -EINVAL;
}

const char *ycsb_key_type_name(enum ycsb_key_type type)
{
	return key_types[type].name;
}

uint32_t ycsb_least_key(enum ycsb_key_type type)
{
	return key_types[type].least;
}

/* A word of nr syllables, two letters each, that the bits choose. */
static char *syllables(char *at, uint64_t bits, unsigned nr)
{
	static const char first[] = "bdfglmnprstvkzhc", second[] = "aeiouaei";

	while (nr--) {
		*at++ = first[bits & 15];
		*at++ = second[bits >> 4 & 7];
		bits >>= 7;
	}
	return at;
}

/* Domains: half of the keys have one of 5, three in ten one of 20, the rest one of 400. */
static unsigned domain_of(uint64_t bits)
{
	unsigned of_ten = bits % 10, which = bits / 10 % 8000;

	return of_ten < 5 ? which % 5 : of_ten < 8 ? 5 + which % 20 : 25 + which % 400;
}

/* At most 10 of "com.", 1, 6, 1, 2 and 11 digits bytes: 31. */
static void email_key(uint32_t key_size, uint64_t number, char *key)
{
	static const char *const tops[] = { "com.", "com.", "net.", "org." };
	uint64_t bits = scatter(number);
	unsigned domain = domain_of(bits);
	uint64_t name = scatter(domain + 1);
	char *at = key, digits[24];
	int len;

	memset(key, '.', key_size);
	memcpy(at, tops[domain % 4], 4);
	at = syllables(at + 4, name, domain % 2 + 2);
	*at++ = '@';
	at = syllables(at, bits >> 20, 2 + (bits >> 60 & 1));
	*at++ = '.';
	at = syllables(at, bits >> 48, 1);
	len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	memcpy(at, digits, len < 11 ? len : 11);
}

void ycsb_key(const struct ycsb_data *data, uint64_t number, void *key)
{
	char text[YCSB_MIN_STRING_KEY + 1];

	if (data->key_type == YCSB_KEY_INT) {
		memset(key, 0, data->key_size);
		if (data->ordered)
			number = __builtin_bswap64(scatter(number));
		memcpy(key, &number, sizeof(number));
		return;
	}
	if (data->key_type == YCSB_KEY_EMAIL) {
		email_key(data->key_size, number, key);
		return;
	}
	snprintf(text, sizeof(text), "user%020llu", (unsigned long long)scatter(number));
	memset(key, '.', data->key_size);
	memcpy(key, text, YCSB_MIN_STRING_KEY);
}

void ycsb_value(const struct ycsb_data *data, uint64_t stamp, void *value)
{
	uint32_t off, len;
	char *at = value;

	for (off = 0; off < data->value_size; off += len) {
		len = data->value_size - off;
		if (len > sizeof(stamp))
			len = sizeof(stamp);
		memcpy(at + off, &stamp, len);
	}
}
