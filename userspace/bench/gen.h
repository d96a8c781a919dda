/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which key comes next: YCSB's distributions, exact and without tables.
 *
 * zipfian   rank r (1 to n) with probability r^-theta / zeta(n, theta), by
 *           rejection-inversion (Hoermann and Derflinger, ACM TOMACS 6(3), 1996)
 * scrambled the same, the ranks spread over the keys by a bijection, so that the
 *           hottest key still has 1/zeta(n, theta) (Java YCSB hashes instead, which
 *           lets ranks collide, and takes zeta of 10^10 keys)
 * latest    rank 1 is the key that was inserted last
 * uniform
 *
 * Keys are 0 to n - 1. One generator per task; none locks.
 */
#ifndef FAR_BENCH_GEN_H
#define FAR_BENCH_GEN_H

#include <stdint.h>

#include "../base/rng.h"

enum gen_kind { GEN_UNIFORM, GEN_ZIPFIAN, GEN_SCRAMBLED, GEN_LATEST };

struct gen {
	enum gen_kind kind;
	uint64_t n;
	double theta;
	struct far_rng rng;
	/* of rejection-inversion: the integral of the density at its ends */
	double h_first, h_last, s;
	/* of the bijection: key = (rank * mul + add) mod n, mul coprime to n */
	uint64_t mul, add;
};

/*
 * -EINVAL: n is 0, or theta not in [0, 10). Two generators with the same kind, n and
 * theta agree on the bijection; the seed is of the draws only.
 */
int gen_init(struct gen *gen, enum gen_kind kind, uint64_t n, double theta,
	     uint64_t seed);
/* latest: n grew to n (by inserts). */
void gen_grow(struct gen *gen, uint64_t n);
uint64_t gen_next(struct gen *gen);

/* 64 random bits, and a number in [0, 1), of the same stream. */
uint64_t gen_random(struct gen *gen);
double gen_unit(struct gen *gen);

/* sum of r^-theta for r from 1 to n, within 1e-9 of it; for tests and formulas. */
double gen_zeta(uint64_t n, double theta);

/* "uniform", "zipfian", "scrambled", "latest"; -EINVAL. */
int gen_kind_parse(const char *name, enum gen_kind *ret_kind);

#endif
