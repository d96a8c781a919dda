/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bed of the conformance suite: one back end, two memory nodes with a space each,
 * a queue set that is connected to both, and registered memory.
 */
#ifndef TEST_FAR_NIC_BED_H
#define TEST_FAR_NIC_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/nic/nic.h"

#define BED_NODES	2u
#define BED_SIZE	(UINT64_C(4) << 20)	/* of a space at one node */
#define BED_DEPTH	64u
#define BED_LOCAL	(UINT32_C(2) << 20)

struct far_sim;

/* The NICs of a caller and of a server, and where the first one finds the second one. */
struct bed_ends {
	struct far_nic *nic[2];
	const char *node;
};

/* How one kind of back end is made. */
struct bed_kind {
	const char *name;
	void (*open)(struct far_nic **ret_nic);
	/* Where another one has the memory nodes; else NULL. Is called first. */
	void (*open_host)(struct far_nic **ret_nic);
	const char *const *node;	/* NULL: "0" and "1" */
	/* NULL: a program can call itself. */
	void (*open_ends)(struct bed_ends *ret_ends);
};

struct bed {
	struct far_nic *nic;
	struct far_nic *host;		/* has the memory nodes, "0" and "1"; mostly nic */
	const char *const *node;	/* their names for attach() */
	struct far_host_map map[BED_NODES];
	struct far_peer peer[BED_NODES];
	struct far_qset *qset;
	uint8_t *local;			/* BED_LOCAL bytes */
	uint32_t lkey;
	struct bed_ends ends;		/* bed_ends() */
};

extern const struct bed_kind bed_kinds[];	/* the last has no name */
/* Chooses the kind for all tests. */
void bed_choose(const struct bed_kind *kind);

/* cmocka's setup and teardown; *state is the bed. */
int bed_setup(void **state);
int bed_teardown(void **state);

/* The NICs of two ends, which the first call opens unless they are the bed's. */
const struct bed_ends *bed_ends(struct bed *bed);

/* A queue set of that depth, connected to both. */
struct far_qset *bed_qset(struct bed *bed, unsigned depth);
/* Memory of a node, from offset 0. */
uint8_t *bed_memory(struct bed *bed, unsigned node);

/* Operations, signaled. local: an offset in bed->local. */
struct far_wr bed_read(struct bed *bed, uint64_t remote, uint32_t local, uint32_t len);
struct far_wr bed_write(struct bed *bed, uint64_t remote, uint32_t local, uint32_t len);
struct far_wr bed_cas(struct bed *bed, uint64_t remote, uint32_t local,
		      uint64_t compare, uint64_t swap);
struct far_wr bed_faa(struct bed *bed, uint64_t remote, uint32_t local, uint64_t add);

/* Polls until there are nr completions. */
void bed_collect(struct far_qset *qset, struct far_wc *wc, unsigned nr);
/* Asserts that there is no completion, however often it polls. */
void bed_nothing(struct far_qset *qset);
/* Posts a list and collects its completions; the status of the last. */
int bed_run(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
/* Posts one operation and returns its status. */
int bed_one(struct bed *bed, unsigned idx, struct far_wr wr);
/* A word of local memory, and one of a node. */
uint64_t *bed_word(struct bed *bed, uint32_t local);
uint64_t bed_far_word(struct bed *bed, unsigned node, uint64_t off);
/* Fills local memory with bytes that tell where they are. */
void bed_pattern(struct bed *bed, uint32_t local, uint32_t len, unsigned seed);
uint8_t bed_byte(uint32_t i, unsigned seed);

/* The suite's parts. */
int suite_ops(void);
int suite_queue(void);
int suite_fail(void);
int suite_thread(void);
int suite_call(void);
int suite_datagram(void);

#endif
