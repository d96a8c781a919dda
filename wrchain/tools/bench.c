// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `wrc bench` measures; see bench.h. */
#include <stdlib.h>
#include <time.h>
#include "bench.h"

#define PAGE ODRP_WIRE_PAGE_SIZE
#define LOG_CQ 12

static double clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *subject_alloc(struct bench_subject *s, unsigned int n, size_t len)
{
	len = (len + PAGE - 1) / PAGE * PAGE;
	s->blocks[n] = aligned_alloc(PAGE, len);
	if (s->blocks[n])
		memset(s->blocks[n], 0, len);
	return s->blocks[n];
}

/* ---- opening ---------------------------------------------------------------- */

static int subject_make_qp(struct bench_subject *s, struct snic *nic,
			   uint32_t pdn,
			   unsigned int access, uint32_t *ret_qpn)
{
	struct snic_cq_attr cq = {
		.buf = subject_alloc(s, 0, sizeof(struct wrc_cqe) << LOG_CQ),
		.log_size = LOG_CQ,
	};
	struct snic_qp_attr qp = {
		.pdn = pdn, .access = access,
		.sq = subject_alloc(s, 1,
				    (size_t)s->rig.cfg.depth * WRC_WQE_BB),
		.dbr = subject_alloc(s, 2, sizeof(struct wrc_dbr)),
	};
	int err;

	if (!cq.buf || !qp.sq || !qp.dbr)
		return -ENOMEM;
	while (1u << qp.log_sq < s->rig.cfg.depth)
		qp.log_sq++;
	s->sq = qp.sq;
	err = snic_cq_create(nic, &cq, &s->cqn);
	qp.scqn = qp.rcqn = s->cqn;
	return err ? err : snic_qp_create(nic, &qp, ret_qpn);
}

/* The node's end of a one-sided connection does nothing by itself. */
static int subject_open_target(struct bench_subject *s, uint32_t *ret_qpn)
{
	struct wrc_rig *rig = &s->rig;
	struct snic_qp_attr qp = {
		.scqn = rig->bind.loop_scqn, .rcqn = rig->bind.loop_scqn,
		.sq = rig->arena,
		.dbr = (struct wrc_dbr *)(rig->arena + rig->geom.loop_dbr),
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE,
	};
	int err = 0;

	if (s->kind == BENCH_KEYED) {
		qp.pdn = rig->client_pdn;
		return snic_qp_create(rig->nic, &qp, ret_qpn);
	}
	err = snic_pd_alloc(rig->nic, &qp.pdn);
	if (!err)
		err = snic_mkey_reg(rig->nic, qp.pdn, rig->pool,
				    rig->bind.pool_len, WRC_POOL_IOVA,
				    SNIC_LOCAL_WRITE | qp.access, &s->key);
	return err ? err : snic_qp_create(rig->nic, &qp, ret_qpn);
}

static int subject_open_raw(struct bench_subject *s)
{
	struct wrc_rig *rig = &s->rig;
	size_t len = (size_t)rig->cfg.depth * PAGE;
	uint32_t pdn, target;
	int err;

	s->src = subject_alloc(s, 3, len);
	if (!s->src)
		return -ENOMEM;
	err = subject_open_target(s, &target);
	if (!err)
		err = snic_pd_alloc(rig->peer_nic, &pdn);
	if (!err)
		err = snic_mkey_reg(rig->peer_nic, pdn, s->src, len,
				    (uintptr_t)s->src, SNIC_LOCAL_WRITE,
				    &s->src_key);
	if (!err)
		err = subject_make_qp(s, rig->peer_nic, pdn, 0, &s->qpn);
	return err ? err : wrc_rig_join(rig, target, s->qpn);
}

static int subject_open_loop(struct bench_subject *s)
{
	struct wrc_rig *rig = &s->rig;
	struct snic_qp_conn conn = { .loopback = true, .timeout = 14 };
	size_t len = (size_t)rig->cfg.depth * PAGE;
	uint32_t pdn;
	int err;

	s->src = subject_alloc(s, 3, len);
	if (!s->src)
		return -ENOMEM;
	err = snic_pd_alloc(rig->nic, &pdn);
	if (!err)
		err = snic_mkey_reg(rig->nic, pdn, rig->pool,
				    rig->bind.pool_len, WRC_POOL_IOVA,
				    SNIC_LOCAL_WRITE | SNIC_REMOTE_WRITE,
				    &s->key);
	if (!err)
		err = snic_mkey_reg(rig->nic, pdn, s->src, len,
				    (uintptr_t)s->src, 0, &s->src_key);
	if (!err)
		err = subject_make_qp(s, rig->nic, pdn, SNIC_REMOTE_WRITE,
				      &s->qpn);
	conn.dest_qpn = s->qpn;
	return err ? err : snic_qp_connect(rig->nic, s->qpn, &conn);
}

static int subject_open_memcpy(struct bench_subject *s)
{
	s->src = subject_alloc(s, 3, (size_t)s->rig.cfg.depth * PAGE);
	return s->src ? 0 : -ENOMEM;
}

/* A page's first word tells which it is. */
static int subject_prepare(struct bench_subject *s)
{
	struct wrc_rig *rig = &s->rig;
	int err = 0;

	for (uint32_t i = 0; i < rig->cfg.nr_pages; i++)
		*(uint64_t *)(rig->pool + (size_t)i * PAGE) =
			WRC_POOL_IOVA + (uint64_t)i * PAGE;
	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE)
		return 0;
	for (uint32_t i = 0; !err && i < rig->cfg.nr_slots; i++) {
		wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
		if (wrc_is_keyed(&rig->prog))
			err = wrc_rig_translate(rig, i, wrc_rig_entry(rig, i));
	}
	return err;
}

int bench_open(struct bench_subject *s, const struct wrc_rig_config *cfg,
	       char *why)
{
	int err = wrc_rig_open(cfg, &s->rig, why);

	if (err)
		return err;
	switch (s->kind) {
	case BENCH_CHAIN:
		break;
	case BENCH_RAW:
	case BENCH_KEYED:
		err = subject_open_raw(s);
		break;
	case BENCH_LOOP:
		err = subject_open_loop(s);
		break;
	case BENCH_MEMCPY:
		err = subject_open_memcpy(s);
		break;
	}
	if (!err)
		err = subject_prepare(s);
	if (err)
		bench_close(s);
	return err;
}

void bench_close(struct bench_subject *s)
{
	wrc_rig_close(&s->rig);
	for (unsigned int i = 0; i < 4; i++)
		free(s->blocks[i]);
	memset(s->blocks, 0, sizeof(s->blocks));
}

/* ---- chains ------------------------------------------------------------------- */

static int subject_send_chain(struct bench_subject *s)
{
	struct wrc_rig *rig = &s->rig;
	uint64_t slot = s->sent % rig->cfg.nr_slots;
	void *page = wrc_rig_has_page(rig) ? wrc_rig_out_page(rig) : NULL;
	uint64_t stamp = s->sent;

	/* It follows the words of the request, at any address. */
	if (page)
		memcpy(page, &stamp, sizeof(stamp));
	return wrc_rig_send(rig, slot * sizeof(uint64_t), page);
}

/* Looks at the effect of the oldest request, and undoes it. */
static int subject_finish_chain(struct bench_subject *s)
{
	struct wrc_rig *rig = &s->rig;
	uint64_t slot = s->done % rig->cfg.nr_slots;
	uint64_t page = wrc_rig_entry(rig, slot);
	uint64_t *at;
	uint32_t r;
	int err = wrc_rig_poll(rig, &r);

	if (err)
		return err;
	if (r != s->done)
		return -EIO;
	if (rig->cfg.chain == ODRP_WIRE_INVALIDATE) {
		wrc_rig_set_entry(rig, slot, wrc_rig_pop(rig));
		return page ? -EIO : 0;
	}
	if (page - WRC_POOL_IOVA >= rig->bind.pool_len)
		return -EIO;
	at = (uint64_t *)wrc_rig_memory(rig, page);
	if (rig->cfg.chain == ODRP_WIRE_LOAD)
		return *(uint64_t *)wrc_rig_page(rig, r) == page ? 0 : -EIO;
	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE) {
		wrc_rig_set_entry(rig, slot, 0);
		wrc_rig_push(rig, page);
	}
	return *at == s->done ? 0 : -EIO;
}

/* ---- one-sided ------------------------------------------------------------------ */

static uint64_t raw_page(const struct bench_subject *s, uint32_t n)
{
	if (s->kind == BENCH_KEYED)
		return wrc_rig_entry(&s->rig, n % s->rig.cfg.nr_slots);
	return WRC_POOL_IOVA + (uint64_t)(n % s->rig.cfg.nr_slots) * PAGE;
}

static uint64_t raw_addr(const struct bench_subject *s, uint32_t n)
{
	if (s->kind == BENCH_KEYED)
		return wrc_key_addr(n % s->rig.cfg.nr_slots);
	return raw_page(s, n);
}

static uint32_t raw_key(const struct bench_subject *s)
{
	if (s->kind == BENCH_KEYED)	/* its slots are all of the first */
		return s->rig.keys.key[0];
	return s->key;
}

static int raw_encode(struct bench_subject *s, uint64_t raddr, bool signaled)
{
	uint32_t i = s->sent & (s->rig.cfg.depth - 1);
	struct wrc_wr wr = {
		.op = s->op, .shape = s->op, .index = s->sent, .qpn = s->qpn,
		.flags = signaled ? WRC_WQE_CE_ALWAYS : 0,
		.raddr = raddr, .rkey = raw_key(s), .nr_sge = 1,
		.sge[0] = { PAGE, s->src_key,
			    (uintptr_t)s->src + (uint64_t)i * PAGE },
	};
	int n = wrc_encode(&wr, s->sq + i * WRC_WQE_BB, WRC_WQE_BB);

	return n < 0 ? n : 0;
}

static int raw_send(struct bench_subject *s)
{
	uint64_t raddr = raw_addr(s, s->sent);
	uint64_t *src = (uint64_t *)(s->src + (size_t)(s->sent &
				     (s->rig.cfg.depth - 1)) * PAGE);
	int err = raw_encode(s, raddr, true);

	if (s->op == WRC_WQE_WRITE)
		*src = s->sent;
	return err ? err : snic_qp_doorbell(s->rig.peer_nic, s->qpn,
					    s->sent + 1);
}

static int raw_finish(struct bench_subject *s)
{
	uint64_t page = raw_page(s, s->done);
	uint64_t *here = (uint64_t *)(s->src + (size_t)(s->done &
				      (s->rig.cfg.depth - 1)) * PAGE);
	struct wrc_cqe cqe;
	int err = snic_cq_poll(s->rig.peer_nic, s->cqn, &cqe);

	if (err)
		return err;
	if (cqe.op_own >> 4 != WRC_CQE_REQ)
		return -EIO;
	if (s->op == WRC_WQE_READ)
		return *here == page ? 0 : -EIO;
	return *(uint64_t *)wrc_rig_memory(&s->rig, page) == s->done ? 0 : -EIO;
}

/* ---- across the wire -------------------------------------------------------------- */

static int subject_fill(struct bench_subject *s, uint32_t end)
{
	int err = 0;

	while (!err && s->sent != end &&
	       s->sent - s->done < s->rig.cfg.depth - 1) {
		err = s->kind == BENCH_CHAIN ? subject_send_chain(s) :
					     raw_send(s);
		if (!err)
			s->sent++;
	}
	return err;
}

static int subject_drain(struct bench_subject *s)
{
	for (;;) {
		int err = s->kind == BENCH_CHAIN ? subject_finish_chain(s) :
						   raw_finish(s);

		if (err)
			return err == -EAGAIN ? 0 : err;
		s->done++;
	}
}

static int subject_run_wire(struct bench_subject *s, uint32_t count,
			    struct bench_time *t)
{
	uint32_t end = s->sent + count;
	uint64_t next;
	int err = 0;

	while (!err && s->done != end) {
		double from, to;

		err = subject_fill(s, end);
		from = clock_now(CLOCK_MONOTONIC);
		if (!err)
			err = snic_step(s->rig.peer_nic, from, &next);
		from = clock_now(CLOCK_MONOTONIC);
		if (!err)
			err = snic_step(s->rig.nic, from, &next);
		to = clock_now(CLOCK_MONOTONIC);
		t->node += to - from;
		if (!err)
			err = subject_drain(s);
	}
	return err;
}

/* ---- inside the node --------------------------------------------------------------- */

static int subject_run_loop(struct bench_subject *s, uint32_t count,
			    struct bench_time *t)
{
	uint32_t end = s->sent + count;
	struct wrc_cqe cqe;
	uint64_t next;
	int err = 0;

	while (!err && s->sent != end) {
		uint32_t n = s->rig.cfg.depth;
		double from;

		if (n > end - s->sent)
			n = end - s->sent;
		for (; !err && n; n--, s->sent++)
			err = raw_encode(s, WRC_POOL_IOVA + (uint64_t)
					 (s->sent % s->span) * PAGE, n == 1);
		from = clock_now(CLOCK_MONOTONIC);
		if (!err)
			err = snic_qp_doorbell(s->rig.nic, s->qpn, s->sent);
		if (!err)
			err = snic_step(s->rig.nic, 0, &next);
		t->node += clock_now(CLOCK_MONOTONIC) - from;
		if (!err)
			err = snic_cq_poll(s->rig.nic, s->cqn, &cqe);
		if (!err && cqe.op_own >> 4 != WRC_CQE_REQ)
			err = -EIO;
	}
	return err;
}

static int subject_run_memcpy(struct bench_subject *s, uint32_t count)
{
	for (; count; count--, s->sent++) {
		uint32_t i = s->sent & (s->rig.cfg.depth - 1);

		memcpy(s->rig.pool + (size_t)(s->sent % s->span) * PAGE,
		       s->src + (size_t)i * PAGE, PAGE);
		/* Each one for itself. */
		__asm__ volatile("" ::: "memory");
	}
	return 0;
}

int bench_run(struct bench_subject *s, uint32_t count,
	      struct bench_time *ret_time)
{
	struct bench_time *t = ret_time;
	struct snic_stats before, after;
	int err;

	memset(t, 0, sizeof(*t));
	snic_get_stats(s->rig.nic, &before);
	t->cpu = -clock_now(CLOCK_THREAD_CPUTIME_ID);
	t->wall = -clock_now(CLOCK_MONOTONIC);
	switch (s->kind) {
	case BENCH_LOOP:
		err = subject_run_loop(s, count, t);
		break;
	case BENCH_MEMCPY:
		err = subject_run_memcpy(s, count);
		break;
	default:
		err = subject_run_wire(s, count, t);
	}
	t->wall += clock_now(CLOCK_MONOTONIC);
	t->cpu += clock_now(CLOCK_THREAD_CPUTIME_ID);
	snic_get_stats(s->rig.nic, &after);
	t->wqes = after.wqes - before.wqes;
	if (s->kind == BENCH_MEMCPY)
		t->node = t->wall;
	return err;
}
