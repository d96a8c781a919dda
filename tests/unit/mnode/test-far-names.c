// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What stays of clients of spaces: nothing of a name that is revoked, whatever has become
 * of its pass, and nothing of addresses that got nothing.
 */
#include <endian.h>
#include <string.h>
#include "bed/agent.h"

static struct bed bed;
static struct nic_ops ops;
static uint16_t status;		/* of the last answer */

static int catch_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
			uint8_t priv_len)
{
	status = ODRP_FAR_OK;
	return 0;
}

static int catch_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	struct odrp_far_reject rej;

	memcpy(&rej, priv, sizeof(rej));
	status = be16toh(rej.status);
	return 0;
}

static void catch_release(struct nic *nic, uint32_t id)
{
}

static void open_bed(const char *max_requests)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.pool += 4 << 20;
	o.conf.auth = CONF_AUTH_NONE;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	if (max_requests)
		assert_int_equal(conf_client_set(&o.conf, "*", "max-requests",
						 max_requests, why), 0);
	bed_open(&bed, &o, 0);
	ops = *bed.nic->ops;
	ops.accept = catch_accept;
	ops.reject = catch_reject;
	ops.release = catch_release;
	bed.nic->ops = &ops;
	bed_settle(&bed);
}

static struct nic_event event_of(__be32 ip, const void *priv, size_t len)
{
	static uint32_t nr;
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = 800000 + ++nr, .peer_ip = ip, .local_ip = 1,
		.peer_qpn = 5, .priv_len = len,
	};

	memcpy(ev.priv, priv, len);
	return ev;
}

/* A client attaches by that pass; its answer's status. */
static unsigned int proved_attaches(const struct pass *pass, uint64_t id)
{
	static uint32_t counter;
	const struct auth_ends ends = { .cnode_ip = 2, .mnode_ip = 1 };
	uint8_t name[ODRP_FAR_NAME_MAX] = "a";
	struct odrp_auth_far req = {
		.magic = htobe32(ODRP_AUTH_FAR_MAGIC), .version = htobe16(ODRP_AUTH_VERSION),
		.role = ODRP_FAR_ATTACH, .rights = ODRP_FAR_READ,
		.counter = htobe32(++counter), .attach = htobe64(id),
		.handle = htobe64(pass->handle),
	};
	struct nic_event ev;

	auth_space(name, sizeof(name), req.space);
	auth_sign_far(&pass->key, auth_bound(&ends, 5), &req);
	ev = event_of(2, &req, sizeof(req));
	assert_true(manager_spaces_request(&bed.m, &ev));
	return status;
}

/* A client at that address, which proves nothing, attaches. */
static unsigned int stranger_attaches(__be32 ip, const char *space)
{
	struct odrp_far_hello hello = {
		.magic = htobe32(ODRP_FAR_MAGIC), .version = htobe16(ODRP_FAR_VERSION),
		.role = ODRP_FAR_ATTACH, .rights = ODRP_FAR_READ,
		.attach = htobe64(100 + ip),
	};
	struct nic_event ev;

	memcpy(hello.name, space, strlen(space));
	ev = event_of(ip, &hello, sizeof(hello));
	assert_true(manager_spaces_request(&bed.m, &ev));
	return status;
}

/* A session that was begun by the same pass has been resumed by another one, so that the
 * pass of the attachment is gone. */
static void test_revoked(void **state)
{
	static const struct secrets none;
	const struct auth_key key = { .k = { 1 } };
	struct pass *first, *other;
	char why[CONF_WHY_MAX];

	open_bed(NULL);
	assert_int_equal(idents_add(&bed.m.idents, "node0", &none), 0);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node0", &key, 0, &first), 0);
	assert_int_equal(idents_pass_new(&bed.m.idents, "node1", &key, 0, &other), 0);
	assert_int_equal(proved_attaches(first, 7), ODRP_FAR_OK);
	assert_int_equal(proved_attaches(other, 8), ODRP_FAR_OK);
	idents_drop_pass(&bed.m.idents, first->handle);
	assert_int_equal(manager_revoke(&bed.m, "node0", why), 0);
	assert_null(far_host_find(&bed.m.spaces.host, 7));
	assert_non_null(far_host_find(&bed.m.spaces.host, 8));
	bed_close(&bed);
}

static unsigned int nr_shares(void)
{
	const struct share *share;
	unsigned int nr = 0;

	for (share = bed.m.shares.list; share; share = share->next)
		nr++;
	return nr;
}

static void strangers(const char *max_requests)
{
	unsigned int i, before;

	open_bed(max_requests);
	before = nr_shares();
	for (i = 1; i <= 100; i++)
		assert_int_equal(stranger_attaches(htobe32(i), "nowhere"),
				 ODRP_FAR_E_SPACE);
	assert_int_equal(nr_shares(), before);
	/* Whoever has an attachment has a share. */
	assert_int_equal(stranger_attaches(htobe32(1), "a"), ODRP_FAR_OK);
	assert_int_equal(nr_shares(), before + 1);
	bed_close(&bed);
}

static void test_strangers(void **state)
{
	strangers(NULL);
	strangers("60");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
