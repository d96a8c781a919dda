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

enum ycsb_op { YCSB_GET, YCSB_UPDATE, YCSB_INSERT, YCSB_SCAN, YCSB_MODIFY, YCSB_NR_OPS };

#define YCSB_MAX_SCAN	100u	/* keys of a scan: 1 to this, uniformly */

struct ycsb_mix {
	const char *name;
	const char *what;		/* for --help */
	unsigned percent[YCSB_NR_OPS];	/* 100 in sum */
	enum gen_kind kind;
};

/* By name, in any case; NULL. */
const struct ycsb_mix *ycsb_find(const char *name);

enum ycsb_key_type {
	YCSB_KEY_INT,		/* the number in 8 bytes, then zeros */
	YCSB_KEY_STRING,	/* "user" and the scrambled number in decimal, then '.' */
	/*
	 * Like e-mail addresses with the domain in front: "com.ledami@sora.banite4711", then
	 * '.'. Half of them are of five domains; the number itself tells all apart.
	 */
	YCSB_KEY_EMAIL,
};

/* "int", "string", "email"; -EINVAL. */
int ycsb_key_type_parse(const char *name, enum ycsb_key_type *ret_type);
const char *ycsb_key_type_name(enum ycsb_key_type type);
/* The least key_size of a type. */
uint32_t ycsb_least_key(enum ycsb_key_type type);

#define YCSB_MAX_KEY		256u
#define YCSB_MIN_STRING_KEY	24u
#define YCSB_MIN_EMAIL_KEY	32u

/* How a data set's keys and values look. */
struct ycsb_data {
	enum ycsb_key_type key_type;
	uint32_t key_size;	/* ycsb_least_key() to YCSB_MAX_KEY */
	uint32_t value_size;
	uint32_t span;		/* entries of a node, of a B+ tree; 0: what suits it */
	int ordered;		/* integers are scattered (as YCSB hashes them), and big-endian */
};

/* Writes data->key_size bytes. Different numbers are different keys. */
void ycsb_key(const struct ycsb_data *data, uint64_t number, void *key);
/* Writes data->value_size bytes that tell `stamp`, as far as they have room. */
void ycsb_value(const struct ycsb_data *data, uint64_t stamp, void *value);

#endif
