/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair for experiments.  WQEs are written one by one, may be changed afterwards,
 * and run when the doorbell is rung.
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
 * @last:	first BB of the last WQE of reach_put()
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

/* near: use its protection domain; NULL: make a new one. */
int raw_open(struct side *side, unsigned int flags, const struct raw *near,
	     struct raw *ret_raw);
void raw_close(struct raw *raw);
/* Connects two queue pairs that are RAW_APART; each may WRITE to the other's memory. */
int raw_join(struct raw *a, struct raw *b);

/* Writes a WQE; fills in index and queue pair number.  -ENOSPC: the ring is full. */
int raw_put(struct raw *raw, struct wrc_wr wr);
int raw_put_nop(struct raw *raw);		/* with a CQE */
int raw_put_wait(struct raw *raw, uint32_t cqn, uint32_t index);
int raw_put_enable(struct raw *raw, uint32_t qpn, uint32_t index);
/* The WQE at bb, to be changed. */
uint8_t *raw_wqe(struct raw *raw, uint16_t bb);
/* Rings the doorbell for all WQEs that have been written. */
int raw_ring(struct raw *raw);
/* Like raw_ring(), then side_settle(). */
int raw_go(struct raw *raw);

/* BBs that have been executed; if the queue is in error, *ret_syndrome is set. */
int raw_executed(struct raw *raw, uint16_t *ret_bbs, bool *ret_error,
		 uint8_t *ret_syndrome);
/* CQEs of the send queue. */
int raw_cqes(struct raw *raw, uint32_t *ret_n);

#endif /* HWCHECK_RAW_H */
