// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compute node with a session is let in before strangers, so that it does not lose its
 * pages; but it keeps neither other compute nodes nor strangers out.
 */
#include <endian.h>
#include <string.h>
#include "bed/agent.h"

#define KNOWN	2	/* addresses of compute nodes with sessions: this and the next */
#define OTHER	3
#define STRANGER 4

static struct bed bed;
static struct nic_ops ops;
static uint8_t caught[NIC_REJECT_PRIV_MAX];	/* the last refusal */

static int catch_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
			uint8_t priv_len)
{
	return 0;
}

static int catch_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	memset(caught, 0, sizeof(caught));
	memcpy(caught, priv, priv_len);
	return 0;
}

static int catch_disconnect(struct nic *nic, uint32_t id)
{
	return 0;
}

static void catch_release(struct nic *nic, uint32_t id)
{
}

static bool is_known(void *arg, __be32 ip)
{
	return ip == KNOWN || ip == OTHER;
}

static void open_bed(void)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 0);
	bed_settle(&bed);
	ops = *bed.nic->ops;
	ops.accept = catch_accept;
	ops.reject = catch_reject;
	ops.disconnect = catch_disconnect;
	ops.release = catch_release;
	bed.nic->ops = &ops;
	bed.m.responder.known = is_known;
}

static unsigned int nr_places(__be32 ip)
{
	unsigned int i, nr = 0;

	for (i = 0; i < RESPONDER_PLACES; i++)
		nr += bed.m.responder.place[i].accept.state != FAR_ACCEPT_NONE &&
		      bed.m.responder.place[i].accept.ends.cnode_ip == ip;
	return nr;
}

/* Asks for a handshake, with a cookie if one is asked for. True: there is a place. */
static bool asks(__be32 ip)
{
	struct odrp_auth_initiation initiation = {
		.magic = htobe32(ODRP_AUTH_MAGIC), .version = htobe16(ODRP_AUTH_VERSION),
		.role = ODRP_AUTH_HANDSHAKE, .suite = ODRP_AUTH_HMAC_SHA256, .id = ip,
	};
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = 7, .peer_ip = ip, .local_ip = 1,
		.priv_len = sizeof(initiation),
	};
	unsigned int i, before = nr_places(ip);

	for (i = 0; i < 2 && nr_places(ip) == before; i++) {
		memcpy(ev.priv, &initiation, sizeof(initiation));
		memset(caught, 0, sizeof(caught));
		assert_true(responder_request(&bed.m.responder, &ev));
		if (!auth_is_cookie(caught, sizeof(caught), initiation.cookie))
			break;
	}
	/* The queue pair of a place that was taken from somebody is made anew. */
	for (i = 0; i < RESPONDER_PLACES; i++)
		if (!bed.m.responder.place[i].mail.dev)
			assert_int_equal(far_mail_new(bed.nic, bed.m.responder.pdn,
						      &bed.m.responder.place[i].mail), 0);
	return nr_places(ip) == before + 1;
}

static void close_bed(void)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES; i++)
		bed.m.responder.place[i].accept.state = FAR_ACCEPT_NONE;
	bed.m.responder.nr_taken = 0;
	bed_close(&bed);
}

static void test_keeps_nobody_out(void **state)
{
	unsigned int i;

	open_bed();
	for (i = 0; i < 2 * RESPONDER_PLACES; i++)
		asks(KNOWN);
	assert_in_range(nr_places(KNOWN), 1, RESPONDER_PLACES / 2);
	for (i = 0; i < 4; i++) {
		assert_true(asks(OTHER));
		assert_true(asks(STRANGER + i));
	}
	close_bed();
}

/* Strangers at many addresses have all places: each compute node with a session gets one,
 * and loses it to no stranger. */
static void test_is_let_in(void **state)
{
	unsigned int i;

	open_bed();
	for (i = 0; i < 2 * RESPONDER_PLACES; i++)
		asks(STRANGER + i);
	assert_true(asks(KNOWN));
	assert_true(asks(OTHER));
	for (i = 0; i < 2 * RESPONDER_PLACES; i++)
		asks(STRANGER + 1000 + i);
	assert_int_equal(nr_places(KNOWN), 1);
	assert_int_equal(nr_places(OTHER), 1);
	close_bed();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_nobody_out),
		cmocka_unit_test(test_is_let_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
