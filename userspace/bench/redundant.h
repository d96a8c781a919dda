/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of what the clients of one compute node do is done by another one of them at
 * the same time (smart-art section 3, Figures 4c and 4d): each draws a key by its skew, and
 * READs its object; or locks it by CAS, WRITEs it and unlocks it. Per operation, the
 * operations on the same key whose time overlaps with its own.
 */
#ifndef FAR_BENCH_REDUNDANT_H
#define FAR_BENCH_REDUNDANT_H

#include <stddef.h>
#include <stdint.h>

#include "../nic/nic.h"
#include "gen.h"

struct redundant {
	uint16_t *under_way;	/* by a hash of the key */
	uint64_t overlaps;	/* pairs of operations */
	uint64_t ops;
	uint64_t failed;	/* CAS that did not get the lock */
};

/* What one client has. */
struct redundant_hand {
	struct redundant *all;
	struct gen gen;
	struct far_nic *nic;
	struct far_qset *qset;	/* connected to memory node 0 */
	uint8_t *buf;		/* size bytes, and 16 */
	uint32_t lkey;
	uint32_t size;
	uint64_t slots;		/* objects that the memory has: keys share them */
	int write;
	const int *stop;	/* atomic: not 0 when others have failed, maybe with a lock */
};

/* -ENOMEM. */
int redundant_init(struct redundant *all);
void redundant_fini(struct redundant *all);
/* One operation, from begin to end. */
int redundant_op(struct redundant_hand *hand);
/* Operations that another one made redundant, per operation. */
double redundant_per_op(const struct redundant *all);

#endif
