// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client over UDP that the memory node refuses, before there is a connection, says why:
 * one that asks for an address when it is opened, one that has an address when it attaches.
 * The memory node is a thread of the test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <nic/soft.h>
#include <unistd.h>

#include "snic/net/frame.h"
#include "snic/net/pkt.h"
#include "../../../../userspace/core/space.h"
#include "bed.h"

struct other {
	struct snic_port *port;
	__be32 answer;
	int stop[2];
	pthread_t thread;
};

static void other_answer(const struct other *o, const uint8_t *question)
{
	uint8_t frame[SNIC_ARP_LEN];
	struct iovec iov = { frame, sizeof(frame) };
	struct snic_udp_addr peer;

	o->port->ops->sender(o->port, &peer);
	snic_arp_put(frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REPLY, .to = question + SNIC_ETH_ALEN,
		.mac = (uint8_t[6]) { 2, 0, 0, 0, 0, 1 }, .ip = htonl(0x0a000001),
		.target_mac = question + SNIC_ETH_ALEN, .target_ip = o->answer,
	});
	o->port->ops->send_to(o->port, &peer, &iov, 1);
}

static void *other_main(void *arg)
{
	struct other *o = arg;
	struct pollfd fd[2] = {
		{ .fd = o->port->fd, .events = POLLIN },
		{ .fd = o->stop[0], .events = POLLIN },
	};
	const void *frame;

	while (!fd[1].revents) {
		while (o->port->ops->peek(o->port, &frame) > 0)
			other_answer(o, frame);
		poll(fd, 2, -1);
	}
	return NULL;
}

static void other_begin(struct other *o, uint32_t answer, char *spec, size_t len,
			const char *words)
{
	struct snic_udp_addr here = { .ip = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in at;
	socklen_t at_len = sizeof(at);

	o->answer = htonl(answer);
	assert_int_equal(snic_port_udp_listen(&here, &o->port), 0);
	assert_int_equal(getsockname(o->port->fd, (struct sockaddr *)&at, &at_len), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, o->stop), 0);
	assert_int_equal(pthread_create(&o->thread, NULL, other_main, o), 0);
	snprintf(spec, len, "soft:%sudp=127.0.0.1:0:127.0.0.1:%u", words,
		 ntohs(at.sin_port));
}

static void other_end(struct other *o)
{
	assert_int_equal(shutdown(o->stop[1], SHUT_RDWR), 0);
	assert_int_equal(pthread_join(o->thread, NULL), 0);
	close(o->stop[0]);
	close(o->stop[1]);
	o->port->ops->close(o->port);
}

/* Opens a NIC that has no address. */
static int open_asking(uint32_t answer, char *why, size_t len)
{
	struct far_nic *nic;
	struct other o;
	char spec[128];
	int err;

	other_begin(&o, answer, spec, sizeof(spec), "connect_ms=30000,");
	err = far_nic_open(spec, why, len, &nic);
	if (!err)
		nic->ops->close(nic);
	other_end(&o);
	return err;
}

static void test_asks(void **state)
{
	char why[512];

	assert_int_equal(open_asking(0x64400007, why, sizeof(why)), 0);
	assert_int_equal(open_asking(SNIC_NO_PLACE, why, sizeof(why)), -EUSERS);
	assert_non_null(strstr(why, "no place for one more client"));
	assert_int_equal(open_asking(SNIC_NO_ADDRESS, why, sizeof(why)), -EADDRNOTAVAIL);
	assert_non_null(strstr(why, "no address that is not taken"));
}

/* The node answers nothing but that, or has nothing to say. */
static void test_has_address(void **state)
{
	const uint32_t answers[] = { SNIC_NO_PLACE, 0x0a000002 };
	struct far_peer peer = { .priv = NULL };
	struct far_nic *nic;
	struct other o;
	char spec[128], why[512];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		other_begin(&o, answers[i], spec, sizeof(spec),
			    "connect_ms=300,ip=10.0.0.2/24,");
		assert_int_equal(far_nic_open(spec, why, sizeof(why), &nic), 0);
		assert_int_equal(nic->ops->attach(nic, "10.0.0.1", "s", FAR_ATTACH_READ,
						  &peer), i ? -EHOSTUNREACH : -EUSERS);
		nic->ops->close(nic);
		other_end(&o);
	}
	assert_non_null(strstr(far_node_words(-EUSERS), "no place"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asks),
		cmocka_unit_test(test_has_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
