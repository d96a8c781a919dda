/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of operations: what can be, and what they count for. */
#include "wr.h"

#include <errno.h>

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
