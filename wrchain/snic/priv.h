/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside the software NIC: the objects, and what its files call of each other.
 *
 *	nic.c		the device, snic_step(), counters
 *	table.c		object tables: number -> object
 *	mem.c		protection domains, memory keys
 *	ksm.c		indirect keys, of pieces that lie anywhere
 *	copy.c		moving bytes without tearing words
 *	cq.c		completion queues and who waits for them
 *	qp.c		queue pair states, completions, flush
 *	sq.c		send queues: scheduling, fetch, what holds a WQE back;
 *			NOP, WAIT, SEND_EN
 *	wqe.c		WQE bytes -> struct snic_wqe, with all bounds checked
 *	umr.c		UMR: writes entries of an indirect key
 *	exec.c		what moves data: to the transport, or on loopback here
 *	land.c		what READs of loopback QPs bring, later
 *	rq.c		receive WQEs: availability, scatter
 *	pkt.c		RoCEv2 headers and ICRC, to and from bytes
 *	rc.c		RC transport: packets in and out, turns to send
 *	rc_req.c	requester: segmentation, windows, retransmission
 *	rc_time.c	requester: time-outs, asking again
 *	rc_comp.c	requester: what comes back
 *	rc_resp.c	responder: order, duplicates, RNR
 *	rc_ahead.c	responder: what came before its turn
 *	rc_ack.c	responder: ACKs and NAKs
 *	net.c		Ethernet, ARP, IPv4, ICMP echo, UDP; segment of ports
 *	cm.c, cm_msg.c	RDMA CM state machine and messages, over QP1
 *	timer.c		timer heap
 *	fault.c		wire faults
 *	port_*.c	ports
 *	vhost.c		port_vhost.c: the device that a monitor sets up
 *	vring.c		port_vhost.c: a virtqueue
 *	guest_mem.c	port_vhost.c: a virtual machine's memory
 *	rt.c, vt.c	runners
 */
#ifndef SNIC_PRIV_H
#define SNIC_PRIV_H

#include "snic.h"

/* ---- timers (timer.c) -------------------------------------------------- */

struct snic_timer {
	uint64_t when;		/* SNIC_NEVER: not armed */
	uint32_t heap_idx;
	void (*fire)(struct snic *nic, struct snic_timer *t);
};

void snic_timer_init(struct snic_timer *t,
		     void (*fire)(struct snic *nic, struct snic_timer *t));
/* Arms or re-arms.  The heap's memory grows when objects are made
 * (snic_timer_reserve), so this cannot fail. */
void snic_timer_set(struct snic *nic, struct snic_timer *t, uint64_t when);
void snic_timer_cancel(struct snic *nic, struct snic_timer *t);
/* Before an object with n timers is created / after it is gone. */
int snic_timer_reserve(struct snic *nic, unsigned int n);
void snic_timer_unreserve(struct snic *nic, unsigned int n);

/* The clock of the step under way. */
uint64_t snic_now(const struct snic *nic);
struct snic_stats *snic_stats(struct snic *nic);
const struct snic_config *snic_config(const struct snic *nic);
/* Seeded, deterministic. */
uint64_t snic_random(struct snic *nic);
/* What a step of work costs in virtual time; 0 without a cost function. */
uint64_t snic_cost(struct snic *nic, enum snic_cost_kind kind, uint8_t opcode,
		   uint32_t bytes);
/* IBA's RNR NAK timer codes, 0 to 31, in ns. */
uint64_t snic_rnr_ns(uint8_t code);

/* ---- memory (mem.c) ------------------------------------------------------ */

#define SNIC_KSM_PIECE	4096u	/* of an indirect key, and no packet is longer */

struct snic_sge {
	uint8_t *ptr;
	uint32_t len;
};

/*
 * Host pointer of [addr, addr + len) under key, or an error:
 * -ENOENT no such key in this PD, -ERANGE out of bounds, -EACCES rights
 * (need: bits of enum snic_access, 0 for local read).  len may be 0.  An indirect
 * key has no bounds here: -ERANGE.
 */
int snic_mem(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
	     uint64_t len, unsigned int need, void **ret_ptr);
/*
 * After -ERANGE, for peers: as much of [addr, addr + len) as is together in memory,
 * of any key; all of it, or to the next 4 KB of an indirect one.  -ERANGE also if
 * that leads nowhere.  It holds for now: an entry may lead elsewhere later.
 */
int snic_mem_piece(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need, struct snic_sge *ret_piece);
/* After -ERANGE: may it as a whole, in pieces?  0, or as that. */
int snic_mem_check(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need);
/* Copies in 8-byte units where both sides are aligned, so that an aligned
 * 8-byte word is never seen torn. */
void snic_copy(void *dst, const void *src, size_t len);

static inline void snic_copy_word(void *dst, const void *src)
{
	__atomic_store_n((uint64_t *)dst,
			 __atomic_load_n((const uint64_t *)src,
					 __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
/* Two words at once: each half of an unaligned load or store is whole when it
 * is aligned by itself. */
typedef uint64_t snic_pair
	__attribute__((vector_size(16), aligned(8), may_alias));

static inline void snic_copy_pair(void *dst, const void *src)
{
	*(volatile snic_pair *)dst = *(const volatile snic_pair *)src;
}
#else
static inline void snic_copy_pair(void *dst, const void *src)
{
	snic_copy_word(dst, src);
	snic_copy_word((uint64_t *)dst + 1, (const uint64_t *)src + 1);
}
#endif

/*
 * One basic block, or what has its length; both sides aligned by 8.  The first
 * words singly: they are looked at next, and come out of the pipeline sooner.
 */
static inline void snic_copy_bb(void *dst, const void *src)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	snic_copy_word(d, s);
	snic_copy_word(d + 8, s + 8);
	snic_copy_pair(d + 16, s + 16);
	snic_copy_pair(d + 32, s + 32);
	snic_copy_pair(d + 48, s + 48);
}

#define SNIC_MAX_SGE 64

/* ---- decoded send WQE (wqe.c) ---------------------------------------------- */

/* In front what the transport's queue looks at again and again, with the first
 * piece of the list. */
struct snic_wqe {
	uint8_t opcode, opmod;
	bool signal;		/* CQE on success too */
	bool fence, solicited;
	uint8_t nr_bb;
	uint8_t nr_sge;
	bool is_inline;
	uint16_t index;		/* running BB number of its first BB */
	__be32 imm;
	uint32_t rkey;
	uint32_t len;		/* sum of the list */
	uint64_t raddr;
	union {
		struct { uint32_t lkey, len; uint64_t addr; } sge[SNIC_MAX_SGE];
		/* Instead of a list: copied, at most a WQE's size. */
		uint8_t inline_data[WRC_WQE_MAX_DS * WRC_WQE_DS];
	};
	uint64_t add_swap, compare;	/* host order, like the next two */
	uint64_t swap_mask, compare_mask;	/* FA masked: compare_mask = boundary */
	uint32_t wait_index, wait_obj;
};

/* Translates the local list of w; need: 0 or SNIC_LOCAL_WRITE. -EACCES. */
int snic_wqe_sges(struct snic *nic, uint32_t pdn, const struct snic_wqe *w,
		  unsigned int need, struct snic_sge *ret_sges);
/* Moves bytes between a buffer and a list at an offset into the list. */
void snic_sges_gather(const struct snic_sge *sges, unsigned int nr,
		      uint64_t off, void *dst, size_t len);
void snic_sges_scatter(const struct snic_sge *sges, unsigned int nr,
		       uint64_t off, const void *src, size_t len);

/* ---- completion queues (cq.c) ------------------------------------------------ */

struct snic_cq;

struct snic_cqe_info {
	uint8_t opcode;		/* enum wrc_cqe_opcode */
	uint8_t syndrome;	/* errors */
	uint8_t send_opcode;	/* requester: WQE opcode */
	uint16_t wqe_counter;
	uint32_t byte_cnt;
	__be32 imm;
	bool solicited;
};

/* ---- queue pairs (qp.c) ------------------------------------------------------- */

struct snic_rc_req;		/* rc_req.c */
struct snic_rc_resp;		/* rc_resp.c */

struct snic_qp {
	struct snic *nic;
	uint32_t qpn;
	enum snic_qp_state state;
	struct snic_qp_attr attr;
	struct snic_qp_conn conn;
	uint8_t syndrome;
	struct snic_cq *scq, *rcq;

	/* send queue: running BB numbers, 16 bits, cyclic */
	uint16_t sq_ci;		/* next BB to fetch */
	uint16_t sq_limit;	/* first BB that may not run */
	bool on_run_queue;
	struct snic_qp *run_next;
	struct snic_cq *waiting_cq;	/* blocked in WAIT on it, or NULL */
	struct snic_qp *wait_next;
	struct snic_timer sq_timer;	/* virtual time: busy until */
	uint8_t *early;		/* SNIC_FETCH_EARLY: copy of the SQ as enabled */
	struct snic_landings *landing;	/* SNIC_LAND_LATE: on its way */
	/* reads and atomics on the wire, for fence; kept by rc_req.c, land.c */
	unsigned int reads_in_flight;

	/* receive queue */
	uint32_t rq_ci;

	/* transport; NULL on loopback QPs */
	struct snic_rc_req *req;
	struct snic_rc_resp *resp;
	void *cm;		/* struct snic_cm_conn of cm.c, or NULL */

	/* send queue: the WQE at sq_ci (sq.c) */
	uint8_t sq_stage;
	uint8_t sq_tries;	/* loopback: RNR or no answer, in a row */
	uint16_t sq_flushed;	/* in ERR: first BB not yet flushed */
	/* as fetched; aligned as rings are, to be copied by words */
	uint8_t sq_raw[WRC_WQE_MAX_DS * WRC_WQE_DS] __attribute__((aligned(8)));
};

struct snic_qp *snic_qp_lookup(struct snic *nic, uint32_t qpn);
/* Puts it at the end of the line of send queues that run (sq.c). */
void snic_sq_line_up(struct snic_qp *qp);

/* Something changed for this send queue: look at it in this step. */
static inline void snic_qp_kick(struct snic_qp *qp)
{
	if (!qp->on_run_queue)
		snic_sq_line_up(qp);
}

/* CQEs; the error kinds move the QP to ERR and flush it.  On a QP that is in
 * ERR already fail_send() does nothing: its WQEs have been flushed. */
void snic_qp_complete_send(struct snic_qp *qp, const struct snic_wqe *w,
			   uint32_t byte_cnt);
void snic_qp_fail_send(struct snic_qp *qp, const struct snic_wqe *w,
		       enum wrc_cqe_syndrome syndrome);
/* A flushed in-flight WQE (transport's queue), while the QP goes to ERR. */
void snic_qp_flush_send(struct snic_qp *qp, const struct snic_wqe *w);
void snic_qp_complete_recv(struct snic_qp *qp, const struct snic_cqe_info *info);
/* ERR without a WQE to blame (responder faults, CM): flushes both queues. */
void snic_qp_fail(struct snic_qp *qp, enum wrc_cqe_syndrome syndrome);

/* ---- receive WQEs (rq.c) -------------------------------------------------------- */

/* A receive WQE taken for the message under way. */
struct snic_recv {
	uint16_t wqe_counter;
	uint32_t len;		/* bytes the list can take */
	uint8_t nr_sge;
	struct snic_sge sges[SNIC_MAX_SGE];
};

/*
 * Takes the next receive WQE (reads the doorbell record).  -EAGAIN: none is
 * posted (RNR).  -EACCES: its list names memory it may not write; the entry is
 * consumed all the same, and ret_recv->wqe_counter is valid.
 * want_sges false: WRITE_IMM, the list is not looked at.
 */
int snic_rq_take(struct snic_qp *qp, bool want_sges, struct snic_recv *ret_recv);

/* ---- execution shared by loopback and responder (exec.c) -------------------------- */

/*
 * An 8-byte atomic at ptr (aligned, checked by the caller): opcode as in the
 * WQE; operands from w; returns the old value as it lay in memory, in host
 * order.
 */
uint64_t snic_atomic(const struct snic_wqe *w, void *ptr);

/* ---- transport: called by qp.c/exec.c, implemented in rc_req.c, rc_resp.c -------- */

/*
 * The transport's state of one NIC: a zeroed member of struct snic, which
 * snic_rc_of() of nic.c hands out.
 */
struct snic_rc {
	struct snic_qp *tx_head, *tx_tail;	/* QPs with packets to send */
	unsigned int nr_tx;
	struct snic_timer pace;			/* the list is not empty */
	bool ready;				/* pace is initialised */
	unsigned int nr_qps;			/* attached */
	struct snic_frame_pool *ahead;		/* rc_ahead.c; or NULL */
	unsigned int nr_ahead;			/* of its frames in use */
};

struct snic_rc *snic_rc_of(struct snic *nic);

/*
 * attach: when a QP is connected without loopback, before RTR; qp->conn is
 * complete.  It reserves its own timers.  detach: the QP goes to RESET or is
 * destroyed; never from inside a call of the transport's.  In ERR the QP stays
 * attached.
 */
int snic_rc_attach(struct snic_qp *qp);
void snic_rc_detach(struct snic_qp *qp);
/*
 * Executes a SEND, WRITE, READ or unmasked atomic WQE on the wire.  0: taken
 * (completes later, in order, by snic_qp_complete_send() for every WQE, which
 * knows itself whether a CQE is due).  -EAGAIN: windows are full, try
 * again after snic_qp_kick().  Other: local error (-EACCES list, -EMSGSIZE
 * length, -EOPNOTSUPP masked atomics on the wire).
 */
int snic_rc_post(struct snic_qp *qp, const struct snic_wqe *w);
/* WQEs posted and not completed. */
unsigned int snic_rc_pending(const struct snic_qp *qp);
/* Something waits for them: have them acknowledged, if that can be hurried. */
void snic_rc_hurry(struct snic_qp *qp);
/*
 * To ERR: hands every in-flight WQE to snic_qp_flush_send(), oldest first, and
 * the receive WQE of a half received message to snic_qp_complete_recv().
 * qp->state is SNIC_QP_ERR already.
 */
void snic_rc_flush(struct snic_qp *qp);

/* ---- packets: net.c calls these with what arrived ----------------------------------- */

/* A RoCEv2 UDP payload that passed ICRC: BTH up to (not with) the ICRC. */
struct snic_rx {
	__be32 src_ip;
	uint16_t src_port;
	uint8_t src_mac[6];
	const uint8_t *bth;
	size_t len;
};

void snic_rc_receive(struct snic_qp *qp, const struct snic_rx *rx);
/* UD packets to QP1. */
void snic_cm_receive(struct snic *nic, const struct snic_rx *rx);

/*
 * Sends a RoCEv2 packet: adds Ethernet, IPv4, UDP and ICRC around
 * iov (BTH, extension headers, payload, pad).  Resolves the address; while it is
 * unknown a few packets per address are kept and sent when it is.
 * src_port: 0xc000 | hash, the flow's entropy.  -EAGAIN: the port is full and
 * the packet was not sent; the caller keeps it and tries again later.  At most
 * SNIC_NET_MAX_IOV pieces; iov[0] holds at least the BTH.
 */
#define SNIC_NET_MAX_IOV 16
int snic_net_send(struct snic *nic, __be32 dst_ip, uint16_t src_port,
		  const struct iovec *iov, int n);
/* Is a next hop known?  For connect(): starts resolution when it is not.
 * -EAGAIN: under way, -EHOSTUNREACH: given up. */
int snic_net_resolve(struct snic *nic, __be32 ip);

/* ---- set-up of the parts that have state of their own ------------------------------- */

struct snic_net;
struct snic_cm;
struct snic_fault_state;

int snic_net_init(struct snic *nic, struct snic_net **ret_net);
void snic_net_fini(struct snic *nic, struct snic_net *net);
/* Takes up to budget frames from the ports; returns how many. */
unsigned int snic_net_poll(struct snic *nic, struct snic_net *net,
			   unsigned int budget);
/* Has the ports send what they keep; at the end of a step. */
void snic_net_flush(struct snic *nic, struct snic_net *net);
/*
 * End of a step: sends what the QPs have to send (requests, responses,
 * coalesced ACKs).  Before the next time-out is computed: it arms timers.
 */
void snic_rc_step_end(struct snic *nic);
int snic_cm_init(struct snic *nic, struct snic_cm **ret_cm);
void snic_cm_fini(struct snic *nic, struct snic_cm *cm);
struct snic_net *snic_net_of(struct snic *nic);
struct snic_cm *snic_cm_of(struct snic *nic);
/* The QP is being destroyed: the connection forgets it. */
void snic_cm_qp_gone(struct snic_qp *qp);
/* For the runners.  Descriptors of the ports, -1 where a port has none: fills
 * at most max, returns how many ports there are. */
unsigned int snic_net_fds(const struct snic_net *net, int *fds,
			  unsigned int max);
/* Before a runner sleeps on them: true if a port has something already. */
bool snic_net_doze(struct snic_net *net);
/* Would snic_cm_poll() return an event? */
bool snic_cm_pending(const struct snic_cm *cm);
/* Called by cm.c: RESET -> RTR (passive, on REP) and RTR -> RTS. */
int snic_qp_to_rtr(struct snic_qp *qp, const struct snic_qp_conn *conn);
int snic_qp_to_rts(struct snic_qp *qp);

#endif /* SNIC_PRIV_H */
