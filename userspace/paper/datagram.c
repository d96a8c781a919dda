/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RPC over datagrams: memory, and a client's threads. */
#include "datagram_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_NS	UINT64_C(5000000)	/* eRPC's time until a request is sent again */
#define PATIENCE_NS	UINT64_C(10000000000)	/* until the server is taken for dead */
#define SPARE		4u	/* RECVs for responses that come twice */
#define RECVS		(DATAGRAM_MOST + SPARE)

int datagram_memory_new(struct far_nic *nic, unsigned slots, struct datagram_memory *ret_memory)
{
	size_t size = slots * DATAGRAM_SLOT;
	int err;

	ret_memory->addr = calloc(1, size);
	if (!ret_memory->addr)
		return -ENOMEM;
	err = nic->ops->mr_reg(nic, ret_memory->addr, size, &ret_memory->lkey);
	if (err) {
		free(ret_memory->addr);
		ret_memory->addr = NULL;
	}
	return err;
}

void datagram_memory_free(struct far_nic *nic, struct datagram_memory *memory)
{
	if (!memory->addr)
		return;
	nic->ops->mr_dereg(nic, memory->lkey);
	free(memory->addr);
}

struct far_wr datagram_recv_wr(const struct datagram_memory *memory, unsigned slot)
{
	return (struct far_wr) {
		.id = slot,
		.local = datagram_slot(memory, slot),
		.len = DATAGRAM_SLOT,
		.lkey = memory->lkey,
		.op = FAR_NIC_RECV,
		.flags = FAR_WR_SIGNALED,
	};
}

struct far_wr datagram_send_wr(const struct datagram_memory *memory, unsigned slot,
			       uint64_t address)
{
	struct datagram_head *head = datagram_slot(memory, slot);

	return (struct far_wr) {
		.id = slot,
		.remote = address,
		.local = head,
		.len = sizeof(*head) + head->len,
		.lkey = memory->lkey,
		.op = FAR_NIC_SEND,
	};
}

/* A request, until its result is taken. */
struct request {
	uint64_t first_ns;	/* when it was sent */
	uint64_t sent_ns;	/* for the last time */
	int answered;
	uint32_t len;		/* of the response */
	uint8_t data[DATAGRAM_DATA_MAX];
};

struct datagram_client {
	struct far_nic *nic;
	struct far_qset *qset;
	uint64_t server;
	struct datagram_memory out, in;
	uint32_t sent, taken;	/* requests; their difference is outstanding */
	uint64_t again;
	unsigned posted;	/* SENDs since the last signaled one */
	struct request request[DATAGRAM_MOST];
};

static int recvs_post(struct datagram_client *client)
{
	struct far_wr wr[RECVS];
	unsigned i;

	for (i = 0; i < RECVS; i++)
		wr[i] = datagram_recv_wr(&client->in, i);
	return client->nic->ops->post(client->qset, 0, wr, RECVS);
}

int datagram_join(struct far_nic *nic, uint64_t server, struct datagram_client **ret_client)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 4 * DATAGRAM_MOST,
				      .group = FAR_NIC_OWN, .datagrams = true,
				      .recvs = RECVS };
	struct datagram_client *client;
	int err;

	if (!(nic->ops->caps & FAR_NIC_CAP_DATAGRAMS))
		return -EOPNOTSUPP;
	client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->nic = nic;
	client->server = server;
	err = nic->ops->qset_new(nic, &attr, &client->qset);
	if (!err)
		err = datagram_memory_new(nic, DATAGRAM_MOST, &client->out);
	if (!err)
		err = datagram_memory_new(nic, RECVS, &client->in);
	if (!err)
		err = recvs_post(client);
	if (err)
		datagram_leave(client);
	else
		*ret_client = client;
	return err;
}

void datagram_leave(struct datagram_client *client)
{
	if (client->qset)
		client->nic->ops->qset_free(client->qset);
	datagram_memory_free(client->nic, &client->out);
	datagram_memory_free(client->nic, &client->in);
	free(client);
}

/* Posts the request of a slot, for the first time or again. */
static int request_post(struct datagram_client *client, unsigned slot)
{
	const struct far_nic_ops *ops = client->nic->ops;
	struct far_wr wr = datagram_send_wr(&client->out, slot, client->server);

	if (++client->posted == DATAGRAM_MOST) {
		wr.flags = FAR_WR_SIGNALED;
		client->posted = 0;
	}
	client->request[slot].sent_ns = ops->now(client->nic);
	return ops->post(client->qset, 0, &wr, 1);
}

int datagram_send(struct datagram_client *client, const void *data, size_t len)
{
	unsigned slot = client->sent % DATAGRAM_MOST;
	struct datagram_head *head = datagram_slot(&client->out, slot);
	int err;

	if (client->sent - client->taken == DATAGRAM_MOST)
		return -EAGAIN;
	if (len > DATAGRAM_DATA_MAX)
		return -EMSGSIZE;
	*head = (struct datagram_head) { client->nic->ops->address(client->qset), client->sent,
					 len };
	if (len)
		memcpy(head + 1, data, len);
	client->nic->ops->spend(client->nic, DATAGRAM_COPY_NS);
	client->request[slot].answered = 0;
	err = request_post(client, slot);
	client->request[slot].first_ns = client->request[slot].sent_ns;
	if (!err)
		client->sent++;
	return err;
}

/* A response has come. One that comes twice has no effect. */
static void response_take(struct datagram_client *client, const struct far_wc *wc)
{
	const struct datagram_head *head = datagram_slot(&client->in, wc->id);
	struct request *request = &client->request[head->id % DATAGRAM_MOST];

	if (wc->status || wc->len < sizeof(*head) || head->len != wc->len - sizeof(*head) ||
	    head->id - client->taken >= client->sent - client->taken || request->answered)
		return;
	request->len = head->len;
	if (head->len)
		memcpy(request->data, head + 1, head->len);
	request->answered = 1;
}

/* Takes what has come, and posts the RECVs again. */
static int client_poll(struct datagram_client *client)
{
	const struct far_nic_ops *ops = client->nic->ops;
	struct far_wc wc[RECVS];
	struct far_wr wr[RECVS];
	int nr = ops->poll(client->qset, wc, RECVS), i;
	unsigned nr_recvs = 0;

	if (nr < 0)
		return nr;
	for (i = 0; i < nr; i++) {
		if (wc[i].op != FAR_NIC_RECV)
			continue;
		response_take(client, &wc[i]);
		wr[nr_recvs++] = datagram_recv_wr(&client->in, wc[i].id);
	}
	return nr_recvs ? ops->post(client->qset, 0, wr, nr_recvs) : 0;
}

/* Sends again what has waited too long. Returns when the next one will have. */
static uint64_t client_again(struct datagram_client *client, int *ret_err)
{
	uint64_t now = client->nic->ops->now(client->nic), next = UINT64_MAX, due;
	uint32_t i;

	*ret_err = 0;
	for (i = client->taken; i != client->sent && !*ret_err; i++) {
		struct request *request = &client->request[i % DATAGRAM_MOST];

		if (request->answered)
			continue;
		if (now >= request->first_ns + PATIENCE_NS)
			*ret_err = -ETIMEDOUT;
		if (!*ret_err && now >= request->sent_ns + AGAIN_NS) {
			*ret_err = request_post(client, i % DATAGRAM_MOST);
			client->again++;
		}
		due = request->sent_ns + AGAIN_NS;
		if (due < next)
			next = due;
	}
	return next;
}

int datagram_recv(struct datagram_client *client, void *data, size_t size, size_t *ret_len)
{
	struct request *request = &client->request[client->taken % DATAGRAM_MOST];
	uint64_t next;
	int err = client->taken == client->sent ? -ENOMSG : client_poll(client);

	while (!err && !request->answered) {
		next = client_again(client, &err);
		if (!err)
			client->nic->ops->wait(client->qset, next);
		if (!err)
			err = client_poll(client);
	}
	if (err)
		return err;
	client->taken++;
	if (request->len > size)
		return -ENOBUFS;
	if (request->len)
		memcpy(data, request->data, request->len);
	*ret_len = request->len;
	return 0;
}

void datagram_client_stats(struct datagram_client *client, uint64_t *ret_requests,
			   uint64_t *ret_doorbells, uint64_t *ret_again)
{
	struct far_qset_stats stats;

	client->nic->ops->stats(client->qset, &stats);
	*ret_requests = client->sent;
	*ret_doorbells = stats.ops[FAR_NIC_SEND];
	*ret_again = client->again;
}
