/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory node and a client in one process: one chain, armed from an image, and
 * a queue pair that sends it requests.  Both are on one software NIC, or, for
 * measuring, on two that a port pair joins.  For `wrc run`, `wrc bench` and
 * tests.
 *
 * The node's memory is in the open: a translation table, a free ring with all
 * pages in it, and pages.
 */
#ifndef WRC_TOOLS_RIG_H
#define WRC_TOOLS_RIG_H

#include "core/keymap.h"
#include "core/link.h"
#include "mlx5/encode.h"
#include "snic/vt.h"

struct wrc_rig_config {
	enum odrp_wire_chain chain;
	bool strict;		/* also in the NIC: it checks index and QPN */
	enum wrc_variant variant;
	enum wrc_recycle recycle;
	enum wrc_order order;
	enum snic_fetch fetch;
	enum snic_land land;
	uint32_t depth;
	uint32_t nr_pages;	/* power of two, at least 2 */
	uint32_t nr_slots;	/* of the table */
	bool wire;		/* the client has a NIC of its own */
	uint16_t mtu;		/* 0: a page */
	/* recycle=node: the table of a rig like this, to be left alone; or made */
	uint8_t *table;
};

/**
 * struct wrc_rig_keys - translation in the NIC
 * @map:	for each slot
 * @key:	one for each WRC_KEY_SLOTS slots
 * @node_qpn, @peer_qpn: a pair of queues without a chain, for READs and WRITEs
 * @sq, @dbr, @cqn, @posted: the client's
 * @umrs, @node_dbr, @mapped: the node's, which changes entries by hand
 */
struct wrc_rig_keys {
	struct wrc_keymap *map;
	uint32_t nr, key[8];
	uint32_t node_qpn, peer_qpn, cqn;
	uint8_t *sq;
	struct wrc_dbr *dbr;
	uint16_t posted;
	uint8_t *umrs;
	struct wrc_dbr *node_dbr;
	uint16_t mapped;
};

struct wrc_rig {
	struct wrc_rig_config cfg;
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	struct wrc_word_rule words[WRC_MAX_WORDS];
	int nr_words, nr_front;		/* front: those before the page */

	struct snic *nic;
	struct snic *peer_nic;		/* the client's; the same one, or another */
	struct snic_port *ports[2];	/* between them */
	struct snic_vt vt;		/* both NICs */
	struct snic_vt_nic actors[2];
	uint8_t *arena, *buf, *table;
	uint64_t *tt;			/* big endian */
	uint64_t *ring;			/* big endian; nr_pages entries */
	uint64_t *counters;		/* [0] head, [8] tail */
	uint8_t *pool;
	uint32_t client_qpn, loop_qpn;	/* the node's */
	uint32_t client_pdn, node_pdn;	/* of what a client may, and may not, reach */
	uint32_t far_qpn;		/* what the loop queue is connected to */
	struct wrc_rig_keys keys;	/* WRC_V_KEYED */

	/* the client */
	uint32_t peer_qpn, peer_rcqn, peer_scqn, peer_key, peer_pdn;
	uint8_t *mem;			/* all of its memory */
	uint8_t *sq, *rq, *out, *in;	/* in it: rings, requests, pages */
	struct wrc_dbr *dbr;
	uint32_t sent, answered;	/* quiet ones with the answer behind them */
	uint32_t received;		/* answers */
	bool quiet;			/* the next request wants no answer */
	bool next_quiet;		/* nor does the one behind it */
	int cut;			/* bytes that the next request lacks */
	bool early;			/* the next load's page comes with a notice */
	uint32_t early_came;		/* notices, before their answers */
	__u64 pages[1024];		/* page exchange: each instance's first */

	void *blocks[24];
	unsigned int nr_blocks;
};

/* 0 or -errno; why, of WRC_WHY_MAX bytes, when the image was refused. */
int wrc_rig_open(const struct wrc_rig_config *cfg, struct wrc_rig *ret_rig,
		 char *why);
void wrc_rig_close(struct wrc_rig *rig);

/*
 * Sends the next request, for a slot; page (4096 bytes) with stores.  A load's
 * page comes to wrc_rig_page().  -EBUSY: depth - 1 are outstanding.
 */
int wrc_rig_send(struct wrc_rig *rig, uint64_t tt_addr, const void *page);
/* Where the next request's page is sent from: `page` of it is not copied. */
void *wrc_rig_out_page(struct wrc_rig *rig);
/* Does a request have a page: with it, or to be fetched? */
bool wrc_rig_has_page(const struct wrc_rig *rig);
/* 0: the next answer, if it is there; -EAGAIN: not yet; -EIO: a queue broke. */
int wrc_rig_poll(struct wrc_rig *rig, uint32_t *ret_request);
/* Joins a queue pair of the client's with one of the node's, in both directions. */
int wrc_rig_join(struct wrc_rig *rig, uint32_t qpn, uint32_t peer_qpn);
/*
 * Runs until an answer has come: 0 and its request number; quiet requests
 * before it are answered, too.  -ETIMEDOUT: none will; -EIO: a queue broke.
 */
int wrc_rig_answer(struct wrc_rig *rig, uint32_t *ret_request);
/* Runs until nothing moves. */
void wrc_rig_settle(struct wrc_rig *rig);
/* Where the load of a request puts its page. */
uint8_t *wrc_rig_page(struct wrc_rig *rig, uint32_t request);

/*
 * WRC_V_KEYED: a READ or WRITE of a slot's page by the client, without the node;
 * page is memory of the client's, wrc_rig_page() for example.  0, -EIO: refused,
 * and the queues broke; wrc_rig_rejoin() makes others.  off, len: of the page, or
 * beyond.
 */
int wrc_rig_read(struct wrc_rig *rig, uint64_t slot, uint32_t off, void *page,
		 uint32_t len);
int wrc_rig_write(struct wrc_rig *rig, uint64_t slot, uint32_t off,
		  void *page, uint32_t len);
int wrc_rig_rejoin(struct wrc_rig *rig);
/* The same by any key and address: op is WRC_WQE_READ or WRC_WQE_WRITE. */
int wrc_rig_access(struct wrc_rig *rig, __u8 op, uint32_t rkey, uint64_t raddr,
		   void *page, uint32_t len);
/* Translates a slot to a page, or with 0 to none, by hand. */
int wrc_rig_translate(struct wrc_rig *rig, uint64_t slot, uint64_t page);
/* What a slot's entry in its key leads to; 0: nowhere. */
uint64_t wrc_rig_translation(const struct wrc_rig *rig, uint64_t slot);

/* For rig_keys.c. */
void *wrc_rig_block(struct wrc_rig *rig, size_t len);
int wrc_rig_cq(struct wrc_rig *rig, struct snic *nic, uint8_t log_size,
	       bool overrun, uint32_t *ret_cqn);
int wrc_rig_step(struct wrc_rig *rig);
/* Keys and key map; then the queues, when the client has its memory. */
int wrc_rig_make_keys(struct wrc_rig *rig);
int wrc_rig_make_pair(struct wrc_rig *rig);

/* The node's side by hand: what other chains would do. */
uint64_t wrc_rig_pop(struct wrc_rig *rig);		/* 0: ring empty */
void wrc_rig_push(struct wrc_rig *rig, uint64_t page);
uint64_t wrc_rig_entry(const struct wrc_rig *rig, uint64_t slot);
void wrc_rig_set_entry(struct wrc_rig *rig, uint64_t slot, uint64_t page);
uint8_t *wrc_rig_memory(struct wrc_rig *rig, uint64_t page);
/* What an instance holds now; page exchange: a page, always. */
struct wrc_held wrc_rig_held(const struct wrc_rig *rig, uint32_t instance);
/* Free pages: ring slots that are not 0. */
uint32_t wrc_rig_free_pages(const struct wrc_rig *rig);

#endif /* WRC_TOOLS_RIG_H */
