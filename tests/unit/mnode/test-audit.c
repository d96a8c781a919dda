// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The log says who was refused and why, and what the operator did; and nobody fills it.
 */
#include <arpa/inet.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <odrp/far.h>
#include <peer/audit.h>
#include <report/status.h>
#include "bed/agent.h"

#define MAX_LINES	200

static struct bed bed;
static char lines[MAX_LINES][256];
static unsigned int nr_lines;

void __wrap_log_line(int level, const char *fmt, ...);

void __wrap_log_line(int level, const char *fmt, ...)
{
	va_list ap;

	assert_in_range(nr_lines, 0, MAX_LINES - 1);
	va_start(ap, fmt);
	vsnprintf(lines[nr_lines++], sizeof(lines[0]), fmt, ap);
	va_end(ap);
}

/* How many lines have both words. */
static unsigned int said(const char *one, const char *other)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_lines; i++)
		nr += strstr(lines[i], one) && strstr(lines[i], other);
	return nr;
}

static void open_bed(unsigned int nr_nodes)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.pool += 4 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	bed_open(&bed, &o, nr_nodes);
	nr_lines = 0;
}

/* ---- the limit ------------------------------------------------------------------- */

static void refuse(struct audit *audit, unsigned int host, unsigned int times)
{
	const struct audit_peer peer = { .ip = htonl(host) };

	while (times--)
		audit_refused(audit, &peer, "why");
}

/* The number of refusals that the NIC has not told the agent yet. */
static unsigned int nr_refused;

bool __wrap_snic_take_refused(struct snic *nic, struct snic_refused *ret_refused);

bool __wrap_snic_take_refused(struct snic *nic, struct snic_refused *ret_refused)
{
	*ret_refused = (struct snic_refused){
		.peer.ip = htonl(0x0a000000 + nr_refused), .why = SNIC_NO_PLACE,
	};
	return nr_refused && nr_refused--;
}

/* The agent also logs peers that the NIC has refused before they could send a name. */
static void test_nic(void **state)
{
	open_bed(0);
	nr_refused = 2;
	bed_pass(&bed, 2000);
	assert_int_equal(nr_refused, 0);
	assert_int_equal(said("10.0.0.1", "no place for one more peer"), 1);
	assert_int_equal(said("10.0.0.2", "no place for one more peer"), 1);
	bed_close(&bed);
}

static void test_limit(void **state)
{
	struct audit audit = { .nr = 0 };
	unsigned int i;

	nr_lines = 0;
	refuse(&audit, 1, 100);
	assert_int_equal(nr_lines, AUDIT_LINES_EACH);
	refuse(&audit, 2, 1);			/* another address is said still */
	assert_int_equal(said("0.0.0.2", "why"), 1);
	for (i = 3; i < 100; i++)
		refuse(&audit, i, 1);
	assert_int_equal(nr_lines, AUDIT_LINES);
	/* At the end of the period it says how many there were. */
	audit_tick(&audit, AUDIT_PERIOD_MS - 1);
	assert_int_equal(nr_lines, AUDIT_LINES);
	audit_tick(&audit, 1);
	assert_int_equal(nr_lines, AUDIT_LINES + 1);
	assert_int_equal(said("refused: 166 more", "10 s"), 1);
	refuse(&audit, 1, 1);
	assert_int_equal(nr_lines, AUDIT_LINES + 2);
	audit_tick(&audit, AUDIT_PERIOD_MS);	/* none without a line */
	assert_int_equal(nr_lines, AUDIT_LINES + 2);
}

/* What is only said may be anything, and is called what it is. */
static void test_names(void **state)
{
	struct audit_peer peer = { .name = "x'\nz<3>y", .ip = htonl(1) };
	struct audit audit = { .nr = 0 };

	nr_lines = 0;
	audit_refused(&audit, &peer, "why");
	assert_int_equal(said("name 'x??z<3>y' that it has not proved", "0.0.0.1"), 1);
	peer = (struct audit_peer){ .name = "node1", .proved = true, .ip = htonl(1) };
	audit_refused(&audit, &peer, "why");
	assert_int_equal(said("refused: node1 at 0.0.0.1: why", ""), 1);
}

/* ---- refusals -------------------------------------------------------------------- */

static int open_node(unsigned int node)
{
	struct bed_node *n = &bed.nodes[node];
	struct cnode_refusal no;

	n->cfg.nr_slots = 64;
	n->cfg.queues = 1;
	n->cfg.depth = 7;
	return cnode_open(&n->cfg, &n->cnode, &no);
}

static void test_handshake(void **state)
{
	open_bed(1);
	bed.nodes[0].secret[0] ^= 1;
	assert_int_not_equal(open_node(0), 0);
	assert_int_equal(said("10.77.0.2, by the name 'node0'", "another secret"), 1);
	bed_close(&bed);
}

static void test_session(void **state)
{
	open_bed(1);
	manager_drain(&bed.m, true);
	assert_int_not_equal(open_node(0), 0);
	assert_int_equal(said("refused: node0 at 10.77.0.2", "limit"), 1);
	bed_close(&bed);
}

static int deaf_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	return 0;
}

static void deaf_release(struct nic *nic, uint32_t id)
{
}

static void test_client(void **state)
{
	struct odrp_far_hello hello = {
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = ODRP_FAR_ATTACH, .attach = 1,
	};
	struct nic_event ev = {
		.type = NIC_REQUEST, .peer_ip = htonl(7), .priv_len = sizeof(hello),
	};
	struct nic_ops deaf;

	open_bed(0);
	deaf = *bed.nic->ops;
	deaf.reject = deaf_reject;
	deaf.release = deaf_release;
	bed.nic->ops = &deaf;
	memcpy(ev.priv, &hello, sizeof(hello));
	assert_true(spaces_request(&bed.m.spaces, &bed.m.idents, true, &ev));
	assert_int_equal(said("refused: 0.0.0.7", "not authenticated"), 1);
	assert_true(spaces_request(&bed.m.spaces, &bed.m.idents, false, &ev));
	assert_int_equal(said("refused: 0.0.0.7", "no such space"), 1);
	/* The end of a list of spaces is no refusal. */
	hello.role = ODRP_FAR_LOOK;
	hello.number = htonl(9);
	memcpy(ev.priv, &hello, sizeof(hello));
	assert_true(spaces_request(&bed.m.spaces, &bed.m.idents, false, &ev));
	assert_int_equal(said("refused", ""), 2);
	bed_close(&bed);
}

/* ---- the operator ---------------------------------------------------------------- */

static void command(const char *text)
{
	struct json_object *obj = json_tokener_parse(text), *answer;

	answer = status_command(&bed.m, obj, 0);
	json_object_put(answer);
	json_object_put(obj);
}

static void test_operator(void **state)
{
	open_bed(2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	command("{\"command\": \"drain\"}");
	assert_int_equal(said("draining, as the operator asks", ""), 1);
	command("{\"command\": \"undrain\"}");
	assert_int_equal(said("not draining any more", ""), 1);
	command("{\"command\": \"evict\", \"session\": 1}");
	assert_int_equal(said("the operator evicts it", "session 1"), 1);
	command("{\"command\": \"revoke\", \"name\": \"node1\"}");
	assert_int_equal(said("client node1: revoked", "1 sessions"), 1);
	assert_int_equal(said("session 2, node1 at 10.77.0.3: evicted", ""), 1);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_nic),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_operator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
