// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All that a client of a space makes the NIC do is refused once: the first call, the
 * second one, and so on, until none is left to refuse. Each time nothing is left behind,
 * and the next client is served.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/agent.h"
#include "bed/count.h"

#define ID	7	/* of the attachment */
#define CLIENT	3

static struct bed bed;
static const struct nic_ops *real;
static const struct nic_node_ops *real_node;
static struct nic_ops ops;
static struct nic_node_ops node_ops;
static int countdown;		/* below 0: nothing is refused any more */
static uint16_t status;		/* of the last answer */

static bool fails(void)
{
	return countdown-- == 0;
}

static int mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len, uint64_t iova,
		  unsigned int access, uint32_t *ret_key)
{
	return fails() ? -ENOMEM :
	       real->mr_reg(nic, pdn, va, len, iova, access, ret_key);
}

static int qp_create(struct nic *nic, const struct nic_qp_attr *attr, uint32_t *ret_qpn)
{
	return fails() ? -ENOMEM : real->qp_create(nic, attr, ret_qpn);
}

static int qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	return fails() ? -EIO : real_node->qp_loop(nic, qpn, to);
}

static int qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	return fails() ? -EIO : real->qp_doorbell(nic, qpn, pi);
}

static int accept_none(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		       uint8_t priv_len)
{
	if (fails())
		return -EIO;
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

static void release_none(struct nic *nic, uint32_t id)
{
}

static void open_bed(void)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	countdown = -1;
	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	o.conf.pool += 4 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	bed_open(&bed, &o, 0);
	bed_settle(&bed);
	count_wrap(bed.nic);
	real = bed.nic->ops;
	real_node = bed.nic->node->ops;
	ops = *real;
	ops.mr_reg = mr_reg;
	ops.qp_create = qp_create;
	ops.qp_doorbell = qp_doorbell;
	ops.accept = accept_none;
	ops.reject = catch_reject;
	ops.release = release_none;
	node_ops = *real_node;
	node_ops.qp_loop = qp_loop;
	bed.nic->ops = &ops;
	bed.nic->node->ops = &node_ops;
}

static unsigned int asks(enum odrp_far_role role, uint32_t number)
{
	static uint32_t nr;
	struct odrp_far_hello hello = {
		.magic = htobe32(ODRP_FAR_MAGIC), .version = htobe16(ODRP_FAR_VERSION),
		.role = role, .rights = role == ODRP_FAR_ATTACH ?
			ODRP_FAR_READ | ODRP_FAR_WRITE : 0,
		.number = htobe32(number), .attach = htobe64(ID),
	};
	struct nic_event ev = {
		.type = NIC_REQUEST, .id = 800000 + ++nr, .peer_ip = 2, .local_ip = 1,
		.peer_qpn = 5, .priv_len = sizeof(hello),
	};

	if (role == ODRP_FAR_ATTACH)
		hello.name[0] = 'a';
	memcpy(ev.priv, &hello, sizeof(hello));
	assert_true(manager_spaces_request(&bed.m, &ev));
	return status;
}

/* All that a client does, and the fence when it has gone; true: nothing was refused. */
static bool life(void)
{
	struct far_host *host = &bed.m.spaces.host;
	struct far_host_space *space = far_host_space_find(host, "a");
	unsigned int i, refused = 0;

	refused += asks(ODRP_FAR_ATTACH, 0) != ODRP_FAR_OK;
	refused += asks(ODRP_FAR_QUEUE, 1) != ODRP_FAR_OK;
	refused += asks(ODRP_FAR_QUEUE, 2) != ODRP_FAR_OK;
	refused += asks(ODRP_FAR_QUEUE, 1) != ODRP_FAR_OK;	/* in its place */
	refused += asks(ODRP_FAR_CLAIM, CLIENT) != ODRP_FAR_OK;
	far_host_probe(host);
	for (i = 0; i < 100 && far_host_fence(host, space, CLIENT); i++)
		bed_pass(&bed, 1);
	assert_in_range(i, 0, 99);
	while (host->attaches)
		far_host_cut(host, host->attaches);
	while (host->leaving)
		far_host_poll(host);
	assert_int_equal(host->nr_attaches, 0);
	assert_int_equal(host->nr_queues, 0);
	return !refused;
}

static void test_each(void **state)
{
	int n = -1, left;
	long has = 0;

	do {
		open_bed();
		countdown = n;
		life();
		left = countdown;
		countdown = -1;
		assert_true(life());
		/* What the host keeps for its fences is made once. */
		if (n < 0)
			has = count_live();
		assert_int_equal(count_live(), has);
		bed.nic->ops = real;
		bed.nic->node->ops = real_node;
		bed_close(&bed);
		n++;
	} while (left < 0);
	assert_in_range(n, 8, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
