// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The vhost port: frames in a guest's memory, notifications, coming and going. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "vhostbed.h"

/* What the guest got next, put together from its buffers: its length. */
static uint32_t received(struct bed *b, uint8_t *ret)
{
	uint32_t head, len, done = 0, i, n = 1;

	for (i = 0; i < n; i++) {
		if (!guest_used(&b->g, RX, &head, &len))
			return 0;
		memcpy(ret + done, guest_buf(&b->g, RX, head), len);
		if (!i)
			n = ret[10] | ret[11] << 8;
		done += len;
	}
	return done;
}

/* ---- frames -------------------------------------------------------------- */

static void test_nobody(void **state)
{
	struct bed *b = *state;
	const void *frame;

	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
	assert_int_equal(b->port->ops->flush(b->port), 0);
}

/* A monitor, but no driver: there is nowhere to put a frame. */
static void test_half_set_up(void **state)
{
	struct bed *b = *state;
	const void *frame;

	guest_say_u64(&b->g, VHOST_USER_SET_FEATURES, PLAIN);
	assert_int_equal(wake(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
	guest_say_memory(&b->g);
	assert_int_equal(wake(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
	guest_say_queue(&b->g, RX, 0);
	guest_say_state(&b->g, VHOST_USER_SET_VRING_ENABLE, RX, 0);
	assert_int_equal(wake(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
	guest_say_state(&b->g, VHOST_USER_SET_VRING_ENABLE, RX, 1);
	assert_int_equal(wake(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), 1);
}

static void test_transmit(void **state)
{
	static const uint32_t lens[] = { 1, 14, 60, 1514, 4084 };
	struct bed *b = *state;
	uint32_t head, len;
	const void *frame;
	unsigned int i;

	up(b, PLAIN);
	for (i = 0; i < 5; i++)
		transmit(b, i, lens[i], i);
	for (i = 0; i < 5; i++) {
		assert_int_equal(peek(b, &frame), lens[i]);
		is_frame(frame, lens[i], i);
		assert_true(guest_used(&b->g, TX, &head, &len));
		assert_int_equal(head, i);
		assert_int_equal(len, 0);
	}
	assert_int_equal(peek(b, &frame), 0);
	/* Header apart, and the frame in pieces. */
	memset(guest_buf(&b->g, TX, 7), 3, 100);
	memset(guest_buf(&b->g, TX, 5), 4, 100);
	guest_desc(&b->g, TX, 9, HEADER, VRING_DESC_F_NEXT, 7);
	guest_desc(&b->g, TX, 7, 100, VRING_DESC_F_NEXT, 5);
	guest_desc(&b->g, TX, 5, 20, 0, 0);
	guest_offer(&b->g, TX, 9);
	assert_int_equal(peek(b, &frame), 120);
	assert_int_equal(((const uint8_t *)frame)[99], 3);
	assert_int_equal(((const uint8_t *)frame)[100], 4);
	/* Nothing behind the header is no frame; the next one is. */
	transmit(b, 1, 0, 0);
	transmit(b, 2, 60, 2);
	assert_int_equal(peek(b, &frame), 60);
}

/* Round the ring, and with indices that wrap at 2^16. */
static void test_transmit_wrap(void **state)
{
	struct bed *b = *state;
	uint32_t head, len;
	const void *frame;
	unsigned int i;

	guest_set_up(&b->g, EVENT, 65530);
	assert_int_equal(wake(b, &frame), 0);
	for (i = 0; i < 3 * G_NUM; i++) {
		transmit(b, i % G_NUM, 60 + i, i);
		assert_int_equal(peek(b, &frame), 60 + i);
		is_frame(frame, 60 + i, i);
		assert_true(guest_used(&b->g, TX, &head, &len));
		assert_int_equal(head, i % G_NUM);
	}
}

static void test_receive(void **state)
{
	static uint8_t got[SNIC_FRAME_MAX];
	static const uint8_t zero[10];
	struct bed *b = *state;
	unsigned int lap, i;
	uint32_t len;

	up(b, MERGE);
	for (lap = 0; lap < 6; lap++) {
		offer_rx(b, 0, G_NUM, 512);
		for (i = 0; i < 4; i++) {
			len = 60 + i * 500;	/* 1, 2, 3 and 4 buffers */
			assert_int_equal(send_frame(b, len, i), 1);
			assert_int_equal(received(b, got), HEADER + len);
			assert_memory_equal(got, zero, 10);
			assert_int_equal(got[10], (HEADER + len + 511) / 512);
			is_frame(got + HEADER, len, i);
		}
		/* Six are left: for one frame exactly. */
		len = 6 * 512 - HEADER;
		assert_int_equal(send_frame(b, len, i), 1);
		assert_int_equal(received(b, got), HEADER + len);
	}
}

/* Without buffers frames wait, in order, and none is lost or doubled. */
static void test_no_buffers(void **state)
{
	static uint8_t got[SNIC_FRAME_MAX];
	unsigned int i, k, next = 0;
	struct bed *b = *state;
	const void *frame;

	up(b, MERGE);
	offer_rx(b, 0, 1, 512);
	for (i = 0; i < 20; i++)	/* the first takes two, of one */
		assert_int_equal(send_frame(b, 600, i), 1);
	assert_false(received(b, got));
	offer_rx(b, 1, 3, 512);
	assert_int_equal(peek(b, &frame), 0);
	for (k = 0; k < 2; k++, next++) {
		assert_int_equal(received(b, got), HEADER + 600);
		is_frame(got + HEADER, 600, next);
	}
	assert_false(received(b, got));
	while (next < 20) {
		/* The guest is told that buffers are wanted. */
		offer_rx(b, 0, 8, 512);
		assert_int_equal(b->port->ops->flush(b->port), 0);
		while (received(b, got))
			is_frame(got + HEADER, 600, next++);
	}
	assert_int_equal(next, 20);
}

static void test_too_much_kept(void **state)
{
	struct bed *b = *state;
	unsigned int i;
	int ret;

	up(b, MERGE);
	for (i = 0; (ret = send_frame(b, 60000, i)) == 1; i++)
		;
	assert_int_equal(ret, -EAGAIN);
	assert_in_range(i, 60, 80);
}

/* Without merging a frame that fits in no buffer is lost, and only that. */
static void test_no_merge(void **state)
{
	static uint8_t got[SNIC_FRAME_MAX];
	struct bed *b = *state;

	up(b, PLAIN);
	offer_rx(b, 0, 2, 512);
	assert_int_equal(send_frame(b, 600, 0), -EMSGSIZE);
	assert_int_equal(send_frame(b, 500, 1), 1);
	assert_int_equal(received(b, got), HEADER + 500);
	is_frame(got + HEADER, 500, 1);
}

/* A buffer too small for the header. */
static void test_tiny(void **state)
{
	struct bed *b = *state;

	up(b, MERGE);
	offer_rx(b, 0, G_NUM, 8);
	assert_int_equal(send_frame(b, 60, 0), -EMSGSIZE);
}

/* ---- notifications ------------------------------------------------------- */

static void test_kicks(void **state)
{
	struct bed *b = *state;
	const void *frame;

	up(b, EVENT);
	transmit(b, 0, 60, 0);
	assert_int_equal(peek(b, &frame), 60);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_not_equal(*guest_avail_event(&b->g, TX), 1);
	assert_false(b->port->ops->doze(b->port));
	assert_int_equal(*guest_avail_event(&b->g, TX), 1);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_not_equal(*guest_avail_event(&b->g, TX), 1);
	/* Came before the wish: doze says so, nobody will kick. */
	transmit(b, 1, 60, 1);
	assert_true(b->port->ops->doze(b->port));
	assert_int_equal(peek(b, &frame), 60);
	/* Buffers wake only if frames wait for them. */
	assert_int_equal(send_frame(b, 60, 0), 1);
	offer_rx(b, 0, 1, 512);
	assert_true(b->port->ops->doze(b->port));
}

static void test_kicks_by_flags(void **state)
{
	struct bed *b = *state;
	const void *frame;

	up(b, MERGE);
	assert_int_equal(b->g.q[TX].used->flags, VRING_USED_F_NO_NOTIFY);
	assert_false(b->port->ops->doze(b->port));
	assert_int_equal(b->g.q[TX].used->flags, 0);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(b->g.q[TX].used->flags, VRING_USED_F_NO_NOTIFY);
}

static void test_interrupts(void **state)
{
	struct bed *b = *state;
	unsigned int i;

	up(b, EVENT);
	offer_rx(b, 0, 8, 512);
	*guest_used_event(&b->g, RX) = 2;
	for (i = 0; i < 4; i++) {
		assert_int_equal(send_frame(b, 60, i), 1);
		assert_int_equal(b->port->ops->flush(b->port), 0);
		assert_int_equal(guest_heard_event(b->g.q[RX].call), i == 2);
	}
	/* One for several frames. */
	*guest_used_event(&b->g, RX) = 5;
	for (i = 0; i < 4; i++)
		assert_int_equal(send_frame(b, 60, i), 1);
	assert_false(guest_heard_event(b->g.q[RX].call));
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_true(guest_heard_event(b->g.q[RX].call));
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_false(guest_heard_event(b->g.q[RX].call));
}

static void test_interrupts_by_flags(void **state)
{
	struct bed *b = *state;

	up(b, MERGE);
	offer_rx(b, 0, 8, 512);
	assert_int_equal(send_frame(b, 60, 0), 1);
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_true(guest_heard_event(b->g.q[RX].call));
	b->g.q[RX].avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
	assert_int_equal(send_frame(b, 60, 0), 1);
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_false(guest_heard_event(b->g.q[RX].call));
}

/* ---- stop, start, come and go -------------------------------------------- */

static void test_stop(void **state)
{
	struct vhost_user_msg msg;
	struct bed *b = *state;
	const void *frame;

	up(b, EVENT);
	transmit(b, 0, 60, 0);
	transmit(b, 1, 61, 1);
	assert_int_equal(peek(b, &frame), 60);
	guest_say_state(&b->g, VHOST_USER_GET_VRING_BASE, TX, 0);
	assert_int_equal(wake(b, &frame), 0);
	assert_true(guest_hear(&b->g, &msg));
	assert_int_equal(msg.head.request, VHOST_USER_GET_VRING_BASE);
	assert_int_equal(msg.head.flags, VHOST_USER_VERSION | VHOST_USER_REPLY);
	assert_int_equal(msg.payload.state.num, 1);
	assert_int_equal(peek(b, &frame), 0);
	guest_say_queue(&b->g, TX, 1);
	assert_int_equal(wake(b, &frame), 61);
	is_frame(frame, 61, 1);
}

static void test_next_monitor(void **state)
{
	struct bed *b = *state;
	const void *frame;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		up(b, EVENT);
		transmit(b, 0, 60, i);
		assert_int_equal(peek(b, &frame), 60);
		guest_hang_up(&b->g);
		assert_int_equal(wake(b, &frame), 0);
		assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
		guest_call(&b->g, b->path);
		assert_int_equal(wake(b, &frame), 0);
	}
}

/* A NIC that never sleeps hears the monitor nevertheless. */
static void test_busy(void **state)
{
	struct vhost_user_msg msg;
	struct bed *b = *state;
	const void *frame;
	unsigned int i;

	up(b, EVENT);
	guest_say_u64(&b->g, VHOST_USER_GET_FEATURES, 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(peek(b, &frame), 0);
	assert_true(guest_hear(&b->g, &msg));
	assert_int_equal(msg.payload.u64 & EVENT, EVENT);
}

static void test_message_in_pieces(void **state)
{
	struct vhost_user_head head = { VHOST_USER_GET_FEATURES,
					VHOST_USER_VERSION, 0 };
	struct vhost_user_msg msg;
	struct bed *b = *state;
	const void *frame;
	unsigned int i;

	for (i = 0; i < sizeof(head); i++) {
		assert_false(guest_hear(&b->g, &msg));
		assert_int_equal(write(b->g.fd, (char *)&head + i, 1), 1);
		assert_int_equal(wake(b, &frame), 0);
	}
	assert_true(guest_hear(&b->g, &msg));
}

static void test_paths(void **state)
{
	struct snic_port *port;
	struct bed *b = *state;
	char long_path[200];

	memset(long_path, 'x', sizeof(long_path));
	long_path[199] = 0;
	assert_int_equal(snic_port_vhost_open("", &port), -EINVAL);
	assert_int_equal(snic_port_vhost_open(long_path, &port), -ENAMETOOLONG);
	assert_int_equal(snic_port_vhost_open(b->path, &port), -EADDRINUSE);
	assert_int_equal(snic_port_vhost_open(b->dir, &port), -ENOTSOCK);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_nobody),
		T(test_half_set_up),
		T(test_transmit),
		T(test_transmit_wrap),
		T(test_receive),
		T(test_no_buffers),
		T(test_too_much_kept),
		T(test_no_merge),
		T(test_tiny),
		T(test_kicks),
		T(test_kicks_by_flags),
		T(test_interrupts),
		T(test_interrupts_by_flags),
		T(test_stop),
		T(test_next_monitor),
		T(test_busy),
		T(test_message_in_pieces),
		T(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
