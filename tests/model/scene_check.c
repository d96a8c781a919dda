// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What must hold in every state of a scene: I1, I2, I3, I5, I6; and with
 * translation in the NIC
 *
 *  K1	a page of which there is a translation is the key's CNode's, and in no ring.
 *	By I2 then it is in no other CNode's table or register, and as it has one
 *	owner no other CNode has a translation of it;
 *  K2	where a slot is at rest, and its CNode keeps the rules, the key leads to where
 *	the table does.
 */
#include "scene.h"

#define PAGE ODRP_WIRE_PAGE_SIZE

/* ---- I1, I2: every page in one place, which is its CNode's ---------------------- */

struct count {
	const struct scene *s;
	uint8_t seen[SCENE_PAGES];
	bool in_ring[SCENE_PAGES];
	bool ring;		/* what is counted now */
	bool foreign, anothers;
	const char *translated;
};

static void see(void *arg, uint64_t addr, uint16_t owner)
{
	struct count *c = arg;
	uint64_t page;

	if (!addr)
		return;
	if (!page_index(addr, c->s->nr_pages, &page)) {
		c->foreign = true;
		return;
	}
	c->seen[page]++;
	c->in_ring[page] |= c->ring;
	c->anothers |= c->s->owner[page] != owner;
}

/* wrc_held_of() is exact between any two WQEs, and what is on its way is where
 * it is going. */
static void see_chain(struct count *c, const struct scene_chain *ch,
		      uint16_t owner)
{
	struct wrc_held held;
	unsigned int i;

	for (i = 0; i < SCENE_DEPTH; i++)
		if (scene_held_of(ch, i, &held))
			c->foreign = true;
		else
			see(c, held.page, owner);
}

static void see_cnode(struct count *n, unsigned int cnode)
{
	uint16_t owner = scene_owner(cnode);
	const struct scene *s = n->s;
	unsigned int i;

	n->ring = true;
	for (i = 0; i < 1u << s->cfg.log_ring; i++)
		see(n, be64toh(s->ring[cnode].slot[i]), owner);
	n->ring = false;
	for (i = 0; i < SCENE_SLOTS; i++)
		see(n, be64toh(s->tt[cnode][i]), owner);
	for (i = 0; i < s->cfg.nr_chains; i++)
		if (s->cfg.chain[i].cnode == cnode &&
		    (!s->agent || !s->st.stopped[i]))
			see_chain(n, &s->chain[i], owner);
}

/* What a CNode that is gone has left in its memory is nothing any more. */
static void see_all(struct count *n)
{
	const struct scene *s = n->s;
	unsigned int c = s->agent && scene_agent_collected(s);

	for (; c < SCENE_CNODES; c++)
		see_cnode(n, c);
	if (s->agent)
		scene_agent_pages(s, n, see);
}

static const char *wrong_entry(const struct count *n, unsigned int cnode,
			       const struct wrc_ksm *e)
{
	const struct scene *s = n->s;
	uint64_t page;

	if (!e->key && !e->addr)
		return NULL;
	if (be32toh(e->key) != s->keys[cnode].pool ||
	    !page_index(be64toh(e->addr), s->nr_pages, &page))
		return "K1: a translation of what is no page";
	if (s->owner[page] != scene_owner(cnode))
		return "K1: a translation of a page that is not its CNode's";
	if (n->in_ring[page])
		return "K1: a translation of a free page";
	return NULL;
}

static void see_group(void *arg, unsigned int cnode,
		      const struct wrc_ksm *group)
{
	struct count *n = arg;
	unsigned int i;

	if (!n->translated)
		n->translated = wrong_entry(n, cnode, group);
	for (i = 1; i < WRC_KSM_GROUP; i++)
		if (group[i].key || group[i].addr)
			n->translated = "K1: a translation behind a page";
}

static const char *wrong_places(const struct scene *s)
{
	struct count n = { .s = s };
	unsigned int i;

	see_all(&n);
	if (n.foreign)
		return "I1: something that is no page";
	for (i = 0; i < s->nr_pages; i++) {
		if (n.seen[i] > 1)
			return "I1: a page in two places";
		/* An actor that breaks the rules may drop its own. */
		if (!n.seen[i] && !(s->cfg.rude &&
				    s->owner[i] == scene_owner(0)))
			return "I1: a page in no place";
	}
	if (n.anothers)
		return "I2: a page in a place of another's";
	if (s->cfg.keyed)
		scene_keys_each(s, &n, see_group);
	return n.translated;
}

/*
 * When nothing moves: the free pages stand from head to tail without a gap, so
 * that the next stores find them.  A store that has met an empty slot leaves a
 * disorder that lasts until the CNode's next connection.
 */
static const char *wrong_order(const struct scene *s, unsigned int cnode)
{
	const struct ring *ring = &s->ring[cnode];
	unsigned int slots = 1u << s->cfg.log_ring, nr = 0, i;
	uint64_t head = ring_index(ring->log_len, *ring->head);
	uint64_t tail = ring_index(ring->log_len, *ring->tail);

	if (cnode == 0 ? s->st.killed || (s->cfg.may_fail && !s->st.settled) :
			 s->cfg.may_fail)
		return NULL;
	for (i = 0; i < slots; i++)
		nr += ring->slot[i] != 0;
	if ((head + nr - tail) % slots)
		return "the ring: head and tail are not as far as its pages";
	for (i = 0; i < nr; i++)
		if (!ring->slot[(head + i) % slots])
			return "the ring: a gap";
	return NULL;
}

/* ---- I3, I5: each CNode finds what it stored ----------------------------------- */

static bool at_rest(const struct scene *s, unsigned int cnode,
		    unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < s->cfg.nr_reqs; i++) {
		const struct scene_req *q = &s->cfg.req[i];

		if (q->slot == slot && s->cfg.chain[q->chain].cnode == cnode &&
		    s->st.req_sent[i] && !s->st.req_answered[i])
			return false;
	}
	return true;
}

bool scene_keeps_rules(const struct scene *s, unsigned int cnode)
{
	return cnode != 0 || (!s->cfg.rude && !s->st.killed);
}

/* A store counts when it is asked for, a page that is freed until the answer. */
unsigned int scene_used(const struct scene *s, unsigned int cnode)
{
	unsigned int n = s->cfg.mapped[cnode], i;

	for (i = 0; i < s->cfg.nr_reqs; i++) {
		const struct scene_chain_cfg *c =
			&s->cfg.chain[s->cfg.req[i].chain];

		if (c->cnode != cnode)
			continue;
		if (c->kind == ODRP_WIRE_UNMAPPED_STORE)
			n += s->st.req_sent[i];
		else if (c->kind == ODRP_WIRE_INVALIDATE)
			n -= s->st.req_answered[i];
	}
	return n;
}

static const char *wrong_slot(const struct scene *s, unsigned int cnode,
			      unsigned int slot)
{
	uint64_t page = be64toh(s->tt[cnode][slot]), word;

	if (s->cfg.keyed && scene_keys_page(s, cnode, slot) != htobe64(page))
		return "K2: the key leads to where the table does not";
	if (!s->st.tag[cnode][slot])
		return page ? "I5: a freed slot is mapped" : NULL;
	if (!page)
		return "I5: a stored slot is not mapped";
	memcpy(&word, s->pool + (page - WRC_POOL_IOVA), sizeof(word));
	if (word != scene_word(cnode, s->st.tag[cnode][slot]))
		return "I3: a page does not contain what its CNode stored";
	return NULL;
}

static const char *wrong_contents(const struct scene *s)
{
	const char *why = NULL;
	unsigned int c, i;

	for (c = 0; c < SCENE_CNODES; c++)
		for (i = 0; !why && i < SCENE_SLOTS; i++)
			if (scene_keeps_rules(s, c) && at_rest(s, c, i))
				why = wrong_slot(s, c, i);
	return why;
}

static void loaded(struct scene *s, unsigned int cnode, uint8_t slot,
		   uint64_t word)
{
	if (scene_keeps_rules(s, cnode)) {
		if (word != scene_word(cnode, s->st.tag[cnode][slot]))
			s->st.wrong = "I5: a load brought something else";
	}
}

/* Before its answer, perhaps: nobody is to see another's, even then. */
void scene_brought(struct scene *s, unsigned int chain, uint64_t word)
{
	s->st.brought[chain] = word;
	if (word && word >> 32 != s->cfg.chain[chain].cnode + 1u)
		s->st.wrong = "I3: a load brought another's page";
}

void scene_answered(struct scene *s, unsigned int chain, uint32_t id)
{
	unsigned int cnode = s->cfg.chain[chain].cnode;
	const struct scene_req *q;

	if (s->st.answered[chain] == s->st.sent[chain] ||
	    id != s->st.order[chain][s->st.answered[chain]]) {
		s->st.wrong = "I6: an answer to what was not asked";
		return;
	}
	q = &s->cfg.req[id];
	if (q->cut)
		s->st.wrong = "I3: a page was mapped that did not come whole";
	s->st.answered[chain]++;
	s->st.req_answered[id] = true;
	if (s->cfg.chain[chain].kind == ODRP_WIRE_LOAD)
		loaded(s, cnode, q->slot, s->st.brought[chain]);
	else if (s->cfg.chain[chain].kind == ODRP_WIRE_INVALIDATE)
		s->st.tag[cnode][q->slot] = 0;
	else
		s->st.tag[cnode][q->slot] = q->tag;
	s->st.brought[chain] = 0;
}

/* ---- I3 of page exchange: pages that can be touched are the chain's -------------- */

static uint64_t load_be(const void *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static uint64_t held_by(const struct scene_chain *ch, unsigned int instance)
{
	struct wrc_held held;

	return scene_held_of(ch, instance, &held) ? 0 : held.page;
}

/* A page that has been let go, and not been sent yet. */
static bool sends_foreign(const struct scene_chain *ch)
{
	const struct snic_qp *qp = ch->node;
	unsigned int instance = qp->sq_ci / ch->geom.client_bb % SCENE_DEPTH;
	struct wrc_ref at = ch->prog.hold.page;
	uint64_t page;

	if (!ch->prog.hold.lent || qp->state != SNIC_QP_RTS ||
	    qp->sq_ci == qp->sq_limit ||
	    qp->sq_ci % ch->geom.client_bb != ch->prog.insn[at.at].bb)
		return false;
	page = load_be(ch->arena + wrc_arena_off(&ch->prog, &ch->geom, at,
						 instance));
	return page && page != held_by(ch, instance);
}

/* Receive entries that a request may come to. */
static bool receives_foreign(const struct scene_chain *ch)
{
	const struct wrc_dbr *dbr = (void *)(ch->arena + ch->geom.client_dbr);
	uint16_t posted = be32toh(dbr->rcv), r;

	if (!wrc_has_register(&ch->prog) || ch->node->state != SNIC_QP_RTS)
		return false;
	for (r = ch->node->rq_ci; r != posted; r++) {
		uint32_t at = wrc_arena_off(&ch->prog, &ch->geom,
					    wrc_at(WRC_SP_RECV), r);

		if (load_be(ch->arena + at) != held_by(ch, r % SCENE_DEPTH))
			return true;
	}
	return false;
}

static const char *wrong_touch(const struct scene_chain *ch)
{
	if (!wrc_owns(&ch->prog))
		return NULL;
	if (sends_foreign(ch))
		return "I3: a page may be sent that is not the chain's";
	if (receives_foreign(ch))
		return "I3: a page may be received into that is not the chain's";
	return NULL;
}

/* ---- I3 of all: pages that are touched are the CNode's ---------------------------- */

static bool is_foreign(const struct scene *s, unsigned int chain,
		       uint64_t addr)
{
	uint64_t page;

	return page_index(addr & ~(uint64_t)(PAGE - 1), s->nr_pages, &page) &&
	       s->owner[page] != scene_owner(s->cfg.chain[chain].cnode);
}

bool scene_runs_foreign(const struct scene *s, unsigned int chain,
			const struct snic_qp *qp)
{
	uint32_t pool_key = s->keys[s->cfg.chain[chain].cnode].pool;
	uint8_t raw[sizeof(qp->sq_raw)];
	struct snic_wqe w;
	unsigned int i;

	if (qp->sq_stage == SNIC_SQ_IDLE)
		snic_sq_read(qp, qp->sq_ci, raw, sizeof(raw));
	else
		memcpy(raw, qp->sq_raw, sizeof(raw));
	w.rkey = 0;
	if (snic_wqe_decode(raw, qp->sq_ci, &w))
		return false;
	for (i = 0; i < w.nr_sge; i++)
		if (w.sge[i].lkey == pool_key &&
		    is_foreign(s, chain, w.sge[i].addr))
			return true;
	return w.rkey == pool_key && is_foreign(s, chain, w.raddr);
}

bool scene_takes_foreign(const struct scene *s, unsigned int chain)
{
	const struct snic_qp *qp = s->chain[chain].node;
	unsigned int slot = qp->rq_ci & ((1u << qp->attr.log_rq) - 1);
	uint32_t pool_key = s->keys[s->cfg.chain[chain].cnode].pool;
	size_t len = 1u << qp->attr.log_rq_stride;
	const struct wrc_wqe_data *data = (const void *)
		((const uint8_t *)qp->attr.rq + slot * len);
	unsigned int i;

	for (i = 0; i < len / sizeof(*data); i++)
		if (be32toh(data[i].lkey) == pool_key &&
		    is_foreign(s, chain, be64toh(data[i].addr)))
			return true;
	return false;
}

/* ---- I6: nothing runs that has not been asked for ------------------------------ */

static const char *wrong_progress(const struct scene *s, unsigned int c)
{
	const struct scene_chain *ch = &s->chain[c];
	const struct wrc_insn *gate = &ch->prog.insn[ch->prog.nr_head];
	uint16_t most = s->st.sent[c] * ch->geom.loop_bb + gate->bb +
			gate->nr_bb;

	if ((int16_t)(ch->loop->sq_ci - most) > 0)
		return "I6: an instance ran without its request";
	if (s->st.broken[c] || s->st.stopped[c])
		return NULL;
	if (ch->loop->state == SNIC_QP_ERR || ch->node->state == SNIC_QP_ERR)
		return "I6: a chain failed";
	return NULL;
}

/* A request that was sent and not answered is on a connection that broke, and
 * one that was not sent waits for such a one. */
static const char *wrong_rest(const struct scene *s)
{
	unsigned int i;

	for (i = 0; i < s->cfg.nr_reqs; i++) {
		if (s->st.req_answered[i] ||
		    s->st.broken[s->cfg.req[i].chain])
			continue;
		if (s->st.req_sent[i])
			return "a request gets no answer";
		if (!s->cfg.breaks && !s->cfg.may_fail && !s->cfg.kill &&
		    !s->cfg.regrow)
			return "a request cannot be sent";
	}
	return NULL;
}

const char *scene_wrong(struct scene *s, bool quiet)
{
	const char *why = s->st.wrong;
	unsigned int c;

	if (!why && s->nic->heap_len)
		why = "a timer is armed: time is not part of the search";
	if (!why)
		why = wrong_places(s);
	if (!why)
		why = wrong_contents(s);
	for (c = 0; !why && c < s->cfg.nr_chains; c++) {
		why = wrong_progress(s, c);
		if (!why)
			why = wrong_touch(&s->chain[c]);
	}
	if (!why && quiet)
		why = wrong_rest(s);
	for (c = 0; !why && quiet && s->agent && c < SCENE_CNODES; c++)
		why = wrong_order(s, c);
	if (!why && s->agent)
		why = scene_agent_wrong(s, quiet);
	return why;
}
