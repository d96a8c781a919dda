// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What 1,000 compute nodes cost one agent: a Markdown table, for sessions with direct slabs
 * and with chains.
 *
 * Agent and compute nodes are in one process and in virtual time, and each turn of the agent
 * takes as much of that as it took of the processor, on this machine.  All compute nodes
 * connect at once, store pages, send heartbeats for some seconds; then all links are lost and
 * they resume at once; then the agent is another one, with what was kept, and they resume
 * again, and find their pages.
 *
 * Usage: bench-mnode-sessions [NODES [QUEUES [direct|chains]]]
 *
 *	bench-mnode-sessions | scripts/lib/result.py bench-sessions --label measured \
 *		--command 'bench-mnode-sessions'
 *
 * Memory of a session: what the agent and its software NIC have allocated, and what of the
 * agent's mappings for the session is resident; not the pages that it was lent.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include "crowd.h"

#define NODES		1000
#define QUEUES		4
#define DEPTH		15
#define IDLE_MS		5000
#define SORT_CALLS	16
#define SORT_LEN	100000	/* less than what malloc() maps */

void *__real_malloc(size_t len);
void *__wrap_malloc(size_t len);
void *__real_calloc(size_t nr, size_t len);
void *__wrap_calloc(size_t nr, size_t len);
void *__real_realloc(void *p, size_t len);
void *__wrap_realloc(void *p, size_t len);
void __real_free(void *p);
void __wrap_free(void *p);
void __real_manager_events(struct manager *m);
void __wrap_manager_events(struct manager *m);
enum lend_todo __real_manager_work(struct manager *m);
enum lend_todo __wrap_manager_work(struct manager *m);
void __real_manager_tick(struct manager *m, uint32_t elapsed_ms);
void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms);
bool __real_manager_look(struct manager *m);
bool __wrap_manager_look(struct manager *m);
int __real_snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg), void *arg);
int __wrap_snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg), void *arg);

static struct bed bed;
static struct crowd crowd;
static bool in_agent;
static int64_t heap;		/* of the agent */

/* ---- memory -------------------------------------------------------------------------- */

static void *count(void *p)
{
	if (in_agent && p)
		heap += malloc_usable_size(p);
	return p;
}

static void uncount(void *p)
{
	if (in_agent && p)
		heap -= malloc_usable_size(p);
}

void *__wrap_malloc(size_t len)
{
	return count(__real_malloc(len));
}

void *__wrap_calloc(size_t nr, size_t len)
{
	return count(__real_calloc(nr, len));
}

void *__wrap_realloc(void *p, size_t len)
{
	uncount(p);
	return count(__real_realloc(p, len));
}

void __wrap_free(void *p)
{
	uncount(p);
	__real_free(p);
}

static uint64_t resident(const struct mem *mem)
{
	unsigned char page[4096];
	uint64_t nr = (mem->len + 4095) / 4096, at, n, i, sum = 0;

	for (at = 0; mem->va && at < nr; at += n) {
		n = nr - at < sizeof(page) ? nr - at : sizeof(page);
		if (mincore((char *)mem->va + at * 4096, n * 4096, page))
			return 0;
		for (i = 0; i < n; i++)
			sum += page[i] & 1;
	}
	return sum * 4096;
}

static uint64_t sess_resident(const struct sess *s)
{
	uint64_t sum = resident(&s->ring.mem) + resident(&s->tt.mem) +
		       resident(&s->beat_mem) + resident(&s->ctl.mem) +
		       resident(&s->slabs.published);
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q)
		sum += resident(&q->arena) + resident(&q->far);
	return sum;
}

static double sess_kb(void)
{
	uint64_t sum = heap;
	unsigned int i;

	for (i = 0; i < bed.m.nr_sess; i++)
		sum += sess_resident(bed.m.sess[i]);
	return sum / 1024.0 / bed.m.nr_sess;
}

/*
 * malloc() sorts what was freed before, 10000 pieces at a call that fits none of them. The
 * agent does not pay for what the compute nodes, or the agent before, have freed: in a
 * process of its own it would not.
 */
int __wrap_snic_vt_run(struct snic_vt *vt, uint64_t until, bool (*done)(void *arg), void *arg)
{
	unsigned int i;

	for (i = 0; i < SORT_CALLS; i++)
		__real_free(__real_malloc(SORT_LEN));
	return __real_snic_vt_run(vt, until, done, arg);
}

/* ---- turns --------------------------------------------------------------------------- */

static struct {
	const char *name;
	uint64_t longest_ns;
} part[] = { { "events" }, { "work" }, { "tick" }, { "look" } };

static uint64_t part_began;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void part_begin(void)
{
	in_agent = true;
	part_began = cpu_ns();
}

static void part_end(unsigned int i)
{
	uint64_t ns = cpu_ns() - part_began;

	in_agent = false;
	if (ns > part[i].longest_ns)
		part[i].longest_ns = ns;
}

void __wrap_manager_events(struct manager *m)
{
	part_begin();
	__real_manager_events(m);
	part_end(0);
}

enum lend_todo __wrap_manager_work(struct manager *m)
{
	enum lend_todo todo;

	part_begin();
	todo = __real_manager_work(m);
	part_end(1);
	return todo;
}

void __wrap_manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	part_begin();
	__real_manager_tick(m, elapsed_ms);
	part_end(2);
}

bool __wrap_manager_look(struct manager *m)
{
	bool more;

	part_begin();
	more = __real_manager_look(m);
	part_end(3);
	return more;
}

/* ---- phases -------------------------------------------------------------------------- */

struct phase {
	uint64_t ns, cpu_ns;
};

static struct phase phase_begin(void)
{
	bed.longest_ns = 0;
	return (struct phase){ .ns = bed.now, .cpu_ns = bed.cpu_ns };
}

static void phase_end(const char *kind, const char *name, struct phase began, double kb)
{
	unsigned int i;

	printf("| %s | %s | %.2f s | %.2f s | %.2f ms | ", kind, name,
	       (bed.now - began.ns) / 1e9, (bed.cpu_ns - began.cpu_ns) / 1e9,
	       bed.longest_ns / 1e6);
	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		printf("%s%.2f", i ? ", " : "", part[i].longest_ns / 1e6);
		part[i].longest_ns = 0;
	}
	if (kb)
		printf(" | %.0f KB |\n", kb);
	else
		printf(" | |\n");
	fflush(stdout);
}

/* A process that begins has no connections of the one before. */
static void old_agent_forget(void)
{
	struct nic_event ev;

	while (!bed.nic->ops->event(bed.nic, &ev))
		bed.nic->ops->release(bed.nic, ev.id);
}

static void agent_restart(void)
{
	int fd[KEEP_FILES];
	uint64_t began;

	bed_copy_kept(&bed, fd);
	began = cpu_ns();
	in_agent = true;
	bed_restart(&bed, fd);
	in_agent = false;
	crowd_tell(&crowd);
	/* Also that of the agent before to free all, which it would not. */
	began = cpu_ns() - began;
	bed.cpu_ns += began;
	old_agent_forget();
	crowd_pass(&crowd, began / MS + 1);
}

static void agent_open(enum conf_translate translate, unsigned int nr, unsigned int queues)
{
	struct bed_options o;

	bed_options(&o);
	o.charge = true;
	o.conf.translate = translate;
	o.conf.max_sessions = 1024;
	o.conf.queues = queues;
	o.conf.pool = ((uint64_t)nr + 64) << ODRP_WIRE_LOG_SLAB;
	o.conf.beat_ms = o.tick_ms = 1000;
	o.conf.dead_ms = 90 * 1000;
	o.conf.dead_ms_max = 900 * 1000;
	bed_open(&bed, &o, 0);
	heap = 0;
}

static void run(const char *kind, enum conf_translate translate, unsigned int nr,
		unsigned int queues)
{
	struct phase began;

	agent_open(translate, nr, queues);
	crowd_open(&crowd, &bed, nr, queues, DEPTH);
	began = phase_begin();
	crowd_connect(&crowd);
	assert_int_equal(bed.m.nr_sess, nr);
	phase_end(kind, "all connect at once", began, sess_kb());
	began = phase_begin();
	crowd_pass(&crowd, IDLE_MS);
	phase_end(kind, "heartbeats of 5 s", began, 0);
	began = phase_begin();
	crowd_lose(&crowd);
	crowd_resume(&crowd);
	phase_end(kind, "all links are lost, all resume", began, 0);
	began = phase_begin();
	agent_restart();
	crowd_resume(&crowd);
	assert_int_equal(bed.m.sess_resumed, nr);
	phase_end(kind, "another agent, all resume", began, sess_kb());
	crowd_close(&crowd);
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? strtoul(argv[1], NULL, 0) : NODES;
	unsigned int queues = argc > 2 ? strtoul(argv[2], NULL, 0) : QUEUES;

	printf("%u compute nodes of %u queues\n\n", nr, queues);
	printf("| sessions | what happens | agent time | processor | longest turn | "
	       "events, work, tick, look (ms) | memory of one |\n"
	       "|---|---|--:|--:|--:|--:|--:|\n");
	if (argc < 4 || !strcmp(argv[3], "direct"))
		run("direct", CONF_TRANSLATE_DIRECT, nr, queues);
	if (argc < 4 || !strcmp(argv[3], "chains"))
		run("chains", CONF_TRANSLATE_CHAIN, nr, queues);
	return 0;
}
