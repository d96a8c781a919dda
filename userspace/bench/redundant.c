// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Operations of several clients on one key at a time. See redundant.h. */
#include "redundant.h"

#include <errno.h>
#include <stdlib.h>

#define COUNTERS	(1u << 20)	/* many times as many as operations are under way */

int redundant_init(struct redundant *all)
{
	*all = (struct redundant) { .under_way = calloc(COUNTERS, sizeof(uint16_t)) };
	return all->under_way ? 0 : -ENOMEM;
}

void redundant_fini(struct redundant *all)
{
	free(all->under_way);
}

/* Posts one, and waits for it. */
static int hand_do(struct redundant_hand *hand, struct far_wr *wr)
{
	const struct far_nic_ops *ops = hand->nic->ops;
	struct far_wc wc;
	int got = 0, err;

	wr->flags = FAR_WR_SIGNALED;
	err = ops->post(hand->qset, 0, wr, 1);
	while (!err && !got) {
		ops->wait(hand->qset, UINT64_MAX);
		got = ops->poll(hand->qset, &wc, 1);
		if (got < 0 || (got && wc.status))
			err = got < 0 ? got : wc.status;
	}
	return err;
}

static struct far_wr hand_wr(const struct redundant_hand *hand, enum far_nic_op op,
			     uint64_t remote, uint8_t *local, uint32_t len)
{
	return (struct far_wr) {
		.op = op, .remote = remote, .local = local, .len = len, .lkey = hand->lkey,
	};
}

/* The lock is the object's first word. A trip for each step, as of the paper's first port. */
static int hand_write(struct redundant_hand *hand, uint64_t object)
{
	uint64_t *found = (uint64_t *)(hand->buf + hand->size);
	uint64_t *zero = found + 1;
	struct far_wr wr;
	int err;

	do {
		wr = hand_wr(hand, FAR_NIC_CAS, object, (uint8_t *)found, 8);
		wr.arg[0] = 0;
		wr.arg[1] = 1;
		err = hand_do(hand, &wr);
		if (err)
			return err;
		if (*found)
			__atomic_add_fetch(&hand->all->failed, 1, __ATOMIC_RELAXED);
	} while (*found && !__atomic_load_n(hand->stop, __ATOMIC_ACQUIRE));
	if (*found)
		return 0;
	*zero = 0;
	wr = hand_wr(hand, FAR_NIC_WRITE, object + 8, hand->buf, hand->size - 8);
	err = hand_do(hand, &wr);
	if (err)
		return err;
	wr = hand_wr(hand, FAR_NIC_WRITE, object, (uint8_t *)zero, 8);
	return hand_do(hand, &wr);
}

int redundant_op(struct redundant_hand *hand)
{
	uint64_t key = gen_next(&hand->gen);
	uint16_t *under_way = &hand->all->under_way[far_rng_mix(key) % COUNTERS];
	uint64_t object = key % hand->slots * hand->size;
	struct far_wr wr = hand_wr(hand, FAR_NIC_READ, object, hand->buf, hand->size);
	uint16_t others = __atomic_fetch_add(under_way, 1, __ATOMIC_RELAXED);
	int err;

	__atomic_add_fetch(&hand->all->overlaps, others, __ATOMIC_RELAXED);
	err = hand->write ? hand_write(hand, object) : hand_do(hand, &wr);
	__atomic_fetch_sub(under_way, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&hand->all->ops, 1, __ATOMIC_RELAXED);
	return err;
}

/* A pair is one too many for each of the two. */
double redundant_per_op(const struct redundant *all)
{
	return all->ops ? 2.0 * all->overlaps / all->ops : 0;
}
