// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The NIC on plain verbs, on a device that is none: connections in both directions, what
 * becomes of WQEs and receive entries, how queue pairs end, and what is left when a call
 * fails.
 */
#include <core/decode.h>
#include <errno.h>
#include <mlx5/encode.h>
#include <nic/node.h>
#include <nic/verbs.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/verbs/fake_verbs.h"
#include "pair.h"

#define LOCALHOST	0x7f000001u
#define LOG_RQ		2
#define LOG_STRIDE	4

static struct nic *open_nic(void)
{
	const struct nic_verbs_opts opts = { .device = FAKE_DEVICE, .port = 1 };
	char why[NIC_VERBS_WHY_MAX];
	struct nic *nic;

	assert_int_equal(nic_verbs_open(&opts, &nic, why), 0);
	return nic;
}

/* ---- a pair of NICs, connected ---- */

struct pair {
	struct side server, client;
	uint32_t conn[2];
};

static const char hello[] = "hello", welcome[] = "welcome";

static struct nic_event event_of(struct side *s, enum nic_event_type type)
{
	struct nic_event ev;

	assert_int_equal(s->nic->ops->event(s->nic, &ev), 0);
	assert_int_equal(ev.type, type);
	return ev;
}

static void no_event(struct side *s)
{
	struct nic_event ev;

	/* Some events are steps that the NIC does not show. */
	assert_int_equal(s->nic->ops->event(s->nic, &ev), -EAGAIN);
}

/* The client's request, as the server sees it. */
static struct nic_event ask(struct pair *p)
{
	struct nic *nic = p->client.nic;
	struct nic_event ev;

	assert_int_equal(nic->ops->connect(nic, htobe32(LOCALHOST), SIDE_PORT, p->client.qpn,
					   hello, sizeof(hello), &p->conn[1]), 0);
	no_event(&p->client);
	ev = event_of(&p->server, NIC_REQUEST);
	assert_int_equal(ev.peer_qpn, p->client.qpn);
	assert_int_equal(ev.local_ip, htobe32(LOCALHOST));
	assert_true(ev.priv_len >= sizeof(hello));
	assert_string_equal((char *)ev.priv, hello);
	p->conn[0] = ev.id;
	return ev;
}

static void pair_connect(struct pair *p)
{
	struct nic *server = p->server.nic;
	struct nic_event ev = ask(p);

	assert_int_equal(server->ops->accept(server, ev.id, p->server.qpn, welcome,
					     sizeof(welcome)), 0);
	ev = event_of(&p->client, NIC_ESTABLISHED);
	assert_int_equal(ev.id, p->conn[1]);
	assert_int_equal(ev.peer_qpn, p->server.qpn);
	assert_string_equal((char *)ev.priv, welcome);
	ev = event_of(&p->server, NIC_ESTABLISHED);
	assert_int_equal(ev.id, p->conn[0]);
}

static struct pair *pair_new(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	side_open(&p->server, open_nic());
	side_open(&p->client, open_nic());
	assert_int_equal(p->server.nic->ops->listen(p->server.nic, SIDE_PORT), 0);
	return p;
}

static int setup(void **state)
{
	fake = (struct fake_verbs) { .gids = 4, .split_keys = true };
	*state = pair_new();
	return 0;
}

static int setup_connected(void **state)
{
	setup(state);
	pair_connect(*state);
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	side_close(&p->client);
	side_close(&p->server);
	free(p);
	if (fake.wrong)
		fail_msg("the device was given what cannot be: %s", fake.wrong);
	assert_int_equal(fake.objects, 0);
	return 0;
}

/* ---- WQEs ---- */

static struct wrc_cqe poll_one(struct side *s, uint8_t opcode)
{
	struct wrc_cqe cqe;

	assert_int_equal(s->nic->ops->cq_poll(s->nic, s->cqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, opcode);
	assert_int_equal(be32toh(cqe.sop_qpn) & 0xffffff, s->qpn);
	return cqe;
}

static void poll_none(struct side *s)
{
	struct wrc_cqe cqe;

	assert_int_equal(s->nic->ops->cq_poll(s->nic, s->cqn, &cqe), -EAGAIN);
}

/* Writes a WQE into the ring, also over its end, and rings. */
static int post(struct side *s, const struct wrc_wr *wr)
{
	uint8_t bytes[1024];
	int len = wrc_encode(wr, bytes, sizeof(bytes)), at;

	assert_true(len > 0);
	for (at = 0; at < len; at += WRC_WQE_BB, s->pi++)
		memcpy(s->mem + WRC_WQE_BB * (s->pi & ((1 << SIDE_LOG_SQ) - 1)), bytes + at,
		       len - at < WRC_WQE_BB ? len - at : WRC_WQE_BB);
	s->dbr->snd = htobe32(s->pi);
	return s->nic->ops->qp_doorbell(s->nic, s->qpn, s->pi);
}

static struct wrc_wr wr_of(const struct side *s, uint8_t op, const struct side *peer)
{
	return (struct wrc_wr) {
		.op = op, .shape = op, .flags = WRC_WQE_CE_ALWAYS, .index = s->pi,
		.qpn = s->qpn, .rkey = peer->key, .raddr = (uintptr_t)side_data((void *)peer),
		.nr_sge = 1, .sge = { { 8, s->key, (uintptr_t)side_data((void *)s) } },
	};
}

static void test_one_sided(void **state)
{
	struct pair *p = *state;
	uint64_t *ours = (uint64_t *)side_data(&p->client);
	uint64_t *far = (uint64_t *)side_data(&p->server);
	struct wrc_wr wr;

	ours[0] = 5;
	side_post(&p->client, WRC_WQE_WRITE, &p->server, p->server.key, 8);
	poll_one(&p->client, WRC_CQE_REQ);
	assert_int_equal(far[0], 5);
	far[0] = 6;
	side_post(&p->client, WRC_WQE_READ, &p->server, p->server.key, 8);
	poll_one(&p->client, WRC_CQE_REQ);
	assert_int_equal(ours[0], 6);
	wr = wr_of(&p->client, WRC_WQE_WRITE, &p->server);
	wr.nr_sge = 0;
	assert_int_equal(post(&p->client, &wr), 0);
	poll_one(&p->client, WRC_CQE_REQ);
	poll_none(&p->client);
	poll_none(&p->server);
}

/* The queue pairs of pair.c let nobody do atomics. */
static void test_rights(void **state)
{
	struct pair *p = *state;
	struct wrc_wr wr = wr_of(&p->client, WRC_WQE_CS, &p->server);
	struct nic_qp_info info;
	struct wrc_cqe_err err;
	struct wrc_cqe cqe;

	assert_int_equal(post(&p->client, &wr), 0);
	cqe = poll_one(&p->client, WRC_CQE_REQ_ERR);
	memcpy(&err, &cqe, sizeof(err));
	assert_int_equal(err.syndrome, WRC_SYND_REMOTE_ACCESS);
	assert_int_equal(err.vendor_synd, 0x88);
	/* All behind it is flushed. */
	side_post(&p->client, WRC_WQE_READ, &p->server, p->server.key, 8);
	cqe = poll_one(&p->client, WRC_CQE_REQ_ERR);
	memcpy(&err, &cqe, sizeof(err));
	assert_int_equal(err.syndrome, WRC_SYND_WR_FLUSH);
	assert_int_equal(be16toh(err.wqe_counter), 1);
	assert_int_equal(p->client.nic->ops->qp_query(p->client.nic, p->client.qpn, &info), 0);
	assert_true(info.error);
	assert_int_equal(info.syndrome, WRC_SYND_REMOTE_ACCESS);
}

/* A queue pair that is connected to itself, with all rights. */
static void test_loop(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->client;
	const struct nic_ops *ops = s->nic->ops;
	uint64_t *word = (uint64_t *)side_data(s);
	struct nic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn, .mem = s->mem,
		.mem_len = 4096, .sq = s->mem, .log_sq = SIDE_LOG_SQ, .dbr = s->dbr,
		.access = NIC_REMOTE_READ | NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC,
	};
	struct wrc_wr wr;

	assert_int_equal(ops->qp_destroy(s->nic, s->qpn), 0);
	assert_int_equal(ops->qp_create(s->nic, &attr, &s->qpn), 0);
	assert_int_equal(ops->qp_doorbell(s->nic, s->qpn, 1), -ENOTCONN);
	assert_int_equal(s->nic->node->ops->qp_loop(s->nic, s->qpn, s->qpn), 0);
	assert_int_equal(s->nic->node->ops->qp_loop(s->nic, s->qpn, s->qpn), -EISCONN);
	word[1] = 7;
	wr = wr_of(s, WRC_WQE_CS, s);
	wr.raddr += 8;
	wr.compare = 7;
	wr.swap = 9;
	assert_int_equal(post(s, &wr), 0);
	assert_int_equal(word[0], 7);
	assert_int_equal(word[1], 9);
	wr = wr_of(s, WRC_WQE_FA, s);
	wr.raddr += 8;
	wr.swap = 3;
	assert_int_equal(post(s, &wr), 0);
	assert_int_equal(word[0], 9);
	assert_int_equal(word[1], 12);
	poll_one(s, WRC_CQE_REQ);
	poll_one(s, WRC_CQE_REQ);
	poll_none(s);
}

/* A WQE without a completion of its own: taken, and not shown; its error is shown. */
static void test_quiet(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->client;
	struct wrc_wr wr = wr_of(s, WRC_WQE_WRITE, &p->server);
	struct nic_qp_info info;

	wr.flags = WRC_WQE_CE_ERROR | WRC_WQE_FM_FENCE;
	assert_int_equal(post(s, &wr), 0);
	assert_int_equal(fake.fenced, 1);
	poll_none(s);
	assert_int_equal(s->nic->ops->qp_query(s->nic, s->qpn, &info), 0);
	assert_int_equal(info.sq_executed, 1);
	assert_false(info.error);
	wr.rkey++;
	assert_int_equal(post(s, &wr), 0);
	poll_one(s, WRC_CQE_REQ_ERR);
}

/* WQEs of two basic blocks, also over the end of the ring, with several pieces of data. */
static void test_long_wqes(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->client;
	uint8_t *ours = side_data(s), *far = side_data(&p->server);
	struct wrc_wr wr = wr_of(s, WRC_WQE_WRITE, &p->server);
	unsigned i, round;

	side_post(s, WRC_WQE_READ, &p->server, p->server.key, 8);
	poll_one(s, WRC_CQE_REQ);
	wr.nr_sge = 4;
	for (i = 0; i < 4; i++)
		wr.sge[i] = (struct wrc_sge) { 8, s->key, (uintptr_t)ours + 64 * i };
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 4; i++)
			memset(ours + 64 * i, round + i, 8);
		assert_int_equal(post(s, &wr), 0);
		poll_one(s, WRC_CQE_REQ);
		for (i = 0; i < 4; i++)
			assert_int_equal(far[8 * i], round + i);
	}
	poll_none(s);
}

static void test_refused_wqes(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->client;
	struct wrc_wr wr = wr_of(s, WRC_WQE_WRITE, &p->server);
	struct wrc_wr wait = {
		.op = WRC_WQE_WAIT, .shape = WRC_WQE_WAIT, .qpn = s->qpn, .obj = 1,
	};

	assert_int_equal(post(s, &wait), -EOPNOTSUPP);
	s->pi = 0;
	wr.nr_sge = 0;
	wr.inl = "inline";
	wr.inl_len = 6;
	assert_int_equal(post(s, &wr), -EOPNOTSUPP);
	s->pi = 0;
	wr = wr_of(s, WRC_WQE_WRITE, &p->server);
	wr.sge[0].lkey += 2;
	assert_int_equal(post(s, &wr), -EINVAL);
	s->pi = 0;
	memset(s->mem, 0xff, WRC_WQE_BB);
	assert_int_equal(s->nic->ops->qp_doorbell(s->nic, s->qpn, 1), -EINVAL);
	assert_int_equal(s->nic->ops->qp_doorbell(s->nic, s->qpn, 17), -EINVAL);
	/* The place is still to be had. */
	side_post(s, WRC_WQE_READ, &p->server, p->server.key, 8);
	poll_one(s, WRC_CQE_REQ);
}

/* ---- receives ---- */

static void receive_write(struct side *s, uint8_t *rq, unsigned i)
{
	const struct wrc_sge sge = { 64, s->key, (uintptr_t)side_data(s) + 1024 + 64 * i };

	assert_int_equal(wrc_encode_recv(&sge, 1, rq + ((i & 3) << LOG_STRIDE),
					 1 << LOG_STRIDE), 0);
	s->dbr->rcv = htobe32(i + 1);
}

/* Receives of before the connection, and those that only the doorbell record names. */
static void test_messages(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->server;
	uint8_t *rq = s->mem + 2048;
	struct nic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn, .mem = s->mem,
		.mem_len = 4096, .sq = s->mem, .log_sq = SIDE_LOG_SQ, .dbr = s->dbr,
		.rq = rq, .log_rq = LOG_RQ, .log_rq_stride = LOG_STRIDE,
		.access = NIC_REMOTE_WRITE,
	};
	struct wrc_wr wr;
	struct wrc_cqe cqe;
	unsigned i;

	assert_int_equal(s->nic->ops->qp_destroy(s->nic, s->qpn), 0);
	receive_write(s, rq, 0);
	assert_int_equal(s->nic->ops->qp_create(s->nic, &attr, &s->qpn), 0);
	pair_connect(p);
	for (i = 0; i < 6; i++) {
		wr = wr_of(&p->client, i & 1 ? WRC_WQE_SEND_IMM : WRC_WQE_SEND, s);
		wr.rkey = 0;
		wr.raddr = 0;
		wr.imm = i & 1 ? 0x1234 : 0;
		side_data(&p->client)[0] = 'a' + i;
		assert_int_equal(post(&p->client, &wr), 0);
		poll_one(&p->client, WRC_CQE_REQ);
		cqe = poll_one(s, i & 1 ? WRC_CQE_RESP_SEND_IMM : WRC_CQE_RESP_SEND);
		assert_int_equal(be32toh(cqe.byte_cnt), 8);
		assert_int_equal(be32toh(cqe.imm), wr.imm);
		assert_int_equal(be16toh(cqe.wqe_counter), i);
		assert_int_equal(side_data(s)[1024 + 64 * i], 'a' + i);
		receive_write(s, rq, i + 1);
		poll_none(s);
	}
	wr = wr_of(&p->client, WRC_WQE_WRITE_IMM, s);
	wr.imm = 77;
	assert_int_equal(post(&p->client, &wr), 0);
	cqe = poll_one(s, WRC_CQE_RESP_WR_IMM);
	assert_int_equal(be32toh(cqe.imm), 77);
	receive_write(s, rq, 7);
	poll_none(s);
	assert_int_equal(s->nic->ops->qp_error(s->nic, s->qpn), 0);
	poll_one(s, WRC_CQE_RESP_ERR);
}

/* ---- ends ---- */

static void test_reject(void **state)
{
	struct pair *p = *state;
	struct nic *server = p->server.nic;
	struct nic_event ev = ask(p);
	struct nic_qp_info info;

	assert_int_equal(server->ops->reject(server, ev.id, "no", 3), 0);
	server->ops->release(server, ev.id);
	ev = event_of(&p->client, NIC_GONE);
	assert_int_equal(ev.reason, NIC_REJECTED);
	assert_string_equal((char *)ev.priv, "no");
	assert_int_equal(p->client.nic->ops->qp_query(p->client.nic, p->client.qpn, &info), 0);
	assert_true(info.error);
	assert_int_equal(server->ops->reject(server, ev.id + 100, NULL, 0), -ENOENT);
	assert_int_equal(server->ops->accept(server, ev.id + 100, p->server.qpn, NULL, 0),
			 -ENOENT);
	assert_int_equal(server->ops->disconnect(server, ev.id + 100), -ENOENT);
}

static void test_disconnect(void **state)
{
	struct pair *p = *state;
	struct nic *server = p->server.nic;
	struct nic_event ev;

	assert_int_equal(server->ops->disconnect(server, p->conn[0]), 0);
	ev = event_of(&p->client, NIC_GONE);
	assert_int_equal(ev.reason, NIC_DISCONNECTED);
	assert_int_equal(ev.id, p->conn[1]);
	side_post(&p->client, WRC_WQE_READ, &p->server, p->server.key, 8);
	poll_one(&p->client, WRC_CQE_REQ_ERR);
	p->client.nic->ops->release(p->client.nic, p->conn[1]);
	no_event(&p->client);
}

/* The destroyed queue pair had completions, and the next one has its number. */
static void test_number_again(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->client;
	struct nic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn, .mem = s->mem,
		.mem_len = 4096, .sq = s->mem, .log_sq = SIDE_LOG_SQ, .dbr = s->dbr,
	};
	uint32_t qpn;

	side_post(s, WRC_WQE_READ, &p->server, p->server.key, 8);
	fake.same_qpn = s->qpn;
	assert_int_equal(s->nic->ops->qp_destroy(s->nic, s->qpn), 0);
	assert_int_equal(s->nic->ops->qp_create(s->nic, &attr, &qpn), 0);
	assert_int_equal(qpn, s->qpn);
	poll_none(s);
	fake.same_qpn = 0;
}

static void test_stays(void **state)
{
	struct pair *p = *state;
	struct nic *nic = p->client.nic;

	fake.qp_stays = true;
	assert_int_equal(nic->ops->qp_destroy(nic, p->client.qpn), -EBUSY);
	fake.qp_stays = false;
	assert_int_equal(nic->ops->qp_error(nic, p->client.qpn), 0);
}

/* ---- what this NIC is not ---- */

static void test_no_chains(void **state)
{
	struct pair *p = *state;
	struct side *s = &p->server;
	const struct nic_node_ops *node = s->nic->node->ops;
	struct nic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn, .cd_master = true,
	};
	struct nic_cq_info info;
	uint32_t key, qpn;

	assert_true(s->nic->node->no_chains);
	assert_int_equal(node->ksm_create(s->nic, s->pdn, 512, NIC_REMOTE_READ, 0, &key),
			 -EOPNOTSUPP);
	assert_int_equal(node->freeze(s->nic), -EOPNOTSUPP);
	assert_int_equal(node->cq_info(s->nic, s->cqn, &info), -EOPNOTSUPP);
	assert_null(node->rate_set);
	assert_int_equal(s->nic->ops->qp_create(s->nic, &attr, &qpn), -EOPNOTSUPP);
	attr.cd_master = false;
	attr.cd_slave_send = true;
	assert_int_equal(s->nic->ops->qp_create(s->nic, &attr, &qpn), -EOPNOTSUPP);
}

static void test_words(void **state)
{
	static const char *const bad[] = {
		"", ",", "port=1", "rxe0,", "rxe0,port=", "rxe0,port=0", "rxe0,port=255",
		"rxe0,port=1x", "rxe0,gid=1", "rxe0,port=1,port=2",
	};
	struct nic_verbs_opts opts;
	char why[NIC_VERBS_WHY_MAX];
	struct nic *nic;
	__be32 ip;
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (nic_verbs_parse(bad[i], &opts, why) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_non_null(strstr(why, "expected DEVICE"));
	}
	assert_int_equal(nic_verbs_parse("rxe0,port=2", &opts, why), 0);
	assert_string_equal(opts.device, "rxe0");
	assert_int_equal(opts.port, 2);
	assert_int_equal(nic_verbs_open(&opts, &nic, why), -ENODEV);
	assert_non_null(strstr(why, "rxe0: no such RDMA device"));
	assert_int_equal(nic_verbs_address(&opts, &ip), -EADDRNOTAVAIL);
	assert_int_equal(nic_verbs_parse(FAKE_DEVICE, &opts, why), 0);
	assert_int_equal(nic_verbs_address(&opts, &ip), 0);
}

/* ---- what fails ---- */

/* A short life of two NICs; 0, or what failed. */
struct life {
	struct nic *nic[2];
	void *mem;
	uint32_t pdn[2], key[2], cqn[2], qpn[2];
};

static int life_open(struct life *l, unsigned i)
{
	const struct nic_verbs_opts opts = { .device = FAKE_DEVICE, .port = 1 };
	struct nic_qp_attr attr = { .log_sq = 1, .log_rq = 1, .log_rq_stride = 4 };
	uint8_t *mem = (uint8_t *)l->mem + 1024 * i;
	const struct wrc_sge sge = { 64, 0, (uintptr_t)mem + 512 };
	char why[NIC_VERBS_WHY_MAX] = "";
	struct wrc_sge receive = sge;
	struct nic *nic;
	int r = nic_verbs_open(&opts, &l->nic[i], why);

	if (r) {
		assert_true(*why);
		l->nic[i] = NULL;
		return r;
	}
	nic = l->nic[i];
	r = nic->ops->pd_alloc(nic, &l->pdn[i]);
	if (!r)
		r = nic->ops->mr_reg(nic, l->pdn[i], mem, 1024, (uintptr_t)mem, NIC_ALL,
				     &l->key[i]);
	if (!r)
		r = nic->ops->cq_create(nic, 2, &l->cqn[i]);
	if (r)
		return r;
	receive.lkey = l->key[i];
	wrc_encode_recv(&receive, 1, mem + 256, 16);
	attr.pdn = l->pdn[i];
	attr.scqn = attr.rcqn = l->cqn[i];
	attr.mem = attr.sq = mem;
	attr.mem_len = 4096;
	attr.rq = mem + 256;
	attr.dbr = (struct wrc_dbr *)(mem + 384);
	attr.dbr->rcv = htobe32(1);
	return nic->ops->qp_create(nic, &attr, &l->qpn[i]);
}

static int life_meet(struct life *l)
{
	struct nic *server = l->nic[0], *client = l->nic[1];
	struct nic_event ev;
	uint32_t id;
	int r = server->ops->listen(server, SIDE_PORT);

	if (!r)
		r = client->ops->connect(client, htobe32(LOCALHOST), SIDE_PORT, l->qpn[1],
					 hello, sizeof(hello), &id);
	if (r)
		return r;
	if (!client->ops->event(client, &ev)) {
		assert_int_equal(ev.reason, NIC_UNREACHABLE);
		return -EHOSTUNREACH;
	}
	assert_int_equal(server->ops->event(server, &ev), 0);
	r = server->ops->accept(server, ev.id, l->qpn[0], NULL, 0);
	if (r)
		return r;
	assert_int_equal(client->ops->event(client, &ev), 0);
	return ev.type == NIC_ESTABLISHED ? 0 : -ECONNABORTED;
}

static int life(struct life *l)
{
	struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .flags = WRC_WQE_CE_ALWAYS,
		.nr_sge = 1,
	};
	struct nic_qp_info info;
	struct wrc_cqe cqe;
	int r = life_open(l, 0);

	if (!r)
		r = life_open(l, 1);
	if (!r)
		r = life_meet(l);
	if (r)
		return r;
	wr.sge[0] = (struct wrc_sge) { 8, l->key[1], (uintptr_t)l->mem + 1024 + 512 };
	wrc_encode(&wr, (uint8_t *)l->mem + 1024, WRC_WQE_BB);
	r = l->nic[1]->ops->qp_doorbell(l->nic[1], l->qpn[1], 1);
	if (r)
		return r;
	assert_int_equal(l->nic[1]->ops->cq_poll(l->nic[1], l->cqn[1], &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_REQ);
	assert_int_equal(l->nic[0]->ops->cq_poll(l->nic[0], l->cqn[0], &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_RESP_SEND);
	r = l->nic[0]->ops->qp_query(l->nic[0], l->qpn[0], &info);
	if (!r)
		r = l->nic[0]->ops->qp_error(l->nic[0], l->qpn[0]);
	return r;
}

/* The N-th call fails, for all N: nothing is left, and closing needs no order. */
static void test_each_call_fails(void **state)
{
	unsigned n, failed = 0;
	struct life l;
	int i, r;

	for (n = 1; ; n++) {
		fake = (struct fake_verbs) { .gids = 3, .fail_at = n };
		l = (struct life) { .mem = aligned_alloc(4096, 4096) };
		memset(l.mem, 0, 4096);
		r = life(&l);
		for (i = 0; i < 2; i++)
			if (l.nic[i])
				l.nic[i]->ops->close(l.nic[i]);
		free(l.mem);
		failed += r != 0;
		if (fake.wrong)
			fail_msg("call %u: %s", n, fake.wrong);
		if (fake.objects)
			fail_msg("call %u: %u objects are left", n, fake.objects);
		if (fake.calls < n)
			break;
	}
	assert_int_equal(r, 0);
	print_message("%u calls, %u of them needed\n", n - 1, failed);
	assert_true(failed > 20);
}

#define T(f, up) cmocka_unit_test_setup_teardown(f, up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_one_sided, setup_connected),
		T(test_rights, setup_connected),
		T(test_loop, setup),
		T(test_quiet, setup_connected),
		T(test_long_wqes, setup_connected),
		T(test_refused_wqes, setup_connected),
		T(test_messages, setup),
		T(test_reject, setup),
		T(test_disconnect, setup_connected),
		T(test_number_again, setup_connected),
		T(test_stays, setup_connected),
		T(test_no_chains, setup),
		T(test_words, setup),
		cmocka_unit_test(test_each_call_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
