// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The combining queue beside a ticket lock and a mutex around the same ring of RPC on mem:
 * threads send requests, each of which is taken at the other end by whoever holds the lock or
 * leads. So nothing but the way to share the ring differs, and the combining queue may put
 * several requests into a message. scripts/bench-rpc runs it.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../rpc/combine.h"
#include "../../rpc/end.h"

#define BATCH		16u
#define SIZE		64u
#define REPEATS		5u
#define MAX_THREADS	64u
#define PAUSES		200u	/* between two looks, before the processor is given away */
#define SERVICE		"far-bench-ring"

/* COMBINE: as libfar does; COMBINE_LONG: a leader sends several messages, for up to a batch. */
enum variant { COMBINE, COMBINE_LONG, TICKET, MUTEX, VARIANTS };

static const char *const names[VARIANTS] = { "combine", "combine_long", "ticket", "mutex" };

struct request {
	struct rpc_node node;		/* first */
	uint8_t data[SIZE];
};

/* Both ends of a connection, which whoever leads or has the lock uses. */
struct ring {
	struct far_nic *nic;
	struct far_qset *qset[2];
	struct rpc_end end[2];
	struct rpc_queue queue __attribute__((aligned(128)));
	uint32_t ticket __attribute__((aligned(128)));
	uint32_t turn;
	pthread_mutex_t mutex __attribute__((aligned(128)));
	uint64_t messages, bad;
	int err;			/* of the accepting thread */
};

struct worker {
	struct ring *ring;
	enum variant variant;
	const uint32_t *stop;		/* atomic */
	uint64_t done;			/* atomic */
	/* Another thread, which leads, uses it. */
	struct request request __attribute__((aligned(128)));
} __attribute__((aligned(128)));

/* ---- the ring ---- */

static void poll_end(struct ring *ring, unsigned side)
{
	struct far_wc wc[8];
	int nr = ring->nic->ops->poll(ring->qset[side], wc, 8), i;

	for (i = 0; i < nr; i++)
		rpc_end_wc(&ring->end[side], &wc[i]);
}

/* Sends a message and takes it at the other end. The caller leads, or has the lock. */
static void message_pass(struct ring *ring, struct request *const *request, unsigned nr)
{
	struct rpc_end *out = &ring->end[0], *in = &ring->end[1];
	struct rpc_meta meta = { .len = SIZE };
	const void *data;
	unsigned i;

	if (rpc_out_room(out) < RPC_MESSAGE_MAX)
		ring->bad++;
	rpc_out_begin(out, rpc_round(sizeof(struct rpc_head) + nr * rpc_item(SIZE), RPC_ALIGN));
	for (i = 0; i < nr; i++)
		memcpy(rpc_out_add(out, &meta), request[i]->data, SIZE);
	if (rpc_out_post(out, NULL, 0))
		ring->bad++;
	poll_end(ring, 0);
	if (rpc_in_take(in) != 1)
		ring->bad++;
	for (i = 0; rpc_in_next(in, &data); i++)
		;
	ring->bad += i != nr;
	rpc_out_head(out, in->head);
	ring->messages++;
}

static void *accept_run(void *arg)
{
	struct ring *ring = arg;
	const struct far_nic_call_ops *call = ring->nic->ops->call;
	struct far_hello answer = { 0 };
	struct far_listener *listener;
	struct far_caller caller;
	int err = call->listen(ring->qset[1], SERVICE, &listener);

	if (err) {
		ring->err = err;
		return NULL;
	}
	while ((err = call->take(ring->nic, listener, &caller)) == -EAGAIN)
		ring->nic->ops->wait(ring->qset[1], UINT64_MAX);
	if (!err)
		err = call->accept(ring->nic, &caller, &ring->end[1].end, &ring->end[1].window,
				   &answer, &ring->end[1].link);
	call->unlisten(ring->nic, listener);
	ring->err = err;
	return NULL;
}

static int ring_call(struct ring *ring)
{
	struct far_hello hello = { 0 }, answer;
	int err;

	do
		err = ring->nic->ops->call->call(ring->nic, "", SERVICE, &ring->end[0].end,
						 &ring->end[0].window, &hello, UINT64_MAX, &answer,
						 &ring->end[0].link);
	while (err == -ENOENT || err == -ECONNREFUSED);
	return err;
}

static int ring_open(struct ring *ring, char *why, size_t why_len)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = RPC_DEPTH, .group = FAR_NIC_OWN };
	pthread_t thread;
	unsigned i;
	int err = far_nic_open("mem", why, why_len, &ring->nic);

	for (i = 0; i < 2 && !err; i++) {
		err = ring->nic->ops->qset_new(ring->nic, &attr, &ring->qset[i]);
		if (!err)
			err = rpc_end_init(&ring->end[i], ring->nic,
					   &(struct far_end){ ring->qset[i], ring->qset[i] },
					   NULL);
	}
	pthread_mutex_init(&ring->mutex, NULL);
	if (!err)
		err = -pthread_create(&thread, NULL, accept_run, ring);
	if (err)
		return err;
	err = ring_call(ring);
	pthread_join(thread, NULL);
	return err ? err : ring->err;
}

static void ring_close(struct ring *ring)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		rpc_end_fini(&ring->end[i]);
		ring->nic->ops->qset_free(ring->qset[i]);
	}
	ring->nic->ops->close(ring->nic);
}

/* ---- ways to share it ---- */

/* One of many looks for what another thread does. */
static void relax(unsigned *looks)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
	if (++*looks % PAUSES == 0)
		sched_yield();
}

/* Passes a message of up to max requests of the list, with own, if not NULL. */
static unsigned combine_pass(struct ring *ring, struct rpc_node *own, struct rpc_node **list,
			     unsigned max)
{
	struct request *batch[BATCH];
	unsigned nr = 0, i;

	if (own)
		batch[nr++] = (struct request *)own;
	for (; *list && nr < max; *list = (*list)->next)
		if (rpc_node_take(*list))
			batch[nr++] = (struct request *)*list;
	if (nr)
		message_pass(ring, batch, nr);
	for (i = 0; i < nr; i++)
		__atomic_store_n(&batch[i]->node.state, RPC_DONE, __ATOMIC_RELEASE);
	return nr;
}

/* Leads for one message, or more while that are less than `most` requests. */
static void combine_lead(struct ring *ring, struct rpc_node *own, struct rpc_node *list,
			 unsigned most)
{
	unsigned nr;

	if (!list)
		list = rpc_queue_take(&ring->queue);
	nr = combine_pass(ring, own, &list, BATCH);
	while (list || !rpc_queue_leave(&ring->queue)) {
		if (!list)
			list = rpc_queue_take(&ring->queue);
		if (nr < most)
			nr += combine_pass(ring, NULL, &list, most - nr);
		else if (rpc_queue_hand(list))
			return;
		else
			list = NULL;
	}
}

static void combine_by(struct ring *ring, struct request *request, unsigned most)
{
	struct rpc_node *node = &request->node;
	unsigned looks = 0;
	uint32_t state;

	if (rpc_queue_add(&ring->queue, node)) {
		combine_lead(ring, node, NULL, most);
		return;
	}
	while ((state = rpc_node_state(node)) == RPC_WAITING || state == RPC_TAKEN)
		relax(&looks);
	if (state == RPC_LEADING)
		combine_lead(ring, node, node->rest, most);
}

static void combine_send(struct ring *ring, struct request *request)
{
	combine_by(ring, request, 1);
}

static void combine_long_send(struct ring *ring, struct request *request)
{
	combine_by(ring, request, BATCH);
}

static void ticket_send(struct ring *ring, struct request *request)
{
	uint32_t mine = __atomic_fetch_add(&ring->ticket, 1, __ATOMIC_RELAXED);
	unsigned looks = 0;

	while (__atomic_load_n(&ring->turn, __ATOMIC_ACQUIRE) != mine)
		relax(&looks);
	message_pass(ring, &request, 1);
	__atomic_store_n(&ring->turn, mine + 1, __ATOMIC_RELEASE);
}

static void mutex_send(struct ring *ring, struct request *request)
{
	pthread_mutex_lock(&ring->mutex);
	message_pass(ring, &request, 1);
	pthread_mutex_unlock(&ring->mutex);
}

static void *worker_run(void *arg)
{
	static void (*const send[VARIANTS])(struct ring *, struct request *) = {
		combine_send, combine_long_send, ticket_send, mutex_send,
	};
	struct worker *worker = arg;

	while (!__atomic_load_n(worker->stop, __ATOMIC_RELAXED)) {
		send[worker->variant](worker->ring, &worker->request);
		__atomic_store_n(&worker->done, worker->done + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* ---- the measurement ---- */

struct options {
	unsigned threads, ms;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Millions of requests a second; *ret_degree: requests per message. */
static double measure(struct ring *ring, enum variant variant, const struct options *o,
		      double *ret_degree)
{
	struct timespec nap = { o->ms / 1000, o->ms % 1000 * 1000000l };
	uint64_t messages = ring->messages, begin = now_ns(), sum = 0;
	static struct worker worker[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	uint32_t stop = 0;
	unsigned i;

	for (i = 0; i < o->threads; i++) {
		memset(&worker[i], 0, sizeof(worker[i]));
		worker[i].ring = ring;
		worker[i].variant = variant;
		worker[i].stop = &stop;
		if (pthread_create(&thread[i], NULL, worker_run, &worker[i]))
			exit(EXIT_FAILURE);
	}
	nanosleep(&nap, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < o->threads; i++) {
		pthread_join(thread[i], NULL);
		sum += worker[i].done;
	}
	*ret_degree = (double)sum / (ring->messages - messages);
	return sum * 1e3 / (now_ns() - begin);
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Runs all in turn, and prints the median of each. */
static void measure_all(struct ring *ring, const struct options *o)
{
	double rate[VARIANTS][REPEATS], degree[VARIANTS][REPEATS];
	unsigned i, j;

	for (j = 0; j < REPEATS; j++)
		for (i = 0; i < VARIANTS; i++)
			rate[i][j] = measure(ring, i, o, &degree[i][j]);
	printf("{\"threads\": %u", o->threads);
	for (i = 0; i < VARIANTS; i++) {
		qsort(rate[i], REPEATS, sizeof(rate[i][0]), double_compare);
		qsort(degree[i], REPEATS, sizeof(degree[i][0]), double_compare);
		printf(", \"%s\": %.4f, \"%s_degree\": %.3f", names[i], rate[i][REPEATS / 2],
		       names[i], degree[i][REPEATS / 2]);
	}
	printf("}\n");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;
	unsigned long n;

	if (key != 't' && key != 'm')
		return key == ARGP_KEY_ARG ? (error_t)ARGP_ERR_UNKNOWN : 0;
	n = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || !n || n > (key == 't' ? MAX_THREADS : 60000u))
		argp_error(state, "'%s': a number from 1 on expected", arg);
	*(key == 't' ? &o->threads : &o->ms) = n;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option rows[] = {
		{ "threads", 't', "N", 0, "that send (2)", 0 },
		{ "ms", 'm', "N", 0, "of each measurement (500)", 0 },
		{ 0 },
	};
	static const struct argp argp = { rows, parse, NULL,
		"The combining queue, a ticket lock and a mutex around a ring of RPC.", NULL, NULL,
		NULL };
	struct options o = { .threads = 2, .ms = 500 };
	static struct ring ring;
	char why[200] = "";
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = ring_open(&ring, why, sizeof(why));
	if (err) {
		fprintf(stderr, "far-bench-ring: %s %s\n", why, strerror(-err));
		return EXIT_FAILURE;
	}
	measure_all(&ring, &o);
	if (ring.bad)
		fprintf(stderr, "far-bench-ring: %llu messages were wrong\n",
			(unsigned long long)ring.bad);
	ring_close(&ring);
	return ring.bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
