// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client's life on the software NIC, in virtual time: connect with private
 * data, READ, WRITE, errors, and all ends that a connection can have.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <nic/node.h>
#include <nic/soft.h>
#include <string.h>
#include "bed/host.h"
#include "pair.h"

struct bed {
	struct snic_vt vt;
	struct host host[2];
	struct snic_port *port[2];
	struct side server, client;
};

static __be32 ip_of(unsigned int i)
{
	return host_ip(1 + i);
}

static void open_side(struct bed *b, unsigned int i, struct side *s)
{
	struct snic_config cfg = host_config(1 + i, i + 1);
	struct nic *nic;

	cfg.mtu = 4500;
	host_init(&b->host[i], &(struct host_conf){ .nic = cfg, .vt = &b->vt });
	assert_int_equal(nic_soft_adopt(b->host[i].nic, &cfg, &nic), 0);
	side_open(s, nic);
}

static int setup(void **state)
{
	static struct bed b;

	memset(&b, 0, sizeof(b));
	open_side(&b, 0, &b.server);
	open_side(&b, 1, &b.client);
	host_cord(&b.host[0], &b.host[1], b.port);
	*state = &b;
	return 0;
}

static int teardown(void **state)
{
	struct bed *b = *state;
	unsigned int i;

	side_close(&b->client);
	side_close(&b->server);
	for (i = 0; i < 2; i++) {
		host_close(&b->host[i]);
		b->port[i]->ops->close(b->port[i]);
	}
	return 0;
}

static void run(struct bed *b, uint64_t ns)
{
	host_wait(&b->host[0], ns);
}

static void expect(struct side *s, enum nic_event_type type,
		   struct nic_event *ret_ev)
{
	assert_int_equal(s->nic->ops->event(s->nic, ret_ev), 0);
	assert_int_equal(ret_ev->type, type);
}

static void expect_quiet(struct side *s)
{
	struct nic_event ev;

	assert_int_equal(s->nic->ops->event(s->nic, &ev), -EAGAIN);
}

/* The server's end and the client's of a request that has arrived. */
static void ask(struct bed *b, uint32_t *ret_theirs, uint32_t *ret_ours)
{
	struct nic *server = b->server.nic, *client = b->client.nic;
	struct nic_event ev;

	assert_int_equal(server->ops->listen(server, SIDE_PORT), 0);
	assert_int_equal(client->ops->connect(client, ip_of(0), SIDE_PORT,
					      b->client.qpn, "hello", 5,
					      ret_ours), 0);
	run(b, SECOND / 100);
	expect(&b->server, NIC_REQUEST, &ev);
	assert_int_equal(ev.peer_ip, ip_of(1));
	assert_true(ev.priv_len >= 5);
	assert_memory_equal(ev.priv, "hello", 6);	/* filled up with zeros */
	*ret_theirs = ev.id;
}

static void join(struct bed *b, uint32_t *ret_theirs, uint32_t *ret_ours)
{
	struct nic *server = b->server.nic;
	struct nic_event ev;

	ask(b, ret_theirs, ret_ours);
	assert_int_equal(server->ops->accept(server, *ret_theirs, b->server.qpn,
					     "welcome", 7), 0);
	run(b, SECOND / 100);
	expect(&b->client, NIC_ESTABLISHED, &ev);
	assert_int_equal(ev.id, *ret_ours);
	assert_true(ev.priv_len >= 7);
	assert_memory_equal(ev.priv, "welcome", 8);
	expect(&b->server, NIC_ESTABLISHED, &ev);
	assert_int_equal(ev.id, *ret_theirs);
}

static unsigned int opcode_of(struct side *s, uint8_t *ret_syndrome)
{
	struct wrc_cqe cqe;
	struct wrc_cqe_err err;

	assert_int_equal(s->nic->ops->cq_poll(s->nic, s->cqn, &cqe), 0);
	memcpy(&err, &cqe, sizeof(err));
	*ret_syndrome = err.syndrome;
	return cqe.op_own >> 4;
}

static void moves_data(void **state)
{
	struct bed *b = *state;
	uint32_t theirs, ours;
	struct wrc_cqe cqe;
	uint8_t syndrome;

	join(b, &theirs, &ours);
	memset(side_data(&b->client), 0x5a, 1000);
	side_post(&b->client, WRC_WQE_WRITE, &b->server, b->server.key, 1000);
	run(b, SECOND / 100);
	assert_int_equal(opcode_of(&b->client, &syndrome), WRC_CQE_REQ);
	assert_memory_equal(side_data(&b->server), side_data(&b->client), 1000);
	memset(side_data(&b->server), 0xa5, SIDE_DATA);
	side_post(&b->client, WRC_WQE_READ, &b->server, b->server.key,
		  SIDE_DATA);
	run(b, SECOND / 100);
	assert_int_equal(opcode_of(&b->client, &syndrome), WRC_CQE_REQ);
	assert_memory_equal(side_data(&b->server), side_data(&b->client),
			    SIDE_DATA);
	assert_int_equal(b->client.nic->ops->cq_poll(b->client.nic,
						     b->client.cqn, &cqe),
			 -EAGAIN);
}

static void wrong_key(void **state)
{
	struct bed *b = *state;
	struct nic *client = b->client.nic;
	struct nic_qp_info info;
	uint32_t theirs, ours;
	uint8_t syndrome;

	join(b, &theirs, &ours);
	assert_int_equal(client->ops->qp_query(client, b->client.qpn, &info),
			 0);
	assert_false(info.error);
	side_post(&b->client, WRC_WQE_READ, &b->server, b->server.key + 256,
		  8);
	side_post(&b->client, WRC_WQE_READ, &b->server, b->server.key, 8);
	run(b, SECOND / 100);
	assert_int_equal(opcode_of(&b->client, &syndrome), WRC_CQE_REQ_ERR);
	assert_int_equal(syndrome, WRC_SYND_REMOTE_ACCESS);
	assert_int_equal(opcode_of(&b->client, &syndrome), WRC_CQE_REQ_ERR);
	assert_int_equal(syndrome, WRC_SYND_WR_FLUSH);
	assert_int_equal(client->ops->qp_query(client, b->client.qpn, &info),
			 0);
	assert_true(info.error);
	assert_int_equal(info.syndrome, WRC_SYND_REMOTE_ACCESS);
}

static void expect_gone(struct side *s, uint32_t id, enum nic_reason reason,
			struct nic_event *ret_ev)
{
	expect(s, NIC_GONE, ret_ev);
	assert_int_equal(ret_ev->id, id);
	assert_int_equal(ret_ev->reason, reason);
	s->nic->ops->release(s->nic, id);
	expect_quiet(s);
}

static void disconnected(void **state)
{
	struct bed *b = *state;
	struct nic *client = b->client.nic;
	struct nic_qp_info info;
	struct nic_event ev;
	uint32_t theirs, ours;

	join(b, &theirs, &ours);
	assert_int_equal(client->ops->disconnect(client, ours), 0);
	run(b, SECOND / 100);
	expect_gone(&b->client, ours, NIC_DISCONNECTED, &ev);
	expect_gone(&b->server, theirs, NIC_DISCONNECTED, &ev);
	assert_int_equal(b->server.nic->ops->qp_query(b->server.nic,
						      b->server.qpn, &info),
			 0);
	assert_true(info.error);
	assert_int_equal(client->ops->disconnect(client, ours), -ENOENT);
}

static void rejected(void **state)
{
	struct bed *b = *state;
	struct nic *server = b->server.nic;
	struct nic_event ev;
	uint32_t theirs, ours;

	ask(b, &theirs, &ours);
	assert_int_equal(server->ops->reject(server, theirs, "no", 2), 0);
	run(b, SECOND / 100);
	expect_gone(&b->client, ours, NIC_REJECTED, &ev);
	assert_true(ev.priv_len >= 2);
	assert_memory_equal(ev.priv, "no", 3);
}

static void nobody_there(void **state)
{
	struct bed *b = *state;
	struct nic *client = b->client.nic;
	struct nic_event ev;
	uint32_t id;

	assert_int_equal(client->ops->connect(client, ip_of(7), SIDE_PORT,
					      b->client.qpn, NULL, 0, &id), 0);
	run(b, 60 * SECOND);
	expect_gone(&b->client, id, NIC_UNREACHABLE, &ev);
}

static void bad_calls(void **state)
{
	struct bed *b = *state;
	struct nic *client = b->client.nic;
	char priv[NIC_CONNECT_PRIV_MAX + 1] = { 0 };
	uint32_t id, theirs, ours;

	assert_int_equal(client->ops->connect(client, ip_of(0), SIDE_PORT,
					      b->client.qpn, priv,
					      sizeof(priv), &id), -EMSGSIZE);
	assert_true(client->ops->connect(client, ip_of(0), SIDE_PORT, 0xfff,
					 NULL, 0, &id) < 0);
	join(b, &theirs, &ours);
	/* It is connected already. */
	assert_true(client->ops->connect(client, ip_of(0), SIDE_PORT,
					 b->client.qpn, NULL, 0, &id) < 0);
}

/* Each of many completion queues is found by its number as long as it is there. */
static void many_queues(void **state)
{
	struct bed *b = *state;
	struct nic *nic = b->server.nic;
	static uint32_t cqn[10000];
	struct nic_cq_info info;
	const unsigned int nr = sizeof(cqn) / sizeof(cqn[0]);
	unsigned int i;

	for (i = 0; i < nr; i++)
		assert_int_equal(nic->ops->cq_create(nic, 0, &cqn[i]), 0);
	for (i = 0; i < nr; i++)
		assert_int_equal(nic->node->ops->cq_info(nic, cqn[i], &info), 0);
	for (i = 0; i < nr; i += 2)
		nic->ops->cq_destroy(nic, cqn[i]);
	for (i = 0; i < nr; i++)
		assert_int_equal(nic->node->ops->cq_info(nic, cqn[i], &info),
				 i % 2 ? 0 : -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(moves_data),
		T(wrong_key),
		T(disconnected),
		T(rejected),
		T(nobody_there),
		T(bad_calls),
		T(many_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
