/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decoder: WQE bytes to work requests, the inverse of wrc_encode().
 */
#ifndef WRC_DECODE_H
#define WRC_DECODE_H

#include "wr.h"

#define WRC_OWN_SHAPE (-1)

/*
 * Decodes the WQE at the start of len bytes and returns its length.  shape is
 * WRC_OWN_SHAPE, or the opcode another WR may turn a NOP into.  -EINVAL: not
 * what wrc_encode() writes for any request; see wrc_decode_why().
 */
int wrc_decode(const void *wqe, size_t len, int shape, struct wrc_wr *ret_wr);

/* The same check, as words: what is wrong with the WQE, or NULL. */
const char *wrc_decode_why(const void *wqe, size_t len, int shape);

/* Segments of a receive entry up to its end marker; -EINVAL. */
int wrc_decode_recv(const void *entry, size_t stride,
		    struct wrc_sge sge[WRC_MAX_RECV_SGE]);

#endif /* WRC_DECODE_H */
