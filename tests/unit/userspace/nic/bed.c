/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bed of the conformance suite. */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../lib/nic/fault.h"
#include "../../../lib/port.h"
#include "../../../../userspace/nic/share.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../lib/nic/trace.h"

static const struct bed_kind *chosen;
static char dir[32];
static struct far_sim *sim;
static struct far_trace_ring *ring;

static void open_mem(struct far_nic **ret_nic)
{
	char spec[64], why[128];

	snprintf(dir, sizeof(dir), "/tmp/far-nic-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(spec, sizeof(spec), "mem:dir=%s", dir);
	assert_int_equal(far_nic_open(spec, why, sizeof(why), ret_nic), 0);
}

static void open_trace(struct far_nic **ret_nic)
{
	struct far_nic *inner;

	open_mem(&inner);
	assert_int_equal(far_trace_ring_new(1024, &ring), 0);
	assert_int_equal(far_trace_new(inner, far_trace_ring_note, ring, ret_nic), 0);
}

static void open_fault(struct far_nic **ret_nic)
{
	struct far_nic *inner;

	open_mem(&inner);
	assert_int_equal(far_fault_new(inner, 1, 0, ret_nic), 0);
}

static void open_adverse(struct far_nic **ret_nic)
{
	struct far_nic *inner;

	open_mem(&inner);
	assert_int_equal(far_fault_new(inner, 1, FAR_FAULT_TEAR | FAR_FAULT_REORDER |
				       FAR_FAULT_LATE, ret_nic), 0);
}

static void open_soft(struct far_nic **ret_nic)
{
	char why[256];

	assert_int_equal(far_nic_open("soft:nodes=2", why, sizeof(why), ret_nic), 0);
}

/* A program cannot call itself over soft: its NIC has one address. */
static void open_soft_ends(struct bed_ends *ret_ends)
{
	uint16_t port[2] = { free_port(SOCK_DGRAM), free_port(SOCK_DGRAM) };
	char spec[128], why[256];
	unsigned i;

	for (i = 0; i < 2; i++) {
		snprintf(spec, sizeof(spec), "soft:ip=10.77.1.%u/24,udp=127.0.0.1:%u:127.0.0.1:%u",
			 i + 1, port[i], port[!i]);
		assert_int_equal(far_nic_open(spec, why, sizeof(why), &ret_ends->nic[i]), 0);
	}
	ret_ends->node = "10.77.1.2";
}

static void open_sim(struct far_nic **ret_nic)
{
	struct far_sim_attr attr = {
		.profile = "cx6-200",
		.cns = 1,
		.mns = BED_NODES,
		.seed = 1,
		.max_space = BED_SIZE,
		.scale = 1,
	};
	char why[128];

	assert_int_equal(far_sim_new(&attr, why, sizeof(why), &sim), 0);
	*ret_nic = far_sim_nic(sim, 0);
}

static void open_shared_mem(struct far_nic **ret_nic)
{
	open_mem(ret_nic);
	assert_int_equal(far_nic_share(*ret_nic, 1), 0);
}

static void open_shared_soft(struct far_nic **ret_nic)
{
	open_soft(ret_nic);
	assert_int_equal(far_nic_share(*ret_nic, 1), 0);
}

static void open_shared_sim(struct far_nic **ret_nic)
{
	open_sim(ret_nic);
	assert_int_equal(far_nic_share(*ret_nic, 2), 0);
}

static void open_sim_adverse(struct far_nic **ret_nic)
{
	struct far_sim_attr attr = {
		.profile = "cx6-200",
		.cns = 1,
		.mns = BED_NODES,
		.seed = 2,
		.max_space = BED_SIZE,
		.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
		.scale = 1,
	};
	char why[128];

	assert_int_equal(far_sim_new(&attr, why, sizeof(why), &sim), 0);
	*ret_nic = far_sim_nic(sim, 0);
}

/*
 * verbs: the memory nodes are those of soft, at the other end of a wire. Who runs this
 * has made that, and says how to get there (tests/vm/far-hash.sh).
 */
static void open_env(const char *name, struct far_nic **ret_nic)
{
	char why[256];

	if (!getenv(name) || far_nic_open(getenv(name), why, sizeof(why), ret_nic))
		fail_msg("%s: %s", name, getenv(name) ? why : "is not set");
}

static void open_verbs(struct far_nic **ret_nic)
{
	open_env("FAR_TEST_NIC", ret_nic);
}

static void open_verbs_host(struct far_nic **ret_nic)
{
	open_env("FAR_TEST_HOST", ret_nic);
}

/* Calls of itself, over the same device. */
static void open_verbs_ends(struct bed_ends *ret_ends)
{
	open_verbs(&ret_ends->nic[0]);
	open_verbs(&ret_ends->nic[1]);
	ret_ends->node = "10.78.0.1";
}

static const char *const verbs_nodes[BED_NODES] = { "10.78.0.10", "10.78.0.11:7490" };

const struct bed_kind bed_kinds[] = {
	{ "mem", open_mem },
	{ "trace", open_trace },
	{ "fault", open_fault },
	{ "fault-adverse", open_adverse },
	{ "soft", open_soft, .open_ends = open_soft_ends },
	{ "sim", open_sim },
	{ "shared-mem", open_shared_mem },
	{ "shared-soft", open_shared_soft },
	{ "shared-sim", open_shared_sim },
	{ "sim-adverse", open_sim_adverse },
	{ "verbs", open_verbs, open_verbs_host, verbs_nodes, open_verbs_ends },
	{ NULL, NULL },
};

void bed_choose(const struct bed_kind *kind)
{
	chosen = kind;
}

static const char *const nodes[BED_NODES] = { "0", "1" };

int bed_setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	unsigned i;

	if (chosen->open_host)
		chosen->open_host(&bed->host);
	chosen->open(&bed->nic);
	if (!bed->host)
		bed->host = bed->nic;
	bed->node = chosen->node ? chosen->node : nodes;
	for (i = 0; i < BED_NODES; i++) {
		assert_int_equal(bed->host->ops->host->create(bed->host, nodes[i], "s",
							      BED_SIZE, 0600,
							      &bed->map[i]), 0);
		assert_int_equal(bed->host->ops->host->publish(bed->host, &bed->map[i]),
				 0);
		assert_int_equal(bed->nic->ops->attach(bed->nic, bed->node[i], "s",
						       FAR_ATTACH_READ | FAR_ATTACH_WRITE,
						       &bed->peer[i]), 0);
	}
	bed->local = aligned_alloc(4096, BED_LOCAL);
	memset(bed->local, 0, BED_LOCAL);
	assert_int_equal(bed->nic->ops->mr_reg(bed->nic, bed->local, BED_LOCAL,
					       &bed->lkey), 0);
	bed->qset = bed_qset(bed, BED_DEPTH);
	*state = bed;
	return 0;
}

int bed_teardown(void **state)
{
	struct bed *bed = *state;
	unsigned i;

	bed->nic->ops->qset_free(bed->qset);
	bed->nic->ops->mr_dereg(bed->nic, bed->lkey);
	for (i = 0; i < BED_NODES; i++) {
		bed->nic->ops->detach(bed->nic, &bed->peer[i]);
		bed->host->ops->host->unmap(bed->host, &bed->map[i]);
		bed->host->ops->host->remove(bed->host, nodes[i], "s");
	}
	for (i = 0; bed->ends.node && chosen->open_ends && i < 2; i++)
		bed->ends.nic[i]->ops->close(bed->ends.nic[i]);
	bed->nic->ops->close(bed->nic);
	if (bed->host != bed->nic)
		bed->host->ops->close(bed->host);
	far_trace_ring_free(ring);
	ring = NULL;
	if (sim)
		far_sim_free(sim);
	sim = NULL;
	if (dir[0])
		assert_int_equal(rmdir(dir), 0);
	dir[0] = 0;
	free(bed->local);
	free(bed);
	return 0;
}

const struct bed_ends *bed_ends(struct bed *bed)
{
	if (!bed->ends.node && chosen->open_ends)
		chosen->open_ends(&bed->ends);
	else if (!bed->ends.node)
		bed->ends = (struct bed_ends) { { bed->nic, bed->nic }, "" };
	return &bed->ends;
}

struct far_qset *bed_qset(struct bed *bed, unsigned depth)
{
	struct far_qset_attr attr = {
		.nr_peers = BED_NODES,
		.depth = depth,
		.group = FAR_NIC_OWN,
	};
	struct far_qset *qset;
	unsigned i;

	assert_int_equal(bed->nic->ops->qset_new(bed->nic, &attr, &qset), 0);
	for (i = 0; i < BED_NODES; i++)
		assert_int_equal(bed->nic->ops->connect(qset, i, &bed->peer[i]), 0);
	return qset;
}

uint8_t *bed_memory(struct bed *bed, unsigned node)
{
	return bed->map[node].addr;
}

static struct far_wr wr_of(struct bed *bed, unsigned op, uint64_t remote,
			   uint32_t local, uint32_t len)
{
	return (struct far_wr) {
		.id = remote,
		.remote = remote,
		.local = bed->local + local,
		.len = len,
		.lkey = bed->lkey,
		.op = op,
		.flags = FAR_WR_SIGNALED,
	};
}

struct far_wr bed_read(struct bed *bed, uint64_t remote, uint32_t local, uint32_t len)
{
	return wr_of(bed, FAR_NIC_READ, remote, local, len);
}

struct far_wr bed_write(struct bed *bed, uint64_t remote, uint32_t local, uint32_t len)
{
	return wr_of(bed, FAR_NIC_WRITE, remote, local, len);
}

struct far_wr bed_cas(struct bed *bed, uint64_t remote, uint32_t local,
		      uint64_t compare, uint64_t swap)
{
	struct far_wr wr = wr_of(bed, FAR_NIC_CAS, remote, local, 8);

	wr.arg[0] = compare;
	wr.arg[1] = swap;
	return wr;
}

struct far_wr bed_faa(struct bed *bed, uint64_t remote, uint32_t local, uint64_t add)
{
	struct far_wr wr = wr_of(bed, FAR_NIC_FAA, remote, local, 8);

	wr.arg[0] = add;
	return wr;
}

void bed_collect(struct far_qset *qset, struct far_wc *wc, unsigned nr)
{
	const struct far_nic_ops *ops = qset->nic->ops;
	unsigned have = 0;
	int got;

	while (have < nr) {
		got = ops->poll(qset, wc + have, nr - have);
		assert_true(got >= 0);
		have += got;
		if (!got)
			assert_int_equal(ops->wait(qset, UINT64_MAX), 0);
	}
}

void bed_nothing(struct far_qset *qset)
{
	const struct far_nic_ops *ops = qset->nic->ops;
	struct far_wc wc;
	unsigned i;

	for (i = 0; i < 256; i++) {
		assert_int_equal(ops->poll(qset, &wc, 1), 0);
		ops->spend(qset->nic, 1000);
	}
}

int bed_run(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct far_wc wc[BED_DEPTH];

	assert_int_equal(qset->nic->ops->post(qset, idx, wr, nr), 0);
	bed_collect(qset, wc, nr);
	return wc[nr - 1].status;
}

int bed_one(struct bed *bed, unsigned idx, struct far_wr wr)
{
	return bed_run(bed->qset, idx, &wr, 1);
}

uint64_t *bed_word(struct bed *bed, uint32_t local)
{
	return (uint64_t *)(bed->local + local);
}

uint64_t bed_far_word(struct bed *bed, unsigned node, uint64_t off)
{
	return __atomic_load_n((uint64_t *)(bed_memory(bed, node) + off),
			       __ATOMIC_RELAXED);
}

uint8_t bed_byte(uint32_t i, unsigned seed)
{
	return i * 31 + (i >> 8) * 7 + seed;
}

void bed_pattern(struct bed *bed, uint32_t local, uint32_t len, unsigned seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		bed->local[local + i] = bed_byte(i, seed);
}
