/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the tests of net, cm and fault: ports joined in memory, with a tap that
 * sees every frame and may take it away, and stations stepped in a virtual
 * clock.
 */
#ifndef TEST_SNIC_WIRE_H
#define TEST_SNIC_WIRE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "snic/snic.h"

#define WIRE_FRAMES	4096
#define WIRE_STATIONS	8	/* that run at a time */
#define SECOND		1000000000ull

struct wire_frame {
	uint8_t *data;
	size_t len;
};

/* True: the frame is lost. */
typedef bool (*wire_tap)(void *arg, const uint8_t *frame, size_t len);

struct wire_port {
	struct snic_port port;
	struct wire_port *peer;		/* NULL: what is sent stays here */
	struct wire_frame queue[WIRE_FRAMES];	/* to be received here */
	unsigned int head, tail;
	struct wire_frame last;		/* given to the NIC by peek() */
	bool broken;			/* send and receive fail */
	wire_tap tap;			/* on what is sent here */
	void *tap_arg;
	struct wire_frame sent[16];	/* the latest ones, no peer needed */
	unsigned int nr_sent;
};

struct station {
	struct snic *nic;
	uint8_t host;		/* last byte of IP and MAC */
	struct wire_port port;
	uint32_t pdn, cqn;
	void *cq_buf;
	_Alignas(64) uint8_t sq[64 * 4];
	_Alignas(64) uint8_t rq[16 * 4];
	_Alignas(64) struct wrc_dbr dbr;
};

extern uint64_t wire_now;

void wire_join(struct wire_port *a, struct wire_port *b);
void wire_port_init(struct wire_port *p);
void wire_port_fini(struct wire_port *p);
/* A frame from outside. */
void wire_inject(struct wire_port *p, const void *frame, size_t len);

/* 10.0.0.host, MAC 02:00:00:00:00:host. */
void station_open(struct station *s, uint8_t host, uint64_t seed);
void station_open_cfg(struct station *s, const struct snic_config *cfg);
void station_close(struct station *s);
uint32_t station_qp(struct station *s);
__be32 station_ip(uint8_t host);
struct snic_stats station_stats(struct station *s);

/* Steps all until `until` or until done() says so; false: it never did. */
bool wire_run(struct station **s, unsigned int n, uint64_t until,
	      bool (*done)(void *arg), void *arg);

#endif /* TEST_SNIC_WIRE_H */
