// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hostile client of a space against the agent as it is, on software NICs in virtual
 * time, beside an honest client of another space and a compute node that swaps:
 *
 *	fuzz-space [OPERATIONS [SEED]]		whole lives
 *	fuzz-space --life SEED			one life again, as a failure names it
 *
 * The hostile client sends READ, WRITE, CAS, FAA and what does not belong there, by any
 * key and to any address: its own space, at and beyond its borders, other spaces, the
 * pool, the swap session, a space that is deleted in the middle. For each operation the
 * oracle says whether it may succeed. It has a copy of all memory that the agent lends,
 * which must be as the copy says: but for what is allowed, nothing changes and nothing is
 * read. Meanwhile the others are served. ODRP_NIGHTLY=1 in the environment: 200 times as
 * many operations.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mlx5/encode.h>
#include <odrp/far.h>
#include "../lib/nightly.h"
#include "bed/agent.h"
#include "../../userspace/space/layout.h"

#define SPACE		(4u << 20)
#define LOCAL		(SPACE + (64u << 10))
#define PAGE		ODRP_WIRE_PAGE_SIZE
#define SWAP_SLOTS	32u
#define PER_LIFE	250u
#define PER_LOOK	8u	/* operations between two looks at all memory */
#define UNTOUCHED	0xee
/* A queue pair whose peer is gone finds out in less; nobody answers a SEND, ever. */
#define PATIENCE_NS	20000000000ull
#define DEAF_NS		50000000ull

/* A client of a space: a connection that shows that it lives, and one for operations. */
struct link {
	struct client *client;
	uint8_t mem[4096] __attribute__((aligned(4096)));
	struct wrc_dbr *dbr;
	uint32_t qpn, id, posted;
	bool up;
	unsigned int status;		/* of a refusal */
	struct odrp_far_region region;
};

struct client {
	struct nic *nic;
	uint32_t pdn, cqn, lkey;
	uint8_t *local;			/* LOCAL bytes */
	uint64_t attach;
	unsigned int rights;
	struct link control, queue;
	uint32_t rkey;
};

/* One operation, and what the oracle thinks of it. */
struct op {
	struct wrc_wr wr;
	uint32_t len;
	bool atomic, deaf, legal;
};

enum { SPACE_A, SPACE_B, SPACE_C, NR_SPACES };

static struct {
	struct bed bed;
	uint64_t rnd;
	struct client hostile, former, honest;
	uint32_t key_c, key_swap;
	uint8_t *copy;			/* of the pool */
	uint8_t *base[NR_SPACES];
	uint8_t swapped[SWAP_SLOTS];	/* version of each slot's page */
	unsigned long ops, legal;
	char wrong[160];
} w;

static __attribute__((format(printf, 1, 2))) void wrong(const char *format, ...)
{
	va_list ap;

	if (w.wrong[0])
		return;
	va_start(ap, format);
	vsnprintf(w.wrong, sizeof(w.wrong), format, ap);
	va_end(ap);
}

static uint64_t draw(void)
{
	w.rnd ^= w.rnd << 13;
	w.rnd ^= w.rnd >> 7;
	w.rnd ^= w.rnd << 17;
	return w.rnd * 0x2545f4914f6cdd1dull;
}

static uint64_t below(uint64_t n)
{
	return (draw() >> 8) % n;
}

/* ---- connections ----------------------------------------------------------------- */

static void client_init(struct client *c, unsigned int node, unsigned int rights)
{
	const struct snic_config cfg = { .prefix_len = 24 };

	memset(c, 0, sizeof(*c));
	c->attach = 11 + (draw() >> 8);
	c->rights = rights;
	c->local = aligned_alloc(PAGE, LOCAL);
	assert_non_null(c->local);
	assert_int_equal(nic_soft_adopt(w.bed.nodes[node].host.nic, &cfg, &c->nic), 0);
	assert_int_equal(c->nic->ops->pd_alloc(c->nic, &c->pdn), 0);
	assert_int_equal(c->nic->ops->cq_create(c->nic, 4, &c->cqn), 0);
	assert_int_equal(c->nic->ops->mr_reg(c->nic, c->pdn, c->local, LOCAL, 0,
					     NIC_LOCAL_WRITE, &c->lkey), 0);
}

static void take_answer(struct link *l, const struct nic_event *ev)
{
	struct odrp_far_reject rej;

	l->up = ev->type == NIC_ESTABLISHED;
	if (l->up) {
		memcpy(&l->region, ev->priv + sizeof(struct odrp_far_accept),
		       sizeof(l->region));
	} else if (ev->reason == NIC_REJECTED) {
		memcpy(&rej, ev->priv, sizeof(rej));
		l->status = ntohs(rej.status);
	}
}

static void link_close(struct link *l)
{
	struct nic *nic = l->client ? l->client->nic : NULL;

	if (!nic)
		return;
	assert_int_equal(nic->ops->qp_destroy(nic, l->qpn), 0);
	nic->ops->release(nic, l->id);
	l->client = NULL;
}

/* Whether the agent accepts it. */
static bool say(struct client *c, const struct odrp_far_hello *hello, struct link *l)
{
	struct nic_qp_attr attr = {
		.pdn = c->pdn, .scqn = c->cqn, .rcqn = c->cqn, .mem = l->mem,
		.mem_len = sizeof(l->mem), .sq = l->mem, .log_sq = 2,
		.dbr = (struct wrc_dbr *)(l->mem + 2048), .access = NIC_REMOTE_WRITE,
	};
	struct nic_event ev;

	memset(l, 0, sizeof(*l));
	l->client = c;
	l->dbr = attr.dbr;
	assert_int_equal(c->nic->ops->qp_create(c->nic, &attr, &l->qpn), 0);
	assert_int_equal(c->nic->ops->connect(c->nic, htonl(0x0a4d0001), ODRP_FAR_PORT,
					      l->qpn, hello, sizeof(*hello), &l->id), 0);
	/* Events of connections that are over are nobody's. */
	do {
		while (c->nic->ops->event(c->nic, &ev))
			assert_true(bed_pump(&w.bed));
	} while (ev.id != l->id);
	take_answer(l, &ev);
	if (!l->up)
		link_close(l);
	return l->up;
}

static struct odrp_far_hello hello_of(enum odrp_far_role role, uint64_t attach)
{
	return (struct odrp_far_hello){
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = role, .attach = htobe64(attach),
	};
}

static void attach(struct client *c, char space)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_ATTACH, c->attach);

	hello.rights = c->rights;
	hello.name[0] = space;
	assert_true(say(c, &hello, &c->control));
	c->rkey = ntohl(c->control.region.rkey);
}

/* A queue pair that works, in place of one that may not. */
static void queue_renew(struct client *c)
{
	const struct odrp_far_hello hello = hello_of(ODRP_FAR_QUEUE, c->attach);

	link_close(&c->queue);
	if (!say(c, &hello, &c->queue))
		wrong("a queue of an attachment that stands is refused: %u",
		      c->queue.status);
}

static void client_fini(struct client *c)
{
	link_close(&c->queue);
	link_close(&c->control);
	c->nic->ops->close(c->nic);
	free(c->local);
}

/* ---- operations ------------------------------------------------------------------ */

/* Posts it, and waits: 1 it succeeded, 0 it failed, -1 nothing came. */
static int op_do(struct client *c, struct op *op)
{
	struct link *l = &c->queue;
	uint64_t until = w.bed.now + (op->deaf ? DEAF_NS : PATIENCE_NS);
	struct wrc_cqe cqe;

	while (!c->nic->ops->cq_poll(c->nic, c->cqn, &cqe))
		;
	op->wr.index = l->posted;
	op->wr.qpn = l->qpn;
	if (wrc_encode(&op->wr, l->mem + l->posted % 4 * WRC_WQE_BB, WRC_WQE_BB) < 0)
		return -1;
	l->posted++;
	l->dbr->snd = htonl(l->posted);
	assert_int_equal(c->nic->ops->qp_doorbell(c->nic, l->qpn, l->posted), 0);
	while (c->nic->ops->cq_poll(c->nic, c->cqn, &cqe))
		if (w.bed.now >= until || !bed_pump(&w.bed))
			return -1;
	return cqe.op_own >> 4 == WRC_CQE_REQ;
}

static uint8_t *own_copy(uint64_t off)
{
	return w.copy + (w.base[SPACE_A] - (uint8_t *)w.bed.m.pool.page_mem.va) + off;
}

/* The agent writes there: the arbiter's part of a space. */
static uint64_t own_begin(void)
{
	return w.bed.m.spaces.list->sb.data_off;
}

static uint32_t draw_key(void)
{
	switch (below(16)) {
	case 0: case 1:
		return w.honest.rkey;
	case 2: case 3:
		return w.key_c;
	case 4:
		return w.bed.m.pool.page_key;
	case 5:
		return w.key_swap;
	case 6:
		return w.hostile.rkey ^ 1u << below(32);
	case 7:
		return draw();
	case 8:
		return below(2) ? 0 : UINT32_MAX;
	default:
		return w.hostile.rkey;
	}
}

static uint64_t draw_addr(uint32_t len)
{
	switch (below(10)) {
	case 0:
		return SPACE - len + below(17) - 8;
	case 1:
		return below(17) - 8;
	case 2:
		return draw();
	case 3:
		return WRC_POOL_IOVA + below(w.bed.m.pool.pages) * PAGE;
	case 4:
		return (uintptr_t)w.base[below(NR_SPACES)] + below(SPACE);
	case 5:
		return below(SPACE - len);
	default:
		return own_begin() + below((SPACE - own_begin() - len) / 8) * 8;
	}
}

static uint32_t draw_len(void)
{
	static const uint32_t lens[] = { 0, 1, 7, 9, 64, PAGE, 2 * PAGE + 3, 65536 };

	if (below(2))
		return 8;
	return below(64) ? lens[below(8)] : SPACE - 8 + below(16);
}

static bool op_is_inside(const struct op *op)
{
	uint64_t at = op->wr.raddr;
	unsigned int right = op->wr.op == WRC_WQE_READ ? ODRP_FAR_READ : ODRP_FAR_WRITE;

	if (!(w.hostile.rights & right))
		return false;
	/* No key is looked at for nothing. */
	if (!op->len)
		return true;
	return op->wr.rkey == w.hostile.rkey && at <= SPACE && op->len <= SPACE - at;
}

static bool op_is_legal(const struct op *op)
{
	return op_is_inside(op) && !op->deaf && !(op->atomic && op->wr.raddr & 7);
}

static void op_draw(struct op *op)
{
	static const uint8_t kinds[] = {
		WRC_WQE_READ, WRC_WQE_READ, WRC_WQE_WRITE, WRC_WQE_WRITE, WRC_WQE_CS,
		WRC_WQE_FA, WRC_WQE_READ, WRC_WQE_WRITE, WRC_WQE_CS, WRC_WQE_FA,
		WRC_WQE_SEND, WRC_WQE_WRITE + 1, WRC_WQE_SEND + 1,
	};
	uint8_t kind = kinds[below(sizeof(kinds))];

	memset(op, 0, sizeof(*op));
	op->atomic = kind == WRC_WQE_CS || kind == WRC_WQE_FA;
	/* There are no receive entries. */
	op->deaf = kind != WRC_WQE_READ && kind != WRC_WQE_WRITE && !op->atomic;
	op->len = op->atomic ? 8 : draw_len();
	op->wr = (struct wrc_wr){
		.op = kind, .shape = kind, .flags = WRC_WQE_CE_ALWAYS, .rkey = draw_key(),
		.raddr = draw_addr(op->len), .compare = draw(), .swap = draw(),
		.nr_sge = op->len ? 1 : 0,
		.sge[0] = { .len = op->len, .lkey = w.hostile.lkey },
	};
	op->legal = op_is_legal(op);
	/* One that fits what is there. */
	if (kind == WRC_WQE_CS && op->legal && below(2))
		memcpy(&op->wr.compare, own_copy(op->wr.raddr), 8);
}

/* What an operation that is allowed has to do to the copy, and brings back. */
static void op_expect(const struct op *op, const uint8_t *sent)
{
	const uint8_t *local = w.hostile.local;
	uint64_t old, new;
	uint8_t *at;

	if (!op->len)
		return;
	at = own_copy(op->wr.raddr);
	if (op->wr.op == WRC_WQE_WRITE) {
		memcpy(at, sent, op->len);
		return;
	}
	if (op->wr.raddr >= own_begin() && memcmp(local, at, op->len))
		wrong("what is read at %#lx is not what is there", (long)op->wr.raddr);
	if (!op->atomic)
		return;
	memcpy(&old, local, 8);
	new = op->wr.op == WRC_WQE_FA ? old + op->wr.swap :
	      old == op->wr.compare ? op->wr.swap : old;
	memcpy(at, &new, 8);
}

static void op_judge(const struct op *op, const uint8_t *sent, int did)
{
	uint32_t len = op->len < LOCAL ? op->len : LOCAL, i;

	if (op->legal && did != 1)
		wrong("refused (%d): opcode %#x of %u bytes at %#lx, key %#x", did, op->wr.op,
		      op->len, (long)op->wr.raddr, op->wr.rkey);
	else if (!op->legal && did == 1)
		wrong("done: opcode %#x of %u bytes at %#lx, key %#x", op->wr.op, op->len,
		      (long)op->wr.raddr, op->wr.rkey);
	else if (op->legal)
		op_expect(op, sent);
	else if (op->wr.op == WRC_WQE_READ || op->atomic)
		for (i = 0; i < len; i++)
			if (w.hostile.local[i] != UNTOUCHED)
				wrong("a refused operation has brought something back");
}

static void hostile_op(void)
{
	static uint8_t sent[LOCAL];
	struct client *c = &w.hostile;
	struct op op;
	uint32_t i;
	int did;

	op_draw(&op);
	if (op.wr.op == WRC_WQE_READ || op.atomic) {
		memset(c->local, UNTOUCHED, op.len);
	} else {
		for (i = 0; i < op.len; i++)
			c->local[i] = draw() >> 16;
		memcpy(sent, c->local, op.len);
	}
	did = op_do(c, &op);
	op_judge(&op, sent, did);
	w.ops++;
	w.legal += op.legal;
	/* All but the last packet of a WRITE that wants a receive entry is written. */
	if (op.wr.op == WRC_WQE_WRITE + 1 && op.len && op_is_inside(&op))
		memcpy(own_copy(op.wr.raddr), w.base[SPACE_A] + op.wr.raddr, op.len);
	if (did != 1)
		queue_renew(c);
}

/* By the key and the queue of a space that is deleted: nothing, ever. */
static void former_op(void)
{
	struct op op = {
		.wr = {
			.op = WRC_WQE_WRITE, .shape = WRC_WQE_WRITE,
			.flags = WRC_WQE_CE_ALWAYS, .rkey = w.key_c,
			.raddr = below(SPACE / 8) * 8, .nr_sge = 1,
			.sge[0] = { .len = 8, .lkey = w.former.lkey },
		},
	};

	memset(w.former.local, UNTOUCHED, 8);
	if (below(2))
		op.wr.op = op.wr.shape = WRC_WQE_READ;
	if (op_do(&w.former, &op) == 1)
		wrong("a key of a deleted space leads somewhere");
}

/* ---- the others ------------------------------------------------------------------ */

static void honest_check(void)
{
	struct op op = {
		.wr = {
			.op = WRC_WQE_WRITE, .shape = WRC_WQE_WRITE,
			.flags = WRC_WQE_CE_ALWAYS, .rkey = w.honest.rkey, .nr_sge = 1,
			.raddr = own_begin() + below((SPACE - own_begin()) / 8 - 1) * 8,
			.sge[0] = { .len = 8, .lkey = w.honest.lkey },
		},
	};
	uint64_t value = draw();

	memcpy(w.honest.local, &value, 8);
	if (op_do(&w.honest, &op) != 1)
		wrong("the honest client cannot write");
	memset(w.honest.local, 0, 8);
	op.wr.op = op.wr.shape = WRC_WQE_READ;
	if (op_do(&w.honest, &op) != 1 || memcmp(w.honest.local, &value, 8))
		wrong("the honest client does not read what it wrote");
}

static void swap_check(void)
{
	unsigned int slot = below(SWAP_SLOTS);
	struct cnode *c = w.bed.nodes[2].cnode;
	uint8_t page[PAGE];
	int err = 0;

	if (w.swapped[slot]) {
		err = cnode_do(c, 0, ODRP_WIRE_LOAD, slot, page);
		if (!err && !bed_is(page, 2, slot, w.swapped[slot]))
			wrong("a page that was swapped out has changed");
	}
	bed_fill(page, 2, slot, w.swapped[slot] + 1);
	if (!err)
		err = cnode_do(c, 0, w.swapped[slot] ? ODRP_WIRE_MAPPED_STORE :
			       ODRP_WIRE_UNMAPPED_STORE, slot, page);
	if (err)
		wrong("the compute node is not served: %d", err);
	w.swapped[slot]++;
}

/* ---- all memory ------------------------------------------------------------------ */

static void copy_take(void)
{
	memcpy(w.copy, w.bed.m.pool.page_mem.va, w.bed.m.pool.pages * PAGE);
}

static bool is_epochs(const uint8_t *at)
{
	unsigned int i;

	for (i = 0; i < NR_SPACES; i++)
		if (w.base[i] && at >= w.base[i] + FAR_SB_EPOCH &&
		    at < w.base[i] + FAR_SB_SHARED)
			return true;
	return at >= w.base[SPACE_A] && at < w.base[SPACE_A] + own_begin();
}

static void copy_compare(void)
{
	const uint8_t *now = w.bed.m.pool.page_mem.va;
	uint64_t page, i;

	for (page = 0; page < w.bed.m.pool.pages; page++, now += PAGE) {
		const uint8_t *then = w.copy + page * PAGE;

		if (!memcmp(now, then, PAGE))
			continue;
		for (i = 0; i < PAGE; i++)
			if (now[i] != then[i] && !is_epochs(now + i))
				wrong("page %lu of the pool has changed at %lu",
				      (long)page, (long)i);
	}
}

/* ---- a life ---------------------------------------------------------------------- */

static void world_open(uint64_t seed)
{
	static const char *const names[NR_SPACES] = { "a", "b", "c" };
	struct bed_options opts;
	struct space *space;
	char why[CONF_WHY_MAX];
	unsigned int i;

	bed_options(&opts);
	opts.seed = seed;
	/* The agent has asked already who it is: one of the clients. */
	opts.conf.auth = CONF_AUTH_NONE;
	opts.conf.pool += NR_SPACES * SPACE;
	for (i = 0; i < NR_SPACES; i++)
		assert_int_equal(conf_space_set(&opts.conf, names[i], "size", "4M", why), 0);
	bed_open(&w.bed, &opts, 3);
	for (i = 0, space = w.bed.m.spaces.list; space; space = space->next, i++)
		w.base[i] = space->host.base;
	w.copy = malloc(w.bed.m.pool.pages * PAGE);
	assert_non_null(w.copy);
	w.bed.nodes[2].cfg.keyed = bed_keyed;
}

static void life_begin(uint64_t seed)
{
	uint64_t raddr;

	memset(&w, 0, sizeof(w));
	w.rnd = seed * 0x9e3779b97f4a7c15ull | 1;
	draw();
	world_open(seed);
	client_init(&w.hostile, 0, 1 + below(3));
	client_init(&w.former, 0, ODRP_FAR_READ | ODRP_FAR_WRITE);
	client_init(&w.honest, 1, ODRP_FAR_READ | ODRP_FAR_WRITE);
	attach(&w.hostile, 'a');
	attach(&w.former, 'c');
	attach(&w.honest, 'b');
	w.key_c = w.former.rkey;
	queue_renew(&w.hostile);
	queue_renew(&w.former);
	queue_renew(&w.honest);
	bed_connect(&w.bed, 2, SWAP_SLOTS, 1, 4);
	w.key_swap = w.bed.m.pool.page_key;
	if (bed_keyed)
		cnode_where(w.bed.nodes[2].cnode, 0, &raddr, &w.key_swap);
	bed_settle(&w.bed);
}

/* The rest of it, with the space that goes in the middle. */
static void life_live(unsigned int ops)
{
	unsigned int i, gone = below(ops);

	for (i = 0; i < ops && !w.wrong[0]; i++) {
		if (i % PER_LOOK == 0) {
			honest_check();
			swap_check();
			if (i <= gone && gone < i + PER_LOOK) {
				assert_int_equal(manager_delete_space(&w.bed.m, "c"), 0);
				w.base[SPACE_C] = NULL;
			}
			copy_take();
		}
		hostile_op();
		if (i > gone + PER_LOOK && i % PER_LOOK == 5)
			former_op();
		if (i % PER_LOOK == PER_LOOK - 1)
			copy_compare();
	}
}

static void life_end(void)
{
	struct check_result res;

	honest_check();
	bed_settle(&w.bed);
	if (check_pages(&w.bed.m, &res) || !check_ok(&res))
		wrong("the agent's own check fails");
	client_fini(&w.hostile);
	client_fini(&w.former);
	client_fini(&w.honest);
	bed_close(&w.bed);
	free(w.copy);
}

/* 0: nothing was wrong. */
static int life_run(uint64_t seed, unsigned long *ops, unsigned long *legal)
{
	life_begin(seed);
	life_live(PER_LIFE);
	life_end();
	*ops += w.ops;
	*legal += w.legal;
	if (w.wrong[0])
		printf("%s\nagain: %sfuzz-space --life %lu\n", w.wrong,
		       bed_keyed ? "ODRP_TRANSLATE=nic " : "", (unsigned long)seed);
	return w.wrong[0] != 0;
}

static int nr_args, result;
static char **args;

/* The bed's own assertions need a test around them. */
static void run(void **state)
{
	unsigned long want = nr_args > 1 ? strtoul(args[1], NULL, 0) : 20000;
	unsigned long seed = nr_args > 2 ? strtoul(args[2], NULL, 0) : 1;
	unsigned long ops = 0, legal = 0, lives = 0;

	if (nr_args > 2 && !strcmp(args[1], "--life")) {
		result = life_run(seed, &ops, &legal);
		return;
	}
	if (nightly())
		want *= 200;
	while (ops < want && !result)
		result = life_run(seed * 1000003 + lives++, &ops, &legal);
	printf("%lu lives, %lu operations, %lu of them allowed\n", lives, ops, legal);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };
	const char *translate = getenv("ODRP_TRANSLATE");

	bed_keyed = translate && !strcmp(translate, "nic");
	nr_args = argc;
	args = argv;
	return cmocka_run_group_tests(tests, NULL, NULL) || result;
}
