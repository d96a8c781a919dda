// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The door: connections come, are looked at, and go.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "log.h"
#include "manager.h"

/* Of a chain: what the setting depth allows. */
#define MAX_INSTANCES	1024
/* Of a turn of the event loop; and one request at most, which is more work. */
#define EVENTS_STEP	4

/* What went wrong here, as the peer may know it. */
static int hello_refuse_errno(struct hello_no *no, int r)
{
	return hello_refuse(no, r == -ENOMEM ? ODRP_WIRE_E_NOMEM :
			    r == -EBUSY ? ODRP_WIRE_E_BUSY :
			    ODRP_WIRE_E_INTERNAL, 0);
}

/* ---- admin ---------------------------------------------------------------------- */

/* Of a session that does not come to be. */
static void sess_log_need(uint64_t nr_slots)
{
	uint64_t available;

	if (!mem_available(&available))
		log_warning("no memory for a session of %" PRIu64 " slots: the table "
			    "alone needs %" PRIu64 " MB, and %" PRIu64
			    " MB are available", nr_slots,
			    nr_slots * sizeof(__be64) >> 20, available >> 20);
}

/* Puts the MAC behind it, if he who asks can check one. */
static int conn_accept(struct manager *m, const struct seal *seal, uint32_t cm_id,
		       uint32_t qpn, const void *priv, size_t len)
{
	uint8_t all[ODRP_WIRE_REP_PRIV_MAX] __attribute__((aligned(8)));

	memcpy(all, priv, len);
	len = who_seal(seal, ODRP_AUTH_REP, qpn, all, len);
	return m->nic->ops->accept(m->nic, cm_id, qpn, all, len);
}

/* Who takes a session up asks for what it has. */
static bool pass_may_sign(const struct pass *pass, const struct asked *asked)
{
	return pass && asked->hello.features & ODRP_WIRE_F_SIGNED;
}

/* From now on the session goes by this pass, and by no other one. */
static void sess_bind_pass(struct manager *m, struct sess *s, const struct asked *asked)
{
	struct pass *pass = who_pass(&m->who, asked->handle);

	if (s->handle != asked->handle)
		who_drop(&m->who, s->handle);
	s->handle = asked->handle;
	sess_sign(s, pass_may_sign(pass, asked) ? &pass->key : NULL);
	if (!pass)
		return;
	memcpy(s->name, pass->name, sizeof(s->name));
	pass->session = s->wire_id;
	pass->spent = true;
}

/* Whoever asks counts as that: the name he has proved, or else his address. */
static const char *asked_name(const struct manager *m, const struct asked *asked,
			      char ip[INET_ADDRSTRLEN])
{
	const struct pass *pass = who_pass(&m->who, asked->handle);
	const struct in_addr in = { .s_addr = asked->ev.peer_ip };

	return pass ? pass->name : inet_ntop(AF_INET, &in, ip, INET_ADDRSTRLEN);
}

static int share_refuse(struct share *share, struct hello_no *no, uint64_t most)
{
	share->refused++;
	return hello_refuse(no, ODRP_WIRE_E_LIMIT, most);
}

/* Takes queues away until its connections are no more than the share may have. */
static int share_limit_queues(struct manager *m, struct share *share, struct hello *hello,
			      struct hello_no *no)
{
	uint64_t most = share->limits.max_connections;
	uint64_t others = manager_connections_of(m, share);

	if (!most)
		return 0;
	while (hello->queue && others + manager_connections(hello->queue) > most)
		hello->queue--;
	return hello->queue ? 0 : share_refuse(share, no, most);
}

/* Pages, sessions and connections of a newcomer's share. */
static int share_limit_newcomer(struct manager *m, struct share *share, struct hello *hello,
				struct lease *ret_lease, struct hello_no *no)
{
	uint32_t most = share->limits.max_sessions;
	int r;

	if (most && manager_sessions_of(m, share) >= most)
		return share_refuse(share, no, most);
	if (share_limit_queues(m, share, hello, no))
		return -EPERM;
	r = manager_lease(m, share, hello->nr_slots, ret_lease);
	if (r == -EDQUOT)
		return share_refuse(share, no, share->limits.max_pages);
	return r ? hello_refuse(no, ODRP_WIRE_E_NOMEM, 0) : 0;
}

static int sess_add(struct manager *m, struct asked *asked, struct share *share,
		    struct sess_attr *attr, struct hello_no *no)
{
	struct hello *hello = &asked->hello;
	struct sess *s;
	int r;

	if (share_limit_newcomer(m, share, hello, &attr->lease, no))
		return -EPERM;
	/* The invalidate of each may have advanced the tail and not filled the
	 * slot. */
	if (hello->queue > m->slack)
		hello->queue = m->slack;
	if (stock_claim(&m->stock, hello, manager_claims_of(m, share),
			manager_claims_kept(m, share), &attr->claim))
		return hello_refuse(no, ODRP_WIRE_E_NOMEM, 0);
	r = sess_new(&m->pool, hello, attr, &s);
	if (r == -ENOMEM)
		sess_log_need(hello->nr_slots);
	if (r) {
		stock_unclaim(&m->stock, attr->claim);
		return hello_refuse_errno(no, r);
	}
	s->share = share;
	s->peer_ip = asked->ev.peer_ip;
	s->cm_id = asked->ev.id;
	s->seal = asked->seal;
	sess_bind_pass(m, s, asked);
	keep_next_id(&m->keep, ++m->next_id);
	m->sess[m->nr_sess++] = s;
	return 0;
}

static int asked_admit(struct manager *m, struct asked *asked, struct hello_no *no)
{
	struct sess_attr attr = {
		.id = m->next_id, .wire_id = manager_wire_id(m, m->next_id),
		.owner = manager_owner(m),
		.keyed = m->nic_translates &&
			 asked->hello.features & ODRP_WIRE_F_KEYED,
		.else_chains = m->conf->translate == CONF_TRANSLATE_AUTO,
	};
	bool closed = m->draining || m->ending;
	char ip[INET_ADDRSTRLEN];
	const char *name = asked_name(m, asked, ip);
	struct share *share;
	int r;

	if (closed || !manager_has_place(m, shares_find(&m->shares, name)))
		return hello_refuse(no, ODRP_WIRE_E_LIMIT,
				    closed ? 0 : m->conf->max_sessions);
	if (shares_get(&m->shares, name, &share))
		return hello_refuse_errno(no, -ENOMEM);
	r = sess_add(m, asked, share, &attr, no);
	/* Addresses that are refused leave nothing. */
	if (r)
		manager_tick_shares(m, 0);
	return r;
}

static void conn_reject(struct manager *m, uint32_t cm_id, const struct seal *seal,
			const struct hello_no *no)
{
	struct {
		struct odrp_wire_reject rej;
		uint8_t mac[ODRP_AUTH_MAC];
	} all;
	size_t len;

	m->rejects[no->status]++;
	log_notice("connection refused: %s (%" PRIu64 ")",
		   hello_status_name(no->status), no->detail);
	hello_reject(no, &all.rej);
	len = who_seal(seal, ODRP_AUTH_REJ, 0, &all, sizeof(all.rej));
	m->nic->ops->reject(m->nic, cm_id, &all, len);
	m->nic->ops->release(m->nic, cm_id);
}

/* It is as good as gone: what has been made of it is unmade in pieces, too. */
static void sess_fail(struct manager *m, struct sess *s, int r)
{
	struct hello_no no;

	if (r == -ENOMEM)
		sess_log_need(s->tt.nr_slots);
	hello_refuse_errno(&no, r);
	conn_reject(m, s->cm_id, &s->seal, &no);
	explicit_bzero(&s->seal, sizeof(s->seal));
	s->cm_id = 0;
	s->state = SESS_DYING;
}

static int sess_accept(struct manager *m, struct sess *s)
{
	struct odrp_wire_admin_accept accept;
	int r;

	sess_accept_priv(s, m->conf->beat_ms, m->conf->dead_ms, &accept);
	r = conn_accept(m, &s->seal, s->cm_id, s->ctl.qpn, &accept, sizeof(accept));
	if (!r)	/* else a refusal is to be signed */
		explicit_bzero(&s->seal, sizeof(s->seal));
	return r;
}

/* A piece of it is made, or it is accepted. */
static void sess_open(struct manager *m, struct sess *s)
{
	int r = sess_make(s);

	if (r == -EAGAIN)
		return;
	if (!r)
		r = sess_accept(m, s);
	if (r) {
		sess_fail(m, s, r);
		return;
	}
	/* K is the pass's: here it was for the accept. */
	explicit_bzero(&s->seal, sizeof(s->seal));
	s->state = SESS_LIVE;
	m->sess_total++;
	log_info("session %" PRIu64 ": %" PRIu64 " slots, %u queues of %u "
		 "requests, lease %" PRIu64 " pages%s", s->id, s->tt.nr_slots,
		 s->nr_queues, s->depth, s->lease.granted,
		 keys_exist(&s->keys) ? ", with keys" : "");
	if (s->keys_failed)
		log_warning("session %" PRIu64 ": the agent cannot create keys "
			    "in the NIC; chains translate instead", s->id);
}

/* Of a session that is settled: nothing of before runs on. */
static int sess_reattach(struct manager *m, const struct asked *asked, struct sess *s)
{
	struct odrp_wire_admin_accept accept;
	struct ctlq ctl;
	int r;

	r = sess_make_ctl(s, &ctl);
	if (r)
		return r;
	s->signs = pass_may_sign(who_pass(&m->who, asked->handle), asked);
	sess_accept_priv(s, m->conf->beat_ms, m->conf->dead_ms, &accept);
	r = conn_accept(m, &asked->seal, asked->ev.id, ctl.qpn, &accept, sizeof(accept));
	if (r) {
		ctlq_fini(&ctl);
		return r;
	}
	sess_attach(s, &ctl, asked->ev.id);
	sess_bind_pass(m, s, asked);
	return 0;
}

/* Whose session is it?  Who has a pass has said in his handshake which one. */
static bool asked_may_resume(struct manager *m, const struct sess *s,
			     const struct asked *asked)
{
	const struct pass *pass = who_pass(&m->who, asked->handle);

	if (!pass)
		return !s->name[0] && sess_token_ok(s, asked->hello.token);
	return pass->session == s->wire_id && !strcmp(pass->name, s->name);
}

static struct asked *asked_copy(const struct asked *asked)
{
	struct asked *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *asked;
	return copy;
}

/*
 * Also while draining: who is asked to leave needs its pages to do so.  He waits until
 * all that was before stands still and is settled.  If he is refused then, the session
 * waits on without a connection.
 */
static int asked_resume(struct manager *m, const struct asked *asked,
			struct hello_no *no)
{
	const struct hello *hello = &asked->hello;
	struct sess *s = manager_find_wire(m, hello->session);

	if (!s || !asked_may_resume(m, s, asked))
		return hello_refuse(no, ODRP_WIRE_E_SESSION, 0);
	if (hello->nr_slots != s->tt.nr_slots)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, s->tt.nr_slots);
	if (hello->queue != s->nr_queues)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, s->nr_queues);
	if (hello->depth != s->depth)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, s->depth);
	if (s->restoring)
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* We may not have noticed yet that the old one is gone. */
	if (sess_attached(s))
		manager_detach(m, s);
	if (sess_unstopped(s))
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* Who asked before him may be gone. */
	manager_forget_waiting(m, s);
	s->waiting = asked_copy(asked);
	if (!s->waiting)
		return hello_refuse_errno(no, -ENOMEM);
	if (!s->settle)
		s->settle = SETTLE_DUE;
	return 0;
}

/* He may have been refused his name meanwhile. */
static int sess_resume(struct manager *m, struct sess *s, const struct asked *asked)
{
	int r = asked_may_resume(m, s, asked) ? sess_reattach(m, asked, s) : -EBUSY;

	if (r)
		return r;
	s->peer_ip = asked->ev.peer_ip;
	m->sess_resumed++;
	log_info("session %" PRIu64 ": resumed, lease %" PRIu64
		 " pages", s->id, s->lease.granted);
	return 0;
}

void manager_settled(struct manager *m, struct sess *s, int r)
{
	struct asked *asked = s->waiting;
	struct hello_no no;

	if (!asked)
		return;
	s->waiting = NULL;
	if (!r)
		r = sess_resume(m, s, asked);
	if (r) {
		hello_refuse_errno(&no, r);
		conn_reject(m, asked->ev.id, &asked->seal, &no);
	}
	asked_drop(&asked);
}

/* ---- I/O ------------------------------------------------------------------------ */

static void log_unarmed(const struct sess *s, const struct wrc_prog *prog, int r,
			const char *why)
{
	if (r == -EPERM)
		log_error("chain %s is not armed: %s", prog->name, why);
	else
		log_warning("session %" PRIu64 ": the agent cannot create a queue "
			    "pair for chain %s: %s",
			    s->id, prog->name, strerror(-r));
}

static int queue_make(struct manager *m, struct sess *s, const struct hello *hello,
		      struct queue **ret_queue)
{
	const struct wrc_prog *prog = manager_prog(m, s, hello->chain);
	const struct queue_on on = {
		.pool = &m->pool, .ring = &s->ring, .tt = &s->tt,
		.keys = keys_exist(&s->keys) ? &s->keys : NULL,
	};
	__u64 pages[MAX_INSTANCES];
	char why[WRC_WHY_MAX] = "";
	int r = 0;

	if (wrc_has_register(prog))
		r = lend_arm(&m->lender, s, s->instances, pages);
	if (r) {
		log_warning("session %" PRIu64 ": the pool has %" PRIu64
			    " pages, chain %s needs %u", s->id,
			    m->pool.nr_free, prog->name, s->instances);
		return r;
	}
	r = queue_begin(&on, prog, s->instances, pages, ret_queue, why);
	if (r && wrc_has_register(prog))
		lend_unarm(&m->lender, s, s->instances, pages);
	if (r)
		log_unarmed(s, prog, r, why);
	return r;
}

static int queue_accept(struct manager *m, struct sess *s, struct queue *q,
			const struct asked *asked)
{
	const struct hello *hello = &asked->hello;
	uint8_t priv[ODRP_WIRE_REP_PRIV_MAX]
		__attribute__((aligned(8)));
	uint16_t depth = hello->depth < s->depth ? hello->depth : s->depth;
	int r;

	/* Who asks an agent that ends comes again, and finds the next one. */
	if (m->ending)
		return -EBUSY;
	manager_limit_queue(m, s, q);
	/* From the accept on it may store. */
	if (!s->had_queue)
		sess_keep(s);
	r = queue_accept_priv(q, hello->queue, depth, priv, sizeof(priv));
	if (r >= 0)
		r = conn_accept(m, &asked->seal, asked->ev.id, q->client_qpn, priv, r);
	if (r)
		return r;
	q->cm_id = asked->ev.id;
	s->had_queue = true;
	log_debug("session %" PRIu64 ": chain %s of queue %u armed", s->id,
		  q->prog->name, hello->queue);
	return 0;
}

/* By the pass of its admin connection, or by the token if that had none. */
static bool asked_is_of(const struct sess *s, const struct asked *asked)
{
	return s->handle || asked->handle ? s->handle == asked->handle :
	       sess_token_ok(s, asked->hello.token);
}

static int asked_open_queue(struct manager *m, const struct asked *asked,
			    struct hello_no *no)
{
	const struct hello *hello = &asked->hello;
	struct sess *s = manager_find_wire(m, hello->session);
	struct queue *q;
	int r;

	if (s && asked->handle && !sess_attached(s))
		return hello_refuse(no, ODRP_WIRE_E_AUTH, 0);
	if (!s || !sess_attached(s) || !asked_is_of(s, asked))
		return hello_refuse(no, ODRP_WIRE_E_SESSION, 0);
	if (hello->queue >= s->nr_queues)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, s->nr_queues - 1);
	if (s->queues[hello->queue][hello->chain] || s->waiting)
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* Only who has the accept knows the token. */
	s->shown = true;
	if (!s->ready) {
		s->waiting = asked_copy(asked);
		return s->waiting ? 0 : hello_refuse_errno(no, -ENOMEM);
	}
	r = queue_make(m, s, hello, &q);
	if (r)
		return hello_refuse_errno(no, r);
	s->queues[hello->queue][hello->chain] = q;
	if (q->arming) {
		q->asked = asked_copy(asked);
		r = q->asked ? 0 : -ENOMEM;
	} else {
		r = queue_accept(m, s, q, asked);
	}
	if (!r)
		return 0;
	manager_close_queue(m, s, hello->queue, hello->chain);
	return hello_refuse_errno(no, r);
}

/* A piece of it; after the last one the connection is accepted. */
static void queue_arm(struct manager *m, struct sess *s, unsigned int number,
		      unsigned int chain)
{
	struct queue *q = s->queues[number][chain];
	struct asked *asked = q->asked;
	char why[WRC_WHY_MAX] = "";
	struct hello_no no;
	int r = queue_arm_some(q, why);

	if (r == -EAGAIN)
		return;
	if (r)
		log_unarmed(s, q->prog, r, why);
	else
		r = queue_accept(m, s, q, asked);
	q->asked = NULL;
	if (r) {
		manager_close_queue(m, s, number, chain);
		hello_refuse_errno(&no, r);
		conn_reject(m, asked->ev.id, &asked->seal, &no);
	}
	asked_drop(&asked);
}

/* True: there was a piece to do. */
static bool sess_arm_some(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q) {
		if (!q->asked || q->closing)
			continue;
		queue_arm(m, s, n, c);
		return true;
	}
	return false;
}

bool manager_arm_some(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (!sess_arm_some(m, m->sess[(m->next_arm + i) % m->nr_sess]))
			continue;
		m->next_arm += i + 1;
		return true;
	}
	return false;
}

/* ---- events --------------------------------------------------------------------- */

static void asked_serve(struct manager *m, struct asked *asked)
{
	struct hello_no no;
	int r;

	if (asked->hello.role == ODRP_WIRE_IO)
		r = asked_open_queue(m, asked, &no);
	else if (asked->hello.session)
		r = asked_resume(m, asked, &no);
	else
		r = asked_admit(m, asked, &no);
	if (r)
		conn_reject(m, asked->ev.id, &asked->seal, &no);
}

/* Each handshake makes one admin connection. */
static int asked_check_signed(struct manager *m, struct asked *asked, struct hello_no *no)
{
	struct odrp_wire_hello w;
	struct odrp_auth_req req;
	struct pass *pass;

	if (who_asks(&m->who, &asked->ev, &pass, &asked->seal))
		return hello_refuse(no, ODRP_WIRE_E_AUTH, 0);
	asked->handle = pass->handle;
	memcpy(&req, asked->ev.priv, sizeof(req));
	if (req.role == ODRP_WIRE_ADMIN ? pass->spent : !pass->spent)
		return hello_refuse(no, ODRP_WIRE_E_AUTH, 0);
	w = hello_of_signed(&req, pass->session);
	return hello_check(&w, sizeof(w), &m->limits, &asked->hello, no);
}

static int asked_check(struct manager *m, struct asked *asked, struct hello_no *no)
{
	if (who_is_signed(&asked->ev))
		return asked_check_signed(m, asked, no);
	if (m->conf->auth == CONF_AUTH_REQUIRED)
		return hello_refuse(no, ODRP_WIRE_E_AUTH, 0);
	return hello_check(asked->ev.priv, asked->ev.priv_len, &m->limits,
			   &asked->hello, no);
}

/* A stranger's address is anybody's: it counts once it has a session. */
static int asked_check_rate(struct manager *m, const struct asked *asked, struct hello_no *no)
{
	char ip[INET_ADDRSTRLEN];
	const char *name = asked_name(m, asked, ip);
	struct share *share = shares_find(&m->shares, name);

	if (!share && asked->handle && shares_get(&m->shares, name, &share))
		return hello_refuse_errno(no, -ENOMEM);
	if (!share || share_take_request(share))
		return 0;
	share->refused++;
	return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
}

static void conn_request(struct manager *m, const struct nic_event *ev)
{
	struct asked asked = { .ev = *ev };
	struct hello_no no;

	if (!m->ending && door_request(&m->door, ev))
		return;
	if (m->ending) {
		hello_refuse(&no, ODRP_WIRE_E_BUSY, 0);
		conn_reject(m, ev->id, &asked.seal, &no);
		return;
	}
	if (asked_check(m, &asked, &no) || asked_check_rate(m, &asked, &no))
		conn_reject(m, ev->id, &asked.seal, &no);
	else
		asked_serve(m, &asked);
	explicit_bzero(&asked, sizeof(asked));
}

/* What is only put off is asked for again. */
static void asked_put_off(struct manager *m, const struct sess *s, struct asked **asked)
{
	const struct hello_no no = {
		.status = s->state == SESS_DYING ? ODRP_WIRE_E_SESSION :
						   ODRP_WIRE_E_BUSY,
	};

	if (!*asked)
		return;
	conn_reject(m, (*asked)->ev.id, &(*asked)->seal, &no);
	asked_drop(asked);
}

void manager_forget_waiting(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	asked_put_off(m, s, &s->waiting);
	sess_for_each_queue(s, n, c, q)
		asked_put_off(m, s, &q->asked);
}

void manager_unwait(struct manager *m, struct sess *s)
{
	struct asked *asked = s->waiting;

	if (!asked)
		return;
	s->waiting = NULL;
	asked_serve(m, asked);
	asked_drop(&asked);
}

bool manager_open_some(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_OPENING) {
			sess_open(m, m->sess[i]);
			return true;
		}
	}
	return false;
}

/* True: it was one of this session's. */
static bool sess_conn_gone(struct manager *m, struct sess *s, uint32_t id)
{
	unsigned int n, c;
	struct queue *q;

	if (s->cm_id == id && s->state == SESS_OPENING) {
		explicit_bzero(&s->seal, sizeof(s->seal));
		s->cm_id = 0;
		s->state = SESS_DYING;
		return true;
	}
	if (s->cm_id == id) {
		s->cm_id = 0;
		manager_lost(m, s);
		return true;
	}
	if (s->waiting && s->waiting->ev.id == id) {
		asked_drop(&s->waiting);
		return true;
	}
	sess_for_each_queue(s, n, c, q) {
		if (q->asked ? q->asked->ev.id == id : q->cm_id == id) {
			asked_drop(&q->asked);
			q->cm_id = 0;
			manager_close_queue(m, s, n, c);
			return true;
		}
	}
	return false;
}

static void conn_gone(struct manager *m, uint32_t id)
{
	unsigned int i;

	if (door_gone(&m->door, id))
		return;
	for (i = 0; i < m->nr_sess; i++) {
		/* Also one whose chains are about to be stopped. */
		if (sess_conn_gone(m, m->sess[i], id))
			break;
	}
	m->nic->ops->release(m->nic, id);
}

/* What has not been taken makes the NIC's event_fd readable again. */
void manager_events(struct manager *m)
{
	struct nic_event ev;
	unsigned int i;

	for (i = 0; i < EVENTS_STEP; i++) {
		if (m->nic->ops->event(m->nic, &ev))
			break;
		if (ev.type != NIC_REQUEST) {
			if (!spaces_gone(&m->spaces, &ev) && ev.type == NIC_GONE)
				conn_gone(m, ev.id);
			continue;
		}
		if (spaces_request(&m->spaces, &m->who,
				   m->conf->auth == CONF_AUTH_REQUIRED, &ev))
			manager_budget(m);
		else
			conn_request(m, &ev);
		break;
	}
}
