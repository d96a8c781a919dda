/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node and some compute nodes on one wire, in one thread and in
 * virtual time: the agent as it is, and cnode.c on software NICs.
 *
 * Agent, heartbeats and NICs are actors of one clock.  The agent acts as its event
 * loop has it: when its NIC has events, when it ticks, and when pages are to be
 * moved.  Requests are the test's, between two runs.
 */
#ifndef TEST_BED_AGENT_H
#define TEST_BED_AGENT_H

#include <check.h>
#include <manager.h>
#include <nic/soft.h>
#include "cnode.h"
#include "host.h"

#define BED_NODES	8
#define BED_TICK_MS	100

struct bed_options {
	struct conf conf;
	enum snic_fetch fetch;
	bool relaxed;
	struct snic_faults faults;
	uint64_t seed;
	uint64_t cost_ns;	/* of each WQE's fetch and execution */
	uint64_t cost_more_ns;	/* and up to so much more, at random */
	unsigned int answer_every;	/* of the compute nodes */
	uint32_t max_recv_len;	/* of the NIC's receive entries; 0: any */
	bool unknown_nic;	/* nothing is known of what it keeps */
	unsigned int mtu;	/* of the wire; 0: a page fits */
	unsigned int tick_ms;	/* of the agent; 0: BED_TICK_MS */
	bool charge;		/* the agent's turns take the processor time that they take */
};

struct bed;

/**
 * struct bed_node - a compute node
 * @actor:	its heartbeats
 * @host:	its machine
 * @name, @secret: known to the agent; unused where auth = none
 */
struct bed_node {
	struct snic_actor actor;
	struct bed *bed;
	struct host host;
	struct snic_port *ports[2];	/* its own, the agent's */
	bool silent;			/* its machine is dead: not stepped */
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
	struct cnode_config cfg;
	struct cnode *cnode;
	uint64_t beat_at;
	uint64_t want;			/* in its heartbeats, if not 0 */
	uint32_t seen;			/* CQEs, to know when to look */
};

/**
 * struct bed - all of it
 * @actor:	the agent
 * @host:	the memory node
 * @work_at:	when it has pages to move again
 * @tick_at:	when it ticks
 * @look_at:	when it looks for heartbeats of those who ask
 * @spaces_at:	when spaces are to be looked after again
 * @only_nics:	nobody else acts
 * @nr_turns, @cpu_ns, @longest_ns: turns of the agent, and, with charge, what they took
 * @now:	of vt, between two runs
 */
struct bed {
	struct snic_actor actor;
	struct bed_options opts;
	struct snic_vt vt;
	struct host host;
	struct nic *nic;
	struct manager m;
	struct bed_node nodes[BED_NODES];
	unsigned int nr_nodes;
	bool only_nics;
	uint64_t now, tick_at, look_at, work_at, spaces_at, patience;
	uint64_t random;
	uint64_t want;			/* in all others */
	uint64_t activity;
	uint64_t nr_turns, cpu_ns, longest_ns;
};

/* bed_run_tests(): its second run, and what failed in the first. */
extern bool bed_keyed;
extern int bed_failed;

/* All tests with chains that translate, and with keys of the compute nodes. */
#define bed_run_tests(tests)						\
	(bed_failed = cmocka_run_group_tests_name("chains", tests, NULL, \
						  NULL),		\
	 bed_keyed = true,						\
	 bed_failed + cmocka_run_group_tests_name("keyed", tests, NULL,	\
						  NULL))

/* How many of the instances of both stores of a queue have a page. */
unsigned int bed_registers(const struct bed *b, unsigned int instances);

/* The config of the NIC with that number; 0 is the memory node's. */
struct snic_config bed_nic_config(const struct bed *b, unsigned int station);
/* Small, quick, and everything at its default otherwise. */
void bed_options(struct bed_options *ret_opts);
void bed_open(struct bed *b, const struct bed_options *opts,
	      unsigned int nr_nodes);
void bed_close(struct bed *b);

/* Copies of what the agent keeps for the next one, as it is at this moment. */
void bed_copy_kept(const struct bed *b, int ret_fd[KEEP_FILES]);
/* The agent is gone, without a word, and another one takes these files over. */
void bed_restart(struct bed *b, const int fd[KEEP_FILES]);

/* For the admin connection of a session with one queue. */
void bed_admin_hello(struct odrp_wire_hello *h, uint64_t nr_slots);

/* Runs until something happened; false: for long nothing has. */
bool bed_pump(void *arg);
/* Runs the NICs that long, nothing else. */
void bed_run_ns(struct bed *b, uint64_t ns);
/* Lets ms pass, without requests. */
void bed_pass(struct bed *b, unsigned int ms);
/* Until the agent has no page to move. */
void bed_settle(struct bed *b);
/* A compute node dies, or says goodbye; the bed has none in its place. */
void bed_die(struct bed *b, unsigned int node);
void bed_leave(struct bed *b, unsigned int node);
/* As a chain that lost the page of a slot would leave it: no shipped one does. */
void bed_drop(struct bed *b, unsigned int node, uint64_t slot);
/* Every page is in exactly one place; that many are mapped. */
void bed_check(struct bed *b, uint64_t mapped);
/* Counts all pages, for which spaces see 5 s pass. */
void bed_count_long(struct bed *b);
/* Counts all pages at once. */
int check_pages(struct manager *m, struct check_result *ret_res);

/* With nothing under way: the NIC finds the pages that the tables say, and no
 * others. */
void bed_check_translations(struct bed *b);

void bed_connect(struct bed *b, unsigned int node, uint64_t nr_slots,
		 unsigned int queues, unsigned int depth);

/* A page that only this node, slot and version have. */
void bed_fill(void *page, unsigned int node, uint64_t slot, uint32_t version);
bool bed_is(const void *page, unsigned int node, uint64_t slot,
	    uint32_t version);

#endif /* TEST_BED_AGENT_H */
