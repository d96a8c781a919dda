// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How long the agent hears nobody else: prints its longest turn while as many hellos as
 * it takes ask for the largest device, and while those who have come are gone again;
 * then while the chains of a session with many queues are stopped, and while one with
 * the largest ring is taken up again.
 *
 * Usage: bench-mnode-admission [POOL-MB]
 *
 * Agent and strangers are in one process and in virtual time; what is printed is real
 * time, on this machine. Linked with --wrap for what the event loop calls.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bed/agent.h"

#define QUEUES	8
#define DEPTH	512

static struct bed bed;
static uint64_t longest_ns, longest_cpu_ns, nr_turns;
/* Not those in which nothing is settled. */
static bool settling_only;

void __real_manager_events(struct manager *m);
void __wrap_manager_events(struct manager *m);
enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);
void __real_manager_tick(struct manager *m, uint32_t elapsed_ms);
void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms);

struct moment {
	uint64_t wall, cpu;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static struct moment moment(void)
{
	return (struct moment){
		.wall = clock_ns(CLOCK_MONOTONIC),
		.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID),
	};
}

static void count(struct moment began)
{
	struct moment now = moment();

	nr_turns++;
	if (now.wall - began.wall > longest_ns)
		longest_ns = now.wall - began.wall;
	if (now.cpu - began.cpu > longest_cpu_ns)
		longest_cpu_ns = now.cpu - began.cpu;
}

void __wrap_manager_events(struct manager *m)
{
	struct moment began = moment();

	__real_manager_events(m);
	if (!settling_only)
		count(began);
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	bool settling = m->nr_sess && sess_state_settles(m->sess[0]->state);
	struct moment began = moment();
	enum lend_todo todo = __real_manager_work(m);

	if (settling || !settling_only)
		count(began);
	return todo;
}

void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	struct moment began = moment();

	__real_manager_tick(m, elapsed_ms);
	count(began);
}

static void say(const char *what)
{
	printf("%-24s longest turn %8.3f ms (processor %8.3f ms) of %" PRIu64
	       " turns\n", what, longest_ns / 1e6, longest_cpu_ns / 1e6, nr_turns);
	longest_ns = longest_cpu_ns = nr_turns = 0;
}

static void strangers(uint64_t pool)
{
	struct cnode *strangers[BED_NODES];
	struct odrp_wire_hello h;
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	/* Strangers are let in. */
	o.conf.auth = CONF_AUTH_NONE;
	o.conf.pool = pool;
	o.conf.populate = false;
	o.conf.reserve = UINT64_MAX;
	bed_open(&bed, &o, BED_NODES);
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(4);
	h.depth = htobe16(15);
	h.nr_slots = htobe64(bed.m.limits.max_slots);
	h.features = htobe32(ODRP_WIRE_F_KEYED);
	printf("pool %" PRIu64 " MB, devices of %" PRIu64 " MB, with keys\n",
	       (uint64_t)o.conf.pool >> 20, (uint64_t)bed.m.limits.max_slots >> 8);
	for (i = 0; i < BED_NODES; i++)
		assert_int_equal(cnode_request(&bed.nodes[i].cfg, &h, sizeof(h),
					       &strangers[i]), 0);
	say("strangers come");
	for (i = 0; i < bed.m.nr_sess; i++)
		bed.m.sess[i]->beat->beat = htobe64(1);
	bed_pass(&bed, 500);
	bed_settle(&bed);
	say("they send a heartbeat");
	bed_pass(&bed, 3000);
	bed_settle(&bed);
	while (bed.m.nr_old)
		manager_work(&bed.m);
	say("they are dead");
	assert_int_equal(bed.m.nr_sess, 0);
	for (i = 0; i < BED_NODES; i++)
		cnode_die(strangers[i]);
	bed_close(&bed);
}

static void one_session(uint64_t pool)
{
	struct cnode_refusal no;
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	o.conf.pool = pool;
	o.conf.queues = QUEUES;
	o.conf.depth = DEPTH;
	o.conf.store_pages = 4 * QUEUES * DEPTH;
	o.conf.reserve = UINT64_MAX;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, pool / ODRP_WIRE_PAGE_SIZE, QUEUES, DEPTH - 1);
	s = bed.m.sess[0];
	printf("one session, %u chains of %u requests, ring of %" PRIu64 " slots\n",
	       QUEUES * ODRP_WIRE_NR_CHAINS, DEPTH, ring_slots(s->ring.log_len));
	say("it connects");
	cnode_lose(bed.nodes[0].cnode, false);
	manager_lost(&bed.m, s);
	while (s->nr_closing)
		manager_work(&bed.m);
	say("its chains are stopped");
	settling_only = true;
	assert_int_equal(cnode_resume(bed.nodes[0].cnode, &no), 0);
	say("its ring is put in order");
	settling_only = false;
	cnode_lose(bed.nodes[0].cnode, true);
	bed_pass(&bed, 300);
	say("all hang up at once");
	bed_close(&bed);
}

int main(int argc, char **argv)
{
	uint64_t pool = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1024) << 20;

	bed_keyed = true;
	strangers(pool);
	bed_keyed = false;
	one_session(pool);
	return 0;
}
