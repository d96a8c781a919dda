/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of operations: checks and statistics. */
#include "wr.h"

#include <errno.h>
#include <string.h>

#define NO_INLINE	(FAR_WR_SIGNALED | FAR_WR_FENCE)
#define ANY_FLAG	(NO_INLINE | FAR_WR_INLINE)

/* The form that an operation of a kind may have, and its payload. */
struct kind {
	uint32_t min_len, max_len;
	uint8_t flags;		/* FAR_WR_* that it may have */
	uint8_t align;		/* of remote, less 1 */
	uint16_t needs;		/* FAR_NIC_CAP_* */
	uint8_t operands;	/* payload beside len, in bytes */
};

static const struct kind kinds[FAR_NIC_NR_OPS] = {
	[FAR_NIC_READ] = { 0, FAR_NIC_MAX_LEN, NO_INLINE },
	[FAR_NIC_WRITE] = { 0, FAR_NIC_MAX_LEN, ANY_FLAG },
	[FAR_NIC_CAS] = { 8, 8, NO_INLINE, .align = 7, .operands = 16 },
	[FAR_NIC_FAA] = { 8, 8, NO_INLINE, .align = 7, .operands = 8 },
	[FAR_NIC_WRITE_IMM] = { 0, FAR_NIC_MAX_LEN, ANY_FLAG, .needs = FAR_NIC_CAP_IMM },
	[FAR_NIC_SEND] = { 0, FAR_NIC_MAX_LEN, ANY_FLAG, .needs = FAR_NIC_CAP_MSG },
	[FAR_NIC_RECV] = { 0, 0, FAR_WR_SIGNALED, .needs = FAR_NIC_CAP_IMM },
};

static int check_one(const struct far_wr *wr, unsigned caps)
{
	const struct kind *kind;

	if (wr->op >= FAR_NIC_NR_OPS)
		return -EINVAL;
	kind = &kinds[wr->op];
	if (kind->needs & ~caps)
		return -EOPNOTSUPP;
	if (wr->flags & ~kind->flags || wr->len < kind->min_len || wr->len > kind->max_len ||
	    wr->remote & kind->align ||
	    (wr->flags & FAR_WR_INLINE && wr->len > FAR_NIC_MAX_INLINE))
		return -EINVAL;
	return 0;
}

int far_wr_check(const struct far_wr *wr, unsigned nr, unsigned caps)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = check_one(&wr[i], caps);
	return err;
}

static unsigned count_of(const struct far_wr *wr, unsigned nr, enum far_nic_op op)
{
	unsigned i, found = 0;

	for (i = 0; i < nr; i++)
		found += wr[i].op == op;
	return found;
}

/* RECVs of datagrams have memory. */
static int check_datagram(const struct far_wr *wr, enum far_nic_op op, uint32_t packet)
{
	uint8_t flags = op == FAR_NIC_RECV ? FAR_WR_SIGNALED : ANY_FLAG;

	if (wr->op != op || wr->flags & ~flags || wr->len > FAR_NIC_MAX_LEN ||
	    (wr->flags & FAR_WR_INLINE && wr->len > FAR_NIC_MAX_INLINE))
		return -EINVAL;
	return op == FAR_NIC_SEND && wr->len > packet ? -EMSGSIZE : 0;
}

int far_wr_check_datagrams(const struct far_wr *wr, unsigned nr, uint32_t packet)
{
	enum far_nic_op op = nr && wr[0].op == FAR_NIC_RECV ? FAR_NIC_RECV : FAR_NIC_SEND;
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = check_datagram(&wr[i], op, packet);
	return err;
}

int far_wr_check_post(const struct far_wr_queue *queue, const struct far_wr *wr, unsigned nr,
		      unsigned caps)
{
	unsigned recvs;
	int err;

	if (!queue->exists)
		return -EINVAL;
	if (!nr)
		return FAR_WR_NOWHERE;
	if (nr > queue->depth)
		return -E2BIG;
	err = queue->packet ? far_wr_check_datagrams(wr, nr, queue->packet) :
			      far_wr_check(wr, nr, caps);
	if (err)
		return err;
	recvs = count_of(wr, nr, FAR_NIC_RECV);
	if (recvs)
		return recvs == nr ? FAR_WR_TO_RECVS : -EINVAL;
	if (!queue->connected)
		return -ENOTCONN;
	if (!queue->calls && count_of(wr, nr, FAR_NIC_WRITE_IMM))
		return -EOPNOTSUPP;
	return queue->used + nr > queue->depth ? -EAGAIN : FAR_WR_TO_QUEUE;
}

void far_wr_lose(const struct far_wr *wr, int status, uint64_t dice)
{
	uint64_t word = dice * UINT64_C(0x9e3779b97f4a7c15) | 1;
	uint32_t at, len;

	/* The local memory itself may be invalid. */
	if (!status || status == -EFAULT || status == -EINVAL)
		return;
	if (wr->op == FAR_NIC_CAS && word >> 63)
		word = wr->arg[0];
	else if (wr->op != FAR_NIC_READ && wr->op != FAR_NIC_CAS && wr->op != FAR_NIC_FAA)
		return;
	for (at = 0; at < wr->len; at += len) {
		len = wr->len - at < sizeof(word) ? wr->len - at : sizeof(word);
		memcpy((char *)wr->local + at, &word, len);
	}
}

void far_wr_count(struct far_qset_stats *stats, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		stats->ops[wr[i].op]++;
		stats->payload += wr[i].len + kinds[wr[i].op].operands;
	}
	stats->doorbells++;
}
