// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The vhost port, and guests and monitors that never stop: one call takes a part
 * of what there is, so that the NIC's thread comes to the other ports.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "vhostbed.h"

#define LONG		4096u	/* entries of a long queue */
#define PART		(LONG / 8)	/* more than a call takes */

static uint64_t user(struct guest *g, const void *p)
{
	return guest_gpa(g, p) - G_GPA + G_USER;
}

/* Moves queue i to the memory of the other one, which ends, and makes it long.  Returns
 * its descriptors; all chains that it offers begin with the first one. */
static struct vring_desc *queue_move(struct bed *b, unsigned int i)
{
	struct queue *q = &b->g.q[i];
	struct vring_desc *desc = (void *)b->g.q[!i].desc;
	struct vhost_vring_addr addr = { .index = i };
	const void *frame;

	q->avail = (void *)(desc + G_NUM);
	q->used = (void *)&q->avail->ring[LONG];
	assert_true((uint8_t *)&q->used->ring[LONG] < (uint8_t *)desc + G_QUEUE);
	addr.desc_user_addr = user(&b->g, desc);
	addr.avail_user_addr = user(&b->g, q->avail);
	addr.used_user_addr = user(&b->g, q->used);
	guest_say_state(&b->g, VHOST_USER_SET_VRING_ENABLE, !i, 0);
	guest_say(&b->g, VHOST_USER_SET_VRING_ADDR, VHOST_USER_VERSION, &addr,
		  sizeof(addr), NULL, 0);
	guest_say_state(&b->g, VHOST_USER_SET_VRING_NUM, i, LONG);
	memset(q->avail, 0, 4 + 2 * LONG);
	memset(q->used, 0, 4);
	memset(q->used->ring, 0xee, LONG * sizeof(q->used->ring[0]));
	assert_int_equal(wake(b, &frame), 0);
	desc[0] = (struct vring_desc) {
		.addr = guest_gpa(&b->g, guest_buf(&b->g, i, 0)),
		.flags = i == RX ? VRING_DESC_F_WRITE : 0,
	};
	return desc;
}

static void test_no_frames(void **state)
{
	struct bed *b = *state;
	struct queue *q = &b->g.q[TX];
	struct vring_desc *desc;
	unsigned int calls = 0;
	const void *frame;
	int len;

	up(b, PLAIN);
	desc = queue_move(b, TX);
	desc[0].len = HEADER;
	desc[1] = (struct vring_desc) { .addr = desc[0].addr, .len = HEADER + 60 };
	q->avail->ring[LONG - 1] = 1;
	q->avail->idx = LONG;
	assert_int_equal(wake(b, &frame), 0);
	assert_in_range(q->used->idx, 1, PART);
	/* The NIC does not sleep before it has the frame behind them. */
	do {
		assert_true(b->port->ops->doze(b->port));
		len = peek(b, &frame);
	} while (!len && ++calls < LONG);
	assert_int_equal(len, 60);
}

static void test_no_room(void **state)
{
	struct bed *b = *state;
	struct queue *q = &b->g.q[RX];
	struct vring_desc *desc;

	up(b, MERGE);
	desc = queue_move(b, RX);
	q->avail->idx = LONG;
	assert_int_equal(send_frame(b, 60, 0), -EMSGSIZE);
	assert_int_equal(q->used->ring[PART].id, 0xeeeeeeee);
	assert_int_equal(q->used->idx, 0);
	/* The frame is lost, and the buffers are still there for the next one. */
	desc[0].len = 512;
	assert_int_equal(send_frame(b, 60, 0), 1);
	assert_int_equal(q->used->idx, 1);
}

/* Frames that were kept for a guest without buffers, which has many at once. */
static void test_kept(void **state)
{
	struct bed *b = *state;
	struct queue *q = &b->g.q[RX];
	unsigned int i, calls = 0;
	const void *frame;

	up(b, MERGE);
	queue_move(b, RX)->len = 512;
	for (i = 0; i < 2 * PART; i++)
		assert_int_equal(send_frame(b, 60, i), 1);
	q->avail->idx = LONG;
	assert_int_equal(peek(b, &frame), 0);
	assert_in_range(q->used->idx, 1, PART);
	/* The NIC does not sleep before the guest has all of them. */
	while (b->port->ops->doze(b->port) && ++calls < LONG)
		peek(b, &frame);
	assert_int_equal(q->used->idx, 2 * PART);
}

static void test_messages(void **state)
{
	struct bed *b = *state;
	struct vhost_user_msg msg;
	unsigned int i, calls;
	const void *frame;

	assert_int_equal(wake(b, &frame), 0);
	for (i = 0; i < 128; i++)
		guest_say(&b->g, VHOST_USER_SET_OWNER, VHOST_USER_VERSION, NULL, 0,
			  NULL, 0);
	guest_say(&b->g, VHOST_USER_GET_FEATURES, VHOST_USER_VERSION, NULL, 0, NULL, 0);
	assert_int_equal(wake(b, &frame), 0);
	assert_false(guest_hear(&b->g, &msg));
	/* A NIC that polls comes to the others as well as one that sleeps. */
	for (calls = 0; calls < 4 && !guest_hear(&b->g, &msg); calls++)
		assert_int_equal(peek(b, &frame), 0);
	assert_in_range(calls, 1, 3);
}

static void event_give(struct bed *b, uint32_t request, uint64_t ring, int fd)
{
	guest_say(&b->g, request, VHOST_USER_VERSION, &ring, sizeof(ring), &fd, 1);
}

/* Events that are no eventfd: reading from them, or writing to them, would wait. */
static void test_events_that_block(void **state)
{
	struct bed *b = *state;
	int kick[2], call[2], size;
	const void *frame;
	char byte = 0;

	up(b, PLAIN);
	assert_int_equal(pipe(kick), 0);
	assert_int_equal(pipe(call), 0);
	size = fcntl(call[1], F_GETPIPE_SZ);
	event_give(b, VHOST_USER_SET_VRING_KICK, TX, kick[0]);
	event_give(b, VHOST_USER_SET_VRING_CALL, TX, call[1]);
	assert_int_equal(wake(b, &frame), 0);
	while (size--)
		assert_int_equal(write(call[1], &byte, 1), 1);
	transmit(b, 0, 60, 0);
	assert_int_equal(wake(b, &frame), 60);
	assert_int_equal(peek(b, &frame), 0);
	close(kick[0]);
	close(kick[1]);
	close(call[0]);
	close(call[1]);
}

/* A queue that becomes longer than the memory behind it does not run. */
static void test_longer_queue(void **state)
{
	struct bed *b = *state;
	const void *frame;

	up(b, EVENT);
	transmit(b, 0, 60, 0);
	assert_int_equal(peek(b, &frame), 60);
	guest_say_state(&b->g, VHOST_USER_SET_VRING_NUM, TX, SNIC_VRING_MAX);
	assert_int_equal(wake(b, &frame), 0);
	transmit(b, 1, 60, 0);
	assert_int_equal(peek(b, &frame), 0);
	/* A length that fits lets it run again. */
	guest_say_state(&b->g, VHOST_USER_SET_VRING_NUM, TX, G_NUM);
	assert_int_equal(wake(b, &frame), 60);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_no_frames),
		T(test_no_room),
		T(test_kept),
		T(test_messages),
		T(test_events_that_block),
		T(test_longer_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
