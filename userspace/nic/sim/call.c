// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compute nodes that call each other. A node's windows lie in memory of its own, which its
 * NIC serves as that of a memory node; a connection is a queue pair from each end to the
 * other's window. A node is named by its number; "" is any that offers the service.
 */
#include "cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../window.h"
#include "../wr.h"

#define MAX_RECVS	32768u

/* A call under way. Who is last with it frees it: the caller, or the listener's side. */
struct sim_caller {
	struct sim_thread *thread;
	struct far_nic *nic;
	struct far_end end;
	struct sim_space *window;
	struct far_hello hello;		/* then the answer */
	struct far_link *link;
	int status;
	int answered, given_up;
	struct sim_caller *next;
};

struct far_listener {
	struct sim_qset *qset;
	char service[FAR_SERVICE_MAX + 1];
	struct sim_caller *first, **end;
	struct far_listener *next;
};

/* A piece of the node's memory. */
static int piece_new(struct far_nic *nic, uint64_t size, struct sim_space **ret_space,
		     void **ret_addr)
{
	struct sim_cn *cn = sim_cn_of(nic);
	int err = sim_cn_memory(cn);

	if (!err)
		err = sim_space_new(cn->memory, "", size, ret_space);
	if (err)
		return err == -ENOSPC ? -ENOMEM : err;
	*ret_addr = cn->memory->base + (*ret_space)->off;
	return 0;
}

static int common_new(struct far_nic *nic, uint64_t size, struct far_common *ret_common)
{
	struct sim_space *space;
	int err;

	if (!far_window_fits(size, NULL))
		return -EINVAL;
	err = piece_new(nic, size, &space, &ret_common->addr);
	if (err)
		return err;
	ret_common->size = size;
	ret_common->priv = space;
	return 0;
}

static void common_free(struct far_nic *nic, struct far_common *common)
{
	sim_space_put(common->priv);
}

static int window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
		      struct far_window *ret_window)
{
	struct sim_space *space;
	int err;

	if (!far_window_fits(size, common))
		return -EINVAL;
	err = piece_new(nic, size, &space, &ret_window->addr);
	if (err)
		return err;
	space->common = common ? common->priv : NULL;
	if (space->common)
		space->common->refs++;
	ret_window->size = size;
	ret_window->span = size + (common ? common->size : 0);
	ret_window->priv = space;
	return 0;
}

static void window_free(struct far_nic *nic, struct far_window *window)
{
	struct sim_space *space = window->priv;

	space->removed = 1;
	sim_space_put(space);
}

static int service_is_good(const char *service)
{
	size_t len = strlen(service);

	return len && len <= FAR_SERVICE_MAX && service[0] != '.' &&
	       strspn(service, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		      "0123456789-_.") == len;
}

/* The listener of a living compute node; cn NULL: of any. */
static struct far_listener *listener_find(struct far_sim *sim, const struct sim_cn *cn,
					  const char *service)
{
	struct far_listener *listener;

	for (listener = sim->listeners; listener; listener = listener->next)
		if (!strcmp(listener->service, service) && !listener->qset->cn->dead &&
		    (!cn || listener->qset->cn == cn))
			return listener;
	return NULL;
}

static int call_listen(struct far_qset *far_qset, const char *service,
		       struct far_listener **ret_listener)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct far_sim *sim = qset->cn->sim;
	struct far_listener *listener;

	if (!service_is_good(service))
		return -EINVAL;
	if (listener_find(sim, qset->cn, service))
		return -EADDRINUSE;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	listener->qset = qset;
	listener->end = &listener->first;
	snprintf(listener->service, sizeof(listener->service), "%s", service);
	listener->next = sim->listeners;
	sim->listeners = listener;
	*ret_listener = listener;
	return 0;
}

/* Answers the caller, who learns it a round trip after the call. */
static void caller_answer(struct sim_caller *caller, int status)
{
	if (caller->given_up) {
		sim_space_put(caller->window);
		free(caller);
		return;
	}
	caller->status = status;
	caller->answered = 1;
	sim_thread_wake(caller->thread, sim_local_now(caller->thread->sim));
}

static void listener_free(struct far_listener *listener, int status)
{
	while (listener->first) {
		struct sim_caller *caller = listener->first;

		listener->first = caller->next;
		caller_answer(caller, status);
	}
	free(listener);
}

static void call_unlisten(struct far_nic *nic, struct far_listener *listener)
{
	struct far_listener **at = &listener->qset->cn->sim->listeners;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	listener_free(listener, -ECONNREFUSED);
}

void sim_listeners_free(struct far_sim *sim)
{
	while (sim->listeners) {
		struct far_listener *listener = sim->listeners;

		sim->listeners = listener->next;
		/* The callers' threads have ended. */
		while (listener->first) {
			struct sim_caller *caller = listener->first;

			listener->first = caller->next;
			sim_space_put(caller->window);
			free(caller);
		}
		free(listener);
	}
}

static int call_take(struct far_nic *nic, struct far_listener *listener,
		     struct far_caller *ret_caller)
{
	struct sim_caller *caller;

	sim_settle(listener->qset->cn->sim);
	while ((caller = listener->first)) {
		listener->first = caller->next;
		if (!listener->first)
			listener->end = &listener->first;
		if (!caller->given_up && !sim_cn_of(caller->nic)->dead)
			break;
		sim_space_put(caller->window);
		free(caller);
	}
	if (!caller)
		return -EAGAIN;
	ret_caller->hello = caller->hello;
	ret_caller->priv = caller;
	return 0;
}

static void call_reject(struct far_nic *nic, struct far_caller *caller, int status)
{
	caller_answer(caller->priv, status);
}

static void link_mourn(struct sim_event *event)
{
	struct far_link *link = (struct far_link *)event;
	struct sim_req *req;

	link->over = 1;
	while ((req = link->recvs)) {
		link->recvs = req->next;
		req->status = -EHOSTDOWN;
		sim_complete(req);
	}
	link->recvs_end = &link->recvs;
	link->nr_recvs = 0;
}

/* Makes one end, whose queue pair leads to the window. */
static int link_new(const struct far_end *end, struct sim_space *window,
		    struct far_link **ret_link)
{
	struct sim_qset *send = sim_qset_of(end->send);
	struct far_link *link, *other;
	struct sim_attach *attach;
	int err;

	for (other = send->cn->links; other; other = other->next)
		if (other->recv == sim_qset_of(end->recv) && other->recv_idx == end->recv_idx)
			return -EISCONN;
	link = calloc(1, sizeof(*link));
	attach = sim_attach_new(send->cn, window, FAR_ATTACH_READ | FAR_ATTACH_WRITE);
	if (!link || !attach) {
		err = -ENOMEM;
		goto put_attach;
	}
	err = sim_qp_open(send, end->idx, attach, &link->qp);
	if (err)
		goto put_attach;
	sim_attach_put(attach);		/* the queue pair has a reference */
	link->event.fire = link_mourn;
	link->cn = send->cn;
	link->qp->link = link;
	link->recv = sim_qset_of(end->recv);
	link->recv_idx = end->recv_idx;
	link->recvs_end = &link->recvs;
	link->next = send->cn->links;
	send->cn->links = link;
	*ret_link = link;
	return 0;

put_attach:
	if (attach)
		sim_attach_put(attach);
	free(link);
	return err;
}

void sim_hangup(struct far_link *link)
{
	struct far_sim *sim = link->cn->sim;
	struct far_link **at, *other = link->other;
	struct sim_req *req;

	for (at = &link->cn->links; *at != link; at = &(*at)->next)
		;
	*at = link->next;
	sim_wheel_remove(&sim->wheel, &link->event);
	link->qp->link = NULL;
	sim_qp_stop(link->qp, 0);
	while ((req = link->recvs)) {
		link->recvs = req->next;
		sim_req_free(sim, req);
	}
	if (other) {
		other->other = NULL;
		if (!other->over && !sim_event_queued(&other->event))
			sim_wheel_add(&sim->wheel, &other->event,
				      sim_local_now(sim) + sim_ns(link->cn->half_rtt_ps));
	}
	free(link);
}

void sim_links_mourn(struct sim_cn *cn)
{
	struct far_sim *sim = cn->sim;
	struct far_link *link;

	if (cn->memory)
		cn->memory->dead = 1;
	for (link = cn->links; link; link = link->next)
		if (link->other && !link->other->over && !sim_event_queued(&link->other->event))
			sim_wheel_add(&sim->wheel, &link->other->event,
				      sim->wheel.now + sim_ns(sim_ps(sim->profile.dead_ns)));
}

static int call_accept(struct far_nic *nic, struct far_caller *far_caller,
		       const struct far_end *end, const struct far_window *window,
		       const struct far_hello *answer, struct far_link **ret_link)
{
	struct sim_caller *caller = far_caller->priv;
	struct far_link *link;
	int err;

	sim_settle(sim_qset_of(end->send)->cn->sim);
	if (caller->given_up || sim_cn_of(caller->nic)->dead) {
		sim_space_put(caller->window);
		free(caller);
		return -ECONNRESET;
	}
	err = link_new(end, caller->window, &link);
	if (err)
		goto reject;
	err = link_new(&caller->end, window->priv, &caller->link);
	if (err)
		goto hangup;
	link->other = caller->link;
	caller->link->other = link;
	caller->hello = *answer;
	*ret_link = link;
	caller_answer(caller, 0);
	return 0;

hangup:
	sim_hangup(link);
reject:
	caller_answer(caller, err);
	return err;
}

/* Sleeps until the call is answered. -ETIMEDOUT. */
static int caller_wait(struct sim_caller *caller, uint64_t until)
{
	struct far_sim *sim = caller->thread->sim;

	while (!caller->answered) {
		if (sim->wheel.now >= until)
			return -ETIMEDOUT;
		if (until != UINT64_MAX)
			sim_wheel_add(&sim->wheel, &caller->thread->event, until);
		sim->stuck = 0;
		sim_block(sim, SIM_WAIT);
		sim_wheel_remove(&sim->wheel, &caller->thread->event);
		if (sim->stuck && !caller->answered)
			return -ETIMEDOUT;
	}
	return caller->status;
}

static int call_find(struct far_sim *sim, const char *node, const char *service,
		     struct far_listener **ret_listener)
{
	struct sim_cn *cn = NULL;
	char *end;
	unsigned long idx;

	if (*node) {
		idx = strtoul(node, &end, 10);
		if (*end || *node < '0' || *node > '9' || idx >= sim->attr.cns ||
		    sim->cns[idx].dead)
			return -EHOSTUNREACH;
		cn = &sim->cns[idx];
	}
	*ret_listener = listener_find(sim, cn, service);
	return *ret_listener ? 0 : -ENOENT;
}

static int call_call(struct far_nic *nic, const char *node, const char *service,
		     const struct far_end *end, const struct far_window *window,
		     const struct far_hello *hello, uint64_t until,
		     struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct sim_cn *cn = sim_cn_of(nic);
	struct far_sim *sim = cn->sim;
	struct far_listener *listener;
	struct sim_caller *caller;
	int err;

	sim_settle(sim);
	err = call_find(sim, node, service, &listener);
	if (err)
		return err;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return -ENOMEM;
	caller->thread = sim->current;
	caller->nic = nic;
	caller->end = *end;
	caller->window = window->priv;
	caller->window->refs++;
	caller->hello = *hello;
	*listener->end = caller;
	listener->end = &caller->next;
	sim_wake(&listener->qset->qset);
	err = caller_wait(caller, until);
	if (!caller->answered) {
		caller->given_up = 1;
		return err;
	}
	sim->current->lag += sim_ns(2 * cn->half_rtt_ps);
	*ret_answer = caller->hello;
	*ret_link = caller->link;
	sim_space_put(caller->window);
	free(caller);
	return err;
}

static struct far_link *link_find(const struct sim_qset *qset, unsigned idx)
{
	struct far_link *link = qset->cn->links;

	while (link && (link->recv != qset || link->recv_idx != idx))
		link = link->next;
	return link;
}

static int recv_check(const struct far_link *link, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		if (wr[i].op != FAR_NIC_RECV || wr[i].len)
			return -EINVAL;
	if (!link || link->over)
		return -ENOTCONN;
	if (nr > MAX_RECVS)
		return -E2BIG;
	return link->nr_recvs + nr > MAX_RECVS ? -EAGAIN : 0;
}

/* The other end's first WRITE_IMM need not wait any more. */
static void link_release(const struct far_link *link)
{
	struct far_sim *sim = link->cn->sim;
	struct sim_req *req = link->other ? link->other->qp->wait_first : NULL;

	if (!req || req->wr.op != FAR_NIC_WRITE_IMM || sim_event_queued(&req->event))
		return;
	req->event.fire = sim_req_later;
	sim_wheel_add(&sim->wheel, &req->event, sim_local_now(sim));
}

static int recv_add(struct far_link *link, const struct far_wr *wr)
{
	struct sim_req *req = sim_req_new(link->cn->sim);

	if (!req)
		return -ENOMEM;
	req->wr = *wr;
	req->wr.remote = link->recv_idx;
	req->qp = link->qp;
	req->owner = link->recv;
	*link->recvs_end = req;
	link->recvs_end = &req->next;
	link->nr_recvs++;
	return 0;
}

int sim_link_recv(struct sim_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct far_link *link = link_find(qset, idx);
	struct far_sim *sim = qset->cn->sim;
	struct sim_req **end = link ? link->recvs_end : NULL;
	int err = recv_check(link, wr, nr);
	unsigned i;

	for (i = 0; i < nr && !err; i++)
		err = recv_add(link, &wr[i]);
	if (err && i) {
		/* All or none. */
		for (link->recvs_end = end, link->nr_recvs -= i - 1; *end;) {
			struct sim_req *req = *end;

			*end = req->next;
			sim_req_free(sim, req);
		}
	}
	if (err)
		return err;
	far_wr_count(&qset->stats, wr, nr);
	sim->current->lag += (sim->profile.build_ns + sim->profile.recv_ns) * nr *
			     qset->cn->slow + 0.5;
	link_release(link);
	return 0;
}

int sim_req_stalls(const struct sim_req *req)
{
	const struct far_link *link = req->qp->link;

	return req->wr.op == FAR_NIC_WRITE_IMM && link && link->other && !link->other->recvs;
}

/* Completes the oldest RECV of the end. */
static void link_imm(struct far_link *link, uint64_t imm)
{
	struct sim_req *recv = link->recvs;

	if (!recv)
		return;
	link->recvs = recv->next;
	if (!link->recvs)
		link->recvs_end = &link->recvs;
	link->nr_recvs--;
	recv->wr.arg[0] = (uint32_t)imm;
	sim_complete(recv);
}

void sim_req_landed(struct sim_req *req)
{
	struct far_link *link = req->qp->link->other;

	if (!link || link->cn->dead)
		return;
	if (req->wr.op == FAR_NIC_WRITE_IMM)
		link_imm(link, req->wr.arg[0]);
	link->recv->landed = 1;
	if (link->recv->waiter)
		sim_thread_wake(link->recv->waiter, link->cn->sim->wheel.now);
}

static void call_hangup(struct far_nic *nic, struct far_link *link)
{
	sim_hangup(link);
}

const struct far_nic_call_ops sim_call_ops = {
	.common_new = common_new,
	.common_free = common_free,
	.window_new = window_new,
	.window_free = window_free,
	.listen = call_listen,
	.unlisten = call_unlisten,
	.take = call_take,
	.accept = call_accept,
	.reject = call_reject,
	.call = call_call,
	.hangup = call_hangup,
};
