// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pages and an indirect key that leads to them: see umr.h. */
#include "umr.h"

void umr_open_cfg(struct umr_bed *u, const struct snic_config *cfg)
{
	struct end_opts o = { .log_sq = 8, .master = true, .slave = true };

	host_open(&u->b, cfg);
	u->b.used = PAGE;
	u->page = host_alloc(&u->b, PAGES * PAGE);
	u->buf = host_alloc(&u->b, PAGES * PAGE);
	end_open(&u->b, &o, &u->x);
	end_open(&u->b, &o, &u->y);
	end_open(&u->b, &o, &u->z);
	end_join(&u->x, &u->y);
	end_join(&u->z, &u->z);
	assert_int_equal(snic_mkey_indirect(u->b.nic, u->b.pdn, ENTRIES, PEER,
					    VARIANT, &u->key), 0);
	memset(u->buf, 0xbb, PAGES * PAGE);
	for (unsigned int i = 0; i < PAGES; i++)
		memset(u->page + i * PAGE, 'a' + i, PAGE);
}

void umr_open(struct umr_bed *u)
{
	umr_open_cfg(u, NULL);
}

void go(struct umr_bed *u, struct end *e)
{
	ring(e);
	host_run(&u->b);
}

struct wrc_ksm to_page(struct umr_bed *u, unsigned int i)
{
	return ksm_entry(u->b.key, host_iova(&u->b, u->page + i * PAGE));
}

void put_map(struct umr_bed *u, struct end *e, uint8_t flags, uint64_t first,
	     const int *pages)
{
	struct wrc_ksm entry[WRC_KSM_GROUP] = { { 0 } };

	for (unsigned int i = 0; i < WRC_KSM_GROUP; i++)
		if (pages[i] >= 0)
			entry[i] = to_page(u, pages[i]);
	put_umr(e, flags, u->key, first, entry, WRC_KSM_GROUP);
}

void map(struct umr_bed *u, uint64_t first, const int *pages)
{
	put_map(u, &u->z, 0, first, pages);
	go(u, &u->z);
	assert_int_equal(state_of(&u->z), SNIC_QP_RTS);
}

void put_access(struct umr_bed *u, uint8_t opcode, uint64_t addr, uint32_t len)
{
	struct wqe w = wqe_begin(&u->x, opcode, 0, CE);

	wqe_raddr(&w, addr, u->key);
	wqe_data(&w, u->buf, len);
	wqe_end(&w);
}

void expect_access(struct umr_bed *u, bool allowed)
{
	struct snic_qp_info info;
	struct wrc_cqe cqe;

	go(u, &u->x);
	assert_int_equal(snic_cq_poll(u->b.nic, u->x.scqn, &cqe), 0);
	expect_empty(&u->b, u->x.scqn);
	if (allowed) {
		assert_int_equal(cqe.op_own >> 4, WRC_CQE_REQ);
		return;
	}
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_REQ_ERR);
	assert_int_equal(snic_qp_query(u->b.nic, u->x.qpn, &info), 0);
	assert_int_equal(info.syndrome, WRC_SYND_REMOTE_ACCESS);
	assert_int_equal(snic_qp_query(u->b.nic, u->y.qpn, &info), 0);
	assert_int_equal(info.syndrome, WRC_SYND_LOCAL_ACCESS);
	/* For the next one. */
	assert_int_equal(snic_qp_reset(u->b.nic, u->x.qpn), 0);
	assert_int_equal(snic_qp_reset(u->b.nic, u->y.qpn), 0);
	u->x.pi = 0;
	end_join(&u->x, &u->y);
}

void expect_read(struct umr_bed *u, uint64_t addr, uint32_t len, bool allowed)
{
	put_access(u, WRC_WQE_READ, addr, len);
	expect_access(u, allowed);
}

void expect_write(struct umr_bed *u, uint64_t addr, uint32_t len, bool allowed)
{
	put_access(u, WRC_WQE_WRITE, addr, len);
	expect_access(u, allowed);
}

void all_bytes(const uint8_t *p, uint32_t len, uint8_t is)
{
	while (len--)
		assert_int_equal(*p++, is);
}

void pages_untouched(struct umr_bed *u)
{
	for (unsigned int i = 0; i < PAGES; i++)
		all_bytes(u->page + i * PAGE, PAGE, 'a' + i);
}

void entry_is(struct umr_bed *u, unsigned int i, struct wrc_ksm want)
{
	struct wrc_ksm got;

	assert_int_equal(snic_mkey_entry(u->b.nic, u->key, i, &got), 0);
	assert_memory_equal(&got, &want, sizeof(got));
}

void entries_zero(struct umr_bed *u)
{
	for (unsigned int i = 0; i < ENTRIES; i++)
		entry_is(u, i, (struct wrc_ksm){ 0 });
}
