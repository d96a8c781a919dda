/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs and images for the tests of the chain compiler. */
#ifndef TEST_WRCHAIN_BENCH_H
#define TEST_WRCHAIN_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/check.h"
#include "mlx5/encode.h"
#include "paper/paper.h"

struct bench {
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	uint8_t *arena;
	uint8_t *table;		/* recycle=node */
};

extern const struct wrc_bind bench_bind;

/* The program linked and written; fails the test when that does not work. */
void bench_open(struct bench *b, enum odrp_wire_chain chain, bool strict,
		uint32_t depth);
/* recycle=node. */
void bench_open_node(struct bench *b, enum odrp_wire_chain chain, bool strict,
		     uint32_t depth);
void bench_open_node_exchange(struct bench *b, enum odrp_wire_chain chain,
			      bool strict, uint32_t depth);
/* Translation in the NIC; store or invalidate. */
void bench_open_keyed(struct bench *b, enum odrp_wire_chain chain, bool strict,
		      uint32_t depth);
/* The same for a program that the test has built itself. */
void bench_image(struct bench *b, uint32_t depth);
void bench_close(struct bench *b);

/* A field of an instruction in the image. */
uint8_t *bench_field(struct bench *b, unsigned int insn, enum wrc_field field,
		     unsigned int sge, uint32_t instance);
/* Segment n of a receive entry. */
struct wrc_wqe_data *bench_recv(struct bench *b, uint32_t instance,
				unsigned int n);
/* The first loop instruction of that opcode, at or after `from`. */
unsigned int bench_find(const struct bench *b, __u8 op, unsigned int from);

/* Small numbers, the same ones every time. */
uint32_t bench_random(uint32_t *state);

#endif /* TEST_WRCHAIN_BENCH_H */
