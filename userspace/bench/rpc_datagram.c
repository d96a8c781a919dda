// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds a server of datagrams; see rpc_datagram.h. */
#include "rpc_datagram.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "../rpc/client.h"

#define PATIENCE_NS	UINT64_C(10000000000)

_Static_assert(RPC_DATAGRAM_THREADS * 8 <= FAR_RPC_DATA_MAX, "addresses fit into a response");

size_t rpc_datagram_publish(const struct datagram_server *server, void *response)
{
	unsigned nr = datagram_threads(server), i;
	uint64_t address;

	for (i = 0; i < nr; i++) {
		address = htobe64(datagram_address(server, i));
		memcpy((uint8_t *)response + 8 * i, &address, 8);
	}
	return 8 * (size_t)nr;
}

static int answer_parse(const uint8_t *data, size_t len, struct rpc_datagram_server *ret_server)
{
	uint64_t address;
	unsigned i;

	if (!len || len % 8 || len > sizeof(ret_server->address))
		return -EPROTO;
	ret_server->nr = len / 8;
	for (i = 0; i < ret_server->nr; i++) {
		memcpy(&address, data + 8 * i, 8);
		ret_server->address[i] = be64toh(address);
	}
	return 0;
}

static int client_ask(struct far_rpc *rpc, struct rpc_datagram_server *ret_server)
{
	uint8_t data[8 * RPC_DATAGRAM_THREADS];
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	int err = far_rpc_join(rpc, &thread);

	if (err)
		return err;
	err = far_rpc_call(thread, RPC_DATAGRAM_ADDRESSES, NULL, 0, PATIENCE_NS, data, sizeof(data),
			   &reply);
	if (!err)
		err = reply.status ? reply.status : answer_parse(data, reply.len, ret_server);
	far_rpc_leave(thread);
	return err;
}

int rpc_datagram_ask(struct far_nic *nic, const char *node, const char *service,
		     struct rpc_datagram_server *ret_server)
{
	const struct far_rpc_attr attr = { .node = node, .service = service };
	struct far_rpc *rpc;
	int err = rpc_connect_nic(nic, &attr, &rpc);

	if (err)
		return err;
	err = client_ask(rpc, ret_server);
	far_rpc_close(rpc);
	return err;
}
