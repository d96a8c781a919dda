// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See bed.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <log.h>
#include <snic/cm/cm.h>
#include "bed.h"

#define NS_PER_MS	1000000ull
#define PATIENCE_NS	(20000 * NS_PER_MS)
#define SLICE_NS	(20 * NS_PER_MS)
#define WORK_NS		200000	/* as the daemon waits for a batch */

bool bed_keyed;
int bed_failed;

void bed_options(struct bed_options *ret_opts)
{
	*ret_opts = (struct bed_options){ .seed = 1 };
	conf_init(&ret_opts->conf);
	ret_opts->conf.pool = 4 << 20;
	ret_opts->conf.reserve = 64;
	ret_opts->conf.order = CONF_ORDER_WAIT;
	ret_opts->conf.translate = bed_keyed ? CONF_TRANSLATE_NIC :
				   CONF_TRANSLATE_CHAIN;
	ret_opts->conf.depth = 16;
	ret_opts->conf.queues = 4;
	ret_opts->conf.max_sessions = BED_NODES;
	ret_opts->conf.beat_ms = BED_TICK_MS;
	ret_opts->conf.dead_ms = 1000;
}

static void nic_config(const struct bed *b, unsigned int station,
		       struct snic_config *cfg)
{
	*cfg = (struct snic_config){
		.mac = { 2, 0, 0, 0, 0, station },
		.ip = htonl(0x0a4d0001 + station),
		.prefix_len = 24,
		.mtu = b->opts.mtu ? b->opts.mtu : 4500,
		.seed = b->opts.seed * 16 + station,
		.fetch = b->opts.fetch,
		.relaxed_index = b->opts.relaxed,
		.relaxed_qpn = b->opts.relaxed,
	};
}

static uint64_t cost(void *arg, const struct snic_work *work)
{
	struct bed *b = arg;

	if (work->kind == SNIC_COST_PACKET || !b->opts.cost_more_ns)
		return work->kind == SNIC_COST_PACKET ? 0 : b->opts.cost_ns;
	b->random = b->random * 6364136223846793005ull + 1442695040888963407ull;
	return b->opts.cost_ns + (b->random >> 33) % b->opts.cost_more_ns;
}

/* ---- actors --------------------------------------------------------------------- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t agent_next(struct snic_actor *actor, uint64_t now)
{
	struct bed *b = (struct bed *)actor;

	if (b->only_nics)
		return SNIC_NEVER;
	if (snic_cm_pending(snic_cm_of(b->snic)))
		return now;
	return sooner(b->spaces_at, sooner(b->work_at, b->tick_at));
}

/* As the daemon's event loop does it. */
static int agent_step(struct snic_actor *actor, uint64_t now,
		      uint64_t *ret_cost)
{
	struct bed *b = (struct bed *)actor;

	manager_events(&b->m);
	if (now >= b->tick_at) {
		manager_tick(&b->m, BED_TICK_MS);
		b->tick_at = now + BED_TICK_MS * NS_PER_MS;
	}
	b->spaces_at = manager_spaces(&b->m, now);
	switch (manager_work(&b->m)) {
	case LEND_NOTHING:
		b->work_at = SNIC_NEVER;
		break;
	case LEND_MORE:
		b->work_at = now + 1;
		break;
	case LEND_WAIT:
		b->work_at = now + WORK_NS;
		break;
	}
	return 0;
}

static const struct snic_actor_ops agent_ops = {
	.next = agent_next, .step = agent_step,
};

static uint64_t node_next(struct snic_actor *actor, uint64_t now)
{
	struct bed_node *n = (struct bed_node *)actor;

	if (!n->cnode || n->silent || n->bed->only_nics)
		return SNIC_NEVER;
	return n->beat_at;
}

static int node_step(struct snic_actor *actor, uint64_t now,
		     uint64_t *ret_cost)
{
	struct bed_node *n = (struct bed_node *)actor;

	cnode_beat(n->cnode, n->want ? n->want : n->bed->want);
	n->beat_at = now + BED_TICK_MS * NS_PER_MS;
	return 0;
}

static const struct snic_actor_ops node_ops = {
	.next = node_next, .step = node_step,
};

/* ---- open and close ---------------------------------------------------------------- */

static void open_node(struct bed *b, unsigned int i)
{
	struct bed_node *n = &b->nodes[i];
	struct snic_config cfg;

	n->actor.ops = &node_ops;
	n->bed = b;
	n->beat_at = b->tick_at;
	nic_config(b, i + 1, &cfg);
	assert_int_equal(snic_new(&cfg, &n->snic), 0);
	assert_int_equal(snic_port_pair_open(&n->port, &n->agent_port), 0);
	assert_int_equal(snic_port_add(n->snic, n->port), 0);
	assert_int_equal(snic_port_add(b->snic, n->agent_port), 0);
	n->cfg = (struct cnode_config){
		.nic = n->snic, .ip = htonl(0x0a4d0001),
		.port = ODRP_WIRE_PORT, .pump = bed_pump, .arg = b,
		.answer_every = b->opts.answer_every,
		.keyed = b->opts.conf.translate == CONF_TRANSLATE_NIC,
	};
}

/* One more than there can be: a newcomer gets half of what is left. */
static uint64_t store_pages(const struct conf *conf)
{
	return (conf->max_sessions + 1ull) * conf->queues * 2 * conf->depth;
}

void bed_open(struct bed *b, const struct bed_options *opts,
	      unsigned int nr_nodes)
{
	struct snic_config cfg;
	char why[CONF_WHY_MAX];
	unsigned int i;

	log_init(getenv("MNODE_LOG") ? LOG_DEBUG : LOG_CRIT);
	memset(b, 0, sizeof(*b));
	b->opts = *opts;
	b->nr_nodes = nr_nodes;
	b->random = opts->seed;
	snic_vt_init(&b->vt, 0);
	b->tick_at = BED_TICK_MS * NS_PER_MS;
	b->work_at = b->spaces_at = SNIC_NEVER;
	b->actor.ops = &agent_ops;
	nic_config(b, 0, &cfg);
	assert_int_equal(snic_new(&cfg, &b->snic), 0);
	if (opts->cost_ns)
		snic_set_cost(b->snic, cost, b);
	assert_int_equal(snic_set_faults(b->snic, &opts->faults), 0);
	/* Not out of the pool that a test reckons with. */
	if (b->opts.conf.store_pages == UINT64_MAX) {
		b->opts.conf.store_pages = store_pages(&b->opts.conf);
		b->opts.conf.pool += b->opts.conf.store_pages *
				     ODRP_WIRE_PAGE_SIZE;
	}
	assert_int_equal(nic_soft_adopt(b->snic, &cfg, &b->nic), 0);
	if (opts->max_recv_len)
		b->nic->node->max_recv_len = opts->max_recv_len;
	if (opts->unknown_nic)
		b->nic->node->keeps_fences = b->nic->node->keeps_keys = false;
	assert_int_equal(manager_init(&b->m, &b->opts.conf, b->nic, why), 0);
	for (i = 0; i < nr_nodes; i++)
		open_node(b, i);
	snic_vt_add(&b->vt, &b->actor);
	for (i = 0; i < nr_nodes; i++)
		snic_vt_add(&b->vt, &b->nodes[i].actor);
	snic_vt_add_nic(&b->vt, &b->agents_nic, b->snic);
	for (i = 0; i < nr_nodes; i++)
		snic_vt_add_nic(&b->vt, &b->nodes[i].nic, b->nodes[i].snic);
}

static void close_node(struct bed_node *n)
{
	if (n->cnode)
		cnode_die(n->cnode);
	snic_free(n->snic);
	n->port->ops->close(n->port);
}

void bed_close(struct bed *b)
{
	unsigned int i;

	for (i = 0; i < b->nr_nodes; i++)
		close_node(&b->nodes[i]);
	manager_fini(&b->m);
	b->nic->ops->close(b->nic);
	snic_free(b->snic);
	for (i = 0; i < b->nr_nodes; i++)
		b->nodes[i].agent_port->ops->close(b->nodes[i].agent_port);
}

/* ---- time passes ------------------------------------------------------------------- */

static uint64_t activity(struct bed *b)
{
	struct snic_stats st;
	uint64_t sum;
	unsigned int i;

	snic_get_stats(b->snic, &st);
	sum = st.rx_cm + st.qp_errors;
	for (i = 0; i < b->nr_nodes; i++) {
		snic_get_stats(b->nodes[i].snic, &st);
		sum += st.cqes + st.error_cqes + st.rx_cm;
	}
	return sum;
}

static bool something(void *arg)
{
	struct bed *b = arg;

	return activity(b) != b->activity;
}

/* A machine that is dead has no NIC that acts. */
static void join_or_leave(struct bed *b, struct bed_node *n)
{
	if (n->silent == !snic_vt_has(&b->vt, &n->nic.actor))
		return;
	if (n->silent)
		snic_vt_remove(&b->vt, &n->nic.actor);
	else
		snic_vt_add(&b->vt, &n->nic.actor);
}

static void run(struct bed *b, uint64_t ns, bool (*done)(void *arg))
{
	unsigned int i;
	int r;

	for (i = 0; i < b->nr_nodes; i++)
		join_or_leave(b, &b->nodes[i]);
	r = snic_vt_run(&b->vt, b->now + ns, done, b);
	assert_true(!r || r == -ETIMEDOUT);
	b->now = b->vt.now;
}

void bed_run_ns(struct bed *b, uint64_t ns)
{
	b->only_nics = true;
	run(b, ns, NULL);
	b->only_nics = false;
}

/* One slice: true if something happened in it. */
static bool slice(struct bed *b)
{
	b->activity = activity(b);
	run(b, SLICE_NS, something);
	return something(b);
}

bool bed_pump(void *arg)
{
	struct bed *b = arg;

	if (slice(b)) {
		b->patience = b->now + PATIENCE_NS;
		return true;
	}
	if (!b->patience)
		b->patience = b->now + PATIENCE_NS;
	if (b->now < b->patience)
		return true;
	b->patience = 0;
	return false;
}

void bed_pass(struct bed *b, unsigned int ms)
{
	uint64_t until = b->now + ms * NS_PER_MS;
	struct cnode_done none;
	unsigned int i;

	while (b->now < until) {
		slice(b);
		for (i = 0; i < b->nr_nodes; i++) {
			if (b->nodes[i].cnode && !b->nodes[i].silent)
				assert_int_equal(cnode_poll(b->nodes[i].cnode,
							    &none), -EAGAIN);
		}
	}
}

unsigned int bed_registers(const struct bed *b, unsigned int instances)
{
	unsigned int c, nr = 0;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		nr += wrc_has_register(bed_keyed ? &b->m.keyed[c] :
						   &b->m.progs[c]) ?
			      instances : 0;
	return nr;
}

void bed_check_translations(struct bed *b)
{
	unsigned int i;
	uint64_t slot;

	for (i = 0; i < b->m.nr_sess; i++) {
		const struct sess *s = b->m.sess[i];

		for (slot = 0; keys_exist(&s->keys) && slot < s->tt.nr_slots;
		     slot++) {
			const __be64 *entry = (const __be64 *)s->tt.mem.va;
			struct wrc_ksm ksm;

			assert_int_equal(snic_mkey_entry(b->snic,
				s->keys.key[slot / WRC_KEY_SLOTS],
				slot % WRC_KEY_SLOTS * WRC_KSM_GROUP, &ksm), 0);
			assert_int_equal(ksm.addr, entry[slot]);
			assert_int_equal(!ksm.key, !entry[slot]);
		}
	}
}

void bed_settle(struct bed *b)
{
	unsigned int idle = 0, i;

	for (i = 0; idle < 3; i++) {
		assert_in_range(i, 0, 1000000);
		slice(b);
		idle = manager_work(&b->m) == LEND_NOTHING ? idle + 1 : 0;
	}
}

void bed_drop(struct bed *b, unsigned int node, uint64_t slot)
{
	struct cnode_info info;
	struct sess *s;

	cnode_info(b->nodes[node].cnode, &info);
	s = manager_find(&b->m, info.session);
	assert_non_null(s);
	assert_true(s->tt.entries[slot]);
	s->tt.entries[slot] = 0;
}

void bed_check(struct bed *b, uint64_t mapped)
{
	struct check_result res;
	unsigned int i;

	assert_int_equal(check_pages(&b->m, &res), 0);
	for (i = 0; i < res.nr_problems; i++)
		print_message("%s\n", res.problems[i]);
	assert_true(check_ok(&res));
	assert_int_equal(res.mapped, mapped);
	assert_int_equal(res.pool + res.free + res.mapped + res.armed +
			 res.held + res.returning + res.withheld, res.total);
}

void bed_connect(struct bed *b, unsigned int node, uint64_t nr_slots,
		 unsigned int queues, unsigned int depth)
{
	struct bed_node *n = &b->nodes[node];
	struct cnode_refusal no;
	int r;

	n->cfg.nr_slots = nr_slots;
	n->cfg.queues = queues;
	n->cfg.depth = depth;
	r = cnode_open(&n->cfg, &n->cnode, &no);
	if (r)
		fail_msg("cnode_open: %d, status %u, detail %lu", r, no.status,
			 (unsigned long)no.detail);
}

void bed_fill(void *page, unsigned int node, uint64_t slot, uint32_t version)
{
	uint64_t *p = page, x = (uint64_t)node << 56 ^ slot << 20 ^ version;
	unsigned int i;

	for (i = 0; i < ODRP_WIRE_PAGE_SIZE / 8; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		p[i] = x;
	}
}

bool bed_is(const void *page, unsigned int node, uint64_t slot,
	    uint32_t version)
{
	uint64_t want[ODRP_WIRE_PAGE_SIZE / 8];

	bed_fill(want, node, slot, version);
	return !memcmp(page, want, sizeof(want));
}
