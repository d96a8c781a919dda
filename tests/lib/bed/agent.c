// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agent and its compute nodes: see agent.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <log.h>
#include <snic/cm/cm.h>
#include "agent.h"

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
	/* Most tests touch few pages. */
	ret_opts->conf.populate = false;
	ret_opts->conf.reserve = 64;
	ret_opts->conf.order = CONF_ORDER_WAIT;
	ret_opts->conf.translate = bed_keyed ? CONF_TRANSLATE_NIC :
				   CONF_TRANSLATE_CHAIN;
	ret_opts->conf.depth = 16;
	ret_opts->conf.queues = 4;
	ret_opts->conf.max_sessions = BED_NODES;
	ret_opts->conf.beat_ms = BED_TICK_MS;
	ret_opts->conf.dead_ms = 1000;
	ret_opts->conf.dead_ms_max = 5000;
	ret_opts->conf.auth = CONF_AUTH_REQUIRED;
	snprintf(ret_opts->conf.keys, sizeof(ret_opts->conf.keys), "/nowhere");
}

struct snic_config bed_nic_config(const struct bed *b, unsigned int station)
{
	struct snic_config cfg = host_config(station,
					     b->opts.seed * 16 + station);

	cfg.ip = htonl(0x0a4d0001 + station);
	cfg.mtu = b->opts.mtu ? b->opts.mtu : 4500;
	cfg.fetch = b->opts.fetch;
	cfg.relaxed_index = cfg.relaxed_qpn = b->opts.relaxed;
	return cfg;
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
	if (snic_cm_pending(snic_cm_of(b->host.nic)))
		return now;
	return sooner(sooner(b->spaces_at, b->look_at), sooner(b->work_at, b->tick_at));
}

static unsigned int tick_ms(const struct bed *b)
{
	return b->opts.tick_ms ? b->opts.tick_ms : BED_TICK_MS;
}

/* Does a turn, as the daemon's event loop does. */
static void agent_turn(struct bed *b, uint64_t now)
{
	manager_events(&b->m);
	if (now >= b->tick_at) {
		manager_tick(&b->m, tick_ms(b));
		b->tick_at = now + tick_ms(b) * NS_PER_MS;
		b->look_at = now;
	}
	if (now >= b->look_at)
		b->look_at = manager_look(&b->m) ? now + ODRP_WIRE_LOOK_MS * NS_PER_MS :
						   SNIC_NEVER;
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
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int agent_step(struct snic_actor *actor, uint64_t now,
		      uint64_t *ret_cost)
{
	struct bed *b = (struct bed *)actor;
	uint64_t began = b->opts.charge ? cpu_ns() : 0;

	agent_turn(b, now);
	b->nr_turns++;
	if (!b->opts.charge)
		return 0;
	*ret_cost = cpu_ns() - began;
	b->cpu_ns += *ret_cost;
	if (*ret_cost > b->longest_ns)
		b->longest_ns = *ret_cost;
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

/* Its identity, and a secret that nobody else has. */
static void know_node(struct bed *b, struct bed_node *n, unsigned int i)
{
	struct secrets secrets = { .nr = 1 };

	snprintf(n->name, sizeof(n->name), "node%u", i);
	memset(n->secret, 0x40 + i, sizeof(n->secret));
	memcpy(secrets.secret[0], n->secret, sizeof(n->secret));
	assert_int_equal(idents_add(&b->m.idents, n->name, &secrets), 0);
}

static void open_node(struct bed *b, unsigned int i)
{
	struct bed_node *n = &b->nodes[i];

	know_node(b, n, i);
	n->beat_at = b->tick_at;
	host_init(&n->host, &(struct host_conf){
		.nic = bed_nic_config(b, i + 1), .vt = &b->vt,
	});
	host_cord(&n->host, &b->host, n->ports);
	n->cfg = (struct cnode_config){
		.nic = n->host.nic, .ip = htonl(0x0a4d0001),
		.port = ODRP_WIRE_PORT, .pump = bed_pump, .arg = b,
		.answer_every = b->opts.answer_every,
		.keyed = b->opts.conf.translate == CONF_TRANSLATE_NIC,
		.direct = b->opts.conf.translate == CONF_TRANSLATE_DIRECT,
	};
	if (b->opts.conf.auth == CONF_AUTH_NONE)
		return;
	n->cfg.name = n->name;
	n->cfg.secret = n->secret;
}

/* One more than there can be: a newcomer gets half of what is left. */
static uint64_t store_pages(const struct conf *conf)
{
	return (conf->max_sessions + 1ull) * conf->queues * 2 * conf->depth;
}

/* The agent and the heartbeats act before the NICs do. */
static void add_actors(struct bed *b)
{
	unsigned int i;

	snic_vt_init(&b->vt, 0);
	b->actor.ops = &agent_ops;
	snic_vt_add(&b->vt, &b->actor);
	for (i = 0; i < b->nr_nodes; i++) {
		b->nodes[i].actor.ops = &node_ops;
		b->nodes[i].bed = b;
		snic_vt_add(&b->vt, &b->nodes[i].actor);
	}
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
	b->tick_at = BED_TICK_MS * NS_PER_MS;
	b->look_at = b->work_at = b->spaces_at = SNIC_NEVER;
	add_actors(b);
	cfg = bed_nic_config(b, 0);
	host_init(&b->host, &(struct host_conf){ .nic = cfg, .vt = &b->vt });
	if (opts->cost_ns)
		snic_set_cost(b->host.nic, cost, b);
	assert_int_equal(snic_set_faults(b->host.nic, &opts->faults), 0);
	/* Not out of the pool that a test reckons with. */
	if (b->opts.conf.store_pages == UINT64_MAX) {
		b->opts.conf.store_pages = store_pages(&b->opts.conf);
		b->opts.conf.pool += b->opts.conf.store_pages *
				     ODRP_WIRE_PAGE_SIZE;
	}
	assert_int_equal(nic_soft_adopt(b->host.nic, &cfg, &b->nic), 0);
	if (opts->max_recv_len)
		b->nic->node->max_recv_len = opts->max_recv_len;
	if (opts->unknown_nic)
		b->nic->node->keeps_fences = b->nic->node->keeps_keys = false;
	assert_int_equal(manager_init(&b->m, &b->opts.conf, b->nic, why), 0);
	for (i = 0; i < nr_nodes; i++)
		open_node(b, i);
}

/* ---- another agent ----------------------------------------------------------------- */

/* Only what is there: a file of tables is mostly holes. */
static int copy_file(int from)
{
	off_t at = 0, end, len = lseek(from, 0, SEEK_END);
	static uint8_t buf[1 << 16];
	int to = memfd_create("copy", MFD_CLOEXEC);
	ssize_t n;

	assert_true(to >= 0);
	assert_int_equal(ftruncate(to, len), 0);
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		for (; at < end; at += n) {
			n = pread(from, buf, end - at < (off_t)sizeof(buf) ?
				  end - at : (off_t)sizeof(buf), at);
			assert_true(n > 0);
			assert_int_equal(pwrite(to, buf, n, at), n);
		}
	}
	return to;
}

void bed_copy_kept(const struct bed *b, int ret_fd[KEEP_FILES])
{
	unsigned int i;

	for (i = 0; i < KEEP_FILES; i++)
		ret_fd[i] = copy_file(b->m.keep.fd[i]);
}

/* The NIC is the same, and nothing that was made on it is left. */
void bed_restart(struct bed *b, const int fd[KEEP_FILES])
{
	char why[CONF_WHY_MAX];
	unsigned int i;

	manager_fini(&b->m);
	for (i = 1; i < 10000; i++)
		snic_cm_unlisten(b->host.nic, i);
	if (manager_adopt(&b->m, &b->opts.conf, b->nic, fd, why))
		fail_msg("manager_adopt: %s", why);
	for (i = 0; i < b->nr_nodes; i++)
		know_node(b, &b->nodes[i], i);
	b->work_at = b->now + 1;
}

static void close_node(struct bed_node *n)
{
	if (n->cnode)
		cnode_die(n->cnode);
	host_close(&n->host);
	n->ports[0]->ops->close(n->ports[0]);
}

void bed_close(struct bed *b)
{
	unsigned int i;

	for (i = 0; i < b->nr_nodes; i++)
		close_node(&b->nodes[i]);
	assert_int_equal(fsm_nr_impossible, 0);
	manager_fini(&b->m);
	b->nic->ops->close(b->nic);
	host_close(&b->host);
	for (i = 0; i < b->nr_nodes; i++)
		b->nodes[i].ports[1]->ops->close(b->nodes[i].ports[1]);
}

/* ---- time passes ------------------------------------------------------------------- */

static uint64_t activity(struct bed *b)
{
	struct snic_stats st = host_stats(&b->host);
	uint64_t sum;
	unsigned int i;

	sum = st.rx_cm + st.qp_errors;
	for (i = 0; i < b->nr_nodes; i++) {
		st = host_stats(&b->nodes[i].host);
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
	if (n->silent == !snic_vt_has(&b->vt, &n->host.actor.actor))
		return;
	if (n->silent)
		snic_vt_remove(&b->vt, &n->host.actor.actor);
	else
		snic_vt_add(&b->vt, &n->host.actor.actor);
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

void bed_admin_hello(struct odrp_wire_hello *h, uint64_t nr_slots)
{
	cnode_hello(h, ODRP_WIRE_ADMIN);
	h->queue = htobe16(1);
	h->depth = htobe16(7);
	h->nr_slots = htobe64(nr_slots);
	h->features = htobe32(bed_keyed ? ODRP_WIRE_F_KEYED : 0);
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

			assert_int_equal(snic_mkey_entry(b->host.nic,
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

void bed_die(struct bed *b, unsigned int node)
{
	cnode_die(b->nodes[node].cnode);
	b->nodes[node].cnode = NULL;
}

void bed_leave(struct bed *b, unsigned int node)
{
	cnode_close(b->nodes[node].cnode);
	b->nodes[node].cnode = NULL;
}

void bed_drop(struct bed *b, unsigned int node, uint64_t slot)
{
	struct cnode_info info;
	struct sess *s;

	cnode_info(b->nodes[node].cnode, &info);
	s = manager_find_wire(&b->m, info.session);
	assert_non_null(s);
	assert_true(s->tt.entries[slot]);
	s->tt.entries[slot] = 0;
}

int check_pages(struct manager *m, struct check_result *ret_res)
{
	int r = check_begin(m);

	if (r)
		return r;
	while (check_runs(m))
		check_some(m);
	r = check_result(m, ret_res);
	check_end(m);
	return r;
}

void bed_count_long(struct bed *b)
{
	assert_int_equal(check_begin(&b->m), 0);
	assert_true(manager_spaces(&b->m, b->now) == UINT64_MAX);
	while (check_runs(&b->m))
		check_some(&b->m);
	check_end(&b->m);
	b->now += 5000000000;
	manager_spaces(&b->m, b->now);
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
