/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request of a connection, and the module's limits.
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
#define ODRP_MAX_SLOTS		(1ull << 32)	/* a slot in struct odrp_fring has 32 bits */
#define ODRP_RECV_CHUNK		16	/* receives reposted at a time */
#define ODRP_POST_CHUNK		32	/* most requests posted at a time */
#define ODRP_NR_WAITS		64
#define ODRP_MAX_TIMEOUT_MS	600000	/* most for a setting in ms */
#define ODRP_HDR_LEN		(ODRP_WIRE_REQ_LEN + ODRP_WIRE_END_LEN)
#define ODRP_MAX_SGE		3	/* head, page, end */
#define ODRP_SIGNAL_EVERY	4	/* see odrp_conn_lazy() */
#define ODRP_ANSWER_EVERY	8	/* see odrp_conn_quiet() */
#define ODRP_ANSWER_LOAD	4
#define ODRP_MAX_READS		16	/* READs outstanding on a connection */
#define ODRP_TAG		16	/* bytes of a tag, see protect.c */
#define ODRP_SEAL_BYTES		24	/* what protect.c keeps for each slot */

static_assert(PAGE_SIZE == ODRP_BLOCK);

struct odrp_dev;
struct odrp_backing;
struct odrp_sess;
struct odrp_queue;
struct odrp_conn;
struct odrp_end;

/*
 * Flags of a request's state.  The state word also has the request's generation, so an
 * answer is matched and counted in one step, whoever sends it and however often.  The
 * request is done when SENT and ANSWERED are both set: then neither NIC touches its memory
 * any more.  SENT is set from the start if nobody waits for the completion of the SEND
 * (odrp_conn_lazy()).  ANSWERED is set from the start if there is no answer: a READ or
 * WRITE is done when it completes (odrp_conn.keyed).
 */
#define ODRP_REQ_POSTED		1u
#define ODRP_REQ_SENT		2u
#define ODRP_REQ_ANSWERED	4u
#define ODRP_REQ_QUIET		8u	/* has no answer: ends with a later request */
#define ODRP_REQ_DONE		(ODRP_REQ_SENT | ODRP_REQ_ANSWERED)
#define ODRP_REQ_GEN_SHIFT	16

/*
 * struct odrp_req - one request that may be outstanding on a connection
 * @st:		generation << 16 | ODRP_REQ_*
 * @res:	how the request ended, for the slot
 * @act:	what was begun with the slot: decides the accounting
 * @sends:	how often the request has been posted
 * @place:	READ or WRITE: the entry of the slot; a WRITE of the mover: the other place
 * @move:	load of the mover: its store; see move.c
 * @bio, @iter:	loads and stores: the block of the bio (a single 4 KB block)
 * @hdr:	the head of a request, and what is sent behind the page; NULL: a READ or
 *		WRITE, which has none
 * @bounce:	load: the page that arrives; store: the copy of the block, if the
 *		bio's own page is not sent (issue.c:req_attach_store())
 * @page_dma:	store: the bio's own page; valid while @mapped
 */
struct odrp_req {
	struct ib_cqe		cqe;
	struct odrp_conn	*conn;
	struct odrp_req		*next;	/* in the free list, a batch, or conn->unsent */
	struct odrp_req		*group;	/* see odrp_conn_quiet() */
	atomic_t		st;
	u16			idx;
	bool			mapped;	/* page_dma is valid */
	u32			sends;
	enum odrp_slot_result	res;
	enum odrp_slot_act	act;
	u64			slot;
	u32			place;
	struct odrp_req		*move;
	struct bio		*bio;
	struct bvec_iter	iter;
	unsigned long		acct;	/* start time for the block layer */
	u32			sum;	/* store: checksum of bounce; see sum.c */
	u64			nonce;	/* store: nonce of bounce; see protect.c */
	u8			tag[ODRP_TAG] __aligned(ODRP_TAG);
	u64			start_ns;
	unsigned long		deadline;	/* jiffies */

	void			*hdr;
	u64			hdr_dma;
	struct page		*bounce;
	u64			bounce_dma;
	u64			page_dma;
	u64			raddr;	/* load: the memory node's address and */
	u32			rkey;	/* key for bounce */
	struct ib_rdma_wr	wr;	/* a SEND uses wr.wr alone */
	struct ib_sge		sge[ODRP_MAX_SGE];
};

/*
 * struct odrp_ended - requests of a connection that have ended, and are given back together
 * @now:	the time at which they have, in ns
 * @first, @last: list, linked by ->next; NULL: empty
 */
struct odrp_ended {
	u64			now;
	struct odrp_req		*first;
	struct odrp_req		*last;
	unsigned int		nr;
};

struct odrp_reg {			/* one fast registration */
	struct ib_mr		*mr;
};

static inline u32 odrp_req_gen(const struct odrp_req *req)
{
	return (u32)atomic_read(&req->st) >> ODRP_REQ_GEN_SHIFT;
}

/* sum.c: checksums of pages */
int odrp_sum_add(struct odrp_dev *dev);
void odrp_sum_del(struct odrp_dev *dev);
void odrp_sum_make(struct odrp_req *req);
void odrp_sum_keep(struct odrp_dev *dev, const struct odrp_req *req);
int odrp_sum_check(struct odrp_dev *dev, const struct odrp_req *req);

/* protect.c: encryption of pages */
int odrp_protect_add(struct odrp_dev *dev);
void odrp_protect_del(struct odrp_dev *dev);
void odrp_protect_seal(struct odrp_dev *dev, struct odrp_req *req);
void odrp_protect_keep(struct odrp_dev *dev, const struct odrp_req *req);
int odrp_protect_open(struct odrp_dev *dev, struct odrp_req *req);

/* block.c: blocks of bios */
void odrp_block_copy(struct bio *bio, struct bvec_iter iter, struct page *page,
		     bool to_bio);

#endif /* _ODRP_REQ_H */
