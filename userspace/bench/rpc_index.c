// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A server's ordered index behind RPC: see rpc_index.h. */
#include "rpc_index.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <far/btree.h>

#include "../base/hist.h"
#include "cluster.h"

#define NAME		"rpc"
#define ROOM		(UINT64_C(64) << 20)	/* of the space, beside the keys */
#define KEY_BYTES	64u			/* of the space, for each key */
#define KEYS_TIMEOUT_NS	UINT64_C(10000000000)	/* of rpc_index_keys() */

/* A server's thread. */
struct seat {
	struct rpc_index *index;
	struct seat *next;
	struct far_task *task;
	struct far_hist hist[RPC_INDEX_ASKS];
};

struct rpc_index {
	uint64_t keys;
	struct far_nic *sim;
	uint64_t cost[RPC_INDEX_ASKS];
	struct cluster cluster;
	struct far_btree *tree;
	pthread_key_t key;		/* the thread's seat */
	struct seat *seats;		/* atomic; a list that grows */
};

static uint64_t value_of(uint64_t nr)
{
	return far_rng_mix(nr);
}

static uint64_t count_of(uint64_t keys, uint64_t from)
{
	return keys - from < RPC_INDEX_RANGE ? keys - from : RPC_INDEX_RANGE;
}

/* ---- clients ---- */

unsigned rpc_index_draw(struct far_rng *rng, uint64_t keys, uint8_t *request)
{
	uint64_t key = htobe64(far_rng_below(rng, keys));

	memcpy(request, &key, sizeof(key));
	return far_rng_below(rng, 10) ? RPC_INDEX_GET : RPC_INDEX_SCAN;
}

static uint64_t answer_of(uint64_t keys, unsigned handler, const uint8_t *request)
{
	uint64_t key;

	memcpy(&key, request, sizeof(key));
	key = be64toh(key);
	return handler == RPC_INDEX_GET ? value_of(key) : count_of(keys, key);
}

bool rpc_index_is_right(uint64_t keys, unsigned handler, const uint8_t *request,
			const uint8_t *response, size_t len)
{
	uint64_t answer = answer_of(keys, handler, request);

	return len == sizeof(answer) && !memcmp(response, &answer, len);
}

size_t rpc_index_datagram_fill(uint8_t *request, unsigned handler)
{
	request[8] = handler;
	return RPC_INDEX_DATAGRAM;
}

int rpc_index_keys(struct far_rpc *rpc, uint64_t *ret_keys)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	int err = far_rpc_join(rpc, &thread);

	if (err)
		return err;
	err = far_rpc_call(thread, RPC_INDEX_COUNT, NULL, 0, KEYS_TIMEOUT_NS, ret_keys,
			   sizeof(*ret_keys), &reply);
	far_rpc_leave(thread);
	if (err == -ENOSYS || (!err && (reply.status || reply.len != sizeof(*ret_keys) ||
					!*ret_keys || *ret_keys > RPC_INDEX_KEYS_MAX)))
		return -EBADMSG;
	return err;
}

/* ---- threads of the server ---- */

/* The thread ends. */
static void seat_leave(void *arg)
{
	struct seat *seat = arg;

	far_leave(seat->task);
	seat->task = NULL;
}

static struct seat *seat_new(struct rpc_index *index)
{
	struct seat *seat = calloc(1, sizeof(*seat));
	unsigned i;

	if (!seat || far_enter(index->cluster.far[0], &seat->task)) {
		free(seat);
		return NULL;
	}
	seat->index = index;
	for (i = 0; i < RPC_INDEX_ASKS; i++)
		far_hist_init(&seat->hist[i]);
	seat->next = __atomic_load_n(&index->seats, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&index->seats, &seat->next, seat, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	pthread_setspecific(index->key, seat);
	return seat;
}

static struct seat *seat_of(struct rpc_index *index)
{
	struct seat *seat = pthread_getspecific(index->key);

	return seat ? seat : seat_new(index);
}

static uint64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int key_count(void *arg, const void *key, size_t key_len, const void *value,
		     size_t value_len)
{
	uint64_t *count = arg;

	++*count;
	return 0;
}

static int tree_ask(struct seat *seat, unsigned handler, const void *key, uint64_t *ret_answer)
{
	struct far_range range = { .from = key, .from_len = 8, .max = RPC_INDEX_RANGE };
	struct far_btree *tree = seat->index->tree;

	*ret_answer = 0;
	if (handler == RPC_INDEX_GET)
		return far_btree_get(seat->task, tree, key, 8, ret_answer, 8, NULL);
	return far_btree_scan(seat->task, tree, &range, key_count, ret_answer);
}

static int ask(struct rpc_index *index, unsigned handler, const void *key, uint64_t *ret_answer)
{
	uint64_t begin = clock_now();
	struct seat *seat;
	int err;

	if (index->sim) {
		index->sim->ops->spend(index->sim, index->cost[handler]);
		*ret_answer = answer_of(index->keys, handler, key);
		return 0;
	}
	seat = seat_of(index);
	if (!seat)
		return -ENOMEM;
	err = tree_ask(seat, handler, key, ret_answer);
	far_hist_add(&seat->hist[handler], clock_now() - begin);
	return err;
}

static int run(void *arg, unsigned handler, const void *request, size_t len, void *response,
	       size_t *ret_len)
{
	uint64_t answer = 0;
	int err = len == 8 ? ask(arg, handler, request, &answer) : -EINVAL;

	memcpy(response, &answer, sizeof(answer));
	*ret_len = err ? 0 : sizeof(answer);
	return err;
}

static int get(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	return run(arg, RPC_INDEX_GET, request, len, response, ret_len);
}

static int scan(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	return run(arg, RPC_INDEX_SCAN, request, len, response, ret_len);
}

static int keys_count(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	const struct rpc_index *index = arg;

	memcpy(response, &index->keys, sizeof(index->keys));
	*ret_len = sizeof(index->keys);
	return 0;
}

size_t rpc_index_datagram(const void *arg, const void *request, size_t len, void *response)
{
	unsigned handler = len == RPC_INDEX_DATAGRAM ? ((const uint8_t *)request)[8] :
						       RPC_INDEX_ASKS;
	size_t answer = 0;

	if (handler < RPC_INDEX_ASKS)
		run((void *)arg, handler, request, 8, response, &answer);
	return answer;
}

far_rpc_fn *const rpc_index_handlers[RPC_INDEX_HANDLERS] = { get, scan, keys_count };

/* ---- the tree ---- */

static int tree_fill(struct rpc_index *index)
{
	struct far_task *task;
	int err = far_enter(index->cluster.far[0], &task);
	uint64_t i, key, value;

	if (err)
		return err;
	err = far_btree_create(task, NAME, NULL, &index->tree);
	for (i = 0; i < index->keys && !err; i++) {
		key = htobe64(i);
		value = value_of(i);
		err = far_btree_insert(task, index->tree, &key, 8, &value, 8);
	}
	far_leave(task);
	return err;
}

static int tree_new(struct rpc_index *index, char *why, size_t why_len)
{
	struct cluster_conf conf = {
		.nic = "mem", .cns = 1, .mns = 1,
		.space_size = ROOM + index->keys * KEY_BYTES,
	};
	int err = cluster_open(&index->cluster, &conf, why, why_len);

	if (err)
		return err;
	err = tree_fill(index);
	if (err)
		snprintf(why, why_len, "the index: %s", far_strerror(err));
	if (err && index->tree)
		far_btree_close(index->tree);
	if (err)
		cluster_close(&index->cluster);
	return err;
}

int rpc_index_new(uint64_t keys, struct far_nic *sim, const uint64_t *cost, char *why,
		  size_t why_len, struct rpc_index **ret_index)
{
	struct rpc_index *index = calloc(1, sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	index->keys = keys;
	index->sim = sim;
	memcpy(index->cost, cost, sizeof(index->cost));
	err = -pthread_key_create(&index->key, seat_leave);
	if (!err && !sim) {
		err = tree_new(index, why, why_len);
		if (err)
			pthread_key_delete(index->key);
	}
	if (err) {
		free(index);
		return err;
	}
	*ret_index = index;
	return 0;
}

static void times_of(const struct rpc_index *index, struct rpc_index_times *ret_times)
{
	struct far_hist *all = calloc(1, sizeof(*all));
	const struct seat *seat;
	unsigned i;

	for (i = 0; i < RPC_INDEX_ASKS && all; i++) {
		far_hist_init(all);
		for (seat = index->seats; seat; seat = seat->next)
			far_hist_merge(all, &seat->hist[i]);
		ret_times->mean[i] = all->count ? (double)all->sum / all->count : 0;
		ret_times->median[i] = far_hist_permille(all, 500);
	}
	free(all);
}

void rpc_index_free(struct rpc_index *index, struct rpc_index_times *ret_times)
{
	*ret_times = (struct rpc_index_times) { 0 };
	times_of(index, ret_times);
	while (index->seats) {
		struct seat *seat = index->seats;

		index->seats = seat->next;
		free(seat);
	}
	if (index->tree) {
		far_btree_close(index->tree);
		cluster_close(&index->cluster);
	}
	pthread_key_delete(index->key);
	free(index);
}
