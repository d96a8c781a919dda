// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs and WQEs written by hand: see end.h. */
#include "end.h"

static uint32_t new_cq(struct host *b, const struct end_opts *o)
{
	uint8_t log = o->log_cq ? o->log_cq : 10;
	struct snic_cq_attr attr = {
		.buf = host_alloc(b, sizeof(struct wrc_cqe) << log),
		.log_size = log, .overrun_ignore = o->oi,
	};
	uint32_t cqn;

	assert_int_equal(snic_cq_create(b->nic, &attr, &cqn), 0);
	return cqn;
}

void end_open(struct host *b, const struct end_opts *opts, struct end *ret_e)
{
	struct end_opts o = opts ? *opts : (struct end_opts){ 0 };
	struct snic_qp_attr attr;

	*ret_e = (struct end){
		.host = b, .log_sq = o.log_sq ? o.log_sq : 6,
		.log_rq = 4, .log_rq_stride = 7,
	};
	ret_e->scqn = new_cq(b, &o);
	ret_e->rcqn = new_cq(b, &o);
	ret_e->sq = host_alloc(b, (size_t)64 << ret_e->log_sq);
	ret_e->rq = host_alloc(b, (size_t)1 << (ret_e->log_rq +
						ret_e->log_rq_stride));
	ret_e->dbr = host_alloc(b, sizeof(struct wrc_dbr));
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

	assert_int_equal(snic_qp_connect(a->host->nic, a->qpn, &conn), 0);
	if (a == b)
		return;
	conn.dest_qpn = a->qpn;
	assert_int_equal(snic_qp_connect(b->host->nic, b->qpn, &conn), 0);
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
	wqe_u64x2(w, (uint64_t)len << 32 | w->e->host->key,
		  host_iova(w->e->host, p));
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

	wqe_raddr(&w, host_iova(e->host, dst), e->host->key);
	wqe_data(&w, src, len);
	return wqe_end(&w);
}

uint8_t *put_read(struct end *e, uint8_t flags, void *dst, uint32_t len,
		  const void *src)
{
	struct wqe w = wqe_begin(e, WRC_WQE_READ, 0, flags);

	wqe_raddr(&w, host_iova(e->host, src), e->host->key);
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
	uint8_t *scratch = host_alloc(e->host, 8);
	struct wqe w = wqe_begin(e, WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8,
				 0);

	assert_int_equal(e->log_sq, 8);
	wqe_raddr(&w, host_iova(e->host, at(e, 1, 24)), e->host->key);
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
	assert_int_equal(snic_qp_doorbell(e->host->nic, e->qpn, e->pi), 0);
}

void post_recv(struct end *e, void *p, uint32_t len)
{
	uint32_t slot = e->posted++ & ((1u << e->log_rq) - 1);
	struct wrc_wqe_data *d = (struct wrc_wqe_data *)
		(e->rq + ((size_t)slot << e->log_rq_stride));

	memset(d, 0, (size_t)1 << e->log_rq_stride);
	if (len) {
		d->byte_count = htobe32(len);
		d->lkey = htobe32(e->host->key);
		d->addr = htobe64(host_iova(e->host, p));
		d++;
	}
	d->lkey = htobe32(WRC_WQE_END_LKEY);
	e->dbr->rcv = htobe32(e->posted);
}

/* ---- what came of it ------------------------------------------------------ */

enum snic_qp_state state_of(struct end *e)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(e->host->nic, e->qpn, &info), 0);
	return info.state;
}

uint32_t cq_count(struct host *b, uint32_t cqn)
{
	uint32_t n;

	assert_int_equal(snic_cq_count(b->nic, cqn, &n), 0);
	return n;
}

void expect_cqe(struct host *b, uint32_t cqn, uint8_t opcode, uint16_t counter)
{
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(b->nic, cqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, opcode);
	assert_int_equal(be16toh(cqe.wqe_counter), counter);
}

void expect_error(struct host *b, uint32_t cqn, uint8_t opcode,
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

void expect_empty(struct host *b, uint32_t cqn)
{
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(b->nic, cqn, &cqe), -EAGAIN);
}
