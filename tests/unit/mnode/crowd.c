// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many compute nodes; see crowd.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "crowd.h"

#define QUANTUM_NS	(1 * MS)	/* how long a compute node takes to notice something */
#define PATIENCE_NS	(120 * SECOND)
#define AGAIN_NS	(200 * MS)	/* between two attempts */
#define MAX_TRIES	500
#define STACK_LEN	(64u << 10)
#define MAIL_ROOM	512

/* ---- heartbeats ---------------------------------------------------------------------- */

static uint64_t beats_next(struct snic_actor *actor, uint64_t now)
{
	struct crowd *c = (struct crowd *)actor;

	return c->silent || c->bed->only_nics ? SNIC_NEVER : c->beat_at;
}

static int beats_step(struct snic_actor *actor, uint64_t now, uint64_t *ret_cost)
{
	struct crowd *c = (struct crowd *)actor;
	struct crowd_node *n = &c->node[c->begun++ % c->nr];

	if (n->cnode)
		cnode_beat(n->cnode, n->cfg.direct ? ODRP_WIRE_SLAB_PAGES : CROWD_PAGES);
	c->beat_at = now + c->period_ns / c->nr;
	return 0;
}

static const struct snic_actor_ops beats_ops = {
	.next = beats_next, .step = beats_step,
};

/* ---- fibers -------------------------------------------------------------------------- */

static void sleep_once(struct crowd_node *n)
{
	far_context_switch(&n->fiber->context, &n->crowd->main);
}

/* The callback "pump" of struct cnode_config. */
static bool node_pump(void *arg)
{
	struct crowd_node *n = arg;

	sleep_once(n);
	return n->crowd->bed->now < n->until;
}

static struct far_context *node_run(void *arg)
{
	struct crowd_node *n = arg;

	n->crowd->act(n);
	n->done = true;
	return &n->crowd->main;
}

static void world_run(struct crowd *c, uint64_t ns)
{
	assert_int_equal(snic_vt_run(&c->bed->vt, c->bed->now + ns, NULL, NULL), 0);
	c->bed->now = c->bed->vt.now;
}

/* True: somebody is not done. */
static bool all_go_on(struct crowd *c)
{
	bool more = false;
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		if (c->node[i].done)
			continue;
		far_context_switch(&c->main, &c->node[i].fiber->context);
		more = true;
	}
	return more;
}

static void all_act(struct crowd *c, void (*act)(struct crowd_node *n))
{
	unsigned int i;

	c->act = act;
	for (i = 0; i < c->nr; i++) {
		c->node[i].done = false;
		assert_int_equal(far_fiber_new(&c->stacks, node_run, &c->node[i],
					       &c->node[i].fiber), 0);
	}
	while (all_go_on(c))
		world_run(c, QUANTUM_NS);
	for (i = 0; i < c->nr; i++)
		far_fiber_free(&c->stacks, c->node[i].fiber);
}

/* ---- what they do -------------------------------------------------------------------- */

static void wait_ns(struct crowd_node *n, uint64_t ns)
{
	uint64_t until = n->crowd->bed->now + ns;

	while (n->crowd->bed->now < until)
		sleep_once(n);
}

/* Without chains each slot has its place in a slab. */
static enum odrp_wire_chain store_chain(const struct crowd_node *n)
{
	return n->cfg.direct ? ODRP_WIRE_MAPPED_STORE : ODRP_WIRE_UNMAPPED_STORE;
}

/* A compute node without a lease waits for one. */
static void page_store(struct crowd_node *n, uint64_t slot)
{
	uint8_t page[ODRP_WIRE_PAGE_SIZE];
	int r;

	bed_fill(page, n->nr, slot, 1);
	do {
		r = cnode_do(n->cnode, 0, store_chain(n), slot, page);
		if (r == -EDQUOT)
			sleep_once(n);
	} while (r == -EDQUOT && n->crowd->bed->now < n->until);
	assert_int_equal(r, 0);
}

static void pages_store(struct crowd_node *n)
{
	uint64_t slot;

	for (slot = 0; slot < CROWD_PAGES; slot++)
		page_store(n, slot);
}

static void pages_check(struct crowd_node *n)
{
	uint8_t page[ODRP_WIRE_PAGE_SIZE];
	uint64_t slot;

	for (slot = 0; slot < CROWD_PAGES; slot++) {
		assert_int_equal(cnode_do(n->cnode, 0, ODRP_WIRE_LOAD, slot, page), 0);
		assert_true(bed_is(page, n->nr, slot, 1));
	}
}

/* A node that is refused, or not heard, comes again. */
static bool try_again(struct crowd_node *n, int r, const struct cnode_refusal *no)
{
	if (!r)
		return false;
	if (++n->tries == MAX_TRIES ||
	    (r == -ECONNREFUSED && no->status && no->status != ODRP_WIRE_E_BUSY))
		fail_msg("node %u: %d, status %u, detail %lu, after %u tries", n->nr, r,
			 no->status, (unsigned long)no->detail, n->tries);
	wait_ns(n, AGAIN_NS + n->nr % 64 * MS);
	return true;
}

static void node_connect(struct crowd_node *n)
{
	struct cnode_refusal no;
	int r;

	n->tries = 0;
	do {
		n->until = n->crowd->bed->now + PATIENCE_NS;
		r = cnode_open(&n->cfg, &n->cnode, &no);
	} while (try_again(n, r, &no));
	n->until = n->crowd->bed->now + PATIENCE_NS;
	pages_store(n);
}

static void node_resume(struct crowd_node *n)
{
	struct cnode_refusal no;
	int r;

	n->tries = 0;
	do {
		n->until = n->crowd->bed->now + PATIENCE_NS;
		r = cnode_resume(n->cnode, &no);
	} while (try_again(n, r, &no));
	n->until = n->crowd->bed->now + PATIENCE_NS;
	pages_check(n);
}

static void node_lose(struct crowd_node *n)
{
	cnode_lose(n->cnode, false);
}

void crowd_connect(struct crowd *c)
{
	all_act(c, node_connect);
}

void crowd_resume(struct crowd *c)
{
	all_act(c, node_resume);
}

void crowd_lose(struct crowd *c)
{
	all_act(c, node_lose);
}

void crowd_pass(struct crowd *c, unsigned int ms)
{
	struct cnode_done none;
	unsigned int i;

	while (ms--) {
		world_run(c, MS);
		for (i = 0; i < c->nr; i++)
			cnode_poll(c->node[i].cnode, &none);
	}
}

/* ---- open and close ------------------------------------------------------------------ */

static void station_open(struct crowd *c, unsigned int i)
{
	struct crowd_station *s = &c->station[i];

	host_init(&s->host, &(struct host_conf){
		.nic = bed_nic_config(c->bed, i + 1), .vt = &c->bed->vt,
	});
	host_cord(&s->host, &c->bed->host, s->ports);
	s->mail = (struct cnode_mail){
		.ev = calloc(MAIL_ROOM, sizeof(struct snic_cm_event)), .room = MAIL_ROOM,
	};
	assert_non_null(s->mail.ev);
}

static void node_init(struct crowd *c, unsigned int i, unsigned int queues,
		      unsigned int depth)
{
	struct crowd_station *s = &c->station[i % c->nr_stations];
	struct crowd_node *n = &c->node[i];

	*n = (struct crowd_node){ .crowd = c, .nr = i };
	snprintf(n->name, sizeof(n->name), "node%u", i);
	memset(n->secret, 0x40 + i % 64, sizeof(n->secret));
	n->secret[0] = i;
	n->secret[1] = i >> 8;
	n->cfg = (struct cnode_config){
		.nic = s->host.nic, .mail = &s->mail, .ip = htonl(0x0a4d0001),
		.port = ODRP_WIRE_PORT, .name = n->name, .secret = n->secret,
		.queues = queues, .depth = depth, .nr_slots = CROWD_SLOTS,
		.keyed = c->bed->opts.conf.translate == CONF_TRANSLATE_NIC,
		.direct = c->bed->opts.conf.translate == CONF_TRANSLATE_DIRECT,
		.asks = true, .pump = node_pump, .arg = n,
	};
}

void crowd_tell(struct crowd *c)
{
	struct secrets secrets = { .nr = 1 };
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		memcpy(secrets.secret[0], c->node[i].secret, ODRP_AUTH_SECRET);
		assert_int_equal(idents_add(&c->bed->m.idents, c->node[i].name, &secrets), 0);
	}
}

void crowd_open(struct crowd *c, struct bed *bed, unsigned int nr, unsigned int queues,
		unsigned int depth)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->bed = bed;
	c->nr = nr;
	c->nr_stations = nr < CROWD_STATIONS ? nr : CROWD_STATIONS;
	c->node = calloc(nr, sizeof(*c->node));
	assert_non_null(c->node);
	far_stacks_init(&c->stacks, STACK_LEN);
	for (i = 0; i < c->nr_stations; i++)
		station_open(c, i);
	for (i = 0; i < nr; i++)
		node_init(c, i, queues, depth);
	crowd_tell(c);
	c->period_ns = bed->opts.conf.beat_ms * MS;
	c->beats.ops = &beats_ops;
	snic_vt_add(&bed->vt, &c->beats);
}

void crowd_close(struct crowd *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->node[i].cnode)
			cnode_die(c->node[i].cnode);
	snic_vt_remove(&c->bed->vt, &c->beats);
	for (i = 0; i < c->nr_stations; i++)
		host_close(&c->station[i].host);
	bed_close(c->bed);
	for (i = 0; i < c->nr_stations; i++) {
		c->station[i].ports[0]->ops->close(c->station[i].ports[0]);
		c->station[i].ports[1]->ops->close(c->station[i].ports[1]);
		free(c->station[i].mail.ev);
	}
	far_stacks_fini(&c->stacks);
	free(c->node);
}
