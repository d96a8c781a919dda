// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pull stores on the software NIC: each page comes from the client's memory, and
 * whatever the client or the wire does, an unmapped slot gets a whole page or
 * none, and every page stays in one place.
 */
#include "bench.h"
#include "pages.h"
#include "prog/ladder.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 16
#define PAGES 64
#define OLD 250			/* the seed of what was in a page before */

static void open_any(struct wrc_rig *rig, struct wrc_rig_config *cfg)
{
	char why[WRC_WHY_MAX];
	int err;

	cfg->variant = WRC_V_PULL;
	cfg->depth = DEPTH;
	cfg->nr_slots = SLOTS;
	if (!cfg->nr_pages)
		cfg->nr_pages = PAGES;
	err = wrc_rig_open(cfg, rig, why);
	if (err)
		fail_msg("%s: %s %s", rig->prog.name, strerror(-err), why);
	for (uint32_t i = 0; i < cfg->nr_pages; i++)
		fill(rig->pool + (size_t)i * 4096, OLD);
	if (cfg->chain == ODRP_WIRE_UNMAPPED_STORE)
		return;
	for (int i = 0; i < SLOTS; i++)
		wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
}

/* mode: strict, early fetch, a wire. */
static void open_mode(struct wrc_rig *rig, enum odrp_wire_chain chain, int mode)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .strict = mode & 1,
		.fetch = mode & 2 ? SNIC_FETCH_EARLY : SNIC_FETCH_LATE,
		.wire = mode & 4,
	};

	open_any(rig, &cfg);
}

#define MODES 8

static void send(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint8_t page[4096];

	fill(page, seed);
	assert_int_equal(wrc_rig_send(rig, slot * 8,
				      wrc_rig_has_page(rig) ? page : NULL), 0);
}

static void ask(struct wrc_rig *rig, uint64_t slot, uint32_t seed)
{
	uint32_t r = ~0u, request = rig->sent;
	int err;

	send(rig, slot, seed);
	err = wrc_rig_answer(rig, &r);
	if (err)
		fail_msg("%s, request %u: %s", rig->prog.name, request,
			 strerror(-err));
	assert_int_equal(r, request);
}

static void expect_all_pages(struct wrc_rig *rig)
{
	unsigned int seen[PAGES] = { 0 };

	wrc_rig_settle(rig);
	see_pages(rig, seen);
	for (int i = 0; i < DEPTH; i++)
		see_page(rig, seen, wrc_rig_held(rig, i).page);
	expect_seen_once(rig, seen);
}

/* ---- what they do --------------------------------------------------------------- */

static void work_once(struct wrc_rig *rig, uint32_t r)
{
	uint64_t slot = r * 5 % SLOTS, before = wrc_rig_entry(rig, slot);
	uint64_t next = be64toh(rig->ring[r % rig->cfg.nr_pages]), entry;
	uint64_t head = rig->counters[0];

	ask(rig, slot, r);
	entry = wrc_rig_entry(rig, slot);
	expect_page(wrc_rig_memory(rig, entry), r);
	expect_all_pages(rig);
	if (rig->cfg.chain == ODRP_WIRE_MAPPED_STORE) {
		assert_int_equal(entry, before);
		assert_int_equal(rig->counters[0], head);
		return;
	}
	assert_int_equal(before, 0);
	assert_int_equal(entry, next);
	assert_int_not_equal(rig->counters[0], head);
	wrc_rig_set_entry(rig, slot, 0);
	wrc_rig_push(rig, entry);
}

static void every_store_works(void **state)
{
	for (int chain = ODRP_WIRE_MAPPED_STORE;
	     chain <= ODRP_WIRE_UNMAPPED_STORE; chain++)
		for (int mode = 0; mode < MODES; mode++) {
			struct snic_stats before, after;
			struct wrc_rig rig;

			open_mode(&rig, chain, mode);
			snic_get_stats(rig.nic, &before);
			for (uint32_t r = 0; r < 6 * DEPTH; r++)
				work_once(&rig, r);
			/* No page moved but over the client's queue. */
			snic_get_stats(rig.nic, &after);
			assert_int_equal(after.reads - before.reads,
					 2 * 6 * DEPTH);
			wrc_rig_close(&rig);
		}
}

/* The two others are ours. */
static void others_work(void **state)
{
	struct wrc_rig rig;

	open_mode(&rig, ODRP_WIRE_LOAD, 3);
	for (uint32_t r = 0; r < 3 * DEPTH; r++) {
		uint64_t page = wrc_rig_entry(&rig, r % SLOTS);

		fill(wrc_rig_memory(&rig, page), r);
		ask(&rig, r % SLOTS, 0);
		expect_page(wrc_rig_page(&rig, r), r);
	}
	expect_all_pages(&rig);
	wrc_rig_close(&rig);

	open_mode(&rig, ODRP_WIRE_INVALIDATE, 3);
	for (uint32_t r = 0; r < SLOTS; r++) {
		ask(&rig, r, 0);
		assert_int_equal(wrc_rig_entry(&rig, r), 0);
	}
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

/* A full queue, until 16 bits of all that a queue counts have wrapped. */
static void wraps(enum odrp_wire_chain chain, uint32_t count)
{
	struct wrc_rig rig;
	uint32_t r;

	open_mode(&rig, chain, 3);
	for (uint32_t n = 0; n < count; n++) {
		uint64_t entry;

		while (rig.sent - rig.answered < DEPTH - 1)
			send(&rig, rig.sent % SLOTS, rig.sent);
		assert_int_equal(wrc_rig_answer(&rig, &r), 0);
		assert_int_equal(r, n);
		entry = wrc_rig_entry(&rig, n % SLOTS);
		expect_page(wrc_rig_memory(&rig, entry), n);
		if (chain == ODRP_WIRE_MAPPED_STORE)
			continue;
		wrc_rig_set_entry(&rig, n % SLOTS, 0);
		wrc_rig_push(&rig, entry);
	}
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

static void every_counter_wraps(void **state)
{
	wraps(ODRP_WIRE_MAPPED_STORE, 66000);
	wraps(ODRP_WIRE_UNMAPPED_STORE, 17000);	/* 4 client blocks each */
}

/* Only the last is answered, and all have been done. */
static void quiet_ones(void **state)
{
	struct wrc_rig rig;
	uint32_t r;

	open_mode(&rig, ODRP_WIRE_UNMAPPED_STORE, 3);
	for (uint32_t i = 0; i < DEPTH - 1; i++) {
		rig.quiet = i < DEPTH - 2;
		send(&rig, i, i);
	}
	assert_int_equal(wrc_rig_answer(&rig, &r), 0);
	assert_int_equal(r, DEPTH - 2);
	assert_int_equal(rig.received, 1);
	for (uint32_t i = 0; i < DEPTH - 1; i++)
		expect_page(wrc_rig_memory(&rig, wrc_rig_entry(&rig, i)), i);
	expect_all_pages(&rig);
	wrc_rig_close(&rig);
}

/* ---- pages that do not come ------------------------------------------------------- */

static bool is_broken(const struct wrc_rig *rig)
{
	struct snic_qp_info client;

	assert_int_equal(snic_qp_query(rig->nic, rig->client_qpn, &client), 0);
	return client.state == SNIC_QP_ERR;
}

/* More than a lap: words and addresses of a lap ago are there. */
#define BEFORE (DEPTH + 2)

static void work_before(struct wrc_rig *rig)
{
	for (uint32_t r = 0; r < BEFORE; r++)
		work_once(rig, r);
	wrc_rig_settle(rig);
}

static uint64_t held_by_last(const struct wrc_rig *rig)
{
	return wrc_rig_held(rig, (rig->sent - 1) % DEPTH).page;
}

/* The client's key opens its pages to everybody but readers. */
static void forbid(struct wrc_rig *rig)
{
	unsigned int access = SNIC_LOCAL_WRITE | SNIC_REMOTE_WRITE;
	int err = snic_mkey_reg(rig->peer_nic, rig->peer_pdn, rig->out,
				rig->in - rig->out, (uintptr_t)rig->out, access,
				&rig->pull_key);

	assert_int_equal(err, 0);
}

static void key_forbids_it(void **state)
{
	for (int chain = ODRP_WIRE_MAPPED_STORE;
	     chain <= ODRP_WIRE_UNMAPPED_STORE; chain++)
		for (int mode = 0; mode < MODES; mode++) {
			bool mapped = chain == ODRP_WIRE_MAPPED_STORE;
			struct wrc_rig rig;
			uint64_t entry, page;
			uint32_t r;

			open_mode(&rig, chain, mode);
			work_before(&rig);
			entry = wrc_rig_entry(&rig, 9);
			page = mapped ? entry :
					be64toh(rig.ring[BEFORE % PAGES]);
			fill(wrc_rig_memory(&rig, page), OLD);
			forbid(&rig);
			send(&rig, 9, 1);
			send(&rig, 10, 2);
			assert_true(wrc_rig_answer(&rig, &r) < 0);
			expect_all_pages(&rig);
			assert_true(is_broken(&rig));
			assert_int_equal(wrc_rig_entry(&rig, 9), entry);
			expect_page(wrc_rig_memory(&rig, page), OLD);
			rig.sent--;		/* the one that failed */
			assert_int_equal(held_by_last(&rig), mapped ? 0 : page);
			wrc_rig_close(&rig);
		}
}

/* No page to pull into: an empty slot, or an empty ring. */
static void nowhere_to_put_it(void **state)
{
	struct wrc_rig_config cfg = {
		.chain = ODRP_WIRE_UNMAPPED_STORE, .strict = true,
		.fetch = SNIC_FETCH_EARLY, .nr_pages = 8,
	};
	struct wrc_held held;
	struct wrc_rig rig;
	uint64_t head;
	uint32_t r;

	open_mode(&rig, ODRP_WIRE_MAPPED_STORE, 3);
	wrc_rig_push(&rig, wrc_rig_entry(&rig, 3));
	wrc_rig_set_entry(&rig, 3, 0);
	send(&rig, 3, 1);
	assert_true(wrc_rig_answer(&rig, &r) < 0);
	assert_int_equal(wrc_rig_entry(&rig, 3), 0);
	expect_all_pages(&rig);
	assert_true(is_broken(&rig));
	wrc_rig_close(&rig);

	open_any(&rig, &cfg);
	for (r = 0; r < 8; r++)
		ask(&rig, r, r);
	head = rig.counters[0];
	send(&rig, 8, 8);
	assert_true(wrc_rig_answer(&rig, &r) < 0);
	assert_int_equal(wrc_rig_entry(&rig, 8), 0);
	expect_all_pages(&rig);
	held = wrc_rig_held(&rig, 0);
	assert_int_equal(held.page, 0);
	assert_int_equal(held.slot, head);
	wrc_rig_close(&rig);
}

/* ---- a wire that is cut -------------------------------------------------------------- */

static const struct snic_port_ops *whole;
static int frames_left;

static int send_some(struct snic_port *port, const struct iovec *iov, int n)
{
	if (!frames_left)
		return 0;
	frames_left--;
	return whole->send(port, iov, n);
}

/* What the client sends is lost, from its frame number `after` on. */
static void cut_wire(struct wrc_rig *rig, int after)
{
	static struct snic_port_ops cut;

	whole = rig->ports[1]->ops;
	cut = *whole;
	cut.send = send_some;
	rig->ports[1]->ops = &cut;
	frames_left = after;
}

/* The rig waits for frames that are lost: here time goes on, until all give up. */
static void give_up(struct wrc_rig *rig)
{
	assert_int_equal(snic_vt_run(&rig->vt, SNIC_NEVER, NULL, NULL), 0);
}

/* Bytes at the start of a page that are of the new one. */
static int came(const uint8_t *page, uint32_t seed)
{
	uint8_t want[4096];
	int n = 0;

	fill(want, seed);
	while (n < 4096 && page[n] == want[n])
		n++;
	return n;
}

#define FRAMES 7		/* the request, four of the page, an ACK; and none lost */

/* Looks at a store of which so much of the page had come; done: answered. */
static void expect_broken(struct wrc_rig *rig, uint64_t page, uint64_t entry,
			  int frames, bool done)
{
	bool mapped = rig->cfg.chain == ODRP_WIRE_MAPPED_STORE;
	bool is_whole = came(wrc_rig_memory(rig, page), 1) == 4096;
	uint64_t now = wrc_rig_entry(rig, 9);

	assert_int_equal(is_whole, done);
	assert_int_equal(now, mapped || done ? page : 0);
	/* The node does not know of a request that never came, and waits for the
	 * ACK of its answer. */
	assert_int_equal(is_broken(rig), frames && frames < FRAMES - 1);
	assert_int_equal(held_by_last(rig),
			 frames && !done && !mapped ? page : 0);
	if (mapped)
		assert_int_equal(now, entry);
}

/* How much of the page had come when the wire was cut. */
static int break_at(enum odrp_wire_chain chain, bool strict, int frames)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .strict = strict, .fetch = SNIC_FETCH_EARLY,
		.wire = true, .mtu = 1024,
	};
	struct wrc_rig rig;
	uint64_t page, entry;
	uint32_t r;
	int n, err;

	open_any(&rig, &cfg);
	work_before(&rig);
	wrc_rig_settle(&rig);	/* what came before is acknowledged */
	entry = wrc_rig_entry(&rig, 9);
	page = entry ? entry : be64toh(rig.ring[BEFORE % PAGES]);
	fill(wrc_rig_memory(&rig, page), OLD);
	cut_wire(&rig, frames);
	send(&rig, 9, 1);
	err = wrc_rig_answer(&rig, &r);
	if (err)
		give_up(&rig);
	expect_all_pages(&rig);
	expect_broken(&rig, page, entry, frames, !err);
	n = came(wrc_rig_memory(&rig, page), 1);
	rig.ports[1]->ops = whole;
	wrc_rig_close(&rig);
	return n;
}

/*
 * An unmapped slot has a whole page or none.  A mapped one has what has come of
 * the new page and the rest of the old: that is what is wrong with pull stores.
 */
static void wire_is_cut(void **state)
{
	for (int chain = ODRP_WIRE_MAPPED_STORE;
	     chain <= ODRP_WIRE_UNMAPPED_STORE; chain++)
		for (int i = 0; i < 2 * FRAMES; i++) {
			int frames = i / 2;
			int n = frames < 2 ? 0 : 1024 * (frames - 1);

			assert_int_equal(break_at(chain, i % 2, frames),
					 n < 4096 ? n : 4096);
		}
}

/* ---- what a stopped one holds ---------------------------------------------------------- */

/* At each block of an instance; from the listings pull-NAME in tests/golden. */
static void held_page(void **state)
{
	const uint64_t page = WRC_POOL_IOVA + 0x5000, slot = 0x30010448;
	uint64_t be = htobe64(page);
	struct wrc_opts opts = { .variant = WRC_V_PULL };
	struct wrc_held held;
	struct bench b;

	assert_int_equal(wrc_prog_build(ODRP_WIRE_UNMAPPED_STORE, &opts,
					&b.prog), 0);
	bench_image(&b, 4);
	for (uint32_t k = 0; k < 4; k++) {
		memcpy(bench_field(&b, b.prog.nr_insn - 4, WRC_F_ADDR, 0, k),
		       &be, 8);
		memcpy(b.arena + b.geom.scratch + 64 * k, &slot, 8);
	}
	for (uint32_t at = 0; at < 0x10000; at++) {
		uint32_t bb = at % 32;

		assert_int_equal(wrc_held_page(&b.prog, &b.geom, b.arena, at,
					       &held), 0);
		assert_int_equal(held.page, bb >= 12 && bb < 15 ? page : 0);
		assert_int_equal(held.slot, bb >= 4 && bb < 12 ? slot : 0);
		assert_false(held.home);
	}
	bench_close(&b);

	assert_int_equal(wrc_prog_build(ODRP_WIRE_MAPPED_STORE, &opts,
					&b.prog), 0);
	bench_image(&b, 4);
	memset(b.arena, 0x15, b.geom.arena_len);
	for (uint32_t at = 0; at < 0x10000; at++) {
		assert_int_equal(wrc_held_page(&b.prog, &b.geom, b.arena, at,
					       &held), 0);
		assert_int_equal(held.page | held.slot, 0);
	}
	bench_close(&b);
}

/* ---- the verifier ------------------------------------------------------------------------ */

/* Which rules refuse it, each asked alone. */
static unsigned int refused(enum odrp_wire_chain chain, bool strict)
{
	struct wrc_opts opts = { .variant = WRC_V_PULL, .strict_index = strict };
	unsigned int rules = 0;
	char why[WRC_WHY_MAX];
	struct bench b;

	assert_int_equal(wrc_prog_build(chain, &opts, &b.prog), 0);
	bench_image(&b, DEPTH);
	for (int rule = 0; rule < WRC_NR_RULES; rule++)
		if (wrc_check_rules(&b.prog, &b.geom, &b.bind, b.arena,
				    1u << rule, why))
			rules |= 1u << rule;
	assert_int_equal(wrc_image_check(&b.prog, &b.geom, &b.bind, b.arena,
					 why), rules ? -EPERM : 0);
	bench_close(&b);
	return rules;
}

/* Its stores are never armed, and for the reasons that they are excused for. */
static void verifier_refuses(void **state)
{
	const unsigned int flow = 1u << WRC_RULE_FLOW;
	const unsigned int both = flow | 1u << WRC_RULE_BALANCE;

	assert_int_equal(wrc_variant_excused(WRC_V_PULL), both);
	for (int strict = 0; strict < 2; strict++) {
		assert_int_equal(refused(ODRP_WIRE_LOAD, strict), 0);
		assert_int_equal(refused(ODRP_WIRE_MAPPED_STORE, strict), flow);
		assert_int_equal(refused(ODRP_WIRE_UNMAPPED_STORE, strict),
				 both);
		assert_int_equal(refused(ODRP_WIRE_INVALIDATE, strict), 0);
	}
}

static void never_recycled_by_the_node(void **state)
{
	struct wrc_opts opts = {
		.variant = WRC_V_PULL, .recycle = WRC_RECYCLE_NODE,
	};
	struct wrc_prog prog;

	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		assert_int_equal(wrc_prog_build(chain, &opts, &prog), -EINVAL);
	opts.recycle = WRC_RECYCLE_CLIENT;
	assert_int_equal(wrc_prog_build(ODRP_WIRE_NR_CHAINS, &opts, &prog),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_store_works),
		cmocka_unit_test(others_work),
		cmocka_unit_test(every_counter_wraps),
		cmocka_unit_test(quiet_ones),
		cmocka_unit_test(key_forbids_it),
		cmocka_unit_test(nowhere_to_put_it),
		cmocka_unit_test(wire_is_cut),
		cmocka_unit_test(held_page),
		cmocka_unit_test(verifier_refuses),
		cmocka_unit_test(never_recycled_by_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
