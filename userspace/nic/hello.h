/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to memory nodes and their answers (include/uapi/odrp/far.h), on the side of
 * the initiator. For back ends whose memory nodes are elsewhere.
 */
#ifndef FAR_NIC_HELLO_H
#define FAR_NIC_HELLO_H

#include <stdbool.h>

#include <odrp/far.h>

#include "nic.h"

/* A hello with role and attachment; all else is 0. */
struct odrp_far_hello far_hello(enum odrp_far_role role, uint64_t attach);
/* Sets the name of the space. -ENOENT: the name is empty or too long for any space. */
int far_hello_name(struct odrp_far_hello *hello, const char *space);

/*
 * The status in the private data of a REJ, as -errno; 0: ODRP_FAR_OK. -ECONNREFUSED: the
 * REJ is not from a memory node that serves spaces. -EPROTO: far.h has no such status.
 */
int far_hello_refusal(const uint8_t *priv, unsigned len);
/*
 * Whether to attach once more after err: yes if the memory node is still starting
 * (-EINPROGRESS) and was asked less than FAR_HELLO_TRIES times. Sleeps for a while before
 * it returns true. *tries is 0 at first.
 */
#define FAR_HELLO_TRIES	300u
bool far_hello_again(int err, unsigned *tries);
/* Parses the answer to ODRP_FAR_LOOK. -EPROTO: it is too short. */
int far_hello_info(const uint8_t *priv, unsigned len, struct far_nic_space *ret_space);

/* A memory node's regions of a space. */
struct far_regions {
	unsigned nr;
	unsigned rights;	/* FAR_ATTACH_* of the request */
	struct far_region region[ODRP_FAR_MAX_REGIONS];
};

/* Parses the private data of an accept. -EPROTO: malformed, or without regions. */
int far_regions_parse(struct far_regions *regions, const uint8_t *priv, unsigned len);
void far_regions_copy(const struct far_regions *regions, struct far_peer *ret_peer);
/* The region that contains the offset, or the first region if none does. */
const struct far_region *far_regions_of(const struct far_regions *regions, uint64_t off);
/*
 * The reason why the memory node's NIC has refused an operation, -EACCES or -EFAULT: the
 * NIC reports only that it has refused.
 */
int far_regions_refused(const struct far_regions *regions, uint8_t op, uint64_t off,
			uint32_t len);

#endif
