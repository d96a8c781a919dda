// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A vhost port and a guest; see vhostbed.h. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "vhostbed.h"

int bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	snprintf(b->dir, sizeof(b->dir), "/tmp/snic-vhost.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/s", b->dir);
	assert_int_equal(snic_port_vhost_open(b->path, &b->port), 0);
	guest_call(&b->g, b->path);
	*state = b;
	return 0;
}

int bed_teardown(void **state)
{
	struct bed *b = *state;

	guest_hang_up(&b->g);
	b->port->ops->close(b->port);
	assert_int_equal(access(b->path, F_OK), -1);
	rmdir(b->dir);
	free(b);
	return 0;
}

int wake(struct bed *b, const void **ret_frame)
{
	b->port->ops->doze(b->port);
	return b->port->ops->peek(b->port, ret_frame);
}

int peek(struct bed *b, const void **ret_frame)
{
	return b->port->ops->peek(b->port, ret_frame);
}

void up(struct bed *b, uint64_t features)
{
	const void *frame;

	guest_set_up(&b->g, features, 0);
	assert_int_equal(wake(b, &frame), 0);
}

int send_frame(struct bed *b, uint32_t len, unsigned int nr)
{
	static uint8_t buf[SNIC_FRAME_MAX + 8];
	struct iovec iov[2];
	uint32_t i;

	for (i = 0; i < len; i++)
		buf[i] = nr + i;
	iov[0] = (struct iovec){ buf, len / 3 };
	iov[1] = (struct iovec){ buf + len / 3, len - len / 3 };
	return b->port->ops->send(b->port, iov, 2);
}

void transmit(struct bed *b, unsigned int k, uint32_t len, unsigned int nr)
{
	uint8_t *p = guest_buf(&b->g, TX, k);
	uint32_t i;

	memset(p, 0, HEADER);
	for (i = 0; i < len; i++)
		p[HEADER + i] = nr + i;
	guest_desc(&b->g, TX, k, HEADER + len, 0, 0);
	guest_offer(&b->g, TX, k);
}

void is_frame(const void *frame, uint32_t len, unsigned int nr)
{
	const uint8_t *p = frame;
	uint32_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(p[i], (nr + i) & 0xff);
}

void offer_rx(struct bed *b, unsigned int k, unsigned int n, uint32_t len)
{
	for (; n--; k++) {
		memset(guest_buf(&b->g, RX, k), 0xee, len);
		guest_desc(&b->g, RX, k, len, 0, 0);
		guest_offer(&b->g, RX, k);
	}
}

void call_again(struct bed *b)
{
	const void *frame;

	guest_hang_up(&b->g);
	assert_int_equal(wake(b, &frame), 0);
	guest_call(&b->g, b->path);
	assert_int_equal(wake(b, &frame), 0);
}

unsigned int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}
