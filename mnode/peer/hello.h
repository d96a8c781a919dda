/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses the hello of a connection request and checks each field. Pure: looks up no
 * session and allocates nothing.
 */
#ifndef MNODE_HELLO_H
#define MNODE_HELLO_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>
#include <odrp/wire.h>

/* Fewest instances K of a chain: wrc_geom_init() takes powers of two from 4 on. */
#define HELLO_MIN_DEPTH	4

/**
 * struct hello_limits - what this memory node grants at most
 * @max_depth:	instances of a chain, a power of two; one request less may be outstanding
 */
struct hello_limits {
	uint64_t max_slots;
	uint16_t max_queues;
	uint16_t max_depth;
};

/* struct odrp_wire_hello in host byte order. Queues and depth are clamped to the limits,
 * except in a hello that resumes a session. */
struct hello {
	enum odrp_wire_role role;
	enum odrp_wire_chain chain;	/* I/O only */
	uint16_t queue;			/* I/O: number of the queue; admin: how many */
	uint16_t depth;			/* outstanding requests */
	uint64_t session, token;	/* admin: 0 for a new session */
	uint64_t nr_slots;		/* admin only */
	uint32_t features;		/* without unknown bits */
};

/* Converts a signed request to the hello that asks for the same; session: the one of its
 * pass, 0: a new one. */
struct odrp_wire_hello hello_of_signed(const struct odrp_auth_req *req,
				       uint64_t session);

struct hello_no {
	enum odrp_wire_status status;
	uint64_t detail;
};

/* Sets *no. Always returns -EPERM. */
int hello_refuse(struct hello_no *no, enum odrp_wire_status status, uint64_t detail);

/* Returns 0, or -EPERM with the reason in *ret_no. */
int hello_check(const void *priv, size_t len, const struct hello_limits *limits,
		struct hello *ret_hello, struct hello_no *ret_no);

/* The number of instances K that so many outstanding requests need. */
uint16_t hello_instances(uint16_t outstanding);

void hello_reject(const struct hello_no *no, struct odrp_wire_reject *ret_rej);

const char *hello_status_name(enum odrp_wire_status status);

#endif /* MNODE_HELLO_H */
