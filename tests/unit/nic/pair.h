/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client and a server on two NICs of the table (nic/nic.h): memory, a queue
 * pair, and what a program does with them.
 */
#ifndef TEST_NIC_PAIR_H
#define TEST_NIC_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <nic/nic.h>

#define SIDE_LOG_SQ	4
#define SIDE_LOG_CQ	5
#define SIDE_DATA	4096	/* of a side's memory, behind its queues */
#define SIDE_PORT	18515

/**
 * struct side - one end
 * @mem:	one page of queues, and one of data, which peers may read and write
 * @pi:		BBs that were written
 */
struct side {
	struct nic *nic;
	uint8_t *mem;
	struct wrc_dbr *dbr;
	uint32_t pdn, key, cqn, qpn;
	uint16_t pi;
};

void side_open(struct side *s, struct nic *nic);
/* Objects, memory, NIC. */
void side_close(struct side *s);
uint8_t *side_data(struct side *s);
/* Posts a signaled READ or WRITE of len bytes between both sides' data. */
void side_post(struct side *s, uint8_t opcode, const struct side *peer,
	       uint32_t rkey, uint32_t len);

#endif /* TEST_NIC_PAIR_H */
