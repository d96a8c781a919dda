/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See bed.h. */
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/cm.h"
#include "bed.h"

#define MOST_WCS	64

/* What the NIC has of a connection: requests, oldest first, and completions. */
struct nic {
	struct odrp_req	*sent[MOST_WCS];
	unsigned int	nr_sent;
	struct ib_wc	wc[MOST_WCS];
	unsigned int	nr_wc;
};

struct bed bed;
bool bed_swapoff_unsafe;
static struct nic nics[ODRP_WIRE_NR_CHAINS];
static struct page bio_pages[BED_BIOS][BED_SLOTS];
static struct page bounces[ODRP_WIRE_NR_CHAINS][BED_DEPTH];
static struct page node_pages[BED_SLOTS];
static struct odrp_req reqs[ODRP_WIRE_NR_CHAINS][BED_DEPTH];
static struct {
	struct odrp_wire_req req;
	u8 more[ODRP_HDR_LEN - sizeof(struct odrp_wire_req)];
} heads[ODRP_WIRE_NR_CHAINS][BED_DEPTH];
static u8 states[BED_SLOTS];
static u32 entries[BED_SLOTS];
static unsigned long overflow[1];
static struct odrp_slab slabs[BED_SLABS];
static unsigned long taken[BED_SLABS * ODRP_WIRE_SLAB_PAGES / (8 * sizeof(long))];
static unsigned long room[ODRP_SLAB_LEVELS][1];
static struct odrp_stats stats;
static struct odrp_times times;
static struct odrp_free_cpu free_cpu;

struct workqueue_struct *odrp_wq, *odrp_flush_wq, *odrp_stock_wq;
unsigned int odrp_free_batch, odrp_free_delay_ms = 1000, odrp_move_mbps = 16;

/*
 * What some programs have: test-unplug.c has the end of connections, over unplug.c, and
 * test-twins.c has backing.c.
 */
#define WEAK	__attribute__((weak))

/* ---- what is not on the way of a bio ------------------------------------------- */

void odrp_park(struct odrp_dev *dev, const struct bio *bio)
{
	atomic_add(odrp_bio_blocks(bio), &dev->parked);
}

void odrp_unpark(struct odrp_dev *dev, unsigned int blocks)
{
	atomic_sub(blocks, &dev->parked);
}

void odrp_wake_room(struct odrp_dev *dev) { }

void odrp_beat_start(struct odrp_sess *s)
{
	if (bed.on_beat_start)
		bed.on_beat_start(&bed.admin);
}

void odrp_beat_stop(struct odrp_sess *s) { }

void odrp_beat_bye(struct odrp_sess *s)
{
	bed.byes++;
}

WEAK void odrp_beat_exit(struct odrp_sess *s) { }
WEAK void odrp_sync_exit(struct odrp_sess *s) { }
WEAK void odrp_keys_exit(struct odrp_sess *s) { }
WEAK void odrp_slabs_exit(struct odrp_sess *s) { }
WEAK int odrp_slabs_read(struct odrp_sess *s) { return 0; }
void odrp_end_wait(const struct odrp_sess *s) { }

void odrp_card_put(struct odrp_sess *s)
{
	s->ibdev = NULL;
}

WEAK void odrp_conn_drain(struct odrp_conn *conn) { }
WEAK void odrp_conn_quiesce(struct odrp_conn *conn) { }
WEAK void odrp_conn_halt(struct odrp_conn *conn) { }
WEAK void odrp_conn_destroy(struct odrp_conn *conn) { }
WEAK void odrp_plug_exit(struct odrp_conn *conn) { }
void odrp_cm_disconnect(struct odrp_conn *conn) { }
void odrp_cm_exit(struct odrp_conn *conn) { }
void odrp_send_done(struct ib_cq *cq, struct ib_wc *wc) { }

void odrp_sum_make(struct odrp_req *req) { }
void odrp_sum_keep(struct odrp_dev *dev, const struct odrp_req *req) { }

int odrp_sum_check(struct odrp_dev *dev, const struct odrp_req *req)
{
	return 0;
}

void odrp_unreadable_mark(struct odrp_dev *dev, u64 slot) { }
void odrp_unreadable_clear_bit(struct odrp_dev *dev, u64 slot) { }
WEAK void odrp_backing_begin(struct bio *bio) { }
WEAK void odrp_backing_alone(struct bio *bio) { }

WEAK void odrp_backing_answered(struct bio *bio, enum odrp_slot_result res,
			   struct odrp_queue *q) { }

WEAK void odrp_backing_report(struct odrp_dev *dev) { }
void odrp_reserve_spend(struct odrp_reserve *r) { }
void odrp_reserve_drop(struct odrp_reserve *r) { }

int odrp_handshake(struct odrp_sess *s)
{
	bed.handshakes++;
	return bed.handshake_err;
}

int odrp_keys_renew(struct odrp_sess *s)
{
	return 0;
}

void odrp_sess_watch(struct odrp_sess *s)
{
	bed.watches++;
}

void odrp_uevent(struct odrp_dev *dev, enum odrp_uevent what)
{
	bed.uevents[what]++;
}

void *odrp_table_alloc(u64 nr, size_t size)
{
	return calloc(nr, size);
}

unsigned long *odrp_bitmap_alloc(u64 nr)
{
	return NULL;
}

/* ---- the NIC ------------------------------------------------------------------------ */

static unsigned int chain_of(const void *qp_or_cq)
{
	return (const struct odrp_conn *)qp_or_cq - bed.conn;
}

int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **ret_bad)
{
	struct nic *n;

	if (wr->wr_cqe->done != odrp_send_done)
		return bed.on_marker(wr->wr_cqe);
	n = &nics[chain_of(qp)];
	for (; wr; wr = wr->next) {
		if (!bed.refuse_at) {
			*ret_bad = wr;
			return -ENOMEM;
		}
		if (bed.refuse_at != ~0u)
			bed.refuse_at--;
		assert_true(n->nr_sent < MOST_WCS);
		n->sent[n->nr_sent++] =
			container_of(wr, struct odrp_req, wr.wr);
	}
	return 0;
}

int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **ret_bad)
{
	return bed.on_marker ? bed.on_marker(wr->wr_cqe) : 0;
}

int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	assert_non_null(qp);
	assert_int_equal(attr->qp_state, IB_QPS_ERR);
	return 0;
}

/* What was posted is in no NIC any more. */
int ib_destroy_qp(struct ib_qp *qp)
{
	struct odrp_conn *conn = (struct odrp_conn *)qp;
	int err = bed.on_destroy(conn);

	if (!err && conn->q)
		memset(&nics[conn->chain], 0, sizeof(nics[conn->chain]));
	return err;
}

void ib_destroy_cq(struct ib_cq *cq)
{
	bed.cqs_destroyed++;
}

void ib_dealloc_pd(struct ib_pd *pd)
{
	bed.pds_freed++;
}

int ib_poll_cq(struct ib_cq *cq, int nr, struct ib_wc *wc)
{
	struct nic *n = &nics[chain_of(cq)];
	int i, got = min_t(int, nr, n->nr_wc);

	shim_step();
	for (i = 0; i < got; i++)
		wc[i] = n->wc[i];
	n->nr_wc -= got;
	memmove(n->wc, n->wc + got, n->nr_wc * sizeof(*n->wc));
	return got;
}

static void nic_complete(struct nic *n, struct ib_wc wc)
{
	assert_true(n->nr_wc < MOST_WCS);
	n->wc[n->nr_wc++] = wc;
}

void bed_answer(unsigned int chain, u32 id)
{
	nic_complete(&nics[chain], (struct ib_wc){
		.wr_cqe = &bed.conn[chain].recv_cqe,
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IB_WC_WITH_IMM,
		.byte_len = chain == ODRP_WIRE_LOAD ? ODRP_BLOCK : 0,
		.ex.imm_data = cpu_to_be32(id),
	});
}

/* ---- the memory node ----------------------------------------------------------- */

/* Returns the number of the page at a place. */
static u32 place_page(u32 place)
{
	u32 nr = place / ODRP_WIRE_SLAB_PAGES, i = place % ODRP_WIRE_SLAB_PAGES;

	assert_true(nr < BED_SLABS && i < BED_PLACES);
	return nr * BED_PLACES + i;
}

/* The READ or WRITE names a page by key and address. */
static u32 keyed_page(const struct odrp_req *req)
{
	u32 place = req->wr.remote_addr / PAGE_SIZE;

	if (!bed.dev.places.max)
		return entries[req->slot];
	assert_int_equal(req->wr.rkey, 100 + place / ODRP_WIRE_SLAB_PAGES);
	assert_true(test_bit(place, taken));
	bed.mapped[place_page(place)] = true;
	return place_page(place);
}

static void execute(unsigned int chain, const struct odrp_req *req)
{
	const struct odrp_wire_req *w = req->hdr;
	bool keyed = bed.conn[chain].keyed;
	u64 entry = keyed ? keyed_page(req) : be64_to_cpu(w->tt_addr) / 8;
	u64 raddr = keyed ? req->bounce_dma :
			    (u64)be32_to_cpu(w->raddr_hi) << 32 |
			    be32_to_cpu(w->raddr_lo);

	switch (chain) {
	case ODRP_WIRE_LOAD:
		assert_true(bed.mapped[entry]);
		memcpy((void *)(uintptr_t)raddr, &node_pages[entry], PAGE_SIZE);
		break;
	case ODRP_WIRE_INVALIDATE:
		assert_true(bed.mapped[entry]);
		bed.mapped[entry] = false;
		break;
	default:
		assert_int_equal(bed.mapped[entry],
				 chain == ODRP_WIRE_MAPPED_STORE);
		bed.mapped[entry] = true;
		memcpy(&node_pages[entry],
		       (void *)(uintptr_t)req->sge[1].addr, PAGE_SIZE);
		break;
	}
}

/* The oldest that the NIC has. */
static const struct odrp_req *pop_sent(struct nic *n)
{
	const struct odrp_req *req = n->sent[0];

	n->nr_sent--;
	memmove(n->sent, n->sent + 1, n->nr_sent * sizeof(*n->sent));
	return req;
}

void bed_execute(unsigned int chain, unsigned int n)
{
	struct nic *nic = &nics[chain];

	while (n-- && nic->nr_sent)
		execute(chain, pop_sent(nic));
}

static void serve_one(unsigned int chain)
{
	struct nic *nic = &nics[chain];
	const struct odrp_req *req = pop_sent(nic);
	int st = atomic_read(&req->st);

	execute(chain, req);
	if (req->wr.wr.send_flags & IB_SEND_SIGNALED)
		nic_complete(nic, (struct ib_wc){ .wr_cqe = req->wr.wr.wr_cqe });
	if (!(st & ODRP_REQ_QUIET) && !bed.conn[chain].keyed)
		bed_answer(chain, be32_to_cpu(((struct odrp_wire_req *)
					       req->hdr)->id));
}

/* As in poll.c. */
void odrp_conn_kick(struct odrp_conn *conn)
{
	struct bio_list bios;

	bio_list_init(&bios);
	while (odrp_conn_take_waiting(conn, &bios))
		odrp_issue(&bed.q, &bios);
}

static void reap(unsigned int chain)
{
	odrp_conn_reap(&bed.conn[chain], MOST_WCS);
	odrp_issue_released(&bed.q);
	odrp_conn_kick(&bed.conn[chain]);
}

void bed_serve(unsigned int chain, unsigned int n)
{
	while (n-- && nics[chain].nr_sent)
		serve_one(chain);
	reap(chain);
}

void bed_drain(void)
{
	unsigned int c, rounds;

	for (rounds = 0; rounds < BED_BIOS; rounds++)
		for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
			bed_serve(c, MOST_WCS);
}

void bed_unplug(void)
{
	memset(nics, 0, sizeof(nics));
}

/* ---- connections: the admin one has no requests ------------------------------- */

void odrp_conn_pause(struct odrp_conn *conn)
{
	conn->live = false;
	conn->paused = true;
}

WEAK void odrp_conn_unplug(struct odrp_conn *conn)
{
	if (conn->q)
		memset(&nics[conn->chain], 0, sizeof(nics[conn->chain]));
	conn->established = false;
}

void odrp_cm_drop(struct odrp_conn *conn)
{
	odrp_conn_unplug(conn);
}

/* A connection is asked for, of which no other request is under way. */
int odrp_cm_begin(struct odrp_conn *conn)
{
	assert_false(conn->established);
	conn->qp = (struct ib_qp *)conn;
	if (conn->q)
		bed.begun[conn->chain]++;
	else
		bed.connects++;
	if (conn->q && bed.begin_err)
		return bed.begin_err;
	bed.dialling++;
	bed.most_dialling = max(bed.most_dialling, bed.dialling);
	if (bed.on_connect)
		bed.on_connect(conn);
	return 0;
}

int odrp_cm_finish(struct odrp_conn *conn, unsigned long until)
{
	bed.dialling--;
	if (!bed.connect_err && bed.lose_next && conn->q) {
		bed.lose_next--;
		return -ETIMEDOUT;
	}
	conn->established = !bed.connect_err;
	return bed.connect_err;
}

int odrp_cm_connect(struct odrp_conn *conn)
{
	int err = odrp_cm_begin(conn);

	return err ?: odrp_cm_finish(conn, 0);
}

unsigned long odrp_cm_step_ms(const struct odrp_conn *conn)
{
	return 1000;
}

int odrp_conn_stock(struct odrp_conn *conn)
{
	bed.stocks++;
	return bed.stock_err;
}

int odrp_sync_read(struct odrp_sess *s, const u64 *slots, unsigned int nr,
		   bool *ret_mapped)
{
	unsigned int i;

	assert_in_range(nr, 1, ODRP_SYNC_BATCH);
	bed.entry_reads++;
	if (bed.on_table_read)
		bed.on_table_read(slots[0]);
	for (i = 0; i < nr; i++)
		ret_mapped[i] = bed.mapped[s->dev->slots.entry[slots[i]]];
	return 0;
}

unsigned int bed_posted(unsigned int chain)
{
	return nics[chain].nr_sent;
}

struct page *bed_page(u64 slot)
{
	return &node_pages[bed.dev.places.max ? place_page(entries[slot]) : entries[slot]];
}

const struct page *bed_sent(unsigned int chain, unsigned int nth)
{
	assert_true(nth < nics[chain].nr_sent);
	return (void *)(uintptr_t)nics[chain].sent[nth]->sge[1].addr;
}

u64 bed_slot(unsigned int chain, unsigned int nth)
{
	assert_true(nth < nics[chain].nr_sent);
	return nics[chain].sent[nth]->slot;
}

u32 bed_rkey(unsigned int chain)
{
	assert_true(nics[chain].nr_sent);
	return nics[chain].sent[0]->wr.rkey;
}

/* ---- the device ------------------------------------------------------------------- */

static void init_conn(unsigned int chain)
{
	struct odrp_conn *conn = &bed.conn[chain];
	unsigned int i;

	conn->sess = &bed.dev.sess;
	conn->q = &bed.q;
	conn->chain = chain;
	conn->depth = conn->nr_reqs = conn->nr_free = BED_DEPTH;
	conn->reqs = reqs[chain];
	conn->qp = (struct ib_qp *)conn;
	conn->cq = (struct ib_cq *)conn;
	conn->live = conn->started = true;
	spin_lock_init(&conn->lock);
	bio_list_init(&conn->waiting);
	for (i = 0; i < BED_DEPTH; i++) {
		struct odrp_req *req = &reqs[chain][i];

		memset(req, 0, sizeof(*req));
		req->conn = conn;
		req->idx = i;
		req->next = i + 1 < BED_DEPTH ? req + 1 : NULL;
		req->hdr = &heads[chain][i];
		req->bounce = &bounces[chain][i];
		req->raddr = (uintptr_t)req->bounce;
		req->bounce_dma = req->raddr;
		req->cqe.done = odrp_send_done;
		req->wr.wr.wr_cqe = &req->cqe;
	}
	conn->free = reqs[chain];
	bed.q.conn[chain] = conn;
}

static void init_slots(void)
{
	unsigned int i;

	memset(states, 0, sizeof(states));
	for (i = 0; i < BED_SLOTS; i++)
		entries[i] = i;
	bed.dev.slots.st = states;
	bed.dev.slots.entry = entries;
	bed.dev.slots.nr = BED_SLOTS;
}

static void init_sess(struct odrp_sess *s)
{
	s->dev = &bed.dev;
	s->queues = &bed.q;
	s->nr_queues = 1;
	s->depth = BED_DEPTH;
	s->admin = &bed.admin;
	bed.admin.sess = s;
	spin_lock_init(&bed.admin.lock);
	spin_lock_init(&s->auth.lock);
	odrp_fail_init(s);
	odrp_stock_init(s);
	atomic_set(&s->state, ODRP_LIVE);
}

void bed_init(void)
{
	struct odrp_dev *dev = &bed.dev;
	unsigned int c;

	memset(&bed, 0, sizeof(bed));
	bed_swapoff_unsafe = false;
	memset(&stats, 0, sizeof(stats));
	memset(&free_cpu, 0, sizeof(free_cpu));
	memset(node_pages, 0, sizeof(node_pages));
	bed_unplug();
	bed.refuse_at = ~0u;
	dev->stats = &stats;
	dev->times = &times;
	dev->timeout_ms = 1000;
	dev->dead_after_ms = 1000;
	dev->reconnect_delay_ms = 100;
	init_slots();
	dev->lease.limit.v = BED_SLOTS;
	dev->free.cpu = &free_cpu;
	dev->free.overflow = overflow;
	spin_lock_init(&dev->free.lock);
	odrp_wait_init(dev);
	bed.q.dev = dev;
	spin_lock_init(&bed.q.released_lock);
	init_sess(&dev->sess);
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		init_conn(c);
}

void bed_direct(void)
{
	struct odrp_places *p = &bed.dev.places;
	u32 i, nr;

	memset(slabs, 0, sizeof(slabs));
	memset(taken, 0, sizeof(taken));
	memset(room, 0, sizeof(room));
	*p = (struct odrp_places) {
		.max = BED_SLABS, .slab = slabs, .taken = taken, .nr_held = BED_SLABS,
	};
	for (i = 0; i < ODRP_SLAB_LEVELS; i++)
		p->room[i] = room[i];
	for (nr = 0; nr < BED_SLABS; nr++) {
		slabs[nr].addr = (u64)nr << ODRP_WIRE_LOG_SLAB;
		slabs[nr].rkey = 100 + nr;
		slabs[nr].used = ODRP_WIRE_SLAB_PAGES - BED_PLACES;
		set_bit(nr, room[ODRP_SLAB_LEVELS - 1]);
		for (i = BED_PLACES; i < ODRP_WIRE_SLAB_PAGES; i++)
			set_bit(nr * ODRP_WIRE_SLAB_PAGES + i, taken);
	}
	for (i = 0; i < BED_SLOTS; i++)
		entries[i] = ODRP_PLACE_NONE;
	bed.conn[ODRP_WIRE_LOAD].keyed = bed.conn[ODRP_WIRE_MAPPED_STORE].keyed = true;
	odrp_move_init(&bed.dev);
	bed.dev.move.on = true;
}

u32 bed_place(u64 slot)
{
	return entries[slot];
}

int bed_taken(u32 slab)
{
	return slabs[slab].used - (int)(ODRP_WIRE_SLAB_PAGES - BED_PLACES);
}

/* ---- bios --------------------------------------------------------------------------- */

static struct bio *make_bio(unsigned int op, u64 slot, unsigned int nr, char what)
{
	struct bio *bio = &bed.bio[bed.nr_bios];

	assert_true(bed.nr_bios < BED_BIOS && nr + !!bed.off <= BED_SLOTS);
	bio->op = op;
	bio->pages = bio_pages[bed.nr_bios++];
	memset(bio->pages, what, (nr + !!bed.off) * sizeof(*bio->pages));
	bio->bi_iter.done = bed.off;
	bio->remaining = 1;
	bio->bi_iter.bi_sector = slot * ODRP_BLOCK_SECTORS;
	bio->bi_iter.bi_size = nr * ODRP_BLOCK;
	return bio;
}

static struct bio *issue(unsigned int op, u64 slot, unsigned int nr, char what)
{
	struct bio *bio = make_bio(op, slot, nr, what);
	struct bio_list bios;

	bio_list_init(&bios);
	bio_list_add(&bios, bio);
	odrp_issue(&bed.q, &bios);
	return bio;
}

void bed_together(u64 slot, unsigned int stores, u64 from, unsigned int loads,
		  char what)
{
	struct bio_list bios;
	unsigned int i;

	bio_list_init(&bios);
	for (i = 0; i < stores; i++)
		bio_list_add(&bios, make_bio(REQ_OP_WRITE, slot + i, 1, what));
	for (i = 0; i < loads; i++)
		bio_list_add(&bios, make_bio(REQ_OP_READ, from + i, 1, '-'));
	odrp_issue(&bed.q, &bios);
}

struct bio *bed_store(u64 slot, unsigned int nr, char what)
{
	return issue(REQ_OP_WRITE, slot, nr, what);
}

struct bio *bed_load(u64 slot, unsigned int nr)
{
	return issue(REQ_OP_READ, slot, nr, '-');
}

void bed_invalidate(u64 slot)
{
	struct odrp_req *req = odrp_req_get(&bed.conn[ODRP_WIRE_INVALIDATE], NULL);
	struct odrp_batch b;
	u64 next;

	assert_false(IS_ERR_OR_NULL(req));
	odrp_free_slot(&bed.dev, slot);
	assert_true(odrp_free_next(&bed.dev, &next));
	assert_int_equal(next, slot);
	odrp_batch_init(&b, &bed.q);
	req->act = ODRP_SLOT_DO_FAIL;
	odrp_req_fill(req, slot);
	odrp_batch_add(&b, req);
	odrp_batch_post(&b);
}

char bed_read(const struct bio *bio, unsigned int block)
{
	unsigned int i;

	for (i = 1; i < PAGE_SIZE; i++)
		assert_int_equal(bio->pages[block].bytes[i],
				 bio->pages[block].bytes[0]);
	return bio->pages[block].bytes[0];
}

void bed_check_idle(void)
{
	unsigned int c, i;

	for (i = 0; i < bed.nr_bios; i++)
		assert_int_equal(bed.bio[i].ended, 1);
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		assert_int_equal(bed.conn[c].nr_free, BED_DEPTH);
		assert_true(bio_list_empty(&bed.conn[c].waiting));
		assert_null(bed.conn[c].unsent);
	}
	for (i = 0; i < BED_SLOTS; i++) {
		assert_true(states[i] == ODRP_SLOT_EMPTY ||
			    states[i] == ODRP_SLOT_MAPPED ||
			    states[i] == ODRP_SLOT_FREE_PENDING ||
			    states[i] == ODRP_SLOT_VOID ||
			    states[i] == ODRP_SLOT_GONE ||
			    (states[i] & ODRP_SLOT_STATE_MASK) ==
			    ODRP_SLOT_UNKNOWN);
	}
	assert_int_equal(bed.dev.parked.v, 0);
	assert_false(odrp_has_released(&bed.q));
}
