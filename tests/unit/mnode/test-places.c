// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Places of sessions, and one who begins sessions and ends them faster than the agent can
 * free them: there are places for others.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/agent.h"

static struct bed bed;
static struct nic_ops ops;
static const struct nic_event *next;	/* NULL: there is none */
static uint16_t status;			/* of the last refusal */

static int give_event(struct nic *nic, struct nic_event *ret_event)
{
	if (!next)
		return -EAGAIN;
	*ret_event = *next;
	next = NULL;
	return 0;
}

static int catch_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	struct odrp_wire_reject rej;

	memcpy(&rej, priv, sizeof(rej));
	status = be16toh(rej.status);
	return 0;
}

static void catch_release(struct nic *nic, uint32_t id)
{
}

/* most: sessions of a client; 0: no limit */
static void open_bed(const char *most)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	assert_int_equal(conf_client_set(&o.conf, "*", "max-sessions", most, why), 0);
	bed_open(&bed, &o, 0);
	bed_settle(&bed);
	ops = *bed.nic->ops;
	ops.event = give_event;
	ops.reject = catch_reject;
	ops.release = catch_release;
	bed.nic->ops = &ops;
}

/* A compute node at that address asks for a session; the status of the answer. No work of
 * the agent follows. */
static unsigned int asks(__be32 ip, uint32_t id)
{
	const struct odrp_wire_hello hello = {
		.magic = htobe32(ODRP_WIRE_MAGIC), .version = htobe16(ODRP_WIRE_VERSION),
		.role = ODRP_WIRE_ADMIN, .queue = htobe16(1), .depth = htobe16(7),
		.nr_slots = htobe64(64), .page_shift = ODRP_WIRE_PAGE_SHIFT,
	};
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = id, .peer_ip = ip, .local_ip = 1,
		.peer_qpn = 5, .priv_len = sizeof(hello),
	};

	memcpy(ev.priv, &hello, sizeof(hello));
	status = ODRP_WIRE_OK;
	next = &ev;
	manager_events(&bed.m);
	return status;
}

static void hangs_up(uint32_t id)
{
	const struct nic_event ev = { .type = NIC_GONE, .id = id };

	next = &ev;
	manager_events(&bed.m);
}

static void begin_and_end(const char *max)
{
	uint32_t most, id;

	open_bed(max);
	most = bed.m.shares.others.max_sessions + 4;
	assert_in_range(most, 1, bed.m.conf->max_sessions - 1);
	for (id = 1; id <= most; id++) {
		assert_int_equal(asks(2, id), ODRP_WIRE_OK);
		hangs_up(id);
	}
	assert_int_equal(asks(2, id), ODRP_WIRE_E_BUSY);
	assert_int_equal(bed.m.nr_sess, most);
	/* There is room for another one. */
	assert_int_equal(asks(3, id), ODRP_WIRE_OK);
	hangs_up(id);
	/* When all is freed, there are no shares of them any more. */
	bed_settle(&bed);
	assert_int_equal(asks(2, ++id), ODRP_WIRE_OK);
	hangs_up(id);
	bed_settle(&bed);
	manager_tick_shares(&bed.m, 0);
	assert_null(bed.m.shares.list);
	bed_close(&bed);
}

static void test_begins_and_ends(void **state)
{
	begin_and_end("2");
}

/* Ended sessions have a limit without one of sessions, too. */
static void test_without_limit(void **state)
{
	begin_and_end("0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_and_ends),
		cmocka_unit_test(test_without_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
