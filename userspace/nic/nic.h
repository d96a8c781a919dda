/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of NIC functions, which every back end of libfar has (mem, sim, soft, verbs).
 * Nothing above this header knows which back end runs.
 *
 * A back end is a struct far_nic_ops. Wrappers (tests/lib/nic/) are back ends around
 * another back end.
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
 *    it anew. It is not known whether a failed or cancelled WRITE, CAS or FAA was
 *    executed, or will be before connect() has made the connection anew. Afterwards
 *    none of them is executed any more.
 */
#ifndef FAR_NIC_NIC_H
#define FAR_NIC_NIC_H

#include <stdbool.h>
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
	FAR_WR_SIGNALED	= 1 << 0,	/* makes a far_wc when the operation is done */
	FAR_WR_INLINE	= 1 << 1,	/* local may be reused when post() returns */
	FAR_WR_FENCE	= 1 << 2,	/* starts when all earlier READs and atomics are done */
};

/* One operation. Integers in host order; a CAS compares and stores host order too. */
struct far_wr {
	uint64_t id;		/* comes back in far_wc.id */
	uint64_t remote;	/* offset in the peer's space, below 2^40 */
	void *local;		/* registered by mr_reg(), unless the data are inline */
	uint32_t len;		/* 0 to FAR_NIC_MAX_LEN; 8 for CAS and FAA */
	uint32_t lkey;		/* of local */
	uint64_t arg[2];	/* CAS: compare, swap. FAA: addend. WRITE_IMM: immediate */
	uint8_t op;		/* enum far_nic_op */
	uint8_t flags;		/* FAR_WR_* */
};

#define FAR_NIC_MAX_LEN		(1u << 30)
#define FAR_NIC_MAX_INLINE	64u

/*
 * One completion. An operation without FAR_WR_SIGNALED has a completion only if it
 * fails. If it succeeds, it keeps its place in the queue until a later operation to the
 * same peer has had a completion: so a series of such operations must end with a signaled
 * one.
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

/* The result of attach(). The caller owns it until detach(). */
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
 * A group of queue sets, for far_qset_attr.group. Queue sets of one group share queue
 * pairs and a completion queue, as threads do that call verbs on the same objects; each
 * queue set still gets its own completions. FAR_NIC_OWN: the queue set shares nothing.
 */
#define FAR_NIC_OWN	(~0u)

enum far_doorbell {
	FAR_DOORBELL_THREAD,	/* one for this queue set (thread domain): the default */
	FAR_DOORBELL_DEFAULT,	/* the provider's own choice for each queue pair */
	FAR_DOORBELL_CONTEXT,	/* one in a device context of the queue set's own */
};

struct far_qset_attr {
	unsigned nr_peers;	/* connect() may name 0 to nr_peers - 1 */
	unsigned depth;		/* operations outstanding per peer, at least; 1 to 32768 */
	unsigned group;
	enum far_doorbell doorbell;
	bool datagrams;		/* without connection: see address() */
	unsigned recvs;		/* of datagrams: RECVs outstanding, at least; 1 to 32768 */
};

enum {
	FAR_NIC_CAP_MSG		= 1 << 0,	/* SEND, and RECV of more than 0 bytes */
	FAR_NIC_CAP_VIRTUAL	= 1 << 1,	/* the clock is virtual: numbers are a model's */
	FAR_NIC_CAP_SHARED	= 1 << 2,	/* far_qset_attr.group, .doorbell have an effect */
	FAR_NIC_CAP_PEER_DEATH	= 1 << 3,	/* operations to a dead peer fail */
	FAR_NIC_CAP_BOUNDS	= 1 << 4,	/* a wrong offset or key is reported: -EFAULT */
	FAR_NIC_CAP_LASTING	= 1 << 5,	/* spaces of host->create() outlive the nic */
	FAR_NIC_CAP_UNCACHED	= 1 << 6,	/* many outstanding operations are not slower:
						 * no throttling */
	FAR_NIC_CAP_LOCKS	= 1 << 7,	/* registered memory is locked (RLIMIT_MEMLOCK) */
	FAR_NIC_CAP_IMM		= 1 << 8,	/* WRITE_IMM, and RECV of 0 bytes for it; both
						 * over connections of far_nic_call_ops */
	FAR_NIC_CAP_DATAGRAMS	= 1 << 10,	/* far_qset_attr.datagrams */
	FAR_NIC_CAP_HEARS	= 1 << 9,	/* RECVs fail when the other program has ended,
						 * also if nothing is posted */
};

/* Counters of a queue set, exact; each is a number of events since qset_new(). */
struct far_qset_stats {
	uint64_t doorbells;		/* post() calls that reached the NIC */
	uint64_t ops[FAR_NIC_NR_OPS];	/* operations posted, by kind */
	uint64_t payload;		/* bytes: len of each; a FAA counts 16, a CAS 24 */
	uint64_t shared_doorbell;	/* 1: the queue set has no doorbell of its own */
};

/*
 * The memory node's side, for back ends whose memory nodes are within reach of the
 * calling process: to create, delete, list and check spaces. Operations of clients do not
 * use it. Any thread.
 */
struct far_host_map {
	void *addr;		/* where offset 0 of the node's part is, 64-byte aligned */
	uint64_t size;		/* bytes */
	void *priv;		/* the back end's */
};

struct far_nic_host_ops {
	/*
	 * Makes memory for space `space` at node `node`, all zero, of size bytes, a
	 * multiple of 4096; mode is that of a file. Nobody can attach to the space before
	 * publish(); unmap() before publish() frees it. -EEXIST, -ENOSPC, -EACCES,
	 * -EINVAL: invalid name or size, -EHOSTUNREACH: no such node, -EPERM: the users
	 * that the mode lets in have no way to the space.
	 */
	int (*create)(struct far_nic *nic, const char *node, const char *space,
		      uint64_t size, unsigned mode, struct far_host_map *ret_map);
	/* Lets clients attach by name. -EEXIST: another space has got the name meanwhile. */
	int (*publish)(struct far_nic *nic, struct far_host_map *map);
	/* Maps a published space. -ENOENT, -EACCES, -EPROTO: it was not made by create(). */
	int (*map)(struct far_nic *nic, const char *node, const char *space,
		   struct far_host_map *ret_map);
	void (*unmap)(struct far_nic *nic, struct far_host_map *map);
	/* Deletes a space, also one that is damaged so that map() refuses it: its peer is
	 * dead for attached clients. -ENOENT, -EACCES. */
	int (*remove)(struct far_nic *nic, const char *node, const char *space);
	/* Calls each() for each space and node. A result other than 0 ends list() and is
	 * returned. */
	int (*list)(struct far_nic *nic,
		    int (*each)(void *arg, const char *node, const char *space),
		    void *arg);
};

/*
 * The other end: programs that call each other. Each of the two offers a window of its
 * memory, and both post READ, WRITE, CAS, FAA and WRITE_IMM to the window of the other
 * over one connection. far_wr.remote is an offset in that window.
 *
 * A WRITE_IMM takes the oldest RECV of the other end, and that RECV completes with the
 * immediate. If the other end has posted none, the WRITE_IMM and all operations behind it
 * wait until it does. When one end dies or hangs up, operations and RECVs of the other end
 * fail with -EHOSTDOWN or -ECANCELED, and the connection stays broken: call again.
 */
#define FAR_HELLO_MAX	48u
#define FAR_CALL_MAX	8u	/* the same for a call, which has less room than its answer */

/* Data that the ends exchange while they connect. */
struct far_hello {
	uint32_t len;			/* at most FAR_HELLO_MAX */
	uint8_t data[FAR_HELLO_MAX];
};

/* Memory that several windows have behind their own. Filled with zeros. */
struct far_common {
	void *addr;		/* 4096-byte aligned */
	uint64_t size;		/* bytes */
	void *priv;		/* the back end's */
};

/*
 * Memory that the other ends of connections may READ and change. Filled with zeros. Behind the
 * size bytes that are the window's own they find its common memory, at offsets from size to
 * span. An operation does not cross from one into the other.
 */
struct far_window {
	void *addr;		/* 4096-byte aligned */
	uint64_t size, span;	/* bytes; span is size if there is no common memory */
	void *priv;		/* the back end's */
};

/*
 * The queue sets of one end. Peer number idx of `send` posts everything but RECVs; peer
 * number recv_idx of `recv` posts the RECVs and has their completions. If both are the
 * same queue set, the numbers are equal, too.
 *
 * @enter:	of call(), which calls it before it uses a queue set, and then does not wait any
 *		more: the caller keeps other threads from them. NULL: there are none
 */
struct far_end {
	struct far_qset *send, *recv;
	unsigned idx, recv_idx;
	void (*enter)(void *arg);
	void *arg;			/* of enter() */
};

struct far_listener;
struct far_link;

/* A call that has been taken and neither accepted nor rejected. */
struct far_caller {
	struct far_hello hello;
	void *priv;		/* the back end's */
};

#define FAR_SERVICE_MAX	32u	/* bytes of a service's name: letters, digits, '-', '_', '.' */

struct far_nic_call_ops {
	/* size: a multiple of 4096, below 2^32. -ENOMEM, -EINVAL. Any thread. */
	int (*common_new)(struct far_nic *nic, uint64_t size, struct far_common *ret_common);
	/* No window has it any more. */
	void (*common_free)(struct far_nic *nic, struct far_common *common);
	/*
	 * size: a multiple of 4096, with common memory at most 2^32. common: NULL: none.
	 * -ENOMEM, -EINVAL. Any thread.
	 */
	int (*window_new)(struct far_nic *nic, uint64_t size, const struct far_common *common,
			  struct far_window *ret_window);
	/* No connection uses the window any more. */
	void (*window_free)(struct far_nic *nic, struct far_window *window);
	/*
	 * Does what mr_reg() does, for operations over connections with this window only.
	 * mr_dereg() undoes it, after hangup() and before window_free(). NULL: mr_reg() is as
	 * good.
	 */
	int (*window_reg)(struct far_nic *nic, const struct far_window *window, void *addr,
			  size_t len, uint32_t *ret_lkey);

	/*
	 * Offers a service. A call rings the queue set's bell: wait() returns. The thread
	 * that uses the queue set calls take() and unlisten(). -EADDRINUSE: the service is
	 * offered already; -EINVAL: an invalid name; -EACCES.
	 */
	int (*listen)(struct far_qset *qset, const char *service,
		      struct far_listener **ret_listener);
	void (*unlisten)(struct far_nic *nic, struct far_listener *listener);
	/* Takes the next call. -EAGAIN: there is none. */
	int (*take)(struct far_nic *nic, struct far_listener *listener,
		    struct far_caller *ret_caller);
	/*
	 * Accepts a call, and frees *caller, also on an error. The thread that calls this
	 * uses both queue sets of `end`. -ECONNRESET: the caller has given up; -EPROTO: what
	 * the caller offers is invalid; -EISCONN: a number of `end` is in use.
	 */
	int (*accept)(struct far_nic *nic, struct far_caller *caller,
		      const struct far_end *end, const struct far_window *window,
		      const struct far_hello *answer, struct far_link **ret_link);
	/* Rejects a call with a negative errno, which call() returns. */
	void (*reject)(struct far_nic *nic, struct far_caller *caller, int status);

	/*
	 * Calls a service at a node ("": the only one), and waits for the answer until
	 * now() is `until`. hello: at most FAR_CALL_MAX bytes. -ENOENT, -ECONNREFUSED: nobody
	 * offers the service; -EHOSTUNREACH: no such node; -ETIMEDOUT; or what the other end
	 * has rejected with.
	 */
	int (*call)(struct far_nic *nic, const char *node, const char *service,
		    const struct far_end *end, const struct far_window *window,
		    const struct far_hello *hello, uint64_t until,
		    struct far_hello *ret_answer, struct far_link **ret_link);
	/*
	 * Ends the connection, and frees its numbers. Operations and RECVs that are not done
	 * have no completion. No thread uses the two queue sets meanwhile.
	 */
	void (*hangup)(struct far_nic *nic, struct far_link *link);
};

/* A node's part of a space, as the memory node reports it. */
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
	const struct far_nic_call_ops *call;	/* NULL: programs cannot call each other */

	/*
	 * conf is what follows the first ':' of a --nic argument ("" if nothing does).
	 * -EINVAL: a word is unknown or invalid; -ENODEV, -EOPNOTSUPP: the back end cannot
	 * work on this machine. On these errors why (why_len bytes) gets one sentence that
	 * names the word or what is missing.
	 */
	int (*open)(const char *conf, char *why, size_t why_len,
		    struct far_nic **ret_nic);
	/* The caller has freed all queue sets, registrations and peers before. */
	void (*close)(struct far_nic *nic);

	/* Makes [addr, addr + len) usable as far_wr.local. Any thread. */
	int (*mr_reg)(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey);
	void (*mr_dereg)(struct far_nic *nic, uint32_t lkey);

	/*
	 * Asks memory node `node` (an address in the back end's form; "" means the only
	 * node) for space `space`. -ENOENT: no such space; -EACCES: no rights;
	 * -EHOSTUNREACH: no such node, or no answer; -EINVAL: the address has another
	 * form; -ECONNREFUSED: the node serves no spaces; -EPROTONOSUPPORT: the node has
	 * another version of the protocol. Any thread.
	 */
	int (*attach)(struct far_nic *nic, const char *node, const char *space,
		      unsigned rights, struct far_peer *ret_peer);
	void (*detach)(struct far_nic *nic, struct far_peer *peer);

	/*
	 * Asks a memory node that is out of reach about a space: the named one, or, if
	 * space is NULL, space number idx, from 0 on. -ENOENT: no such space; other errors
	 * as for attach(). Slow. The pointer is NULL if the back end cannot ask. Any thread.
	 */
	int (*look)(struct far_nic *nic, const char *node, const char *space,
		    unsigned idx, struct far_nic_space *ret_space);
	/* Asks a memory node to delete a space. -EACCES: its settings do not allow that. */
	int (*erase)(struct far_nic *nic, const char *node, const char *space);

	/*
	 * Fences. claim() binds client number `client` (below 65536) to this peer's
	 * attachment, until unclaim(), detach() or the end of the process. -EBUSY: another
	 * live attachment has the number. fence() returns 0 once no operation of that
	 * client can reach the memory node any more, and -EBUSY while the back end cannot
	 * make sure of that (mem: while the client's process lives). Any thread.
	 */
	int (*claim)(struct far_nic *nic, struct far_peer *peer, unsigned client);
	void (*unclaim)(struct far_nic *nic, struct far_peer *peer, unsigned client);
	int (*fence)(struct far_nic *nic, struct far_peer *peer, unsigned client);
	/*
	 * Ends the attachment that has the number, as if it had died; fence() says when that
	 * is done. Nothing happens if the memory node is of another process. The pointer is
	 * NULL if the back end cannot end a client that lives. Any thread.
	 */
	void (*cut)(struct far_nic *nic, struct far_peer *peer, unsigned client);

	/* Only one thread at a time may use a queue set; any thread may call wake(). */
	int (*qset_new)(struct far_nic *nic, const struct far_qset_attr *attr,
			struct far_qset **ret_qset);
	/* Forgets outstanding operations: they have no completion. */
	void (*qset_free)(struct far_qset *qset);
	/*
	 * Connects peer number idx, or connects it anew after a failure. Operations that
	 * are not done by then complete with -ECANCELED. The caller keeps peer attached
	 * until qset_free(). -EHOSTDOWN: the memory node does not answer; -ESTALE: the
	 * memory node has ended the attachment, by a fence or with the space.
	 */
	int (*connect)(struct far_qset *qset, unsigned idx, const struct far_peer *peer);

	/*
	 * Posts nr operations (0: no effect) to one peer with one doorbell, all or none.
	 * -EAGAIN: no room now, poll() first. -E2BIG: nr is above depth.
	 * -ENOTCONN: the connection is broken or was never made.
	 * -EINVAL: an invalid operation or length. -EOPNOTSUPP: no such capability.
	 */
	int (*post)(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
		    unsigned nr);
	/*
	 * Begins what post() has put off; the caller has found qset->put_off. Needs 24 KB
	 * of stack. The pointer is NULL if post() never puts anything off.
	 */
	void (*push)(struct far_qset *qset);
	/*
	 * Takes up to max completions. Returns their number, or a negative errno for the
	 * whole queue set. far_wc.status: -EFAULT: bounds or key; -EACCES: rights;
	 * -EHOSTDOWN: the peer is dead; -ETIMEDOUT: no answer; -EIO: anything else;
	 * -ECANCELED: an earlier operation has failed, or connect() was called.
	 */
	int (*poll)(struct far_qset *qset, struct far_wc *wc, unsigned max);

	uint64_t (*now)(struct far_nic *nic);
	/* Declares that the calling thread computes for ns. Has an effect only in sim. */
	void (*spend)(struct far_nic *nic, uint64_t ns);
	/*
	 * Waits until there may be a completion, wake() has been called since the last
	 * wait() returned, or now() is at least until (UINT64_MAX: never).
	 * 0, or -ETIME: the time is up. May return 0 without a reason. If the clock is
	 * virtual, also until an operation has changed the window of a connection whose
	 * RECVs this queue set posts: nobody can spin there.
	 */
	int (*wait)(struct far_qset *qset, uint64_t until);
	void (*wake)(struct far_qset *qset);
	/*
	 * Both do as wait() does, for a thread that waits for other descriptors, too. fd_arm()
	 * returns a descriptor, above 2, that becomes readable when wait() would return 0.
	 * -EAGAIN: wait() would return now; other errors: why there is no descriptor. After
	 * success the caller polls the descriptor, and calls fd_disarm() before any other
	 * function of the queue set except wake(). The descriptor may be readable without a
	 * reason. qset_free() closes it. The clock of now() is CLOCK_MONOTONIC. Both
	 * pointers are NULL if the back end has no descriptor (sim).
	 */
	int (*fd_arm)(struct far_qset *qset);
	void (*fd_disarm)(struct far_qset *qset);

	/*
	 * Starts a thread of this compute node. In sim it is a fiber in virtual time;
	 * elsewhere a thread of the system. run() may use all functions of this table.
	 */
	int (*thread_start)(struct far_nic *nic, void (*run)(void *arg), void *arg,
			    struct far_nic_thread **ret_thread);
	/* Waits for the thread's end and frees it. In sim: call it from a thread of sim, or
	 * outside of far_sim_run(). */
	void (*thread_join)(struct far_nic *nic, struct far_nic_thread *thread);

	/*
	 * The address of a queue set of datagrams, for far_wr.remote of SENDs to it. Such a
	 * queue set has one number, 0, without peer, connection or group. It posts SENDs,
	 * which complete when they have left, and RECVs, in lists of their own; far_wc.len is
	 * what has come. A message is lost if no RECV is posted at the other end, if the RECV
	 * is too short, or if nobody has the address; a RECV that is too short stays. Other
	 * processes use the address, too. -EMSGSIZE of post(): longer than a packet; -EINVAL:
	 * a RECV's memory is not registered. -EAFNOSUPPORT of qset_new(): no port of the NIC
	 * has an address for datagrams. The pointer is NULL without FAR_NIC_CAP_DATAGRAMS.
	 */
	uint64_t (*address)(struct far_qset *qset);
	void (*stats)(struct far_qset *qset, struct far_qset_stats *ret_stats);
	/*
	 * Describes a failed completion: device, queue pair, error. Call it before the
	 * next connect() of that peer. The pointer is NULL if far_wc has all there is.
	 */
	void (*explain)(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len);
};

/* The first member of each back end's own struct. */
struct far_nic {
	const struct far_nic_ops *ops;
};

/*
 * @pushes:	set by the caller before post(): it will call push(), or wait(), which pushes,
 *		at once after it
 * @put_off:	set by post(), if pushes is set: nothing begins before that
 */
struct far_qset {
	struct far_nic *nic;
	bool pushes, put_off;
};

/* All built-in back ends, ended by NULL, in the order in which "auto" tries them. */
extern const struct far_nic_ops *const far_nic_all[];

/*
 * Opens the back end that a --nic argument names: NAME[:CONF]. -ENOENT: no such back end;
 * other errors, and why, as for far_nic_ops.open. why is "" on success.
 */
int far_nic_open(const char *spec, char *why, size_t why_len,
		 struct far_nic **ret_nic);
/* Checks that NAME is a back end, without opening it: 0, or -ENOENT with a sentence in why. */
int far_nic_check(const char *spec, char *why, size_t why_len);

#endif
