/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wire in memory: ports of a software NIC, joined in pairs or open to the test,
 * with a latency, and a tap that sees each frame, and may lose, change, delay or
 * repeat it.
 */
#ifndef TEST_BED_LINK_H
#define TEST_BED_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include "snic/vt.h"

#define LINK_SENT	16	/* of the latest frames, kept */
#define LINK_LOST	SNIC_NEVER

/* A frame; it is there at `due`, and of those of one time in the order `nr`. */
struct link_frame {
	uint64_t due, nr;
	size_t len;
	uint8_t data[];
};

struct link_port;

/* How long it takes beyond the link's latency; or LINK_LOST. */
typedef uint64_t (*link_tap)(void *arg, uint8_t *frame, size_t len);

/**
 * struct link_port - one end
 * @actor:	the clock moves on to when a frame comes
 * @peer:	NULL: nobody receives what is sent
 * @broken:	send and receive fail
 * @tap:	on what is sent here
 * @queue, @nr_queue, @room: to be received here, a heap
 * @shown:	in the hands of the NIC
 * @sent, @nr_sent: frames that the tap let pass; sent[nr % LINK_SENT]
 */
struct link_port {
	struct snic_port port;
	struct snic_actor actor;
	struct snic_vt *vt;
	struct link_port *peer;
	uint64_t latency;
	bool broken;
	link_tap tap;
	void *tap_arg;
	struct link_frame **queue;
	unsigned int nr_queue, room;
	uint64_t nr;
	struct link_frame *shown;
	struct link_frame *sent[LINK_SENT];
	unsigned int nr_sent;
};

void link_port_init(struct link_port *p, struct snic_vt *vt);
void link_port_fini(struct link_port *p);
void link_join(struct link_port *a, struct link_port *b);
/* A frame is received here, after latency and delay. */
void link_inject(struct link_port *p, const void *frame, size_t len,
		 uint64_t delay);
/* The one sent last; NULL: none. */
const struct link_frame *link_latest(const struct link_port *p);

#endif /* TEST_BED_LINK_H */
