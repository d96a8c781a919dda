// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recycle=node on the software NIC: over all wraps, and with clients that send
 * what they like.
 */
#include <stdlib.h>
#include "bench.h"
#include "core/turn.h"
#include "pages.h"
#include "snic/engine/engine-priv.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 8
#define AROUND (3 * DEPTH)	/* requests before and behind a wrap */

#define PAGES (4 * SLOTS)

/* A request, and whether the next is to be answered. */
#define HEAD ((int)sizeof(struct odrp_wire_req) + 1)

/* Which programs; main() has the tests twice, and some with fences. */
static enum wrc_variant variant;
static enum wrc_order order;

/* Made once for each program. */
static uint8_t *tables[WRC_NR_ORDERS][WRC_NR_VARIANTS][ODRP_WIRE_NR_CHAINS][2];

static void open_rig(struct wrc_rig *rig, enum odrp_wire_chain chain,
		     bool strict, enum snic_fetch fetch)
{
	uint8_t **table = &tables[order][variant][chain][strict];
	struct wrc_rig_config cfg = {
		.chain = chain, .strict = strict, .fetch = fetch,
		.land = fetch == SNIC_FETCH_EARLY ? SNIC_LAND_LATE :
						    SNIC_LAND_AT_ONCE,
		.order = order, .variant = variant, .recycle = WRC_RECYCLE_NODE,
		.depth = DEPTH, .nr_pages = PAGES, .nr_slots = SLOTS,
		.table = *table,
	};

	rig_open(rig, &cfg);
	if (*table)
		return;
	/* The NIC has only read it: the rig's own may go. */
	*table = aligned_alloc(4096, rig->geom.table_len);
	assert_non_null(*table);
	memcpy(*table, rig->table, rig->geom.table_len);
}

static void free_tables(void)
{
	uint8_t **all = &tables[0][0][0][0];

	for (size_t i = 0; i < sizeof(tables) / sizeof(*all); i++)
		free(all[i]);
}

static void open_image(struct bench *b, enum odrp_wire_chain chain,
		       bool strict, uint32_t depth)
{
	if (variant == WRC_V_EXCHANGE)
		bench_open_node_exchange(b, chain, strict, depth);
	else
		bench_open_node(b, chain, strict, depth);
}

/* Programs of page exchange that are not ours as well. */
static bool is_another(int chain)
{
	return variant == WRC_V_OURS || chain != ODRP_WIRE_INVALIDATE;
}

/* ---- around a wrap ---------------------------------------------------------- */

/* All as if `first` requests had been served: image, record, and NIC. */
static void start_at(struct wrc_rig *rig, uint32_t first)
{
	struct wrc_dbr *dbr = (void *)(rig->arena + rig->geom.client_dbr);
	struct snic_qp *loop = snic_qp_lookup(rig->nic, rig->loop_qpn);
	struct snic_qp *client = snic_qp_lookup(rig->nic, rig->client_qpn);
	struct wrc_wr wr;

	for (uint32_t r = first; r < first + DEPTH; r++)
		for (unsigned int i = 0; i < rig->prog.nr_insn; i++) {
			wrc_link_wr(&rig->prog, &rig->geom, &rig->bind, i, r,
				    &wr);
			assert_true(wrc_encode(&wr, rig->arena +
					wrc_insn_off(&rig->prog, &rig->geom,
						     i, r),
					rig->prog.insn[i].nr_bb * 64) > 0);
		}
	dbr->rcv = htobe32((first + DEPTH) & 0xffff);
	loop->sq_ci = loop->sq_limit = first * rig->geom.loop_bb;
	client->sq_ci = client->sq_limit = first * rig->geom.client_bb;
	client->rq_ci = first;
	snic_cq_lookup(rig->nic, rig->bind.client_rcqn)->count =
		first & SNIC_CQ_MASK;
	snic_cq_lookup(rig->nic, rig->bind.loop_scqn)->count =
		first * rig->prog.cqes & SNIC_CQ_MASK;
	snic_cq_lookup(rig->nic, rig->bind.client_scqn)->count =
		first * rig->prog.client_cqes & SNIC_CQ_MASK;
	assert_int_equal(snic_qp_doorbell(rig->nic, rig->loop_qpn,
					  first * rig->geom.loop_bb +
						  rig->geom.start_bb), 0);
}

static void ask(struct wrc_rig *rig, uint32_t r)
{
	uint32_t slot = r % SLOTS;
	uint8_t page[4096];

	if (rig->cfg.chain == ODRP_WIRE_LOAD)
		fill(wrc_rig_memory(rig, wrc_rig_entry(rig, slot)), r);
	fill(page, r);
	assert_int_equal(wrc_rig_send(rig, slot * 8,
				      rig->prog.page ? page : NULL), 0);
}

/* The effect of request r, and its undoing. */
static void look(struct wrc_rig *rig, uint32_t r)
{
	uint64_t entry = wrc_rig_entry(rig, r % SLOTS);

	switch (rig->cfg.chain) {
	case ODRP_WIRE_LOAD:
		expect_page(wrc_rig_page(rig, r), r);
		break;
	case ODRP_WIRE_UNMAPPED_STORE:
		expect_page(wrc_rig_memory(rig, entry), r);
		wrc_rig_set_entry(rig, r % SLOTS, 0);
		wrc_rig_push(rig, entry);
		break;
	case ODRP_WIRE_MAPPED_STORE:
		expect_page(wrc_rig_memory(rig, entry), r);
		break;
	default:
		assert_int_equal(entry, 0);
		wrc_rig_set_entry(rig, r % SLOTS, wrc_rig_pop(rig));
		break;
	}
}

static void map_all(struct wrc_rig *rig)
{
	for (int i = 0; i < SLOTS; i++)
		if (rig->cfg.chain != ODRP_WIRE_UNMAPPED_STORE)
			wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
}

/* In bursts as large as the queue takes. */
static void serve(struct wrc_rig *rig, uint32_t count)
{
	uint32_t next = 0, r;

	while (next < count) {
		while (rig->sent < count && rig->sent < next + DEPTH - 1)
			ask(rig, rig->sent);
		if (wrc_rig_answer(rig, &r) || r != next)
			fail_msg("%s: no answer to request %u",
				 rig->prog.name, next);
		look(rig, next++);
	}
}

static void around(enum odrp_wire_chain chain, bool strict,
		   enum snic_fetch fetch, uint32_t wrap)
{
	struct wrc_rig rig;

	open_rig(&rig, chain, strict, fetch);
	start_at(&rig, (wrap - AROUND) / DEPTH * DEPTH & WRC_TURN_MASK);
	map_all(&rig);
	serve(&rig, 2 * AROUND);
	wrc_rig_close(&rig);
}

/* Where 16 or 24 bits of anything wrap, or a ring does. */
static void wraps(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int mode = 0; is_another(chain) && mode < 4; mode++) {
			bool strict = mode & 1;
			enum snic_fetch fetch = mode & 2 ? SNIC_FETCH_EARLY :
							   SNIC_FETCH_LATE;
			struct bench b;
			uint32_t cqes, bb;

			open_image(&b, chain, strict, DEPTH);
			cqes = b.prog.cqes;
			bb = b.prog.bb[WRC_LOOP];
			bench_close(&b);
			around(chain, strict, fetch, 0x10000 / bb);
			around(chain, strict, fetch, 0x8000 / bb);
			around(chain, strict, fetch, 0x10000 / cqes);
			around(chain, strict, fetch, 0x10000);
			around(chain, strict, fetch, 0x20000);
			around(chain, strict, fetch, 0x1000000 / cqes);
			around(chain, strict, fetch, 0xff0000);
			around(chain, strict, fetch, 0x1000000);
		}
}

/*
 * The lists as the NIC follows them, from the bytes of the image: every 2^16
 * requests lead back, and the counts are those of their lap all the way.
 */
static void execute_read(struct bench *b, unsigned int insn, uint32_t r)
{
	const uint8_t *from;
	struct wrc_wr wr;

	assert_true(wrc_decode(b->arena + wrc_insn_off(&b->prog, &b->geom,
						       insn, r),
			       b->prog.insn[insn].nr_bb * 64, WRC_WQE_READ,
			       &wr) > 0);
	from = b->table + (wr.raddr - b->bind.table_iova);
	assert_int_equal(wr.index, (uint16_t)(r * b->prog.bb[WRC_LOOP] +
					      b->prog.insn[insn].bb));
	for (unsigned int i = 0; i < wr.nr_sge; i++) {
		assert_true(from >= b->table &&
			    from + wr.sge[i].len <=
				    b->table + b->geom.table_len);
		memcpy(b->arena + (wr.sge[i].addr - b->bind.arena_iova), from,
		       wr.sge[i].len);
		from += wr.sge[i].len;
	}
}

static void expect_lap(struct bench *b, unsigned int insn, uint32_t r)
{
	const struct wrc_insn *i = &b->prog.insn[insn];
	struct wrc_wr wr;

	assert_true(wrc_decode(b->arena + wrc_insn_off(&b->prog, &b->geom,
						       insn, r),
			       i->nr_bb * 64, i->op, &wr) > 0);
	assert_int_equal(wr.index, (uint16_t)(r * b->prog.bb[i->queue] +
					      i->bb));
	if (i->op == WRC_WQE_WAIT)
		assert_int_equal(wr.count, i->target == WRC_RECV ?
				 r & 0xffffff : (r * b->prog.cqes +
				 b->prog.insn[i->target].cqe) & 0xffffff);
	if (i->remote.space == WRC_SP_TT)
		assert_true(wr.raddr == ~0ull);
}

static void lists(void **state)
{
	struct bench b;

	open_image(&b, ODRP_WIRE_MAPPED_STORE, true, 16);
	for (uint32_t r = 0; r < 0x10000 + 100; r++) {
		for (unsigned int i = 0; i < b.prog.nr_insn; i++)
			expect_lap(&b, i, r);
		for (unsigned int i = 0; i < b.prog.nr_reads; i++)
			execute_read(&b, b.prog.turns + i, r);
	}
	bench_close(&b);
}

/* ---- what clients send --------------------------------------------------------- */

static void expect_dead(struct wrc_rig *rig)
{
	struct snic_qp_info loop, client;

	assert_int_equal(snic_qp_query(rig->nic, rig->loop_qpn, &loop), 0);
	assert_int_equal(snic_qp_query(rig->nic, rig->client_qpn, &client), 0);
	assert_true(loop.state == SNIC_QP_ERR || client.state == SNIC_QP_ERR);
}

/* Every page in the ring, in the table, or held; once. */
static void expect_all_pages(struct wrc_rig *rig)
{
	unsigned int seen[PAGES] = { 0 };

	see_pages(rig, seen);
	for (int i = 0; i < DEPTH; i++)
		see_page(rig, seen, wrc_rig_held(rig, i).page);
	expect_seen_once(rig, seen);
}

/*
 * After a lap and a half, a message of another length, or nothing but the end of
 * the connection: no request is served twice, and none that was not asked.
 */
static void after_laps(enum odrp_wire_chain chain, bool strict, int cut,
		       bool send)
{
	uint64_t tt[SLOTS], head, tail, own[DEPTH];
	uint8_t page[4096];
	struct wrc_rig rig;

	open_rig(&rig, chain, strict, SNIC_FETCH_EARLY);
	map_all(&rig);
	serve(&rig, DEPTH + DEPTH / 2);
	for (int i = 0; i < SLOTS; i++)
		if (tt[i] = wrc_rig_entry(&rig, i), tt[i])
			fill(wrc_rig_memory(&rig, tt[i]), 200 + i);
	wrc_rig_settle(&rig);
	head = rig.counters[0];
	tail = rig.counters[8];
	for (int i = 0; i < DEPTH; i++)
		own[i] = wrc_rig_held(&rig, i).page;
	fill(page, 99);
	rig.cut = cut;
	if (send)
		assert_int_equal(wrc_rig_send(&rig, 0, rig.prog.page ?
					      page : NULL), 0);
	wrc_rig_settle(&rig);
	assert_int_equal(snic_qp_error(rig.nic, rig.client_qpn), 0);
	wrc_rig_settle(&rig);
	expect_dead(&rig);
	expect_all_pages(&rig);
	assert_int_equal(rig.counters[8], tail);
	/* What it has received into is its own page still. */
	for (int i = 0; wrc_has_register(&rig.prog) && i < DEPTH; i++)
		assert_int_equal(wrc_rig_held(&rig, i).page, own[i]);
	if (wrc_has_register(&rig.prog))
		assert_int_equal(rig.counters[0], head);
	for (int i = 0; i < SLOTS; i++) {
		assert_int_equal(wrc_rig_entry(&rig, i), tt[i]);
		if (tt[i])
			expect_page(wrc_rig_memory(&rig, tt[i]), 200 + i);
	}
	wrc_rig_close(&rig);
}

/* Words of recycle=client, or anything else behind a request. */
static void bytes_behind(void **state)
{
	static const int more[] = { 1, 4, 41, 100, 1000 };

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (unsigned int i = 0; i < 5; i++)
			for (int strict = 0; strict < 2; strict++)
				after_laps(chain, strict, -more[i], true);
}

static void nothing_sent(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++)
			after_laps(chain, strict, 0, false);
}

/* Cut within the table address, or before it: it leads nowhere. */
static void cut_short(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int left = 1; left < 8; left++) {
			bool page = chain == ODRP_WIRE_MAPPED_STORE ||
				    chain == ODRP_WIRE_UNMAPPED_STORE;
			bool end = page && variant == WRC_V_EXCHANGE;

			after_laps(chain, true, (page ? 4096 : 0) +
				   (end ? 4 : 0) + HEAD - left, true);
		}
}

/*
 * A store that exchanges pages, cut anywhere: in its head, its page, its end.  It
 * maps nothing, and takes nobody's page.
 */
static void cut_anywhere(void **state)
{
	const int len = HEAD + 4096 + 4;

	for (int left = 1; left < len; left++) {
		after_laps(ODRP_WIRE_MAPPED_STORE, left & 1, len - left, true);
		after_laps(ODRP_WIRE_UNMAPPED_STORE, left & 1, len - left,
			   true);
	}
}

/*
 * As many requests as it likes: those without a receive entry wait on the wire,
 * and all are served, in order.
 */
static void beyond_credits(void **state)
{
	struct wrc_rig rig;

	open_rig(&rig, ODRP_WIRE_LOAD, true, SNIC_FETCH_EARLY);
	map_all(&rig);
	for (int lap = 0; lap < 10; lap++) {
		/* The rig thinks that they have been answered. */
		for (int i = 0; i < DEPTH; i++) {
			ask(&rig, rig.sent);
			rig.answered = rig.sent;
		}
		wrc_rig_settle(&rig);
		for (int i = 0; i < DEPTH; i++) {
			uint32_t r;

			assert_int_equal(wrc_rig_poll(&rig, &r), 0);
			assert_int_equal(r, lap * DEPTH + i);
			expect_page(wrc_rig_page(&rig, r), r);
		}
	}
	wrc_rig_close(&rig);
}

/*
 * Two requests of a full queue are answered: the first, since the last of the queue
 * before has said so, and the last; whatever else than 0 the others say.
 */
static void quiet(enum odrp_wire_chain chain, bool strict, int fetch)
{
	static const uint8_t says[] = { 1, 1, 0x80, 0xff, 2 };
	struct wrc_rig rig;

	open_rig(&rig, chain, strict, fetch);
	map_all(&rig);
	for (uint32_t lap = 0; lap < 5; lap++) {
		uint32_t first = rig.sent, last = first + DEPTH - 2, r;

		assert_int_equal(rig.words[0].kind, WRC_WORD_NEXT);
		rig.words[0].step = says[lap];
		for (r = first; r <= last; r++) {
			rig.quiet = r != first && r != last;
			rig.next_quiet = r + 1 < last;
			ask(&rig, r);
		}
		assert_int_equal(wrc_rig_answer(&rig, &r), 0);
		assert_int_equal(r, first);
		assert_int_equal(wrc_rig_answer(&rig, &r), 0);
		assert_int_equal(r, last);
		assert_int_equal(rig.received, 2 * (lap + 1));
		for (r = first; r <= last; r++)
			look(&rig, r);
	}
	wrc_rig_close(&rig);
}

static void quiet_requests(void **state)
{
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int mode = 0; mode < 4; mode++)
			quiet(chain, mode & 1, mode & 2 ? SNIC_FETCH_EARLY :
							  SNIC_FETCH_LATE);
}

static int exchange(void **state)
{
	variant = WRC_V_EXCHANGE;
	return 0;
}

static int fence(void **state)
{
	order = WRC_ORDER_FENCE;
	return 0;
}

static int fence_copying(void **state)
{
	variant = WRC_V_OURS;
	return fence(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(wraps),
		cmocka_unit_test(bytes_behind),
		cmocka_unit_test(nothing_sent),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(beyond_credits),
		cmocka_unit_test(quiet_requests),
	};
	const struct CMUnitTest exchanging[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(wraps),
		cmocka_unit_test(bytes_behind),
		cmocka_unit_test(nothing_sent),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(beyond_credits),
		cmocka_unit_test(quiet_requests),
	};
	const struct CMUnitTest fenced[] = {
		cmocka_unit_test(wraps),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(quiet_requests),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += cmocka_run_group_tests(exchanging, exchange, NULL);
	failed += cmocka_run_group_tests(fenced, fence, NULL);
	failed += cmocka_run_group_tests(fenced, fence_copying, NULL);
	free_tables();
	return failed;
}
