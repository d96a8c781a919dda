/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rping's protocol on the software NIC, both roles: see echo.c.
 */
#ifndef TESTS_ECHO_ECHO_H
#define TESTS_ECHO_ECHO_H

#include <stdbool.h>
#include <stdint.h>
#include "snic/snic.h"

#define ECHO_MAX_CONNS	64

struct echo_conn;

struct echo {
	struct snic *nic;
	bool verbose;
	/* client: rounds of size bytes on a connection */
	unsigned long rounds;
	uint32_t size;
	/* client: connections that were refused and are not counted yet: to
	 * be tried again, or to be given up */
	unsigned long refused;

	uint32_t pdn;
	struct echo_conn *conns;	/* ECHO_MAX_CONNS */
	unsigned long done, failed;	/* connections */
};

/* After nic is set.  -errno. */
int echo_init(struct echo *e);
void echo_fini(struct echo *e);
/* The client's end of a connection. */
int echo_connect(struct echo *e, __be32 ip, uint16_t port);
/* Handles all events and completions; true: there were some. */
bool echo_serve(struct echo *e);

#endif /* TESTS_ECHO_ECHO_H */
