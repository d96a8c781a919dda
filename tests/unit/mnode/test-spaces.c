// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spaces in the agent, with clients that say what they like, in virtual time: whose
 * pages they are, what is reached by which key, and who is fenced when.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <odrp/far.h>
#include <report/status.h>
#include <mlx5/encode.h>
#include "bed/agent.h"
#include "../../../userspace/space/geometry.h"

#define MS	1000000ull
#define SPACE	(4u << 20)
#define PAGES	(SPACE / ODRP_WIRE_PAGE_SIZE)

/* A client's NIC, and a queue pair with a connection. */
struct client {
	struct bed *bed;
	struct nic *nic;
	uint32_t pdn, cqn, key;
	uint8_t mem[4096] __attribute__((aligned(4096)));
};

struct link {
	struct client *client;
	uint8_t mem[4096] __attribute__((aligned(4096)));
	struct wrc_dbr *dbr;
	uint32_t qpn, id, posted;
	enum nic_event_type state;
	unsigned int status;		/* of a reject */
	struct odrp_far_region region;	/* of an accept that has one */
	struct odrp_far_info info;	/* of a reject that has one */
};

static struct bed b;
static struct client one, two;

static void client_open(struct client *c, unsigned int node)
{
	const struct snic_config cfg = { .prefix_len = 24 };

	c->bed = &b;
	assert_int_equal(nic_soft_adopt(b.nodes[node].host.nic, &cfg, &c->nic), 0);
	assert_int_equal(c->nic->ops->pd_alloc(c->nic, &c->pdn), 0);
	assert_int_equal(c->nic->ops->cq_create(c->nic, 4, &c->cqn), 0);
	assert_int_equal(c->nic->ops->mr_reg(c->nic, c->pdn, c->mem, sizeof(c->mem), 0,
					     NIC_LOCAL_WRITE, &c->key), 0);
}

/* Space "a" of this size, and "b" of 4 MB, which these may write: NULL: everybody. */
static void world_open_sized(unsigned int dead_ms, const char *size, const char *writers)
{
	struct bed_options opts;
	char why[CONF_WHY_MAX];

	bed_options(&opts);
	opts.conf.auth = CONF_AUTH_NONE;
	assert_int_equal(conf_space_set(&opts.conf, "a", "size", size, why), 0);
	assert_int_equal(conf_space_set(&opts.conf, "b", "size", "4M", why), 0);
	opts.conf.pool += opts.conf.spaces[0].size + SPACE;
	assert_int_equal(conf_space_set(&opts.conf, "a", "clients", "2", why), 0);
	if (writers)
		assert_int_equal(conf_space_set(&opts.conf, "b", "writers", writers, why), 0);
	opts.conf.spaces[0].dead_ms = opts.conf.spaces[1].dead_ms = dead_ms;
	bed_open(&b, &opts, 2);
	client_open(&one, 0);
	client_open(&two, 1);
}

/* Spaces "a" and "b", of 4 MB each. */
static void world_open(unsigned int dead_ms)
{
	world_open_sized(dead_ms, "4M", NULL);
}

static void world_close(void)
{
	one.nic->ops->close(one.nic);
	two.nic->ops->close(two.nic);
	bed_close(&b);
}

static struct odrp_far_hello hello_of(enum odrp_far_role role, uint64_t attach)
{
	return (struct odrp_far_hello){
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = role, .attach = htobe64(attach),
	};
}

static void take_answer(struct link *l, const struct nic_event *ev)
{
	struct odrp_far_reject rej;

	l->state = ev->type;
	if (ev->type == NIC_ESTABLISHED) {
		memcpy(&l->region, ev->priv + sizeof(struct odrp_far_accept),
		       sizeof(l->region));
	} else if (ev->reason == NIC_REJECTED) {
		memcpy(&rej, ev->priv, sizeof(rej));
		assert_int_equal(rej.magic, htonl(ODRP_FAR_MAGIC));
		l->status = ntohs(rej.status);
		memcpy(&l->info, ev->priv + sizeof(rej), sizeof(l->info));
	}
}

/* Says a hello; the answer is in l. */
static void say(struct client *c, const struct odrp_far_hello *hello, struct link *l)
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
	do {
		while (c->nic->ops->event(c->nic, &ev))
			assert_true(bed_pump(&b));
	} while (ev.id != l->id);
	take_answer(l, &ev);
	if (l->state != NIC_GONE)
		return;
	assert_int_equal(c->nic->ops->qp_destroy(c->nic, l->qpn), 0);
	c->nic->ops->release(c->nic, l->id);
}

static void hang_up(struct link *l)
{
	struct nic *nic = l->client->nic;

	assert_int_equal(nic->ops->qp_destroy(nic, l->qpn), 0);
	nic->ops->release(nic, l->id);
}

static void attach(struct client *c, const char *space, uint64_t id, struct link *l)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_ATTACH, id);

	hello.rights = ODRP_FAR_READ | ODRP_FAR_WRITE;
	memcpy(hello.name, space, strlen(space));
	say(c, &hello, l);
}

/* The status of a question about client `number`. */
static unsigned int ask(struct client *c, enum odrp_far_role role, uint64_t id,
			uint32_t number)
{
	struct odrp_far_hello hello = hello_of(role, id);
	struct link l;

	hello.number = htonl(number);
	say(c, &hello, &l);
	assert_int_equal(l.state, NIC_GONE);
	return l.status;
}

static void queue(struct client *c, uint64_t id, struct link *l)
{
	const struct odrp_far_hello hello = hello_of(ODRP_FAR_QUEUE, id);

	say(c, &hello, l);
}

/* A READ or WRITE of 8 bytes of the client's memory; whether it succeeded. */
static bool access(struct link *l, uint8_t op, uint32_t rkey, uint64_t raddr)
{
	struct client *c = l->client;
	struct wrc_wr wr = {
		.op = op, .shape = op, .flags = WRC_WQE_CE_ALWAYS, .index = l->posted,
		.qpn = l->qpn, .rkey = rkey, .raddr = raddr, .nr_sge = 1,
		.sge[0] = { .len = 8, .lkey = c->key },
	};
	struct wrc_cqe cqe;

	assert_true(wrc_encode(&wr, l->mem + l->posted % 4 * WRC_WQE_BB, WRC_WQE_BB) > 0);
	l->posted++;
	l->dbr->snd = htonl(l->posted);
	assert_int_equal(c->nic->ops->qp_doorbell(c->nic, l->qpn, l->posted), 0);
	while (c->nic->ops->cq_poll(c->nic, c->cqn, &cqe))
		assert_true(bed_pump(&b));
	return cqe.op_own >> 4 == WRC_CQE_REQ;
}

/* ---- pages ------------------------------------------------------------------------- */

static void test_pages(void **state)
{
	struct check_result res;
	uint64_t budget;

	world_open(1000);
	assert_int_equal(b.m.spaces.nr_pages, 2 * PAGES);
	assert_int_equal(b.m.pool.nr_free, b.m.pool.pages - 2 * PAGES);
	assert_int_equal(b.m.budget, b.m.pool.nr_free - b.m.stock.target);
	assert_int_equal(check_pages(&b.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.spaces, 2 * PAGES);

	/* Swap takes all that is left, and no page of a space. */
	bed_connect(&b, 0, b.m.budget, 1, 4);
	bed_settle(&b);
	assert_int_equal(check_pages(&b.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.spaces, 2 * PAGES);

	budget = b.m.budget;
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	assert_int_equal(manager_delete_space(&b.m, "a"), -ENOENT);
	assert_int_equal(b.m.budget, budget + PAGES);
	assert_int_equal(check_pages(&b.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.spaces, PAGES);
	world_close();
}

/* A page of a space in somebody's table is found. */
static void test_pages_mixed(void **state)
{
	struct check_result res;

	world_open(1000);
	b.m.pool.owner[b.m.spaces.list->page] = 1;
	assert_int_equal(check_pages(&b.m, &res), 0);
	assert_false(check_ok(&res));
	assert_int_equal(res.foreign, 1);
	b.m.pool.owner[b.m.spaces.list->page] = POOL_SPACES;
	free_map_put(&b.m.pool.free, b.m.spaces.list->page);
	assert_int_equal(check_pages(&b.m, &res), 0);
	assert_int_equal(res.doubled, 1);
	free_map_take(&b.m.pool.free, b.m.spaces.list->page);
	world_close();
}

static void test_runs(void **state)
{
	uint64_t first;
	struct pool *pool = &b.m.pool;
	uint64_t nr_free;

	world_open(1000);
	nr_free = pool->nr_free;
	assert_int_equal(pool_take_run(pool, 7, 0, &first), -ENOMEM);
	assert_int_equal(pool_take_run(pool, 7, nr_free + 1, &first), -ENOMEM);
	assert_int_equal(pool->nr_free, nr_free);
	assert_int_equal(pool_take_run(pool, 8, nr_free, &first), 0);
	pool_give_run(pool, first + 3, nr_free - 3);
	/* The first pages are others' now, so that the longest run is shorter. */
	assert_int_equal(pool_take_run(pool, 7, nr_free, &first), -ENOMEM);
	assert_int_equal(pool_take_run(pool, 7, nr_free - 3, &first), 0);
	assert_int_equal(first, 3);
	assert_int_equal(pool->nr_free, 0);
	pool_give_run(pool, first, nr_free - 3);
	assert_int_equal(pool->nr_free, nr_free - 3);
	pool_give_run(pool, 0, 3);
	world_close();
}

/* ---- clients ------------------------------------------------------------------------ */

static uint64_t number(struct json_object *obj, const char *name)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(obj, name, &v));
	return json_object_get_uint64(v);
}

static void test_status(void **state)
{
	struct json_object *obj, *spaces, *a;
	struct link control;

	world_open(1000);
	attach(&one, "a", 11, &control);
	assert_int_equal(control.state, NIC_ESTABLISHED);
	obj = status_make(&b.m, 0);
	assert_int_equal(number(obj, "pages_spaces"), 2 * PAGES);
	assert_int_equal(number(obj, "pages_free") + number(obj, "pages_mapped") +
			 number(obj, "pages_armed") + number(obj, "pages_spaces"),
			 number(obj, "pages_total"));
	assert_true(json_object_object_get_ex(obj, "spaces", &spaces));
	assert_int_equal(json_object_array_length(spaces), 2);
	a = json_object_array_get_idx(spaces, 0);
	assert_int_equal(number(a, "size"), SPACE);
	assert_int_equal(number(a, "attached"), 1);
	assert_int_equal(number(a, "clients"), 0);
	assert_int_equal(number(a, "max_clients"), 2);
	json_object_put(obj);
	hang_up(&control);
	world_close();
}

/* A key opens its own space, to queues of attachments to that space. */
static void test_keys(void **state)
{
	struct link control_a, control_b, ops;
	uint32_t key_a, key_b;

	world_open(60000);
	attach(&one, "a", 11, &control_a);
	attach(&two, "b", 12, &control_b);
	assert_int_equal(be64toh(control_a.region.size), SPACE);
	assert_int_equal(be64toh(control_a.region.addr), 0);
	key_a = ntohl(control_a.region.rkey);
	key_b = ntohl(control_b.region.rkey);

	queue(&one, 11, &ops);
	memcpy(one.mem, "FAR\0\0\0\0", 8);
	assert_true(access(&ops, WRC_WQE_WRITE, key_a, SPACE - 8));
	memset(one.mem, 0, 8);
	assert_true(access(&ops, WRC_WQE_READ, key_a, SPACE - 8));
	assert_memory_equal(one.mem, "FAR\0\0\0\0", 8);
	assert_false(access(&ops, WRC_WQE_READ, key_a, SPACE - 7));
	hang_up(&ops);
	queue(&one, 11, &ops);
	assert_false(access(&ops, WRC_WQE_READ, key_b, 0));
	hang_up(&ops);
	queue(&one, 11, &ops);
	assert_false(access(&ops, WRC_WQE_READ, b.m.pool.page_key, WRC_POOL_IOVA));
	hang_up(&ops);
	/* Nothing at all by the connection that shows that it lives. */
	assert_false(access(&control_a, WRC_WQE_READ, key_a, 0));
	/* Another one's attachment is no use from here. */
	queue(&one, 12, &ops);
	assert_int_equal(ops.state, NIC_GONE);
	assert_int_equal(ops.status, ODRP_FAR_E_ATTACH);
	hang_up(&control_a);
	hang_up(&control_b);
	world_close();
}

static void test_hellos(void **state)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_ATTACH, 11);
	struct link l;

	world_open(60000);
	attach(&one, "c", 11, &l);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	hello.version ^= 1;
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_VERSION);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_E_ATTACH);
	/* Swap's hello is answered as before, and its own connections work. */
	bed_connect(&b, 1, 16, 1, 4);
	world_close();
}

/* Spaces by number and by name, whoever asks. */
static void test_look(void **state)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_LOOK, 1);
	struct link l;

	world_open(60000);
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_OK);
	assert_string_equal((char *)l.info.name, "b");
	assert_int_equal(be64toh(l.info.size), SPACE);
	assert_int_equal(ntohl(l.info.max_clients), 256);
	assert_int_equal(ntohs(l.info.nr_nodes), 1);
	hello.number = htonl(1);
	say(&one, &hello, &l);
	assert_string_equal((char *)l.info.name, "a");
	assert_int_equal(ntohl(l.info.max_clients), 2);
	hello.number = htonl(2);
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	hello.name[0] = 'a';
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_OK);
	assert_string_equal((char *)l.info.name, "a");
	hello.name[0] = 'x';
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	world_close();
}

/* Deleted from afar only where the settings allow it. */
static void test_delete(void **state)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_DELETE, 1);
	struct link l, control;
	uint64_t budget;

	world_open(60000);
	budget = b.m.budget;
	attach(&two, "a", 12, &control);
	hello.name[0] = 'a';
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_RIGHTS);
	assert_int_equal(b.m.budget, budget);
	b.m.spaces.list->host.deletable = true;
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_OK);
	bed_pass(&b, 10);
	assert_int_equal(b.m.budget, budget + PAGES);
	assert_int_equal(b.m.spaces.nr_pages, PAGES);
	assert_null(b.m.spaces.host.attaches);
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	hang_up(&control);
	world_close();
}

/* A deleted space is found by nobody, although a large one still ends before it. */
static void test_delete_behind_another(void **state)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_DELETE, 1);
	struct link l;

	world_open_sized(60000, "4G", "somebody");
	b.m.spaces.list->next->host.deletable = true;
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	assert_int_equal(manager_delete_space(&b.m, "b"), 0);
	attach(&one, "b", 11, &l);
	assert_int_equal(l.state, NIC_GONE);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	hello.name[0] = 'b';
	say(&one, &hello, &l);
	assert_int_equal(l.status, ODRP_FAR_E_SPACE);
	assert_non_null(b.m.spaces.ending->next);	/* all that was in time */
	bed_pass(&b, 100);
	assert_null(b.m.spaces.ending);
	assert_int_equal(b.m.spaces.nr_pages, 0);
	world_close();
}

#define QUEUES	300

static struct link queues[QUEUES];

/* An attachment with many queues, and a claim. */
static void attach_many(struct link *control)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_QUEUE, 11);
	unsigned int i;

	attach(&one, "a", 11, control);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_OK);
	for (i = 0; i < QUEUES; i++) {
		hello.number = htonl(i);
		say(&one, &hello, &queues[i]);
		assert_int_equal(queues[i].state, NIC_ESTABLISHED);
	}
}

static void hang_up_many(struct link *control)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		hang_up(&queues[i]);
	hang_up(control);
}

/* The agent's turns, until nothing leaves any more: how many, each within its bound. */
static unsigned int turns_of_leaving(void)
{
	struct far_host *host = &b.m.spaces.host;
	unsigned int turns;
	uint64_t cuts;

	for (turns = 0; host->leaving; turns++) {
		assert_true(far_host_claimed(host, host->leaving->space, 1));
		cuts = host->fence.ended;
		assert_true(manager_spaces(&b.m, b.now) <= b.now || !host->leaving);
		assert_in_range(host->fence.ended - cuts, 1, FAR_HOST_ENDS);
	}
	return turns;
}

/* An attachment ends in pieces, and nobody else has its claims before it has ended. */
static void test_cut_in_pieces(void **state)
{
	struct link control, l;
	struct far_host *host = &b.m.spaces.host;
	uint64_t cuts;

	world_open(60000);
	attach_many(&control);
	attach(&two, "a", 12, &l);
	cuts = host->fence.ended;
	far_host_cut(host, far_host_find(host, 11));
	assert_in_range(host->fence.ended - cuts, 1, FAR_HOST_ENDS);
	assert_null(far_host_find(host, 11));
	assert_int_equal(far_host_fence(host, &b.m.spaces.list->host, 1), -EBUSY);
	/* A connection that its client ends meanwhile counts once. */
	assert_true(far_host_gone(host, host->leaving->queues->conn));
	assert_int_equal(turns_of_leaving(), 2);
	assert_int_equal(host->fence.ended - cuts, QUEUES + 1);
	assert_int_equal(host->nr_queues, 0);
	assert_int_equal(host->nr_attaches, 1);
	assert_false(far_host_claimed(host, &b.m.spaces.list->host, 1));
	assert_int_equal(ask(&two, ODRP_FAR_CLAIM, 12, 1), ODRP_FAR_OK);
	hang_up(&l);
	hang_up_many(&control);
	world_close();
}

/* A space that is deleted does so, too; its pages are free when nobody can reach them. */
static void test_delete_in_pieces(void **state)
{
	struct link control;
	uint64_t cuts, budget;

	world_open(60000);
	attach_many(&control);
	budget = b.m.budget;
	cuts = b.m.spaces.host.fence.ended;
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	assert_in_range(b.m.spaces.host.fence.ended - cuts, 1, FAR_HOST_ENDS);
	assert_null(spaces_find(&b.m.spaces, "a"));
	assert_int_equal(b.m.budget, budget);
	assert_int_equal(turns_of_leaving(), 2);
	assert_int_equal(b.m.spaces.host.fence.ended - cuts, QUEUES + 1);
	bed_pass(&b, 10);
	assert_int_equal(b.m.budget, budget + PAGES);
	assert_null(b.m.spaces.ending);
	hang_up_many(&control);
	world_close();
}

/*
 * What a client has written may still be on the way when its queue pairs are gone.  The
 * pages of a deleted space go to nobody before a READ of the NIC has shown that it has
 * arrived.
 */
static void test_deleted_behind_a_fence(void **state)
{
	struct far_host *host = &b.m.spaces.host;
	struct space *space;
	uint64_t budget;
	unsigned int i;
	struct link l;

	world_open(60000);
	attach(&one, "a", 11, &l);
	space = spaces_find(&b.m.spaces, "a");
	budget = b.m.budget;
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	assert_null(host->leaving);
	assert_int_not_equal(host->fence.covers, 0);
	/* The NIC stands still meanwhile, and the agent does not hurry. */
	for (i = 0; i < 10; i++) {
		assert_true(manager_spaces(&b.m, b.now) > b.now);
		assert_ptr_equal(b.m.spaces.ending, space);
		assert_int_equal(space->nr_pages, PAGES);
		assert_int_equal(b.m.budget, budget);
		/* Another space may have the name already. */
		assert_null(far_host_space_find(host, "a"));
	}
	bed_pass(&b, 10);
	assert_true(host->fence.settled > 0);
	assert_null(b.m.spaces.ending);
	assert_int_equal(b.m.budget, budget + PAGES);
	hang_up(&l);
	world_close();
}

/* A space that ends while the agent ends is taken down in pieces, too. */
static void test_ends_in_pieces(void **state)
{
	struct link control;

	world_open(60000);
	attach_many(&control);
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	hang_up_many(&control);
	world_close();
}

/* Claims of one attachment are bounded. */
static void test_claims(void **state)
{
	struct link l;
	unsigned int i;

	world_open(60000);
	attach(&one, "a", 11, &l);
	for (i = 0; i < 16; i++)
		assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, i), ODRP_FAR_OK);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 3), ODRP_FAR_OK);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 16), ODRP_FAR_E_LIMIT);
	assert_int_equal(ask(&one, ODRP_FAR_UNCLAIM, 11, 3), ODRP_FAR_OK);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 16), ODRP_FAR_OK);
	hang_up(&l);
	world_close();
}

/* Readers take no client numbers from writers. */
static void test_claims_of_a_reader(void **state)
{
	struct odrp_far_hello hello = hello_of(ODRP_FAR_ATTACH, 11);
	struct link reader, writer;

	world_open(60000);
	hello.rights = ODRP_FAR_READ;
	hello.name[0] = 'a';
	say(&one, &hello, &reader);
	assert_int_equal(reader.state, NIC_ESTABLISHED);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_E_RIGHTS);
	attach(&two, "a", 12, &writer);
	assert_int_equal(ask(&two, ODRP_FAR_CLAIM, 12, 1), ODRP_FAR_OK);
	hang_up(&reader);
	hang_up(&writer);
	world_close();
}

/* ---- the arbiter ---------------------------------------------------------------------- */

static struct far_client_entry *entry(unsigned int number)
{
	const struct space *space = b.m.spaces.list;

	return (void *)(space->host.base + far_client_entry_off(&space->sb, number));
}

static struct far_epoch_line *line(void)
{
	return (void *)(b.m.spaces.list->host.base + FAR_SB_EPOCH);
}

/* As a client that joins: number 1, alive. */
static void join(struct link *control)
{
	attach(&one, "a", 11, control);
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_OK);
	entry(1)->claim = far_claim(1, 1);
	entry(1)->beat = 1;
	entry(1)->epoch = line()->epoch;
	entry(1)->flushed = FAR_EPOCH_IDLE;
}

/* Epochs advance while somebody is attached, and stand still when nobody is. */
static void test_epochs(void **state)
{
	struct link control;
	uint64_t epoch;

	world_open(60000);
	bed_pass(&b, 100);
	assert_int_equal(line()->epoch, 1);
	attach(&one, "a", 11, &control);
	bed_pass(&b, 100);
	assert_in_range(line()->epoch, 90, 110);
	hang_up(&control);
	bed_pass(&b, 20000);
	epoch = line()->epoch;
	bed_pass(&b, 1000);
	assert_int_equal(line()->epoch, epoch);
	world_close();
}

/* A client that does not beat is cut off first, and its number is dead then. */
static void test_silence(void **state)
{
	struct link control, ops;
	unsigned int i;
	uint32_t key;

	world_open(200);
	join(&control);
	key = ntohl(control.region.rkey);
	queue(&one, 11, &ops);
	for (i = 0; i < 10; i++) {
		entry(1)->beat++;
		bed_pass(&b, 150);
	}
	assert_int_equal(entry(1)->fenced, 0);
	assert_int_equal(line()->clients, 1);
	assert_true(access(&ops, WRC_WQE_READ, key, 0));
	bed_pass(&b, 250);
	assert_int_equal(entry(1)->fenced, 1);
	assert_int_equal(line()->clients, 0);
	assert_int_equal(b.m.spaces.list->fenced, 1);
	assert_false(access(&ops, WRC_WQE_WRITE, key, 0));
	assert_int_equal(ask(&one, ODRP_FAR_CLAIM, 11, 1), ODRP_FAR_E_ATTACH);
	hang_up(&ops);
	hang_up(&control);
	world_close();
}

/* Fenced only when a READ behind the cut has completed. */
static void test_fence_order(void **state)
{
	struct link control;
	uint64_t now;

	world_open(200);
	join(&control);
	bed_pass(&b, 10);
	bed_count_long(&b);
	assert_non_null(b.m.spaces.host.attaches);
	/* The agent steps, and no NIC does: the READ does not complete. */
	now = b.now;
	manager_spaces(&b.m, now + 300 * MS);
	assert_null(b.m.spaces.host.attaches);
	manager_spaces(&b.m, now + 310 * MS);
	assert_int_equal(entry(1)->fenced, 0);
	bed_run_ns(&b, MS);
	manager_spaces(&b.m, now + 320 * MS);
	assert_int_equal(entry(1)->fenced, 1);
	hang_up(&control);
	world_close();
}

/* The end of its connection is enough, whatever the beat says. */
static void test_gone(void **state)
{
	struct link control;

	world_open(60000);
	join(&control);
	bed_pass(&b, 50);
	assert_int_equal(ask(&one, ODRP_FAR_DETACH, 11, 0), ODRP_FAR_OK);
	bed_pass(&b, 50);
	assert_int_equal(entry(1)->fenced, 1);
	hang_up(&control);
	world_close();
}

/* A machine that is dead answers no probe. */
static void test_dead(void **state)
{
	struct link control;

	world_open(3600000);
	join(&control);
	bed_pass(&b, 50);
	b.nodes[0].silent = true;
	bed_pass(&b, 20000);
	assert_int_equal(entry(1)->fenced, 1);
	assert_null(b.m.spaces.host.attaches);
	world_close();
}

/* What clients write over tables and superblock leads the agent nowhere. */
static void test_damage(void **state)
{
	struct space *space;
	struct link control;
	struct json_object *obj;
	unsigned int i;

	world_open(200);
	space = b.m.spaces.list;
	join(&control);
	for (i = 0; i < 256; i += 85) {
		memset(space->host.base, i, space->sb.data_off);
		bed_pass(&b, 20);
		obj = status_make(&b.m, 0);
		assert_non_null(obj);
		json_object_put(obj);
	}
	/* The other space goes on, and this one can be deleted. */
	assert_int_equal(manager_delete_space(&b.m, "a"), 0);
	hang_up(&control);
	attach(&two, "b", 12, &control);
	assert_int_equal(control.state, NIC_ESTABLISHED);
	bed_pass(&b, 20);
	assert_true(line()->epoch > 10);
	hang_up(&control);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages), cmocka_unit_test(test_pages_mixed),
		cmocka_unit_test(test_runs), cmocka_unit_test(test_status),
		cmocka_unit_test(test_keys), cmocka_unit_test(test_hellos),
		cmocka_unit_test(test_look), cmocka_unit_test(test_delete),
		cmocka_unit_test(test_delete_behind_another), cmocka_unit_test(test_cut_in_pieces),
		cmocka_unit_test(test_delete_in_pieces),
		cmocka_unit_test(test_deleted_behind_a_fence),
		cmocka_unit_test(test_ends_in_pieces), cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claims_of_a_reader), cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_silence), cmocka_unit_test(test_fence_order),
		cmocka_unit_test(test_gone), cmocka_unit_test(test_dead),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
