/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the workloads share: sizes, time, a seeded sequence, and pages whose
 * every byte says which page of which version it belongs to.
 */
#ifndef WORKLOAD_COMMON_H
#define WORKLOAD_COMMON_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES	4096
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))

/* A seeded sequence (splitmix64): the same numbers on every machine. */
uint64_t mix64(uint64_t x);
uint64_t next_random(uint64_t *state);
/* Uniform enough in [0, bound); bound at least 1. */
uint64_t next_below(uint64_t *state, uint64_t bound);

double now_s(void);

/*
 * "96M", "1G", "4096"; a number from min to max.  For argp parsers: on bad
 * text says which option and what was expected, and ends the program.
 */
uint64_t parse_size(struct argp_state *state, const char *option,
		    const char *text, uint64_t min, uint64_t max);

/*
 * Anonymous private memory, never to be made huge, or aligned for that and left
 * to what the kernel is set to.  NULL: errno.
 */
void *map_pages(size_t nr_pages);
void *map_huge(size_t nr_pages);

/* From now on an eighth of a page tells all of it: else nothing compresses. */
void pages_compressible(void);

/* Version 0 is the page of zeros that fresh or freed memory reads as. */
void page_stamp(void *page, uint64_t seed, uint64_t idx, uint32_t version);

/* Index of the first wrong word, or -1. */
int page_verify(const void *page, uint64_t seed, uint64_t idx,
		uint32_t version);

/*
 * Says on standard error what is wrong with a page, and, if a page below
 * nr_pages of this seed explains what was found there, which.
 */
void page_explain(const void *page, uint64_t seed, uint64_t idx,
		  uint32_t version, uint64_t nr_pages);

/* A permutation of [0, n): the i-th element of the one that key chooses. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key);

#endif /* WORKLOAD_COMMON_H */
