/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recycle=node: the tables in which chains find the words of their next lap
 * (wrchain/core/turn.h).  One for each program and number of instances, made when
 * the first session needs it and shared by all that come; read-only from then on,
 * for the NIC and for us.
 */
#ifndef MNODE_TABLE_H
#define MNODE_TABLE_H

#include <core/prog.h>
#include <nic/node.h>
#include "mem.h"

#define TABLE_DEPTHS 11		/* 2^0 to 2^10 instances */
#define TABLE_KINDS 2		/* chains that translate, or not */

/**
 * struct table - one of them
 * @mem:	filled, and seen by the verifier, up to @part
 * @ready:	all of it is, and the NIC knows it by @key
 */
struct table {
	struct mem mem;
	unsigned int part;
	bool ready;
	uint32_t key;
	uint64_t iova;
};

/* All zero: none yet. */
struct tables {
	struct table of[TABLE_KINDS][ODRP_WIRE_NR_CHAINS][TABLE_DEPTHS];
	uint64_t bytes;
};

/*
 * A piece of making what images of this program and geometry need.  0: it was there;
 * -EAGAIN: a piece was made, call again; -EPERM: the verifier refused it, with its sentence in
 * why.
 */
int tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
		     const struct wrc_prog *prog, const struct wrc_geom *geom,
		     char why[WRC_WHY_MAX]);
/* Fills in the table of an image's binding; makes it, if it is not there. */
int tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		const struct wrc_prog *prog, const struct wrc_geom *geom,
		struct wrc_bind *bind, char why[WRC_WHY_MAX]);
/* When all queues are gone. */
void tables_free(struct tables *ts, struct nic *nic);

#endif /* MNODE_TABLE_H */
