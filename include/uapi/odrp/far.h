/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * How a program reaches far memory: what clients of libfar and memory nodes say to
 * each other when connections begin. Everything behind that is READ, WRITE and atomics
 * of the client, to which no memory node answers but by its NIC.
 *
 * Byte order: every multi-byte field is big endian, as in wire.h.
 *
 * Connections. One RDMA CM port. The private data of each REQ is struct
 * odrp_far_hello. A client first *attaches*: a connection over which nothing is sent
 * but what shows the memory node that the client lives (WRITEs of length 0, by the
 * memory node). Its accept has the space's regions. Each further connection is a queue
 * pair for operations. The roles from DETACH to CUT are questions: they are always
 * answered by a REJ, whose status is the answer.
 *
 * A program that offers services listens at the same port. A call of a service makes one
 * connection, over which both ends may READ and change a window of the other's memory.
 *
 * When the attachment's connection ends, its claims and its queue pairs end with it.
 */
#ifndef _ODRP_FAR_H
#define _ODRP_FAR_H

#include <linux/types.h>

#define ODRP_FAR_MAGIC		0x4f444641u	/* "ODFA" */
#define ODRP_FAR_VERSION	1
#define ODRP_FAR_PORT		7490		/* RDMA_PS_TCP */

enum odrp_far_role {
	ODRP_FAR_ATTACH		= 1,	/* accepted: struct odrp_far_accept */
	ODRP_FAR_QUEUE		= 2,	/* accepted: struct odrp_far_accept, no regions */
	/* Questions. */
	ODRP_FAR_DETACH		= 3,	/* its queue pairs and claims are gone: OK */
	ODRP_FAR_CLAIM		= 4,	/* OK, or BUSY: another one has it; RIGHTS: the
					 * attachment may not write */
	ODRP_FAR_UNCLAIM	= 5,	/* OK, also if it had no such claim */
	ODRP_FAR_FENCE		= 6,	/* OK: nobody has that claim; or BUSY */
	ODRP_FAR_LOOK		= 7,	/* OK: struct odrp_far_info of a space; or SPACE */
	ODRP_FAR_DELETE		= 8,	/* OK: that space is gone; or RIGHTS */
	/* Questions of a set's arbiter to the other memory nodes. */
	ODRP_FAR_JOIN		= 9,	/* OK: struct odrp_far_member; or RIGHTS */
	ODRP_FAR_CUT		= 10,	/* OK: that client is fenced here; or BUSY: not yet */
	/* A program calls another one. */
	ODRP_FAR_CALL		= 11,	/* accepted: struct odrp_far_accept with the region of a
					 * window, and struct odrp_far_answer behind */
};

/*
 * Sets. A space may lie on several memory nodes. The first of them is the arbiter. It
 * chooses the set's *life*, a random number, and has each other one join it: that one
 * begins its part anew, empty, unless it has done so for that life. Nobody can attach
 * before all have joined. Each part has a *generation*, by which the arbiter learns whether
 * it is still the same one. A node that has lost its part, or is away, may be declared lost
 * at the arbiter. It is then had begin its part anew in the same life.
 */

/* What an attachment may do. */
#define ODRP_FAR_READ		1u
#define ODRP_FAR_WRITE		2u	/* WRITE and atomics */

/* A join has this: the part of generation @number was declared lost, another one begins. */
#define ODRP_FAR_ANEW		4u

/*
 * A set whose silent members are declared lost. A member's answers have a turn, and a join
 * names the turn of the last answer that the arbiter has got, in the bits of @rights from this
 * one on: so the member knows that the arbiter had heard it, and since when at least. Then it
 * takes the next turn: FIRST to LAST, and then FIRST again. NONE: the arbiter has no answer.
 * 0: in this set nobody is declared lost for silence.
 */
#define ODRP_FAR_TURN		3
#define ODRP_FAR_TURN_NONE	1u
#define ODRP_FAR_TURN_FIRST	2u
#define ODRP_FAR_TURN_LAST	31u

#define ODRP_FAR_NAME_MAX	36	/* bytes of a space's name */
#define ODRP_FAR_MAX_CLIENTS	65536

/**
 * struct odrp_far_hello - private data of a REQ, 56 bytes
 * @magic:	ODRP_FAR_MAGIC
 * @version:	ODRP_FAR_VERSION; another one is rejected, naming ours
 * @role:	enum odrp_far_role
 * @rights:	attach: ODRP_FAR_READ, ODRP_FAR_WRITE. join: ODRP_FAR_ANEW or 0, and a turn.
 *		call: how many bytes of @attach count. Else 0
 * @attach:	the attachment, a random number of the client's own choice; never 0.
 *		join, cut: the set's life. call: data for the service, filled up with zeros
 * @number:	queue: a number of the client's choice. A later queue of the same number
 *		takes its place: the older one is gone before the accept.
 *		claim, unclaim, fence: the client's number, below ODRP_FAR_MAX_CLIENTS.
 *		look: of the space, from 0 on. cut: the client's number.
 *		join: the generation that is expected, and nothing is begun by another
 *		one; 0: any. call: the rkey of the caller's window, which begins at
 *		address 0. Else 0
 * @name:	attach, delete, join, cut: the space, filled up with zeros. look: the
 *		same, or 0, and @number counts. call: the service. Else 0
 */
struct odrp_far_hello {
	__be32	magic;
	__be16	version;
	__u8	role;
	__u8	rights;
	__be64	attach;
	__be32	number;
	__u8	name[ODRP_FAR_NAME_MAX];
};

/**
 * struct odrp_far_region - offsets [start, start + size) of a space, 32 bytes
 * @start:	of the space
 * @size:	bytes
 * @addr:	where @start lies for READ, WRITE and atomics with @rkey
 * @rkey:	opens the region
 * @place:	0 host memory, 1 memory on the NIC, 2 memory of a SmartNIC
 */
struct odrp_far_region {
	__be64	start;
	__be64	size;
	__be64	addr;
	__be32	rkey;
	__be32	place;
};

#define ODRP_FAR_MAX_REGIONS	5

/**
 * struct odrp_far_accept - private data of a REP, 8 + 32 * nr_regions
 * @magic:	ODRP_FAR_MAGIC
 * @version:	ODRP_FAR_VERSION
 * @nr_regions:	1 to ODRP_FAR_MAX_REGIONS; of a queue 0
 * @region:	of the space, in the order of their offsets
 */
struct odrp_far_accept {
	__be32	magic;
	__be16	version;
	__be16	nr_regions;
	struct odrp_far_region region[];
};

#define ODRP_FAR_CALL_MAX	8	/* bytes of data in a call */
#define ODRP_FAR_ANSWER_MAX	48

/**
 * struct odrp_far_answer - answers a call, behind struct odrp_far_accept, 56 bytes
 * @len:	bytes of @data that count
 * @resv:	0
 * @data:	of the service
 */
struct odrp_far_answer {
	__u8	len;
	__u8	resv[7];
	__u8	data[ODRP_FAR_ANSWER_MAX];
};

enum odrp_far_status {
	ODRP_FAR_OK		= 0,	/* answers a question */
	ODRP_FAR_E_MALFORMED	= 1,	/* magic, length, role, rights, numbers */
	ODRP_FAR_E_VERSION	= 2,
	ODRP_FAR_E_SPACE	= 3,	/* no such space */
	ODRP_FAR_E_ATTACH	= 4,	/* no such attachment, or not any more */
	ODRP_FAR_E_BUSY		= 5,
	ODRP_FAR_E_NOMEM	= 6,
	ODRP_FAR_E_LIMIT	= 7,	/* attachments, queues; or what one name may have */
	ODRP_FAR_E_RIGHTS	= 8,	/* the memory node's settings do not allow it */
	ODRP_FAR_E_INCOMPLETE	= 9,	/* not all memory nodes of the set have joined */
	ODRP_FAR_E_AUTH		= 10,	/* not proved who asks: auth.h */
	ODRP_FAR_E_STARTING	= 11,	/* the memory node takes its memory: come again */
	ODRP_FAR_E_PART		= 12,	/* a join would empty the part, and is not proved */
	ODRP_FAR_E_SERVICE	= 256,	/* of a call: this and an errno of Linux, the service's */
};

/**
 * struct odrp_far_reject - private data of a REJ, 8 bytes
 * @magic:	ODRP_FAR_MAGIC
 * @version:	ODRP_FAR_VERSION
 * @status:	enum odrp_far_status
 */
struct odrp_far_reject {
	__be32	magic;
	__be16	version;
	__be16	status;
};

/**
 * struct odrp_far_info - answers ODRP_FAR_LOOK, behind struct odrp_far_reject, 72 bytes
 * @size:	bytes of this node's part
 * @used:	of them, in chunks that clients have claimed
 * @clients:	that live; 0 but on the arbiter
 * @max_clients: that can live at a time; 0 but on the arbiter
 * @names:	of structures; 0 but on the arbiter
 * @nr_nodes:	of the set
 * @node:	which of them this is
 * @name:	filled up with zeros
 * @resv:	0
 */
struct odrp_far_info {
	__be64	size;
	__be64	used;
	__be32	clients;
	__be32	max_clients;
	__be32	names;
	__be16	nr_nodes;
	__be16	node;
	__u8	name[ODRP_FAR_NAME_MAX];
	__u8	resv[4];
};

/**
 * struct odrp_far_member - answers ODRP_FAR_JOIN, behind struct odrp_far_reject, 12 bytes
 * @generation:	of the part: a random number, drawn when it begins; 0: there is none
 * @digest:	of its settings of the set, which are to be those of the arbiter: the low
 *		32 bits of XXH3 of the name, of the addresses (__be32 each, in their
 *		order), and of this node's place, the size, the chunk and the clients
 *		(__le64 each), and, unless it is 0, of lost-ms (__le64)
 * @turn:	of this answer; 0 without lost-ms, or not there
 * @resv:	0
 */
struct odrp_far_member {
	__be32	generation;
	__be32	digest;
	__u8	turn;
	__u8	resv[3];
};

/* Layout is ABI: these fail to compile when it moves. */
#ifdef __KERNEL__
#include <linux/build_bug.h>
#define ODRP_FAR_ASSERT(c) static_assert(c)
#else
#define ODRP_FAR_ASSERT(c) _Static_assert(c, #c)
#endif
#define ODRP_FAR_AT(t, f, o) ODRP_FAR_ASSERT(__builtin_offsetof(struct t, f) == (o))

ODRP_FAR_ASSERT(sizeof(struct odrp_far_hello) == 56);
ODRP_FAR_AT(odrp_far_hello, magic, 0);
ODRP_FAR_AT(odrp_far_hello, version, 4);
ODRP_FAR_AT(odrp_far_hello, role, 6);
ODRP_FAR_AT(odrp_far_hello, rights, 7);
ODRP_FAR_AT(odrp_far_hello, attach, 8);
ODRP_FAR_AT(odrp_far_hello, number, 16);
ODRP_FAR_AT(odrp_far_hello, name, 20);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_region) == 32);
ODRP_FAR_AT(odrp_far_region, start, 0);
ODRP_FAR_AT(odrp_far_region, size, 8);
ODRP_FAR_AT(odrp_far_region, addr, 16);
ODRP_FAR_AT(odrp_far_region, rkey, 24);
ODRP_FAR_AT(odrp_far_region, place, 28);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_accept) == 8);
ODRP_FAR_AT(odrp_far_accept, magic, 0);
ODRP_FAR_AT(odrp_far_accept, version, 4);
ODRP_FAR_AT(odrp_far_accept, nr_regions, 6);
ODRP_FAR_AT(odrp_far_accept, region, 8);
ODRP_FAR_ASSERT(sizeof(struct odrp_far_accept) +
		ODRP_FAR_MAX_REGIONS * sizeof(struct odrp_far_region) <= 196);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_answer) == 56);
ODRP_FAR_AT(odrp_far_answer, len, 0);
ODRP_FAR_AT(odrp_far_answer, data, 8);
ODRP_FAR_ASSERT(sizeof(struct odrp_far_accept) + sizeof(struct odrp_far_region) +
		sizeof(struct odrp_far_answer) + 16 <= 196);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_reject) == 8);
ODRP_FAR_AT(odrp_far_reject, magic, 0);
ODRP_FAR_AT(odrp_far_reject, version, 4);
ODRP_FAR_AT(odrp_far_reject, status, 6);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_member) == 12);
ODRP_FAR_AT(odrp_far_member, generation, 0);
ODRP_FAR_AT(odrp_far_member, digest, 4);
ODRP_FAR_AT(odrp_far_member, turn, 8);

ODRP_FAR_ASSERT(sizeof(struct odrp_far_info) == 72);
ODRP_FAR_AT(odrp_far_info, size, 0);
ODRP_FAR_AT(odrp_far_info, used, 8);
ODRP_FAR_AT(odrp_far_info, clients, 16);
ODRP_FAR_AT(odrp_far_info, max_clients, 20);
ODRP_FAR_AT(odrp_far_info, names, 24);
ODRP_FAR_AT(odrp_far_info, nr_nodes, 28);
ODRP_FAR_AT(odrp_far_info, node, 30);
ODRP_FAR_AT(odrp_far_info, name, 32);
ODRP_FAR_ASSERT(sizeof(struct odrp_far_reject) + sizeof(struct odrp_far_info) <= 148);

#endif /* _ODRP_FAR_H */
