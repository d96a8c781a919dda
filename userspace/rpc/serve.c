/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server thread's connections. A client that sends anything but messages, or is gone, loses
 * its connection; others are not hurt.
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS		5u		/* declared cost of looking at a ring */
#define COPY_NS		20u		/* declared cost of a request */
#define NAP_NS		50000u		/* between two looks for room, at first */
#define NAP_MAX_NS	UINT64_C(10000000)
#define WCS		32

static void session_free(struct rpc_worker *worker, struct rpc_session *session)
{
	struct rpc_session **at;

	for (at = &worker->sessions; *at != session; at = &(*at)->next)
		;
	*at = session->next;
	worker->session[session->idx] = NULL;
	__atomic_sub_fetch(&worker->nr, 1, __ATOMIC_RELAXED);
	rpc_sched_leave(&worker->server->sched, &session->seat);
	rpc_end_fini(&session->end);
	free(session);
}

void rpc_worker_close(struct rpc_worker *worker)
{
	while (worker->sessions)
		session_free(worker, worker->sessions);
}

static unsigned index_find(const struct rpc_worker *worker)
{
	unsigned i;

	for (i = 0; i < worker->nr_max && worker->session[i]; i++)
		;
	return i;
}

static int session_new(struct rpc_worker *worker, unsigned idx, uint64_t sender,
		       struct rpc_session **ret_session)
{
	struct far_end ends = { worker->qset, worker->qset, idx, idx };
	const struct far_common *common = &worker->server->common;
	struct rpc_session *session = calloc(1, sizeof(*session));
	int err;

	if (!session)
		return -ENOMEM;
	err = rpc_end_init(&session->end, worker->server->nic, &ends,
			   common->size ? common : NULL);
	if (err)
		goto free_session;
	session->idx = idx;
	session->seat.owner = worker;
	err = rpc_sched_join(&worker->server->sched, &session->seat, sender);
	if (err)
		goto fini_end;
	*ret_session = session;
	return 0;

fini_end:
	rpc_end_fini(&session->end);
free_session:
	free(session);
	return err;
}

/* The client's word of credits: what the connection may have sent, and whether it is active. */
static void credit_write(struct rpc_session *session)
{
	uint64_t change = (uint32_t)(session->end.credit >> 1) + 1;

	session->end.credit = (uint64_t)session->credit << RPC_CREDIT_SHIFT |
			      (uint32_t)(change << 1) |
			      (session->active ? RPC_CREDIT_ACTIVE : 0);
	session->end.credit_due = true;
}

/*
 * Grants or declines credits. The client asks when half of them are used; if not all that it
 * has sent before has come, the grant waits for that.
 */
static void session_credit(struct rpc_session *session)
{
	uint32_t most = session->received + RPC_CREDITS, more = most - session->credit;
	bool active = rpc_seat_active(&session->seat), changed = active != session->active;

	if (session->end.renewals != session->renewals) {
		session->renewals = session->end.renewals;
		session->wants = true;
	}
	if (session->end.asks) {
		rpc_seat_report(&session->seat,
				session->end.asks >> RPC_IMM_DEPTH_SHIFT & RPC_DEPTH_MAX,
				(session->end.asks >> RPC_IMM_THREADS_SHIFT) + 1);
		session->end.asks = 0;
	}
	session->active = active;
	if (!active)
		session->wants = false;
	else if (changed && (int32_t)more > 0)
		session->credit = most;
	if (session->wants && more <= RPC_CREDITS && more >= RPC_CREDITS / 2) {
		session->credit = most;
		session->wants = false;
		changed = true;
	}
	if (changed)
		credit_write(session);
}

/* Makes a session for the call. *caller is gone unless there is an error. */
static int call_accept(struct rpc_worker *worker, struct rpc_session *session,
		       struct far_caller *caller)
{
	struct far_nic *nic = worker->server->nic;
	struct far_hello answer;
	int err;

	session_credit(session);
	session->end.credit_due = false;
	rpc_hello_fill(&answer, session->end.credit, worker->server->common.size);
	err = nic->ops->call->accept(nic, caller, &session->end.end, &session->end.window,
				     &answer, &session->end.link);
	return err ? err : rpc_end_start(&session->end);
}

void rpc_worker_accept(struct rpc_worker *worker, struct far_caller *caller)
{
	struct far_nic *nic = worker->server->nic;
	unsigned idx = index_find(worker);
	struct rpc_session *session;
	uint64_t sender = 0;
	int err = rpc_call_check(&caller->hello, &sender);

	if (!err && idx == worker->nr_max)
		err = -EUSERS;
	if (!err)
		err = session_new(worker, idx, sender, &session);
	if (err) {
		nic->ops->call->reject(nic, caller, err);
		return;
	}
	if (call_accept(worker, session, caller)) {
		rpc_sched_leave(&worker->server->sched, &session->seat);
		rpc_end_fini(&session->end);
		free(session);
		return;
	}
	session->next = worker->sessions;
	worker->sessions = session;
	worker->session[idx] = session;
	__atomic_add_fetch(&worker->nr, 1, __ATOMIC_RELAXED);
}

static void worker_poll(struct rpc_worker *worker)
{
	struct far_wc wc[WCS];
	int nr, i;

	do {
		nr = worker->server->nic->ops->poll(worker->qset, wc, WCS);
		for (i = 0; i < nr; i++)
			if (worker->session[wc[i].peer])
				rpc_end_wc(&worker->session[wc[i].peer]->end, &wc[i]);
	} while (nr == WCS);
}

/* Runs the handler of one request, and adds its response to the message. */
static void request_run(struct rpc_worker *worker, struct rpc_end *end,
			const struct rpc_meta *meta, const void *data)
{
	struct rpc_meta answer = {
		.len = FAR_RPC_DATA_MAX,
		.thread = meta->thread,
		.id = meta->id,
	};
	far_rpc_fn *fn = meta->handler < FAR_RPC_HANDLERS_MAX ?
			 worker->server->handler[meta->handler] : NULL;
	void *response = rpc_out_add(end, &answer);
	struct rpc_meta *made;
	size_t len = 0;
	enum rpc_answer kind = RPC_NO_HANDLER;
	int status = 0;

	if (fn && meta->len <= FAR_RPC_DATA_MAX) {
		status = fn(worker->server->arg, data, meta->len, response, &len);
		kind = len > FAR_RPC_DATA_MAX ? RPC_TOO_LONG : RPC_ANSWERED;
	}
	if (kind != RPC_ANSWERED)
		len = 0;
	rpc_out_trim(end, response, len);
	made = (struct rpc_meta *)response - 1;
	made->handler = kind;
	made->status = status;
	memset((uint8_t *)response + len, 0, rpc_round(len, 8) - len);
}

/*
 * Posts the responses. False: the queue is full, since the client takes nothing, and the
 * message waits; or the connection is broken.
 */
static bool responses_post(struct rpc_worker *worker, struct rpc_session *session)
{
	int err = rpc_out_post(&session->end, NULL, 0);

	session->unsent = err == -EAGAIN;
	if (err && err != -EAGAIN)
		rpc_end_break(&session->end, err);
	/* Executes it at once, or makes room. */
	if (err || worker->server->nic->ops->caps & FAR_NIC_CAP_UNCACHED)
		worker_poll(worker);
	return !err && !rpc_end_broken(&session->end);
}

/*
 * Runs requests of the message that was taken, as long as their responses fit. False: there is
 * no room for more, or the connection is broken.
 */
static bool message_run(struct rpc_worker *worker, struct rpc_session *session)
{
	const uint32_t most = rpc_item(FAR_RPC_DATA_MAX);
	struct rpc_end *end = &session->end;
	uint32_t room = rpc_out_room(end);
	const struct rpc_meta *meta;
	const void *data;
	unsigned nr = 0;

	if (room < RPC_MESSAGE_MAX)
		return false;
	rpc_out_begin(end, RPC_MESSAGE_MAX);
	while (end->out_len + most <= RPC_MESSAGE_MAX && (meta = rpc_in_next(end, &data))) {
		request_run(worker, end, meta, data);
		nr++;
	}
	worker->server->nic->ops->spend(worker->server->nic, COPY_NS * nr);
	__atomic_store_n(&worker->requests, worker->requests + nr, __ATOMIC_RELAXED);
	return nr && responses_post(worker, session);
}

/*
 * Wakes the client, if it has fallen asleep while its responses were on their way: neither has
 * seen the other then. A worker that other clients keep busy never comes to worker_notify().
 */
static void session_wake(struct rpc_worker *worker, struct rpc_session *session)
{
	int err;

	if (rpc_end_broken(&session->end))
		return;
	err = rpc_out_wake(&session->end);
	if (!err)
		err = rpc_out_probe(&session->end, worker->now);

	if (err && err != -EAGAIN)
		rpc_end_break(&session->end, err);
}

static void retry_at(struct rpc_worker *worker, uint64_t at)
{
	if (at < worker->retry)
		worker->retry = at;
}

/*
 * There is no room for responses. The longer it lasts, the rarer the server looks: a client that
 * takes nothing, since it is stopped for example, costs no processor.
 */
static void session_block(struct rpc_worker *worker, struct rpc_session *session)
{
	if (worker->now >= session->next_look) {
		session->nap = session->next_look ? session->nap * 2 : NAP_NS;
		if (session->nap > NAP_MAX_NS)
			session->nap = NAP_MAX_NS;
		session->next_look = worker->now + session->nap;
		rpc_out_refresh(&session->end);
	}
	retry_at(worker, session->next_look);
}

/* Tells the client what no message has told. */
static void session_notify(struct rpc_worker *worker, struct rpc_session *session)
{
	int err;

	session_credit(session);
	err = rpc_end_broken(&session->end) ? 0 : rpc_out_notify(&session->end);
	if (err == -EAGAIN)
		retry_at(worker, worker->now + NAP_NS);
	else if (err)
		rpc_end_break(&session->end, err);
	session_wake(worker, session);
}

/* Counts a message. -EPROTO: the client has sent more than its credits. */
static int message_take(struct rpc_worker *worker, struct rpc_session *session)
{
	const struct rpc_head *head = (const struct rpc_head *)session->end.in;

	rpc_out_head(&session->end, head->head);
	session->received += head->nr;
	rpc_seat_ran(&session->seat, head->nr);
	__atomic_store_n(&worker->messages, worker->messages + 1, __ATOMIC_RELAXED);
	if (head->nr > RPC_CREDITS || (int32_t)(session->credit - session->received) < 0)
		return -EPROTO;
	session_credit(session);
	return 0;
}

/* Serves a session. Returns how many messages there were. */
static unsigned session_serve(struct rpc_worker *worker, struct rpc_session *session)
{
	struct rpc_end *end = &session->end;
	unsigned nr = 0;
	int ret = 0;

	while (!rpc_end_broken(end)) {
		if (session->unsent || end->in_left) {
			if (session->unsent ? responses_post(worker, session) :
					      message_run(worker, session)) {
				session->next_look = 0;
				continue;
			}
			session_block(worker, session);
			break;
		}
		ret = nr < RPC_SIGNAL ? rpc_in_take(end) : 0;
		if (ret <= 0)
			break;
		ret = message_take(worker, session);
		if (ret)
			break;
		nr++;
	}
	if (ret < 0)
		rpc_end_break(end, ret);
	session_notify(worker, session);
	return nr;
}

unsigned rpc_worker_serve(struct rpc_worker *worker)
{
	struct rpc_session *session, *next;
	unsigned nr = 0, seen = 0;

	worker->retry = UINT64_MAX;
	worker->now = worker->server->nic->ops->now(worker->server->nic);
	worker_poll(worker);
	for (session = worker->sessions; session; session = next) {
		next = session->next;
		nr += session_serve(worker, session);
		seen++;
		if (rpc_end_broken(&session->end)) {
			session_free(worker, session);
			nr++;
		}
	}
	worker->server->nic->ops->spend(worker->server->nic, LOOK_NS * seen);
	rpc_sched_look(&worker->server->sched, worker->now);
	if (nr)
		worker->idle = 0;
	return nr;
}

/* True if there is something to do for the session. */
static bool session_waits(const struct rpc_session *session)
{
	if (rpc_end_broken(&session->end) || !session->end.asleep)
		return true;
	return !session->next_look && (rpc_in_waits(&session->end) || session->end.in_left);
}

/* Tells all clients of the sleep. False: there is something to do. */
static bool worker_notify(struct rpc_worker *worker)
{
	struct rpc_session *session;

	for (session = worker->sessions; session; session = session->next)
		if (rpc_out_wake(&session->end) ||
		    (!session->end.asleep && rpc_out_sleep(&session->end))) {
			retry_at(worker, worker->now + NAP_NS);
			worker->server->nic->ops->wait(worker->qset, worker->retry);
			return false;
		}
	worker_poll(worker);
	/* A client may have ended the sleep just now, and does not do that twice. */
	for (session = worker->sessions; session; session = session->next)
		if (session_waits(session))
			return false;
	return true;
}

void rpc_worker_rest(struct rpc_worker *worker)
{
	struct far_rpc_server *server = worker->server;
	const struct far_nic_ops *ops = server->nic->ops;
	uint64_t now = ops->now(server->nic);

	if (rpc_is_virtual(server->nic)) {
		ops->wait(worker->qset, worker->retry);
		return;
	}
	if (!worker->idle)
		worker->idle = now;
	/* Spins first. On a busy machine a processor that is given away comes back late. */
	if (now - worker->idle < server->spin_ns)
		return;
	if (!worker_notify(worker))
		return;
	__atomic_store_n(&worker->sleeps, worker->sleeps + 1, __ATOMIC_RELAXED);
	ops->wait(worker->qset, rpc_probe_until(server->nic, now, worker->retry));
}
