/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A machine of the test bed: a software NIC that goes by a clock (snic/vt.h), and
 * memory that tests hand out in pieces.  By default it has a clock of its own; those
 * that are to meet share one.
 *
 *	link.h		a wire in memory between two of them
 *	end.h		queue pairs, and WQEs written by hand
 *	cable.h		two of them, a wire that loses and damages, a connected pair
 *	cm.h		two of them that connect by the connection manager
 *	umr.h		pages, and an indirect key that leads to them
 *	agent.h		the memory node's agent and its compute nodes
 *	cnode.h		a compute node, in virtual time or with a thread
 */
#ifndef TEST_BED_HOST_H
#define TEST_BED_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "link.h"

#define MS		1000000ull
#define SECOND		(1000 * MS)
#define ARENA_LEN	(8u << 20)
#define ARENA_IOVA	0x40000000ull
#define ALL_RIGHTS	(SNIC_LOCAL_WRITE | SNIC_REMOTE_READ | \
			 SNIC_REMOTE_WRITE | SNIC_REMOTE_ATOMIC)

/**
 * struct host_conf - what a host is
 * @vt:		whose clock; NULL: one of its own, which begins at HOST_EPOCH
 * @arena:	bytes of memory, zeroed; 0: none
 * @open:	the memory is registered at ARENA_IOVA, with all rights
 * @plugged:	it has a port, `port`
 */
struct host_conf {
	struct snic_config nic;
	struct snic_vt *vt;
	size_t arena;
	bool open, plugged;
};

#define HOST_EPOCH	1000

/**
 * struct host - a machine
 * @vt:		the clock it goes by
 * @key:	of the arena
 * @nr:		last byte of its MAC
 * @cqn, @sq, @dbr: of host_qp()
 */
struct host {
	struct snic *nic;
	struct snic_vt *vt, own;
	struct snic_vt_nic actor;
	struct link_port port;
	uint32_t pdn, key;
	uint8_t *arena;
	size_t arena_len, used;
	uint8_t nr;
	uint32_t cqn;
	uint8_t *sq, *rq;
	struct wrc_dbr *dbr;
};

/* 10.0.0.nr, MAC 02:00:00:00:00:nr, MTU 1500. */
struct snic_config host_config(uint8_t nr, uint64_t seed);
__be32 host_ip(uint8_t nr);
void host_init(struct host *h, const struct host_conf *conf);
/* With registered memory, alone; cfg NULL: host_default. */
void host_open(struct host *h, const struct snic_config *cfg);
extern const struct snic_config host_default;
/* host_config(), a little memory and a port, alone. */
void host_open_plugged(struct host *h, uint8_t nr, uint64_t seed);
void host_close(struct host *h);
/* Joins two NICs by ports of the software NIC; who closes those closes the hosts
 * before. */
void host_cord(struct host *a, struct host *b, struct snic_port *ret_ports[2]);

/* len bytes of the arena, aligned to 64. */
void *host_alloc(struct host *h, size_t len);
uint64_t host_iova(const struct host *h, const void *p);
/* A queue pair that nothing is to be posted on: all of a host share their rings. */
uint32_t host_qp(struct host *h);
struct snic_stats host_stats(const struct host *h);

/* All who go by its clock act until nothing is left to do at this time. */
void host_run(struct host *h);
/* The same, and lets time pass. */
void host_wait(struct host *h, uint64_t ns);
/* Until done() says so; false: not within ns. */
bool host_wait_for(struct host *h, uint64_t ns, bool (*done)(void *arg),
		   void *arg);

#endif /* TEST_BED_HOST_H */
