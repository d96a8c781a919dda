/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a CNode says when it connects: taken apart and checked field by field.
 * Pure: nobody is looked up here and nothing is allocated.
 */
#ifndef MNODE_HELLO_H
#define MNODE_HELLO_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>
#include <odrp/wire.h>

/* Instances K of a chain: wrc_geom_init() takes powers of two from 4 on. */
#define HELLO_MIN_DEPTH	4

/**
 * struct hello_limits - what this memory node grants at most
 * @max_depth:	instances of a chain, a power of two; one less is outstanding
 */
struct hello_limits {
	uint64_t max_slots;
	uint16_t max_queues;
	uint16_t max_depth;
};

/* struct odrp_wire_hello in host order, clamped to what can be granted; of a
 * session that is taken up again as it came. */
struct hello {
	enum odrp_wire_role role;
	enum odrp_wire_chain chain;	/* I/O */
	uint16_t queue;			/* I/O: which; admin: granted number */
	uint16_t depth;			/* outstanding requests granted */
	uint64_t session, token;	/* admin, new session: 0 */
	uint64_t nr_slots;		/* admin */
	uint32_t features;		/* those that we know */
};

/* A request as struct odrp_auth_req has it, as a hello of session (0: a new one). */
struct odrp_wire_hello hello_of_signed(const struct odrp_auth_req *req,
				       uint64_t session);

struct hello_no {
	enum odrp_wire_status status;
	uint64_t detail;
};

/* Sets the reason; -EPERM. */
int hello_refuse(struct hello_no *no, enum odrp_wire_status status, uint64_t detail);

/* 0, or -EPERM with the reason in ret_no. */
int hello_check(const void *priv, size_t len, const struct hello_limits *limits,
		struct hello *ret_hello, struct hello_no *ret_no);

/* K for so many outstanding requests. */
uint16_t hello_instances(uint16_t outstanding);

void hello_reject(const struct hello_no *no, struct odrp_wire_reject *ret_rej);

const char *hello_status_name(enum odrp_wire_status status);

#endif /* MNODE_HELLO_H */
