// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The vhost port, and guests and monitors that keep no rule. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "vhostbed.h"

/* A broken transmit queue: it says so, and the monitor can start anew. */
static void is_broken(struct bed *b)
{
	const void *frame;

	assert_int_equal(peek(b, &frame), -EIO);
	assert_int_equal(peek(b, &frame), -EIO);
	call_again(b);
	up(b, EVENT);
	transmit(b, 0, 60, 0);
	assert_int_equal(peek(b, &frame), 60);
	call_again(b);
	up(b, EVENT);
}

static void test_bad_guest(void **state)
{
	struct bed *b = *state;
	struct queue *q = &b->g.q[TX];
	unsigned int i;

	up(b, EVENT);
	transmit(b, 0, 60, 0);		/* outside its memory */
	q->desc[0].addr = G_GPA - 1;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* over its end */
	q->desc[0].addr = guest_gpa(&b->g, b->g.mem + b->g.size) - 60;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* wraps */
	q->desc[0].addr = ~0ull - 10;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* an index that is none */
	q->desc[G_NUM] = q->desc[0];
	q->avail->ring[0] = G_NUM;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* the same, by next */
	q->desc[0].flags = VRING_DESC_F_NEXT;
	q->desc[G_NUM] = q->desc[0];
	q->desc[G_NUM].flags = 0;
	q->desc[0].next = G_NUM;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* a loop */
	q->desc[0].flags = VRING_DESC_F_NEXT;
	q->desc[0].next = 0;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* a buffer to write, among those to read */
	q->desc[0].flags = VRING_DESC_F_WRITE;
	is_broken(b);
	transmit(b, 0, 60, 0);		/* what was not agreed on */
	q->desc[0].flags = VRING_DESC_F_INDIRECT;
	is_broken(b);
	for (i = 0; i < G_NUM; i++)	/* more than there can be */
		transmit(b, i, 60, 0);
	q->avail->idx++;
	is_broken(b);
}

static void test_bad_rx(void **state)
{
	struct bed *b = *state;

	up(b, EVENT);
	offer_rx(b, 0, 2, 512);
	b->g.q[RX].desc[1].flags = 0;	/* only to read */
	assert_int_equal(send_frame(b, 60, 0), 1);
	assert_int_equal(send_frame(b, 60, 0), -EIO);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
}

/* Is the port still there for this monitor?  If not, for the next one. */
static bool hung_up(struct bed *b)
{
	const void *frame;
	char c;
	bool gone;

	assert_true(wake(b, &frame) <= 0);
	gone = recv(b->g.fd, &c, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
	call_again(b);
	return gone;
}

/* Queues that are none, and numbers that no queue has. */
static const struct {
	uint32_t request, index, num;
} states[] = {
	{ VHOST_USER_SET_VRING_NUM, 2, 16 },
	{ VHOST_USER_SET_VRING_NUM, 0, 15 },
	{ VHOST_USER_SET_VRING_NUM, 0, 0 },
	{ VHOST_USER_SET_VRING_NUM, 0, 65536 },
	{ VHOST_USER_SET_VRING_BASE, 0, 65536 },
	{ VHOST_USER_SET_VRING_ENABLE, 0, 2 },
	{ VHOST_USER_GET_VRING_BASE, 9, 0 },
};

/* Empty, over the file's end, and each address wrapping. */
static const struct snic_guest_map maps[] = {
	{ 0, 0, 0, 0 },
	{ 0, 1 << 20, 0, 0 },
	{ ~0ull - 5, 4096, 0, 0 },
	{ 0, 4096, ~0ull - 5, 0 },
	{ 0, 4096, 0, ~0ull - 5 },
};

static void test_bad_messages(void **state)
{
	struct bed *b = *state;
	struct guest *g = &b->g;
	struct vhost_user_mem m = { .nr = 1 };
	struct vhost_vring_addr a = { .index = 0 };
	static const uint8_t much[512];
	uint64_t word = 0;
	int fds[12], i;

	/* Version, size. */
	guest_say(g, VHOST_USER_GET_FEATURES, 0, NULL, 0, NULL, 0);
	assert_true(hung_up(b));
	guest_say(g, VHOST_USER_SET_FEATURES, 1, &word, 4, NULL, 0);
	assert_true(hung_up(b));
	guest_say(g, 77, 1, much, 512, NULL, 0);
	assert_true(hung_up(b));
	/* Features that were not offered. */
	guest_say_u64(g, VHOST_USER_SET_FEATURES, BIT(VIRTIO_NET_F_CSUM));
	assert_true(hung_up(b));
	guest_say_u64(g, VHOST_USER_SET_PROTOCOL_FEATURES, 1);
	assert_true(hung_up(b));
	for (i = 0; i < (int)(sizeof(states) / sizeof(states[0])); i++) {
		guest_say_state(g, states[i].request, states[i].index,
				states[i].num);
		assert_true(hung_up(b));
	}
	guest_say_state(g, VHOST_USER_SET_VRING_NUM, 0, 16);
	a.desc_user_addr = 16;		/* no memory yet */
	guest_say(g, VHOST_USER_SET_VRING_ADDR, 1, &a, sizeof(a), NULL, 0);
	assert_true(hung_up(b));
	/* Events. */
	word = 2;
	guest_say(g, VHOST_USER_SET_VRING_CALL, 1, &word, 8, &g->q[0].call, 1);
	assert_true(hung_up(b));
	word = 0;
	guest_say(g, VHOST_USER_SET_VRING_KICK, 1, &word, 8, NULL, 0);
	assert_true(hung_up(b));
	word = VHOST_USER_VRING_NO_FD;
	guest_say(g, VHOST_USER_SET_VRING_CALL, 1, &word, 8, &g->q[0].call, 1);
	assert_true(hung_up(b));
	/* Memory: count, descriptors, the file's end, addresses that wrap. */
	guest_say(g, VHOST_USER_SET_MEM_TABLE, 1, &m, 40, NULL, 0);
	assert_true(hung_up(b));
	guest_say(g, VHOST_USER_SET_MEM_TABLE, 1, &m, 8, &g->memfd, 1);
	assert_true(hung_up(b));
	m.nr = 9;
	guest_say(g, VHOST_USER_SET_MEM_TABLE, 1, &m, 264, &g->memfd, 1);
	assert_true(hung_up(b));
	m.nr = 1;
	for (i = 0; i < (int)(sizeof(maps) / sizeof(maps[0])); i++) {
		m.maps[0] = maps[i];
		guest_say(g, VHOST_USER_SET_MEM_TABLE, 1, &m, 40, &g->memfd, 1);
		assert_true(hung_up(b));
	}
	/* More descriptors than any message has. */
	for (i = 0; i < 12; i++)
		fds[i] = g->memfd;
	guest_say(g, VHOST_USER_SET_OWNER, 1, NULL, 0, fds, 12);
	assert_true(hung_up(b));
	/* And these are none of it. */
	guest_say(g, 99, 1, NULL, 0, NULL, 0);
	assert_false(hung_up(b));
	word = 0;
	guest_say(g, VHOST_USER_SET_VRING_ERR, 1, &word, 8, &g->q[0].call, 1);
	assert_false(hung_up(b));
}

/* Memory that its monitor could truncate later: the NIC would get SIGBUS. */
static void test_memory_that_shrinks(void **state)
{
	static const unsigned int flags[] = { 0, MFD_ALLOW_SEALING };
	struct bed *b = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		close(b->g.memfd);
		b->g.memfd = memfd_create("guest", flags[i]);
		assert_true(b->g.memfd >= 0);
		assert_int_equal(ftruncate(b->g.memfd, b->g.size), 0);
		guest_say_memory(&b->g);
		assert_true(hung_up(b));
	}
	guest_say_memory(&b->g);
	assert_int_equal(ftruncate(b->g.memfd, b->g.size / 2), -1);
	assert_false(hung_up(b));
}

/* A client that asks for it is told, and not hung up on. */
static void test_told(void **state)
{
	struct vhost_vring_state s = { .index = 5, .num = 1 };
	uint32_t flags = VHOST_USER_VERSION | VHOST_USER_NEED_REPLY;
	struct vhost_user_msg msg;
	struct bed *b = *state;
	const void *frame;

	guest_say_u64(&b->g, VHOST_USER_SET_PROTOCOL_FEATURES,
		      BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK));
	guest_say(&b->g, VHOST_USER_SET_VRING_ENABLE, flags, &s, sizeof(s),
		  NULL, 0);
	assert_int_equal(wake(b, &frame), 0);
	assert_true(guest_hear(&b->g, &msg));
	assert_int_equal(msg.payload.u64, 1);
	s.index = 1;
	guest_say(&b->g, VHOST_USER_SET_VRING_ENABLE, flags, &s, sizeof(s),
		  NULL, 0);
	assert_int_equal(wake(b, &frame), 0);
	assert_true(guest_hear(&b->g, &msg));
	assert_int_equal(msg.payload.u64, 0);
	assert_false(hung_up(b));
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* A guest that writes anything into its rings while they are used. */
static void test_wild_guest(void **state)
{
	struct bed *b = *state;
	uint64_t x = 4711, n;
	const void *frame;
	unsigned int i, k;
	uint8_t *rings;

	for (i = 0; i < 2000; i++) {
		up(b, i & 1 ? EVENT : MERGE);
		offer_rx(b, 0, 4, 512);
		transmit(b, 0, 60, 0);
		for (k = 0; k < 20; k++) {
			n = next_random(&x);
			rings = (uint8_t *)b->g.q[n & 1].desc;
			if (n & 2)
				rings[n >> 8 & 0x7ff] = n >> 32;
			else if (n & 4)
				b->g.q[n & 1].desc[n >> 8 & 15].len =
					n >> 32 & 0x1fff;
			else
				b->g.q[n & 1].avail->idx++;
			peek(b, &frame);
			send_frame(b, n >> 48 & 0x3ff, i);
			b->port->ops->flush(b->port);
		}
		call_again(b);
	}
}

/* A monitor that says anything; no descriptor stays open. */
static void test_wild_monitor(void **state)
{
	struct bed *b = *state;
	unsigned int i, k, before;
	uint64_t x = 815, n;
	const void *frame;
	uint8_t any[300];

	assert_int_equal(wake(b, &frame), 0);
	before = open_files();
	for (i = 0; i < 3000; i++) {
		if (i & 1)
			guest_set_up(&b->g, EVENT, i);
		for (k = 0; k < 8; k++) {
			int fds[3] = { b->g.memfd, b->g.q[0].kick,
				       b->g.q[1].call };
			unsigned int j;

			n = next_random(&x);
			memset(any, 0, sizeof(any));
			for (j = 0; j < 40; j += 8)
				any[j] = next_random(&x) & 3;
			if (n & 1)
				any[n >> 8 & 63] = n >> 32;
			guest_say(&b->g, n >> 16 & 31, 1 | (n >> 24 & 8), any,
				  n >> 40 & 4 ? 8 << (n >> 41 & 3) :
				  n >> 44 & 255, fds, n >> 60 & 3);
			wake(b, &frame);
			send_frame(b, 60, i);
		}
		call_again(b);
	}
	assert_int_equal(open_files(), before);
}

/* Descriptors with every piece: more than belong to any message. */
static void test_fds_in_pieces(void **state)
{
	struct bed *b = *state;
	unsigned int i, before;
	const void *frame;
	int fds[5];

	assert_int_equal(wake(b, &frame), 0);
	before = open_files();
	for (i = 0; i < 5; i++)
		fds[i] = b->g.memfd;
	for (i = 0; i < 4; i++) {
		struct vhost_user_head head = { VHOST_USER_GET_FEATURES,
						VHOST_USER_VERSION, 0 };

		guest_send(&b->g, (char *)&head + 3 * i, 3, fds, 5);
		assert_int_equal(wake(b, &frame), 0);
	}
	assert_int_equal(open_files(), before);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_bad_guest),
		T(test_bad_rx),
		T(test_bad_messages),
		T(test_memory_that_shrinks),
		T(test_told),
		T(test_wild_guest),
		T(test_wild_monitor),
		T(test_fds_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
