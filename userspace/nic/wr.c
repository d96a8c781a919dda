/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of operations: checks and statistics. */
#include "wr.h"

#include <errno.h>
#include <string.h>

static int check_one(const struct far_wr *wr, unsigned caps)
{
	int inlined = wr->flags & FAR_WR_INLINE;
	uint32_t most = inlined ? FAR_NIC_MAX_INLINE : FAR_NIC_MAX_LEN;

	if (wr->flags & ~(FAR_WR_SIGNALED | FAR_WR_INLINE | FAR_WR_FENCE))
		return -EINVAL;
	switch (wr->op) {
	case FAR_NIC_READ:
		return inlined || wr->len > most ? -EINVAL : 0;
	case FAR_NIC_WRITE:
		return wr->len > most ? -EINVAL : 0;
	case FAR_NIC_CAS:
	case FAR_NIC_FAA:
		return inlined || wr->len != 8 || wr->remote & 7 ? -EINVAL : 0;
	case FAR_NIC_WRITE_IMM:
	case FAR_NIC_SEND:
	case FAR_NIC_RECV:
		if (!(caps & FAR_NIC_CAP_MSG))
			return -EOPNOTSUPP;
		return wr->len > most || (wr->op == FAR_NIC_RECV && inlined) ?
		       -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

int far_wr_check(const struct far_wr *wr, unsigned nr, unsigned caps)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = check_one(&wr[i], caps);
	return err;
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

static uint64_t payload(const struct far_wr *wr)
{
	switch (wr->op) {
	case FAR_NIC_CAS:
		return 16 + 8;
	case FAR_NIC_FAA:
		return 8 + 8;
	case FAR_NIC_RECV:
		return 0;
	default:
		return wr->len;
	}
}

void far_wr_count(struct far_qset_stats *stats, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		stats->ops[wr[i].op]++;
		stats->payload += payload(&wr[i]);
	}
	stats->doorbells++;
}
