// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * YCSB's key distributions: see gen.h.
 */
#include "gen.h"

#include <errno.h>
#include <math.h>
#include <string.h>

uint64_t gen_random(struct gen *gen)
{
	return far_rng_next(&gen->rng);
}

double gen_unit(struct gen *gen)
{
	return far_rng_unit(&gen->rng);
}

/* (e^x - 1) / x and log(1 + x) / x, also near 0. */
static double expm1_by(double x)
{
	return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}

static double log1p_by(double x)
{
	return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x / 3);
}

/* The integral of t^-theta from 1 to x, and its inverse. */
static double zipf_integral(const struct gen *gen, double x)
{
	double log_x = log(x);

	return expm1_by((1 - gen->theta) * log_x) * log_x;
}

static double zipf_integral_inverse(const struct gen *gen, double y)
{
	double t = y * (1 - gen->theta);

	if (t < -1)
		t = -1;		/* rounding only */
	return exp(log1p_by(t) * y);
}

static void zipf_limits(struct gen *gen)
{
	gen->h_first = zipf_integral(gen, 1.5) - 1;
	gen->h_last = zipf_integral(gen, (double)gen->n + 0.5);
	gen->s = 2 - zipf_integral_inverse(gen, zipf_integral(gen, 2.5) -
					   exp(-gen->theta * log(2)));
}

/* A rank, 1 to n. */
static uint64_t zipf_rank(struct gen *gen)
{
	double u, x, k;

	for (;;) {
		u = gen->h_last + gen_unit(gen) * (gen->h_first - gen->h_last);
		x = zipf_integral_inverse(gen, u);
		k = floor(x + 0.5);
		if (k < 1)
			k = 1;
		else if (k > (double)gen->n)
			k = (double)gen->n;
		if (k - x <= gen->s ||
		    u >= zipf_integral(gen, k + 0.5) - exp(-gen->theta * log(k)))
			return (uint64_t)k;
	}
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	uint64_t rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Near n times the golden ratio, so that neighbouring ranks are far apart. */
static void scramble_init(struct gen *gen)
{
	gen->mul = (uint64_t)((double)gen->n * 0.6180339887498949) | 1;
	while (common_divisor(gen->mul, gen->n) != 1)
		gen->mul += 2;
	gen->add = gen->n / 3;
}

static uint64_t scramble(const struct gen *gen, uint64_t rank)
{
	return (uint64_t)(((unsigned __int128)rank * gen->mul + gen->add) % gen->n);
}

int gen_init(struct gen *gen, enum gen_kind kind, uint64_t n, double theta,
	     uint64_t seed)
{
	if (!n || !(theta >= 0 && theta < 10))
		return -EINVAL;
	memset(gen, 0, sizeof(*gen));
	gen->kind = kind;
	gen->n = n;
	gen->theta = theta;
	far_rng_init(&gen->rng, seed, 0);
	zipf_limits(gen);
	scramble_init(gen);
	return 0;
}

void gen_grow(struct gen *gen, uint64_t n)
{
	gen->n = n;
	gen->h_last = zipf_integral(gen, (double)n + 0.5);
}

uint64_t gen_next(struct gen *gen)
{
	switch (gen->kind) {
	case GEN_ZIPFIAN:
		return zipf_rank(gen) - 1;
	case GEN_SCRAMBLED:
		return scramble(gen, zipf_rank(gen) - 1);
	case GEN_LATEST:
		return gen->n - zipf_rank(gen);
	case GEN_UNIFORM:
		break;
	}
	return far_rng_below(&gen->rng, gen->n);
}

/* The first terms one by one, the rest by Euler and Maclaurin. */
double gen_zeta(uint64_t n, double theta)
{
	const uint64_t exact = 1000;
	struct gen gen = { .theta = theta };
	double sum = 0, a, b;
	uint64_t r;

	for (r = 1; r <= n && r < exact; r++)
		sum += pow((double)r, -theta);
	if (r > n)
		return sum;
	a = (double)r;
	b = (double)n;
	sum += zipf_integral(&gen, b) - zipf_integral(&gen, a);
	sum += (pow(a, -theta) + pow(b, -theta)) / 2;
	sum += theta * (pow(a, -theta - 1) - pow(b, -theta - 1)) / 12;
	return sum;
}

int gen_kind_parse(const char *name, enum gen_kind *ret_kind)
{
	static const char *const names[] = {
		[GEN_UNIFORM] = "uniform",
		[GEN_ZIPFIAN] = "zipfian",
		[GEN_SCRAMBLED] = "scrambled",
		[GEN_LATEST] = "latest",
	};
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*ret_kind = i;
			return 0;
		}
	}
	return -EINVAL;
}
