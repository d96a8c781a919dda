// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a hostile compute node does with keys of its own (translation in the NIC):
 * READs and WRITEs of its slots, and of whatever else a key may open.
 *
 * What names none of its own keys must not go well, and neither must what names
 * a slot that has been freed; that is known when it is posted.
 */
#include <endian.h>
#include <string.h>
#include "core/keymap.h"
#include "client-hostile.h"

#define KEY_END		((uint64_t)WRC_KEY_SLOTS * WRC_KEY_STRIDE)
#define MAX_LONG	(5 * PAGE)	/* more than the entries of a slot */
#define ASK_NS		60000		/* in which a chain is through */
#define MAX_ASKS	6		/* some are quiet */

static unsigned int nr_keys(const struct hostile *h)
{
	return h->c->keys ? (h->c->info.nr_slots + WRC_KEY_SLOTS - 1) /
			    WRC_KEY_SLOTS : 0;
}

static bool is_own(const struct hostile *h, uint32_t key)
{
	unsigned int i;

	for (i = 0; i < nr_keys(h); i++)
		if (h->c->keys[i] == key)
			return true;
	return false;
}

/* May this be answered? */
static bool is_forbidden(const struct hostile *h, int conn,
			 const struct hostile_wr *wr)
{
	bool read = wr->opcode == WRC_WQE_READ;

	if (!wr->len)
		return false;
	if (wr->opcode == WRC_WQE_CS || wr->opcode == WRC_WQE_FA)
		return true;
	if (conn < 0)
		return read ? wr->rkey != h->c->tt_rkey &&
			      wr->rkey != h->c->keys_rkey :
			      wr->rkey != h->c->beat_rkey;
	return !hostile_bare(h, conn) || !is_own(h, wr->rkey) ||
	       wr->raddr >= KEY_END || wr->len > KEY_END - wr->raddr ||
	       wr->raddr % WRC_KEY_STRIDE + wr->len > PAGE;
}

/* Its memory, for so much. */
static void *room(struct hostile *h, const struct hostile_wr *wr)
{
	uint8_t *recvs = h->mem + NR_SENDS * SEND_ROOM;

	if (wr->opcode != WRC_WQE_WRITE && wr->opcode != WRC_WQE_WRITE_IMM)
		return wr->len > PAGE ? recvs : hostile_recv_room(h);
	if (wr->len > PAGE)
		return h->mem;
	hostile_fill(h, recvs - PAGE);
	return recvs - PAGE;
}

/* ---- slots ---------------------------------------------------------------------- */

static void at_slot(const struct hostile *h, uint64_t slot,
		    struct hostile_wr *wr)
{
	unsigned int key = slot / WRC_KEY_SLOTS < nr_keys(h) ?
			   slot / WRC_KEY_SLOTS : nr_keys(h) - 1;

	wr->rkey = h->c->keys[key];
	wr->raddr = (slot - key * (uint64_t)WRC_KEY_SLOTS) * WRC_KEY_STRIDE;
}

static void post(struct hostile *h, int conn, struct hostile_wr *wr)
{
	wr->local = room(h, wr);
	wr->forbidden |= is_forbidden(h, conn, wr);
	hostile_post(h, conn, wr);
}

void hostile_by_key(struct hostile *h, unsigned int conn, uint64_t slot)
{
	bool load = conn % ODRP_WIRE_NR_CHAINS == ODRP_WIRE_LOAD;
	struct hostile_wr wr = {
		.opcode = load ? WRC_WQE_READ : WRC_WQE_WRITE, .len = PAGE,
	};
	struct life *l = h->life;

	at_slot(h, slot, &wr);
	if (l->acts & ACT_SHORT && life_chance(l, 4)) {
		wr.raddr += life_below(l, PAGE);
		wr.len = 1 + life_below(l, PAGE - wr.raddr % PAGE);
	}
	l->count->requests++;
	post(h, conn, &wr);
}

/* ---- any key, anywhere ------------------------------------------------------------ */

/* All numbers there are, and such as may have been or will be. */
static uint32_t any_key(struct hostile *h)
{
	struct manager *m = &h->life->bed.m;
	struct sess *s = m->sess[life_below(h->life, m->nr_sess)];
	struct queue *q = s->nr_queues ? s->queues[0][life_below(h->life, 4)] :
			  NULL;
	uint32_t own = h->c->keys[life_below(h->life, nr_keys(h))];
	const uint32_t keys[] = {
		s->keys.nr ? s->keys.key[life_below(h->life, s->keys.nr)] : 0,
		s->keys.page_key, s->keys.map_key, s->keys.published_key,
		s->tt_rkey, q ? q->arena_rkey : 0, q ? q->arena_key : 0,
		h->old_key[life_below(h->life, MAX_OLD_KEYS)],
		own ^ 1u << life_below(h->life, 32),
		own + 0x100 * (1 + life_below(h->life, 8)),
		own - 0x100 * (1 + life_below(h->life, 8)),
		life_below(h->life, 0x200) << 8 | WRC_KEY_VARIANT,
		hostile_guess_key(h),
	};

	return keys[life_below(h->life, sizeof(keys) / sizeof(keys[0]))];
}

static uint64_t any_address(struct hostile *h)
{
	struct life *l = h->life;
	uint64_t slot = (h->base + life_below(l, HOSTILE_SLOTS)) %
			WRC_KEY_SLOTS * WRC_KEY_STRIDE;
	const uint64_t at[] = {
		slot, slot + life_below(l, PAGE), slot + PAGE - 1,
		slot + PAGE * (1 + life_below(l, 3)),
		slot - 1 - life_below(l, PAGE),
		KEY_END - 1 - life_below(l, PAGE), KEY_END,
		KEY_END + slot, 0, life_below(l, WRC_KEY_SLOTS) *
				   (uint64_t)WRC_KEY_STRIDE,
		slot | 1ull << (28 + life_below(l, 36)),
		page_addr(life_below(l, l->bed.m.pool.pages)),
		hostile_guess_address(h),
	};

	return at[life_below(l, sizeof(at) / sizeof(at[0]))];
}

/* What chains know, under the number and at the address by which they know it. */
static void real_target(struct hostile *h, struct hostile_wr *wr)
{
	struct manager *m = &h->life->bed.m;
	struct sess *s = m->sess[life_below(h->life, m->nr_sess)];
	struct queue *q = s->nr_queues ? s->queues[0][life_below(h->life, 4)] :
			  NULL;
	uint64_t page = page_addr(life_below(h->life, m->pool.pages));
	uint64_t arena = q && !q->bare ? (uintptr_t)q->arena.va : 0;
	const struct {
		uint32_t key;
		uint64_t at;
	} all[] = {
		{ s->keys.page_key, page }, { m->pool.page_key, page },
		{ q ? q->arena_key : 0, arena }, { q ? q->arena_rkey : 0, arena },
		{ s->keys.map_key, 0 }, { s->keys.published_key, 0 },
		{ s->tt.key, 0 }, { s->tt_rkey, 0 },
		{ s->keys.nr ? s->keys.key[0] : 0,
		  life_below(h->life, HONEST_SLOTS) * WRC_KEY_STRIDE },
		{ s->ring.key, RING_IOVA },
	};
	unsigned int i = life_below(h->life, sizeof(all) / sizeof(all[0]));

	wr->rkey = all[i].key;
	wr->raddr = all[i].at;
}

static uint32_t any_len(struct life *l)
{
	switch (life_below(l, 6)) {
	case 0:
		return 0;
	case 1:
		return 1 + life_below(l, 64);
	case 2:
		return PAGE + 1 + life_below(l, MAX_LONG - PAGE);
	case 3:
		return 1 + life_below(l, PAGE);
	default:
		return PAGE;
	}
}

/* What waits for a receive entry where there is none is the last that is sent. */
static uint8_t any_opcode(struct life *l)
{
	static const uint8_t opcodes[] = {
		WRC_WQE_READ, WRC_WQE_READ, WRC_WQE_READ, WRC_WQE_WRITE,
		WRC_WQE_WRITE, WRC_WQE_WRITE, WRC_WQE_CS, WRC_WQE_FA,
		WRC_WQE_WRITE_IMM,
	};
	uint8_t op = opcodes[life_below(l, sizeof(opcodes))];

	return op == WRC_WQE_WRITE_IMM && !life_chance(l, 4) ? WRC_WQE_WRITE :
							       op;
}

void hostile_any_key(struct hostile *h, int conn)
{
	struct life *l = h->life;
	struct hostile_wr wr = {
		.opcode = any_opcode(l), .len = any_len(l),
		.swap_add = life_random(l), .imm = life_random(l),
	};

	if (!nr_keys(h) || !hostile_room(h, conn))
		return;
	if (wr.opcode == WRC_WQE_CS || wr.opcode == WRC_WQE_FA)
		wr.len = 8;
	wr.raddr = any_address(h);
	wr.rkey = life_chance(l, 2) ? any_key(h) :
		  h->c->keys[life_below(l, nr_keys(h))];
	if (life_chance(l, 3))
		real_target(h, &wr);
	l->count->others++;
	post(h, conn, &wr);
}

/* ---- what led somewhere ------------------------------------------------------------ */

/* Until one of them is answered, which speaks for those before it. */
static bool ask(struct hostile *h, unsigned int conn, uint64_t tt_addr)
{
	unsigned int n;

	for (n = 0; n < MAX_ASKS && hostile_may(h, conn); n++) {
		hostile_request(h, conn, tt_addr);
		bed_run_ns(&h->life->bed, ASK_NS);
		hostile_reap(h);
		if (h->answered[conn] == h->last_id)
			return true;
		/* Twice would be wrong of a store. */
		if (conn % ODRP_WIRE_NR_CHAINS != ODRP_WIRE_INVALIDATE)
			break;
	}
	return false;
}

static bool is_idle(const struct hostile *h, unsigned int conn)
{
	const struct conn *n = hostile_conn(h, conn);

	return hostile_bare(h, conn) && n->posted == n->completed;
}

void hostile_stale(struct hostile *h)
{
	struct life *l = h->life;
	unsigned int by = life_below(l, LIFE_QUEUES) * ODRP_WIRE_NR_CHAINS +
			  (life_chance(l, 2) ? ODRP_WIRE_LOAD :
					       ODRP_WIRE_MAPPED_STORE);
	unsigned int inval = life_below(l, LIFE_QUEUES) * ODRP_WIRE_NR_CHAINS +
			     ODRP_WIRE_INVALIDATE;
	struct hostile_wr wr = {
		.opcode = by % ODRP_WIRE_NR_CHAINS == ODRP_WIRE_LOAD ?
			  WRC_WQE_READ : WRC_WQE_WRITE,
		.len = PAGE,
	};
	int slot = hostile_slot(h, true);

	if (slot < 0 || !nr_keys(h))
		return;
	h->touched[slot] = true;
	if (hostile_may(h, by) && life_chance(l, 2)) {
		hostile_by_key(h, by, h->base + slot);
		bed_run_ns(&l->bed, life_below(l, ASK_NS));
	}
	if (!ask(h, inval, (h->base + slot) * 8))
		return;
	look_at_keys(l);
	life_churn(l, life_below(l, 3));
	hostile_reap(h);
	if (!h->c || !is_idle(h, by))
		return;
	at_slot(h, h->base + slot, &wr);
	wr.raddr += life_below(l, PAGE);
	wr.len = 1 + life_below(l, PAGE - wr.raddr % PAGE);
	wr.forbidden = true;
	l->count->others++;
	post(h, by, &wr);
}
