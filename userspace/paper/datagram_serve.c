/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RPC over datagrams: a server's threads. */
#include "datagram_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH		16u	/* completions of a poll, responses of a doorbell: FaSST's */
#define BATCHES		16u	/* of responses, whose memory is in use */

struct server_thread {
	struct datagram_server *server;
	struct far_nic_thread *thread;
	struct far_qset *qset;
	struct datagram_memory in, out;
	uint64_t posted, done;	/* batches of responses */
	struct far_wc *waiting;	/* requests that have come, a ring */
	uint64_t come, begun;	/* requests */
	struct datagram_stats stats;
	int err;
};

struct datagram_server {
	struct far_nic *nic;
	datagram_fn *fn;
	const void *arg;
	unsigned nr, recvs;
	uint32_t stop;		/* atomic */
	struct server_thread thread[];
};

/* Posts RECVs in place of those that are done. */
static int recvs_post(struct server_thread *self, const struct far_wc *wc, unsigned nr)
{
	struct far_wr wr[BATCH];
	unsigned i;

	for (i = 0; i < nr; i++)
		wr[i] = datagram_recv_wr(&self->in, wc[i].id);
	return self->server->nic->ops->post(self->qset, 0, wr, nr);
}

static int recvs_fill(struct server_thread *self)
{
	struct far_wc wc[BATCH];
	unsigned i, nr = 0;
	int err = 0;

	for (i = 0; i < self->server->recvs && !err; i++) {
		wc[nr++].id = i;
		if (nr == BATCH || i + 1 == self->server->recvs) {
			err = recvs_post(self, wc, nr);
			nr = 0;
		}
	}
	return err;
}

/* Runs a request, and makes its response. False: it is no request. */
static int request_run(struct server_thread *self, const struct far_wc *wc, unsigned slot)
{
	const struct datagram_head *request = datagram_slot(&self->in, wc->id);
	struct datagram_head *response = datagram_slot(&self->out, slot);

	if (wc->status || wc->len < sizeof(*request) ||
	    request->len != wc->len - sizeof(*request))
		return 0;
	*response = *request;
	response->len = self->server->fn(self->server->arg, request + 1,
					request->len, response + 1);
	return 1;
}

/* Runs requests, and posts their responses with one doorbell. */
static int batch_run(struct server_thread *self, const struct far_wc *wc, unsigned nr)
{
	struct far_nic *nic = self->server->nic;
	unsigned first = self->posted % BATCHES * BATCH, i, nr_sends = 0;
	struct far_wr wr[BATCH];
	uint64_t reply_to;

	for (i = 0; i < nr; i++) {
		unsigned slot = first + nr_sends;

		if (!request_run(self, &wc[i], slot))
			continue;
		reply_to = datagram_slot(&self->out, slot)->reply_to;
		wr[nr_sends++] = datagram_send_wr(&self->out, slot, reply_to);
	}
	nic->ops->spend(nic, DATAGRAM_COPY_NS * nr_sends);
	self->stats.requests += nr_sends;
	if (!nr_sends)
		return 0;
	wr[nr_sends - 1].flags = FAR_WR_SIGNALED;
	self->posted++;
	return nic->ops->post(self->qset, 0, wr, nr_sends);
}

/* Polls once, and keeps the requests that have come. Returns how many completions there were. */
static int server_poll(struct server_thread *self)
{
	struct far_wc wc[BATCH];
	int nr = self->server->nic->ops->poll(self->qset, wc, BATCH), i;

	for (i = 0; i < nr; i++)
		if (wc[i].op == FAR_NIC_RECV)
			self->waiting[self->come++ % self->server->recvs] = wc[i];
		else
			self->done++;
	return nr;
}

/* Takes a batch of what waits; 0 while the memory of all batches of responses is in use. */
static unsigned batch_take(struct server_thread *self, struct far_wc *wc)
{
	unsigned nr = 0;

	if (self->posted - self->done == BATCHES)
		return 0;
	while (nr < BATCH && self->begun != self->come)
		wc[nr++] = self->waiting[self->begun++ % self->server->recvs];
	return nr;
}

/* Serves what has come. Returns how many completions there were. */
static int server_round(struct server_thread *self)
{
	struct far_nic *nic = self->server->nic;
	uint64_t begin = nic->ops->now(nic), polled, run;
	struct far_wc wc[BATCH];
	int nr = server_poll(self), err = 0;
	unsigned taken;

	if (nr < 0)
		return nr;
	polled = nic->ops->now(nic);
	taken = batch_take(self, wc);
	if (taken)
		err = batch_run(self, wc, taken);
	run = nic->ops->now(nic);
	if (!err && taken)
		err = recvs_post(self, wc, taken);
	self->stats.busy_ns += nic->ops->now(nic) - begin;
	self->stats.receive_ns += nic->ops->now(nic) - run + polled - begin;
	return err ? err : nr + (int)taken;
}

static void server_run(void *arg)
{
	struct server_thread *self = arg;
	int nr = 0;

	while (nr >= 0 && !__atomic_load_n(&self->server->stop, __ATOMIC_ACQUIRE)) {
		nr = server_round(self);
		if (!nr)
			self->server->nic->ops->wait(self->qset, UINT64_MAX);
	}
	self->err = nr < 0 ? nr : 0;
}

static int thread_init(struct server_thread *self, struct datagram_server *server)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 2 * BATCHES * BATCH,
				      .group = FAR_NIC_OWN, .datagrams = true,
				      .recvs = server->recvs };
	struct far_nic *nic = server->nic;
	int err;

	self->server = server;
	self->waiting = calloc(server->recvs, sizeof(self->waiting[0]));
	err = self->waiting ? nic->ops->qset_new(nic, &attr, &self->qset) : -ENOMEM;
	if (!err)
		err = datagram_memory_new(nic, server->recvs, &self->in);
	if (!err)
		err = datagram_memory_new(nic, BATCHES * BATCH, &self->out);
	if (!err)
		err = recvs_fill(self);
	return err;
}

int datagram_serve(struct far_nic *nic, unsigned threads, unsigned recvs, datagram_fn *fn,
		   const void *arg, struct datagram_server **ret_server)
{
	struct datagram_server *server;
	unsigned i;
	int err = 0;

	if (!(nic->ops->caps & FAR_NIC_CAP_DATAGRAMS))
		return -EOPNOTSUPP;
	server = calloc(1, sizeof(*server) + threads * sizeof(server->thread[0]));
	if (!server)
		return -ENOMEM;
	server->nic = nic;
	server->fn = fn;
	server->arg = arg;
	server->nr = threads;
	server->recvs = recvs;
	for (i = 0; i < threads && !err; i++)
		err = thread_init(&server->thread[i], server);
	for (i = 0; i < threads && !err; i++)
		err = nic->ops->thread_start(nic, server_run, &server->thread[i],
					     &server->thread[i].thread);
	if (err)
		datagram_stop(server);
	else
		*ret_server = server;
	return err;
}

void datagram_stop(struct datagram_server *server)
{
	struct far_nic *nic = server->nic;
	unsigned i;

	__atomic_store_n(&server->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < server->nr; i++) {
		struct server_thread *thread = &server->thread[i];

		if (thread->thread) {
			nic->ops->wake(thread->qset);
			nic->ops->thread_join(nic, thread->thread);
		}
		if (thread->qset)
			nic->ops->qset_free(thread->qset);
		datagram_memory_free(nic, &thread->in);
		datagram_memory_free(nic, &thread->out);
		free(thread->waiting);
	}
	free(server);
}

unsigned datagram_threads(const struct datagram_server *server)
{
	return server->nr;
}

uint64_t datagram_address(const struct datagram_server *server, unsigned thread)
{
	return server->nic->ops->address(server->thread[thread % server->nr].qset);
}

void datagram_server_stats(struct datagram_server *server, struct datagram_stats *ret_stats)
{
	struct datagram_stats sum = { 0 };
	struct far_qset_stats stats;
	unsigned i;

	for (i = 0; i < server->nr; i++) {
		const struct server_thread *thread = &server->thread[i];

		server->nic->ops->stats(thread->qset, &stats);
		sum.doorbells += stats.doorbells;
		sum.requests += thread->stats.requests;
		sum.busy_ns += thread->stats.busy_ns;
		sum.receive_ns += thread->stats.receive_ns;
	}
	*ret_stats = sum;
}
