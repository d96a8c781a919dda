/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine's interface to the other directories: clock, memory, queue pairs. The other
 * directories are above it: it calls them by struct snic_upper only.
 *
 *	nic.c		clock, counters, the engine's part of a step
 *	table.c		object tables: number -> object
 *	mem.c		protection domains, memory keys
 *	ksm.c		indirect keys
 *	copy.c		copies bytes without tearing aligned words
 *	cq.c		completion queues and the send queues that WAIT for them
 *	qp.c		queue pair states, completions, flush
 *	sq.c		send queues: scheduling, fetch, order; NOP, WAIT, SEND_EN
 *	wqe.c		WQE bytes -> struct snic_wqe, with all bounds checked
 *	umr.c		UMR: writes entries of an indirect key
 *	exec.c		WQEs that move data: to the transport, or loopback
 *	land.c		SNIC_LAND_LATE: delayed results of READs and atomics
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
/* Arms or re-arms the timer.  Cannot fail: snic_timer_reserve() has reserved
 * memory in the heap. */
void snic_timer_set(struct snic *nic, struct snic_timer *t, uint64_t when);
void snic_timer_cancel(struct snic *nic, struct snic_timer *t);
/* Call reserve before an object with n timers is created and unreserve after
 * the object is destroyed.  0 or -ENOMEM. */
int snic_timer_reserve(struct snic *nic, unsigned int n);
void snic_timer_unreserve(struct snic *nic, unsigned int n);

/* The time of the current step, in ns. */
uint64_t snic_now(const struct snic *nic);
struct snic_stats *snic_stats(struct snic *nic);
const struct snic_config *snic_config(const struct snic *nic);
/* Pseudo-random, from the configured seed. */
uint64_t snic_random(struct snic *nic);
/* A value that a peer must not guess: from the configuration's random(),
 * else snic_random(). */
uint64_t snic_secret(struct snic *nic);
/* The wait for an RNR NAK timer code of IBA (0 to 31), in ns. */
uint64_t snic_rnr_ns(uint8_t code);

/* When the next timer is due, or SNIC_NEVER. */
uint64_t snic_timers_next(const struct snic *nic);
/* Sets the clock between two steps, for the calls that follow. */
void snic_set_now(struct snic *nic, uint64_t now);

/* ---- memory (mem.c) ------------------------------------------------------ */

#define SNIC_KSM_PIECE	4096u	/* bytes per entry of an indirect key; the largest path MTU */

struct snic_sge {
	uint8_t *ptr;
	uint32_t len;
};

/*
 * Translates [addr, addr + len) under the key to a host pointer.  need: the
 * rights required, bits of enum snic_access; 0 for a local read.  len may be 0.
 * -ENOENT: this PD has no such key.  -ERANGE: out of bounds; always so for an
 * indirect key.  -EACCES: the key lacks a right.
 */
int snic_mem(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
	     uint64_t len, unsigned int need, void **ret_ptr);
/*
 * Serves a peer's access after snic_mem() has returned -ERANGE: translates the
 * longest prefix of [addr, addr + len) that is contiguous in memory.  That is
 * all of it for a direct key; it ends at the next 4 KB boundary for an indirect
 * key.  Errors as snic_mem(); -ERANGE also if the entry leads to no valid
 * memory.  The pointer is valid for the current access only: a UMR may change
 * the entry later.
 */
int snic_mem_piece(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need, struct snic_sge *ret_piece);
/* Checks that snic_mem_piece() succeeds for all of [addr, addr + len).  0 or
 * its error. */
int snic_mem_check(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need);
/* Other threads never see an aligned 8-byte word torn, on either side, unless the
 * two addresses differ modulo 4. */
void snic_copy(void *dst, const void *src, size_t len);

static inline void snic_copy_word(void *dst, const void *src)
{
	__atomic_store_n((uint64_t *)dst,
			 __atomic_load_n((const uint64_t *)src,
					 __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
/* Copies two words at once.  The CPU keeps each aligned half whole, even if the
 * 16 bytes are unaligned. */
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
 * Copies WRC_WQE_BB bytes; both sides are aligned to 8.  The first two words
 * are copied singly: the caller reads them next, and single stores can be
 * forwarded to these loads sooner.
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

/* ---- decoded send WQEs (wqe.c) --------------------------------------------- */

/* The transport reads the first fields and the first list entry most often:
 * they come first, to share cache lines. */
struct snic_wqe {
	uint8_t opcode, opmod;
	bool signal;		/* write a CQE on success */
	bool fence, solicited;
	uint8_t nr_bb;
	uint8_t nr_sge;
	bool is_inline;
	uint16_t index;		/* running BB number of its first BB */
	__be32 imm;
	uint32_t rkey;
	uint32_t len;		/* total length of the list */
	uint64_t raddr;
	union {
		struct { uint32_t lkey, len; uint64_t addr; } sge[SNIC_MAX_SGE];
		/* Inline data, copied from the WQE; at most one WQE's size. */
		uint8_t inline_data[WRC_WQE_MAX_DS * WRC_WQE_DS];
	};
	uint64_t add_swap, compare;	/* atomics' operands, host order */
	uint64_t swap_mask, compare_mask;	/* host order; masked FA: compare_mask is the
						 * field boundary */
	uint32_t wait_index, wait_obj;
};

/*
 * Translates the WQE's local list; need: 0 or SNIC_LOCAL_WRITE.  0 or -EACCES.
 */
int snic_wqe_sges(struct snic *nic, uint32_t pdn, const struct snic_wqe *w,
		  unsigned int need, struct snic_sge *ret_sges);
/*
 * Copies len bytes between a buffer and a list, from byte off of the list on.
 */
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
	struct snic_cq *waiting_cq;	/* the CQ that the WAIT at sq_ci waits for, or NULL */
	struct snic_qp *wait_next;
	struct snic_timer sq_timer;	/* virtual time: the queue is busy until it fires */
	uint8_t *early;		/* SNIC_FETCH_EARLY: copy of the SQ as enabled */
	struct snic_landings *landing;	/* SNIC_LAND_LATE: results that have not landed */
	/* READs and atomics without their result, for fences; counted by req.c
	 * and land.c */
	unsigned int reads_in_flight;

	/* receive queue */
	uint32_t rq_ci;

	/* transport; NULL on loopback QPs */
	struct snic_rc_req *req;
	struct snic_rc_resp *resp;
	void *cm;		/* struct snic_cm_conn, or NULL */
	struct snic_rate *rate;		/* transport/rate.c; or NULL */
	struct snic_qp *rate_next;
	bool rate_parked;

	/* send queue: the WQE at sq_ci (sq.c) */
	uint8_t sq_stage;
	uint8_t sq_tries;	/* loopback: consecutive tries without a receive WQE or peer */
	uint16_t sq_flushed;	/* in ERR: first BB not yet flushed */
	/*
	 * the fetched WQE; aligned as rings are, so that it is copied in words
	 */
	uint8_t sq_raw[WRC_WQE_MAX_DS * WRC_WQE_DS] __attribute__((aligned(8)));
};

struct snic_qp *snic_qp_lookup(struct snic *nic, uint32_t qpn);
/* Removes the limit from all its queue pairs.  None of them may be parked on
 * it. */
void snic_qps_forget_rate(struct snic *nic, const struct snic_rate *rate);
/* Appends the queue pair to the run queue (sq.c).  It must not be on it. */
void snic_sq_line_up(struct snic_qp *qp);

/* Makes the scheduler look at the head of this send queue again. */
static inline void snic_qp_kick(struct snic_qp *qp)
{
	if (!qp->on_run_queue)
		snic_sq_line_up(qp);
}

/*
 * Write CQEs; those with an error move the QP to ERR and flush it.
 * snic_qp_fail_send() does nothing on a QP in ERR, whose WQEs have been
 * flushed.
 */
void snic_qp_complete_send(struct snic_qp *qp, const struct snic_wqe *w,
			   uint32_t byte_cnt);
void snic_qp_fail_send(struct snic_qp *qp, const struct snic_wqe *w,
		       enum wrc_cqe_syndrome syndrome);
/* Writes the flush CQE of a WQE that the transport had queued; the QP is going
 * to ERR. */
void snic_qp_flush_send(struct snic_qp *qp, const struct snic_wqe *w);
void snic_qp_complete_recv(struct snic_qp *qp, const struct snic_cqe_info *info);
/* Moves the QP to ERR without an error CQE for one WQE (responder faults, CM):
 * flushes both queues. */
void snic_qp_fail(struct snic_qp *qp, enum wrc_cqe_syndrome syndrome);

/* ---- receive WQEs (rq.c) -------------------------------------------------------- */

/* A receive WQE taken for the current message. */
struct snic_recv {
	uint16_t wqe_counter;
	uint32_t len;		/* capacity of the list in bytes */
	uint8_t nr_sge;
	struct snic_sge sges[SNIC_MAX_SGE];
};

/*
 * Takes the next receive WQE; reads the doorbell record.  -EAGAIN: no WQE is
 * posted (RNR).  -EACCES: the list names memory that the QP may not write; the
 * WQE is consumed all the same, and ret_recv->wqe_counter is valid.
 * want_sges: false for WRITE_IMM; the list is not decoded.
 */
int snic_rq_take(struct snic_qp *qp, bool want_sges, struct snic_recv *ret_recv);

/* ---- execution shared by loopback and responder (exec.c) -------------------------- */

/*
 * Executes an 8-byte atomic at ptr; the caller has checked that ptr is aligned.
 * Opcode and operands come from w.  Returns the old value of the word, as the
 * host reads it.
 */
uint64_t snic_atomic(const struct snic_wqe *w, void *ptr);
/* ---- states, for the CM (qp.c) ----------------------------------------------- */

/* RESET -> RTR. */
int snic_qp_to_rtr(struct snic_qp *qp, const struct snic_qp_conn *conn);
/* RTR -> RTS. */
int snic_qp_to_rts(struct snic_qp *qp);

/* ---- rooms above (nic.c) --------------------------------------------------------- */

struct snic_rx;			/* net/net.h */

/**
 * struct snic_upper - functions of transport and CM that the rooms below them call
 *
 * transport/transport.h and cm/cm.h say what each does: they are snic_rc_NAME() and
 * snic_cm_NAME().
 */
struct snic_upper {
	int (*rc_attach)(struct snic_qp *qp);
	void (*rc_detach)(struct snic_qp *qp);
	int (*rc_post)(struct snic_qp *qp, const struct snic_wqe *w);
	unsigned int (*rc_pending)(const struct snic_qp *qp);
	void (*rc_hurry)(struct snic_qp *qp);
	void (*rc_flush)(struct snic_qp *qp);
	void (*rc_receive)(struct snic_qp *qp, const struct snic_rx *rx);
	void (*cm_qp_gone)(struct snic_qp *qp);
	void (*cm_receive)(struct snic *nic, const struct snic_rx *rx);
	void (*cm_data)(struct snic_qp *qp);
};

const struct snic_upper *snic_upper_of(const struct snic *nic);

/* Each room above keeps its part of a device here; the engine does not look into it. */
struct snic_parts {
	struct snic_rc *rc;
	struct snic_net *net;
	struct snic_cm *cm;
};

struct snic_parts *snic_parts(struct snic *nic);

/* ---- for the device (nic.c) --------------------------------------------------------- */

/* -EINVAL: the configuration cannot be; -ENOMEM. */
int snic_engine_new(const struct snic_config *cfg, const struct snic_upper *upper,
		    struct snic **ret_nic);
/* Destroys all queue pairs and CQs, while the rooms above still have their parts. */
void snic_engine_drop_queues(struct snic *nic);
void snic_engine_free(struct snic *nic);
/* The beginning of a step: sets the clock, and fires timers that are due. */
void snic_engine_begin(struct snic *nic, uint64_t now);
/* Runs send queues.  True: work is left. */
bool snic_engine_run(struct snic *nic);
/* True if a send queue or a failed CQ waits for the next step. */
bool snic_engine_is_busy(const struct snic *nic);

#endif /* SNIC_ENGINE_H */
