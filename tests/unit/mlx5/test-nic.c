// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent's NIC on the fake device and a scripted connection manager: wrong words, unfit
 * devices, chains as the agent arms them, connections, queue pairs that have stopped.
 */
#include <stdlib.h>
#include "fake.h"
#include "mlx5/encode.h"
#include <manager.h>
#include <nic/mlx5-priv.h>
#include <session/queue.h>

#define PEER_IP	0x0100000a

/* ---- a connection manager --------------------------------------------------- */

static struct {
	struct nic_cm_event events[8];
	unsigned int nr_events;
	struct wrc_mlx5_conn attr;
	struct nic_cm_accept accepted;
	int accept_err;
	unsigned int opened, accepts, rejects, disconnects, releases;
	uint16_t port;
} cm;

static int conns[4];	/* their addresses are connections */

static int cm_open(const char *device, uint8_t port, void **ret_cm,
		   int *ret_fd)
{
	assert_string_equal(device, "fake0");
	assert_int_equal(port, 1);
	cm.opened++;
	*ret_cm = &cm;
	*ret_fd = 77;
	return 0;
}

static void cm_close(void *arg)
{
	cm.opened--;
}

static int cm_listen(void *arg, uint16_t port)
{
	cm.port = port;
	return 0;
}

static int cm_event(void *arg, struct nic_cm_event *ret_event)
{
	if (!cm.nr_events)
		return -EAGAIN;
	*ret_event = cm.events[0];
	memmove(cm.events, cm.events + 1, sizeof(cm.events[0]) *
		--cm.nr_events);
	return 0;
}

static int cm_attr(void *conn, struct wrc_mlx5_conn *ret_conn)
{
	*ret_conn = cm.attr;
	return 0;
}

static int cm_accept(void *conn, const struct nic_cm_accept *accept)
{
	cm.accepts++;
	cm.accepted = *accept;
	return cm.accept_err;
}

static int cm_reject(void *conn, const void *priv, uint8_t priv_len)
{
	cm.rejects++;
	return 0;
}

static int cm_disconnect(void *conn)
{
	cm.disconnects++;
	return 0;
}

static void cm_release(void *conn)
{
	cm.releases++;
}

static const struct nic_cm fake_cm = {
	.open = cm_open, .close = cm_close, .listen = cm_listen,
	.event = cm_event, .attr = cm_attr, .accept = cm_accept,
	.reject = cm_reject, .disconnect = cm_disconnect,
	.release = cm_release,
};

static void happens(enum nic_event_type type, int *conn)
{
	cm.events[cm.nr_events++] = (struct nic_cm_event){
		.type = type, .conn = conn, .peer_ip = PEER_IP,
		.local_ip = PEER_IP + 1, .peer_qpn = 0x77,
		.priv_len = 3, .priv = "hey",
	};
}

static int setup(void **state)
{
	memset(&cm, 0, sizeof(cm));
	fake_init();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(cm.opened, 0);
	fake_fini();
	return 0;
}

static struct nic *open_nic(void)
{
	struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	if (nic_mlx5_open(&opts, &fake_devx, &fake_cm, &nic, why))
		fail_msg("%s", why);
	assert_true(nic->node->strict_index);
	assert_int_equal(nic->event_fd, 77);
	return nic;
}

/* ---- words -------------------------------------------------------------------- */

static void words(void **state)
{
	char why[NIC_MLX5_WHY_MAX];
	struct nic_mlx5_opts o;

	assert_int_equal(nic_mlx5_parse("mlx5_0,port=2,gid=3,strict=no", &o,
					why), 0);
	assert_string_equal(o.device, "mlx5_0");
	assert_int_equal(o.port, 2);
	assert_int_equal(o.gid_index, 3);
	assert_false(o.strict);
	assert_int_equal(nic_mlx5_parse("report=/a/b.json", &o, why), 0);
	assert_string_equal(o.report, "/a/b.json");
	assert_int_equal(nic_mlx5_parse("mlx5_0,report=none", &o, why), 0);
	assert_string_equal(o.report, "");
	assert_int_equal(nic_mlx5_parse("", &o, why), 0);
	assert_string_equal(o.report, verdict_dir);
	assert_string_equal(o.device, "");
	assert_int_equal(o.port, 1);
	assert_true(o.strict);
	assert_int_equal(nic_mlx5_parse("gid=1", &o, why), 0);
	assert_string_equal(o.device, "");
}

static void complains(const char *said, const char *expected)
{
	char why[NIC_MLX5_WHY_MAX] = "";
	struct nic_mlx5_opts o;

	assert_int_equal(nic_mlx5_parse(said, &o, why), -EINVAL);
	if (!strstr(why, expected))
		fail_msg("'%s' is answered with '%s'", said, why);
}

static void bad_words(void **state)
{
	char word[400];

	complains("mlx5_0,port=0", "port=0: expected a number from 1");
	complains("mlx5_0,port=1x", "port=1x");
	complains("mlx5_0,gid=256", "to 255");
	complains("mlx5_0,gid=-1", "gid=-1");
	complains("mlx5_0,strict=maybe", "strict=maybe: expected yes or no");
	complains("mlx5_0,mtu=3", "mtu: unknown; expected port, gid, "
		  "strict or report");
	complains("mlx5_0,mlx5_1", "'mlx5_1': expected KEY=VALUE");
	complains("mlx5_0,port=", "expected KEY=VALUE");
	complains("mlx5_0,", "comma");
	complains(",port=1", "name of a device");
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	complains(word, "longer than");
	word[300] = 0;
	memcpy(word, "report=/", 8);
	complains(word, "expected none or an absolute path of less than 256");
	complains("report=a.json", "report=a.json: expected none or an abs");
	memcpy(word, "xxxxxxxx", 8);
	word[100] = 0;
	complains(word, "less than 64");
}

static void relaxed(void **state)
{
	struct nic_mlx5_opts opts = { .port = 1 };
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, &fake_cm, &nic,
				       why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "strict=no: fake0 does not say"));
	fake_cap(0, 0x99, 1, 1);
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, &fake_cm, &nic,
				       why), 0);
	assert_false(nic->node->strict_index);
	nic->ops->close(nic);
}

static void unfit(void **state)
{
	struct nic_mlx5_opts opts = { .port = 1, .strict = true };
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	fake_cap(0, 0x22c, 1, 0);
	assert_int_equal(nic_mlx5_open(&opts, &fake_devx, &fake_cm, &nic,
				       why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "fake0 cannot run chains: it has no "
			       "cross-channel queues"));
}

/* ---- chains --------------------------------------------------------------------- */

struct node {
	struct nic *nic;
	struct pool pool;
	struct ring ring;
	struct tt tt;
	struct queue_on on;
};

static void node_open(struct node *n, struct nic *nic)
{
	memset(n, 0, sizeof(*n));
	n->nic = nic;
	assert_int_equal(pool_init(&n->pool, nic, 64 * 4096, true), 0);
	assert_int_equal(ring_init(&n->ring, nic, n->pool.pdn, 64), 0);
	n->on = (struct queue_on){ &n->pool, &n->ring, &n->tt };
	n->tt.nr_slots = 512;
	assert_int_equal(mem_map(4096, MEM_POPULATE, &n->tt.mem), 0);
	n->tt.entries = n->tt.mem.va;
	assert_int_equal(nic->ops->mr_reg(nic, n->pool.pdn, n->tt.mem.va, 4096,
					  0, NIC_ALL, &n->tt.key), 0);
}

static void node_close(struct node *n)
{
	n->nic->ops->mr_dereg(n->nic, n->tt.key);
	mem_unmap(&n->tt.mem);
	ring_fini(&n->ring);
	pool_fini(&n->pool);
}

static void arm_one(struct node *n, enum odrp_wire_chain chain, uint32_t depth)
{
	const bool store = chain == ODRP_WIRE_MAPPED_STORE ||
			   chain == ODRP_WIRE_UNMAPPED_STORE;
	const struct wrc_opts opts = {
		.strict_index = true, .recycle = WRC_RECYCLE_NODE,
		.variant = store ? WRC_V_EXCHANGE : WRC_V_OURS,
	};
	char why[WRC_WHY_MAX];
	__u64 pages[64];
	struct wrc_prog prog;
	struct nic_qp_info info;
	struct wrc_held held;
	struct queue *q;
	uint8_t syndrome;
	int r;

	assert_int_equal(wrc_prog_build(chain, &opts, &prog), 0);
	for (uint32_t i = 0; i < depth; i++)
		pages[i] = page_addr(i);
	r = queue_new(&n->on, &prog, depth, pages, &q, why);
	if (r)
		fail_msg("%s: %s %s", prog.name, strerror(-r), why);
	assert_true(fake_qp(q->loop_qpn)->cd_master);
	assert_true(fake_qp(q->loop_qpn)->cd_slave_send);
	assert_false(fake_qp(q->client_qpn)->cd_master);
	assert_true(fake_qp(q->client_qpn)->cd_slave_send);
	assert_int_equal(fake_qp(q->loop_qpn)->access, 7);
	assert_int_equal(fake_qp(q->loop_qpn)->dest_qpn, q->loop_qpn);
	assert_int_equal(fake_qp(q->client_qpn)->state, 0);
	fake_run();
	assert_false(queue_broken(q, &syndrome));
	assert_int_equal(n->nic->ops->qp_query(n->nic, q->loop_qpn, &info), 0);
	assert_int_equal(info.sq_executed, 0);	/* it waits */
	assert_int_equal(queue_held(q, info.sq_executed, 0, &held), 0);
	assert_int_equal(held.page, store ? page_addr(0) : 0);
	assert_int_equal(held.slot, 0);
	queue_stop(q);
	fake_run();
	assert_int_equal(n->nic->ops->qp_query(n->nic, q->loop_qpn, &info), 0);
	assert_true(info.error);
	assert_int_equal(info.syndrome, 0);	/* it was told to */
	assert_int_equal(info.sq_executed, 0);
	queue_free(q);
}

static void arm(void **state)
{
	struct nic *nic = open_nic();
	struct node n;

	node_open(&n, nic);
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		arm_one(&n, chain, 64);
		arm_one(&n, chain, 4);	/* receive queues not page-aligned */
	}
	node_close(&n);
	nic->ops->close(nic);
}

/* Whichever call fails, nothing is left and nothing is broken. */
static void out_of_memory(void **state)
{
	const struct wrc_opts opts = {
		.strict_index = true, .recycle = WRC_RECYCLE_NODE,
		.variant = WRC_V_EXCHANGE,
	};
	struct nic *nic = open_nic();
	char why[WRC_WHY_MAX];
	struct wrc_prog prog;
	__u64 pages[16];
	struct queue *q;
	struct node n;
	unsigned int i;
	int r = -1;

	node_open(&n, nic);
	for (i = 0; i < 16; i++)
		pages[i] = page_addr(i);
	assert_int_equal(wrc_prog_build(ODRP_WIRE_MAPPED_STORE, &opts, &prog),
			 0);
	for (i = 1; r; i++) {
		fake.fail_in = i;
		r = queue_new(&n.on, &prog, 16, pages, &q, why);
		if (!r)
			queue_free(q);
		assert_null(fake.objs);
		/* The table, once it is made, is for all who come. */
		assert_int_equal(fake.mrs, 3 + !!n.pool.tables.bytes);
	}
	assert_true(i > 12);
	node_close(&n);
	nic->ops->close(nic);
}

/* ---- translation in the NIC ------------------------------------------------- */

/* Chains that change keys, armed as the agent arms them. */
static void arm_keyed(void **state)
{
	const struct wrc_opts opts = {
		.strict_index = true, .recycle = WRC_RECYCLE_NODE,
		.variant = WRC_V_KEYED,
	};
	struct nic *nic = open_nic();
	char why[WRC_WHY_MAX];
	struct wrc_prog prog;
	struct queue *q;
	struct keys keys;
	struct node n;
	__u64 pages[4];
	uint8_t syndrome;

	node_open(&n, nic);
	for (int i = 0; i < 4; i++)
		pages[i] = page_addr(i);
	assert_int_equal(keys_init(&keys, &n.pool, n.pool.pdn, 512), 0);
	n.on.keys = &keys;
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
		if (chain == ODRP_WIRE_LOAD || chain == ODRP_WIRE_MAPPED_STORE)
			continue;
		assert_int_equal(wrc_prog_build(chain, &opts, &prog), 0);
		if (queue_new(&n.on, &prog, 4, pages, &q, why))
			fail_msg("%s: %s", prog.name, why);
		fake_run();
		assert_false(queue_broken(q, &syndrome));
		/* Its peer is in another domain; by it nobody reaches it. */
		assert_int_equal(fake_qp(q->loop_qpn)->dest_qpn, q->far_qpn);
		assert_int_equal(fake_qp(q->loop_qpn)->access, 0);
		assert_int_equal(fake_qp(q->far_qpn)->access, 7);
		queue_free(q);
	}
	keys_fini(&keys);
	node_close(&n);
	nic->ops->close(nic);
}

/* Whichever call fails, no key is left, and no queue pair that made it. */
static void keys_out_of_memory(void **state)
{
	struct nic *nic = open_nic();
	struct keys keys;
	struct node n;
	unsigned int i, pds, left = 0;
	int r;

	node_open(&n, nic);
	assert_int_equal(pool_share(&n.pool), 0);
	pds = fake.pds;
	for (i = 1; !left && i < 100; i++) {
		fake.fail_in = i;
		r = keys_init(&keys, &n.pool, n.pool.pdn, 3 * WRC_KEY_SLOTS);
		left = fake.fail_in, fake.fail_in = 0;
		/* Without a shared key of the pool, it is registered. */
		assert_int_equal(!r, left || i == 2);
		if (!r)
			keys_fini(&keys);
		assert_null(fake.objs);
		assert_int_equal(fake.mrs, 3);
		assert_int_equal(fake.pds, pds);
	}
	/* Domain, pool, what makes keys (7), three of them, map and list. */
	assert_int_equal(i - 2, 14);
	node_close(&n);
	nic->ops->close(nic);
}

/* An agent that is to translate in a NIC that cannot. */
static void no_keys(void **state)
{
	struct nic *nic = open_nic();
	char why[CONF_WHY_MAX] = "";
	struct manager m;
	struct conf conf;

	conf_init(&conf);
	conf.translate = CONF_TRANSLATE_NIC;
	conf.pool = 8 << 20;
	nic_mlx5_device(nic)->caps.ksm = false;
	assert_int_equal(manager_init(&m, &conf, nic, why), -EOPNOTSUPP);
	assert_string_equal(why, "translate=nic: fake0 cannot translate: it has "
			    "no indirect keys with entries of one size "
			    "(capability fixed_buffer_size)");
	nic_mlx5_device(nic)->caps.ksm = true;
	fake.refuse = 0x200;
	fake.status = 3;
	assert_int_equal(manager_init(&m, &conf, nic, why), -EINVAL);
	assert_string_equal(why, "translate=nic: CREATE_MKEY: bad parameter "
			    "(status 0x03, syndrome 0x5eed5eed)");
	assert_int_equal(manager_init(&m, &conf, nic, why), 0);
	assert_true(m.nic_translates);
	manager_fini(&m);
	assert_null(fake.objs);
	nic->ops->close(nic);
}

/* Left to the agent, a NIC of which nothing is known has chains with WAITs, as has
 * one that was found to have keys and then has none. */
static void left_to_us(void **state)
{
	struct nic *nic = open_nic();
	char why[CONF_WHY_MAX] = "";
	struct manager m;
	struct conf conf;
	unsigned int i;

	conf_init(&conf);
	conf.pool = 8 << 20;
	for (i = 0; i < 8; i++) {
		nic->node->keeps_fences = i & 1;
		nic->node->keeps_keys = i & 2;
		nic_mlx5_device(nic)->caps.ksm = i & 4;
		assert_int_equal(manager_init(&m, &conf, nic, why), 0);
		assert_true(m.waits == !(i & 1));
		assert_true(nic->node->fence_orders == !!(i & 1));
		assert_true(m.nic_translates == ((i & 6) == 6));
		assert_true(!m.keyed[ODRP_WIRE_LOAD].name == !m.nic_translates);
		manager_fini(&m);
	}
	assert_null(fake.objs);
	nic->ops->close(nic);
}

/* What its user has left behind goes with it. */
static void closed_early(void **state)
{
	struct nic *nic = open_nic();
	struct nic_event ev;
	struct node n;
	uint32_t cqn, key;

	node_open(&n, nic);
	assert_int_equal(nic->ops->cq_create(nic, 4, &cqn), 0);
	assert_int_equal(nic->node->ops->ksm_create(nic, n.pool.pdn, 32,
						    NIC_REMOTE_READ, 0xa5, &key), 0);
	assert_int_equal(key & 0xff, 0xa5);
	happens(NIC_REQUEST, &conns[0]);
	assert_int_equal(nic->ops->event(nic, &ev), 0);
	nic->ops->close(nic);
	assert_int_equal(cm.releases, 1);
	mem_unmap(&n.tt.mem);
	mem_unmap(&n.pool.page_mem);
	mem_unmap(&n.ring.mem);
	free(n.pool.free.bit);
	free(n.pool.free.block);
	free(n.pool.owner);
	free(n.pool.clean);
}

/* ---- queue pairs --------------------------------------------------------------------- */

struct pair {
	struct nic *nic;
	uint32_t pdn, scqn, rcqn, qpn;
	struct mem mem;
};

static void pair_open(struct pair *p, struct nic *nic, unsigned int access)
{
	struct nic_qp_attr attr = { .log_sq = 4, .access = access };

	memset(p, 0, sizeof(*p));
	p->nic = nic;
	assert_int_equal(nic->ops->pd_alloc(nic, &p->pdn), 0);
	assert_int_equal(nic->ops->cq_create(nic, 4, &p->scqn), 0);
	assert_int_equal(nic->ops->cq_create(nic, 4, &p->rcqn), 0);
	assert_int_equal(mem_map(4096, MEM_POPULATE, &p->mem), 0);
	attr.pdn = p->pdn;
	attr.scqn = p->scqn;
	attr.rcqn = p->rcqn;
	attr.mem = attr.sq = p->mem.va;
	attr.mem_len = 4096;
	attr.dbr = (struct wrc_dbr *)((char *)p->mem.va + 1024);
	assert_int_equal(nic->ops->qp_create(nic, &attr, &p->qpn), 0);
}

static void pair_close(struct pair *p)
{
	p->nic->ops->qp_destroy(p->nic, p->qpn);
	p->nic->ops->cq_destroy(p->nic, p->scqn);
	p->nic->ops->cq_destroy(p->nic, p->rcqn);
	p->nic->ops->pd_free(p->nic, p->pdn);
	mem_unmap(&p->mem);
}

/* NOPs, of which the fourth has an index that the NIC does not like. */
static void stopped_by_itself(void **state)
{
	struct nic *nic = open_nic();
	struct wrc_wr wr = { .flags = WRC_WQE_CE_ALWAYS, .ds = 1 };
	struct nic_qp_info info;
	struct nic_cq_info cq;
	struct pair p;

	pair_open(&p, nic, 0);
	for (int i = 0; i < 6; i++) {
		wr.qpn = p.qpn;
		wr.index = i == 3 ? 77 : i;
		assert_int_equal(wrc_encode(&wr, (char *)p.mem.va + 64 * i,
					    64), 16);
	}
	assert_int_equal(nic->node->ops->qp_loop(nic, p.qpn, p.qpn), 0);
	assert_int_equal(nic->ops->qp_doorbell(nic, p.qpn, 3), 0);
	fake_run();
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_false(info.error);
	assert_int_equal(info.sq_executed, 3);
	assert_int_equal(nic->ops->qp_doorbell(nic, p.qpn, 6), 0);
	fake_run();
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_true(info.error);
	assert_int_equal(info.sq_executed, 3);
	assert_int_equal(info.syndrome, WRC_SYND_LOCAL_QP_OP);
	/* A card may count the one that failed. */
	fake.bbs_too_far = 1;
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_int_equal(info.sq_executed, 3);
	assert_int_equal(nic->node->ops->cq_info(nic, p.scqn, &cq), 0);
	assert_int_equal(cq.written - cq.errors, 3);
	assert_true(cq.errors >= 1);
	pair_close(&p);
	nic->ops->close(nic);
}

static void nobody(void **state)
{
	struct nic *nic = open_nic();
	struct nic_qp_info qp;
	struct nic_cq_info cq;
	struct wrc_cqe cqe;
	uint32_t key;

	assert_int_equal(nic->node->ops->qp_loop(nic, 999, 999), -ENOENT);
	assert_int_equal(nic->ops->qp_error(nic, 999), -ENOENT);
	assert_int_equal(nic->ops->qp_query(nic, 999, &qp), -ENOENT);
	assert_int_equal(nic->ops->qp_doorbell(nic, 999, 1), -ENOENT);
	assert_int_equal(nic->node->ops->cq_info(nic, 999, &cq), -ENOENT);
	assert_int_equal(nic->ops->cq_poll(nic, 999, &cqe), -ENOENT);
	assert_int_equal(nic->ops->mr_reg(nic, 999, NULL, 0, 0, 0, &key),
			 -ENOENT);
	assert_int_equal(nic->ops->accept(nic, 999, 999, NULL, 0), -ENOENT);
	assert_int_equal(nic->ops->reject(nic, 999, NULL, 0), -ENOENT);
	assert_int_equal(nic->ops->disconnect(nic, 999), -ENOENT);
	nic->ops->release(nic, 999);
	assert_int_equal(nic->node->ops->freeze(nic), -EOPNOTSUPP);
	assert_int_equal(nic->ops->cpu_ns(nic), 0);
	nic->ops->close(nic);
}

/* ---- connections ----------------------------------------------------------------------- */

static void expect_event(struct nic *nic, enum nic_event_type type,
			 uint32_t *id)
{
	struct nic_event ev;

	assert_int_equal(nic->ops->event(nic, &ev), 0);
	assert_int_equal(ev.type, type);
	assert_int_not_equal(ev.id, 0);
	assert_int_equal(ev.peer_ip, PEER_IP);
	assert_int_equal(ev.local_ip, PEER_IP + 1);
	assert_int_equal(ev.peer_qpn, 0x77);
	if (type == NIC_REQUEST)
		*id = ev.id;
	else
		assert_int_equal(ev.id, *id);
}

static const struct wrc_mlx5_conn cm_conn = {
	.path = {
		.port = 1, .grh = true, .sgid_index = 3, .hop_limit = 64,
		.traffic_class = 0x20,
		.dgid = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 9 },
	},
	.dest_qpn = 0x123456, .mtu = 3, .rq_psn = 0x111111,
	.sq_psn = 0x222222, .max_rd_atomic = 128, .max_dest_rd_atomic = 2,
	.min_rnr_timer = 0, .retry_cnt = 6, .rnr_retry = 5, .timeout = 18,
};

static void accepted(void **state)
{
	struct nic *nic = open_nic();
	struct nic_qp_info info;
	struct fake_obj *o;
	struct nic_event ev;
	struct pair p;
	uint32_t id;

	assert_int_equal(nic->ops->listen(nic, 7489), 0);
	assert_int_equal(cm.port, 7489);
	pair_open(&p, nic, NIC_REMOTE_WRITE);
	assert_int_equal(nic->ops->event(nic, &ev), -EAGAIN);
	happens(NIC_REQUEST, &conns[0]);
	expect_event(nic, NIC_REQUEST, &id);
	cm.attr = cm_conn;
	assert_int_equal(nic->ops->accept(nic, id, p.qpn, "priv", 4), 0);
	assert_int_equal(cm.accepted.qpn, p.qpn);
	assert_int_equal(cm.accepted.priv_len, 4);
	assert_int_equal(cm.accepted.rnr_retry, 7);
	/* As the device can, and as was asked. */
	assert_int_equal(cm.accepted.initiator_depth, 16);
	assert_int_equal(cm.accepted.responder_resources, 2);

	o = fake_qp(p.qpn);
	assert_int_equal(o->state, WRC_MLX5_QP_RTS);
	assert_int_equal(o->access, 2);
	assert_int_equal(o->dest_qpn, 0x123456);
	assert_int_equal(o->mtu, 3);
	assert_int_equal(fake_bits(o->rtr, 0xc0 + 0x4a8, 24), 0x111111);
	assert_int_equal(fake_bits(o->rtr, 0xc0 + 0x488, 3), 1);
	assert_int_equal(fake_bits(o->rtr, 0xc0 + 0x4a3, 5), 6);
	assert_int_equal(fake_bits(o->rts, 0xc0 + 0x3c8, 24), 0x222222);
	assert_int_equal(fake_bits(o->rts, 0xc0 + 0x388, 3), 4);
	assert_int_equal(fake_bits(o->rts, 0xc0 + 0x38d, 3), 6);
	assert_int_equal(fake_bits(o->rts, 0xc0 + 0x390, 3), 5);
	assert_int_equal(fake_bits(o->rts, 0x180 + 0x40, 5), 18);
	/* The path: addresses, and the Ethernet one of that GID. */
	assert_int_equal(fake_bits(o->rtr, 0x180 + 0x48, 8), 3);
	assert_int_equal(fake_bits(o->rtr, 0x180 + 0x58, 8), 64);
	assert_int_equal(fake_bits(o->rtr, 0x180 + 0x64, 8), 0x20);
	assert_int_equal(fake_bits(o->rtr, 0x180 + 0x10a, 6), 0x08);
	assert_memory_equal(o->rtr + 0x40, cm_conn.path.dgid, 16);
	assert_int_equal(fake_bits(o->rtr, 0x180 + 0x130, 48),
			 0x020000000009);

	happens(NIC_ESTABLISHED, &conns[0]);
	expect_event(nic, NIC_ESTABLISHED, &id);
	happens(NIC_GONE, &conns[0]);
	expect_event(nic, NIC_GONE, &id);
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_true(info.error);
	nic->ops->release(nic, id);
	assert_int_equal(cm.releases, 1);
	pair_close(&p);
	nic->ops->close(nic);
}

/* An address of RoCE v1 has no UDP port. */
static void accepted_v1(void **state)
{
	struct nic *nic = open_nic();
	struct pair p;
	uint32_t id;

	pair_open(&p, nic, 0);
	cm.attr = cm_conn;
	fake.roce_version = 0;
	happens(NIC_REQUEST, &conns[0]);
	expect_event(nic, NIC_REQUEST, &id);
	assert_int_equal(nic->ops->accept(nic, id, p.qpn, NULL, 0), 0);
	nic->ops->release(nic, id);
	pair_close(&p);
	nic->ops->close(nic);
}

static void disconnected(void **state)
{
	struct nic *nic = open_nic();
	struct nic_qp_info info;
	struct pair p;
	uint32_t id, other;

	pair_open(&p, nic, 0);
	cm.attr = cm_conn;
	happens(NIC_REQUEST, &conns[0]);
	happens(NIC_REQUEST, &conns[1]);
	expect_event(nic, NIC_REQUEST, &id);
	expect_event(nic, NIC_REQUEST, &other);
	assert_int_not_equal(id, other);
	assert_int_equal(nic->ops->reject(nic, other, "no", 2), 0);
	nic->ops->release(nic, other);
	assert_int_equal(nic->ops->accept(nic, id, p.qpn, NULL, 0), 0);
	assert_int_equal(nic->ops->disconnect(nic, id), 0);
	assert_int_equal(cm.disconnects, 1);
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_true(info.error);
	/* Its queue pair is gone before it; another must not suffer. */
	pair_close(&p);
	assert_int_equal(mlx5_of(nic)->card.conns->qpn, 0);
	pair_open(&p, nic, 0);
	assert_int_equal(nic->node->ops->qp_loop(nic, p.qpn, p.qpn), 0);
	happens(NIC_GONE, &conns[0]);
	expect_event(nic, NIC_GONE, &id);
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_false(info.error);
	nic->ops->release(nic, id);
	pair_close(&p);
	assert_int_equal(cm.rejects, 1);
	assert_int_equal(cm.releases, 2);
	nic->ops->close(nic);
}

static void not_accepted(void **state)
{
	struct nic *nic = open_nic();
	struct nic_qp_info info;
	struct pair p;
	uint32_t id;

	pair_open(&p, nic, 0);
	happens(NIC_REQUEST, &conns[0]);
	expect_event(nic, NIC_REQUEST, &id);
	cm.attr = cm_conn;
	fake.refuse = 0x503;
	fake.status = 3;
	assert_int_equal(nic->ops->accept(nic, id, p.qpn, NULL, 0), -EINVAL);
	assert_int_equal(cm.accepts, 0);
	pair_close(&p);
	pair_open(&p, nic, 0);
	cm.accept_err = -ECONNRESET;
	assert_int_equal(nic->ops->accept(nic, id, p.qpn, NULL, 0), -ECONNRESET);
	assert_int_equal(nic->ops->qp_query(nic, p.qpn, &info), 0);
	assert_true(info.error);
	pair_close(&p);
	nic->ops->release(nic, id);
	nic->ops->close(nic);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(words),
		T(bad_words),
		T(relaxed),
		T(unfit),
		T(arm),
		T(out_of_memory),
		T(arm_keyed),
		T(keys_out_of_memory),
		T(no_keys),
		T(left_to_us),
		T(closed_early),
		T(stopped_by_itself),
		T(nobody),
		T(accepted),
		T(accepted_v1),
		T(disconnected),
		T(not_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
