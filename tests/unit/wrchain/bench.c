// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs and images for the tests; see bench.h. */
#include <stdlib.h>
#include "bench.h"

const struct wrc_bind bench_bind = {
	.client_qpn = 0x11, .client_rcqn = 0x21, .client_scqn = 0x23,
	.loop_qpn = 0x12, .loop_scqn = 0x22,
	.arena_iova = 0x10000000, .arena_key = 0xa00,
	.buf_iova = 0x20000000, .buf_key = 0xb00,
	.tt_len = 0x10000, .tt_key = 0xc00,
	.free_head = 0x30000000, .free_tail = 0x30000040,
	.free_ring = 0x30010000, .log_free_ring = 16, .free_key = 0xd00,
	.pool_key = 0xe00, .pool_len = 0x2000000,
};

/* Page exchange: each instance's first. */
static __u64 pages[1024];

void bench_image(struct bench *b, uint32_t depth)
{
	assert_int_equal(wrc_geom_init(&b->prog, depth, &b->geom), 0);
	b->bind = bench_bind;
	for (uint32_t i = 0; i < depth; i++)
		pages[i] = WRC_POOL_IOVA + (i + 1) * 4096ull;
	if (wrc_has_register(&b->prog))
		b->bind.pages = pages;
	if (wrc_is_keyed(&b->prog)) {
		b->bind.keymap_key = 0x1000;
		b->bind.arena_rkey = 0x1100;
	}
	b->table = NULL;
	if (b->prog.node) {
		b->table = malloc(b->geom.table_len);
		assert_non_null(b->table);
		b->bind.table = b->table;
		b->bind.table_iova = 4 * WRC_TABLE_ALIGN;
		b->bind.table_key = 0xf00;
		wrc_table_fill(&b->prog, &b->geom, b->bind.table_iova,
			       b->table);
	}
	b->arena = malloc(b->geom.arena_len);
	assert_non_null(b->arena);
	assert_int_equal(wrc_image_write(&b->prog, &b->geom, &b->bind,
					 b->arena), 0);
}

static void open_with(struct bench *b, enum odrp_wire_chain chain,
		      const struct wrc_opts *opts, uint32_t depth)
{
	assert_int_equal(wrc_any_build(chain, opts, &b->prog), 0);
	bench_image(b, depth);
}

void bench_open(struct bench *b, enum odrp_wire_chain chain, bool strict,
		uint32_t depth)
{
	open_with(b, chain, &(struct wrc_opts){ .strict_index = strict },
		  depth);
}

static void open_node(struct bench *b, enum odrp_wire_chain chain, bool strict,
		      enum wrc_variant variant, uint32_t depth)
{
	open_with(b, chain, &(struct wrc_opts){
		.strict_index = strict, .recycle = WRC_RECYCLE_NODE,
		.variant = variant,
	}, depth);
}

void bench_open_node(struct bench *b, enum odrp_wire_chain chain, bool strict,
		     uint32_t depth)
{
	open_node(b, chain, strict, WRC_V_OURS, depth);
}

void bench_open_node_exchange(struct bench *b, enum odrp_wire_chain chain,
			      bool strict, uint32_t depth)
{
	open_node(b, chain, strict, WRC_V_EXCHANGE, depth);
}

void bench_open_keyed(struct bench *b, enum odrp_wire_chain chain, bool strict,
		      uint32_t depth)
{
	open_node(b, chain, strict, WRC_V_KEYED, depth);
}

void bench_close(struct bench *b)
{
	free(b->arena);
	free(b->table);
	b->arena = b->table = NULL;
}

uint8_t *bench_field(struct bench *b, unsigned int insn, enum wrc_field field,
		     unsigned int sge, uint32_t instance)
{
	int off = wrc_field_at(b->prog.insn[insn].op, field, sge);

	assert_true(off >= 0);
	return b->arena + wrc_insn_off(&b->prog, &b->geom, insn, instance) +
	       off;
}

struct wrc_wqe_data *bench_recv(struct bench *b, uint32_t instance,
				unsigned int n)
{
	return (struct wrc_wqe_data *)(b->arena + b->geom.client_rq +
				       (instance << b->geom.log_rq_stride)) + n;
}

unsigned int bench_find(const struct bench *b, __u8 op, unsigned int from)
{
	while (from < b->prog.nr_insn && b->prog.insn[from].op != op)
		from++;
	assert_true(from < b->prog.nr_insn);
	return from;
}

uint32_t bench_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}
