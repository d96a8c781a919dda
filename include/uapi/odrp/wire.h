/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * ODRP wire format: everything a compute node (CNode) and a memory node
 * (MNode) must agree on.  The only header both ends share; docs/wire.md tells
 * the protocol in prose.
 *
 * Byte order: every multi-byte field is big endian, because the memory node's
 * NIC moves most of them into mlx5 work queue entries, which are big endian,
 * without anybody converting them.
 *
 * Connections.  One RDMA CM port.  A CNode first opens one admin connection,
 * then one I/O connection for each (chain type, queue).  The REQ's private
 * data is struct odrp_wire_hello, the REP's is one of the two accept structs,
 * a REJ's is struct odrp_wire_reject.
 *
 * A request is one SEND on an I/O connection:
 *
 *	struct odrp_wire_req | ODRP_WIRE_NEXT_* | page and its end (stores only)
 *
 * and is answered by one RDMA WRITE WITH IMMEDIATE whose immediate is
 * req.id.  A load's answer carries the page to req.raddr/req.rkey, every other
 * answer has length 0.  There is no negative answer: a chain that cannot do
 * what it was asked to do breaks its connection, or stays silent until the
 * CNode's time-out does.
 *
 * Requests of a connection are executed and answered in order.  So a CNode may
 * ask for no answer to a request (ODRP_WIRE_NEXT_QUIET, one request ahead), which
 * is then quiet: the answer to any later request says that it has been executed,
 * too.  A quiet load's page comes with a plain RDMA WRITE, before that answer.
 */
#ifndef _ODRP_WIRE_H
#define _ODRP_WIRE_H

#include <linux/types.h>

#define ODRP_WIRE_MAGIC		0x4f445250u	/* "ODRP" */
#define ODRP_WIRE_VERSION	3
#define ODRP_WIRE_PORT		7489		/* RDMA_PS_TCP */
#define ODRP_WIRE_PAGE_SHIFT	12
#define ODRP_WIRE_PAGE_SIZE	4096

/* User private data that RDMA CM leaves us: 92 - 36, 196, 148 bytes. */
#define ODRP_WIRE_REQ_PRIV_MAX	56
#define ODRP_WIRE_REP_PRIV_MAX	196
#define ODRP_WIRE_REJ_PRIV_MAX	148

enum odrp_wire_role {
	ODRP_WIRE_ADMIN		= 1,
	ODRP_WIRE_IO		= 2,
};

/* Feature bits: a hello says what its CNode understands, the admin accept which of
 * these hold for the session. */
#define ODRP_WIRE_F_KEYED	1u	/* translation in the NIC */
#define ODRP_WIRE_F_SIGNED	2u	/* MACs of heartbeats and grants */
#define ODRP_WIRE_F_LONG_BEAT	4u	/* heartbeats of 128 bytes */
#define ODRP_WIRE_F_DIRECT	8u	/* direct slabs; needs F_LONG_BEAT, excludes F_KEYED */
#define ODRP_WIRE_F_KEPT	16u	/* heartbeats have @kept; needs F_LONG_BEAT */
#define ODRP_WIRE_F_ASKS	32u	/* leases follow @want; needs F_LONG_BEAT */

/*
 * ODRP_WIRE_F_KEYED.  The CNode READs and WRITEs the pages of its slots itself, by
 * rkeys of its own.  Slot s is in key s / KEY_SLOTS, at address
 * (s % KEY_SLOTS) * KEY_STRIDE; behind the 4096 bytes of a page, and where no page
 * is mapped, an access is refused and breaks the connection.  Loads and mapped
 * stores are such READs and WRITEs, over the I/O connections of these chains,
 * which take no requests; there are requests for unmapped stores and invalidates
 * only, and behind their answers the page is there, or gone.
 */
#define ODRP_WIRE_KEY_SLOTS	8192
#define ODRP_WIRE_KEY_STRIDE	16384

/*
 * ODRP_WIRE_F_DIRECT.  The session has no translation table and no chains.  The MNode
 * grants slabs, of 1 << accept.log_slab bytes, which are clear; the CNode decides which
 * page of them holds which slot.  It READs and WRITEs the pages over its I/O connections
 * for loads and mapped stores, and has no other I/O connections.  All leases are whole
 * slabs, and a device has at most as many slabs as hold its slots.
 */
#define ODRP_WIRE_LOG_SLAB	21
#define ODRP_WIRE_SLAB_PAGES	(1 << (ODRP_WIRE_LOG_SLAB - ODRP_WIRE_PAGE_SHIFT))

enum odrp_wire_slab_kind {
	ODRP_WIRE_SLAB_NONE	= 0,	/* there is no slab of this number */
	ODRP_WIRE_SLAB_DIRECT	= 1,	/* pages can be READ and WRITTEN */
};

/**
 * struct odrp_wire_slab - a slab, as the table that keys_rkey opens names it, 16 bytes
 * @addr:	of the first page, under that
 * @rkey:	key, which opens this slab and no other memory
 * @kind:	enum odrp_wire_slab_kind
 * @resv:	0
 * @generation:	another one than that of the slab that had the number before.  A session
 *		that is taken up again has new keys for slabs of the same generation
 */
struct odrp_wire_slab {
	__be64	addr;
	__be32	rkey;
	__u8	kind;
	__u8	resv;
	__be16	generation;
};

/* The most slabs of a device. */
static inline __u32 odrp_wire_max_slabs(__u64 nr_slots)
{
	return (nr_slots + ODRP_WIRE_SLAB_PAGES - 1) / ODRP_WIRE_SLAB_PAGES;
}

/*
 * Bytes of the bitmap of held slabs, which the CNode WRITEs to the address behind that of
 * its heartbeat: slab n is bit n % 8 of byte n / 8.
 */
static inline __u32 odrp_wire_held_len(__u64 nr_slots)
{
	return (odrp_wire_max_slabs(nr_slots) + 63) / 64 * 8;
}

/*
 * ODRP_WIRE_F_SIGNED, of a session whose two ends have shaken hands (auth.h).  The MAC
 * of a heartbeat stands in it, that of a grant behind it (struct
 * odrp_wire_signed_grant).  Under one K @beat, and @epoch, only grow: what is not above
 * the last that counted, or has a wrong MAC, counts for nothing.  One that is seen in
 * part has a wrong MAC, so whoever finds one looks again the next time.
 */
#define ODRP_WIRE_MAC		16

/* The chain types; also the index of a queue pair within a queue. */
enum odrp_wire_chain {
	ODRP_WIRE_LOAD		= 0,
	ODRP_WIRE_MAPPED_STORE	= 1,
	ODRP_WIRE_UNMAPPED_STORE = 2,
	ODRP_WIRE_INVALIDATE	= 3,
	ODRP_WIRE_NR_CHAINS	= 4,
};

/**
 * struct odrp_wire_hello - private data of a REQ, 56 bytes
 * @magic:	ODRP_WIRE_MAGIC
 * @version:	ODRP_WIRE_VERSION; another one is rejected, naming ours
 * @role:	enum odrp_wire_role
 * @chain:	I/O: enum odrp_wire_chain.  Admin: 0
 * @queue:	I/O: queue number, below the accept's max_queues.  Admin: how many
 *		queues the CNode would like
 * @depth:	requests the CNode would like to have outstanding per connection
 * @session:	I/O: the session id of the admin accept.  Admin: 0, or the session
 *		that is to be taken up again after its connections have broken
 * @token:	the token of the admin accept, which proves that the connections
 *		come from the same CNode.  Admin, new session: 0
 * @nr_slots:	admin: number of 4 KB swap slots (entries of the translation
 *		table).  I/O: 0.  A session that is taken up again keeps its
 *		queues, depth and slots: they are what its accept said
 * @features:	ODRP_WIRE_F_*: what the CNode understands; others are ignored
 * @page_shift:	ODRP_WIRE_PAGE_SHIFT
 * @resv:	0, checked
 */
struct odrp_wire_hello {
	__be32	magic;
	__be16	version;
	__u8	role;
	__u8	chain;
	__be16	queue;
	__be16	depth;
	__be32	features;
	__be64	session;
	__be64	token;
	__be64	nr_slots;
	__u8	page_shift;
	__u8	resv[15];
};

#define ODRP_WIRE_MIN_BEAT_MS	10
#define ODRP_WIRE_LOOK_MS	40

/**
 * struct odrp_wire_admin_accept - private data of an admin REP, 96 bytes
 * @magic:	ODRP_WIRE_MAGIC
 * @version:	ODRP_WIRE_VERSION
 * @max_queues:	queues granted (at most what was asked for)
 * @depth:	outstanding requests granted per I/O connection
 * @session:	identifies this CNode's session from now on; never 0
 * @token:	random; to be repeated by each I/O hello
 * @nr_slots:	entries of the translation table that was made
 * @beat_raddr:	where the CNode RDMA-WRITEs its struct odrp_wire_beat over
 * @beat_rkey:	the admin connection
 * @beat_ms:	how often it should, at least ODRP_WIRE_MIN_BEAT_MS and less
 *		than dead_ms
 * @dead_ms:	after how long without a new beat the MNode reclaims the session; a
 *		heartbeat may ask for more
 * @tt_rkey:	opens the session's translation table over the admin connection,
 *		for RDMA READs, from address 0 on: 8 bytes a slot, 0 if no page
 *		is mapped there.  When a session has been taken up again, all
 *		chains of before have stopped, so the table says what has become
 *		of the requests without an answer
 * @lease:	pages the CNode may have mapped: at first, or still
 * @dead_ms_max: ODRP_WIRE_F_LONG_BEAT: the most that a heartbeat may ask for as
 *		@dead_ms, at least @dead_ms.  Else 0
 * @features:	ODRP_WIRE_F_*, of those that the hello had.  A session keeps them
 *		when it is taken up again, but for ODRP_WIRE_F_LONG_BEAT and
 *		ODRP_WIRE_F_KEPT and ODRP_WIRE_F_ASKS, which may end then
 * @keys_rkey:	ODRP_WIRE_F_KEYED: opens the session's rkeys as @tt_rkey does its
 *		table: 4 bytes, big endian, for each ODRP_WIRE_KEY_SLOTS slots.
 *		ODRP_WIRE_F_DIRECT: opens its slabs, struct odrp_wire_slab.  Else 0
 * @log_slab:	ODRP_WIRE_F_DIRECT: ODRP_WIRE_LOG_SLAB.  Else 0
 * @resv0:	0
 * @resv2:	0
 */
struct odrp_wire_admin_accept {
	__be32	magic;
	__be16	version;
	__be16	max_queues;
	__be16	depth;
	__u8	log_slab;
	__u8	resv0;
	__be32	features;
	__be64	session;
	__be64	token;
	__be64	nr_slots;
	__be64	beat_raddr;
	__be32	beat_rkey;
	__be32	beat_ms;
	__be32	dead_ms;
	__be32	tt_rkey;
	__be64	lease;
	__be32	keys_rkey;
	__be32	dead_ms_max;
	__u8	resv2[16];
};

/**
 * struct odrp_wire_io_accept - private data of an I/O REP, 16 bytes
 * @magic:	ODRP_WIRE_MAGIC
 * @version:	ODRP_WIRE_VERSION
 * @chain:	of the hello
 * @queue:	of the hello
 * @depth:	requests that may be outstanding on this connection; one more
 *		breaks it
 * @resv0:	0, checked
 * @resv1:	0, checked
 *
 * ODRP_WIRE_F_KEYED: of the connections for loads and mapped stores @depth is how
 * many READs and WRITEs may be outstanding; of READs not more than the connection's
 * initiator depth either.
 */
struct odrp_wire_io_accept {
	__be32	magic;
	__be16	version;
	__u8	chain;
	__u8	resv0;
	__be16	queue;
	__be16	depth;
	__u8	resv1[4];
};

/**
 * struct odrp_wire_req - fixed head of a request, 24 bytes
 * @tt_addr:	slot * 8.  Of a store the upper half that stands here is ignored
 * @id:		returned as the immediate of the answer
 * @raddr_hi:	where a load's page is to be written; ignored otherwise.
 * @raddr_lo:	(A 64-bit address in two halves: id, address and key must lie
 * @rkey:	together as they do in a WQE, so the address is not aligned.)
 *
 * One byte stands behind it, ODRP_WIRE_NEXT_*.  In a store the page follows, and
 * ODRP_WIRE_END_LEN bytes of 0: the upper half of tt_addr, taken from there and from
 * nowhere else, so that a request which ends too soon has an address that no table has.
 */
struct odrp_wire_req {
	__be64	tt_addr;
	__be32	id;
	__be32	raddr_hi;
	__be32	raddr_lo;
	__be32	rkey;
};

/* True if the connection's next request is answered.  Its first request always is. */
#define ODRP_WIRE_NEXT_ANSWERED	0
#define ODRP_WIRE_NEXT_QUIET	1

/* Bytes before a store's page, and behind it. */
#define ODRP_WIRE_REQ_LEN	(sizeof(struct odrp_wire_req) + 1)
#define ODRP_WIRE_END_LEN	4

/**
 * struct odrp_wire_beat - what the CNode writes every beat_ms, 128 bytes
 * @beat:	changes with each write; ODRP_WIRE_F_SIGNED: grows
 * @used:	pages mapped or being mapped, and frees not yet answered
 * @want:	pages it could use (at least @used).  ODRP_WIRE_F_ASKS: those that it needs
 *		until the next heartbeat.  It asks again when they are nearly used up, by
 *		heartbeats in quick succession, and the MNode looks for those every
 *		ODRP_WIRE_LOOK_MS; the MNode takes back what it does not want
 * @lease_held:	the lease it keeps to at this moment: never more than the last
 *		grant's @lease, except that it is never below @used
 * @ctl_raddr:	where the MNode RDMA-WRITEs struct odrp_wire_grant over the
 * @ctl_rkey:	admin connection; rkey 0: not yet
 * @flags:	ODRP_WIRE_BEAT_*
 * @mac:	ODRP_WIRE_F_SIGNED: of all other fields.  Else 0
 * @dead_ms:	how long the MNode is asked to keep the session without a new beat.
 *		The session is kept for the accept's @dead_ms, or for this if it is
 *		more, but for no more than the accept's @dead_ms_max
 * @kept:	ODRP_WIRE_F_KEPT: pages whose contents can still be asked for, at most those
 *		mapped: freed ones are not among them, answered or not. Else 0, ignored
 * @slabs:	ODRP_WIRE_F_DIRECT: SHA-256 of the bitmap of held slabs, which was written
 *		before the heartbeat.  It takes a slab for its own, and sets the bit, only
 *		because of an accept or a grant, and as many as that lets it have; it clears
 *		the bit when no request names the slab, and does not use it again.  Else 0
 * @resv0:	0, ignored
 * @resv1:	0, ignored
 *
 * Without ODRP_WIRE_F_LONG_BEAT only the first ODRP_WIRE_SHORT_BEAT bytes are written,
 * which end with the MAC, and the fields behind them count as 0.
 */
struct odrp_wire_beat {
	__be64	beat;
	__be64	used;
	__be64	want;
	__be64	lease_held;
	__be64	ctl_raddr;
	__be32	ctl_rkey;
	__be32	flags;
	__u8	mac[ODRP_WIRE_MAC];
	__be32	dead_ms;
	__u8	resv0[4];
	__be64	kept;
	__u8	slabs[32];
	__u8	resv1[16];
};

#define ODRP_WIRE_SHORT_BEAT	64

/* How many bytes of a heartbeat are written in a session with these features. */
static inline __u32 odrp_wire_beat_len(__u32 features)
{
	return features & ODRP_WIRE_F_LONG_BEAT ? sizeof(struct odrp_wire_beat) :
						  ODRP_WIRE_SHORT_BEAT;
}

#define ODRP_WIRE_BEAT_BYE	1u	/* leaves: its pages go with the connection */

/**
 * struct odrp_wire_grant - what the MNode writes back when it changes, 32 bytes
 * @epoch:	changes with each write; ODRP_WIRE_F_SIGNED: grows
 * @lease:	pages the CNode may have mapped from now on.  A store that would
 *		need one more fails on the CNode.  They are in the CNode's free
 *		ring before it is told, so that it does not run empty while it
 *		keeps to its lease.
 * @flags:	ODRP_WIRE_GRANT_*
 * @slabs:	ODRP_WIRE_F_DIRECT: all slabs there are have lower numbers.  Else 0
 * @back:	ODRP_WIRE_F_DIRECT: how many slabs there are beyond the lease.  Those that
 *		the CNode holds beyond it, it gives back.  Else 0
 * @heard:	ODRP_WIRE_F_ASKS: the low bits of @beat of the last heartbeat that counted.
 *		The MNode answers each heartbeat that wants more than is granted, if only
 *		with the same lease again: then it has no more.  Else 0
 */
struct odrp_wire_grant {
	__be64	epoch;
	__be64	lease;
	__be32	flags;
	__be32	slabs;
	__be32	back;
	__be32	heard;
};

/**
 * struct odrp_wire_signed_grant - what is written with ODRP_WIRE_F_SIGNED, 48 bytes
 * @grant:	as without
 * @mac:	of that
 */
struct odrp_wire_signed_grant {
	struct odrp_wire_grant grant;
	__u8	mac[ODRP_WIRE_MAC];
};

#define ODRP_WIRE_GRANT_DRAIN	1u	/* operator: please swap off and leave */

/* Why an MNode says no. */
enum odrp_wire_status {
	ODRP_WIRE_OK		= 0,
	ODRP_WIRE_E_MALFORMED	= 1,	/* magic, length, role, reserved bytes */
	ODRP_WIRE_E_VERSION	= 2,
	ODRP_WIRE_E_SESSION	= 3,	/* no such session, or wrong token */
	ODRP_WIRE_E_RANGE	= 4,	/* chain, queue, depth or size out of range */
	ODRP_WIRE_E_BUSY	= 5,	/* that queue is connected already; too many ask */
	ODRP_WIRE_E_NOMEM	= 6,	/* no memory or no pages to lease */
	ODRP_WIRE_E_LIMIT	= 7,	/* sessions; or what one name may have */
	ODRP_WIRE_E_INTERNAL	= 8,
	ODRP_WIRE_E_AUTH	= 9,	/* not proved who asks: auth.h */
	ODRP_WIRE_E_NO_SWAP	= 10,	/* the NIC arms no chains: direct slabs only */
};

/**
 * struct odrp_wire_reject - private data of a REJ, 16 bytes
 * @magic:	ODRP_WIRE_MAGIC
 * @version:	ODRP_WIRE_VERSION
 * @status:	enum odrp_wire_status
 * @detail:	status E_RANGE, E_NOMEM, E_LIMIT: the limit that was exceeded
 */
struct odrp_wire_reject {
	__be32	magic;
	__be16	version;
	__be16	status;
	__be64	detail;
};

/* Layout is ABI: these fail to compile when it moves. */
#ifdef __KERNEL__
#include <linux/build_bug.h>
#define ODRP_WIRE_ASSERT(c) static_assert(c)
#else
#define ODRP_WIRE_ASSERT(c) _Static_assert(c, #c)
#endif
#define ODRP_WIRE_AT(t, f, o) ODRP_WIRE_ASSERT(__builtin_offsetof(struct t, f) == (o))

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_hello) == 56);
ODRP_WIRE_AT(odrp_wire_hello, magic, 0);
ODRP_WIRE_AT(odrp_wire_hello, version, 4);
ODRP_WIRE_AT(odrp_wire_hello, role, 6);
ODRP_WIRE_AT(odrp_wire_hello, chain, 7);
ODRP_WIRE_AT(odrp_wire_hello, queue, 8);
ODRP_WIRE_AT(odrp_wire_hello, depth, 10);
ODRP_WIRE_AT(odrp_wire_hello, features, 12);
ODRP_WIRE_AT(odrp_wire_hello, session, 16);
ODRP_WIRE_AT(odrp_wire_hello, token, 24);
ODRP_WIRE_AT(odrp_wire_hello, nr_slots, 32);
ODRP_WIRE_AT(odrp_wire_hello, page_shift, 40);
ODRP_WIRE_AT(odrp_wire_hello, resv, 41);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_admin_accept) == 96);
ODRP_WIRE_AT(odrp_wire_admin_accept, max_queues, 6);
ODRP_WIRE_AT(odrp_wire_admin_accept, depth, 8);
ODRP_WIRE_AT(odrp_wire_admin_accept, log_slab, 10);
ODRP_WIRE_AT(odrp_wire_admin_accept, features, 12);
ODRP_WIRE_AT(odrp_wire_admin_accept, session, 16);
ODRP_WIRE_AT(odrp_wire_admin_accept, token, 24);
ODRP_WIRE_AT(odrp_wire_admin_accept, nr_slots, 32);
ODRP_WIRE_AT(odrp_wire_admin_accept, beat_raddr, 40);
ODRP_WIRE_AT(odrp_wire_admin_accept, beat_rkey, 48);
ODRP_WIRE_AT(odrp_wire_admin_accept, beat_ms, 52);
ODRP_WIRE_AT(odrp_wire_admin_accept, dead_ms, 56);
ODRP_WIRE_AT(odrp_wire_admin_accept, tt_rkey, 60);
ODRP_WIRE_AT(odrp_wire_admin_accept, lease, 64);
ODRP_WIRE_AT(odrp_wire_admin_accept, keys_rkey, 72);
ODRP_WIRE_AT(odrp_wire_admin_accept, dead_ms_max, 76);
ODRP_WIRE_AT(odrp_wire_admin_accept, resv2, 80);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_slab) == 16);
ODRP_WIRE_AT(odrp_wire_slab, rkey, 8);
ODRP_WIRE_AT(odrp_wire_slab, kind, 12);
ODRP_WIRE_AT(odrp_wire_slab, generation, 14);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_io_accept) == 16);
ODRP_WIRE_AT(odrp_wire_io_accept, chain, 6);
ODRP_WIRE_AT(odrp_wire_io_accept, queue, 8);
ODRP_WIRE_AT(odrp_wire_io_accept, depth, 10);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_req) == 24);
ODRP_WIRE_AT(odrp_wire_req, id, 8);
ODRP_WIRE_AT(odrp_wire_req, raddr_hi, 12);
ODRP_WIRE_AT(odrp_wire_req, rkey, 20);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_beat) == 128);
ODRP_WIRE_AT(odrp_wire_beat, used, 8);
ODRP_WIRE_AT(odrp_wire_beat, want, 16);
ODRP_WIRE_AT(odrp_wire_beat, lease_held, 24);
ODRP_WIRE_AT(odrp_wire_beat, ctl_raddr, 32);
ODRP_WIRE_AT(odrp_wire_beat, ctl_rkey, 40);
ODRP_WIRE_AT(odrp_wire_beat, flags, 44);
ODRP_WIRE_AT(odrp_wire_beat, mac, 48);
ODRP_WIRE_AT(odrp_wire_beat, dead_ms, ODRP_WIRE_SHORT_BEAT);
ODRP_WIRE_AT(odrp_wire_beat, resv0, 68);
ODRP_WIRE_AT(odrp_wire_beat, kept, 72);
ODRP_WIRE_AT(odrp_wire_beat, slabs, 80);
ODRP_WIRE_AT(odrp_wire_beat, resv1, 112);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_grant) == 32);
ODRP_WIRE_AT(odrp_wire_grant, lease, 8);
ODRP_WIRE_AT(odrp_wire_grant, flags, 16);
ODRP_WIRE_AT(odrp_wire_grant, slabs, 20);
ODRP_WIRE_AT(odrp_wire_grant, back, 24);
ODRP_WIRE_AT(odrp_wire_grant, heard, 28);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_signed_grant) == 48);
ODRP_WIRE_AT(odrp_wire_signed_grant, grant, 0);
ODRP_WIRE_AT(odrp_wire_signed_grant, mac, 32);

ODRP_WIRE_ASSERT(sizeof(struct odrp_wire_reject) == 16);
ODRP_WIRE_AT(odrp_wire_reject, status, 6);
ODRP_WIRE_AT(odrp_wire_reject, detail, 8);

#endif /* _ODRP_WIRE_H */
