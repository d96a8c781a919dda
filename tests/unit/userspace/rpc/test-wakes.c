/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RPC: an end that falls asleep while a message is on its way to it is woken, though the other
 * end never sleeps itself. The tests run the server's worker step by step.
 */
#include "bed.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND	UINT64_C(1000000000)
#define NEVER	1000000000u	/* us; spins that long */

struct hand {
	struct bed bed;
	struct far_rpc_server *server;
	struct rpc_worker *worker;
	unsigned calls;			/* to be accepted */
	struct far_rpc_thread *thread;	/* of the client */
	int err, done;			/* of its far_rpc_recv(); done is atomic */
	struct far_rpc_thread *sender;	/* another */
	int send_err, sent;		/* of its far_rpc_send(); sent is atomic */
};

static int empty(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	*ret_len = 0;
	return 0;
}

static void hand_open(struct hand *hand)
{
	struct far_qset_attr attr = { .nr_peers = 4, .depth = RPC_DEPTH, .group = FAR_NIC_OWN };
	struct far_nic *nic;

	memset(hand, 0, sizeof(*hand));
	bed_open(&hand->bed, 0, 1, 0, 1);
	nic = hand->bed.nic[1];
	hand->server = calloc(1, sizeof(*hand->server) + sizeof(hand->server->worker[0]));
	hand->server->nic = nic;
	hand->server->sched.max = RPC_ACTIVE_MAX;
	hand->server->handler[0] = empty;
	hand->worker = &hand->server->worker[0];
	hand->worker->server = hand->server;
	hand->worker->nr_max = attr.nr_peers;
	hand->worker->session = calloc(attr.nr_peers, sizeof(hand->worker->session[0]));
	assert_int_equal(nic->ops->qset_new(nic, &attr, &hand->worker->qset), 0);
	assert_int_equal(nic->ops->call->listen(hand->worker->qset, "hand",
						&hand->server->listener), 0);
}

static void hand_close(struct hand *hand)
{
	struct far_nic *nic = hand->bed.nic[1];

	nic->ops->call->unlisten(nic, hand->server->listener);
	rpc_worker_close(hand->worker);
	nic->ops->qset_free(hand->worker->qset);
	free(hand->worker->session);
	free(hand->server);
	bed_close(&hand->bed);
}

static void accept_run(void *arg)
{
	struct hand *hand = arg;
	struct far_nic *nic = hand->bed.nic[1];
	struct far_caller caller;

	while (hand->calls) {
		if (nic->ops->call->take(nic, hand->server->listener, &caller)) {
			nic->ops->wait(hand->worker->qset, UINT64_MAX);
			continue;
		}
		rpc_worker_accept(hand->worker, &caller);
		hand->calls--;
	}
}

static struct far_nic_thread *accept_start(struct hand *hand, unsigned calls)
{
	struct far_nic_thread *thread;
	struct far_nic *nic = hand->bed.nic[1];

	hand->calls = calls;
	assert_int_equal(nic->ops->thread_start(nic, accept_run, hand, &thread), 0);
	return thread;
}

static void accept_join(struct hand *hand, struct far_nic_thread *thread)
{
	hand->bed.nic[1]->ops->thread_join(hand->bed.nic[1], thread);
}

/* Takes an end's completions, and nothing from its ring. */
static void end_poll(struct rpc_end *end)
{
	struct far_wc wc;

	while (end->nic->ops->poll(end->end.recv, &wc, 1) > 0)
		rpc_end_wc(end, &wc);
}

static void end_sleep(struct rpc_end *end)
{
	assert_int_equal(rpc_out_sleep(end), 0);
	end_poll(end);
	assert_true(end->asleep);
}

/* A client that has only an end. */
static void end_call(struct hand *hand, struct rpc_end *end)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = RPC_DEPTH, .group = FAR_NIC_OWN };
	struct far_nic_thread *thread = accept_start(hand, 1);
	struct far_nic *nic = hand->bed.nic[0];
	struct far_hello hello, answer;
	struct far_qset *qset;
	struct far_end ends;

	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	ends = (struct far_end) { qset, qset, 0, 0 };
	assert_int_equal(rpc_end_init(end, nic, &ends, NULL), 0);
	rpc_call_fill(&hello, 1);
	assert_int_equal(nic->ops->call->call(nic, "", "hand", &ends, &end->window, &hello,
					      UINT64_MAX, &answer, &end->link), 0);
	assert_int_equal(rpc_end_start(end), 0);
	accept_join(hand, thread);
}

static void end_request(struct rpc_end *end)
{
	struct rpc_meta meta = { .handler = 0 };

	rpc_out_begin(end, 64);
	rpc_out_add(end, &meta);
	assert_int_equal(rpc_out_post(end, NULL, 0), 0);
	end_poll(end);
}

/* The response was posted to a client that was awake, and lands when that has fallen asleep. */
static void test_client_sleeps(void **state)
{
	struct hand hand;
	struct rpc_end end;
	struct far_qset *qset;

	hand_open(&hand);
	end_call(&hand, &end);
	end_request(&end);
	assert_int_equal(rpc_worker_serve(hand.worker), 1);
	assert_true(rpc_in_waits(&end));
	end_sleep(&end);
	/* The second poll executes what the first round has posted. */
	rpc_worker_serve(hand.worker);
	rpc_worker_serve(hand.worker);
	end_poll(&end);
	assert_false(end.asleep);
	/* A client that has taken all is left alone. */
	assert_int_equal(rpc_in_take(&end), 1);
	end_sleep(&end);
	rpc_worker_serve(hand.worker);
	rpc_worker_serve(hand.worker);
	end_poll(&end);
	assert_true(end.asleep);
	qset = end.end.recv;
	rpc_end_fini(&end);
	hand.bed.nic[0]->ops->qset_free(qset);
	hand_close(&hand);
}

/*
 * The server has told that it sleeps, has found the message nevertheless, and is about to sleep
 * when the client's signal comes, which that sends once: the server tells of its sleep anew.
 */
static void test_server_is_woken_at_the_door(void **state)
{
	const void *data;
	struct hand hand;
	struct rpc_end end, *mine;
	struct far_qset *qset;

	hand_open(&hand);
	end_call(&hand, &end);
	mine = &hand.worker->sessions->end;
	end_request(&end);
	end_sleep(mine);
	assert_int_equal(rpc_in_take(mine), 1);
	assert_non_null(rpc_in_next(mine, &data));
	assert_int_equal(rpc_out_wake(&end), 0);
	end_poll(&end);
	/* So that a worker that does sleep comes back. */
	hand.bed.nic[1]->ops->wake(hand.worker->qset);
	rpc_worker_rest(hand.worker);
	assert_int_equal(hand.worker->sleeps, 0);
	rpc_worker_rest(hand.worker);
	assert_true(mine->asleep);
	qset = end.end.recv;
	rpc_end_fini(&end);
	hand.bed.nic[0]->ops->qset_free(qset);
	hand_close(&hand);
}

static void hand_connect(struct hand *hand, unsigned qps, unsigned spin_us)
{
	struct far_rpc_attr attr = { .service = "hand", .qps = qps, .spin_us = spin_us,
				     .timeout_ns = 1000 * SECOND };
	struct far_nic_thread *thread = accept_start(hand, qps);

	assert_int_equal(rpc_connect_nic(hand->bed.nic[0], &attr, &hand->bed.rpc), 0);
	hand->bed.rpc->fixed = true;
	accept_join(hand, thread);
}

static void recv_run(void *arg)
{
	struct hand *hand = arg;
	struct far_rpc_reply reply;

	hand->err = far_rpc_recv(hand->thread, NULL, 0, &reply);
	__atomic_store_n(&hand->done, 1, __ATOMIC_RELEASE);
}

static struct far_nic_thread *recv_start(struct hand *hand)
{
	struct far_nic_thread *thread;
	struct far_nic *nic = hand->bed.nic[0];

	assert_int_equal(nic->ops->thread_start(nic, recv_run, hand, &thread), 0);
	return thread;
}

static bool is_done(const struct hand *hand)
{
	return __atomic_load_n(&hand->done, __ATOMIC_ACQUIRE);
}

/* Serves until the client has its response. */
static void recv_end(struct hand *hand, struct far_nic_thread *thread)
{
	while (!is_done(hand)) {
		rpc_worker_serve(hand->worker);
		sched_yield();
	}
	hand->bed.nic[0]->ops->thread_join(hand->bed.nic[0], thread);
	assert_int_equal(hand->err, 0);
	far_rpc_leave(hand->thread);
}

/* The request was posted to a server that was awake. The client spins for its response. */
static void test_server_sleeps(void **state)
{
	struct far_nic_thread *thread;
	struct rpc_end *end;
	struct hand hand;

	hand_open(&hand);
	hand_connect(&hand, 1, NEVER);
	end = &hand.worker->sessions->end;
	assert_int_equal(far_rpc_join(hand.bed.rpc, &hand.thread), 0);
	assert_int_equal(far_rpc_send(hand.thread, 0, "", 0, 1000 * SECOND), 0);
	end_sleep(end);
	thread = recv_start(&hand);
	while (end->asleep && !is_done(&hand)) {
		end_poll(end);
		sched_yield();
	}
	assert_false(end->asleep);
	recv_end(&hand, thread);
	hand_close(&hand);
}

/*
 * A connection that breaks ends what was sent over it, once, and then keeps nobody from sleep
 * until a thread of its own needs it.
 */
static void test_broken_sleeps(void **state)
{
	struct far_rpc_thread *first;
	struct far_rpc_reply reply;
	struct far_nic_thread *thread;
	struct far_rpc *rpc;
	struct hand hand;

	hand_open(&hand);
	hand_connect(&hand, 2, 0);
	rpc = hand.bed.rpc;
	assert_int_equal(far_rpc_join(rpc, &first), 0);
	assert_int_equal(far_rpc_join(rpc, &hand.thread), 0);
	assert_int_equal(far_rpc_send(first, 0, "", 0, 1000 * SECOND), 0);
	rpc_end_break(&rpc->qp[0].end, -EHOSTDOWN);
	assert_true(rpc_duty_try(rpc));
	assert_int_equal(rpc_deliver(rpc), 1);
	assert_int_equal(rpc_deliver(rpc), 0);
	rpc_duty_leave(rpc);
	assert_int_equal(far_rpc_recv(first, NULL, 0, &reply), -ECONNRESET);
	assert_int_equal(far_rpc_send(hand.thread, 0, "", 0, 1000 * SECOND), 0);
	thread = recv_start(&hand);
	while (!__atomic_load_n(&rpc->sleeps, __ATOMIC_RELAXED) && !is_done(&hand))
		sched_yield();
	assert_false(is_done(&hand));
	recv_end(&hand, thread);
	far_rpc_leave(first);
	hand_close(&hand);
}

/* A probe that becomes due prolongs no wait, not even one whose end has passed meanwhile. */
static void test_probe_until(void **state)
{
	const struct far_nic_ops deaf = { .caps = 0 }, hears = { .caps = FAR_NIC_CAP_HEARS };
	const struct far_nic nic = { .ops = &deaf }, other = { .ops = &hears };

	assert_true(rpc_probe_until(&nic, 10 * SECOND, 10 * SECOND - 1) == 10 * SECOND - 1);
	assert_true(rpc_probe_until(&nic, SECOND, SECOND + 1) == SECOND + 1);
	assert_true(rpc_probe_until(&nic, SECOND, UINT64_MAX) == SECOND + RPC_PROBE_NS);
	assert_true(rpc_probe_until(&other, SECOND, UINT64_MAX) == UINT64_MAX);
}

static void send_run(void *arg)
{
	struct hand *hand = arg;

	hand->send_err = far_rpc_send(hand->sender, 0, "", 0, 1000 * SECOND);
	__atomic_store_n(&hand->sent, 1, __ATOMIC_RELEASE);
}

/* Serves and accepts until the sender's request is on its way. */
static void send_end(struct hand *hand, struct far_nic_thread *thread)
{
	struct far_nic *nic = hand->bed.nic[1];
	struct far_caller caller;

	while (!__atomic_load_n(&hand->sent, __ATOMIC_ACQUIRE)) {
		if (!nic->ops->call->take(nic, hand->server->listener, &caller))
			rpc_worker_accept(hand->worker, &caller);
		rpc_worker_serve(hand->worker);
		sched_yield();
	}
	hand->bed.nic[0]->ops->thread_join(hand->bed.nic[0], thread);
	assert_int_equal(hand->send_err, 0);
	far_rpc_leave(hand->sender);
}

/* A server that does not answer a call; threads of other connections have their responses. */
static void test_call_shares(void **state)
{
	struct far_nic_thread *sender;
	unsigned i;
	struct far_rpc *rpc;
	struct hand hand;

	hand_open(&hand);
	hand_connect(&hand, 2, 0);
	rpc = hand.bed.rpc;
	assert_int_equal(far_rpc_join(rpc, &hand.sender), 0);
	assert_int_equal(far_rpc_join(rpc, &hand.thread), 0);
	assert_int_equal(far_rpc_send(hand.thread, 0, "", 0, 1000 * SECOND), 0);
	rpc_end_break(&rpc->qp[0].end, -EHOSTDOWN);
	assert_int_equal(hand.bed.nic[0]->ops->thread_start(hand.bed.nic[0], send_run, &hand,
							    &sender), 0);
	while (__atomic_load_n(&rpc->qp[0].live, __ATOMIC_ACQUIRE) || !rpc_duty_try(rpc))
		sched_yield();
	rpc_duty_leave(rpc);
	/* The caller does not have the duty again before it has an answer. */
	for (i = 0; i < 100; i++) {
		assert_true(rpc_duty_try(rpc));
		rpc_duty_leave(rpc);
		sched_yield();
	}
	recv_end(&hand, recv_start(&hand));
	assert_false(__atomic_load_n(&hand.sent, __ATOMIC_ACQUIRE));
	send_end(&hand, sender);
	hand_close(&hand);
}

/*
 * Posts up to nr signals, which take the server's RECVs: those behind these wait in the queue of
 * the client's NIC, until that is full.
 */
static void queue_fill(struct hand *hand, unsigned nr)
{
	struct rpc_end *end = &hand->bed.rpc->qp[0].end;
	struct far_wr wr = { .remote = RPC_CONTROL, .local = end->copy, .lkey = end->lkey,
			     .op = FAR_NIC_WRITE_IMM, .flags = FAR_WR_SIGNALED };
	const struct far_nic_ops *ops = end->nic->ops;
	struct far_wc wc;

	while (nr-- && !ops->post(end->end.send, end->end.idx, &wr, 1))
		ops->poll(end->end.send, &wc, 1);
}

/*
 * A server whose NIC takes nothing keeps no thread beyond its time, and neither does a leader
 * that gives up take the requests of others with it.
 */
static void test_full_queue(void **state)
{
	struct far_nic_thread *sender;
	struct far_rpc_thread *first;
	struct hand hand;

	hand_open(&hand);
	hand_connect(&hand, 1, 0);
	assert_int_equal(far_rpc_join(hand.bed.rpc, &first), 0);
	assert_int_equal(far_rpc_join(hand.bed.rpc, &hand.sender), 0);
	queue_fill(&hand, UINT_MAX);
	/* Ends a thread that waits for ever. */
	alarm(60);
	assert_int_equal(far_rpc_send(first, 0, "", 0, 0), -ETIME);
	assert_int_equal(hand.bed.nic[0]->ops->thread_start(hand.bed.nic[0], send_run, &hand,
							    &sender), 0);
	while (!rpc_queue_led(&hand.bed.rpc->qp[0].queue))
		sched_yield();
	assert_int_equal(far_rpc_send(first, 0, "", 0, SECOND / 100), -ETIME);
	assert_false(__atomic_load_n(&hand.sent, __ATOMIC_ACQUIRE));
	send_end(&hand, sender);
	assert_int_equal(far_rpc_send(first, 0, "", 0, 1000 * SECOND), 0);
	alarm(0);
	far_rpc_leave(first);
	hand_close(&hand);
}

/* Two requests for a full queue: the first leads, and has taken the other's when it gives up. */
static void lead_two(struct hand *hand, uint64_t until, uint64_t other_until)
{
	struct rpc_slot *slot, *other;
	struct far_rpc_thread *first;
	struct rpc_qp *qp;

	hand_open(hand);
	hand_connect(hand, 1, 0);
	qp = &hand->bed.rpc->qp[0];
	assert_int_equal(far_rpc_join(hand->bed.rpc, &first), 0);
	assert_int_equal(far_rpc_join(hand->bed.rpc, &hand->sender), 0);
	queue_fill(hand, UINT_MAX);
	alarm(60);
	slot = &first->slot[0];
	other = &hand->sender->slot[0];
	slot->state = other->state = RPC_SLOT_SENDING;
	slot->qp = other->qp = qp;
	slot->until = until;
	other->until = other_until;
	assert_true(rpc_queue_add(&qp->queue, &slot->node));
	assert_false(rpc_queue_add(&qp->queue, &other->node));
	rpc_lead(qp, slot, NULL);
	alarm(0);
	assert_int_equal(slot->send_err, -ETIME);
	assert_int_equal(rpc_node_state(&slot->node), RPC_DONE);
}

static void two_close(struct hand *hand)
{
	hand->bed.rpc->thread[0]->slot[0].state = RPC_SLOT_FREE;
	hand->sender->slot[0].state = RPC_SLOT_FREE;
	hand_close(hand);
}

/* The impatient one leads: the other leads then, and its request is not part of any message. */
static void test_full_queue_led(void **state)
{
	struct rpc_slot *other;
	struct hand hand;

	lead_two(&hand, 0, UINT64_MAX);
	other = &hand.sender->slot[0];
	assert_int_equal(rpc_node_state(&other->node), RPC_LEADING);
	assert_int_equal(rpc_slot_state(other), RPC_SLOT_SENDING);
	two_close(&hand);
}

/* The patient one leads: it ends the other's request in time, and goes on with its own. */
static void test_full_queue_impatient(void **state)
{
	struct rpc_slot *other;
	struct hand hand;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	lead_two(&hand, ts.tv_sec * SECOND + ts.tv_nsec + SECOND / 10, 0);
	other = &hand.sender->slot[0];
	assert_int_equal(rpc_node_state(&other->node), RPC_DONE);
	assert_int_equal(other->send_err, -ETIME);
	two_close(&hand);
}

/* The ring is full, and the READ that asks the server how far it is does not end. */
static void test_full_ring(void **state)
{
	struct far_rpc_thread *first;
	struct hand hand;
	struct rpc_end *end;

	hand_open(&hand);
	hand_connect(&hand, 1, 0);
	end = &hand.bed.rpc->qp[0].end;
	assert_int_equal(far_rpc_join(hand.bed.rpc, &first), 0);
	queue_fill(&hand, 2 * RPC_RECVS);
	end->tail += RPC_RING;
	alarm(60);
	assert_int_equal(far_rpc_send(first, 0, "", 0, SECOND / 100), -ETIME);
	assert_true(end->reading);
	assert_int_equal(far_rpc_send(first, 0, "", 0, 0), -ETIME);
	alarm(0);
	far_rpc_leave(first);
	hand_close(&hand);
}

/* A client that takes none of its responses keeps the server from sleep, and not busy. */
static void test_client_takes_nothing(void **state)
{
	struct hand hand;
	struct rpc_end end, *mine;
	struct far_qset *qset;
	unsigned i;

	hand_open(&hand);
	end_call(&hand, &end);
	mine = &hand.worker->sessions->end;
	mine->tail += RPC_RING;
	end_request(&end);
	for (i = 0; i < 1000; i++)
		rpc_worker_serve(hand.worker);
	assert_true(hand.worker->retry != UINT64_MAX);
	assert_in_range(mine->head_reads, 1, 500);
	/* It has taken them: the server finds out by itself. */
	((struct rpc_control *)end.window.addr)->head = RPC_RING;
	while (hand.worker->retry != UINT64_MAX) {
		rpc_worker_rest(hand.worker);
		rpc_worker_serve(hand.worker);
	}
	assert_true(rpc_in_waits(&end));
	qset = end.end.recv;
	rpc_end_fini(&end);
	hand.bed.nic[0]->ops->qset_free(qset);
	hand_close(&hand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client_sleeps),
		cmocka_unit_test(test_server_sleeps),
		cmocka_unit_test(test_server_is_woken_at_the_door),
		cmocka_unit_test(test_broken_sleeps),
		cmocka_unit_test(test_probe_until),
		cmocka_unit_test(test_call_shares),
		cmocka_unit_test(test_client_takes_nothing),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_full_queue),
		cmocka_unit_test(test_full_queue_led),
		cmocka_unit_test(test_full_queue_impatient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
