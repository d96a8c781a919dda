/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine, as the other rooms see it: the device and its clock, memory, queue
 * pairs.
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
 *	timer.c		timer heap
 */
#ifndef SNIC_ENGINE_H
#define SNIC_ENGINE_H

#include "../snic.h"

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
/* What a stranger must not guess: from the configuration's random, if it has one. */
uint64_t snic_secret(struct snic *nic);
/* IBA's RNR NAK timer codes, 0 to 31, in ns. */
uint64_t snic_rnr_ns(uint8_t code);

/* Has a caller left something to do at once, whatever snic_step() has said? */
bool snic_is_busy(const struct snic *nic);
/* When the next timer is due, or SNIC_NEVER. */
uint64_t snic_timers_next(const struct snic *nic);
/* Between two steps: calls that follow take place at this time. */
void snic_set_now(struct snic *nic, uint64_t now);

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

struct snic_rate;		/* transport/rate.c */
struct snic_rc_req;		/* transport/req.c */
struct snic_rc_resp;		/* transport/resp.c */

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
	/* reads and atomics on the wire, for fence; kept by req.c, land.c */
	unsigned int reads_in_flight;

	/* receive queue */
	uint32_t rq_ci;

	/* transport; NULL on loopback QPs */
	struct snic_rc_req *req;
	struct snic_rc_resp *resp;
	void *cm;		/* struct snic_cm_conn of cm.c, or NULL */
	struct snic_rate *rate;		/* transport/rate.c; or NULL */
	struct snic_qp *rate_next;
	bool rate_parked;

	/* send queue: the WQE at sq_ci (sq.c) */
	uint8_t sq_stage;
	uint8_t sq_tries;	/* loopback: RNR or no answer, in a row */
	uint16_t sq_flushed;	/* in ERR: first BB not yet flushed */
	/* as fetched; aligned as rings are, to be copied by words */
	uint8_t sq_raw[WRC_WQE_MAX_DS * WRC_WQE_DS] __attribute__((aligned(8)));
};

struct snic_qp *snic_qp_lookup(struct snic *nic, uint32_t qpn);
/* None of them has that limit any more, on which none waits. */
void snic_qps_forget_rate(struct snic *nic, const struct snic_rate *rate);
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
/* ---- states, for the CM (qp.c) ----------------------------------------------- */

/* RESET -> RTR (passive, on REP). */
int snic_qp_to_rtr(struct snic_qp *qp, const struct snic_qp_conn *conn);
/* RTR -> RTS. */
int snic_qp_to_rts(struct snic_qp *qp);

#endif /* SNIC_ENGINE_H */
