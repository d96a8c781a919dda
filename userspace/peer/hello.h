/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to memory nodes (include/uapi/odrp/far.h), and why they are rejected. */
#ifndef FAR_PEER_HELLO_H
#define FAR_PEER_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include <odrp/far.h>

/* A hello with role and attachment; all else is 0. */
struct odrp_far_hello far_hello(enum odrp_far_role role, uint64_t attach);
/* Sets the name of the space. -ENOENT: the name is empty or too long for any space. */
int far_hello_name(struct odrp_far_hello *hello, const char *space);

/* enum odrp_far_status as -errno; 0: ODRP_FAR_OK. -EPROTO: far.h has no such status. */
int far_hello_status(unsigned status);
/* The status in the private data of a REJ, in the same way. -ECONNREFUSED: the REJ is not
 * from a memory node that serves spaces. */
int far_hello_refusal(const uint8_t *priv, size_t len);

#endif
