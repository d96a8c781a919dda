/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RPC: servers that die and come back, deadlines, and clients that write anything. */
#include "bed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/child.h"

#define SECOND	UINT64_C(1000000000)
#define SILENT	300

static struct far_rpc_thread *join(struct bed *bed)
{
	struct far_rpc_thread *thread;

	assert_int_equal(far_rpc_join(bed->rpc, &thread), 0);
	return thread;
}

static int ping(struct far_rpc_thread *thread, uint64_t timeout_ns)
{
	struct far_rpc_reply reply;
	char data[4] = "abc";

	return far_rpc_call(thread, BED_ECHO, data, sizeof(data), timeout_ns, data, sizeof(data),
			    &reply);
}

/* Connects anew: what cannot have run is safe to be sent again. */
static int ping_again(struct bed *bed, struct far_rpc_thread *thread)
{
	uint64_t until = rpc_now(bed->rpc) + 100 * SECOND;
	int err;

	while ((err = ping(thread, 10 * SECOND)) && rpc_now(bed->rpc) < until)
		bed->nic[0]->ops->wait(thread->qset, rpc_now(bed->rpc) + SECOND / 100);
	return err;
}

static void restart(enum bed_kind kind)
{
	struct far_rpc_thread *thread;
	struct bed bed;
	int err;

	bed_open(&bed, kind, 2, 0, 1);
	bed_connect(&bed, 2, 0);
	thread = join(&bed);
	assert_int_equal(ping(thread, 10 * SECOND), 0);
	far_rpc_stop(bed.server);
	err = ping(thread, 10 * SECOND);
	assert_true(err == -ECONNRESET || err == -ENOTCONN);
	assert_int_equal(ping(thread, SECOND), -ENOTCONN);
	bed_serve(&bed, 1);
	assert_int_equal(ping_again(&bed, thread), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_restart_mem(void **state)
{
	restart(BED_MEM);
}

static void test_restart_sim(void **state)
{
	restart(BED_SIM);
}

static void test_restart_soft(void **state)
{
	restart(BED_SOFT);
}

static int pause_fn(void *arg, const void *request, size_t len, void *response, size_t *ret_len)
{
	struct bed *bed = arg;

	while (!__atomic_load_n(&bed->ran, __ATOMIC_ACQUIRE))
		usleep(100);
	*ret_len = 0;
	return 0;
}

/* A request that does not come back in time; its response comes later and hurts nobody. */
static void test_deadline(void **state)
{
	static far_rpc_fn *const slow[] = { pause_fn };
	struct far_rpc_server_attr attr = { .service = "slow", .handlers = slow,
					    .nr_handlers = 1 };
	struct far_rpc_attr client = { .service = "slow" };
	struct far_rpc_server *server;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct far_rpc *rpc;
	struct bed bed;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	attr.arg = &bed;
	assert_int_equal(rpc_serve_nic(bed.nic[1], &attr, &server), 0);
	assert_int_equal(rpc_connect_nic(bed.nic[0], &client, &rpc), 0);
	assert_int_equal(far_rpc_join(rpc, &thread), 0);
	assert_int_equal(far_rpc_call(thread, 0, "", 0, SECOND / 50, NULL, 0, &reply), -ETIMEDOUT);
	assert_true(far_rpc_may_have_run(-ETIMEDOUT));
	assert_int_equal(far_rpc_send(thread, 0, "", 0, 100 * SECOND), 0);
	assert_int_equal(far_rpc_call(thread, 0, "", 0, SECOND, NULL, 0, &reply), -EBUSY);
	__atomic_store_n(&bed.ran, 1, __ATOMIC_RELEASE);
	assert_int_equal(far_rpc_recv(thread, NULL, 0, &reply), 0);
	assert_int_equal(far_rpc_call(thread, 0, "", 0, 100 * SECOND, NULL, 0, &reply), 0);
	far_rpc_leave(thread);
	far_rpc_close(rpc);
	far_rpc_stop(server);
	bed_close(&bed);
}

/*
 * As many requests that nobody waits for as a thread may have. It sends again when they were
 * answered, though nothing else looks for the responses.
 */
static void test_forgotten(void **state)
{
	unsigned nr = 0, tries = 100000;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	int err;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	while (nr < FAR_RPC_OUTSTANDING_MAX) {
		err = far_rpc_send(thread, BED_ECHO, &nr, 4, 1);
		/* credits are late */
		if (err == -ETIME)
			continue;
		assert_int_equal(err, 0);
		assert_int_equal(far_rpc_recv(thread, &nr, 4, &reply), -ETIMEDOUT);
		nr++;
	}
	while ((err = ping(thread, 100 * SECOND)) == -EAGAIN && tries--)
		usleep(100);
	assert_int_equal(err, 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* A request that is given up runs, and its response is no other's. */
static void test_cancel(void **state)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	unsigned i, back;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	assert_int_equal(far_rpc_cancel(thread), -ENOMSG);
	for (i = 0; i < 2 * FAR_RPC_OUTSTANDING_MAX; i++) {
		assert_int_equal(far_rpc_send(thread, BED_ECHO, &i, 4, 100 * SECOND), 0);
		back = i + 1;
		assert_int_equal(far_rpc_send(thread, BED_ECHO, &back, 4, 100 * SECOND), 0);
		assert_int_equal(far_rpc_cancel(thread), 0);
		assert_int_equal(far_rpc_recv(thread, &back, 4, &reply), 0);
		assert_int_equal(back, i + 1);
	}
	assert_int_equal(__atomic_load_n(&bed.ran, __ATOMIC_RELAXED), 2 * i);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* Too many, and then not too many. */
static void test_outstanding(void **state)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	unsigned i;

	bed_open(&bed, BED_SIM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	for (i = 0; i < FAR_RPC_OUTSTANDING_MAX; i++)
		assert_int_equal(far_rpc_send(thread, BED_ECHO, &i, 4, 10 * SECOND), 0);
	assert_int_equal(far_rpc_send(thread, BED_ECHO, &i, 4, 10 * SECOND), -EAGAIN);
	for (i = 0; i < FAR_RPC_OUTSTANDING_MAX; i++) {
		unsigned back = ~0u;

		assert_int_equal(far_rpc_recv(thread, &back, 4, &reply), 0);
		assert_int_equal(back, i);
	}
	assert_int_equal(far_rpc_recv(thread, &i, 4, &reply), -ENOMSG);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void serve_for_ever(const struct bed *bed)
{
	struct bed child = { .nic = { bed->nic[0], bed_nic(bed, 1) } };

	bed_serve(&child, 1);
	for (;;)
		pause();
}

/* Kills a process when this one sleeps. */
static void kill_later(pid_t pid)
{
	pid_t killer = child_fork();

	assert_true(killer >= 0);
	if (killer)
		return;
	usleep(300000);
	_exit(kill(pid, SIGKILL) != 0);
}

/*
 * A killed process' callers all end, and meet the next server. With BED_HANG the server's NIC
 * has taken the request: only a probe can find that the process has ended.
 */
static void killed(enum bed_kind kind, unsigned handler)
{
	struct far_rpc_attr attr = { .service = "test" };
	struct far_rpc_thread *thread;
	struct bed bed;
	pid_t pid;
	int err;

	bed_open(&bed, kind, 1, 0, 1);
	far_rpc_stop(bed.server);
	bed.server = NULL;
	bed.nic[1]->ops->close(bed.nic[1]);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid)
		serve_for_ever(&bed);
	attr.node = bed.node;
	while (rpc_connect_nic(bed.nic[0], &attr, &bed.rpc))
		usleep(1000);
	thread = join(&bed);
	assert_int_equal(ping(thread, 100 * SECOND), 0);
	/* Its threads go on for a moment, and could answer, until it is said to have stopped. */
	if (handler == BED_ECHO) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	}
	err = far_rpc_send(thread, handler, "a", 1, 1000 * SECOND);
	if (handler == BED_HANG)
		kill_later(pid);
	else
		assert_int_equal(kill(pid, SIGKILL), 0);
	if (!err)
		err = far_rpc_recv(thread, NULL, 0, &(struct far_rpc_reply){ 0 });
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(err, -ECONNRESET);
	/* The next server takes the place of the dead one. */
	bed.nic[1] = bed_nic(&bed, 1);
	bed_serve(&bed, 1);
	assert_int_equal(ping_again(&bed, thread), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

static void test_killed(void **state)
{
	killed(BED_MEM, BED_ECHO);
	killed(BED_MEM, BED_HANG);
}

static void test_killed_soft(void **state)
{
	killed(BED_SOFT, BED_HANG);
}

/* A child has nothing of its parent's client and server, and hurts them in no way. */
static void test_fork(void **state)
{
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;
	struct bed bed;
	int status;
	pid_t pid;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	assert_int_equal(ping(thread, 100 * SECOND), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int wrong = ping(thread, SECOND) != -ESTALE ||
			    far_rpc_recv(thread, NULL, 0, &reply) != -ESTALE ||
			    far_rpc_join(bed.rpc, &thread) != -ESTALE;

		far_rpc_close(bed.rpc);
		far_rpc_stop(bed.server);
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ping(thread, 100 * SECOND), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* The parent's other thread that was to fill a response does not run in the child. */
static void test_fork_while_a_response_comes(void **state)
{
	struct far_rpc_thread *thread;
	struct rpc_slot *slot;
	struct bed bed;
	int status;
	pid_t pid;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	slot = &thread->slot[thread->sent++ % FAR_RPC_OUTSTANDING_MAX];
	slot->state = RPC_SLOT_FILLING;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		/* Ends a child that waits for ever. */
		alarm(10);
		far_rpc_leave(thread);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	slot->state = RPC_SLOT_FILLED;
	far_rpc_leave(thread);
	bed_close(&bed);
}

/* A client that has only a connection, and writes to it what it likes. */
struct hostile {
	struct rpc_end end;
	struct far_qset *qset;
};

static void hostile_call(struct bed *bed, struct hostile *hostile)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 64, .group = FAR_NIC_OWN };
	struct far_nic *nic = bed->nic[0];
	struct far_hello hello, answer;
	struct far_end ends;

	assert_int_equal(nic->ops->qset_new(nic, &attr, &hostile->qset), 0);
	ends = (struct far_end) { hostile->qset, hostile->qset, 0, 0 };
	assert_int_equal(rpc_end_init(&hostile->end, nic, &ends, NULL), 0);
	rpc_call_fill(&hello, 1);
	assert_int_equal(nic->ops->call->call(nic, "", "test", &ends, &hostile->end.window,
					      &hello, UINT64_MAX, &answer, &hostile->end.link), 0);
}

static void hostile_end(struct hostile *hostile)
{
	struct far_nic *nic = hostile->end.nic;

	rpc_end_fini(&hostile->end);
	nic->ops->qset_free(hostile->qset);
}

static void hostile_write(struct hostile *hostile, uint64_t at, uint32_t len)
{
	struct far_wr wr = {
		.remote = at, .local = hostile->end.copy + at, .len = len,
		.lkey = hostile->end.lkey, .op = FAR_NIC_WRITE, .flags = FAR_WR_SIGNALED,
	};
	const struct far_nic_ops *ops = hostile->end.nic->ops;
	struct far_wc wc;

	if (ops->post(hostile->qset, 0, &wr, 1))
		return;
	while (!ops->poll(hostile->qset, &wc, 1))
		ops->wait(hostile->qset, UINT64_MAX);
}

/* Random words, and valid messages with some of their words changed. */
static void hostile_message(struct hostile *hostile, struct far_rng *rng)
{
	struct rpc_meta meta = { .len = far_rng_below(rng, 200), .handler = BED_ECHO };
	uint64_t *word = (uint64_t *)hostile->end.copy;
	struct rpc_head *head;
	unsigned i, nr;

	rpc_out_begin(&hostile->end, 512);
	rpc_out_add(&hostile->end, &meta);
	head = (struct rpc_head *)(hostile->end.copy + RPC_CONTROL);
	memmove(head, hostile->end.copy, 512);
	*head = (struct rpc_head) { .len = 512, .seq = 1, .nr = far_rng_below(rng, 4) };
	word = (uint64_t *)head;
	for (i = 0, nr = far_rng_below(rng, 4); i < nr; i++)
		word[far_rng_below(rng, 64)] = far_rng_next(rng) >> far_rng_below(rng, 64);
	if (far_rng_below(rng, 4))
		head->sum = head->len <= 512 && head->len >= 32 ? rpc_sum(head, 0) : 7;
	hostile_write(hostile, RPC_CONTROL, 512);
	word = (uint64_t *)hostile->end.copy;
	for (i = 0; i < 2; i++)
		word[i] = far_rng_next(rng) >> far_rng_below(rng, 64);
	hostile_write(hostile, 0, 16);
}

static void test_hostile(void **state)
{
	struct far_rpc_thread *thread;
	struct hostile hostile;
	struct far_rng rng;
	struct bed bed;
	unsigned i;

	bed_open(&bed, BED_SIM, 2, 0, 1);
	bed_connect(&bed, 1, 0);
	thread = join(&bed);
	far_rng_init(&rng, 1, 2);
	for (i = 0; i < 500; i++) {
		hostile_call(&bed, &hostile);
		hostile_message(&hostile, &rng);
		assert_int_equal(ping(thread, 100 * SECOND), 0);
		hostile_end(&hostile);
	}
	assert_int_equal(ping(thread, 100 * SECOND), 0);
	far_rpc_leave(thread);
	bed_close(&bed);
}

/*
 * No message is in front of a message but one that takes the rest of the lap: another end that
 * writes such without an end does not keep the receiver busy without an end.
 */
static void test_skips(void **state)
{
	static uint64_t window[RPC_WINDOW / 8], in[RPC_MESSAGE_MAX / 8];
	struct rpc_end end = { .window = { .addr = window }, .in = (uint8_t *)in, .seq_in = 1 };
	struct rpc_head *head = (struct rpc_head *)(window + RPC_CONTROL / 8);
	unsigned i;

	for (i = 0; i < 2; i++) {
		head[i] = (struct rpc_head) { .len = RPC_ALIGN, .seq = i + 1, .flags = RPC_SKIP };
		head[i].sum = rpc_sum(&head[i], i * RPC_ALIGN);
	}
	assert_int_equal(rpc_in_take(&end), -EPROTO);
}

/* A service is full, or of another version. */
static void test_refused(void **state)
{
	struct far_rpc_attr attr = { .service = "test", .qps = 129 };
	struct far_rpc_attr nobody = { .service = "nobody" };
	struct far_rpc *rpc;
	struct bed bed;

	bed_open(&bed, BED_SIM, 2, 0, 1);
	assert_int_equal(rpc_connect_nic(bed.nic[0], &attr, &rpc), -EUSERS);
	assert_int_equal(rpc_connect_nic(bed.nic[0], &nobody, &rpc), -ENOENT);
	bed_close(&bed);
}

/* Callers that say nothing do not keep others from the service. */
static void test_silent(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct far_rpc_thread *thread;
	int sock[SILENT], i;
	struct bed bed;

	bed_open(&bed, BED_MEM, 1, 0, 1);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/test.call", bed.dir);
	for (i = 0; i < SILENT; i++) {
		sock[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_true(sock[i] >= 0);
		assert_int_equal(connect(sock[i], (struct sockaddr *)&addr, sizeof(addr)), 0);
	}
	bed_connect(&bed, 2, 0);
	thread = join(&bed);
	assert_int_equal(ping(thread, 100 * SECOND), 0);
	far_rpc_leave(thread);
	for (i = 0; i < SILENT; i++)
		close(sock[i]);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart_sim),
		cmocka_unit_test(test_restart_mem),
		cmocka_unit_test(test_restart_soft),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_outstanding),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_skips),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_fork_while_a_response_comes),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_soft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
