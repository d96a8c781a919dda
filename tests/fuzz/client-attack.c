// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a hostile compute node sends.
 */
#include <endian.h>
#include <string.h>
#include "core/link.h"
#include "client-hostile.h"

#define CHAIN_NS	20000		/* in which one is through */

/* ---- requests -------------------------------------------------------------- */

static uint64_t odd_address(struct hostile *h)
{
	const uint64_t end = (h->base + HOSTILE_SLOTS) * 8;
	const uint64_t odd[] = {
		end, end + 8, 4088, 4096, 1ull << 20, 1ull << 63, -8ull,
		-4096ull, RING_IOVA, WRC_POOL_IOVA, WRC_POOL_IOVA + 4096,
		life_random(h->life) & ~7ull,
	};

	return odd[life_below(h->life, sizeof(odd) / sizeof(odd[0]))];
}

/* A slot that nothing is under way on; -1: none was found. */
static int free_slot(struct hostile *h)
{
	unsigned int tries, slot;

	if (h->life->acts & ACT_DROP)
		return 0;
	for (tries = 0; tries < 8; tries++) {
		slot = life_below(h->life, h->life->acts & ACT_SAME_SLOT ? 4 :
				  HOSTILE_SLOTS);
		if (!h->touched[slot] || h->life->acts & ACT_SAME_SLOT)
			return slot;
	}
	return -1;
}

uint32_t hostile_guess_key(struct hostile *h)
{
	struct manager *m = &h->life->bed.m;
	struct sess *s = m->sess[life_below(h->life, m->nr_sess)];
	struct queue *q = s->nr_queues ? s->queues[0][life_below(h->life, 4)] :
			  NULL;
	const uint32_t keys[] = {
		h->key, m->pool.page_key, s->ring.key, s->tt.key,
		s->beat_key, q ? q->arena_key : 0, 1,
		life_random(h->life), 0x100, 0,
	};

	return keys[life_below(h->life, sizeof(keys) / sizeof(keys[0]))];
}

uint64_t hostile_guess_address(struct hostile *h)
{
	struct manager *m = &h->life->bed.m;
	struct sess *s = m->sess[life_below(h->life, m->nr_sess)];
	struct queue *q = s->nr_queues ? s->queues[0][life_below(h->life, 4)] :
			  NULL;
	const uint64_t at[] = {
		page_addr(life_below(h->life, m->pool.pages)),
		page_addr(life_below(h->life, m->pool.pages)),
		RING_IOVA, ring_head_iova(&s->ring), ring_tail_iova(&s->ring),
		8 * (h->base + life_below(h->life, HOSTILE_SLOTS)),
		SESS_BEAT_IOVA,
		q ? (uintptr_t)q->arena.va : 0,
		q ? (uintptr_t)q->arena.va + q->geom.loop_sq : 0,
		(uintptr_t)h->mem, life_random(h->life), -8ull, 0,
	};

	return at[life_below(h->life, sizeof(at) / sizeof(at[0]))];
}

/* The key and the address of one thing, as somebody who has seen all would
 * know them. */
static void real_target(struct hostile *h, uint64_t *at, uint32_t *key)
{
	struct manager *m = &h->life->bed.m;
	struct sess *s = m->sess[life_below(h->life, m->nr_sess)];
	struct queue *q = s->nr_queues ? s->queues[0][life_below(h->life, 4)] :
			  NULL;

	switch (life_below(h->life, q ? 5 : 4)) {
	case 0:
		*at = page_addr(life_below(h->life, m->pool.pages));
		*key = m->pool.page_key;
		break;
	case 1:
		*at = RING_IOVA + 8 * life_below(h->life, m->pool.pages);
		*key = s->ring.key;
		break;
	case 2:
		*at = 8 * life_below(h->life, HONEST_SLOTS);
		*key = s->tt.key;
		break;
	case 3:
		*at = SESS_BEAT_IOVA;
		*key = s->beat_key;
		break;
	case 4:
		*at = (uintptr_t)q->arena.va;
		*key = q->arena_key;
		break;
	}
}

static void target(struct hostile *h, uint64_t *at, uint32_t *key)
{
	if (life_chance(h->life, 2)) {
		real_target(h, at, key);
		return;
	}
	*at = hostile_guess_address(h);
	*key = hostile_guess_key(h);
}

static void put(uint8_t *p, uint64_t v, unsigned int len)
{
	while (len--) {
		p[len] = v;
		v >>= 8;
	}
}

/* Sets the opcode of the next answer, and the half of an address behind a page. */
static void lie(struct hostile *h, uint8_t *p, size_t len)
{
	struct life *l = h->life;

	if (life_chance(l, 2))
		p[sizeof(struct odrp_wire_req)] = life_random(l);
	if (len > PAGE && life_chance(l, 2))
		put(p + ODRP_WIRE_REQ_LEN + PAGE,
		    life_chance(l, 2) ? life_below(l, 16) : life_random(l),
		    ODRP_WIRE_END_LEN);
}

static void junk(struct hostile *h, uint8_t *p, size_t *len)
{
	struct life *l = h->life;
	size_t from = life_chance(l, 2) ? 0 : life_below(l, *len + 1), i;

	if (life_chance(l, 2))
		*len = life_below(l, MAX_RAW + 1);
	for (i = from; i < *len && i < from + 256; i++)
		p[i] = life_random(l);
}

static void cut(struct hostile *h, size_t *len)
{
	if (*len > ODRP_WIRE_REQ_LEN && !life_chance(h->life, 8))
		*len = ODRP_WIRE_REQ_LEN + life_below(h->life, *len - ODRP_WIRE_REQ_LEN);
	else
		*len += 1 + life_below(h->life, 64);
}

static bool wants(struct hostile *h, enum act act, unsigned int rarely)
{
	return h->life->acts & act && life_chance(h->life, rarely);
}

/* Whatever takes a receive entry and brings a message to it. */
static uint8_t any_send(struct hostile *h)
{
	static const uint8_t opcodes[] = {
		WRC_WQE_SEND, WRC_WQE_SEND, WRC_WQE_SEND_IMM, HOSTILE_SEND_INV,
	};

	return opcodes[life_below(h->life, sizeof(opcodes))];
}

void hostile_request(struct hostile *h, unsigned int conn, uint64_t tt_addr)
{
	struct hostile_wr wr = { .opcode = WRC_WQE_SEND };
	struct life *l = h->life;
	struct odrp_wire_req req;
	uint32_t key;
	size_t len;
	uint8_t *p;
	uint64_t at;

	if (hostile_bare(h, conn)) {
		hostile_by_key(h, conn, tt_addr / 8);
		return;
	}
	p = hostile_make(h, conn, &len);
	if (!p)
		return;
	at = (uintptr_t)hostile_recv_room(h);
	h->last_id = life_random(l);
	req = (struct odrp_wire_req){
		.tt_addr = htobe64(tt_addr), .id = htobe32(h->last_id),
		.rkey = htobe32(h->key),
	};
	if (wants(h, ACT_TARGET, 12)) {
		target(h, &at, &key);
		req.rkey = htobe32(key);
	}
	req.raddr_hi = htobe32(at >> 32);
	req.raddr_lo = htobe32(at);
	memcpy(p, &req, sizeof(req));
	if (life_chance(l, 4))
		p[sizeof(struct odrp_wire_req)] = ODRP_WIRE_NEXT_QUIET;
	/* Not often: a store without its end is the last of its connection. */
	if (wants(h, ACT_SHORT, 48))
		cut(h, &len);
	if (wants(h, ACT_WORDS, 3))
		lie(h, p, len);
	if (wants(h, ACT_JUNK, 3))
		junk(h, p, &len);
	h->sent[conn]++;
	h->asked[conn]++;
	l->count->requests++;
	wr.local = p;
	wr.len = len;
	if (l->acts & ACT_ONE_SIDED) {
		wr.opcode = any_send(h);
		wr.imm = hostile_guess_key(h);
	}
	hostile_post(h, conn, &wr);
}

/* ---- one-sided --------------------------------------------------------------- */

/* Without the bytes of a request. */
static void empty_send(struct hostile *h, int conn)
{
	if (conn >= 0) {
		if (!hostile_may(h, conn))
			return;
		h->sent[conn]++;
		h->asked[conn]++;
	}
	h->life->count->others++;
	hostile_post(h, conn, &(struct hostile_wr){
		.opcode = any_send(h), .imm = hostile_guess_key(h),
		.local = hostile_send_room(h),
		.len = life_chance(h->life, 2) ? 0 : life_below(h->life, 8) });
}

/* At most a page; often nothing, which needs no key. */
static uint32_t any_len(struct hostile *h)
{
	switch (life_below(h->life, 4)) {
	case 0:
		return 0;
	case 1:
		return 1 + life_below(h->life, PAGE);
	default:
		return 1 + life_below(h->life, 64);
	}
}

void hostile_one_sided(struct hostile *h, int conn)
{
	static const uint8_t opcodes[] = {
		WRC_WQE_READ, WRC_WQE_READ, WRC_WQE_WRITE, WRC_WQE_WRITE,
		WRC_WQE_WRITE_IMM, WRC_WQE_WRITE_IMM, WRC_WQE_CS, WRC_WQE_FA,
		WRC_WQE_SEND,
	};
	struct life *l = h->life;
	struct hostile_wr wr = {
		.opcode = opcodes[life_below(l, sizeof(opcodes))],
		.len = 8, .swap_add = life_random(l), .imm = life_random(l),
	};

	if (!hostile_room(h, conn))
		return;
	/* What waits for a receive entry on the admin connection, where there
	 * is none, is the last that comes there. */
	if (conn < 0 && !life_chance(l, 8) &&
	    (wr.opcode == WRC_WQE_WRITE_IMM || wr.opcode == WRC_WQE_SEND))
		wr.opcode = WRC_WQE_WRITE;
	if (wr.opcode == WRC_WQE_SEND) {
		empty_send(h, conn);
		return;
	}
	target(h, &wr.raddr, &wr.rkey);
	wr.local = hostile_recv_room(h);
	if (wr.opcode == WRC_WQE_WRITE || wr.opcode == WRC_WQE_WRITE_IMM) {
		wr.local = hostile_send_room(h);
		memset(wr.local, 0x5a, PAGE);
	}
	if (wr.opcode != WRC_WQE_CS && wr.opcode != WRC_WQE_FA)
		wr.len = any_len(h);
	l->count->others++;
	hostile_post(h, conn, &wr);
}

void hostile_beat(struct hostile *h)
{
	struct life *l = h->life;
	struct odrp_wire_beat *b;
	const uint64_t odd[] = {
		0, 1, 100, 1u << 20, UINT32_MAX, 1ull << 63, UINT64_MAX,
		life_random(l),
	};
	unsigned int i;

	if (!hostile_room(h, -1))
		return;
	b = (void *)hostile_send_room(h);
	for (i = 0; i < sizeof(*b) / 8; i++)
		((__be64 *)b)[i] = htobe64(odd[life_below(l, 8)]);
	/* Its MAC is right: else nobody would look at it. */
	b->beat = htobe64(be64toh(h->c->mem->beat.beat) + life_below(l, 4));
	b->ctl_raddr = htobe64(life_chance(l, 4) ? hostile_guess_address(h) :
			       (uintptr_t)hostile_recv_room(h));
	b->ctl_rkey = htobe32(life_chance(l, 4) ? hostile_guess_key(h) : h->key);
	cnode_sign_beat(h->c, b);
	/* Those behind it count, too. */
	h->c->mem->beat.beat = b->beat;
	l->count->others++;
	hostile_post(h, -1, &(struct hostile_wr){
		.opcode = WRC_WQE_WRITE, .local = b, .len = sizeof(*b),
		.raddr = h->c->beat_raddr, .rkey = h->c->beat_rkey });
}

/* ---- connection management ----------------------------------------------------- */

static unsigned int pumps_left;

/* Gives up in the middle. */
static bool pump_some(void *arg)
{
	return pumps_left-- && bed_pump(arg);
}

/* To be taken up: its own, or another's with a token that is not. */
static void want_session(struct life *l, const struct sess *victim,
			 const struct sess *own, struct odrp_wire_hello *hello)
{
	const struct sess *s = own && life_chance(l, 2) ? own : victim;

	hello->session = htobe64(s->id);
	hello->token = htobe64(own ? own->token : life_random(l));
	if (life_chance(l, 4))
		return;
	hello->queue = htobe16(s->nr_queues);
	hello->depth = htobe16(s->depth);
	hello->nr_slots = htobe64(s->tt.nr_slots);
}

/* The first message of a handshake, or a request in the name of some pass. */
static void proof_hello(struct hostile *h, const struct cnode_config *cfg)
{
	struct life *l = h->life;
	const struct pass *pass = l->bed.m.idents.passes;
	union {
		struct odrp_auth_initiation initiation;
		struct odrp_auth_req req;
		uint64_t words[7];
	} say;
	struct cnode_refusal no;
	unsigned int i;

	for (i = 0; i < 7; i++)
		say.words[i] = life_random(l);
	say.req.magic = htobe32(ODRP_AUTH_MAGIC);
	say.req.version = htobe16(ODRP_AUTH_VERSION + life_chance(l, 8));
	say.req.role = 1 + life_below(l, 3);
	say.initiation.suite = say.req.role == ODRP_AUTH_HANDSHAKE ?
			  ODRP_AUTH_HMAC_SHA256 : life_below(l, 5);
	for (i = life_below(l, 4); pass && i; i--)
		pass = pass->next;
	if (say.req.role != ODRP_AUTH_HANDSHAKE && pass)
		say.req.handle = htobe64(pass->handle);
	cnode_try_hello(cfg, &say, sizeof(say), &no);
	l->count->others++;
}

void hostile_hello(struct hostile *h)
{
	struct life *l = h->life;
	struct manager *m = &l->bed.m;
	struct cnode_config cfg = l->bed.nodes[h->node].cfg;
	struct sess *victim = m->sess[life_below(l, m->nr_sess)];
	struct sess *own = hostile_sess(h);
	struct odrp_wire_hello hello;
	struct cnode_refusal no;
	unsigned int bit;

	pumps_left = life_chance(l, 2) ? life_below(l, 6) : 1000;
	cfg.pump = pump_some;
	if (life_chance(l, 12)) {
		proof_hello(h, &cfg);
		return;
	}
	cnode_hello(&hello, life_chance(l, 3) ? ODRP_WIRE_ADMIN :
		    ODRP_WIRE_IO);
	if (bed_keyed && life_chance(l, 2))
		hello.features = htobe32(ODRP_WIRE_F_KEYED);
	hello.queue = htobe16(life_below(l, LIFE_QUEUES + 1));
	hello.depth = htobe16(life_below(l, LIFE_DEPTH + 2));
	if (hello.role == ODRP_WIRE_IO) {
		hello.chain = life_below(l, ODRP_WIRE_NR_CHAINS + 1);
		hello.session = htobe64(victim->id);
		hello.token = own ? htobe64(own->token) : 0;
		if (own && life_chance(l, 2))
			hello.session = htobe64(own->id);
	} else {
		hello.nr_slots = htobe64(life_chance(l, 8) ? life_random(l) :
					 HOSTILE_SLOTS);
		if (life_chance(l, 2))
			want_session(l, victim, own, &hello);
	}
	if (life_chance(l, 4)) {
		bit = life_below(l, 8 * sizeof(hello));
		((uint8_t *)&hello)[bit / 8] ^= 1 << bit % 8;
	}
	cnode_try_hello(&cfg, &hello, life_chance(l, 8) ?
			life_below(l, sizeof(hello)) : sizeof(hello), &no);
	l->count->others++;
}

/* ---- the choice ------------------------------------------------------------------ */

static void hang_up(struct hostile *h, unsigned int conn)
{
	struct conn *n = hostile_conn(h, conn);

	snic_cm_disconnect(h->life->bed.nodes[h->node].host.nic, n->cm_id);
	n->broken = true;
	h->life->count->others++;
}

/* A slot that is untouched, mapped or not; -1: none was found. */
int hostile_slot(struct hostile *h, bool mapped)
{
	const struct sess *s = hostile_sess(h);
	unsigned int tries, slot;

	for (tries = 0; s && tries < 32; tries++) {
		slot = life_below(h->life, HOSTILE_SLOTS);
		if (!h->touched[slot] &&
		    !s->tt.entries[h->base + slot] == !mapped)
			return slot;
	}
	return -1;
}

/* The lower half of a store's address counts.  In the table it is one request of
 * two for a slot, which is another class's. */
static bool lands_alone(struct hostile *h, uint64_t tt_addr)
{
	uint64_t slot = (uint32_t)tt_addr / 8, i = slot - h->base;

	if (slot >= h->base + HOSTILE_SLOTS)
		return true;
	if (slot < h->base || h->touched[i])
		return false;
	h->touched[i] = true;
	return true;
}

static void request(struct hostile *h, unsigned int conn)
{
	struct life *l = h->life;
	uint64_t at;
	int slot;

	if (!hostile_may(h, conn))
		return;
	if (wants(h, ACT_RANGE, 16)) {
		at = odd_address(h);
		if (!bed_keyed || lands_alone(h, at))
			hostile_request(h, conn, at);
		return;
	}
	slot = free_slot(h);
	if (slot < 0)
		return;
	/* By key mostly one that is mapped: others break the connection. */
	if (hostile_bare(h, conn) && !life_chance(l, 8) &&
	    !(l->acts & ACT_SAME_SLOT))
		slot = hostile_slot(h, true);
	if (slot < 0)
		return;
	h->touched[slot] = !(l->acts & ACT_DROP);
	hostile_request(h, conn, (h->base + slot) * 8 +
			(wants(h, ACT_MISALIGNED, 2) ? life_below(l, 8) : 0));
}

/* Everything on one slot, on all connections, in some order. */
static void storm(struct hostile *h)
{
	unsigned int slot = life_below(h->life, 4), n, conn;

	for (n = 2 + life_below(h->life, 6); n; n--) {
		conn = life_below(h->life, NR_CONNS);
		if (hostile_may(h, conn))
			hostile_request(h, conn, (h->base + slot) * 8);
	}
}

/* A load whose answer is not taken before its page is somebody else's: the
 * answer is sent again from where it lies. */
static void trap(struct hostile *h)
{
	unsigned int first = life_below(h->life, LIFE_QUEUES) *
			     ODRP_WIRE_NR_CHAINS;
	unsigned int load = first + ODRP_WIRE_LOAD;
	unsigned int store = first + ODRP_WIRE_UNMAPPED_STORE;
	unsigned int inval = first + ODRP_WIRE_INVALIDATE;
	uint64_t at = 8 * (h->base + life_below(h->life, 4));
	struct bed *b = &h->life->bed;

	if (!hostile_may(h, load) || !hostile_may(h, store) ||
	    !hostile_may(h, inval))
		return;
	hostile_request(h, store, at);
	bed_run_ns(b, 50000);
	hostile_set_deaf(h, load, true);
	hostile_request(h, load, at);
	/* By key it is not the answer that takes its time. */
	bed_run_ns(b, hostile_bare(h, load) ? life_below(h->life, 2000) :
					      50000);
	hostile_request(h, inval, at);
	bed_run_ns(b, 50000);
	life_churn(h->life, 12);
	hostile_set_deaf(h, load, false);
}

void hostile_strike(struct hostile *h)
{
	struct sess *s = hostile_sess(h);
	unsigned int conn;
	int slot;

	for (conn = 0; s && conn < NR_CONNS; conn++) {
		slot = hostile_slot(h, conn % ODRP_WIRE_NR_CHAINS !=
				       ODRP_WIRE_UNMAPPED_STORE);
		if (slot < 0 || !hostile_may(h, conn))
			continue;
		h->touched[slot] = true;
		hostile_request(h, conn, (h->base + slot) * 8);
	}
}

/* The agent stops the chain wherever it is. */
static void cut_off(struct hostile *h)
{
	bool store = life_chance(h->life, 2);
	unsigned int conn = life_below(h->life, LIFE_QUEUES) *
			    ODRP_WIRE_NR_CHAINS +
			    (store ? ODRP_WIRE_UNMAPPED_STORE :
				     ODRP_WIRE_INVALIDATE);
	int slot = hostile_slot(h, !store);

	if (slot < 0 || !hostile_may(h, conn))
		return;
	h->touched[slot] = true;
	hostile_request(h, conn, (h->base + slot) * 8);
	bed_run_ns(&h->life->bed, life_below(h->life, CHAIN_NS));
	hang_up(h, conn);
	bed_pump(&h->life->bed);
	look_at_keys(h->life);
}

void hostile_act(struct hostile *h)
{
	struct life *l = h->life;
	unsigned int conn = life_below(l, NR_CONNS);

	if (l->acts & (ACT_DROP | ACT_STARVE) && !life_chance(l, 4))
		conn = life_below(l, LIFE_QUEUES) * ODRP_WIRE_NR_CHAINS +
		       ODRP_WIRE_UNMAPPED_STORE;
	if (!h->c)
		return;
	hostile_reap(h);
	if (wants(h, ACT_DIE, 40))
		hostile_end(h, life_chance(l, 2));
	else if (wants(h, ACT_RESUME, 20))
		hostile_resume(h);
	else if (wants(h, ACT_CUT_OFF, 6))
		cut_off(h);
	else if (wants(h, ACT_KEYS, 4))
		hostile_any_key(h, life_chance(l, 8) ? -1 : (int)conn);
	else if (wants(h, ACT_STALE, 6))
		hostile_stale(h);
	else if (wants(h, ACT_CM, 8))
		hostile_hello(h);
	else if (wants(h, ACT_BEAT, 4))
		hostile_beat(h);
	else if (wants(h, ACT_ONE_SIDED, 6))
		hostile_one_sided(h, life_chance(l, 4) ? -1 : (int)conn);
	else if (hostile_up(h, conn) && wants(h, ACT_HANG_UP, 30))
		hang_up(h, conn);
	else if (hostile_up(h, conn) && wants(h, ACT_DEAF, 12))
		hostile_set_deaf(h, conn, !h->deaf[conn]);
	else if (wants(h, ACT_DEAF, 12))
		trap(h);
	else if (wants(h, ACT_SAME_SLOT, 3))
		storm(h);
	else
		request(h, conn);
}
