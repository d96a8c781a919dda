// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encoder, decoder and disassembler against each other and against bytes. */
#include <stdlib.h>
#include "bench.h"

static const __u8 opcodes[] = {
	WRC_WQE_NOP, WRC_WQE_WRITE, WRC_WQE_WRITE_IMM, WRC_WQE_SEND,
	WRC_WQE_SEND_IMM, WRC_WQE_WAIT, WRC_WQE_READ, WRC_WQE_CS, WRC_WQE_FA,
	WRC_WQE_MASKED_CS, WRC_WQE_MASKED_FA, WRC_WQE_RECV_EN, WRC_WQE_SEND_EN,
	WRC_WQE_UMR,
};

#define MAX_WQE (WRC_WQE_MAX_DS * WRC_WQE_DS)

static uint64_t random64(uint32_t *s)
{
	return (uint64_t)bench_random(s) << 32 | bench_random(s);
}

/* Any request that its opcode allows; inline data is the caller's. */
static void random_wr(uint32_t *s, const uint8_t *inl, struct wrc_wr *wr)
{
	const struct wrc_opdef *def;
	unsigned int i, sges;

	memset(wr, 0, sizeof(*wr));
	wr->shape = opcodes[bench_random(s) % sizeof(opcodes)];
	wr->op = wr->shape;
	if (bench_random(s) % 4 == 0)
		wr->op = WRC_WQE_NOP;
	def = wrc_opdef(wr->shape);
	wr->flags = (bench_random(s) & 3) << 2 | (bench_random(s) & 1) << 1 |
		    (bench_random(s) & 7) << 5;
	wr->index = bench_random(s);
	wr->qpn = bench_random(s) & 0xffffff;
	if (wr->shape == WRC_WQE_NOP)
		wr->ds = 1 + bench_random(s) % WRC_WQE_MAX_DS;
	if (def->flags & (WRC_OP_IMM | WRC_OP_KEY))
		wr->imm = bench_random(s);
	if (def->flags & WRC_OP_KEY) {
		wr->offset = bench_random(s);
		wr->page_key = bench_random(s);
		wr->page = random64(s);
	}
	if (def->flags & WRC_OP_REMOTE) {
		wr->raddr = random64(s);
		wr->rkey = bench_random(s);
	}
	if (wrc_field_at(wr->shape, WRC_F_COUNT, 0) >= 0) {
		wr->count = bench_random(s);
		wr->obj = bench_random(s);
	}
	if ((def->flags & WRC_OP_ATOMIC) == WRC_OP_ATOMIC) {
		wr->swap = random64(s);
		wr->compare = random64(s);
	}
	if (wr->shape == WRC_WQE_MASKED_CS) {
		wr->swap_mask = random64(s);
		wr->compare_mask = random64(s);
	}
	if (def->flags & WRC_OP_GATHER && bench_random(s) % 4 == 0) {
		wr->inl = inl;
		wr->inl_len = 1 + bench_random(s) % 900;
		return;
	}
	sges = def->min_sge +
	       bench_random(s) % (def->max_sge - def->min_sge + 1);
	wr->nr_sge = sges;
	for (i = 0; i < sges; i++) {
		wr->sge[i].len = 1 + bench_random(s) % 0x7ffffffe;
		wr->sge[i].lkey = bench_random(s);
		wr->sge[i].addr = random64(s);
	}
}

static void assert_same(const struct wrc_wr *a, const struct wrc_wr *b)
{
	struct wrc_wr x = *a, y = *b;

	if (x.inl_len) {
		assert_int_equal(x.inl_len, y.inl_len);
		assert_memory_equal(x.inl, y.inl, x.inl_len);
	}
	x.inl = y.inl = NULL;
	x.ds = y.ds;		/* the encoder's work */
	assert_memory_equal(&x, &y, sizeof(x));
}

static void round_trip(void **state)
{
	uint32_t s = 1;
	uint8_t inl[1024], wqe[MAX_WQE], again[MAX_WQE];
	struct wrc_wr in, out;
	char line[1024];
	struct wrc_text t;

	for (unsigned int i = 0; i < sizeof(inl); i++)
		inl[i] = bench_random(&s);
	for (int n = 0; n < 20000; n++) {
		int len;

		random_wr(&s, inl, &in);
		memset(wqe, 0xee, sizeof(wqe));
		len = wrc_encode(&in, wqe, sizeof(wqe));
		assert_true(len > 0 && len % WRC_WQE_DS == 0);
		for (unsigned int i = len; i < sizeof(wqe); i++)
			assert_int_equal(wqe[i], 0xee);
		assert_int_equal(wrc_encode(&in, wqe, len - 1), -ENOSPC);
		assert_int_equal(wrc_decode(wqe, len, in.shape, &out), len);
		assert_same(&in, &out);
		assert_int_equal(wrc_encode(&out, again, sizeof(again)), len);
		assert_memory_equal(wqe, again, len);

		wrc_text_init(&t, line, sizeof(line));
		assert_int_equal(wrc_dis_bytes(&t, NULL, wqe, len, in.shape),
				 (len + 63) / 64 * 64);
		assert_non_null(strstr(line, wrc_opdef(in.shape)->name));
		assert_null(strstr(line, "opcode"));
	}
}

/* Bytes written down by hand from the layout, not by the encoder's code. */
static void known_bytes(void **state)
{
	static const uint8_t want[80] = {
		0x09, 0x12, 0x34, 0x14,  0x00, 0xab, 0xcd, 0x05,
		0x00, 0x00, 0x00, 0x08,  0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00,  0x30, 0x01, 0x00, 0x08,
		0x00, 0x00, 0x0d, 0x00,  0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x01,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x02,
		0xff, 0xff, 0xff, 0xff,  0xff, 0xff, 0xff, 0xff,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x03,
		0x00, 0x00, 0x00, 0x08,  0x00, 0x00, 0x0a, 0x00,
		0x00, 0x00, 0x00, 0x00,  0x10, 0x00, 0x01, 0x10,
	};
	static const uint8_t wait[32] = {
		0x00, 0x00, 0x07, 0x0f,  0x00, 0x00, 0x12, 0x02,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
		0x00, 0xff, 0xff, 0xfe,  0x00, 0x00, 0x00, 0x22,
	};
	struct wrc_wr wr = {
		.op = WRC_WQE_MASKED_CS, .shape = WRC_WQE_MASKED_CS,
		.flags = WRC_WQE_CE_ALWAYS, .index = 0x1234, .qpn = 0xabcd,
		.raddr = 0x30010008, .rkey = 0xd00, .swap = 1, .compare = 2,
		.swap_mask = ~0ull, .compare_mask = 3, .nr_sge = 1,
		.sge = { { 8, 0xa00, 0x10000110 } },
	};
	struct wrc_wr w = {
		.op = WRC_WQE_WAIT, .shape = WRC_WQE_WAIT, .index = 7,
		.qpn = 0x12, .count = 0xfffffe, .obj = 0x22,
	};
	uint8_t wqe[128];

	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), sizeof(want));
	assert_memory_equal(wqe, want, sizeof(want));
	assert_int_equal(wrc_encode(&w, wqe, sizeof(wqe)), sizeof(wait));
	assert_memory_equal(wqe, wait, sizeof(wait));
}

/*
 * The same of a UMR.  In Linux, include/linux/mlx5/qp.h has what is at 16 and at
 * 128 (struct mlx5_wqe_umr_ctrl_seg, struct mlx5_ksm), and device.h what is
 * between them (struct mlx5_mkey_seg), the opcode (MLX5_OPCODE_UMR) and the flags:
 * MLX5_UMR_INLINE is 1 << 7, MLX5_UMR_TRANSLATION_OFFSET_EN is 1 << 4.
 * build_ksm_umr() of drivers/net/ethernet/mellanox/mlx5/core/en_rx.c writes the
 * same: length and offset in entries, and the key where others have an immediate.
 * rdma-core's mlx5dv.h has the same numbers (MLX5_WQE_UMR_CTRL_FLAG_*).
 */
static void known_umr(void **state)
{
	static const uint8_t want[192] = {
		0x00, 0x12, 0x34, 0x25,  0x00, 0xab, 0xcd, 0x0c,
		0x00, 0x00, 0x00, 0x08,  0x00, 0xde, 0xf0, 0xa5,
		/* flags, length, offset; which fields of the context: none */
		[16] = 0x90, 0x00, 0x00, 0x00,  0x00, 0x04, 0x56, 0x04,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
		/* more of the offset, and 28 reserved bytes */
		[32] = 0x00, 0x00, 0x00, 0x00,
		/* context */
		[64] = 0x00,
		/* entries: the second to the fourth lead nowhere */
		[128] = 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x0e, 0x00,
		0xff, 0x15, 0x08, 0x00,  0x00, 0x00, 0x20, 0x00,
	};
	struct wrc_wr wr = {
		.op = WRC_WQE_UMR, .shape = WRC_WQE_UMR,
		.flags = WRC_WQE_CE_ALWAYS, .index = 0x1234, .qpn = 0xabcd,
		.imm = 0xdef0a5, .offset = 0x5604, .page_key = 0xe00,
		.page = 0xff15080000002000,
	};
	uint8_t wqe[256];
	struct wrc_wr out;

	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), sizeof(want));
	assert_memory_equal(wqe, want, sizeof(want));
	assert_int_equal(wrc_decode(want, sizeof(want), WRC_OWN_SHAPE, &out),
			 sizeof(want));
	assert_same(&wr, &out);
}

static void bad_requests(void **state)
{
	const struct wrc_wr read = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .nr_sge = 1,
		.sge = { { 8, 1, 0 } },
	};
	uint8_t wqe[MAX_WQE], data[1024] = { 0 };
	struct wrc_wr wr = read;

	assert_true(wrc_encode(&wr, wqe, sizeof(wqe)) > 0);
	wr.op = wr.shape = 0x7f;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.op = WRC_WQE_WRITE;		/* only NOP may stand for another */
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.sge[0].len = 0;		/* would be 2 GiB */
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.sge[0].len = 0x80000000;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.qpn = 0x1000000;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.imm = 1;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.flags = 0x10;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr = read;
	wr.inl = data;
	wr.inl_len = 8;			/* a READ has nothing to send */
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr.op = wr.shape = WRC_WQE_FA;	/* needs its one segment */
	wr.inl_len = 0;
	wr.nr_sge = 0;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -EINVAL);
	wr.op = wr.shape = WRC_WQE_SEND;
	wr.inl_len = 1000;
	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), -ENOSPC);
}

/* Every byte that the encoder never sets, set once: the decoder objects. */
static void bad_bytes(void **state)
{
	struct wrc_wr wr = {
		.op = WRC_WQE_WRITE, .shape = WRC_WQE_WRITE, .nr_sge = 1,
		.sge = { { 8, 1, 0 } },
	};
	static const uint8_t reserved[] = { 0, 8, 9, 10, 12, 13, 14, 15, 28, 31 };
	uint8_t wqe[64];
	struct wrc_wr out;
	int len = wrc_encode(&wr, wqe, sizeof(wqe));

	assert_int_equal(len, 48);
	for (unsigned int i = 0; i < sizeof(reserved); i++) {
		wqe[reserved[i]] ^= 1;
		assert_int_equal(wrc_decode(wqe, len, WRC_OWN_SHAPE, &out),
				 -EINVAL);
		assert_non_null(wrc_decode_why(wqe, len, WRC_OWN_SHAPE));
		wqe[reserved[i]] ^= 1;
	}
	assert_int_equal(wrc_decode(wqe, len, WRC_OWN_SHAPE, &out), len);
	assert_null(wrc_decode_why(wqe, len, WRC_OWN_SHAPE));
	assert_int_equal(wrc_decode(wqe, len - 16, WRC_OWN_SHAPE, &out),
			 -EINVAL);
	assert_int_equal(wrc_decode(wqe, 8, WRC_OWN_SHAPE, &out), -EINVAL);
	assert_int_equal(wrc_decode(wqe, len, WRC_WQE_READ, &out), -EINVAL);
	for (wqe[7] = 0; wqe[7] < 3; wqe[7]++)
		if (wqe[7] != 2)	/* a WRITE of nothing is one */
			assert_int_equal(wrc_decode(wqe, len, WRC_OWN_SHAPE,
						    &out), -EINVAL);
	wqe[7] = 3;
	wqe[35] = 0;			/* length 0 */
	assert_int_equal(wrc_decode(wqe, len, WRC_OWN_SHAPE, &out), -EINVAL);
}

/* A byte of a UMR that is no field would have the device do something else. */
static void bad_umr(void **state)
{
	const struct wrc_wr wr = {
		.op = WRC_WQE_UMR, .shape = WRC_WQE_UMR, .imm = 1,
	};
	uint8_t wqe[192];
	struct wrc_wr out;
	unsigned int n = 0;

	assert_int_equal(wrc_encode(&wr, wqe, sizeof(wqe)), sizeof(wqe));
	for (unsigned int i = 0; i < sizeof(wqe); i++) {
		if (wrc_byte_at(WRC_WQE_UMR, i).field != WRC_NR_FIELDS)
			continue;
		wqe[i] ^= 0x40;
		assert_int_equal(wrc_decode(wqe, sizeof(wqe), WRC_OWN_SHAPE,
					    &out), -EINVAL);
		wqe[i] ^= 0x40;
		n++;
	}
	/* All but control segment, offset, and an entry's key and address. */
	assert_int_equal(n, 2 + sizeof(wqe) - 16 - 2 - 12);
}

/* Whatever the bytes: no crash, and what decodes encodes to the same. */
static void random_bytes(void **state)
{
	uint8_t wqe[256], again[MAX_WQE];
	uint32_t s = 7, good = 0;
	struct wrc_wr wr;
	char line[64];
	struct wrc_text t;

	for (int n = 0; n < 200000; n++) {
		int len;

		for (unsigned int i = 0; i < sizeof(wqe); i++)
			wqe[i] = bench_random(&s) % 3 ? 0 : bench_random(&s);
		wqe[3] = opcodes[bench_random(&s) % sizeof(opcodes)];
		wqe[7] = 1 + bench_random(&s) % 6;
		wrc_text_init(&t, line, sizeof(line));
		wrc_dis_bytes(&t, NULL, wqe, sizeof(wqe), WRC_OWN_SHAPE);
		assert_true(strlen(line) < sizeof(line));
		len = wrc_decode(wqe, sizeof(wqe), WRC_OWN_SHAPE, &wr);
		if (len < 0 || wr.shape == WRC_WQE_NOP)
			continue;
		good++;
		assert_int_equal(wrc_encode(&wr, again, sizeof(again)), len);
		assert_memory_equal(wqe, again, len);
	}
	assert_true(good > 100);
}

static void receive_entries(void **state)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE], out[WRC_MAX_RECV_SGE];
	uint8_t entry[1024];

	for (unsigned int n = 0; n <= WRC_MAX_RECV_SGE; n++) {
		for (unsigned int i = 0; i < n; i++)
			sge[i] = (struct wrc_sge){ i + 1, 100 + i,
						   0x1000ull * i };
		assert_int_equal(wrc_encode_recv(sge, n, entry, 1024), 0);
		assert_int_equal(wrc_decode_recv(entry, 1024, out), n);
		assert_memory_equal(sge, out, n * sizeof(sge[0]));
	}
	/* All of an entry in use: no end marker, and none needed. */
	assert_int_equal(wrc_encode_recv(sge, 8, entry, 128), 0);
	assert_int_equal(wrc_decode_recv(entry, 128, out), 8);
	assert_int_equal(wrc_encode_recv(sge, 9, entry, 128), -ENOSPC);
	sge[3].len = 0;
	assert_int_equal(wrc_encode_recv(sge, 8, entry, 128), -EINVAL);
	memset(entry, 0, 16);		/* 2 GiB at 0, by mistake */
	assert_int_equal(wrc_decode_recv(entry, 128, out), -EINVAL);
}

/* The field table names every byte that the encoder writes. */
static void field_table(void **state)
{
	for (unsigned int o = 0; o < sizeof(opcodes); o++) {
		const struct wrc_opdef *def = wrc_opdef(opcodes[o]);

		for (unsigned int f = 0; f < WRC_NR_FIELDS; f++) {
			const struct wrc_fielddef *fd = wrc_fielddef(f);
			int at = wrc_field_at(def->op, f, 0);

			assert_true(fd->width > 0 && fd->width <= 8);
			for (int i = 0; at >= 0 && i < fd->width; i++) {
				struct wrc_byte b = wrc_byte_at(def->op,
								at + i);

				assert_int_equal(b.field, f);
				assert_int_equal(b.off, i);
				assert_int_equal(b.sge, 0);
			}
		}
	}
	assert_int_equal(wrc_field_at(WRC_WQE_READ, WRC_F_ADDR, 2), 32 + 40);
	assert_int_equal(wrc_byte_at(WRC_WQE_READ, 32 + 40).sge, 2);
	assert_int_equal(wrc_field_at(WRC_WQE_WAIT, WRC_F_RADDR, 0), -1);
	assert_int_equal(wrc_field_at(0x7f, WRC_F_RADDR, 0), -1);
	assert_int_equal(wrc_byte_at(WRC_WQE_READ, 28).field, WRC_NR_FIELDS);
}

/* Each byte of each WQE, and behind it, is found by its segment as by all fields. */
static void each_byte(void **state)
{
	for (unsigned int op = 0; op < 256; op++)
		for (unsigned int off = 0; off < (wrc_opdef(op) ? 600 : 1);
		     off++) {
			struct wrc_byte b = wrc_byte_at(op, off);
			unsigned int f, n = 0;

			for (f = 0; f < WRC_NR_FIELDS * WRC_MAX_SGE; f++) {
				unsigned int field = f / WRC_MAX_SGE;
				unsigned int sge = f % WRC_MAX_SGE;
				const struct wrc_fielddef *fd =
					wrc_fielddef(field);
				int at = wrc_field_at(op, field, sge);

				if ((fd->seg != WRC_SEG_DATA && sge) ||
				    at < 0 || off < at || off >= at + fd->width)
					continue;
				n++;
				assert_int_equal(b.field, field);
				assert_int_equal(b.sge * (fd->seg ==
						 WRC_SEG_DATA), sge);
				assert_int_equal(b.off, off - at);
			}
			assert_int_equal(n, b.field != WRC_NR_FIELDS);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(known_bytes),
		cmocka_unit_test(known_umr),
		cmocka_unit_test(bad_requests),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(bad_umr),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(receive_entries),
		cmocka_unit_test(field_table),
		cmocka_unit_test(each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
