/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two CNodes and a memory node on one software NIC, all of whose memory is in
 * one block, so that what two runs did can be compared byte by byte.  CNode 0
 * has the chain under test, in whatever image it is given; CNode 1 is a
 * neighbour, with a good load chain, that looks at its own pages afterwards.
 * Translation in the NIC: CNode 0 has a key, whose entries count as memory, too.
 *
 * Every run starts from the same memory, numbers, keys and time.
 */
#ifndef TEST_WRCHAIN_STAGE_H
#define TEST_WRCHAIN_STAGE_H

#include "bed/host.h"
#include "core/check.h"
#include "core/keymap.h"
#include "mlx5/encode.h"
#include "paper/paper.h"

#define STAGE_DEPTH 4

enum stage_scene {
	STAGE_LAPS,		/* more than three laps, then the end of it */
	STAGE_UNUSED,		/* the connection ends before the first request */
	STAGE_CUT,		/* and with requests under way */
	STAGE_WRAP,		/* on until the loop queue's counts have wrapped */
	STAGE_NR_SCENES,
};

/* One CNode: its chain in the node, and its own end. */
struct stage_cnode {
	enum odrp_wire_chain chain;
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	struct wrc_word_rule words[WRC_MAX_WORDS];
	int nr_words;
	__u64 pages[STAGE_DEPTH];	/* page exchange: each instance's first */
	uint8_t *table;			/* recycle=node: only read, no part of mem */
	uint8_t *arena, *buf, *cqs;
	uint32_t ksm_key, far_qpn;	/* translation in the NIC: its own key, and */
	struct wrc_ksm *ksm;		/* its entries, as long as the NIC is there */
	struct wrc_keymap *map;
	uint64_t *tt;
	/* its own memory: requests, pages, rings */
	uint8_t *out, *in, *sq, *rq, *peer_cqs;
	struct wrc_dbr *dbr;
	uint32_t peer_qpn, peer_rcqn, peer_scqn, peer_key;
	uint32_t sent, answered, received;
};

/**
 * struct stage_end - what a run has come to; memory after it is stage->mem
 * @log:	all that was to be seen at each answer, and when
 * @told:	what does not depend on how long anything takes: each answer, with
 *		what its request has done, and afterwards tables, keys, ring, pages
 *		and each instance's own page
 * @others:	of these the neighbour's: what it has read, and its pages
 */
struct stage_end {
	uint32_t answered;
	uint64_t log;
	uint64_t now;
	uint64_t told, others;
};

struct stage {
	struct stage_cnode c[2];
	uint8_t *mem, *clean;	/* as it is before a run */
	size_t len, used;
	uint64_t *ring, *counters;
	uint8_t *pool;
	struct snic_vt vt;
	struct host host;
	struct snic *nic;	/* of host */
	bool strict;
	uint64_t log, told;
	bool in_order;		/* table and key said the same when a run was over */
	uint16_t executed;	/* of CNode 0's loop queue, when a run was over */
};

void stage_open(struct stage *st, enum odrp_wire_chain chain,
		const struct wrc_opts *opts);
/* The same with another program of CNode 0's. */
void stage_open_prog(struct stage *st, enum odrp_wire_chain chain,
		     const struct wrc_opts *opts, const struct wrc_prog *prog);
void stage_close(struct stage *st);
/* The good image of CNode 0, geom.arena_len bytes of clean. */
const uint8_t *stage_image(const struct stage *st);
void stage_run(struct stage *st, const uint8_t *image, enum stage_scene scene,
	       enum snic_fetch fetch, struct stage_end *ret_end);
/*
 * After a run of the good image: all requests were answered, every page is in
 * one place, and the neighbour's are its own.
 */
void stage_expect_well(const struct stage *st, enum stage_scene scene,
		       const struct stage_end *end);
/* After a run of any image: is each page in one place? */
bool stage_pages_are_well(const struct stage *st);

#endif /* TEST_WRCHAIN_STAGE_H */
