// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiments on receive records, doorbell pages, masked atomics and counters.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "probes.h"
#include "raw.h"

/* ---- receive records ------------------------------------------------------- */

struct pair {
	struct raw from, to;
};

/* All receive entries are written; the record says how many of them are posted. */
static int open_pair(struct side *side, unsigned int posted, struct pair *p)
{
	struct wrc_sge sge;
	unsigned int i;
	int r;

	r = raw_open(side, RAW_APART, NULL, &p->from);
	if (r)
		return r;
	r = raw_open(side, RAW_APART | RAW_RQ, NULL, &p->to);
	if (r)
		goto close_from;
	sge = (struct wrc_sge){ 64, p->to.key, (uintptr_t)p->to.data };
	for (i = 0; i < 1u << RAW_LOG_RQ; i++)
		wrc_encode_recv(&sge, 1, (uint8_t *)p->to.mem.va + 16 * i, 16);
	p->to.dbr->rcv = htobe32(posted);
	r = raw_join(&p->from, &p->to);
	if (r)
		goto close_to;
	return 0;

close_to:
	raw_close(&p->to);
close_from:
	raw_close(&p->from);
	return r;
}

static void close_pair(struct pair *p)
{
	raw_close(&p->from);
	raw_close(&p->to);
}

static int send_message(struct pair *p)
{
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .nr_sge = 1,
		.flags = WRC_WQE_CE_ALWAYS,
	};
	int r;

	wr.sge[0] = (struct wrc_sge){ 8, p->from.key,
				      (uintptr_t)p->from.data };
	r = raw_put(&p->from, wr);
	return r ? r : raw_go(&p->from);
}

static int received(struct pair *p, uint32_t *ret_n)
{
	struct nic *nic = p->to.side->nic;
	struct nic_cq_info info;
	int r;

	r = nic->node->ops->cq_info(nic, p->to.rcqn, &info);
	if (!r)
		*ret_n = info.written;
	return r;
}

int probe_dbr_lowered(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct pair p;
	uint32_t n;
	int r;

	r = open_pair(side, 6, &p);
	if (r)
		return r;
	r = send_message(&p);
	p.to.dbr->rcv = htobe32(1);
	if (!r)
		r = send_message(&p);
	if (!r)
		r = received(&p, &n);
	if (!r)
		probe_describe(answer, n == 1 ?
			       "yes: lowered to what was consumed, it holds the next "
			       "message back" :
			       "no: %u messages were received after it was lowered "
			       "to 1", n);
	close_pair(&p);
	return r;
}

int probe_dbr_raised(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	uint32_t before, after;
	struct pair p;
	int r;

	r = open_pair(side, 1, &p);
	if (r)
		return r;
	r = send_message(&p);
	if (!r)
		r = send_message(&p);
	if (!r)
		r = received(&p, &before);
	p.to.dbr->rcv = htobe32(2);
	side_settle(side);
	side_settle(side);
	if (!r)
		r = received(&p, &after);
	if (!r)
		probe_describe(answer, "with 1 entry %u of 2 messages are received; "
			       "when the record is raised, %u", before, after);
	close_pair(&p);
	return r;
}

/* ---- doorbell pages ---------------------------------------------------------------- */

/* Opens a queue on another doorbell page, and rings it while that page is swapped in. */
static int open_elsewhere(struct side *side, unsigned int flags,
			  struct wrc_mlx5_uar *uar, struct raw *ret)
{
	struct wrc_mlx5 *dev = nic_mlx5_device(side->nic);
	int r;

	r = wrc_mlx5_uar_init(dev, uar);
	if (r)
		return r;
	wrc_mlx5_uar_swap(dev, uar);
	r = raw_open(side, flags, NULL, ret);
	if (!r)
		r = raw_put_nop(ret);
	if (!r && !(flags & RAW_SLAVE))
		r = raw_go(ret);
	wrc_mlx5_uar_swap(dev, uar);
	if (r) {
		raw_close(ret);
		wrc_mlx5_uar_fini(dev, uar);
	}
	return r;
}

static void close_elsewhere(struct side *side, struct wrc_mlx5_uar *uar,
			    struct raw *raw)
{
	raw_close(raw);
	wrc_mlx5_uar_fini(nic_mlx5_device(side->nic), uar);
}

/* Does a queue on this page enable, or wait for, a queue on another page? */
static int across(struct side *side, bool enable, char *answer)
{
	struct raw here, there = { 0 };
	struct wrc_mlx5_uar uar;
	uint8_t syndrome;
	uint16_t bbs;
	bool error;
	int r;

	r = open_elsewhere(side, enable ? RAW_SLAVE : 0, &uar, &there);
	if (r)
		return r;
	r = raw_open(side, RAW_MASTER, &there, &here);
	if (r)
		goto close_there;
	r = enable ? raw_put_enable(&here, there.qpn, 1) :
		     raw_put_wait(&here, there.scqn, 0);
	if (!r)
		r = raw_go(&here);
	if (!r)
		r = raw_executed(&here, &bbs, &error, &syndrome);
	if (!r && !error && enable)
		r = raw_executed(&there, &bbs, &error, &syndrome);
	if (!r && error)
		probe_describe(answer, "no: the queue stops with syndrome 0x%02x",
			       syndrome);
	else if (!r)
		probe_describe(answer, bbs ? "yes" : "no: nothing happens");
	raw_close(&here);
close_there:
	close_elsewhere(side, &uar, &there);
	return r;
}

int probe_uar_target(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return across(side, true, answer);
}

int probe_uar_cq(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return across(side, false, answer);
}

/* ---- atomics -------------------------------------------------------------------------- */

/* Executes an atomic on the first word of the data; the old value goes to the second word. */
static int atomic(struct side *side, struct wrc_wr wr, uint64_t before,
		  char *answer)
{
	uint64_t words[2] = { before, 0 };
	uint8_t syndrome;
	struct raw raw;
	uint16_t bbs;
	bool error;
	int r;

	r = raw_open(side, 0, NULL, &raw);
	if (r)
		return r;
	memcpy(raw.data, words, sizeof(words));
	wr.shape = wr.op;
	wr.flags = WRC_WQE_CE_ALWAYS;
	wr.raddr = (uintptr_t)raw.data;
	wr.rkey = raw.key;
	wr.nr_sge = 1;
	wr.sge[0] = (struct wrc_sge){ 8, raw.key, (uintptr_t)raw.data + 8 };
	r = raw_put(&raw, wr);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = raw_executed(&raw, &bbs, &error, &syndrome);
	memcpy(words, raw.data, sizeof(words));
	raw_close(&raw);
	if (r)
		return r;
	if (error)
		probe_describe(answer, "the queue stops with syndrome 0x%02x",
			       syndrome);
	else
		probe_describe(answer, "0x%016" PRIx64 " becomes 0x%016" PRIx64
			       ", and 0x%016" PRIx64 " is fetched", before,
			       words[0], words[1]);
	return 0;
}

/* Adds 0x8003 to fields of 16 bits: the carry out of bit 15 is cut off. */
int probe_masked_fa(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return atomic(side, (struct wrc_wr){
		.op = WRC_WQE_MASKED_FA, .swap = 0x0001000000008003,
		.compare = 0x0000000080008000 }, 0x1122334455669abc, answer);
}

/* No bit is compared, so this exchanges the bits of swap_mask. */
int probe_masked_cs(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	return atomic(side, (struct wrc_wr){
		.op = WRC_WQE_MASKED_CS, .swap = 0xfedcba9876543210,
		.swap_mask = 0xffffffff00ffff00 }, 0x0123456789abcdef,
		answer);
}

/* Between two table entries, an atomic would access parts of two addresses. */
static int misaligned_by(struct side *side, unsigned int off,
			 unsigned int *refused, unsigned int *changed)
{
	const uint64_t before[3] = { 0x0123456789abcdef, 0x1122334455667788 };
	struct wrc_wr wr = {
		.op = WRC_WQE_MASKED_CS, .shape = WRC_WQE_MASKED_CS,
		.flags = WRC_WQE_CE_ALWAYS, .nr_sge = 1,
		.swap = 0xfedcba9876543210, .swap_mask = ~0ull,
	};
	bool error = false;
	uint8_t syndrome;
	struct raw raw;
	uint16_t bbs;
	int r;

	r = raw_open(side, 0, NULL, &raw);
	if (r)
		return r;
	memcpy(raw.data, before, sizeof(before));
	wr.raddr = (uintptr_t)raw.data + off;
	wr.rkey = raw.key;
	wr.sge[0] = (struct wrc_sge){ 8, raw.key, (uintptr_t)raw.data + 64 };
	r = raw_put(&raw, wr);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = raw_executed(&raw, &bbs, &error, &syndrome);
	*refused += error;
	*changed += memcmp(raw.data, before, sizeof(before)) != 0;
	raw_close(&raw);
	return r;
}

int probe_misaligned(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	unsigned int off, refused = 0, changed = 0;
	int r = 0;

	for (off = 1; !r && off < 8; off++)
		r = misaligned_by(side, off, &refused, &changed);
	if (!r)
		probe_describe(answer, "of 7, %u are refused and %u change memory",
			       refused, changed);
	return r;
}

/* like the counters of free rings: around a ring of 512 slots */
#define RING_LOG	12
#define RING_STEP	8
#define EACH		30

static int put_advance(struct raw *raw, const struct raw *at, unsigned int i)
{
	struct wrc_wr wr = {
		.op = WRC_WQE_MASKED_FA, .shape = WRC_WQE_MASKED_FA,
		.flags = WRC_WQE_CE_ALWAYS, .nr_sge = 1,
		.raddr = (uintptr_t)at->data, .rkey = at->key,
		.swap = RING_STEP, .compare = 1u << (RING_LOG - 1),
	};

	wr.sge[0] = (struct wrc_sge){ 8, raw->key,
				      (uintptr_t)raw->data + 8 * (i + 1) };
	return raw_put(raw, wr);
}

/* Counts the steps that some atomic has fetched. */
static unsigned int count_steps(const struct raw *a, const struct raw *b,
				uint64_t start)
{
	bool seen[2 * EACH] = { false };
	unsigned int i, n = 0;
	uint64_t old, step;

	for (i = 0; i < 2 * EACH; i++) {
		memcpy(&old, (i % 2 ? a : b)->data + 8 * (i / 2 + 1),
		       sizeof(old));
		step = ((old - start) & ((1u << RING_LOG) - 1)) / RING_STEP;
		if (step >= 2 * EACH || seen[step])
			continue;
		seen[step] = true;
		n++;
	}
	return n;
}

static int advance_both(struct raw *a, struct raw *b, char *answer)
{
	const uint64_t base = 1ull << 40, len = 1u << RING_LOG;
	uint64_t start = base + len - EACH * RING_STEP, end, want;
	unsigned int i;
	int r = 0;

	memcpy(a->data, &start, sizeof(start));
	for (i = 0; !r && i < EACH; i++) {
		r = put_advance(a, a, i);
		if (!r)
			r = put_advance(b, a, i);
	}
	if (!r)
		r = raw_ring(a);
	if (!r)
		r = raw_go(b);
	memcpy(&end, a->data, sizeof(end));
	want = base + ((start - base + 2 * EACH * RING_STEP) & (len - 1));
	if (!r)
		probe_describe(answer, "of %u steps %u are fetched once; the sum "
			       "is %s", 2 * EACH, count_steps(a, b, start),
			       end == want ? "right" : "wrong");
	return r;
}

int probe_two_queues(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct raw a, b;
	int r;

	r = raw_open(side, 0, NULL, &a);
	if (r)
		return r;
	r = raw_open(side, 0, &a, &b);
	if (!r) {
		r = advance_both(&a, &b, answer);
		raw_close(&b);
	}
	raw_close(&a);
	return r;
}

/* ---- questions that are not asked ---------------------------------------------- */

int probe_check_off(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	probe_describe(answer, "not asked: it changes the whole card, for everybody "
		       "on it; chains renew what is checked");
	return 0;
}

int probe_counter_twice(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	probe_describe(answer, "not asked: loopback loses nothing, so nothing is "
		       "sent twice; lose packets between two ports");
	return 0;
}

int probe_masked_wire(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	probe_describe(answer, "not asked: loopback packets cannot be seen; capture "
		       "them between two ports");
	return 0;
}

/* ---- counters ---------------------------------------------------------------------------- */

int probe_counter_sets(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct wrc_mlx5 *dev = nic_mlx5_device(side->nic);
	unsigned int n;
	int r;

	r = wrc_mlx5_count_counters(dev, 256, &n);
	if (!r)
		probe_describe(answer, "%u (it says %u in max_qp_cnt); whether "
			       "duplicates count cannot be seen in loopback", n,
			       dev->caps.max_qp_cnt);
	return r;
}

/* The counter in the context of the queue pair, or the software NIC's own. */
static int context_bbs(struct raw *raw, uint16_t *ret_bbs)
{
	struct wrc_mlx5_qp_info info;
	uint8_t syndrome;
	bool error;
	int r;

	if (raw->side->snic)
		return raw_executed(raw, ret_bbs, &error, &syndrome);
	r = wrc_mlx5_qp_query(nic_mlx5_qp(raw->side->nic, raw->qpn), &info);
	if (!r)
		*ret_bbs = info.sq_executed;
	return r;
}

int probe_sq_counter(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct raw raw;
	uint16_t bbs;
	int r;

	r = raw_open(side, RAW_MASTER, NULL, &raw);
	if (r)
		return r;
	r = raw_put_nop(&raw);
	if (!r)
		r = raw_put_nop(&raw);
	if (!r)
		r = raw_put_wait(&raw, raw.rcqn, 0);
	if (!r)
		r = raw_put_nop(&raw);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = context_bbs(&raw, &bbs);
	if (!r)
		probe_describe(answer, "it is %u when the third work request waits",
			       bbs);
	raw_close(&raw);
	return r;
}

/* A READ with an invalid key, between NOPs. */
int probe_sq_counter_error(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	uint16_t context, entries;
	uint8_t syndrome;
	struct wrc_wr wr = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .nr_sge = 1,
		.flags = WRC_WQE_CE_ALWAYS,
	};
	struct raw raw;
	bool error;
	int r;

	r = raw_open(side, 0, NULL, &raw);
	if (r)
		return r;
	wr.sge[0] = (struct wrc_sge){ 8, raw.key, (uintptr_t)raw.data };
	wr.raddr = (uintptr_t)raw.data;
	r = raw_put_nop(&raw);
	if (!r)
		r = raw_put(&raw, wr);
	if (!r)
		r = raw_put_nop(&raw);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = context_bbs(&raw, &context);
	if (!r)
		r = raw_executed(&raw, &entries, &error, &syndrome);
	if (!r)
		probe_describe(answer, "it is %u, and the error entry says %u, when "
			       "the second work request failed (%s0x%02x)", context,
			       entries, error ? "syndrome " : "it did not: ",
			       syndrome);
	raw_close(&raw);
	return r;
}

int probe_cq_counter(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct wrc_cqe cqe;
	unsigned int polled = 0, i;
	struct raw raw;
	uint32_t n;
	int r;

	r = raw_open(side, 0, NULL, &raw);
	if (r)
		return r;
	for (i = 0; !r && i < 5; i++)
		r = raw_put_nop(&raw);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = raw_cqes(&raw, &n);
	while (!r && !side->nic->ops->cq_poll(side->nic, raw.scqn, &cqe))
		polled++;
	if (!r)
		probe_describe(answer, "it is %u when %u entries can be polled", n,
			       polled);
	raw_close(&raw);
	return r;
}
