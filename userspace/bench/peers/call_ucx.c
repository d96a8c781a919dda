// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls by UCX's active messages: a worker and an endpoint for each caller, one worker of the
 * server, which polls. UCX_TLS says by which transport: "posix" is memory of this host, "tcp"
 * its sockets. Addresses of workers are exchanged over a UNIX socket.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <ucp/api/ucp.h>

#include "call.h"

#define MAX_ADDRESS	4096u
#define MAX_CALLERS	64u
#define IDLE		1000u	/* polls in vain before the processor is given away */

enum { AM_REQUEST, AM_RESPONSE };

struct side {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h ep[MAX_CALLERS];
	unsigned nr;
	uint64_t responses;
	uint8_t data[CALL_MAX];
	size_t len;
};

/* A packet that both send first: the number of the caller, then the address of the worker. */
struct packet {
	uint32_t nr, len;
	uint8_t address[MAX_ADDRESS];
};

static int side_open(struct side *side)
{
	ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM,
	};
	ucp_worker_params_t worker = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	ucp_config_t *config;

	if (ucp_config_read(NULL, NULL, &config) != UCS_OK)
		return -1;
	if (ucp_init(&params, config, &side->context) != UCS_OK) {
		ucp_config_release(config);
		return -1;
	}
	ucp_config_release(config);
	return ucp_worker_create(side->context, &worker, &side->worker) == UCS_OK ? 0 : -1;
}

static int handler_set(struct side *side, unsigned id, ucp_am_recv_callback_t fn)
{
	ucp_am_handler_param_t param = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
			      UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = id, .cb = fn, .arg = side,
	};

	return ucp_worker_set_am_recv_handler(side->worker, &param) == UCS_OK ? 0 : -1;
}

static int address_send(struct side *side, int fd, unsigned nr)
{
	struct packet packet = { .nr = nr };
	ucp_address_t *address;
	size_t len;
	int ok;

	if (ucp_worker_get_address(side->worker, &address, &len) != UCS_OK)
		return -1;
	ok = len <= MAX_ADDRESS;
	if (ok) {
		packet.len = len;
		memcpy(packet.address, address, len);
		ok = send(fd, &packet, sizeof(packet), MSG_NOSIGNAL) == sizeof(packet);
	}
	ucp_worker_release_address(side->worker, address);
	return ok ? 0 : -1;
}

/* Receives the other side's address and makes the endpoint. Returns its number, or -1. */
static int address_take(struct side *side, int fd)
{
	ucp_ep_params_t params = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS };
	struct packet packet;

	if (recv(fd, &packet, sizeof(packet), 0) != sizeof(packet) || side->nr == MAX_CALLERS)
		return -1;
	params.address = (const ucp_address_t *)packet.address;
	if (ucp_ep_create(side->worker, &params, &side->ep[side->nr]) != UCS_OK)
		return -1;
	side->nr++;
	return packet.nr;
}

/* Sends an active message whose header is the caller's number; waits until data may change. */
static int am_send(struct side *side, unsigned ep, unsigned id, uint32_t *header,
		   const void *data, size_t len)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_EAGER,
	};
	void *request = ucp_am_send_nbx(side->ep[ep], id, header, sizeof(*header), data, len,
					&param);

	if (!request)
		return 0;
	if (UCS_PTR_IS_ERR(request))
		return -1;
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		ucp_worker_progress(side->worker);
	ucp_request_free(request);
	return 0;
}

/* ---- the server ---- */

static ucs_status_t request_come(void *arg, const void *header, size_t header_len, void *data,
				 size_t len, const ucp_am_recv_param_t *param)
{
	const ucp_request_param_t send = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_EAGER,
	};
	struct side *side = arg;
	uint32_t nr;
	void *request;

	memcpy(&nr, header, sizeof(nr));
	if (header_len != sizeof(nr) || nr >= side->nr || len > CALL_MAX)
		return UCS_OK;
	/* The next request of the caller comes behind this answer: the copy is its own. */
	memcpy(side->data, data, len);
	request = ucp_am_send_nbx(side->ep[nr], AM_RESPONSE, NULL, 0, side->data, len, &send);
	if (request && !UCS_PTR_IS_ERR(request))
		ucp_request_free(request);
	return UCS_OK;
}

static int listener(const char *where)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", where);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, MAX_CALLERS))
		return -1;
	return fd;
}

static void serve(const char *where, unsigned nr, int ready)
{
	static struct side side;
	int fd = listener(where), conn;
	unsigned idle = 0;

	if (fd < 0 || side_open(&side) || handler_set(&side, AM_REQUEST, request_come) ||
	    write(ready, "r", 1) != 1)
		return;
	while (side.nr < nr && (conn = accept(fd, NULL, NULL)) >= 0) {
		if (address_send(&side, conn, side.nr) || address_take(&side, conn) < 0)
			return;
		close(conn);
	}
	for (;;) {
		if (ucp_worker_progress(side.worker))
			idle = 0;
		else if (++idle % IDLE == 0)
			sched_yield();
	}
}

/* ---- a caller ---- */

struct caller {
	struct side side;
	uint32_t nr;
};

static ucs_status_t response_come(void *arg, const void *header, size_t header_len, void *data,
				  size_t len, const ucp_am_recv_param_t *param)
{
	struct side *side = arg;

	(void)header;
	(void)header_len;
	(void)param;
	side->len = len < CALL_MAX ? len : CALL_MAX;
	memcpy(side->data, data, side->len);
	side->responses++;
	return UCS_OK;
}

static void *ucx_open(const char *where, const char **ret_why)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct caller *caller = calloc(1, sizeof(*caller));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), nr;

	*ret_why = "cannot connect";
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", where);
	if (!caller || side_open(&caller->side) ||
	    handler_set(&caller->side, AM_RESPONSE, response_come) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return NULL;
	nr = address_take(&caller->side, fd);
	if (nr < 0 || address_send(&caller->side, fd, 0))
		return NULL;
	caller->nr = nr;
	close(fd);
	return caller;
}

static int ucx_call(void *conn, void *data, size_t len)
{
	struct caller *caller = conn;
	uint64_t responses = caller->side.responses;
	unsigned idle = 0;

	if (am_send(&caller->side, 0, AM_REQUEST, &caller->nr, data, len))
		return -1;
	while (caller->side.responses == responses)
		if (!ucp_worker_progress(caller->side.worker) && ++idle % IDLE == 0)
			sched_yield();
	memcpy(data, caller->side.data, len);
	return caller->side.len == len ? 0 : -1;
}

static void ucx_close(void *conn)
{
	struct caller *caller = conn;

	ucp_worker_destroy(caller->side.worker);
	ucp_cleanup(caller->side.context);
	free(caller);
}

const struct call_way call_ucx = { "ucx", serve, ucx_open, ucx_call, ucx_close };
