// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rping's protocol (rdmacm-utils) on the software NIC, both roles.
 *
 *	client				server
 *	SEND {addr, rkey, size}  ---->	READ the data from there
 *		<----------------  SEND	go on
 *	SEND {addr, rkey, size}  ---->	WRITE the same data there
 *		<----------------  SEND	done
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "echo.h"

#define LOG_SQ		3
#define LOG_RQ		2
#define LOG_CQ		6
#define INFO_LEN	16
#define DATA_MAX	(1u << 20)

/* What the client says about its buffer. */
struct info {
	__be64 addr;
	__be32 rkey;
	__be32 size;
};

_Static_assert(sizeof(struct info) == INFO_LEN, "rping's message");

enum phase {
	/* server */
	READ_ADV, READING, WRITE_ADV, WRITING,
	/* client: waits for the server to have read, to have written */
	OFFERED, ASKED,
};

/* Memory that the NIC uses, per connection. */
struct memory {
	_Alignas(64) uint8_t sq[64 << LOG_SQ];
	_Alignas(64) uint8_t rq[16 << LOG_RQ];
	_Alignas(64) struct wrc_cqe cq[1 << LOG_CQ];
	_Alignas(64) struct wrc_dbr dbr;
	_Alignas(64) struct info recv[1 << LOG_RQ];
	_Alignas(64) struct info send;
	_Alignas(4096) uint8_t data[DATA_MAX];
	_Alignas(4096) uint8_t back[DATA_MAX];	/* client: written into */
};

struct echo_conn {
	bool used, client;
	uint32_t id, qpn, cqn, key;
	uint16_t pi, posted;
	enum phase phase;
	uint32_t size;
	unsigned long rounds;
	struct memory *mem;
};

/* ---- work requests --------------------------------------------------------- */

static void conn_post_send(struct echo *e, struct echo_conn *c, uint8_t opcode,
			   const struct info *remote, void *local, uint32_t len)
{
	uint8_t *wqe = c->mem->sq + (c->pi & ((1 << LOG_SQ) - 1)) * 64;
	struct wrc_wqe_ctrl ctrl = {
		.opcode = opcode, .fm_ce_se = WRC_WQE_CE_ALWAYS,
		.index = { c->pi >> 8, c->pi & 0xff },
		.qpn = { c->qpn >> 16, c->qpn >> 8, c->qpn & 0xff },
		.ds = remote ? 3 : 2,
	};
	struct wrc_wqe_data data = {
		.byte_count = cpu_to_be32(len), .lkey = cpu_to_be32(c->key),
		.addr = cpu_to_be64((uintptr_t)local),
	};
	struct wrc_wqe_raddr raddr;
	size_t off = sizeof(ctrl);

	memcpy(wqe, &ctrl, sizeof(ctrl));
	if (remote) {
		raddr = (struct wrc_wqe_raddr) {
			.addr = remote->addr, .rkey = remote->rkey,
		};
		memcpy(wqe + off, &raddr, sizeof(raddr));
		off += sizeof(raddr);
	}
	memcpy(wqe + off, &data, sizeof(data));
	c->pi++;
	c->mem->dbr.snd = cpu_to_be32(c->pi);
	snic_qp_doorbell(e->nic, c->qpn, c->pi);
}

static void conn_post_recv(struct echo_conn *c)
{
	unsigned int slot = c->posted & ((1 << LOG_RQ) - 1);
	struct wrc_wqe_data data = {
		.byte_count = cpu_to_be32(INFO_LEN),
		.lkey = cpu_to_be32(c->key),
		.addr = cpu_to_be64((uintptr_t)&c->mem->recv[slot]),
	};

	memcpy(c->mem->rq + slot * sizeof(data), &data, sizeof(data));
	c->posted++;
	c->mem->dbr.rcv = cpu_to_be32(c->posted);
}

/* ---- the protocol ------------------------------------------------------------ */

static void conn_protocol_error(struct echo *e, struct echo_conn *c,
				const char *what, unsigned int value)
{
	fprintf(stderr, "snic-echo: connection %08x: %s: %u\n", c->id, what,
		value);
	e->failed++;
	snic_cm_disconnect(e->nic, c->id);
}

static void conn_send_info(struct echo *e, struct echo_conn *c, const void *buf)
{
	c->mem->send = (struct info) {
		.addr = cpu_to_be64((uintptr_t)buf),
		.rkey = cpu_to_be32(c->key),
		.size = cpu_to_be32(c->size),
	};
	conn_post_send(e, c, WRC_WQE_SEND, NULL, &c->mem->send, INFO_LEN);
}

static void conn_server_received(struct echo *e, struct echo_conn *c,
				 const struct info *info)
{
	c->size = be32_to_cpu(info->size);
	if (!c->size || c->size > DATA_MAX) {
		conn_protocol_error(e, c, "unusable size", c->size);
	} else if (c->phase == READ_ADV) {
		c->phase = READING;
		conn_post_send(e, c, WRC_WQE_READ, info, c->mem->data, c->size);
	} else if (c->phase == WRITE_ADV) {
		c->phase = WRITING;
		conn_post_send(e, c, WRC_WQE_WRITE, info, c->mem->data,
			       c->size);
	} else {
		conn_protocol_error(e, c, "message in phase", c->phase);
	}
}

static void conn_client_begin(struct echo *e, struct echo_conn *c)
{
	uint32_t i;

	/* rping's server may print it as a string. */
	for (i = 0; i < c->size; i++)
		c->mem->data[i] = 'A' + (i + c->rounds * 7) % 57;
	c->mem->data[c->size - 1] = 0;
	memset(c->mem->back, 0, c->size);
	c->phase = OFFERED;
	conn_send_info(e, c, c->mem->data);
}

static void conn_client_received(struct echo *e, struct echo_conn *c)
{
	if (c->phase == OFFERED) {
		c->phase = ASKED;
		conn_send_info(e, c, c->mem->back);
		return;
	}
	if (memcmp(c->mem->data, c->mem->back, c->size)) {
		conn_protocol_error(e, c, "wrong data in round",
				    (unsigned int)c->rounds);
		return;
	}
	c->rounds++;
	if (c->rounds < e->rounds)
		conn_client_begin(e, c);
	else
		snic_cm_disconnect(e->nic, c->id);
}

static void conn_received(struct echo *e, struct echo_conn *c,
			  const struct wrc_cqe *cqe)
{
	unsigned int slot = be16_to_cpu(cqe->wqe_counter) & ((1 << LOG_RQ) - 1);
	struct info info = c->mem->recv[slot];
	uint32_t len = be32_to_cpu(cqe->byte_cnt);

	conn_post_recv(c);
	if (len != INFO_LEN)
		conn_protocol_error(e, c, "a message of 16 bytes expected, got",
				    len);
	else if (c->client)
		conn_client_received(e, c);
	else
		conn_server_received(e, c, &info);
}

static void conn_sent(struct echo *e, struct echo_conn *c,
		      const struct wrc_cqe *cqe)
{
	uint8_t opcode = be32_to_cpu(cqe->sop_qpn) >> 24;

	if (opcode == WRC_WQE_READ) {
		c->phase = WRITE_ADV;
	} else if (opcode == WRC_WQE_WRITE) {
		c->phase = READ_ADV;
		c->rounds++;
	} else {
		return;
	}
	/* What is in it does not matter. */
	conn_post_send(e, c, WRC_WQE_SEND, NULL, &c->mem->send, INFO_LEN);
}

static void conn_completed(struct echo *e, struct echo_conn *c,
			   const struct wrc_cqe *cqe)
{
	struct wrc_cqe_err err;

	switch (cqe->op_own >> 4) {
	case WRC_CQE_REQ:
		conn_sent(e, c, cqe);
		break;
	case WRC_CQE_RESP_SEND:
		conn_received(e, c, cqe);
		break;
	default:
		memcpy(&err, cqe, sizeof(err));
		if (err.syndrome != WRC_SYND_WR_FLUSH)
			conn_protocol_error(e, c, "completion with syndrome",
					    err.syndrome);
		break;
	}
}

/* ---- connections ---------------------------------------------------------------- */

static int conn_open_qp(struct echo *e, struct echo_conn *c)
{
	struct snic_cq_attr cq = { .log_size = LOG_CQ };
	struct snic_qp_attr qp = {
		.pdn = e->pdn, .log_sq = LOG_SQ, .log_rq = LOG_RQ,
		.log_rq_stride = 4,
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE,
	};
	int ret;

	c->mem = aligned_alloc(4096, sizeof(*c->mem));
	if (!c->mem)
		return -ENOMEM;
	memset(c->mem, 0, sizeof(*c->mem));
	ret = snic_mkey_reg(e->nic, e->pdn, c->mem, sizeof(*c->mem),
			    (uintptr_t)c->mem, SNIC_LOCAL_WRITE |
			    SNIC_REMOTE_READ | SNIC_REMOTE_WRITE, &c->key);
	if (ret)
		goto free_mem;
	cq.buf = c->mem->cq;
	ret = snic_cq_create(e->nic, &cq, &c->cqn);
	if (ret)
		goto dereg_key;
	qp.scqn = qp.rcqn = c->cqn;
	qp.sq = c->mem->sq;
	qp.rq = c->mem->rq;
	qp.dbr = &c->mem->dbr;
	ret = snic_qp_create(e->nic, &qp, &c->qpn);
	if (ret)
		goto destroy_cq;
	while (c->posted < 1 << LOG_RQ)
		conn_post_recv(c);
	c->used = true;
	return 0;

destroy_cq:
	snic_cq_destroy(e->nic, c->cqn);
dereg_key:
	snic_mkey_dereg(e->nic, c->key);
free_mem:
	free(c->mem);
	memset(c, 0, sizeof(*c));
	return ret;
}

static void conn_close_qp(struct echo *e, struct echo_conn *c)
{
	snic_qp_destroy(e->nic, c->qpn);
	snic_cq_destroy(e->nic, c->cqn);
	snic_mkey_dereg(e->nic, c->key);
	free(c->mem);
	memset(c, 0, sizeof(*c));
}

static int echo_new_conn(struct echo *e, struct echo_conn **ret_conn)
{
	unsigned int i;

	for (i = 0; i < ECHO_MAX_CONNS; i++) {
		if (e->conns[i].used)
			continue;
		*ret_conn = &e->conns[i];
		return conn_open_qp(e, &e->conns[i]);
	}
	return -ENOSPC;
}

static struct echo_conn *echo_find_conn(struct echo *e, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < ECHO_MAX_CONNS; i++)
		if (e->conns[i].used && e->conns[i].id == id)
			return &e->conns[i];
	return NULL;
}

int echo_connect(struct echo *e, __be32 ip, uint16_t port)
{
	struct snic_cm_param param = {
		.retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12,
	};
	struct echo_conn *c;
	int ret;

	ret = echo_new_conn(e, &c);
	if (ret)
		return ret;
	c->client = true;
	c->size = e->size;
	param.qpn = c->qpn;
	ret = snic_cm_connect(e->nic, ip, port, &param, &c->id);
	if (ret)
		conn_close_qp(e, c);
	return ret;
}

static void echo_on_request(struct echo *e, const struct snic_cm_event *ev)
{
	struct snic_cm_param param = { .rnr_retry = 7, .min_rnr_timer = 12 };
	struct echo_conn *c;
	int ret;

	ret = echo_new_conn(e, &c);
	if (ret)
		goto reject;
	param.qpn = c->qpn;
	ret = snic_cm_accept(e->nic, ev->id, &param);
	if (ret) {
		conn_close_qp(e, c);
		goto reject;
	}
	c->id = ev->id;
	return;

reject:
	fprintf(stderr, "snic-echo: cannot accept: %s\n", strerror(-ret));
	snic_cm_reject(e->nic, ev->id, NULL, 0);
	e->failed++;
}

static void echo_on_established(struct echo *e, const struct snic_cm_event *ev)
{
	struct echo_conn *c = echo_find_conn(e, ev->id);

	if (c && c->client)
		conn_client_begin(e, c);
}

static void echo_on_end(struct echo *e, const struct snic_cm_event *ev)
{
	struct echo_conn *c = echo_find_conn(e, ev->id);

	snic_cm_release(e->nic, ev->id);
	if (!c)
		return;
	if (c->client && (ev->type == SNIC_CM_REJECTED ||
			  ev->type == SNIC_CM_UNREACHABLE)) {
		e->refused++;
		conn_close_qp(e, c);
		return;
	}
	printf("connection %08x: %lu rounds of %u bytes\n", c->id, c->rounds,
	       c->size);
	fflush(stdout);
	if (ev->type != SNIC_CM_DISCONNECTED ||
	    (c->client && c->rounds < e->rounds))
		e->failed++;
	e->done++;
	conn_close_qp(e, c);
}

static void echo_on_event(struct echo *e, const struct snic_cm_event *ev)
{
	static const char *const names[] = {
		[SNIC_CM_REQUEST] = "request",
		[SNIC_CM_ESTABLISHED] = "established",
		[SNIC_CM_REJECTED] = "rejected",
		[SNIC_CM_UNREACHABLE] = "unreachable",
		[SNIC_CM_DISCONNECTED] = "disconnected",
	};

	if (e->verbose)
		fprintf(stderr, "snic-echo: %08x: %s (reason %u)\n", ev->id,
			names[ev->type], ev->reason);
	if (ev->type == SNIC_CM_REQUEST)
		echo_on_request(e, ev);
	else if (ev->type == SNIC_CM_ESTABLISHED)
		echo_on_established(e, ev);
	else
		echo_on_end(e, ev);
}

bool echo_serve(struct echo *e)
{
	struct snic_cm_event ev;
	struct wrc_cqe cqe;
	bool any = false;
	unsigned int i;

	while (!snic_cm_poll(e->nic, &ev)) {
		echo_on_event(e, &ev);
		any = true;
	}
	for (i = 0; i < ECHO_MAX_CONNS; i++)
		while (e->conns[i].used &&
		       !snic_cq_poll(e->nic, e->conns[i].cqn, &cqe)) {
			conn_completed(e, &e->conns[i], &cqe);
			any = true;
		}
	return any;
}

int echo_init(struct echo *e)
{
	e->conns = calloc(ECHO_MAX_CONNS, sizeof(*e->conns));
	if (!e->conns)
		return -ENOMEM;
	return snic_pd_alloc(e->nic, &e->pdn);
}

void echo_fini(struct echo *e)
{
	unsigned int i;

	for (i = 0; e->conns && i < ECHO_MAX_CONNS; i++)
		if (e->conns[i].used)
			conn_close_qp(e, &e->conns[i]);
	free(e->conns);
}
