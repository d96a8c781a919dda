/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls against a memory node that is a few functions: one that is honest, and ones that
 * are not. The clock is the test's.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/peer/call.h"

#define HANDLE		UINT64_C(0x1122334455667788)
#define CONNECT_NS	UINT64_C(1000000000)
#define OUR_QPN		0x123u
#define PEER_QPN	0x456u
#define SECOND		UINT64_C(1000000000)

/**
 * struct node - one end of a link, and the memory node at the other end
 * @news:	of the link, the next that it reports; kind FAR_NEWS_NONE: none
 * @ops, @fail_at: operations so far; the one that fails, counted from 1
 * @cookies:	how often an initiation is rejected with a cookie
 * @refuse:	connection requests that are rejected by nobody
 * @status:	with which a request is rejected; OK: a question. @accepts: it is accepted
 * @unsigned_answers, @old_answers: answers to signed requests have no MAC, or the one of the
 *		request before
 * @deaf:	it answers nothing by itself
 * @flip_in, @flip: number of a message, from 1, and its byte that is another one
 * @cut_in, @cut: number of a message, and by how much it is too short
 */
static struct node {
	struct far_link link;
	bool open, messages, deaf;
	struct far_news news;
	uint64_t now;
	unsigned ops, fail_at, opens, handshakes, requests;
	unsigned cookies, refuse, status;
	bool accepts, unsigned_answers, old_answers;
	unsigned message, flip_in, flip, cut_in, cut;
	struct secrets secrets;
	struct auth_ends ends;
	struct auth_answer answer;
	struct odrp_auth_initiation initiation;
	struct odrp_auth_far req;
} node;

static struct far_key key = { .set = true, .name = "client", .secret = { 7 } };
static struct far_passes passes;

static int op(void)
{
	return ++node.ops == node.fail_at ? -EIO : 0;
}

static void tell(enum far_news_kind kind, const void *bytes, size_t len)
{
	node.news = (struct far_news){
		.kind = kind, .err = -EHOSTUNREACH, .local_ip = htobe32(0x0a000001),
		.peer_qpn = PEER_QPN, .len = len,
	};
	memcpy(node.news.bytes, bytes, len);
}

/* Sends a message, which may be changed on the way. */
static void message_tell(const void *bytes, size_t len)
{
	node.message++;
	tell(FAR_NEWS_MESSAGE, bytes, len - (node.message == node.cut_in ? node.cut : 0));
	if (node.message == node.flip_in)
		node.news.bytes[node.flip] ^= 0x10;
}

static int node_open(struct far_link *link, bool messages)
{
	assert_false(node.open);
	if (op())
		return -EIO;
	node.open = true;
	node.messages = messages;
	node.news.kind = FAR_NEWS_NONE;
	link->qpn = OUR_QPN + ++node.opens;
	return 0;
}

static void initiation_take(void)
{
	struct odrp_auth_cookie rej = {
		.magic = htobe32(ODRP_AUTH_MAGIC), .version = htobe16(ODRP_AUTH_VERSION),
		.cookie = { 1, 2, 3 },
	};

	if (!node.cookies) {
		tell(FAR_NEWS_ACCEPTED, "", 0);
		return;
	}
	node.cookies--;
	tell(FAR_NEWS_REJECTED, &rej, sizeof(rej));
}

/* Appends the MAC, unless the node does not sign. */
static size_t answer_seal(bool accepted, uint8_t *answer, size_t len)
{
	struct odrp_auth_bound bound = auth_bound(&node.ends, accepted ? PEER_QPN : 0);

	if (!node.handshakes || node.unsigned_answers)
		return len;
	bound.what = accepted ? ODRP_AUTH_REP : ODRP_AUTH_REJ;
	bound.counter = htobe64(be32toh(node.req.counter) - node.old_answers);
	auth_sign_answer(&node.answer.key, bound, answer, len, answer + len);
	return len + ODRP_AUTH_MAC;
}

static void request_take(const void *priv, size_t len)
{
	const struct odrp_far_reject rej = {
		.magic = htobe32(ODRP_FAR_MAGIC), .version = htobe16(ODRP_FAR_VERSION),
		.status = htobe16(node.status),
	};
	uint8_t answer[sizeof(rej) + ODRP_AUTH_MAC];

	node.requests++;
	assert_int_equal(len, sizeof(node.req));
	memcpy(&node.req, priv, len);
	if (node.req.magic == htobe32(ODRP_AUTH_FAR_MAGIC)) {
		assert_int_equal(be64toh(node.req.handle), HANDLE);
		assert_int_equal(auth_check_far(&node.answer.key,
						auth_bound(&node.ends, node.link.qpn),
						&node.req), 0);
	}
	memcpy(answer, &rej, sizeof(rej));
	/* An accept without regions has the same head. */
	if (node.accepts)
		memset(answer + 6, 0, 2);
	tell(node.accepts ? FAR_NEWS_ACCEPTED : FAR_NEWS_REJECTED, answer,
	     answer_seal(node.accepts, answer, sizeof(rej)));
}

static int node_connect(struct far_link *link, const void *priv, size_t len)
{
	assert_true(node.open);
	if (op())
		return -EIO;
	if (node.deaf)
		return 0;
	if (node.refuse) {
		node.refuse--;
		tell(FAR_NEWS_REJECTED, "nobody", 6);
	} else if (node.messages) {
		assert_int_equal(len, sizeof(node.initiation));
		memcpy(&node.initiation, priv, len);
		initiation_take();
	} else {
		request_take(priv, len);
	}
	return 0;
}

static void response_take(const void *bytes, size_t len)
{
	struct odrp_auth_done done;
	uint64_t session;

	if (auth_answer_response(&node.answer, bytes, len, &node.secrets, &session)) {
		node.news.kind = FAR_NEWS_BROKEN;
		return;
	}
	node.handshakes++;
	auth_answer_done(&node.answer, ODRP_WIRE_OK, HANDLE, &done);
	message_tell(&done, sizeof(done));
}

static int node_send(struct far_link *link, const void *bytes, size_t len)
{
	assert_true(node.open && node.messages);
	if (op())
		return -EIO;
	if (node.deaf)
		return 0;
	if (len == sizeof(struct odrp_auth_response)) {
		response_take(bytes, len);
		return 0;
	}
	node.ends = (struct auth_ends){
		.cnode_ip = htobe32(0x0a000001), .mnode_ip = link->ip,
		.cnode_qpn = link->qpn, .mnode_qpn = PEER_QPN,
	};
	assert_int_equal(auth_answer_hello(&node.answer, bytes, len, &node.ends), 0);
	message_tell(&node.answer.challenge, sizeof(node.answer.challenge));
	return 0;
}

static void node_poll(struct far_link *link, struct far_news *ret_news)
{
	assert_true(node.open);
	*ret_news = node.news;
	node.news.kind = FAR_NEWS_NONE;
}

static void node_close(struct far_link *link)
{
	node.open = false;
}

static uint64_t node_now(struct far_link *link)
{
	return node.now;
}

static const struct far_link_ops node_ops = {
	.open = node_open, .connect = node_connect, .send = node_send, .poll = node_poll,
	.close = node_close, .now = node_now,
};

static int setup(void **state)
{
	node = (struct node){
		.link = {
			.ops = &node_ops, .ip = htobe32(0x0a000002), .connect_ns = CONNECT_NS,
		},
		.now = SECOND, .secrets = { .nr = 1, .secret = { { 7 } } },
	};
	far_passes_init(&passes);
	return 0;
}

static int teardown(void **state)
{
	assert_false(passes.shaking);
	far_passes_fini(&passes);
	return 0;
}

static void again(void)
{
	teardown(NULL);
	setup(NULL);
}

static void begin(struct far_call *call, bool keyed)
{
	const struct odrp_far_hello hello = far_hello(ODRP_FAR_CLAIM, 5);

	far_call_begin(call, &node.link, keyed ? &key : NULL, &passes, &hello);
}

/* Makes a call to its end. */
static int run(bool keyed)
{
	struct far_call call;
	int err;

	begin(&call, keyed);
	err = far_call_step(&call);
	assert_int_not_equal(err, -EAGAIN);
	assert_int_equal(far_call_step(&call), err);
	assert_int_equal(node.open, far_call_accepted(&call));
	if (far_call_accepted(&call))
		node_close(&node.link);
	far_call_end(&call);
	return err;
}

/* ---- without a key ---- */

static void test_answers(void **state)
{
	static const struct {
		unsigned status;
		int err;
	} answers[] = {
		{ ODRP_FAR_OK, 0 }, { ODRP_FAR_E_SPACE, -ENOENT },
		{ ODRP_FAR_E_BUSY, -EBUSY }, { ODRP_FAR_E_STARTING, -EINPROGRESS },
		{ ODRP_FAR_E_AUTH, -ENOKEY }, { 0xffff, -EPROTO },
	};
	unsigned i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		node.status = answers[i].status;
		assert_int_equal(run(false), answers[i].err);
	}
	node.accepts = true;
	assert_int_equal(run(false), 0);
	assert_int_equal(node.handshakes, 0);
	assert_int_equal(node.requests, i + 1);
}

static void test_tries(void **state)
{
	node.refuse = FAR_CALL_TRIES - 1;
	assert_int_equal(run(false), 0);
	assert_int_equal(node.opens, FAR_CALL_TRIES);
	node.refuse = FAR_CALL_TRIES;
	assert_int_equal(run(false), -ECONNREFUSED);
	assert_int_equal(node.opens, 2 * FAR_CALL_TRIES);
}

/* ---- handshakes ---- */

static void test_pass(void **state)
{
	node.accepts = true;
	assert_int_equal(run(true), 0);
	assert_int_equal(run(true), 0);
	assert_int_equal(node.handshakes, 1);
	assert_int_equal(be32toh(node.req.counter), 2);
	assert_int_equal(node.opens, 3);
}

static void test_cookies(void **state)
{
	unsigned i;

	for (i = 0; i < FAR_CALL_INITIATIONS; i++) {
		__be64 id = node.initiation.id;

		node.cookies = i;
		assert_int_equal(run(true), 0);
		assert_int_not_equal(node.initiation.id, id);
		assert_int_equal(node.initiation.cookie[1], i ? 2 : 0);
		assert_int_equal(node.opens, i + 2);
		again();
	}
	node.cookies = i;
	assert_int_equal(run(true), -ECONNREFUSED);
	assert_int_equal(node.opens, FAR_CALL_INITIATIONS);
}

static void test_secrets(void **state)
{
	node.secrets.secret[0][0] = 8;
	assert_int_equal(run(true), -EKEYREJECTED);
	assert_int_equal(node.opens, 1);
	assert_null(passes.list);
	node.secrets.secret[0][0] = 7;
	assert_int_equal(run(true), 0);
}

/* One byte of a message is another one, or the message is too short: there is no pass. */
static void test_changed(void **state)
{
	static const size_t len[] = {
		sizeof(struct odrp_auth_challenge), sizeof(struct odrp_auth_done),
	};
	unsigned m, i, passed = 0;

	for (m = 0; m < 2; m++)
		for (i = 0; i < 2 * len[m]; i++) {
			int err;

			again();
			if (i < len[m]) {
				node.flip_in = m + 1;
				node.flip = i;
			} else {
				node.cut_in = m + 1;
				node.cut = i - len[m] + 1;
			}
			err = run(true);
			passed += !err;
			if (err && err != -EPROTO && err != -EKEYREJECTED && err != -ESTALE)
				fail_msg("message %u, %u: %d", m, i, err);
			assert_true(!err || !passes.list);
		}
	assert_int_equal(passed, 0);
}

/* Neither MAC nor address is right: with a pass, such an answer is none. */
static void test_unsigned(void **state)
{
	unsigned i;

	for (i = 0; i < 4; i++) {
		again();
		assert_int_equal(run(true), 0);
		node.accepts = i & 1;
		node.unsigned_answers = i & 2;
		node.old_answers = !(i & 2);
		node.status = i & 1 ? 0 : ODRP_FAR_E_SPACE;
		assert_int_equal(run(true), -ECONNREFUSED);
		assert_int_equal(node.handshakes, FAR_CALL_TRIES);
		assert_int_equal(node.requests, 1 + FAR_CALL_TRIES);
		node.unsigned_answers = node.old_answers = false;
		assert_int_equal(run(true), i & 1 ? 0 : -ENOENT);
	}
}

/* A memory node that is starting refuses a handshake, too, and cannot sign that. */
static void test_starting(void **state)
{
	const struct odrp_far_reject rej = {
		.magic = htobe32(ODRP_FAR_MAGIC), .version = htobe16(ODRP_FAR_VERSION),
		.status = htobe16(ODRP_FAR_E_STARTING),
	};
	struct far_call call;

	node.deaf = true;
	begin(&call, true);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	tell(FAR_NEWS_REJECTED, &rej, sizeof(rej));
	assert_int_equal(far_call_step(&call), -EINPROGRESS);
	far_call_end(&call);
}

/* ---- what fails ---- */

static void test_each_operation_fails(void **state)
{
	unsigned n, failed = 0;

	for (n = 1; ; n++) {
		int err;

		again();
		node.cookies = 1;
		node.fail_at = n;
		err = run(true);
		if (node.ops < n) {
			assert_int_equal(err, 0);
			break;
		}
		assert_int_equal(err, -EIO);
		failed++;
		node.cookies = 0;
		assert_int_equal(run(true), 0);
	}
	/* Two initiations, two messages, a request. */
	assert_int_equal(failed, 2 * 2 + 2 + 2);
}

/* Events that the link cannot report in a state lead to no other state. */
static void test_out_of_turn(void **state)
{
	struct far_call call;

	node.deaf = true;
	begin(&call, true);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	tell(FAR_NEWS_MESSAGE, "early", 5);
	assert_int_equal(far_call_step(&call), -EPROTO);
	assert_false(node.open);
	far_call_end(&call);
	begin(&call, true);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	tell(FAR_NEWS_ACCEPTED, "", 0);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	tell(FAR_NEWS_ACCEPTED, "", 0);
	assert_int_equal(far_call_step(&call), -EPROTO);
	assert_false(node.open);
	far_call_end(&call);
}

static void test_late(void **state)
{
	struct far_call call;
	uint64_t until;

	node.deaf = true;
	begin(&call, true);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	until = node.now += CONNECT_NS;
	assert_int_equal(far_call_step(&call), -EAGAIN);
	node.now++;
	assert_int_equal(far_call_step(&call), -ETIMEDOUT);
	assert_true(call.late && node.now > until && !node.open);
	far_call_end(&call);
	/* A connection that stands, and no message. */
	begin(&call, true);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	tell(FAR_NEWS_ACCEPTED, "", 0);
	assert_int_equal(far_call_step(&call), -EAGAIN);
	assert_int_equal(call.state, FAR_CALL_GREETED);
	node.now += FAR_CALL_MESSAGE_NS;
	assert_int_equal(far_call_step(&call), -EAGAIN);
	node.now++;
	assert_int_equal(far_call_step(&call), -EKEYREJECTED);
	assert_true(call.late && !node.open);
	far_call_end(&call);
}

/* One call at a time makes a handshake; who gives it up leaves it to the next one. */
static void test_one_handshake(void **state)
{
	struct far_call first, second;

	node.deaf = true;
	begin(&first, true);
	assert_int_equal(far_call_step(&first), -EAGAIN);
	begin(&second, true);
	assert_int_equal(far_call_step(&second), -EAGAIN);
	assert_int_equal(second.state, FAR_CALL_SEEKING);
	far_call_end(&second);
	assert_true(passes.shaking);
	far_call_end(&first);
	assert_false(node.open);
	node.deaf = false;
	assert_int_equal(run(true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cookies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secrets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsigned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each_operation_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_handshake, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
