// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiments on doorbell pages, masked atomics and counters.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "probes.h"
#include "raw.h"

/* ---- doorbell pages ---------------------------------------------------------------- */

/* Opens a queue on another doorbell page, and rings it while that page is swapped in. */
static bool open_elsewhere(struct side *side, unsigned int flags,
			   struct wrc_mlx5_uar *uar, struct raw *ret)
{
	struct wrc_mlx5 *dev = nic_mlx5_device(side->nic);

	side_fail(side, wrc_mlx5_uar_init(dev, uar));
	if (side->err)
		return false;
	wrc_mlx5_uar_swap(dev, uar);
	if (raw_open(side, flags, NULL, ret)) {
		raw_put_nop(ret);
		if (!(flags & RAW_SLAVE))
			raw_go(ret);
	}
	wrc_mlx5_uar_swap(dev, uar);
	return true;
}

/* Does a queue on this page enable, or wait for, a queue on another page? */
static void across(struct side *side, bool enable)
{
	struct wrc_mlx5_uar uar;
	struct raw here, there;

	if (!open_elsewhere(side, enable ? RAW_SLAVE : 0, &uar, &there))
		return;
	if (raw_open(side, RAW_MASTER, &there, &here)) {
		if (enable)
			raw_put_enable(&here, there.qpn, 1);
		else
			raw_put_wait(&here, there.scqn, 0);
		raw_go(&here);
		probe_describe_use(&here, enable ? &there : &here);
	}
	raw_close(&here);
	raw_close(&there);
	wrc_mlx5_uar_fini(nic_mlx5_device(side->nic), &uar);
}

void probe_uar_target(struct side *side)
{
	across(side, true);
}

void probe_uar_cq(struct side *side)
{
	across(side, false);
}

/* ---- atomics -------------------------------------------------------------------------- */

/* Executes an atomic off bytes behind the data, which begin with words; the old value goes
 * to word 8. */
static bool run_atomic(struct side *side, struct wrc_wr wr, unsigned int off,
		       const uint64_t words[3], struct raw *raw)
{
	if (!raw_open(side, 0, NULL, raw))
		return false;
	memcpy(raw->data, words, 3 * sizeof(*words));
	wr.raddr = (uintptr_t)raw->data + off;
	wr.rkey = raw->key;
	wr.nr_sge = 1;
	wr.sge[0] = (struct wrc_sge){ 8, raw->key, (uintptr_t)raw->data + 64 };
	raw_put(raw, wr);
	raw_go(raw);
	return true;
}

static void atomic(struct side *side, struct wrc_wr wr, uint64_t before)
{
	const uint64_t words[3] = { before };
	struct nic_qp_info info;
	uint64_t after, fetched;
	struct raw raw;

	if (!run_atomic(side, wr, 0, words, &raw))
		return;
	info = raw_info(&raw);
	memcpy(&after, raw.data, sizeof(after));
	memcpy(&fetched, raw.data + 64, sizeof(fetched));
	if (info.error)
		probe_describe(side, "the queue stops with syndrome 0x%02x",
			       info.syndrome);
	else
		probe_describe(side, "0x%016" PRIx64 " becomes 0x%016" PRIx64
			       ", and 0x%016" PRIx64 " is fetched", before, after,
			       fetched);
	raw_close(&raw);
}

/* Adds 0x8003 to fields of 16 bits: the carry out of bit 15 is cut off. */
void probe_masked_fa(struct side *side)
{
	atomic(side, (struct wrc_wr){
		.op = WRC_WQE_MASKED_FA, .swap = 0x0001000000008003,
		.compare = 0x0000000080008000 }, 0x1122334455669abc);
}

/* No bit is compared, so this exchanges the bits of swap_mask. */
void probe_masked_cs(struct side *side)
{
	atomic(side, (struct wrc_wr){
		.op = WRC_WQE_MASKED_CS, .swap = 0xfedcba9876543210,
		.swap_mask = 0xffffffff00ffff00 }, 0x0123456789abcdef);
}

/* Between two table entries, an atomic would access parts of two addresses. */
void probe_misaligned(struct side *side)
{
	const uint64_t before[3] = { 0x0123456789abcdef, 0x1122334455667788 };
	const struct wrc_wr wr = {
		.op = WRC_WQE_MASKED_CS, .swap = 0xfedcba9876543210,
		.swap_mask = ~0ull,
	};
	unsigned int off, refused = 0, changed = 0;
	struct raw raw;

	for (off = 1; off < 8 && run_atomic(side, wr, off, before, &raw); off++) {
		refused += raw_info(&raw).error;
		changed += memcmp(raw.data, before, sizeof(before)) != 0;
		raw_close(&raw);
	}
	probe_describe(side, "of 7, %u are refused and %u change memory", refused, changed);
}

/* like the counters of free rings: around a ring of 512 slots */
#define RING_LOG	12
#define RING_STEP	8
#define EACH		30

static void put_advance(struct raw *raw, const struct raw *at, unsigned int i)
{
	raw_put(raw, (struct wrc_wr){
		.op = WRC_WQE_MASKED_FA, .nr_sge = 1, .raddr = (uintptr_t)at->data,
		.rkey = at->key, .swap = RING_STEP, .compare = 1u << (RING_LOG - 1),
		.sge = { { 8, raw->key, (uintptr_t)raw->data + 8 * (i + 1) } } });
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

static void advance_both(struct raw *a, struct raw *b)
{
	const uint64_t base = 1ull << 40, len = 1u << RING_LOG;
	uint64_t start = base + len - EACH * RING_STEP, end, want;
	unsigned int i;

	memcpy(a->data, &start, sizeof(start));
	for (i = 0; i < EACH; i++) {
		put_advance(a, a, i);
		put_advance(b, a, i);
	}
	raw_ring(a);
	raw_go(b);
	memcpy(&end, a->data, sizeof(end));
	want = base + ((start - base + 2 * EACH * RING_STEP) & (len - 1));
	probe_describe(a->side, "of %u steps %u are fetched once; the sum is %s", 2 * EACH,
		       count_steps(a, b, start), end == want ? "right" : "wrong");
}

void probe_two_queues(struct side *side)
{
	struct raw a, b;

	raw_open(side, 0, NULL, &a);
	if (raw_open(side, 0, &a, &b))
		advance_both(&a, &b);
	raw_close(&b);
	raw_close(&a);
}

/* ---- counters ---------------------------------------------------------------------------- */

void probe_counter_sets(struct side *side)
{
	struct wrc_mlx5 *dev = nic_mlx5_device(side->nic);
	unsigned int n = 0;

	side_fail(side, wrc_mlx5_count_counters(dev, 256, &n));
	probe_describe(side, "%u (it says %u in max_qp_cnt); whether duplicates count "
		       "cannot be seen in loopback", n, dev->caps.max_qp_cnt);
}

/* The counter in the context of the queue pair, or the software NIC's own. */
static uint16_t context_bbs(struct raw *raw)
{
	struct wrc_mlx5_qp_info info = { .sq_executed = 0 };
	struct side *side = raw->side;

	if (side->snic)
		return raw_info(raw).sq_executed;
	side_fail(side, wrc_mlx5_qp_query(nic_mlx5_qp(side->nic, raw->qpn), &info));
	return info.sq_executed;
}

void probe_sq_counter(struct side *side)
{
	struct raw raw;

	if (!raw_open(side, RAW_MASTER, NULL, &raw))
		return;
	raw_put_nop(&raw);
	raw_put_nop(&raw);
	raw_put_wait(&raw, raw.rcqn, 0);
	raw_put_nop(&raw);
	raw_go(&raw);
	probe_describe(side, "it is %u when the third work request waits",
		       context_bbs(&raw));
	raw_close(&raw);
}

/* A READ with an invalid key, between NOPs. */
void probe_sq_counter_error(struct side *side)
{
	struct nic_qp_info entries;
	uint16_t context;
	struct raw raw;

	if (!raw_open(side, 0, NULL, &raw))
		return;
	raw_put_nop(&raw);
	raw_put_move(&raw, WRC_WQE_READ, raw.data, raw.key, 8, (uintptr_t)raw.data, 0);
	raw_put_nop(&raw);
	raw_go(&raw);
	context = context_bbs(&raw);
	entries = raw_info(&raw);
	probe_describe(side, "it is %u, and the error entry says %u, when the second work "
		       "request failed (%s0x%02x)", context, entries.sq_executed,
		       entries.error ? "syndrome " : "it did not: ", entries.syndrome);
	raw_close(&raw);
}

void probe_cq_counter(struct side *side)
{
	unsigned int polled = 0, i;
	struct wrc_cqe cqe;
	struct raw raw;
	uint32_t n;

	if (!raw_open(side, 0, NULL, &raw))
		return;
	for (i = 0; i < 5; i++)
		raw_put_nop(&raw);
	raw_go(&raw);
	n = raw_cqes(&raw, raw.scqn);
	while (!side->nic->ops->cq_poll(side->nic, raw.scqn, &cqe))
		polled++;
	probe_describe(side, "it is %u when %u entries can be polled", n, polled);
	raw_close(&raw);
}
