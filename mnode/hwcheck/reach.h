/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a peer reaches by indirect keys, and somebody who changes them: for the
 * programs and the experiments of translation in the NIC.
 */
#ifndef HWCHECK_REACH_H
#define HWCHECK_REACH_H

#include "raw.h"

/**
 * struct reach - queue pairs about the keys of one domain
 * @writer:	in that domain: sends UMRs
 * @near, @far:	in that domain, and its peer in one of its own
 * @joined:	those two are there, and in order
 */
struct reach {
	struct side *side;
	struct raw writer, near, far;
	bool joined;
};

int reach_open(struct side *side, uint32_t pdn, struct reach *ret_reach);
void reach_close(struct reach *reach);

/* wr's index, queue pair number and shape are filled in; around the ring, so what
 * was there has to be over.  With a completion. */
int reach_put(struct raw *raw, struct wrc_wr wr);
/* Lets run what has been put.  0; -EIO: it failed; -ETIMEDOUT. */
int reach_go(struct raw *raw, uint8_t *ret_syndrome);

/*
 * The group of entries at offset leads to a page, or nowhere: page_key and page 0.
 * As reach_go().
 */
int reach_map(struct reach *reach, uint32_t key, uint16_t offset,
	      uint32_t page_key, uint64_t page);
/* A READ by a peer; what it brings is at reach->far.data.  0; -EACCES: refused. */
int reach_read(struct reach *reach, uint32_t key, uint64_t addr, uint32_t len);

#endif /* HWCHECK_REACH_H */
