// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Arms a chain: program -> geometry -> memory and keys -> queue pairs -> image; then, in
 * pieces, verifier -> doorbell.  From then on the NIC serves it alone.  A queue without a
 * chain has only a queue pair.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "queue.h"

#define LOG_LOOP_CQ	6
#define LOG_OTHER_CQ	4

static struct nic *nic_of(const struct queue *q)
{
	return q->pool->nic;
}

static void *at(const struct queue *q, uint32_t off)
{
	return (char *)q->arena.va + off;
}

/* ---- parts of a queue ----------------------------------------------------- */

/* The protection domain of the queue pairs.  With keys, peers have rights to nothing else
 * in it; the memory of chains and the far queue pair are in the pool's domain. */
static uint32_t pdn_of(const struct queue *q)
{
	return q->keys ? q->keys->pdn : q->pool->pdn;
}

static int reg(struct queue *q, const struct mem *mem, size_t len,
	       uint32_t pdn, unsigned int access, uint32_t *key)
{
	return nic_of(q)->ops->mr_reg(nic_of(q), pdn, mem->va, len,
				      (uintptr_t)mem->va, access, key);
}

static int map_arena(struct queue *q, bool huge)
{
	size_t len = q->geom.arena_len;
	int r;

	r = mem_map(len, MEM_POPULATE | (huge ? MEM_HUGE : 0), &q->arena);
	if (r)
		return r;
	r = reg(q, &q->arena, len, pdn_of(q), q->keys ? NIC_LOCAL_WRITE : NIC_ALL,
		&q->arena_key);
	if (r)
		mem_unmap(&q->arena);
	return r;
}

static void unmap_key(struct queue *q, struct mem *mem, uint32_t key)
{
	if (!mem->va)
		return;
	nic_of(q)->ops->mr_dereg(nic_of(q), key);
	mem_unmap(mem);
}

/* 0: the queue pair is gone, or was gone before. */
static int destroy_qp(struct queue *q, uint32_t *qpn)
{
	int r = *qpn ? nic_of(q)->ops->qp_destroy(nic_of(q), *qpn) : 0;

	if (!r)
		*qpn = 0;
	return r;
}

static int make_memory(struct queue *q, bool huge)
{
	int r;

	r = map_arena(q, huge);
	if (r || !q->keys)
		return r;
	r = reg(q, &q->arena, q->geom.arena_len, q->pool->pdn, NIC_ALL,
		&q->arena_rkey);
	if (r)
		unmap_key(q, &q->arena, q->arena_key);
	return r;
}

static void free_memory(struct queue *q)
{
	if (q->arena_rkey)
		nic_of(q)->ops->mr_dereg(nic_of(q), q->arena_rkey);
	unmap_key(q, &q->arena, q->arena_key);
}

static int make_cqs(struct queue *q)
{
	struct nic *nic = nic_of(q);
	int r;

	/* Room for all of a queue's flushed receive entries, see queue_count(). */
	r = nic->ops->cq_create(nic, q->geom.log_rq + 1, &q->client_rcqn);
	if (r)
		return r;
	r = nic->ops->cq_create(nic, LOG_LOOP_CQ, &q->loop_scqn);
	if (r)
		goto destroy_client;
	r = nic->ops->cq_create(nic, LOG_OTHER_CQ, &q->other_cqn);
	if (r)
		goto destroy_loop;
	return 0;

destroy_loop:
	nic->ops->cq_destroy(nic, q->loop_scqn);
destroy_client:
	nic->ops->cq_destroy(nic, q->client_rcqn);
	return r;
}

static void free_cqs(struct queue *q)
{
	struct nic *nic = nic_of(q);

	nic->ops->cq_destroy(nic, q->other_cqn);
	nic->ops->cq_destroy(nic, q->loop_scqn);
	nic->ops->cq_destroy(nic, q->client_rcqn);
}

#define REACHES (NIC_REMOTE_READ | NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC)

/* The loop queue pair is connected to itself, or with keys to a far queue pair that never
 * sends. */
static int make_far(struct queue *q)
{
	struct nic *nic = nic_of(q);
	struct nic_qp_attr far = {
		.pdn = q->pool->pdn,
		.scqn = q->other_cqn, .rcqn = q->other_cqn,
		.access = REACHES,
	};
	int r;

	q->far_qpn = q->loop_qpn;
	if (!q->keys)
		return 0;
	r = mem_map(WRC_WQE_BB + sizeof(*far.dbr), MEM_POPULATE, &q->far);
	if (r)
		return r;
	far.mem = q->far.va;
	far.mem_len = q->far.len;
	far.sq = q->far.va;
	far.dbr = (struct wrc_dbr *)((char *)q->far.va + WRC_WQE_BB);
	r = nic->ops->qp_create(nic, &far, &q->far_qpn);
	if (r)
		mem_unmap(&q->far);
	return r;
}

static int free_far(struct queue *q)
{
	int r;

	if (!q->far.va)
		return 0;
	r = destroy_qp(q, &q->far_qpn);
	if (!r)
		mem_unmap(&q->far);
	return r;
}

/* The compute node has no RDMA rights on the client queue pair.  The loop queue pair
 * reaches what the domain of its peer has. */
static int make_qps(struct queue *q)
{
	const struct wrc_geom *g = &q->geom;
	struct nic *nic = nic_of(q);
	const struct nic_qp_attr client = {
		.pdn = pdn_of(q),
		.scqn = q->other_cqn, .rcqn = q->client_rcqn,
		.mem = q->arena.va, .mem_len = q->arena.len,
		.sq = at(q, g->client_sq), .log_sq = g->log_client_sq,
		.rq = at(q, g->client_rq), .log_rq = g->log_rq,
		.log_rq_stride = g->log_rq_stride,
		.dbr = at(q, g->client_dbr),
		.cd_slave_send = true,
	};
	const struct nic_qp_attr loop = {
		.pdn = pdn_of(q),
		.scqn = q->loop_scqn, .rcqn = q->other_cqn,
		.mem = q->arena.va, .mem_len = q->arena.len,
		.sq = at(q, g->loop_sq), .log_sq = g->log_loop_sq,
		.dbr = at(q, g->loop_dbr),
		.access = q->keys ? 0 : REACHES,
		.cd_master = true, .cd_slave_send = true,
	};
	int r;

	r = nic->ops->qp_create(nic, &client, &q->client_qpn);
	if (r)
		return r;
	r = nic->ops->qp_create(nic, &loop, &q->loop_qpn);
	if (r)
		goto destroy_client;
	r = make_far(q);
	if (r)
		goto destroy_loop;
	return 0;

destroy_loop:
	nic->ops->qp_destroy(nic, q->loop_qpn);
destroy_client:
	nic->ops->qp_destroy(nic, q->client_qpn);
	return r;
}

static int join(struct queue *q)
{
	struct nic *nic = nic_of(q);
	int r;

	r = nic->node->ops->qp_loop(nic, q->loop_qpn, q->far_qpn);
	if (!r && q->far_qpn != q->loop_qpn)
		r = nic->node->ops->qp_loop(nic, q->far_qpn, q->loop_qpn);
	return r;
}

/* False: a queue pair is still there, so completion queues and memory must stay. */
static bool free_qps(struct queue *q)
{
	int far = free_far(q), loop = destroy_qp(q, &q->loop_qpn);

	return !destroy_qp(q, &q->client_qpn) && !loop && !far;
}

static int write_image(struct queue *q, const struct queue_on *on,
		       const __u64 *pages, char why[WRC_WHY_MAX])
{
	const struct ring *ring = on->ring;
	const struct tt *tt = on->tt;
	struct pool *pool = q->pool;
	uint16_t doorbell;
	int r = 0;

	if (wrc_has_register(q->prog)) {
		q->pages = calloc(q->geom.depth, sizeof(*pages));
		if (!q->pages)
			return -ENOMEM;
		memcpy(q->pages, pages, q->geom.depth * sizeof(*pages));
	}
	q->bind = (struct wrc_bind){
		.client_qpn = q->client_qpn, .client_rcqn = q->client_rcqn,
		.loop_qpn = q->loop_qpn, .loop_scqn = q->loop_scqn,
		.arena_iova = (uintptr_t)q->arena.va,
		.arena_key = q->arena_key, .arena_rkey = q->arena_rkey,
		.keymap_key = q->keys ? q->keys->map_key : 0,
		.tt_iova = 0, .tt_len = tt->nr_slots * sizeof(__be64),
		.tt_key = tt->key,
		.free_key = ring->key,
		.free_head = ring_head_iova(ring),
		.free_tail = ring_tail_iova(ring),
		.free_ring = RING_IOVA,
		.log_free_ring = ring->log_len,
		.pool_key = q->keys ? q->keys->page_key : pool->page_key,
		.pool_len = pool->pages * ODRP_WIRE_PAGE_SIZE,
		.pages = q->pages,
		.fence_orders = pool->nic->node->fence_orders,
	};
	if (q->prog->node)
		r = tables_bind(&pool->tables, pool->nic, pool->pdn, q->prog,
				&q->geom, &q->bind, why);
	if (!r)
		r = wrc_image_arm(q->prog, &q->geom, &q->bind, q->arena.va,
				  &q->step, why, &doorbell);
	return r == -EAGAIN ? 0 : r;
}

/* ---- whole queues ----------------------------------------------------------- */

void queue_bare_prog(struct wrc_prog *prog, enum odrp_wire_chain chain,
		     const char *name)
{
	*prog = (struct wrc_prog){
		.name = name, .chain = chain, .post = WRC_NONE,
		.map = WRC_NONE,
		.hold = {
			.slot_taken = WRC_NONE, .page_taken = WRC_NONE,
			.page_put = WRC_NONE, .swapped = WRC_NONE,
			.umr = WRC_NONE,
		},
	};
}

/* A queue pair that never sends; the compute node READs and WRITEs through it. */
static int make_bare(struct queue *q, uint32_t pdn)
{
	struct nic *nic = nic_of(q);
	struct nic_qp_attr client = {
		.pdn = pdn,
		.access = NIC_REMOTE_READ | NIC_REMOTE_WRITE,
	};
	int r;

	r = mem_map(WRC_WQE_BB + sizeof(*client.dbr), MEM_POPULATE, &q->far);
	if (r)
		return r;
	r = nic->ops->cq_create(nic, LOG_OTHER_CQ, &q->other_cqn);
	if (r)
		goto unmap;
	client.scqn = client.rcqn = q->other_cqn;
	client.mem = q->far.va;
	client.mem_len = q->far.len;
	client.sq = q->far.va;
	client.dbr = (struct wrc_dbr *)((char *)q->far.va + WRC_WQE_BB);
	r = nic->ops->qp_create(nic, &client, &q->client_qpn);
	if (r)
		goto destroy_cq;
	return 0;

destroy_cq:
	nic->ops->cq_destroy(nic, q->other_cqn);
unmap:
	mem_unmap(&q->far);
	return r;
}

static void free_bare(struct queue *q)
{
	if (destroy_qp(q, &q->client_qpn))
		return;
	nic_of(q)->ops->cq_destroy(nic_of(q), q->other_cqn);
	mem_unmap(&q->far);
}

int queue_begin(const struct queue_on *on, const struct wrc_prog *prog,
		uint32_t instances, const __u64 *pages,
		struct queue **ret_queue, char why[WRC_WHY_MAX])
{
	struct queue *q = calloc(1, sizeof(*q));
	int r;

	why[0] = 0;
	if (!q)
		return -ENOMEM;
	q->pool = on->pool;
	q->prog = prog;
	q->keys = on->keys;
	q->bare = !prog->nr_insn;
	if (q->bare) {
		r = make_bare(q, q->keys ? q->keys->pdn : on->bare_pdn);
		if (r)
			goto free_queue;
		*ret_queue = q;
		return 0;
	}
	r = wrc_geom_init(prog, instances, &q->geom);
	if (r)
		goto free_queue;
	r = make_memory(q, on->huge);
	if (r)
		goto free_queue;
	r = make_cqs(q);
	if (r)
		goto free_mem;
	r = make_qps(q);
	if (r)
		goto free_cq;
	r = write_image(q, on, pages, why);
	if (r)
		goto free_qp;
	q->arming = true;
	*ret_queue = q;
	return 0;

free_qp:
	if (!free_qps(q))
		goto free_queue;
free_cq:
	free_cqs(q);
free_mem:
	free_memory(q);
free_queue:
	free(q->pages);
	free(q);
	return r;
}

/* Only an image that the verifier has passed yields a doorbell value. */
int queue_arm_some(struct queue *q, char why[WRC_WHY_MAX])
{
	struct nic *nic = nic_of(q);
	uint16_t doorbell;
	int r;

	r = wrc_image_arm(q->prog, &q->geom, &q->bind, q->arena.va, &q->step, why,
			  &doorbell);
	if (!r)
		r = join(q);
	if (!r)
		r = nic->ops->qp_doorbell(nic, q->loop_qpn, doorbell);
	if (r)
		return r;
	q->arming = false;
	free(q->pages);
	q->pages = NULL;
	return 0;
}

int queue_new(const struct queue_on *on, const struct wrc_prog *prog,
	      uint32_t instances, const __u64 *pages,
	      struct queue **ret_queue, char why[WRC_WHY_MAX])
{
	struct queue *q;
	int r = queue_begin(on, prog, instances, pages, &q, why);

	if (r)
		return r;
	while (q->arming && !r) {
		r = queue_arm_some(q, why);
		if (r == -EAGAIN)
			r = 0;
	}
	if (r)
		queue_free(q);
	else
		*ret_queue = q;
	return r;
}

/* A queue pair that does not stop is destroyed, which stops it, too. */
static int stop_qp(struct queue *q, uint32_t *qpn)
{
	if (!*qpn || !nic_of(q)->ops->qp_error(nic_of(q), *qpn))
		return 0;
	return destroy_qp(q, qpn);
}

int queue_stop(struct queue *q)
{
	int client, loop;

	if (q->stopped)
		return 0;
	client = stop_qp(q, &q->client_qpn);
	loop = stop_qp(q, &q->loop_qpn);
	if (client || loop)
		return client ? client : loop;
	q->stopped = true;
	queue_count(q);
	return 0;
}

void queue_free(struct queue *q)
{
	queue_stop(q);
	if (q->bare) {
		free_bare(q);
	} else if (free_qps(q)) {
		free_cqs(q);
		free_memory(q);
	}
	free(q->pages);
	free(q);
}

int queue_position(const struct queue *q, uint16_t *ret_bb)
{
	struct nic_qp_info info;
	int r;

	*ret_bb = 0;
	if (q->bare)
		return 0;
	r = nic_of(q)->ops->qp_query(nic_of(q), q->loop_qpn, &info);
	if (!r)
		*ret_bb = info.sq_executed;
	return r;
}

unsigned int queue_nr_holders(const struct queue *q)
{
	if (q->bare)
		return 0;
	return wrc_has_register(q->prog) ? q->geom.depth : 1;
}

int queue_held(const struct queue *q, uint16_t bb, unsigned int holder,
	       struct wrc_held *ret_held)
{
	if (wrc_has_register(q->prog))
		return wrc_held_of(q->prog, &q->geom, q->arena.va, bb, holder,
				   ret_held);
	return wrc_held_page(q->prog, &q->geom, q->arena.va, bb, ret_held);
}

static bool info_is_broken(const struct nic_qp_info *loop,
			   const struct nic_qp_info *client, uint8_t *ret_syndrome)
{
	*ret_syndrome = loop->error ? loop->syndrome : client->syndrome;
	return loop->error || client->error;
}

bool queue_broken(const struct queue *q, uint8_t *ret_syndrome)
{
	struct nic *nic = nic_of(q);
	struct nic_qp_info loop = { 0 }, client;

	if ((!q->bare && nic->ops->qp_query(nic, q->loop_qpn, &loop)) ||
	    nic->ops->qp_query(nic, q->client_qpn, &client))
		return true;
	return info_is_broken(&loop, &client, ret_syndrome);
}

static uint32_t good_of(const struct nic_cq_info *info)
{
	return (info->written - info->errors) & WRC_WQE_WAIT_MASK;
}

/* Counts the good entries of a completion queue, modulo 2^24. */
static int count_good(const struct queue *q, uint32_t cqn, uint32_t *ret_good)
{
	struct nic *nic = nic_of(q);
	struct nic_cq_info info;
	int r = nic->node->ops->cq_info(nic, cqn, &info);

	if (!r)
		*ret_good = good_of(&info);
	return r;
}

static void executed_add(struct queue *q, uint32_t good)
{
	q->executed += (good - q->counted) & WRC_WQE_WAIT_MASK;
	q->counted = good;
}

void queue_look(const struct queue *q, struct nic_look *ret_look)
{
	*ret_look = (struct nic_look){
		.qpn = { q->bare ? 0 : q->loop_qpn, q->client_qpn },
		.cqn = q->bare ? 0 : q->client_rcqn,
	};
}

bool queue_seen(struct queue *q, const struct nic_seen *seen, uint8_t *ret_syndrome)
{
	if (seen->err)
		return true;
	if (!q->bare)
		executed_add(q, good_of(&seen->cq));
	return info_is_broken(&seen->qp[0], &seen->qp[1], ret_syndrome);
}

void queue_count(struct queue *q)
{
	uint32_t good;

	/* The agent cannot count READs and WRITEs of the compute node. */
	if (q->bare || count_good(q, q->client_rcqn, &good))
		return;
	executed_add(q, good);
}

int queue_mark(struct queue *q)
{
	int r;

	if (q->bare)
		return 0;
	r = count_good(q, q->client_rcqn, &q->mark);
	q->marked = !r;
	return r;
}

/* The counts differ by at most all instances, so half of the 24-bit range tells which is
 * ahead.  If the NIC cannot be asked, the queue has not passed; it is stopped soon. */
bool queue_passed(const struct queue *q)
{
	uint32_t done, ahead;

	if (!q->marked || !q->prog->client_cqes)
		return true;
	if (count_good(q, q->other_cqn, &done))
		return false;
	ahead = (done - q->mark * q->prog->client_cqes) & WRC_WQE_WAIT_MASK;
	return ahead <= WRC_WQE_WAIT_MASK / 2;
}

int queue_accept_priv(const struct queue *q, uint16_t number, uint16_t depth,
		      void *priv, size_t len)
{
	struct odrp_wire_io_accept *a = priv;

	if (sizeof(*a) > len)
		return -ENOSPC;
	*a = (struct odrp_wire_io_accept){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.chain = q->prog->chain,
		.queue = htobe16(number),
		.depth = htobe16(depth),
	};
	return sizeof(*a);
}
