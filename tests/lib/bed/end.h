/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs whose rings lie in the arena of a host, joined in loopback, and WQEs
 * written by hand.
 */
#ifndef TEST_BED_END_H
#define TEST_BED_END_H

#include "host.h"
#include "snic/engine/engine-priv.h"

/* One queue pair with CQs of its own. */
struct end {
	struct host *host;
	uint32_t qpn, scqn, rcqn;
	uint8_t *sq, *rq;
	uint8_t log_sq, log_rq, log_rq_stride;
	struct wrc_dbr *dbr;
	uint16_t pi;		/* BBs written */
	uint16_t posted;	/* receive entries written */
};

struct end_opts {
	bool master, slave;
	uint8_t log_sq;		/* 0: 6 */
	uint8_t log_cq;		/* 0: 10 */
	bool oi;
	unsigned int no_access;	/* rights the peer does not get */
};

void end_open(struct host *b, const struct end_opts *opts, struct end *ret_e);
/* Loopback, both ways; the same end twice: with itself. */
void end_join(struct end *a, struct end *b);

/* ---- WQEs: written at e->pi, which they move on ---- */

struct wqe {
	struct end *e;
	uint16_t index;
	unsigned int ds;
};

struct wqe wqe_begin(struct end *e, uint8_t opcode, uint8_t opmod,
		     uint8_t flags);
void wqe_raddr(struct wqe *w, uint64_t addr, uint32_t rkey);
void wqe_data(struct wqe *w, const void *p, uint32_t len);
void wqe_seg(struct wqe *w, const void *seg16);
void wqe_u64x2(struct wqe *w, uint64_t a, uint64_t b);
void wqe_inline(struct wqe *w, const void *data, uint32_t len);
void wqe_imm(struct wqe *w, uint32_t imm);
/* Writes its length; returns its first byte (if it does not wrap). */
uint8_t *wqe_end(struct wqe *w);
/* Whole ones. */
uint8_t *put_nop(struct end *e, uint8_t flags);
uint8_t *put_write(struct end *e, uint8_t flags, const void *src, uint32_t len,
		   const void *dst);
uint8_t *put_read(struct end *e, uint8_t flags, void *dst, uint32_t len,
		  const void *src);
uint8_t *put_wait(struct end *e, uint8_t flags, uint32_t cqn, uint32_t index);
uint8_t *put_enable(struct end *e, uint8_t flags, uint32_t qpn, uint16_t index);
/* nr entries of an indirect key, from number first on. */
uint8_t *put_umr(struct end *e, uint8_t flags, uint32_t key, uint64_t first,
		 const struct wrc_ksm *entries, unsigned int nr);
struct wrc_ksm ksm_entry(uint32_t key, uint64_t addr);

/*
 * An endless ring, for e with log_sq 8, master and slave, and a NIC with relaxed_index: a
 * SEND_EN that enables the next lap, after a masked FA has moved its index on.
 */
void put_endless(struct end *e);

void ring(struct end *e);	/* doorbell for all that was written */
void post_recv(struct end *e, void *p, uint32_t len);

/* ---- what came of it ---- */

enum snic_qp_state state_of(struct end *e);
uint32_t cq_count(struct host *b, uint32_t cqn);
/* The next CQE has this opcode and counter. */
void expect_cqe(struct host *b, uint32_t cqn, uint8_t opcode, uint16_t counter);
void expect_error(struct host *b, uint32_t cqn, uint8_t opcode,
		  uint8_t syndrome, uint16_t counter);
void expect_empty(struct host *b, uint32_t cqn);

#define CE WRC_WQE_CE_ALWAYS

#endif /* TEST_BED_END_H */
