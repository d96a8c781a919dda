/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many compute nodes of one agent, in virtual time, who all do the same at the same time:
 * each is a fiber, which sleeps while the world runs.  Some share a NIC and an address; each
 * has a name and a secret of its own.
 */
#ifndef TEST_CROWD_H
#define TEST_CROWD_H

#include "../../../userspace/base/fiber.h"
#include "bed/agent.h"

#define CROWD_STATIONS	64
#define CROWD_SLOTS	2048	/* of each: four slabs at most */
#define CROWD_PAGES	2	/* that each stores */

struct crowd;

/**
 * struct crowd_node - one of them
 * @until:	when it gives up what it waits for
 * @tries:	attempts to resume, until now
 * @done:	its fiber has ended
 */
struct crowd_node {
	struct crowd *crowd;
	unsigned int nr, tries;
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
	struct cnode_config cfg;
	struct cnode *cnode;
	struct far_fiber *fiber;
	uint64_t until;
	bool done;
};

struct crowd_station {
	struct host host;
	struct snic_port *ports[2];
	struct cnode_mail mail;
};

/**
 * struct crowd - all of them
 * @beats:	their heartbeats, as an actor, one after the other
 * @period_ns:	of each
 * @begun:	heartbeats that are due have been sent up to this one
 * @silent:	no heartbeats
 * @act:	what all do
 */
struct crowd {
	struct snic_actor beats;
	struct bed *bed;
	struct crowd_station station[CROWD_STATIONS];
	unsigned int nr_stations, nr;
	struct crowd_node *node;
	struct far_stacks stacks;
	struct far_context main;
	uint64_t period_ns, beat_at, begun;
	bool silent;
	void (*act)(struct crowd_node *n);
};

/* The bed is open, without nodes of its own. */
void crowd_open(struct crowd *c, struct bed *bed, unsigned int nr, unsigned int queues,
		unsigned int depth);
/* Closes the bed, too. */
void crowd_close(struct crowd *c);
/* The agent, another one after a restart, is told of their secrets. */
void crowd_tell(struct crowd *c);

/* All connect, and store pages; or resume, and find them; or lose their connections without
 * a word.  Time passes until the last one is done. */
void crowd_connect(struct crowd *c);
void crowd_resume(struct crowd *c);
void crowd_lose(struct crowd *c);
/* Time passes. */
void crowd_pass(struct crowd *c, unsigned int ms);

#endif /* TEST_CROWD_H */
