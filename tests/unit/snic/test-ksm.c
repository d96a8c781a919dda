// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Indirect keys: what a loopback peer reads and writes by one, which of its and of
 * its entries' keys' rights count, and that it is no lkey.
 */
#include "bed/umr.h"

static void one_piece_and_across(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	map(&u, 0, PAGES_OF(9, 2, -1, 5));
	expect_read(&u, 0, PAGE, true);
	all_bytes(u.buf, PAGE, 'j');
	expect_read(&u, PAGE + 4, 4, true);
	all_bytes(u.buf, 4, 'c');
	expect_read(&u, 100, 2 * PAGE - 100, true);
	all_bytes(u.buf, PAGE - 100, 'j');
	all_bytes(u.buf + PAGE - 100, PAGE, 'c');
	all_bytes(u.buf + 2 * PAGE - 100, 100, 0xbb);
	memset(u.buf, '1', 2 * PAGE);
	expect_write(&u, PAGE - 1, 2, true);
	all_bytes(u.page + 9 * PAGE, PAGE - 1, 'j');
	assert_int_equal(u.page[10 * PAGE - 1], '1');
	assert_int_equal(u.page[10 * PAGE], 'k');
	assert_int_equal(u.page[2 * PAGE - 1], 'b');
	assert_int_equal(u.page[2 * PAGE], '1');
	all_bytes(u.page + 2 * PAGE + 1, PAGE - 1, 'c');
	expect_write(&u, 3 * PAGE, PAGE, true);
	all_bytes(u.page + 5 * PAGE, PAGE, '1');
	host_close(&u.b);
}

/* Inline data, an immediate, several pieces of a list. */
static void across_by_other_wqes(void **state)
{
	struct umr_bed u;
	struct wqe w;

	umr_open(&u);
	map(&u, 4, PAGES_OF(3, 8, 4, 0));
	w = wqe_begin(&u.x, WRC_WQE_WRITE, 0, CE);
	wqe_raddr(&w, 5 * PAGE - 3, u.key);
	wqe_inline(&w, "0123456789", 10);
	wqe_end(&w);
	expect_access(&u, true);
	assert_memory_equal(u.page + 4 * PAGE - 3, "012", 3);
	assert_memory_equal(u.page + 8 * PAGE, "3456789i", 8);
	memset(u.buf, '2', PAGE);
	memset(u.buf + PAGE, '3', PAGE);
	w = wqe_begin(&u.x, WRC_WQE_WRITE_IMM, 0, CE);
	wqe_raddr(&w, 6 * PAGE - 10, u.key);
	wqe_data(&w, u.buf, 4);
	wqe_data(&w, u.buf + PAGE, 16);
	wqe_imm(&w, 99);
	wqe_end(&w);
	go(&u, &u.x);
	expect_empty(&u.b, u.x.scqn);		/* no receive entry yet */
	all_bytes(u.page + 9 * PAGE - 10, 10, 'i');
	post_recv(&u.y, NULL, 0);
	host_wait(&u.b, 1000000);
	expect_cqe(&u.b, u.x.scqn, WRC_CQE_REQ, u.x.pi - 1);
	expect_cqe(&u.b, u.y.rcqn, WRC_CQE_RESP_WR_IMM, 0);
	assert_memory_equal(u.page + 9 * PAGE - 10, "2222333333", 10);
	assert_memory_equal(u.page + 4 * PAGE, "3333333333e", 11);
	host_close(&u.b);
}

static void nothing_there(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	expect_read(&u, 0, 1, false);
	expect_write(&u, 0, 1, false);
	map(&u, 0, PAGES_OF(1, -1, 2, -1));
	expect_read(&u, PAGE, 8, false);
	expect_write(&u, PAGE, 8, false);
	expect_read(&u, 2 * PAGE, 8, true);
	host_close(&u.b);
}

/* Nothing moves of what is not there as a whole. */
static void not_a_byte(void **state)
{
	struct umr_bed u;

	umr_open(&u);
	map(&u, 0, PAGES_OF(1, -1, 2, -1));
	map(&u, 4, PAGES_OF(3, 4, 5, 6));
	expect_write(&u, PAGE - 8, 9, false);
	expect_write(&u, PAGE - 8, PAGE + 16, false);
	expect_write(&u, 2 * PAGE, 3 * PAGE, false);
	expect_write(&u, 7 * PAGE, PAGE + 1, false);	/* the key's end */
	expect_write(&u, 8 * PAGE, 1, false);
	expect_write(&u, ~0ull, 1, false);
	expect_write(&u, ~0ull - 7, 16, false);
	expect_read(&u, PAGE - 8, 9, false);
	expect_read(&u, 7 * PAGE, PAGE + 1, false);
	pages_untouched(&u);
	all_bytes(u.buf, PAGES * PAGE, 0xbb);
	expect_write(&u, 4 * PAGE, 4 * PAGE, true);
	all_bytes(u.page + 3 * PAGE, 4 * PAGE, 0xbb);
	host_close(&u.b);
}

/* An entry that names this, for one access of 8 bytes at 16. */
static void leads_to(struct umr_bed *u, uint32_t key, uint64_t addr,
		     bool readable, bool writable)
{
	struct wrc_ksm e[4] = { ksm_entry(key, addr) };

	put_umr(&u->z, 0, u->key, 0, e, 4);
	go(u, &u->z);
	assert_int_equal(state_of(&u->z), SNIC_QP_RTS);
	expect_read(u, 16, 8, readable);
	expect_write(u, 16, 8, writable);
}

/* What an entry's key has to be, to have and not to have. */
static void inner_keys(void **state)
{
	struct umr_bed u;
	uint32_t pdn, key, other;

	umr_open(&u);
	assert_int_equal(snic_pd_alloc(u.b.nic, &pdn), 0);
	/* local rights alone; no need to write for who reads */
	assert_int_equal(snic_mkey_reg(u.b.nic, u.b.pdn, u.page, PAGE, 0,
				       SNIC_LOCAL_WRITE, &key), 0);
	leads_to(&u, key, 0, true, true);
	leads_to(&u, key, PAGE - 24, true, true);
	leads_to(&u, key, PAGE - 23, false, false);	/* a byte too far */
	leads_to(&u, key, ~0ull - 15, false, false);	/* comes around */
	leads_to(&u, key, ~0ull, false, false);
	assert_int_equal(snic_mkey_dereg(u.b.nic, key), 0);
	leads_to(&u, key, 0, false, false);
	assert_int_equal(snic_mkey_reg(u.b.nic, u.b.pdn, u.page, PAGE, 0, 0,
				       &key), 0);
	leads_to(&u, key, 0, true, false);
	/* another PD's */
	assert_int_equal(snic_mkey_reg(u.b.nic, pdn, u.page, PAGE, 0, ALL_RIGHTS,
				       &key), 0);
	leads_to(&u, key, 0, false, false);
	/* indirect ones: itself, and one that leads somewhere */
	leads_to(&u, u.key, 0, false, false);
	other = u.key;
	assert_int_equal(snic_mkey_indirect(u.b.nic, u.b.pdn, ENTRIES, PEER, 0,
					    &u.key), 0);
	map(&u, 0, PAGES_OF(1, 2, 3, 4));
	expect_read(&u, 16, 8, true);
	key = u.key;
	u.key = other;
	leads_to(&u, key, 0, false, false);
	leads_to(&u, 0, 0, false, false);
	host_close(&u.b);
}

/* What peers may is the indirect key's; atomics it never does. */
static void outer_rights(void **state)
{
	static const unsigned int access[] = {
		0, SNIC_REMOTE_READ, SNIC_REMOTE_WRITE, PEER,
	};
	struct umr_bed u;
	struct wqe w;

	for (unsigned int i = 0; i < 4; i++) {
		umr_open(&u);
		assert_int_equal(snic_mkey_indirect(u.b.nic, u.b.pdn, ENTRIES,
						    access[i], 0, &u.key), 0);
		map(&u, 0, PAGES_OF(1, 2, 3, 4));
		expect_read(&u, 8, 8, access[i] & SNIC_REMOTE_READ);
		expect_read(&u, PAGE - 8, 16, access[i] & SNIC_REMOTE_READ);
		expect_write(&u, 8, 8, access[i] & SNIC_REMOTE_WRITE);
		expect_write(&u, PAGE - 8, 16, access[i] & SNIC_REMOTE_WRITE);
		w = wqe_begin(&u.x, WRC_WQE_FA, 0, CE);
		wqe_raddr(&w, 8, u.key);
		wqe_u64x2(&w, 1, 0);
		wqe_data(&w, u.buf, 8);
		wqe_end(&w);
		expect_access(&u, false);
		assert_int_equal(snic_mkey_dereg(u.b.nic, u.key), 0);
		expect_read(&u, 8, 8, false);
		host_close(&u.b);
	}
}

static void other_pd(void **state)
{
	struct umr_bed u;
	uint32_t pdn;

	umr_open(&u);
	assert_int_equal(snic_pd_alloc(u.b.nic, &pdn), 0);
	assert_int_equal(snic_mkey_indirect(u.b.nic, pdn, ENTRIES, PEER, 0,
					    &u.key), 0);
	expect_read(&u, 8, 8, false);
	expect_write(&u, 8, 8, false);
	host_close(&u.b);
}

/* As an lkey: of each kind of list, and of a receive entry. */
static void no_lkey(void **state)
{
	static const uint8_t opcodes[] = {
		WRC_WQE_WRITE, WRC_WQE_READ, WRC_WQE_SEND,
	};
	struct umr_bed u;
	struct wqe w;

	for (unsigned int i = 0; i < 6; i++) {
		umr_open(&u);
		map(&u, 0, PAGES_OF(1, 2, 3, 4));
		w = wqe_begin(&u.x, opcodes[i / 2], 0, 0);
		if (opcodes[i / 2] != WRC_WQE_SEND)
			wqe_raddr(&w, host_iova(&u.b, u.page), u.b.key);
		if (i % 2)
			wqe_data(&w, u.buf, 8);
		wqe_u64x2(&w, 8ull << 32 | u.key, 8);
		wqe_end(&w);
		go(&u, &u.x);
		expect_error(&u.b, u.x.scqn, WRC_CQE_REQ_ERR,
			     WRC_SYND_LOCAL_PROT, 0);
		pages_untouched(&u);
		host_close(&u.b);
	}
}

static void no_lkey_of_a_receive_entry(void **state)
{
	struct wrc_wqe_data *d;
	struct umr_bed u;
	struct wqe w;

	umr_open(&u);
	map(&u, 0, PAGES_OF(1, 2, 3, 4));
	post_recv(&u.y, u.buf, 8);
	d = (struct wrc_wqe_data *)u.y.rq;
	d->lkey = htobe32(u.key);
	d->addr = htobe64(8);
	w = wqe_begin(&u.x, WRC_WQE_SEND, 0, 0);
	wqe_data(&w, u.buf + 64, 8);
	wqe_end(&w);
	go(&u, &u.x);
	expect_error(&u.b, u.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_REMOTE_OP, 0);
	expect_error(&u.b, u.y.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_LOCAL_PROT, 0);
	pages_untouched(&u);
	host_close(&u.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_piece_and_across),
		cmocka_unit_test(across_by_other_wqes),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(not_a_byte),
		cmocka_unit_test(inner_keys),
		cmocka_unit_test(outer_rights),
		cmocka_unit_test(other_pd),
		cmocka_unit_test(no_lkey),
		cmocka_unit_test(no_lkey_of_a_receive_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
