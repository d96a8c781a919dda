/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a client proves its name to memory nodes (include/uapi/odrp/auth.h): its key, a
 * name with a secret; and passes, the results of handshakes.
 */
#ifndef FAR_PEER_PASS_H
#define FAR_PEER_PASS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <odrp/far.h>

#include "../auth/shake.h"

/* All zeros: there is no key, and requests are not signed. */
struct far_key {
	bool set;
	char name[ODRP_AUTH_NAME];
	uint8_t secret[ODRP_AUTH_SECRET];
};

/*
 * Reads a file of secrets. text: NAME, of a file in the default directory, or a path whose
 * last part is the name. Uses the first of two secrets. On an error (-errno) why, of len
 * bytes, has a sentence.
 */
int far_key_read(const char *text, struct far_key *ret_key, char *why, size_t len);

/**
 * struct far_pass - result of a handshake with a memory node; signs later requests
 * @ends:	addresses of both ends
 * @handle:	names the key in each request, host order; 0: there is no pass
 * @key:	signs requests, and checks answers
 * @counter:	of the last request
 */
struct far_pass {
	struct far_pass *next;
	struct auth_ends ends;
	uint64_t handle;
	struct auth_key key;
	uint32_t counter;
};

/**
 * struct far_passes - passes of all memory nodes, at most one for each
 * @lock:	protects the other fields; held for a moment
 * @shaking:	a handshake is under way: there is one at a time
 */
struct far_passes {
	pthread_mutex_t lock;
	bool shaking;
	struct far_pass *list;
};

void far_passes_init(struct far_passes *passes);
void far_passes_fini(struct far_passes *passes);
/*
 * Copies the pass for memory node ip, with a new counter. Any thread. -EAGAIN: there is no
 * such pass, and a handshake is under way. -ENOENT: there is none, and the caller is to make
 * a handshake, and calls far_passes_put() at its end.
 */
int far_passes_get(struct far_passes *passes, __be32 ip, struct far_pass *ret_pass);
/* Ends the caller's handshake: adds a copy of the pass; NULL: it has failed. -ENOMEM. */
int far_passes_put(struct far_passes *passes, const struct far_pass *made);
/* Removes the pass: the memory node does not accept it any more. Any thread. */
void far_passes_drop(struct far_passes *passes, const struct far_pass *pass);

/* Converts the hello to a signed request of queue pair qpn, with the pass's counter. */
void far_pass_sign(const struct far_pass *pass, const struct odrp_far_hello *hello,
		   uint32_t qpn, struct odrp_auth_far *ret_req);
/*
 * Checks that the memory node has signed the answer to that request: 0 or -EKEYREJECTED.
 * accepted: the answer is an accept by queue pair qpn, else a reject.
 */
int far_pass_check(const struct far_pass *pass, bool accepted, enum odrp_far_role role,
		   uint32_t qpn, const uint8_t *priv, size_t len);

#endif
