/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports of this machine's loopback. */
#ifndef TEST_LIB_PORT_H
#define TEST_LIB_PORT_H

#include <arpa/inet.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* A port that nobody uses at the moment.  type: SOCK_DGRAM or SOCK_STREAM. */
static inline uint16_t free_port(int type)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, type, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	close(fd);
	return ntohs(addr.sin_port);
}

#endif
