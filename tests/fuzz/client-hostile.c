// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compute node that owns a real session and does what it likes: its life.
 * What it sends is in client-attack.c.
 *
 * A valid request is made by the reference client (tests/lib/cnode.c), taken
 * from it before it is posted, and changed.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/keymap.h"
#include "client-hostile.h"

/* Unless it wants to starve the others. */
#define LEAVE_FREE(l)	((l)->acts & ACT_SAME_SLOT ? 16u : 40u)

/* ---- memory -------------------------------------------------------------- */

/* Used again by every life: big, and nobody needs it to be clean. */
static uint8_t *memory(unsigned int node)
{
	static uint8_t *mem[BED_NODES];

	if (!mem[node])
		mem[node] = aligned_alloc(4096, HOSTILE_MEM);
	assert_non_null(mem[node]);
	return mem[node];
}

uint8_t *hostile_send_room(struct hostile *h)
{
	return h->mem + h->next_send++ % NR_SENDS * SEND_ROOM;
}

uint8_t *hostile_recv_room(struct hostile *h)
{
	return h->mem + NR_SENDS * SEND_ROOM +
	       h->next_recv++ % NR_RECVS * PAGE;
}

/* No byte is above 0x7f. */
static __be32 mark_of(unsigned int node)
{
	return htobe32(0x2b6d1e40 + node);
}

void hostile_fill(struct hostile *h, void *page)
{
	const __be32 mark = mark_of(h->node);
	__be32 *p = page;
	unsigned int i;

	/* Below all bytes of marks: where one page ends within a mark and another
	 * goes on, there is no other node's. */
	memset(page, life_below(h->life, 0x1d) + 1, PAGE);
	for (i = 0; i < PAGE / sizeof(*p); i += 4)
		p[i] = mark;
}

void hostile_scan(struct hostile *h)
{
	uint8_t *p = h->mem + NR_SENDS * SEND_ROOM;
	unsigned int i;

	if (honest_seen(p, NR_RECVS * PAGE))
		life_wrong(h->life, WRONG_LEAK, "hostile node %u has received a "
			   "piece of an honest page, or of nobody's", h->node);
	for (i = 0; i < h->life->nr_hostile; i++) {
		unsigned int node = h->life->hostile[i].node;
		const __be32 mark = mark_of(node);

		if (node != h->node &&
		    memmem(p, NR_RECVS * PAGE, &mark, sizeof(mark)))
			life_wrong(h->life, WRONG_LEAK, "hostile node %u has "
				   "received a piece of node %u's page",
				   h->node, node);
	}
}

/* ---- connections ---------------------------------------------------------- */

static void set_cnode(struct hostile *h, struct cnode *c)
{
	h->c = c;
	h->life->bed.nodes[h->node].cnode = c;	/* which sends heartbeats */
	memset(h->sent, 0, sizeof(h->sent));
	memset(h->asked, 0, sizeof(h->asked));
	memset(h->deaf, 0, sizeof(h->deaf));
}

static void open_session(struct hostile *h)
{
	struct bed_node *n = &h->life->bed.nodes[h->node];
	struct cnode_refusal no;
	struct cnode *c;

	/* Many: on both sides of where its second key begins. */
	h->base = n->cfg.keyed && life_chance(h->life, 4) ?
		  WRC_KEY_SLOTS - HOSTILE_SLOTS / 2 : 0;
	n->cfg.nr_slots = h->base + HOSTILE_SLOTS;
	n->cfg.queues = LIFE_QUEUES;
	n->cfg.depth = LIFE_DEPTH;
	n->cfg.ignore_lease = true;
	n->cfg.answer_every = 2;	/* so that it holds them back */
	if (cnode_open(&n->cfg, &c, &no))
		return;
	set_cnode(h, c);
	h->life->count->sessions++;
	if (snic_mkey_reg(n->host.nic, c->pdn, h->mem, HOSTILE_MEM,
			  (uintptr_t)h->mem, SNIC_LOCAL_WRITE |
			  SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC, &h->key))
		h->key = 0;
}

/* Only while it has a session. */
static unsigned int nr_keys(const struct cnode *c)
{
	return c->keys ? (c->info.nr_slots + WRC_KEY_SLOTS - 1) /
			 WRC_KEY_SLOTS : 0;
}

static void remember_keys(struct hostile *h, const struct cnode *c)
{
	unsigned int i;

	for (i = 0; i < nr_keys(c); i++)
		h->old_key[h->nr_old++ % MAX_OLD_KEYS] = c->keys[i];
}

void hostile_end(struct hostile *h, bool say)
{
	struct snic *nic = h->life->bed.nodes[h->node].host.nic;
	struct cnode *c = h->c;
	unsigned int i;

	if (!c)
		return;
	set_cnode(h, NULL);
	remember_keys(h, c);
	/* Its protection domain is freed with the node. */
	for (i = 0; i < c->nr_conns; i++)
		if (c->conns[i].qpn)
			snic_qp_error(nic, c->conns[i].qpn);
	if (h->key)
		snic_mkey_dereg(nic, h->key);
	h->key = 0;
	if (say)
		cnode_close(c);
	else
		cnode_die(c);
}

bool hostile_up(const struct hostile *h, unsigned int conn)
{
	return h->c && conn < h->c->nr_conns && h->c->conns[conn].up &&
	       !h->c->conns[conn].broken;
}

bool hostile_bare(const struct hostile *h, unsigned int conn)
{
	return hostile_up(h, conn) && h->c->conns[conn].bare;
}

void hostile_resume(struct hostile *h)
{
	struct cnode_refusal no;
	struct cnode *c = h->c;

	if (life_chance(h->life, 2))
		hostile_strike(h);
	bed_run_ns(&h->life->bed, life_below(h->life, 20000));
	cnode_lose(c, life_chance(h->life, 2));
	if (life_chance(h->life, 2))
		bed_pump(&h->life->bed);
	else
		bed_run_ns(&h->life->bed, life_below(h->life, 3000000));
	h->life->count->others++;
	if (cnode_resume(c, &no)) {
		hostile_end(h, false);
		return;
	}
	set_cnode(h, c);
	h->life->count->resumed++;
}

static void reconnect(struct hostile *h, unsigned int conn)
{
	struct cnode_refusal no;

	h->deaf[conn] = false;
	h->asked[conn] = 0;
	if (cnode_reconnect(h->c, conn / ODRP_WIRE_NR_CHAINS,
			    conn % ODRP_WIRE_NR_CHAINS, &no))
		return;
	h->sent[conn] = 0;
	h->life->count->reconnects++;
}

void hostile_connect(struct hostile *h)
{
	unsigned int i;

	if (h->c && cnode_admin_broken(h->c))
		hostile_end(h, life_chance(h->life, 2));
	if (!h->c) {
		/* What the one before has dropped comes back by and by. */
		open_session(h);
		return;
	}
	for (i = 0; i < h->c->nr_conns; i++) {
		if (cnode_broken(h->c, i / ODRP_WIRE_NR_CHAINS,
				 i % ODRP_WIRE_NR_CHAINS) &&
		    life_chance(h->life, 2))
			reconnect(h, i);
	}
}

struct sess *hostile_sess(const struct hostile *h)
{
	struct cnode_info info;

	if (!h->c)
		return NULL;
	cnode_info(h->c, &info);
	return manager_find_wire(&h->life->bed.m, info.session);
}

void hostile_init(struct hostile *h, struct life *l, unsigned int node)
{
	*h = (struct hostile){ .life = l, .node = node };
	h->mem = memory(node);
	memset(h->mem, 0, HOSTILE_MEM);
	hostile_take_port(l->bed.nodes[node].ports[0]);
}

void hostile_fini(struct hostile *h)
{
	hostile_end(h, false);
}

/* ---- completions ----------------------------------------------------------- */

static void credit(struct hostile *h, unsigned int conn)
{
	struct conn *n = &h->c->conns[conn];
	unsigned int room = h->deaf[conn] ? 0 : 1u << n->log_rq;

	n->dbr->rcv = htobe32((n->received + room) & 0xffff);
}

void hostile_set_deaf(struct hostile *h, unsigned int conn, bool deaf)
{
	h->deaf[conn] = deaf;
	credit(h, conn);
}

static void went_well(struct hostile *h, unsigned int conn, uint16_t counter)
{
	const struct conn *n = &h->c->conns[conn];

	if (n->tag_of[counter & ((1u << n->log_sq) - 1)] == HOSTILE_FORBIDDEN)
		life_wrong(h->life, WRONG_STALE, "hostile node %u reached "
			   "something by a key that is not its own, or leads "
			   "nowhere", h->node);
	h->life->count->answers += n->bare;
}

static void completed(struct hostile *h, const struct wrc_cqe *cqe)
{
	unsigned int index = be32toh(cqe->srqn_uidx) & 0xffffff;
	struct conn *n;

	if (!index || index > h->c->nr_conns)
		return;
	n = &h->c->conns[index - 1];
	if ((be32toh(cqe->sop_qpn) & 0xffffff) != n->qpn)
		return;
	switch (cqe->op_own >> 4) {
	case WRC_CQE_REQ:
		n->completed++;
		went_well(h, index - 1, be16toh(cqe->wqe_counter));
		break;
	case WRC_CQE_RESP_WR_IMM:
		h->answered[index - 1] = be32toh(cqe->imm);
		if (++n->received > h->asked[index - 1])
			life_wrong(h->life, WRONG_UNASKED, "chain %u of hostile "
				   "node %u answered %u times to %u requests",
				   (index - 1) % ODRP_WIRE_NR_CHAINS, h->node,
				   n->received, h->asked[index - 1]);
		h->life->count->answers++;
		credit(h, index - 1);
		break;
	}
}

void hostile_reap(struct hostile *h)
{
	struct snic *nic = h->life->bed.nodes[h->node].host.nic;
	struct wrc_cqe cqe;

	if (!h->c)
		return;
	while (!snic_cq_poll(nic, h->c->cqn, &cqe))
		completed(h, &cqe);
	cnode_events(h->c);
}

void hostile_stop_stuck(struct hostile *h)
{
	struct snic *nic = h->life->bed.nodes[h->node].host.nic;
	unsigned int i;

	for (i = 0; h->c && i < h->c->nr_conns; i++) {
		if (hostile_up(h, i) &&
		    h->c->conns[i].posted != h->c->conns[i].completed)
			snic_qp_error(nic, h->c->conns[i].qpn);
	}
}

void hostile_quiet(struct hostile *h)
{
	unsigned int i;

	memset(h->touched, 0, sizeof(h->touched));
	for (i = 0; i < NR_CONNS; i++) {
		if (h->deaf[i] && h->c && life_chance(h->life, 2))
			hostile_set_deaf(h, i, false);
		else if (!h->deaf[i])
			h->sent[i] = 0;
	}
}

/* ---- posting --------------------------------------------------------------- */

static void put_be(uint8_t *p, uint64_t v, unsigned int len)
{
	while (len--) {
		p[len] = v;
		v >>= 8;
	}
}

struct conn *hostile_conn(const struct hostile *h, int conn)
{
	return conn < 0 ? &h->c->admin : &h->c->conns[conn];
}

bool hostile_room(const struct hostile *h, int conn)
{
	const struct conn *n = hostile_conn(h, conn);

	return n->up && !n->broken &&
	       n->posted - n->completed < 1u << n->log_sq;
}

void hostile_post(struct hostile *h, int conn, const struct hostile_wr *wr)
{
	struct conn *n = hostile_conn(h, conn);
	unsigned int place = n->posted & ((1u << n->log_sq) - 1);
	uint8_t *wqe = n->sq + 64 * place, *at = wqe + 16;
	struct wrc_wqe_ctrl *ctrl = (void *)wqe;
	struct wrc_wqe_data *data;

	memset(wqe, 0, 64);
	ctrl->opcode = wr->opcode == HOSTILE_SEND_INV ? WRC_WQE_SEND_IMM :
							wr->opcode;
	put_be(ctrl->index, n->posted & 0xffff, 2);
	put_be(ctrl->qpn, n->qpn, 3);
	ctrl->fm_ce_se = WRC_WQE_CE_ALWAYS;
	ctrl->imm = htobe32(hostile_imm(wr->opcode, wr->imm));
	if (ctrl->opcode != WRC_WQE_SEND && ctrl->opcode != WRC_WQE_SEND_IMM) {
		struct wrc_wqe_raddr *remote = (void *)at;

		remote->addr = htobe64(wr->raddr);
		remote->rkey = htobe32(wr->rkey);
		at += sizeof(*remote);
	}
	if (wr->opcode == WRC_WQE_CS || wr->opcode == WRC_WQE_FA) {
		put_be(at, wr->swap_add, 8);
		put_be(at + 8, wr->compare, 8);
		at += 16;
	}
	/* A segment of length 0 would be one of 2 GB. */
	if (wr->len) {
		data = (void *)at;
		data->byte_count = htobe32(wr->len);
		data->lkey = htobe32(h->key);
		data->addr = htobe64((uintptr_t)wr->local);
		at += sizeof(*data);
	}
	ctrl->ds = (at - wqe) / 16;
	n->tag_of[place] = wr->forbidden ? HOSTILE_FORBIDDEN : MAX_TAGS;
	n->posted++;
	n->dbr->snd = htobe32(n->posted & 0xffff);
	snic_qp_doorbell(h->life->bed.nodes[h->node].host.nic, n->qpn, n->posted);
}

/* The reference client's request, taken from it before it is posted. */
uint8_t *hostile_make(struct hostile *h, unsigned int conn, size_t *ret_len)
{
	unsigned int chain = conn % ODRP_WIRE_NR_CHAINS;
	struct conn *n = hostile_conn(h, conn);
	uint8_t *p = hostile_send_room(h);
	__be32 page[PAGE / sizeof(__be32)];
	int tag;

	hostile_fill(h, page);
	if (cnode_submit(h->c, conn / ODRP_WIRE_NR_CHAINS, chain, 0, page, 0) ||
	    !n->nr_held)
		return NULL;
	tag = n->held[--n->nr_held];
	n->tags[tag].busy = false;
	n->nr_busy--;
	*ret_len = conn_req_bytes(chain);
	memcpy(p, n->bufs + (size_t)tag * (REQ_ROOM + PAGE), *ret_len);
	return p;
}

/* With keys it may have whatever its own ring has. */
static bool leaves_free(const struct hostile *h)
{
	const struct sess *s = bed_keyed ? hostile_sess(h) :
					   h->life->bed.m.sess[0];

	return s && ring_pages(&s->ring) >= (bed_keyed ? LIFE_DEPTH :
					     LEAVE_FREE(h->life));
}

/* May it post one more, by the rules that it keeps? */
bool hostile_may(struct hostile *h, unsigned int conn)
{
	struct life *l = h->life;

	if (!hostile_up(h, conn) || !hostile_room(h, conn))
		return false;
	if (hostile_bare(h, conn))
		return true;
	if (l->acts & ACT_NO_LOADS &&
	    conn % ODRP_WIRE_NR_CHAINS == ODRP_WIRE_LOAD)
		return false;
	if (!(l->acts & ACT_GREEDY) &&
	    h->sent[conn] >= hostile_conn(h, conn)->depth)
		return false;
	return conn % ODRP_WIRE_NR_CHAINS != ODRP_WIRE_UNMAPPED_STORE ||
	       l->acts & (ACT_STARVE | ACT_DROP) || leaves_free(h);
}
