/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every back end knows of an operation: whether it can be, and its bytes. */
#ifndef FAR_NIC_WR_H
#define FAR_NIC_WR_H

#include <errno.h>

#include "nic.h"

/* 0, -EINVAL, -EOPNOTSUPP for messages: what post() answers of one operation. */
static inline int far_wr_check(const struct far_wr *wr)
{
	int inlined = wr->flags & FAR_WR_INLINE;

	switch (wr->op) {
	case FAR_NIC_READ:
		return inlined || wr->len > FAR_NIC_MAX_LEN ? -EINVAL : 0;
	case FAR_NIC_WRITE:
		return wr->len > (inlined ? FAR_NIC_MAX_INLINE : FAR_NIC_MAX_LEN) ?
		       -EINVAL : 0;
	case FAR_NIC_CAS:
	case FAR_NIC_FAA:
		return inlined || wr->len != 8 || wr->remote & 7 ? -EINVAL : 0;
	case FAR_NIC_WRITE_IMM:
	case FAR_NIC_SEND:
	case FAR_NIC_RECV:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/* Bytes of data that it moves, both ways: far_qset_stats.payload. */
static inline uint64_t far_wr_payload(const struct far_wr *wr)
{
	switch (wr->op) {
	case FAR_NIC_CAS:
		return 24;
	case FAR_NIC_FAA:
		return 16;
	default:
		return wr->len;
	}
}

#endif
