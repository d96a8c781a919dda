// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier and images: it accepts those of all programs, and for each rule
 * that looks at bytes there are broken ones that this rule refuses, alone.
 */
#include "verdict.h"

#define K 4

static void accepts(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++)
			for (uint32_t k = 4; k <= 1024; k *= 4) {
				struct bench b;

				bench_open(&b, chain, strict, k);
				expect_accepted(&b);
				bench_close(&b);
			}
}

/* ---- broken images ---------------------------------------------------------- */

struct broken {
	enum odrp_wire_chain chain;
	enum wrc_rule rule;
	const char *words;
	void (*breaks)(struct bench *b);
};

static void put32(void *at, uint32_t v)
{
	__be32 be = htobe32(v);

	memcpy(at, &be, sizeof(be));
}

static void put64(void *at, uint64_t v)
{
	__be64 be = htobe64(v);

	memcpy(at, &be, sizeof(be));
}

static void add64(void *at, int64_t n)
{
	__be64 be;

	memcpy(&be, at, sizeof(be));
	put64(at, be64toh(be) + n);
}

/* form */

static void other_qpn(struct bench *b)
{
	bench_field(b, 4, WRC_F_QPN, 0, 1)[2]++;
}

static void read_to_write(struct bench *b)
{
	*bench_field(b, 3, WRC_F_OPCODE, 0, 2) = WRC_WQE_WRITE;
}

static void unsignaled(struct bench *b)
{
	*bench_field(b, 3, WRC_F_FLAGS, 0, 0) = 0;
}

static void armed_before(struct bench *b)
{
	*bench_field(b, 13, WRC_F_OPCODE, 0, 0) = WRC_WQE_WRITE;
}

static void too_short(struct bench *b)
{
	*bench_field(b, 6, WRC_F_DS, 0, 0) = 4;
}

/* key */

static void table_to_pool(struct bench *b)
{
	put32(bench_field(b, 3, WRC_F_RKEY, 0, 0), b->bind.pool_key);
}

static void answer_from_arena(struct bench *b)
{
	put32(bench_field(b, 7, WRC_F_LKEY, 0, 3), b->bind.arena_key);
}

/* address */

static void neighbours_buffer(struct bench *b)
{
	add64(bench_field(b, 6, WRC_F_ADDR, 0, 0), 4096);
}

static void tail_for_head(struct bench *b)
{
	put64(bench_field(b, 3, WRC_F_RADDR, 0, 0), b->bind.free_tail);
}

static void two_pages(struct bench *b)
{
	put32(bench_field(b, 7, WRC_F_LEN, 0, 1), 8192);
}

static void neighbours_register(struct bench *b)
{
	add64(bench_field(b, 5, WRC_F_RADDR, 0, 0), WRC_SCRATCH);
}

static void crooked_ring(struct bench *b)
{
	b->bind.free_ring += 8;
}

static void table_elsewhere(struct bench *b)
{
	b->bind.tt_iova = 4096;
}

static void counters_in_ring(struct bench *b)
{
	/* Everything linked anew, so that only the place is wrong. */
	b->bind.free_head = b->bind.free_ring + 64;
	assert_int_equal(wrc_image_write(&b->prog, &b->geom, &b->bind,
					 b->arena), 0);
}

static void pool_too_large(struct bench *b)
{
	b->bind.pool_len = WRC_POOL_MAX + 4096;
}

/* patch */

static void into_neighbour(struct bench *b)
{
	add64(bench_field(b, 3, WRC_F_ADDR, 0, 0), 64);
}

static void into_qpn(struct bench *b)
{
	add64(bench_field(b, 3, WRC_F_ADDR, 0, 0), -36);
}

static void reversed_wrongly(struct bench *b)
{
	/* Two of the eight bytes exchanged. */
	add64(bench_field(b, 5, WRC_F_ADDR, 2, 1), 1);
	add64(bench_field(b, 5, WRC_F_ADDR, 1, 1), -1);
}

static void other_opcode(struct bench *b)
{
	add64(bench_field(b, 5, WRC_F_ADDR, 1, 0), 64);
}

static void words_exchanged(struct bench *b)
{
	struct wrc_wqe_data *a = bench_recv(b, 1, 5), *c = bench_recv(b, 1, 6);
	struct wrc_wqe_data t = *a;

	*a = *c;
	*c = t;
}

static void word_of_other_instance(struct bench *b)
{
	add64(&bench_recv(b, 1, 5)->addr, 8 * 64);
}

static void request_to_nowhere(struct bench *b)
{
	put64(&bench_recv(b, 0, 0)->addr,
	      b->bind.arena_iova + b->geom.client_rq);
}

static void request_to_loop_record(struct bench *b)
{
	put64(&bench_recv(b, 0, 8)->addr,
	      b->bind.arena_iova + b->geom.loop_dbr);
}

static void record_not_armed(struct bench *b)
{
	put64(&bench_recv(b, 2, 8)->addr, b->bind.arena_iova + b->geom.scratch +
	      2 * WRC_SCRATCH + WRC_REG_TRASH);
}

/* Found by test-mutate.c: as many bytes arrive, but a head is not re-armed. */
static void count_to_record(struct bench *b)
{
	put64(&bench_recv(b, 1, 2)->addr,
	      b->bind.arena_iova + b->geom.client_dbr);
}

static void result_thrown_away(struct bench *b)
{
	put64(bench_field(b, 3, WRC_F_ADDR, 0, 1), b->bind.arena_iova +
	      b->geom.scratch + WRC_SCRATCH + WRC_REG_TRASH);
}

static void result_to_other_register(struct bench *b)
{
	/* of another instance */
	add64(bench_field(b, 3, WRC_F_ADDR, 0, 0), WRC_SCRATCH);
	/* the declared place is wrong too, which rule address would say */
}

/* balance and order */

static void waits_elsewhere(struct bench *b)
{
	put32(bench_field(b, 4, WRC_F_OBJ, 0, 2), 0x23);
}

static void enables_elsewhere(struct bench *b)
{
	put32(bench_field(b, 5, WRC_F_OBJ, 0, 2), 0x13);
}

static void waits_for_request_again(struct bench *b)
{
	put32(bench_field(b, 4, WRC_F_OBJ, 0, 1), b->bind.client_rcqn);
	/* CQE 1 of both queues: harmless, were it not for the order */
}

static void waits_for_itself(struct bench *b)
{
	put32(bench_field(b, 0, WRC_F_OBJ, 0, 0), b->bind.loop_scqn);
}

static void waits_for_older(struct bench *b)
{
	put32(bench_field(b, 0, WRC_F_OBJ, 0, 1), b->bind.loop_scqn);
}

static void waits_for_other_request(struct bench *b)
{
	put32(bench_field(b, 7, WRC_F_OBJ, 0, 1), b->bind.client_rcqn);
}

static void enables_loop_for_client(struct bench *b)
{
	put32(bench_field(b, 5, WRC_F_OBJ, 0, 2), b->bind.loop_qpn);
}

/* index */

static void count_of_other_lap(struct bench *b)
{
	bench_field(b, 4, WRC_F_COUNT, 0, 2)[3]++;
}

static void index_of_other_place(struct bench *b)
{
	bench_field(b, 5, WRC_F_INDEX, 0, 2)[1]++;
}

static void first_head(struct bench *b)
{
	bench_field(b, 1, WRC_F_COUNT, 0, 0)[3]--;
}

/* A receive entry that is flushed would run the chain. */
static void gate_is_open(struct bench *b)
{
	put32(bench_field(b, 2, WRC_F_COUNT, 0, 0), 10);
}

/* rq */

static void over_posted(struct bench *b)
{
	put32(b->arena + b->geom.client_dbr, K);
}

static void longer_request(struct bench *b)
{
	put32(&bench_recv(b, 0, b->prog.nr_scatter - 1)->byte_count, 4097);
}

static void page_to_neighbour(struct bench *b)
{
	add64(&bench_recv(b, 1, b->prog.nr_scatter - 1)->addr, 4096);
}

/* atomic */

static void takes_sometimes(struct bench *b)
{
	put64(bench_field(b, 8, WRC_F_COMPARE_MASK, 0, 1), 1);
}

static void takes_and_leaves(struct bench *b)
{
	put64(bench_field(b, 8, WRC_F_SWAP_MASK, 0, 1), 0);
}

static void leaves_the_ring(struct bench *b)
{
	put64(bench_field(b, 3, WRC_F_BOUNDARY, 0, 1), 0);
}

static void steps_by_16(struct bench *b)
{
	put64(bench_field(b, 3, WRC_F_ADD, 0, 1), 16);
}

static const struct broken images[] = {
	{ ODRP_WIRE_LOAD, WRC_RULE_FORM, "says queue pair", other_qpn },
	{ ODRP_WIRE_LOAD, WRC_RULE_FORM, "l3@2 is malformed", read_to_write },
	{ ODRP_WIRE_LOAD, WRC_RULE_FORM, "completion flags", unsignaled },
	{ ODRP_WIRE_INVALIDATE, WRC_RULE_FORM, "before anybody", armed_before },
	{ ODRP_WIRE_LOAD, WRC_RULE_FORM, "blocks", too_short },
	{ ODRP_WIRE_LOAD, WRC_RULE_KEY, "class tt", table_to_pool },
	{ ODRP_WIRE_LOAD, WRC_RULE_KEY, "class pool", answer_from_arena },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_ADDRESS, "own buf",
	  neighbours_buffer },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ADDRESS, "own free",
	  tail_for_head },
	{ ODRP_WIRE_LOAD, WRC_RULE_ADDRESS, "8192 bytes", two_pages },
	{ ODRP_WIRE_INVALIDATE, WRC_RULE_ADDRESS, "own arena",
	  neighbours_register },
	{ ODRP_WIRE_LOAD, WRC_RULE_ADDRESS, "not aligned", crooked_ring },
	{ ODRP_WIRE_LOAD, WRC_RULE_ADDRESS, "count from 0", table_elsewhere },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ADDRESS, "counters",
	  counters_in_ring },
	{ ODRP_WIRE_LOAD, WRC_RULE_ADDRESS, "pool", pool_too_large },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "c0@1 has its addr hit",
	  into_neighbour },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "hit by byte 0 of l3@0", into_qpn },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_PATCH, "raddr hit",
	  reversed_wrongly },
	{ ODRP_WIRE_INVALIDATE, WRC_RULE_PATCH, "opcode hit", other_opcode },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "count hit", words_exchanged },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "l4@2 has its count hit",
	  word_of_other_instance },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "no field", request_to_nowhere },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "no field", request_to_loop_record },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "byte 24 of request@1's result",
	  count_to_record },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "byte 45 of request@2's result",
	  record_not_armed },
	{ ODRP_WIRE_LOAD, WRC_RULE_PATCH, "patches 0 bytes instead of 8",
	  result_thrown_away },
	{ ODRP_WIRE_LOAD, WRC_RULE_BALANCE, "completion queue 0x23",
	  waits_elsewhere },
	{ ODRP_WIRE_LOAD, WRC_RULE_BALANCE, "queue 0x13", enables_elsewhere },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_BALANCE, "only 0 can exist",
	  waits_for_itself },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_BALANCE, "older than request 1",
	  waits_for_older },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_BALANCE,
	  "waits for request 3 and serves 1", waits_for_other_request },
	{ ODRP_WIRE_LOAD, WRC_RULE_BALANCE, "enabled already",
	  enables_loop_for_client },
	{ ODRP_WIRE_LOAD, WRC_RULE_ORDER, "c0@1 is enabled before its patch",
	  waits_for_request_again },
	{ ODRP_WIRE_LOAD, WRC_RULE_INDEX, "l4@2 has wait 3", count_of_other_lap },
	{ ODRP_WIRE_LOAD, WRC_RULE_INDEX, "has index", index_of_other_place },
	{ ODRP_WIRE_LOAD, WRC_RULE_INDEX, "l1@0 has enable 2", first_head },
	{ ODRP_WIRE_LOAD, WRC_RULE_RQ, "4 of 4", over_posted },
	{ ODRP_WIRE_LOAD, WRC_RULE_INDEX, "l2@0 has enable 10", gate_is_open },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_RQ, "takes 4154 bytes",
	  longer_request },
	{ ODRP_WIRE_MAPPED_STORE, WRC_RULE_RQ, "own buffer",
	  page_to_neighbour },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ATOMIC, "does not move",
	  takes_sometimes },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ATOMIC, "does not move",
	  takes_and_leaves },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ATOMIC, "within a ring",
	  leaves_the_ring },
	{ ODRP_WIRE_UNMAPPED_STORE, WRC_RULE_ATOMIC, "within a ring",
	  steps_by_16 },
};

static void broken_images(void **state)
{
	for (unsigned int i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		struct bench b;

		bench_open(&b, images[i].chain, false, K);
		images[i].breaks(&b);
		expect_refusal(&b, images[i].rule, images[i].words);
		bench_close(&b);
	}
}

/* These break more than one thing; that they are refused is enough. */
static void broken_doubly(void **state)
{
	struct bench b;
	char why[WRC_WHY_MAX];

	bench_open(&b, ODRP_WIRE_UNMAPPED_STORE, false, K);
	result_to_other_register(&b);
	assert_true(refused_by(&b, why) & 1u << WRC_RULE_PATCH);
	bench_close(&b);
	bench_open(&b, ODRP_WIRE_LOAD, false, K);
	b.geom.scratch += 64;
	assert_int_equal(wrc_image_check(&b.prog, &b.geom, &b.bind, b.arena,
					 why), -EPERM);
	assert_non_null(strstr(why, "geometry"));
	bench_close(&b);
}

/* Any single bit of what the NIC executes, flipped: never accepted. */
static void every_bit(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		uint32_t used = 0;
		struct bench b;
		char why[WRC_WHY_MAX];

		bench_open(&b, chain, true, K);
		for (unsigned int i = 0; i < b.prog.nr_insn; i++) {
			uint8_t *wqe = bench_field(&b, i, WRC_F_OPMOD, 0, 1);
			const struct wrc_insn *insn = &b.prog.insn[i];
			int len = insn->op == WRC_WQE_NOP ? 16 : wqe[7] * 16;

			for (int bit = 0; bit < len * 8; bit++) {
				struct wrc_byte at = wrc_byte_at(insn->op,
								 bit / 8);
				int err;

				/* What the request writes anyway. */
				if (at.field != WRC_NR_FIELDS &&
				    at.field != WRC_F_INDEX &&
				    at.field != WRC_F_COUNT &&
				    at.field != WRC_F_OPCODE &&
				    wrc_check_is_patched(&b.prog, i, at.field,
							 at.sge))
					continue;
				used++;
				wqe[bit / 8] ^= 1 << bit % 8;
				err = wrc_image_check(&b.prog, &b.geom,
						      &b.bind, b.arena, why);
				wqe[bit / 8] ^= 1 << bit % 8;
				if (!err)
					fail_msg("%s: bit %d of insn %u",
						 b.prog.name, bit, i);
			}
		}
		assert_true(used > 1000);
		expect_accepted(&b);
		bench_close(&b);
	}
}

/* Until something else than "there is more" is said. */
static int arm(struct bench *b, char why[WRC_WHY_MAX], uint16_t *ret_doorbell)
{
	unsigned int step = 0;
	int r;

	do {
		r = wrc_image_arm(&b->prog, &b->geom, &b->bind, b->arena, &step, why,
				  ret_doorbell);
		if (r)
			assert_int_equal(*ret_doorbell, 0xbeef);
	} while (r == -EAGAIN);
	return r;
}

/* Without the verifier's word there is nothing to ring the doorbell with. */
static void arms_what_it_accepts(void **state)
{
	char why[WRC_WHY_MAX];
	uint16_t doorbell = 0xbeef;
	struct bench b;

	bench_open(&b, ODRP_WIRE_LOAD, true, K);
	b.bind.tt_iova = 4096;
	assert_int_equal(arm(&b, why, &doorbell), -EPERM);
	assert_non_null(strstr(why, "address: "));
	assert_int_equal(doorbell, 0xbeef);

	b.bind.tt_iova = 0;
	memset(b.arena, 0xff, b.geom.arena_len);
	assert_int_equal(arm(&b, why, &doorbell), 0);
	assert_int_equal(doorbell, b.geom.start_bb);
	expect_accepted(&b);
	bench_close(&b);
}

/* A reason is one line that fits, whatever it has to tell. */
static void reasons(void **state)
{
	for (unsigned int i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		char why[WRC_WHY_MAX];
		struct bench b;

		bench_open(&b, images[i].chain, true, 1024);
		images[i].breaks(&b);
		memset(why, 'x', sizeof(why));
		if (wrc_image_check(&b.prog, &b.geom, &b.bind, b.arena, why)) {
			assert_non_null(memchr(why, 0, sizeof(why)));
			assert_null(strchr(why, '\n'));
			assert_true(strlen(why) > 20);
		}
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(broken_images),
		cmocka_unit_test(broken_doubly),
		cmocka_unit_test(every_bit),
		cmocka_unit_test(arms_what_it_accepts),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
