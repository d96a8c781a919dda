/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recycle=node: the tables from which chains READ the words of their next lap
 * (wrchain/core/turn.h).  There is one for each program and number of instances.  A table
 * is made when the first session needs it, and all later sessions share it.  A complete
 * table is read-only for the NIC and for the agent.
 */
#ifndef MNODE_TABLE_H
#define MNODE_TABLE_H

#include <core/prog.h>
#include <nic/node.h>
#include "mem.h"

#define TABLE_DEPTHS 11		/* 2^0 to 2^10 instances */
#define TABLE_KINDS 2		/* chains that translate, or with translation in the NIC */

/**
 * struct table - one table
 * @part:	the parts of @mem before this one are filled and verified
 * @ready:	all parts are, and the table is registered under @key
 */
struct table {
	struct mem mem;
	unsigned int part;
	bool ready;
	uint32_t key;
	uint64_t iova;
};

/* struct tables - all tables, and the bytes of those that are ready; all zero: none yet */
struct tables {
	struct table of[TABLE_KINDS][ODRP_WIRE_NR_CHAINS][TABLE_DEPTHS];
	uint64_t bytes;
};

/*
 * Makes a piece of the table for this program and geometry.  0: the table is complete;
 * -EAGAIN: a piece was made, call again; -EPERM: the verifier refused it, with its
 * sentence in why.
 */
int tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
		     const struct wrc_prog *prog, const struct wrc_geom *geom,
		     char why[WRC_WHY_MAX]);
/* Enters the table into an image's binding; makes the table if it does not exist. */
int tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		const struct wrc_prog *prog, const struct wrc_geom *geom,
		struct wrc_bind *bind, char why[WRC_WHY_MAX]);
/* Call when all queues are gone. */
void tables_free(struct tables *ts, struct nic *nic);

#endif /* MNODE_TABLE_H */
