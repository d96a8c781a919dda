// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cluster for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bed.h"

static void space_make(struct bed *bed, unsigned mn)
{
	struct far_nic *nic = far_sim_nic(bed->sim, 0);
	struct far_host_map map;
	char node[16];

	snprintf(node, sizeof(node), "%u", mn);
	assert_int_equal(nic->ops->host->create(nic, node, "bed", BED_SPACE, 0600, &map),
			 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	nic->ops->host->unmap(nic, &map);
}

void bed_init(struct bed *bed, unsigned cns, unsigned mns, uint64_t seed,
	      unsigned adversary, const char *set)
{
	bed_init_profile(bed, "cx6-200", cns, mns, seed, adversary, set);
}

void bed_init_profile(struct bed *bed, const char *profile, unsigned cns, unsigned mns,
		      uint64_t seed, unsigned adversary, const char *set)
{
	struct far_sim_attr attr = {
		.profile = profile,
		.cns = cns,
		.mns = mns,
		.seed = seed,
		.max_space = 16 * BED_SPACE,
		.adversary = adversary,
		.scale = 1,
		.set = set,
	};
	char why[256] = "";
	unsigned i;

	bed->nr_cns = cns;
	bed->nr_mns = mns;
	if (far_sim_new(&attr, why, sizeof(why), &bed->sim))
		fail_msg("%s", why);
	for (i = 0; i < mns; i++)
		space_make(bed, i);
}

void bed_fini(struct bed *bed)
{
	far_sim_free(bed->sim);
}

uint64_t *bed_word(struct bed *bed, unsigned mn, unsigned idx)
{
	uint64_t size;

	/* the only space, so that it lies at the beginning */
	return (uint64_t *)far_sim_memory(bed->sim, mn, &size) + idx;
}

struct far_qset_attr bed_attr(const struct bed *bed, unsigned depth)
{
	return (struct far_qset_attr) {
		.nr_peers = bed->nr_mns,
		.depth = depth,
		.group = FAR_NIC_OWN,
		.doorbell = FAR_DOORBELL_THREAD,
	};
}

void bed_user_init(struct bed_user *user, struct bed *bed, unsigned cn,
		   const struct far_qset_attr *attr)
{
	char node[16];
	unsigned i;

	memset(user, 0, sizeof(*user));
	user->bed = bed;
	user->nic = far_sim_nic(bed->sim, cn);
	user->ops = user->nic->ops;
	assert_int_equal(user->ops->mr_reg(user->nic, user->local, sizeof(user->local),
					   &user->lkey), 0);
	assert_int_equal(user->ops->qset_new(user->nic, attr, &user->qset), 0);
	for (i = 0; i < bed->nr_mns; i++) {
		snprintf(node, sizeof(node), "%u", i);
		assert_int_equal(user->ops->attach(user->nic, node, "bed",
						   FAR_ATTACH_READ | FAR_ATTACH_WRITE,
						   &user->peer[i]), 0);
		assert_int_equal(user->ops->connect(user->qset, i, &user->peer[i]), 0);
	}
}

void bed_user_fini(struct bed_user *user)
{
	unsigned i;

	user->ops->qset_free(user->qset);
	for (i = 0; i < user->bed->nr_mns; i++)
		user->ops->detach(user->nic, &user->peer[i]);
	user->ops->mr_dereg(user->nic, user->lkey);
}

struct far_wr bed_wr(struct bed_user *user, int op, unsigned remote, unsigned local,
		     unsigned words)
{
	return (struct far_wr) {
		.remote = remote * 8,
		.local = &user->local[local],
		.len = words * 8,
		.lkey = user->lkey,
		.op = op,
		.flags = FAR_WR_SIGNALED,
	};
}

struct far_wc bed_wait(struct bed_user *user)
{
	struct far_wc wc;
	int nr;

	do {
		user->ops->wait(user->qset, UINT64_MAX);
		nr = user->ops->poll(user->qset, &wc, 1);
	} while (!nr);
	assert_int_equal(nr, 1);
	return wc;
}

int bed_do(struct bed_user *user, unsigned mn, struct far_wr wr)
{
	int err = user->ops->post(user->qset, mn, &wr, 1);

	return err ? err : bed_wait(user).status;
}
