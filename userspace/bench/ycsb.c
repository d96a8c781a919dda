// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * YCSB's workloads: see ycsb.h.
 */
#include "ycsb.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct ycsb_mix ycsb_mixes[] = {
	{ "A", "50 % updates, 50 % gets", { 50, 50, 0, 0 }, GEN_SCRAMBLED },
	{ "B", "5 % updates, 95 % gets", { 95, 5, 0, 0 }, GEN_SCRAMBLED },
	{ "C", "gets only", { 100, 0, 0, 0 }, GEN_SCRAMBLED },
	{ "D", "5 % inserts, 95 % gets of what came last", { 95, 0, 5, 0 }, GEN_LATEST },
	{ "E", "5 % inserts, 95 % scans of 1 to 100 keys", { 0, 0, 5, 95 }, GEN_SCRAMBLED },
	{ "LOAD", "inserts only", { 0, 0, 100, 0 }, GEN_UNIFORM },
	{ "update", "updates only", { 0, 100, 0, 0 }, GEN_SCRAMBLED },
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
