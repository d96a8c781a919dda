// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stream port: frames whole and in pieces, peers that come, go, stall and
 * talk nonsense.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "snic/net/net-priv.h"

struct bed {
	char dir[64], path[80];
	struct snic_port *port;
};

static int setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	snprintf(b->dir, sizeof(b->dir), "/tmp/snic-stream.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/s", b->dir);
	assert_int_equal(snic_port_stream_open(b->path, &b->port), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bed *b = *state;

	b->port->ops->close(b->port);
	assert_int_equal(access(b->path, F_OK), -1);
	rmdir(b->dir);
	free(b);
	return 0;
}

static int call(const struct bed *b)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", b->path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int peek(const struct bed *b, const void **ret_frame)
{
	return b->port->ops->peek(b->port, ret_frame);
}

/* A frame as it stands on the stream: byte i of it is nr + i. */
static size_t make(uint8_t *buf, uint32_t len, unsigned int nr)
{
	__be32 head = cpu_to_be32(len);
	uint32_t i;

	memcpy(buf, &head, 4);
	for (i = 0; i < len; i++)
		buf[4 + i] = nr + i;
	return 4 + len;
}

static int send_frame(const struct bed *b, uint32_t len, unsigned int nr)
{
	static uint8_t buf[4 + SNIC_FRAME_MAX + 8];
	struct iovec iov[2];

	make(buf, len, nr);
	iov[0] = (struct iovec){ buf + 4, len / 3 };
	iov[1] = (struct iovec){ buf + 4 + len / 3, len - len / 3 };
	return b->port->ops->send(b->port, iov, 2);
}

static void test_nobody(void **state)
{
	struct bed *b = *state;
	const void *frame;

	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
	assert_int_equal(b->port->ops->flush(b->port), 0);
}

static void test_both_ways(void **state)
{
	static const uint32_t lens[] = { 1, 14, 60, 1514, 4200, SNIC_FRAME_MAX };
	static uint8_t out[4 + SNIC_FRAME_MAX], in[4 + SNIC_FRAME_MAX];
	struct bed *b = *state;
	const void *frame;
	unsigned int i;
	int fd = call(b);

	assert_int_equal(peek(b, &frame), 0);
	for (i = 0; i < 6; i++) {
		size_t n = make(out, lens[i], i);

		assert_int_equal(send(fd, out, n, 0), n);
		assert_int_equal(peek(b, &frame), lens[i]);
		assert_memory_equal(frame, out + 4, lens[i]);
		assert_int_equal(peek(b, &frame), 0);
		assert_int_equal(send_frame(b, lens[i], i), 1);
		assert_int_equal(recv(fd, in, sizeof(in), 0), -1);
		assert_int_equal(b->port->ops->flush(b->port), 0);
		assert_int_equal(recv(fd, in, n, 0), n);
		assert_memory_equal(in, out, n);
	}
	assert_int_equal(send_frame(b, SNIC_FRAME_MAX + 1, 0), -EMSGSIZE);
	close(fd);
}

/* Many frames in one read, and one frame byte by byte. */
static void test_pieces(void **state)
{
	struct bed *b = *state;
	uint8_t out[8 * 104];
	const void *frame;
	unsigned int i, k;
	int fd = call(b);
	size_t n = 0;

	for (i = 0; i < 8; i++)
		n += make(out + n, i == 4 ? 0 : 100, i);
	assert_int_equal(send(fd, out, n, 0), n);
	for (i = 0; i < 8; i++) {
		if (i == 4)	/* an empty frame is none */
			continue;
		assert_int_equal(peek(b, &frame), 100);
		assert_int_equal(*(const uint8_t *)frame, i);
	}
	assert_int_equal(peek(b, &frame), 0);
	n = make(out, 100, 9);
	for (k = 0; k < n; k++) {
		assert_int_equal(peek(b, &frame), 0);
		assert_int_equal(send(fd, out + k, 1, 0), 1);
	}
	assert_int_equal(peek(b, &frame), 100);
	assert_memory_equal(frame, out + 4, 100);
	close(fd);
}

/* More empty frames than one read takes: a call does not look for the end of them, since
 * there may be none. */
static void test_empty(void **state)
{
	static const uint8_t empty[280 << 10];
	uint8_t out[4 + 60];
	struct bed *b = *state;
	int fd = call(b), size = 1 << 20;
	unsigned int calls = 0;
	const void *frame;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert_int_equal(send(fd, empty, sizeof(empty), 0), sizeof(empty));
	assert_int_equal(send(fd, out, make(out, 60, 7), 0), sizeof(out));
	while (!peek(b, &frame))
		assert_in_range(++calls, 1, 9);
	assert_int_equal(*(const uint8_t *)frame, 7);
	assert_true(calls);
	close(fd);
}

/* Long enough that the receive buffer starts anew many times. */
static void test_wrap(void **state)
{
	struct bed *b = *state;
	static uint8_t out[4 + 4200];
	unsigned int i, got = 0;
	const void *frame;
	int fd = call(b), len;

	for (i = 0; i < 2000; i++) {
		size_t n = make(out, 4200 - i % 7, i);

		assert_int_equal(send(fd, out, n, 0), n);
		if (i % 9)
			continue;
		while ((len = peek(b, &frame))) {
			assert_int_equal(len, 4200 - got % 7);
			assert_int_equal(*(const uint8_t *)frame, got & 0xff);
			got++;
		}
	}
	while (peek(b, &frame))
		got++;
	assert_int_equal(got, 2000);
	close(fd);
}

/* A peer that does not read: what fits is kept, in order, the rest refused. */
static void test_stall(void **state)
{
	static uint8_t in[4 + 4200], want[4 + 4200];
	unsigned int sent = 0, got = 0, refused;
	struct bed *b = *state;
	const void *frame;
	size_t have = 0;
	int fd = call(b), ret;

	assert_int_equal(peek(b, &frame), 0);
	for (refused = 0; refused < 3;) {
		ret = send_frame(b, 4200, sent);
		if (ret == -EAGAIN) {
			refused++;
			continue;
		}
		assert_int_equal(ret, 1);
		sent++;
		b->port->ops->flush(b->port);
	}
	assert_int_equal(b->port->ops->flush(b->port), -EAGAIN);
	assert_true(sent > 900);
	while (got < sent) {
		ssize_t n = recv(fd, in + have, sizeof(in) - have, 0);

		if (n < 0) {
			b->port->ops->flush(b->port);
			continue;
		}
		have += n;
		if (have < sizeof(in))
			continue;
		make(want, 4200, got++);
		assert_memory_equal(in, want, sizeof(in));
		have = 0;
	}
	assert_int_equal(b->port->ops->flush(b->port), 0);
	close(fd);
}

/* Nothing of one peer's reaches the next. */
static void test_next_peer(void **state)
{
	struct bed *b = *state;
	uint8_t out[104], in[8];
	const void *frame;
	int fd = call(b);

	assert_int_equal(peek(b, &frame), 0);
	make(out, 100, 1);
	assert_int_equal(send(fd, out, 50, 0), 50);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), 1);
	close(fd);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);

	fd = call(b);
	assert_int_equal(send(fd, out, 104, 0), 104);
	assert_int_equal(peek(b, &frame), 100);
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_int_equal(recv(fd, in, sizeof(in), 0), -1);

	/* gone while something is to be sent */
	assert_int_equal(send_frame(b, 60, 0), 1);
	close(fd);
	assert_int_equal(b->port->ops->flush(b->port), 0);
	assert_int_equal(send_frame(b, 60, 0), -ENOTCONN);
}

static void test_nonsense(void **state)
{
	__be32 head = cpu_to_be32(SNIC_FRAME_MAX + 1);
	struct bed *b = *state;
	const void *frame;
	int fd = call(b);
	char c;

	assert_int_equal(send(fd, &head, 4, 0), 4);
	assert_int_equal(peek(b, &frame), 0);
	assert_int_equal(recv(fd, &c, 1, 0), 0);	/* hung up on */
	close(fd);
}

static void test_paths(void **state)
{
	struct bed *b = *state;
	struct snic_port *port;
	char path[200];
	FILE *f;

	assert_int_equal(snic_port_stream_open("", &port), -EINVAL);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(snic_port_stream_open(path, &port), -ENAMETOOLONG);
	assert_int_equal(snic_port_stream_open(b->path, &port), -EADDRINUSE);
	snprintf(path, sizeof(path), "%s/file", b->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(snic_port_stream_open(path, &port), -ENOTSOCK);
	unlink(path);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_nobody), T(test_both_ways), T(test_pieces), T(test_empty),
		T(test_wrap), T(test_stall), T(test_next_peer), T(test_nonsense),
		T(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
