/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers of memory nodes (include/uapi/odrp/far.h), on the side of the initiator. For back
 * ends whose memory nodes are elsewhere.
 */
#ifndef FAR_NIC_HELLO_H
#define FAR_NIC_HELLO_H

#include <stdbool.h>

#include <odrp/auth.h>
#include <odrp/far.h>

#include "../peer/hello.h"
#include "nic.h"

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
/* Parses the answer to a call: the other end's window, and its data. -EPROTO. */
int far_hello_answer(struct far_regions *regions, const uint8_t *priv, unsigned len,
		     struct far_hello *ret_answer);
/* The same of a call: the window's size is not known. */
void far_hello_caller(const struct odrp_far_hello *request, struct far_regions *ret_regions,
		      struct far_hello *ret_hello);
/* Fills a call with the key of the own window. -EINVAL: too much data, or no name. */
int far_hello_call(const char *service, uint32_t rkey, const struct far_hello *hello,
		   struct odrp_far_hello *ret_request);
/* The answer to a call: with the own window, and data. */
struct far_hello_accept {
	struct odrp_far_accept head;
	struct odrp_far_region region;
	struct odrp_far_answer answer;
	uint8_t mac[ODRP_AUTH_MAC];
};
/* Fills it, without the MAC. Returns its length. */
size_t far_hello_accept(struct far_hello_accept *accept, uint32_t rkey, uint64_t size,
			const struct far_hello *answer);
/* The status of a reject that tells the caller of this errno. */
unsigned far_hello_reason(int err);
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
