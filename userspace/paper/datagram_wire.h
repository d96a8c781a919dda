/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of RPC over datagrams, shared by client and server. */
#ifndef FAR_PAPER_DATAGRAM_WIRE_H
#define FAR_PAPER_DATAGRAM_WIRE_H

#include "datagram.h"

/* In front of a request and of its response. */
struct datagram_head {
	uint64_t reply_to;	/* address of the client's thread */
	uint32_t id;		/* of the request, in its thread */
	uint32_t len;		/* of the data */
};

#define DATAGRAM_COPY_NS	20u	/* declared cost of a request, as of RPC over connections */
#define DATAGRAM_SLOT		(sizeof(struct datagram_head) + DATAGRAM_DATA_MAX)

/* Registered memory, in slots of one message each. */
struct datagram_memory {
	uint8_t *addr;
	uint32_t lkey;
};

int datagram_memory_new(struct far_nic *nic, unsigned slots, struct datagram_memory *ret_memory);
void datagram_memory_free(struct far_nic *nic, struct datagram_memory *memory);

static inline struct datagram_head *datagram_slot(const struct datagram_memory *memory,
						  unsigned slot)
{
	return (struct datagram_head *)(memory->addr + slot * DATAGRAM_SLOT);
}

struct far_wr datagram_recv_wr(const struct datagram_memory *memory, unsigned slot);
struct far_wr datagram_send_wr(const struct datagram_memory *memory, unsigned slot,
			       uint64_t address);

#endif
