// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent on a plain RDMA device, which is none here: it serves spaces, and refuses
 * swap with a reason of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <nic/verbs.h>
#include <odrp/far.h>
#include <odrp/wire.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../../mnode/log.h"
#include "../../../mnode/manager.h"
#include "../../lib/verbs/fake_verbs.h"

#define LOCALHOST	0x7f000001u

/* ---- a peer ---- */

struct peer {
	struct nic *nic;
	uint32_t pdn, cqn, qpn;
	uint8_t mem[4096] __attribute__((aligned(4096)));
};

static struct nic *open_nic(void)
{
	const struct nic_verbs_opts opts = { .device = FAKE_DEVICE, .port = 1 };
	char why[NIC_VERBS_WHY_MAX];
	struct nic *nic;

	assert_int_equal(nic_verbs_open(&opts, &nic, why), 0);
	return nic;
}

static void peer_open(struct peer *p)
{
	struct nic_qp_attr attr;

	p->nic = open_nic();
	assert_int_equal(p->nic->ops->pd_alloc(p->nic, &p->pdn), 0);
	assert_int_equal(p->nic->ops->cq_create(p->nic, 2, &p->cqn), 0);
	attr = (struct nic_qp_attr){
		.pdn = p->pdn, .scqn = p->cqn, .rcqn = p->cqn, .mem = p->mem,
		.mem_len = sizeof(p->mem), .sq = p->mem, .log_sq = 1,
		.dbr = (struct wrc_dbr *)(p->mem + 2048), .access = NIC_REMOTE_WRITE,
	};
	assert_int_equal(p->nic->ops->qp_create(p->nic, &attr, &p->qpn), 0);
}

/* Sends a request, and returns what the agent has made of it. */
static struct nic_event peer_ask(struct peer *p, struct manager *m, uint16_t port,
				 const void *hello, uint8_t len)
{
	struct nic_event ev;
	uint32_t id;

	assert_int_equal(p->nic->ops->connect(p->nic, htobe32(LOCALHOST), port, p->qpn, hello,
					      len, &id), 0);
	assert_int_equal(p->nic->ops->event(p->nic, &ev), -EAGAIN);
	manager_events(m);
	assert_int_equal(p->nic->ops->event(p->nic, &ev), 0);
	return ev;
}

/* ---- the agent ---- */

static const char settings[] =
	"[mnode]\nnic = verbs:" FAKE_DEVICE "\npool = 64M\npopulate = no\nauth = none\n"
	"[space cache]\nsize = 16M\n";

static void agent_open(struct manager *m, struct conf *conf)
{
	char path[] = "/tmp/mnode-verbs-XXXXXX", why[CONF_WHY_MAX] = "";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, settings, strlen(settings)), strlen(settings));
	close(fd);
	conf_init(conf);
	assert_int_equal(conf_read(conf, path, why), 0);
	assert_int_equal(unlink(path), 0);
	if (manager_init(m, conf, open_nic(), why))
		fail_msg("%s", why);
}

static void agent_close(struct manager *m)
{
	struct nic *nic = m->nic;

	manager_fini(m);
	nic->ops->close(nic);
	if (fake.wrong)
		fail_msg("the device was given what cannot be: %s", fake.wrong);
}

static void test_space(void **state)
{
	static struct conf conf;
	static struct manager m;
	static struct peer p;
	struct odrp_far_hello hello = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = ODRP_FAR_ATTACH, .rights = ODRP_FAR_READ | ODRP_FAR_WRITE,
		.attach = cpu_to_be64(1), .name = "cache",
	};
	struct odrp_far_accept accept;
	struct nic_event ev;

	fake = (struct fake_verbs) { .gids = 4 };
	agent_open(&m, &conf);
	peer_open(&p);
	ev = peer_ask(&p, &m, ODRP_FAR_PORT, &hello, sizeof(hello));
	assert_int_equal(ev.type, NIC_ESTABLISHED);
	memcpy(&accept, ev.priv, sizeof(accept));
	assert_int_equal(be16_to_cpu(accept.nr_regions), 1);
	p.nic->ops->close(p.nic);
	manager_events(&m);
	agent_close(&m);
	assert_int_equal(fake.objects, 0);
}

static void test_no_swap(void **state)
{
	static struct conf conf;
	static struct manager m;
	static struct peer p;
	const struct odrp_wire_hello hello = {
		.magic = cpu_to_be32(ODRP_WIRE_MAGIC),
		.version = cpu_to_be16(ODRP_WIRE_VERSION), .role = ODRP_WIRE_ADMIN,
		.queue = cpu_to_be16(1), .depth = cpu_to_be16(7),
		.nr_slots = cpu_to_be64(64), .page_shift = 12,
	};
	struct odrp_wire_reject rej;
	struct nic_event ev;

	fake = (struct fake_verbs) { .gids = 4 };
	agent_open(&m, &conf);
	peer_open(&p);
	ev = peer_ask(&p, &m, conf.port, &hello, sizeof(hello));
	assert_int_equal(ev.type, NIC_GONE);
	assert_int_equal(ev.reason, NIC_REJECTED);
	memcpy(&rej, ev.priv, sizeof(rej));
	assert_int_equal(be16_to_cpu(rej.status), ODRP_WIRE_E_NO_SWAP);
	assert_int_equal(m.rejects[ODRP_WIRE_E_NO_SWAP], 1);
	assert_int_equal(m.nr_sess, 0);
	p.nic->ops->close(p.nic);
	agent_close(&m);
	assert_int_equal(fake.objects, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_no_swap),
	};

	log_init(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
