/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The software NIC: executes mlx5 work queue entries from rings in the caller's
 * memory, and speaks RoCEv2 and the RDMA CM on Ethernet ports.
 *
 * The engine is a state machine that is stepped with a clock from outside: it
 * has no thread, never sleeps and never reads a clock.  Two runners step it: a
 * thread in real time (snic_rt_*) and a discrete-event simulation (vt.h).
 *
 * Locking: the NIC takes no locks.  All calls on one NIC come from one thread,
 * or between snic_rt_lock() and snic_rt_unlock().
 *
 * Functions return 0 or -errno unless their comment says otherwise.  Times are
 * in ns.  IPv4 addresses are __be32; ports and keys are in host byte order.
 */
#ifndef SNIC_H
#define SNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "../core/wqe.h"

struct snic;

/* When the bytes of a WQE are read. */
enum snic_fetch {
	SNIC_FETCH_LATE,	/* at execution */
	SNIC_FETCH_EARLY,	/* when it is enabled: a missing SEND_EN fails each time */
};

/* When the result of a READ or atomic on a loopback queue pair is written to
 * memory. */
enum snic_land {
	SNIC_LAND_AT_ONCE,	/* when the WQE is executed */
	SNIC_LAND_LATE,		/* when the queue cannot go on and all others have run: a missing
				 * WAIT or fence fails each time */
};

struct snic_config {
	uint8_t mac[6];
	__be32 ip;
	uint8_t prefix_len;
	uint32_t mtu;		/* IP MTU of the segment, 576 to 65535 */
	uint64_t seed;		/* of faults and forged packets; of all random numbers if random
				 * is NULL */
	/*
	 * The source of numbers that a peer must not guess: PSNs, connection
	 * IDs, queue pair numbers, keys.  NULL: they come from seed, so that a
	 * test or a run in virtual time is the same each time.
	 */
	uint64_t (*random)(void);
	enum snic_fetch fetch;
	enum snic_land land;
	bool relaxed_index;	/* do not check ctrl.index against the queue */
	bool relaxed_qpn;	/* do not check ctrl.qpn */
};

int snic_new(const struct snic_config *cfg, struct snic **ret_nic);
/* Destroys the NIC and every object in it.  Does not close the ports. */
void snic_free(struct snic *nic);

/* ---- memory ---------------------------------------------------------- */

enum snic_access {
	SNIC_LOCAL_WRITE	= 1 << 0,
	SNIC_REMOTE_READ	= 1 << 1,
	SNIC_REMOTE_WRITE	= 1 << 2,
	SNIC_REMOTE_ATOMIC	= 1 << 3,
};

int snic_pd_alloc(struct snic *nic, uint32_t *ret_pdn);
/* -EBUSY while a key or a QP uses the protection domain. */
int snic_pd_free(struct snic *nic, uint32_t pdn);
/*
 * Registers [va, va + len), which peers and WQEs address as [iova, iova + len).
 * The caller keeps the memory mapped until the key is destroyed.  va and iova
 * agree modulo 8.  Remote writes and atomics need SNIC_LOCAL_WRITE too.
 */
int snic_mkey_reg(struct snic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key);
int snic_mkey_dereg(struct snic *nic, uint32_t key);

/*
 * Creates an indirect key (KSM).  Its addresses are [0, entries * 4096).  Each
 * 4 KB lead to the address and key in one entry; that key belongs to the same
 * PD.  All entries are 0 at first, and access by such an entry fails.  Only UMR
 * WQEs of QPs of this PD write entries, in groups of WRC_KSM_GROUP.
 *
 * access: the rights of peers (SNIC_REMOTE_READ, SNIC_REMOTE_WRITE).  The keys
 * in entries must exist, and have SNIC_LOCAL_WRITE for writing, but need no
 * remote rights: mlx5 checks the remote rights of the indirect key alone
 * (Linux' mlx5 driver maps protected regions for peers by its local_dma_lkey).
 * The key cannot be used as an lkey.
 *
 * variant: the low 8 bits of the key, which software chooses on a ConnectX too.
 * The other 24 bits are random, so a later key may by chance equal one that was
 * destroyed.
 *
 * -EINVAL: entries is 0, not a multiple of WRC_KSM_GROUP or more than
 * SNIC_MAX_KSM; or other bits in access.  -ENOENT, -ENOMEM, -ENFILE.
 * snic_mkey_dereg() destroys the key.
 */
#define SNIC_MAX_KSM	65536u	/* log_max_klm_list_size of current devices */

int snic_mkey_indirect(struct snic *nic, uint32_t pdn, uint32_t entries,
		       unsigned int access, uint8_t variant,
		       uint32_t *ret_key);
/* Reads one entry, for tests and proofs.  -ENOENT: no such key, or it is not
 * indirect.  -ERANGE: no such entry. */
int snic_mkey_entry(struct snic *nic, uint32_t key, uint32_t entry,
		    struct wrc_ksm *ret_entry);

/* ---- completion queues ------------------------------------------------ */

struct snic_cq_attr {
	void *buf;		/* struct wrc_cqe[1 << log_size], caller's */
	uint8_t log_size;
	bool overrun_ignore;	/* else a full CQ moves its QPs to ERR */
};

int snic_cq_create(struct snic *nic, const struct snic_cq_attr *attr,
		   uint32_t *ret_cqn);
/* -EBUSY while a QP uses the CQ. */
int snic_cq_destroy(struct snic *nic, uint32_t cqn);
/* Takes the next CQE, in place of a driver that checks the owner bit and sends
 * SET_CI.  -EAGAIN: there is none.  CQEs that were overwritten are skipped. */
int snic_cq_poll(struct snic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);
/* Number of CQEs ever written, modulo 2^24. */
int snic_cq_count(struct snic *nic, uint32_t cqn, uint32_t *ret_count);

/* ---- queue pairs (RC) ------------------------------------------------- */

enum snic_qp_state {
	SNIC_QP_RESET, SNIC_QP_INIT, SNIC_QP_RTR, SNIC_QP_RTS, SNIC_QP_ERR,
};

struct snic_qp_attr {
	uint32_t pdn, scqn, rcqn;
	void *sq;		/* 64 << log_sq bytes */
	uint8_t log_sq;		/* log2 of the number of BBs, at most 15 */
	void *rq;		/* (1 << log_rq) << log_rq_stride bytes, or NULL */
	uint8_t log_rq;
	uint8_t log_rq_stride;	/* log2 of the bytes of a WQE, 4 to 10 */
	struct wrc_dbr *dbr;
	uint32_t user_index;	/* returned in CQEs, 24 bits */
	unsigned int access;	/* rights of the peer: SNIC_REMOTE_* */
	bool cd_master;		/* may execute WAIT and SEND_EN */
	bool cd_slave_send;	/* SEND_EN may name it: runs up to its index */
};

/* Parameters of an RC connection, set by the CM or by the caller. */
struct snic_qp_conn {
	bool loopback;		/* to dest_qpn on this NIC; no packets */
	uint32_t dest_qpn;
	__be32 dest_ip;		/* the MAC is resolved by ARP */
	uint16_t mtu;		/* path MTU: 256 .. 4096 */
	uint32_t rq_psn, sq_psn;
	uint8_t retry_cnt, rnr_retry;	/* 0 to 7; rnr_retry 7: no limit */
	uint8_t timeout;	/* 4.096 us << timeout, 0: never */
	uint8_t min_rnr_timer;	/* IBA code 0 to 31 */
	uint8_t max_rd_atomic, max_dest_rd_atomic;
};

struct snic_qp_info {
	enum snic_qp_state state;
	uint16_t sq_executed;	/* BBs executed; both counters 16 bits, cyclic */
	uint16_t sq_limit;	/* BBs enabled */
	uint32_t rq_consumed;	/* receive WQEs consumed */
	uint8_t syndrome;	/* cause of ERR: enum wrc_cqe_syndrome, or 0 */
};

int snic_qp_create(struct snic *nic, const struct snic_qp_attr *attr,
		   uint32_t *ret_qpn);
int snic_qp_destroy(struct snic *nic, uint32_t qpn);
/*
 * Moves a QP from RESET to RTS.  -EINVAL: another state, or invalid parameters.
 */
int snic_qp_connect(struct snic *nic, uint32_t qpn,
		    const struct snic_qp_conn *conn);
/* Moves the QP from any state to ERR: stops at a WQE boundary and flushes
 * posted WQEs. */
int snic_qp_error(struct snic *nic, uint32_t qpn);
/* Moves the QP from any state to RESET: counters are 0, the doorbell record is
 * not changed. */
int snic_qp_reset(struct snic *nic, uint32_t qpn);
int snic_qp_query(struct snic *nic, uint32_t qpn, struct snic_qp_info *ret_info);
/* Rings the doorbell: BBs before pi (16 bits, cyclic) may run.  A pi behind the
 * last one has no effect.  -EINVAL in RESET. */
int snic_qp_doorbell(struct snic *nic, uint32_t qpn, uint16_t pi);

/* ---- rate limits -------------------------------------------------------- */

#define SNIC_RATE_MAX	(UINT64_C(1) << 34)	/* bytes a second */

/*
 * Creates a rate limit.  Its queue pairs together move at most bytes_per_s
 * bytes of payload a second on the wire, sent and received; 0: no limit.
 * *ret_rate is never 0.  -ERANGE: more than SNIC_RATE_MAX.  -ENOMEM.
 */
int snic_rate_new(struct snic *nic, uint64_t bytes_per_s, uint32_t *ret_rate);
int snic_rate_set(struct snic *nic, uint32_t rate, uint64_t bytes_per_s);
/* Destroys a rate limit; its queue pairs have no limit then.  -ENOENT. */
int snic_rate_free(struct snic *nic, uint32_t rate);
/* Puts a QP under a rate limit, in any state; rate 0: none.  -ENOENT. */
int snic_qp_limit(struct snic *nic, uint32_t qpn, uint32_t rate);

/* ---- RDMA CM (TCP port space, IPv4) ------------------------------------ */

enum snic_cm_event_type {
	SNIC_CM_REQUEST,	/* new connection; accept or reject it */
	SNIC_CM_ESTABLISHED,
	SNIC_CM_REJECTED,	/* the peer sent REJ before the connection was established */
	SNIC_CM_UNREACHABLE,	/* no answer to REQ, REP or ARP; or the QP was destroyed */
	SNIC_CM_DISCONNECTED,	/* DREQ, DREP or REJ of the peer, or no answer to our DREQ */
};

#define SNIC_CM_PRIV_MAX 224

struct snic_cm_event {
	enum snic_cm_event_type type;
	uint32_t id;		/* connection */
	uint32_t listener;	/* REQUEST: which listener */
	__be32 peer_ip, local_ip;
	uint32_t peer_qpn;	/* REQUEST, ESTABLISHED: number of the peer's QP */
	uint16_t peer_port;
	uint16_t reason;	/* of the peer's REJ (IBA), else 0 */
	uint8_t priv[SNIC_CM_PRIV_MAX];
	uint8_t priv_len;
};

struct snic_cm_param {
	uint32_t qpn;		/* in RESET; the CM moves it to RTS */
	const void *priv;
	uint8_t priv_len;	/* connect: at most 56, accept: at most 196 */
	uint8_t retry_cnt;	/* connect: for both ends.  accept: unused */
	uint8_t rnr_retry;	/* connect, accept: for the peer's QP */
	uint8_t timeout;	/* of the QP, see snic_qp_conn; 0: 16 (0.27 s) */
	uint8_t min_rnr_timer;
};

int snic_cm_listen(struct snic *nic, uint16_t port, uint32_t *ret_listener);
int snic_cm_unlisten(struct snic *nic, uint32_t listener);
int snic_cm_connect(struct snic *nic, __be32 ip, uint16_t port,
		    const struct snic_cm_param *param, uint32_t *ret_id);
int snic_cm_accept(struct snic *nic, uint32_t id,
		   const struct snic_cm_param *param);
/* Rejects a request and releases its id; priv_len at most 148. */
int snic_cm_reject(struct snic *nic, uint32_t id, const void *priv,
		   uint8_t priv_len);
/* Sends DREQ and moves the QP to ERR at once.  -ENOTCONN. */
int snic_cm_disconnect(struct snic *nic, uint32_t id);
/* -EAGAIN: no event. */
int snic_cm_poll(struct snic *nic, struct snic_cm_event *ret_event);
/* Releases the id after DISCONNECTED, REJECTED or UNREACHABLE; or at any time,
 * which sends the peer nothing and moves the QP to ERR. */
int snic_cm_release(struct snic *nic, uint32_t id);

/* ---- ports -------------------------------------------------------------- */

struct snic_udp_addr {
	__be32 ip;
	uint16_t port;
};

/* An Ethernet port.  All ports of a NIC form one segment: the NIC forwards
 * frames between other stations from port to port. */
struct snic_port {
	const struct snic_port_ops *ops;
	int fd;			/* readable when a frame can be received; -1: none */
};

#define SNIC_PORT_PEERS	64

struct snic_port_ops {
	/*
	 * Sends one frame.  0: sent.  1: the port keeps the frame until
	 * flush().  -errno: the NIC drops and counts the frame; -EAGAIN: the
	 * port is full.
	 */
	int (*send)(struct snic_port *port, const struct iovec *iov, int n);
	/* Receives a frame into buf: its length; 0: none; -errno: the port is
	 * broken. */
	int (*recv)(struct snic_port *port, void *buf, size_t len);
	void (*close)(struct snic_port *port);
	/* Optional, instead of recv: the frame stays in the port's memory, and
	 * is valid until the next call. */
	int (*peek)(struct snic_port *port, const void **ret_frame);
	/* Sends the frames that the port keeps.  -EAGAIN: some are left.
	 * Optional for ports that keep none. */
	int (*flush)(struct snic_port *port);
	/*
	 * A port with several peers has both functions, instead of send.
	 * sender() returns the peer whose frame recv() or peek() has just
	 * returned; send_to() sends one frame to one peer.  The NIC knows up to
	 * SNIC_PORT_PEERS peers of such a port, half of them at one IP address;
	 * a peer keeps its place if it was heard in the last 10 s.
	 */
	void (*sender)(struct snic_port *port, struct snic_udp_addr *ret_peer);
	int (*send_to)(struct snic_port *port, const struct snic_udp_addr *peer,
		       const struct iovec *iov, int n);
	/*
	 * Makes fd readable when a frame arrives, until the next peek() or
	 * recv().  True: a frame is there already.  Optional if fd always
	 * works.
	 */
	bool (*doze)(struct snic_port *port);
	/* fd is the same while the port is open, and no epoll instance, so that any
	 * number of threads may wait for it with EPOLLEXCLUSIVE. */
	bool shared;
};

/* Adds a port.  The port must stay open until after snic_free(), which flushes
 * it.  -EINVAL: ops.  -ENOSPC. */
int snic_port_add(struct snic *nic, struct snic_port *port);
/* AF_UNIX datagram sockets, as for QEMU's -netdev dgram. */
int snic_port_dgram_open(const char *local, const char *remote,
			 struct snic_port **ret_port);
/* An AF_UNIX stream socket that listens at path; QEMU's -netdev stream connects
 * to it. */
int snic_port_stream_open(const char *path, struct snic_port **ret_port);
/* A network card of a virtual machine: a socket that listens at path; QEMU's
 * -netdev vhost-user connects to it.  The fastest kind of port. */
int snic_port_vhost_open(const char *path, struct snic_port **ret_port);
/* A packet socket on a host interface (CAP_NET_RAW). */
int snic_port_packet_open(const char *ifname, struct snic_port **ret_port);
/* A UDP socket, with frames behind VXLAN headers: a cable to another host. */
#define SNIC_UDP_VNI	7490

/* local->port 0: the kernel chooses one. */
int snic_port_udp_open(const struct snic_udp_addr *local,
		       const struct snic_udp_addr *remote,
		       struct snic_port **ret_port);
/* The same without a fixed peer: each sender of frames becomes a peer. */
int snic_port_udp_listen(const struct snic_udp_addr *local,
			 struct snic_port **ret_port);
/* Why a port without a fixed peer refuses a sender that has proved its address.  The
 * sender is told by an ARP reply for the address 0.0.0.N. */
enum snic_refusal {
	SNIC_NO_PLACE = 1,	/* there are as many peers as may be, or from its address */
	SNIC_NO_ADDRESS = 2,	/* it has asked for an address, and others have all */
};

/**
 * struct snic_refused - a refusal
 * @peer:	who was refused; heard: the IPv4 address of who has refused this NIC
 */
struct snic_refused {
	struct snic_udp_addr peer;
	enum snic_refusal why;
	bool heard;
};

/* Takes the oldest of the refusals that this NIC has made or heard; only some are kept.
 * False: there is none. */
bool snic_take_refused(struct snic *nic, struct snic_refused *ret_refused);
/*
 * Asks the other end, a port without a fixed peer, for an IPv4 address, before the port
 * is added to a NIC.  The address follows from this socket's address.  -ETIMEDOUT:
 * nobody there gives one; -EUSERS, -EADDRNOTAVAIL: refused, as enum snic_refusal says.
 */
int snic_port_ask_address(struct snic_port *port, unsigned int timeout_ms,
			  __be32 *ret_ip);
/* Two ports connected by queues in memory; for tests and the simulator. */
int snic_port_pair_open(struct snic_port **ret_a, struct snic_port **ret_b);

/* Wire faults, for frames that this NIC receives and sends. */
struct snic_faults {
	double loss, duplicate, reorder, corrupt;	/* probabilities */
	uint64_t delay_ns;				/* at most, uniformly distributed */
};

int snic_set_faults(struct snic *nic, const struct snic_faults *faults);

/*
 * Forged packets: faults of a memory node, not of a wire.  A packet that this
 * NIC sends is changed before its ICRC is computed, so the receiving NIC
 * accepts it.
 */
struct snic_forge {
	/* probabilities, for each packet that has such a field */
	double imm;		/* another immediate */
	double data;		/* eight bytes of the payload change */
	double length;		/* RDMA WRITE: another length, or not that of the payload */
	double target;		/* RDMA WRITE: another address or key */
	double replay;		/* RDMA WRITE: sent a second time, at once or later */
	double late;		/* RDMA WRITE: sent again later, with other data */
	double opcode;		/* RDMA WRITE: another opcode */
	double hello;		/* private data of the CM's REP and REJ change */
	uint64_t after;		/* so many eligible packets come first and are not forged */
	uint64_t most;		/* forge at most so many packets; 0: no limit */
};

int snic_set_forge(struct snic *nic, const struct snic_forge *forge);

/* ---- stepping ------------------------------------------------------------ */

#define SNIC_NEVER UINT64_MAX

/*
 * Receives frames from the ports and executes what can be executed, up to a
 * limit.  *ret_next: when to step again if no frame and no call comes before;
 * now: at once.
 */
int snic_step(struct snic *nic, uint64_t now, uint64_t *ret_next);
/*
 * When the NIC has to be stepped next: its current time for at once, or
 * SNIC_NEVER. Includes calls since the last step, and frames at ports with
 * doze().  Executes nothing.
 */
uint64_t snic_next(struct snic *nic);

enum snic_cost_kind { SNIC_COST_FETCH, SNIC_COST_EXECUTE, SNIC_COST_PACKET };

/**
 * struct snic_work - a piece of work of a send queue
 * @kind:	fetch of a WQE, its execution, or one of its packets
 * @opcode:	opcode of the WQE
 * @bytes:	bytes fetched, moved, or carried in the packet
 * @now:	when the work begins
 * @qpn:	the queue pair
 * @wire:	the WQE is executed on the wire
 * @signal:	the WQE writes a CQE to @scqn
 * @scqn:	the queue pair's send CQ
 * @cqe:	number of that CQE, 24 bits, if the queue pair is a loopback one and
 *		has no other WQE under way
 * @rkey:	key of the remote memory
 * @wait_cqn:	CQ that a WAIT waits for
 * @wait_index:	number of the CQE that a WAIT waits for; the CQE exists
 *
 * @wire and the fields after it are valid for SNIC_COST_EXECUTE alone.
 */
struct snic_work {
	enum snic_cost_kind kind;
	uint8_t opcode;
	uint32_t bytes;
	uint64_t now;
	uint32_t qpn;
	bool wire, signal;
	uint32_t scqn, cqe;
	uint32_t rkey;
	uint32_t wait_cqn, wait_index;
};

/* Returns the cost of the work in virtual time, ns.  NULL (real time): all
 * costs are 0. */
typedef uint64_t (*snic_cost_fn)(void *arg, const struct snic_work *work);
void snic_set_cost(struct snic *nic, snic_cost_fn fn, void *arg);

/* ---- counters -------------------------------------------------------------- */

#define SNIC_COUNTERS(X)						\
	X(rx_frames) X(tx_frames) X(rx_bytes) X(tx_bytes)		\
	X(rx_bad_icrc) X(rx_malformed) X(rx_not_for_us) X(rx_no_qp)	\
	X(rx_cm) X(rx_cm_malformed) X(rx_arp) X(rx_icmp) X(tx_dropped)	\
	X(rx_spoofed) X(rx_no_place) X(rx_unproved) X(rx_bad_checksum)	\
	X(rx_fragments) X(rx_other) X(forwarded)			\
	X(port_errors) X(arp_failed)					\
	X(cm_ignored) X(cm_unknown) X(cm_duplicates) X(cm_retransmits)	\
	X(cm_timeouts) X(cm_stale) X(cm_rejects) X(cm_limited)		\
	X(duplicates) X(out_of_sequence) X(reordered)			\
	X(rx_strange) X(rx_conflicts)					\
	X(retransmits) X(probes) X(timeouts)				\
	X(rnr_naks) X(rnr_received) X(acks) X(naks)			\
	X(wqes) X(nops) X(waits) X(enables) X(reads) X(writes) X(sends)	\
	X(atomics) X(umrs) X(cqes) X(error_cqes) X(recvs)		\
	X(cq_overruns) X(qp_errors)					\
	X(fault_lost) X(fault_duplicated) X(fault_reordered)		\
	X(fault_corrupted) X(fault_delayed) X(fault_forged)

struct snic_stats {
#define SNIC_COUNTER_FIELD(name) uint64_t name;
	SNIC_COUNTERS(SNIC_COUNTER_FIELD)
#undef SNIC_COUNTER_FIELD
};

void snic_get_stats(struct snic *nic, struct snic_stats *ret_stats);

/* ---- real-time runner -------------------------------------------------------- */

/* Fits snic_config's random: 64 bits of getrandom().  Any thread may call it.
 * Blocks only until the kernel's generator is initialised after boot. */
uint64_t snic_rt_random(void);

struct snic_rt;

/*
 * @completed:	called when CQEs have been written since the last call, or NULL.
 *		The thread that holds the NIC calls it before it releases the
 *		NIC.  The function may inspect the NIC, but must neither lock it
 *		nor block
 */
struct snic_rt_config {
	uint32_t spin_us;	/* longest poll for more work (run/spin.h) */
	void (*completed)(void *arg);
	void *arg;
};

int snic_rt_start(struct snic *nic, const struct snic_rt_config *cfg,
		  struct snic_rt **ret_rt);
/* Stops and joins the thread.  The NIC remains. */
void snic_rt_stop(struct snic_rt *rt);
/* Holds the NIC between two steps: the functions above may be called. */
void snic_rt_lock(struct snic_rt *rt);
void snic_rt_unlock(struct snic_rt *rt);
/*
 * snic_qp_doorbell() without the lock.  Does not wait for a step, unless
 * doorbells of 64 other queue pairs are recorded already.  It takes effect
 * before any later call under the lock.  Errors are not reported.
 */
void snic_rt_ring(struct snic_rt *rt, uint32_t qpn, uint16_t pi);
/*
 * The same for a caller that calls snic_rt_push() soon if the result is true: then the
 * NIC's thread, which sleeps, is not woken.
 */
bool snic_rt_note(struct snic_rt *rt, uint32_t qpn, uint16_t pi);
/* Executes recorded doorbells.  Makes a step of the NIC: needs 24 KB of stack. */
void snic_rt_push(struct snic_rt *rt);

/*
 * A helper: a thread of the program that does the NIC's work while it waits, which saves
 * the NIC's thread being woken before it.  Any number of threads may, each with a helper
 * of its own.
 */
struct snic_helper;

enum snic_woken { SNIC_WOKEN_BY_CALLER = 1 << 0, SNIC_WOKEN_BY_FRAME = 1 << 1 };

/*
 * wake_fd: a descriptor that ends the wait when it is readable; it stays open as long as
 * the helper.  -EOPNOTSUPP: the ports cannot be waited for by several threads; -ENOSYS:
 * the kernel is older than 5.11; -ENOMEM, -EMFILE, ...
 */
int snic_helper_new(struct snic_rt *rt, int wake_fd, struct snic_helper **ret_helper);
/* Called before snic_rt_stop(). */
void snic_helper_free(struct snic_helper *helper);
/*
 * Waits until wake_fd is readable, or for a frame, or until CLOCK_MONOTONIC is at `until`
 * ns (SNIC_NEVER: never).  *ret_woken: what there is (enum snic_woken).  A frame has woken
 * nobody else: the caller calls snic_helper_work() at once.  0, also without a reason;
 * -ETIME: the time is up.  Not a cancellation point.
 */
int snic_helper_wait(struct snic_helper *helper, uint64_t until,
		     unsigned int *ret_woken);
/* Makes a step of the NIC: needs 24 KB of stack. */
void snic_helper_work(struct snic_helper *helper);
/* Readable when snic_cm_poll() has something. */
int snic_rt_event_fd(struct snic_rt *rt);
/* CPU time of the NIC's thread. */
uint64_t snic_rt_cpu_ns(struct snic_rt *rt);

#endif /* SNIC_H */
