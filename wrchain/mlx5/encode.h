/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The encoder: work requests to WQE bytes, in the caller's buffer.  No device
 * needed.
 */
#ifndef WRC_ENCODE_H
#define WRC_ENCODE_H

#include "../core/wr.h"

/*
 * Writes a WQE of ret_wqe's len bytes at most and returns its length, a
 * multiple of 16.  All of the WQE is written; what is behind it is not.
 * -EINVAL: not a work request (unknown opcode, wrong number of segments, a
 * segment of 0 or more than 2^31 - 1 bytes, numbers wider than their fields);
 * -ENOSPC: does not fit in len, or in the 63 * 16 bytes a WQE can have.
 */
int wrc_encode(const struct wrc_wr *wr, void *ret_wqe, size_t len);

/*
 * Writes a receive entry of `stride` bytes: the segments, then the end marker
 * if there is room.  0, -EINVAL, -ENOSPC.
 */
int wrc_encode_recv(const struct wrc_sge *sge, unsigned int nr_sge,
		    void *ret_entry, size_t stride);

#endif /* WRC_ENCODE_H */
