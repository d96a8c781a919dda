/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair for experiments.  WQEs are written one by one, may be changed afterwards,
 * and run when the doorbell is rung.
 *
 * side_fail() notes the first error in side->err, and every later call does nothing, so an
 * experiment asks once, at its end.
 */
#ifndef HWCHECK_RAW_H
#define HWCHECK_RAW_H

#include <mlx5/encode.h>
#include "../page/mem.h"
#include "side.h"

enum raw_flags {
	RAW_MASTER	= 1 << 0,	/* may WAIT and SEND_EN */
	RAW_SLAVE	= 1 << 1,	/* runs up to the index of SEND_EN */
	RAW_RQ		= 1 << 2,	/* has a receive queue */
	RAW_APART	= 1 << 3,	/* not connected to itself */
};

#define RAW_LOG_SQ	5
#define RAW_LOG_RQ	3
#define RAW_DATA_LEN	(8 * 4096)

/**
 * struct raw - queue pair
 * @data:	RAW_DATA_LEN bytes of memory, registered under @key like the rings
 * @has_pd:	the queue pair has its own protection domain
 * @next:	number of BBs that have been written
 * @last:	first BB of the last WQE
 */
struct raw {
	struct side *side;
	uint32_t pdn, key, scqn, rcqn, qpn;
	bool has_pd;
	struct mem mem;
	uint8_t *data;
	struct wrc_dbr *dbr;
	uint16_t next, last;
};

/* near: use its protection domain; NULL: make a new one.  False: side->err, and *ret_raw
 * needs no raw_close(). */
bool raw_open(struct side *side, unsigned int flags, const struct raw *near,
	      struct raw *ret_raw);
/* No effect if the queue pair is not open. */
void raw_close(struct raw *raw);
/* Connects two queue pairs that are RAW_APART; access: what each gives the other. */
void raw_join(struct raw *a, struct raw *b, unsigned int access);

/* Writes a WQE with a CQE; fills in index, queue pair number and shape.  Wraps around the
 * ring, so earlier WQEs there must be done. */
void raw_put(struct raw *raw, struct wrc_wr wr);
void raw_put_quiet(struct raw *raw, struct wrc_wr wr);	/* without a CQE */
void raw_put_nop(struct raw *raw);
void raw_put_wait(struct raw *raw, uint32_t cqn, uint32_t index);
void raw_put_enable(struct raw *raw, uint32_t qpn, uint32_t index);
/* A READ or WRITE between here and there. */
void raw_put_move(struct raw *raw, uint8_t op, void *here, uint32_t lkey, uint32_t len,
		  uint64_t there, uint32_t rkey);
/* The WQE at bb, to be changed. */
uint8_t *raw_wqe(struct raw *raw, uint16_t bb);
/* Rings the doorbell for all WQEs that have been written. */
void raw_ring(struct raw *raw);
/* Like raw_ring(), then side_settle(). */
void raw_go(struct raw *raw);

struct nic_qp_info raw_info(struct raw *raw);
/* How many CQEs a completion queue of the queue pair has got. */
uint32_t raw_cqes(struct raw *raw, uint32_t cqn);

#endif /* HWCHECK_RAW_H */
