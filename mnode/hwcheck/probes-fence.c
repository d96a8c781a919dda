// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiment on order=fence.  A READ writes into a work request of another queue, and a
 * SEND_EN behind a fence enables that queue.  Does the queue fetch what the READ has
 * brought?
 *
 * The experiment does what a load does: a queue READs an address into a WRITE of the
 * other queue, which has an older address, and enables that WRITE.  The bytes written
 * then tell which address was used.  An order that is usually but not always kept shows
 * in one of many rounds.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "probes.h"
#include "raw.h"

#define ROUNDS	100000
#define AT_ONCE	16		/* rounds per doorbell; each takes two WQEs of a ring */

#define OLD	(~0ull)		/* value at the older address */
#define NEW_AT	64		/* offset of the values at the new addresses */
#define GOT_AT	2048		/* offset where the WRITEs put them */

_Static_assert(2 * AT_ONCE <= 1 << RAW_LOG_SQ, "a ring holds them");

struct fence {
	struct raw other, master;
	uint64_t old_ones;	/* rounds that used the older address */
};

/* A WRITE from the older address to the place of this round. */
static void put_write(struct fence *f, unsigned int i)
{
	struct raw *o = &f->other;

	raw_put_quiet(o, (struct wrc_wr){
		.op = WRC_WQE_WRITE, .nr_sge = 1, .rkey = o->key,
		.raddr = (uintptr_t)o->data + GOT_AT + 8 * i,
		.sge = { { 8, o->key, (uintptr_t)o->data } } });
}

/* A READ that brings the new address into the WQE at bb, and a SEND_EN for that WQE. */
static void put_read(struct fence *f, unsigned int i, uint16_t bb)
{
	struct raw *m = &f->master;
	uint8_t *seg = raw_wqe(&f->other, bb) + sizeof(struct wrc_wqe_ctrl) +
		       sizeof(struct wrc_wqe_raddr);

	raw_put_quiet(m, (struct wrc_wr){
		.op = WRC_WQE_READ, .nr_sge = 1, .rkey = m->key,
		.raddr = (uintptr_t)m->data + 8 * i,
		.sge = { { 8, f->other.key,
			   (uintptr_t)seg + offsetof(struct wrc_wqe_data, addr) } } });
	raw_put_quiet(m, (struct wrc_wr){
		.op = WRC_WQE_SEND_EN, .flags = WRC_WQE_FM_FENCE, .obj = f->other.qpn,
		.count = (uint16_t)(bb + 1) });
}

static uint64_t word_at(const uint8_t *at)
{
	return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* WRITEs are executed in order: when the last value is there, all are. */
static bool is_over(void *arg)
{
	const struct fence *f = arg;

	return word_at(f->other.data + GOT_AT + 8 * (AT_ONCE - 1));
}

static void go_round(struct fence *f)
{
	struct raw *o = &f->other;
	unsigned int i;

	memset(o->data + GOT_AT, 0, 8 * AT_ONCE);
	for (i = 0; i < AT_ONCE; i++) {
		uint16_t bb = o->next;

		put_write(f, i);
		put_read(f, i, bb);
	}
	raw_ring(&f->master);
	if (!o->side->err && !side_until(o->side, is_over, f))
		side_fail(o->side, -ETIMEDOUT);
	for (i = 0; i < AT_ONCE; i++)
		f->old_ones += word_at(o->data + GOT_AT + 8 * i) != i + 1;
}

static void lay_out(struct fence *f)
{
	uint64_t old = OLD, value;
	unsigned int i;

	memcpy(f->other.data, &old, sizeof(old));
	for (i = 0; i < AT_ONCE; i++) {
		uint8_t *new = f->other.data + NEW_AT + 8 * i;
		__be64 addr = htobe64((uintptr_t)new);

		value = i + 1;
		memcpy(new, &value, sizeof(value));
		memcpy(f->master.data + 8 * i, &addr, sizeof(addr));
	}
}

void probe_fence(struct side *side)
{
	struct fence f = { .old_ones = 0 };
	unsigned int n;

	if (!raw_open(side, RAW_SLAVE, NULL, &f.other))
		return;
	if (raw_open(side, RAW_MASTER, &f.other, &f.master))
		lay_out(&f);
	for (n = 0; !side->err && n < ROUNDS; n += AT_ONCE)
		go_round(&f);
	if (f.old_ones)
		probe_describe(side, "does not hold: %llu of %u times the other "
			       "queue used what was there before",
			       (unsigned long long)f.old_ones, n);
	else
		probe_describe(side, "holds: %u times the other queue used what was READ",
			       n);
	raw_close(&f.master);
	raw_close(&f.other);
}
