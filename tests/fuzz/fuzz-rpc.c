// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The other end of RPC writes any bytes into a window, and sends any while connecting: they
 * break that connection and no more. The input is a row of records: operation, length, bytes.
 */
#include <errno.h>
#include <string.h>

#include "../../userspace/nic/hello.h"
#include "../../userspace/rpc/end.h"
#include "driver.h"

enum op {
	OP_RAW,		/* bytes at the place of the next message */
	OP_MESSAGE,	/* a message with these bytes; length, number and sum are right */
	OP_HEAD,	/* the same, and the head is of these bytes but for its sum */
	OP_CONTROL,	/* control words */
	OP_WAIT,
	OP_HELLO,	/* bytes of a connection request or of its answer */
	NR_OPS,
};

static uint64_t now;

static uint64_t now_of(struct far_nic *nic)
{
	return now;
}

static const struct far_nic_ops ops = { .now = now_of, .caps = FAR_NIC_CAP_HEARS };
static struct far_nic nic = { .ops = &ops };
static struct rpc_end end;
static volatile uint64_t sink;

static void end_begin(void)
{
	static uint8_t window[RPC_WINDOW] __attribute__((aligned(4096)));
	uint8_t *copy = end.copy, *in = end.in;

	/* The sanitizers see a byte too many: both have their exact sizes. */
	if (!copy)
		copy = aligned_alloc(64, RPC_WINDOW);
	if (!in)
		in = aligned_alloc(64, RPC_MESSAGE_MAX);
	FUZZ_ASSERT(copy && in);
	memset(window, 0, sizeof(window));
	end = (struct rpc_end) {
		.nic = &nic, .window = { .addr = window, .size = RPC_WINDOW }, .copy = copy,
		.in = in, .seq_in = 1, .seq_out = 1, .tail = RPC_ALIGN * 100,
	};
	now = 1;
}

/* The place of the next message, and how much of the ring is behind it. */
static uint8_t *place(uint32_t *ret_left)
{
	*ret_left = RPC_RING - end.head % RPC_RING;
	return (uint8_t *)end.window.addr + RPC_CONTROL + end.head % RPC_RING;
}

static void message_write(const uint8_t *data, uint32_t len, bool whole)
{
	uint32_t left;
	uint8_t *at = place(&left);
	struct rpc_head head = { .nr = len ? data[0] % 8 : 0 };

	if (whole) {
		memcpy(&head, data, len < sizeof(head) ? len : sizeof(head));
		data += len < sizeof(head) ? len : sizeof(head);
		len -= len < sizeof(head) ? len : sizeof(head);
	} else {
		head.len = rpc_round(sizeof(head) + len, RPC_ALIGN);
		head.seq = end.seq_in;
	}
	if (sizeof(head) + len > left)
		return;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), data, len);
	/* The sum is read of as much as the head says: it must be there. */
	if (head.len >= sizeof(head) && head.len <= left) {
		((struct rpc_head *)at)->sum = rpc_sum((struct rpc_head *)at, end.head);
	}
}

static void messages_take(void)
{
	const struct rpc_meta *meta;
	const void *data;
	uint32_t i;
	int ret;

	while (!rpc_end_broken(&end) && (ret = rpc_in_take(&end))) {
		if (ret < 0) {
			rpc_end_break(&end, ret);
			return;
		}
		while ((meta = rpc_in_next(&end, &data))) {
			FUZZ_ASSERT((const uint8_t *)data + meta->len <= end.in + RPC_MESSAGE_MAX);
			for (i = 0; i < meta->len; i++)
				sink += ((const uint8_t *)data)[i];
		}
		rpc_out_head(&end, ((struct rpc_head *)end.in)->head);
	}
}

static void hello_take(const uint8_t *data, uint32_t len)
{
	struct far_hello hello = { .len = len < FAR_HELLO_MAX ? len : FAR_HELLO_MAX }, answer;
	struct odrp_far_hello request = { 0 };
	struct far_regions regions;
	uint64_t word;

	memcpy(hello.data, data, hello.len);
	if (!rpc_call_check(&hello, &word))
		FUZZ_ASSERT(word < UINT64_C(1) << 48);
	rpc_hello_check(&hello, &word, &word);
	if (!far_hello_answer(&regions, data, len, &answer))
		FUZZ_ASSERT(answer.len <= FAR_HELLO_MAX && regions.nr == 1);
	memcpy(&request, data, len < sizeof(request) ? len : sizeof(request));
	/* A memory node's check of the hello has passed. */
	request.rights %= ODRP_FAR_CALL_MAX + 1;
	far_hello_caller(&request, &regions, &hello);
	FUZZ_ASSERT(hello.len <= FAR_CALL_MAX);
}

static void record_run(uint8_t op, const uint8_t *data, uint32_t len)
{
	uint32_t left;
	uint8_t *at = place(&left);

	switch (op % NR_OPS) {
	case OP_RAW:
		memcpy(at, data, len < left ? len : left);
		break;
	case OP_MESSAGE:
	case OP_HEAD:
		message_write(data, len, op % NR_OPS == OP_HEAD);
		break;
	case OP_CONTROL:
		memcpy(end.window.addr, data,
		       len < sizeof(struct rpc_control) ? len : sizeof(struct rpc_control));
		break;
	case OP_WAIT:
		now += UINT64_C(2000000000);
		break;
	case OP_HELLO:
		hello_take(data, len);
		break;
	}
	messages_take();
	FUZZ_ASSERT(rpc_out_room(&end) <= RPC_MESSAGE_MAX);
	FUZZ_ASSERT(end.peer_head <= end.tail && !(end.peer_head % RPC_ALIGN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t at = 0, n;

	end_begin();
	while (at + 3 <= len && !rpc_end_broken(&end)) {
		n = data[at + 1] | data[at + 2] << 8;
		if (n > len - at - 3)
			n = len - at - 3;
		record_run(data[at], data + at + 3, n);
		at += 3 + n;
	}
	return 0;
}

static size_t record_put(uint8_t *buf, size_t at, uint8_t op, const void *data, uint16_t len)
{
	buf[at] = op;
	buf[at + 1] = len & 0xff;
	buf[at + 2] = len >> 8;
	memcpy(buf + at + 3, data, len);
	return at + 3 + len;
}

/* Messages of one request, of several, of a wrong length; a skip; hellos. */
size_t fuzz_seed(unsigned int n, uint8_t *buf)
{
	struct { struct rpc_meta meta; uint64_t data[2]; } item[3] = {
		{ .meta = { .len = 16 } }, { .meta = { .len = 9 } }, { .meta = { .len = 8 } },
	};
	struct rpc_head skip = { .len = RPC_RING, .seq = 1, .flags = RPC_SKIP };
	struct rpc_control control = { .told = 3 << RPC_TOLD_HEAD_SHIFT, .credit = 5 };
	struct far_hello_accept accept;
	struct far_hello hello;
	size_t at = 0;

	switch (n) {
	case 0:
		item[0].meta.len = 1;	/* its first byte is the number of items, too */
		return record_put(buf, 0, OP_MESSAGE, &item[0], sizeof(item[0]));
	case 1:
		item[0].meta.len = 3;
		at = record_put(buf, at, OP_MESSAGE, item, sizeof(item));
		return record_put(buf, at, OP_MESSAGE, item, sizeof(item));
	case 2:
		at = record_put(buf, at, OP_HEAD, &skip, sizeof(skip));
		at = record_put(buf, at, OP_CONTROL, &control, sizeof(control));
		return record_put(buf, at, OP_MESSAGE, item, sizeof(item));
	case 3:
		at = record_put(buf, at, OP_RAW, item, sizeof(item));
		return record_put(buf, at, OP_WAIT, item, 0);
	case 4:
		rpc_hello_fill(&hello, 7, 4096);
		at = record_put(buf, at, OP_HELLO, hello.data, hello.len);
		at = record_put(buf, at, OP_HELLO, &accept,
				far_hello_accept(&accept, 5, RPC_WINDOW, &hello));
		rpc_call_fill(&hello, 7);
		return record_put(buf, at, OP_HELLO, hello.data, hello.len);
	}
	return 0;
}
