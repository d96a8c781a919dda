// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A space on two memory nodes: two agents and a client on one wire, in virtual time.
 * The set opens when both are there, a client is fenced at both before it is dead, and
 * when one agent begins anew nobody finds its empty part among the others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <odrp/far.h>
#include <snic/cm/cm.h>
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
/* The two prove to each other who they are, by a secret of which byte 0 is that. */
static bool proved;
/* And clients prove nothing, so that the tests of before are clients. */
static bool free_clients;
static uint8_t first_secret, second_secret;

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
	assert_int_equal(manager_init(&second.m, &second.conf, second.nic, why), 0);
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

/* Away until no switch thinks that it is where it was (snic/net/switch.c). */
static void second_again(void)
{
	second_end();
	bed_pass(&b, 11000);
	second_begin("4M");
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

/* Says a hello of the client to an agent; the answer is in l. */
static void say(unsigned int agent, enum odrp_far_role role, uint64_t attach,
		uint32_t number, struct link *l)
{
	const struct odrp_far_hello hello = {
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = role, .attach = htobe64(attach), .number = htonl(number),
		.rights = role == ODRP_FAR_ATTACH ? ODRP_FAR_READ | ODRP_FAR_WRITE : 0,
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

/* Both agents, and the set is open. */
static void set_open(void)
{
	world_open();
	second_begin("4M");
	bed_pass(&b, 2500);
	assert_true(is_open());
}

/* ---- the tests ----------------------------------------------------------------------- */

static void test_opens(void **state)
{
	struct link l;

	world_open();
	bed_pass(&b, 2500);
	assert_int_equal(answer(ARBITER, ODRP_FAR_ATTACH, 11, 0), ODRP_FAR_E_INCOMPLETE);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	second_begin("4M");
	bed_pass(&b, 2500);
	assert_true(is_open());
	assert_int_equal(spaces_joined(part(ARBITER)), 2);
	assert_memory_equal(part(ARBITER)->sb.set, part(OTHER)->sb.set, 16);
	assert_int_equal(part(OTHER)->sb.node, 1);
	assert_int_equal(part(OTHER)->sb.nr_nodes, 2);
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	hang_up(&l);
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &l);
	assert_true(l.up);
	hang_up(&l);
	world_close();
}

/* Nobody joins a set by mistake. */
static void test_settings_differ(void **state)
{
	world_open();
	second_begin("8M");
	bed_pass(&b, 5000);
	assert_true(part(ARBITER)->host.closed);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "has other settings of it; expected the same nodes, size, "
			    "chunk and clients");
	world_close();
}

/* Only the arbiter has a part begun, or clients cut off; the arbiter itself has none. */
static void test_rights(void **state)
{
	uint64_t life;

	set_open();
	life = part(OTHER)->host.life;
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(ARBITER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(part(OTHER)->host.life, life);
	assert_true(is_open());
	world_close();
}

static struct far_client_entry *entry(unsigned int number)
{
	return (void *)(part(ARBITER)->host.base +
			far_client_entry_off(&part(ARBITER)->sb, number));
}

/* As a client that joins at both: number 1, alive. */
static void client_join(struct link control[2])
{
	const struct far_epoch_line *line =
		(const void *)(part(ARBITER)->host.base + FAR_SB_EPOCH);
	unsigned int i;

	for (i = ARBITER; i <= OTHER; i++) {
		say(i, ODRP_FAR_ATTACH, 11, 0, &control[i]);
		assert_true(control[i].up);
		assert_int_equal(answer(i, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_OK);
	}
	entry(1)->claim = far_claim(1, 1);
	entry(1)->beat = 1;
	entry(1)->epoch = line->epoch;
	entry(1)->flushed = FAR_EPOCH_IDLE;
}

static void test_fence(void **state)
{
	struct link control[2];

	set_open();
	client_join(control);
	bed_pass(&b, 100);
	assert_int_equal(entry(1)->fenced, 0);
	bed_pass(&b, 400);
	assert_int_equal(entry(1)->fenced, 1);
	assert_null(b.m.spaces.host.attaches);
	assert_null(second.m.spaces.host.attaches);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
}

/* While one agent cannot confirm, the client is not dead. */
static void test_fence_waits(void **state)
{
	struct link control[2];

	set_open();
	client_join(control);
	second.lives = false;
	bed_pass(&b, 5000);
	assert_null(b.m.spaces.host.attaches);
	assert_int_equal(entry(1)->fenced, 0);
	second.lives = true;
	bed_pass(&b, 20000);
	assert_null(second.m.spaces.host.attaches);
	assert_int_equal(entry(1)->fenced, 1);
	hang_up(&control[ARBITER]);
	hang_up(&control[OTHER]);
	world_close();
}

/* Its part is empty now: the set begins anew, and meanwhile nobody attaches. */
static void test_member_again(void **state)
{
	struct link control;
	unsigned int i;
	uint64_t life;

	set_open();
	life = part(ARBITER)->host.life;
	say(ARBITER, ODRP_FAR_ATTACH, 11, 0, &control);
	assert_true(control.up);
	part(ARBITER)->host.base[part(ARBITER)->sb.dir_off] = 'x';
	second_again();
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_INCOMPLETE);
	for (i = 0; i < 500; i++) {
		bed_pass(&b, 10);
		/* Not for a moment with the life of before. */
		assert_true(part(OTHER)->host.closed || part(OTHER)->host.life != life);
	}
	assert_true(is_open());
	assert_int_not_equal(part(ARBITER)->host.life, life);
	assert_int_equal(part(ARBITER)->host.life, part(OTHER)->host.life);
	assert_null(b.m.spaces.host.attaches);
	assert_int_equal(part(ARBITER)->host.base[part(ARBITER)->sb.dir_off], 0);
	hang_up(&control);
	world_close();
}

/* While clients are still being cut off the agent does not look without a pause. */
static void test_lost_waits(void **state)
{
	struct space_set *set;
	uint64_t now;

	set_open();
	set = &part(ARBITER)->set;
	set->lost = true;
	part(ARBITER)->host.ended = ++b.m.spaces.host.fence.ended;
	now = set->ask_at + 1;
	assert_true(manager_spaces(&b.m, now) > now);
	assert_true(set->lost);
	bed_pass(&b, 8000);
	assert_true(is_open());
	world_close();
}

static void test_arbiter_again(void **state)
{
	struct link control;
	uint64_t life;

	second_is_arbiter = true;
	set_open();
	life = part(OTHER)->host.life;
	say(OTHER, ODRP_FAR_ATTACH, 11, 0, &control);
	assert_true(control.up);
	second_again();
	bed_pass(&b, 5000);
	assert_true(is_open());
	assert_int_not_equal(part(OTHER)->host.life, life);
	assert_int_equal(part(ARBITER)->host.life, part(OTHER)->host.life);
	assert_null(b.m.spaces.host.attaches);
	hang_up(&control);
	world_close();
	second_is_arbiter = false;
}

/* ---- members that prove who they are -------------------------------------------------- */

static int begin_proved(void **state)
{
	proved = true;
	first_secret = second_secret = 7;
	return 0;
}

static int begin_free(void **state)
{
	free_clients = true;
	return begin_proved(state);
}

static int end_proved(void **state)
{
	proved = free_clients = second_is_arbiter = false;
	return 0;
}

static void expect_joined(void)
{
	assert_true(is_open());
	assert_int_equal(spaces_joined(part(ARBITER)), 2);
}

static void test_proved(void **state)
{
	uint64_t life;

	set_open();
	expect_joined();
	assert_int_equal(second.m.responder.done, 1);
	life = part(OTHER)->host.life;
	/* The arbiter's address alone is not enough: nobody has proved anything here. */
	part(OTHER)->host.arbiter = htonl(0x0a4d0002);
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_AUTH);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_AUTH);
	second.m.conf = &b.opts.conf;
	b.opts.conf.auth = CONF_AUTH_NONE;
	assert_int_equal(answer(OTHER, ODRP_FAR_JOIN, life + 1, 0), ODRP_FAR_E_RIGHTS);
	assert_int_equal(answer(OTHER, ODRP_FAR_CUT, life, 1), ODRP_FAR_E_RIGHTS);
	assert_int_equal(part(OTHER)->host.life, life);
	world_close();
}

/* The pass is good for one life of the member's agent: it begins anew, and is asked. */
static void test_proved_again(void **state)
{
	uint64_t life;

	set_open();
	life = part(ARBITER)->host.life;
	second_again();
	/* Only who speaks is found where he is now. */
	assert_int_equal(answer(OTHER, ODRP_FAR_ATTACH, 12, 0), ODRP_FAR_E_AUTH);
	bed_pass(&b, 8000);
	expect_joined();
	assert_int_not_equal(part(ARBITER)->host.life, life);
	world_close();
}

static void test_arbiter_proved_again(void **state)
{
	second_is_arbiter = true;
	set_open();
	expect_joined();
	second_again();
	bed_pass(&b, 5000);
	expect_joined();
	world_close();
	second_is_arbiter = false;
}

static void expect_apart(const char *trouble)
{
	world_open();
	second_begin("4M");
	bed_pass(&b, 5000);
	assert_true(part(ARBITER)->host.closed);
	assert_true(part(OTHER)->host.closed);
	assert_int_equal(spaces_joined(part(ARBITER)), 1);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, trouble);
	assert_null(second.m.idents.passes);
	world_close();
}

/* On either side it is another one, who may have the address. */
static void test_other_secret(void **state)
{
	second_secret = 8;
	expect_apart("has another secret than this one");
	second_secret = 0;
	expect_apart("has another secret than this one");
	second_secret = 7;
	first_secret = 0;
	expect_apart("cannot be asked: its secret is not there");
	first_secret = 7;
}

/* What came of one handshake is not said of the next one, which nobody answers. */
static void test_proved_absent(void **state)
{
	static const char absent[] = "cannot be asked: its address cannot be reached";

	world_open();
	bed_pass(&b, 20000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, absent);
	second_secret = 8;
	second_begin("4M");
	bed_pass(&b, 20000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "has another secret than this one");
	second_end();
	bed_pass(&b, 200000);
	assert_string_equal(part(ARBITER)->set.members[0].trouble, absent);
	world_close();
	second_secret = 7;
}

/* An agent is not kept awake by a member that does not answer its handshake. */
static void test_proved_waits(void **state)
{
	struct space_set *set;

	world_open();
	set = &part(ARBITER)->set;
	bed_pass(&b, 100);
	assert_int_equal(set->members[0].initiator.state, INITIATOR_ASKED);
	assert_true(space_set_step(set, set->now) > set->now + 100 * SPACE_SET_HANDSHAKE_NS);
	world_close();
}

/* Its connection stands, and then it says nothing: that is said. */
static void test_proved_silent(void **state)
{
	struct space_set *set;

	world_open();
	set = &part(ARBITER)->set;
	bed_pass(&b, 100);
	assert_int_equal(set->members[0].initiator.state, INITIATOR_ASKED);
	space_set_step(set, set->members[0].initiator.until);
	assert_false(set->members[0].initiator.timed_out);
	space_set_step(set, set->members[0].initiator.until + 1);
	assert_string_equal(set->members[0].trouble,
			    "does not answer the handshake in time");
	world_close();
}

/* A name that is good for clients gives no orders. */
static void test_other_name(void **state)
{
	world_open();
	memcpy(b.m.spaces.list->set.members[0].key, "client", sizeof("client"));
	assert_int_equal(idents_add(&b.m.idents, "client", &b.m.idents.first->secrets), 0);
	second_begin("4M");
	assert_int_equal(idents_add(&second.m.idents, "client", &b.m.idents.first->secrets), 0);
	bed_pass(&b, 5000);
	assert_true(part(OTHER)->host.closed);
	assert_string_equal(part(ARBITER)->set.members[0].trouble,
			    "does not take this one for the arbiter");
	world_close();
}

int main(void)
{
	const struct CMUnitTest proofs[] = {
		cmocka_unit_test(test_proved),
		cmocka_unit_test(test_proved_again),
		cmocka_unit_test(test_arbiter_proved_again),
		cmocka_unit_test(test_other_secret),
		cmocka_unit_test(test_proved_absent),
		cmocka_unit_test(test_proved_waits),
		cmocka_unit_test(test_proved_silent),
		cmocka_unit_test(test_other_name),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_settings_differ),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_fence_waits),
		cmocka_unit_test(test_member_again),
		cmocka_unit_test(test_lost_waits),
		cmocka_unit_test(test_arbiter_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       cmocka_run_group_tests_name("clients", tests, begin_free, end_proved) +
	       cmocka_run_group_tests_name("proved", proofs, begin_proved, end_proved);
}
