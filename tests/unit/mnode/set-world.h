/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The world of test-space-set.c and test-space-silence.c: two agents and a client on one wire,
 * in virtual time. */
#ifndef TEST_MNODE_SET_WORLD_H
#define TEST_MNODE_SET_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <odrp/far.h>
#include <snic/cm/cm.h>
#include <space/part.h>
#include "bed/agent.h"
#include "../../../userspace/space/geometry.h"

#define SPACE_MB	4
#define ARBITER		0
#define OTHER		1
#define LIVES		2

/* The second agent: an actor of the bed's clock, as the bed's own is. */
struct agent {
	struct snic_actor actor;
	struct host host;
	struct snic_port *ports[LIVES][2];	/* its own, the first agent's */
	unsigned int nr_lives;
	struct conf conf;
	struct nic *nic;
	struct manager m;
	uint64_t spaces_at, work_at;
	bool lives;
};

static struct bed b;
static struct agent second;
static bool second_is_arbiter;
/* The set has a node 2, too, which never begins. */
static bool third_is_missing;
/* The two prove to each other who they are, by a secret of which byte 0 is that. */
static bool proved;
/* And clients prove nothing, so that the tests of before are clients. */
static bool free_clients;
static uint8_t first_secret, second_secret;
/* The setting lost-ms of both. */
static unsigned int lost_ms;
/* The files of the second agent's last life; -1: nobody has kept them. */
static int kept[KEEP_FILES] = { -1, -1, -1 };

/* 10.77.0.1 is the bed's agent, 10.77.0.10 the second one. */
static __be32 ip_of(unsigned int node)
{
	return htonl((node == ARBITER) == second_is_arbiter ? 0x0a4d000a : 0x0a4d0001);
}

/* A client's NIC. */
static struct nic *client;
static uint32_t client_pdn, client_cqn;

struct link {
	uint8_t mem[4096] __attribute__((aligned(4096)));
	uint32_t qpn, id;
	bool up;
	unsigned int status;		/* of a reject */
	struct odrp_far_member member;	/* of a reject that has one */
};

static uint64_t second_next(struct snic_actor *actor, uint64_t now)
{
	struct agent *a = (struct agent *)actor;

	if (!a->lives)
		return SNIC_NEVER;
	if (snic_cm_pending(snic_cm_of(a->host.nic)))
		return now;
	return a->work_at < a->spaces_at ? a->work_at : a->spaces_at;
}

static int second_step(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost)
{
	struct agent *a = (struct agent *)actor;

	manager_events(&a->m);
	a->spaces_at = manager_spaces(&a->m, now);
	a->work_at = manager_work(&a->m) == LEND_NOTHING ? SNIC_NEVER : now + 100000;
	return 0;
}

static const struct snic_actor_ops second_ops = {
	.next = second_next, .step = second_step,
};

static void set_conf(struct conf *conf, bool arbiter, const char *size)
{
	const char *nodes = second_is_arbiter ? "10.77.0.10, 10.77.0.1" :
			    third_is_missing ? "10.77.0.1,10.77.0.10,10.77.0.11" :
			    "10.77.0.1,10.77.0.10";
	char why[CONF_WHY_MAX];

	assert_int_equal(conf_space_set(conf, "s", "size", size, why), 0);
	assert_int_equal(conf_space_set(conf, "s", "nodes", nodes, why), 0);
	assert_int_equal(conf_space_set(conf, "s", "node", arbiter ? "0" : "1", why), 0);
	assert_int_equal(conf_space_set(conf, "s", "clients", "4", why), 0);
	if (proved) {
		conf->auth = free_clients ? CONF_AUTH_NONE : CONF_AUTH_REQUIRED;
		assert_int_equal(conf_space_set(conf, "s", "node-keys", "member", why), 0);
	}
	conf->spaces[0].dead_ms = 200;
	conf->spaces[0].lost_ms = lost_ms;
}

static void know(struct manager *m, uint8_t secret)
{
	const struct secrets secrets = { .nr = 1, .secret = { { secret } } };

	if (proved && secret)
		assert_int_equal(idents_add(&m->idents, "member", &secrets), 0);
}

/* A machine, too: its queue pairs and listeners end with it. */
static void second_begin(const char *size)
{
	struct snic_config cfg = host_config(9, 77);
	char why[CONF_WHY_MAX];

	cfg.ip = ip_of(second_is_arbiter ? ARBITER : OTHER);
	cfg.mtu = 4500;
	second.conf = b.opts.conf;
	second.conf.nr_spaces = 0;
	set_conf(&second.conf, second_is_arbiter, size);
	assert_in_range(second.nr_lives, 0, LIVES - 1);
	host_init(&second.host, &(struct host_conf){ .nic = cfg, .vt = &b.vt });
	host_cord(&second.host, &b.host, second.ports[second.nr_lives++]);
	assert_int_equal(nic_soft_adopt(second.host.nic, &cfg, &second.nic), 0);
	if (manager_adopt(&second.m, &second.conf, second.nic, kept[0] < 0 ? NULL : kept, why))
		fail_msg("%s", why);
	memset(kept, -1, sizeof(kept));
	know(&second.m, second_secret);
	second.spaces_at = 0;
	second.lives = true;
	snic_vt_add(&b.vt, &second.actor);
}

static void second_end(void)
{
	if (!second.lives)
		return;
	snic_vt_remove(&b.vt, &second.actor);
	manager_fini(&second.m);
	second.nic->ops->close(second.nic);
	host_close(&second.host);
	second.lives = false;
}

/*
 * Away until another place may have its MAC (snic/net/switch.c). It is at another port, and
 * has not said so: frames for it go to the old port until it sends one. A client that has not
 * spoken with it broadcasts an ARP request first, and that has it send one.
 */
static void second_again(void)
{
	second_end();
	bed_pass(&b, 11000);
	second_begin("4M");
}

/* The same, with its memory. */
static void second_goes_on(void)
{
	unsigned int i;

	for (i = 0; i < KEEP_FILES; i++)
		kept[i] = fcntl(second.m.keep.fd[i], F_DUPFD_CLOEXEC, 0);
	second_again();
}

static void client_open(void)
{
	const struct snic_config cfg = { .prefix_len = 24 };

	assert_int_equal(nic_soft_adopt(b.nodes[0].host.nic, &cfg, &client), 0);
	assert_int_equal(client->ops->pd_alloc(client, &client_pdn), 0);
	assert_int_equal(client->ops->cq_create(client, 4, &client_cqn), 0);
}

/* The second agent is not there yet. */
static void world_open(void)
{
	struct bed_options opts;

	bed_options(&opts);
	opts.conf.auth = CONF_AUTH_NONE;
	opts.conf.pool += 2 * SPACE_MB << 20;
	set_conf(&opts.conf, !second_is_arbiter, "4M");
	bed_open(&b, &opts, 1);
	know(&b.m, first_secret);
	b.spaces_at = 0;
	second = (struct agent){ .actor.ops = &second_ops };
	client_open();
}

static void world_close(void)
{
	unsigned int i;

	client->ops->close(client);
	second_end();
	bed_close(&b);
	for (i = 0; i < second.nr_lives; i++) {
		second.ports[i][0]->ops->close(second.ports[i][0]);
		second.ports[i][1]->ops->close(second.ports[i][1]);
	}
}

static void note(struct link *l, const struct nic_event *ev)
{
	struct odrp_far_reject rej;

	l->up = ev->type == NIC_ESTABLISHED;
	if (l->up)
		return;
	assert_int_equal(ev->reason, NIC_REJECTED);
	memcpy(&rej, ev->priv, sizeof(rej));
	assert_int_equal(rej.magic, htonl(ODRP_FAR_MAGIC));
	l->status = ntohs(rej.status);
	memcpy(&l->member, ev->priv + sizeof(rej), sizeof(l->member));
}

static unsigned int join_rights;

/* Says a hello of the client to an agent; the answer is in l. */
static void say(unsigned int agent, enum odrp_far_role role, uint64_t attach,
		uint32_t number, struct link *l)
{
	const struct odrp_far_hello hello = {
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = role, .attach = htobe64(attach), .number = htonl(number),
		.rights = role == ODRP_FAR_ATTACH ? ODRP_FAR_READ | ODRP_FAR_WRITE :
			  role == ODRP_FAR_JOIN ? join_rights : 0,
		.name = "s",
	};
	const struct nic_qp_attr attr = {
		.pdn = client_pdn, .scqn = client_cqn, .rcqn = client_cqn,
		.mem = l->mem, .mem_len = sizeof(l->mem), .sq = l->mem, .log_sq = 2,
		.dbr = (struct wrc_dbr *)(l->mem + 2048), .access = NIC_REMOTE_WRITE,
	};
	struct nic_event ev;

	memset(l, 0, sizeof(*l));
	assert_int_equal(client->ops->qp_create(client, &attr, &l->qpn), 0);
	assert_int_equal(client->ops->connect(client, ip_of(agent), ODRP_FAR_PORT, l->qpn,
					      &hello, sizeof(hello), &l->id), 0);
	do {
		while (client->ops->event(client, &ev))
			assert_true(bed_pump(&b));
	} while (ev.id != l->id);
	note(l, &ev);
	if (l->up)
		return;
	assert_int_equal(client->ops->qp_destroy(client, l->qpn), 0);
	client->ops->release(client, l->id);
}

static unsigned int answer(unsigned int agent, enum odrp_far_role role, uint64_t attach,
			   uint32_t number)
{
	struct link l;

	say(agent, role, attach, number, &l);
	assert_false(l.up);
	return l.status;
}

static void hang_up(struct link *l)
{
	assert_int_equal(client->ops->qp_destroy(client, l->qpn), 0);
	client->ops->release(client, l->id);
}

static struct space *part(unsigned int agent)
{
	return (agent == ARBITER) == second_is_arbiter ? second.m.spaces.list :
	       b.m.spaces.list;
}

static bool is_open(void)
{
	return !part(ARBITER)->host.closed && !part(OTHER)->host.closed;
}

static void expect_joined(void)
{
	assert_true(is_open());
	assert_int_equal(spaces_joined(part(ARBITER)), 2);
}

/* Both agents, and the set is open. */
static void set_open(void)
{
	world_open();
	second_begin("4M");
	bed_pass(&b, 2500);
	assert_true(is_open());
}

#endif
