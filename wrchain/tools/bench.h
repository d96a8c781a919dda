/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `wrc bench` measures: things that one core does again and again, so much
 * at a time.  A chain or a one-sided operation crosses the wire between two
 * NICs of this process; a page is moved inside the node.
 */
#ifndef WRC_TOOLS_BENCH_H
#define WRC_TOOLS_BENCH_H

#include "rig.h"

enum bench_kind {
	BENCH_CHAIN,
	BENCH_RAW,		/* one-sided, on a queue pair of its own */
	BENCH_KEYED,		/* the same, by an indirect key: WRC_V_KEYED */
	BENCH_LOOP,		/* a page's WRITE on a queue connected to itself */
	BENCH_MEMCPY,		/* the same by the CPU */
};

/**
 * struct bench_time - of some operations
 * @wall, @cpu:	of this thread, with both NICs and the client
 * @node:	in the memory node's NIC alone, wall clock
 * @wqes:	WQEs that it executed
 */
struct bench_time {
	double wall, cpu, node, wqes;
};

/**
 * struct bench_subject - what is measured
 * @op:		BENCH_RAW: WRC_WQE_READ or WRC_WQE_WRITE
 * @span:	BENCH_LOOP and BENCH_MEMCPY: pages written to, one after another
 * @qpn:	BENCH_RAW: the client's.  BENCH_LOOP: the node's
 */
struct bench_subject {
	char name[40];
	enum bench_kind kind;
	uint8_t op;
	uint32_t span;

	struct wrc_rig rig;
	uint32_t qpn, cqn, key, src_key;
	uint8_t *sq, *src;
	void *blocks[4];
	uint32_t sent, done;
};

/* For the kinds that are no chain, cfg's chain says only which rig it is. */
int bench_open(struct bench_subject *s, const struct wrc_rig_config *cfg,
	       char *why);
void bench_close(struct bench_subject *s);
/* Does it count times.  -EIO: an answer or a page is not as it should be. */
int bench_run(struct bench_subject *s, uint32_t count,
	      struct bench_time *ret_time);

#endif /* WRC_TOOLS_BENCH_H */
