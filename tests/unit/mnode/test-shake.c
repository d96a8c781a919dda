// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer that proves nothing gets nothing: wrong keys, replays, forged answers, other people's
 * sessions, old counters, and a flood of handshakes that are never finished, beside
 * compute nodes that are honest.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bed/cnode-priv.h"
#include "bed/load.h"

static struct bed bed;
static struct load load;

static void open_bed(unsigned int nr_nodes)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, nr_nodes);
}

static struct cnode *open_one(unsigned int nr_nodes)
{
	open_bed(nr_nodes);
	bed_connect(&bed, 0, 64, 1, 7);
	return bed.nodes[0].cnode;
}

static void expect_refused(int r, const struct cnode_refusal *no, unsigned int status)
{
	assert_int_equal(r, -ECONNREFUSED);
	assert_int_equal(no->status, status);
}

static int try_open(unsigned int node, struct cnode_refusal *no)
{
	struct bed_node *n = &bed.nodes[node];

	n->cfg.nr_slots = 64;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	return cnode_open(&n->cfg, &n->cnode, no);
}

/* Nothing is had for somebody who has not proved who he is. */
static void expect_nothing(void)
{
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	assert_null(bed.m.idents.passes);
	assert_int_equal(bed.m.next_id, 1);
	bed_check(&bed, 0);
}

/* ---- keys ----------------------------------------------------------------------- */

static void test_wrong_key(void **state)
{
	struct cnode_refusal no;

	open_bed(2);
	bed.nodes[0].secret[31] ^= 1;
	assert_int_equal(try_open(0, &no), -ECONNREFUSED);
	/* That of another one who is known. */
	bed.nodes[0].cfg.secret = bed.nodes[1].secret;
	assert_int_equal(try_open(0, &no), -ECONNREFUSED);
	assert_int_equal(bed.m.responder.failed, 2);
	expect_nothing();
	bed_close(&bed);
}

static void test_unknown_name(void **state)
{
	struct cnode_refusal no;

	open_bed(1);
	bed.nodes[0].cfg.name = "nobody";
	expect_refused(try_open(0, &no), &no, 0);
	expect_nothing();
	bed_close(&bed);
}

static void test_no_key(void **state)
{
	struct cnode_refusal no;

	open_bed(1);
	bed.nodes[0].cfg.secret = NULL;
	expect_refused(try_open(0, &no), &no, ODRP_WIRE_E_AUTH);
	assert_false(no.proved);
	expect_nothing();
	bed_close(&bed);
}

/* Two secrets of one name, while one takes the place of the other. */
static void test_rotation(void **state)
{
	struct secrets both = { .nr = 2 };
	struct cnode_refusal no;

	open_bed(1);
	memset(both.secret[0], 1, sizeof(both.secret[0]));
	memcpy(both.secret[1], bed.nodes[0].secret, sizeof(both.secret[1]));
	assert_int_equal(idents_add(&bed.m.idents, "turning", &both), 0);
	bed.nodes[0].cfg.name = "turning";
	assert_int_equal(try_open(0, &no), 0);
	assert_string_equal(bed.m.sess[0]->name, "turning");
	bed_close(&bed);
}

/* Their names have no files. */
static void test_revoked(void **state)
{
	char why[CONF_WHY_MAX];

	open_bed(2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	assert_int_equal(manager_revoke(&bed.m, "node0", why), 1);
	assert_int_equal(manager_revoke(&bed.m, "node0", why), 0);
	assert_int_equal(manager_revoke(&bed.m, "nodeO", why), -ENOENT);
	assert_non_null(strstr(why, "'nodeO'"));
	assert_int_equal(manager_revoke(&bed.m, "", why), -ENOENT);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_string_equal(bed.m.sess[0]->name, "node1");
	bed_close(&bed);
}

/* ---- messages -------------------------------------------------------------------- */

static const struct auth_ends ends = {
	.cnode_ip = 0x01020304, .mnode_ip = 0x05060708, .cnode_qpn = 0x123,
	.mnode_qpn = 0x456,
};

static void ask_anew(struct auth_ask *ask, struct auth_answer *answer)
{
	assert_int_equal(auth_ask_hello(ask, "somebody", &ends), 0);
	assert_int_equal(auth_answer_hello(answer, &ask->hello, sizeof(ask->hello),
					   &ends), 0);
}

/* All of it comes again, from the same place: the memory node's nonce is another one. */
static void test_recorded_handshake(void **state)
{
	struct secrets secrets = { .nr = 1, .secret = { { 1 } } };
	struct odrp_auth_done done;
	struct auth_answer answer;
	struct auth_ask ask;
	uint64_t session, handle;

	ask_anew(&ask, &answer);
	assert_int_equal(auth_ask_response(&ask, &answer.challenge,
					   sizeof(answer.challenge), secrets.secret[0],
					   &ends, 7), 0);
	assert_int_equal(auth_answer_response(&answer, &ask.response,
					      sizeof(ask.response), &secrets,
					      &session), 0);
	assert_int_equal(session, 7);
	auth_answer_done(&answer, ODRP_WIRE_OK, 9, &done);
	assert_int_equal(auth_ask_done(&ask, &done, sizeof(done), &handle), 0);
	assert_int_equal(handle, 9);
	assert_int_equal(auth_answer_hello(&answer, &ask.hello, sizeof(ask.hello),
					   &ends), 0);
	assert_int_equal(auth_answer_response(&answer, &ask.response,
					      sizeof(ask.response), &secrets,
					      &session), -EKEYREJECTED);
	/* And the memory node's part is of no use to another compute node's. */
	ask_anew(&ask, &answer);
	assert_int_equal(auth_ask_response(&ask, &answer.challenge,
					   sizeof(answer.challenge), secrets.secret[0],
					   &ends, 7), 0);
	assert_int_equal(auth_ask_done(&ask, &done, sizeof(done), &handle),
			 -EKEYREJECTED);
}

/* What it says of the connection is what the memory node sees, or it says nothing. */
static void test_malformed(void **state)
{
	static const size_t counts[] = { 0, 4, 6, 7, 8, 12, 47, 48 + 31, 80, 96 + 15 };
	struct auth_answer answer;
	struct auth_ask ask;
	size_t i;

	ask_anew(&ask, &answer);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct odrp_auth_hello hello = ask.hello;

		((uint8_t *)&hello)[counts[i]] ^= 1;
		assert_int_equal(auth_answer_hello(&answer, &hello, sizeof(hello),
						   &ends), -EPROTO);
	}
	memset(ask.hello.cnode, 0, sizeof(ask.hello.cnode));
	assert_int_equal(auth_answer_hello(&answer, &ask.hello, sizeof(ask.hello),
					   &ends), -EPROTO);
	assert_int_equal(auth_answer_hello(&answer, &ask.hello, sizeof(ask.hello) - 1,
					   &ends), -EPROTO);
}

/* ---- requests ------------------------------------------------------------------- */

/* A request for an I/O connection as node 0 signs it. */
static void io_request(struct cnode *c, uint32_t qpn, struct odrp_auth_req *ret_req)
{
	struct odrp_wire_hello h;

	cnode_hello(&h, ODRP_WIRE_IO);
	h.depth = htobe16(7);
	cnode_sign(c, &h, qpn, ret_req);
}

/* Whatever comes, says who asked. */
static int ask_as(unsigned int node, const struct odrp_auth_req *req,
		  struct cnode_refusal *no)
{
	return cnode_try_hello(&bed.nodes[node].cfg, req, sizeof(*req), no);
}

/* What went over the wire comes again: from another place, and from the same one. */
static void test_replayed_request(void **state)
{
	struct cnode_refusal no;
	struct odrp_auth_req req;
	struct cnode *c;

	c = open_one(2);
	io_request(c, 0x1234, &req);
	expect_refused(ask_as(1, &req, &no), &no, ODRP_WIRE_E_AUTH);
	expect_refused(ask_as(0, &req, &no), &no, ODRP_WIRE_E_AUTH);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess_attached(bed.m.sess[0]));
	assert_false(bed.m.sess[0]->signer.on);	/* wiped with the accept */
	bed_close(&bed);
}

/* The MAC is right, and the counter was there before. */
static void test_old_counter(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;

	c = open_one(1);
	assert_int_equal(cnode_reconnect(c, 0, ODRP_WIRE_LOAD, &no), 0);
	c->proof.counter--;
	expect_refused(cnode_reconnect(c, 0, ODRP_WIRE_LOAD, &no), &no, ODRP_WIRE_E_AUTH);
	assert_int_equal(cnode_reconnect(c, 0, ODRP_WIRE_LOAD, &no), 0);
	bed_close(&bed);
}

/* A peer without a key refuses, and is not believed; one that has it is. */
static void test_refusals_are_proved(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;

	c = open_one(1);
	c->info.queues = 3;
	cnode_lose(c, false);
	expect_refused(cnode_resume(c, &no), &no, ODRP_WIRE_E_RANGE);
	assert_true(no.proved);
	/* The same, and the agent's K is another one: as somebody else would say it. */
	c->info.queues = 1;
	assert_int_equal(cnode_resume(c, &no), 0);
	idents_pass(&bed.m.idents, c->proof.handle)->key.k[0] ^= 1;
	assert_int_equal(cnode_reconnect(c, 0, ODRP_WIRE_LOAD, &no), -ECONNREFUSED);
	assert_false(no.proved);
	bed_close(&bed);
}

/* ---- sessions ------------------------------------------------------------------- */

/* Node 1 proves that it is node 1, and wants the session of node 0. */
static void test_others_session(void **state)
{
	struct cnode_refusal no;
	uint64_t mine;

	open_bed(2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	mine = bed.nodes[1].cnode->info.session;
	bed.nodes[1].cnode->info.session = bed.nodes[0].cnode->info.session;
	expect_refused(cnode_resume(bed.nodes[1].cnode, &no), &no, ODRP_WIRE_E_SESSION);
	assert_true(no.proved);
	assert_true(sess_attached(bed.m.sess[0]));
	assert_int_equal(bed.m.sess_resumed, 0);
	bed.nodes[1].cnode->info.session = mine;
	assert_int_equal(cnode_resume(bed.nodes[1].cnode, &no), 0);
	bed_close(&bed);
}

/* Not even who has seen its number and its token: the latter is not sent any more. */
static void test_no_token(void **state)
{
	struct odrp_wire_hello h;
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 1);
	bed.nodes[0].cfg.name = bed.nodes[0].name;
	bed.nodes[0].cfg.secret = bed.nodes[0].secret;
	bed_connect(&bed, 0, 64, 1, 7);
	assert_int_equal(bed.nodes[0].cnode->info.token, 0);
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.session = htobe64(bed.m.sess[0]->id);
	h.token = htobe64(bed.m.sess[0]->token);
	h.queue = htobe16(1);
	h.depth = htobe16(7);
	h.nr_slots = htobe64(64);
	expect_refused(cnode_try_hello(&bed.nodes[0].cfg, &h, sizeof(h), &no),
		       &no, ODRP_WIRE_E_SESSION);
	assert_true(sess_attached(bed.m.sess[0]));
	bed_close(&bed);
}

/* The connections of before live until the new one is accepted. */
static void test_old_ones_live_on(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;

	c = open_one(1);
	bed.nodes[0].secret[0] ^= 1;
	assert_int_equal(cnode_prove(c, &no), -ECONNREFUSED);
	bed.nodes[0].secret[0] ^= 1;
	assert_int_equal(cnode_prove(c, &no), 0);
	assert_true(sess_attached(bed.m.sess[0]));
	assert_int_not_equal(bed.m.sess[0]->handle, c->proof.handle);
	assert_int_equal(cnode_resume(c, &no), 0);
	assert_int_equal(bed.m.sess[0]->handle, c->proof.handle);
	bed_close(&bed);
}

/* ---- floods --------------------------------------------------------------------- */

#define FLOOD	100

static void initiation_of(struct odrp_auth_initiation *initiation, uint64_t id)
{
	assert_int_equal(auth_initiate(NULL, initiation), 0);
	initiation->id = htobe64(id);
}

/* Half of the places are taken, and nobody who does not hear the cookie gets one. */
static void test_flood(void **state)
{
	struct cnode *half[FLOOD] = { NULL };
	struct odrp_auth_initiation initiation;
	struct cnode_refusal no;
	unsigned int i, nr = 0;

	open_bed(2);
	for (i = 0; i < FLOOD; i++) {
		initiation_of(&initiation, i + 1);
		if (!cnode_request(&bed.nodes[1].cfg, &initiation, sizeof(initiation), &half[i]))
			nr++;
		else
			half[i] = NULL;
	}
	assert_int_equal(nr, RESPONDER_PLACES / 2);
	assert_int_equal(bed.m.responder.cookies, FLOOD - RESPONDER_PLACES / 2);
	/* Nothing but these places is had for it. */
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	/* A peer at the address that it names comes in. */
	assert_int_equal(try_open(0, &no), 0);
	load_init(&load, &bed, 0, 64, 1);
	load_run(&load, 200);
	load_verify(&load);
	load_fini(&load);
	/* And places do not stay taken. */
	bed_pass(&bed, RESPONDER_MS + 500);
	assert_int_equal(bed.m.responder.nr_taken, 0);
	for (i = 0; i < FLOOD; i++)
		if (half[i])
			cnode_die(half[i]);
	bed_close(&bed);
}

/* ---- cookies -------------------------------------------------------------------- */

static struct nic_ops catching;
static uint8_t caught[NIC_REJECT_PRIV_MAX];

static int catch_reject(struct nic *nic, uint32_t id, const void *priv,
			uint8_t priv_len)
{
	memset(caught, 0, sizeof(caught));
	memcpy(caught, priv, priv_len);
	return 0;
}

/* Is it asked for a cookie? */
static bool is_asked(const struct odrp_auth_initiation *initiation, __be32 ip)
{
	struct nic_event ev = { .type = NIC_REQUEST, .peer_ip = ip, .local_ip = 1 };
	uint8_t cookie[ODRP_AUTH_MAC];

	ev.priv_len = sizeof(*initiation);
	memcpy(ev.priv, initiation, sizeof(*initiation));
	assert_true(responder_request(&bed.m.responder, &ev));
	return auth_is_cookie(caught, sizeof(caught), cookie);
}

/* One is of an address, an initiation, and two minutes at most. */
static void test_cookies(void **state)
{
	struct odrp_auth_initiation initiation, other;

	open_bed(0);
	catching = *bed.nic->ops;
	catching.reject = catch_reject;
	bed.nic->ops = &catching;
	initiation_of(&initiation, 1);
	assert_false(is_asked(&initiation, 2));
	bed.m.responder.nr_taken = RESPONDER_PLACES / 2;
	assert_true(is_asked(&initiation, 2));
	memcpy(initiation.cookie, caught + 8, sizeof(initiation.cookie));
	assert_false(is_asked(&initiation, 2));
	assert_true(is_asked(&initiation, 3));
	other = initiation;
	other.id++;
	assert_true(is_asked(&other, 2));
	other = initiation;
	other.cookie[15] ^= 1;
	assert_true(is_asked(&other, 2));
	bed.m.responder.now_ms += 60000;
	assert_false(is_asked(&initiation, 2));
	bed.m.responder.now_ms += 60000;
	assert_true(is_asked(&initiation, 2));
	bed.m.responder.nr_taken = 0;
	bed_close(&bed);
}

static unsigned int nr_ready(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < RESPONDER_PLACES; i++)
		nr += bed.m.responder.place[i].accept.state == FAR_ACCEPT_NONE &&
		      bed.m.responder.place[i].mail.dev;
	return nr;
}

/* The agent says what it would say; nobody is there who hears it. */
static void open_deaf(void)
{
	open_bed(0);
	catching = *bed.nic->ops;
	catching.reject = catch_reject;
	bed.nic->ops = &catching;
	bed_settle(&bed);
}

/* A queue pair whose connection came to nothing may have been moved: another one. */
static void test_not_accepted(void **state)
{
	struct odrp_auth_initiation initiation;
	unsigned int i;

	open_deaf();
	assert_int_equal(nr_ready(), RESPONDER_PLACES);
	initiation_of(&initiation, 1);
	for (i = 1; i <= 3; i++) {
		assert_false(is_asked(&initiation, 2));
		assert_int_equal(nr_ready(), RESPONDER_PLACES - i);
	}
	for (i = 0; i < 3; i++)
		responder_work(&bed.m.responder);
	assert_int_equal(nr_ready(), RESPONDER_PLACES);
	bed_close(&bed);
}

static int catch_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
			uint8_t priv_len)
{
	return 0;
}

static int catch_disconnect(struct nic *nic, uint32_t id)
{
	return 0;
}

static void catch_release(struct nic *nic, uint32_t id)
{
}

/* Lets in nr peers of different addresses. */
static void let_in(unsigned int nr)
{
	struct odrp_auth_initiation initiation;
	__be32 ip;

	for (ip = 2; nr; nr--, ip++) {
		initiation_of(&initiation, 1);
		if (!is_asked(&initiation, ip))
			continue;
		memcpy(initiation.cookie, caught + 8, sizeof(initiation.cookie));
		assert_false(is_asked(&initiation, ip));
	}
}

/* A tick that is late has begun before the request: the age counts from the next one. */
static void test_age(void **state)
{
	struct responder *responder = &bed.m.responder;

	open_deaf();
	catching.accept = catch_accept;
	catching.disconnect = catch_disconnect;
	catching.release = catch_release;
	let_in(1);
	responder_tick(responder, RESPONDER_MS + 1);
	assert_int_equal(responder->nr_taken, 1);
	responder_tick(responder, RESPONDER_MS);
	assert_int_equal(responder->nr_taken, 1);
	responder_tick(responder, 1);
	assert_int_equal(responder->nr_taken, 0);
	/* The same for the wait for a hello when half of the places are taken. */
	let_in(RESPONDER_PLACES / 2);
	responder_tick(responder, RESPONDER_HELLO_MS + 1);
	assert_int_equal(responder->nr_taken, RESPONDER_PLACES / 2);
	responder_tick(responder, RESPONDER_HELLO_MS);
	assert_int_equal(responder->nr_taken, RESPONDER_PLACES / 2);
	responder_tick(responder, 1);
	assert_in_range(responder->nr_taken, 0, RESPONDER_PLACES / 2 - 1);
	bed_close(&bed);
}

/* A peer at the address that it names has a share of the places, not all left. */
static void test_greedy(void **state)
{
	struct odrp_auth_initiation initiation;
	unsigned int i;

	open_deaf();
	for (i = 0; i < RESPONDER_PLACES / 2; i++) {
		bed.m.responder.place[i].accept.state = FAR_ACCEPT_HELLO;
		bed.m.responder.place[i].accept.ends.cnode_ip = 2;
	}
	bed.m.responder.nr_taken = RESPONDER_PLACES / 2;
	initiation_of(&initiation, 1);
	assert_true(is_asked(&initiation, 2));
	memcpy(initiation.cookie, caught + 8, sizeof(initiation.cookie));
	assert_false(is_asked(&initiation, 2));
	assert_int_equal(nr_ready(), RESPONDER_PLACES / 2);
	/* Another one is let in, as far as that goes without him. */
	memset(initiation.cookie, 0, sizeof(initiation.cookie));
	assert_true(is_asked(&initiation, 3));
	memcpy(initiation.cookie, caught + 8, sizeof(initiation.cookie));
	assert_false(is_asked(&initiation, 3));
	assert_int_equal(nr_ready(), RESPONDER_PLACES / 2 - 1);
	for (i = 0; i < RESPONDER_PLACES / 2; i++)
		bed.m.responder.place[i].accept.state = FAR_ACCEPT_NONE;
	bed.m.responder.nr_taken = 0;
	bed_close(&bed);
}

/* ---- passes ---------------------------------------------------------------------- */

static bool nobody_needs(void *arg, const struct pass *pass)
{
	return false;
}

/* What was made by a pass is over: it counts as one by which nothing has come to be. */
static void test_passes_are_bounded(void **state)
{
	const struct auth_key key = { .k = { 1 } };
	struct idents idents = { .passes = NULL };
	unsigned int i, nr = 0;
	struct pass *pass;

	for (i = 0; i < 3 * IDENTS_MAX_IDLE; i++) {
		assert_int_equal(idents_pass_new(&idents, "node0", &key, 0, &pass), 0);
		pass->spent = true;
		idents_tick(&idents, 1, nobody_needs, NULL);
	}
	for (pass = idents.passes; pass; pass = pass->next)
		nr++;
	assert_int_equal(nr, IDENTS_MAX_IDLE);
	idents_fini(&idents);
}

/* ---- attachments ------------------------------------------------------------------ */

static int accept_all(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		      uint8_t priv_len)
{
	struct odrp_far_reject ok = { .status = 0 };

	return catch_reject(nic, id, &ok, sizeof(ok));
}

static void release_none(struct nic *nic, uint32_t id)
{
}

/* The number of the queue that a client asks for. */
static uint32_t queue_number;

/* What a client of spaces hears who asks by that pass. */
static unsigned int far_asks(const struct pass *pass, enum odrp_far_role role)
{
	static uint32_t counter;
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = 900000 + ++counter, .peer_ip = 2, .local_ip = 1,
		.peer_qpn = 5, .priv_len = sizeof(struct odrp_auth_far),
	};
	const struct auth_ends between = { .cnode_ip = 2, .mnode_ip = 1 };
	uint8_t name[ODRP_FAR_NAME_MAX] = "a";
	struct odrp_far_reject rej;
	struct odrp_auth_far req = {
		.magic = htobe32(ODRP_AUTH_FAR_MAGIC), .version = htobe16(ODRP_AUTH_VERSION),
		.role = role, .rights = ODRP_FAR_READ | ODRP_FAR_WRITE,
		.counter = htobe32(counter), .attach = htobe64(7),
		.handle = htobe64(pass->handle), .number = htobe32(queue_number),
	};

	if (role == ODRP_FAR_ATTACH)
		auth_space(name, sizeof(name), req.space);
	auth_sign_far(&pass->key, auth_bound(&between, ev.peer_qpn), &req);
	memcpy(ev.priv, &req, sizeof(req));
	memset(caught, 0xff, sizeof(caught));
	assert_true(spaces_request(&bed.m.spaces, &bed.m.idents, true, &ev));
	memcpy(&rej, caught, sizeof(rej));
	return be16toh(rej.status);
}

/* The same of one who proves nothing, at that address. */
static unsigned int stranger_asks(__be32 ip, enum odrp_far_role role)
{
	static uint32_t nr;
	const struct odrp_far_hello hello = {
		.magic = htobe32(ODRP_FAR_MAGIC), .version = htobe16(ODRP_FAR_VERSION),
		.role = role, .rights = ODRP_FAR_READ, .attach = htobe64(8 + ip),
		.number = htobe32(queue_number), .name = "a",
	};
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = 800000 + ++nr, .peer_ip = ip, .local_ip = 1,
		.peer_qpn = 5, .priv_len = sizeof(hello),
	};
	struct odrp_far_reject rej;

	memcpy(ev.priv, &hello, sizeof(hello));
	if (role != ODRP_FAR_ATTACH)
		memset(ev.priv + offsetof(struct odrp_far_hello, name), 0,
		       sizeof(hello.name));
	memset(caught, 0, sizeof(caught));
	assert_true(spaces_request(&bed.m.spaces, &bed.m.idents, false, &ev));
	memcpy(&rej, caught, sizeof(rej));
	return be16toh(rej.status);
}

/*
 * The answer to a question gets lost, and so the client shakes hands anew: his attachment
 * is his by the later pass, too, and nobody else's.
 */
static void test_attachment_of_a_name(void **state)
{
	const struct auth_key key = { .k = { 1 } };
	struct pass *first, *later, *other;
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.pool += 4 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	bed_open(&bed, &o, 0);
	catching = *bed.nic->ops;
	catching.accept = accept_all;
	catching.reject = catch_reject;
	catching.release = release_none;
	bed.nic->ops = &catching;
	bed_settle(&bed);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node0", &key, 0, &first), 0);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node0", &key, 0, &later), 0);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node1", &key, 0, &other), 0);
	assert_int_equal(far_asks(first, ODRP_FAR_ATTACH), 0);
	assert_int_equal(far_asks(first, ODRP_FAR_CLAIM), ODRP_FAR_OK);
	assert_int_equal(far_asks(other, ODRP_FAR_CLAIM), ODRP_FAR_E_ATTACH);
	assert_int_equal(far_asks(later, ODRP_FAR_CLAIM), ODRP_FAR_OK);
	assert_true(spaces_go_by(&bed.m.spaces, later->handle));
	bed_close(&bed);
}

/* A name's connections to spaces are of its share, too; a set's arbiter is no client. */
static void test_share_of_a_client(void **state)
{
	const struct auth_key key = { .k = { 1 } };
	struct pass *one, *other;
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.pool += 4 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	assert_int_equal(conf_client_set(&o.conf, "node0", "max-connections", "2", why), 0);
	assert_int_equal(conf_client_set(&o.conf, "node1", "max-requests", "2", why), 0);
	bed_open(&bed, &o, 0);
	catching = *bed.nic->ops;
	catching.accept = accept_all;
	catching.reject = catch_reject;
	catching.release = release_none;
	bed.nic->ops = &catching;
	bed_settle(&bed);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node0", &key, 0, &one), 0);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node1", &key, 0, &other), 0);
	assert_int_equal(far_asks(one, ODRP_FAR_ATTACH), 0);
	assert_int_equal(far_asks(one, ODRP_FAR_QUEUE), ODRP_FAR_OK);
	queue_number = 1;
	assert_int_equal(far_asks(one, ODRP_FAR_QUEUE), ODRP_FAR_E_LIMIT);
	queue_number = 0;	/* in the place of the one that it has */
	assert_int_equal(far_asks(one, ODRP_FAR_QUEUE), ODRP_FAR_OK);
	assert_int_equal(far_asks(one, ODRP_FAR_CLAIM), ODRP_FAR_OK);
	assert_int_equal(far_asks(other, ODRP_FAR_CLAIM), ODRP_FAR_E_ATTACH);
	assert_int_equal(far_asks(other, ODRP_FAR_CLAIM), ODRP_FAR_E_ATTACH);
	assert_int_equal(far_asks(other, ODRP_FAR_CLAIM), ODRP_FAR_E_LIMIT);
	assert_int_equal(far_asks(other, ODRP_FAR_JOIN), ODRP_FAR_E_LIMIT);
	bed_close(&bed);
}

/* A client that proves nothing counts as its address, as for swap. */
static void test_share_of_an_address(void **state)
{
	struct bed_options o;
	struct share *share;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	o.conf.pool += 4 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	assert_int_equal(conf_client_set(&o.conf, "2.0.0.0", "max-connections", "2", why), 0);
	assert_int_equal(conf_client_set(&o.conf, "*", "max-requests", "2", why), 0);
	bed_open(&bed, &o, 0);
	catching = *bed.nic->ops;
	catching.accept = accept_all;
	catching.reject = catch_reject;
	catching.release = release_none;
	bed.nic->ops = &catching;
	bed_settle(&bed);
	queue_number = 0;
	assert_int_equal(stranger_asks(2, ODRP_FAR_ATTACH), ODRP_FAR_OK);
	assert_int_equal(stranger_asks(2, ODRP_FAR_QUEUE), ODRP_FAR_OK);
	queue_number = 1;
	assert_int_equal(stranger_asks(2, ODRP_FAR_QUEUE), ODRP_FAR_E_LIMIT);
	share = shares_find(&bed.m.shares, "2.0.0.0");
	assert_int_equal(manager_connections_of(&bed.m, share), 2);
	assert_int_equal(share->refused, 1);
	/* Another address has a share of its own, and one that only asks has none. */
	queue_number = 0;
	assert_int_equal(stranger_asks(4, ODRP_FAR_LOOK), ODRP_FAR_OK);
	assert_null(shares_find(&bed.m.shares, "4.0.0.0"));
	assert_int_equal(stranger_asks(3, ODRP_FAR_ATTACH), ODRP_FAR_OK);
	assert_int_equal(stranger_asks(3, ODRP_FAR_QUEUE), ODRP_FAR_OK);
	assert_int_equal(stranger_asks(3, ODRP_FAR_QUEUE), ODRP_FAR_OK);
	assert_int_equal(stranger_asks(3, ODRP_FAR_QUEUE), ODRP_FAR_E_LIMIT);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_key),
		cmocka_unit_test(test_unknown_name),
		cmocka_unit_test(test_no_key),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_recorded_handshake),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_replayed_request),
		cmocka_unit_test(test_old_counter),
		cmocka_unit_test(test_refusals_are_proved),
		cmocka_unit_test(test_others_session),
		cmocka_unit_test(test_no_token),
		cmocka_unit_test(test_old_ones_live_on),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_not_accepted),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_passes_are_bounded),
		cmocka_unit_test(test_attachment_of_a_name),
		cmocka_unit_test(test_share_of_a_client),
		cmocka_unit_test(test_share_of_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
