/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bed of the tests of RPC: a server and a client, on mem, over soft or in sim. */
#ifndef TEST_FAR_RPC_BED_H
#define TEST_FAR_RPC_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <far/rpc.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/nic/nic.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../../userspace/rpc/client.h"
#include "../../../../userspace/rpc/server.h"

enum { BED_ECHO, BED_ADD, BED_MARK, BED_NONE, BED_HANG, BED_HANDLERS };

#define BED_MEMORY	(UINT64_C(160) << 10)

enum bed_kind { BED_MEM, BED_SIM, BED_SOFT };

struct bed {
	struct far_sim *sim;		/* NULL: mem or soft */
	struct far_nic *nic[2];		/* the client's, the server's */
	char spec[2][128];		/* theirs; not of sim */
	const char *node;		/* where the client finds the server */
	struct far_rpc_server *server;
	struct far_rpc *rpc;
	uint64_t ran;			/* requests; atomic */
	uint8_t *runs;			/* how often request number i of BED_MARK has run; atomic */
	/* Calls of BED_MARK, atomic: behind the last request of each thread. */
	uint64_t *last;
	uint64_t share;			/* requests of each of these threads */
	uint64_t disorder;		/* of BED_MARK: requests behind later ones; atomic */
	uint8_t *memory;		/* what the server offers: BED_MEMORY bytes */
	bool no_memory;			/* from bed_serve() on */
	unsigned active;		/* of the server, from bed_serve() on; 0: many */
	char dir[32];
};

/* Makes NICs and a server with so many threads; adversary: FAR_SIM_*. */
void bed_open(struct bed *bed, enum bed_kind kind, unsigned threads, unsigned adversary,
	      uint64_t seed);
/* Opens a NIC by its spec. */
struct far_nic *bed_nic(const struct bed *bed, unsigned side);
void bed_connect(struct bed *bed, unsigned qps, unsigned batch);
void bed_serve(struct bed *bed, unsigned threads);
void bed_close(struct bed *bed);

/* Runs nr threads of the client to their end. */
void bed_threads(struct bed *bed, unsigned nr, void (*run)(void *arg), void *args, size_t size);

#endif
