/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bed of the tests of RPC. */
#include "bed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/port.h"

#define NR_THREADS	64u

static int echo(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	struct bed *bed = arg;

	__atomic_add_fetch(&bed->ran, 1, __ATOMIC_RELAXED);
	memcpy(response, request, len);
	*ret_len = len;
	return 0;
}

static int add(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	uint64_t word[2];

	if (len != sizeof(word))
		return -EINVAL;
	memcpy(word, request, len);
	word[0] += word[1];
	memcpy(response, word, 8);
	*ret_len = 8;
	return 7;
}

/* Counts the runs of the request with this number, and answers with the number. */
static int mark(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	struct bed *bed = arg;
	uint64_t nr;

	memcpy(&nr, request, sizeof(nr));
	__atomic_add_fetch(&bed->runs[nr], 1, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&bed->last[nr / bed->share], nr + 1, __ATOMIC_ACQ_REL) > nr)
		__atomic_add_fetch(&bed->disorder, 1, __ATOMIC_RELAXED);
	memcpy(response, &nr, sizeof(nr));
	*ret_len = sizeof(nr);
	return 0;
}

/* Does not answer before a signal comes. */
static int hang(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	pause();
	return 0;
}

static far_rpc_fn *const handlers[BED_HANDLERS] = { echo, add, mark, NULL, hang };

void bed_serve(struct bed *bed, unsigned threads)
{
	struct far_rpc_server_attr attr = {
		.service = "test",
		.threads = threads,
		.connections = 128,
		.handlers = handlers,
		.nr_handlers = BED_HANDLERS,
		.arg = bed,
		.active = bed->active,
		.memory = bed->no_memory ? 0 : BED_MEMORY,
		.ret_memory = (void **)&bed->memory,
	};

	assert_int_equal(rpc_serve_nic(bed->nic[1], &attr, &bed->server), 0);
}

static void specs_mem(struct bed *bed)
{
	unsigned i;

	snprintf(bed->dir, sizeof(bed->dir), "/tmp/far-rpc-XXXXXX");
	assert_non_null(mkdtemp(bed->dir));
	for (i = 0; i < 2; i++)
		snprintf(bed->spec[i], sizeof(bed->spec[i]), "mem:dir=%s", bed->dir);
	bed->node = "";
}

static void specs_soft(struct bed *bed)
{
	uint16_t port[2] = { free_port(SOCK_DGRAM), free_port(SOCK_DGRAM) };
	unsigned i;

	for (i = 0; i < 2; i++)
		snprintf(bed->spec[i], sizeof(bed->spec[i]),
			 "soft:ip=10.77.1.%u/24,udp=127.0.0.1:%u:127.0.0.1:%u", i + 1, port[i],
			 port[!i]);
	bed->node = "10.77.1.2";
}

struct far_nic *bed_nic(const struct bed *bed, unsigned side)
{
	struct far_nic *nic;
	char why[200];

	if (far_nic_open(bed->spec[side], why, sizeof(why), &nic))
		fail_msg("%s: %s", bed->spec[side], why);
	return nic;
}

void bed_open(struct bed *bed, enum bed_kind kind, unsigned threads, unsigned adversary,
	      uint64_t seed)
{
	struct far_sim_attr attr = {
		.profile = "cx6-100", .cns = 2, .mns = 1, .seed = seed,
		.max_space = UINT64_C(64) << 20, .adversary = adversary, .scale = 1,
	};
	char why[128];
	unsigned i;

	memset(bed, 0, sizeof(*bed));
	if (kind == BED_SIM) {
		bed->node = "";
		assert_int_equal(far_sim_new(&attr, why, sizeof(why), &bed->sim), 0);
	} else if (kind == BED_SOFT) {
		specs_soft(bed);
	} else {
		specs_mem(bed);
	}
	for (i = 0; i < 2; i++)
		bed->nic[i] = bed->sim ? far_sim_nic(bed->sim, i) : bed_nic(bed, i);
	bed_serve(bed, threads);
}

void bed_connect(struct bed *bed, unsigned qps, unsigned batch)
{
	struct far_rpc_attr attr = { .node = bed->node, .service = "test", .qps = qps,
				     .batch = batch };

	assert_int_equal(rpc_connect_nic(bed->nic[0], &attr, &bed->rpc), 0);
}

void bed_close(struct bed *bed)
{
	unsigned i;

	if (bed->rpc)
		far_rpc_close(bed->rpc);
	if (bed->server)
		far_rpc_stop(bed->server);
	for (i = 0; i < 2; i++)
		bed->nic[i]->ops->close(bed->nic[i]);
	if (bed->sim)
		far_sim_free(bed->sim);
	else if (bed->dir[0])
		assert_int_equal(rmdir(bed->dir), 0);
}

void bed_threads(struct bed *bed, unsigned nr, void (*run)(void *arg), void *args, size_t size)
{
	struct far_nic_thread *thread[NR_THREADS];
	unsigned i;

	assert_true(nr <= NR_THREADS);
	for (i = 0; i < nr; i++)
		assert_int_equal(bed->nic[0]->ops->thread_start(bed->nic[0], run,
								(char *)args + i * size,
								&thread[i]), 0);
	for (i = 0; i < nr; i++)
		bed->nic[0]->ops->thread_join(bed->nic[0], thread[i]);
}
