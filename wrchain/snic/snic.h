/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The software NIC: executes mlx5 work queue entries from rings in the
 * caller's memory, and speaks RoCEv2 and the RDMA CM on Ethernet ports.
 *
 * The engine is a state machine stepped with a clock from outside: it has no
 * thread, never sleeps and never reads a clock.  Two runners step it: a thread
 * in real time (snic_rt_*) and a discrete-event simulation (vt.h).
 *
 * Locking: nothing in here locks.  All calls on one NIC come from one thread,
 * or between snic_rt_lock() and snic_rt_unlock().
 *
 * All functions return 0 or -errno unless said otherwise.  Times are in ns.
 * IPv4 addresses are __be32; ports and keys are host order.
 */
#ifndef SNIC_H
#define SNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "../core/wqe.h"

struct snic;

/* When a WQE's bytes are read. */
enum snic_fetch {
	SNIC_FETCH_LATE,	/* at execution */
	SNIC_FETCH_EARLY,	/* when enabled: a missing SEND_EN fails each time */
};

/* When what a loopback queue pair's READ or atomic brings is in memory. */
enum snic_land {
	SNIC_LAND_AT_ONCE,	/* when it is executed */
	SNIC_LAND_LATE,		/* when its queue cannot go on and all others have run:
				 * a missing WAIT or fence fails each time */
};

struct snic_config {
	uint8_t mac[6];
	__be32 ip;
	uint8_t prefix_len;
	uint32_t mtu;		/* IP MTU of the segment, 576 to 65535 */
	uint64_t seed;		/* of faults; and of what follows, if there is no random */
	/*
	 * Where that comes from which a stranger must not guess: PSNs, connection
	 * ids, queue pair numbers, the variants of keys. NULL: from seed, so that
	 * a test, or a run in virtual time, is the same each time.
	 */
	uint64_t (*random)(void);
	enum snic_fetch fetch;
	enum snic_land land;
	bool relaxed_index;	/* do not check ctrl.index against the queue */
	bool relaxed_qpn;	/* do not check ctrl.qpn */
};

int snic_new(const struct snic_config *cfg, struct snic **ret_nic);
/* Destroys every object that still exists.  Ports are the caller's. */
void snic_free(struct snic *nic);

/* ---- memory ---------------------------------------------------------- */

enum snic_access {
	SNIC_LOCAL_WRITE	= 1 << 0,
	SNIC_REMOTE_READ	= 1 << 1,
	SNIC_REMOTE_WRITE	= 1 << 2,
	SNIC_REMOTE_ATOMIC	= 1 << 3,
};

int snic_pd_alloc(struct snic *nic, uint32_t *ret_pdn);
/* -EBUSY while a key or QP uses it. */
int snic_pd_free(struct snic *nic, uint32_t pdn);
/*
 * Addresses [iova, iova + len) under the key mean [va, va + len).  va and iova
 * agree modulo 8; remote writes and atomics need SNIC_LOCAL_WRITE too.
 */
int snic_mkey_reg(struct snic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key);
int snic_mkey_dereg(struct snic *nic, uint32_t key);

/*
 * An indirect key (KSM): addresses [0, entries * 4096) in pieces of 4 KB, each of
 * which leads to where its entry says, under a key of the same PD.  All entries
 * are 0 at first, and an access by one is refused.  UMR WQEs of QPs of that PD
 * write them, a group of WRC_KSM_GROUP at a time; nothing else does.
 *
 * What a peer may do is said here (access: SNIC_REMOTE_READ, SNIC_REMOTE_WRITE);
 * the keys that entries name need to be there, and with SNIC_LOCAL_WRITE for
 * writing, but need no remote rights: mlx5 looks at those of the indirect key
 * alone (Linux' mlx5 driver maps protected regions that are given to peers over
 * its local_dma_lkey).  It is no lkey.
 *
 * variant: the key's low 8 bits, which on a ConnectX whoever makes the key
 * chooses.  The other 24 are random, so a number that is gone may come back, by
 * chance, for all who still know it.
 *
 * -EINVAL: entries is 0, no multiple of WRC_KSM_GROUP, or more than
 * SNIC_MAX_KSM, or other access.  -ENOENT, -ENOMEM, -ENFILE.
 * snic_mkey_dereg() destroys it.
 */
#define SNIC_MAX_KSM	65536u	/* log_max_klm_list_size of today's devices */

int snic_mkey_indirect(struct snic *nic, uint32_t pdn, uint32_t entries,
		       unsigned int access, uint8_t variant,
		       uint32_t *ret_key);
/* Looks at one entry, for tests and proofs.  -ENOENT: no such key, or it is not
 * indirect.  -ERANGE. */
int snic_mkey_entry(struct snic *nic, uint32_t key, uint32_t entry,
		    struct wrc_ksm *ret_entry);

/* ---- completion queues ------------------------------------------------ */

struct snic_cq_attr {
	void *buf;		/* struct wrc_cqe[1 << log_size], caller's */
	uint8_t log_size;
	bool overrun_ignore;	/* else a full CQ goes to error with its QPs */
};

int snic_cq_create(struct snic *nic, const struct snic_cq_attr *attr,
		   uint32_t *ret_cqn);
/* -EBUSY while a QP reports to it. */
int snic_cq_destroy(struct snic *nic, uint32_t cqn);
/*
 * Software's side: takes the next CQE.  -EAGAIN: none.  What a driver does
 * with the owner bit and SET_CI.
 */
int snic_cq_poll(struct snic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);
/* CQEs ever written, 24 bits. */
int snic_cq_count(struct snic *nic, uint32_t cqn, uint32_t *ret_count);

/* ---- queue pairs (RC) ------------------------------------------------- */

enum snic_qp_state {
	SNIC_QP_RESET, SNIC_QP_INIT, SNIC_QP_RTR, SNIC_QP_RTS, SNIC_QP_ERR,
};

struct snic_qp_attr {
	uint32_t pdn, scqn, rcqn;
	void *sq;		/* 64 << log_sq bytes */
	uint8_t log_sq;		/* log2 BBs, at most 15 */
	void *rq;		/* (1 << log_rq) << log_rq_stride bytes, or NULL */
	uint8_t log_rq;
	uint8_t log_rq_stride;	/* log2 bytes, at least 4 */
	struct wrc_dbr *dbr;
	uint32_t user_index;	/* returned in CQEs, 24 bits */
	unsigned int access;	/* what the peer may do: SNIC_REMOTE_* */
	bool cd_master;		/* may execute WAIT and SEND_EN */
	bool cd_slave_send;	/* SEND_EN may name it: runs up to its index */
};

/* How an RC connection is set up; by the CM, or by hand. */
struct snic_qp_conn {
	bool loopback;		/* to dest_qpn on this NIC; no packets */
	uint32_t dest_qpn;
	__be32 dest_ip;		/* MAC is resolved by ARP */
	uint16_t mtu;		/* path MTU: 256 .. 4096 */
	uint32_t rq_psn, sq_psn;
	uint8_t retry_cnt, rnr_retry;	/* 0 to 7; rnr 7: for ever */
	uint8_t timeout;	/* 4.096 us << timeout, 0: never */
	uint8_t min_rnr_timer;	/* IBA code 0 to 31 */
	uint8_t max_rd_atomic, max_dest_rd_atomic;
};

struct snic_qp_info {
	enum snic_qp_state state;
	uint16_t sq_executed;	/* BBs fetched and executed */
	uint16_t sq_limit;	/* BBs enabled */
	uint32_t rq_consumed;	/* receive WQEs consumed */
	uint8_t syndrome;	/* why it is in ERR: enum wrc_cqe_syndrome or 0 */
};

int snic_qp_create(struct snic *nic, const struct snic_qp_attr *attr,
		   uint32_t *ret_qpn);
int snic_qp_destroy(struct snic *nic, uint32_t qpn);
/* RESET -> INIT -> RTR -> RTS in one call; -EINVAL in any other state. */
int snic_qp_connect(struct snic *nic, uint32_t qpn,
		    const struct snic_qp_conn *conn);
/* Any state -> ERR: stops at a WQE boundary; what was posted is flushed. */
int snic_qp_error(struct snic *nic, uint32_t qpn);
/* Any state -> RESET: counters 0, doorbell record untouched. */
int snic_qp_reset(struct snic *nic, uint32_t qpn);
int snic_qp_query(struct snic *nic, uint32_t qpn, struct snic_qp_info *ret_info);
/* The doorbell: BBs before pi (16 bits, cyclic) may run.  -EINVAL in RESET;
 * backwards: no effect. */
int snic_qp_doorbell(struct snic *nic, uint32_t qpn, uint16_t pi);

/* ---- limits of rate ----------------------------------------------------- */

#define SNIC_RATE_MAX	(UINT64_C(1) << 34)	/* bytes a second */

/*
 * Queue pairs of one limit together move so many bytes of payload a second on the wire,
 * sent and received; 0: as many as they can.  A number that is never 0.  -ERANGE: more
 * than SNIC_RATE_MAX.  -ENOMEM.
 */
int snic_rate_new(struct snic *nic, uint64_t bytes_per_s, uint32_t *ret_rate);
int snic_rate_set(struct snic *nic, uint32_t rate, uint64_t bytes_per_s);
/* Its queue pairs have none then. */
int snic_rate_free(struct snic *nic, uint32_t rate);
/* In any state; rate 0: none. */
int snic_qp_limit(struct snic *nic, uint32_t qpn, uint32_t rate);

/* ---- RDMA CM (TCP port space, IPv4) ------------------------------------ */

enum snic_cm_event_type {
	SNIC_CM_REQUEST,	/* new connection id; accept or reject it */
	SNIC_CM_ESTABLISHED,
	SNIC_CM_REJECTED,	/* our connect() was refused; priv, reason */
	SNIC_CM_UNREACHABLE,	/* no answer to REQ, REP or address resolution */
	SNIC_CM_DISCONNECTED,	/* peer's DREQ, or ours answered or timed out */
};

#define SNIC_CM_PRIV_MAX 224

struct snic_cm_event {
	enum snic_cm_event_type type;
	uint32_t id;		/* connection */
	uint32_t listener;	/* REQUEST: which listener */
	__be32 peer_ip, local_ip;
	uint32_t peer_qpn;	/* REQUEST, ESTABLISHED: the peer's queue pair */
	uint16_t peer_port;
	uint16_t reason;	/* REJECTED: IBA REJ reason */
	uint8_t priv[SNIC_CM_PRIV_MAX];
	uint8_t priv_len;
};

struct snic_cm_param {
	uint32_t qpn;		/* in RESET; the CM moves it to RTS */
	const void *priv;
	uint8_t priv_len;	/* connect at most 56, accept at most 196 */
	uint8_t retry_cnt;	/* connect: for both ends.  accept: unused */
	uint8_t rnr_retry;	/* what the peer's QP is to use */
	uint8_t timeout;	/* of the QP, see snic_qp_conn; 0: 16 (0.27 s) */
	uint8_t min_rnr_timer;
};

int snic_cm_listen(struct snic *nic, uint16_t port, uint32_t *ret_listener);
int snic_cm_unlisten(struct snic *nic, uint32_t listener);
int snic_cm_connect(struct snic *nic, __be32 ip, uint16_t port,
		    const struct snic_cm_param *param, uint32_t *ret_id);
int snic_cm_accept(struct snic *nic, uint32_t id,
		   const struct snic_cm_param *param);
/* priv_len at most 148.  Releases the id. */
int snic_cm_reject(struct snic *nic, uint32_t id, const void *priv,
		   uint8_t priv_len);
/* Sends DREQ and moves the QP to ERR at once. */
int snic_cm_disconnect(struct snic *nic, uint32_t id);
/* -EAGAIN: no event. */
int snic_cm_poll(struct snic *nic, struct snic_cm_event *ret_event);
/* Forgets a connection after DISCONNECTED, REJECTED or UNREACHABLE (or at any
 * time: then without a word to the peer).  The QP stays, in ERR. */
int snic_cm_release(struct snic *nic, uint32_t id);

/* ---- ports -------------------------------------------------------------- */

struct snic_udp_addr {
	__be32 ip;
	uint16_t port;
};

/*
 * An Ethernet port.  All ports of a NIC are one segment: frames between other
 * stations are forwarded from port to port.
 */
struct snic_port {
	const struct snic_port_ops *ops;
	int fd;			/* readable when frames wait; -1: none */
};

#define SNIC_PORT_PEERS	64

struct snic_port_ops {
	/* One frame; -EAGAIN: full, it is dropped and counted.  1: the port
	 * keeps it, flush() has to be called. */
	int (*send)(struct snic_port *port, const struct iovec *iov, int n);
	/* Length of the next frame, 0: none, -errno: the port is broken. */
	int (*recv)(struct snic_port *port, void *buf, size_t len);
	void (*close)(struct snic_port *port);
	/* Optional, instead of recv: the frame stays in the port's memory, and
	 * valid until the next call. */
	int (*peek)(struct snic_port *port, const void **ret_frame);
	/* Sends what the port has kept.  -EAGAIN: not all of it.  Optional for
	 * ports that keep nothing. */
	int (*flush)(struct snic_port *port);
	/*
	 * Both or none; with them, instead of send: there are several at the other
	 * end.  Who has sent the frame that recv() or peek() has just returned; and
	 * one frame to one of them.  The NIC knows up to SNIC_PORT_PEERS of each such
	 * port, half of them at one address; whoever was heard in the last 10 s stays.
	 */
	void (*sender)(struct snic_port *port, struct snic_udp_addr *ret_peer);
	int (*send_to)(struct snic_port *port, const struct snic_udp_addr *peer,
		       const struct iovec *iov, int n);
	/* From here on fd tells of frames, until the next peek() or recv().
	 * True: there is something already.  Optional if fd always tells. */
	bool (*doze)(struct snic_port *port);
};

/* The port must stay open until after snic_free(), which flushes it. */
int snic_port_add(struct snic *nic, struct snic_port *port);
/* AF_UNIX datagram sockets, as of QEMU's -netdev dgram. */
int snic_port_dgram_open(const char *local, const char *remote,
			 struct snic_port **ret_port);
/* An AF_UNIX stream socket that listens at path, as QEMU's -netdev stream
 * connects to. */
int snic_port_stream_open(const char *path, struct snic_port **ret_port);
/* A virtual machine's network card: a socket that listens at path, as QEMU's
 * -netdev vhost-user connects to.  The fastest of the ports. */
int snic_port_vhost_open(const char *path, struct snic_port **ret_port);
/* A packet socket on a host interface (CAP_NET_RAW). */
int snic_port_packet_open(const char *ifname, struct snic_port **ret_port);
/* A UDP socket, with frames behind VXLAN headers: a cable to another host's. */
#define SNIC_UDP_VNI	7490

/* local->port 0: the kernel chooses one. */
int snic_port_udp_open(const struct snic_udp_addr *local,
		       const struct snic_udp_addr *remote,
		       struct snic_port **ret_port);
/* The same without another end: whoever sends frames to it is at one. */
int snic_port_udp_listen(const struct snic_udp_addr *local,
			 struct snic_port **ret_port);
/* Two ports joined by a queue in memory; for tests and the simulator. */
int snic_port_pair_open(struct snic_port **ret_a, struct snic_port **ret_b);

/* Wire faults, on frames that this NIC receives and sends. */
struct snic_faults {
	double loss, duplicate, reorder, corrupt;	/* probabilities */
	uint64_t delay_ns;				/* at most, uniformly */
};

int snic_set_faults(struct snic *nic, const struct snic_faults *faults);

/*
 * Forged packets in what this NIC sends: a memory node's faults, no wire's.  The packet
 * is changed before its ICRC is computed, and the receiving NIC accepts it.
 */
struct snic_forge {
	/* probabilities, for each packet that has such a thing */
	double imm;		/* another immediate */
	double data;		/* eight bytes of the payload are others */
	double length;		/* RDMA WRITE: shorter, longer, not as it says */
	double target;		/* RDMA WRITE: another address or key */
	double replay;		/* RDMA WRITE: a second time, at once or later */
	double late;		/* the same, some time after, with other data */
	double opcode;		/* RDMA WRITE: something else instead */
	double hello;		/* private data of the CM's REP and REJ */
	uint64_t after;		/* as many eligible packets first are as they are */
	uint64_t most;		/* none after so many forged packets; 0: no limit */
};

int snic_set_forge(struct snic *nic, const struct snic_forge *forge);

/* ---- stepping ------------------------------------------------------------ */

#define SNIC_NEVER UINT64_MAX

/* Receives what waits at the ports and executes what can be executed.  *ret_next: when
 * to be called again if nothing arrives before. */
int snic_step(struct snic *nic, uint64_t now, uint64_t *ret_next);
/*
 * When it has something to do, as of now, without doing it: the time of its last
 * step for at once.  Calls since then count; frames that wait count at ports that
 * have doze().
 */
uint64_t snic_next(struct snic *nic);

enum snic_cost_kind { SNIC_COST_FETCH, SNIC_COST_EXECUTE, SNIC_COST_PACKET };

/**
 * struct snic_work - a piece of work, of a send queue
 * @kind:	the fetch of a WQE, its execution, or a packet of it
 * @opcode:	of the WQE
 * @bytes:	that are fetched, that it moves, that the packet carries
 * @now:	when it begins
 * @qpn:	the queue pair
 * @wire:	what follows is of SNIC_COST_EXECUTE alone.  It leaves this NIC
 * @signal:	it will make a CQE in @scqn; on a loopback queue pair that has no
 *		others under way that is the one with number @cqe, 24 bits
 * @rkey:	of what it does to memory
 * @wait_cqn, @wait_index: what a WAIT waits for, which is there
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

/* What it costs in virtual time, ns; NULL (real time): all costs 0. */
typedef uint64_t (*snic_cost_fn)(void *arg, const struct snic_work *work);
void snic_set_cost(struct snic *nic, snic_cost_fn fn, void *arg);

/* ---- counters -------------------------------------------------------------- */

#define SNIC_COUNTERS(X)						\
	X(rx_frames) X(tx_frames) X(rx_bytes) X(tx_bytes)		\
	X(rx_bad_icrc) X(rx_malformed) X(rx_not_for_us) X(rx_no_qp)	\
	X(rx_cm) X(rx_cm_malformed) X(rx_arp) X(rx_icmp) X(tx_dropped)	\
	X(rx_spoofed) X(rx_no_place) X(rx_bad_checksum) X(rx_fragments)	\
	X(rx_other) X(forwarded)					\
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

/*
 * For snic_config's random: 64 bits of getrandom(). Any thread. Waits at most once,
 * until a machine that has just started has collected enough.
 */
uint64_t snic_rt_random(void);

struct snic_rt;

/*
 * @completed:	called when CQEs have been written since the last time, or NULL. By
 *		whoever holds the NIC, before he gives it back: it may look at the
 *		NIC, and neither lock it nor wait
 */
struct snic_rt_config {
	uint32_t spin_us;	/* keep polling that long after the last work */
	void (*completed)(void *arg);
	void *arg;
};

int snic_rt_start(struct snic *nic, const struct snic_rt_config *cfg,
		  struct snic_rt **ret_rt);
/* Joins the thread. */
void snic_rt_stop(struct snic_rt *rt);
/* The NIC between two steps: the calls above are allowed. */
void snic_rt_lock(struct snic_rt *rt);
void snic_rt_unlock(struct snic_rt *rt);
/*
 * snic_qp_doorbell() from outside of lock and unlock: waits for no step, as a store to
 * a card's register does not.  It counts before any later call that locks; what it has
 * to say against the queue pair nobody hears.
 */
void snic_rt_ring(struct snic_rt *rt, uint32_t qpn, uint16_t pi);
/* Readable when snic_cm_poll() has something. */
int snic_rt_event_fd(struct snic_rt *rt);
/* CPU time of the thread: the software NIC's, never the agent's. */
uint64_t snic_rt_cpu_ns(struct snic_rt *rt);

#endif /* SNIC_H */
