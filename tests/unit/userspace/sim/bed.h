/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cluster for tests: a space "bed" at each memory node, a queue set per user that is
 * connected to all of them, and registered memory.
 */
#ifndef TESTS_FAR_SIM_BED_H
#define TESTS_FAR_SIM_BED_H

#include <stddef.h>
#include <stdint.h>

#include "../../../../userspace/nic/sim/sim.h"

#define BED_SPACE	65536u
#define BED_MAX_MNS	4u
#define BED_LOCAL	4096u	/* bytes of a user's memory */

struct bed {
	struct far_sim *sim;
	unsigned nr_cns, nr_mns;
};

/* One that posts: a queue set of a compute node, with memory of its own. */
struct bed_user {
	struct bed *bed;
	struct far_nic *nic;
	const struct far_nic_ops *ops;
	struct far_peer peer[BED_MAX_MNS];
	struct far_qset *qset;
	uint32_t lkey;
	uint64_t local[BED_LOCAL / 8];
};

/* adversary: FAR_SIM_*; set: of far_sim_attr. */
void bed_init(struct bed *bed, unsigned cns, unsigned mns, uint64_t seed,
	      unsigned adversary, const char *set);
/* The same, with another profile than cx6-200. */
void bed_init_profile(struct bed *bed, const char *profile, unsigned cns, unsigned mns,
		      uint64_t seed, unsigned adversary, const char *set);
void bed_fini(struct bed *bed);
/* Word idx of the space at memory node mn. */
uint64_t *bed_word(struct bed *bed, unsigned mn, unsigned idx);

void bed_user_init(struct bed_user *user, struct bed *bed, unsigned cn,
		   const struct far_qset_attr *attr);
void bed_user_fini(struct bed_user *user);
/* The attributes of a queue set of one's own, for all memory nodes. */
struct far_qset_attr bed_attr(const struct bed *bed, unsigned depth);

/* An operation on words: local and remote are indices of words. */
struct far_wr bed_wr(struct bed_user *user, int op, unsigned remote, unsigned local,
		     unsigned words);
/* Posts one operation, signaled, to memory node mn, and waits; its status. */
int bed_do(struct bed_user *user, unsigned mn, struct far_wr wr);
/* Waits for one completion. */
struct far_wc bed_wait(struct bed_user *user);

#endif
