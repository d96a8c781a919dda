/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside the engine: the structures that the other rooms do not see.
 */
#ifndef SNIC_ENGINE_PRIV_H
#define SNIC_ENGINE_PRIV_H

#include <errno.h>
#include "../cm/cm.h"
#include "../net/net.h"
#include "../transport/transport.h"
#include "engine.h"

/* ---- object tables (table.c) ------------------------------------------- */

/*
 * Numbers carry a generation, so that the number of an object that is gone
 * does not find the one that took its place.
 */
struct snic_table_kind {
	uint8_t slot_shift, slot_bits;
	uint8_t gen_shift, gen_bits;
	uint32_t first_slot;
	bool random_gen;	/* hard to guess, rather than in sequence */
};

struct snic_table_slot {
	void *obj;		/* NULL: free */
	uint32_t nr;		/* number of obj, or of the last one */
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
/* -ENOMEM, -ENFILE: all numbers are in use. */
int snic_table_add(struct snic *nic, struct snic_table *t, void *obj,
		   uint32_t *ret_nr);
void snic_table_del(struct snic_table *t, uint32_t nr);
/* Objects in slot order; *pos starts at 0.  NULL: no more. */
void *snic_table_next(const struct snic_table *t, uint32_t *pos);

/*
 * As constants: WQEs name objects all the time.
 *
 * PDs, CQs, QPs (table.c): 24-bit numbers, slot below, generation above.
 * Keys (keys.c) look like a ConnectX's: 24 bits index, 8 bits variant.  The first
 * slot keeps them away from WRC_WQE_END_LKEY.
 */
#define SNIC_FIRST_SLOT		0x100
#define SNIC_KEY_VARIANT	0xffu
#define SNIC_OBJECT_BITS	15
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

/* All zero: empty.  len: a power of two. */
struct snic_keys {
	struct snic_keys_entry *at;
	uint32_t len, nr;
};

void snic_keys_fini(struct snic_keys *t);
/* variant: of the number; -1: any.  -ENOMEM, -ENFILE: there are too many. */
int snic_keys_add(struct snic *nic, struct snic_keys *t, void *obj, int variant,
		  uint32_t *ret_nr);
/* One that is there. */
void snic_keys_del(struct snic_keys *t, uint32_t nr);
/* In any order; *pos starts at 0.  NULL: no more. */
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

	/* send queues to look at, first in first out */
	struct snic_qp *run_head, *run_tail;
	/* CQs that overran, whose QPs have yet to go to error */
	struct snic_cq *failed_cqs;

	snic_cost_fn cost;
	void *cost_arg;

	struct snic_net *net;
	struct snic_cm *cm;
	struct snic_rc rc;

	struct snic_wqe wqe;	/* the WQE under execution */
};

void snic_mem_fini(struct snic *nic);

/* ---- timers ------------------------------------------------------------ */

/* Fires what is due, at most budget of them. */
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
 * An indirect key.  Its own range is empty, as no other key's is, so snic_mem() and
 * whoever translates a list finds nothing there; who serves a peer asks for pieces
 * then (snic_mem_piece()).  So other keys pay nothing for it, and none of it is
 * ever part of a local list.
 */
struct snic_ksm {
	struct snic_mkey mkey;	/* access: what peers may do */
	uint32_t nr;
	bool free;		/* not open yet: nobody gets anywhere by it */
	struct wrc_ksm entry[];
};

/* NULL: no such key in this PD, or it is not indirect. */
struct snic_ksm *snic_ksm_find(struct snic *nic, uint32_t pdn, uint32_t key);
/* The two halves of snic_mem(), for lists: most of one have the same key.
 * NULL: no such key in this PD. */
static inline const struct snic_mkey *snic_mkey_find(struct snic *nic,
						     uint32_t pdn, uint32_t key)
{
	const struct snic_mkey *mk = snic_key_get(&nic->mkeys, key);

	return mk && mk->pdn == pdn ? mk : NULL;
}

/* Is [addr, addr + n) in [iova, iova + len), and how far behind iova?  iova + len
 * does not wrap: an address below iova is too far behind. */
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
	uint32_t users;		/* send and receive queues that report here */
	bool failed;		/* overran */
	struct snic_cq *next_failed;
	struct snic_qp *waiters;	/* send queues blocked in WAIT */
};

#define SNIC_CQ_MASK WRC_WQE_WAIT_MASK

static inline struct snic_cq *snic_cq_lookup(struct snic *nic, uint32_t cqn)
{
	return snic_object_get(&nic->cqs, cqn);
}

/* Writes a CQE for qp; wakes those who wait for it. */
void snic_cq_push(struct snic_cq *cq, const struct snic_qp *qp,
		  const struct snic_cqe_info *info);
/* Takes QPs of failed CQs to ERR. */
void snic_cq_spread_errors(struct snic *nic);

/* Does CQE number index exist? */
static inline bool snic_cq_reached(const struct snic_cq *cq, uint32_t index)
{
	return ((cq->count - 1 - index) & SNIC_CQ_MASK) < 0x800000;
}

void snic_cq_add_waiter(struct snic_cq *cq, struct snic_qp *qp);
void snic_cq_del_waiter(struct snic_qp *qp);

/* ---- queue pairs -------------------------------------------------------- */

/* snic_qp_lookup() for the engine. */
static inline struct snic_qp *snic_qp_find(struct snic *nic, uint32_t qpn)
{
	return snic_object_get(&nic->qps, qpn);
}

/* ---- send queues (sq.c) ------------------------------------------------ */

/* What the WQE at the head of a send queue has behind it. */
enum snic_sq_stage {
	SNIC_SQ_IDLE,		/* nothing */
	SNIC_SQ_FETCHING,	/* the fetch is paid for */
	SNIC_SQ_FETCHED,	/* its bytes are in sq_raw */
	SNIC_SQ_EXECUTING,	/* nothing holds it back, execution is paid for */
};

/* BBs before limit may run (16 bits, cyclic; backwards: no effect). */
void snic_sq_enable(struct snic_qp *qp, uint16_t limit);
/* Runs queues for at most budget WQEs; true: there is more to do. */
bool snic_sq_run_queue(struct snic *nic, unsigned int budget);
/* One WQE of this queue, whoever's turn it is; true: it ran.  For tests that
 * try all orders. */
bool snic_sq_run_qp(struct snic_qp *qp);
/* Off the run queue and out of every list of waiters. */
void snic_sq_stop(struct snic_qp *qp);
/* The QP is in ERR: flushes what is enabled and not yet flushed. */
void snic_sq_flush(struct snic_qp *qp);
/* Copies len bytes from BB number bb on, across the ring's end. */
void snic_sq_read(const struct snic_qp *qp, uint16_t bb, void *dst, size_t len);

static inline unsigned int snic_wqe_bbs(unsigned int ds)
{
	return (ds + 3) / 4;
}

/* ---- what READs bring later (land.c) ------------------------------------ */

#define SNIC_LANDINGS		4	/* of a queue at a time */
#define SNIC_LANDING_LEN	256	/* what brings more lands at once */
#define SNIC_LANDING_SGES	32

/**
 * struct snic_landing - a WQE that was executed and is not completed
 * @brings:	data of a READ or atomic, for a list; else it stands behind one
 */
struct snic_landing {
	bool brings, signal;
	uint8_t opcode, nr_sge;
	uint16_t index;
	uint32_t byte_cnt;
	struct snic_sge sges[SNIC_LANDING_SGES];
	uint8_t data[SNIC_LANDING_LEN];
};

/* The oldest first; those that are not there are 0.  stuck: the queue could not go
 * on when it was last its turn. */
struct snic_landings {
	uint32_t nr, stuck;
	struct snic_landing at[SNIC_LANDINGS];
};

/* No more can be on their way: to be tried again when one has landed. */
bool snic_land_full(const struct snic_qp *qp);
/* What w has fetched, and its CQE.  false: land it now. */
bool snic_land_later(struct snic_qp *qp, const struct snic_wqe *w,
		     const struct snic_sge *sges, unsigned int nr_sge,
		     const void *data);
/* The CQE of one that fetches nothing.  false: nothing is before it. */
bool snic_land_behind(struct snic_qp *qp, const struct snic_wqe *w);
/* The oldest; false: there is none. */
bool snic_land_one(struct snic_qp *qp);
void snic_land_all(struct snic_qp *qp);
/* They are lost. */
void snic_land_never(struct snic_qp *qp);

/* ---- receive queues ---------------------------------------------------- */

/* The QP is in ERR: flushes what is posted. */
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

/* WAIT and SEND_EN, behind the control segment. */
static inline int snic_wqe_decode_wait_en(const uint8_t *raw, unsigned int ds,
					  struct snic_wqe *w)
{
	if (w->opmod || ds != 2)
		return WRC_SYND_LOCAL_QP_OP;
	w->wait_index = snic_be32_at(raw + 24);
	w->wait_obj = snic_be32_at(raw + 28);
	return 0;
}

/* The segments [seg, end) of one that moves data (wqe.c). */
int snic_wqe_decode_data(const uint8_t *seg, const uint8_t *end,
			 struct snic_wqe *w);

/* Those of a UMR, in place of a list its entries: inline_data; rkey is the key,
 * raddr the first entry's number, swap_mask the mask (umr.c). */
int snic_umr_decode(const uint8_t *seg, const uint8_t *end,
		    struct snic_wqe *w);

/*
 * Decodes a fetched WQE of raw's own length.  0, or the syndrome it fails
 * with.  index and nr_bb are set in any case.  Inline: most WQEs of a chain are
 * NOP, WAIT and SEND_EN, of which there is little to decode.
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

/* 0: done; -EAGAIN: to be tried again when kicked; > 0: syndrome. */
int snic_exec(struct snic_qp *qp, const struct snic_wqe *w);
/* 0, or the syndrome; without a CQE. */
int snic_umr_exec(struct snic_qp *qp, const struct snic_wqe *w);

#endif /* SNIC_ENGINE_PRIV_H */
