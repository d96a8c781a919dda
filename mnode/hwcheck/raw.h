/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair for experiments: WQEs are written one by one, may be spoilt
 * afterwards, and run when the doorbell rings.
 */
#ifndef HWCHECK_RAW_H
#define HWCHECK_RAW_H

#include <mlx5/encode.h>
#include "../mem.h"
#include "side.h"

enum raw_flags {
	RAW_MASTER	= 1 << 0,	/* may WAIT and SEND_EN */
	RAW_SLAVE	= 1 << 1,	/* runs up to SEND_EN's index */
	RAW_RQ		= 1 << 2,	/* has a receive queue */
	RAW_APART	= 1 << 3,	/* not connected to itself */
};

#define RAW_LOG_SQ	5
#define RAW_LOG_RQ	3
#define RAW_DATA_LEN	(8 * 4096)

/**
 * struct raw - the queue pair
 * @data:	memory of RAW_DATA_LEN bytes under @key, as the queue is
 * @has_pd:	the protection domain is its own
 * @next:	BBs written
 * @last:	where the last WQE of reach_put() begins
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

/* near: in whose protection domain; NULL: one of its own. */
int raw_open(struct side *side, unsigned int flags, const struct raw *near,
	     struct raw *ret_raw);
void raw_close(struct raw *raw);
/* Two that are apart; each may write to the other's memory. */
int raw_join(struct raw *a, struct raw *b);

/* Index and queue pair number are filled in. */
int raw_put(struct raw *raw, struct wrc_wr wr);
int raw_put_nop(struct raw *raw);		/* with a CQE */
int raw_put_wait(struct raw *raw, uint32_t cqn, uint32_t index);
int raw_put_enable(struct raw *raw, uint32_t qpn, uint32_t index);
/* The first BB of a WQE, to be spoilt. */
uint8_t *raw_wqe(struct raw *raw, uint16_t bb);
/* All written so far may run. */
int raw_ring(struct raw *raw);
/* The same, and waits. */
int raw_go(struct raw *raw);

/* BBs executed; sets *ret_syndrome if it stopped. */
int raw_executed(struct raw *raw, uint16_t *ret_bbs, bool *ret_error,
		 uint8_t *ret_syndrome);
/* CQEs of its send queue. */
int raw_cqes(struct raw *raw, uint32_t *ret_n);

#endif /* HWCHECK_RAW_H */
