/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * YCSB's workloads (Cooper et al., SoCC 2010): which operation comes next, on which
 * key, and what keys and values look like as bytes.
 */
#ifndef FAR_BENCH_YCSB_H
#define FAR_BENCH_YCSB_H

#include <stddef.h>
#include <stdint.h>

#include "gen.h"

enum ycsb_op { YCSB_GET, YCSB_UPDATE, YCSB_INSERT, YCSB_SCAN, YCSB_NR_OPS };

#define YCSB_MAX_SCAN	100u	/* keys of a scan: 1 to this, uniformly */

struct ycsb_mix {
	const char *name;
	const char *what;		/* for --help */
	unsigned percent[YCSB_NR_OPS];	/* 100 in sum */
	enum gen_kind kind;
};

/* Ended by one without a name. */
extern const struct ycsb_mix ycsb_mixes[];

/* By name, in any case; NULL. */
const struct ycsb_mix *ycsb_find(const char *name);

enum ycsb_key_type {
	YCSB_KEY_INT,		/* the number in 8 bytes, then zeros */
	YCSB_KEY_STRING,	/* "user" and the scrambled number in decimal, then '.' */
};

#define YCSB_MAX_KEY		256u
#define YCSB_MIN_STRING_KEY	24u

/* How a data set's keys and values look. */
struct ycsb_data {
	enum ycsb_key_type key_type;
	uint32_t key_size;	/* 8 to YCSB_MAX_KEY; of strings at least 24 */
	uint32_t value_size;
	uint32_t span;		/* entries of a node, of a B+ tree; 0: what suits it */
	int ordered;		/* integers are scattered (as YCSB hashes them), and big-endian */
};

/* Writes data->key_size bytes. Different numbers are different keys. */
void ycsb_key(const struct ycsb_data *data, uint64_t number, void *key);
/* Writes data->value_size bytes that tell `stamp`, as far as they have room. */
void ycsb_value(const struct ycsb_data *data, uint64_t stamp, void *value);

#endif
