/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who we are to memory nodes: a name and a secret, and what a handshake has brought, by
 * include/uapi/odrp/auth.h. For back ends whose memory nodes are elsewhere.
 */
#ifndef FAR_NIC_KEY_H
#define FAR_NIC_KEY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <odrp/far.h>

#include "../auth/shake.h"

/* All zeros: nobody. */
struct far_key {
	bool set;
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
};

/*
 * text: NAME, a file of the directory of secrets, or a path to one. -errno, with a
 * sentence in why. Of two secrets the first one counts.
 */
int far_key_read(const char *text, struct far_key *ret_key, char *why, size_t len);

/**
 * struct far_pass - to a memory node
 * @counter:	of the last request
 * @handle:	0: there is none
 */
struct far_pass {
	struct far_pass *next;
	struct auth_ends ends;
	uint64_t handle;
	struct auth_key key;
	uint32_t counter;
};

/**
 * struct far_passes - to all memory nodes; one to each is enough
 * @lock:	list
 * @shaking:	one handshake at a time; before lock
 */
struct far_passes {
	pthread_mutex_t lock, shaking;
	struct far_pass *list;
};

void far_passes_init(struct far_passes *passes);
void far_passes_fini(struct far_passes *passes);
/* A copy of the pass, with a counter of its own; by shake() if there is
 * none, which fills in ends, handle and key. */
int far_passes_get(struct far_passes *passes, __be32 ip,
		   int (*shake)(void *arg, __be32 ip, struct far_pass *ret_pass),
		   void *arg, struct far_pass *ret_pass);
/* It is not good any more. */
void far_passes_drop(struct far_passes *passes, const struct far_pass *pass);

/* The hello as a request of that queue pair; the counter is the pass's. */
void far_pass_sign(const struct far_pass *pass, const struct odrp_far_hello *hello,
		   uint32_t qpn, struct odrp_auth_far *ret_req);
/*
 * Whether the answer to that request is the memory node's: 0, or -EKEYREJECTED. accepted:
 * by queue pair qpn; else it is refused.
 */
int far_pass_check(const struct far_pass *pass, bool accepted, enum odrp_far_role role,
		   uint32_t qpn, const uint8_t *priv, size_t len);

#endif
