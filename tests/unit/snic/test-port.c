// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ports that talk to the outside: datagram sockets, with a peer that comes,
 * goes, stalls and comes back; packet sockets as far as that goes without
 * privileges.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "snic/net/net-priv.h"

struct paths {
	char dir[64], local[80], remote[80];
};

static int setup(void **state)
{
	struct paths *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->dir, sizeof(p->dir), "/tmp/snic-port.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->local, sizeof(p->local), "%s/l", p->dir);
	snprintf(p->remote, sizeof(p->remote), "%s/r", p->dir);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct paths *p = *state;

	unlink(p->local);
	unlink(p->remote);
	rmdir(p->dir);
	free(p);
	return 0;
}

/* The peer as QEMU makes it: bound, not connected. */
static int open_peer(const struct paths *p)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", p->remote);
	unlink(p->remote);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static ssize_t peer_send(const struct paths *p, int fd, const void *buf,
			 size_t len)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", p->local);
	return sendto(fd, buf, len, 0, (struct sockaddr *)&addr, sizeof(addr));
}

static int port_send(struct snic_port *port, uint32_t nr, size_t len)
{
	uint8_t buf[70000] = { 0 };
	struct iovec iov[2] = { { &nr, 4 }, { buf, len - 4 } };

	memset(buf, nr, len - 4);
	return port->ops->send(port, iov, 2);
}

/* The number of the frame at the peer's; -1: none. */
static int peer_recv(int fd, size_t len)
{
	static uint8_t buf[70000];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);
	uint32_t nr;

	if (n < 0)
		return -1;
	assert_int_equal(n, len);
	memcpy(&nr, buf, 4);
	assert_int_equal(buf[len - 1], nr & 0xff);
	return nr;
}

static void test_both_ways(void **state)
{
	static const size_t lens[] = { 14, 60, 1514, 4200, 65549 };
	struct paths *p = *state;
	struct snic_port *port;
	static uint8_t buf[65549];
	const void *frame;
	unsigned int i;
	int fd;

	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &port), 0);
	fd = open_peer(p);
	assert_int_equal(port->ops->peek(port, &frame), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(port_send(port, i, lens[i]), 0);
		assert_int_equal(peer_recv(fd, lens[i]), i);
		memset(buf, i + 1, lens[i]);
		assert_int_equal(peer_send(p, fd, buf, lens[i]), lens[i]);
		assert_int_equal(port->ops->peek(port, &frame), lens[i]);
		assert_memory_equal(frame, buf, lens[i]);
		assert_int_equal(port->ops->peek(port, &frame), 0);
	}
	/* an empty datagram is no frame, and does not hide the next one */
	assert_int_equal(peer_send(p, fd, buf, 0), 0);
	assert_int_equal(peer_send(p, fd, buf, 20), 20);
	assert_int_equal(port->ops->peek(port, &frame), 20);
	port->ops->close(port);
	close(fd);
	assert_int_equal(access(p->local, F_OK), -1);
}

static void test_peer_comes_and_goes(void **state)
{
	struct paths *p = *state;
	struct snic_port *port;
	const void *frame;
	int fd, i;

	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &port), 0);
	assert_true(port_send(port, 1, 60) < 0);	/* not there yet */
	fd = open_peer(p);
	assert_int_equal(port_send(port, 2, 60), 0);
	assert_int_equal(peer_recv(fd, 60), 2);
	close(fd);
	assert_true(port_send(port, 3, 60) < 0);	/* gone */
	for (i = 0; i < 3; i++) {			/* and back */
		fd = open_peer(p);
		assert_int_equal(port_send(port, 4, 60), 0);
		assert_int_equal(peer_recv(fd, 60), 4);
		/* a new peer is heard before we have said a word to it */
		close(fd);
		fd = open_peer(p);
		assert_int_equal(peer_send(p, fd, "hello, this is me", 17), 17);
		assert_int_equal(port->ops->peek(port, &frame), 17);
		close(fd);
	}
	port->ops->close(port);
}

/* More than the peer's queue holds: kept, then sent, in order. */
static void test_backlog(void **state)
{
	struct paths *p = *state;
	struct snic_port *port;
	int fd, i, ret, kept = 0, sent = 0, next = 0, nr;

	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &port), 0);
	fd = open_peer(p);
	for (i = 0; i < 4000; i++) {
		ret = port_send(port, i, 4200);
		if (ret < 0)
			break;
		sent++;
		kept += ret;
	}
	assert_true(kept > 0);
	assert_int_equal(ret, -EAGAIN);
	assert_int_equal(port->ops->flush(port), -EAGAIN);
	while (next < sent) {
		while ((nr = peer_recv(fd, 4200)) >= 0)
			assert_int_equal(nr, next++);
		port->ops->flush(port);
	}
	assert_int_equal(port->ops->flush(port), 0);
	assert_int_equal(port_send(port, 7, 60), 0);
	assert_int_equal(peer_recv(fd, 60), 7);

	/* the peer dies with frames kept for it: they go, nothing hangs */
	for (i = 0; i < 100; i++)
		port_send(port, i, 4200);
	close(fd);
	assert_int_equal(port->ops->flush(port), 0);
	fd = open_peer(p);
	assert_int_equal(port_send(port, 8, 60), 0);
	assert_int_equal(peer_recv(fd, 60), 8);
	close(fd);
	port->ops->close(port);
}

static void test_paths(void **state)
{
	struct paths *p = *state;
	struct snic_port *a, *b;
	char longer[200];
	FILE *f;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(snic_port_dgram_open(NULL, p->remote, &a), -EINVAL);
	assert_int_equal(snic_port_dgram_open("", p->remote, &a), -EINVAL);
	assert_int_equal(snic_port_dgram_open(p->local, "", &a), -EINVAL);
	assert_int_equal(snic_port_dgram_open(p->local, p->local, &a), -EINVAL);
	assert_int_equal(snic_port_dgram_open(longer, p->remote, &a),
			 -ENAMETOOLONG);
	assert_int_equal(snic_port_dgram_open(p->local, longer, &a),
			 -ENAMETOOLONG);
	assert_int_equal(snic_port_dgram_open("/nowhere/at/all", p->remote, &a),
			 -ENOENT);
	/* somebody is using it */
	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &a), 0);
	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &b),
			 -EADDRINUSE);
	/* a process died: what it left does not matter */
	close(a->fd);
	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &b), 0);
	b->ops->close(b);
	a->fd = dup(0);
	a->ops->close(a);
	/* not a socket: not ours to remove */
	f = fopen(p->local, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(snic_port_dgram_open(p->local, p->remote, &a),
			 -ENOTSOCK);
	assert_int_equal(access(p->local, F_OK), 0);
}

static void test_packet_names(void **state)
{
	struct snic_port *port;

	assert_int_equal(snic_port_packet_open(NULL, &port), -EINVAL);
	assert_int_equal(snic_port_packet_open("", &port), -EINVAL);
	assert_int_equal(snic_port_packet_open("averyveryverylongname", &port),
			 -ENAMETOOLONG);
	assert_int_equal(snic_port_packet_open("nosuchif0", &port), -ENODEV);
}

/*
 * The next frame of f's type, or what there is instead after a while: 0, or an
 * error.  The kernel hands frames on when it comes to it.
 */
static int next_frame(struct snic_port *port, const uint8_t *f,
		      const void **ret_frame)
{
	struct pollfd pfd = { .fd = port->fd, .events = POLLIN };
	unsigned int tries;
	int n;

	for (tries = 0; tries < 1000; tries++) {
		n = port->ops->peek(port, ret_frame);
		if (n < 0)
			return n;
		if (!n)
			poll(&pfd, 1, 10);
		else if (!memcmp((const uint8_t *)*ret_frame + 12, f + 12, 2))
			return n;
	}
	return 0;
}

/*
 * An interface that has come up still drops what is sent, and says nothing,
 * until the kernel has looked at its carrier: knock until b hears a.
 */
static void wait_carrier(struct snic_port *a, struct snic_port *b)
{
	uint8_t f[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x90, 0x02 };
	struct iovec iov = { f, sizeof(f) };
	struct pollfd pfd = { .fd = b->fd, .events = POLLIN };
	const void *got;
	int n;

	for (;;) {
		a->ops->send(a, &iov, 1);
		poll(&pfd, 1, 10);
		while ((n = b->ops->peek(b, &got)) > 0)
			if (!memcmp((const uint8_t *)got + 12, f + 12, 2))
				return;
		assert_int_equal(n, 0);
	}
}

/*
 * Frames 0 to count - 1, each once.  In any order: a sender that moves to
 * another processor may overtake itself on the kernel's way to us.
 */
static void take_all(struct snic_port *port, uint8_t *f, int len, int count)
{
	bool seen[64] = { false };
	const void *got;
	int i, n;

	for (i = 0; i < count; i++) {
		n = next_frame(port, f, &got);
		assert_int_equal(n, len);
		f[20] = ((const uint8_t *)got)[20];
		assert_in_range(f[20], 0, count - 1);
		assert_false(seen[f[20]]);
		seen[f[20]] = true;
		assert_memory_equal(got, f, len);
	}
}

/* Two interfaces in a network namespace of our own, where we may. */
static void test_packet(void **state)
{
	uint8_t f[1500] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x90, 0x01 };
	struct iovec iov[2] = { { f, 14 }, { f + 14, sizeof(f) - 14 } };
	struct snic_port *a, *b, *host;
	const void *got;
	int i, n;

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ||
	    system("ip link add snica type veth peer name snicb 2>/dev/null && "
		   "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null; "
		   "ip link set snica up 2>/dev/null && "
		   "ip link set snicb up 2>/dev/null"))
		skip();
	assert_int_equal(snic_port_packet_open("snica", &a), 0);
	assert_int_equal(snic_port_packet_open("snicb", &b), 0);
	wait_carrier(a, b);
	for (i = 0; i < 40; i++) {
		f[20] = i;
		assert_int_equal(a->ops->send(a, iov, 2), 0);
	}
	take_all(b, f, sizeof(f), 40);
	/* what the host sends there is on its way out: not for a */
	assert_int_equal(snic_port_packet_open("snica", &host), 0);
	assert_int_equal(host->ops->send(host, iov, 2), 0);
	assert_int_equal(next_frame(b, f, &got), sizeof(f));
	host->ops->close(host);
	while ((n = a->ops->peek(a, &got)) > 0)
		assert_memory_not_equal((const uint8_t *)got + 12, f + 12, 2);
	assert_int_equal(n, 0);
	/* an interface that goes down is an error once, not a hang */
	assert_int_equal(system("ip link set snicb down"), 0);
	assert_int_equal(next_frame(b, f, &got), -ENETDOWN);
	assert_true(b->ops->send(b, iov, 2) < 0);
	assert_int_equal(system("ip link set snicb up"), 0);
	wait_carrier(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

/* ---- UDP ---- */

#define here cpu_to_be32(INADDR_LOOPBACK)

/* Waits for the next frame. */
static int udp_next(struct snic_port *port, const void **ret_frame)
{
	struct pollfd pfd = { .fd = port->fd, .events = POLLIN };
	int n;

	while (!(n = port->ops->peek(port, ret_frame)))
		assert_int_equal(poll(&pfd, 1, -1), 1);
	return n;
}

/* A port of UDP that nobody has, and a socket that has it. */
static int udp_socket(uint16_t *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = here };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static void udp_send_raw(int fd, uint16_t port, const void *data, size_t len)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = here,
		.sin_port = htons(port),
	};

	assert_int_equal(sendto(fd, data, len, 0, (struct sockaddr *)&addr,
				sizeof(addr)), len);
}

/* Frames both ways, also while nobody is at the other end. */
static void test_udp(void **state)
{
	struct snic_udp_addr at[2] = { { .ip = here }, { .ip = here } };
	struct snic_port *a, *b;
	const void *got;
	unsigned int i;

	close(udp_socket(&at[0].port));
	close(udp_socket(&at[1].port));
	assert_int_equal(snic_port_udp_open(&at[0], &at[1], &a), 0);
	assert_int_equal(snic_port_udp_open(&at[0], &at[1], &b), -EADDRINUSE);
	for (i = 0; i < 3; i++)
		port_send(a, i, 100);	/* lost, as on a cable without an end */
	assert_int_equal(a->ops->peek(a, &got), 0);
	assert_int_equal(snic_port_udp_open(&at[1], &at[0], &b), 0);
	for (i = 0; i < 40; i++) {
		assert_int_equal(port_send(a, i, 60 + i), 0);
		assert_int_equal(udp_next(b, &got), 60 + i);
		assert_memory_equal(got, &i, 4);
	}
	assert_int_equal(port_send(b, 7, 9000), 0);
	assert_int_equal(udp_next(a, &got), 9000);
	b->ops->close(b);
	for (i = 0; i < 3; i++)
		port_send(a, i, 100);
	assert_int_equal(a->ops->peek(a, &got), 0);
	a->ops->close(a);
}

/* What is no frame of ours, or comes from elsewhere, is dropped. */
static void test_udp_others(void **state)
{
	static const uint8_t good[20] = { 0x08, 0, 0, 0, SNIC_UDP_VNI >> 16,
					  SNIC_UDP_VNI >> 8, SNIC_UDP_VNI & 0xff, 0,
					  1, 2, 3 };
	struct snic_udp_addr ours = { .ip = here }, its = { .ip = here };
	uint16_t other_port;
	int peer = udp_socket(&its.port), other = udp_socket(&other_port);
	uint8_t bad[sizeof(good)];
	struct snic_port *port;
	const void *got;
	unsigned int i;

	close(udp_socket(&ours.port));
	assert_int_equal(snic_port_udp_open(&ours, &its, &port), 0);
	udp_send_raw(other, ours.port, good, sizeof(good));
	for (i = 0; i < 8; i++) {
		memcpy(bad, good, sizeof(bad));
		bad[i] ^= 0x10;
		udp_send_raw(peer, ours.port, bad, sizeof(bad));
		udp_send_raw(peer, ours.port, good, i + 1);
	}
	udp_send_raw(peer, ours.port, good, 0);
	udp_send_raw(peer, ours.port, good, sizeof(good));
	assert_int_equal(udp_next(port, &got), 12);
	assert_memory_equal(got, good + 8, 12);
	assert_int_equal(port->ops->peek(port, &got), 0);
	port->ops->close(port);
	close(peer);
	close(other);
}

/* Without another end: whoever sends is told apart, and answered where he is. */
static void test_udp_listen(void **state)
{
	struct snic_udp_addr at = { .ip = here }, any = { .ip = here }, peer[3];
	struct snic_port *hub, *end[3];
	uint32_t nr = 7;
	struct iovec iov = { &nr, sizeof(nr) };
	const void *got;
	unsigned int i;

	close(udp_socket(&at.port));
	assert_int_equal(snic_port_udp_listen(&at, &hub), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(snic_port_udp_open(&any, &at, &end[i]), 0);
		assert_int_equal(port_send(end[i], i, 60 + i), 0);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(udp_next(hub, &got), 60 + i);
		assert_memory_equal(got, &i, 4);
		hub->ops->sender(hub, &peer[i]);
		assert_int_equal(peer[i].ip, here);
	}
	assert_int_not_equal(peer[0].port, peer[1].port);
	assert_int_not_equal(peer[1].port, peer[2].port);
	assert_int_equal(hub->ops->send_to(hub, &peer[1], &iov, 1), 0);
	assert_int_equal(udp_next(end[1], &got), sizeof(nr));
	assert_memory_equal(got, &nr, sizeof(nr));
	assert_int_equal(end[0]->ops->peek(end[0], &got), 0);
	assert_int_equal(end[2]->ops->peek(end[2], &got), 0);
	/* One that is gone takes nothing from the others. */
	end[0]->ops->close(end[0]);
	for (i = 0; i < 3; i++)
		hub->ops->send_to(hub, &peer[0], &iov, 1);
	assert_int_equal(hub->ops->peek(hub, &got), 0);
	assert_int_equal(port_send(end[2], 9, 60), 0);
	assert_int_equal(udp_next(hub, &got), 60);
	end[1]->ops->close(end[1]);
	end[2]->ops->close(end[2]);
	hub->ops->close(hub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_ways, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_comes_and_goes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_udp_others),
		cmocka_unit_test(test_udp_listen),
		cmocka_unit_test(test_packet_names),
		cmocka_unit_test(test_packet),	/* last: leaves the host's net */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
