/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Who is who: messages by which a compute node and a memory node prove to each other
 * that they have the same secret, and what is signed of the connections behind that.
 *
 * Handshake, on a connection of its own, four SENDs:
 *
 *	CNode			MNode
 *	hello	 -------------->
 *		 <-------------- challenge
 *	response -------------->	its proof, and the session to take up
 *		 <-------------- done	a handle, the memory node's proof
 *
 *	K = HMAC(secret, "odrp key 1" | SHA-256(hello | challenge))
 *	proof of the CNode = HMAC(K, C | hello | challenge | response)
 *	proof of the MNode = HMAC(K, M | hello | challenge | response | done)
 *
 * HMAC is HMAC-SHA-256; C and M are struct odrp_auth_tag; each message counts as it is
 * sent, but for the proof at the end of the one that is being made.  A nonce of
 * either side is in each K, so every handshake has another one.
 *
 * Its REQ is struct odrp_auth_initiation; a memory node that is asked for many handshakes at
 * a time may answer by a REJ with a cookie (struct odrp_auth_cookie), and the initiation is
 * sent again with it.  Both ends end the connection behind the last message.
 *
 * Every other connection's REQ is struct odrp_auth_req, or struct odrp_auth_far.  Its
 * MAC, and those behind a REP or REJ, are the first 16 bytes of HMAC(K, struct
 * odrp_auth_bound | what is sent): so it counts between these addresses and for this
 * queue pair only, and once.
 *
 * Heartbeats and grants (ODRP_WIRE_F_SIGNED of wire.h) have the first 16 bytes of
 * HMAC(K, struct odrp_auth_prefix | what is written, without the MAC).  They count for the
 * connection of that handshake, as it is the only one under its K that carries any.
 *
 * Both ends pack here what is hashed, without copying it: no function of this file
 * calls another library.
 */
#ifndef _ODRP_AUTH_H
#define _ODRP_AUTH_H

#include <linux/types.h>
#include <odrp/wire.h>

#define ODRP_AUTH_MAGIC		0x4f444155u	/* "ODAU" */
#define ODRP_AUTH_FAR_MAGIC	0x4f444146u	/* "ODAF" */
#define ODRP_AUTH_VERSION	1
#define ODRP_AUTH_HMAC_SHA256	1		/* the only suite */

#define ODRP_AUTH_SECRET	32
#define ODRP_AUTH_NONCE		32
#define ODRP_AUTH_PROOF		32
#define ODRP_AUTH_MAC		16
#define ODRP_AUTH_NAME		32	/* filled up with zeros; the last one is 0 */
#define ODRP_AUTH_ADDR		16	/* IPv6, or IPv4 as ::ffff:a.b.c.d */
#define ODRP_AUTH_LABEL		"odrp key 1"
#define ODRP_AUTH_LABEL_LEN	10

/* How far a counter may be behind the highest one seen. */
#define ODRP_AUTH_WINDOW	1024

/* A role beside those of enum odrp_wire_role: of struct odrp_auth_initiation. */
#define ODRP_AUTH_HANDSHAKE	3

/* What a proof or MAC is for, so that none counts as another. */
enum odrp_auth_what {
	ODRP_AUTH_CNODE_PROOF	= 1,
	ODRP_AUTH_MNODE_PROOF	= 2,
	ODRP_AUTH_REQ		= 3,
	ODRP_AUTH_REP		= 4,
	ODRP_AUTH_REJ		= 5,
	ODRP_AUTH_BEAT		= 6,
	ODRP_AUTH_GRANT		= 7,
};

/**
 * struct odrp_auth_initiation - private data of the handshake's REQ, 56 bytes
 * @magic:	ODRP_AUTH_MAGIC
 * @version:	ODRP_AUTH_VERSION
 * @role:	ODRP_AUTH_HANDSHAKE
 * @suite:	ODRP_AUTH_HMAC_SHA256
 * @id:		random; the same when it is sent again with a cookie
 * @cookie:	that of the REJ, or 0
 * @resv:	0
 */
struct odrp_auth_initiation {
	__be32	magic;
	__be16	version;
	__u8	role;
	__u8	suite;
	__be64	id;
	__u8	cookie[ODRP_AUTH_MAC];
	__u8	resv[24];
};

/**
 * struct odrp_auth_cookie - private data of a REJ: initiate again with this, 24 bytes
 * @magic:	ODRP_AUTH_MAGIC
 * @version:	ODRP_AUTH_VERSION
 * @status:	ODRP_WIRE_E_BUSY
 * @cookie:	the memory node's MAC over address, id and minute, with a key of its own
 */
struct odrp_auth_cookie {
	__be32	magic;
	__be16	version;
	__be16	status;
	__u8	cookie[ODRP_AUTH_MAC];
};

/**
 * struct odrp_auth_hello - the compute node's first message, 144 bytes
 * @magic:	ODRP_AUTH_MAGIC
 * @version:	ODRP_AUTH_VERSION
 * @suite:	ODRP_AUTH_HMAC_SHA256
 * @resv0:	0
 * @resv1:	0
 * @qpn:	the compute node's queue pair, 24 bits
 * @cnode:	name of the compute node
 * @mnode:	name of the memory node
 * @cnode_addr: address of the compute node
 * @mnode_addr: address of the memory node
 * @nonce:	random
 */
struct odrp_auth_hello {
	__be32	magic;
	__be16	version;
	__u8	suite;
	__u8	resv0;
	__be32	qpn;
	__u8	resv1[4];
	__u8	cnode[ODRP_AUTH_NAME];
	__u8	mnode[ODRP_AUTH_NAME];
	__u8	cnode_addr[ODRP_AUTH_ADDR];
	__u8	mnode_addr[ODRP_AUTH_ADDR];
	__u8	nonce[ODRP_AUTH_NONCE];
};

/**
 * struct odrp_auth_challenge - the memory node's answer, 48 bytes
 * @magic:	as in the hello
 * @version:	as in the hello
 * @suite:	as in the hello
 * @resv0:	as in the hello
 * @resv1:	as in the hello
 * @qpn:	the memory node's queue pair
 * @nonce:	random
 */
struct odrp_auth_challenge {
	__be32	magic;
	__be16	version;
	__u8	suite;
	__u8	resv0;
	__be32	qpn;
	__u8	resv1[4];
	__u8	nonce[ODRP_AUTH_NONCE];
};

/**
 * struct odrp_auth_response - 48 bytes
 * @magic:	as in the hello
 * @version:	as in the hello
 * @resv:	0
 * @session:	to be taken up, or 0: a new one
 * @proof:	the compute node's
 */
struct odrp_auth_response {
	__be32	magic;
	__be16	version;
	__u8	resv[2];
	__be64	session;
	__u8	proof[ODRP_AUTH_PROOF];
};

/**
 * struct odrp_auth_done - 48 bytes
 * @magic:	as in the hello
 * @version:	as in the hello
 * @status:	enum odrp_wire_status: E_SESSION, if there is no such session
 * @handle:	names K in each REQ from now on
 * @proof:	the memory node's
 */
struct odrp_auth_done {
	__be32	magic;
	__be16	version;
	__be16	status;
	__be64	handle;
	__u8	proof[ODRP_AUTH_PROOF];
};

/**
 * struct odrp_auth_req - private data of every other REQ, 56 bytes
 * @magic:	ODRP_AUTH_MAGIC
 * @version:	ODRP_AUTH_VERSION
 * @role:	enum odrp_wire_role
 * @chain:	I/O: enum odrp_wire_chain.  Admin: ODRP_WIRE_PAGE_SHIFT
 * @queue:	as in struct odrp_wire_hello
 * @depth:	as in struct odrp_wire_hello
 * @features:	as in struct odrp_wire_hello
 * @nr_slots:	as in struct odrp_wire_hello
 * @handle:	of the handshake
 * @counter:	another one in each REQ under this K, from 1 on
 * @mac:	of all that
 */
struct odrp_auth_req {
	__be32	magic;
	__be16	version;
	__u8	role;
	__u8	chain;
	__be16	queue;
	__be16	depth;
	__be32	features;
	__be64	handle;
	__be64	counter;
	__be64	nr_slots;
	__u8	mac[ODRP_AUTH_MAC];
};

#define ODRP_AUTH_SPACE		8

/**
 * struct odrp_auth_far - the same of clients of spaces (far.h), 56 bytes
 * @magic:	ODRP_AUTH_FAR_MAGIC
 * @version:	ODRP_AUTH_VERSION
 * @role:	enum odrp_far_role
 * @rights:	as in struct odrp_far_hello
 * @number:	as in struct odrp_far_hello
 * @counter:	as in struct odrp_auth_req
 * @attach:	as in struct odrp_far_hello
 * @handle:	of the handshake
 * @space:	where struct odrp_far_hello has a name: the first bytes of SHA-256 of
 *		that, with the zeros behind it.  Else 0
 * @mac:	of all that
 */
struct odrp_auth_far {
	__be32	magic;
	__be16	version;
	__u8	role;
	__u8	rights;
	__be32	number;
	__be32	counter;
	__be64	attach;
	__be64	handle;
	__u8	space[ODRP_AUTH_SPACE];
	__u8	mac[ODRP_AUTH_MAC];
};

/* In front of what a proof is made of, 8 bytes. */
struct odrp_auth_tag {
	__u8	what;		/* enum odrp_auth_what */
	__u8	version;
	__u8	resv[6];
};

/**
 * struct odrp_auth_bound - in front of what a MAC is made of, 48 bytes; never sent
 * @what:	enum odrp_auth_what
 * @version:	ODRP_AUTH_VERSION
 * @resv:	0
 * @qpn:	queue pair of who makes the MAC; of a REJ 0
 * @counter:	of the REQ, or of the one that is answered
 * @cnode_addr: the address of one end
 * @mnode_addr: of the other one
 */
struct odrp_auth_bound {
	__u8	what;
	__u8	version;
	__u8	resv[2];
	__be32	qpn;
	__be64	counter;
	__u8	cnode_addr[ODRP_AUTH_ADDR];
	__u8	mnode_addr[ODRP_AUTH_ADDR];
};

/**
 * struct odrp_auth_prefix - in front of what the MAC of a heartbeat or grant is made of,
 * 16 bytes; never sent
 * @what:	enum odrp_auth_what
 * @version:	ODRP_AUTH_VERSION
 * @resv:	0
 * @handle:	of the handshake
 */
struct odrp_auth_prefix {
	__u8	what;
	__u8	version;
	__u8	resv[6];
	__be64	handle;
};

/* Bytes to be hashed, one piece behind the other. */
struct odrp_auth_piece {
	const void *p;
	__u32	len;
};

#define ODRP_AUTH_PIECES	5

/* SHA-256 over these is what K is made of.  Returns how many pieces. */
static inline unsigned int
odrp_auth_pack_nonces(const struct odrp_auth_hello *h,
		      const struct odrp_auth_challenge *c,
		      struct odrp_auth_piece *ret)
{
	ret[0].p = h;
	ret[0].len = sizeof(*h);
	ret[1].p = c;
	ret[1].len = sizeof(*c);
	return 2;
}

/* The compute node's proof; tag: memory for one. */
static inline unsigned int
odrp_auth_pack_response(const struct odrp_auth_hello *h,
			const struct odrp_auth_challenge *c,
			const struct odrp_auth_response *r,
			struct odrp_auth_tag *tag, struct odrp_auth_piece *ret)
{
	*tag = (struct odrp_auth_tag){
		.what = ODRP_AUTH_CNODE_PROOF, .version = ODRP_AUTH_VERSION,
	};
	ret[0].p = tag;
	ret[0].len = sizeof(*tag);
	odrp_auth_pack_nonces(h, c, ret + 1);
	ret[3].p = r;
	ret[3].len = __builtin_offsetof(struct odrp_auth_response, proof);
	return 4;
}

/* The memory node's. */
static inline unsigned int
odrp_auth_pack_done(const struct odrp_auth_hello *h,
		    const struct odrp_auth_challenge *c,
		    const struct odrp_auth_response *r,
		    const struct odrp_auth_done *d,
		    struct odrp_auth_tag *tag, struct odrp_auth_piece *ret)
{
	odrp_auth_pack_response(h, c, r, tag, ret);
	tag->what = ODRP_AUTH_MNODE_PROOF;
	ret[3].len = sizeof(*r);
	ret[4].p = d;
	ret[4].len = __builtin_offsetof(struct odrp_auth_done, proof);
	return 5;
}

/* A MAC over len bytes. */
static inline unsigned int
odrp_auth_pack_bound(const struct odrp_auth_bound *b, const void *p, __u32 len,
		     struct odrp_auth_piece *ret)
{
	ret[0].p = b;
	ret[0].len = sizeof(*b);
	ret[1].p = p;
	ret[1].len = len;
	return 2;
}

/* The MAC of a heartbeat of len bytes, at least ODRP_WIRE_SHORT_BEAT; prefix: memory for
 * one. */
static inline unsigned int
odrp_auth_pack_beat(__be64 handle, const struct odrp_wire_beat *b, __u32 len,
		    struct odrp_auth_prefix *prefix, struct odrp_auth_piece *ret)
{
	*prefix = (struct odrp_auth_prefix){
		.what = ODRP_AUTH_BEAT, .version = ODRP_AUTH_VERSION,
		.handle = handle,
	};
	ret[0].p = prefix;
	ret[0].len = sizeof(*prefix);
	ret[1].p = b;
	ret[1].len = __builtin_offsetof(struct odrp_wire_beat, mac);
	ret[2].p = &b->dead_ms;
	ret[2].len = len - ODRP_WIRE_SHORT_BEAT;
	return ret[2].len ? 3 : 2;
}

/* That of a grant. */
static inline unsigned int
odrp_auth_pack_grant(__be64 handle, const struct odrp_wire_grant *g,
		     struct odrp_auth_prefix *prefix, struct odrp_auth_piece *ret)
{
	*prefix = (struct odrp_auth_prefix){
		.what = ODRP_AUTH_GRANT, .version = ODRP_AUTH_VERSION,
		.handle = handle,
	};
	ret[0].p = prefix;
	ret[0].len = sizeof(*prefix);
	ret[1].p = g;
	ret[1].len = sizeof(*g);
	return 2;
}

/* Layout is ABI: these fail to compile when it moves. */
#ifdef __KERNEL__
#include <linux/build_bug.h>
#define ODRP_AUTH_ASSERT(c) static_assert(c)
#else
#define ODRP_AUTH_ASSERT(c) _Static_assert(c, #c)
#endif
#define ODRP_AUTH_AT(t, f, o) ODRP_AUTH_ASSERT(__builtin_offsetof(struct t, f) == (o))

ODRP_AUTH_ASSERT(sizeof(ODRP_AUTH_LABEL) == ODRP_AUTH_LABEL_LEN + 1);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_initiation) == 56);
ODRP_AUTH_AT(odrp_auth_initiation, magic, 0);
ODRP_AUTH_AT(odrp_auth_initiation, version, 4);
ODRP_AUTH_AT(odrp_auth_initiation, role, 6);
ODRP_AUTH_AT(odrp_auth_initiation, suite, 7);
ODRP_AUTH_AT(odrp_auth_initiation, id, 8);
ODRP_AUTH_AT(odrp_auth_initiation, cookie, 16);
ODRP_AUTH_AT(odrp_auth_initiation, resv, 32);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_cookie) == 24);
ODRP_AUTH_AT(odrp_auth_cookie, magic, 0);
ODRP_AUTH_AT(odrp_auth_cookie, version, 4);
ODRP_AUTH_AT(odrp_auth_cookie, status, 6);
ODRP_AUTH_AT(odrp_auth_cookie, cookie, 8);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_hello) == 144);
ODRP_AUTH_AT(odrp_auth_hello, magic, 0);
ODRP_AUTH_AT(odrp_auth_hello, version, 4);
ODRP_AUTH_AT(odrp_auth_hello, suite, 6);
ODRP_AUTH_AT(odrp_auth_hello, resv0, 7);
ODRP_AUTH_AT(odrp_auth_hello, qpn, 8);
ODRP_AUTH_AT(odrp_auth_hello, resv1, 12);
ODRP_AUTH_AT(odrp_auth_hello, cnode, 16);
ODRP_AUTH_AT(odrp_auth_hello, mnode, 48);
ODRP_AUTH_AT(odrp_auth_hello, cnode_addr, 80);
ODRP_AUTH_AT(odrp_auth_hello, mnode_addr, 96);
ODRP_AUTH_AT(odrp_auth_hello, nonce, 112);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_challenge) == 48);
ODRP_AUTH_AT(odrp_auth_challenge, magic, 0);
ODRP_AUTH_AT(odrp_auth_challenge, version, 4);
ODRP_AUTH_AT(odrp_auth_challenge, suite, 6);
ODRP_AUTH_AT(odrp_auth_challenge, resv0, 7);
ODRP_AUTH_AT(odrp_auth_challenge, qpn, 8);
ODRP_AUTH_AT(odrp_auth_challenge, resv1, 12);
ODRP_AUTH_AT(odrp_auth_challenge, nonce, 16);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_response) == 48);
ODRP_AUTH_AT(odrp_auth_response, magic, 0);
ODRP_AUTH_AT(odrp_auth_response, version, 4);
ODRP_AUTH_AT(odrp_auth_response, resv, 6);
ODRP_AUTH_AT(odrp_auth_response, session, 8);
ODRP_AUTH_AT(odrp_auth_response, proof, 16);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_done) == 48);
ODRP_AUTH_AT(odrp_auth_done, magic, 0);
ODRP_AUTH_AT(odrp_auth_done, version, 4);
ODRP_AUTH_AT(odrp_auth_done, status, 6);
ODRP_AUTH_AT(odrp_auth_done, handle, 8);
ODRP_AUTH_AT(odrp_auth_done, proof, 16);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_req) == 56);
ODRP_AUTH_AT(odrp_auth_req, magic, 0);
ODRP_AUTH_AT(odrp_auth_req, version, 4);
ODRP_AUTH_AT(odrp_auth_req, role, 6);
ODRP_AUTH_AT(odrp_auth_req, chain, 7);
ODRP_AUTH_AT(odrp_auth_req, queue, 8);
ODRP_AUTH_AT(odrp_auth_req, depth, 10);
ODRP_AUTH_AT(odrp_auth_req, features, 12);
ODRP_AUTH_AT(odrp_auth_req, handle, 16);
ODRP_AUTH_AT(odrp_auth_req, counter, 24);
ODRP_AUTH_AT(odrp_auth_req, nr_slots, 32);
ODRP_AUTH_AT(odrp_auth_req, mac, 40);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_far) == 56);
ODRP_AUTH_AT(odrp_auth_far, magic, 0);
ODRP_AUTH_AT(odrp_auth_far, version, 4);
ODRP_AUTH_AT(odrp_auth_far, role, 6);
ODRP_AUTH_AT(odrp_auth_far, rights, 7);
ODRP_AUTH_AT(odrp_auth_far, number, 8);
ODRP_AUTH_AT(odrp_auth_far, counter, 12);
ODRP_AUTH_AT(odrp_auth_far, attach, 16);
ODRP_AUTH_AT(odrp_auth_far, handle, 24);
ODRP_AUTH_AT(odrp_auth_far, space, 32);
ODRP_AUTH_AT(odrp_auth_far, mac, 40);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_tag) == 8);
ODRP_AUTH_AT(odrp_auth_tag, what, 0);
ODRP_AUTH_AT(odrp_auth_tag, version, 1);
ODRP_AUTH_AT(odrp_auth_tag, resv, 2);

ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_bound) == 48);
ODRP_AUTH_AT(odrp_auth_bound, what, 0);
ODRP_AUTH_AT(odrp_auth_bound, version, 1);
ODRP_AUTH_AT(odrp_auth_bound, resv, 2);
ODRP_AUTH_AT(odrp_auth_bound, qpn, 4);
ODRP_AUTH_AT(odrp_auth_bound, counter, 8);
ODRP_AUTH_AT(odrp_auth_bound, cnode_addr, 16);
ODRP_AUTH_AT(odrp_auth_bound, mnode_addr, 32);

ODRP_AUTH_ASSERT(ODRP_AUTH_MAC == ODRP_WIRE_MAC);
ODRP_AUTH_ASSERT(sizeof(struct odrp_auth_prefix) == 16);
ODRP_AUTH_AT(odrp_auth_prefix, what, 0);
ODRP_AUTH_AT(odrp_auth_prefix, version, 1);
ODRP_AUTH_AT(odrp_auth_prefix, resv, 2);
ODRP_AUTH_AT(odrp_auth_prefix, handle, 8);

#endif /* _ODRP_AUTH_H */
