/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to the engine: structures that the other directories do not use. */
#ifndef SNIC_ENGINE_PRIV_H
#define SNIC_ENGINE_PRIV_H

#include <errno.h>
#include "engine.h"

/* ---- object tables (table.c) ------------------------------------------- */

/* Numbers carry a generation, so that the number of a destroyed object does not
 * find the object that reuses its slot. */
struct snic_table_kind {
	uint8_t slot_shift, slot_bits;
	uint8_t gen_shift, gen_bits;
	uint32_t first_slot;
	bool random_gen;	/* random generations, not consecutive ones */
};

struct snic_table_slot {
	void *obj;		/* NULL: free */
	uint32_t nr;		/* number of obj, or of the slot's last object */
	uint32_t next_free;
};

struct snic_table {
	const struct snic_table_kind *kind;
	struct snic_table_slot *slots;
	uint32_t nr_slots, cap;
	uint32_t nr_free, free_head, free_tail;
};

void snic_table_init(struct snic_table *t, const struct snic_table_kind *kind);
void snic_table_fini(struct snic_table *t);
/* 0, -ENOMEM, or -ENFILE: all numbers are in use. */
int snic_table_add(struct snic *nic, struct snic_table *t, void *obj,
		   uint32_t *ret_nr);
void snic_table_del(struct snic_table *t, uint32_t nr);
/* Iterates over objects in slot order; *pos starts at 0.  NULL: end. */
void *snic_table_next(const struct snic_table *t, uint32_t *pos);

/*
 * Layouts of numbers.  Constants and not struct snic_table_kind, for speed:
 * WQEs name objects all the time.
 *
 * PDs, CQs, QPs (table.c): 24 bits, the slot in the low bits, the generation
 * above.  Keys (keys.c) are laid out as a ConnectX's: 24 bits index, 8 bits
 * variant.  Neither slots nor key indices are below SNIC_FIRST_SLOT, so no key
 * equals WRC_WQE_END_LKEY.
 */
#define SNIC_FIRST_SLOT		0x100
#define SNIC_KEY_VARIANT	0xffu
#define SNIC_OBJECT_BITS	16
#define SNIC_KEY_SHIFT		8

static inline void *snic_table_at(const struct snic_table *t, uint32_t nr,
				  uint32_t slot)
{
	if (slot >= t->nr_slots || t->slots[slot].nr != nr)
		return NULL;
	return t->slots[slot].obj;
}

static inline void *snic_object_get(const struct snic_table *t, uint32_t nr)
{
	return snic_table_at(t, nr, (nr & ((1u << SNIC_OBJECT_BITS) - 1)) -
				    SNIC_FIRST_SLOT);
}

struct snic_keys_entry {
	void *obj;		/* NULL: free */
	uint32_t nr;
};

/* An open hash table.  All zero: empty.  len: a power of two, or 0. */
struct snic_keys {
	struct snic_keys_entry *at;
	uint32_t len, nr;
};

void snic_keys_fini(struct snic_keys *t);
/* variant: the key's low 8 bits, or -1 for random ones.  0, -ENOMEM, or
 * -ENFILE: too many keys. */
int snic_keys_add(struct snic *nic, struct snic_keys *t, void *obj, int variant,
		  uint32_t *ret_nr);
/* The key must exist. */
void snic_keys_del(struct snic_keys *t, uint32_t nr);
/* Iterates over keys in any order; *pos starts at 0.  NULL: end. */
void *snic_keys_next(const struct snic_keys *t, uint32_t *pos);

static inline uint32_t snic_keys_home(const struct snic_keys *t, uint32_t nr)
{
	return (nr >> SNIC_KEY_SHIFT) & (t->len - 1);
}

static inline void *snic_key_get(const struct snic_keys *t, uint32_t nr)
{
	uint32_t i;

	if (!t->nr)
		return NULL;
	i = snic_keys_home(t, nr);
	while (t->at[i].obj && t->at[i].nr != nr)
		i = (i + 1) & (t->len - 1);
	return t->at[i].obj;
}

/* ---- the device -------------------------------------------------------- */

struct snic_pd {
	uint32_t users;		/* keys and QPs */
};

struct snic {
	struct snic_config cfg;
	uint64_t now;
	uint64_t rng;
	struct snic_stats stats;

	struct snic_table pds, cqs, qps;
	struct snic_keys mkeys;

	/* timer heap */
	struct snic_timer **heap;
	uint32_t heap_len, heap_cap, heap_reserved;

	/* run queue: send queues to look at, first in, first out */
	struct snic_qp *run_head, *run_tail;
	/* CQs that have overrun and whose QPs are not in ERR yet */
	struct snic_cq *failed_cqs;

	snic_cost_fn cost;
	void *cost_arg;

	const struct snic_upper *upper;
	struct snic_parts parts;

	struct snic_wqe wqe;	/* the WQE under execution */
};

void snic_mem_fini(struct snic *nic);

/* ---- timers ------------------------------------------------------------ */

/* Fires at most budget timers that are due. */
void snic_timers_run(struct snic *nic, unsigned int budget);

/* ---- memory ------------------------------------------------------------ */

struct snic_pd *snic_pd_lookup(struct snic *nic, uint32_t pdn);

struct snic_mkey {
	uint32_t pdn;
	unsigned int access;
	uint64_t iova, len;
	uint8_t *va;
};

/*
 * An indirect key.  The range of its struct snic_mkey is empty (len 0); no
 * direct key has an empty range.  So snic_mem() and the translation of local
 * lists return -ERANGE without an extra check, and an indirect key is never
 * part of a local list.  Code that serves a peer calls snic_mem_piece() then.
 */
struct snic_ksm {
	struct snic_mkey mkey;	/* access: the peer's rights */
	uint32_t nr;
	bool free;		/* the key's free bit (WRC_UMR_OPENS): every access fails */
	struct wrc_ksm entry[];
};

/* NULL: this PD has no such key, or the key is not indirect. */
struct snic_ksm *snic_ksm_find(struct snic *nic, uint32_t pdn, uint32_t key);
/* The lookup of snic_mem() without its check: most entries of a list have the
 * same key.  NULL: this PD has no such key. */
static inline const struct snic_mkey *snic_mkey_find(struct snic *nic,
						     uint32_t pdn, uint32_t key)
{
	const struct snic_mkey *mk = snic_key_get(&nic->mkeys, key);

	return mk && mk->pdn == pdn ? mk : NULL;
}

/*
 * Is [addr, addr + n) within [iova, iova + len)?  *ret_off: the offset from
 * iova.  iova + len does not wrap, so the offset of an address below iova
 * exceeds len.
 */
static inline bool snic_in_range(uint64_t iova, uint64_t len, uint64_t addr,
				 uint64_t n, uint64_t *ret_off)
{
	*ret_off = addr - iova;
	return *ret_off <= len && n <= len - *ret_off;
}

static inline int snic_mkey_range(const struct snic_mkey *mk, uint64_t addr,
				  uint64_t len, unsigned int need,
				  void **ret_ptr)
{
	uint64_t off;

	if (!mk)
		return -ENOENT;
	if (!snic_in_range(mk->iova, mk->len, addr, len, &off))
		return -ERANGE;
	if ((mk->access & need) != need)
		return -EACCES;
	*ret_ptr = mk->va + off;
	return 0;
}

/* ---- completion queues ------------------------------------------------- */

struct snic_cq {
	struct snic *nic;
	uint32_t cqn;
	struct snic_cq_attr attr;
	uint32_t count;		/* CQEs written, 24 bits */
	uint32_t ci;		/* CQEs taken by snic_cq_poll(), 24 bits */
	uint32_t users;		/* send and receive queues that use this CQ */
	bool failed;		/* has overrun */
	struct snic_cq *next_failed;
	struct snic_qp *waiters;	/* send queues blocked in WAIT */
};

#define SNIC_CQ_MASK WRC_WQE_WAIT_MASK

static inline struct snic_cq *snic_cq_lookup(struct snic *nic, uint32_t cqn)
{
	return snic_object_get(&nic->cqs, cqn);
}

/* Writes a CQE for qp; wakes the send queues that wait for this CQ. */
void snic_cq_push(struct snic_cq *cq, const struct snic_qp *qp,
		  const struct snic_cqe_info *info);
/* Moves the QPs of CQs that have overrun to ERR. */
void snic_cq_spread_errors(struct snic *nic);

/* Has CQE number index been written? */
static inline bool snic_cq_reached(const struct snic_cq *cq, uint32_t index)
{
	return ((cq->count - 1 - index) & SNIC_CQ_MASK) < 0x800000;
}

void snic_cq_add_waiter(struct snic_cq *cq, struct snic_qp *qp);
void snic_cq_del_waiter(struct snic_qp *qp);

/* ---- queue pairs -------------------------------------------------------- */

/* snic_qp_lookup(), inline for the engine. */
static inline struct snic_qp *snic_qp_find(struct snic *nic, uint32_t qpn)
{
	return snic_object_get(&nic->qps, qpn);
}

/* ---- send queues (sq.c) ------------------------------------------------ */

/* How far the WQE at the head of a send queue has got. */
enum snic_sq_stage {
	SNIC_SQ_IDLE,		/* nothing */
	SNIC_SQ_FETCHING,	/* its fetch is charged, its bytes are not read */
	SNIC_SQ_FETCHED,	/* its bytes are in sq_raw */
	SNIC_SQ_EXECUTING,	/* it may start; its execution is charged */
};

/* Lets the BBs before limit run (16 bits, cyclic; a limit behind the current
 * one has no effect). */
void snic_sq_enable(struct snic_qp *qp, uint16_t limit);
/*
 * Runs at most budget WQEs of the queues on the run queue.  True: work is left.
 */
bool snic_sq_run_queue(struct snic *nic, unsigned int budget);
/* Runs one WQE of this queue out of order of the run queue, for tests that try
 * all orders.  True: it ran. */
bool snic_sq_run_qp(struct snic_qp *qp);
/* Removes the QP from the run queue and from its CQ's waiters; cancels its
 * timer. */
void snic_sq_stop(struct snic_qp *qp);
/* The QP is in ERR: flushes WQEs that are enabled and not flushed yet. */
void snic_sq_flush(struct snic_qp *qp);
/* Copies len bytes from BB number bb on; wraps at the end of the ring. */
void snic_sq_read(const struct snic_qp *qp, uint16_t bb, void *dst, size_t len);

static inline unsigned int snic_wqe_bbs(unsigned int ds)
{
	return (ds + 3) / 4;
}

/* ---- delayed results (land.c) ------------------------------------------- */

#define SNIC_LANDINGS		4	/* delayed CQEs per queue */
#define SNIC_LANDING_LEN	256	/* a longer result lands at once */
#define SNIC_LANDING_SGES	32

/**
 * struct snic_landing - a WQE that was executed and whose CQE is delayed
 * @brings:	the WQE has a result for its list; else only its CQE is delayed,
 *		behind earlier results
 */
struct snic_landing {
	bool brings, signal;
	uint8_t opcode, nr_sge;
	uint16_t index;
	uint32_t byte_cnt;
	struct snic_sge sges[SNIC_LANDING_SGES];
	uint8_t data[SNIC_LANDING_LEN];
};

/* Oldest first; entries from nr on are 0.  stuck: the queue ran no WQE in its
 * last turn. */
struct snic_landings {
	uint32_t nr, stuck;
	struct snic_landing at[SNIC_LANDINGS];
};

/* True: no more CQEs can be delayed.  Try again after one has landed. */
bool snic_land_full(const struct snic_qp *qp);
/*
 * Delays the result of w and its CQE.  False: the caller completes w at once.
 */
bool snic_land_later(struct snic_qp *qp, const struct snic_wqe *w,
		     const struct snic_sge *sges, unsigned int nr_sge,
		     const void *data);
/* Delays the CQE of a WQE without a result.  False: nothing is before it. */
bool snic_land_behind(struct snic_qp *qp, const struct snic_wqe *w);
/* Lands the oldest.  False: there is none. */
bool snic_land_one(struct snic_qp *qp);
void snic_land_all(struct snic_qp *qp);
/* Discards all delayed results and CQEs. */
void snic_land_never(struct snic_qp *qp);

/* ---- receive queues ---------------------------------------------------- */

/* The QP is in ERR: flushes the posted receive WQEs. */
void snic_rq_flush(struct snic_qp *qp);

/* ---- WQEs -------------------------------------------------------------- */

static inline uint64_t snic_be64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline uint32_t snic_be32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* The second segment of WAIT and SEND_EN. */
static inline int snic_wqe_decode_wait_en(const uint8_t *raw, unsigned int ds,
					  struct snic_wqe *w)
{
	if (w->opmod || ds != 2)
		return WRC_SYND_LOCAL_QP_OP;
	w->wait_index = snic_be32_at(raw + 24);
	w->wait_obj = snic_be32_at(raw + 28);
	return 0;
}

/* Decodes the segments [seg, end) of a WQE that moves data, or of a UMR
 * (wqe.c). */
int snic_wqe_decode_data(const uint8_t *seg, const uint8_t *end,
			 struct snic_wqe *w);

/* Decodes the segments of a UMR (umr.c): inline_data has the entries, rkey the
 * key, raddr the number of the first entry, swap_mask the mkey_mask. */
int snic_umr_decode(const uint8_t *seg, const uint8_t *end,
		    struct snic_wqe *w);

/*
 * Decodes a fetched WQE; raw has room for WRC_WQE_MAX_DS segments.  Returns 0 or
 * the syndrome it fails with; sets index and nr_bb in both cases.  Inline,
 * because most WQEs of a chain are NOP, WAIT and SEND_EN, which take little
 * decoding.
 */
static inline int snic_wqe_decode(const uint8_t *raw, uint16_t index,
				  struct snic_wqe *ret_w)
{
	/* opmod, index, opcode, QPN, ds */
	uint64_t head = snic_be64_at(raw);
	uint8_t flags = raw[offsetof(struct wrc_wqe_ctrl, fm_ce_se)];
	unsigned int ds = head & 0x3f;
	struct snic_wqe *w = ret_w;

	w->opcode = head >> 32;
	w->opmod = head >> 56;
	w->signal = (flags & WRC_WQE_CE_MASK) >= WRC_WQE_CE_ALWAYS;
	w->fence = flags & WRC_WQE_FM_MASK;
	w->solicited = flags & WRC_WQE_SE;
	w->index = index;
	w->nr_bb = ds ? snic_wqe_bbs(ds) : 1;
	w->len = 0;
	w->nr_sge = 0;
	w->is_inline = false;
	if (!ds || (head & 0xc0))
		return WRC_SYND_LOCAL_QP_OP;
	switch (w->opcode) {
	case WRC_WQE_NOP:
		return 0;
	case WRC_WQE_WAIT:
	case WRC_WQE_SEND_EN:
		return snic_wqe_decode_wait_en(raw, ds, w);
	}
	memcpy(&w->imm, raw + offsetof(struct wrc_wqe_ctrl, imm),
	       sizeof(w->imm));
	return snic_wqe_decode_data(raw + sizeof(struct wrc_wqe_ctrl),
				    raw + ds * WRC_WQE_DS, w);
}

/* ---- execution (exec.c, umr.c) ----------------------------------------- */

/* 0: done; -EAGAIN: try again after a kick; > 0: syndrome. */
int snic_exec(struct snic_qp *qp, const struct snic_wqe *w);
/* 0 or a syndrome.  Writes no CQE. */
int snic_umr_exec(struct snic_qp *qp, const struct snic_wqe *w);

#endif /* SNIC_ENGINE_PRIV_H */
