// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The connection manager on librdmacm, which is the test's own here: it listens at two
 * ports, and what happens to a listener is no event of a connection.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <rdma/rdma_cma.h>
#include <nic/cm.h>

#define MOST	4

static struct {
	struct rdma_event_channel channel;
	struct rdma_cm_id *id[MOST];
	unsigned int nr_ids, nr_alive, nr_acks;
	uint16_t port[MOST];
	bool refuse;			/* to listen */
	struct rdma_cm_event *event;	/* the next one */
} lib;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	close(fd[1]);
	lib.channel.fd = fd[0];
	return &lib.channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	assert_int_equal(lib.nr_alive, 0);
	close(channel->fd);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps)
{
	assert_true(lib.nr_ids < MOST);
	*id = lib.id[lib.nr_ids++] = calloc(1, sizeof(**id));
	lib.nr_alive++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	lib.nr_alive--;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	lib.port[lib.nr_ids - 1] = ntohs(((struct sockaddr_in *)addr)->sin_port);
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	errno = EADDRINUSE;
	return lib.refuse ? -1 : 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	*event = lib.event;
	lib.event = NULL;
	errno = EAGAIN;
	return *event ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	lib.nr_acks++;
	return 0;
}

static void test_two_ports(void **state)
{
	struct rdma_cm_event gone = { .event = RDMA_CM_EVENT_DEVICE_REMOVAL };
	struct rdma_cm_id conn = { .verbs = NULL };
	struct nic_cm_event ev;
	unsigned int i;
	void *cm;
	int fd;

	memset(&lib, 0, sizeof(lib));
	assert_int_equal(nic_cm.open("mlx5_0", 1, &cm, &fd), 0);
	lib.refuse = true;
	assert_int_equal(nic_cm.listen(cm, 7488), -EADDRINUSE);
	assert_int_equal(lib.nr_alive, 0);
	lib.refuse = false;
	lib.nr_ids = 0;
	assert_int_equal(nic_cm.listen(cm, 7489), 0);
	assert_int_equal(nic_cm.listen(cm, 7490), 0);
	assert_int_equal(nic_cm.listen(cm, 7491), -EOPNOTSUPP);
	assert_int_equal(lib.port[0], 7489);
	assert_int_equal(lib.port[1], 7490);
	for (i = 0; i < 2; i++) {
		gone.id = lib.id[i];
		lib.event = &gone;
		assert_int_equal(nic_cm.event(cm, &ev), -EAGAIN);
	}
	gone.id = &conn;
	lib.event = &gone;
	assert_int_equal(nic_cm.event(cm, &ev), 0);
	assert_int_equal(ev.type, NIC_GONE);
	assert_ptr_equal(ev.conn, &conn);
	assert_int_equal(lib.nr_acks, 3);
	nic_cm.close(cm);
	assert_int_equal(lib.nr_alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
