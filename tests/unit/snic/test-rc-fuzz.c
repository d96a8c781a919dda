// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC transport: a million packets that nobody should send.  Each begins as a
 * valid one, near the PSNs that are expected, and has some of its bits and its
 * length changed.  Nothing is written outside what the peer may write, nothing
 * is read outside the packet (the sanitizer's business), and the queue pair
 * works afterwards.
 *
 * SNIC_FUZZ_PACKETS in the environment: another number of them.
 */
#include <stdlib.h>
#include "bed/cable.h"
#include "snic/transport/transport-priv.h"

#define PACKETS		1000000
#define GUARD		4096
#define TARGET_LEN	(64 << 10)

struct fuzz {
	struct pair p;
	struct snic_qp *qp;	/* the victim, at b */
	uint32_t key;		/* of the target at b */
	uint8_t *target;
	unsigned int resets;
};

/* The victim's own requests, so that there is something to answer. */
static void victim_posts(struct fuzz *f)
{
	struct end *e = &f->p.b;
	static const uint8_t ops[] = {
		WRC_WQE_READ, WRC_WQE_WRITE, WRC_WQE_SEND_IMM, WRC_WQE_FA,
	};
	uint8_t op = ops[cable_random(&f->p.c) % sizeof(ops)];
	uint32_t len = op == WRC_WQE_FA ? 8 :
				cable_random(&f->p.c) % 8000;
	struct wqe w = wqe_begin(e, op, 0, CE);

	if (op != WRC_WQE_SEND_IMM)
		wqe_raddr(&w, 0x10000, 0xabc);
	if (op == WRC_WQE_FA)
		wqe_u64x2(&w, 1, 2);
	if (len)
		wqe_data(&w, f->target, len);
	wqe_end(&w);
	ring(e);
}

static void revive(struct fuzz *f)
{
	struct end *e = &f->p.b;

	if (f->qp->state == SNIC_QP_RTS)
		return;
	f->resets++;
	assert_int_equal(snic_qp_reset(e->host->nic, e->qpn), 0);
	assert_int_equal(snic_qp_reset(f->p.a.host->nic, f->p.a.qpn), 0);
	e->pi = e->posted = 0;
	e->dbr->rcv = 0;
	pair_join(&f->p.a, e, cable_random(&f->p.c) & SNIC_PSN_MASK, NULL);
}

static void post_recvs(struct fuzz *f)
{
	struct end *e = &f->p.b;
	uint16_t left = e->posted - f->qp->rq_ci;

	for (; left < 8; left++)
		post_recv(e, f->target,
			  cable_random(&f->p.c) % 3000);
}

static uint8_t any_opcode(struct fuzz *f)
{
	uint64_t r = cable_random(&f->p.c);

	return r % 16 ? r / 16 % 0x18 : r / 16 % 256;
}

/* Payload of about the size that it should have. */
static uint32_t any_len(struct fuzz *f, uint8_t opcode)
{
	uint32_t flags = snic_op_flags(opcode);
	uint32_t mtu = f->qp->conn.mtu;
	uint64_t r = cable_random(&f->p.c);

	if (!(flags & SNIC_OPF_PAYLOAD))
		return 0;
	if (!(flags & SNIC_OPF_LAST))
		return r % 8 ? mtu : r / 8 % (mtu + 8);
	return r % 2 ? r / 2 % 64 : r / 2 % (mtu + 8);
}

static uint32_t any_psn(struct fuzz *f, uint8_t opcode)
{
	uint64_t r = cable_random(&f->p.c);
	uint32_t base = snic_op_flags(opcode) & SNIC_OPF_REQUEST ?
			f->qp->resp->epsn : f->qp->req->una;

	if (r % 4)
		return base;
	if (r % 32)
		return snic_psn_add(base, r / 32 % 16 - 8);
	return r / 32;
}

static void fill_headers(struct fuzz *f, struct snic_pkt *pkt)
{
	static const uint8_t syndromes[] = {
		0x1f, 0x1f, 0x1f, 0x00, 0x60, 0x60, 0x21, 0x61, 0x62, 0x63,
		0x64, 0x40, 0xff,
	};
	uint64_t r = cable_random(&f->p.c);

	pkt->psn = any_psn(f, pkt->opcode);
	pkt->ack_req = r & 1;
	pkt->solicited = r & 2;
	pkt->pkey = SNIC_PKEY_DEFAULT;
	pkt->qpn = f->p.b.qpn;
	pkt->rkey = r & 0x1c ? f->key : r >> 32;
	pkt->va = 0x20000 + (r >> 8) % (TARGET_LEN - 4096);
	if (pkt->opcode == SNIC_OP_CMP_SWAP || pkt->opcode == SNIC_OP_FETCH_ADD)
		pkt->va &= ~7ull;
	pkt->dma_len = snic_op_flags(pkt->opcode) & SNIC_OPF_WRITE &&
		       snic_op_flags(pkt->opcode) & SNIC_OPF_LAST ?
		       pkt->len : (r >> 40) % 5000;
	if (!(r >> 24 & 0x3f))
		pkt->dma_len = r >> 30;
	pkt->syndrome = syndromes[(r >> 16) % sizeof(syndromes)];
	pkt->swap_add = r;
}

/* Changes nothing in half of them, else some bits, or the length. */
static size_t mutate(struct fuzz *f, uint8_t *buf, size_t len)
{
	uint64_t r = cable_random(&f->p.c);
	unsigned int n;

	if (r & 1)
		return len;
	for (n = r >> 1 & 3; n; n--) {
		uint64_t at = cable_random(&f->p.c);
		size_t limit = len < 44 ? len : 44;

		buf[at % limit] ^= 1 << (at >> 32 & 7);
	}
	if (r >> 3 & 1)
		return len;
	return (r >> 8) % (len + 1);
}

static void throw_one(struct fuzz *f)
{
	struct snic_pkt pkt = { .opcode = any_opcode(f) };
	uint8_t buf[SNIC_PKT_HDR_MAX + 1100] = { 0 };
	struct snic_rx rx = { .src_ip = htobe32(0x0a000001) };
	uint8_t *exact;
	size_t len;

	pkt.len = any_len(f, pkt.opcode);
	pkt.pad = -pkt.len & 3;
	fill_headers(f, &pkt);
	len = snic_pkt_build(&pkt, buf);
	if (!len) {
		len = 12 + cable_random(&f->p.c) % 64;
		buf[0] = pkt.opcode;
	}
	len = mutate(f, buf, len + pkt.len + pkt.pad);
	/* net.c hands on whole BTHs only. */
	if (len < 12)
		len = 12;
	exact = malloc(len);
	assert_non_null(exact);
	memcpy(exact, buf, len);
	rx.bth = exact;
	rx.len = len;
	snic_rc_receive(f->qp, &rx);
	free(exact);
}

/* What is held is accounted for, lies ahead, and is watched by a timer. */
static void expect_held_right(struct fuzz *f)
{
	const struct rc_ahead *a = &f->qp->resp->ahead;
	unsigned int i, n = 0;

	for (i = 0; i < RC_AHEAD; i++) {
		struct snic_pkt pkt;

		if (!a->slot[i])
			continue;
		memcpy(&pkt, a->slot[i]->data, sizeof(pkt));
		assert_int_equal(pkt.psn % RC_AHEAD, i);
		assert_in_range(snic_psn_diff(pkt.psn, f->qp->resp->epsn), 0,
				RC_AHEAD - 1);
		n++;
	}
	assert_int_equal(a->nr, n);
	assert_int_equal(snic_rc_of(f->p.b.host->nic)->nr_ahead, n);
	if (n) {
		assert_true(a->gap);
		assert_true(a->timer.when != SNIC_NEVER ||
			    f->qp->resp->nr_replies);
	}
}

static void expect_guarded(struct fuzz *f)
{
	unsigned int i;

	expect_held_right(f);

	for (i = 0; i < GUARD; i++) {
		assert_int_equal(f->target[(int)i - GUARD], 0xa5);
		assert_int_equal(f->target[TARGET_LEN + i], 0xa5);
	}
}

static void works(struct fuzz *f)
{
	struct pair *p = &f->p;
	uint32_t n;

	p->c.filter = NULL;
	snic_qp_error(p->b.host->nic, p->b.qpn);
	revive(f);
	p->a.pi = 0;
	n = cq_count(p->a.host, p->a.scqn);
	fill(p->src, 5000, 1);
	put(p, WRC_WQE_WRITE, 0, 5000, 0);
	ring(&p->a);
	run_until(p, p->a.host, p->a.scqn, n + 1);
	expect_filled(p->dst, 5000, 1);
}

static unsigned long packets(void)
{
	const char *s = getenv("SNIC_FUZZ_PACKETS");
	unsigned long n = s ? strtoul(s, NULL, 0) : 0;

	return n ? n : PACKETS;
}

/* Queue pairs that are reset often had better be small. */
static void open_small(struct fuzz *f)
{
	struct end_opts opts = { .log_sq = 4, .log_cq = 12 };
	struct pair *p = &f->p;

	end_open(p->a.host, &opts, &p->a);
	end_open(p->b.host, &opts, &p->b);
	pair_join(&p->a, &p->b, 1, NULL);
}

static void test_fuzz(void **state)
{
	static struct fuzz f;
	unsigned long i, n = packets();
	struct snic_stats st;
	struct wrc_cqe cqe;

	pair_open(&f.p, 99, 1, NULL);
	open_small(&f);
	f.p.c.filter = drop_all;
	f.qp = snic_qp_lookup(f.p.b.host->nic, f.p.b.qpn);
	f.target = (uint8_t *)host_alloc(f.p.b.host, TARGET_LEN + 2 * GUARD) +
		   GUARD;
	memset(f.target - GUARD, 0xa5, TARGET_LEN + 2 * GUARD);
	assert_int_equal(snic_mkey_reg(f.p.b.host->nic, f.p.b.host->pdn,
				       f.target, TARGET_LEN, 0x20000,
				       ALL_RIGHTS, &f.key), 0);
	for (i = 0; i < n; i++) {
		revive(&f);
		if (i % 4 == 0)
			post_recvs(&f);
		if (i % 16 == 0 && snic_rc_pending(f.qp) < 8)
			victim_posts(&f);
		throw_one(&f);
		if (i % 8 == 0)
			cable_run(&f.p.c, 1000);
		if (i % 512)
			continue;
		while (!snic_cq_poll(f.p.b.host->nic, f.p.b.scqn, &cqe))
			;
		while (!snic_cq_poll(f.p.b.host->nic, f.p.b.rcqn, &cqe))
			;
		expect_guarded(&f);
	}
	expect_guarded(&f);
	/* It got deep enough to mean something. */
	st = stats(&f.p, 1);
	assert_true(st.rx_malformed > n / 50);
	assert_true(st.duplicates > n / 100);
	assert_true(st.out_of_sequence > n / 100);
	assert_true(st.reordered > n / 1000);
	assert_true(st.recvs > n / 100);
	assert_true(f.resets > n / 200);
	works(&f);
	pair_close(&f.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fuzz),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
