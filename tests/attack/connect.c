// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attacks on who may connect: floods of requests, of true and of forged addresses,
 * while an honest node works and while it reconnects; requests in its name; handshakes
 * that are begun and left; the least and the most in each field.
 */
#include "attack.h"
#include "bed/cnode-priv.h"

#define EACH	5000		/* ns between two frames */

static void beside(const char *name, enum conf_auth auth,
		   void (*prepare)(struct attacker *a), void (*say)(struct speaker *s),
		   uint64_t (*noticed)(void))
{
	const struct attack attack = {
		.name = name, .auth = auth, .prepare = prepare, .say = say,
		.noticed = noticed, .period = EACH,
	};

	attack_beside_work(&attack);
}

static void beside_kind(const char *name, enum conf_auth auth,
			uint64_t (*noticed)(void))
{
	beside(name, auth, NULL, attack_kind_find(name)->say, noticed);
}

/* ---- floods -------------------------------------------------------------------- */

static void test_floods(void **state)
{
	beside_kind("hellos", CONF_AUTH_REQUIRED, attack_refused);
	beside_kind("forged hellos", CONF_AUTH_REQUIRED, attack_refused);
	beside_kind("initiations", CONF_AUTH_REQUIRED, attack_refused);
	beside_kind("forged initiations", CONF_AUTH_REQUIRED, attack_refused);
}

/* He is let in, as anybody is, and what is had for him is gone when he is silent. */
static void test_floods_without_proof(void **state)
{
	beside_kind("hellos", CONF_AUTH_NONE, attack_refused);
	beside_kind("forged hellos", CONF_AUTH_NONE, attack_refused);
}

/* ---- half-open ------------------------------------------------------------------- */

static uint64_t hear(void *arg, uint8_t *frame, size_t len)
{
	attack_hear(&attack_one.speaker, frame, len);
	return 0;
}

static void listening(struct attacker *a)
{
	a->wire.tap = hear;
}

static void test_half_open(void **state)
{
	beside("half-open handshakes", CONF_AUTH_REQUIRED, listening,
	       attack_kind_find("half-open handshakes")->say, attack_refused);
	/* Half of the places, with which nobody asks for a cookie, or a little more. */
	assert_in_range(attack_one.speaker.heard.nr_accepted, 32, 40);
	assert_in_range(attack_one.speaker.heard.nr_asked, 1, UINT32_MAX);
}

/* ---- in its name ----------------------------------------------------------------- */

static void behind_node(struct attacker *a)
{
	a->behind_node = true;
	a->qpn = a->bed->nodes[0].cnode->admin.qpn;
}

/* In the name of a queue pair that it has connected, and of others. */
static void in_its_name(struct speaker *s)
{
	attack_hello(s, &s->node, s->nr % 2 ? attacker_of(s)->qpn : 0x1000 + s->nr);
}

/* What names one of its connections, by ids that he does not know. */
static void ends_of_it(struct speaker *s)
{
	static const uint16_t attrs[] = {
		SNIC_CM_REP, SNIC_CM_RTU, SNIC_CM_DREQ, SNIC_CM_DREP, SNIC_CM_MRA,
	};
	struct snic_cm_msg m = {
		.attr = attrs[s->nr % 5], .tid = attack_random(s),
		.local_id = attack_random(s), .remote_id = attack_random(s),
	};

	if (m.attr == SNIC_CM_DREQ)
		m.dreq_qpn = attack_bed.m.sess[0]->ctl.qpn;
	else if (m.attr == SNIC_CM_REP)
		m.rep.qpn = attacker_of(s)->qpn;
	attack_cm(s, &s->node, &m);
}

static void test_in_its_name(void **state)
{
	beside("in its name", CONF_AUTH_REQUIRED, behind_node,
	       in_its_name, attack_refused);
	beside("ends of it", CONF_AUTH_REQUIRED, behind_node,
	       ends_of_it, attack_unknown);
}

/* ---- sizes ------------------------------------------------------------------------ */

static void test_sizes(void **state)
{
	beside_kind("sizes", CONF_AUTH_REQUIRED, attack_unknown);
	beside_kind("sizes", CONF_AUTH_NONE, attack_unknown);
}

/* ---- reconnection ------------------------------------------------------------- */

/* Its connections are lost while he floods: it takes its session up, and all is there. */
static void reconnect_beside(void (*prepare)(struct attacker *a), const char *name)
{
	struct cnode_refusal no;
	unsigned int tries = 0;

	attack_open(CONF_AUTH_REQUIRED);
	if (prepare)
		prepare(&attack_one);
	attack_begin(attack_kind_find(name)->say, EACH);
	bed_pass(&attack_bed, 50);
	cnode_lose(attack_bed.nodes[0].cnode, true);
	while (cnode_resume(attack_bed.nodes[0].cnode, &no))
		assert_in_range(++tries, 1, 3);
	print_message("resumed after %u refusals, beside %lu frames\n", tries,
		      (unsigned long)attack_one.speaker.frames);
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
	reconnect_beside(NULL, "hellos");
	reconnect_beside(NULL, "forged hellos");
	reconnect_beside(NULL, "initiations");
	reconnect_beside(NULL, "forged initiations");
	reconnect_beside(listening, "half-open handshakes");
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
