/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes indirect keys, and READs by them like a peer: for programs and experiments of
 * translation in the NIC.
 */
#ifndef HWCHECK_REACH_H
#define HWCHECK_REACH_H

#include "raw.h"

/**
 * struct reach - queue pairs for the keys of one protection domain
 * @writer:	in that domain: sends UMRs
 * @near, @far:	a queue pair in that domain, and its peer in another one
 * @joined:	@near and @far are connected and not in error
 */
struct reach {
	struct side *side;
	struct raw writer, near, far;
	bool joined;
};

/* False: side->err, as for raw_open(). */
bool reach_open(struct side *side, uint32_t pdn, struct reach *ret_reach);
void reach_close(struct reach *reach);

/* Rings and waits for the last WQE of raw_put().  False: a WQE failed, or side->err. */
bool reach_go(struct raw *raw, uint8_t *ret_syndrome);

/* Lets the group of entries at offset lead to a page, or nowhere: page_key and page 0. */
void reach_map(struct reach *reach, uint32_t key, uint16_t offset, uint32_t page_key,
	       uint64_t page);
/* A READ by a peer, into reach->far.data.  False: it was refused, or side->err. */
bool reach_read(struct reach *reach, uint32_t key, uint64_t addr, uint32_t len);

#endif /* HWCHECK_REACH_H */
