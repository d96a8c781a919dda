// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Indirect keys and a peer: its READs and WRITEs by one over a wire, what becomes
 * of them when an entry changes meanwhile, and UMRs of a queue with a peer.  At
 * the end, any of it in any order, against a model without keys and packets.
 */
#include "bed/cable.h"

#define PAGE	4096u
#define PAGES	16
#define ENTRIES	16
#define PEER	(SNIC_REMOTE_READ | SNIC_REMOTE_WRITE)
#define PSN	0xfffff8

/* b has pages, and entries that lead to them; z writes these. */
struct wire {
	struct pair p;
	struct end z;
	uint32_t key;
	uint8_t *page;
};

static void wire_open(struct wire *w, uint16_t mtu)
{
	struct snic_qp_conn conn = pair_conn;

	conn.mtu = mtu;
	pair_open(&w->p, 5, PSN, &conn);
	end_open(w->p.b.host, NULL, &w->z);
	end_join(&w->z, &w->z);
	w->page = w->p.dst;
	for (unsigned int i = 0; i < PAGES; i++)
		memset(w->page + i * PAGE, 'a' + i, PAGE);
	assert_int_equal(snic_mkey_indirect(w->p.b.host->nic, w->p.b.host->pdn,
					    ENTRIES, PEER, 1, &w->key), 0);
}

static void wire_close(struct wire *w)
{
	pair_close(&w->p);
}

/* Entries 0 to 3 lead to these pages; -1: nowhere. */
static void put_map(struct wire *w, struct end *e, uint8_t flags,
		    const int *pages)
{
	struct wrc_ksm entry[WRC_KSM_GROUP] = { { 0 } };

	for (unsigned int i = 0; i < WRC_KSM_GROUP; i++)
		if (pages[i] >= 0)
			entry[i] = ksm_entry(w->p.b.host->key,
					     host_iova(w->p.b.host, w->page +
						       pages[i] * PAGE));
	put_umr(e, flags, w->key, 0, entry, WRC_KSM_GROUP);
}

#define PAGES_OF(...) ((const int[WRC_KSM_GROUP]){ __VA_ARGS__ })

/* Now: nothing else of b's runs before. */
static void map(struct wire *w, const int *pages)
{
	put_map(w, &w->z, 0, pages);
	ring(&w->z);
	assert_true(snic_sq_run_qp(snic_qp_lookup(w->z.host->nic, w->z.qpn)));
}

static bool leads(struct wire *w)
{
	struct wrc_ksm e;

	assert_int_equal(snic_mkey_entry(w->p.b.host->nic, w->key, 0, &e), 0);
	return e.key;
}

static void put_access(struct wire *w, uint8_t opcode, uint64_t addr,
		       uint32_t len)
{
	struct wqe q = wqe_begin(&w->p.a, opcode, 0, CE);

	wqe_raddr(&q, addr, w->key);
	wqe_data(&q, w->p.src, len);
	wqe_end(&q);
	ring(&w->p.a);
}

static void done(struct wire *w, uint16_t counter)
{
	run_until(&w->p, w->p.a.host, w->p.a.scqn, counter + 1);
	expect_cqe(w->p.a.host, w->p.a.scqn, WRC_CQE_REQ, counter);
}

static void refused(struct wire *w, uint16_t counter)
{
	struct snic_qp_info info;

	run_until(&w->p, w->p.a.host, w->p.a.scqn, counter + 1);
	expect_error(w->p.a.host, w->p.a.scqn, WRC_CQE_REQ_ERR,
		     WRC_SYND_REMOTE_ACCESS, counter);
	assert_int_equal(snic_qp_query(w->p.b.host->nic, w->p.b.qpn, &info), 0);
	assert_int_equal(info.state, SNIC_QP_ERR);
	assert_int_equal(info.syndrome, WRC_SYND_LOCAL_ACCESS);
}

static void all_bytes(const uint8_t *p, uint32_t len, uint8_t is)
{
	while (len--)
		assert_int_equal(*p++, is);
}

/* ---- access ------------------------------------------------------------------- */

/* Packets that lie in a page and such that lie in two. */
static void across_pieces(void **state)
{
	static const uint16_t mtus[] = { 256, 1024, 4096 };
	struct wire w;

	for (unsigned int i = 0; i < 3; i++) {
		wire_open(&w, mtus[i]);
		map(&w, PAGES_OF(7, 3, 9, 0));
		put_access(&w, WRC_WQE_READ, 1001, 2 * PAGE);
		done(&w, 0);
		all_bytes(w.p.src, PAGE - 1001, 'h');
		all_bytes(w.p.src + PAGE - 1001, PAGE, 'd');
		all_bytes(w.p.src + 2 * PAGE - 1001, 1001, 'j');
		memset(w.p.src, '1', 4 * PAGE);
		put_access(&w, WRC_WQE_WRITE, 1003, 3 * PAGE);
		done(&w, 1);
		all_bytes(w.page + 7 * PAGE, 1003, 'h');
		all_bytes(w.page + 7 * PAGE + 1003, PAGE - 1003, '1');
		all_bytes(w.page + 3 * PAGE, PAGE, '1');
		all_bytes(w.page + 9 * PAGE, PAGE, '1');
		all_bytes(w.page, 1003, '1');
		all_bytes(w.page + 1003, PAGE - 1003, 'a');
		all_bytes(w.page + PAGE, PAGE, 'b');
		all_bytes(w.page + 8 * PAGE, PAGE, 'i');
		put_access(&w, WRC_WQE_READ, PAGE - 1, 2);
		done(&w, 2);
		put_access(&w, WRC_WQE_WRITE, 3 * PAGE - 4, 8);
		done(&w, 3);
		wire_close(&w);
	}
}

/* Its last packet waits for a receive entry, and is written when there is one. */
static void with_immediate(void **state)
{
	struct wire w;

	wire_open(&w, 1024);
	map(&w, PAGES_OF(1, 7, 3, 4));
	memset(w.p.src, '1', 2048);
	put_access(&w, WRC_WQE_WRITE_IMM, PAGE - 1536, 2048);
	cable_run(&w.p.c, CABLE_LATENCY);
	assert_int_equal(stats(&w.p, 1).rnr_naks, 1);
	all_bytes(w.page + 2 * PAGE - 1536, 1024, '1');
	all_bytes(w.page + 2 * PAGE - 512, 512, 'b');
	post_recv(&w.p.b, NULL, 0);
	done(&w, 0);
	expect_cqe(w.p.b.host, w.p.b.rcqn, WRC_CQE_RESP_WR_IMM, 0);
	all_bytes(w.page + 2 * PAGE - 1536, 1536, '1');
	all_bytes(w.page + 7 * PAGE, 512, '1');
	all_bytes(w.page + 7 * PAGE + 512, PAGE - 512, 'h');
	wire_close(&w);
}

/* A message of which a part leads nowhere: none of it is done. */
static void refuses(uint8_t opcode, uint64_t addr, uint32_t len)
{
	struct wire w;

	wire_open(&w, 1024);
	map(&w, PAGES_OF(1, 2, -1, 3));
	memset(w.p.src, '1', 4 * PAGE);
	put_access(&w, opcode, addr, len);
	refused(&w, 0);
	all_bytes(w.p.src, 4 * PAGE, '1');
	for (unsigned int i = 0; i < PAGES; i++)
		all_bytes(w.page + i * PAGE, PAGE, 'a' + i);
	wire_close(&w);
}

static void nothing_there(void **state)
{
	static const uint8_t opcodes[] = { WRC_WQE_READ, WRC_WQE_WRITE };

	for (unsigned int i = 0; i < 2; i++) {
		refuses(opcodes[i], 2 * PAGE, 8);
		refuses(opcodes[i], PAGE, PAGE + 1);
		refuses(opcodes[i], 0, 4 * PAGE);
		refuses(opcodes[i], 3 * PAGE, PAGE + 1);
		refuses(opcodes[i], ENTRIES * PAGE, 1);
		refuses(opcodes[i], ~0ull, 2);
	}
}

static void rights(void **state)
{
	static const unsigned int access[] = {
		0, SNIC_REMOTE_READ, SNIC_REMOTE_WRITE, PEER,
	};
	struct wire w;

	for (unsigned int i = 0; i < 8; i++) {
		bool write = i % 2;

		wire_open(&w, 1024);
		assert_int_equal(snic_mkey_indirect(w.p.b.host->nic,
						    w.p.b.host->pdn, ENTRIES,
						    access[i / 2], 1, &w.key),
				 0);
		map(&w, PAGES_OF(1, 2, 3, 4));
		put_access(&w, write ? WRC_WQE_WRITE : WRC_WQE_READ, 64, 8);
		if (access[i / 2] &
		    (write ? SNIC_REMOTE_WRITE : SNIC_REMOTE_READ))
			done(&w, 0);
		else
			refused(&w, 0);
		wire_close(&w);
	}
}

static void no_atomics(void **state)
{
	struct wire w;
	struct wqe q;

	wire_open(&w, 1024);
	map(&w, PAGES_OF(1, 2, 3, 4));
	q = wqe_begin(&w.p.a, WRC_WQE_FA, 0, CE);
	wqe_raddr(&q, 64, w.key);
	wqe_u64x2(&q, 1, 0);
	wqe_data(&q, w.p.old, 8);
	wqe_end(&q);
	ring(&w.p.a);
	refused(&w, 0);
	all_bytes(w.page + PAGE, PAGE, 'b');
	wire_close(&w);
}

/* ---- entries that change ------------------------------------------------------------ */

/* What b has sent of one READ's answer, as it left. */
static uint8_t answer[64 * 256];
static unsigned int nr_answered;
static uint8_t nak;

static bool collect(struct cable *c, unsigned int from,
		    const struct snic_pkt *pkt)
{
	unsigned int i = snic_psn_diff(pkt->psn, PSN);

	if (from == 0)
		return true;
	if (pkt->flags & SNIC_OPF_READ_RESP) {
		assert_int_equal(i, nr_answered++);
		assert_int_equal(pkt->len, 256);
		memcpy(answer + i * 256, pkt->payload, 256);
	} else {
		nak = pkt->syndrome;
	}
	return true;
}

/*
 * One READ request for 64 packets.  Half of them are sent in b's first turn; that
 * ends in the middle of page 2, and before the next one entries change.
 */
static void change_within_an_answer(struct wire *w, const int *pages)
{
	struct snic_pkt req = {
		.opcode = SNIC_OP_READ_REQ, .pkey = 0xffff, .psn = PSN,
		.va = PAGE / 2, .dma_len = sizeof(answer),
	};
	uint8_t bth[64];

	wire_open(w, 256);
	put_map(w, &w->z, 0, PAGES_OF(1, 2, 3, 4));
	put_umr(&w->z, 0, w->key, 4, (struct wrc_ksm[4]){
			ksm_entry(w->p.b.host->key, ARENA_IOVA) }, 4);
	ring(&w->z);
	cable_run(&w->p.c, MS);
	nr_answered = nak = 0;
	w->p.c.filter = collect;
	req.qpn = w->p.b.qpn;
	req.rkey = w->key;
	cable_inject(&w->p.c, 0, bth, snic_pkt_build(&req, bth));
	cable_run(&w->p.c, CABLE_LATENCY);
	assert_int_equal(nr_answered, 32);
	map(w, pages);
	cable_run(&w->p.c, MS);
	all_bytes(answer, PAGE / 2, 'b');
	all_bytes(answer + PAGE / 2, PAGE, 'c');
	all_bytes(answer + PAGE + PAGE / 2, PAGE / 2, 'd');
}

static void answered_from_the_new_page(void **state)
{
	struct wire w;

	change_within_an_answer(&w, PAGES_OF(7, 8, 9, 10));
	assert_int_equal(nr_answered, 64);
	all_bytes(answer + 2 * PAGE, PAGE / 2, 'j');
	all_bytes(answer + 2 * PAGE + PAGE / 2, PAGE, 'k');
	assert_int_equal(state_of(&w.p.b), SNIC_QP_RTS);
	wire_close(&w);
}

static void answer_ends_where_nothing_is(void **state)
{
	struct wire w;

	change_within_an_answer(&w, PAGES_OF(1, 2, -1, 4));
	assert_int_equal(nr_answered, 32);
	assert_int_equal(nak, SNIC_NAK_REMOTE_ACCESS);
	assert_int_equal(state_of(&w.p.b), SNIC_QP_ERR);
	wire_close(&w);
}

static void answer_ends_at_the_second_page(void **state)
{
	struct wire w;

	change_within_an_answer(&w, PAGES_OF(1, 2, 9, -1));
	assert_int_equal(nr_answered, 40);
	all_bytes(answer + 2 * PAGE, PAGE / 2, 'j');
	assert_int_equal(nak, SNIC_NAK_REMOTE_ACCESS);
	wire_close(&w);
}

/* The same for one that has the key no more. */
static void answer_ends_with_the_key(void **state)
{
	struct wire w;

	wire_open(&w, 256);
	map(&w, PAGES_OF(1, 2, 3, 4));
	put_access(&w, WRC_WQE_READ, 0, 4 * PAGE);
	/* The request's way, and not more of its answer than a turn. */
	cable_run(&w.p.c, CABLE_LATENCY);
	assert_int_equal(snic_mkey_dereg(w.p.b.host->nic, w.key), 0);
	refused(&w, 0);
	wire_close(&w);
}

static bool lost;

static bool lose_the_third(struct cable *c, unsigned int from,
			   const struct snic_pkt *pkt)
{
	if (from || lost || snic_psn_diff(pkt->psn, PSN) != 2)
		return true;
	lost = true;
	return false;
}

/* The last two of a WRITE's four packets are executed later. */
static void change_within_a_write(struct wire *w, const int *pages)
{
	lost = false;
	wire_open(w, 1024);
	map(w, PAGES_OF(1, 2, 3, 4));
	w->p.c.filter = lose_the_third;
	memset(w->p.src, '1', PAGE);
	put_access(w, WRC_WQE_WRITE, 0, PAGE);
	cable_run(&w->p.c, CABLE_LATENCY);
	all_bytes(w->page + PAGE, 2048, '1');
	all_bytes(w->page + PAGE + 2048, 2048, 'b');
	map(w, pages);
}

static void write_goes_on_in_the_new_page(void **state)
{
	struct wire w;

	change_within_a_write(&w, PAGES_OF(5, 2, 3, 4));
	done(&w, 0);
	all_bytes(w.page + PAGE + 2048, 2048, 'b');
	all_bytes(w.page + 5 * PAGE, 2048, 'f');
	all_bytes(w.page + 5 * PAGE + 2048, 2048, '1');
	wire_close(&w);
}

static void write_ends_where_nothing_is(void **state)
{
	struct wire w;

	change_within_a_write(&w, PAGES_OF(-1, 2, 3, 4));
	refused(&w, 0);
	all_bytes(w.page + PAGE + 2048, 2048, 'b');
	wire_close(&w);
}

/* ---- UMRs of a queue with a peer ------------------------------------------------------ */

/* Its CQE comes after those of what was posted before it, and so does it. */
static void completes_in_order(void **state)
{
	struct wire w;
	struct wqe q;

	wire_open(&w, 1024);
	for (int i = 0; i < 2; i++) {
		q = wqe_begin(&w.p.b, WRC_WQE_WRITE, 0, CE);
		wqe_raddr(&q, host_iova(w.p.a.host, w.p.src), w.p.a.host->key);
		wqe_data(&q, w.page + i * PAGE, 8);
		wqe_end(&q);
		if (!i)
			put_map(&w, &w.p.b, CE, PAGES_OF(1, 2, 3, 4));
	}
	ring(&w.p.b);
	cable_run(&w.p.c, CABLE_LATENCY);
	assert_false(leads(&w));
	run_until(&w.p, w.p.b.host, w.p.b.scqn, 3);
	assert_true(leads(&w));
	expect_cqe(w.p.b.host, w.p.b.scqn, WRC_CQE_REQ, 0);
	expect_cqe(w.p.b.host, w.p.b.scqn, WRC_CQE_REQ, 1);
	expect_cqe(w.p.b.host, w.p.b.scqn, WRC_CQE_REQ, 4);
	all_bytes(w.p.src, 8, 'b');
	wire_close(&w);
}

/* Without one, only a fence holds it, behind a READ; and so does its failure. */
static void fenced(bool fence)
{
	struct wire w;
	struct wqe q;

	wire_open(&w, 1024);
	q = wqe_begin(&w.p.b, WRC_WQE_READ, 0, CE);
	wqe_raddr(&q, host_iova(w.p.a.host, w.p.src), w.p.a.host->key);
	wqe_data(&q, w.page, 8);
	wqe_end(&q);
	put_map(&w, &w.p.b, fence ? WRC_WQE_FM_FENCE : 0, PAGES_OF(1, 2, 3, 4));
	w.key++;
	put_map(&w, &w.p.b, 0, PAGES_OF(1, 2, 3, 4));
	w.key--;
	ring(&w.p.b);
	cable_run(&w.p.c, CABLE_LATENCY);
	assert_int_equal(leads(&w), !fence);
	assert_int_equal(state_of(&w.p.b), SNIC_QP_RTS);
	run_until(&w.p, w.p.b.host, w.p.b.scqn, 2);
	assert_true(leads(&w));
	expect_cqe(w.p.b.host, w.p.b.scqn, WRC_CQE_REQ, 0);
	expect_error(w.p.b.host, w.p.b.scqn, WRC_CQE_REQ_ERR, WRC_SYND_MW_BIND,
		     4);
	wire_close(&w);
}

static void fence(void **state)
{
	fenced(false);
	fenced(true);
}

/* ---- anything ------------------------------------------------------------------------- */

#define REGIONS	6
#define REGION	(3 * PAGE)
#define MAX_LEN	(3 * PAGE)

struct region {
	uint32_t key;
	uint64_t iova, len;
	bool there, ours, writable;
	uint8_t *mem, *model;
};

/* The end x, whose peer y has the regions, over a wire or not; z writes entries. */
struct world {
	uint64_t rng;
	struct pair *p;		/* NULL: loopback */
	struct end *x, *y, *z;
	uint32_t other_pdn, key;
	uint8_t *buf;
	uint8_t expect[MAX_LEN];
	struct region region[REGIONS];
	struct { uint32_t key; uint64_t addr; } entry[ENTRIES];
	unsigned int done, refused;
};

static uint64_t rnd(struct world *w, uint64_t n)
{
	w->rng = w->rng * 6364136223846793005 + 1442695040888963407;
	return (w->rng >> 33) % n;
}

static void run(struct world *w)
{
	if (w->p)
		cable_run(&w->p->c, MS);
	else
		host_run(w->x->host);
}

/* Where the byte at addr is; NULL: nowhere. */
static struct region *find(struct world *w, uint64_t addr, bool write,
			   uint64_t *ret_off)
{
	uint64_t at;

	if (addr >= ENTRIES * PAGE)
		return NULL;
	at = w->entry[addr / PAGE].addr + addr % PAGE;
	if (at < addr % PAGE)
		return NULL;
	for (unsigned int i = 0; i < REGIONS; i++) {
		struct region *r = &w->region[i];

		if (r->there && r->key == w->entry[addr / PAGE].key && r->ours &&
		    (!write || r->writable) && at >= r->iova &&
		    at - r->iova < r->len) {
			*ret_off = at - r->iova;
			return r;
		}
	}
	return NULL;
}

static void any_region(struct world *w)
{
	struct region *r = &w->region[rnd(w, REGIONS)];
	struct snic *nic = w->y->host->nic;

	if (r->there)
		assert_int_equal(snic_mkey_dereg(nic, r->key), 0);
	r->there = rnd(w, 8);
	if (!r->there)
		return;
	r->ours = rnd(w, 8);
	r->writable = rnd(w, 4);
	r->iova = rnd(w, 3) ? rnd(w, 1000) * PAGE : -(2 * REGION);
	r->len = rnd(w, 3) ? REGION : REGION - 8 * rnd(w, 1000);
	assert_int_equal(snic_mkey_reg(nic, r->ours ? w->y->host->pdn :
						      w->other_pdn, r->mem,
				       r->len, r->iova,
				       r->writable ? SNIC_LOCAL_WRITE : 0,
				       &r->key), 0);
}

static struct wrc_ksm any_entry(struct world *w)
{
	struct region *r = &w->region[rnd(w, REGIONS)];
	uint32_t key = r->key;
	uint64_t addr = r->iova + (rnd(w, 3)) * PAGE;

	switch (rnd(w, 24)) {
	case 0: key = w->key; break;
	case 1: key = rnd(w, 1u << 20); break;
	case 2: addr = -rnd(w, 2 * PAGE); break;
	case 3: addr += rnd(w, PAGE); break;
	case 4: key = addr = 0; break;
	}
	return ksm_entry(key, addr);
}

static void any_umr(struct world *w)
{
	unsigned int nr = WRC_KSM_GROUP * (1 + rnd(w, 3));
	unsigned int first = WRC_KSM_GROUP * rnd(w, (ENTRIES - nr) / 4 + 1);
	struct wrc_ksm e[12];

	for (unsigned int i = 0; i < nr; i++) {
		e[i] = any_entry(w);
		w->entry[first + i].key = be32toh(e[i].key);
		w->entry[first + i].addr = be64toh(e[i].addr);
	}
	put_umr(w->z, CE, w->key, first, e, nr);
	ring(w->z);
	run(w);
	expect_cqe(w->z->host, w->z->scqn, WRC_CQE_REQ,
		   (uint16_t)(w->z->pi - snic_wqe_bbs(8 + nr)));
}

static void join_again(struct world *w)
{
	struct end *e[2] = { w->x, w->y };

	run(w);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(snic_qp_reset(e[i]->host->nic, e[i]->qpn), 0);
		e[i]->pi = 0;
	}
	if (w->p)
		pair_join(w->x, w->y, PSN, NULL);
	else
		end_join(w->x, w->y);
}

/* What it is to do: to the model, and to what x's buffer has to be. */
static bool model(struct world *w, bool write, uint64_t addr, uint32_t len)
{
	struct region *r;
	uint64_t off;
	uint32_t i;

	memcpy(w->expect, w->buf, MAX_LEN);
	for (i = 0; i < len; i++)
		if (!find(w, addr + i, write, &off))
			return false;
	for (i = 0; i < len; i++) {
		r = find(w, addr + i, write, &off);
		if (write)
			r->model[off] = w->buf[i];
		else
			w->expect[i] = r->model[off];
	}
	return true;
}

static void any_access(struct world *w)
{
	bool write = rnd(w, 2), allowed;
	uint32_t len = 1 + (rnd(w, 2) ? rnd(w, 64) : rnd(w, MAX_LEN));
	uint64_t addr = rnd(w, ENTRIES * PAGE);
	struct wrc_cqe cqe;
	struct wqe q;

	if (write)
		fill(w->buf, len, rnd(w, 1u << 30));
	allowed = model(w, write, addr, len);
	q = wqe_begin(w->x, write ? WRC_WQE_WRITE : WRC_WQE_READ, 0, CE);
	wqe_raddr(&q, addr, w->key);
	wqe_data(&q, w->buf, len);
	wqe_end(&q);
	ring(w->x);
	run(w);
	assert_int_equal(snic_cq_poll(w->x->host->nic, w->x->scqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4,
			 allowed ? WRC_CQE_REQ : WRC_CQE_REQ_ERR);
	assert_memory_equal(w->buf, w->expect, MAX_LEN);
	for (unsigned int i = 0; i < REGIONS; i++)
		assert_memory_equal(w->region[i].mem, w->region[i].model,
				    REGION);
	if (allowed) {
		w->done++;
		return;
	}
	assert_int_equal(((struct wrc_cqe_err *)&cqe)->syndrome,
			 WRC_SYND_REMOTE_ACCESS);
	w->refused++;
	join_again(w);
}

static void any_of_it(struct world *w, unsigned int n)
{
	struct snic *nic = w->y->host->nic;
	static uint8_t models[REGIONS][REGION];
	unsigned int i;

	assert_int_equal(snic_pd_alloc(nic, &w->other_pdn), 0);
	assert_int_equal(snic_mkey_indirect(nic, w->y->host->pdn, ENTRIES, PEER,
					    9, &w->key), 0);
	w->buf = host_alloc(w->x->host, MAX_LEN);
	for (i = 0; i < REGIONS; i++) {
		w->region[i].mem = host_alloc(w->y->host, REGION);
		w->region[i].model = models[i];
		fill(w->region[i].mem, REGION, i);
		memcpy(models[i], w->region[i].mem, REGION);
	}
	for (i = 0; i < 4 * REGIONS; i++)
		any_region(w);
	for (i = 0; i < n; i++) {
		if (!rnd(w, 16))
			any_region(w);
		any_umr(w);
		any_access(w);
		any_access(w);
	}
	/* Both come about. */
	assert_true(w->done > n / 4);
	assert_true(w->refused > n / 4);
}

static void anything_on_loopback(void **state)
{
	struct end x, y, z;
	struct world w = { .rng = 1, .x = &x, .y = &y, .z = &z };
	struct host b;

	host_open(&b, NULL);
	end_open(&b, NULL, &x);
	end_open(&b, NULL, &y);
	end_open(&b, NULL, &z);
	end_join(&x, &y);
	end_join(&z, &z);
	any_of_it(&w, 1000);
	host_close(&b);
}

static void anything_on_the_wire(void **state)
{
	struct wire v;
	struct world w = { .rng = 2, .p = &v.p, .x = &v.p.a, .y = &v.p.b,
			   .z = &v.z };

	wire_open(&v, 1024);
	v.p.c.faults = (struct cable_faults){ .duplicate = 0.02,
					      .reorder = 0.05 };
	any_of_it(&w, 1000);
	wire_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(across_pieces),
		cmocka_unit_test(with_immediate),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(rights),
		cmocka_unit_test(no_atomics),
		cmocka_unit_test(answered_from_the_new_page),
		cmocka_unit_test(answer_ends_where_nothing_is),
		cmocka_unit_test(answer_ends_at_the_second_page),
		cmocka_unit_test(answer_ends_with_the_key),
		cmocka_unit_test(write_goes_on_in_the_new_page),
		cmocka_unit_test(write_ends_where_nothing_is),
		cmocka_unit_test(completes_in_order),
		cmocka_unit_test(fence),
		cmocka_unit_test(anything_on_loopback),
		cmocka_unit_test(anything_on_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
