/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The initiator's table of NIC functions: what libfar asks of any back end (mem,
 * sim, soft, verbs). Nothing above this header knows which back end runs.
 *
 * A back end is a struct far_nic_ops. Wrappers (trace, fault) are back ends that
 * hold another one.
 *
 * Errors are 0 or a negative errno. Lengths are in bytes, times in nanoseconds of
 * the back end's own clock (now()), which stands still in sim while a thread
 * computes without declaring a cost.
 *
 * What a back end promises, and nothing more:
 *  - The atomic unit is 8 aligned bytes. A READ or WRITE moves aligned words of 8
 *    bytes in any order; a CAS or FAA of 8 aligned bytes is atomic among the CAS
 *    and FAA of all clients of that memory node.
 *  - Operations of one queue set to one peer execute in the order in which they
 *    were posted, with one exception that verbs have too: a READ, CAS or FAA may
 *    execute late, so that a WRITE behind it lands first, unless that WRITE has
 *    FAR_WR_FENCE.
 *  - Nothing is promised about order between peers or between queue sets.
 *  - When an operation has failed, all later ones of that queue set to that peer
 *    complete with -ECANCELED, and the connection is broken until connect() makes
 *    it anew. Of a failed or cancelled WRITE, CAS or FAA nobody knows whether it
 *    was executed.
 */
#ifndef FAR_NIC_NIC_H
#define FAR_NIC_NIC_H

#include <stddef.h>
#include <stdint.h>

#include <far/space.h>

struct far_nic;
struct far_qset;
struct far_nic_thread;

enum far_nic_op {
	FAR_NIC_READ,		/* local <- remote, len bytes */
	FAR_NIC_WRITE,		/* remote <- local, len bytes */
	FAR_NIC_WRITE_IMM,	/* WRITE that also consumes a RECV of the peer */
	FAR_NIC_CAS,		/* 8 bytes: *local <- old, remote <- arg[1] if old == arg[0] */
	FAR_NIC_FAA,		/* 8 bytes: *local <- old, remote <- old + arg[0] */
	FAR_NIC_SEND,
	FAR_NIC_RECV,
	FAR_NIC_NR_OPS,
};

enum {
	FAR_WR_SIGNALED	= 1 << 0,	/* a far_wc when it is done */
	FAR_WR_INLINE	= 1 << 1,	/* local may be reused when post() returns */
	FAR_WR_FENCE	= 1 << 2,	/* not before all earlier READs and atomics are done */
};

/* One operation. Integers in host order; a CAS compares and stores host order too. */
struct far_wr {
	uint64_t id;		/* comes back in far_wc.id */
	uint64_t remote;	/* offset in the peer's space, below 2^40 */
	void *local;		/* in memory that mr_reg() has registered, but for inline data */
	uint32_t len;		/* 0 to FAR_NIC_MAX_LEN; 8 for CAS and FAA */
	uint32_t lkey;		/* of local */
	uint64_t arg[2];	/* CAS: compare, swap. FAA: addend. WRITE_IMM: immediate */
	uint8_t op;		/* enum far_nic_op */
	uint8_t flags;		/* FAR_WR_* */
};

#define FAR_NIC_MAX_LEN		(1u << 30)
#define FAR_NIC_MAX_INLINE	64u

/*
 * One completion. An operation without FAR_WR_SIGNALED completes silently when it
 * succeeds; when it fails, it has a completion all the same. It keeps its place in
 * the queue until a later operation to the same peer has had a completion, so that
 * a run of them must end with one that is signaled.
 */
struct far_wc {
	uint64_t id;
	int32_t status;		/* 0, or -errno: see the list in far_nic_ops.poll */
	uint32_t syndrome;	/* the back end's own code of a failure, for people; else 0 */
	uint32_t len;		/* bytes moved */
	uint32_t imm;
	uint16_t peer;		/* index given to connect() */
	uint8_t op;
};

/* Where a region's memory lies at the memory node. */
enum far_place { FAR_PLACE_HOST, FAR_PLACE_ONCHIP, FAR_PLACE_SOC };

/*
 * A piece of a space: offsets [start, start + size) of it. Back ends translate an
 * offset into address and key; an operation may not cross regions.
 */
struct far_region {
	uint64_t start;
	uint64_t size;
	uint64_t addr;		/* the memory node's address of start; meaningless in sim */
	uint32_t rkey;
	uint32_t place;		/* enum far_place */
};

#define FAR_NIC_MAX_REGIONS	16

/* What a memory node answered to attach(). Owned by the caller; detach() ends it. */
struct far_peer {
	unsigned nr_regions;
	struct far_region region[FAR_NIC_MAX_REGIONS];
	void *priv;		/* the back end's */
};

enum {
	FAR_ATTACH_READ		= 1 << 0,
	FAR_ATTACH_WRITE	= 1 << 1,	/* WRITE and atomics */
};

/*
 * Which queue pairs a queue set has. Threads that give the same group share their
 * queue pairs and completion queue as threads of one process do that call verbs on
 * the same objects; each still has a queue set of its own, and gets its own
 * completions. FAR_NIC_OWN: nobody shares.
 */
#define FAR_NIC_OWN	(~0u)

enum far_doorbell {
	FAR_DOORBELL_THREAD,	/* one for this queue set (thread domain): the default */
	FAR_DOORBELL_DEFAULT,	/* as the provider hands them out without being asked */
	FAR_DOORBELL_CONTEXT,	/* a device context of its own */
};

struct far_qset_attr {
	unsigned nr_peers;	/* connect() may name 0 to nr_peers - 1 */
	unsigned depth;		/* operations outstanding per peer, at least; 1 to 32768 */
	unsigned group;
	enum far_doorbell doorbell;
};

enum {
	FAR_NIC_CAP_MSG		= 1 << 0,	/* SEND, RECV, WRITE_IMM */
	FAR_NIC_CAP_VIRTUAL	= 1 << 1,	/* the clock is virtual: numbers are a model's */
	FAR_NIC_CAP_SHARED	= 1 << 2,	/* qset_attr.group and doorbell are honoured */
	FAR_NIC_CAP_PEER_DEATH	= 1 << 3,	/* a peer that dies is reported: pending = purged */
	FAR_NIC_CAP_BOUNDS	= 1 << 4,	/* a wrong offset or key is -EFAULT, not silence */
	FAR_NIC_CAP_LASTING	= 1 << 5,	/* what host->create() makes outlives the nic */
	FAR_NIC_CAP_UNCACHED	= 1 << 6,	/* more under way is not slower: no throttling */
};

/* Counters of a queue set, exact; each is a number of events since qset_new(). */
struct far_qset_stats {
	uint64_t doorbells;		/* post() calls that reached the NIC */
	uint64_t ops[FAR_NIC_NR_OPS];	/* operations posted, by kind */
	uint64_t payload;		/* bytes: len of each, 8 or 16 for FAA or CAS + 8 back */
	uint64_t shared_doorbell;	/* 1: it has no doorbell of its own, though it asked */
};

/*
 * The memory node's side, for back ends whose memory nodes are within reach of the
 * calling process: who creates, deletes, lists and checks spaces needs it. Not for
 * the operations of clients. Any thread.
 */
struct far_host_map {
	void *addr;		/* of offset 0 of the space at this node, 64-byte aligned */
	uint64_t size;		/* bytes */
	void *priv;		/* the back end's */
};

struct far_nic_host_ops {
	/*
	 * Memory for space `space` at node `node`, all zero: size bytes, a multiple of
	 * 4096. mode as of a file. Nobody can attach to it before publish(); unmap()
	 * before that takes it back. -EEXIST, -ENOSPC, -EACCES, -EINVAL a name that
	 * cannot be, -EHOSTUNREACH no such node.
	 */
	int (*create)(struct far_nic *nic, const char *node, const char *space,
		      uint64_t size, unsigned mode, struct far_host_map *ret_map);
	/* Makes it known under its name. -EEXIST: another one has the name by now. */
	int (*publish)(struct far_nic *nic, struct far_host_map *map);
	/* Maps one that is there. -ENOENT, -EACCES, -EPROTO: no memory of ours. */
	int (*map)(struct far_nic *nic, const char *node, const char *space,
		   struct far_host_map *ret_map);
	void (*unmap)(struct far_nic *nic, struct far_host_map *map);
	/* Clients that are attached see a dead peer from now on. -ENOENT, -EACCES. */
	int (*remove)(struct far_nic *nic, const char *node, const char *space);
	/* Calls each() per space and node; what it returns but 0 ends it, and is returned. */
	int (*list)(struct far_nic *nic,
		    int (*each)(void *arg, const char *node, const char *space),
		    void *arg);
};

/* A node's part of a space, as the memory node says it. */
struct far_nic_space {
	char name[FAR_SPACE_NAME_MAX + 1];
	uint64_t size, used;
	unsigned clients, structures, nr_nodes;
};

struct far_nic_ops {
	const char *name;	/* "mem", "sim", ... */
	const char *summary;	/* one sentence for "far info" */
	unsigned caps;		/* FAR_NIC_CAP_* */
	const struct far_nic_host_ops *host;	/* NULL: memory nodes are out of reach */

	/*
	 * conf is what follows the first ':' of a --nic argument ("" if nothing does).
	 * -EINVAL for a word that is not known, -ENODEV or -EOPNOTSUPP where the back
	 * end cannot work on this machine. why, of why_len bytes, gets one sentence
	 * that names the word or what is missing; it is "" on success.
	 */
	int (*open)(const char *conf, char *why, size_t why_len,
		    struct far_nic **ret_nic);
	/* All queue sets, registrations and peers are gone before. */
	void (*close)(struct far_nic *nic);

	/* Makes [addr, addr + len) usable as far_wr.local. Any thread. */
	int (*mr_reg)(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey);
	void (*mr_dereg)(struct far_nic *nic, uint32_t lkey);

	/*
	 * Asks memory node `node` (an address in the back end's form; "" is the only
	 * one) for space `space`. -ENOENT: no such space; -EACCES: no rights;
	 * -EHOSTUNREACH: no such node, or it does not answer; -EINVAL: the address has
	 * another form; -ECONNREFUSED: it serves no spaces;
	 * -EPROTONOSUPPORT: it speaks another version. Any thread.
	 */
	int (*attach)(struct far_nic *nic, const char *node, const char *space,
		      unsigned rights, struct far_peer *ret_peer);
	void (*detach)(struct far_nic *nic, struct far_peer *peer);

	/*
	 * What a memory node that is out of reach says of a space: the one named, or,
	 * with NULL, number idx from 0 on. -ENOENT: no such space; else as attach().
	 * Slow; NULL: this back end cannot ask. Any thread.
	 */
	int (*look)(struct far_nic *nic, const char *node, const char *space,
		    unsigned idx, struct far_nic_space *ret_space);
	/* Asks it to delete a space. -EACCES: its settings do not allow that. */
	int (*erase)(struct far_nic *nic, const char *node, const char *space);

	/*
	 * Fences. claim() tells the memory node that client number `client` (below
	 * 65536) is whoever attached this peer, until unclaim(), detach() or its end.
	 * -EBUSY: another one is, and lives. fence() answers 0 once no operation of
	 * that client can reach the memory node any more, and -EBUSY while the back end
	 * cannot make sure of it (mem: while its process lives). Any thread.
	 */
	int (*claim)(struct far_nic *nic, struct far_peer *peer, unsigned client);
	void (*unclaim)(struct far_nic *nic, struct far_peer *peer, unsigned client);
	int (*fence)(struct far_nic *nic, struct far_peer *peer, unsigned client);

	/* A queue set has one caller at a time, its thread; wake() is for anyone. */
	int (*qset_new)(struct far_nic *nic, const struct far_qset_attr *attr,
			struct far_qset **ret_qset);
	/* What is outstanding is forgotten: no completion of it comes any more. */
	void (*qset_free)(struct far_qset *qset);
	/*
	 * Connects peer number idx, or connects it anew after a failure. What was posted
	 * before and is not done by then completes with -ECANCELED. peer stays attached
	 * for as long as the queue set is. -EHOSTDOWN; -ESTALE: the memory node is there
	 * and has ended the attachment, by a fence or with the space.
	 */
	int (*connect)(struct far_qset *qset, unsigned idx, const struct far_peer *peer);

	/*
	 * Posts nr operations (0: nothing happens) to one peer with one doorbell, all or
	 * none.
	 * -EAGAIN: no room now, poll() first. -E2BIG: longer than depth.
	 * -ENOTCONN: the connection is broken or was never made.
	 * -EINVAL: an operation or length that cannot be. -EOPNOTSUPP: no such cap.
	 */
	int (*post)(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
		    unsigned nr);
	/*
	 * Up to max completions; the number of them, or a negative errno of the whole
	 * queue set. far_wc.status: -EFAULT bounds or key, -EACCES rights, -EHOSTDOWN
	 * peer dead, -ETIMEDOUT no answer, -EIO anything else, -ECANCELED behind one
	 * of these.
	 */
	int (*poll)(struct far_qset *qset, struct far_wc *wc, unsigned max);

	uint64_t (*now)(struct far_nic *nic);
	/* Declares that the calling thread computes for ns. Costs nothing but in sim. */
	void (*spend)(struct far_nic *nic, uint64_t ns);
	/*
	 * Waits until a completion may be there, wake() was called since the last
	 * wait() returned, or now() is at least until (UINT64_MAX: never).
	 * 0, or -ETIME. May return 0 without a reason.
	 */
	int (*wait)(struct far_qset *qset, uint64_t until);
	void (*wake)(struct far_qset *qset);

	/*
	 * Starts a thread of this compute node. In sim it is a fiber in virtual time;
	 * elsewhere a thread of the system. run() may use all functions of this table.
	 */
	int (*thread_start)(struct far_nic *nic, void (*run)(void *arg), void *arg,
			    struct far_nic_thread **ret_thread);
	/* Waits for its end. In sim: from a thread of sim, or outside of its run. */
	void (*thread_join)(struct far_nic *nic, struct far_nic_thread *thread);

	void (*stats)(struct far_qset *qset, struct far_qset_stats *ret_stats);
	/*
	 * A failed completion in words: device, queue pair, what it says. Before connect()
	 * of that peer. NULL: there is no more than far_wc has.
	 */
	void (*explain)(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len);
};

/* The first member of each back end's own struct. */
struct far_nic {
	const struct far_nic_ops *ops;
};

struct far_qset {
	struct far_nic *nic;
};

/* All that are built in, ended by NULL, in the order in which "auto" tries them. */
extern const struct far_nic_ops *const far_nic_all[];

/*
 * Opens what a --nic argument names: NAME[:CONF]. -ENOENT: no such back end;
 * else as far_nic_ops.open. why is filled in as there.
 */
int far_nic_open(const char *spec, char *why, size_t why_len,
		 struct far_nic **ret_nic);
/* Whether NAME is a back end, before anything is opened: 0; -ENOENT, and why. */
int far_nic_check(const char *spec, char *why, size_t why_len);

#endif
