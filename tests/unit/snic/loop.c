// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A bed of loopback queue pairs for the engine's tests: see loop.h. */
#include <stdlib.h>
#include "loop.h"

const struct snic_config bed_config = {
	.mac = { 2, 0, 0, 0, 0, 1 }, .prefix_len = 24, .mtu = 1500, .seed = 7,
};

void bed_open(struct bed *b, const struct snic_config *cfg)
{
	struct snic_config c = cfg ? *cfg : bed_config;

	memset(b, 0, sizeof(*b));
	if (!c.ip)
		if (!c.ip)
		c.ip = htobe32(0x0a000001);
	assert_int_equal(snic_new(&c, &b->nic), 0);
	b->arena = aligned_alloc(4096, ARENA_LEN);
	assert_non_null(b->arena);
	memset(b->arena, 0, ARENA_LEN);
	assert_int_equal(snic_pd_alloc(b->nic, &b->pdn), 0);
	assert_int_equal(snic_mkey_reg(b->nic, b->pdn, b->arena, ARENA_LEN,
				       ARENA_IOVA, ALL_RIGHTS, &b->key), 0);
	b->now = 1000;
}

void bed_close(struct bed *b)
{
	snic_free(b->nic);
	free(b->arena);
}

void *bed_alloc(struct bed *b, size_t len)
{
	void *p = b->arena + b->used;

	b->used += (len + 63) & ~(size_t)63;
	assert_true(b->used <= ARENA_LEN);
	return p;
}

uint64_t bed_iova(const struct bed *b, const void *p)
{
	return ARENA_IOVA + (uint64_t)((const uint8_t *)p - b->arena);
}

void bed_run(struct bed *b)
{
	uint64_t next;

	do
		assert_int_equal(snic_step(b->nic, b->now, &next), 0);
	while (next <= b->now);
}

void bed_wait(struct bed *b, uint64_t ns)
{
	uint64_t end = b->now + ns, next;

	for (;;) {
		assert_int_equal(snic_step(b->nic, b->now, &next), 0);
		if (next > end)
			break;
		if (next > b->now)
			b->now = next;
	}
	b->now = end;
}

static uint32_t new_cq(struct bed *b, const struct end_opts *o)
{
	uint8_t log = o->log_cq ? o->log_cq : 10;
	struct snic_cq_attr attr = {
		.buf = bed_alloc(b, sizeof(struct wrc_cqe) << log),
		.log_size = log, .overrun_ignore = o->oi,
	};
	uint32_t cqn;

	assert_int_equal(snic_cq_create(b->nic, &attr, &cqn), 0);
	return cqn;
}

void end_open(struct bed *b, const struct end_opts *opts, struct end *ret_e)
{
	struct end_opts o = opts ? *opts : (struct end_opts){ 0 };
	struct snic_qp_attr attr;

	*ret_e = (struct end){
		.bed = b, .log_sq = o.log_sq ? o.log_sq : 6,
		.log_rq = 4, .log_rq_stride = 7,
	};
	ret_e->scqn = new_cq(b, &o);
	ret_e->rcqn = new_cq(b, &o);
	ret_e->sq = bed_alloc(b, (size_t)64 << ret_e->log_sq);
	ret_e->rq = bed_alloc(b, (size_t)1 << (ret_e->log_rq +
					       ret_e->log_rq_stride));
	ret_e->dbr = bed_alloc(b, sizeof(struct wrc_dbr));
	attr = (struct snic_qp_attr){
		.pdn = b->pdn, .scqn = ret_e->scqn, .rcqn = ret_e->rcqn,
		.sq = ret_e->sq, .log_sq = ret_e->log_sq,
		.rq = ret_e->rq, .log_rq = ret_e->log_rq,
		.log_rq_stride = ret_e->log_rq_stride, .dbr = ret_e->dbr,
		.user_index = 0x123, .cd_master = o.master,
		.cd_slave_send = o.slave,
		.access = ALL_RIGHTS & ~SNIC_LOCAL_WRITE & ~o.no_access,
	};
	assert_int_equal(snic_qp_create(b->nic, &attr, &ret_e->qpn), 0);
}

void end_join(struct end *a, struct end *b)
{
	struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = b->qpn, .rnr_retry = 7,
		.min_rnr_timer = 1, .retry_cnt = 2, .timeout = 4,
	};

	assert_int_equal(snic_qp_connect(a->bed->nic, a->qpn, &conn), 0);
	if (a == b)
		return;
	conn.dest_qpn = a->qpn;
	assert_int_equal(snic_qp_connect(b->bed->nic, b->qpn, &conn), 0);
}

/* ---- WQEs --------------------------------------------------------------- */

static uint8_t *at(struct end *e, uint16_t bb, unsigned int off)
{
	size_t size = (size_t)64 << e->log_sq;

	return e->sq + (((size_t)bb * 64 + off) & (size - 1));
}

struct wqe wqe_begin(struct end *e, uint8_t opcode, uint8_t opmod,
		     uint8_t flags)
{
	struct wqe w = { .e = e, .index = e->pi, .ds = 1 };
	struct wrc_wqe_ctrl c = {
		.opmod = opmod, .opcode = opcode, .fm_ce_se = flags,
		.index = { e->pi >> 8, e->pi & 0xff },
		.qpn = { e->qpn >> 16, e->qpn >> 8, e->qpn },
	};

	memcpy(at(e, w.index, 0), &c, sizeof(c));
	return w;
}

void wqe_seg(struct wqe *w, const void *seg16)
{
	memcpy(at(w->e, w->index, w->ds++ * 16), seg16, 16);
}

void wqe_u64x2(struct wqe *w, uint64_t a, uint64_t b)
{
	uint64_t v[2] = { htobe64(a), htobe64(b) };

	wqe_seg(w, v);
}

void wqe_raddr(struct wqe *w, uint64_t addr, uint32_t rkey)
{
	wqe_u64x2(w, addr, (uint64_t)rkey << 32);
}

void wqe_data(struct wqe *w, const void *p, uint32_t len)
{
	wqe_u64x2(w, (uint64_t)len << 32 | w->e->bed->key,
		  bed_iova(w->e->bed, p));
}

void wqe_inline(struct wqe *w, const void *data, uint32_t len)
{
	uint8_t buf[1024] = { 0 };
	uint32_t head = htobe32(len | WRC_WQE_INLINE), i;

	memcpy(buf, &head, 4);
	memcpy(buf + 4, data, len);
	for (i = 0; i < len + 4; i += 16)
		wqe_seg(w, buf + i);
}

void wqe_imm(struct wqe *w, uint32_t imm)
{
	uint32_t v = htobe32(imm);

	memcpy(at(w->e, w->index, 12), &v, 4);
}

uint8_t *wqe_end(struct wqe *w)
{
	uint8_t *p = at(w->e, w->index, 0);

	p[7] = w->ds;
	w->e->pi += (w->ds + 3) / 4;
	return p;
}

uint8_t *put_nop(struct end *e, uint8_t flags)
{
	struct wqe w = wqe_begin(e, WRC_WQE_NOP, 0, flags);

	return wqe_end(&w);
}

uint8_t *put_write(struct end *e, uint8_t flags, const void *src, uint32_t len,
		   const void *dst)
{
	struct wqe w = wqe_begin(e, WRC_WQE_WRITE, 0, flags);

	wqe_raddr(&w, bed_iova(e->bed, dst), e->bed->key);
	wqe_data(&w, src, len);
	return wqe_end(&w);
}

uint8_t *put_read(struct end *e, uint8_t flags, void *dst, uint32_t len,
		  const void *src)
{
	struct wqe w = wqe_begin(e, WRC_WQE_READ, 0, flags);

	wqe_raddr(&w, bed_iova(e->bed, src), e->bed->key);
	wqe_data(&w, dst, len);
	return wqe_end(&w);
}

static uint8_t *put_wait_en(struct end *e, uint8_t opcode, uint8_t flags,
			    uint32_t obj, uint32_t index)
{
	struct wqe w = wqe_begin(e, opcode, 0, flags);

	wqe_u64x2(&w, 0, (uint64_t)index << 32 | obj);
	return wqe_end(&w);
}

uint8_t *put_wait(struct end *e, uint8_t flags, uint32_t cqn, uint32_t index)
{
	return put_wait_en(e, WRC_WQE_WAIT, flags, cqn, index);
}

uint8_t *put_enable(struct end *e, uint8_t flags, uint32_t qpn, uint16_t index)
{
	return put_wait_en(e, WRC_WQE_SEND_EN, flags, qpn, index);
}

/* Big endian, a lap of 256 is 1 in the index's second lowest byte, whose carry
 * is lost, as is that of 16-bit numbers. */
void put_endless(struct end *e)
{
	uint8_t *scratch = bed_alloc(e->bed, 8);
	struct wqe w = wqe_begin(e, WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8,
				 0);

	assert_int_equal(e->log_sq, 8);
	wqe_raddr(&w, bed_iova(e->bed, at(e, 1, 24)), e->bed->key);
	wqe_u64x2(&w, 1ull << 16, 1ull << 23);
	wqe_data(&w, scratch, 8);
	wqe_end(&w);
	put_enable(e, 0, e->qpn, 256);
	while (e->pi < 256)
		put_nop(e, 0);
}

struct wrc_ksm ksm_entry(uint32_t key, uint64_t addr)
{
	return (struct wrc_ksm){ .key = htobe32(key), .addr = htobe64(addr) };
}

uint8_t *put_umr(struct end *e, uint8_t flags, uint32_t key, uint64_t first,
		 const struct wrc_ksm *entries, unsigned int nr)
{
	struct wqe w = wqe_begin(e, WRC_WQE_UMR, 0, flags);
	struct wrc_wqe_umr u = {
		.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET,
		.octowords = htobe16(nr),
		.offset_low = htobe16(first & 0xffff),
		.offset_high = htobe32(first >> 16),
	};
	unsigned int i;

	wqe_imm(&w, key);
	for (i = 0; i < sizeof(u); i += 16)
		wqe_seg(&w, (uint8_t *)&u + i);
	for (i = 0; i < sizeof(struct wrc_wqe_mkc); i += 16)
		wqe_u64x2(&w, 0, 0);
	for (i = 0; i < nr; i++)
		wqe_seg(&w, &entries[i]);
	return wqe_end(&w);
}

void ring(struct end *e)
{
	e->dbr->snd = htobe32(e->pi);
	assert_int_equal(snic_qp_doorbell(e->bed->nic, e->qpn, e->pi), 0);
}

void post_recv(struct end *e, void *p, uint32_t len)
{
	uint32_t slot = e->posted++ & ((1u << e->log_rq) - 1);
	struct wrc_wqe_data *d = (struct wrc_wqe_data *)
		(e->rq + ((size_t)slot << e->log_rq_stride));

	memset(d, 0, (size_t)1 << e->log_rq_stride);
	if (len) {
		d->byte_count = htobe32(len);
		d->lkey = htobe32(e->bed->key);
		d->addr = htobe64(bed_iova(e->bed, p));
		d++;
	}
	d->lkey = htobe32(WRC_WQE_END_LKEY);
	e->dbr->rcv = htobe32(e->posted);
}

/* ---- what came of it ------------------------------------------------------ */

enum snic_qp_state state_of(struct end *e)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(e->bed->nic, e->qpn, &info), 0);
	return info.state;
}

uint32_t cq_count(struct bed *b, uint32_t cqn)
{
	uint32_t n;

	assert_int_equal(snic_cq_count(b->nic, cqn, &n), 0);
	return n;
}

void expect_cqe(struct bed *b, uint32_t cqn, uint8_t opcode, uint16_t counter)
{
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(b->nic, cqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, opcode);
	assert_int_equal(be16toh(cqe.wqe_counter), counter);
}

void expect_error(struct bed *b, uint32_t cqn, uint8_t opcode,
		  uint8_t syndrome, uint16_t counter)
{
	union {
		struct wrc_cqe cqe;
		struct wrc_cqe_err err;
	} u;

	assert_int_equal(snic_cq_poll(b->nic, cqn, &u.cqe), 0);
	assert_int_equal(u.cqe.op_own >> 4, opcode);
	assert_int_equal(u.err.syndrome, syndrome);
	assert_int_equal(be16toh(u.cqe.wqe_counter), counter);
}

void expect_empty(struct bed *b, uint32_t cqn)
{
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(b->nic, cqn, &cqe), -EAGAIN);
}
