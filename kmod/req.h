/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request that may be outstanding on a connection, and the limits of all of them.
 */
#ifndef _ODRP_REQ_H
#define _ODRP_REQ_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <rdma/ib_verbs.h>
#include <odrp/wire.h>
#include "slot.h"

#define ODRP_BLOCK		ODRP_WIRE_PAGE_SIZE
#define ODRP_BLOCK_SECTORS	(ODRP_BLOCK >> SECTOR_SHIFT)
#define ODRP_MAX_QUEUES		64
#define ODRP_MAX_DEPTH		1024
#define ODRP_MAX_SLOTS		(1ull << 32)	/* a ring entry is 32 bits */
#define ODRP_RECV_CHUNK		16	/* receives reposted at a time */
#define ODRP_POST_CHUNK		32	/* requests posted at a time at most */
#define ODRP_NR_WAITS		64
#define ODRP_MAX_TIMEOUT_MS	600000	/* of whatever is set in ms */
#define ODRP_MAX_SGE		3	/* head, page, words behind it */
#define ODRP_SIGNAL_EVERY	4	/* see odrp_conn_lazy() */
#define ODRP_ANSWER_EVERY	8	/* see odrp_conn_quiet() */
#define ODRP_ANSWER_LOAD	4
#define ODRP_MAX_READS		16	/* outstanding, of a connection */
#define ODRP_TAG		16	/* see protect.c */
#define ODRP_SEAL_BYTES		24	/* what it keeps for each slot */

static_assert(PAGE_SIZE == ODRP_BLOCK);

struct odrp_dev;
struct odrp_backing;
struct odrp_sess;
struct odrp_queue;
struct odrp_conn;
struct odrp_end;

/*
 * A request's life, in one word together with its generation, so that an
 * answer can be matched and counted in one step, whoever sends it and however
 * often.  The request is done when both SENT and ANSWERED are set: then
 * neither NIC touches its memory any more.  (SENT is set from the start where
 * nobody waits for it: odrp_conn_lazy(); ANSWERED where there are no answers: a
 * READ or WRITE has been done when it completes, see odrp_conn.keyed.)
 */
#define ODRP_REQ_POSTED		1u
#define ODRP_REQ_SENT		2u
#define ODRP_REQ_ANSWERED	4u
#define ODRP_REQ_QUIET		8u	/* ends with another: no answer is its */
#define ODRP_REQ_DONE		(ODRP_REQ_SENT | ODRP_REQ_ANSWERED)
#define ODRP_REQ_GEN_SHIFT	16

/*
 * struct odrp_req - one request that may be outstanding on a connection
 * @st:		generation << 16 | ODRP_REQ_*
 * @res:	how it ended, for the slot
 * @act:	what was begun with the slot: decides the accounting
 * @sends:	how often it has been posted
 * @bio, @iter:	loads and stores: the block of the bio (a single 4 KB block)
 * @hdr:	struct odrp_wire_req and recycle words, also those that are sent
 *		behind the page; NULL: a READ or WRITE, which has none
 * @bounce:	page that a load comes to, or that gathers a
 *		store whose block is not within one page
 * @page_dma:	store: the bio's own page while it is mapped, else 0
 */
struct odrp_req {
	struct ib_cqe		cqe;
	struct odrp_conn	*conn;
	struct odrp_req		*next;	/* in the free list or in a batch */
	struct odrp_req		*group;	/* see odrp_conn_quiet() */
	atomic_t		st;
	u16			idx;
	bool			mapped;	/* page_dma is valid */
	u32			sends;
	enum odrp_slot_result	res;
	enum odrp_slot_act	act;
	u64			slot;
	struct bio		*bio;
	struct bvec_iter	iter;
	unsigned long		acct;	/* start time for the block layer */
	u32			sum;	/* store: of the bounce page; see sum.c */
	u64			nonce;	/* store: of the bounce page; see protect.c */
	u8			tag[ODRP_TAG] __aligned(ODRP_TAG);
	u64			start_ns;
	unsigned long		deadline;	/* jiffies */

	void			*hdr;
	u64			hdr_dma;
	struct page		*bounce;
	u64			bounce_dma;
	u64			page_dma;
	u64			raddr;	/* load: bounce, as the memory node */
	u32			rkey;	/* sees it */
	struct ib_rdma_wr	wr;	/* a SEND uses its wr.wr alone */
	struct ib_sge		sge[ODRP_MAX_SGE];
};

struct odrp_reg {			/* one fast registration */
	struct ib_mr		*mr;
};

static inline u32 odrp_req_gen(const struct odrp_req *req)
{
	return (u32)atomic_read(&req->st) >> ODRP_REQ_GEN_SHIFT;
}

/* sum.c: what the memory node returns is what it was given */
int odrp_sum_add(struct odrp_dev *dev);
void odrp_sum_del(struct odrp_dev *dev);
void odrp_sum_make(struct odrp_req *req);
void odrp_sum_keep(struct odrp_dev *dev, const struct odrp_req *req);
int odrp_sum_check(struct odrp_dev *dev, const struct odrp_req *req);

/* protect.c: ... and it sees noise */
int odrp_protect_add(struct odrp_dev *dev);
void odrp_protect_del(struct odrp_dev *dev);
void odrp_protect_seal(struct odrp_dev *dev, struct odrp_req *req);
void odrp_protect_keep(struct odrp_dev *dev, const struct odrp_req *req);
int odrp_protect_open(struct odrp_dev *dev, struct odrp_req *req);

/* block.c: blocks of bios */
void odrp_block_copy(struct bio *bio, struct bvec_iter iter, struct page *page,
		     bool to_bio);

#endif /* _ODRP_REQ_H */
