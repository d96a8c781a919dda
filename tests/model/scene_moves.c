// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which moves are possible in a scene, and which of them need to be looked at. */
#include "scene.h"

bool scene_ready(const struct snic_qp *qp)
{
	return qp->on_run_queue && qp->state == SNIC_QP_RTS &&
	       qp->sq_ci != qp->sq_limit;
}

static bool beyond_lease(const struct scene *s, unsigned int chain)
{
	unsigned int cnode = s->cfg.chain[chain].cnode;

	return s->cfg.shrink && scene_keeps_rules(s, cnode) &&
	       s->cfg.chain[chain].kind == ODRP_WIRE_UNMAPPED_STORE &&
	       scene_used(s, cnode) >= scene_agent_lease(s, cnode);
}

/* The CNode's rules: in order, within its credits, one at a time for a slot. */
static bool may_send(const struct scene *s, unsigned int nr)
{
	const struct scene_req *q = &s->cfg.req[nr], *p;
	unsigned int c = q->chain, cnode = s->cfg.chain[c].cnode, i;

	if (s->st.req_sent[nr] || s->st.broken[c] ||
	    s->st.sent[c] - s->st.answered[c] >= SCENE_DEPTH - 1 ||
	    (q->later && !s->st.told[cnode]) || beyond_lease(s, c))
		return false;
	for (i = 0; i < nr; i++) {
		p = &s->cfg.req[i];
		if (p->chain == c && !s->st.req_sent[i])
			return false;
		if (s->cfg.chain[p->chain].cnode == cnode &&
		    p->slot == q->slot && !s->st.req_answered[i] &&
		    !(s->cfg.rude && cnode == 0))
			return false;
	}
	return true;
}

static bool all_sent(const struct scene *s, unsigned int c)
{
	unsigned int i;

	for (i = 0; i < s->cfg.nr_reqs; i++)
		if (s->cfg.req[i].chain == c && !s->st.req_sent[i])
			return false;
	return true;
}

/* The loop queue's next WQE, if it may run, touches its own chain's memory only,
 * or a table. */
static bool is_private(const struct scene_chain *ch)
{
	struct {
		struct wrc_wqe_ctrl ctrl;
		struct wrc_wqe_raddr raddr;
	} w;
	uint32_t key;

	if (!scene_ready(ch->loop))
		return true;
	snic_sq_read(ch->loop, ch->loop->sq_ci, &w, sizeof(w));
	switch (w.ctrl.opcode) {
	case WRC_WQE_NOP:
	case WRC_WQE_WAIT:
	case WRC_WQE_SEND_EN:
		return true;
	case WRC_WQE_UMR:
		return false;
	default:
		key = be32toh(w.raddr.rkey);
		return key == ch->bind.arena_key ||
		       (ch->prog.node && key == ch->bind.table_key) ||
		       (wrc_is_keyed(&ch->prog) &&
			(key == ch->bind.arena_rkey ||
			 key == ch->bind.keymap_key));
	}
}

/*
 * What such a WQE does, and what lands, commutes with all that others do, but for a
 * UMR.  So if nothing else can happen to this chain, now or before it has run, no
 * other order needs to be looked at than that of these two.
 */
static bool goes_first(const struct scene *s, unsigned int c)
{
	const struct scene_chain *ch = &s->chain[c];

	if (!s->cfg.chain[c].cnode &&
	    ((scene_agent_evicts(s) && !s->st.killed) ||
	     (s->cfg.hangup && !s->st.hung_up)))
		return false;
	return (scene_ready(ch->loop) || scene_landings(ch->loop)) &&
	       !s->st.umr[c].at &&
	       !scene_ready(ch->node) && all_sent(s, c) &&
	       (s->st.breaks == s->cfg.breaks || s->st.broken[c]) &&
	       (!s->st.broken[c] || s->st.stopped[c]) && is_private(ch);
}

static unsigned int moves_of_loop(const struct scene *s, unsigned int c,
				  uint16_t *ret_moves)
{
	unsigned int n = 0;

	if (scene_ready(s->chain[c].loop))
		ret_moves[n++] = MOVE(MOVE_LOOP, c);
	if (scene_landings(s->chain[c].loop))
		ret_moves[n++] = MOVE(MOVE_LAND, c);
	if (scene_may_pass(s->chain[c].loop))
		ret_moves[n++] = MOVE(MOVE_PASS, c);
	return n;
}

unsigned int scene_moves(void *arg, uint16_t *ret_moves)
{
	struct scene *s = arg;
	unsigned int n = 0, i;
	uint8_t of_agent[SCENE_AGENT_MOVES];

	for (i = 0; i < s->cfg.nr_chains; i++)
		if (goes_first(s, i))
			return moves_of_loop(s, i, ret_moves);
	for (i = 0; i < s->cfg.nr_reqs; i++)
		if (may_send(s, i))
			ret_moves[n++] = MOVE(MOVE_SEND, i);
	for (i = 0; i < s->cfg.nr_chains; i++) {
		n += moves_of_loop(s, i, ret_moves + n);
		if (scene_ready(s->chain[i].node))
			ret_moves[n++] = MOVE(MOVE_NODE, i);
		if (!s->st.broken[i] && s->st.breaks < s->cfg.breaks)
			ret_moves[n++] = MOVE(MOVE_BREAK, i);
		if (s->st.broken[i] && !s->st.stopped[i])
			ret_moves[n++] = MOVE(MOVE_STOP, i);
	}
	if (!s->agent)
		return n;
	for (i = scene_agent_moves(s, of_agent); i--; )
		ret_moves[n++] = MOVE(MOVE_AGENT, of_agent[i]);
	return n;
}
