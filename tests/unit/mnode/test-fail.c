// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Everything the agent asks for is refused once: the first time, the second
 * time, and so on, until a whole set-up passes without a refusal.  Each time it
 * says no in an orderly way, nothing is left behind, and the next one is served.
 *
 * Linked with --wrap for these and for what the agent does then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <page/mem.h>
#include "bed/agent.h"
#include "bed/count.h"

/* ---- what fails -------------------------------------------------------------- */

static bool armed;
static int countdown;
static bool hit;

static bool fails(void)
{
	if (!armed || countdown-- != 0)
		return false;
	hit = true;
	return true;
}

void *__real_calloc(size_t nr, size_t len);
void *__wrap_calloc(size_t nr, size_t len);
int __real_mem_map(size_t len, unsigned int flags, struct mem *ret_mem);
int __wrap_mem_map(size_t len, unsigned int flags, struct mem *ret_mem);

void *__wrap_calloc(size_t nr, size_t len)
{
	return fails() ? NULL : __real_calloc(nr, len);
}

int __wrap_mem_map(size_t len, unsigned int flags, struct mem *ret_mem)
{
	return fails() ? -ENOMEM : __real_mem_map(len, flags, ret_mem);
}

/* With only_keys, nothing else fails. */
static bool only_keys;

int __real_keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
		     uint64_t nr_slots);
int __wrap_keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
		     uint64_t nr_slots);
int __real_keys_make(struct keys *k, unsigned int most);
int __wrap_keys_make(struct keys *k, unsigned int most);

int __wrap_keys_begin(struct keys *k, struct pool *pool, uint32_t admin_pdn,
		     uint64_t nr_slots)
{
	int r;

	armed |= only_keys;
	r = __real_keys_begin(k, pool, admin_pdn, nr_slots);
	armed &= !only_keys;
	return r;
}

int __wrap_keys_make(struct keys *k, unsigned int most)
{
	int r;

	armed |= only_keys;
	r = __real_keys_make(k, most);
	armed &= !only_keys;
	return r;
}

/* The NIC, with its makers wrapped: the same object, another table. */
static const struct nic_ops *real;
static struct nic_ops wrapped;
static const struct nic_node_ops *real_node;
static struct nic_node_ops wrapped_node;

static int pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	return fails() ? -ENOMEM : real->pd_alloc(nic, ret_pdn);
}

static int mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	return fails() ? -ENOMEM :
	       real->mr_reg(nic, pdn, va, len, iova, access, ret_key);
}

static int cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn)
{
	return fails() ? -ENOMEM : real->cq_create(nic, log_size, ret_cqn);
}

static int qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		     uint32_t *ret_qpn)
{
	return fails() ? -ENOMEM : real->qp_create(nic, attr, ret_qpn);
}

static int ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
		      unsigned int access, uint8_t variant, uint32_t *ret_key)
{
	return fails() ? -ENOMEM : real_node->ksm_create(nic, pdn, entries,
							 access, variant,
							 ret_key);
}

static int qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	return fails() ? -EIO : real_node->qp_loop(nic, qpn, to);
}

static int qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	return fails() ? -EIO : real->qp_doorbell(nic, qpn, pi);
}

static int nic_listen(struct nic *nic, uint16_t port)
{
	return fails() ? -EIO : real->listen(nic, port);
}

static int nic_accept(struct nic *nic, uint32_t id, uint32_t qpn,
		      const void *priv, uint8_t priv_len)
{
	return fails() ? -EIO : real->accept(nic, id, qpn, priv, priv_len);
}

/* Only while the agent deals with a request: when it comes, when a session is made for
 * it, and when it has waited. */
void __real_manager_events(struct manager *m);
void __wrap_manager_events(struct manager *m);
bool __real_manager_open_some(struct manager *m);
bool __wrap_manager_open_some(struct manager *m);
bool __real_manager_arm_some(struct manager *m);
bool __wrap_manager_arm_some(struct manager *m);
void __real_manager_unwait(struct manager *m, struct sess *s);
void __wrap_manager_unwait(struct manager *m, struct sess *s);
static bool wrapping;
/* What happens while the next session is being opened. */
static void (*while_opening)(struct manager *m);

void __wrap_manager_events(struct manager *m)
{
	__real_manager_events(m);
	armed = false;
}

bool __wrap_manager_open_some(struct manager *m)
{
	bool more;

	if (while_opening && m->nr_sess && m->sess[0]->state == SESS_OPENING) {
		while_opening(m);
		while_opening = NULL;
	}
	armed = wrapping && !only_keys;
	more = __real_manager_open_some(m);
	armed = false;
	return more;
}

bool __wrap_manager_arm_some(struct manager *m)
{
	bool more;

	armed = wrapping && !only_keys;
	more = __real_manager_arm_some(m);
	armed = false;
	return more;
}

void __wrap_manager_unwait(struct manager *m, struct sess *s)
{
	armed = wrapping && !only_keys;
	__real_manager_unwait(m, s);
	armed = false;
}

static int event(struct nic *nic, struct nic_event *ret_event)
{
	int r;

	armed = false;
	r = real->event(nic, ret_event);
	armed = !only_keys && !r && ret_event->type == NIC_REQUEST;
	return r;
}

static void wrap(struct nic *nic)
{
	wrapping = true;
	real = nic->ops;
	wrapped = *real;
	wrapped.pd_alloc = pd_alloc;
	wrapped.mr_reg = mr_reg;
	wrapped.cq_create = cq_create;
	wrapped.qp_create = qp_create;
	wrapped.qp_doorbell = qp_doorbell;
	wrapped.listen = nic_listen;
	wrapped.accept = nic_accept;
	wrapped.event = event;
	nic->ops = &wrapped;
	real_node = nic->node->ops;
	wrapped_node = *real_node;
	wrapped_node.ksm_create = ksm_create;
	wrapped_node.qp_loop = qp_loop;
	nic->node->ops = &wrapped_node;
}

/* ---- tests ---------------------------------------------------------------------- */

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

/* Objects of the NIC, but domain, completion queue, queue pair and key of the fence, which
 * the first end of a chain makes. */
static long nr_live(void)
{
	return count_live() - (bed.m.lender.fence.loop.dev ? 4 : 0);
}

/* BUSY: it was a handshake. */
static void expect_failed(int r, const struct cnode_refusal *no)
{
	assert_int_equal(r, -ECONNREFUSED);
	assert_true(no->status == ODRP_WIRE_E_NOMEM ||
		    no->status == ODRP_WIRE_E_INTERNAL ||
		    no->status == ODRP_WIRE_E_BUSY);
}

static void test_session(void **state)
{
	struct bed_options o;
	struct cnode_refusal no;
	struct bed_node *n = &bed.nodes[0];
	unsigned int times;
	int r = -1;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	wrap(bed.nic);
	n->cfg.nr_slots = 64;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	for (times = 0; r; times++) {
		assert_in_range(times, 0, 300);
		countdown = times;
		hit = false;
		r = cnode_open(&n->cfg, &n->cnode, &no);
		assert_true(!r == !hit);
		if (r)
			expect_failed(r, &no);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, r ? 0 : 1);
		bed_check(&bed, 0);
	}
	assert_true(times > 50);
	bed_fill(page, 0, 3, 1);
	assert_int_equal(cnode_do(n->cnode, 0, ODRP_WIRE_UNMAPPED_STORE, 3,
				  page), 0);
	bed_check(&bed, 1);
	armed = false;
	wrapping = false;
	bed_close(&bed);
}

/* A session that ends before its accept: the peer is told at once to try again. */
static void ends_while_opening(void (*act)(struct manager *m))
{
	struct bed_node *n = &bed.nodes[0];
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	n->cfg.nr_slots = 64;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	while_opening = act;
	assert_int_equal(cnode_open(&n->cfg, &n->cnode, &no), -ECONNREFUSED);
	assert_null(while_opening);
	assert_int_equal(no.status, ODRP_WIRE_E_BUSY);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.sess_total, 0);
	bed_check(&bed, 0);
}

static void evict(struct manager *m)
{
	manager_kill(m, m->sess[0], WHY_EVICTED);
}

static void test_evicted_opening(void **state)
{
	ends_while_opening(evict);
	assert_int_equal(bed.m.sess_evicted, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_close(&bed);
}

/* The next agent would know nothing of a session that is accepted now. */
static void test_paused_opening(void **state)
{
	ends_while_opening(manager_pause);
	assert_int_equal(bed.m.sess_evicted, 0);
	bed_close(&bed);
}

/*
 * With translate=auto a compute node that cannot be made keys has chains instead.
 * Says itself what is armed, so once is enough.
 */
static void test_no_keys(void **state)
{
	struct bed_node *n = &bed.nodes[0];
	struct cnode_info info;
	struct bed_options o;
	unsigned int times;

	if (bed_keyed)
		skip();
	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_AUTO;
	bed_open(&bed, &o, 1);
	wrap(bed.nic);
	n->cfg.keyed = true;
	only_keys = true;
	for (times = 0, hit = true; hit; times++) {
		assert_in_range(times, 0, 30);
		countdown = times;
		hit = false;
		bed_connect(&bed, 0, 64, 1, 7);
		cnode_info(n->cnode, &info);
		assert_true(info.keyed == !hit);
		bed_fill(page, 0, 3, 1);
		assert_int_equal(cnode_do(n->cnode, 0, ODRP_WIRE_UNMAPPED_STORE,
					  3, page), 0);
		memset(page, 0, sizeof(page));
		assert_int_equal(cnode_do(n->cnode, 0, ODRP_WIRE_LOAD, 3, page),
				 0);
		assert_true(bed_is(page, 0, 3, 1));
		bed_check(&bed, 1);
		cnode_close(n->cnode);
		n->cnode = NULL;
		bed_settle(&bed);
		bed_check(&bed, 0);
	}
	only_keys = false;
	assert_true(times > 5);
	wrapping = false;
	bed_close(&bed);
}

static void test_start(void **state)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];
	struct manager m;
	unsigned int times;
	int r = -1;

	bed_options(&o);
	bed_open(&bed, &o, 0);
	wrap(bed.nic);
	o.conf.port = 7490;
	for (times = 0; r; times++) {
		assert_in_range(times, 0, 500);
		countdown = times;
		hit = false;
		armed = true;
		why[0] = 0;
		r = manager_init(&m, &o.conf, bed.nic, why);
		armed = false;
		assert_true(!r == !hit);
		assert_true(!r || strlen(why) > 5);
	}
	assert_true(times > 10);
	manager_fini(&m);
	wrapping = false;
	bed_close(&bed);
}

static void map_some(struct cnode *c, uint64_t nr)
{
	uint64_t slot;

	for (slot = 0; slot < nr; slot++) {
		bed_fill(page, 0, slot, 1);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	}
}

/* One try, in which the agent's times-th wish is not fulfilled. */
static int resume_once(struct cnode *c, unsigned int times, bool say)
{
	struct cnode_refusal no;
	int r;

	cnode_lose(c, say);
	bed_pass(&bed, say ? 100 : 0);
	countdown = times;
	hit = false;
	r = cnode_resume(c, &no);
	assert_true(!r == !hit);
	if (r)
		expect_failed(r, &no);
	return r;
}

/* Made once, for all who come. */
static long nr_tables(void)
{
	const struct tables *ts = &bed.m.pool.tables;
	const struct table *t = &ts->of[0][0][0];
	size_t i, nr_all = sizeof(ts->of) / sizeof(*t);
	long nr = 0;

	for (i = 0; i < nr_all; i++)
		nr += t[i].mem.va != NULL;
	return nr;
}

/* The session waits on, with all its pages. */
static void test_resume(void **state)
{
	unsigned int times, say, waits = 0;
	struct bed_options o;
	struct cnode *c;
	uint64_t slot;
	long live;
	int r;

	bed_options(&o);
	o.conf.dead_ms = 3600 * 1000;	/* all tries are one silence */
	bed_open(&bed, &o, 1);
	count_wrap(bed.nic);
	wrap(bed.nic);
	countdown = -1;
	bed_connect(&bed, 0, 64, 1, 7);
	c = bed.nodes[0].cnode;
	map_some(c, 20);
	live = nr_live();
	for (say = 0; say < 2; say++) {
		r = -1;
		for (times = 0; r; times++) {
			assert_in_range(times, 0, 300);
			r = resume_once(c, times, say);
			armed = false;
			assert_int_equal(bed.m.nr_sess, 1);
			assert_true(sess_is_live(bed.m.sess[0]));
			waits += !sess_attached(bed.m.sess[0]);
			bed_settle(&bed);
			bed_check(&bed, 20);
		}
		assert_true(times > 50);
		assert_int_equal(nr_live(), live);
		}
	assert_true(waits > 5);
	for (slot = 0; slot < 20; slot++) {
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, slot, page), 0);
		assert_true(bed_is(page, 0, slot, 1));
	}
	bed_leave(&bed, 0);
	bed_settle(&bed);
	assert_int_equal(nr_live(), nr_tables());
	bed_check(&bed, 0);
	armed = false;
	wrapping = false;
	bed_close(&bed);
}

/* No queue pair for the agent itself when pages have to move: later. */
static void test_lender(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	wrap(bed.nic);
	countdown = -1;
	bed_connect(&bed, 0, 64, 1, 7);
	map_some(bed.nodes[0].cnode, 20);
	bed.m.sess[0]->lease.cap = 128;
	bed.want = 128;
	bed_pass(&bed, BED_TICK_MS);
	bed.nic->ops->qp_error(bed.nic, bed.m.lender.q.qpn);
	for (i = 0; i < 5; i++) {
		armed = true;
		countdown = i;
		manager_work(&bed.m);
		armed = false;
		bed_run_ns(&bed, 1000);
	}
	bed_pass(&bed, 10 * BED_TICK_MS);
	bed_settle(&bed);
	assert_int_equal(bed.m.lender.nr_failures, 1);
	assert_int_equal(bed.m.sess[0]->lease.granted, 128);
	bed_check(&bed, 20);
	wrapping = false;
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_evicted_opening),
		cmocka_unit_test(test_paused_opening),
		cmocka_unit_test(test_no_keys),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_lender),
	};

	return bed_run_tests(tests);
}
