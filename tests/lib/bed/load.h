/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A random swap workload over a compute node of the bed: several requests
 * under way on every queue, never two on one slot, and every byte checked.
 */
#ifndef TEST_MNODE_LOAD_H
#define TEST_MNODE_LOAD_H

#include "agent.h"

struct load_slot {
	uint32_t version;		/* 0: not mapped */
	bool busy;
};

struct load {
	struct cnode *cnode;
	bool (*pump)(void *arg);
	void *arg;
	unsigned int node, queues;
	uint64_t nr_slots, mapped, rnd;
	struct load_slot *slots;
	uint64_t done[ODRP_WIRE_NR_CHAINS], refused;
	unsigned int under_way;
	/* chances, of 256, of a free when mapped and of a load */
	unsigned int free_chance, load_chance;
};

void load_init(struct load *l, struct bed *b, unsigned int node,
	       uint64_t nr_slots, uint64_t seed);
/* Connects the one compute node of an open bed, for a pool's pages, and begins to swap. */
struct cnode *load_open(struct load *l, struct bed *b, uint64_t pool, unsigned int queues,
			uint64_t nr_slots);
void load_close(struct load *l, struct bed *b);
/* Does what load_init() does, without a bed. */
void load_init_on(struct load *l, struct cnode *cnode,
		  bool (*pump)(void *arg), void *arg, uint64_t nr_slots,
		  uint64_t seed);
void load_fini(struct load *l);
/* Starts what can be started, up to max; takes in what has come. */
void load_submit(struct load *l, unsigned int max);
void load_poll(struct load *l);
/* Starts to free what is mapped, up to max pages. */
void load_free(struct load *l, unsigned int max);
/* That many requests more, all answered at the end. */
void load_run(struct load *l, uint64_t requests);
/* Each mapped slot is loaded and compared. */
void load_verify(struct load *l);
/* What its compute node had is there, nothing of the bed is lost, and it works on. */
void load_goes_on(struct load *l, struct bed *b);

#endif /* TEST_MNODE_LOAD_H */
