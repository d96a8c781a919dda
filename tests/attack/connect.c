// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attacks on who may connect: floods of requests, of true and of forged addresses,
 * while an honest node works and while it reconnects; requests in its name; handshakes
 * that are begun and left; the least and the most in each field.
 */
#include <arpa/inet.h>
#include <endian.h>
#include "attack.h"
#include "bed/cm.h"
#include "bed/cnode-priv.h"

#define EACH	5000		/* ns between two frames */

static void beside(const char *name, enum conf_auth auth,
		   void (*prepare)(struct attacker *a), void (*say)(struct attacker *a),
		   uint64_t (*noticed)(void))
{
	const struct attack attack = {
		.name = name, .auth = auth, .prepare = prepare, .say = say,
		.noticed = noticed, .period = EACH,
	};

	attack_beside_work(&attack);
}

/* By his own MAC, and another address each time. */
static struct attack_from forged(struct attacker *a)
{
	return (struct attack_from){
		.mac = ATTACK_OWN_MAC,
		.ip = htonl(0x0a4d0000 + 0x80 + attack_random(a) % 100),
	};
}

static void say_hello(struct attacker *a, const struct attack_from *from, uint32_t qpn)
{
	uint8_t priv[SNIC_CM_REQ_PRIV];
	struct odrp_wire_hello h;
	struct snic_cm_msg m;

	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(4);
	h.depth = htobe16(63);
	h.nr_slots = htobe64(1 << 18);
	m = attack_req(a, from, qpn, &h, sizeof(h), priv);
	attack_cm(a, from, &m);
}

static void say_knock(struct attacker *a, const struct attack_from *from,
		      const uint8_t cookie[ODRP_AUTH_MAC])
{
	struct odrp_auth_knock knock = {
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = ODRP_AUTH_HANDSHAKE, .suite = ODRP_AUTH_HMAC_SHA256,
		.id = htobe64(cookie ? 1 : attack_random(a)),
	};
	uint8_t priv[SNIC_CM_REQ_PRIV];
	struct snic_cm_msg m;

	if (cookie)
		memcpy(knock.cookie, cookie, sizeof(knock.cookie));
	m = attack_req(a, from, attack_random(a) & SNIC_QPN_MASK, &knock, sizeof(knock),
		       priv);
	attack_cm(a, from, &m);
}

/* ---- floods -------------------------------------------------------------------- */

static void hellos(struct attacker *a)
{
	say_hello(a, &attack_own, 0x1000 + a->nr);
}

static void forged_hellos(struct attacker *a)
{
	struct attack_from from = forged(a);

	say_hello(a, &from, 0x1000 + a->nr);
}

static void knocks(struct attacker *a)
{
	say_knock(a, &attack_own, NULL);
}

static void forged_knocks(struct attacker *a)
{
	struct attack_from from = forged(a);

	say_knock(a, &from, NULL);
}

static void test_floods(void **state)
{
	beside("hellos", CONF_AUTH_REQUIRED, NULL,
	       hellos, attack_refused);
	beside("forged hellos", CONF_AUTH_REQUIRED, NULL,
	       forged_hellos, attack_refused);
	beside("knocks", CONF_AUTH_REQUIRED, NULL,
	       knocks, attack_refused);
	beside("forged knocks", CONF_AUTH_REQUIRED, NULL,
	       forged_knocks, attack_refused);
}

/* He is let in, as anybody is, and what is had for him is gone when he is silent. */
static void test_floods_without_proof(void **state)
{
	beside("hellos", CONF_AUTH_NONE, NULL,
	       hellos, attack_refused);
	beside("forged hellos", CONF_AUTH_NONE, NULL,
	       forged_hellos, attack_refused);
}

/* ---- half-open ------------------------------------------------------------------- */

/* What he has heard: he is where he says he is. */
static struct {
	uint32_t local_id, remote_id;
	uint8_t cookie[ODRP_AUTH_MAC];
	bool accepted, asked;
	unsigned int nr_accepted, nr_asked;
} heard;

static uint64_t hear(void *arg, uint8_t *frame, size_t len)
{
	const uint8_t *mad = mad_of(frame, len);
	struct snic_cm_msg m;

	if (!mad || snic_cm_parse(mad, SNIC_MAD_LEN, &m))
		return 0;
	if (m.attr == SNIC_CM_REP) {
		heard.local_id = m.remote_id;
		heard.remote_id = m.local_id;
		heard.accepted = true;
		heard.nr_accepted++;
	} else if (m.attr == SNIC_CM_REJ &&
		   auth_is_cookie(m.priv, m.priv_len, heard.cookie)) {
		heard.asked = true;
		heard.nr_asked++;
	}
	return 0;
}

static void listening(struct attacker *a)
{
	memset(&heard, 0, sizeof(heard));
	a->wire.tap = hear;
}

/* He connects, with a cookie if he is asked for one, and says no word more. */
static void half_open(struct attacker *a)
{
	struct snic_cm_msg rtu = {
		.attr = SNIC_CM_RTU, .local_id = heard.local_id,
		.remote_id = heard.remote_id,
	};

	if (heard.accepted)
		attack_cm(a, &attack_own, &rtu);
	else
		say_knock(a, &attack_own, heard.cookie);
	heard.accepted = false;
}

static void test_half_open(void **state)
{
	beside("half-open handshakes", CONF_AUTH_REQUIRED, listening, half_open,
	       attack_refused);
	/* Half of the places, with which nobody asks for a cookie, or a little more. */
	assert_in_range(heard.nr_accepted, 32, 40);
	assert_in_range(heard.nr_asked, 1, UINT32_MAX);
}

/* ---- in its name ----------------------------------------------------------------- */

static void behind_node(struct attacker *a)
{
	a->behind_node = true;
	a->qpn = a->bed->nodes[0].cnode->admin.qpn;
}

/* Of a queue pair that it has connected, and of others. */
static void in_its_name(struct attacker *a)
{
	say_hello(a, &attack_node, a->nr % 2 ? a->qpn : 0x1000 + a->nr);
}

/* What names one of its connections, by ids that he does not know. */
static void ends_of_it(struct attacker *a)
{
	static const uint16_t attrs[] = {
		SNIC_CM_REP, SNIC_CM_RTU, SNIC_CM_DREQ, SNIC_CM_DREP, SNIC_CM_MRA,
	};
	struct snic_cm_msg m = {
		.attr = attrs[a->nr % 5], .tid = attack_random(a),
		.local_id = attack_random(a), .remote_id = attack_random(a),
	};

	if (m.attr == SNIC_CM_DREQ)
		m.dreq_qpn = a->bed->m.sess[0]->ctl.qpn;
	else if (m.attr == SNIC_CM_REP)
		m.rep.qpn = a->qpn;
	attack_cm(a, &attack_node, &m);
}

static void test_in_its_name(void **state)
{
	beside("in its name", CONF_AUTH_REQUIRED, behind_node,
	       in_its_name, attack_refused);
	beside("ends of it", CONF_AUTH_REQUIRED, behind_node,
	       ends_of_it, attack_unknown);
}

/* ---- sizes ------------------------------------------------------------------------ */

/* Each field of the REQ, of a hello and of a knock, at its least and its most. */
static void sizes(struct attacker *a)
{
	static const uint8_t fill[] = { 0x00, 0xff, 0x7f, 0x80, 0x01 };
	uint8_t priv[SNIC_CM_REQ_PRIV], said[56];
	struct odrp_wire_hello h;
	struct snic_cm_msg m;
	size_t off = a->nr / 5 % sizeof(said);

	cnode_hello(&h, a->nr & 1 ? ODRP_WIRE_ADMIN : ODRP_WIRE_IO);
	memcpy(said, &h, sizeof(said));
	memset(said + off, fill[a->nr % 5], sizeof(said) - off < 8 ?
	       sizeof(said) - off : 8);
	m = attack_req(a, &attack_own, a->nr % 7 ? fill[a->nr % 5] * 0x10101 : 0x2000 + a->nr,
		       said, sizeof(said), priv);
	if (a->nr % 3 == 0) {
		m.req.psn = m.req.qpn = SNIC_QPN_MASK;
		m.req.responder_resources = m.req.initiator_depth = 0xff;
		m.req.local_timeout = m.req.remote_timeout = 31;
		m.req.ack_timeout = 31;
		m.req.retry_cnt = m.req.rnr_retry = 7;
	} else if (a->nr % 3 == 1) {
		m.req.responder_resources = m.req.initiator_depth = 0;
		m.req.local_timeout = m.req.remote_timeout = 0;
		m.req.ack_timeout = m.req.retry_cnt = m.req.rnr_retry = 0;
		m.req.max_retries = 0;
		m.req.mtu = 1;
	}
	attack_cm(a, &attack_own, &m);
}

static void test_sizes(void **state)
{
	beside("sizes", CONF_AUTH_REQUIRED, NULL,
	       sizes, attack_unknown);
	beside("sizes", CONF_AUTH_NONE, NULL,
	       sizes, attack_unknown);
}

/* ---- reconnection ------------------------------------------------------------- */

/* Its connections are lost while he floods: it takes its session up, and all is there. */
static void reconnect_beside(void (*prepare)(struct attacker *a),
			     void (*say)(struct attacker *a))
{
	struct cnode_refusal no;
	unsigned int tries = 0;

	attack_open(CONF_AUTH_REQUIRED);
	if (prepare)
		prepare(&attack_one);
	attack_begin(say, EACH);
	bed_pass(&attack_bed, 50);
	cnode_lose(attack_bed.nodes[0].cnode, true);
	while (cnode_resume(attack_bed.nodes[0].cnode, &no))
		assert_in_range(++tries, 1, 3);
	print_message("resumed after %u refusals, beside %lu frames\n", tries,
		      (unsigned long)attack_one.frames);
	assert_int_equal(attack_bed.m.sess_resumed, 1);
	load_verify(&attack_load);
	attack_work(500);
	attack_end();
	bed_pass(&attack_bed, 1500);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.nr_sess, 1);
	bed_check(&attack_bed, attack_load.mapped);
	attack_close();
}

static void test_reconnection(void **state)
{
	reconnect_beside(NULL, hellos);
	reconnect_beside(NULL, forged_hellos);
	reconnect_beside(NULL, knocks);
	reconnect_beside(NULL, forged_knocks);
	reconnect_beside(listening, half_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_floods_without_proof),
		cmocka_unit_test(test_half_open),
		cmocka_unit_test(test_in_its_name),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_reconnection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
