// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connection requests: check, admit, resume, reject; and the ends of connections.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <own/words.h>
#include "check.h"
#include "log.h"
#include "manager.h"

/* Most instances of a chain; the setting depth allows no more. */
#define MAX_INSTANCES	1024
/* Events in a turn of the event loop. Only the last one may be a request: that is more
 * work. */
#define EVENTS_STEP	4
/* Ended sessions of a share that has as many others as it may have. */
#define ENDING_MOST	4

/* Sets the status that tells the peer of an error of the agent. */
static int hello_refuse_errno(struct hello_no *no, int r)
{
	return hello_refuse(no, r == -ENOMEM ? ODRP_WIRE_E_NOMEM :
			    r == -EBUSY ? ODRP_WIRE_E_BUSY :
			    ODRP_WIRE_E_INTERNAL, 0);
}

/* ---- admin ---------------------------------------------------------------------- */

/* Logs how much memory a session needs that could not be created. */
static void sess_log_need(uint64_t nr_slots)
{
	char words[300];

	own_words(words, sizeof(words), OWN_TRIED_MEMORY, nr_slots * sizeof(__be64),
		  -ENOMEM);
	log_warning("no memory for a session of %" PRIu64 " slots: for the table alone %s",
		    nr_slots, words);
}

/* Accepts the connection. The signer adds a MAC if the request was signed. */
static int conn_accept(struct manager *m, const struct idents_signer *signer, uint32_t cm_id,
		       uint32_t qpn, const void *priv, size_t len)
{
	uint8_t all[ODRP_WIRE_REP_PRIV_MAX] __attribute__((aligned(8)));

	memcpy(all, priv, len);
	len = idents_sign(signer, ODRP_AUTH_REP, qpn, all, len);
	return m->nic->ops->accept(m->nic, cm_id, qpn, all, len);
}

/* Heartbeats and grants get MACs if the peer has a pass and asks for F_SIGNED. */
static bool pass_may_sign(const struct pass *pass, const struct asked *asked)
{
	return pass && asked->hello.features & ODRP_WIRE_F_SIGNED;
}

/* Binds the session to the request's pass, and drops its previous one. */
static void sess_bind_pass(struct manager *m, struct sess *s, const struct asked *asked)
{
	struct pass *pass = idents_pass(&m->idents, asked->handle);

	if (s->handle != asked->handle)
		idents_drop_pass(&m->idents, s->handle);
	s->handle = asked->handle;
	sess_sign(s, pass_may_sign(pass, asked) ? &pass->key : NULL);
	if (!pass)
		return;
	memcpy(s->name, pass->name, sizeof(s->name));
	pass->session = s->wire_id;
	pass->spent = true;
}

/* Limits count per proved name, else per address. */
static const char *asked_name(const struct manager *m, const struct asked *asked,
			      char ip[INET_ADDRSTRLEN])
{
	const struct pass *pass = idents_pass(&m->idents, asked->handle);
	const struct in_addr in = { .s_addr = asked->ev.peer_ip };

	return pass ? pass->name : inet_ntop(AF_INET, &in, ip, INET_ADDRSTRLEN);
}

static int share_refuse(struct share *share, struct hello_no *no, uint64_t most)
{
	share->refused++;
	return hello_refuse(no, ODRP_WIRE_E_LIMIT, most);
}

/* Lowers the number of queues until the share's connections are within its limit. */
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

/* Checks the newcomer against its share's limits of sessions, connections and pages. May
 * lower hello->queue. */
static int share_limit_newcomer(struct manager *m, struct share *share, struct hello *hello,
				struct lease *ret_lease, struct hello_no *no)
{
	uint32_t most = share->limits.max_sessions;
	int r;

	if (most && manager_sessions_of(m, share) >= most)
		return share_refuse(share, no, most);
	/* Whoever begins and ends sessions faster than they can be freed would have all
	 * places. */
	if (!most)
		most = manager_sessions_of(m, share);
	if (share->places >= most + ENDING_MOST) {
		share->refused++;
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	}
	if (share_limit_queues(m, share, hello, no))
		return -EPERM;
	r = manager_lease(m, share, hello, ret_lease);
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
	/* The invalidate chain of each queue may have advanced the tail and not filled the
	 * ring position yet: the slack must cover all queues. */
	if (!attr->direct && hello->queue > m->slack)
		hello->queue = m->slack;
	if (!manager_metadata_admits(m, share, sess_metadata(hello->nr_slots, attr))) {
		share->refused++;
		return hello_refuse(no, ODRP_WIRE_E_NOMEM, 0);
	}
	if (!attr->direct && stock_claim(&m->stock, hello, manager_claims_of(m, share),
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
	s->signer = asked->signer;
	sess_bind_pass(m, s, asked);
	keep_next_id(&m->keep, ++m->next_id);
	m->sess[m->nr_sess++] = s;
	sess_join(s, &m->tally);
	share->places++;
	return 0;
}

static int asked_admit(struct manager *m, struct asked *asked, struct hello_no *no)
{
	struct sess_attr attr = {
		.id = m->next_id, .wire_id = manager_wire_id(m, m->next_id),
		.owner = manager_owner(m),
		.direct = manager_direct(m, &asked->hello),
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
	if (r)
		manager_tidy_share(m, name);
	return r;
}

static void audit_no(struct manager *m, const struct asked *asked, const struct hello_no *no)
{
	const struct pass *pass = idents_pass(&m->idents, asked->handle);
	const struct audit_peer peer = {
		.name = pass ? pass->name : NULL, .proved = pass,
		.ip = asked->ev.peer_ip,
	};
	char why[128];

	snprintf(why, sizeof(why), "%s (%" PRIu64 ")", hello_status_name(no->status),
		 no->detail);
	audit_refused(&m->audit, &peer, why);
}

static void asked_reject(struct manager *m, const struct asked *asked,
			 const struct hello_no *no)
{
	struct {
		struct odrp_wire_reject rej;
		uint8_t mac[ODRP_AUTH_MAC];
	} all;
	size_t len;

	m->rejects[no->status]++;
	audit_no(m, asked, no);
	hello_reject(no, &all.rej);
	len = idents_sign(&asked->signer, ODRP_AUTH_REJ, 0, &all, sizeof(all.rej));
	m->nic->ops->reject(m->nic, asked->ev.id, &all, len);
	m->nic->ops->release(m->nic, asked->ev.id);
}

void manager_refuse(struct manager *m, const struct sess *s, int r)
{
	struct asked asked = {
		.ev = { .id = s->cm_id, .peer_ip = s->peer_ip },
		.handle = s->handle, .signer = s->signer,
	};
	struct hello_no no;

	hello_refuse_errno(&no, r);
	asked_reject(m, &asked, &no);
	explicit_bzero(&asked, sizeof(asked));
}

/* The session cannot be created. manager_work() then frees it in pieces. */
static void sess_fail(struct manager *m, struct sess *s, int r)
{
	if (r == -ENOMEM)
		sess_log_need(s->tt.nr_slots);
	manager_refuse(m, s, r);
	manager_sess(m, s, SESS_EV_FAILED);
}

static int sess_accept(struct manager *m, struct sess *s)
{
	struct odrp_wire_admin_accept accept;
	int r;

	sess_accept_priv(s, m->conf, &accept);
	r = conn_accept(m, &s->signer, s->cm_id, s->ctl.qpn, &accept, sizeof(accept));
	if (!r)	/* on error it still has to sign the rejection */
		explicit_bzero(&s->signer, sizeof(s->signer));
	return r;
}

/* Creates a piece of the session; accepts it when it is complete. */
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
	/* The signer has a copy of the pass's key, which only the accept needed. */
	explicit_bzero(&s->signer, sizeof(s->signer));
	manager_sess(m, s, SESS_EV_ACCEPTED);
	m->sess_total++;
	log_info("session %" PRIu64 ": %" PRIu64 " slots, %u queues of %u "
		 "requests, lease %" PRIu64 " pages%s", s->id, s->tt.nr_slots,
		 s->nr_queues, s->depth, s->lease.granted,
		 slabs_exist(&s->slabs) ? ", in slabs" :
		 keys_exist(&s->keys) ? ", with keys" : "");
	if (s->keys_failed)
		log_warning("session %" PRIu64 ": the agent cannot create keys "
			    "in the NIC; chains translate instead", s->id);
}

/* Accepts the resume of a settled session: no chain of earlier connections runs. */
static int sess_reattach(struct manager *m, const struct asked *asked, struct sess *s)
{
	struct odrp_wire_admin_accept accept;
	struct ctlq ctl;
	int r;

	r = sess_make_ctl(s, &ctl);
	if (r)
		return r;
	s->signs = pass_may_sign(idents_pass(&m->idents, asked->handle), asked);
	sess_resume_beats(s, asked->hello.features);
	sess_accept_priv(s, m->conf, &accept);
	r = conn_accept(m, &asked->signer, asked->ev.id, ctl.qpn, &accept, sizeof(accept));
	if (r) {
		ctlq_fini(&ctl);
		return r;
	}
	sess_attach(s, &ctl, asked->ev.id);
	sess_bind_pass(m, s, asked);
	return 0;
}

/* May the peer resume the session? A pass names the session that the handshake was for;
 * without a pass the token counts, but not for a session with a name. */
static bool asked_may_resume(struct manager *m, const struct sess *s,
			     const struct asked *asked)
{
	const struct pass *pass = idents_pass(&m->idents, asked->handle);

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
 * A resume is possible while draining, too: a compute node needs its pages to leave. The
 * request waits until the old chains have stopped and the session is settled. If it is
 * rejected then, the session stays detached.
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
	if (s->state == SESS_RESTORING)
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* The old connection may have ended without the agent's notice. */
	if (sess_attached(s))
		manager_detach(m, s);
	if (sess_unstopped(s))
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* An earlier request may be of a peer that has given up: reject it. */
	manager_forget_waiting(m, s);
	s->waiting = asked_copy(asked);
	if (!s->waiting)
		return hello_refuse_errno(no, -ENOMEM);
	manager_sess(m, s, SESS_EV_RESUME);
	return 0;
}

/* Checks the right to resume again: the pass may have been revoked meanwhile. */
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
		asked_reject(m, asked, &no);
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
		.bare_pdn = s->slabs.pdn,
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

	/* Shutting down: reject the request; the peer retries and finds the next agent. */
	if (m->ending)
		return -EBUSY;
	manager_limit_queue(m, s, q);
	/* The compute node may store from the accept on: write the record before. */
	if (!s->had_queue)
		sess_keep(s);
	r = queue_accept_priv(q, hello->queue, depth, priv, sizeof(priv));
	if (r >= 0)
		r = conn_accept(m, &asked->signer, asked->ev.id, q->client_qpn, priv, r);
	if (r)
		return r;
	q->cm_id = asked->ev.id;
	s->had_queue = true;
	log_debug("session %" PRIu64 ": chain %s of queue %u armed", s->id,
		  q->prog->name, hello->queue);
	return 0;
}

/* The chain that the request names is armed, or there is none to arm: accepts the request,
 * or frees the queue. */
static int queue_armed(struct manager *m, struct sess *s, const struct asked *asked)
{
	unsigned int number = asked->hello.queue, chain = asked->hello.chain;
	int r;

	manager_conn(m, s, number, chain, CONN_EV_ARMED);
	r = queue_accept(m, s, s->queues[number][chain], asked);
	manager_conn(m, s, number, chain, r ? CONN_EV_FAILED : CONN_EV_ACCEPTED);
	return r;
}

/* The request must have the pass of the session's admin connection, or the token if the
 * admin connection has no pass. */
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
	if (slabs_exist(&s->slabs) && hello->chain > ODRP_WIRE_MAPPED_STORE)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, ODRP_WIRE_MAPPED_STORE);
	if (s->queues[hello->queue][hello->chain] || s->waiting)
		return hello_refuse(no, ODRP_WIRE_E_BUSY, 0);
	/* The peer has the token of the accept, or a pass: the compute node exists. */
	sess_setup(s, SETUP_EV_SEEN);
	if (s->setup != SETUP_READY) {
		s->waiting = asked_copy(asked);
		return s->waiting ? 0 : hello_refuse_errno(no, -ENOMEM);
	}
	r = queue_make(m, s, hello, &q);
	if (r)
		return hello_refuse_errno(no, r);
	sess_add_queue(s, hello->queue, hello->chain, q);
	if (q->arming) {
		q->asked = asked_copy(asked);
		if (q->asked)
			return 0;
		manager_conn(m, s, hello->queue, hello->chain, CONN_EV_FAILED);
		return hello_refuse_errno(no, -ENOMEM);
	}
	r = queue_armed(m, s, asked);
	return r ? hello_refuse_errno(no, r) : 0;
}

/* Arms a piece of the chain; accepts the connection after the last piece. */
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
	q->asked = NULL;
	if (r) {
		log_unarmed(s, q->prog, r, why);
		manager_conn(m, s, number, chain, CONN_EV_FAILED);
	} else {
		r = queue_armed(m, s, asked);
	}
	if (r) {
		hello_refuse_errno(&no, r);
		asked_reject(m, asked, &no);
	}
	asked_drop(&asked);
}

/* Arms a piece of one chain. True: there was one to arm. */
static bool sess_arm_some(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	if (!s->nr_arming)
		return false;
	sess_for_each_queue(s, n, c, q) {
		if (q->state != CONN_ARMING)
			continue;
		queue_arm(m, s, n, c);
		return true;
	}
	return false;
}

bool manager_arm_some(struct manager *m)
{
	unsigned int i;

	for (i = 0; m->tally.arming && i < m->nr_sess; i++) {
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
	else if (m->nic->node->no_chains && !manager_direct(m, &asked->hello))
		r = hello_refuse(&no, ODRP_WIRE_E_NO_SWAP, 0);
	else
		r = asked_admit(m, asked, &no);
	if (r)
		asked_reject(m, asked, &no);
}

/* A pass admits one admin connection, and I/O connections after it. */
static int asked_check_signed(struct manager *m, struct asked *asked, struct hello_no *no)
{
	struct odrp_wire_hello w;
	struct odrp_auth_req req;
	struct pass *pass;

	if (idents_check(&m->idents, &asked->ev, &pass, &asked->signer))
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
	if (idents_is_request(&asked->ev))
		return asked_check_signed(m, asked, no);
	if (m->conf->auth == CONF_AUTH_REQUIRED)
		return hello_refuse(no, ODRP_WIRE_E_AUTH, 0);
	return hello_check(asked->ev.priv, asked->ev.priv_len, &m->limits,
			   &asked->hello, no);
}

/* Anybody can forge an unproved address: its requests are counted only if it already has
 * a share. */
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
	bool closed = m->ending || manager_health_silent(m);
	struct asked asked = { .ev = *ev };
	struct hello_no no;

	if (!closed && responder_request(&m->responder, ev))
		return;
	if (closed) {
		hello_refuse(&no, ODRP_WIRE_E_BUSY, 0);
		asked_reject(m, &asked, &no);
		return;
	}
	if (asked_check(m, &asked, &no) || asked_check_rate(m, &asked, &no))
		asked_reject(m, &asked, &no);
	else
		asked_serve(m, &asked);
	explicit_bzero(&asked, sizeof(asked));
}

/* Rejects a request that waits. With E_BUSY the peer tries again. */
void manager_put_off(struct manager *m, const struct sess *s, struct asked **asked)
{
	const struct hello_no no = {
		.status = s->state == SESS_ENDING ? ODRP_WIRE_E_SESSION :
						   ODRP_WIRE_E_BUSY,
	};

	if (!*asked)
		return;
	asked_reject(m, *asked, &no);
	asked_drop(asked);
}

void manager_forget_waiting(struct manager *m, struct sess *s)
{
	manager_put_off(m, s, &s->waiting);
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

	for (i = 0; m->tally.state[SESS_OPENING] && i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_OPENING) {
			sess_open(m, m->sess[i]);
			return true;
		}
	}
	return false;
}

/* True: the connection belonged to this session. */
static bool sess_conn_gone(struct manager *m, struct sess *s, uint32_t id)
{
	unsigned int n, c;
	struct queue *q;

	if (s->cm_id == id && s->state == SESS_OPENING) {
		manager_sess(m, s, SESS_EV_GONE);
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
	if (!s->nr_conns)
		return false;
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

	if (responder_gone(&m->responder, id))
		return;
	for (i = 0; i < m->nr_sess; i++) {
		/* Any state: chains of a session that ends may be connected still. */
		if (sess_conn_gone(m, m->sess[i], id))
			break;
	}
	m->nic->ops->release(m->nic, id);
}

/* The NIC's event_fd becomes readable again if events are left. */
void manager_events(struct manager *m)
{
	struct nic_event ev;
	unsigned int i;

	if (check_runs(m))
		return;
	for (i = 0; i < EVENTS_STEP; i++) {
		if (m->nic->ops->event(m->nic, &ev))
			break;
		m->stirred = true;
		if (ev.type != NIC_REQUEST) {
			if (!spaces_gone(&m->spaces, &ev) && ev.type == NIC_GONE)
				conn_gone(m, ev.id);
			continue;
		}
		if (!manager_spaces_request(m, &ev))
			conn_request(m, &ev);
		break;
	}
}
