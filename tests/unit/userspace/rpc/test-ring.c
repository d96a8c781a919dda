/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an end of a connection does with its ring while a NIC is in the middle of something: a
 * message's first word that has come by halves, and a copy that the NIC may still read.
 */
#include "bed.h"

#include <errno.h>
#include <string.h>

#include "../../../../userspace/rpc/end.h"

#define SECOND	UINT64_C(1000000000)

/* A NIC that does nothing by itself. */
struct still_nic {
	struct far_nic nic;
	uint64_t now;
	unsigned signaled;
};

static struct still_nic still;

static uint64_t still_now(struct far_nic *nic)
{
	return still.now;
}

static int still_post(struct far_qset *qset, uint32_t idx, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		still.signaled += wr[i].flags & FAR_WR_SIGNALED ? 1 : 0;
	return 0;
}

static const struct far_nic_ops still_ops = {
	.name = "still", .caps = FAR_NIC_CAP_HEARS, .now = still_now, .post = still_post,
};

static uint64_t window[RPC_WINDOW / 8], in[RPC_MESSAGE_MAX / 8];
static uint8_t copy[RPC_RING + 128];

static void end_open(struct rpc_end *end)
{
	memset(window, 0, sizeof(window));
	still = (struct still_nic) { .nic = { .ops = &still_ops }, .now = SECOND };
	*end = (struct rpc_end) {
		.nic = &still.nic, .window = { .addr = window }, .copy = copy,
		.in = (uint8_t *)in, .seq_in = 1, .seq_out = 1,
	};
}

/* The second half of a message's first word comes later than all else, or never. */
static void half_a_word_is_waited_for(void **state)
{
	struct rpc_head head = { .len = RPC_ALIGN, .seq = 1 };
	uint8_t *ring = (uint8_t *)window + RPC_CONTROL;
	struct rpc_end end;

	end_open(&end);
	head.sum = rpc_sum(&head, 0);
	memcpy(ring, &head, sizeof(head));
	memset(ring + offsetof(struct rpc_head, seq), 0, sizeof(head.seq));
	assert_int_equal(rpc_in_take(&end), 0);
	still.now += SECOND / 2;
	assert_int_equal(rpc_in_take(&end), 0);
	memcpy(ring, &head, sizeof(head));
	assert_int_equal(rpc_in_take(&end), 1);

	memset(ring + RPC_ALIGN, 1, 4);
	assert_int_equal(rpc_in_take(&end), 0);
	still.now += 2 * SECOND;
	assert_int_equal(rpc_in_take(&end), -EPROTO);
}

static void message_post(struct rpc_end *end, uint32_t len)
{
	struct rpc_meta meta = { .len = len };

	rpc_out_begin(end, RPC_MESSAGE_MAX);
	memset(rpc_out_add(end, &meta), 7, len);
	assert_int_equal(rpc_out_post(end, NULL, 0), 0);
}

/* The other end has taken all; only completions say that the NIC has done with the copy. */
static void a_copy_is_the_nic_s_until_it_completes(void **state)
{
	static const uint32_t len[] = { 64, 1000, RPC_MESSAGE_MAX - 64 };
	const struct far_wc wc = { .op = FAR_NIC_WRITE, .len = 64 };
	struct rpc_end end;
	unsigned i, j;

	for (i = 0; i < sizeof(len) / sizeof(*len); i++) {
		end_open(&end);
		while (rpc_out_room(&end) == RPC_MESSAGE_MAX) {
			message_post(&end, len[i]);
			rpc_out_head(&end, end.tail);
			assert_true(end.tail <= RPC_RING);
		}
		assert_true(still.signaled > 1);
		assert_true(still.signaled <= RPC_DEPTH);
		for (j = still.signaled; j > 1; j--)
			rpc_end_wc(&end, &wc);
		assert_int_equal(rpc_out_room(&end), RPC_MESSAGE_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_a_word_is_waited_for),
		cmocka_unit_test(a_copy_is_the_nic_s_until_it_completes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
