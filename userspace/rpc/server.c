/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A server: its threads, and calls to it. The first thread takes calls for all. */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/forks.h"
#include "attr.h"

#define SPIN_US		20u
#define CONNECTIONS	1024u
#define TAKE_ROUNDS	64u		/* of serving, between two looks for calls */
#define PAGE		4096u

/* A connection has become active or inactive: its thread tells the client. */
static void seat_changed(struct rpc_seat *seat)
{
	struct rpc_worker *worker = seat->owner;

	worker->server->nic->ops->wake(worker->qset);
}

static void guest_give(struct rpc_worker *worker, const struct far_caller *caller)
{
	struct far_nic *nic = worker->server->nic;
	struct rpc_guest *guest = malloc(sizeof(*guest));

	if (!guest) {
		struct far_caller refused = *caller;

		nic->ops->call->reject(nic, &refused, -ENOMEM);
		return;
	}
	guest->caller = *caller;
	guest->next = __atomic_load_n(&worker->guests, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&worker->guests, &guest->next, guest, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	nic->ops->wake(worker->qset);
}

/* Takes what the first thread has given. */
static void guests_accept(struct rpc_worker *worker, bool reject)
{
	struct far_nic *nic = worker->server->nic;
	struct rpc_guest *guest = __atomic_exchange_n(&worker->guests, NULL, __ATOMIC_ACQ_REL);

	while (guest) {
		struct rpc_guest *next = guest->next;

		if (reject)
			nic->ops->call->reject(nic, &guest->caller, -ECONNREFUSED);
		else
			rpc_worker_accept(worker, &guest->caller);
		free(guest);
		guest = next;
	}
}

static void calls_take(struct far_rpc_server *server)
{
	struct far_caller caller;

	while (!server->nic->ops->call->take(server->nic, server->listener, &caller)) {
		struct rpc_worker *worker = &server->worker[server->turn];

		server->turn = (server->turn + 1) % server->nr_workers;
		if (worker == server->worker)
			rpc_worker_accept(worker, &caller);
		else
			guest_give(worker, &caller);
	}
}

static void worker_run(void *arg)
{
	struct rpc_worker *worker = arg;
	struct far_rpc_server *server = worker->server;
	bool first = worker == server->worker;
	unsigned round = 0;

	while (!__atomic_load_n(&server->stop, __ATOMIC_ACQUIRE)) {
		unsigned nr = rpc_worker_serve(worker);

		if (__atomic_load_n(&worker->guests, __ATOMIC_RELAXED))
			guests_accept(worker, false);
		/* Also while there are requests all the time. */
		if (first && (!nr || ++round % TAKE_ROUNDS == 0))
			calls_take(server);
		if (!nr)
			rpc_worker_rest(worker);
	}
	if (first)
		server->nic->ops->call->unlisten(server->nic, server->listener);
	rpc_worker_close(worker);
}

static int worker_init(struct rpc_worker *worker, struct far_rpc_server *server, unsigned nr_max)
{
	struct far_qset_attr attr = { .nr_peers = nr_max, .depth = RPC_DEPTH,
				      .group = FAR_NIC_OWN };

	worker->server = server;
	worker->nr_max = nr_max;
	worker->session = calloc(nr_max, sizeof(worker->session[0]));
	if (!worker->session)
		return -ENOMEM;
	return server->nic->ops->qset_new(server->nic, &attr, &worker->qset);
}

/* Frees the server, whose threads have ended. */
static void server_free(struct far_rpc_server *server)
{
	unsigned i;

	for (i = 0; i < server->nr_workers; i++) {
		struct rpc_worker *worker = &server->worker[i];

		guests_accept(worker, true);
		if (worker->qset)
			server->nic->ops->qset_free(worker->qset);
		free(worker->session);
	}
	if (server->common.size)
		server->nic->ops->call->common_free(server->nic, &server->common);
	pthread_mutex_destroy(&server->sched.lock);
	free(server);
}

static void workers_stop(struct far_rpc_server *server)
{
	unsigned i;

	__atomic_store_n(&server->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < server->nr_workers; i++) {
		struct rpc_worker *worker = &server->worker[i];

		if (!worker->thread)
			continue;
		server->nic->ops->wake(worker->qset);
		server->nic->ops->thread_join(server->nic, worker->thread);
	}
}

static int workers_start(struct far_rpc_server *server)
{
	unsigned i;
	int err = server->nic->ops->call->listen(server->worker[0].qset, server->service,
						 &server->listener);

	for (i = 0; i < server->nr_workers && !err; i++)
		err = server->nic->ops->thread_start(server->nic, worker_run,
						     &server->worker[i],
						     &server->worker[i].thread);
	if (err) {
		/* The first thread ends the listener. */
		if (server->listener && !server->worker[0].thread)
			server->nic->ops->call->unlisten(server->nic, server->listener);
		workers_stop(server);
	}
	return err;
}

/* Makes the memory for the clients, in whole pages. */
static int memory_make(struct far_rpc_server *server, const struct far_rpc_server_attr *attr)
{
	struct far_nic *nic = server->nic;
	int err;

	if (!attr->memory)
		return 0;
	err = nic->ops->call->common_new(nic, (attr->memory + PAGE - 1) / PAGE * PAGE,
					 &server->common);
	if (err)
		server->common.size = 0;
	else if (attr->ret_memory)
		*attr->ret_memory = server->common.addr;
	return err;
}

int rpc_serve_nic(struct far_nic *nic, const struct far_rpc_server_attr *attr,
		  struct far_rpc_server **ret_server)
{
	unsigned nr = attr->threads ? attr->threads : 1, i;
	unsigned connections = attr->connections ? attr->connections : CONNECTIONS;
	struct far_rpc_server *server;
	int err;

	if (!nic->ops->call || !(nic->ops->caps & FAR_NIC_CAP_IMM))
		return -EOPNOTSUPP;
	err = rpc_server_attr_check(attr, NULL, 0);
	if (err)
		return err;
	server = far_forks_watch() ? NULL :
		 calloc(1, sizeof(*server) + nr * sizeof(server->worker[0]));
	if (!server)
		return -ENOMEM;
	server->forks = far_forks;
	server->nic = nic;
	server->nr_workers = nr;
	server->arg = attr->arg;
	server->sched.max = attr->active ? attr->active : RPC_ACTIVE_MAX;
	server->sched.changed = seat_changed;
	pthread_mutex_init(&server->sched.lock, NULL);
	server->spin_ns = (attr->spin_us ? attr->spin_us : SPIN_US) * UINT64_C(1000);
	snprintf(server->service, sizeof(server->service), "%s", attr->service);
	for (i = 0; i < attr->nr_handlers; i++)
		server->handler[i] = attr->handlers[i];
	err = memory_make(server, attr);
	for (i = 0; i < nr && !err; i++)
		err = worker_init(&server->worker[i], server, (connections + nr - 1) / nr);
	if (!err)
		err = workers_start(server);
	if (err) {
		server_free(server);
		return err;
	}
	*ret_server = server;
	return 0;
}

int far_rpc_serve(const struct far_rpc_server_attr *attr, char *why, size_t why_len,
		  struct far_rpc_server **ret_server)
{
	struct far_nic *nic;
	int err = rpc_server_attr_check(attr, why, why_len);

	if (!err)
		err = rpc_nic_open(attr->nic, why, why_len, &nic);
	if (err)
		return err;
	err = rpc_serve_nic(nic, attr, ret_server);
	if (err) {
		nic->ops->close(nic);
		return rpc_why(why, why_len, err, attr->service, NULL);
	}
	(*ret_server)->own_nic = true;
	return 0;
}

void far_rpc_stop(struct far_rpc_server *server)
{
	struct far_nic *nic = server->nic;
	bool own_nic = server->own_nic;

	/* The threads and descriptors are the parent's. */
	if (server->forks != far_forks)
		return;
	workers_stop(server);
	server_free(server);
	if (own_nic)
		nic->ops->close(nic);
}

void far_rpc_server_stats(struct far_rpc_server *server, struct far_rpc_stats *ret_stats)
{
	struct far_rpc_stats stats = { 0 };
	struct far_qset_stats counts;
	unsigned i;

	for (i = 0; i < server->nr_workers; i++) {
		struct rpc_worker *worker = &server->worker[i];

		stats.requests += __atomic_load_n(&worker->requests, __ATOMIC_RELAXED);
		stats.messages += __atomic_load_n(&worker->messages, __ATOMIC_RELAXED);
		stats.sleeps += __atomic_load_n(&worker->sleeps, __ATOMIC_RELAXED);
		stats.connections += __atomic_load_n(&worker->nr, __ATOMIC_RELAXED);
		server->nic->ops->stats(worker->qset, &counts);
		stats.doorbells += counts.doorbells;
	}
	stats.memory = stats.connections * (2 * (uint64_t)RPC_WINDOW + RPC_MESSAGE_MAX);
	*ret_stats = stats;
}
