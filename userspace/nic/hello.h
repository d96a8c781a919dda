/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is said to memory nodes by include/uapi/odrp/far.h and what they answer, as the
 * one who asks. For back ends whose memory nodes are elsewhere.
 */
#ifndef FAR_NIC_HELLO_H
#define FAR_NIC_HELLO_H

#include <stdbool.h>

#include <odrp/far.h>

#include "nic.h"

struct odrp_far_hello far_hello(enum odrp_far_role role, uint64_t attach);
/* -ENOENT: no space can have that name. */
int far_hello_name(struct odrp_far_hello *hello, const char *space);

/*
 * What a REJ says, as -errno; 0: OK. -ECONNREFUSED: it is none of a memory node that
 * serves spaces. -EPROTO: not as far.h has it.
 */
int far_hello_refusal(const uint8_t *priv, unsigned len);
/*
 * Whether to attach once more after err: the memory node has said that it starts, and
 * it has not been asked for FAR_HELLO_TRIES times. Then this has waited a while.
 */
#define FAR_HELLO_TRIES	300u
bool far_hello_again(int err, unsigned *tries);
/* What the answer to ODRP_FAR_LOOK says behind its status. -EPROTO. */
int far_hello_info(const uint8_t *priv, unsigned len, struct far_nic_space *ret_space);

/* A memory node's regions of a space. */
struct far_regions {
	unsigned nr;
	unsigned rights;	/* FAR_ATTACH_* that were asked for */
	struct far_region region[ODRP_FAR_MAX_REGIONS];
};

/* What an accept says. -EPROTO: not as far.h has it. */
int far_regions_parse(struct far_regions *regions, const uint8_t *priv, unsigned len);
void far_regions_copy(const struct far_regions *regions, struct far_peer *ret_peer);
/* The region that has the offset; the first one if none does. */
const struct far_region *far_regions_of(const struct far_regions *regions, uint64_t off);
/*
 * Why the memory node's NIC has refused this operation, which only says that it has:
 * -EACCES or -EFAULT.
 */
int far_regions_refused(const struct far_regions *regions, uint8_t op, uint64_t off,
			uint32_t len);

#endif
