// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * UMR WQEs: what they write, what is refused, and their place among others; and
 * how indirect keys come and go.
 */
#include "bed/umr.h"
#include "snic/engine/engine-priv.h"

/* ---- keys ---------------------------------------------------------------------- */

static void refused_keys(void **state)
{
	static const struct {
		uint32_t entries;
		unsigned int access;
	} bad[] = {
		{ 0, PEER }, { 1, PEER }, { 6, PEER }, { SNIC_MAX_KSM + 4, PEER },
		{ UINT32_MAX - 3, PEER }, { 4, SNIC_LOCAL_WRITE },
		{ 4, SNIC_REMOTE_ATOMIC }, { 4, PEER | SNIC_REMOTE_ATOMIC },
		{ 4, 1 << 4 },
	};
	struct wrc_ksm e;
	uint32_t key, pdn;
	struct host b;

	host_open(&b, NULL);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(snic_mkey_indirect(b.nic, b.pdn, bad[i].entries,
						    bad[i].access, 0, &key),
				 -EINVAL);
	assert_int_equal(snic_mkey_indirect(b.nic, b.pdn + 1, 4, PEER, 0, &key),
			 -ENOENT);
	assert_int_equal(snic_mkey_entry(b.nic, b.key, 0, &e), -ENOENT);
	assert_int_equal(snic_mkey_entry(b.nic, 12, 0, &e), -ENOENT);
	assert_int_equal(snic_pd_alloc(b.nic, &pdn), 0);
	assert_int_equal(snic_mkey_indirect(b.nic, pdn, SNIC_MAX_KSM, 0, 0,
					    &key), 0);
	assert_int_equal(snic_mkey_entry(b.nic, key, SNIC_MAX_KSM - 1, &e), 0);
	assert_int_equal(e.key, 0);
	assert_int_equal(snic_mkey_entry(b.nic, key, SNIC_MAX_KSM, &e), -ERANGE);
	assert_int_equal(snic_pd_free(b.nic, pdn), -EBUSY);
	assert_int_equal(snic_mkey_dereg(b.nic, key), 0);
	assert_int_equal(snic_mkey_dereg(b.nic, key), -ENOENT);
	assert_int_equal(snic_mkey_entry(b.nic, key, 0, &e), -ENOENT);
	assert_int_equal(snic_pd_free(b.nic, pdn), 0);
	host_close(&b);
}

/* The low 8 bits are as asked for; the others do not come back soon. */
static void variants(void **state)
{
	uint32_t key[17], first;
	unsigned int i, k;
	struct host b;

	host_open(&b, NULL);
	for (i = 0; i < 256; i++) {
		assert_int_equal(snic_mkey_indirect(b.nic, b.pdn, 4, PEER, i,
						    &first), 0);
		assert_int_equal(first & 0xff, i);
		assert_int_equal(snic_mkey_dereg(b.nic, first), 0);
	}
	for (i = 0; i < 17; i++) {
		assert_int_equal(snic_mkey_indirect(b.nic, b.pdn, 4, PEER, 7,
						    &key[i]), 0);
		assert_int_equal(snic_mkey_dereg(b.nic, key[i]), 0);
		for (k = 0; k < i; k++)
			assert_true(key[i] != key[k]);
	}
	host_close(&b);
}

/* ---- the WQE --------------------------------------------------------------------- */

static void writes_its_entries(void **state)
{
	struct wrc_ksm e[52];
	struct snic_stats st;
	struct umr_bed u;
	struct wrc_cqe cqe;
	uint32_t big;
	unsigned int i;

	umr_open(&u);
	entries_zero(&u);
	put_map(&u, &u.z, CE, 4, PAGES_OF(1, 2, -1, 3));
	go(&u, &u.z);
	assert_int_equal(snic_cq_poll(u.b.nic, u.z.scqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_REQ);
	assert_int_equal(be32toh(cqe.sop_qpn) >> 24, WRC_WQE_UMR);
	assert_int_equal(cqe.byte_cnt, 0);
	for (i = 0; i < 4; i++)
		entry_is(&u, i, (struct wrc_ksm){ 0 });
	entry_is(&u, 4, to_page(&u, 1));
	entry_is(&u, 5, to_page(&u, 2));
	entry_is(&u, 6, (struct wrc_ksm){ 0 });
	entry_is(&u, 7, to_page(&u, 3));
	/* As many as a WQE holds, at the end of the largest key; anything will
	 * do, since it is not looked at. */
	assert_int_equal(snic_mkey_indirect(u.b.nic, u.b.pdn, SNIC_MAX_KSM, PEER,
					    0, &big), 0);
	for (i = 0; i < 52; i++)
		e[i] = ksm_entry(0xffff0000 + i, ~0ull - i);
	put_umr(&u.z, CE, big, SNIC_MAX_KSM - 52, e, 52);
	go(&u, &u.z);
	expect_cqe(&u.b, u.z.scqn, WRC_CQE_REQ, 3);
	u.key = big;
	entry_is(&u, SNIC_MAX_KSM - 53, (struct wrc_ksm){ 0 });
	for (i = 0; i < 52; i++)
		entry_is(&u, SNIC_MAX_KSM - 52 + i, e[i]);
	snic_get_stats(u.b.nic, &st);
	assert_int_equal(st.umrs, 2);
	assert_int_equal(st.wqes, 2);
	host_close(&u.b);
}

/* A UMR whose byte at off is v instead fails, without having done anything. */
static void bad_byte(unsigned int off, uint8_t v, uint8_t syndrome)
{
	struct umr_bed u;
	uint8_t *wqe;

	umr_open(&u);
	put_map(&u, &u.z, 0, 0, PAGES_OF(1, 2, 3, 4));
	wqe = u.z.sq;
	wqe[off] = v;
	put_nop(&u.z, 0);
	go(&u, &u.z);
	expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR, syndrome, 0);
	if (off != 7)	/* else what is behind it is somewhere else */
		expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR,
			     WRC_SYND_WR_FLUSH, 3);
	assert_int_equal(state_of(&u.z), SNIC_QP_ERR);
	entries_zero(&u);
	host_close(&u.b);
}

static void malformed(void **state)
{
	/* byte, value */
	static const uint8_t bad[][2] = {
		{ 0, 1 },				/* opmod */
		{ 7, 1 }, { 7, 2 }, { 7, 4 }, { 7, 7 },	/* ds: without all */
		{ 7, 8 }, { 7, 11 }, { 7, 13 },		/* other entries */
		{ 16, 0 }, { 16, 0x80 }, { 16, 0x10 },	/* flags */
		{ 16, 0x91 }, { 16, 0xb0 }, { 16, 0xd0 },
		{ 17, 1 }, { 19, 1 },			/* reserved */
		{ 21, 0 }, { 21, 3 }, { 21, 8 }, { 20, 1 },	/* octowords */
		{ 23, 1 }, { 23, 2 }, { 23, 8 }, { 22, 1 },	/* offset */
		{ 32, 1 }, { 35, 1 },
		{ 24, 0x80 }, { 31, 1 }, { 28, 0x60 },	/* mask */
		{ 36, 1 }, { 63, 0x80 },		/* reserved */
		{ 64, 1 }, { 127, 1 },			/* the key's context */
		{ 128, 1 }, { 131, 1 }, { 179, 1 },	/* of entries 0 and 3 */
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		bad_byte(bad[i][0], bad[i][1], WRC_SYND_LOCAL_QP_OP);
}

/* As a card makes a key: a UMR writes to it all the same, but it leads nobody
 * anywhere before one has opened it. */
static void opened(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	snic_ksm_find(u.b.nic, u.b.pdn, u.key)->free = true;
	map(&u, 0, PAGES_OF(1, 2, 3, 4));
	entry_is(&u, 1, to_page(&u, 2));
	expect_read(&u, 0, 8, false);
	host_close(&u.b);

	umr_open(&u);
	snic_ksm_find(u.b.nic, u.b.pdn, u.key)->free = true;
	map(&u, 0, PAGES_OF(1, 2, 3, 4));
	put_map(&u, &u.z, 0, 4, PAGES_OF(5, -1, -1, -1));
	((uint8_t *)u.z.sq)[(u.z.pi - 3) * WRC_WQE_BB + 28] = 0x20;
	go(&u, &u.z);
	expect_read(&u, PAGE, 8, true);
	all_bytes(u.buf, 8, 'c');
	expect_read(&u, 4 * PAGE, 8, true);
	all_bytes(u.buf, 8, 'f');
	expect_write(&u, 5 * PAGE, 8, false);
	host_close(&u.b);
}

/* A UMR of the length of a WAIT, with operands of one that is over. */
static void no_wait(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	put_nop(&u.x, CE);
	go(&u, &u.x);
	put_wait(&u.z, 0, u.x.scqn, 0)[3] = WRC_WQE_UMR;
	go(&u, &u.z);
	expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR, WRC_SYND_LOCAL_QP_OP, 0);
	host_close(&u.b);
}

/* Whole groups, but more than the key has behind the offset. */
static void beyond_the_key(void **state)
{
	static const struct { uint64_t first; unsigned int nr; } bad[] = {
		{ ENTRIES, 4 }, { 4, 8 }, { 0, 12 }, { (1ull << 48) - 4, 4 },
		{ 1ull << 32, 4 },
	};
	struct wrc_ksm e[12] = { { 0 } };
	struct umr_bed u;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		umr_open(&u);
		for (unsigned int k = 0; k < 12; k++)
			e[k] = to_page(&u, k);
		put_umr(&u.z, 0, u.key, bad[i].first, e, bad[i].nr);
		go(&u, &u.z);
		expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR,
			     WRC_SYND_LOCAL_QP_OP, 0);
		entries_zero(&u);
		host_close(&u.b);
	}
}

static void not_a_multiple_of_a_group(void **state)
{
	struct wrc_ksm e[6];
	struct umr_bed u;

	for (unsigned int nr = 0; nr < 6; nr++) {
		if (nr == WRC_KSM_GROUP)
			continue;
		umr_open(&u);
		for (unsigned int k = 0; k < nr; k++)
			e[k] = to_page(&u, k);
		put_umr(&u.z, 0, u.key, 0, e, nr);
		go(&u, &u.z);
		expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR,
			     WRC_SYND_LOCAL_QP_OP, 0);
		entries_zero(&u);
		host_close(&u.b);
	}
}

/* The key of a UMR is not there, not indirect, or of another PD. */
static void wrong_key(unsigned int which)
{
	struct wrc_ksm e[4] = { { 0 } };
	struct umr_bed u;
	uint32_t pdn, key;

	umr_open(&u);
	key = u.b.key;
	if (which == 1)
		key = u.key ^ 1;
	assert_int_equal(snic_pd_alloc(u.b.nic, &pdn), 0);
	if (which == 2)
		assert_int_equal(snic_mkey_indirect(u.b.nic, pdn, ENTRIES, PEER,
						    0, &key), 0);
	if (which == 3) {
		key = u.key;
		assert_int_equal(snic_mkey_dereg(u.b.nic, key), 0);
	}
	put_umr(&u.z, 0, key, 0, e, 4);
	put_nop(&u.z, 0);
	go(&u, &u.z);
	expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR, WRC_SYND_MW_BIND, 0);
	expect_error(&u.b, u.z.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 3);
	host_close(&u.b);
}

static void wrong_keys(void **state)
{
	for (unsigned int i = 0; i < 4; i++)
		wrong_key(i);
}

/* ---- its place among others --------------------------------------------------------- */

/* In one queue, each access goes where the UMR before it says. */
static void in_order(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	for (int i = 0; i < 4; i++) {
		put_map(&u, &u.x, 0, 0, PAGES_OF(i, i + 4, -1, -1));
		put_access(&u, WRC_WQE_WRITE, PAGE - 8 * i, 8 * (i + 1));
	}
	go(&u, &u.x);
	for (int i = 0; i < 4; i++)
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 3 + 4 * i);
	for (int i = 0; i < 4; i++) {
		all_bytes(u.page + (i + 1) * PAGE - 8 * i, 8 * i, 0xbb);
		all_bytes(u.page + i * PAGE, PAGE - 8 * i, 'a' + i);
		all_bytes(u.page + (i + 4) * PAGE, 8, 0xbb);
		all_bytes(u.page + (i + 4) * PAGE + 8, PAGE - 8, 'e' + i);
	}
	host_close(&u.b);
}

/*
 * With late landing it takes effect while a READ before it is on its way, unless
 * it is fenced; its CQE comes behind the READ's.
 */
static void lands_behind(bool fence)
{
	struct snic_config cfg = host_default;
	struct umr_bed u;
	struct wrc_ksm e;
	unsigned int i;

	cfg.land = SNIC_LAND_LATE;
	umr_open_cfg(&u, &cfg);
	put_read(&u.x, CE, u.buf, 8, u.page);
	put_map(&u, &u.x, CE | (fence ? WRC_WQE_FM_FENCE : 0), 0,
	       PAGES_OF(1, 2, 3, 4));
	put_nop(&u.x, CE);
	ring(&u.x);
	for (i = 0; snic_sq_run_qp(snic_qp_lookup(u.b.nic, u.x.qpn)); i++)
		;
	assert_int_equal(i, fence ? 1 : 2);
	assert_int_equal(u.buf[0], 0xbb);
	assert_int_equal(cq_count(&u.b, u.x.scqn), 0);
	assert_int_equal(snic_mkey_entry(u.b.nic, u.key, 0, &e), 0);
	assert_int_equal(!e.key, fence);
	snic_qp_kick(snic_qp_lookup(u.b.nic, u.x.qpn));
	host_run(&u.b);
	assert_int_equal(u.buf[0], 'a');
	for (i = 0; i < 2; i++)
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, i);
	expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 4);
	entry_is(&u, 0, to_page(&u, 1));
	host_close(&u.b);
}

static void late_landing(void **state)
{
	lands_behind(false);
	lands_behind(true);
}

/* There is no room for its CQE: it waits as others do. */
static void late_and_full(void **state)
{
	struct snic_config cfg = host_default;
	struct umr_bed u;
	unsigned int i;

	cfg.land = SNIC_LAND_LATE;
	umr_open_cfg(&u, &cfg);
	for (i = 0; i < SNIC_LANDINGS; i++)
		put_read(&u.x, CE, u.buf + i, 1, u.page);
	put_map(&u, &u.x, CE, 0, PAGES_OF(1, 2, 3, 4));
	ring(&u.x);
	for (i = 0; snic_sq_run_qp(snic_qp_lookup(u.b.nic, u.x.qpn)); i++)
		;
	assert_int_equal(i, SNIC_LANDINGS);
	entries_zero(&u);
	snic_qp_kick(snic_qp_lookup(u.b.nic, u.x.qpn));
	host_run(&u.b);
	for (i = 0; i <= SNIC_LANDINGS; i++)
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, i);
	entry_is(&u, 0, to_page(&u, 1));
	host_close(&u.b);
}

/* More on their way than there is room for, and what is in pieces is too. */
static void late_completions(void **state)
{
	static const uint32_t len[] = { 16, 256, 2048 };
	struct snic_config cfg = host_default;
	struct umr_bed u;

	cfg.land = SNIC_LAND_LATE;
	umr_open_cfg(&u, &cfg);
	for (int i = 0; i < 3; i++) {
		put_map(&u, &u.x, CE, 0, PAGES_OF(i, i + 4, -1, -1));
		put_access(&u, WRC_WQE_READ, PAGE - len[i] / 2, len[i]);
		put_access(&u, WRC_WQE_READ, 0, 8);
	}
	put_map(&u, &u.x, CE, 0, PAGES_OF(-1, -1, -1, -1));
	go(&u, &u.x);
	for (int i = 0; i < 3; i++) {
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 5 * i);
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 5 * i + 3);
		expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 5 * i + 4);
	}
	expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, 15);
	/* What the last long one and the short one behind it have brought. */
	all_bytes(u.buf, 1024, 'c');
	all_bytes(u.buf + 1024, 1024, 'g');
	entries_zero(&u);
	host_close(&u.b);
}

/* Fetched when it is enabled, or when it runs. */
static void fetched(enum snic_fetch fetch)
{
	struct snic_config cfg = host_default;
	struct umr_bed u;
	__be64 *addr;

	cfg.fetch = fetch;
	umr_open_cfg(&u, &cfg);
	put_wait(&u.z, 0, u.x.scqn, 0);
	put_map(&u, &u.z, CE, 0, PAGES_OF(1, 2, 3, 4));
	addr = (__be64 *)(u.z.sq + 64 + 128 + 8);
	assert_int_equal(be64toh(*addr), host_iova(&u.b, u.page + PAGE));
	go(&u, &u.z);
	*addr = htobe64(host_iova(&u.b, u.page + 5 * PAGE));
	put_nop(&u.x, CE);
	go(&u, &u.x);
	expect_cqe(&u.b, u.z.scqn, WRC_CQE_REQ, 1);
	entry_is(&u, 0, to_page(&u, fetch == SNIC_FETCH_EARLY ? 1 : 5));
	entry_is(&u, 1, to_page(&u, 2));
	host_close(&u.b);
}

static void both_fetches(void **state)
{
	fetched(SNIC_FETCH_LATE);
	fetched(SNIC_FETCH_EARLY);
}

struct bill {
	unsigned int nr;
	enum snic_cost_kind kind[4];
	uint8_t opcode[4];
	uint32_t bytes[4];
};

static uint64_t charge(void *arg, const struct snic_work *work)
{
	struct bill *bill = arg;

	assert_true(bill->nr < 4);
	bill->kind[bill->nr] = work->kind;
	bill->opcode[bill->nr] = work->opcode;
	bill->bytes[bill->nr++] = work->bytes;
	return 100;
}

static void costs(void **state)
{
	struct bill bill = { 0 };
	struct wrc_ksm e[8] = { { 0 } };
	struct umr_bed u;

	umr_open(&u);
	snic_set_cost(u.b.nic, charge, &bill);
	put_umr(&u.z, CE, u.key, 0, e, 8);
	ring(&u.z);
	host_wait(&u.b, 199);
	assert_int_equal(cq_count(&u.b, u.z.scqn), 0);
	host_wait(&u.b, 1);
	expect_cqe(&u.b, u.z.scqn, WRC_CQE_REQ, 0);
	assert_int_equal(bill.nr, 2);
	assert_int_equal(bill.kind[0], SNIC_COST_FETCH);
	assert_int_equal(bill.bytes[0], 256);
	assert_int_equal(bill.kind[1], SNIC_COST_EXECUTE);
	assert_int_equal(bill.opcode[1], WRC_WQE_UMR);
	assert_int_equal(bill.bytes[1], 128);
	host_close(&u.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_keys),
		cmocka_unit_test(variants),
		cmocka_unit_test(writes_its_entries),
		cmocka_unit_test(malformed),
		cmocka_unit_test(opened),
		cmocka_unit_test(no_wait),
		cmocka_unit_test(beyond_the_key),
		cmocka_unit_test(not_a_multiple_of_a_group),
		cmocka_unit_test(wrong_keys),
		cmocka_unit_test(in_order),
		cmocka_unit_test(late_landing),
		cmocka_unit_test(late_and_full),
		cmocka_unit_test(late_completions),
		cmocka_unit_test(both_fetches),
		cmocka_unit_test(costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
