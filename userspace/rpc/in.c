/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages in. The other end may write anything into the ring, at any time: so a message is
 * copied first, and then only the copy is checked and read.
 */
#include "end.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TORN_NS		UINT64_C(1000000000)	/* an incomplete message is none after that */

uint64_t rpc_sum(const struct rpc_head *head, uint64_t position)
{
	uint32_t skip = offsetof(struct rpc_head, head);
	uint32_t len = head->flags & RPC_SKIP ? sizeof(*head) : head->len;
	uint64_t seed = position * UINT64_C(0x9e3779b97f4a7c15) ^
			((uint64_t)head->seq << 32 | head->len);

	return XXH3_64bits_withSeed((const uint8_t *)head + skip, len - skip, seed);
}

static const uint64_t *word_at(const struct rpc_end *end, uint64_t position)
{
	return (const uint64_t *)((const uint8_t *)end->window.addr + RPC_CONTROL +
				  position % RPC_RING);
}

static void words_copy(uint64_t *to, const uint64_t *from, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static void words_clear(uint64_t *at, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len / 8; i++)
		__atomic_store_n(&at[i], 0, __ATOMIC_RELAXED);
}

bool rpc_in_waits(const struct rpc_end *end)
{
	return __atomic_load_n(word_at(end, end->head), __ATOMIC_ACQUIRE) != 0;
}

/* True if the first word is that of a message: its length, and the next number. */
static bool word_whole(const struct rpc_end *end, const struct rpc_head *head)
{
	uint32_t left = RPC_RING - end->head % RPC_RING;

	return head->seq == end->seq_in && head->len >= RPC_ALIGN && !(head->len % RPC_ALIGN) &&
	       head->len <= left;
}

/* Makes room for the other end: zeros first, then the head. */
static void in_advance(struct rpc_end *end, uint32_t len, uint32_t used)
{
	struct rpc_control *control = end->window.addr;

	words_clear((uint64_t *)word_at(end, end->head), used);
	__atomic_store_n(&end->head, end->head + len, __ATOMIC_RELAXED);
	__atomic_store_n(&control->head, end->head, __ATOMIC_RELEASE);
	__atomic_store_n(&end->seq_in, end->seq_in + 1 ? end->seq_in + 1 : 1, __ATOMIC_RELAXED);
	end->torn_since = 0;
}

/* An incomplete message: the rest may be on its way, but not for ever. */
static int in_torn(struct rpc_end *end)
{
	uint64_t now = end->nic->ops->now(end->nic);

	if (!end->torn_since)
		end->torn_since = now;
	return now - end->torn_since > TORN_NS ? -EPROTO : 0;
}

/* Takes a message or a skip. 1: a message; 0: nothing; RPC_SKIPPED: a skip. */
enum { RPC_SKIPPED = 2 };

static int in_step(struct rpc_end *end)
{
	uint64_t word = __atomic_load_n(word_at(end, end->head), __ATOMIC_ACQUIRE);
	struct rpc_head *head = (struct rpc_head *)end->in;
	uint32_t used;

	if (!word)
		return 0;
	memcpy(head, &word, sizeof(word));
	/* No NIC promises that a word comes whole. */
	if (!word_whole(end, head))
		return in_torn(end);
	words_copy((uint64_t *)head + 1, word_at(end, end->head) + 1, sizeof(*head) - 8);
	used = head->flags & RPC_SKIP ? sizeof(*head) : head->len;
	if (used > RPC_MESSAGE_MAX)
		return in_torn(end);
	words_copy((uint64_t *)(head + 1), word_at(end, end->head + sizeof(*head)),
		   used - sizeof(*head));
	if (rpc_sum(head, end->head) != head->sum)
		return in_torn(end);
	in_advance(end, head->len, used);
	if (head->flags & RPC_SKIP)
		return RPC_SKIPPED;
	end->in_at = sizeof(*head);
	end->in_left = head->nr;
	return 1;
}

int rpc_in_take(struct rpc_end *end)
{
	int ret = in_step(end);

	/* One is in front of a message. More, of an end that writes them all the time, are none. */
	if (ret == RPC_SKIPPED)
		ret = in_step(end);
	return ret == RPC_SKIPPED ? -EPROTO : ret;
}

const struct rpc_meta *rpc_in_next(struct rpc_end *end, const void **ret_data)
{
	const struct rpc_head *head = (const struct rpc_head *)end->in;
	const struct rpc_meta *meta = (const struct rpc_meta *)(end->in + end->in_at);
	uint32_t left = head->len - end->in_at;

	if (!end->in_left)
		return NULL;
	/* The length is checked before the message is believed any further. */
	if (left < sizeof(*meta) || meta->len > RPC_MESSAGE_MAX || rpc_item(meta->len) > left) {
		end->in_left = 0;
		rpc_end_break(end, -EPROTO);
		return NULL;
	}
	end->in_at += rpc_item(meta->len);
	end->in_left--;
	*ret_data = meta + 1;
	return meta;
}
